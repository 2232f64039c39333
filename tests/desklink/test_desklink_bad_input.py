"""Everything malformed that a consumer or a client can send: the protocol's code, and nothing else happens."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import resource
import shutil
from pathlib import Path
from typing import Any

import msgspec
import pytest

from desklink_engine_kit import COPYING, FED, X11, Consumer
from desklink_kit import EngineProcess
from triptych.adapters.desklink.host import Host
from triptych.adapters.desklink.x11_input import X11Input
from triptych.adapters.display import PrivateDisplay
from triptych.generated.desklink.vocabulary import MAX_ACCESS_UNIT_BYTES
from triptych.machines.desklink import effects as do
from triptych.machines.desklink.requests import MESSAGE_CHARACTERS, Request
from x11_kit import eventually

ID = "00000000000000000000000000000001"  # of the first session of a `Consumer`
THIS = f'"session_id":"{ID}"'
BIG = 2**64

#: Lines, and the codes of their answers. Those without an id are answered without one.
LINES = [
    # no requests
    (b"{", "malformed"),
    (b"[]", "malformed"),
    (b"nonsense", "malformed"),
    (b'{"id":1,"method":"session.metrics"', "malformed"),
    (b'{"id":1,"method":"session.metrics"}}', "malformed"),
    (b'{"id":1,"method":"session.metrics"} {"id":2,"method":"session.metrics"}', "malformed"),
    (b'{"id":1,"method":null}', "malformed"),
    (b'{"id":1}', "malformed"),
    (b'{"id":true,"method":"session.metrics"}', "malformed"),
    (b'{"id":"1","method":"session.metrics"}', "malformed"),
    (b'{"id":-1,"method":"session.metrics"}', "malformed"),
    (b'{"id":1.5,"method":"session.metrics"}', "malformed"),
    (b'{"id":%d,"method":"session.metrics"}' % BIG, "malformed"),
    (b'{"id":NaN,"method":"session.metrics"}', "malformed"),
    (b'{"id":1,"method":"session.metrics","params":Infinity}', "malformed"),
    (b'{"id":1,"method":"session.\xff"}', "malformed"),
    (b'{"id":1,"method":"\\ud800"}', "malformed"),
    (b"\xef\xbb\xbf{}", "malformed"),
    (b'{"id":1,"method":"session.metrics","params":' + b"[" * 5000 + b"]" * 5000 + b"}", "malformed"),
    (b"\0", "malformed"),
    # unknown methods
    (b'{"id":9,"method":"session.wait_frame","params":{%s}}' % THIS.encode(), "operation"),
    (b'{"id":9,"method":"SESSION.METRICS"}', "operation"),
    (b'{"id":9,"method":" hello"}', "operation"),
    (b'{"id":9,"method":"%s"}' % (b"x" * 1_000_000), "operation"),
    # hello
    (b'{"id":9,"method":"hello"}', "malformed"),
    (b'{"id":9,"method":"hello","params":{"protocol":2}}', "unsupported-protocol"),
    (b'{"id":9,"method":"hello","params":{"protocol":3.5}}', "malformed"),
]

#: Parameters that are wrong for a method, and the codes.
PARAMS: list[tuple[str, Any, str]] = [
    *(
        (method, params, code)
        for method, more in (
            ("session.description", {"description": {"type": "answer", "sdp": ""}}),
            ("session.candidate", {"candidate": ""}),
            ("session.restart_ice", {}),
            ("session.frame", {}),
            ("session.feed", {"keyframe": True, "data_b64": "AAAA"}),
            ("session.clipboard.read", {}),
            ("session.clipboard.write", {"text": "x"}),
            ("session.close", {}),
            ("session.point", {"x": 1, "y": 1}),
        )
        for params, code in (
            (None, "malformed"),
            ([], "malformed"),
            ("text", "malformed"),
            (more, "malformed"),
            ({**more, "session_id": None}, "malformed"),
            ({**more, "session_id": 7}, "malformed"),
            ({**more, "session_id": ID, "generation": "1"}, "malformed"),
            ({**more, "session_id": ID, "generation": -1}, "malformed"),
            ({**more, "session_id": ID, "generation": BIG}, "malformed"),
            ({**more, "session_id": "f" * 32}, "session"),
            ({**more, "session_id": ID.upper() + " "}, "session"),
            ({**more, "session_id": ""}, "session"),
            ({**more, "session_id": ID, "generation": 0}, "generation"),
            ({**more, "session_id": ID, "generation": 2}, "generation"),
        )
    ),
    *(
        (method, {"session_id": ID, **params}, code)
        for method, params, code in (
            ("session.description", {}, "malformed"),
            ("session.description", {"description": {"type": "answer"}}, "malformed"),
            ("session.description", {"description": {"type": "offer", "sdp": ""}}, "operation"),
            ("session.description", {"description": {"type": "", "sdp": ""}}, "operation"),
            ("session.candidate", {}, "malformed"),
            ("session.candidate", {"candidate": 5}, "malformed"),
            ("session.candidate", {"candidate": "", "sdp_m_line_index": 65536}, "malformed"),
            ("session.frame", {"region": [0, 0, 0, 1]}, "coordinates"),
            ("session.frame", {"region": [1279, 719, 2, 1]}, "coordinates"),
            ("session.frame", {"region": [0, 0, 4294967295, 4294967295]}, "coordinates"),
            ("session.frame", {"region": [4294967295, 0, 1, 1]}, "coordinates"),
            ("session.frame", {"region": [-1, 0, 1, 1]}, "malformed"),
            ("session.frame", {"region": [0, 0, 1]}, "malformed"),
            ("session.frame", {"region": [0, 0, 1, 1, 1]}, "malformed"),
            ("session.frame", {"region": "all"}, "malformed"),
            ("session.frame", {"since": -1}, "malformed"),
            ("session.frame", {"after_seq": 0.5}, "malformed"),
            ("session.frame", {"still_ms": BIG}, "malformed"),
            ("session.frame", {"timeout_ms": "5"}, "malformed"),
            ("session.frame", {"path": 5}, "malformed"),
            ("session.frame", {"timeout_ms": 0, "after_seq": 99}, "frame-timeout"),
            ("session.feed", {"keyframe": True, "data_b64": "AAAA"}, "operation"),
            ("session.feed", {"data_b64": "AAAA"}, "malformed"),
            ("session.feed", {"keyframe": 1, "data_b64": "AAAA"}, "malformed"),
            ("session.clipboard.write", {"text": 5}, "malformed"),
            ("session.point", {"x": 1280, "y": 0}, "coordinates"),
            ("session.point", {"x": 0, "y": 0, "label": "\n"}, "malformed"),
            ("session.point", {"x": 0, "y": 0, "timeout_ms": 120001}, "malformed"),
        )
    ),
    *(
        ("session.open", params, code)
        for params, code in (
            (None, "malformed"),
            ({"permissions": ["look"]}, "malformed"),
            ({"permissions": ["view"], "source": {}}, "malformed"),
            ({"permissions": ["view"], "source": {"kind": "x11", "display": 5}}, "malformed"),
            ({"permissions": ["view"], "source": {"kind": "x11"}, "max_width": -1}, "malformed"),
            ({"permissions": ["view"], "source": {"kind": "x11"}, "max_height": 4294967296}, "malformed"),
            ({"permissions": ["view"], "source": {"kind": "x11"}, "bitrate_kbps": "fast"}, "malformed"),
            ({"permissions": ["view"], "source": {"kind": "x11"}, "ttl_seconds": -1}, "malformed"),
            ({"permissions": ["view"], "source": {"kind": "x11"}, "ttl_seconds": BIG}, "malformed"),
            ({"permissions": ["view"], "source": {"kind": "x11"}, "ice_servers": [{"urls": "stun:x"}]}, "malformed"),
            ({"permissions": ["view"], "source": {"kind": "x11"}, "ice_servers": {}}, "malformed"),
            ({"permissions": ["view"], "source": {"kind": "x11"}, "loopback_tcp": "yes"}, "malformed"),
            ({"permissions": ["view"], "source": {"kind": "x11"}, "agent_indicator": 1}, "malformed"),
            ({"permissions": ["view"], "source": {"kind": "x11"}, "restore_token": 7}, "malformed"),
            ({"permissions": ["view"], "source": {"kind": "x11", "display": ":1\0"}}, "source"),
            ({"permissions": [], "source": {"kind": "x11"}}, "permission"),
            ({"permissions": ["view", "control"]}, "input-unavailable"),
            ({"permissions": ["view"], "source": {"kind": "encoded", "codec": "h264", "width": 0, "height": 1}}, "source"),
            ({"permissions": ["view"], "source": {"kind": "encoded", "codec": "h265", "width": 1, "height": 1}}, "malformed"),
        )
    ),
]


def standing() -> Consumer:
    """A consumer with a session that has a frame."""
    consumer = Consumer()
    assert consumer.open(COPYING) == ID
    consumer.capture(ID)
    consumer.said.clear()
    consumer.effects.clear()
    return consumer


def is_untouched(consumer: Consumer) -> None:
    """Nothing was asked of the world, and the session still answers as before."""
    assert consumer.effects == []
    assert consumer.events("session.state") == consumer.events("session.revoked") == []
    assert consumer.engine.deadline() == pytest.approx(1000.0 + 3600)
    frame = consumer.result(consumer.send("session.frame", {"session_id": ID, "since": 1}))
    assert (frame["seq"], frame["damage"], frame["written"]) == (1, [], False)
    metrics = consumer.result(consumer.send("session.metrics"))
    assert (metrics["captured_frames"], metrics["dropped_frames"], metrics["fed_frames"], metrics["input_rejected"]) == (1, 0, 0, 0)


@pytest.mark.parametrize(("line", "code"), LINES, ids=lambda value: str(value)[:40])
def test_a_bad_line_has_its_code_and_no_effect(line: bytes, code: str) -> None:
    consumer = standing()
    consumer.line(line)
    [answer] = consumer.said
    assert (answer.get("id"), answer["error"]["code"]) == (9 if b'"id":9' in line else None, code)
    assert len(answer["error"]["message"]) <= MESSAGE_CHARACTERS + 1
    is_untouched(consumer)


@pytest.mark.parametrize(("method", "params", "code"), PARAMS, ids=lambda value: str(value)[:40])
def test_bad_parameters_have_their_code_and_no_effect(method: str, params: Any, code: str) -> None:
    consumer = standing()
    assert consumer.code(consumer.send(method, params)) == code
    is_untouched(consumer)


@pytest.mark.parametrize(
    ("data", "code"),
    [
        ("", "operation"),
        ("A", "malformed"),
        ("AA", "malformed"),
        ("AAA", "malformed"),
        ("AAA=A", "malformed"),
        ("====", "malformed"),
        ("AB==", "malformed"),  # bits after the last byte
        ("AAB=", "malformed"),
        ("AAAA\n", "malformed"),
        (" AAAA", "malformed"),
        ("AA-_", "malformed"),
        ("AAAé", "malformed"),
        ("AAAA====", "malformed"),
        (base64.b64encode(bytes(MAX_ACCESS_UNIT_BYTES + 1)).decode(), "malformed"),
        ("A" * 12_000_000, "malformed"),
    ],
    ids=lambda value: str(value)[:12],
)
def test_bad_base64_is_not_fed(data: str, code: str) -> None:
    consumer = Consumer()
    session = consumer.open(FED)
    assert consumer.code(consumer.send("session.feed", {"session_id": session, "keyframe": True, "data_b64": data})) == code
    metrics = consumer.result(consumer.send("session.metrics"))
    assert (metrics["fed_frames"], metrics["dropped_frames"]) == (0, 0)
    assert consumer.effects == []


#: Control messages, the code with which each is rejected, and the seq that comes back.
CONTROL: list[tuple[bytes, str, int]] = [
    (b"", "operation", 0),
    (b"{", "operation", 0),
    (b"[]", "operation", 0),
    (b'{"seq":3}', "operation", 0),
    (b'{"kind":"jump","seq":3}', "operation", 0),
    (b'{"kind":"pointer","phase":"fly","x":1,"y":1,"seq":3}', "operation", 0),
    (b'{"kind":"pointer","phase":"down","x":1,"seq":3}', "operation", 0),
    (b'{"kind":"pointer","phase":"down","x":"1","y":1,"seq":3}', "operation", 0),
    (b'{"kind":"pointer","phase":"down","x":1.5,"y":1,"seq":3}', "operation", 0),
    (b'{"kind":"pointer","phase":"down","x":1,"y":1,"seq":-3}', "operation", 0),
    (b'{"kind":"pointer","phase":"down","x":1,"y":1,"seq":%d}' % BIG, "operation", 0),
    (b'{"kind":"wheel","dx":NaN,"seq":3}', "operation", 0),
    (b'{"kind":"wheel","dx":Infinity,"seq":3}', "operation", 0),
    (b'{"kind":"wheel","dx":1e999,"seq":3}', "operation", 0),
    (b'{"kind":"wheel","dy":"1","seq":3}', "operation", 0),
    (b'{"kind":"key","name":"Enter","seq":3}', "operation", 0),
    (b'{"kind":"text","text":5,"seq":3}', "operation", 0),
    (b'{"kind":"text","text":"\xff","seq":3}', "operation", 0),
    (b'{"kind":"text","text":"\\ud800","seq":3}', "operation", 0),
    (b'{"kind":"clipboard_read","seq":3}', "operation", 0),
    (b'{"kind":"clipboard_write","request":"r","seq":3}', "operation", 0),
    (b'{"kind":"pointer","phase":"down","x":1280,"y":0,"seq":3}', "coordinates", 3),
    (b'{"kind":"pointer","phase":"down","x":0,"y":-1,"seq":4}', "coordinates", 4),
    (b'{"kind":"pointer","phase":"down","x":9007199254740991,"y":0,"seq":5}', "coordinates", 5),
    (b'{"kind":"pointer","phase":"move","x":1,"y":1,"seq":5}', "input-replay", 5),
    (b'{"kind":"pointer","phase":"move","x":1,"y":1,"seq":1}', "input-replay", 1),
    (b'{"kind":"wheel","dx":100.5,"seq":6}', "coordinates", 6),
    (b'{"kind":"wheel","dy":-1e300,"seq":7}', "coordinates", 7),
    (b'{"kind":"key","name":"NoSuchKey","down":true,"seq":8}', "text-unsupported", 8),
    (b'{"kind":"key","character":"ab","down":true,"seq":9}', "text-unsupported", 9),
    (b'{"kind":"key","character":"","down":true,"seq":10}', "text-unsupported", 10),
    (b'{"kind":"key","down":true,"seq":11}', "text-unsupported", 11),
    ('{"kind":"key","character":"漢","down":true,"seq":12}'.encode(), "text-unsupported", 12),
    ('{"kind":"text","text":"ok 漢","seq":13}'.encode(), "text-unsupported", 13),
    (b'{"kind":"text","text":"%s","seq":14}' % (b"x" * 4097), "text-too-large", 14),
    (b'{"kind":"clipboard_read","request":"r","seq":15}', "permission", 15),
    (b'{"kind":"clipboard_write","request":"r","text":"t","seq":16}', "permission", 16),
]


@pytest.mark.display
def test_a_bad_control_message_is_rejected_and_nothing_moves(bare_display: PrivateDisplay) -> None:
    opened: list[str] = []

    async def main() -> None:
        ready = asyncio.Event()

        def take(said: do.Emit) -> None:
            if said.message.get("id") == 1:
                opened.append(said.message["result"]["sessionId"])
                ready.set()

        host = Host(take, greeted=True)
        host.request(Request(1, "session.open", {**X11, "source": {"kind": "x11", "display": bare_display.name}}))
        await asyncio.wait_for(ready.wait(), 60)
        with X11Input(bare_display.name) as look:
            before = look.pointer()
            for text, code, seq in CONTROL:
                answer = await host.control(opened[0], text)
                assert (answer["kind"], answer["code"], answer["seq"]) == ("rejected", code, seq), text
                assert (look.pointer(), look.pressed()) == (before, frozenset()), text
            assert (await host.control(opened[0], b'{"kind":"pointer","phase":"move","x":1,"y":2,"seq":17}')) == {"kind": "ack", "seq": 17}
            assert look.pointer()[:2] == (1, 2)
            answer = await host.control("f" * 32, b'{"kind":"pointer","phase":"move","x":5,"y":5,"seq":18}')
            assert answer["code"] == "session"
            assert look.pointer()[:2] == (1, 2)
        host.shutdown()
        await asyncio.wait_for(host.finished.wait(), 60)
        assert host.failure is None

    asyncio.run(main())


@pytest.mark.parametrize(
    "text",
    [
        b'{"kind":"text","text":"a","more":123456789012345678901234567890123456789012345678901234567890}',
        b'{"kind":"wheel","dy":1e2,"more":[1.0,-0.0,1E400]}'.replace(b",1E400", b""),
        b'{"kind":"pointer",\n\t"phase":"down",\r\n"x":5,"y":99999,"button":9}\n',
        '{"kind":"key","character":"é\\u2028\U0001f600","down":true,"modifiers":["Hyper"]}'.encode(),
        b'{"kind":"release_all","__proto__":null}',
    ],
)
def test_what_is_forwarded_is_what_arrived_on_one_line(text: bytes) -> None:
    consumer = Consumer()
    session = consumer.open(FED)
    consumer.take(consumer.engine.channel_opened(session))
    [event, reply] = consumer.engine.control(session, text)
    assert isinstance(event, do.Emit) and isinstance(reply, do.SendControl)
    assert reply.message == {"kind": "ack", "seq": 0}
    line = msgspec.json.encode(event.message)
    assert b"\n" not in line and b"\r" not in line
    assert json.loads(line)["params"] == {"sessionId": session, "input": json.loads(text)}


@pytest.mark.parametrize(("text", "code", "seq"), CONTROL[:21])
def test_a_malformed_control_message_is_not_forwarded(text: bytes, code: str, seq: int) -> None:
    consumer = Consumer()
    session = consumer.open(FED)
    consumer.take(consumer.engine.channel_opened(session))
    consumer.effects.clear()
    consumer.take(consumer.engine.control(session, text))
    assert consumer.the(do.SendControl).message["code"] == code
    assert consumer.events("session.input") == []
    metrics = consumer.result(consumer.send("session.metrics"))
    assert (metrics["input_forwarded"], metrics["input_rejected"]) == (0, 1)


@pytest.mark.display
def test_a_frame_is_written_where_it_should_be_or_nowhere(bare_display: PrivateDisplay, tmp_path: Path) -> None:
    private = Path(bare_display.runtime_dir) / "frames"
    private.mkdir(mode=0o700)
    victim = tmp_path / "victim"
    victim.write_text("untouched")
    (private / "link").symlink_to(victim)
    (private / "dangling").symlink_to(tmp_path / "made")
    (private / "folder").mkdir()
    shared = Path(bare_display.runtime_dir) / "shared"
    shared.mkdir()
    shared.chmod(0o755)
    (Path(bare_display.runtime_dir) / "way").symlink_to(private)
    os.mkfifo(private / "pipe")
    with EngineProcess(bare_display.env) as engine:
        session = engine.open(bare_display.name)
        engine.event("session.frame.changed", seq=1)
        resource.prlimit(engine.process.pid, resource.RLIMIT_FSIZE, (100_000, 100_000))
        # The whole picture has 4 MB, and the process may write 100 kB: as on a full disk.
        assert engine.code("session.frame", {"session_id": session, "path": str(private / "frame")}) == "frame"
        small = {"session_id": session, "region": [0, 0, 10, 10]}
        bad = [shared / "f", Path("/tmp/f"), private / "none" / "f", private / "folder", Path("relative"), private / "x\0y", Path("/")]
        for path in bad:
            assert engine.code("session.frame", {**small, "path": str(path)}) == "frame", path
        for path in ("link", "dangling", "pipe"):
            answer = engine.answer(engine.send("session.frame", {**small, "path": str(private / path)}))
            assert answer.get("error", {}).get("code", "frame") == "frame"
        assert victim.read_text() == "untouched"
        assert not (tmp_path / "made").exists()
        leftovers = {entry.name for entry in private.iterdir()} - {"link", "dangling", "folder", "pipe"}
        assert leftovers == set()
        assert list(shared.iterdir()) == []
        assert engine.ask("session.frame", {**small, "path": str(private / "good")})["written"]
        assert (private / "good").stat().st_size == 400
        assert engine.events("session.capture.stopped") == []
    shutil.rmtree(private)


@pytest.mark.display
def test_a_closed_display_is_a_source_that_cannot_be_opened_and_never_a_stale_frame(bare_display: PrivateDisplay) -> None:
    with EngineProcess(bare_display.env) as engine:
        session = engine.open(bare_display.name, "view", "control", "clipboard")
        engine.event("session.frame.changed", seq=1)
        bare_display.stop_server()
        engine.event("session.capture.stopped")
        assert engine.code("session.frame", {"session_id": session}) == "stream-stopped"
        assert engine.code("session.clipboard.read", {"session_id": session}) == "clipboard"
        assert engine.code("session.clipboard.write", {"session_id": session, "text": "x"}) == "clipboard"
        for display in (bare_display.name, ":99999", "nonsense", ":0:0:0", "/", "x" * 100_000):
            source = {"kind": "x11", "display": display}
            assert engine.code("session.open", {"source": source, "permissions": ["view"]}) == "source"
        # The refused opens cost nobody the session that stands.
        assert engine.ask("session.metrics")["captured_frames"] == 1
        assert engine.ask("session.close", {"session_id": session}) == {"closed": True}
        eventually(lambda: engine.ask("capabilities")["x11"] == {"available": False, "size": None}, "the display is gone")
        assert not engine.ask("capabilities")["clipboard"]["read"]


@pytest.mark.display
def test_a_process_without_descriptors_refuses_and_lives(bare_display: PrivateDisplay) -> None:
    with EngineProcess(bare_display.env) as engine:
        engine.ask("hello", {"protocol": 3})
        used = len(list(Path(f"/proc/{engine.process.pid}/fd").iterdir()))
        _, most = resource.prlimit(engine.process.pid, resource.RLIMIT_NOFILE)
        source = {"source": {"kind": "x11", "display": bare_display.name}, "permissions": ["view", "control"]}
        for room in range(6):
            resource.prlimit(engine.process.pid, resource.RLIMIT_NOFILE, (used + room, most))
            assert engine.code("session.open", source) == "source"
        resource.prlimit(engine.process.pid, resource.RLIMIT_NOFILE, (1000, most))
        assert engine.ask("session.open", source)["sessionId"]
        assert engine.ask("shutdown") == {}
        assert engine.exit_code() == 0
