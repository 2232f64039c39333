"""Whoever dies, and however: no key and no button stays down on the display, and its keymap is as it was."""

from __future__ import annotations

import asyncio
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from desklink_kit import EngineProcess
from triptych.adapters.desklink.x11_connection import DisplayLost
from triptych.adapters.desklink.x11_input import X11Input
from triptych.adapters.display import PrivateDisplay
from triptych.engine import desktop
from triptych.errors import TriptychError
from x11_kit import Client, eventually

pytestmark = pytest.mark.display

SHIFT, CONTROL, F5, A, CAPS_LOCK = 50, 37, 71, 38, 66

#: Holds a key and two buttons, says who guards it, and then does what its argument says.
PROGRAM = """
import os, sys, time
from triptych.adapters.desklink.x11_input import X11Input
hand = X11Input(sys.argv[1])
hand.move(30, 40)
for code in (50, 38):
    hand.key(code, True)
for button in (1, 3):
    hand.button(button, True)
hand.sync()
if sys.argv[2] == "fork" and os.fork() == 0:
    time.sleep(60)
    os._exit(0)
print(hand.guard.pid, flush=True)
if sys.argv[2] == "exit":
    sys.stdin.readline()
    os._exit(3)
elif sys.argv[2] == "exec":
    sys.stdin.readline()
    os.execvp("sleep", ["sleep", "60"])
elif sys.argv[2] == "raise":
    sys.stdin.readline()
    raise SystemExit(1)
elif sys.argv[2] == "busy":
    while True:
        hand.type_text("Ab" * 200)
time.sleep(60)
"""

#: An agent's program on the public API.
API = """
import sys, time
from triptych.engine import desktop_sync
with desktop_sync.open(sys.argv[1], ("view", "control")) as session:
    session.hold("Shift")
    session.hold("F5")
    session._run(session._session._pointer("down", 5, 6, 1))
    print("held", flush=True)
    time.sleep(60)
"""

#: The serve loop with a client that holds keys and a button.
SERVE = """
import sys
from triptych.adapters.desklink.serve import serve
from triptych.adapters.desklink.transport import NoTransport

class Holding(NoTransport):
    def __init__(self, reports):
        self.reports = reports
    async def start(self, session_id, *_):
        self.reports.channel_opened(session_id)
        for text in (
            b'{"kind":"key","name":"Shift","down":true,"seq":1}',
            b'{"kind":"key","name":"F5","down":true,"modifiers":["Control"],"seq":2}',
            b'{"kind":"pointer","phase":"down","x":3,"y":4,"button":3,"seq":3}',
        ):
            self.reports.control_received(session_id, text)

sys.exit(serve(Holding))
"""

#: Types for a long time with borrowed keys, in the second layout group, with CapsLock set aside.
TYPING = """
import sys
from triptych.adapters.desklink.x11_input import X11Input
hand = X11Input(sys.argv[1])
print(hand.guard.pid, flush=True)
while True:
    hand.type_text("日本語ж" * 20, unicode=True)
"""


@pytest.fixture
def look(bare_display: PrivateDisplay) -> Iterator[X11Input]:
    with X11Input(bare_display.name) as opened:
        yield opened


@contextmanager
def program(display: PrivateDisplay, code: str, *arguments: str) -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    """The program in a process group of its own, and the first line it says."""
    command = [sys.executable, "-c", code, display.name, *arguments]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=display.env, start_new_session=True) as process:
        try:
            assert process.stdout is not None
            yield process, process.stdout.readline().decode().strip()
        finally:
            # Its forked child too.
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


def nothing_down(look: X11Input) -> bool:
    return look.pressed() == frozenset() and look.pointer()[2] == frozenset()


def handle_of(pid: int) -> int:
    """A descriptor that becomes readable when the process is gone, though nobody has reaped it."""
    return os.pidfd_open(pid)


def gone(handle: int, seconds: float = 5.0) -> bool:
    readable, _, _ = select.select([handle], [], [], seconds)
    return bool(readable)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGSEGV])
def test_a_program_that_a_signal_kills_with_its_whole_group(bare_display: PrivateDisplay, look: X11Input, number: signal.Signals) -> None:
    with program(bare_display, PROGRAM, "stay") as (process, guard):
        assert look.pressed() == {SHIFT, A}
        assert look.pointer() == (30, 40, {1, 3})
        handle = handle_of(int(guard))
        os.killpg(process.pid, number)
        process.wait()
        eventually(lambda: nothing_down(look), "nothing is down")
        assert gone(handle), "the guard ends by itself"
        os.close(handle)


@pytest.mark.parametrize("ending", ["exit", "exec", "raise"])
def test_a_program_that_ends_without_closing(bare_display: PrivateDisplay, look: X11Input, ending: str) -> None:
    with program(bare_display, PROGRAM, ending) as (process, _):
        assert look.pressed() == {SHIFT, A}
        assert process.stdin is not None
        process.stdin.write(b"go\n")
        process.stdin.flush()
        eventually(lambda: nothing_down(look), "nothing is down")


