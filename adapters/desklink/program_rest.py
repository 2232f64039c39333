"""Tells when a program has done with what the X server sent it, from whether its threads sleep; called by X11Input.

X has no question for that: a key is sent, and its program looks it up when it gets to it. But whoever has something unread runs, or waits
for a processor, and whoever sleeps has nothing left to do. Linux says so of every process of this machine.
"""

from __future__ import annotations

import os
import socket
import struct
import threading
import time
from pathlib import Path

LOOK_SECONDS = 0.005
"""Between two looks: nobody tells of a process that goes to sleep."""
ENOUGH_SECONDS = 0.3
"""A program that never sleeps has had its chance after so long on a processor."""
LONGEST_SECONDS = 5.0
"""Who is stopped, or cannot get a processor, is not waited for longer."""

_TICK = os.sysconf("SC_CLK_TCK")
_ASLEEP = frozenset("SI")
_STATE, _USER_TIME, _SYSTEM_TIME = 0, 11, 12  # in /proc/PID/stat, after the name


def peer_process(descriptor: int) -> int:
    """The process that listens at the other end of a socket; 0 when it is not of this machine."""
    with socket.socket(fileno=os.dup(descriptor)) as end:
        if end.family != socket.AF_UNIX:
            return 0
        process, _, _ = struct.unpack("3i", end.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
    return int(process)


def wait_for_rest(program: int, server: int, cut_off: threading.Event) -> bool:
    """Wait until `program` has done with what `server` has sent it before, or `cut_off` is set. False, at once, where that is unseen."""
    if not (program and server and Path(f"/proc/{program}").exists() and Path(f"/proc/{server}").exists()):
        return False
    # A program that sleeps until the server answers has not done: so the server is looked at in between.
    ends = [(process, _look(process)[1] + ENOUGH_SECONDS) for process in (program, server, program)]
    deadline = time.monotonic() + LONGEST_SECONDS
    while not all(_rests(process, enough) for process, enough in ends) and time.monotonic() < deadline:
        if cut_off.wait(LOOK_SECONDS):
            break
    return True


def _rests(process: int, enough: float) -> bool:
    asleep, spent = _look(process)
    return asleep or spent > enough


def _look(process: int) -> tuple[bool, float]:
    """Whether all threads of a process sleep, and its seconds on a processor so far. A process that has ended sleeps."""
    asleep, ticks = True, 0
    try:
        for thread in Path(f"/proc/{process}/task").iterdir():
            fields = (thread / "stat").read_text().rpartition(")")[2].split()
            asleep &= fields[_STATE] in _ASLEEP
            ticks += int(fields[_USER_TIME]) + int(fields[_SYSTEM_TIME])
    except OSError:  # a thread, or all of it, has ended meanwhile
        asleep = not Path(f"/proc/{process}").exists()
    return asleep, ticks / _TICK
