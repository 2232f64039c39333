"""Drives an xterm whose shell writes what is typed into a file: besides the GTK form, the real program that text is read back from."""

from __future__ import annotations

import shutil
import signal
import subprocess
from pathlib import Path
from types import TracebackType
from typing import Self

import pytest

from triptych.adapters.desklink.x11_input import X11Input
from triptych.adapters.display import PrivateDisplay
from x11_kit import Client, eventually


class Xterm:
    """A running xterm with the pointer, and so the keyboard, over it. `read` is what was typed so far, line by line."""

    def __init__(self, display: PrivateDisplay, hand: X11Input, folder: Path) -> None:
        program = shutil.which("xterm")
        if program is None:
            pytest.skip("xterm is not installed: apt install xterm")
        self._typed, begun = folder / "typed.txt", folder / "begun"
        for path in (self._typed, begun):
            path.unlink(missing_ok=True)
        command = f"stty -echo; touch '{begun}'; exec cat > '{self._typed}'"
        self._process = subprocess.Popen(
            [program, "-u8", "-geometry", "80x20+0+0", "-e", "sh", "-c", command],
            env={**display.env, "LC_ALL": "C.UTF-8"},
            stderr=subprocess.DEVNULL,
        )
        try:
            eventually(begun.exists, "the shell runs")
            with Client(display) as client:
                hand.move(100, 100)
                hand.sync()
                eventually(lambda: client.core.QueryPointer(client.root).reply().child != 0, "the pointer is over the window")
        except BaseException:
            self.close()
            raise

    def read(self, lines: int = 1, seconds: float = 60.0) -> str:
        """All that was typed, once it has so many lines."""

        def text() -> str:
            return self._typed.read_bytes().decode(errors="replace") if self._typed.exists() else ""

        eventually(lambda: text().count("\n") >= lines, f"{lines} lines are typed; there are {text()!r}", seconds)
        return text()

    def stop(self) -> None:
        """Keep it from running."""
        self._process.send_signal(signal.SIGSTOP)

    def go_on(self) -> None:
        """Let it run again."""
        self._process.send_signal(signal.SIGCONT)

    def close(self) -> None:
        """End it."""
        self._process.terminate()
        self._process.wait()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()
