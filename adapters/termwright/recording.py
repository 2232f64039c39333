"""Writes what a driven terminal did into one folder, and reads it again. The driver tells a `Recorder`; the engine replays a `Recording`.

    session.cast   the terminal as asciicast v3: output, input, sizes, the exit, and a marker at each published revision
    trees.jsonl    a line for each published revision: `at`, `revision`, `tree`
    actions.jsonl  a line for each action of the caller: `at`, `type`, and what it was given
    meta.json      the program and the size, the clock at the start, and, once it is closed, how it ended

What was typed is in there, so the folder is 0700 and its files are 0600. Each line is one write: a recorder that is killed leaves whole
lines. `at` is seconds since the program was started.
"""

from __future__ import annotations

import codecs
import os
import shlex
import time
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import Annotated, Any, Final, NamedTuple, Self, TypeVar

import msgspec

from ...errors import ProtocolError, Unavailable
from ...generated.termwright.models import Snapshot
from ...machines.termwright.limits import ABSOLUTE_LIMITS
from ...machines.termwright.validate import validate_snapshot
from .policy import Policy

FORMAT: Final = "triptych-terminal-recording"
CAST, TREES, ACTIONS, META = "session.cast", "trees.jsonl", "actions.jsonl", "meta.json"
#: What a program is told that its terminal is.
TERM = "xterm-256color"

T = TypeVar("T")
Cells = Annotated[int, msgspec.Meta(ge=1, le=1000)]  # of a recording that somebody sent: a size that an emulator can be asked for
Interval = Annotated[float, msgspec.Meta(ge=0)]


class Recorder:
    """An `Observer` that writes a folder. It never raises while it is told things: a write that fails ends it, and `failure` says why."""

    def __init__(self, folder: str | os.PathLike[str], *, program: Sequence[str] = (), policy: Policy | None = None) -> None:
        """Make `folder`, or take an empty one. `policy` is the terminal's, of which a replay needs how it joins graphemes.

        Raises `Unavailable` when the folder has something in it, or cannot be made.
        """
        self.folder = Path(folder)
        self.failure = ""
        self._program = list(program)
        self._meta: dict[str, Any] = {
            "format": FORMAT,
            "version": 1,
            "program": self._program,
            "started_at_ms": time.time_ns() // 1_000_000,
            "grapheme_clusters": policy is not None and policy.grapheme_clusters,
        }
        self._cast_at = 0  # microseconds: intervals are differences of whole numbers, so that no rounding adds up
        self._counts = {"revisions": 0, "actions": 0}
        # Bytes of a character that a chunk cut in two wait here for the rest.
        self._output = codecs.getincrementaldecoder("utf-8")("replace")
        self._input = codecs.getincrementaldecoder("utf-8")("replace")
        self._files: dict[str, int] = {}
        self._made = not self.folder.exists()
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            if any(self.folder.iterdir()):
                raise Unavailable(f"the folder {self.folder} is not empty", "name a new folder for the recording")
            for name in (CAST, TREES, ACTIONS):
                flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
                self._files[name] = os.open(self.folder / name, flags, 0o600)
        except OSError as cause:
            self._release()
            raise Unavailable(f"a recording cannot be written to {self.folder}: {cause.strerror}", "name another folder") from None
        self._write_meta()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()
        if self.failure and error is None:
            raise Unavailable(f"the recording in {self.folder} is not complete: {self.failure}")

    def output(self, data: bytes, at: float) -> None:
        """As `Observer.output`."""
        self._event(at, "o", self._output.decode(data))

    def input(self, data: bytes, at: float) -> None:
        """As `Observer.input`."""
        self._event(at, "i", self._input.decode(data))

    def resized(self, columns: int, rows: int, at: float) -> None:
        """As `Observer.resized`; the first size is the header's."""
        if "columns" in self._meta:
            self._event(at, "r", f"{columns}x{rows}")
            return
        self._meta |= {"columns": columns, "rows": rows, "term": TERM}
        header: dict[str, Any] = {"version": 3, "term": {"cols": columns, "rows": rows, "type": TERM}}
        header["timestamp"] = self._meta["started_at_ms"] // 1000
        if self._program:
            header["command"] = shlex.join(self._program)
        self._line(CAST, header)
        self._write_meta()

    def published(self, revision: int, tree: Snapshot, at: float) -> None:
        """As `Observer.published`."""
        self._event(at, "m", f"revision {revision}")
        self._line(TREES, {"at": at, "revision": revision, "tree": tree})
        self._counts["revisions"] += 1

    def acted(self, action: Mapping[str, object], at: float) -> None:
        """As `Observer.acted`."""
        self._line(ACTIONS, {"at": at, **action})
        self._counts["actions"] += 1

    def exited(self, status: int, at: float) -> None:
        """As `Observer.exited`. In the cast, a signal is the 128 and more that a shell says."""
        self._flush_characters(at)
        self._event(at, "x", str(status if status >= 0 else 128 - status))
        self._meta["exit_status"] = status

    def close(self) -> None:
        """Write what is left, and the end into `meta.json`; a program that never started leaves nothing. A second call does nothing."""
        if not self._files:
            return
        self._flush_characters(self._cast_at / 1e6)
        self._release()
        if "columns" not in self._meta:
            for name in (CAST, TREES, ACTIONS, META):
                (self.folder / name).unlink(missing_ok=True)
            if self._made:
                self.folder.rmdir()
            return
        self._meta |= {"duration": self._cast_at / 1e6, **self._counts, "complete": not self.failure}
        if self.failure:
            self._meta["failure"] = self.failure
        self._write_meta()

    def _flush_characters(self, at: float) -> None:
        """A character that never became whole is the replacement character."""
        self._event(at, "o", self._output.decode(b"", final=True))
        self._event(at, "i", self._input.decode(b"", final=True))

    def _event(self, at: float, code: str, data: str) -> None:
        if data:
            now = max(round(at * 1e6), self._cast_at)
            self._line(CAST, ((now - self._cast_at) / 1e6, code, data))
            self._cast_at = now

    def _line(self, name: str, value: object) -> None:
        if self.failure or name not in self._files:
            return
        try:
            line = memoryview(msgspec.json.encode(value) + b"\n")
            while line:
                line = line[os.write(self._files[name], line) :]
        except (OSError, TypeError, msgspec.MsgspecError, UnicodeError) as cause:
            self.failure = f"{name}: {cause}"

    def _write_meta(self) -> None:
        """Replace it in one step: a reader finds the one before or this one."""
        part = self.folder / f".{META}"
        try:
            descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
            with os.fdopen(descriptor, "wb") as file:
                file.write(msgspec.json.format(msgspec.json.encode(self._meta)) + b"\n")
            part.replace(self.folder / META)
        except OSError as cause:
            self.failure = self.failure or f"{META}: {cause}"

    def _release(self) -> None:
        for descriptor in self._files.values():
            os.close(descriptor)
        self._files.clear()


