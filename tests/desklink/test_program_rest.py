"""When a program has done with what it was sent, as its threads tell: real processes that sleep, work, stop and end."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from stopwatch_kit import Stopwatch
from triptych.adapters.desklink import program_rest
from triptych.adapters.desklink.program_rest import peer_process, wait_for_rest
from x11_kit import eventually

#: Says that it runs, then works for so long after each line that it reads.
WORKER = """
import sys, time
print("ready", flush=True)
for line in sys.stdin:
    until = time.process_time() + float(line)
    while time.process_time() < until: pass
    print("done", flush=True)
"""
#: The same in a thread, while the first one sleeps.
THREADED = f"import threading; worker = threading.Thread(target=exec, args=({WORKER!r}, {{}})); worker.start(); worker.join()"
NEVER = threading.Event()


@contextmanager
def running(program: str = WORKER) -> Iterator[subprocess.Popen[str]]:
    """A worker that waits for its first line."""
    with subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            yield process
        finally:
            process.kill()


def work(process: subprocess.Popen[str], seconds: float) -> None:
    assert process.stdin is not None
    process.stdin.write(f"{seconds}\n")
    process.stdin.flush()


def has_done(process: subprocess.Popen[str]) -> bool:
    """Whether it has said so, without waiting."""
    assert process.stdout is not None
    os.set_blocking(process.stdout.fileno(), False)
    try:
        return os.read(process.stdout.fileno(), 100) == b"done\n"
    except BlockingIOError:
        return False


@pytest.mark.parametrize("program", [WORKER, THREADED], ids=["one-thread", "a-thread-besides"])
def test_what_was_sent_before_is_done_with(program: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(program_rest, "ENOUGH_SECONDS", 60)
    monkeypatch.setattr(program_rest, "LONGEST_SECONDS", 60)
    with running(program) as process:
        work(process, 0.4)
        assert wait_for_rest(process.pid, process.pid, NEVER)
        assert has_done(process)


def test_the_server_is_waited_for_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(program_rest, "ENOUGH_SECONDS", 60)
    monkeypatch.setattr(program_rest, "LONGEST_SECONDS", 60)
    with running() as process, running() as server:
        work(server, 0.4)
        assert wait_for_rest(process.pid, server.pid, NEVER)
        assert has_done(server)


def test_a_program_that_is_never_at_rest_has_had_its_chance() -> None:
    with running() as process:
        work(process, 1000)
        assert wait_for_rest(process.pid, os.getppid(), NEVER)
        worked = int(Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[11])
        assert worked / os.sysconf("SC_CLK_TCK") < 30
        assert process.poll() is None


def test_a_program_that_is_stopped_is_waited_for_a_while_or_until_that_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(program_rest, "LONGEST_SECONDS", 0.3)
    with running() as process:
        process.send_signal(signal.SIGSTOP)
        eventually(lambda: "\nState:\tT" in Path(f"/proc/{process.pid}/status").read_text(), "it is stopped")
        began = time.monotonic()
        assert wait_for_rest(process.pid, process.pid, NEVER)
        assert time.monotonic() - began >= 0.3
        monkeypatch.setattr(program_rest, "LONGEST_SECONDS", 60)
        cut_off = threading.Event()
        threading.Timer(0.1, cut_off.set).start()
        watch = Stopwatch()
        assert wait_for_rest(process.pid, process.pid, cut_off)
        assert watch.seconds() < 10


def test_who_ends_meanwhile_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(program_rest, "ENOUGH_SECONDS", 60)
    monkeypatch.setattr(program_rest, "LONGEST_SECONDS", 60)
    with running() as process:
        work(process, 1000)

        def end() -> None:
            process.kill()
            process.wait()

        threading.Timer(0.1, end).start()
        watch = Stopwatch()
        assert wait_for_rest(process.pid, os.getppid(), NEVER)
        assert watch.seconds() < 10


def test_what_cannot_be_seen_is_told() -> None:
    assert not wait_for_rest(0, os.getpid(), NEVER)
    assert not wait_for_rest(os.getpid(), 0, NEVER)
    with subprocess.Popen(["true"]) as ended:
        pass
    assert not wait_for_rest(ended.pid, os.getpid(), NEVER)


def test_the_process_at_the_other_end_of_a_socket() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        assert peer_process(ours.fileno()) == os.getpid()
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as remote:
        assert peer_process(remote.fileno()) == 0