def test_a_program_that_is_killed_while_it_types_as_fast_as_it_can(bare_display: PrivateDisplay, look: X11Input) -> None:
    for _ in range(5):
        with program(bare_display, PROGRAM, "busy") as (process, guard):
            handle = handle_of(int(guard))
            process.kill()
            process.wait()
            assert gone(handle)
            os.close(handle)
            assert nothing_down(look)


def test_a_forked_child_that_still_has_the_connection_does_not_keep_the_keys_down(bare_display: PrivateDisplay, look: X11Input) -> None:
    with program(bare_display, PROGRAM, "fork") as (process, _):
        process.kill()
        process.wait()
        eventually(lambda: nothing_down(look), "nothing is down")


def test_a_program_that_is_stopped_and_then_killed(bare_display: PrivateDisplay, look: X11Input) -> None:
    with program(bare_display, PROGRAM, "stay") as (process, _):
        process.send_signal(signal.SIGSTOP)
        assert look.pressed() == {SHIFT, A}
        process.kill()
        eventually(lambda: nothing_down(look), "nothing is down")


def test_a_program_that_dies_while_the_server_hangs(bare_display: PrivateDisplay, look: X11Input) -> None:
    with program(bare_display, PROGRAM, "stay") as (process, guard):
        handle = handle_of(int(guard))
        os.kill(bare_display.pid, signal.SIGSTOP)
        try:
            process.kill()
            process.wait()
            assert not gone(handle, 0.3), "the guard waits for the server"
        finally:
            os.kill(bare_display.pid, signal.SIGCONT)
        assert gone(handle)
        os.close(handle)
        assert nothing_down(look)


def test_a_connection_that_somebody_closes_while_the_program_lives(bare_display: PrivateDisplay, look: X11Input) -> None:
    with X11Input(bare_display.name) as hand, Client(bare_display) as client:
        hand.key(CONTROL, True)
        hand.button(2, True)
        hand.sync()
        guard = hand.guard.pid
        assert guard is not None
        handle = handle_of(guard)
        # The newest window is the one that the last connection made.
        client.core.KillClient(client.stack()[-1])
        client.sync()
        assert gone(handle)
        os.close(handle)
        assert nothing_down(look)
        with pytest.raises(DisplayLost):
            hand.sync()


def test_the_guard_lifts_only_what_its_own_session_holds(bare_display: PrivateDisplay, look: X11Input) -> None:
    look.key(CONTROL, True)
    with program(bare_display, PROGRAM, "stay") as (process, _):
        assert look.pressed() == {SHIFT, A, CONTROL}
        process.kill()
        eventually(lambda: look.pressed() == {CONTROL}, "the other session's key is still down")
    look.key(CONTROL, False)


def test_a_guard_that_is_killed_is_replaced_and_the_session_goes_on(bare_display: PrivateDisplay, look: X11Input) -> None:
    with X11Input(bare_display.name) as hand:
        hand.key(SHIFT, True)
        first = hand.guard.pid
        assert first is not None
        os.kill(first, signal.SIGKILL)
        eventually(lambda: hand.guard.pid != first, "another guard has come")
        hand.button(1, True)
        hand.sync()
        assert look.pressed() == {SHIFT}
    assert nothing_down(look)


def test_a_session_whose_guard_was_killed_is_guarded_by_the_next(bare_display: PrivateDisplay, look: X11Input) -> None:
    with program(bare_display, PROGRAM, "stay") as (process, guard):
        os.kill(int(guard), signal.SIGKILL)
        children = Path(f"/proc/{process.pid}/task")
        eventually(lambda: any(_guards(children) - {int(guard)}), "another guard has come")
        process.kill()
        process.wait()
        eventually(lambda: nothing_down(look), "nothing is down")


@pytest.mark.parametrize("first", ["the guard", "the program"])
def test_a_program_and_its_guard_that_are_killed_in_the_same_instant(bare_display: PrivateDisplay, look: X11Input, first: str) -> None:
    with program(bare_display, PROGRAM, "stay") as (process, guard):
        named = Path(f"/proc/{guard}/comm")
        eventually(lambda: named.read_text() == "triptych-guard\n", "the guard has begun")
        assert look.pressed() == {SHIFT, A}
        pids = [int(guard), process.pid] if first == "the guard" else [process.pid, int(guard)]
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
        process.wait()
        eventually(lambda: nothing_down(look), "nothing is down")


def test_the_spare_of_a_guard_ends_with_it(bare_display: PrivateDisplay) -> None:
    with X11Input(bare_display.name) as hand:
        guard = hand.guard.pid
        assert guard is not None
        children = Path(f"/proc/{guard}/task/{guard}/children")
        eventually(lambda: children.read_text() != "", "the spare is there")
        (spare,) = map(int, children.read_text().split())
        handle = handle_of(spare)
    assert gone(handle)
    os.close(handle)


