"""The peer of the lab: sends $DISPLAY with `wrtc` (libwebrtc in a wheel), and speaks as much desklink on its pipes as the lab says.

The pictures are ours: the same capture, at the same moment, and the same conversion to I420. So what differs is what is compared: the
encoder, the packets, the pacing. It is told what makes it quick: VP9 in its screen mode, no playout delay, the same most bit rate.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from typing import Any

os.environ["WRTC_FIELD_TRIALS"] = "WebRTC-ForceSendPlayoutDelay/min_ms:0,max_ms:0/"

import webrtc  # the module of wrtc; it reads the variable when it is loaded

from triptych.adapters.desklink.newest import NewestFrame
from triptych.adapters.desklink.source import X11Source
from triptych.machines.desklink.geometry import Box, Size
from triptych.machines.desklink.input import ControlInput


def say(message: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def event(name: str, **params: Any) -> None:
    say({"event": name, "params": params})


class Watch:
    """What the capture reports is of no use here, but that it is lost."""

    def captured(self, damage: tuple[Box, ...], source: Size, micros: int, at: float) -> None:
        pass

    def grab_failed(self) -> None:
        pass

    def capture_lost(self, reason: str) -> None:
        event("session.revoked", reason=reason)


class Peer:
    """One connection that sends one display."""

    def __init__(self) -> None:
        self.frames = 0
        self.pc = webrtc.RTCPeerConnection()
        self.connected = asyncio.Event()
        self.pc.on("connectionstatechange", lambda _=None: self.changed())
        self.pc.on("icecandidate", self.gathered)

    def changed(self) -> None:
        state = str(self.pc.connection_state.value)
        event("session.state", transport=state)
        if state == "connected":
            self.connected.set()

    def gathered(self, found: Any) -> None:
        if found.candidate:
            line = found.candidate
            event("session.candidate", candidate=line.candidate, sdpMid=line.sdp_mid, sdpMLineIndex=line.sdp_m_line_index)

    async def open(self, params: dict[str, Any]) -> dict[str, Any]:
        fps = params["max_fps"]
        self.source = X11Source(params["source"]["display"], False, fps, Watch())
        self.size = await self.source.open()
        self.source.start(ControlInput(["view"], self.size, None))
        generator = webrtc.VideoTrackGenerator()
        generator.track.content_hint = "detail"
        sender = self.pc.add_track(generator.track)
        codecs = webrtc.RTCRtpSender.get_capabilities("video").codecs
        vp9 = [codec for codec in codecs if codec.mime_type == "video/VP9" and "profile-id=0" in (codec.sdp_fmtp_line or "")]
        self.pc.get_transceivers()[0].set_codec_preferences(vp9)
        self.pc.create_data_channel("control")
        offer = await self.pc.create_offer()
        await self.pc.set_local_description(offer)
        event("session.description", description={"type": "offer", "sdp": offer.sdp})
        limits = sender.get_parameters()
        for encoding in limits.encodings:
            encoding.max_bitrate = 1000 * params["bitrate_kbps"]
            encoding.max_framerate = fps
        limits.degradation_preference = "maintain-resolution"
        await sender.set_parameters(limits)
        self.pumping = asyncio.ensure_future(self.pump(generator.writable.get_writer(), self.source.newest(self.size)))
        return {"sessionId": "peer", "generation": 1}

    async def pump(self, writer: Any, slot: NewestFrame) -> None:
        await self.connected.wait()
        while True:
            picture = await asyncio.to_thread(slot.take, 0.25)
            if picture is not None:
                stamp = int(time.monotonic() * 1e6)
                about = webrtc.VideoFrameBufferInit(
                    format="I420", coded_width=self.size.width, coded_height=self.size.height, timestamp=stamp
                )
                await writer.write(webrtc.VideoFrame(picture.planes, about))
                self.frames += 1

    async def take(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        match method:
            case "session.open":
                return await self.open(params)
            case "session.description":
                answer = webrtc.RTCSessionDescriptionInit(type="answer", sdp=params["description"]["sdp"])
                await self.pc.set_remote_description(webrtc.RTCSessionDescription(answer))
            case "session.candidate":
                made = webrtc.RTCIceCandidateInit(
                    candidate=params["candidate"], sdp_mid=params["sdp_mid"], sdp_m_line_index=params["sdp_m_line_index"]
                )
                await self.pc.add_ice_candidate(webrtc.RTCIceCandidate(made))
            case "session.metrics":
                return await self.metrics()
        return {}

    async def metrics(self) -> dict[str, Any]:
        for report in (await self.pc.get_stats()).values():
            if report.type == "outbound-rtp":
                return {
                    "captured_frames": self.frames,
                    "encoded_frames": report.frames_encoded,
                    "encode_micros": int((report.total_encode_time or 0) * 1e6),
                    "key_frames": report.key_frames_encoded,
                    "encoded_bytes": report.bytes_sent,
                    "encoder": report.encoder_implementation,
                    "target_kbps": int((report.target_bitrate or 0) / 1000),
                    "limited_by": str(report.quality_limitation_reason),
                }
        return {}


async def main() -> None:
    reader = asyncio.StreamReader(limit=16 << 20)
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    peer = Peer()
    while line := await reader.readline():
        asked = json.loads(line)
        try:
            say({"id": asked["id"], "result": await peer.take(asked["method"], asked["params"])})
        except Exception as error:
            say({"id": asked["id"], "error": {"code": "transport", "message": repr(error)}})
    sys.stdout.flush()
    os._exit(0)  # libwebrtc's threads do not end by themselves


if __name__ == "__main__":
    asyncio.run(main())
