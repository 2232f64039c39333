"""The collector process by its pipes alone: what it says where it can see nothing, which commands it takes, and how it ends."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import triptych
from linux_kit import collector, policy
from stopwatch_kit import Stopwatch
from triptych.adapters.display import PrivateDisplay
from triptych.engine.activity import collect_command
from triptych.generated.collector.models import Fatal, Hello
from triptych.machines.collector.messages import COLLECTOR_MESSAGES


class _Pipe:
    """One end of a pipe."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def fileno(self) -> int:
        return self._descriptor

    def __enter__(self) -> _Pipe:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._descriptor)


@pytest.fixture
def nowhere(tmp_path: Path) -> dict[str, str]:
    """An environment without a display and with a session bus that is not there."""
    return {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "DBUS_SESSION_BUS_ADDRESS": f"unix:path={tmp_path}/no-bus"}


def test_without_a_bus_it_says_so_and_still_takes_commands(nowhere: dict[str, str]) -> None:
    with collector(nowhere) as running:
        hello = running.next()
        assert isinstance(COLLECTOR_MESSAGES.read(json.dumps(hello).encode()), Hello)
        assert (hello["platform"], hello["collectorSession"][:6]) == ("linux", "linux-")
        assert hello["collectorVersion"] == triptych.__version__
        state = running.next()
        assert (state["state"], state["accessibilityTrusted"]) == ("permission-required", False)
        assert state["reason"].startswith("no session bus")
        assert running.next()["code"] == "at-spi-unavailable"
        sources = running.next()
        assert (sources["level"], sources["code"]) == ("info", "sources")
        assert "idle: none" in sources["message"]
        running.configure(3)
        assert running.next() == {"v": 1, "type": "configured", "revision": 3}
        assert running.next()["code"] == "no-allowed-applications"
        running.send('{"type":"pause"}')
        assert running.next() == {"v": 1, "type": "state", "state": "paused", "accessibilityTrusted": False}
        running.configure(3)
        assert running.wait_for("configured")["revision"] == 3
        running.send('{"type":"resume"}')
        assert running.wait_for("state")["state"] == "permission-required"
        running.send('{"type":"shutdown"}')
        assert running.process.wait(60) == 0


@pytest.mark.parametrize("kind", ["pipe", "socket"])
def test_input_that_does_not_block_is_waited_for(nowhere: dict[str, str], kind: str) -> None:
    """Whoever started it may have set O_NONBLOCK on the descriptors: an empty pipe is not the end of input."""
    ours, theirs = socket.socketpair() if kind == "socket" else map(_Pipe, reversed(os.pipe()))
    with ours, theirs:
        os.set_blocking(theirs.fileno(), False)
        with subprocess.Popen(collect_command(), env=nowhere, stdin=theirs.fileno(), stdout=subprocess.PIPE) as process:
            try:
                assert process.stdout is not None
                said = [json.loads(process.stdout.readline()) for _ in range(4)]  # hello, state, two diagnostics
                assert said[0]["collectorVersion"] == triptych.__version__
                os.write(ours.fileno(), b'{"type":"pause"}\n')
                assert json.loads(process.stdout.readline())["state"] == "paused"
                os.write(ours.fileno(), b'{"type":"shutdown"}\n')
                assert process.wait(60) == 0
            finally:
                process.kill()


def test_a_bus_that_accepts_and_stays_silent_is_reported_within_a_second(tmp_path: Path, nowhere: dict[str, str]) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "silent"))
        listener.listen()
        with collector({**nowhere, "DBUS_SESSION_BUS_ADDRESS": f"unix:path={tmp_path}/silent"}) as running:
            listener.settimeout(60)
            caller, _ = listener.accept()
            asked = Stopwatch(running.process.pid)
            with caller:
                running.next()
                state = running.next()
                assert state["state"] == "permission-required"
                assert state["reason"].startswith("the accessibility bus does not answer; sign in anew")
            assert asked.seconds() < 5
            assert running.end() == 0


def test_the_end_of_input_is_a_shutdown_without_a_farewell(nowhere: dict[str, str]) -> None:
    with collector(nowhere) as running:
        running.wait_for("diagnostic", code="sources")
        assert running.end() == 0
        assert running.process.stdout is not None and running.process.stderr is not None
        assert (running.process.stdout.read(), running.process.stderr.read()) == (b"", b"")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_cleanly(nowhere: dict[str, str], number: signal.Signals) -> None:
    with collector(nowhere) as running:
        running.wait_for("diagnostic", code="sources")
        running.process.send_signal(number)
        assert running.process.wait(60) == 0
        assert running.process.stderr is not None and running.process.stderr.read() == b""


