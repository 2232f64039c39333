"""Loads the X11 helper, and says for its two faces (capture and input) why a display cannot be opened, or is gone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...errors import Unavailable

try:
    from ...native.linux import _x11
except ImportError as missing:
    raise Unavailable(
        f"the X11 helper cannot be loaded: {missing}",
        "apt install libxcb-shm0 libxcb-damage0 libxcb-xfixes0 libxcb-xtest0 libxcb-xkb1 libxkbcommon-x11-0, then reinstall triptych",
    ) from missing

if TYPE_CHECKING:
    from ...native.linux._x11 import CData

__all__ = ["HELPER", "DisplayLost", "cannot_open", "ffi", "lib"]

ffi, lib = _x11.ffi, _x11.lib
HELPER: str = _x11.__file__
"""The file of the X11 helper."""


class DisplayLost(Unavailable):
    """The connection to the X server is gone. Only a new connection helps."""

    def __init__(self, display: str) -> None:
        super().__init__(f"the X display {display} went away", "start it again, then open a new session")


def cannot_open(display: str, error: CData) -> Unavailable:
    """The sentence that the helper wrote, as an error."""
    text = ffi.string(error)
    assert isinstance(text, bytes)
    return Unavailable(
        f"cannot open X display {display}: {text.decode()}", "set DISPLAY, and XAUTHORITY for its cookie, to a running X server"
    )
