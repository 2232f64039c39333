"""Throws lines at a real engine on a private display; `make fuzz` gives it a minute. At the end it must be alive, and answer.

    python -m triptych.tools.fuzz_desklink [--seconds 60] [--seed N] [--keep FILE]

`triptych desktop serve` runs as a process of its own, as a consumer starts it. It gets requests made of the schemas' words with wrong, odd
and right values, sessions that come and go, mutations of whole lines, very long ones, and bytes. Every line that it says is checked: it is
a reply or an event of the protocol, each id is answered once, and a refusal has a documented code. What it was sent is kept in a file only
when something breaks; then the exit code is 1. Anything on stderr of the level `error` is a break too.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import select
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from ..adapters.display import PrivateDisplay
from ..engine.child import triptych_command
from ..errors import RemoteProtocolError
from ..generated.desklink.vocabulary import ERROR_CODE, METHOD, PERMISSION
from ..machines.wire.read import Reader
from ..machines.wire.text import DESKLINK

EVENT: Final[Reader[Any]] = Reader("desklink", "Event", DESKLINK)
RESULT: Final[Reader[Any]] = Reader("desklink", "ResultReply", DESKLINK)
ERROR: Final[Reader[Any]] = Reader("desklink", "ErrorReply", DESKLINK)
ANSWER_SECONDS: Final = 30.0
FIRST_ID: Final = 7_310_050_924_618
"""Our requests are numbered from here: no mutation of another line has such a number, as it may have a small one."""
MOST_WAITING: Final = 200
"""So many requests may be without an answer before the fuzzer waits."""

KEYS: Final = (
    *("session_id", "generation", "source", "permissions", "max_width", "max_height", "bitrate_kbps", "max_fps", "ice_servers"),
    *("restore_token", "ttl_seconds", "loopback_tcp", "agent_indicator", "local_frames", "protocol", "description", "candidate", "sdp_mid"),
    *(
        "sdp_m_line_index",
        "sdpMLineIndex",
        "since",
        "after_seq",
        "still_ms",
        "timeout_ms",
        "path",
        "region",
        "keyframe",
        "data_b64",
        "text",
    ),
    *("mime", "x", "y", "label", "clear", "kind", "display", "codec", "width", "height", "type", "sdp", "urls", "username", "credential"),
)
#: `shutdown` ends the engine, which is for the end.
METHODS: Final = (*(method for method in METHOD if method != "shutdown"), "session.wait_frame", "")
#: What mutations put into a line.
TOKENS: Final = (b"\xff", b"null", b"1e999", b'"', b"{", b"}", b'\\ud800"', b"\x00", b"-", b"[" * 200)


class Broken(AssertionError):
    """The engine did what it must not."""


class Fuzzed:
    """An engine process, what it was sent and what it owes."""

    def __init__(self, display: PrivateDisplay, chance: random.Random) -> None:
        self.sent: list[bytes] = []
        self.counts: Counter[str] = Counter()
        self.session = ""
        self._chance = chance
        self._display = display
        self._frame = str(Path(display.runtime_dir) / "frame.raw")
        self._owed: set[int] = set()
        self._asked = FIRST_ID
        self._rest = b""
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115  close() closes it
        self.process = subprocess.Popen(
            triptych_command("desktop", "serve"), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors, env=display.env
        )
        assert self.process.stdin is not None and self.process.stdout is not None
        self._in, self._out = self.process.stdin.fileno(), self.process.stdout.fileno()
        os.set_blocking(self._in, False)

    def close(self) -> None:
        """End the process and what belongs to it."""
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout, self._errors):
            assert stream is not None
            stream.close()

    # What is sent

    def ask(self, method: str, params: object) -> int:
        """Send a request; its id, which is owed an answer."""
        self._asked += 1
        self._owed.add(self._asked)
        self.write(json.dumps({"id": self._asked, "method": method, "params": params}).encode())
        return self._asked

    def write(self, line: bytes) -> None:
        """Send a line, reading what comes meanwhile: a consumer that only writes would wait for an engine that waits for it."""
        data = line + b"\n"
        self.sent.append(line)
        end = time.monotonic() + ANSWER_SECONDS
        while data:
            readable, writable, _ = select.select([self._out], [self._in], [], max(0.0, end - time.monotonic()))
            if readable:
                self.read()
            if writable:
                try:
                    data = data[os.write(self._in, data[: 1 << 16]) :]
                except BrokenPipeError:
                    raise Broken("the engine ended") from None
            elif not readable:
                raise Broken("the engine does not read its input")

    def one(self) -> None:
        """Send one thing of some kind."""
        chance = self._chance
        sort = chance.random()
        request: dict[str, object] = {"method": chance.choice(METHODS), "params": self._params()}
        if sort < 0.55:
            self.ask(str(request["method"]), request["params"])
        elif sort < 0.65:
            self.ask("session.open", self._open())
        elif sort < 0.7:
            self.write(json.dumps(request).encode())
        elif sort < 0.95:
            self.write(self._mutated(json.dumps({"id": chance.randrange(2**62, 2**63), **request}).encode()))
        elif sort < 0.99:
            self.write(chance.randbytes(chance.randrange(200)).replace(b"\n", b"") or b"x")
        else:
            self.write(b"[" * chance.choice((10, 5000, 1_000_000)))

    def _params(self) -> object:
        if self._chance.random() < 0.1:
            return self._value()
        params = {self._chance.choice(KEYS): self._value() for _ in range(self._chance.randrange(7))}
        if self._chance.random() < 0.7:
            params["session_id"] = self.session
        if params.get("path"):
            params["path"] = self._chance.choice((self._frame, "/proc/self/mem", "/dev/full", "/tmp/x", "\0"))
        if self._chance.random() < 0.8:
            params["timeout_ms"] = self._chance.randrange(40)
        return params

    def _open(self) -> object:
        source: object = self._chance.choice(
            [
                {"kind": "x11", "display": self._display.name},
                {"kind": "x11", "display": self._display.name},
                {"kind": "encoded", "codec": "h264", "width": 486, "height": 1080},
                {"kind": "portal"},
                self._value(),
            ]
        )
        granted = [word for word in sorted(PERMISSION) if self._chance.random() < 0.8]
        more = {self._chance.choice(KEYS): self._value() for _ in range(self._chance.randrange(3))}
        return {**more, "source": source, "permissions": granted}

    def _value(self) -> object:
        chance = self._chance
        return chance.choice(
            (
                *(None, True, False, 0, 1, -1, 3, 30, 2**31, 2**32, 2**53, 2**63, 2**64, 1.0, 0.5, -0.0, 1e300, "", "x", "answer", "ü😀"),
                *(
                    [],
                    {},
                    [1, 2, 3, 4],
                    [0, 0, 64, 64],
                    [-1, 0, 1e9, 2],
                    ["view"],
                    ["view", "control"],
                    [["a"]],
                    {"kind": "x11"},
                    "A" * 5000,
                ),
                *({"type": "answer", "sdp": "v=0\r\n"}, [{"urls": ["stun:x"]}], "AAAAAWdCwCmrzQ==", "AAAAAWWIhA==", "AAA"),
                *("A" * 5000, self.session, self._frame, chance.randrange(2**16), chance.random() * 100, "\x00", "\u2028"),
            )
        )

    def _mutated(self, line: bytes) -> bytes:
        changed = bytearray(line)
        for _ in range(self._chance.randint(1, 4)):
            at = self._chance.randrange(len(changed) or 1)
            match self._chance.randrange(4):
                case 0:
                    changed[at : at + 1] = bytes([self._chance.randrange(256)])
                case 1:
                    del changed[at : at + self._chance.randrange(1, 9)]
                case 2:
                    changed[at:at] = self._chance.choice(TOKENS)
                case _:
                    changed += changed[at : at + 20]
        return bytes(changed).replace(b"\n", b" ").replace(b"shutdown", b"shutdwon")

    # What comes back

    def read(self) -> None:
        """Take what the engine says now, and check it."""
        data = os.read(self._out, 1 << 20)
        if not data:
            raise Broken("the engine ended")
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            self._check(line)

    def _check(self, line: bytes) -> None:
        try:
            said = json.loads(line)
            (EVENT if "event" in said else RESULT if "result" in said else ERROR).read(line)
        except (ValueError, RemoteProtocolError) as error:
            raise Broken(f"it said {line[:300]!r}: {error}") from error
        match said:
            case {"event": name}:
                self.counts[name] += 1
            case {"error": {"code": code}} if code not in ERROR_CODE:
                raise Broken(f"the code {code!r} is not documented")
            case {"error": {"code": code}}:
                self.counts[code] += 1
            case {"result": {"sessionId": session}}:
                self.session = session
                self.counts["opened"] += 1
            case _:
                self.counts["ok"] += 1
        asked = said.get("id")
        if asked is not None and FIRST_ID < asked <= self._asked:
            if asked not in self._owed:
                raise Broken(f"the request {asked} was answered twice")
            self._owed.discard(asked)

    def settle(self, most: int, seconds: float = ANSWER_SECONDS) -> None:
        """Wait until at most `most` requests are without an answer."""
        end = time.monotonic() + seconds
        while len(self._owed) > most:
            ready, _, _ = select.select([self._out], [], [], max(0.0, end - time.monotonic()))
            if not ready:
                raise Broken(f"no answer to {sorted(self._owed)[:5]}")
            self.read()

    def complaints(self) -> list[str]:
        """What it wrote to stderr that it should not have to."""
        self._errors.seek(0)
        return [
            line
            for line in self._errors.read().decode("utf-8", "replace").splitlines()
            if '"level": "error"' in line or "Traceback" in line
        ]

    def finish(self) -> None:
        """It is alive, answers, opens a session, and ends in order."""
        self.settle(0)
        self.ask("hello", {"protocol": 3})
        self.ask("session.open", {"source": {"kind": "x11", "display": self._display.name}, "permissions": ["view", "control"]})
        self.settle(0)
        self.ask("session.frame", {"session_id": self.session, "after_seq": 0, "path": self._frame})
        before = self.counts["ok"]
        self.settle(0)
        if self.counts["ok"] <= before:
            raise Broken("at the end there is no frame")
        self.ask("shutdown", None)
        self.settle(0)
        if (code := self.process.wait(ANSWER_SECONDS)) or (complaints := self.complaints()):
            raise Broken(f"it ended with {code}: {complaints if not code else self.complaints()}")


def fuzz(seconds: float, seed: int, keep: Path) -> bool:
    """Fuzz one engine for so long; False when something broke, and then what was sent is in `keep`."""
    chance = random.Random(seed)
    with PrivateDisplay(dbus=False) as display:
        engine = Fuzzed(display, chance)
        try:
            for _ in _until(time.monotonic() + seconds):
                engine.one()
                engine.settle(MOST_WAITING)
                if not engine.counts["opened"]:
                    engine.ask("hello", {"protocol": 3})
            engine.finish()
        except Broken as broken:
            keep.write_bytes(b"\n".join(engine.sent) + b"\n")
            print(
                f"seed {seed}: {broken}; its {len(engine.sent)} lines are in {keep}\n{chr(10).join(engine.complaints())}", file=sys.stderr
            )
            return False
        finally:
            engine.close()
    ends = ", ".join(f"{word} {count}" for word, count in sorted(engine.counts.items()))
    print(f"desklink: {len(engine.sent)} lines in {seconds:.0f} s, seed {seed}: {ends}")
    return True


def _until(end: float) -> Iterator[None]:
    while time.monotonic() < end:
        yield


def main(arguments: list[str] | None = None) -> int:
    """Run it from the command line; the exit code."""
    parser = argparse.ArgumentParser(prog="python -m triptych.tools.fuzz_desklink", description="Throw lines at a real engine.")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument(
        "--keep", type=Path, default=Path(tempfile.gettempdir()) / "fuzz-desklink.lines", help="where the lines go when it breaks"
    )
    options = parser.parse_args(arguments)
    return int(not fuzz(options.seconds, options.seed, options.keep))


if __name__ == "__main__":
    sys.exit(main())