def test_a_host_that_stops_reading_does_not_keep_it_alive(nowhere: dict[str, str]) -> None:
    with collector(nowhere) as running:
        running.wait_for("diagnostic", code="sources")
        configure = json.dumps({"type": "configure", "revision": 1, "policy": policy()}).encode() + b"\n"
        # More answers than a pipe holds: writing them blocks, and the command after them has to be taken all the same.
        flood = threading.Thread(target=running.send, args=(configure * 5000 + b'{"type":"shutdown"}\n',))
        flood.start()
        try:
            assert running.process.wait(60) == 0
        finally:
            running.process.kill()
            flood.join()


def test_commands_arrive_whole_however_they_are_cut_and_junk_is_ignored(nowhere: dict[str, str]) -> None:
    with collector(nowhere) as running:
        running.wait_for("diagnostic", code="sources")
        whole = json.dumps({"type": "configure", "revision": 7, "policy": policy()}).encode()
        running.send(whole[:20])
        running.send(
            whole[20:] + b'\r\n\r\nnot json\n{"type":"nonsense"}\n' + b"x" * 70_000 + b"\n\xff\xfe\n" + whole.replace(b"7", b"8") + b"\n"
        )
        assert running.wait_for("configured")["revision"] == 7
        assert running.wait_for("configured")["revision"] == 8
        assert running.end() == 0


def said_fatally(ended: subprocess.CompletedProcess[bytes]) -> str:
    """The code of the `fatal` line, which is the last one and follows only a hello."""
    assert ended.returncode == 1
    hello, fatal = map(COLLECTOR_MESSAGES.read, ended.stdout.splitlines())
    assert isinstance(hello, Hello) and isinstance(fatal, Fatal) and fatal.message
    return fatal.code


def test_an_adapter_table_that_is_none_is_fatal_and_one_clear_line(tmp_path: Path, nowhere: dict[str, str]) -> None:
    table = tmp_path / "adapters.json"
    table.write_text('{"adapters": [{"id": "form"}]}')
    ended = subprocess.run([*collect_command(), "--adapter-table", str(table)], env=nowhere, input=b"", capture_output=True, check=False)
    assert said_fatally(ended) == "adapter-table"
    assert ended.stderr.startswith(b"triptych: [adapter-table] adapters.0.")
    assert ended.stderr.count(b"\n") == 1


def test_a_liveness_reaches_the_collector_and_one_under_the_floor_is_one_clear_line(nowhere: dict[str, str]) -> None:
    assert collect_command(liveness_seconds=45.0)[-2:] == ["--liveness-seconds", "45.0"]
    assert "--liveness-seconds" not in collect_command()
    with collector(nowhere, "--liveness-seconds", "30") as running:
        running.wait_for("diagnostic", code="sources")
        assert running.end() == 0
    ended = subprocess.run(collect_command(liveness_seconds=29.0), env=nowhere, input=b"", capture_output=True, check=False)
    assert said_fatally(ended) == "liveness-seconds"
    assert ended.stderr.startswith(b"triptych: [liveness-seconds] ")


def test_a_package_that_is_missing_is_fatal(nowhere: dict[str, str]) -> None:
    program = "import sys; sys.modules['dbus_fast'] = None\n" + collect_command()[3]
    ended = subprocess.run([sys.executable, "-P", "-c", program, "activity", "collect"], env=nowhere, capture_output=True, check=False)
    assert said_fatally(ended) == "cannot-run-here"
    assert ended.stderr.count(b"\n") == 1


def faulty(fault: str) -> list[str]:
    """The command of a collector whose desktop raises this when it is asked for the second time."""
    return [sys.executable, "-P", "-c", FAULTY.replace("FAULT", fault)]


FAULTY = """
import asyncio, sys
from triptych.adapters.collector.collect import CollectorProcess
from triptych.adapters.collector.source import Availability
from triptych.errors import Unavailable
class Faulty:
    platform, broken, notes, asked = "linux", False, "", 0
    def __init__(self, changed, slept): self.changed, self.loop = changed, asyncio.get_running_loop()
    async def availability(self): return Availability(True)
    async def attach(self): pass
    def detach(self): pass
    async def foreground(self): FAULT
    async def close(self): pass
def out_of_a_callback(source):
    def boom(): raise RuntimeError("boom")
    source.loop.call_soon(boom)
sys.exit(asyncio.run(CollectorProcess(source=Faulty).run()))
"""


