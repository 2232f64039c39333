"""The command table: what a collector does with a line that it does not understand, one test a row, named as the row is."""

from __future__ import annotations

import json

import pytest

from triptych.machines.collector.commands import Command, Configure, Pause, Resume, Shutdown, parse_command
from triptych.machines.collector.policy import CollectorPolicy
from triptych.machines.wire.lines import TooLong

POLICY = (
    '{"mode":"include-only","allowedBundleIds":["a"],"blockedBundleIds":["b"],"protectedBundleIds":["c"],"protectedPathPatterns":["d"]}'
)


def parse(line: str) -> Command | None:
    return parse_command(line.encode())


def test_canonical_commands_are_understood() -> None:
    assert parse(f'{{"v":1,"type":"configure","revision":7,"policy":{POLICY}}}') == Configure(
        7, CollectorPolicy(("a",), ("b",), ("c",), ("d",))
    )
    assert parse('{"v":1,"type":"pause"}') == Pause()
    assert parse('{"v":1,"type":"resume"}') == Resume()
    assert parse('{"v":1,"type":"shutdown","reason":"host-shutdown"}') == Shutdown()


class TestEmptyLineNotJsonTruncatedJsonOrAnObjectFollowedByJunk:
    @pytest.mark.parametrize(
        "line", ["", " ", "not json", '{"v":1,"type":"pau', '{"type":"pause"} tail', '{"type":"pause"}{"type":"pause"}', "\ufeff{}"]
    )
    def test_ignored(self, line: str) -> None:
        assert parse(line) is None

    @pytest.mark.parametrize("line", ["[]", "null", "1", '"pause"', "true"])
    def test_what_is_no_object_is_ignored(self, line: str) -> None:
        assert parse(line) is None

    def test_invalid_utf8_costs_only_its_line(self) -> None:
        assert parse_command(b'{"type":"pause","note":"\xff"}') is None

    def test_a_return_before_the_newline_is_white_space_and_a_line_that_was_too_long_is_ignored(self) -> None:
        assert parse_command(b'{"type":"pause"}\r') == Pause()
        assert parse_command(b"") is None
        assert parse_command(b"\r") is None
        assert parse_command(TooLong(10)) is None

    def test_a_lone_surrogate_escape_is_ignored(self) -> None:
        assert parse('{"type":"pause","note":"\\ud800"}') is None

    @pytest.mark.parametrize(("depth", "understood"), [(126, True), (127, False), (5000, False)])
    def test_nesting_over_127_is_ignored(self, depth: int, understood: bool) -> None:
        line = '{"type":"pause","note":' + "[" * depth + "]" * depth + "}"
        assert (parse(line) == Pause()) is understood


class TestUnknownTypeMissingType:
    @pytest.mark.parametrize(
        "line", ['{"v":1,"type":"nonsense"}', '{"v":1}', "{}", '{"type":7}', '{"type":null}', '{"type":["pause"]}', '{"type":""}']
    )
    def test_ignored(self, line: str) -> None:
        assert parse(line) is None


class TestConfigureWithoutRevisionOrPolicyOrWithABadOne:
    @pytest.mark.parametrize(
        "revision", ['"1"', "-1", "1.5", "1.0", "1e2", "-0", "true", "null", "[]", "123456789012345678901234567890", str(2**64)]
    )
    def test_a_revision_that_is_no_non_negative_integer_is_ignored(self, revision: str) -> None:
        assert parse(f'{{"v":1,"type":"configure","revision":{revision},"policy":{POLICY}}}') is None

    def test_a_missing_revision_is_ignored(self) -> None:
        assert parse(f'{{"v":1,"type":"configure","policy":{POLICY}}}') is None

    def test_a_missing_policy_is_ignored(self) -> None:
        assert parse('{"v":1,"type":"configure","revision":1}') is None

    @pytest.mark.parametrize("policy", ["[]", '[["a"],["b"],["c"],["d"]]', '"x"', "5", "null", "true"])
    def test_a_policy_that_is_no_object_is_ignored(self, policy: str) -> None:
        assert parse(f'{{"v":1,"type":"configure","revision":1,"policy":{policy}}}') is None

    @pytest.mark.parametrize("revision", [0, 2**53, 2**64 - 1])
    def test_every_unsigned_64_bit_revision_is_understood(self, revision: int) -> None:
        assert parse(f'{{"type":"configure","revision":{revision},"policy":{{}}}}') == Configure(revision, CollectorPolicy())


