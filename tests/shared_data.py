"""Where the protocol vectors and recordings lie, beside the checkout; tests that need them are skipped, and counted, without them."""

from __future__ import annotations

from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2] / "shared" / "data"


def data(*parts: str) -> Path:
    """The path of one recorded file or folder; skips the test, or the whole module at import, when it is not there."""
    path = ROOT.joinpath(*parts)
    if not path.exists():
        pytest.skip(f"recorded data {'/'.join(parts)} is not beside this checkout", allow_module_level=True)
    return path
