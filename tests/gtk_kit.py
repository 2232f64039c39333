"""Drives the GTK form of tests/programs as a test's real desktop program: starts it, reads what it reports, ends it by its process id."""

from __future__ import annotations

import json
import os
import select
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from triptych.adapters.display import PrivateDisplay

PROGRAM = Path(__file__).parent / "programs" / "gtk_form.py"
#: GTK's Python binding belongs to Debian's own interpreter.
PYTHON = "/usr/bin/python3"


class GtkForm:
    """The running form. `events` holds every report so far, in order; `layout` the latest place of each widget on the root window."""

    def __init__(self, display: PrivateDisplay, title: str = "Triptych form", env: Mapping[str, str] | None = None) -> None:
        self.title = title
        self.events: list[dict[str, Any]] = []
        self._unfinished = b""
        self._reports, theirs = os.pipe()
        try:
            self.process = subprocess.Popen(
                [PYTHON, str(PROGRAM), f"/dev/fd/{theirs}", "--title", title],
                env=dict(env or display.env),
                stdin=subprocess.PIPE,
                pass_fds=(theirs,),
            )
        except BaseException:
            os.close(self._reports)
            raise
        finally:
            os.close(theirs)
        try:
            self.wait_for("layout")
        except BaseException:
            self.close()
            raise

    @property
    def pid(self) -> int:
        return self.process.pid

    @property
    def layout(self) -> dict[str, tuple[int, int, int, int]]:
        """Widget name ("window", "Name", "Password", "Save") -> x, y, width, height in root coordinates."""
        latest = [event for event in self.events if event["event"] == "layout"][-1]
        return {name: tuple(box) for name, box in latest["widgets"].items()}

    @property
    def window_id(self) -> int:
        """The X window id of the top-level."""
        return next(event["xid"] for event in self.events if event["event"] == "layout")

    def centre(self, widget: str) -> tuple[int, int]:
        x, y, width, height = self.layout[widget]
        return x + width // 2, y + height // 2

    def command(self, line: str) -> None:
        """`resize W H`, `dialog`, `close-dialog` or `quit`."""
        assert self.process.stdin is not None
        self.process.stdin.write(line.encode() + b"\n")
        self.process.stdin.flush()

    def wait_for(self, event: str, seconds: float = 60.0, **fields: object) -> dict[str, Any]:
        """The newest report of that kind with those fields, waiting for it if need be; fails the test with all that was seen."""
        deadline = time.monotonic() + seconds
        while True:
            for report in reversed(self.events):
                if report["event"] == event and all(report.get(name) == value for name, value in fields.items()):
                    return report
            if not self._read(deadline):
                raise AssertionError(f"no {event!r} report with {fields} in {seconds} s; seen: {self.events}")

    def wait_until(self, condition: Any, what: str, seconds: float = 60.0) -> None:
        """Read reports until `condition(self)` holds."""
        deadline = time.monotonic() + seconds
        while not condition(self):
            if not self._read(deadline):
                raise AssertionError(f"{what}: not so in {seconds} s; seen: {self.events}")

    def close(self) -> None:
        """End the program and give its pipes back."""
        assert self.process.stdin is not None
        self.process.terminate()
        self.process.wait()
        self.process.stdin.close()
        os.close(self._reports)

    def _read(self, deadline: float) -> bool:
        ready, _, _ = select.select([self._reports], [], [], max(0.0, deadline - time.monotonic()))
        chunk = os.read(self._reports, 65536) if ready else b""
        *lines, self._unfinished = (self._unfinished + chunk).split(b"\n")
        self.events.extend(json.loads(line) for line in lines)
        return bool(chunk)
