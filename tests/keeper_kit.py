"""Runs the display keeper as a process for tests, and reads the lines that it writes."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from triptych.adapters.display import PrivateDisplay

PROGRAM = """
import sys
from triptych.adapters.desklink.keeper import run_keeper
sys.exit(run_keeper(sys.argv[1] if len(sys.argv) > 1 else None, sys.argv[2] if len(sys.argv) > 2 else "fill", sys.stdout.buffer))
"""
FULL = (0, 0, 1280, 800)


class KeeperProcess:
    """The keeper and the lines it has written so far."""

    def __init__(self, *arguments: str, env: dict[str, str] | None = None) -> None:
        self.lines: list[dict[str, Any]] = []
        self.rest = b""
        self.process = subprocess.Popen([sys.executable, "-c", PROGRAM, *arguments], stdout=subprocess.PIPE, env=env)
        assert self.process.stdout is not None
        self.out = self.process.stdout.fileno()

    def read(self, seconds: float) -> bool:
        ready, _, _ = select.select([self.out], [], [], max(0.0, seconds))
        chunk = os.read(self.out, 65536) if ready else b""
        *lines, self.rest = (self.rest + chunk).split(b"\n")
        self.lines += [json.loads(line) for line in lines]
        return bool(chunk)

    def report(self, wanted: Callable[[list[dict[str, Any]]], bool], seconds: float = 60.0) -> list[dict[str, Any]]:
        """The first report from now on (or the last before) that is wanted."""
        deadline = time.monotonic() + seconds
        while not (self.lines and wanted(self.lines[-1]["windows"])):
            if not self.read(deadline - time.monotonic()):
                raise AssertionError(f"no such report; seen: {self.lines}")
        found: list[dict[str, Any]] = self.lines[-1]["windows"]
        return found

    def exit_code(self, seconds: float = 60.0) -> int:
        """Wait for the end, reading what is left."""
        while self.read(seconds):
            pass
        return self.process.wait(seconds)

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        assert self.process.stdout is not None
        self.process.stdout.close()


@contextmanager
def keeping(display: PrivateDisplay, *arguments: str) -> Iterator[KeeperProcess]:
    """A keeper that keeps `display`, which is empty, from its first report on."""
    keeper = KeeperProcess(display.name, *arguments, env=display.env)
    try:
        keeper.report(lambda windows: windows == [], 20)
        yield keeper
    finally:
        keeper.close()


def ids(windows: list[dict[str, Any]]) -> list[int]:
    return [window["id"] for window in windows]
