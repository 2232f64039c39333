"""Desktop panel, input: a thousand characters from a control message to the program that they are typed into, against `xdotool type`.

Both sides type into the same xterm, whose shell passes every byte on at once; the time ends when the last character has arrived there, and
every text is compared with what was asked.
"""

from __future__ import annotations

import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from harness import Benchmark, Sides, Skip
from triptych.adapters.display import PrivateDisplay
from triptych.errors import Unavailable

LENGTH = 1000
LINE = 'The quick brown Fox jumps over the lazy Dog; 0123456789 (times) <two>, {three} & "four"! '
TEXT = (LINE * 12)[:LENGTH]
UNICODE = "".join(map(chr, range(0x4E00, 0x4E00 + 50))) + "äλЖ😀" * 10
SECONDS = 30.0


class Program:
    """An xterm whose shell copies what is typed into a pipe of ours."""

    def __init__(self, env: dict[str, str], folder: Path) -> None:
        self._pipe = folder / "typed"
        os.mkfifo(self._pipe, 0o600)
        self._read = os.open(self._pipe, os.O_RDONLY | os.O_NONBLOCK)
        command = f"stty -echo -icanon; echo ready > '{self._pipe}'; exec cat > '{self._pipe}'"
        self._process = subprocess.Popen(
            ["xterm", "-u8", "-geometry", "80x20+0+0", "-e", "sh", "-c", command],
            env={**env, "LC_ALL": "C.UTF-8"},
            stderr=subprocess.DEVNULL,
        )
        if self.take(6) != "ready\n":
            raise Skip("the shell in the xterm does not start")

    def take(self, size: int) -> str:
        """The next `size` bytes that were typed."""
        deadline = time.monotonic() + SECONDS
        text = b""
        while len(text) < size:
            select.select([self._read], [], [], max(0.0, deadline - time.monotonic()))
            chunk = os.read(self._read, size - len(text))
            if not chunk and (time.monotonic() > deadline or self._process.poll() is not None):
                raise Skip(f"only {len(text)} of {size} bytes arrived")
            if not chunk:
                time.sleep(0.001)  # nobody has the pipe open for writing, which select takes for readable
            text += chunk
        return text.decode()

    def close(self) -> None:
        """End it."""
        self._process.terminate()
        self._process.wait()
        os.close(self._read)


@contextmanager
def type_1000() -> Iterator[Sides]:
    """1,000 characters of the layout; beside it, 90 characters of which the layout has none, typed with borrowed keys."""
    for program in ("xterm", "xdotool"):
        if shutil.which(program) is None:
            raise Skip(f"{program} is not installed: apt install {program}")
    from triptych.adapters.desklink.inject import XLayout, judge
    from triptych.adapters.desklink.x11_input import X11Input
    from triptych.machines.desklink.geometry import Size
    from triptych.machines.desklink.input import ControlInput, Present

    before = os.environ.get("XAUTHORITY")
    with ExitStack() as stack:
        try:
            display = stack.enter_context(PrivateDisplay(dbus=False))
        except Unavailable as lacking:
            raise Skip(str(lacking)) from lacking
        os.environ["XAUTHORITY"] = display.env["XAUTHORITY"]
        stack.callback(os.environ.__setitem__ if before is not None else os.environ.pop, "XAUTHORITY", before)
        program = Program(display.env, Path(stack.enter_context(tempfile.TemporaryDirectory())))
        stack.callback(program.close)
        hand = stack.enter_context(X11Input(display.name))
        size = Size(display.width, display.height)
        control = ControlInput({"view", "control"}, size, XLayout(lambda: hand))
        hand.move(100, 100)
        hand.sync()

        def arrived(text: str, who: str) -> None:
            if (got := program.take(len(text.encode()))) != text:
                raise Skip(f"{who} typed something else: {next((a, b) for a, b in zip(text, got, strict=False) if a != b)}")

        def typed(text: str, present: Present) -> None:
            answer = judge(control, hand, json.dumps({"kind": "text", "text": text}).encode(), present)
            if answer != {"kind": "ack", "seq": 0}:
                raise Skip(f"refused: {answer}")
            arrived(text, "ours")

        def theirs() -> None:
            subprocess.run(["xdotool", "type", "--delay", "0", TEXT], env=display.env, check=True)
            arrived(TEXT, "xdotool")

        yield Sides(
            lambda: typed(TEXT, Present(size)),
            theirs,
            {"ours, 90 characters that the layout lacks": lambda: typed(UNICODE, Present(size, unicode=True))},
        )


BENCHMARKS = (Benchmark("desktop_input.type_1000", "xdotool type --delay 0", type_1000, rounds=8),)
"""What `run.py` runs."""
