"""Throws bytes at what reads a hostile WebRTC peer, a target at a time; `make fuzz` gives each of them a minute.

    python -m triptych.tools.fuzz_rtc [--target NAME] [--seconds 60] [--seed N] [--input FILE]

The targets: `answer` (SDP, and what it agrees to), `candidate`, `names` (multicast DNS), `framing` (packets over TCP), `rtp`, `rtcp` (one
datagram), `sctp` (what passes the checks, the association reads in bounds), `sender` (a conversation of datagrams with a sender that
counts, resends and adapts), `unit` (a fed H.264 access unit), `control` (one message of the control channel) and `bridge` (one of a
browser). Only RemoteProtocolError with a documented code may leave a reader; what is accepted is written and read again as the same; the
sums, rates and memory of a sender stay in bounds whatever its peer says. An input that breaks this is kept as a file, its name is printed,
and the exit code is 1. `--input` runs such a file again.
"""

from __future__ import annotations

import json
import struct
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import cache
from ipaddress import ip_address
from typing import Any, Final

from ..adapters.desklink.webrtc.framed import Framing
from ..generated.desklink.vocabulary import BRIDGE_REFUSED_METHOD
from ..machines.desklink import bridge as browsers
from ..machines.desklink import mdns
from ..machines.desklink import rtcp as reports
from ..machines.desklink import rtp as packets
from ..machines.desklink import sctp as associations
from ..machines.desklink.candidates import Candidate, read_candidate
from ..machines.desklink.messages import CONTROL_MESSAGES
from ..machines.desklink.pacer import Pacer
from ..machines.desklink.rate_control import RateController
from ..machines.desklink.retransmission import Store, rtx_payload
from ..machines.desklink.rtp_h264 import PAYLOAD_BYTES, Packetizer
from ..machines.desklink.sdp import IceCredentials, VideoOffer, negotiate, offer, read_answer
from ..machines.desklink.transport_cc import Feedback, History
from .bundle import REPOSITORY
from .fuzzing import Broken, Campaign, outcome

VECTORS: Final = REPOSITORY / "tests" / "vectors" / "desklink"
VIDEO: Final = VideoOffer("vp9", None, 1, 2, "fuzz")
H264: Final = replace(VIDEO, codec="h264", profile_level_id="640028")
IDS: Final = packets.ExtensionIds(mid=4, transport_cc=3, playout_delay=5)
BRIDGED: Final = {"kind": "x11", "display": ":9"}  # the source of the attacked bridge
SENT: Final = 100  # packets that the attacked sender has sent
CODES: Final = frozenset({"transport"})
CONTROL_CODES: Final = frozenset({"operation", "text-too-large"})
#: Of RTCP: kind, count and words of a packet's header.
HEADERS: Final = ((200, 0, 6), (201, 1, 7), (203, 1, 1), (205, 1, 3), (205, 15, 5), (206, 4, 4), (206, 15, 5))
TOKENS: Final = (
    *b"a=|m=video 0|m=application 9 |UDP/DTLS/SCTP|a=group:BUNDLE 0 1|a=mid:0|a=ice-ufrag:|a=fingerprint:sha-256 |typ host".split(b"|"),
    *b" udp | tcp |tcptype passive|.local|raddr |ufrag |65536|4294967296|::1|%|\r\n|kind|pointer|wheel|1e999|null|\\ud800".split(b"|"),
    *(bytes((0x80 | count, kind, 0, words)) for kind, count, words in HEADERS),
    *(b"REMB", b"\xbe\xde", b"\x10\0", b"\0\0\1", b"\0\0\0\1\x67", b"\x7f\xff\x7f\xff", b"\xff\xff", b"\x1f\xff", b"\x3f\xff"),
)


def answer(data: bytes) -> str:
    """The text of an answer; and whether it agrees to an offer of each codec."""
    text = data.decode("utf-8", "replace")
    code, read = outcome(CODES, lambda: read_answer(text))
    if code != "ok":
        return code
    if sum(len(section.candidates) + len(section.payloads) + len(section.extensions) for section in read.sections) > 8 * 512:
        raise Broken("an answer takes more memory than it may")
    ends = []
    for video in (VIDEO, H264):
        end, agreed = outcome(CODES, lambda video=video: negotiate(read, video))  # type: ignore[misc]  # a bound default
        ends.append(end)
        if end == "ok" and not (len(agreed.ice.pwd) >= 22 and 0 < agreed.sctp_port < 65536 and agreed.video.payload_type < 128):
            raise Broken("what was agreed on is outside its bounds")
    return f"{len(read.sections)} sections: {'+'.join(ends)}"


