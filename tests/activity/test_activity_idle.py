"""How long a person has been still: each source by its own protocol, their order, and that what is not known is left out."""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from linux_kit import Peer, peer, private_bus
from stopwatch_kit import Stopwatch
from triptych.adapters.collector import idle_wayland
from triptych.adapters.collector.idle import Idle, LogindIdle
from triptych.adapters.collector.idle_wayland import WaylandIdle
from triptych.adapters.collector.session_bus import KeptConnection
from triptych.adapters.collector.x11_desktop import X11Desktop
from triptych.adapters.desklink.x11_input import X11Input
from triptych.adapters.display import PrivateDisplay

MUTTER = ("/org/gnome/Mutter/IdleMonitor/Core", "org.gnome.Mutter.IdleMonitor", "GetIdletime")
SAVER = ("/org/freedesktop/ScreenSaver", "org.freedesktop.ScreenSaver", "GetSessionIdleTime")
SESSION = ("/org/freedesktop/login1/session/auto", "org.freedesktop.DBus.Properties", "Get")


@pytest.fixture
def bus(tmp_path: Path) -> Iterator[tuple[dict[str, str], Peer]]:
    """The environment of a session whose session bus and system bus are one, and a program on it."""
    with private_bus(tmp_path) as address, peer(address) as program:
        yield {"DBUS_SESSION_BUS_ADDRESS": address, "DBUS_SYSTEM_BUS_ADDRESS": address, "XDG_RUNTIME_DIR": str(tmp_path)}, program


def test_the_first_source_that_gives_a_time_is_used_until_it_is_chosen_anew(bus: tuple[dict[str, str], Peer]) -> None:
    env, program = bus

    async def main() -> None:
        idle = Idle.of_session(env, None)
        await idle.choose()
        assert (idle.name, await idle.seconds()) == (None, None)
        program.own("org.freedesktop.ScreenSaver")
        program.answers[SAVER] = lambda: ("u", [90_000])
        assert await idle.seconds() is None
        await idle.choose()
        assert (idle.name, await idle.seconds()) == ("org.freedesktop.ScreenSaver", 90.0)
        program.own("org.gnome.Mutter.IdleMonitor")
        program.answers[MUTTER] = lambda: ("t", [2500])
        await idle.choose()
        assert (idle.name, await idle.seconds()) == ("Mutter IdleMonitor", 2.5)
        program.disown("org.gnome.Mutter.IdleMonitor")
        assert await idle.seconds() is None  # unknown, and not 0
        await idle.choose()
        assert idle.name == "org.freedesktop.ScreenSaver"
        await idle.close()

    asyncio.run(main())


def test_a_hint_of_logind_counts_only_when_it_is_set(bus: tuple[dict[str, str], Peer]) -> None:
    env, program = bus
    program.own("org.freedesktop.login1")
    hints: dict[str, tuple[str, object]] = {"IdleHint": ("b", False), "IdleSinceHintMonotonic": ("t", 40_000_000)}

    def get(_interface: str, name: str) -> tuple[str, list[object]]:
        from dbus_fast import Variant

        return "v", [Variant(*hints[name])]

    program.answers[SESSION] = get

    async def main() -> None:
        source = LogindIdle(KeptConnection(env["DBUS_SYSTEM_BUS_ADDRESS"]), clock=lambda: 100.0)
        assert await source.idle_seconds() is None
        hints["IdleHint"] = ("b", True)
        assert await source.idle_seconds() == 60.0
        hints["IdleSinceHintMonotonic"] = ("t", 200_000_000)
        assert await source.idle_seconds() == 0.0
        await source.close()

    asyncio.run(main())


def test_a_session_without_any_source_tells_nothing(tmp_path: Path) -> None:
    async def main() -> None:
        nowhere = f"unix:path={tmp_path}/no-bus"
        idle = Idle.of_session({"DBUS_SESSION_BUS_ADDRESS": nowhere, "DBUS_SYSTEM_BUS_ADDRESS": nowhere, "WAYLAND_DISPLAY": "none"}, None)
        await idle.choose()
        assert (idle.name, await idle.seconds()) == (None, None)
        await idle.close()

    asyncio.run(main())


@pytest.mark.display
def test_the_x_server_says_it_and_input_ends_it(bare_display: PrivateDisplay, tmp_path: Path) -> None:
    async def main() -> None:
        env = {"DISPLAY": bare_display.name, "DBUS_SESSION_BUS_ADDRESS": f"unix:path={tmp_path}/no-bus"}
        env["DBUS_SYSTEM_BUS_ADDRESS"] = env["DBUS_SESSION_BUS_ADDRESS"]
        desktop = X11Desktop(env, lambda: None)
        idle = Idle.of_session(env, desktop)
        assert await desktop.reach()
        await idle.choose()
        assert idle.name == "MIT-SCREEN-SAVER"
        before = await idle.seconds()
        await asyncio.sleep(0.3)
        later = await idle.seconds()
        assert before is not None and later is not None and later >= before + 0.25
        hand = X11Input(bare_display.name)
        hand.move(10, 10)
        hand.move(20, 20)
        hand.sync()
        hand.close()
        again = await idle.seconds()
        assert again is not None and again < later
        await desktop.close()
        assert await idle.seconds() is None
        await idle.close()

    asyncio.run(main())


