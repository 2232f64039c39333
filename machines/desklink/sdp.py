"""Writes the offer of a session, and reads the client's answer to it section by section; called by the peer connection.

An offer has one section with the picture and one with the control channel, bundled on one path (desklink v3, session.description). The
answer may shrink that: a browser that does not decode the picture's profile answers `m=video 0` and leaves the section out of the
bundle, and then the path belongs to the other section. Every refusal has the code `transport` and says what the client did.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final, Literal

from ...errors import RemoteProtocolError
from .candidates import Candidate, read_candidate
from .rtp import ExtensionIds
from .rtp_h264 import PAYLOAD_TYPE as H264
from .vp9_payload import PAYLOAD_TYPE as VP9

TRANSPORT_CC: Final = "http://www.ietf.org/id/draft-holmer-rmcat-transport-wide-cc-extensions-01"
PLAYOUT_DELAY: Final = "http://www.webrtc.org/experiments/rtp-hdrext/playout-delay"
MID: Final = "urn:ietf:params:rtp-hdrext:sdes:mid"
OFFERED: Final = ExtensionIds(mid=4, transport_cc=3, playout_delay=5)

SCTP_PORT: Final = 5000
MESSAGE_BYTES: Final = 262_144
DEFAULT_MESSAGE_BYTES: Final = 65_536  # RFC 8841 §6, of a peer that does not say
MOST_CHARACTERS: Final = 65_536
"""A longer answer is refused unread."""
MOST_SECTIONS: Final = 8
MOST_CANDIDATES: Final = 64
MOST_PAYLOADS: Final = 128
MOST_EXTENSIONS: Final = 256

_PROFILES: Final = {0x42: "Baseline", 0x4D: "Main", 0x58: "Extended", 0x64: "High", 0x6E: "High 10", 0x7A: "High 4:2:2", 0xF4: "High 4:4:4"}
_TOKEN: Final = re.compile(r"[!#-'*+\-.0-9A-Z^-~]{1,64}")
_SECTION: Final = re.compile(r"([a-z]{1,32}) ([0-9]{1,5})(?:/[0-9]{1,5})? ([!-~]{1,64})((?: [!-~]{1,64})+) *", re.ASCII)
_ICE: Final = re.compile(r"[A-Za-z0-9+/]{4,256}")
_FINGERPRINT: Final = re.compile(r"([A-Za-z0-9-]{1,32}) ((?:[0-9A-Fa-f]{2}:){15,63}[0-9A-Fa-f]{2})", re.ASCII)
_HASH_BYTES: Final = {"sha-256": 32, "sha-384": 48, "sha-512": 64}

Codec = Literal["vp9", "h264"]


@dataclass(frozen=True, slots=True)
class IceCredentials:
    """The user name fragment and password of one ICE generation."""

    ufrag: str
    pwd: str


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """The digest of a certificate: `algorithm` in small letters, `value` as pairs of capital hexadecimal digits with colons between."""

    algorithm: str
    value: str


@dataclass(frozen=True, slots=True)
class VideoOffer:
    """The picture that is offered: one codec, and its retransmissions."""

    codec: Codec
    profile_level_id: str | None  #: of H.264: six hexadecimal digits, as the stream's own SPS has them
    ssrc: int
    rtx_ssrc: int
    cname: str
    mid: str = "0"

    @property
    def payload_type(self) -> int:
        """Of the picture."""
        return VP9 if self.codec == "vp9" else H264

    @property
    def rtx_payload_type(self) -> int:
        """Of its retransmissions."""
        return self.payload_type + 1


def offer(
    *,
    session_id: int,
    version: int,
    ice: IceCredentials,
    fingerprint: str,
    video: VideoOffer,
    setup: Literal["actpass"] = "actpass",
    data_mid: str = "1",
    candidates: Iterable[Candidate] = (),
) -> str:
    """The text of an offer. An ICE restart is the same offer with new `ice` and the next `version`.

    `fingerprint` is the SHA-256 of our certificate as pairs of hexadecimal digits with colons between. `candidates` are those that are
    known already; others follow one by one.
    """
    path = (
        "c=IN IP4 0.0.0.0",
        *(f"a={candidate.line()}" for candidate in candidates),
        f"a=ice-ufrag:{ice.ufrag}",
        f"a=ice-pwd:{ice.pwd}",
        "a=ice-options:trickle",
        f"a=fingerprint:sha-256 {fingerprint.upper()}",
        f"a=setup:{setup}",
    )
    lines = (
        "v=0",
        f"o=- {session_id} {version} IN IP4 127.0.0.1",
        "s=-",
        "t=0 0",
        f"a=group:BUNDLE {video.mid} {data_mid}",
        "a=msid-semantic: WMS desklink",
        f"m=video 9 UDP/TLS/RTP/SAVPF {video.payload_type} {video.rtx_payload_type}",
        *path,
        f"a=mid:{video.mid}",
        *_video_lines(video),
        "m=application 9 UDP/DTLS/SCTP webrtc-datachannel",
        *(line for line in path if not line.startswith("a=candidate:")),
        f"a=mid:{data_mid}",
        f"a=sctp-port:{SCTP_PORT}",
        f"a=max-message-size:{MESSAGE_BYTES}",
    )
    return "".join(f"{line}\r\n" for line in lines)


def _video_lines(video: VideoOffer) -> Iterator[str]:
    number, rtx = video.payload_type, video.rtx_payload_type
    yield f"a=extmap:{OFFERED.transport_cc} {TRANSPORT_CC}"
    yield f"a=extmap:{OFFERED.mid} {MID}"
    yield f"a=extmap:{OFFERED.playout_delay} {PLAYOUT_DELAY}"
    yield "a=sendonly"
    yield "a=msid:desklink desktop"
    yield "a=rtcp-mux"
    yield "a=rtcp-rsize"
    yield f"a=rtpmap:{number} {video.codec.upper()}/90000"
    if video.codec == "h264":
        yield f"a=fmtp:{number} level-asymmetry-allowed=1;packetization-mode=1;profile-level-id={video.profile_level_id}"
    for feedback in ("nack", "nack pli", "ccm fir", "transport-cc"):
        yield f"a=rtcp-fb:{number} {feedback}"
    yield f"a=rtpmap:{rtx} rtx/90000"
    yield f"a=fmtp:{rtx} apt={number}"
    yield f"a=ssrc-group:FID {video.ssrc} {video.rtx_ssrc}"
    for ssrc in (video.ssrc, video.rtx_ssrc):
        yield f"a=ssrc:{ssrc} cname:{video.cname}"
        yield f"a=ssrc:{ssrc} msid:desklink desktop"


@dataclass(frozen=True, slots=True)
class Payload:
    """One RTP payload type that the answer accepts."""

    number: int
    name: str  #: of the encoding, in small letters; empty when it is not said
    clock_rate: int
    parameters: str  #: of its `fmtp` line
    feedback: frozenset[str]

    def parameter(self, name: str) -> str | None:
        """The value of one parameter; names are equal in small and capital letters."""
        for pair in self.parameters.split(";"):
            key, _, value = pair.partition("=")
            if key.strip().lower() == name:
                return value.strip()
        return None


@dataclass(frozen=True, slots=True)
class Section:
    """One section of the answer, with what it takes from the session level."""

    index: int
    mid: str
    kind: str
    accepted: bool
    direction: str  #: sendrecv, sendonly, recvonly or inactive
    ufrag: str | None
    pwd: str | None
    fingerprint: Fingerprint | None
    setup: str | None
    rtcp_mux: bool
    candidates: tuple[Candidate, ...]
    ended: bool  #: no candidates follow
    payloads: tuple[Payload, ...]
    extensions: Mapping[str, int]  #: number by URI
    sctp_port: int | None
    max_message_size: int  #: bytes; 0 is no limit


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer as it was read; whether it suits the offer, `negotiate` decides."""

    sections: tuple[Section, ...]
    bundle: tuple[str, ...]  #: the mids that share one path, the first gives it
    ice_lite: bool

    @property
    def transport(self) -> Section | None:
        """The section whose ICE and DTLS lines are the path's: the first accepted one of the bundle. Candidates belong to its mid."""
        accepted = [section for section in self.sections if section.accepted]
        return next((section for section in accepted if section.mid in self.bundle[:1]), accepted[0] if accepted else None)

    @property
    def candidates(self) -> tuple[Candidate, ...]:
        """Those of all sections, each once."""
        return tuple(dict.fromkeys(candidate for section in self.sections for candidate in section.candidates))