def candidate(data: bytes) -> str:
    """One line. What is accepted, written and read again is the same."""
    code, read = outcome(CODES, lambda: read_candidate(data.decode("utf-8", "replace")))
    if code == "ok" and (read_candidate(read.line()) != read or "\n" in read.line() or "\r" in read.line()):
        raise Broken("a candidate does not survive being written")
    return code if code != "ok" else f"{read.transport} {read.type}"


def names(data: bytes) -> str:
    """A datagram of multicast DNS."""
    told = mdns.answers(data)
    for name, address in told:
        if name != name.lower() or len(name) > 4 * len(data) or ip_address(address).is_multicast:
            raise Broken(f"{name[:80]!r} has the address {address}")
    return "ok" if told or not data else "nothing"


def rtp(data: bytes) -> str:
    """One packet."""
    code, read = outcome(CODES, lambda: packets.read(data))
    if code == "ok" and len(read.payload) + sum(len(value) for _, value in read.extensions) > len(data) - packets.HEADER_BYTES:
        raise Broken("a packet holds more than it has bytes")
    return code if code != "ok" else f"{len(read.extensions)} extensions"


def rtcp(data: bytes) -> str:
    """One datagram."""
    code, read = outcome(CODES, lambda: reports.read(data))
    return code if code != "ok" else "+".join(sorted({type(item).__name__ for item in read}))


def sctp(data: bytes) -> str:
    """One packet, with the checksum that it ought to have: the association's reader ends soon with what passes."""
    from aiortc.rtcsctptransport import ForwardTsnChunk, SackChunk, parse_packet
    from google_crc32c import value as crc32c

    packet = data[:8] + crc32c(data[:8] + bytes(4) + data[12:]).to_bytes(4, "little") + data[12:]
    code, _ = outcome(CODES, lambda: associations.check(packet))
    if code != "ok":
        return code
    chunks = parse_packet(packet)[3]
    for chunk in chunks:
        if isinstance(chunk, SackChunk) and sum(end - first + 1 for first, end in chunk.gaps) > associations.MOST_AHEAD:
            raise Broken("an acknowledgement that is long work")
        if isinstance(chunk, ForwardTsnChunk) and not hasattr(chunk, "cumulative_tsn"):
            raise Broken("it skips to nowhere")
    return "+".join(sorted({type(chunk).__name__ for chunk in chunks}))


def framing(data: bytes) -> str:
    """A stream of framed packets, in pieces as they may come: the packets are the same."""
    whole, pieces = Framing(), Framing()
    packets = whole.packets(data)
    again = [packet for at in range(0, len(data), 7) for packet in pieces.packets(data[at : at + 7])]
    if packets != again or sum(len(packet) + 2 for packet in packets) > len(data):
        raise Broken("the packets are others when the stream comes in pieces")
    return f"{min(len(packets), 5)} packets"


def bridge(data: bytes) -> str:
    """One message of a browser: it asks the engine at most once, for nothing that is the host's, and is answered in text."""
    made = browsers.Bridge(dict(BRIDGED))
    made.joined(1)
    ends = []
    for effect in made.text(1, data, 0.0):
        match effect:
            case browsers.ToEngine(line):
                asked = json.loads(line)
                params = asked["params"]
                if b"\n" in line or asked["method"] in BRIDGE_REFUSED_METHOD or len(line) > 7 * len(data) + 200:
                    raise Broken("the engine is asked for what it must not be")
                if asked["method"] == "session.open" and isinstance(params, dict) and params.get("source") != BRIDGED:
                    raise Broken("a browser chose the source")
                ends.append("asked")
            case browsers.ToSocket(1, text):
                ends.append(f"refused: {json.loads(text)['error']['code']}")
            case _:
                raise Broken(f"{effect} is nothing that a message does")
    if len(ends) > 1:
        raise Broken("one message, two effects")
    return "".join(ends) or "ignored"


