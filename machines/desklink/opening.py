"""Decides what `session.open` asks for, before anything is opened or replaced; called by the engine core.

Every parameter is judged here, so a request that cannot succeed leaves the session that stands untouched (desklink v3, `session.open`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ...errors import RemoteProtocolError
from ...generated.desklink import models, vocabulary
from .effects import PeerPlan
from .geometry import Size, fit
from .messages import given


@dataclass(frozen=True)
class Opening:
    """A session that may be opened. `encoded` is the declared size of an encoded source, None when a display tells its own."""

    permissions: frozenset[str]
    display: str | None
    encoded: Size | None
    box: Size
    max_fps: int
    bitrate_kbps: int
    ttl_seconds: float
    local_frames: bool
    ice_servers: tuple[models.IceServer, ...]
    loopback_tcp: bool
    agent_indicator: bool

    @classmethod
    def of(cls, params: models.OpenParams) -> Opening:
        """Judge the params. Raises RemoteProtocolError: `permission`, `input-unavailable`, `source`."""
        permissions = frozenset(given(params.permissions, ()))
        if "view" not in permissions:
            raise RemoteProtocolError("permission", "a session needs the view permission", "permissions")
        display: str | None = None
        encoded: Size | None = None
        match given(params.source, None):
            case models.X11Source() as source:
                display = given(source.display, None) or None
                if display and "\0" in display:
                    raise RemoteProtocolError("source", f"{display!r} is no X display name", "source.display")
            case models.EncodedSource() as source:
                encoded = _encoded_size(source)
            case models.DisplaySource():
                raise RemoteProtocolError("source", "a display source exists on macOS only; name an X display: kind x11", "source")
            case _:
                # Control is judged before the source: a consumer that can do without it asks again for view alone.
                if "control" in permissions:
                    raise RemoteProtocolError("input-unavailable", "this build has no input path for portal sessions", "permissions")
                raise RemoteProtocolError("source", "this build has no portal screen cast; name an X display: kind x11", "source")
        return cls(
            permissions=permissions,
            display=display,
            encoded=encoded,
            box=Size(given(params.max_width, vocabulary.DEFAULT_MAX_WIDTH), given(params.max_height, vocabulary.DEFAULT_MAX_HEIGHT)),
            max_fps=max(vocabulary.MIN_FPS, min(vocabulary.MAX_FPS, given(params.max_fps, vocabulary.DEFAULT_MAX_FPS))),
            bitrate_kbps=given(params.bitrate_kbps, 0),
            ttl_seconds=given(params.ttl_seconds, vocabulary.DEFAULT_TTL_SECONDS),
            local_frames=given(params.local_frames, True) and encoded is None,
            ice_servers=tuple(given(params.ice_servers, ())),
            loopback_tcp=given(params.loopback_tcp, False),
            # It shows what is applied: nothing is without control, and nothing here for fed video.
            agent_indicator=given(params.agent_indicator, False) and "control" in permissions and encoded is None,
        )

    def surface(self, source: Size) -> Size:
        """The encoded surface of a source of this size."""
        return self.encoded or fit(source, self.box.width, self.box.height)

    def peer(self, surface: Size, profile: str | None) -> PeerPlan:
        """What the peer connection of this session carries; `profile` is that of fed video."""
        return PeerPlan(surface, self.max_fps, self.target_kbps(surface), self.ice_servers, self.loopback_tcp, profile)

    def target_kbps(self, surface: Size) -> int:
        """The bit rate asked for, or the one that fits the surface; 0 for an encoded source, whose rate is the consumer's."""
        if self.encoded:
            return 0
        fitting = vocabulary.BITRATE_BASE_KBPS + surface.width * surface.height * vocabulary.BITRATE_KBPS_PER_10000_PIXELS // 10_000
        return self.bitrate_kbps or min(vocabulary.MAX_BITRATE_KBPS, fitting)


def opened(session_id: str, kind: str, source: Size, surface: Size) -> dict[str, Any]:
    """The result of `session.open`."""
    origin = {"x": 0, "y": 0}
    size = {"width": source.width, "height": source.height}
    return {
        "sessionId": session_id,
        "generation": vocabulary.SESSION_GENERATION,
        "source": {"kind": kind, **size, "origin": origin},
        "geometry": {"source": size, "encoded": {"width": surface.width, "height": surface.height}, "origin": origin},
    }


def _encoded_size(source: models.EncodedSource) -> Size:
    if not (1 <= source.width <= vocabulary.MAX_FED_WIDTH and 1 <= source.height <= vocabulary.MAX_FED_HEIGHT):
        limits = f"1..{vocabulary.MAX_FED_WIDTH} by 1..{vocabulary.MAX_FED_HEIGHT}"
        raise RemoteProtocolError("source", f"an encoded source has {limits} pixels, not {source.width}x{source.height}", "source")
    return Size(source.width, source.height)