@dataclass(frozen=True, slots=True)
class Video:
    """How the picture is to be sent, of what was offered the part that the answer kept."""

    payload_type: int
    rtx_payload_type: int | None
    nack: bool
    pli: bool
    fir: bool
    transport_cc: bool
    extensions: ExtensionIds


@dataclass(frozen=True, slots=True)
class Negotiated:
    """What both sides agreed on."""

    video: Video
    transport: Section  #: its ufrag, pwd, fingerprint and setup are there
    ice: IceCredentials  #: of the peer
    fingerprint: Fingerprint  #: of the peer's certificate
    setup: Literal["active", "passive"]  #: of the peer: who is active begins the DTLS handshake
    sctp_port: int  #: of the peer
    max_message_size: int  #: bytes that the peer takes in one message


def negotiate(answer: Answer, video: VideoOffer, data_mid: str = "1") -> Negotiated:
    """What the answer to an offer of `video` agrees to.

    Raises RemoteProtocolError (code `transport`): on a rejected picture or control channel, on sections that do not share one path, and
    on what the offer did not contain.
    """
    if [(section.kind, section.mid) for section in answer.sections] != [("video", video.mid), ("application", data_mid)]:
        raise _refused("has other sections than the offer")
    picture, data = answer.sections
    if not picture.accepted:
        raise _refused(_video_rejected(video), "sections.0")
    if not data.accepted:
        raise _refused("rejects the control channel", "sections.1")
    if not {picture.mid, data.mid} <= set(answer.bundle):
        raise _refused("does not put the picture and the control channel on one path (BUNDLE)")
    if not picture.rtcp_mux:
        raise _refused("does not put RTP and RTCP on one port (rtcp-mux)", "sections.0")
    if picture.direction not in ("recvonly", "sendrecv"):
        raise _refused(f"does not want to receive the picture (it is {picture.direction})", "sections.0")
    path = answer.transport
    if path is None or path.ufrag is None or path.pwd is None:
        raise _refused("has no ICE credentials")
    if path.fingerprint is None:
        raise _refused("has no fingerprint of SHA-256, SHA-384 or SHA-512")
    if path.setup not in ("active", "passive"):
        raise _refused("does not say who begins the DTLS handshake (setup)")
    setup: Literal["active", "passive"] = "active" if path.setup == "active" else "passive"
    limit = min(data.max_message_size, MESSAGE_BYTES) or MESSAGE_BYTES
    port = data.sctp_port or SCTP_PORT
    return Negotiated(_video(picture, video), path, IceCredentials(path.ufrag, path.pwd), path.fingerprint, setup, port, limit)


