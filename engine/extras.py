"""Says in one line which optional packages a panel still needs; every command and API that stands on an extra asks it first."""

from __future__ import annotations

from importlib.util import find_spec

from ..errors import Unavailable


def need(extra: str, *modules: str) -> None:
    """Raise Unavailable, with the command that mends it, unless every top-level module of the extra `extra` is installed."""
    missing = [module for module in modules if find_spec(module) is None]
    if missing:
        verb = "is" if len(missing) == 1 else "are"
        raise Unavailable(f"{' and '.join(missing)} {verb} not installed", f"pip install 'triptych[{extra}]'")
