"""The offer says what is sent; an answer is read section by section, and what it rejects is said clearly."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from triptych.errors import RemoteProtocolError
from triptych.machines.desklink.candidates import Candidate, read_candidate
from triptych.machines.desklink.rtp import ExtensionIds
from triptych.machines.desklink.sdp import (
    DEFAULT_MESSAGE_BYTES,
    MESSAGE_BYTES,
    Answer,
    Fingerprint,
    IceCredentials,
    VideoOffer,
    negotiate,
    offer,
    profile_name,
    read_answer,
)

ANSWERS: dict[str, Any] = {
    case["name"]: case for case in json.loads((Path(__file__).parents[1] / "vectors" / "desklink" / "answers.json").read_text())["answers"]
}
ICE = IceCredentials("abcd", "p" * 22)
FINGERPRINT = ":".join(["ab"] * 32)
VP9 = VideoOffer("vp9", None, 1111, 2222, "triptych")


def h264(profile: str) -> VideoOffer:
    return replace(VP9, codec="h264", profile_level_id=profile)


def offered(video: VideoOffer = VP9, **more: Any) -> list[str]:
    text = offer(session_id=7, version=more.pop("version", 1), ice=ICE, fingerprint=FINGERPRINT, video=video, **more)
    assert text.endswith("\r\n") and text.count("\n") == text.count("\r\n")
    return text.splitlines()


def answer_of(name: str = "vp9") -> Answer:
    return read_answer(ANSWERS[name]["answer"])


def changed(*replacements: tuple[str, str], name: str = "vp9") -> Answer:
    """A browser's answer, edited."""
    text: str = ANSWERS[name]["answer"]
    for old, new in replacements:
        assert old in text
        text = text.replace(old, new)
    return read_answer(text)


def refusal(answer: Answer, video: VideoOffer = VP9) -> str:
    with pytest.raises(RemoteProtocolError) as refused:
        negotiate(answer, video)
    assert refused.value.code == "transport"
    return refused.value.detail


# the offer


def test_an_offer_of_vp9_has_one_picture_and_one_channel_on_one_path() -> None:
    lines = offered()
    assert [line for line in lines if line.startswith("m=")] == [
        "m=video 9 UDP/TLS/RTP/SAVPF 98 99",
        "m=application 9 UDP/DTLS/SCTP webrtc-datachannel",
    ]
    assert "a=group:BUNDLE 0 1" in lines
    assert "o=- 7 1 IN IP4 127.0.0.1" in lines
    video, data = lines[: lines.index("m=application 9 UDP/DTLS/SCTP webrtc-datachannel")], lines[lines.index("a=mid:1") - 7 :]
    for section in (video, data):
        for line in ("a=ice-ufrag:abcd", f"a=ice-pwd:{'p' * 22}", "a=setup:actpass", f"a=fingerprint:sha-256 {FINGERPRINT.upper()}"):
            assert section.count(line) == 1
    assert [line for line in video if line.startswith("a=rtcp-fb:98 ")] == [
        f"a=rtcp-fb:98 {kind}" for kind in ("nack", "nack pli", "ccm fir", "transport-cc")
    ]
    assert "a=fmtp:99 apt=98" in video and not any(line.startswith("a=fmtp:98") for line in video)
    assert "a=ssrc-group:FID 1111 2222" in video
    assert [line.split(" ", 1)[1] for line in video if line.startswith("a=extmap:")] == [
        "http://www.ietf.org/id/draft-holmer-rmcat-transport-wide-cc-extensions-01",
        "urn:ietf:params:rtp-hdrext:sdes:mid",
        "http://www.webrtc.org/experiments/rtp-hdrext/playout-delay",
    ]
    assert {"a=sctp-port:5000", "a=max-message-size:262144"} <= set(data)


def test_an_offer_of_h264_names_the_profile_of_the_stream_and_no_vp9() -> None:
    text = "\n".join(offered(h264("42c029")))
    assert "a=fmtp:102 level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=42c029" in text
    assert "a=rtpmap:102 H264/90000" in text and "a=fmtp:103 apt=102" in text
    assert "VP9" not in text


def test_an_ice_restart_changes_the_credentials_and_the_version_alone() -> None:
    first = offered()
    again = offer(session_id=7, version=2, ice=IceCredentials("efgh", "q" * 22), fingerprint=FINGERPRINT, video=VP9).splitlines()
    assert [new for old, new in zip(first, again, strict=True) if old != new] == [
        "o=- 7 2 IN IP4 127.0.0.1",
        *("a=ice-ufrag:efgh", f"a=ice-pwd:{'q' * 22}") * 2,
    ]


def test_known_candidates_stand_in_the_first_section() -> None:
    candidate = Candidate("1", 1, "udp", 5, "192.0.2.7", 4000, "host")
    lines = offered(candidates=[candidate])
    assert lines.count(f"a={candidate.line()}") == 1
    assert lines.index(f"a={candidate.line()}") < lines.index("a=mid:0")


# what a browser answers


