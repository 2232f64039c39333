"""What a host takes from a collector and what it refuses, with the code of each refusal; the recorded wires pass."""

from __future__ import annotations

import json
from typing import Any, ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared_data import data
from triptych.errors import RemoteProtocolError
from triptych.generated.collector.models import CollectorState, Configured, Diagnostic, Fatal, Hello, UnknownFieldPolicy
from triptych.generated.collector.vocabulary import PROTOCOL_ERROR_CODE
from triptych.machines.collector.commands import parse_command
from triptych.machines.collector.facts import Facts
from triptych.machines.collector.gates import Admitted, Refused, Rulebook, admit
from triptych.machines.collector.lines import CollectorLines
from triptych.machines.collector.messages import COLLECTOR_MESSAGES, Heard, HostSession, Observed, Repeated
from triptych.machines.collector.policy import BUILT_IN_RULES, Policy, allow_app
from triptych.machines.collector.unknown_fields import UnknownFields

HELLO = {
    "v": 1,
    "type": "hello",
    "collectorSession": "linux-1",
    "collectorVersion": "0.1.0",
    "platform": "linux",
    "arch": "x64",
    "capabilities": ["app-focus"],
}
SEEN = {
    "v": 1,
    "type": "observation",
    "collectorSession": "linux-1",
    "seq": 1,
    "observedAtMs": 1_791_000_000_000,
    "app": {"pid": 7, "bundleId": "code.desktop", "name": None},
    "window": {"title": "A page", "document": None, "url": None},
    "privacy": {"secure": False, "protected": False},
    "source": {"adapter": "vscode"},
}


def session(rule: UnknownFieldPolicy = "extension", **hello: object) -> HostSession:
    made = HostSession(UnknownFields(rule))
    made.receive(encode({**HELLO, **hello}))
    return made


def encode(message: dict[str, Any]) -> bytes:
    return json.dumps(message).encode()


def code(made: HostSession, message: dict[str, Any] | bytes) -> str:
    with pytest.raises(RemoteProtocolError) as caught:
        made.receive(message if isinstance(message, bytes) else encode(message))
    assert caught.value.code in PROTOCOL_ERROR_CODE
    return caught.value.code


class TestShape:
    @pytest.mark.parametrize(
        ("line", "expected"),
        [
            (b"not json", "invalid-json"),
            (b"NaN", "invalid-json"),
            (b"  ", "invalid-json"),
            (b"\xef\xbb\xbf{}", "invalid-json"),
            (b'{"v":1,"type":"hello"} tail', "invalid-json"),
            (b"[" * 100_000, "invalid-json"),
            (b"[]", "malformed"),
            (b"null", "malformed"),
            (b'{"v":1,"type":"thought"}', "unknown-type"),
            (b'{"v":1}', "unknown-type"),
            (b'{"v":2,"type":"new"}', "version-mismatch"),
            (b'{"type":"new","v":2}', "version-mismatch"),
            (b'{"v":true,"type":"new"}', "version-mismatch"),
            (b'{"type":"new"}', "version-mismatch"),
            (b"{}", "version-mismatch"),
        ],
    )
    def test_line(self, line: bytes, expected: str) -> None:
        assert code(session(), line) == expected

    @pytest.mark.parametrize(
        ("changes", "expected"),
        [
            ({"v": 2}, "version-mismatch"),
            ({"v": True}, "version-mismatch"),
            ({"v": "1"}, "version-mismatch"),
            ({"platform": "freebsd"}, "platform-mismatch"),
            ({"arch": "x86_64"}, "unsupported-architecture"),
            ({"capabilities": ["screen"]}, "unsupported-capability"),
            ({"capabilities": "app-focus"}, "malformed"),
            ({"collectorSession": ""}, "malformed"),
        ],
    )
    def test_hello(self, changes: dict[str, object], expected: str) -> None:
        assert code(HostSession(UnknownFields()), {**HELLO, **changes}) == expected

    @pytest.mark.parametrize(
        ("changes", "expected"),
        [
            ({"seq": -1}, "malformed"),
            ({"seq": 2**53}, "malformed"),
            ({"seq": 1.5}, "malformed"),
            ({"seq": True}, "malformed"),
            ({"observedAtMs": None}, "malformed"),
            ({"app": {"pid": 7, "bundleId": "x" * 513}}, "malformed"),
            ({"window": {"title": "é" * 2049}}, "malformed"),
            ({"privacy": {"secure": 0, "protected": False}}, "malformed"),
            ({"source": {"adapter": "vscode", "provider": "companion"}}, "unsupported-provider"),
            ({"source": {"adapter": "vscode", "provider": "x11"}}, "unsupported-provider"),
            ({"activity": {"idleSeconds": -1}}, "malformed"),
        ],
    )
    def test_observation(self, changes: dict[str, object], expected: str) -> None:
        assert code(session(), {**SEEN, **changes}) == expected

    def test_a_missing_time_is_an_error_and_not_a_substituted_value(self) -> None:
        assert (
            code(session("count"), {("observedAt" if name == "observedAtMs" else name): value for name, value in SEEN.items()})
            == "malformed"
        )

    def test_numbers_as_javascript_writes_them_are_integers(self) -> None:
        heard = session().receive(encode({**SEEN, "seq": 1.0, "observedAtMs": 1.791e12}))
        assert isinstance(heard, Observed)
        assert (heard.facts.seq, heard.facts.observed_at_ms) == (1, 1_791_000_000_000)

    def test_a_lone_surrogate_is_legal(self) -> None:
        heard = session().receive(encode(SEEN).replace(b"A page", b"A \\ud800"))
        assert isinstance(heard, Observed) and heard.facts.title == "A \ud800"


