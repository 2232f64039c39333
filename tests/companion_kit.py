"""A companion intake whose host is a list, its payloads, and HTTP by hand, for the tests of companions."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

from triptych.adapters.collector.intake import CompanionIntake
from triptych.adapters.collector.pairing import Pairings
from triptych.machines.collector.capture import Delivered
from triptych.machines.collector.facts import Facts
from triptych.machines.collector.pairing import CompanionKind
from triptych.machines.collector.unknown_fields import UnknownFields

NOW_MS = 1_796_000_000_000


def browser_payload(**changes: object) -> dict[str, object]:
    page = {"source": "browser", "origin": "https://example.org", "path": "/news", "browserSession": "browser-1", "seq": 1}
    return {**page, "observedAtMs": NOW_MS, "incognito": False, **changes}


def editor_payload(**changes: object) -> dict[str, object]:
    place = {"workspaceRoot": "/work/app", "filePath": "/work/app/main.py"}
    app = {"bundleId": "com.microsoft.VSCode", "name": "Visual Studio Code"}
    return {"source": "editor", "app": app, **place, "editorSession": "editor-1", "seq": 1, "observedAtMs": NOW_MS, **changes}


def without(payload: dict[str, object], *keys: str) -> dict[str, object]:
    return {key: value for key, value in payload.items() if key not in keys}


class PairingMemory:
    """The pairing of a store, in a dictionary; `written` is what another connection would have counted up."""

    def __init__(self) -> None:
        self.digests: dict[CompanionKind, str] = {}
        self.written = 0
        self.asked = 0

    def pairing(self, kind: CompanionKind) -> str | None:
        self.asked += 1
        return self.digests.get(kind)

    def set_pairing(self, kind: CompanionKind, digest: str | None, now_ms: int) -> None:
        self.digests.pop(kind, None)
        if digest is not None:
            self.digests[kind] = digest

    def data_version(self) -> int:
        return self.written


@dataclass
class Listening:
    """An intake that runs, the tokens of both kinds, and what it has delivered."""

    intake: CompanionIntake
    port: int
    browser: str
    editor: str
    delivered: list[tuple[Facts, str | None]] = field(default_factory=list)
    answer: Callable[[], object] = lambda: Delivered(True)
    came: asyncio.Event = field(default_factory=asyncio.Event)

    async def take(self, facts: Facts, *, vouched_root: str | None) -> Delivered:
        self.delivered.append((facts, vouched_root))
        self.came.set()
        answer = self.answer()
        if asyncio.iscoroutine(answer):
            answer = await answer
        assert isinstance(answer, Delivered)
        return answer

    async def wait(self, count: int, seconds: float = 60.0) -> list[Facts]:
        async with asyncio.timeout(seconds):
            while len(self.delivered) < count:
                await self.came.wait()
                self.came.clear()
        return [facts for facts, _ in self.delivered]

    def request(self, body: bytes | dict[str, object] = b"", *, place: str = "POST /companion/observation", **headers: str) -> bytes:
        """One request, by default a good one of the browser; a header given as "" is left out."""
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        lines = {"host": f"127.0.0.1:{self.port}", "x-companion-token": self.browser, "content-length": str(len(data))}
        lines |= {name.replace("_", "-"): value for name, value in headers.items()}
        head = "".join(f"{name}: {value}\r\n" for name, value in lines.items() if value)
        return f"{place} HTTP/1.1\r\n{head}\r\n".encode() + data


@dataclass(frozen=True)
class Reply:
    status: int
    headers: dict[str, str]
    body: object


class Wire:
    """A connection to the intake, byte by byte."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    async def send(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    async def reply(self) -> Reply:
        async with asyncio.timeout(60):
            head = (await self.reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
            headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:] if line)}
            status = int(head[0].split(" ")[1])
            body = b"" if status == 100 else await self.reader.readexactly(int(headers["content-length"]))
        return Reply(status, headers, json.loads(body) if body else None)

    async def ask(self, data: bytes) -> Reply:
        await self.send(data)
        return await self.reply()

    async def ended(self) -> bool:
        """Whether the other side has closed, nothing more having come."""
        async with asyncio.timeout(60):
            try:
                return await self.reader.read() == b""
            except ConnectionResetError:
                return True


@asynccontextmanager
async def connected(port: int) -> AsyncIterator[Wire]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        yield Wire(reader, writer)
    finally:
        writer.close()
        with suppress(OSError):
            await writer.wait_closed()


@asynccontextmanager
async def listening(unknown_fields: UnknownFields | None = None) -> AsyncIterator[Listening]:
    pairings = Pairings(PairingMemory())
    tokens = pairings.rotate("browser", NOW_MS), pairings.rotate("editor", NOW_MS)

    async def deliver(facts: Facts, *, vouched_root: str | None) -> Delivered:
        return await running.take(facts, vouched_root=vouched_root)

    intake = CompanionIntake(pairings, unknown_fields or UnknownFields(), deliver)
    await intake.start(0)
    assert intake.port is not None
    running = Listening(intake, intake.port, *tokens)
    try:
        yield running
    finally:
        await intake.stop()
