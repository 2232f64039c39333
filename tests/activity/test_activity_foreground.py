"""Which window is in front, by each compositor's own protocol: recorded answers, and servers that answer, hang up, hang or lie."""

from __future__ import annotations

import asyncio
import json
import struct
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from linux_kit import Peer, peer, private_bus
from shared_data import data
from triptych.adapters.collector import foreground_sway
from triptych.adapters.collector.atspi import Accessibility
from triptych.adapters.collector.foreground import foregrounds
from triptych.adapters.collector.foreground_gnome import GnomeForeground
from triptych.adapters.collector.foreground_hyprland import HyprlandForeground
from triptych.adapters.collector.foreground_kde import KdeForeground
from triptych.adapters.collector.foreground_sway import SwayForeground
from triptych.adapters.collector.x11_desktop import X11Desktop
from triptych.machines.collector.active_window import ActiveWindow, gnome_window, hyprland_window, sway_window

Nothing: Callable[[], None] = lambda: None  # noqa: E731  a name for "nobody listens"


def view(number: int, pid: int, app_id: str, name: str, focused: bool = True) -> dict[str, Any]:
    return {"id": number, "type": "con", "pid": pid, "app_id": app_id, "name": name, "focused": focused, "nodes": [], "floating_nodes": []}


def workspace(*views: dict[str, Any], focused: bool = False) -> dict[str, Any]:
    inner = {"id": 4, "type": "workspace", "name": "1", "focused": focused, "nodes": list(views), "floating_nodes": []}
    return {"id": 1, "type": "root", "focused": False, "nodes": [inner], "floating_nodes": []}


class TestAnswers:
    def test_a_recorded_tree_of_sway(self) -> None:
        tree = json.loads(data("collector", "sway-get-tree.json").read_text())
        focused = [node for node in _every(tree) if node.get("focused")]
        found = sway_window(tree)
        assert len(focused) == 1 and found is not None
        assert found == (ActiveWindow(focused[0]["id"], focused[0]["pid"], (focused[0]["app_id"],)), focused[0]["name"])

    def test_each_recorded_focus_event_of_sway_names_its_window(self) -> None:
        events = [json.loads(line) for line in data("collector", "sway-window-events.jsonl").read_text().splitlines() if line.strip()]
        seen = []
        for event in events:
            if event.get("change") == "focus" and (found := sway_window({"nodes": [event["container"]]})) is not None:
                seen.append(found[0].names)
        assert seen[0] == ("gedit",) and ("foot",) in seen

    def test_a_floating_window_and_one_of_the_x_server_below_sway(self) -> None:
        tree = workspace()
        old = {"class": "XTerm", "instance": "xterm", "title": "t"}
        node = {"id": 9, "pid": 7, "app_id": None, "window": 4711, "window_properties": old, "name": "t", "focused": True}
        tree["nodes"][0]["floating_nodes"].append(node)
        assert sway_window(tree) == (ActiveWindow(9, 7, ("XTerm", "xterm")), "t")

    @pytest.mark.parametrize(
        "tree",
        [None, [], {}, "x", workspace(), workspace(focused=True), workspace(view(5, 7, "a", "t", focused=False)), {"nodes": [1, None]}],
    )
    def test_no_window_of_sway_is_none(self, tree: object) -> None:
        assert sway_window(tree) is None

    def test_i3_names_no_process(self) -> None:
        found = sway_window({"nodes": [{"id": 94, "window": 4711, "window_properties": {"class": "Gedit"}, "name": "t", "focused": True}]})
        assert found == (ActiveWindow(94, None, ("Gedit",)), "t")

    def test_a_tree_as_deep_as_it_likes_is_walked(self) -> None:
        tree: dict[str, Any] = view(5, 7, "a", "t")
        for _ in range(5000):
            tree = {"nodes": [tree]}
        assert sway_window(tree) == (ActiveWindow(5, 7, ("a",)), "t")

    def test_hyprland(self) -> None:
        answer = {"address": "0x55a0ff", "pid": 70, "class": "org.kde.kate", "initialClass": "kate", "title": "notes"}
        assert hyprland_window(answer) == (ActiveWindow(0x55A0FF, 70, ("org.kde.kate", "kate")), "notes")
        for nothing in ({}, None, [], {"address": "x"}, {"address": None}):
            assert hyprland_window(nothing) is None

    def test_gnome(self) -> None:
        answer = {"id": 12, "pid": 70, "wm_class": "Gedit", "wm_class_instance": "gedit", "title": "notes", "focus": True}
        assert gnome_window(answer) == (ActiveWindow(12, 70, ("Gedit", "gedit")), "notes")
        for nothing in ({}, None, {"pid": 0}, {"pid": "70"}, {"pid": True}):
            assert gnome_window(nothing) is None