def _video(section: Section, offered: VideoOffer) -> Video:
    payload = next((each for each in section.payloads if each.number == offered.payload_type and each.name == offered.codec), None)
    if payload is None:
        raise _refused(f"accepts the picture but not its codec, {offered.codec.upper()}", "sections.0")
    if offered.codec == "h264" and payload.parameter("packetization-mode") != "1":
        raise _refused("does not accept packetization-mode 1 of H.264", "sections.0")
    rtx = next((each for each in section.payloads if each.number == offered.rtx_payload_type and each.name == "rtx"), None)
    if rtx is not None and rtx.parameter("apt") != str(payload.number):
        rtx = None

    def kept(uri: str, number: int | None) -> int | None:
        return number if section.extensions.get(uri) == number else None

    ids = ExtensionIds(kept(MID, OFFERED.mid), kept(TRANSPORT_CC, OFFERED.transport_cc), kept(PLAYOUT_DELAY, OFFERED.playout_delay))
    wanted = payload.feedback
    congestion = "transport-cc" in wanted and ids.transport_cc is not None
    return Video(
        payload.number,
        rtx.number if rtx else None,
        "nack" in wanted,
        "nack pli" in wanted,
        "ccm fir" in wanted,
        congestion,
        ids if congestion else ExtensionIds(ids.mid, None, ids.playout_delay),
    )


