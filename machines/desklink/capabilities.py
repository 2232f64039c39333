"""Says what this machine can do, from facts that an adapter found without asking anybody; called for `hello` and `capabilities`.

An answer names what a session would really get: a backend that is not built is not listed, and what lacks says why and what mends it
(desklink v3, "Capabilities").
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ...generated.desklink.vocabulary import CLIPBOARD_MIME, MAX_CLIPBOARD_BYTES, PROTOCOL_VERSION


@dataclass(frozen=True)
class Facts:
    """What a look at the machine found.

    `engine` is name/version; `session_kind` is wayland, x11 or none; `x11_size` the root in pixels, None when no display answers, and then
    `x11_reason` says why; `layout` names the keyboard layout of that display; the codecs are those that the transport of this build
    carries. `clipboard`: the clipboard of an X display can be read and written.
    """

    engine: str
    session_kind: str
    x11_size: tuple[int, int] | None
    x11_reason: str
    xtest: bool
    layout: str | None
    encode_codecs: tuple[str, ...]
    fed_codecs: tuple[str, ...]
    clipboard: bool = False


def capabilities(facts: Facts) -> dict[str, Any]:
    """The `Capabilities` object of the wire."""
    return {
        "protocol": PROTOCOL_VERSION,
        "engine": facts.engine,
        "platform": "linux",
        "session": {"kind": facts.session_kind},
        "x11": {"available": facts.x11_size is not None, "size": None if facts.x11_size is None else list(facts.x11_size)},
        "capture": {
            "mechanism": "x11-root",
            "backends": ["x11-root"],
            "formats": ["bgrx"],
            "cursor": "hidden",
            "audio": False,
        },
        "encode": {"codecs": list(facts.encode_codecs), "hardware": False},
        "input": {
            "mechanism": "xtest",
            "pointer": facts.xtest,
            "wheel": facts.xtest,
            "keyboard": facts.xtest,
            "text": ["layout-reachable"],
            "layout": facts.layout,
            "unavailable_reason": None if facts.xtest else _no_input(facts),
            "grant": "granted" if facts.xtest else "missing-device-access",
        },
        "clipboard": {"read": facts.clipboard, "write": facts.clipboard, "mime": [CLIPBOARD_MIME], "maxBytes": MAX_CLIPBOARD_BYTES},
        "encoded": {"codecs": list(facts.fed_codecs)},
    }


def _no_input(facts: Facts) -> dict[str, str]:
    reason = facts.x11_reason or "the X display has no XTEST extension"
    return {"reason": reason, "remedy": 'set DISPLAY, or name a display in session.open: {"kind":"x11","display":":99"}'}