def sender(data: bytes) -> str:
    """Datagrams, each behind its length of 16 bits, at a sender in the middle of its work."""
    history, store, controller = History(), Store(), RateController(5000, 0.0)
    pacer: Pacer[packets.Packet] = Pacer(1000, 0.0)
    stream, again = packets.Stream(1, 98, IDS, sequence=65400), packets.Stream(2, 99, IDS, sequence=0)
    now = 0.0
    for number in range(SENT):
        now = number * 0.005
        packet = stream.packet(bytes(200), number * 450, marker=number % 4 == 3)
        packet.stamp(history.sent(len(packet), now))
        store.keep(packet, now)
        controller.frame_sent(len(packet), now)
    asked = resent = 0
    for datagram in _datagrams(data):
        now += 0.02
        _, items = outcome(CODES, lambda datagram=datagram: reports.read(datagram))  # type: ignore[misc]  # a bound default
        for item in items or ():
            match item:
                case Feedback():
                    controller.feedback(history.arrivals(item, now), now)
                case reports.Nack(_, sequences):
                    asked += len(sequences)
                    for kept in store.wanted(sequences, now, controller.report_of_path.turn or None):
                        resent += 1
                        packet = again.packet(rtx_payload(kept), kept.timestamp, kept.marker)
                        pacer.push_first(packet, len(packet))
                case reports.ReceiverReport(_, blocks) | reports.SenderReport(_, blocks):
                    for block in blocks:
                        controller.report(block.fraction_lost, reports.round_trip(block, 1_700_000_000_000), now)
                case reports.Remb(kbps, _):
                    controller.remb(kbps)
                case reports.PictureLoss() | reports.FullIntra():
                    controller.key_wanted(now)
                    controller.take_key(now)
        for packet in pacer.due(now):
            packet.stamp(history.sent(len(packet), now))
        if not int(controller.floor_kbps) <= controller.target_kbps(now) <= 5000:
            raise Broken(f"the target is {controller.target_kbps(now)} kbps")
        if not (controller.window_bytes > 0 and controller.frame_at(now) >= now and controller.probe(now) >= 0):
            raise Broken("the sender may never send again, or has never to wait")
        if not 0 <= history.in_flight <= (SENT + resent) * 300:
            raise Broken(f"{history.in_flight} bytes are under way")
    most = SENT * (int((now - SENT * 0.005) / 0.02) + 2)
    if resent > min(asked, most):
        raise Broken(f"{resent} packets were sent again for {asked} that were asked for")
    return f"{controller.target_kbps(now) // 250} {min(resent, 3)} {controller.is_stalled(now)}"


def _datagrams(data: bytes) -> Iterator[bytes]:
    at = 0
    while at + 2 <= len(data):
        length = int.from_bytes(data[at : at + 2], "big") & 0x0FFF
        yield data[at + 2 : at + 2 + length]
        at += 2 + length


def unit(data: bytes) -> str:
    """An access unit, cut into packets that each fit."""
    packetizer = Packetizer(1, 65530, 0)
    payloads = packetizer.payloads(data) + packetizer.payloads(b"\0\0\1\x65end")
    if any(not 0 < len(payload) <= PAYLOAD_BYTES for payload in payloads):
        raise Broken("a payload is empty or does not fit")
    if sum(map(len, payloads)) > 2 * len(data) + 100:
        raise Broken("more is sent than was fed")
    return " ".join(sorted({str(payload[0] & 0x1F) for payload in payloads}))


def control(data: bytes) -> str:
    """One message of a client."""
    code, read = outcome(CONTROL_CODES, lambda: CONTROL_MESSAGES.read(data))
    return code if code != "ok" else type(read).__name__


#: One input in, how it ended out; each raises when something is broken.
TARGETS: Final[Mapping[str, Callable[[bytes], str]]] = {
    target.__name__: target for target in (answer, candidate, names, framing, rtp, rtcp, sctp, sender, unit, control, bridge)
}


@cache
def _vectors(name: str) -> Any:
    return json.loads((VECTORS / name).read_text(encoding="utf-8"))


def seeds(target: str) -> list[bytes]:
    """What the mutations of a target start from: what a browser sent, and what the sender itself would send."""
    answers, feedback = _vectors("answers.json")["answers"], [bytes.fromhex(case["hex"]) for case in _vectors("feedback.json")["feedback"]]
    match target:
        case "answer":
            ours = offer(session_id=1, version=1, ice=IceCredentials("abcd", "p" * 22), fingerprint=":".join(["AB"] * 32), video=VIDEO)
            return [case["gathered"].encode() for case in answers] + [ours.encode()]
        case "candidate":
            own = Candidate("1", 1, "tcp", 5, "127.0.0.1", 4000, "host", tcptype="passive").line()
            return [line.encode() for case in answers for line in case["candidates"]] + [own.encode()]
        case "names":
            named = b"\x24081e0c04-a7bb-4892-b32d-a7ff34f6b533\x05local\0"
            header, address = b"\0\0\x84\0\0\0\0\x01\0\0\0\x01", b"\0\x01\x80\x01\0\0\0x\0\x04\nM\0\x01"
            return [header + named + address + b"\xc0\x0c\0/\x80\x01\0\0\0x\0\x05\xc0\x0c\0\x01@", header + named + address]
        case "rtp":
            made = [packets.Stream(1, 98, ids, sequence=0) for ids in (IDS, packets.ExtensionIds(), packets.ExtensionIds(200, 201, 202))]
            return [bytes(stream.packet(b"payload", 1, True).data) for stream in made] + [bytes(made[0].padding(40, 0).data)]
        case "rtcp":
            return [*feedback, *_reports()]
        case "sctp":
            head = struct.pack("!HHLL", 5000, 5000, 7, 0)
            return [head + made for made in _SCTP]
        case "framing":
            return [struct.pack("!H", len(packet)) + packet for packet in (b"", b"abc", b"\0\1" + bytes(18), bytes(1400))]
        case "bridge":
            return [json.dumps(message).encode() for message in _BROWSER]
        case "sender":
            said = [*feedback, *_reports()]
            framed = [len(datagram).to_bytes(2, "big") + datagram for datagram in said]
            return [b"".join(framed), *(one * 20 for one in framed)]
        case "unit":
            return [
                b"\0\0\0\1\x67\x42\xc0\x1f\0\0\0\1\x68\xce\0\0\1\x65" + bytes(range(1, 255)) * 12,
                b"\0\0\1\x09\xf0\0\0\1\x41abc\0\0\1\x0c\xff\x80",
            ]
        case _:
            return [json.dumps(message).encode() for message in _CONTROL]


