"""Which programs are open at this moment, and the ids under which they would be recorded. `policy allow` asks; nothing of it is kept.

It reads process numbers, program names and window classes, and no title, widget or content of any window.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from dataclasses import dataclass

from ...errors import Unavailable
from .atspi_bus import AccessibilityBus, AccessibilityUnavailable
from .dbus import BusError
from .desktop_files import DesktopFiles
from .display_thread import DisplayThread
from .foreground_x11 import X11Foreground, X11Unavailable
from .process_names import executable

LOOK_SECONDS = 3.0

_REGISTRY = ("org.a11y.atspi.Registry", "/org/a11y/atspi/accessible/root", "org.a11y.atspi.Accessible")


@dataclass(frozen=True, slots=True)
class OpenProgram:
    """A program with windows, or on the accessibility bus. `ids`: under which it may be recorded, best first; never empty."""

    pid: int
    name: str
    ids: tuple[str, ...]


async def open_programs(env: Mapping[str, str] = os.environ) -> list[OpenProgram]:
    """The open programs by name, each id once. Raises Unavailable when neither the display nor the accessibility bus can be asked."""
    try:
        async with asyncio.timeout(LOOK_SECONDS):
            windows, (named, fault) = await asyncio.gather(_windows(env), _on_the_bus(env))
    except TimeoutError:
        raise Unavailable("the desktop does not answer", "triptych activity doctor") from None
    if windows is None and fault is not None:
        raise Unavailable(fault.reason, fault.remedy)
    files, found = DesktopFiles(env), dict[tuple[str, ...], OpenProgram]()
    # What a window says of its program is more exact than what the bus knows of it.
    shown = windows or []
    for pid, names in [*shown, *(item for item in named.items() if item[0] not in {pid for pid, _ in shown})]:
        program = executable(pid)
        ids = tuple(dict.fromkeys(known for known in (files.find(names, program), program) if known))
        if ids:
            found.setdefault(ids, OpenProgram(pid, next(iter((*named.get(pid, ()), *names, *ids))), ids))
    return sorted(found.values(), key=lambda program: program.name.casefold())


async def _windows(env: Mapping[str, str]) -> list[tuple[int, tuple[str, ...]]] | None:
    """Process and names of each window that X knows; None where there is no X display."""
    display = DisplayThread(lambda: None, env)
    try:
        if not await display.ready():
            return None
        return [(window.pid, window.names) for window in await display.ask(X11Foreground.windows) if window.pid is not None]
    except X11Unavailable:
        return None
    finally:
        await display.close()


async def _on_the_bus(env: Mapping[str, str]) -> tuple[dict[int, tuple[str, ...]], AccessibilityUnavailable | None]:
    """The programs on the accessibility bus by process, and why there are none."""
    try:
        bus = await AccessibilityBus.connect(lambda event: None, env)
    except AccessibilityUnavailable as error:
        return {}, error
    found: dict[int, tuple[str, ...]] = {}
    try:
        for name, _ in (await bus.call(*_REGISTRY, "GetChildren"))[0]:
            try:
                said = await bus.get(str(name), _REGISTRY[1], _REGISTRY[2], "Name")
                found[await bus.pid_of(str(name))] = (str(said),) if said else ()
            except BusError:  # it has just left, or does not answer
                continue
    except BusError:
        pass
    finally:
        await bus.close()
    return found, None
