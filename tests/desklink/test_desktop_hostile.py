"""A desktop session among programs that wish it ill: connections that are killed, storms, awaits that are cancelled; nothing stays down."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from desklink_kit import EngineProcess
from triptych.adapters.desklink.x11_input import X11Input
from triptych.adapters.display import PrivateDisplay
from triptych.adapters.worker import Worker
from triptych.engine import desktop
from triptych.errors import LocalProtocolError
from x11_kit import Client, eventually

pytestmark = pytest.mark.display

SHIFT, F5 = 50, 71


@pytest.fixture
def look(bare_display: PrivateDisplay) -> Iterator[X11Input]:
    """Somebody who only looks at the keys."""
    with X11Input(bare_display.name) as opened:
        yield opened


def nothing_down(look: X11Input) -> bool:
    return look.pressed() == frozenset() and look.pointer()[2] == frozenset()


def input_windows(client: Client) -> set[int]:
    """The windows that stand for input connections."""
    return {window for window in client.stack() if client.numbers(window, "_TRIPTYCH_INPUT")}


@pytest.mark.parametrize("guarded", [True, False], ids=["guarded", "its guard is killed first"])
def test_an_input_connection_that_is_killed_alone_is_made_anew(bare_display: PrivateDisplay, look: X11Input, guarded: bool) -> None:
    async def main() -> None:
        with Client(bare_display) as client:
            others = input_windows(client)
            async with desktop.open(bare_display.name, ("view", "control")) as session:
                await session.hold("Shift")
                await session.hold("F5")
                assert look.pressed() == {SHIFT, F5}
                for _ in range(3):
                    (window,) = input_windows(client) - others
                    if not guarded:
                        kill_guards(os.getpid(), keep=look.guard.pid)
                    client.core.KillClient(window)
                    client.sync()
                    # The next message is carried out, and what was held is forgotten with the connection.
                    await session.move(30, 40)
                    assert look.pointer()[:2] == (30, 40)
                    assert nothing_down(look)
                    await session.hold("Shift")
                    assert look.pressed() == {SHIFT}
                    assert session.status.capture == "running"
            assert nothing_down(look)
            assert input_windows(client) == others

    asyncio.run(main())


def kill_guards(parent: int, keep: int | None) -> None:
    """Kill the guards that a process has started, all but one."""
    for task in Path(f"/proc/{parent}/task").iterdir():
        for pid in map(int, (task / "children").read_text().split()):
            if pid != keep and "guard_process" in Path(f"/proc/{pid}/cmdline").read_text():
                os.kill(pid, signal.SIGKILL)


def test_a_screen_that_is_resized_there_and_back_between_two_looks(bare_display: PrivateDisplay) -> None:
    events: list[str] = []

    async def main(client: Client) -> None:
        client.resize_screen(800, 600)
        async with desktop.open(bare_display.name, max_fps=1, on_event=lambda said: events.append(said["event"])) as session:
            frame = await session.frame()
            for colour in (0xFF8000, 0x0080FF, 0x80FF00):
                client.resize_screen(1280, 800)
                await asyncio.sleep(0.05)  # the capture has heard of it, and looks only when the second is over
                client.resize_screen(800, 600)
                client.fill(colour, (0, 0, 800, 600))
                async with asyncio.timeout(60):  # where this process is slow, a look falls in between
                    while frame.array.shape != (600, 800, 4) or bytes(frame.array[599, 799, :3]) != colour.to_bytes(3, "little"):
                        frame = await session.frame(after_seq=frame.seq, timeout_ms=60_000)
            assert session.status.capture == "running"

    with Client(bare_display) as client:
        asyncio.run(main(client))
    assert "session.capture.stopped" not in events


@pytest.mark.parametrize("turns", range(4))
def test_an_action_that_is_given_up_leaves_nothing_down(bare_display: PrivateDisplay, look: X11Input, turns: int) -> None:
    async def main() -> None:
        async with desktop.open(bare_display.name, ("view", "control")) as session:
            actions = (session.click(30, 40, count=3), session.press("Control+Shift+F5", "a", "b"), session.drag((1, 2), (300, 400)))
            for action in actions:
                task = asyncio.ensure_future(action)
                for _ in range(turns):
                    await asyncio.sleep(0)
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)
                await session.move(5, 6)  # carried out after all that was handed over
                assert nothing_down(look)

    asyncio.run(main())


def test_a_drag_that_would_end_outside_presses_nothing(bare_display: PrivateDisplay, look: X11Input) -> None:
    async def main() -> None:
        async with desktop.open(bare_display.name, ("view", "control")) as session:
            for start, end in (((1, 2), (9000, 4)), ((-1, 2), (3, 4))):
                with pytest.raises(LocalProtocolError) as refused:
                    await session.drag(start, end)
                assert refused.value.code == "coordinates"
                assert nothing_down(look)

    asyncio.run(main())


def test_frames_that_are_given_up_keep_no_pixels(bare_display: PrivateDisplay) -> None:
    async def main() -> None:
        async with desktop.open(bare_display.name) as session:
            await session.frame()
            for _ in range(20):
                task = asyncio.ensure_future(session.frame())
                await asyncio.sleep(0)
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)
            await session.frame()
            assert session._channel._pixels == {}

    asyncio.run(main())


def test_a_worker_that_nobody_closes_ends_with_its_owner() -> None:
    async def main() -> None:
        worker = Worker("desktop-forgotten")
        assert await worker.submit(len, "four") == 4

    asyncio.run(main())
    gc.collect()
    eventually(lambda: all(thread.name != "desktop-forgotten" for thread in threading.enumerate()), "the thread ends")


def test_half_a_million_lines_in_one_read_do_not_keep_a_signal_waiting(bare_display: PrivateDisplay) -> None:
    with EngineProcess(bare_display.env) as engine:
        engine.open(bare_display.name, "view", "control")
        flood = threading.Thread(target=lambda: suppressed(BrokenPipeError, engine.write, b"x\n" * (1 << 20)))
        flood.start()
        # The first answer to it: the engine is in the middle of the flood.
        engine.wait_for(lambda message: "id" not in message and "error" in message, "an answer to a bad line")
        engine.process.send_signal(signal.SIGTERM)
        assert engine.exit_code(seconds=5) == 0
        flood.join()


def suppressed(expected: type[Exception], call: Callable[..., None], *arguments: object) -> None:
    with contextlib.suppress(expected):
        call(*arguments)