def _video_rejected(video: VideoOffer) -> str:
    if video.codec == "vp9" or video.profile_level_id is None:
        return f"rejects the picture: the client does not decode {video.codec.upper()}"
    return (
        f"rejects the picture: the client does not decode H.264 {profile_name(video.profile_level_id)}"
        f" (profile-level-id {video.profile_level_id}); feed a stream of Constrained Baseline profile (42e0…), which every client decodes"
    )


def profile_name(profile_level_id: str) -> str:
    """What an H.264 profile is called."""
    profile, constraints = int(profile_level_id[:2], 16), int(profile_level_id[2:4], 16)
    name = _PROFILES.get(profile, "of an unknown profile")
    return f"Constrained {name}" if profile == 0x42 and constraints & 0x40 else name


@dataclass(slots=True)
class _Level:
    """The attributes of the session, or of one section, while they are read."""

    ufrag: str | None = None
    pwd: str | None = None
    fingerprint: Fingerprint | None = None
    setup: str | None = None
    direction: str | None = None
    mid: str | None = None
    head: tuple[str, int, tuple[str, ...]] = ("", 0, ())  # kind, port, formats
    rtcp_mux: bool = False
    ended: bool = False
    candidates: list[Candidate] = field(default_factory=list)
    names: dict[str, tuple[str, int]] = field(default_factory=dict)
    parameters: dict[str, str] = field(default_factory=dict)
    feedback: dict[str, set[str]] = field(default_factory=dict)
    extensions: dict[str, int] = field(default_factory=dict)
    sctp_port: int | None = None
    max_message_size: int = DEFAULT_MESSAGE_BYTES


def read_answer(sdp: str) -> Answer:
    """The parts of an answer. Raises RemoteProtocolError (code `transport`).

    Lines that mean nothing here are passed over, and so is a candidate that cannot be read: it never fails the answer.
    """
    if len(sdp) > MOST_CHARACTERS:
        raise _refused(f"is longer than {MOST_CHARACTERS} characters")
    lines = [line.rstrip("\r") for line in sdp.split("\n")]
    if lines[0] != "v=0":
        raise _refused("is no SDP (it does not begin with v=0)")
    session, sections, lite = _Level(), list[_Level](), False
    bundle: tuple[str, ...] = ()
    for number, line in enumerate(lines, 1):
        if line.startswith("m="):
            if len(sections) == MOST_SECTIONS:
                raise _refused(f"has more than {MOST_SECTIONS} sections")
            sections.append(_Level(head=_head(line[2:], number)))
        elif line.startswith("a="):
            name, _, value = line[2:].partition(":")
            value = value.strip()
            if name == "ice-lite":
                lite = True
            elif name == "group" and value.startswith("BUNDLE") and not sections:
                bundle = tuple(value.split()[1:])
            else:
                _take(sections[-1] if sections else session, name, value, number)
        elif line and line[1:2] != "=":
            raise _refused(f"has a line that is none of SDP, number {number}")
    if not sections:
        raise _refused("has no media section")
    made = tuple(_section(index, level, session) for index, level in enumerate(sections))
    if len({section.mid for section in made}) != len(made):
        raise _refused("has two sections of one mid")
    if not set(bundle) <= {section.mid for section in made} or len(set(bundle)) != len(bundle):
        raise _refused("bundles a section that it does not have")
    return Answer(made, bundle, lite)


def _head(value: str, number: int) -> tuple[str, int, tuple[str, ...]]:
    found = _SECTION.fullmatch(value)
    formats = found[4].split() if found else []
    if found is None or int(found[2]) > 65535 or len(formats) > MOST_PAYLOADS:
        raise _refused(f"has a malformed media line, number {number}")
    return found[1], int(found[2]), tuple(formats)