class TestSession:
    def test_hello_comes_first(self) -> None:
        for message in (SEEN, {"v": 1, "type": "configured", "revision": 1}, {"v": 1, "type": "fatal", "code": "a", "message": "b"}):
            assert code(HostSession(UnknownFields()), message) == "hello-required"

    def test_hello_comes_once(self) -> None:
        assert code(session(), HELLO) == "duplicate-hello"

    def test_another_session_is_refused(self) -> None:
        assert code(session(), {**SEEN, "collectorSession": "linux-2"}) == "session-mismatch"

    @pytest.mark.parametrize(("platform", "provider"), [("darwin", "macos-ax"), ("win32", "windows-uia"), ("linux", "at-spi")])
    def test_the_provider_is_bound_to_the_platform(self, platform: str, provider: str) -> None:
        given = {"adapter": "vscode", "provider": provider}
        for source in ({"adapter": "vscode"}, {"adapter": "vscode", "provider": None}, given):
            heard = session(platform=platform).receive(encode({**SEEN, "source": source}))
            assert isinstance(heard, Observed) and heard.facts.provider == provider
        other = "at-spi" if provider != "at-spi" else "macos-ax"
        assert code(session(platform=platform), {**SEEN, "source": {"adapter": "vscode", "provider": other}}) == "provider-mismatch"

    def test_the_sequence_may_leap_and_never_goes_back(self) -> None:
        made = session()
        assert isinstance(made.receive(encode({**SEEN, "seq": 1})), Observed)
        assert isinstance(made.receive(encode({**SEEN, "seq": 9})), Observed)
        assert code(made, {**SEEN, "seq": 8}) == "sequence-regression"
        assert isinstance(made.receive(encode({**SEEN, "seq": 10})), Observed), "a refused line changes nothing"

    def test_an_exact_repeat_is_told_apart_from_a_conflict(self) -> None:
        made = session()
        for number in (1, 2, 3):
            made.receive(encode({**SEEN, "seq": number}))
        assert isinstance(made.receive(encode({**SEEN, "seq": 3})), Repeated)
        assert isinstance(made.receive(encode({**SEEN, "seq": 1})), Repeated)
        assert code(made, {**SEEN, "seq": 3, "window": None}) == "sequence-conflict"
        assert code(made, {**SEEN, "seq": 2, "window": None}) == "sequence-conflict"

    def test_null_absent_and_what_is_dropped_make_no_conflict(self) -> None:
        made = session()
        made.receive(encode(SEEN))
        same = {
            **SEEN,
            "app": {"pid": 7, "bundleId": "code.desktop"},
            "window": {"title": "A page"},
            "x-mood": 1,
            "workspace": {"root": "/x"},
        }
        assert isinstance(made.receive(encode(same)), Repeated)

    def test_a_repeat_is_remembered_for_1024_observations(self) -> None:
        made = session()
        for number in range(1, 1026):
            made.receive(encode({**SEEN, "seq": number}))
        assert isinstance(made.receive(encode({**SEEN, "seq": 2})), Repeated)
        assert code(made, {**SEEN, "seq": 1}) == "sequence-regression"


