"""The agent indicator: what it draws, that no captured pixel, sequence number or damage tells of it, and that it ends with its owner."""

from __future__ import annotations

import asyncio
import math
import os
import select
import signal
import subprocess
import sys
from pathlib import Path

import numpy
import pytest
import xcffib.xfixes
import xcffib.xproto

from desklink_kit import EngineProcess
from stopwatch_kit import Stopwatch
from triptych.adapters.desklink import overlay
from triptych.adapters.desklink.overlay import Overlay
from triptych.adapters.desklink.overlay_process import FADE_SECONDS, PULSE_SECONDS, RIPPLE_SECONDS, Halo, main
from triptych.adapters.desklink.x11_capture import X11Capture
from triptych.adapters.desklink.x11_input import X11Input
from triptych.adapters.display import PrivateDisplay
from x11_kit import Client, eventually

display = pytest.mark.display


# What it draws


def test_the_halo_comes_after_the_pointer_and_stops_there() -> None:
    halo = Halo(96)
    assert not halo.moves(0.0)
    halo.told("M 100 50", 0.0)
    assert (halo.hotspot(), halo.moves(0.0)) == ((48, 48), False)
    halo.told("M 130 40", 0.0)
    assert halo.hotspot() == (78, 38)
    halo.tick()
    # 0.24 of the way: 22.8 and -7.6 pixels are left.
    assert (halo.hotspot(), halo.moves(0.0)) == ((71, 40), True)
    for _ in range(40):
        halo.tick()
    assert (halo.hotspot(), halo.moves(0.0)) == ((48, 48), False)
    halo.told("M 4000 -4000", 0.0)
    assert halo.hotspot() == (95, 0)


def test_a_click_ripples_outward_and_typing_pulses() -> None:
    def reach(picture: numpy.ndarray) -> int:
        return int(numpy.flatnonzero(picture[48, :, 3] > 8).max())

    halo = Halo(96)
    still = halo.draw(0.0)
    assert reach(still) in range(68, 71)
    assert still[48, 60, 3] == pytest.approx(255 * 0.72, abs=12)
    assert still[0, 0, 3] == 0
    halo.told("C 10 10", 1.0)
    reached = [reach(halo.draw(1.0 + part * RIPPLE_SECONDS)) for part in (0.3, 0.6, 0.9)]
    assert reached == sorted(reached)
    assert reached[-1] > reached[0] + 10
    assert halo.moves(1.0 + RIPPLE_SECONDS / 2)
    assert not halo.moves(1.0 + RIPPLE_SECONDS)
    assert (halo.draw(1.0 + RIPPLE_SECONDS) == still).all()
    halo.told("T -1 -1", 3.0)
    assert halo.draw(3.0)[48, 55, 3] > 100
    assert not halo.moves(3.0 + PULSE_SECONDS)
    assert (halo.draw(3.0 + PULSE_SECONDS) == still).all()
    assert halo.pointer == (10.0, 10.0)


def test_it_fades_and_comes_back_and_ignores_what_is_no_line() -> None:
    halo = Halo(32)
    for line in ("", "M", "M 1", "C x y", "Q 1 2", "M nan", "\x00"):
        halo.told(line, 0.0)
    assert halo == Halo(32)
    halo.told("S", 1.0)
    halo.told("S", 1.2)
    assert halo.opacity(1.0 + FADE_SECONDS / 2) == pytest.approx(0.5)
    faded = halo.draw(1.0 + FADE_SECONDS)
    assert not faded.any()
    halo.told("M 3 3", 3.0)
    assert halo.opacity(3.0) == 1.0
    # Premultiplied: no colour is above its alpha.
    picture = halo.draw(3.0)
    assert (picture[..., :3] <= picture[..., 3:]).all()
    for line in ("M nan 4", "C 4 inf", "M 1e3 2"):
        halo.told(line, 3.0)
    assert (halo.pointer, halo.clicked) == ((3, 3), -math.inf)


def test_arguments_and_displays_that_are_none() -> None:
    assert main([]) == 2
    assert main([":9999"]) == 1


# On a display