class Compositor:
    """A Wayland compositor of four messages. `offers`: its globals; `said`: what clients asked for, as (object, opcode, words)."""

    def __init__(self, *offers: str) -> None:
        self.offers = offers
        self.said: list[tuple[int, int, tuple[int, ...]]] = []
        self.writer: asyncio.StreamWriter | None = None

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.writer = writer
        try:
            while True:
                target, size = struct.unpack("=II", await reader.readexactly(8))
                body = await reader.readexactly((size >> 16) - 8)
                self.said.append((target, size & 0xFFFF, struct.unpack(f"={len(body) // 4}I", body)))
                if (target, size & 0xFFFF) == (1, 1):
                    for number, name in enumerate(self.offers, 1):
                        text = name.encode() + b"\0"
                        text += b"\0" * (-len(text) % 4)
                        self.event(2, 0, struct.pack("=II", number, len(name) + 1) + text + struct.pack("=I", 1))
                elif (target, size & 0xFFFF) == (1, 0):
                    self.event(3, 0, struct.pack("=I", 1))
        except (EOFError, ConnectionError):
            pass
        finally:
            writer.close()

    def event(self, sender: int, opcode: int, body: bytes = b"") -> None:
        assert self.writer is not None
        self.writer.write(struct.pack("=II", sender, (8 + len(body)) << 16 | opcode) + body)


@pytest.mark.parametrize(
    ("interface", "opcode", "arguments"),
    [("ext_idle_notifier_v1", 1, (6, 1000, 4)), ("org_kde_kwin_idle", 0, (6, 4, 1000))],
)
def test_a_wayland_compositor_tells_the_first_idle_second(tmp_path: Path, interface: str, opcode: int, arguments: tuple[int, ...]) -> None:
    async def main() -> None:
        compositor = Compositor("wl_compositor", "wl_seat", interface)
        async with await asyncio.start_unix_server(compositor.serve, tmp_path / "wayland-7"):
            source = WaylandIdle({"XDG_RUNTIME_DIR": str(tmp_path), "WAYLAND_DISPLAY": "wayland-7"})
            assert await source.idle_seconds() == 0.0
            compositor.event(6, 0)  # idled: a second has passed already
            await _until(lambda: source._still_since is not None)
            first = await source.idle_seconds()
            assert first is not None and 1.0 <= first < 2.0
            compositor.event(4, 0, struct.pack("=I", 3))  # the seat says what it has
            compositor.event(6, 1)  # resumed
            await _until(lambda: source._still_since is None)
            assert await source.idle_seconds() == 0.0
            assert (5, opcode, arguments) in compositor.said
            assert [target for target, _, _ in compositor.said] == [1, 1, 2, 2, 5]  # it takes part in nothing else
            compositor.event(1, 0, struct.pack("=III", 5, 0, 0))  # an error ends every client
            await _until(lambda: source._reading is not None and source._reading.done())
            compositor.offers = ("wl_seat",)
            assert await source.idle_seconds() is None
            await source.close()

    asyncio.run(main())


def test_a_compositor_without_idle_notification_or_without_an_answer_tells_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(idle_wayland, "CONNECT_SECONDS", 0.2)

    async def main() -> None:
        for offers in (("wl_seat",), ("ext_idle_notifier_v1",), ()):
            compositor = Compositor(*offers)
            async with await asyncio.start_unix_server(compositor.serve, tmp_path / "wayland-7"):
                source = WaylandIdle({"XDG_RUNTIME_DIR": str(tmp_path), "WAYLAND_DISPLAY": "wayland-7"})
                assert await source.idle_seconds() is None
                await source.close()
        writers: list[asyncio.StreamWriter] = []
        async with await asyncio.start_unix_server(lambda _, writer: writers.append(writer), tmp_path / "silent"):
            source = WaylandIdle({"WAYLAND_DISPLAY": str(tmp_path / "silent")})
            began = Stopwatch()
            assert await source.idle_seconds() is None
            assert began.seconds() < 2
            await source.close()
            for writer in writers:
                writer.close()

    asyncio.run(main())


async def _until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not condition():  # noqa: ASYNC110  nothing tells a test what a client has read
            await asyncio.sleep(0.005)