class Event(NamedTuple):
    """One event of the cast: `code` is `o`, `i`, `r`, `m` or `x`."""

    at: float
    code: str
    data: str


@dataclass(frozen=True)
class Published:
    """One published revision. `tree` is checked when it is first asked for, and raises `Unavailable` when it is none."""

    at: float
    revision: int
    line: bytes

    @cached_property
    def tree(self) -> Snapshot:
        """The semantic tree of the revision."""
        try:
            return validate_snapshot(msgspec.json.decode(self.line)["tree"], ABSOLUTE_LIMITS)
        except (ProtocolError, KeyError, msgspec.DecodeError) as cause:
            raise Unavailable(f"the recorded tree of revision {self.revision} is damaged: {cause}") from None


class _Header(msgspec.Struct):
    at: float
    revision: int


class _Action(msgspec.Struct):
    at: float


class _Term(msgspec.Struct):
    cols: Cells
    rows: Cells


class _CastHeader(msgspec.Struct):
    version: int
    term: _Term
    command: str = ""


@dataclass(frozen=True)
class Recording:
    """A recording as read. Every list is in order; a last line that a killed recorder left unfinished is not in them."""

    folder: Path
    columns: int
    rows: int
    command: str
    meta: Mapping[str, Any]
    events: tuple[Event, ...]
    revisions: tuple[Published, ...]
    actions: tuple[Mapping[str, Any], ...]

    @classmethod
    def read(cls, folder: str | os.PathLike[str]) -> Recording:
        """Read a folder. Raises `Unavailable` when it is no recording, or a line of it is damaged."""
        folder = Path(folder)
        lines = _lines(folder / CAST)
        header = _decode(_CastHeader, next(lines, b"{}"), folder / CAST, 1)
        if header.version != 3:
            raise Unavailable(f"{folder / CAST} is asciicast version {header.version}; this reads 3")
        events, at = [], 0.0
        for number, line in enumerate(lines, 2):
            interval, code, data = _decode(tuple[Interval, str, str], line, folder / CAST, number)
            at += interval
            events.append(Event(at, code, data))
        revisions = []
        for number, line in enumerate(_lines(folder / TREES), 1):
            head = _decode(_Header, line, folder / TREES, number)
            revisions.append(Published(head.at, head.revision, line))
        actions = []
        for number, line in enumerate(_lines(folder / ACTIONS), 1):
            _decode(_Action, line, folder / ACTIONS, number)
            actions.append(_decode(dict[str, Any], line, folder / ACTIONS, number))
        meta = _decode(dict[str, Any], _contents(folder / META), folder / META, 1)
        size = header.term
        return cls(folder, size.cols, size.rows, header.command, meta, tuple(events), tuple(revisions), tuple(actions))

    @property
    def duration(self) -> float:
        """Seconds until the last event."""
        return self.events[-1].at if self.events else 0.0

    @property
    def policy(self) -> Policy:
        """What an emulator is to be opened with to show it as it was."""
        return Policy(grapheme_clusters=self.meta.get("grapheme_clusters") is True)

    @property
    def ended_at(self) -> float:
        """Seconds until the caller ended the program, which then only tidied up; until the last event where it ended by itself."""
        ends = [float(action["at"]) for action in self.actions if action.get("type") == "close"]
        return min([self.duration, *ends])

    def revision(self, number: int) -> Published:
        """The revision of that number; raises `Unavailable` when it was not published while this was recorded."""
        for published in self.revisions:
            if published.revision == number:
                return published
        told = f"{self.revisions[0].revision} to {self.revisions[-1].revision}" if self.revisions else "none"
        raise Unavailable(f"there is no revision {number} in {self.folder}; there is {told}")

    def revision_at(self, at: float) -> Published | None:
        """The newest revision that was published by then."""
        found = bisect_right(self.revisions, at, key=lambda published: published.at)
        return self.revisions[found - 1] if found else None


def _contents(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as cause:
        raise Unavailable(f"{path.parent} is no recording: {path.name}: {cause.strerror}", "give the folder of `--record`") from None


def _lines(path: Path) -> Iterator[bytes]:
    """The finished lines, without asciicast's comments: what stands after the last line feed was being written when the recorder ended."""
    *lines, _ = _contents(path).split(b"\n")
    return (line for line in lines if line and not line.startswith(b"#"))


def _decode(kind: type[T], line: bytes, path: Path, number: int) -> T:
    try:
        return msgspec.json.decode(line, type=kind)
    except msgspec.DecodeError as cause:
        raise Unavailable(f"{path}, line {number}, is damaged: {cause}") from None
