"""The plain client for hand-written adapters, and the log handlers, against our own driver and against a driver that misbehaves."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import structlog

from probe_kit import PATIENCE, PROGRAMS
from stopwatch_kit import Stopwatch
from triptych.adapters.termwright.client import Client, Endpoint
from triptych.engine import probe, terminal
from triptych.machines.termwright.framing import FrameDecoder, encode_frame
from triptych.machines.termwright.limits import DEFAULT_LIMITS

NOWHERE = {"status": "unsupported", "capability": "geometry", "reason": "capability"}
ROOT = {
    "id": "root",
    "role": "application",
    "name": "x",
    "geometry": {"displayed": NOWHERE, "intendedRect": NOWHERE, "visibleRect": NOWHERE},
}
TREE = {"columns": 80, "rows": 24, "rootIds": ["root"], "nodes": [ROOT], "coordinateSpace": NOWHERE, "hitGrid": NOWHERE}
ACK = {
    "type": "hello-ack",
    "protocol": "termwright/3",
    "sessionId": "s",
    "limits": dict(DEFAULT_LIMITS),
    "subscribe": "semantic",
    "marker": {"enabled": True},
}


class Listening:
    """A driver that says what a test wants it to say; it accepts one socket at a time."""

    def __init__(self, folder: Path) -> None:
        self.server = socket.socket(socket.AF_UNIX)
        self.server.settimeout(PATIENCE)
        path = str(folder / "s")
        self.server.bind(path)
        self.server.listen()
        self.endpoint = Endpoint(path, "token")
        self.links: list[socket.socket] = []
        self.decoder = FrameDecoder(8 << 20)

    def accept(self, *said: dict[str, Any]) -> socket.socket:
        link, _ = self.server.accept()
        link.settimeout(PATIENCE)
        self.links.append(link)
        self.decoder = FrameDecoder(8 << 20)
        assert self.next(link)["type"] == "hello"
        for message in said:
            link.sendall(encode_frame(message, 1 << 20))
        return link

    def next(self, link: socket.socket) -> dict[str, Any]:
        while True:
            data = link.recv(1 << 16)
            assert data, "the client closed its socket"
            found = self.decoder.push(data)
            if found:
                return found[0]  # type: ignore[return-value]

    def close(self) -> None:
        for link in (*self.links, self.server):
            link.close()


@pytest.fixture
def driver(tmp_path: Path) -> Iterator[Listening]:
    made = Listening(tmp_path)
    yield made
    made.close()


def settle(met: Any) -> None:
    deadline = time.monotonic() + PATIENCE
    while not met():
        assert time.monotonic() < deadline
        time.sleep(0.005)


def client(driver: Listening, **options: Any) -> Client:
    return Client("mine", "1", endpoint=driver.endpoint, **options)


def started(driver: Listening, *said: dict[str, Any], **options: Any) -> tuple[Client, socket.socket]:
    made = client(driver, **options)
    made.start_soon()
    link = driver.accept(*(said or (ACK,)))
    settle(lambda: made.attached)
    return made, link


def test_a_hand_written_adapter_under_our_driver() -> None:
    async def main() -> None:
        program = [sys.executable, str(PROGRAMS / "probe_by_hand.py")]
        async with terminal.launch(program, ready_timeout=PATIENCE) as app:
            tree = await app.wait_for_revision(timeout=PATIENCE)
            assert tree.nodes[0].name == "Counter"
            await app.type("+")
            await app.wait_until(lambda: app.tree is not None and app.tree.nodes[1].name == "1", timeout=PATIENCE)
            assert app.revision_screen is not None
            assert "count 1" in app.revision_screen.text
            await app.wait_until(lambda: len(app.logs) == 2, timeout=PATIENCE)
            assert [(each.record.level, each.record.message) for each in app.logs] == [("info", "ready"), ("warn", "counted")]
            assert app.logs[1].record.attrs == {"value": 1}
            assert [note.code for note in app.diagnostics] == ["adapter-attached"]
            await app.type("q")
            assert await app.exited(timeout=PATIENCE) == 0

    asyncio.run(main())


def test_without_the_environment_nothing_happens(monkeypatch: pytest.MonkeyPatch) -> None:
    for endpoint, token in ((None, None), ("/nowhere", None), (None, "t"), ("", "t"), ("/nowhere", "")):
        for name, value in (("TERMWRIGHT_ENDPOINT", endpoint), ("TERMWRIGHT_TOKEN", token)):
            if value is None:
                monkeypatch.delenv(name, raising=False)
            else:
                monkeypatch.setenv(name, value)
        before = threading.active_count()
        dormant = Client("mine", "1")
        assert dormant.start() is False
        assert threading.active_count() == before
        assert dormant.publish(TREE) == b""
        assert dormant.log("info", "nobody") is False
        dormant.fail("internal", "nobody")
        dormant.close()
        assert not dormant.attached


def test_the_environment_names_the_driver(driver: Listening, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERMWRIGHT_ENDPOINT", driver.endpoint.path)
    monkeypatch.setenv("TERMWRIGHT_TOKEN", driver.endpoint.token)
    found = Client("mine", "1")
    found.start_soon()
    driver.accept(ACK)
    settle(lambda: found.attached)
    found.close()
    assert found.ended == "closed by the program"


def test_nobody_listens(tmp_path: Path) -> None:
    alone = Client("mine", "1", endpoint=Endpoint(str(tmp_path / "gone"), "t"))
    assert alone.start() is False
    assert "FileNotFoundError" in alone.ended
    assert alone.publish(TREE) == b""


def test_a_driver_that_does_not_answer_in_time(driver: Listening) -> None:
    waiting = client(driver)
    began = Stopwatch()
    assert waiting.start(timeout=0.2) is False
    assert began.seconds() < PATIENCE / 2
    settle(lambda: waiting.ended)
    assert "in time" in waiting.ended


@pytest.mark.parametrize("said", [{"type": "error", "code": "bad-token", "message": "no"}, {**ACK, "subscribe": "snapshots"}])
def test_a_refusal_leaves_the_program_alone(driver: Listening, said: dict[str, Any]) -> None:
    refused = client(driver)
    refused.start_soon()
    driver.accept(said)
    settle(lambda: refused.ended)
    assert refused.publish(TREE) == b""
    assert not refused.attached


def test_a_marker_comes_back_once_the_frames_are_written(driver: Listening) -> None:
    made, link = started(driver)
    assert made.publish(TREE).startswith(b"\x1b]8487;twm;1;")
    assert driver.next(link)["type"] == "semantic-full"
    assert made.revision == 1
    made.close()


def test_a_tree_that_breaks_a_rule_says_why_and_the_session_lives(driver: Listening) -> None:
    made, _ = started(driver)
    assert made.publish({**TREE, "rootIds": ["nobody"]}) == b""
    assert made.refusal is not None
    assert made.refusal.code == "missing-parent"
    assert made.publish({"columns": object()}) == b""
    assert made.attached
    assert made.publish(TREE) != b""
    assert made.refusal is None
    made.close()


def test_a_driver_that_does_not_read_loses_the_session_and_not_the_program(driver: Listening) -> None:
    made, _ = started(driver, {**ACK, "limits": {**DEFAULT_LIMITS, "maxFrameBytes": 8 << 20, "maxSnapshotBytes": 8 << 20}})
    large = {
        **TREE,
        "nodes": [{**ROOT, "name": "x" * 16000}, *({**ROOT, "id": f"n{n}", "parentId": "root", "name": "x" * 16000} for n in range(200))],
    }
    began = Stopwatch()
    for _ in range(20):
        if made.publish(large) == b"":
            break
    assert began.seconds() < PATIENCE / 2
    assert "did not take a frame" in made.ended
    assert made.publish(TREE) == b""


def test_a_closed_socket_ends_the_session_and_a_new_start_begins_another(driver: Listening) -> None:
    made, link = started(driver)
    made.publish(TREE)
    link.close()
    settle(lambda: made.ended)
    assert made.publish(TREE) == b""
    made.start_soon()
    link = driver.accept({**ACK, "sessionId": "s2"})
    settle(lambda: made.attached)
    made.publish(TREE)
    full = driver.next(link)
    assert (full["type"], full["snapshot"]["revision"], full["snapshot"]["sessionId"]) == ("semantic-full", 2, "s2")
    made.close()


def test_a_forked_child_says_nothing_and_closes_nothing_of_its_parent(driver: Listening) -> None:
    made, link = started(driver)
    pid = os.fork()
    if pid == 0:
        os._exit(0 if made.publish(TREE) == b"" and not made.attached else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert made.publish(TREE) != b""
    assert driver.next(link)["snapshot"]["revision"] == 1
    made.close()


def test_handlers_send_nothing_without_a_budget_and_count_it(driver: Listening) -> None:
    handler, processor = probe.LogHandler(), probe.StructlogProcessor()
    log = logging.getLogger("triptych-test-budget")
    log.propagate = False
    log.addHandler(handler)
    log.warning("nobody listens")
    assert (handler.sent, handler.dropped) == (0, 1)
    made, link = started(driver)  # which grants none
    log.warning("no budget")
    event = {"event": "no budget", "x": 1}
    assert processor(None, "info", event) is event
    assert (handler.sent, handler.dropped, processor.sent, processor.dropped) == (0, 2, 0, 1)
    made.publish(TREE)
    assert driver.next(link)["type"] == "semantic-full"  # the first thing that was ever said
    log.removeHandler(handler)
    made.close()


def test_what_a_handler_makes_of_a_record(driver: Listening) -> None:
    budget = {"enabled": True, "maxRecordsPerSecond": 5, "burst": 4}
    made, link = started(driver, {**ACK, "logs": budget})
    log = logging.getLogger("triptych-test-record")
    log.propagate = False
    handler = probe.LogHandler(made)
    log.addHandler(handler)
    try:
        raise KeyError("why")
    except KeyError:
        log.exception("bad %s \ud800", "thing", extra={"flag": True, "big": 2**60, "many": [1, 2], "none": None})
    record = driver.next(link)["record"]
    assert (record["level"], record["message"], record["logger"], record["seq"]) == ("error", "bad thing ?", "triptych-test-record", 1)
    assert record["attrs"] == {"flag": True, "big": str(2**60), "many": "[1, 2]", "none": None, "exception": "KeyError('why')"}
    log.setLevel(1)
    log.log(5, "x" * 100_000)
    long = driver.next(link)["record"]
    assert (long["level"], len(long["message"])) == ("trace", 4000)
    for number in range(10):
        log.critical("flood", extra={f"k{key}": number for key in range(100)})
    assert (handler.sent, handler.dropped) == (4, 8)
    flood = driver.next(link)["record"]
    assert (flood["level"], len(flood["attrs"])) == ("fatal", 64)
    assert made.logs_dropped == 8
    log.removeHandler(handler)
    made.close()


def test_the_structlog_processor_in_a_chain(driver: Listening) -> None:
    budget = {"enabled": True, "maxRecordsPerSecond": 5, "burst": 4}
    made, link = started(driver, {**ACK, "logs": budget})
    processor = probe.StructlogProcessor(made)
    with structlog.testing.capture_logs(processors=[structlog.processors.add_log_level, processor]) as kept:
        structlog.get_logger().warning("low", animal="horse", left=3)
    record = driver.next(link)["record"]
    assert (record["level"], record["message"], record["attrs"]) == ("warn", "low", {"animal": "horse", "left": 3})
    assert kept[0]["animal"] == "horse"
    assert (processor.sent, processor.dropped) == (1, 0)
    assert isinstance(probe.structlog_processor, probe.StructlogProcessor)
    made.close()


def test_an_annotation_says_at_once_what_it_may_not_say() -> None:
    from triptych.errors import LocalProtocolError

    for code, words in (
        ("unknown-role", {"role": "wizard"}),
        ("unknown-action", {"actions": ("fly",)}),
        ("measured-state", {"state": {"focused": True}}),
        ("measured-state", {"state": {"hidden": True}}),
    ):
        with pytest.raises(LocalProtocolError) as refused:
            probe.annotate(**words)  # type: ignore[arg-type]
        assert refused.value.code == code


def test_annotations_add_up_from_base_to_class_to_widget() -> None:
    from triptych.adapters.termwright.annotations import annotation_of

    @probe.annotate(role="region", name="base")
    class Base: ...

    @probe.annotate(name="derived")
    class Derived(Base): ...

    one = probe.annotate(test_id="one")(Derived())
    assert (annotation_of(one).role, annotation_of(one).name, annotation_of(one).test_id) == ("region", "derived", "one")
    assert annotation_of(Derived()).test_id is None
    assert annotation_of(Base).name == "base"


def test_annotations_alone_load_no_protocol() -> None:
    loaded = "print('msgspec' in sys.modules, 'socket' in sys.modules)"
    code = f"import sys; from triptych.engine import probe; probe.annotate(role='status'); {loaded}"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert said == "False False\n"
