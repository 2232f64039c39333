"""The WebRTC transport of the engine: one peer connection a session, behind the seam of adapters/desklink/transport.py; called by the host.

aiortc brings FFmpeg's libraries with it and takes a while to load, so that is done on a thread, soon after the start and in steps: the
engine answers at once, the first offer need not wait, and an engine that ends meanwhile waits for one step at most.
"""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ....errors import RemoteProtocolError
from ....machines.desklink.effects import PeerPlan
from ...log import get_logger
from ..encoder import encoder_name
from ..transport import NoTransport, Reports, Transport
from .heap import bound, trim
from .versions import strange

if TYPE_CHECKING:
    from ..encode_loop import Outlet
    from .peer import Encode, Encoding, Peer

log = get_logger()

LOAD_AFTER_SECONDS = 1.0
"""An engine that only answers a question or two has ended by then."""

STEPS = ("cryptography.x509", "OpenSSL.SSL", "aioice", "av", "pylibsrtp", "aiortc")


def available() -> Callable[[Reports], Transport]:
    """The transport of this installation: WebRTC, or none, which `capabilities` says and the log explains."""
    if (why := strange()) is None:
        return WebRtc
    log.warning("no peer connections", reason=why.reason, remedy=why.remedy)
    return NoTransport


def carried() -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The codecs that this installation carries: of captured desktops, and of fed video."""
    if strange() is not None:
        return (), ()
    return (("vp9",) if encoder_name() else ()), ("h264",)


async def _loaded() -> type[Peer]:
    for name in STEPS:
        await asyncio.to_thread(importlib.import_module, name)
    await asyncio.to_thread(bound)
    from . import library
    from .peer import Peer

    library.check()
    return Peer


class WebRtc:
    """The peer connections of one engine. `encode` begins to encode a captured session; by default libvpx does, where it is installed.

    Raises Unavailable when a library is missing, or of a version that is not known.
    """

    def __init__(self, reports: Reports, encode: Encode | None = None) -> None:
        if (why := strange()) is not None:
            raise why
        self._reports = reports
        self._encode = encode or (self._encode_captured if encoder_name() else None)
        self._peers: dict[str, Peer | None] = {}
        self._loading: asyncio.Task[type[Peer]] | None = None
        self._loop = asyncio.get_running_loop()
        self._loop.call_later(LOAD_AFTER_SECONDS, self._load)

    def _load(self) -> asyncio.Task[type[Peer]]:
        if self._loading is None:
            self._loading = self._loop.create_task(_loaded())
            self._loading.add_done_callback(lambda loading: loading.cancelled() or loading.exception())  # told where it is waited for
        return self._loading

    def _encode_captured(self, session_id: str, plan: PeerPlan, outlet: Outlet) -> Encoding:
        from .encoding import encode_captured

        return encode_captured(self._reports, session_id, plan, outlet)

    @property
    def encode_codecs(self) -> tuple[str, ...]:
        """VP9, with an encoder."""
        return ("vp9",) if self._encode is not None else ()

    @property
    def fed_codecs(self) -> tuple[str, ...]:
        """H.264."""
        return ("h264",)

    async def start(self, session_id: str, plan: PeerPlan) -> None:
        """Build a peer connection and offer."""
        self._peers[session_id] = None
        loading = self._load()
        try:
            make = await asyncio.shield(loading)
        except Exception:
            if self._loading is loading:
                self._loading = None  # the next session tries again
            raise
        if session_id not in self._peers:
            return  # closed meanwhile
        peer = self._peers[session_id] = make(session_id, plan, self._reports, self._encode)
        try:
            await peer.offer()
        except RemoteProtocolError:
            if session_id in self._peers:
                raise

    async def signal(self, session_id: str, kind: str, params: Any) -> None:
        """Take an answer or a candidate, or offer again."""
        if (peer := self._peers.get(session_id)) is None:
            raise RemoteProtocolError("transport", "the session has no peer connection yet")
        match kind:
            case "description":
                peer.answer(params.description.sdp)
            case "candidate":
                peer.candidate(params.candidate)
            case "restart_ice":
                await peer.offer()
            case _:
                raise RemoteProtocolError("transport", f"there is nothing to signal with {kind!r}")

    def last_heard(self, session_id: str) -> float:
        """When anything came last on the path, in monotonic seconds."""
        peer = self._peers.get(session_id)
        return peer.heard_at if peer else float("-inf")

    def force_keyframe(self, session_id: str) -> None:
        """Encode the next picture as a key frame."""
        if peer := self._peers.get(session_id):
            peer.force_keyframe()

    def stop_encoding(self, session_id: str) -> None:
        """Send no picture any more."""
        if peer := self._peers.get(session_id):
            peer.stop_encoding()

    async def send_unit(self, session_id: str, unit: bytes, at: float) -> int:
        """Send a fed access unit."""
        peer = self._peers.get(session_id)
        return await peer.send_unit(unit, at) if peer else 0

    def send(self, session_id: str, message: dict[str, Any]) -> None:
        """Queue a control message."""
        if peer := self._peers.get(session_id):
            peer.send(message)

    async def close(self, session_id: str) -> None:
        """Close the peer connection, if there is one."""
        if peer := self._peers.pop(session_id, None):
            await asyncio.shield(peer.close())
            self._loop.run_in_executor(None, trim)
