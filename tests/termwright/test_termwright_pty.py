"""What must hold of a pty when things go wrong: closing that is cancelled, a child that somebody else reaps, input that nobody reads."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from termwright_kit import PATIENCE, run
from triptych.adapters.termwright.pty import Pty
from triptych.engine import terminal
from triptych.errors import Unavailable


def descriptors() -> int:
    """How many terminals and process handles this process has open."""
    names = []
    for entry in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):
            names.append(str(entry.readlink()))
    return sum("ptmx" in name or "pidfd" in name for name in names)


@pytest.fixture
def no_new_descriptors() -> Iterator[None]:
    before = descriptors()
    yield
    assert descriptors() == before


def reap(pid: int, options: int = 0) -> None:
    os.waitpid(pid, options)


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


async def until(met: object, *args: object) -> None:
    deadline = asyncio.get_running_loop().time() + PATIENCE
    while not met(*args):  # type: ignore[operator]  # a plain function
        assert asyncio.get_running_loop().time() < deadline
        await asyncio.sleep(0.005)


def spawn(*program: str, seen: list[bytes] | None = None) -> Pty:
    kept = [] if seen is None else seen
    return Pty.spawn(program, columns=80, rows=24, environment={"PATH": os.environ["PATH"]}, on_output=kept.append)


DEAF = ("sh", "-c", "trap '' HUP TERM; echo deaf; while :; do sleep 1000; done")


@pytest.mark.usefixtures("no_new_descriptors")
def test_closing_that_is_cancelled_ends_the_program_all_the_same() -> None:
    async def main() -> None:
        seen: list[bytes] = []
        pty = spawn(*DEAF, seen=seen)
        await until(lambda: b"deaf" in b"".join(seen))
        closing = asyncio.create_task(pty.close())
        await asyncio.sleep(0)  # it waits for the program to go, which it does not
        await asyncio.sleep(0)
        closing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await closing
        await asyncio.wait_for(pty.wait(), PATIENCE)
        with pytest.raises(ChildProcessError):
            reap(pty.pid, os.WNOHANG)  # reaped
        await pty.close()

    run(main)


def test_a_cancelled_session_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    pids: list[int] = []

    async def session() -> None:
        async with terminal.launch(DEAF) as app:
            pids.append(app.pid)
            await app.wait_for_text("deaf", timeout=PATIENCE)

    async def main() -> None:
        task = asyncio.create_task(session())
        await until(lambda: bool(pids))
        while not task.done():  # again and again, the closing of the block included
            task.cancel()
            await asyncio.sleep(0.01)
        await until(lambda: not alive(pids[0]))

    run(main)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("no_new_descriptors")
def test_a_child_that_somebody_else_reaps() -> None:
    async def main() -> None:
        pty = spawn("cat")
        os.kill(pty.pid, signal.SIGKILL)
        reap(pty.pid)
        with pytest.raises(Unavailable, match="reaped"):
            await asyncio.wait_for(pty.wait(), PATIENCE)
        await pty.close()

    run(main)


def test_a_session_whose_child_somebody_else_reaps_says_that_it_does_not_know() -> None:
    async def main() -> None:
        async with terminal.launch(["cat"]) as app:
            os.kill(app.pid, signal.SIGKILL)
            reap(app.pid)
            assert await app.exited(timeout=PATIENCE) == 255
            assert app.diagnostics[-1].code == "exit-unknown"

    run(main)


def test_input_that_the_program_does_not_read_yet_arrives_whole() -> None:
    async def main() -> None:
        reading = "stty raw -echo; echo ready; read -r _ < /dev/null; head -c 300000 | cksum"
        async with terminal.launch(["sh", "-c", reading]) as app:
            await app.wait_for_text("ready", timeout=PATIENCE)
            app._driver.write(b"x" * 300_000)
            await app.wait_for_text("300000", timeout=PATIENCE)

    run(main)


def test_a_folder_with_too_long_a_name_for_a_socket(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    deep = tmp_path / ("d" * 100)
    deep.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(deep))

    async def main() -> None:
        with pytest.raises(Unavailable) as refused:
            async with terminal.launch(["true"]):
                pass
        assert str(deep) in refused.value.reason
        assert refused.value.remedy == "set TMPDIR to a shorter path, such as /tmp"

    run(main)
    assert list(deep.iterdir()) == []
