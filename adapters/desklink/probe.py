"""Looks at the machine for `hello` and `capabilities`: reads the environment and connects to its X display, and prompts nobody.

Called by the host, the Python API and `triptych doctor`.
"""

from __future__ import annotations

import asyncio
import os
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from ... import __version__
from ...errors import Unavailable
from ...machines.desklink.capabilities import Facts
from ..worker import Worker
from .display_name import CONNECT_SECONDS, display_name, in_time

XTEST, RULES = "XTEST", "_XKB_RULES_NAMES"


@dataclass(frozen=True)
class _Display:
    size: tuple[int, int] | None = None
    reason: str = ""
    xtest: bool = False
    layout: str | None = None


async def look_at_machine(encode_codecs: tuple[str, ...], fed_codecs: tuple[str, ...]) -> Facts:
    """The facts of this machine now, and the codecs of a transport. What lacks is a fact too, so it never raises Unavailable."""
    # On a daemon thread: a display server that hangs may keep it.
    worker = Worker("desklink-probe")
    looking = worker.submit(_look_at_display)
    worker.close()
    try:
        seen = await asyncio.wait_for(looking, CONNECT_SECONDS)
    except TimeoutError:
        seen = _Display(reason="the X display does not answer")
    return Facts(
        engine=f"triptych/{__version__}",
        session_kind="wayland" if os.environ.get("WAYLAND_DISPLAY") else "x11" if os.environ.get("DISPLAY") else "none",
        x11_size=seen.size,
        x11_reason=seen.reason,
        xtest=seen.xtest,
        layout=seen.layout,
        encode_codecs=encode_codecs,
        fed_codecs=fed_codecs,
        # It needs nothing of the server but what every server has.
        clipboard=seen.size is not None,
    )


def _look_at_display() -> _Display:
    if not os.environ.get("DISPLAY"):
        return _Display(reason="DISPLAY is not set")
    try:
        import xcffib

        from .x11_capture import X11Capture
        from .x11_client import connect
    except ModuleNotFoundError as error:
        return _Display(reason=f"{error.name} is not installed (pip install 'triptych[desktop]')")
    try:
        with X11Capture() as capture:
            size = capture.size
        connection = connect(None)
        try:
            xtest = connection.core.QueryExtension(len(XTEST), XTEST).reply().present
            layout = _layout(connection)
        finally:
            connection.disconnect()
    except Unavailable as error:
        return _Display(reason=error.reason)
    except xcffib.ConnectionException:
        return _Display(reason="the X display went away")
    except OSError as error:
        return _Display(reason=str(error))
    return _Display(size, "" if xtest else "the X display has no XTEST extension", bool(xtest), layout)


def _layout(connection: Any) -> str | None:
    """The keyboard layouts that were set up, such as `us` or `us,de(neo)`; None when the server does not say."""
    import xcffib.xproto as x

    from ..x11_properties import property_bytes

    atom = connection.core.InternAtom(True, len(RULES), RULES).reply().atom
    root = connection.get_setup().roots[0].root
    reply = connection.core.GetProperty(False, root, atom, x.Atom.STRING, 0, 1024).reply() if atom else None
    # Five texts, each behind a zero byte: rules, model, layouts, variants, options.
    names = property_bytes(reply).decode("latin-1").split("\0") if reply else []
    if len(names) < 4 or not names[2]:
        return None
    layouts, variants = names[2].split(","), names[3].split(",")
    return ",".join(f"{layout}({variant})" if variant else layout for layout, variant in zip_longest(layouts, variants, fillvalue=""))


def display() -> str:
    """What the X display of the environment offers, as a sentence for `doctor`. Raises Unavailable when a session could not use it."""
    name = display_name(None)
    return in_time(_describe_display, name)


def _describe_display() -> str:
    from .x11_capture import X11Capture
    from .x11_input import X11Input

    with X11Capture() as capture, X11Input():
        width, height = capture.size
        return f"{os.environ['DISPLAY']} is {width}x{height}, with pixels by {capture.path} and input by XTEST"
