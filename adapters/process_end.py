"""Ends processes, and waits for their end, by process id: of children that we started, and of processes that were told to stop."""

from __future__ import annotations

import os
import select
import subprocess


def end(child: subprocess.Popen[bytes], seconds: float) -> None:
    """Ask a child to end, and end it when it has not after `seconds`. It is reaped; one that has ended already is left alone."""
    if child.poll() is None:
        child.terminate()
        try:
            child.wait(seconds)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()


def wait_until_gone(pid: int, seconds: float) -> bool:
    """Wait until any process has ended; False when it has not in time."""
    try:
        process = os.pidfd_open(pid)
    except (ProcessLookupError, AttributeError):  # it has ended, or this system cannot wait for another's child
        return True
    try:
        return bool(select.select([process], [], [], seconds)[0])
    finally:
        os.close(process)
