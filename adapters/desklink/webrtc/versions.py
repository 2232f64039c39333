"""Which versions of the WebRTC libraries this engine knows, and whether they are installed; looked up without loading them."""

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