class TestUnknownFields:
    EXTRA: ClassVar = {**SEEN, "mood": "calm"}
    EXTENSION: ClassVar = {**SEEN, "window": {"title": "A page", "x-zoom": {"deep": [1]}}}

    @pytest.mark.parametrize(("rule", "extra", "extension"), [("refuse", False, False), ("extension", False, True), ("count", True, True)])
    def test_each_rule(self, rule: UnknownFieldPolicy, extra: bool, extension: bool) -> None:
        for message, path, accepted in ((self.EXTRA, "mood", extra), (self.EXTENSION, "window.x-zoom", extension)):
            fields = UnknownFields(rule)
            made = HostSession(fields)
            made.receive(encode(HELLO))
            if accepted:
                assert isinstance(made.receive(encode(message)), Observed)
                assert fields.by_name == {path: 1}
            else:
                assert code(made, message) == "unknown-field"
                assert fields.by_name == {}

    def test_an_unknown_message_type_is_refused_under_every_rule(self) -> None:
        for rule in ("refuse", "extension", "count"):
            assert code(session(rule), {"v": 1, "type": "x-thought"}) == "unknown-type"

    @pytest.mark.parametrize("workspace", [None, 7, "root", [], {"root": "/Users/you/Projects/demo", "more": [1]}])
    @pytest.mark.parametrize("rule", ["refuse", "extension", "count"])
    def test_workspace_is_a_known_name_that_is_never_read(self, rule: UnknownFieldPolicy, workspace: object) -> None:
        fields = UnknownFields(rule)
        made = HostSession(fields)
        made.receive(encode(HELLO))
        heard = made.receive(encode({**SEEN, "workspace": workspace}))
        assert isinstance(heard, Observed) and heard.facts == session_facts()
        assert fields.by_name == {}


def session_facts() -> Facts:
    heard = session().receive(encode(SEEN))
    assert isinstance(heard, Observed)
    return heard.facts


def replay(name: str) -> list[Heard]:
    """The recorded lines through the splitter and the session; each hello begins another process."""
    heard: list[Heard] = []
    made = HostSession(UnknownFields())
    for line in CollectorLines().feed(data("collector", name).read_bytes()):
        if b'"type":"hello"' in line:
            made = HostSession(UnknownFields())
        assert COLLECTOR_MESSAGES.accept(line) is not None, "recorded lines take the fast path"
        heard.append(made.receive(line))
    return heard


def judged(heard: list[Heard], rules: Rulebook) -> list[Admitted | Refused]:
    return [admit(said.facts, rules, said.facts.observed_at_ms) for said in heard if isinstance(said, Observed)]


ALL = tuple(allow_app(bundle_id) for bundle_id in Rulebook().table)


def test_the_recorded_windows_wire() -> None:
    heard = replay("live-windows-2026-10-04.jsonl")
    assert [type(said).__name__ for said in heard].count("Hello") == 3
    verdicts = judged(heard, Rulebook(Policy(2, (*BUILT_IN_RULES, *ALL))))
    assert [verdict.adapter.surface_kind for verdict in verdicts if isinstance(verdict, Admitted)] == [
        "window",
        "window",
        "window",
        "terminal",
    ]
    assert [verdict.reason for verdict in verdicts if isinstance(verdict, Refused)] == ["protected-app"]
    assert [verdict.title for verdict in verdicts if isinstance(verdict, Admitted)] == ["47209 - 文件资源管理器"] * 3 + [None]
    assert all(said.facts.provider == "windows-uia" for said in heard if isinstance(said, Observed))


def test_the_recorded_linux_wire() -> None:
    heard = replay("live-linux-2026-10-05.jsonl")
    assert [type(said) for said in heard] == [Hello, CollectorState, Configured, Observed]
    [verdict] = judged(heard, Rulebook(Policy(2, (*BUILT_IN_RULES, *ALL))))
    assert isinstance(verdict, Admitted)
    assert (verdict.adapter.id, verdict.title, verdict.facts.role, verdict.facts.provider) == ("terminal", None, "terminal", "at-spi")


