"""What a program may print, close, fork or ignore, and an adapter may flood, without harm to the session or to what comes after."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from pathlib import Path

import pytest

from termwright_kit import PATIENCE, full, node, run, scripted
from triptych.adapters.termwright import diagnostics
from triptych.adapters.termwright.process_session import members
from triptych.engine import terminal

PYTHON = sys.executable
BEGIN = "import os, signal, sys, time\n"


def descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def program(code: str) -> list[str]:
    return [PYTHON, "-c", BEGIN + code]


async def slowest_turn(until: float) -> float:
    """The longest time for which the loop did nothing else, over so many seconds."""
    worst, deadline = 0.0, time.monotonic() + until
    while (started := time.monotonic()) < deadline:
        await asyncio.sleep(0)
        worst = max(worst, time.monotonic() - started)
    return worst


def alive(number: int) -> bool:
    try:
        return Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


async def until_gone(number: int) -> None:
    deadline = time.monotonic() + PATIENCE
    while alive(number):
        assert time.monotonic() < deadline
        await asyncio.sleep(0.005)


def test_a_program_that_closes_its_terminal_and_opens_it_again_is_seen_again() -> None:
    closing = "print('before', flush=True)\nfor one in (0, 1, 2): os.close(one)\ntime.sleep(0.2)\n"
    again = "os.write(os.open('/dev/tty', os.O_RDWR), b'opened again')\nsignal.pause()"

    async def main() -> None:
        async with terminal.launch(program(closing + again)) as app:
            await app.wait_for_text("before", timeout=PATIENCE)
            await app.wait_for_text("opened again", timeout=PATIENCE)

    run(main)


def test_a_program_without_a_terminal_costs_nothing_and_its_exit_is_told() -> None:
    code = "print('before', flush=True)\nfor one in (0, 1, 2): os.close(one)\ntime.sleep(0.4)\nos._exit(3)"

    async def main() -> None:
        async with terminal.launch(program(code)) as app:
            await app.wait_for_text("before", timeout=PATIENCE)
            used = time.process_time()
            assert await app.exited(timeout=PATIENCE) == 3
            assert time.process_time() - used < 0.2  # a hung up terminal is always ready to be read: it must not be asked all the time

    run(main)


def test_what_a_program_leaves_in_other_groups_of_its_session_ends_with_the_block() -> None:
    fork = "import os, signal\nif os.fork() == 0:\n    os.setpgid(0, 0)\n    signal.signal(signal.SIGHUP, signal.SIG_IGN)\n"
    code = fork + "    print('child', os.getpid(), flush=True)\n    signal.pause()\nsignal.pause()"

    async def main() -> None:
        async with terminal.launch([PYTHON, "-c", code]) as app:
            await app.wait_for_text("child", timeout=PATIENCE)
            child = int(app.screen.text.split()[1])
            assert members(app.pid) == [child]
            os.kill(app.pid, signal.SIGKILL)
            await app.exited(timeout=PATIENCE)
            assert alive(child)
        await until_gone(child)

    run(main)


def test_leftovers_are_asked_to_go_before_they_are_killed(tmp_path: Path) -> None:
    told = tmp_path / "told"
    tidy = f"signal.signal(signal.SIGHUP, lambda *_: (open({str(told)!r}, 'w').close(), os._exit(0)))\n    print('child', flush=True)\n"
    code = f"if os.fork() == 0:\n    os.setpgid(0, 0)\n    {tidy}    signal.pause()\nsignal.pause()"

    async def main() -> None:
        async with terminal.launch(program(code)) as app:
            await app.wait_for_text("child", timeout=PATIENCE)
            os.kill(app.pid, signal.SIGKILL)
            await app.exited(timeout=PATIENCE)

    run(main)
    assert told.exists()


def test_sequences_that_are_slow_to_parse_leave_the_loop_its_turns() -> None:
    async def main() -> None:
        async with terminal.launch(program("while True: os.write(1, b'a\\x1b[2147483647b' * 1000)")) as app:
            await app.wait_for_text("aaa", timeout=PATIENCE)
            assert await slowest_turn(1.5) < 2.5  # a read of 4 KiB at most; it was eight seconds and more

    run(main)


def test_the_pty_follows_a_terminal_that_the_program_makes_wider() -> None:
    code = "signal.signal(signal.SIGWINCH, lambda *_: print('size', *os.get_terminal_size(), flush=True))\n"
    code += "os.write(1, b'\\x1b[?40h\\x1b[?3h')\n"

    async def main() -> None:
        sizes: list[tuple[int, int]] = []

        class Sizes:
            def __getattr__(self, name: str) -> object:
                return lambda *facts: sizes.append(facts[:2]) if name == "resized" else None

        async with terminal.launch(program(code + "while True: signal.pause()"), observers=[Sizes()]) as app:
            await app.wait_until(lambda: app.screen.columns == 132, timeout=PATIENCE)
            assert sizes == [(80, 24), (132, 24)]
            await app.resize(100, 30)
            await app.wait_for_text("size 100 30", timeout=PATIENCE)
            assert sizes[-1] == (100, 30)

    run(main)


def test_a_flood_of_forged_markers_leaves_what_else_was_noted() -> None:
    forged = "\x1b]8487;twm;1;AAAAAAAAAAAAAAAAAAAAAA\x07" * 1500

    async def main() -> None:
        async with terminal.launch(scripted(full(1, node("a")), {"print": forged}, {"print": "done"})) as app:
            await app.wait_for_text("done", timeout=PATIENCE)
            codes = [note.code for note in app.diagnostics]
            assert codes.count("marker-unverified") == diagnostics.MAX_OF_A_CODE
            assert "adapter-attached" in codes
            last = [note for note in app.diagnostics if note.code == "marker-unverified"][-1]
            assert "1400 more since" in last.detail

    run(main)


def test_a_diagnostic_quotes_little_of_what_a_peer_sent() -> None:
    async def main() -> None:
        async with terminal.launch(scripted({"type": "revision-commit", "revision": 1, "k" * 100_000: 1})) as app:
            await app.wait_until(lambda: any(note.code == "protocol-violation" for note in app.diagnostics), timeout=PATIENCE)
            assert max(len(note.detail) for note in app.diagnostics) < 2 * diagnostics.MAX_DETAIL
            assert app.exit_status is None

    run(main)


def test_an_adapter_that_never_reads_is_cut_off_and_the_notes_say_why() -> None:
    connect = "import socket\nfrom triptych.machines.termwright.framing import encode_frame\nlink = socket.socket(socket.AF_UNIX)\n"
    hello = "{'type': 'hello', 'protocol': 'termwright/3', 'token': os.environ['TERMWRIGHT_TOKEN'], "
    hello += "'adapter': {'name': 'x', 'version': '1'}, 'capabilities': ['tree', 'incremental-tree']}"
    connect += f"link.connect(os.environ['TERMWRIGHT_ENDPOINT'])\nlink.sendall(encode_frame({hello}, 9999))\n"
    flood = "stale = encode_frame({'type': 'semantic-delta', 'delta': {'v': 3}}, 9999) * 1000\nwhile True: link.sendall(stale)"

    async def main() -> None:
        async with terminal.launch(program(connect + flood)) as app:
            await app.wait_until(lambda: any(note.code == "endpoint-error" for note in app.diagnostics), timeout=PATIENCE)

    run(main)


@pytest.mark.parametrize("count", [50])
def test_many_sessions_at_once(count: int) -> None:
    async def one(number: int) -> int:
        async with terminal.launch(["sh", "-c", f"echo hello {number}; read answer; exit 4"]) as app:
            await app.wait_for_text(f"hello {number}", timeout=PATIENCE)
            await app.type("yes\n")
            return await app.exited(timeout=PATIENCE)

    async def main() -> None:
        before = descriptors()
        assert await asyncio.gather(*map(one, range(count))) == [4] * count
        assert descriptors() == before

    run(main)


def test_a_launch_that_is_cancelled_at_any_step_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))

    async def session() -> None:
        async with terminal.launch(["sleep", "1000"]) as app:
            await app.wait_for_text("never", timeout=PATIENCE)

    async def main() -> None:
        for turns in range(25):
            task = asyncio.create_task(session())
            for _ in range(turns):
                await asyncio.sleep(0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

    run(main)
    assert list(tmp_path.iterdir()) == []
