"""Runs a recorded terminal through an emulator again: its screen at a moment or a revision, or all of it in time on a person's terminal."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable

from ..adapters.termwright.emulator import Emulator, open_emulator
from ..adapters.termwright.recording import Event, Recording
from ..adapters.termwright.screen import Screen
from .screen_ansi import ansi_row

FRAMES_A_SECOND = 30
SIZE = re.compile(r"([1-9][0-9]{0,2}|1000)x([1-9][0-9]{0,2}|1000)", re.ASCII)
#: Another screen, no cursor, no wrapping at the edge; and back.
ENTER, LEAVE = "\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[2J", "\x1b[0m\x1b[?7h\x1b[?25h\x1b[?1049l"


def screen_at(recording: Recording, at: float) -> Screen:
    """What the terminal showed so many seconds after the start."""
    emulator = open_emulator(recording.columns, recording.rows, policy=recording.policy)
    try:
        for event in recording.events:
            if event.at > at:
                break
            _apply(emulator, event)
        return emulator.screen()
    finally:
        emulator.close()


def screen_of(recording: Recording, revision: int) -> Screen:
    """The cells that the tree of a revision describes: those before its marker in the output.

    Where the adapter marks nothing, those that were there when it was published. Raises `Unavailable` for a revision that was not recorded.
    """
    recording.revision(revision)
    marked: list[Screen] = []

    def marker(payload: str) -> None:
        if not marked and payload.startswith(f"twm;{revision};"):
            marked.append(emulator.screen())

    emulator = open_emulator(recording.columns, recording.rows, policy=recording.policy, on_marker=marker)
    try:
        for event in recording.events:
            if event.code == "m" and event.data == f"revision {revision}":
                break
            _apply(emulator, event)
        return marked[0] if marked else emulator.screen()
    finally:
        emulator.close()


def play(
    recording: Recording,
    write: Callable[[str], object],
    *,
    speed: float = 1.0,
    idle_limit: float | None = None,
    wait: Callable[[float], None] = time.sleep,
    now: Callable[[], float] = time.monotonic,
) -> Screen:
    """Show it in time: `write` gets what draws each change. Pauses last `idle_limit` seconds at most. Returns the last screen.

    What is written are cells drawn anew, never what the program printed, so that nothing in a recording can ask the terminal or change it.
    """
    emulator = open_emulator(recording.columns, recording.rows, policy=recording.policy)
    shown: list[str] = []
    started = now()
    due = previous = 0.0
    try:
        write(ENTER)  # inside: a Ctrl-C may come the moment it is out
        for index, event in enumerate(recording.events):
            pause = event.at - previous
            due += (pause if idle_limit is None else min(pause, idle_limit)) / speed
            previous = event.at
            early = started + due - now()
            if early > 1 / FRAMES_A_SECOND or index == 0:
                _draw(emulator, shown, write)
            if early > 0:
                wait(early)
            _apply(emulator, event)
        _draw(emulator, shown, write)
        return emulator.screen()
    finally:
        write(LEAVE)
        emulator.close()


def _apply(emulator: Emulator, event: Event) -> None:
    if event.code == "o":
        emulator.feed(event.data.encode())
    elif event.code == "r" and (size := SIZE.fullmatch(event.data)):
        emulator.resize(int(size[1]), int(size[2]))


def _draw(emulator: Emulator, shown: list[str], write: Callable[[str], object]) -> None:
    """Draw the rows that changed since `shown`, in one synchronized update; rows below the person's own terminal are left out."""
    screen = emulator.screen()
    rows = [ansi_row(cells) for cells in screen.cells][: _height()]
    parts = [f"\x1b[{row};1H\x1b[K{text}" for row, text in enumerate(rows, 1) if row > len(shown) or shown[row - 1] != text]
    parts += [f"\x1b[{row};1H\x1b[K" for row in range(len(rows) + 1, len(shown) + 1)]
    column, row = screen.cursor
    parts.append(f"\x1b[{row + 1};{column + 1}H\x1b[?25{'h' if screen.cursor_visible else 'l'}")
    write(f"\x1b[?2026h{''.join(parts)}\x1b[?2026l")
    shown[:] = rows


def _height() -> int:
    try:
        return os.get_terminal_size().lines
    except OSError:
        return 1000
