"""Asks the disk with a deadline: what hangs, as a network mount whose server is gone, is left alone until it answers. The judge asks it.

A call to a dead mount cannot be taken back, so each is made on a thread that may be left behind, and one that hangs is never asked twice.
"""

from __future__ import annotations

import os
import queue
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

T = TypeVar("T")

DEADLINE = 0.25  #: seconds for one question
LOCAL = frozenset({"btrfs", "zfs", "bcachefs", "tmpfs", "ramfs", "overlay", "squashfs", "rootfs"})  # of those without a block device
MOUNTS = Path("/proc/self/mountinfo")


class NoAnswer(Exception):
    """The disk did not answer in time, or hangs there still."""


class Disk:
    """One thread for all questions, and a new one in place of each that hangs; there is never more than one of these a place."""

    def __init__(self) -> None:
        self._worker: _Worker | None = None
        self._hanging: dict[str, _Worker] = {}
        self._local: dict[int, bool] = {}

    def ask(self, question: Callable[[str], T], path: str) -> T:
        """`question(path)`, which touches the disk. Raises NoAnswer, and what the question raises."""
        for place, worker in tuple(self._hanging.items()):
            if not worker.is_alive():
                del self._hanging[place]
            elif path == place or path.startswith(place.rstrip("/") + "/"):
                raise NoAnswer
        worker = self._worker = self._worker or _Worker()
        if worker.done(question, path, DEADLINE):
            return worker.result()  # type: ignore[no-any-return]  # what the question gave
        self._worker = None
        worker.leave()
        self._hanging[_place(path)] = worker
        raise NoAnswer

    def is_local(self, device: int) -> bool:
        """Whether the filesystem of this device number (`st_dev`) is of this machine, so that it answers."""
        if os.major(device):
            return True
        if device not in self._local:
            self._local[device] = any(kind in LOCAL for number, _, kind in _mounts() if number == device)
        return self._local[device]

    def close(self) -> None:
        """Let the thread end. Those that hang end with the process."""
        if self._worker is not None:
            self._worker.leave()
            self._worker = None


class _Worker(threading.Thread):
    """Answers one question after another, until it is told to leave."""

    def __init__(self) -> None:
        super().__init__(name="disk", daemon=True)
        self._questions: queue.SimpleQueue[tuple[Callable[[str], Any], str] | None] = queue.SimpleQueue()
        self._answered = threading.Semaphore(0)
        self._value: Any = None
        self._error: BaseException | None = None
        self.start()

    def done(self, question: Callable[[str], Any], path: str, seconds: float) -> bool:
        self._questions.put((question, path))
        return self._answered.acquire(timeout=seconds)

    def result(self) -> Any:
        if self._error is not None:
            raise self._error
        return self._value

    def leave(self) -> None:
        self._questions.put(None)

    def run(self) -> None:
        while (asked := self._questions.get()) is not None:
            question, path = asked
            self._value = self._error = None
            try:
                self._value = question(path)
            except Exception as error:
                self._error = error
            self._answered.release()


def _place(path: str) -> str:
    """What hangs: the mount that the path lies in, when it is one that can; else a link leads there, and only this path is known to."""
    within = [(point, kind) for number, point, kind in _mounts() if not os.major(number) and _lies_in(path, point)]
    point, kind = max(within, key=lambda one: len(one[0]), default=("/", "rootfs"))
    return path if kind in LOCAL or point == "/" else point


def _lies_in(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def _mounts() -> list[tuple[int, str, str]]:
    """Device number, mount point and kind of every mount; asking for it touches none of them."""
    found = []
    try:
        lines = MOUNTS.read_text(errors="surrogateescape").splitlines()
    except OSError:
        return []
    for line in lines:
        before, _, after = line.partition(" - ")
        fields = before.split(" ")
        major, _, minor = fields[2].partition(":")
        point = fields[4]
        for escape, character in (("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")):
            point = point.replace(escape, character)
        found.append((os.makedev(int(major), int(minor)), point, after.split(" ")[0]))
    return found