def _every(node: Any) -> Iterator[dict[str, Any]]:
    yield node
    for below in (*node.get("nodes", ()), *node.get("floating_nodes", ())):
        yield from _every(below)


class Compositor:
    """A server that speaks the protocol of i3. `tree` is what it answers; `mute` makes it answer nothing."""

    def __init__(self) -> None:
        self.tree: object = workspace()
        self.asked: list[tuple[int, bytes]] = []
        self.mute = False
        self.writers: list[asyncio.StreamWriter] = []

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.writers.append(writer)
        try:
            while True:
                magic, length, kind = struct.unpack("=6sII", await reader.readexactly(14))
                assert magic == b"i3-ipc"
                self.asked.append((kind, await reader.readexactly(length)))
                if not self.mute:
                    self.say(writer, kind, {"success": True} if kind == 2 else self.tree)
        except (EOFError, ConnectionError):
            pass
        finally:
            writer.close()

    def say(self, writer: asyncio.StreamWriter, kind: int, value: object) -> None:
        body = json.dumps(value).encode()
        writer.write(struct.pack("=6sII", b"i3-ipc", len(body), kind) + body)

    def event(self, kind: int, value: object) -> None:
        self.say(self.writers[-1], 1 << 31 | kind, value)


@asynccontextmanager
async def sway(path: Path) -> AsyncIterator[tuple[Compositor, SwayForeground, asyncio.Event]]:
    compositor, changed = Compositor(), asyncio.Event()
    server = await asyncio.start_unix_server(compositor.serve, path)
    foreground = SwayForeground(str(path), changed.set)
    try:
        yield compositor, foreground, changed
    finally:
        await foreground.close()
        for writer in compositor.writers:
            writer.close()
        server.close()
        await server.wait_closed()


