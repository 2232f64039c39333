"""What each panel can do on this machine. Nothing here asks for consent, starts a service or changes a setting."""

from __future__ import annotations

import os
import platform
import shutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from typing import Literal

from ..errors import Unavailable

Status = Literal["ok", "limited", "missing"]


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at. `limited` works with less, `missing` stops the panel; `remedy` is the command that mends it."""

    panel: str
    what: str
    status: Status
    detail: str
    remedy: str = ""

    def as_dict(self) -> dict[str, str]:
        """The finding as plain JSON members."""
        return {key: str(value) for key, value in asdict(self).items()}


def examine() -> list[Finding]:
    """Look at everything, panel by panel. Takes about a second, most of it the deadline of a silent accessibility bus."""
    return [*_machine(), *_terminal(), *_activity(), *_desktop()]


def _machine() -> Iterator[Finding]:
    version = platform.python_version()
    yield Finding("machine", "Python", "ok", f"{version} on {platform.platform(terse=True)}")
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        yield Finding(
            "machine", "user", "limited", "running as root: works, and is not needed", "run it as the user whose programs you drive"
        )


def _packages(panel: str, extra: str, needed: dict[str, str]) -> Iterator[Finding]:
    for module, purpose in needed.items():
        if find_spec(module):
            yield Finding(panel, purpose, "ok", f"{module} is installed")
        else:
            yield Finding(panel, purpose, "missing", f"{module} is not installed", f"pip install 'triptych[{extra}]'")


def _terminal() -> Iterator[Finding]:
    if sys.platform == "win32":
        yield Finding("terminal", "pseudo-terminal", "missing", "Windows is not supported yet")
        return
    yield Finding("terminal", "pseudo-terminal", "ok", "ptys and private unix sockets")
    yield from _packages("terminal", "terminal", {"pyghostty": "terminal emulation"})
    if find_spec("termwright"):
        yield Finding("terminal", "Textual probe", "ok", "termwright is installed here: Textual programs show their semantic tree")
    else:
        yield Finding(
            "terminal",
            "Textual probe",
            "limited",
            "programs without a probe show their screen only",
            "pip install termwright, beside the program",
        )


def _activity() -> Iterator[Finding]:
    yield from _packages("activity", "activity", {"dbus_fast": "D-Bus", "xcffib": "window focus on X11"})
    if find_spec("dbus_fast"):
        yield _attempt("activity", "accessibility bus", "limited", _accessibility)
    from .activity_cli.doctor import outcome
    from .activity_cli.options import default_data_dir

    yield outcome(default_data_dir())


def _accessibility() -> str:
    import asyncio

    from ..adapters.collector.atspi_bus import AccessibilityBus, AccessibilityUnavailable

    async def look() -> None:
        await (await AccessibilityBus.connect(lambda event: None)).close()

    try:
        asyncio.run(look())
    except AccessibilityUnavailable as error:
        reason, _, remedy = str(error).partition("; ")
        raise Unavailable(reason, remedy or "run it inside a desktop session, or under dbus-run-session") from None
    return "the accessibility bus answers"


def _desktop() -> Iterator[Finding]:
    yield from _packages(
        "desktop", "desktop", {"numpy": "frames as arrays", "PIL": "pictures", "xcffib": "window manager", "aiohttp": "bridge"}
    )
    if find_spec("triptych.native.linux._x11"):
        from ..adapters.desklink.probe import display

        yield Finding("desktop", "X11 helper", "ok", "built")
        yield _attempt("desktop", "colour conversion", "limited", _colours)
        yield _attempt("desktop", "display", "limited", display)
    else:
        yield Finding(
            "desktop",
            "X11 helper",
            "missing",
            "not built",
            "apt-get install libxcb1-dev libxcb-shm0-dev libxcb-damage0-dev libxcb-xtest0-dev libxkbcommon-x11-dev, then pip install again",
        )
    yield _attempt("desktop", "live picture", "limited", _live_picture)
    if shutil.which("Xvfb"):
        yield Finding("desktop", "private displays", "ok", "Xvfb is installed")
    else:
        yield Finding("desktop", "private displays", "limited", "Xvfb is not installed", "apt-get install xvfb")


def _live_picture() -> str:
    from ..adapters.desklink.encoder import encoder_name
    from ..adapters.desklink.webrtc.versions import strange

    if (why := strange()) is not None:
        raise why
    if (encoder := encoder_name()) is None:
        raise Unavailable("there is no VP9 encoder, so a desktop cannot be sent to a browser", "apt-get install libvpx7, or pip install av")
    return f"WebRTC, with VP9 by {encoder}"


def _colours() -> str:
    from ..adapters.desklink.x11_connection import lib

    if not lib.tx_has_libyuv():
        raise Unavailable(
            "live pictures are converted by our own C; libyuv, which is optional, is faster",
            "apt-get install libyuv-dev, then pip install again",
        )
    return "libyuv"


def _attempt(panel: str, what: str, otherwise: Status, probe: Callable[[], str]) -> Finding:
    """Ask `probe`: a sentence is good news, Unavailable is `otherwise`."""
    try:
        return Finding(panel, what, "ok", probe())
    except Unavailable as error:
        return Finding(panel, what, otherwise, error.reason, error.remedy)