def _take(level: _Level, name: str, value: str, number: int) -> None:
    """One attribute. Only those that would mislead are refused when malformed."""
    first, _, rest = value.partition(" ")
    match name:
        case "ice-ufrag" | "ice-pwd":
            if not _ICE.fullmatch(value) or (name == "ice-pwd" and len(value) < 22):
                raise _refused(f"has malformed ICE credentials, line {number}")
            setattr(level, name.removeprefix("ice-"), value)
        case "fingerprint":
            _take_fingerprint(level, value, number)
        case "setup":
            level.setup = value
        case "mid":
            if not _TOKEN.fullmatch(value):
                raise _refused(f"has a malformed mid, line {number}")
            level.mid = value
        case "sendrecv" | "sendonly" | "recvonly" | "inactive":
            level.direction = name
        case "rtcp-mux":
            level.rtcp_mux = True
        case "end-of-candidates":
            level.ended = True
        case "candidate":
            if len(level.candidates) < MOST_CANDIDATES:
                _take_candidate(level, value)
        case "rtpmap":
            encoding, _, clock = rest.partition("/")
            level.names[first] = encoding.strip().lower(), _integer(clock.partition("/")[0], 1 << 31) or 0
        case "fmtp":
            level.parameters[first] = rest
        case "rtcp-fb":
            level.feedback.setdefault(first, set()).add(" ".join(rest.split()))
        case "extmap":
            identifier = _integer(first.partition("/")[0], 256)
            if identifier and rest and len(level.extensions) < MOST_EXTENSIONS:
                level.extensions[rest.split()[0]] = identifier
        case "sctp-port":
            level.sctp_port = _integer(value, 65536)
            if not level.sctp_port:
                raise _refused(f"has a malformed sctp-port, line {number}")
        case "max-message-size":
            size = _integer(value, 1 << 63)
            if size is None:
                raise _refused(f"has a malformed max-message-size, line {number}")
            level.max_message_size = size
        case _:
            pass


def _take_fingerprint(level: _Level, value: str, number: int) -> None:
    found = _FINGERPRINT.fullmatch(value)
    if found is None:
        raise _refused(f"has a malformed fingerprint, line {number}")
    algorithm = found[1].lower()
    if algorithm not in _HASH_BYTES:  # too weak, or not known: as if it were not there
        return
    if len(found[2]) != 3 * _HASH_BYTES[algorithm] - 1:
        raise _refused(f"has a fingerprint of a wrong length, line {number}")
    if level.fingerprint is None or level.fingerprint.algorithm != "sha-256":
        level.fingerprint = Fingerprint(algorithm, found[2].upper())


def _take_candidate(level: _Level, value: str) -> None:
    try:
        level.candidates.append(read_candidate(f"candidate:{value}"))
    except RemoteProtocolError:
        return


def _section(index: int, level: _Level, session: _Level) -> Section:
    kind, port, formats = level.head
    # The credentials come as a pair, from the section or else from the session.
    own = level if level.ufrag is not None or level.pwd is not None else session
    return Section(
        index=index,
        mid=str(index) if level.mid is None else level.mid,  # as we offered them
        kind=kind,
        accepted=port != 0,
        direction=level.direction or session.direction or "sendrecv",
        ufrag=own.ufrag,
        pwd=own.pwd,
        fingerprint=level.fingerprint or session.fingerprint,
        setup=level.setup or session.setup,
        rtcp_mux=level.rtcp_mux,
        candidates=tuple(level.candidates),
        ended=level.ended or session.ended,
        payloads=_payloads(level, formats),
        extensions=MappingProxyType({**session.extensions, **level.extensions}),
        sctp_port=level.sctp_port,
        max_message_size=level.max_message_size,
    )


def _payloads(level: _Level, formats: Sequence[str]) -> tuple[Payload, ...]:
    made = []
    for text in dict.fromkeys(formats):
        number = _integer(text, 128)
        if number is None:
            continue  # of a data section
        name, clock = level.names.get(text, ("", 0))
        feedback = frozenset(level.feedback.get(text, set()) | level.feedback.get("*", set()))
        made.append(Payload(number, name, clock, level.parameters.get(text, ""), feedback))
    return tuple(made)


def _integer(text: str, below: int) -> int | None:
    """A number without a sign, below a bound; None when it is none."""
    if not re.fullmatch(r"[0-9]{1,19}", text, re.ASCII) or int(text) >= below:
        return None
    return int(text)


def _refused(what: str, path: str = "") -> RemoteProtocolError:
    return RemoteProtocolError("transport", f"the answer {what}", path or "description.sdp")
