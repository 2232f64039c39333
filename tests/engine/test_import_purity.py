"""Machines stay pure: importing a protocol's whole core brings in nothing that touches the world."""

from __future__ import annotations

import subprocess
import sys

import pytest

FORBIDDEN = (
    "triptych.adapters",
    "triptych.native",
    "triptych.engine",
    "pty",
    "aiohttp",
    "textual",
    "mcp",
    "numpy",
    "aiortc",
    "xcffib",
    "dbus_fast",
    "sqlite3",
)


@pytest.mark.parametrize("protocol", ["termwright", "collector", "desklink"])
def test_a_core_imports_no_adapter_and_nothing_of_the_world(protocol: str) -> None:
    code = (
        "import importlib, pkgutil, sys\n"
        f"package = importlib.import_module('triptych.machines.{protocol}')\n"
        "names = [module.name for module in pkgutil.walk_packages(package.__path__, package.__name__ + '.')]\n"
        "assert len(names) >= 4, names\n"
        "for name in names:\n    importlib.import_module(name)\n"
        f"found = [name for name in sys.modules if name.startswith({FORBIDDEN!r}) and (name in {FORBIDDEN!r} or '.' in name)]\n"
        "assert not found, found\n"
    )
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert answer.returncode == 0, answer.stderr