def _guards(tasks: Path) -> set[int]:
    return {int(pid) for task in tasks.iterdir() for pid in (task / "children").read_text().split()}


def test_what_asks_the_guard_to_end_does_not_end_it(bare_display: PrivateDisplay) -> None:
    with X11Input(bare_display.name) as hand:
        guard = hand.guard.pid
        assert guard is not None
        named = Path(f"/proc/{guard}/comm")
        eventually(lambda: named.read_text() == "triptych-guard\n", "it has begun")
        assert os.getsid(guard) == guard
        handle = handle_of(guard)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
            os.kill(guard, number)
        assert not gone(handle, 0.1)
    assert gone(handle)
    os.close(handle)


def test_a_guard_that_cannot_be_started_costs_a_warning_and_no_more(
    bare_display: PrivateDisplay, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    with X11Input(bare_display.name) as hand:
        hand.key(SHIFT, True)
        assert hand.pressed() == {SHIFT}
        assert hand.guard.pid is None
    assert "no input guard" in capfd.readouterr().err


def test_a_guard_that_does_not_stay_is_given_up_after_one_warning(
    bare_display: PrivateDisplay, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/false")
    said = ""

    def warned() -> bool:
        nonlocal said
        said += capfd.readouterr().err
        return "does not stay" in said

    with X11Input(bare_display.name) as hand:
        hand.key(SHIFT, True)
        eventually(warned, "the warning")
        assert hand.pressed() == {SHIFT}
    assert said.count("does not stay") == 1


def test_the_end_of_the_server_ends_the_guard(bare_display: PrivateDisplay) -> None:
    with X11Input(bare_display.name) as hand:
        hand.key(SHIFT, True)
        hand.sync()
        guard = hand.guard.pid
        assert guard is not None
        handle = handle_of(guard)
        bare_display.stop_server()
        assert gone(handle)
        os.close(handle)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_program_on_the_public_api(bare_display: PrivateDisplay, look: X11Input, number: signal.Signals) -> None:
    with program(bare_display, API) as (process, said):
        assert said == "held"
        assert look.pressed() == {SHIFT, F5}
        assert look.pointer() == (5, 6, {1})
        process.send_signal(number)
        process.wait()
        eventually(lambda: nothing_down(look), "nothing is down")


def test_serve_when_it_is_killed_outright(bare_display: PrivateDisplay, look: X11Input) -> None:
    with EngineProcess(bare_display.env, SERVE) as engine:
        engine.open(bare_display.name, "view", "control")
        eventually(lambda: look.pressed() == {SHIFT, CONTROL, F5} and look.pointer()[2] == {3}, "the keys are down")
        engine.process.kill()
        eventually(lambda: nothing_down(look), "nothing is down")


def test_the_keymap_the_group_and_caps_lock_are_put_back_when_typing_is_cut_off(bare_display: PrivateDisplay, look: X11Input) -> None:
    subprocess.run(["setxkbmap", "-layout", "us,ru"], env=bare_display.env, check=True)
    look.key(CAPS_LOCK, True)
    look.key(CAPS_LOCK, False)
    look.sync()
    with Client(bare_display) as client:
        before = _keymap(bare_display), _locked(client)
        assert before[1] == LOCK
        with program(bare_display, TYPING) as (process, guard):
            eventually(lambda: _keymap(bare_display) != before[0] and _locked(client) != LOCK, "keys are borrowed")
            handle = handle_of(int(guard))
            process.kill()
            process.wait()
            assert gone(handle)
            os.close(handle)
        assert (_keymap(bare_display), _locked(client)) == before
        assert nothing_down(look)


def test_a_session_that_is_closed_while_it_types_gives_the_keymap_back_at_once(bare_display: PrivateDisplay, look: X11Input) -> None:
    before = _keymap(bare_display)

    async def run() -> float:
        async with desktop.open(bare_display.name, ("view", "control")) as session:
            typing = asyncio.create_task(session.type("".join(map(chr, range(0x4E00, 0x4E00 + 1000))), unicode=True))
            while await asyncio.to_thread(_keymap, bare_display) == before:
                pass
            began = time.monotonic()
        with pytest.raises(TriptychError):
            await typing
        return time.monotonic() - began

    assert asyncio.run(run()) < 1
    assert _keymap(bare_display) == before
    assert nothing_down(look)


LOCK = 0b10
GROUPS = 0b11 << 13


def _keymap(display: PrivateDisplay) -> bytes:
    return subprocess.run(["xkbcomp", display.name, "-"], env=display.env, check=True, capture_output=True).stdout


def _locked(client: Client) -> int:
    """The modifiers that are on, CapsLock among them, and the layout group."""
    return int(client.core.QueryPointer(client.root).reply().mask) & (LOCK | GROUPS)