@pytest.mark.parametrize("name", ["vp9", "h264-42e01f", "h264-42c029", "h264-4d401f"])
def test_what_a_browser_accepts_is_agreed_on(name: str) -> None:
    video = VP9 if name == "vp9" else h264(ANSWERS[name]["profileLevelId"])
    agreed = negotiate(answer_of(name), video)
    assert agreed.video.payload_type == video.payload_type
    assert agreed.video.rtx_payload_type == video.rtx_payload_type
    assert (agreed.video.nack, agreed.video.pli, agreed.video.fir, agreed.video.transport_cc) == (True,) * 4
    assert agreed.video.extensions == ExtensionIds(mid=4, transport_cc=3, playout_delay=5)
    assert (agreed.setup, agreed.sctp_port, agreed.max_message_size) == ("active", 5000, 262144)
    assert agreed.transport.mid == "0" and agreed.transport.kind == "video"
    assert f"a=ice-ufrag:{agreed.ice.ufrag}\r\n" in ANSWERS[name]["answer"]
    assert f"a=fingerprint:sha-256 {agreed.fingerprint.value}\r\n" in ANSWERS[name]["answer"]


def test_what_it_gathered_stands_in_its_description() -> None:
    case = ANSWERS["vp9"]
    gathered = read_answer(case["gathered"])
    assert len(gathered.candidates) == 2
    trickled = {replace(read_candidate(line), ufrag=None) for line in case["candidates"]}
    assert set(gathered.candidates) == trickled
    assert answer_of().candidates == ()


def test_a_profile_that_the_browser_does_not_decode_is_named() -> None:
    """Chromium answers `m=video 0` to High profile, and the bundle shrinks to the channel."""
    answer = answer_of("h264-640028")
    assert [(section.mid, section.accepted) for section in answer.sections] == [("0", False), ("1", True)]
    assert answer.bundle == ("1",)
    assert answer.transport is not None and answer.transport.mid == "1"  # where its candidates belong
    assert answer.transport.ufrag != answer.sections[0].ufrag
    detail = refusal(answer, h264("640028"))
    assert "H.264 High" in detail and "640028" in detail and "Constrained Baseline" in detail


@pytest.mark.parametrize(
    ("profile", "name"),
    [
        ("42001f", "Baseline"),
        ("42e01f", "Constrained Baseline"),
        ("4d401f", "Main"),
        ("640028", "High"),
        ("ff0000", "of an unknown profile"),
    ],
)
def test_profiles_have_names(profile: str, name: str) -> None:
    assert profile_name(profile) == name


def test_a_rejected_vp9_picture_is_said() -> None:
    assert "does not decode VP9" in refusal(changed(("m=video 9", "m=video 0"), ("BUNDLE 0 1", "BUNDLE 1")))


# what the answer leaves out


def test_only_what_the_answer_kept_is_sent() -> None:
    def without(*lines: str) -> Any:
        return negotiate(changed(*((f"{line}\r\n", "") for line in lines)), VP9).video

    assert without("a=extmap:5 http://www.webrtc.org/experiments/rtp-hdrext/playout-delay").extensions == ExtensionIds(4, 3, None)
    no_feedback = without("a=rtcp-fb:98 transport-cc")
    assert not no_feedback.transport_cc and no_feedback.extensions == ExtensionIds(4, None, 5)
    no_number = without("a=extmap:3 http://www.ietf.org/id/draft-holmer-rmcat-transport-wide-cc-extensions-01")
    assert not no_number.transport_cc and no_number.extensions == ExtensionIds(4, None, 5)
    assert without("a=rtpmap:99 rtx/90000").rtx_payload_type is None
    assert without("a=fmtp:99 apt=98").rtx_payload_type is None
    assert not without("a=rtcp-fb:98 nack").nack


def test_an_extension_under_another_number_counts_as_not_kept() -> None:
    assert negotiate(changed(("a=extmap:5 ", "a=extmap:6 ")), VP9).video.extensions.playout_delay is None


def test_session_level_lines_hold_for_sections_without_their_own() -> None:
    text: str = ANSWERS["vp9"]["answer"]
    lines = [line for line in text.splitlines() if not line.startswith(("a=ice-", "a=fingerprint", "a=setup"))]
    lines[4:4] = ["a=ice-lite", "a=ice-ufrag:wxyz", f"a=ice-pwd:{'r' * 24}", f"a=fingerprint:sha-256 {FINGERPRINT}", "a=setup:passive"]
    answer = read_answer("\n".join(lines))
    agreed = negotiate(answer, VP9)
    assert answer.ice_lite
    assert agreed.ice == IceCredentials("wxyz", "r" * 24)
    assert (agreed.setup, agreed.fingerprint) == ("passive", Fingerprint("sha-256", FINGERPRINT.upper()))


def test_a_peer_that_does_not_say_how_much_it_takes_takes_the_default() -> None:
    assert negotiate(changed(("a=max-message-size:262144\r\n", "")), VP9).max_message_size == DEFAULT_MESSAGE_BYTES
    assert negotiate(changed(("max-message-size:262144", "max-message-size:0")), VP9).max_message_size == MESSAGE_BYTES
    assert negotiate(changed(("max-message-size:262144", "max-message-size:9000")), VP9).max_message_size == 9000


