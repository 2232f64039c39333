"""Which versions of the WebRTC libraries this engine knows, whether they are installed, and what broke in one; without loading them."""

from __future__ import annotations

import importlib.metadata

from ....errors import Unavailable

KNOWN = {"aioice": "0.13", "aiortc": "1.16", "pylibsrtp": "1"}
"""What their versions begin with. The first two are used inside, so another minor version may be another library."""


def strange() -> Unavailable | None:
    """Why this installation has no WebRTC, naming the library; None when it has."""
    for package, known in KNOWN.items():
        try:
            installed = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            return Unavailable(f"{package} is not installed", 'pip install "triptych[desktop]"')
        if not f"{installed}.".startswith(f"{known}."):
            return Unavailable(f"{package} {installed} is not known to this engine", f'pip install "{package}=={known}.*"')
    return None


def broke(error: BaseException) -> str | None:
    """The library in whose task or timer an error was raised; None when it was in another's.

    What one of them leaves to the event loop belongs to one peer connection, which then says no more.
    """
    trace = error.__traceback__
    while trace is not None and (package := trace.tb_frame.f_globals.get("__name__", "").partition(".")[0]) == "asyncio":
        trace = trace.tb_next
    return package if trace is not None and package in KNOWN else None
