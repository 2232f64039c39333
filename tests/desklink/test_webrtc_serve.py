"""`desktop serve` offers for real: what its lines say before anybody answers."""

from __future__ import annotations

import pytest

from desklink_kit import EngineProcess
from triptych.adapters.desklink.encoder import encoder_name
from triptych.adapters.display import PrivateDisplay


@pytest.mark.display
@pytest.mark.skipif(encoder_name() is None, reason="no libvpx: apt install libvpx7")
def test_a_session_offers_and_names_its_candidates(bare_display: PrivateDisplay) -> None:
    with EngineProcess(bare_display.env) as engine:
        hello = engine.ask("hello", {"protocol": 3})
        assert (hello["encode"]["codecs"], hello["encoded"]["codecs"]) == (["vp9"], ["h264"])
        session = engine.open(bare_display.name, "view")
        offer = engine.event("session.description")
        assert (offer["sessionId"], offer["generation"], offer["description"]["type"]) == (session, 1, "offer")
        sdp = offer["description"]["sdp"]
        assert "a=rtpmap:98 VP9/90000\r\n" in sdp and "a=setup:actpass\r\n" in sdp and "webrtc-datachannel\r\n" in sdp
        assert "playout-delay" in sdp
        candidate = engine.event("session.candidate")
        assert candidate["sdpMid"] == "0" and candidate["sdpMLineIndex"] == 0 and " typ host" in candidate["candidate"]
        assert engine.code("session.description", {"session_id": session, "description": {"type": "answer", "sdp": "v=0"}}) == "transport"
        assert engine.ask("session.restart_ice", {"session_id": session}) == {"accepted": True}
        engine.wait_for(lambda _: len(engine.events("session.description")) == 2, "the second offer")
        first, second = (event["description"]["sdp"].split("a=ice-ufrag:")[1][:8] for event in engine.events("session.description"))
        assert first != second
        assert engine.ask("session.metrics")["target_kbps"] > 0
        assert engine.ask("session.close", {"session_id": session}) == {"closed": True}
        engine.event("session.state", capture="ended", transport="closed")
        engine.send("shutdown")
        assert engine.exit_code() == 0