def test_a_stronger_fingerprint_is_taken_where_there_is_no_sha256() -> None:
    long = ":".join(["CD"] * 64)
    text = "\r\n".join(
        f"a=fingerprint:sha-512 {long}" if line.startswith("a=fingerprint") else line for line in ANSWERS["vp9"]["answer"].splitlines()
    )
    assert negotiate(read_answer(text), VP9).fingerprint == Fingerprint("sha-512", long)


@pytest.mark.parametrize(
    ("edits", "says"),
    [
        ([("m=application 9", "m=application 0"), ("BUNDLE 0 1", "BUNDLE 0")], "rejects the control channel"),
        ([("BUNDLE 0 1", "BUNDLE 0")], "one path"),
        ([("a=group:BUNDLE 0 1\r\n", "")], "one path"),
        ([("a=rtcp-mux\r\n", "")], "rtcp-mux"),
        ([("a=recvonly", "a=inactive")], "inactive"),
        ([("a=recvonly", "a=sendonly")], "sendonly"),
        ([("VP9/90000", "VP8/90000")], "not its codec"),
        ([("a=setup:active", "a=setup:actpass")], "DTLS"),
        ([("a=setup:active", "a=setup:holdconn")], "DTLS"),
        ([("fingerprint:sha-256", "fingerprint:sha-1")], "fingerprint"),
        ([("a=mid:0", "a=mid:x"), ("BUNDLE 0", "BUNDLE x")], "other sections"),
        ([("m=video", "m=audio")], "other sections"),
    ],
)
def test_what_does_not_suit_the_offer_is_refused_and_said(edits: list[tuple[str, str]], says: str) -> None:
    assert says in refusal(changed(*edits))


def test_h264_in_single_nal_mode_is_refused() -> None:
    assert "packetization-mode" in refusal(changed(("packetization-mode=1", "packetization-mode=0"), name="h264-42e01f"), h264("42e01f"))


def test_credentials_that_are_missing_are_said() -> None:
    text = "".join(f"{line}\r\n" for line in ANSWERS["vp9"]["answer"].splitlines() if not line.startswith("a=ice-"))
    assert "ICE credentials" in refusal(read_answer(text))


# what is no answer


@pytest.mark.parametrize(
    "edits",
    [
        [("v=0\r\n", "")],
        [("m=video 9 UDP/TLS/RTP/SAVPF 98 99", "m=video 9")],
        [("m=video 9 ", "m=video 70000 ")],
        [("m=video 9 ", "m=video -1 ")],
        [("a=mid:1", "a=mid:0")],
        [("a=mid:1", "a=mid:a b")],
        [("BUNDLE 0 1", "BUNDLE 0 1 2")],
        [("BUNDLE 0 1", "BUNDLE 0 0")],
        [("a=sctp-port:5000", "a=sctp-port:0")],
        [("a=sctp-port:5000", "a=sctp-port:65536")],
        [("max-message-size:262144", "max-message-size:-1")],
        [("max-message-size:262144", "max-message-size:" + "9" * 30)],
        [("a=ice-pwd:", "a=ice-pwd:?")],
        [("a=ice-ufrag:", "a=ice-ufrag:x\x00")],
        [("a=fingerprint:sha-256 ", "a=fingerprint:sha-256 AB:")],
        [("a=fingerprint:sha-256 ", "a=fingerprint:sha-256 zz:")],
        [("s=-", "hello")],
        [("s=-\r\n", "s=-\r\n" + "m=audio 9 X 1\r\n" * 9)],
        [("s=-\r\n", "s=-\r\n" + "a=x:" + "y" * 70000 + "\r\n")],
    ],
)
def test_what_is_no_answer_is_refused(edits: list[tuple[str, str]]) -> None:
    with pytest.raises(RemoteProtocolError) as refused:
        changed(*edits)
    assert refused.value.code == "transport"


@pytest.mark.parametrize("text", ["", "v=0", "v=0\r\n", "v=0\nm=", "\x00", "v=0\r\na=group:BUNDLE\r\n"])
def test_nothing_is_no_answer(text: str) -> None:
    with pytest.raises(RemoteProtocolError):
        read_answer(text)


def test_a_bad_candidate_never_fails_the_answer_and_too_many_are_not_kept() -> None:
    good = "a=candidate:1 1 udp 5 192.0.2.7 {} typ host\r\n"
    many = "a=candidate:nonsense\r\n" + "".join(good.format(port) for port in range(1, 500))
    assert len(changed(("a=mid:0\r\n", "a=mid:0\r\n" + many)).candidates) == 64


PIECES = st.sampled_from([f"{line}\r\n" for case in ANSWERS.values() for line in case["gathered"].splitlines()])


@given(st.text(max_size=200) | st.lists(PIECES | st.text(max_size=20), max_size=60).map(lambda parts: "v=0\r\n" + "".join(parts)))
def test_any_text_is_read_or_refused(text: str) -> None:
    for video in (VP9, h264("640028")):
        try:
            negotiate(read_answer(text), video)
        except RemoteProtocolError as refused:
            assert refused.code == "transport"
