"""The reader: codes, paths and limits of real messages, what sends it to the slow path, and what the fast path may not miss."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from triptych.errors import RemoteProtocolError
from triptych.generated.termwright import models
from triptych.machines.wire import text
from triptych.machines.wire.read import Reader
from wire_kit import encode, types

ADAPTER: Reader[Any] = Reader("termwright", "AdapterMessage", text.TERMWRIGHT)
DRIVER: Reader[Any] = Reader("termwright", "DriverMessage", text.TERMWRIGHT)
SNAPSHOT: Reader[Any] = Reader("termwright", "Snapshot", text.TERMWRIGHT)
COMPANION: Reader[Any] = Reader("collector", "CompanionPayload", text.COMPANION)
OBSERVED: Reader[Any] = Reader("collector", "CollectorMessage", text.COLLECTOR)
COMMIT = b'{"type":"revision-commit","revision":3}'


def refusal(read: Reader[Any], body: bytes, **limits: int) -> tuple[str, str]:
    with pytest.raises(RemoteProtocolError) as raised:
        read.read(body, limits or None)
    assert raised.value.detail
    return raised.value.code, raised.value.path


def snapshot(**node: Any) -> dict[str, Any]:
    unknown = {"status": "unknown", "reason": "provider-refresh"}
    geometry = {"displayed": unknown, "intendedRect": unknown, "visibleRect": unknown}
    nodes = [{"id": "n", "role": "button", "name": "", **node, "geometry": geometry}]
    head = {"v": 3, "sessionId": "s", "revision": 1, "columns": 80, "rows": 24, "rootIds": ["n"]}
    return {**head, "nodes": nodes, "coordinateSpace": unknown, "hitGrid": unknown}


def test_fast_and_slow_give_the_same_struct() -> None:
    wanted = models.RevisionCommit(revision=3)
    assert ADAPTER.read(COMMIT) == ADAPTER.accept(COMMIT) == wanted
    for spelling in (b'{"type":"revision-commit","revision":3.0}', b'\xef\xbb\xbf{"type":"revision-commit","revision":3e0}'):
        assert ADAPTER.accept(spelling) is None  # JavaScript says yes where msgspec does not
        assert ADAPTER.read(spelling) == wanted


@pytest.mark.parametrize(
    ("body", "code", "path"),
    [
        (b'{"type":"revision-commit","revision":0}', "malformed", "revision"),
        (b'{"type":"revision-commit","revision":true}', "malformed", "revision"),
        (b'{"type":"revision-commit","revision":1,"more":1}', "malformed", ""),
        (b'{"type":"tree-delta"}', "malformed", "type"),
        (b"[]", "malformed", ""),
        (b'{"type":"hello","protocol":"termwright/2"}', "bad-version", "protocol"),  # before the missing token
        (b'{"type":"hello","protocol":""}', "bad-version", "protocol"),
        (b'{"type":"hello","protocol":3}', "malformed", "protocol"),
        (b"nope", "frame-malformed", ""),
        (b'"\xff"', "frame-encoding", ""),
        (b'{"a":{"__proto__":1}}', "dto-key", ""),
        (b'"\\ud800"', "dto-string", ""),
        (b"1e999", "dto-scalar", ""),
        (b"[" * 66 + b"]" * 66, "dto-depth", ""),
    ],
)
def test_refusals(body: bytes, code: str, path: str) -> None:
    assert refusal(ADAPTER, body) == (code, path)


@pytest.mark.parametrize(
    ("payload", "changes", "code", "path"),
    [
        ("BrowserPayload", {"origin": "http://user@a"}, "origin-path", "origin"),
        ("BrowserPayload", {"origin": "http://a:80"}, "origin-path", "origin"),
        ("BrowserPayload", {"path": "/a?b"}, "origin-path", "path"),
        ("EditorPayload", {"app": {"bundleId": "com.a", "name": " "}}, "app-name", "app.name"),
        ("EditorPayload", {"workspaceRoot": "a"}, "workspace-root", "workspaceRoot"),
        ("EditorPayload", {"filePath": 1}, "file-path", "filePath"),
        ("EditorPayload", {"filePath": "a/b"}, "file-path-outside", "filePath"),
        ("EditorPayload", {"filePath": "/a/../b"}, "file-path-outside", "filePath"),
    ],
)
def test_refusals_of_a_companion(payload: str, changes: dict[str, Any], code: str, path: str) -> None:
    message = types("collector")[payload]["message"]
    assert COMPANION.accept(encode(message)) is not None
    assert COMPANION.accept(encode(message | changes)) is None
    assert refusal(COMPANION, encode(message | changes)) == (code, path)


def test_embedded_documents_keep_their_own_code_in_the_sentence() -> None:
    body = encode({"type": "semantic-full", "snapshot": snapshot(role="knob")})
    with pytest.raises(RemoteProtocolError) as raised:
        ADAPTER.read(body)
    assert (raised.value.code, raised.value.path) == ("malformed", "snapshot.nodes.0.role")
    assert raised.value.detail.startswith("snapshot unknown-role: ")
    assert refusal(ADAPTER, encode({"type": "semantic-full", "snapshot": snapshot(name="x" * 16385)})) == (
        "limit-exceeded",
        "snapshot.nodes.0.name",
    )


def test_limits_stand_in_for_the_defaults() -> None:
    body = encode(snapshot(name="x" * 100))
    assert SNAPSHOT.accept(body) is not None
    assert refusal(SNAPSHOT, body, maxStringBytes=99) == ("string-bytes", "nodes.0.name")
    assert SNAPSHOT.accept(body, {"maxStringBytes": 99}) is None
    assert refusal(SNAPSHOT, body, maxNodes=0) == ("count", "rootIds")
    wide = encode(snapshot(name="x" * 20_000))
    assert SNAPSHOT.read(wide, {"maxStringBytes": 20_000}).nodes[0].name == "x" * 20_000


def test_tolerant_drops_and_strict_refuses() -> None:
    message = types("termwright")["HelloAck"]["message"]
    more = {**message, "later": 1, "limits": {**message["limits"], "maxMoons": 2}}
    assert DRIVER.accept(encode(more)) is None
    assert DRIVER.read(encode(more)) == DRIVER.read(encode(message))


def test_keeping_gives_what_is_unknown_beside_the_struct() -> None:
    message = types("termwright")["HelloAck"]["message"]
    limits = {**message["limits"], "maxMoons": 2}
    more = {"later": [1], **message, "limits": limits, "marker": {"enabled": True, "colour": None}}
    struct, kept = DRIVER.read_keeping(encode(more))
    assert struct == DRIVER.read(encode(more))
    assert kept == more
    assert list(kept) == list(more)
    assert kept["limits"]["maxMoons"] == 2
    spelled = encode({**more, "limits": {**limits, "maxNodes": 7.0}})
    struct, kept = DRIVER.read_keeping(spelled)
    assert (struct.limits.max_nodes, repr(kept["limits"]["maxNodes"])) == (7, "7")


def test_keeping_refuses_like_reading() -> None:
    for read, body in ((DRIVER, b'{"type":"error","code":"nope","message":""}'), (ADAPTER, COMMIT[:-1] + b',"more":1}'), (DRIVER, b"[")):
        with pytest.raises(RemoteProtocolError) as raised:
            read.read_keeping(body)
        assert (raised.value.code, raised.value.path) == refusal(read, body)


def test_reporting_names_every_unknown_key() -> None:
    message = types("collector")["Observation"]["message"]
    more = {**message, "x-hue": 1, "app": {**message["app"], "size": 2}}
    known, unknown = OBSERVED.read_reporting(encode(more))
    assert known == OBSERVED.read(encode(message)) == OBSERVED.read(encode(more))
    assert unknown == ("app.size", "x-hue")
    assert OBSERVED.read_reporting(encode(message)) == (known, ())


def test_explain_says_nothing_of_a_good_value() -> None:
    SNAPSHOT.explain(snapshot())
    with pytest.raises(RemoteProtocolError) as raised:
        SNAPSHOT.explain(snapshot(role="knob"))
    assert raised.value.code == "unknown-role"


@pytest.mark.parametrize(
    ("delta", "code"),
    [
        (b'"\xed\xa0\x80"', "frame-encoding"),
        (b'"\xc0\xaf"', "frame-encoding"),
        (b"1e999", "dto-scalar"),
        (b"1" * 400, "dto-scalar"),
        (b"[" * 65 + b"]" * 65, "dto-depth"),
        (b'{"prototype":1}', "dto-key"),
        (b'{"\\u005f_proto__":1}', "dto-key"),
        (b'"\\ud800"', "dto-string"),
    ],
)
def test_raw_json_is_looked_at_whole(delta: bytes, code: str) -> None:
    """msgspec takes these without a look; the gate does not."""
    body = b'{"type":"semantic-delta","delta":' + delta + b"}"
    assert ADAPTER.accept(body) is None
    assert refusal(ADAPTER, body) == (code, "")


@pytest.mark.parametrize(
    ("extended", "code"),
    [
        ({"constructor": 1}, "dto-key"),
        ({"k": 2**53}, "schema"),
        ({"k": [0] * 65}, "count"),
        ({"k": {f"k{n}": 0 for n in range(65)}}, "schema"),
        ({"k": "x" * 16385}, "string-bytes"),
        ({"x" * 16385: 1}, "string-bytes"),
        ({"k": 10**400}, "dto-scalar"),
    ],
)
def test_free_form_objects_are_looked_at_whole(extended: dict[str, Any], code: str) -> None:
    body = encode(snapshot(extended=extended))
    assert SNAPSHOT.accept(body) is None
    assert refusal(SNAPSHOT, body)[0] == code


def test_nesting_of_free_form_json_counts_from_the_root() -> None:
    def body(depth: int) -> bytes:
        return json.dumps(snapshot()).replace('"name": ""', '"name": "", "extended": {"k": ' + "[" * depth + "]" * depth + "}").encode()

    assert SNAPSHOT.accept(body(61)) is not None
    assert SNAPSHOT.accept(body(62)) is None
    assert refusal(SNAPSHOT, body(62)) == ("dto-depth", "")


def test_reserved_keys_in_typed_maps() -> None:
    body = encode(snapshot(px={"__proto__": "framework"}))
    assert SNAPSHOT.accept(body) is None
    assert refusal(SNAPSHOT, body) == ("dto-key", "")


def test_minus_zero_goes_the_slow_way_where_tokens_count() -> None:
    read: Reader[Any] = Reader("desklink", "HelloParams", text.DESKLINK)
    assert read.accept(b'{"protocol":-0}') is None
    assert refusal(read, b'{"protocol":-0}') == ("malformed", "protocol")
    assert refusal(read, b'{"protocol":3.0}') == ("malformed", "protocol")
    assert read.read(b'{"protocol":3}').protocol == 3


def test_a_repeated_key_is_never_fast_where_it_is_refused() -> None:
    read: Reader[Any] = Reader("collector", "ReceivedCommand", text.COLLECTOR_COMMAND)
    body = b'{"type":"configure","revision":1,"revision":2,"policy":{}}'
    assert read.accept(body) is None
    assert refusal(read, body)[1] == ""


def test_fast_gate_replaces_the_general_one() -> None:
    seen: list[Any] = []

    def gate(body: bytes, struct: Any, limits: Any) -> bool:
        seen.append((body, struct, limits["maxNodes"]))
        return len(seen) > 1

    read: Reader[Any] = Reader("termwright", "AdapterMessage", text.TERMWRIGHT, fast_gate=gate)
    assert read.accept(COMMIT, {"maxNodes": 7}) is None
    assert read.read(COMMIT) == models.RevisionCommit(revision=3)
    assert seen == [(COMMIT, models.RevisionCommit(revision=3), 7), (COMMIT, models.RevisionCommit(revision=3), 5000)]


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_any_plain_value_is_read_or_refused(value: Any) -> None:
    for read in (ADAPTER, DRIVER, OBSERVED):
        with pytest.raises(RemoteProtocolError) as raised:
            read.read_value(value)
        assert raised.value.code in {"malformed", "unknown-type", "version-mismatch"}


@pytest.mark.parametrize(
    "body", [b'{"type":"revision-commit","revision":1,"%b":1}' % (b"k" * 90_000), b'{"type":"log","record":{"%b":1}}' % (b"k" * 90_000)]
)
def test_what_an_error_quotes_of_a_peer_is_short(body: bytes) -> None:
    with pytest.raises(RemoteProtocolError) as refused:
        ADAPTER.read(body)
    assert len(str(refused.value)) < 1000


def test_a_long_path_is_short_too() -> None:
    with pytest.raises(RemoteProtocolError) as refused:
        SNAPSHOT.read_value(snapshot(px={"k" * 90_000: "nobody"}))
    assert refused.value.path.startswith("nodes.0.px.kkk")
    assert len(str(refused.value)) < 1000


def test_generated_modules_are_imported_at_first_use() -> None:
    code = (
        "import sys\n"
        "from triptych.machines.wire.read import Reader\n"
        "from triptych.machines.wire.text import TERMWRIGHT\n"
        "reader = Reader('termwright', 'AdapterMessage', TERMWRIGHT)\n"
        "assert not any(name.startswith('triptych.generated') for name in sys.modules)\n"
        'reader.read(b\'{"type":"frame-begin","revision":1}\')\n'
        "assert 'triptych.generated.termwright.models' in sys.modules\n"
        "assert 'triptych.generated.collector' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_structs_are_frozen_and_closed() -> None:
    commit = ADAPTER.read(COMMIT)
    with pytest.raises(AttributeError):
        commit.revision = 4
    config = models.RevisionCommit.__struct_config__
    assert (config.frozen, config.forbid_unknown_fields, config.gc) == (True, True, False)
    assert msgspec.json.encode(commit) == COMMIT
