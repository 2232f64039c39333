"""A network of the test's own, with a real browser and the engine in it; what travels between their signalling is in the test's hands."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import ctypes
import json
import os
import shutil
import subprocess
import tempfile
import threading
from collections.abc import AsyncIterator, Callable, Coroutine
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import pytest

from triptych.adapters.desklink.encoder import encoder_name
from triptych.adapters.desklink.host import Host
from triptych.adapters.desklink.webrtc.transport import WebRtc
from triptych.machines.desklink import effects as do
from triptych.machines.desklink.requests import Request

T = TypeVar("T")

LIVE = [pytest.mark.display, pytest.mark.slow, pytest.mark.skipif(encoder_name() is None, reason="no libvpx: apt install libvpx7")]
"""What tests that encode a live desktop for a browser are marked with."""

CHROMIUM = "/usr/bin/chromium"
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"]
FLAGS += ["--disable-component-update", "--disable-sync", "--autoplay-policy=no-user-gesture-required"]
ALONE = ["--allow-loopback-in-peer-connection", "--disable-features=WebRtcHideLocalIpsWithMdns"]
"""Chromium makes no connection on a machine that has nothing but loopback, unless it is told so."""

CLONE_NEWNET = 0x40000000
ADDRESS, OTHER = "10.77.0.1", "10.77.0.2"

PAGE = """<!doctype html><body style="margin:0"><video id=v autoplay muted playsinline></video><script>
const seen = {messages: [], states: [], ice: [], errors: [], channels: 0, closed: 0, frames: 0, width: 0, gap: 0, last: 0, up: 0, first: 0};
var pc, channel, chain = Promise.resolve();
function begin(tcpOnly, config) {
  chain = Promise.resolve();  // one that was closed halfway may never go on
  const mine = pc = new RTCPeerConnection(config || {});
  pc.onconnectionstatechange = () => {
    seen.states.push(pc.connectionState);
    if (pc.connectionState === 'connected') seen.up ||= performance.now();
  };
  pc.oniceconnectionstatechange = () => seen.ice.push(pc.iceConnectionState);
  // Who sees no more than a forward of the engine's loopback is not seen either.
  pc.onicecandidate = e => !tcpOnly && mine === pc && e.candidate && e.candidate.candidate && toHost(
    {candidate: e.candidate.candidate, sdp_mid: e.candidate.sdpMid, sdp_m_line_index: e.candidate.sdpMLineIndex});
  pc.ondatachannel = e => {
    channel = e.channel; seen.channels++;
    Object.assign(seen, {label: channel.label, ordered: channel.ordered, retransmits: channel.maxRetransmits});
    channel.onmessage = m => seen.messages.push(JSON.parse(m.data));
    channel.onclose = () => seen.closed++;
  };
  pc.ontrack = e => {
    const v = document.getElementById('v'); v.srcObject = new MediaStream([e.track]);
    const look = (now, data) => {
      seen.frames++; seen.width = data.width; seen.height = data.height; seen.first ||= now;
      if (seen.last) seen.gap = Math.max(seen.gap, now - seen.last);
      seen.last = now; v.requestVideoFrameCallback(look);
    };
    v.requestVideoFrameCallback(look);
  };
  window.tcpOnly = tcpOnly;
}
function take(message) {
  const mine = pc;
  chain = chain.then(async () => {
    if (message.sdp) {
      await mine.setRemoteDescription({type: 'offer', sdp: message.sdp});
      await mine.setLocalDescription(await mine.createAnswer());
      if (mine === pc) toHost({sdp: pc.localDescription.sdp});
    } else if (!window.tcpOnly || / tcp /i.test(message.candidate)) {
      await pc.addIceCandidate({candidate: message.candidate, sdpMid: message.sdpMid, sdpMLineIndex: message.sdpMLineIndex});
    }
  }).catch(e => seen.errors.push(String(e)));
}
function colour(x, y) {
  const c = document.createElement('canvas'), v = document.getElementById('v'); c.width = v.videoWidth; c.height = v.videoHeight;
  if (!c.width) return null;
  const g = c.getContext('2d'); g.drawImage(v, 0, 0); return [...g.getImageData(x, y, 1, 1).data].slice(0, 3);
}
function say(message) { channel.send(JSON.stringify(message)); }
async function stats() {
  const all = await pc.getStats(), found = {};
  all.forEach(s => { if (s.type === 'inbound-rtp') found.video = s; if (s.type === 'transport') found.transport = s; });
  if (found.transport) found.pair = all.get(found.transport.selectedCandidatePairId);
  if (found.pair) { found.local = all.get(found.pair.localCandidateId); found.remote = all.get(found.pair.remoteCandidateId); }
  all.forEach(s => { if (found.video && s.id === found.video.codecId) found.codec = s; });
  return found;
}
</script>"""


def _run(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True, timeout=10)


class Network:
    """A network namespace with an event loop in it, on a thread: every socket and process made there belongs to it.

    `routed`: it has a pair of addresses and a default route; else only loopback. It ends with its thread.
    """

    def __init__(self, *, routed: bool = True) -> None:
        self.routed = routed
        self._failure: OSError | subprocess.CalledProcessError | None = None
        self._ready = threading.Event()
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._main, name="network")
        self._thread.start()
        self._ready.wait(20)
        if self._failure is not None:
            self.close()
            pytest.skip(f"no network namespace of the test's own: {self._failure}")

    def _main(self) -> None:
        try:
            if shutil.which("ip") is None:
                raise OSError("ip is not installed: apt install iproute2")
            if ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWNET):
                raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
            _run("ip", "link", "set", "lo", "up")
            if self.routed:
                _run("ip", "link", "add", "tt0", "type", "veth", "peer", "name", "tt1")
                for name, address in (("tt0", ADDRESS), ("tt1", OTHER)):
                    _run("ip", "addr", "add", f"{address}/24", "dev", name)
                    _run("ip", "link", "set", name, "up")
                _run("ip", "route", "add", "default", "via", OTHER, "dev", "tt0")
        except (OSError, subprocess.CalledProcessError) as error:
            self._failure = error
        asyncio.set_event_loop(self.loop)
        self.loop.call_soon(self._ready.set)
        self.loop.run_forever()

    def run(self, work: Coroutine[Any, Any, T], seconds: float = 60) -> T:
        """Do it in there."""

        async def limited() -> T:
            return await asyncio.wait_for(work, seconds)

        return asyncio.run_coroutine_threadsafe(limited(), self.loop).result(seconds + 10)

    def close(self) -> None:
        """End it."""

        async def rest() -> None:
            await self.loop.shutdown_default_executor()

        asyncio.run_coroutine_threadsafe(rest(), self.loop).result(20)
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join(20)
        self.loop.close()


async def drop() -> None:
    """Nothing passes any more, and nobody is told."""
    process = await asyncio.create_subprocess_exec("ip", "link", "set", "lo", "down")
    assert await process.wait() == 0


async def restore() -> None:
    """Everything passes again."""
    process = await asyncio.create_subprocess_exec("ip", "link", "set", "lo", "up")
    assert await process.wait() == 0


class Lab:
    """A network with one browser in it."""

    def __init__(self, *, routed: bool = True) -> None:
        if not Path(CHROMIUM).exists():
            pytest.skip("chromium is not installed: apt install chromium")
        self.network = Network(routed=routed)
        self._profile = tempfile.TemporaryDirectory(prefix="triptych-chromium-")
        self.network.run(self._open())

    async def _open(self) -> None:
        from playwright.async_api import async_playwright

        self._playwright = await async_playwright().start()
        self.browser = await self._playwright.chromium.launch(
            executable_path=CHROMIUM, args=FLAGS if self.network.routed else FLAGS + ALONE
        )

    async def _end(self) -> None:
        await self.browser.close()
        await self._playwright.stop()

    def close(self) -> None:
        """End the browser and the network."""
        self.network.run(self._end())
        self.network.close()
        self._profile.cleanup()

    def run(self, work: Coroutine[Any, Any, T], seconds: float = 60) -> T:
        """Do it in the network."""
        return self.network.run(work, seconds)


class Client:
    """A page of the browser at one end, an engine at the other, and the signalling between them.

    `events` is what the engine said, `answers` its answers by request number. Of the engine's candidates the page gets those that `passes`
    lets through.
    """

    def __init__(self, page: Any, **options: Any) -> None:
        self.page = page
        self.events: list[dict[str, Any]] = []
        self.answers: dict[int, dict[str, Any]] = {}
        self.session_id = ""
        self.heard: list[str] = []
        """The candidates of the page."""
        self.passes: Callable[[str], bool] = lambda candidate: True
        self.host = Host(self._said, greeted=True, **{"transport": WebRtc, **options})
        self._asked = 0
        self._outgoing: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self._carrier = asyncio.get_running_loop().create_task(self._carry())

    def _said(self, effect: do.Emit) -> None:
        message = json.loads(msgspec.json.encode(effect.message))
        if "id" in message:
            self.answers[message["id"]] = message
            self.session_id = message.get("result", {}).get("sessionId", self.session_id)
            return
        self.events.append(message)
        params = message["params"]
        match message["event"]:
            case "session.description":
                self._outgoing.put_nowait({"sdp": params["description"]["sdp"], "sessionId": params["sessionId"]})
            case "session.candidate":
                if self.passes(params["candidate"]):
                    self._outgoing.put_nowait(params)

    async def _carry(self) -> None:
        while True:
            message = await self._outgoing.get()
            if message["sessionId"] != self.session_id:
                continue  # the session has ended meanwhile, and the page may have begun anew
            await self.page.evaluate("m => take(m)", message)

    def take(self, message: dict[str, Any]) -> None:
        """The page says something to the engine."""
        if "sdp" in message:
            self.ask("session.description", description={"type": "answer", "sdp": message["sdp"]})
        else:
            self.heard.append(message["candidate"])
            self.ask("session.candidate", **message)

    def ask(self, method: str, **params: Any) -> int:
        """Request something; the number of the request."""
        self._asked += 1
        if method != "session.open":
            params = {"session_id": self.session_id, **params}
        self.host.request(Request(self._asked, method, params))
        return self._asked

    async def answer(self, number: int) -> dict[str, Any]:
        """The answer to a request."""
        await until(lambda: number in self.answers)
        return self.answers[number]

    async def request(self, method: str, **params: Any) -> dict[str, Any]:
        """Request something, and wait for the result."""
        answer = await self.answer(self.ask(method, **params))
        assert "result" in answer, answer
        result: dict[str, Any] = answer["result"]
        return result

    async def open(self, **params: Any) -> None:
        """Open a session."""
        await self.request("session.open", **params)

    async def renew(self) -> None:
        """A new connection in the page, for a new session."""
        self.session_id = ""
        self.events.clear()
        await self.page.evaluate("() => { pc.close(); Object.assign(seen, {messages: [], frames: 0}); begin(); }")

    def said(self, event: str) -> list[dict[str, Any]]:
        """The params of all events of that name."""
        return [message["params"] for message in self.events if message["event"] == event]

    @property
    def transports(self) -> list[str]:
        """The words of `session.state`, each once in a row."""
        words = [state["transport"] for state in self.said("session.state")]
        return [word for at, word in enumerate(words) if at == 0 or words[at - 1] != word]

    async def seen(self, what: str = "seen") -> Any:
        """What the page has."""
        return await self.page.evaluate(f"() => {what}")

    async def sees(self, condition: str, seconds: float = 15) -> None:
        """Wait until that is true in the page."""
        try:
            await self.page.wait_for_function(f"() => {condition}", timeout=seconds * 1000, polling=20)
        except Exception as error:
            raise AssertionError(f"{condition} not seen; {await self.seen()}; {self.transports}") from error

    async def becomes(self, word: str, seconds: float = 15) -> None:
        """Wait until the engine says that the transport is that."""
        await until(lambda: self.transports[-1:] == [word], seconds)


@contextlib.asynccontextmanager
async def client(lab: Lab, *, tcp_only: bool = False, config: dict[str, Any] | None = None, **options: Any) -> AsyncIterator[Client]:
    """A page and an engine, both ended at the end; the engine must not have failed."""
    page = await lab.browser.new_page()
    await page.set_content(PAGE)
    made = Client(page, **options)
    await page.expose_function("toHost", made.take)
    await page.evaluate("([t, c]) => begin(t, c)", [tcp_only, config])
    try:
        yield made
    finally:
        made.host.shutdown()
        await asyncio.wait_for(made.host.finished.wait(), 10)
        made._carrier.cancel()
        await page.close()
    assert made.host.failure is None


async def until(condition: Callable[[], Any], seconds: float = 15) -> None:
    """Wait until it is true."""
    deadline = asyncio.get_running_loop().time() + seconds
    while not condition():
        assert asyncio.get_running_loop().time() < deadline, "waited too long"
        await asyncio.sleep(0.01)


@contextlib.asynccontextmanager
async def feeding(made: Client, units: tuple[bytes, ...], rate: float = 30) -> AsyncIterator[None]:
    """An encoder of the consumer's: it feeds these access units again and again, and begins again when a key frame is asked for."""

    async def feed() -> None:
        at = asked = 0
        while True:
            if (wanted := len(made.said("session.keyframeRequest"))) != asked:
                asked, at = wanted, 0
            number = made.ask("session.feed", keyframe=at % 30 == 0, data_b64=base64.b64encode(units[at % len(units)]).decode())
            await made.answer(number)
            at += 1
            await asyncio.sleep(1 / rate)

    task = asyncio.get_running_loop().create_task(feed())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