class Cursor:
    """The sprite that the server shows now."""

    def __init__(self, client: Client) -> None:
        self._fixes = client.connection(xcffib.xfixes.key)
        self._fixes.QueryVersion(5, 0).reply()

    def look(self) -> tuple[int, int, tuple[int, ...]]:
        """Width, height, and the pixels in ARGB; nothing of the sprite of a client that is gone, which nobody may read."""
        try:
            image = self._fixes.GetCursorImage().reply()
        except xcffib.xproto.AccessError:
            return 0, 0, ()
        return image.width, image.height, tuple(image.cursor_image)


def told(shown: Overlay, hand: X11Input, x: int, y: int) -> None:
    hand.move(x, y)
    hand.sync()
    shown.told("M", x, y)


@display
def test_it_is_in_no_captured_pixel_and_no_damage(bare_display: PrivateDisplay) -> None:
    async def run() -> None:
        with Client(bare_display) as client, X11Capture(bare_display.name) as capture, X11Input(bare_display.name) as hand:
            cursor = Cursor(client)
            plain = cursor.look()
            client.fill(0x204060, (0, 0, 400, 300))
            client.fill(0xFFFFFF, (300, 200, 50, 50))
            capture.refresh()
            before = bytes(capture.grab().data)
            while capture.wait_damage(0.05):
                pass
            shown = Overlay(bare_display.name)
            assert await shown.start()
            looks = set()
            for number in range(20):
                told(shown, hand, 100 + 10 * number, 100 + 5 * number)
                if number % 5 == 0:
                    shown.told("C", 100 + 10 * number, 100 + 5 * number)
                if number % 7 == 0:
                    shown.told("T", -1, -1)
                await asyncio.sleep(0.02)
                looks.add(cursor.look())
                assert bytes(capture.grab().data) == before
            assert len(looks) > 5, "it moves"
            assert all(look[:2] == (96, 96) for look in looks)
            assert capture.wait_damage(0.2) == ()
            assert capture.refresh() == ()
            await shown.close()
            eventually(lambda: cursor.look() == plain, "the server's own cursor is back")
            assert bytes(capture.grab().data) == before
            assert capture.wait_damage(0.2) == ()

    asyncio.run(run())


@display
def test_it_costs_nothing_while_nothing_happens(bare_display: PrivateDisplay) -> None:
    async def run() -> None:
        shown = Overlay(bare_display.name)
        assert await shown.start()
        assert shown._process is not None
        stat = Path(f"/proc/{shown._process.pid}/stat")

        def ticks() -> int:
            fields = stat.read_text().rpartition(")")[2].split()
            return int(fields[11]) + int(fields[12])

        shown.told("C", 5, 5)
        async with asyncio.timeout(60):
            idle = -1
            while ticks() != idle:
                idle = ticks()
                await asyncio.sleep(RIPPLE_SECONDS + 0.2)  # the silence that is looked for, not one that is waited out
        await asyncio.sleep(0.5)
        assert ticks() == idle
        await shown.close()

    asyncio.run(run())


@display
def test_it_ends_with_an_owner_that_is_killed(bare_display: PrivateDisplay) -> None:
    owner = """
import asyncio, sys
from triptych.adapters.desklink.overlay import Overlay
async def run():
    shown = Overlay(sys.argv[1])
    assert await shown.start()
    print(shown._process.pid, flush=True)
    await asyncio.sleep(60)
asyncio.run(run())
"""
    command = [sys.executable, "-c", owner, bare_display.name]
    with Client(bare_display) as client, subprocess.Popen(command, stdout=subprocess.PIPE, env=bare_display.env) as process:
        cursor = Cursor(client)
        plain = cursor.look()
        assert process.stdout is not None
        handle = os.pidfd_open(int(process.stdout.readline()))
        assert cursor.look() != plain
        process.kill()
        readable, _, _ = select.select([handle], [], [], 5)
        os.close(handle)
        assert readable
        assert cursor.look() == plain


@display
def test_its_death_or_its_slowness_is_not_noticed_and_its_sprite_does_not_stay(bare_display: PrivateDisplay) -> None:
    async def run(cursor: Cursor) -> None:
        plain = cursor.look()
        shown = Overlay(bare_display.name)
        assert await shown.start()
        assert shown._process is not None
        os.kill(shown._process.pid, signal.SIGSTOP)
        told = Stopwatch()
        for number in range(20000):
            shown.told("M", number, number)
        assert told.seconds() < 2
        os.kill(shown._process.pid, signal.SIGKILL)
        shown._process.wait()
        shown.told("C", 1, 1)
        assert cursor.look() != plain
        await shown.close()
        shown.told("C", 1, 1)
        await shown.close()
        eventually(lambda: cursor.look() == plain, "the server's own cursor is back")

    with Client(bare_display) as client:
        asyncio.run(run(Cursor(client)))


@display
def test_what_cannot_be_shown_is_said_and_denies_nothing(
    bare_display: PrivateDisplay, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    async def run() -> None:
        monkeypatch.delenv("DISPLAY", raising=False)
        for name in (":9999", None, "no\0name"):
            assert not await Overlay(name).start()
        os.kill(bare_display.pid, signal.SIGSTOP)
        try:
            monkeypatch.setattr(overlay, "READY_SECONDS", 0.3)
            assert not await Overlay(bare_display.name).start()
        finally:
            os.kill(bare_display.pid, signal.SIGCONT)
        monkeypatch.setattr(sys, "executable", "/nowhere/python")
        assert not await Overlay(bare_display.name).start()

    asyncio.run(run())
    assert capfd.readouterr().err.count("no agent indicator") == 5


# In a session

#: The serve loop with a client that moves the pointer, clicks and types on and on.
BUSY = """
import asyncio, sys
from triptych.adapters.desklink.serve import serve
from triptych.adapters.desklink.transport import NoTransport

class Busy(NoTransport):
    def __init__(self, reports):
        self.reports = reports
    async def start(self, session_id, *_):
        self.reports.channel_opened(session_id)
        asyncio.get_running_loop().create_task(self.work(session_id))
    async def work(self, session_id):
        for number in range(1000):
            at = 100 + number % 50 * 5
            said = [f'{{"kind":"pointer","phase":"{phase}","x":{at},"y":{at}}}' for phase in ("move", "down", "up")]
            for text in (*said, '{"kind":"text","text":"a"}'):
                self.reports.control_received(session_id, text.encode())
            await asyncio.sleep(0.01)

sys.exit(serve(Busy))
"""


@display
def test_a_session_that_asks_for_it_has_the_same_frames_as_one_that_does_not(bare_display: PrivateDisplay) -> None:
    with Client(bare_display) as client, EngineProcess(bare_display.env, BUSY) as engine:
        cursor = Cursor(client)
        plain = cursor.look()
        client.fill(0x204060, (0, 0, 400, 400))
        path = Path(bare_display.runtime_dir) / "frame.raw"

        def frame(session: str) -> tuple[int, bytes]:
            result = engine.ask("session.frame", {"session_id": session, "path": str(path), "after_seq": 0})
            return result["seq"], path.read_bytes()

        session = engine.open(bare_display.name, "view", "control")
        expected = frame(session)
        assert cursor.look() == plain
        session = engine.open(bare_display.name, "view", "control", agent_indicator=True)
        eventually(lambda: cursor.look()[:2] == (96, 96), "the halo stands")
        looks = set()
        for _ in range(20):
            assert frame(session) == expected
            looks.add(cursor.look())
        eventually(lambda: looks.add(cursor.look()) is None and len(looks) > 5, "it moves")
        assert engine.ask("session.metrics")["input_applied"] > 0
        assert [event["seq"] for event in engine.events("session.frame.changed") if event["sessionId"] == session] == [1]
        engine.ask("session.close", {"session_id": session})
        eventually(lambda: cursor.look() == plain, "the server's own cursor is back")


@display
def test_it_is_ignored_without_control(bare_display: PrivateDisplay) -> None:
    with Client(bare_display) as client, EngineProcess(bare_display.env, BUSY) as engine:
        cursor = Cursor(client)
        plain = cursor.look()
        engine.open(bare_display.name, "view", agent_indicator=True)
        eventually(lambda: engine.ask("session.metrics")["input_rejected"] > 100, "the client is refused")
        assert cursor.look() == plain