def _reports() -> list[bytes]:
    """What a receiver says, beside congestion feedback."""

    def packet(kind: int, count: int, body: bytes) -> bytes:
        return struct.pack("!BBH", 0x80 | count, kind, len(body) // 4) + body

    block = struct.pack("!IIIIII", 1, 30 << 24 | 7, 70_000, 90, 5, 6)
    found = [packet(201, 1, b"\0\0\0\7" + block), packet(205, 1, struct.pack("!IIHHHH", 7, 1, 65480, 0xFFFF, 65497, 3))]
    found += [packet(206, 1, struct.pack("!II", 7, 1)), packet(206, 4, struct.pack("!IIIB3x", 7, 0, 1, 9))]
    found += [packet(206, 15, struct.pack("!II4sII", 7, 0, b"REMB", 1 << 24 | 3 << 18 | 99_000, 1)), reports.bye([1])]
    # Thirty packets from number 60 on: ten that came, ten that did not, ten that came.
    body = struct.pack("!IIHH", 7, 1, 60, 30) + b"\0\0\5\0" + struct.pack("!HHH", 0x200A, 0x000A, 0x200A) + bytes(range(10, 30))
    found.append(packet(205, 15, body + bytes(-len(body) % 4)))
    return [*found, b"".join(found)]


_CONTROL: Final[tuple[dict[str, Any], ...]] = (
    {"kind": "pointer", "phase": "down", "x": 5, "y": 6, "button": 1, "seq": 1},
    {"kind": "wheel", "dx": 0.5, "dy": -1, "seq": 2},
    {"kind": "key", "name": "Enter", "down": True, "modifiers": ["Control"], "seq": 3},
    {"kind": "key", "character": "ü", "down": False, "seq": 4},
    {"kind": "text", "text": "hello", "seq": 5},
    {"kind": "release_all", "seq": 6},
    {"kind": "clipboard_read", "request": "a"},
    {"kind": "clipboard_write", "request": "b", "text": "copied"},
)

_BROWSER: Final[tuple[dict[str, Any], ...]] = (
    {"id": 1, "method": "session.open", "params": {"permissions": ["view", "control"], "restore_token": "x", "local_frames": True}},
    {"id": 2, "method": "session.open", "params": {"source": {"kind": "x11", "display": ":0"}}},
    {"id": "a", "method": "session.description", "params": {"session_id": "0" * 32, "description": {"type": "answer", "sdp": "v=0"}}},
    {"id": 3, "method": "shutdown"},
    {"id": None, "method": "session.metrics", "params": None},
)


def _chunk(kind: int, body: bytes, flags: int = 0) -> bytes:
    return struct.pack("!BBH", kind, flags, len(body) + 4) + body + bytes(-len(body) % 4)


_SCTP: Final = (
    _chunk(1, struct.pack("!LLHHL", 9, 1 << 20, 65535, 65535, 5) + b"\xc0\0\0\4\x80\x08\0\6\xc0\x82\0\0"),
    _chunk(3, struct.pack("!LLHHHHHHL", 8, 1 << 20, 2, 1, 2, 3, 5, 5, 8)) + _chunk(0, struct.pack("!LHHL", 6, 1, 0, 51) + b"{}", 3),
    _chunk(4, b"\0\1\0\x08abcd"),
    _chunk(130, b"\0\x0d\0\x12" + struct.pack("!LLLH", 1, 2, 3, 4)),
    _chunk(192, struct.pack("!LHH", 9, 1, 2)),
    _chunk(6, b""),
)

CAMPAIGN: Final = Campaign(f"{__package__}.fuzz_rtc", "Fuzz what reads a WebRTC peer.", TARGETS, seeds, TOKENS)


if __name__ == "__main__":
    sys.exit(CAMPAIGN.main())
