"""An engine as a child process and a page of a browser that views it; used by the lab (benchmarks/lab) and by the soak.

The child speaks desklink v3 on its pipes: `Sender` is its consumer. What the page says and hears goes through the caller's event loop.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Self

ENGINE: Final = (sys.executable, "-c", "import sys; from triptych.engine.desklink_command import main; sys.exit(main(['serve']))")
CHROMIUM: Final = "/usr/bin/chromium"
FLAGS: Final = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--autoplay-policy=no-user-gesture-required",
)
ALONE: Final = ("--allow-loopback-in-peer-connection", "--disable-features=WebRtcHideLocalIpsWithMdns")
"""Chromium makes no connection on a machine that has nothing but loopback, unless it is told so."""
LONGEST_LINE: Final = 16 << 20
ANSWER_SECONDS: Final = 20.0
END_SECONDS: Final = 10.0
TICKS: Final = os.sysconf("SC_CLK_TCK")


class Sender:
    """A child process that speaks desklink v3. `on_event(name, params)` hears its events, and is kept by who needs them."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.on_event: Callable[[str, Mapping[str, Any]], None] = lambda name, params: None
        self.session_id = ""
        self._process = process
        self._asked = 0
        self._answers: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._reader = asyncio.get_running_loop().create_task(self._read())

    @classmethod
    async def start(cls, command: Sequence[str], env: Mapping[str, str]) -> Self:
        """Start it and say hello."""
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(*command, stdin=pipe, stdout=pipe, env=dict(env), limit=LONGEST_LINE)
        made = cls(process)
        await made.request("hello", protocol=3)
        return made

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    def ask(self, method: str, **params: Any) -> asyncio.Future[dict[str, Any]]:
        """Request something of the session; the future has the whole answer."""
        assert self._process.stdin is not None
        self._asked += 1
        if method.startswith("session.") and method != "session.open":
            params = {"session_id": self.session_id, **params}
        answer = self._answers[self._asked] = asyncio.get_running_loop().create_future()
        self._process.stdin.write(json.dumps({"id": self._asked, "method": method, "params": params}).encode() + b"\n")
        return answer

    async def request(self, method: str, **params: Any) -> dict[str, Any]:
        """Request something; the result. Raises RuntimeError with the error of the child."""
        answer = await asyncio.wait_for(self.ask(method, **params), ANSWER_SECONDS)
        if "result" not in answer:
            raise RuntimeError(f"{method}: {answer.get('error')}")
        result: dict[str, Any] = answer["result"]
        return result

    async def open(self, **params: Any) -> dict[str, Any]:
        """Open a session."""
        opened = await self.request("session.open", **params)
        self.session_id = opened["sessionId"]
        return opened

    async def close(self) -> int | None:
        """End it, by force where it must be; its exit status."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            await asyncio.wait_for(self._process.wait(), END_SECONDS)
        except TimeoutError:
            self._process.kill()
            await self._process.wait()
        await self._reader
        return self._process.returncode

    async def _read(self) -> None:
        assert self._process.stdout is not None
        while line := await self._process.stdout.readline():
            message = json.loads(line)
            if "id" in message:
                answer = self._answers.pop(message["id"])
                if not answer.done():
                    answer.set_result(message)
            else:
                self.on_event(message["event"], message["params"])
        for answer in self._answers.values():
            if not answer.done():
                answer.set_exception(ConnectionError("the engine has ended"))


class Viewer:
    """A page that shows what a `Sender` sends: it answers its offers and exchanges candidates with it, in order."""

    def __init__(self, page: Any, sender: Sender) -> None:
        self.page = page
        self.states: list[str] = []
        """What the engine said of the transport, each once in a row."""
        self._sender = sender
        self._to_page: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self._carrier = asyncio.get_running_loop().create_task(self._carry())
        sender.on_event = self._heard

    @classmethod
    async def open(cls, browser: Any, html: str, sender: Sender, **options: Any) -> Self:
        """A new page of the receiver `html`, ready for an offer; `options` go to its `begin`."""
        page = await browser.new_page(viewport={"width": 1280, "height": 720})
        await page.set_content(html)
        made = cls(page, sender)
        await page.expose_function("toSender", made._said)
        await page.evaluate("options => begin(options)", options)
        return made

    async def sees(self, condition: str, seconds: float = 20.0) -> None:
        """Wait until that is true in the page. Raises RuntimeError with what the page has seen."""
        try:
            await self.page.wait_for_function(f"() => {condition}", timeout=seconds * 1000, polling=50)
        except Exception as error:
            seen = await self.page.evaluate("() => ({states: seen.states, errors: seen.errors, frames: seen.frames})")
            raise RuntimeError(f"the viewer never saw {condition}: {seen}, engine: {self.states}") from error

    async def close(self) -> None:
        """Close the page."""
        self._sender.on_event = lambda name, params: None
        self._carrier.cancel()
        await asyncio.gather(self._carrier, return_exceptions=True)
        await self.page.close()

    def _heard(self, name: str, params: Mapping[str, Any]) -> None:
        match name:
            case "session.description":
                self._to_page.put_nowait({"sdp": params["description"]["sdp"]})
            case "session.candidate":
                self._to_page.put_nowait(dict(params))
            case "session.state" if self.states[-1:] != [params["transport"]]:
                self.states.append(params["transport"])
            case "session.revoked":
                self.states.append(f"revoked: {params['reason']}")

    def _said(self, message: dict[str, Any]) -> None:
        if "sdp" in message:
            self._sender.ask("session.description", description={"type": "answer", "sdp": message["sdp"]})
        else:
            self._sender.ask("session.candidate", **message)

    async def _carry(self) -> None:
        while True:
            await self.page.evaluate("message => take(message)", await self._to_page.get())


def spent(pids: Sequence[int]) -> float:
    """Seconds of processor time that these processes have used; those that are gone used none."""
    total = 0
    for pid in pids:
        if fields := _stat(pid):
            total += int(fields[11]) + int(fields[12])
    return total / TICKS


def family(pid: int, word: str) -> tuple[int, ...]:
    """The descendants of a process whose command line has that word."""
    parents = {
        int(entry.name): int(fields[1]) for entry in Path("/proc").iterdir() if entry.name.isdigit() and (fields := _stat(int(entry.name)))
    }
    found, grown = {pid}, True
    while grown:
        more = {child for child, parent in parents.items() if parent in found and child not in found}
        found |= more
        grown = bool(more)
    return tuple(sorted(each for each in found if word.encode() in _command(each)))


def _command(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def _stat(pid: int) -> list[str]:
    """The fields of /proc/PID/stat from the state on."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []
