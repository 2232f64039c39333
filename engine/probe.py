"""What a program can tell its driver about itself. All of it does nothing, and prints nothing, while nobody drives the program.

    @probe.annotate(role="dialog", name="Checkout", test_id="checkout")
    class Checkout(Widget): ...

    logging.getLogger().addHandler(probe.LogHandler())

A Textual program needs no more: `triptych terminal probe -- python app.py` runs it under the probe, and `textual(["python", "app.py"])` is
the command line for `terminal.launch`. A program of any other kind publishes its own trees with a `Client`:

    client = probe.Client("my-adapter", "1.0")
    if client.start():
        draw()
        sys.stdout.write(client.publish(tree).decode())
        sys.stdout.flush()
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..adapters.termwright.annotations import annotate

if TYPE_CHECKING:
    from ..adapters.termwright.client import CAPABILITIES, Client
    from ..adapters.termwright.log_bridge import LogHandler, StructlogProcessor
    from ..machines.termwright.publisher import Tree

    structlog_processor: StructlogProcessor

__all__ = ["CAPABILITIES", "Client", "LogHandler", "StructlogProcessor", "Tree", "annotate", "structlog_processor", "textual"]

_HOMES = {
    "CAPABILITIES": "adapters.termwright.client",
    "Client": "adapters.termwright.client",
    "LogHandler": "adapters.termwright.log_bridge",
    "StructlogProcessor": "adapters.termwright.log_bridge",
    "Tree": "machines.termwright.publisher",
}


def textual(program: Sequence[str]) -> list[str]:
    """The command line that runs a Textual program under our probe. The program's Python must have triptych installed."""
    package = f"{__package__.rpartition('.')[0]}.adapters.termwright.textual_probe"
    return [sys.executable, "-m", package, "--", *program]


def __getattr__(name: str) -> object:
    """Load the protocol only for a program that uses it: an annotation alone must not slow its start."""
    if name == "structlog_processor":
        value: object = importlib.import_module("..adapters.termwright.log_bridge", __package__).StructlogProcessor()
    elif name in _HOMES:
        value = getattr(importlib.import_module(f"..{_HOMES[name]}", __package__), name)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value