def test_the_baseline_wire() -> None:
    heard = replay("wire-baseline.jsonl")
    assert [type(said) for said in heard] == [Hello, Configured, CollectorState, CollectorState, Diagnostic, Observed, Observed, Observed]
    without_built_ins = Rulebook(Policy(2, ALL))
    verdicts = judged(heard, without_built_ins)
    assert [verdict.reason for verdict in verdicts if isinstance(verdict, Refused)] == ["protected-app"]
    assert [verdict.title for verdict in verdicts if isinstance(verdict, Admitted)] == ["provider.ts", "a\u0007b"]
    located = judged(heard, Rulebook(Policy(2, (*BUILT_IN_RULES, *ALL))))
    assert [verdict.reason for verdict in located if isinstance(verdict, Refused)] == ["unlocatable-name", "protected-app"]


def test_a_fatal_is_heard() -> None:
    heard = session().receive(encode({"v": 1, "type": "fatal", "code": "no-display", "message": "there is no display"}))
    assert isinstance(heard, Fatal) and heard.code == "no-display"


LINES = st.one_of(
    st.binary(max_size=200),
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.integers() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    ).map(lambda value: json.dumps(value).encode()),
    st.dictionaries(
        st.sampled_from([*SEEN, "level", "code", "message", "revision", "state", "accessibilityTrusted"]),
        st.sampled_from([*SEEN.values(), None, True, -1, 1e400]),
    ).map(lambda fields: json.dumps({**SEEN, **fields}).encode()),
)


@given(st.lists(LINES, max_size=5))
def test_whatever_a_collector_says_is_taken_or_refused_with_a_code(lines: list[bytes]) -> None:
    made = session("count")
    for line in lines:
        try:
            made.receive(line)
        except RemoteProtocolError as error:
            assert error.code in PROTOCOL_ERROR_CODE


@given(LINES)
def test_whatever_a_host_says_is_a_command_or_nothing(line: bytes) -> None:
    assert parse_command(line) is None or line != b""


WIDE = st.sampled_from(["", "a", "é", "中", "\U0001f600", "\\", '"', "\n", "\ud800"])
TEXT = st.builds(
    lambda piece, times: piece * times,
    WIDE,
    st.sampled_from([0, 1, 31, 32, 33, 127, 128, 129, 511, 512, 513, 1023, 1024, 1025, 4096, 4097]),
)


@given(TEXT, TEXT, TEXT, TEXT, st.booleans(), st.booleans())
def test_the_fast_way_takes_nothing_that_the_slow_way_refuses(
    title: str, name: str, role: str, adapter: str, escaped: bool, workspace: bool
) -> None:
    message = {
        **SEEN,
        "app": {"pid": 7, "bundleId": "code.desktop", "name": name},
        "window": {"title": title},
        "element": {"role": role},
        "source": {"adapter": adapter},
        **({"workspace": {"root": title}} if workspace else {}),
    }
    try:
        line = json.dumps(message, ensure_ascii=escaped).encode()
    except UnicodeEncodeError:  # half a character can only be escaped
        line = json.dumps(message).encode()
    fast = COLLECTOR_MESSAGES.accept(line)
    try:
        slow = COLLECTOR_MESSAGES.read_value(json.loads(line))
    except RemoteProtocolError:
        assert fast is None
    else:
        assert fast in (None, slow)
    if line.isascii() and not workspace and b"\\u" not in line:
        assert (fast is None) == any(
            len(text) > bound for text, bound in ((title, 4096), (name, 512), (role, 2048), (adapter, 128))
        ) or not adapter


@pytest.mark.parametrize("title", ["A page", "Réunion — notes", "日本語の文書"])
def test_an_ordinary_observation_takes_the_fast_way(title: str) -> None:
    line = json.dumps({**SEEN, "window": {"title": title}}, ensure_ascii=False).encode()
    assert COLLECTOR_MESSAGES.accept(line) is not None


def test_a_diagnostic_that_is_too_long_in_bytes_is_refused() -> None:
    note = {"v": 1, "type": "diagnostic", "level": "warn", "code": "a", "message": "é" * 2048}
    assert isinstance(session().receive(json.dumps(note, ensure_ascii=False).encode()), Diagnostic)
    assert code(session(), json.dumps({**note, "message": "é" * 2049}, ensure_ascii=False).encode()) == "malformed"