def test_what_a_restart_does_not_cure_is_one_fatal_line_and_nothing_follows(nowhere: dict[str, str]) -> None:
    with collector(nowhere, command=faulty("raise Unavailable('no such desktop', 'get one')")) as running:
        running.wait_for("state")
        running.configure(1, "code.desktop")
        fatal = running.wait_for("fatal")
        assert fatal == {"v": 1, "type": "fatal", "code": "cannot-run-here", "message": "no such desktop (get one)"}
        assert running.process.wait(60) == 1
        assert running.process.stdout is not None and running.rest + running.process.stdout.read() == b""


@pytest.mark.parametrize("fault", ["raise RuntimeError('boom')", "out_of_a_callback(self)"])
def test_what_nobody_expected_is_a_crash_without_a_fatal(nowhere: dict[str, str], fault: str) -> None:
    with collector(nowhere, command=faulty(fault)) as running:
        running.wait_for("state")
        running.configure(1, "code.desktop")
        running.wait_for("configured")
        assert running.process.wait(60) not in (0, None)
        assert running.process.stdout is not None and running.process.stderr is not None
        assert running.rest + running.process.stdout.read() == b""
        assert b"RuntimeError: boom" in running.process.stderr.read()


@pytest.mark.display
@pytest.mark.parametrize("end", ["shutdown", "signal"])
def test_an_x_server_that_hangs_keeps_neither_its_commands_nor_its_end(
    bare_display: PrivateDisplay, nowhere: dict[str, str], end: str
) -> None:
    os.kill(bare_display.pid, signal.SIGSTOP)
    try:
        with collector({**bare_display.env, **nowhere}) as running:
            running.wait_for("diagnostic", code="sources")
            running.configure(3)
            assert running.wait_for("configured")["revision"] == 3
            if end == "signal":
                running.process.send_signal(signal.SIGTERM)
            else:
                running.send('{"type":"shutdown"}')
            assert running.process.wait(60) == 0
    finally:
        os.kill(bare_display.pid, signal.SIGCONT)


@pytest.mark.display
def test_an_x_server_that_dies_does_not_take_it_along(private_display: PrivateDisplay) -> None:
    with collector(private_display.env, "--enable-accessibility") as running:
        running.configure(1)
        assert running.wait_for("configured")["revision"] == 1
        private_display.stop_server()
        for said in ("paused", "running"):  # it goes on looking, by the accessibility bus
            running.send(json.dumps({"v": 1, "type": "pause" if said == "paused" else "resume"}))
            while running.wait_for("state")["state"] != said:
                pass
        assert running.end() == 0
        assert running.process.stderr is not None and running.process.stderr.read() == b""


@pytest.mark.display
@pytest.mark.slow
def test_it_turns_accessibility_on_only_when_told_to_and_notices_when_it_is_on(private_display: PrivateDisplay) -> None:
    read = "import asyncio, sys; from dbus_fast.aio import MessageBus; from dbus_fast import Message\n" + IS_ENABLED

    def is_enabled() -> bool:
        found = subprocess.run([sys.executable, "-c", read], env=private_display.env, capture_output=True, text=True, check=True)
        return found.stdout.strip() == "True"

    with collector(private_display.env) as running:
        state = running.wait_for("state")
        assert (state["state"], state["accessibilityTrusted"]) == ("permission-required", False)
        assert "accessibility is off" in state["reason"]
        assert not is_enabled()
        with collector(private_display.env, "--enable-accessibility") as other:
            assert other.wait_for("state") == {"v": 1, "type": "state", "state": "running", "accessibilityTrusted": True}
            assert other.end() == 0
        assert is_enabled()
        # Nothing tells the first one: its heartbeat finds out.
        assert running.wait_for("state") == {"v": 1, "type": "state", "state": "running", "accessibilityTrusted": True}
        assert running.end() == 0


IS_ENABLED = """
async def main():
    bus = await MessageBus().connect()
    body = ["org.a11y.Status", "IsEnabled"]
    reply = await bus.call(Message("org.a11y.Bus", "/org/a11y/bus", "org.freedesktop.DBus.Properties", "Get", signature="ss", body=body))
    print(reply.body[0].value)
    bus.disconnect()
asyncio.run(main())
"""
