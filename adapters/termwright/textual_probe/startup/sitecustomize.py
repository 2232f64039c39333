"""Runs first in an interpreter that was started under the probe, since its folder leads PYTHONPATH, and takes that folder away again.

The interpreter's own sitecustomize, which this one hides, runs as if nothing had happened. Only launcher.py brings this file anywhere.
"""

import os
import sys

_here = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120 - pathlib would be loaded into a program that may never want it


def _take_away() -> None:
    sys.path[:] = [entry for entry in sys.path if entry != _here]
    rest = os.pathsep.join(entry for entry in os.environ.get("PYTHONPATH", "").split(os.pathsep) if entry != _here)
    if rest:
        os.environ["PYTHONPATH"] = rest
    else:
        os.environ.pop("PYTHONPATH", None)


def _claim() -> None:
    endpoint, token = os.environ.pop("TERMWRIGHT_ENDPOINT", ""), os.environ.pop("TERMWRIGHT_TOKEN", "")
    if not (endpoint and token):
        return
    try:
        from triptych.adapters.termwright.textual_probe.claim import watch
    except ImportError as cause:
        path = os.environ.get("TERMWRIGHT_DEBUG_FILE")
        if path:
            with open(path, "a", encoding="utf-8") as file:  # noqa: PTH123 - as above
                file.write(f"triptych: {sys.executable} cannot load the probe: {cause}\n")
        return
    watch(endpoint, token)


def _run_hidden() -> None:
    this = sys.modules.pop("sitecustomize")
    try:
        import sitecustomize  # type: ignore[import-not-found]  # noqa: F401 - another one, whose effects are wanted
    except ImportError as cause:
        sys.modules["sitecustomize"] = this
        if cause.name != "sitecustomize":
            raise


_take_away()
_claim()
_run_hidden()