class TestUnknownFieldsAnywhere:
    def test_ignored_and_the_command_still_parses(self) -> None:
        line = {"v": 1, "type": "configure", "revision": 1, "policy": {"allowedBundleIds": ["a"], "new": {"deep": [1]}}, "x": {"y": 1}}
        assert parse(json.dumps(line)) == Configure(1, CollectorPolicy(allowed=("a",)))

    def test_a_type_named_in_another_field_means_nothing(self) -> None:
        assert parse('{"type":"pause","note":"\\"type\\":\\"configure\\""}') == Pause()


class TestAnArrayFieldTheHostDidNotSend:
    @pytest.mark.parametrize(
        "policy", ["{}", '{"allowedBundleIds":null,"blockedBundleIds":"b","protectedBundleIds":{},"protectedPathPatterns":7}']
    )
    def test_empty_not_an_error(self, policy: str) -> None:
        assert parse(f'{{"type":"configure","revision":1,"policy":{policy}}}') == Configure(1, CollectorPolicy())


class TestAMemberOfAPolicyArrayThatIsNotAString:
    def test_dropped(self) -> None:
        line = '{"type":"configure","revision":1,"policy":{"allowedBundleIds":["a",7,null,{"k":1},"b"]}}'
        assert parse(line) == Configure(1, CollectorPolicy(allowed=("a", "b")))

    def test_escapes_and_other_scripts_arrive_as_they_are(self) -> None:
        line = '{"type":"configure","revision":1,"policy":{"allowedBundleIds":["q\\"q","b\\\\b","编辑器","\\u00e9"]}}'
        assert parse(line) == Configure(1, CollectorPolicy(allowed=('q"q', "b\\b", "编辑器", "é")))


class TestVersionIsNeverRead:
    @pytest.mark.parametrize(
        "line", ['{"type":"resume"}', '{"v":99,"type":"resume"}', '{"v":"x","type":"resume"}', '{"v":null,"type":"resume"}']
    )
    def test_understood(self, line: str) -> None:
        assert parse(line) == Resume()


class TestRevisionOrPolicyNextToPauseResumeShutdown:
    @pytest.mark.parametrize(
        ("line", "command"),
        [
            ('{"type":"pause","revision":"abc"}', Pause()),
            ('{"type":"pause","revision":-1}', Pause()),
            ('{"type":"pause","policy":"x"}', Pause()),
            ('{"type":"shutdown","policy":[]}', Shutdown()),
            ('{"type":"resume","policy":"x","revision":1.5}', Resume()),
        ],
    )
    def test_ignored_the_simple_commands_never_look_at_them(self, line: str, command: Command) -> None:
        assert parse(line) == command


class TestDuplicateKeysInOneObject:
    @pytest.mark.parametrize(
        "line",
        [
            '{"type":"pause","type":"pause"}',
            '{"type":"configure","revision":1,"revision":2,"policy":{}}',
            '{"type":"configure","revision":1,"policy":{},"policy":{"allowedBundleIds":["a"]}}',
        ],
    )
    def test_the_whole_line_is_rejected(self, line: str) -> None:
        assert parse(line) is None


class TestANumberLiteralJsonDoesNotAcceptAsAnInteger:
    @pytest.mark.parametrize("number", ["1.5", "1e3", "1e-400", "-0"])
    def test_in_a_field_nobody_reads_the_line_is_understood(self, number: str) -> None:
        assert parse(f'{{"type":"pause","note":{number}}}') == Pause()

    def test_leading_zeros_are_no_json_anywhere(self) -> None:
        assert parse('{"type":"pause","note":007}') is None
        assert parse('{"type":"configure","revision":007,"policy":{}}') is None
