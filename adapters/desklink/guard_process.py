"""The guard's own process: `python -I -S guard_process.py CFFI HELPER DISPLAY MEMORY PROCESS`; started by guard.py and by nobody else.

It stands alone, without site packages or any import of the project, so that it is there within milliseconds. CFFI is the folder of cffi's
run-time module, HELPER the file of the X11 helper; MEMORY and PROCESS are descriptors. Exits 0 when everything is undone, 1 when it could
not be: the display is gone, or not to be opened.
"""

from __future__ import annotations

import os
import select
import signal
import sys
from importlib.machinery import ExtensionFileLoader
from importlib.util import module_from_spec, spec_from_loader


def main(cffi: str, helper: str, display: str, memory: str, process: str) -> int:
    """Guard until the process of the descriptor is gone, or its connection to the display."""
    sys.path.append(cffi)
    spec = spec_from_loader("_x11", ExtensionFileLoader("_x11", helper))
    assert spec is not None
    module = module_from_spec(spec)
    assert spec.loader is not None
    spec.loader.exec_module(module)

    def guard() -> int:
        return int(module.lib.tx_guard(display.encode(), int(memory), int(process)) != 0)

    for orderly in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM):
        signal.signal(orderly, signal.SIG_IGN)
    first = os.pidfd_open(os.getpid())
    try:
        spare = os.fork()
    except OSError:  # no room for another process: one guard is what there is
        return guard()
    if spare == 0:
        os.setsid()
        select.select([first], [], [])
        return guard()
    status = guard()
    os.kill(spare, signal.SIGKILL)
    os.waitpid(spare, 0)
    return status


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
