"""The processes of one session, by number: who belongs to it, waiting until they are gone, ending them. The pty closes its program with it.

A program puts children into process groups of their own (a shell does, for each job), but all stay in the session that its leader began.
Only a process that begins a session itself leaves it, and is then nobody's business here.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Collection
from pathlib import Path

#: Times that the table of processes is read while members are being killed: one may fork between the look and the kill.
ROUNDS = 10


def members(leader: int) -> list[int]:
    """The processes of the session of `leader`, itself left out. It must not be reaped yet: else its number may mean another session."""
    found = []
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(ValueError, ProcessLookupError, PermissionError):  # ValueError: not the entry of a process
            number = int(entry.name)
            if number != leader and os.getsid(number) == leader:
                found.append(number)
    return found


def tell(leader: int, *signals: int) -> None:
    """Send the signals to every member."""
    for number in members(leader):
        _send(leader, number, signals)


def kill(leader: int) -> None:
    """Kill every member; those that are forked meanwhile too."""
    killed: set[int] = set()
    for _ in range(ROUNDS):
        left = set(members(leader)) - killed
        if not left:
            return
        for number in left:
            _send(leader, number, (signal.SIGKILL,))
        killed |= left


async def gone(numbers: Collection[int], seconds: float) -> None:
    """Wait until these processes have ended, or so many seconds are over."""
    loop = asyncio.get_running_loop()
    waiting: dict[int, asyncio.Future[None]] = {}

    def ended(handle: int) -> None:
        loop.remove_reader(handle)
        waiting[handle].set_result(None)

    try:
        for number in numbers:
            with contextlib.suppress(OSError):
                handle = os.pidfd_open(number)
                waiting[handle] = loop.create_future()
                loop.add_reader(handle, ended, handle)
        if waiting:
            await asyncio.wait(waiting.values(), timeout=seconds)
    finally:
        for handle in waiting:
            loop.remove_reader(handle)
            os.close(handle)


def _send(leader: int, number: int, signals: Collection[int]) -> None:
    """Through a handle: a number that was freed since the look means another process, which is not of this session."""
    with contextlib.suppress(OSError):
        handle = os.pidfd_open(number)
        try:
            if os.getsid(number) == leader:
                for told in signals:
                    signal.pidfd_send_signal(handle, told)
        finally:
            os.close(handle)