class TestSway:
    def test_it_subscribes_once_and_asks_for_the_tree(self, tmp_path: Path) -> None:
        async def main() -> None:
            async with sway(tmp_path / "ipc") as (compositor, foreground, _):
                assert await foreground.open() and await foreground.open()
                assert await foreground.active() is None
                compositor.tree = workspace(view(5, 7, "gedit", "notes"))
                assert await foreground.active() == ActiveWindow(5, 7, ("gedit",))
                assert await foreground.title(5) == "notes"
                assert await foreground.title(6) is None
                assert [kind for kind, _ in compositor.asked] == [2, 4, 4, 4, 4]
                assert json.loads(compositor.asked[0][1]) == ["window", "workspace"]

        asyncio.run(main())

    def test_events_between_answers_ask_for_a_look_unless_they_are_of_another_window(self, tmp_path: Path) -> None:
        async def main() -> None:
            async with sway(tmp_path / "ipc") as (compositor, foreground, changed):
                assert await foreground.open()
                for kind, value in (
                    (3, {"change": "focus", "container": view(5, 7, "a", "t")}),
                    (3, {"change": "title", "container": view(5, 7, "a", "t")}),
                    (3, {"change": "close", "container": view(5, 7, "a", "t", focused=False)}),
                    (0, {"change": "focus"}),
                ):
                    compositor.event(kind, value)
                    await asyncio.wait_for(changed.wait(), 60)
                    changed.clear()
                compositor.event(3, {"change": "title", "container": view(6, 8, "b", "u", focused=False)})
                compositor.event(7, {"change": "anything"})
                compositor.event(3, ["no object"])
                assert await foreground.active() is None  # its answer came after all of them
                assert not changed.is_set()

        asyncio.run(main())

    def test_a_compositor_that_hangs_costs_one_deadline_and_is_connected_to_anew(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(foreground_sway, "ASK_SECONDS", 0.1)

        async def main() -> None:
            async with sway(tmp_path / "ipc") as (compositor, foreground, _):
                assert await foreground.open()
                compositor.mute = True
                assert await foreground.active() is None
                assert await foreground.active() is None
                assert not await foreground.open()
                compositor.mute = False
                compositor.tree = workspace(view(5, 7, "gedit", "notes"))
                assert await foreground.open()
                assert await foreground.active() == ActiveWindow(5, 7, ("gedit",))

        asyncio.run(main())

    @pytest.mark.parametrize("last_words", [b"", b"x" * 14, struct.pack("=6sII", b"i3-ipc", 3, 4) + b"{{{"])
    def test_a_compositor_that_leaves_or_talks_nonsense_is_no_source_and_asks_for_a_look(self, tmp_path: Path, last_words: bytes) -> None:
        async def main() -> None:
            async with sway(tmp_path / "ipc") as (compositor, foreground, changed):
                assert await foreground.open()
                compositor.writers[-1].write(last_words)
                if not last_words:
                    compositor.writers[-1].close()
                await asyncio.wait_for(changed.wait(), 60)
                assert await foreground.active() is None
                assert await foreground.open()  # it listens still: a new connection

        asyncio.run(main())

    def test_a_socket_that_nobody_serves_is_no_source(self, tmp_path: Path) -> None:
        async def main() -> None:
            foreground = SwayForeground(str(tmp_path / "ipc"), Nothing)
            assert not await foreground.open()
            assert await foreground.active() is None
            await foreground.close()

        asyncio.run(main())


class TestHyprland:
    def test_it_listens_to_the_second_socket_and_asks_the_first(self, tmp_path: Path) -> None:
        folder = tmp_path / "hypr" / "abc"
        folder.mkdir(parents=True)
        answer: list[bytes] = [b"{}"]
        listeners: list[asyncio.StreamWriter] = []

        async def request(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            assert await reader.readexactly(14) == b"j/activewindow"
            writer.write(answer[0])
            writer.close()

        async def main() -> None:
            first = await asyncio.start_unix_server(request, folder / ".socket.sock")
            second = await asyncio.start_unix_server(lambda _, writer: listeners.append(writer), folder / ".socket2.sock")
            changed = asyncio.Event()
            env = {"XDG_RUNTIME_DIR": str(tmp_path), "HYPRLAND_INSTANCE_SIGNATURE": "abc"}
            foreground = HyprlandForeground(env, changed.set)
            async with first, second:
                assert await foreground.open() and await foreground.open()
                assert await foreground.active() is None
                answer[0] = json.dumps({"address": "0x5f", "pid": 9, "class": "kate", "initialClass": "kate", "title": "notes"}).encode()
                assert await foreground.active() == ActiveWindow(0x5F, 9, ("kate",))
                assert (await foreground.title(0x5F), await foreground.title(1)) == ("notes", None)
                listeners[0].write(b"activewindow>>kate,notes\nmonitoradded>>X\n")
                listeners[0].write(b"activewindowv2>>5f\n")
                await asyncio.wait_for(changed.wait(), 60)
                changed.clear()
                answer[0] = b"Invalid"
                assert await foreground.active() is None
                listeners[0].close()  # the compositor ends
                await asyncio.wait_for(changed.wait(), 60)
            await foreground.close()
            for listener in listeners:
                listener.close()

        asyncio.run(main())

    def test_without_its_sockets_it_is_no_source(self, tmp_path: Path) -> None:
        async def main() -> None:
            foreground = HyprlandForeground({"XDG_RUNTIME_DIR": str(tmp_path), "HYPRLAND_INSTANCE_SIGNATURE": "abc"}, Nothing)
            assert not await foreground.open()
            assert await foreground.active() is None
            await foreground.close()

        asyncio.run(main())


@pytest.fixture
def bus(tmp_path: Path) -> Iterator[tuple[dict[str, str], Peer]]:
    """The environment of a session, and a program on its bus."""
    with private_bus(tmp_path) as address, peer(address) as program:
        yield {"DBUS_SESSION_BUS_ADDRESS": address, "XDG_RUNTIME_DIR": str(tmp_path)}, program


FOCUSED_WINDOW = ("/org/gnome/shell/extensions/FocusedWindow", "org.gnome.shell.extensions.FocusedWindow")
WINDOW_CALLS = ("/org/gnome/Shell/Extensions/WindowsExt", "org.gnome.Shell.Extensions.WindowsExt")


class TestGnome:
    def test_the_shell_alone_is_no_source(self, bus: tuple[dict[str, str], Peer]) -> None:
        env, shell = bus

        async def main() -> None:
            foreground = GnomeForeground(env)
            assert not await foreground.open()
            shell.own("org.gnome.Shell")
            assert not await foreground.open()
            assert await foreground.active() is None
            await foreground.close()

        asyncio.run(main())

    def test_focused_window_d_bus(self, bus: tuple[dict[str, str], Peer]) -> None:
        env, shell = bus
        shell.own("org.gnome.Shell")
        told = {"id": 3, "pid": 70, "wm_class": "Gedit", "wm_class_instance": "gedit", "title": "notes"}
        shell.answers[*FOCUSED_WINDOW, "Get"] = lambda: ("s", [json.dumps(told)])

        async def main() -> None:
            foreground = GnomeForeground(env)
            assert await foreground.open()
            assert await foreground.active() == ActiveWindow(3, 70, ("Gedit", "gedit"))
            assert (await foreground.title(3), await foreground.title(4)) == ("notes", None)
            told.clear()
            assert await foreground.open()
            assert await foreground.active() is None
            await foreground.close()

        asyncio.run(main())

    def test_no_window_in_focus_is_an_error_of_it_and_no_reason_to_leave(self, bus: tuple[dict[str, str], Peer]) -> None:
        env, shell = bus
        shell.own("org.gnome.Shell")

        def refuse() -> tuple[str, list[Any]]:
            raise LookupError("org.gnome.gjs.JSError.Error")

        shell.answers[*FOCUSED_WINDOW, "Get"] = refuse

        async def main() -> None:
            foreground = GnomeForeground(env)
            assert await foreground.open()
            assert await foreground.active() is None
            await foreground.close()

        asyncio.run(main())

    def test_window_calls_extended(self, bus: tuple[dict[str, str], Peer]) -> None:
        env, shell = bus
        shell.own("org.gnome.Shell")
        for member, text in (("FocusPID", "70"), ("FocusClass", "Gedit"), ("FocusTitle", "notes")):
            shell.answers[*WINDOW_CALLS, member] = lambda text=text: ("s", [text])

        async def main() -> None:
            foreground = GnomeForeground(env)
            assert await foreground.open()
            assert await foreground.active() == ActiveWindow(0, 70, ("Gedit",))
            assert not any(call[3] == "FocusTitle" for call in shell.calls), "no title is asked for before it may be read"
            assert await foreground.title(0) == "notes"
            shell.answers[*WINDOW_CALLS, "FocusPID"] = lambda: ("s", [""])
            assert await foreground.active() is None
            await foreground.close()

        asyncio.run(main())


class KWin:
    """A KWin that loads scripts and runs none: `script` is the text that it was given, `tell` what the script would do."""

    def __init__(self, program: Peer, plasma: int) -> None:
        self.program = program
        self.loaded: dict[str, str] = {}
        program.own("org.kde.KWin")
        scripting = ("/Scripting", "org.kde.kwin.Scripting")
        program.answers[*scripting, "loadScript"] = self.load
        program.answers[*scripting, "unloadScript"] = lambda name: ("b", [self.loaded.pop(name, None) is not None])
        program.answers[*scripting, "isScriptLoaded"] = lambda name: ("b", [name in self.loaded])
        self.ran = False
        program.answers["/Scripting/Script5" if plasma == 6 else "/5", "org.kde.kwin.Script", "run"] = self.run

    def load(self, path: str, name: str) -> tuple[str, list[Any]]:
        self.loaded[name] = Path(path).read_text()
        return "i", [5]

    def run(self) -> tuple[str, list[Any]]:
        self.ran = True
        return "", []

    @property
    def script(self) -> str:
        return next(iter(self.loaded.values()))

    def tell(self, *texts: str, by: Peer | None = None) -> None:
        listener, path, interface, member = json.loads(f"[{self.script.partition('callDBus(')[2].partition(', text(')[0]}]")
        (by or self.program).call(listener, path, interface, member, "s" * len(texts), texts)


@pytest.mark.parametrize("plasma", [5, 6])
def test_kwin_runs_a_script_that_calls_back_and_is_taken_away(bus: tuple[dict[str, str], Peer], tmp_path: Path, plasma: int) -> None:
    env, program = bus

    async def main() -> None:
        changed = asyncio.Event()
        foreground = KdeForeground(env, changed.set)
        assert not await foreground.open()
        kwin = KWin(program, plasma)
        assert await foreground.open() and await foreground.open()
        assert kwin.ran and "caption" not in kwin.script
        assert await foreground.active() is None
        number = "{6f1d9f9e-8a9b-4c6e-9d1a-000000000001}"
        await asyncio.to_thread(kwin.tell, "70", number, "org.kde.kate", "kate", "kate")
        assert changed.is_set()
        window = await foreground.active()
        assert window is not None and (window.pid, window.names) == (70, ("org.kde.kate", "kate"))
        await asyncio.to_thread(kwin.tell, "0", "", "", "", "")
        assert await foreground.active() is None
        await foreground.close()
        assert not kwin.loaded

    asyncio.run(main())
    assert not list(tmp_path.glob("*.js"))


def test_only_kwin_is_believed(bus: tuple[dict[str, str], Peer]) -> None:
    env, program = bus

    async def main() -> None:
        foreground = KdeForeground(env, Nothing)
        kwin = KWin(program, 6)
        assert await foreground.open()
        with peer(env["DBUS_SESSION_BUS_ADDRESS"]) as liar, pytest.raises(AssertionError, match="AccessDenied"):
            await asyncio.to_thread(kwin.tell, "70", "{6f1d9f9e-8a9b-4c6e-9d1a-000000000001}", "a", "b", "c", by=liar)
        assert await foreground.active() is None
        await foreground.close()

    asyncio.run(main())


def test_a_kwin_that_was_restarted_is_given_the_script_again(bus: tuple[dict[str, str], Peer]) -> None:
    env, program = bus

    async def main() -> None:
        foreground = KdeForeground(env, Nothing)
        kwin = KWin(program, 6)
        assert await foreground.open()
        kwin.loaded.clear()
        assert await foreground.open()
        assert len(kwin.loaded) == 1
        await foreground.close()

    asyncio.run(main())


@pytest.mark.parametrize(
    ("env", "names"),
    [
        ({"DISPLAY": ":1"}, ["X11Desktop", "AccessibilityForeground"]),
        ({"DISPLAY": ":1", "I3SOCK": "/i3"}, ["X11Desktop", "AccessibilityForeground"]),
        ({"DISPLAY": ":1", "WAYLAND_DISPLAY": "wayland-0", "SWAYSOCK": "/sway"}, ["SwayForeground", "AccessibilityForeground"]),
        ({"WAYLAND_DISPLAY": "wayland-0", "I3SOCK": "/scroll"}, ["SwayForeground", "AccessibilityForeground"]),
        ({"WAYLAND_DISPLAY": "w", "HYPRLAND_INSTANCE_SIGNATURE": "a"}, ["HyprlandForeground", "AccessibilityForeground"]),
        ({"WAYLAND_DISPLAY": "w", "XDG_CURRENT_DESKTOP": "ubuntu:GNOME"}, ["GnomeForeground", "AccessibilityForeground"]),
        ({"WAYLAND_DISPLAY": "w", "XDG_CURRENT_DESKTOP": "KDE"}, ["KdeForeground", "AccessibilityForeground"]),
        ({"WAYLAND_DISPLAY": "w", "XDG_CURRENT_DESKTOP": "COSMIC"}, ["AccessibilityForeground"]),
        ({}, ["AccessibilityForeground"]),
    ],
)
def test_the_order_of_the_sources(env: dict[str, str], names: list[str]) -> None:
    x11 = X11Desktop(env, Nothing) if "DISPLAY" in env and "WAYLAND_DISPLAY" not in env else None
    assert [type(source).__name__ for source in foregrounds(env, Nothing, x11, Accessibility(Nothing))] == names
