"""The peer connection against a real browser, both in a network of their own: open, picture, messages, restarts, dead paths, the end."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from h264_kit import recorded
from triptych.adapters.desklink.webrtc import library
from webrtc_kit import Client, Lab, client, drop, feeding, restore, until

FED: dict[str, Any] = {"source": {"kind": "encoded", "codec": "h264", "width": 486, "height": 1080}, "permissions": ["view", "control"]}
MOVE = "say({kind: 'pointer', phase: 'move', x: 3, y: 4, button: 1, seq: %d})"
CLICK = "say({kind: 'pointer', phase: 'down', x: 3, y: 4, button: 1, seq: %d})"
ACKED = "seen.messages.some(m => m.kind === 'ack' && m.seq === %d)"


async def live(made: Client, **more: Any) -> None:
    """Open, and wait until the browser shows pictures."""
    await made.open(**FED, **more)
    await made.becomes("connected")
    await made.sees("seen.frames > 5 && seen.channels === 1 && seen.messages.length > 0")


async def more_frames(made: Client, count: int) -> None:
    """Wait for so many more pictures."""
    shown = await made.seen("seen.frames")
    await made.sees(f"seen.frames >= {shown + count}")


async def gap_over(made: Client, count: int) -> float:
    """The longest time between two pictures (ms) while so many are shown; a busy machine has its own."""
    await made.page.evaluate("() => { seen.gap = 0; }")
    await more_frames(made, count)
    gap: float = await made.seen("seen.gap")
    return gap


def test_open_live_input_restart_close(lab: Lab) -> None:
    async def main() -> None:
        async with client(lab) as made, feeding(made, recorded()):
            await live(made)
            assert made.transports == ["new", "connecting", "connected"]
            assert made.heard and all(".local " in line for line in made.heard)  # the browser hides its addresses behind mDNS names
            assert await made.seen("[seen.label, seen.ordered, seen.retransmits]") == ["control", True, None]
            assert await made.seen("[seen.width, seen.height]") == [486, 1080]
            [hello, *others] = await made.seen("seen.messages")
            assert (hello["kind"], hello["protocol"], hello["geometry"]["encoded"]) == ("hello", 3, {"width": 486, "height": 1080})
            assert {message["kind"] for message in others} <= {"ping"}

            await made.page.evaluate(CLICK % 1)
            await made.sees(ACKED % 1)
            assert made.said("session.input")[0]["input"]["phase"] == "down"

            # A restart over a path that works: the picture does not stop, and nobody hears of it.
            first = made.said("session.description")[0]["description"]["sdp"]
            usual = await gap_over(made, 60)
            await made.page.evaluate("() => { seen.gap = 0; }")
            await made.request("session.restart_ice")
            await until(lambda: len(made.said("session.description")) == 2)
            second = made.said("session.description")[1]["description"]["sdp"]
            assert credentials(first).isdisjoint(credentials(second))
            assert fingerprint(first) == fingerprint(second)
            await more_frames(made, 60)
            assert await made.seen("seen.gap") < max(100, 2 * usual)
            assert made.transports == ["new", "connecting", "connected"]
            assert await made.seen("[seen.channels, seen.closed]") == [1, 0]
            remote = (await made.seen("stats()"))["remote"]
            new = {params["candidate"].split()[5] for params in made.said("session.candidate") if ufrag(second) in params["candidate"]}
            assert str(remote["port"]) in new

            pings = await made.seen("seen.messages.filter(m => m.kind === 'ping').length")
            await made.sees(f"seen.messages.filter(m => m.kind === 'ping').length >= {pings + 3}", 2.5)

            await made.request("session.close")
            await made.sees("seen.messages.some(m => m.kind === 'revoked' && m.code === 'closed')")
            await made.sees("seen.closed === 1")
            assert await made.seen("seen.errors") == []

    lab.run(main())


def credentials(sdp: str) -> set[str]:
    """The user name fragments and passwords of an offer."""
    return {line for line in sdp.split("\r\n") if line.startswith(("a=ice-ufrag:", "a=ice-pwd:"))}


def ufrag(sdp: str) -> str:
    """The user name fragment of an offer."""
    return next(line for line in sdp.split("\r\n") if line.startswith("a=ice-ufrag:")).removeprefix("a=ice-ufrag:")


def fingerprint(sdp: str) -> str:
    """The fingerprint of an offer."""
    return next(line for line in sdp.split("\r\n") if line.startswith("a=fingerprint:"))


def test_a_dead_path_is_told_and_a_restart_brings_it_back(lab: Lab) -> None:
    async def main() -> None:
        async with client(lab) as made, feeding(made, recorded()):
            await live(made)
            await made.page.evaluate("""() => { let seq = 10;
                window.pointer = setInterval(() => say({kind: 'pointer', phase: 'move', x: 1, y: 1, button: 1, seq: seq++}), 200); }""")
            await made.sees(ACKED % 12)
            loop = asyncio.get_running_loop()
            await drop()
            began = loop.time()
            await made.becomes("disconnected", 8)
            assert 4 < loop.time() - began < 6.5
            await made.page.evaluate("() => clearInterval(window.pointer)")
            await restore()
            back = loop.time()
            await made.request("session.restart_ice")
            await made.becomes("connected", 5)
            await more_frames(made, 5)
            assert loop.time() - back < 3
            # What waited arrived, once and in order.
            last = await made.seen("Math.max(...seen.messages.filter(m => m.seq).map(m => m.seq))")
            sequences = await made.seen("seen.messages.filter(m => m.kind === 'ack').map(m => m.seq)")
            assert sequences == list(range(10, last + 1))
            forwarded = [params["input"]["seq"] for params in made.said("session.input")]
            assert forwarded == sequences
            assert await made.seen("seen.closed") == 0
            assert [word for word in made.transports if word not in ("new", "connecting")] == ["connected", "disconnected", "connected"]

    lab.run(main())


def test_lost_packets_are_sent_again(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every fiftieth packet of the picture is lost: the browser gets it again, and the picture goes on."""
    send = library.Agent.send_packets
    count = 0

    def lossy(agent: library.Agent, packets: Sequence[bytes]) -> None:
        nonlocal count
        before, count = count, count + len(packets)
        send(agent, [packet for place, packet in enumerate(packets, before + 1) if place % 50])

    async def main() -> None:
        async with client(lab) as made, feeding(made, recorded()):
            await live(made)
            monkeypatch.setattr(library.Agent, "send_packets", lossy)
            shown = await made.seen("seen.frames")
            await made.sees(f"seen.frames >= {shown + 120}", 25)
            video = (await made.seen("stats()"))["video"]
            assert video["nackCount"] > 0 and video["retransmittedPacketsReceived"] > 0

    lab.run(main())


def test_a_path_that_comes_back_by_itself(lab: Lab) -> None:
    async def main() -> None:
        async with client(lab) as made, feeding(made, recorded()):
            await live(made)
            await drop()
            await made.becomes("disconnected", 8)
            asked = len(made.said("session.keyframeRequest"))
            await restore()
            await made.becomes("connected", 8)
            assert len(made.said("session.keyframeRequest")) > asked
            await more_frames(made, 5)

    lab.run(main())


@pytest.mark.slow
def test_a_path_that_stays_dead_ends_the_session(lab: Lab) -> None:
    async def main() -> None:
        async with client(lab) as made, feeding(made, recorded()):
            await live(made)
            await drop()
            try:
                await until(lambda: made.said("session.revoked"), 45)
            finally:
                await restore()
            assert made.said("session.revoked")[0]["code"] == "transport"
            assert made.transports[-3:] == ["disconnected", "failed", "closed"]

    lab.run(main(), 90)


def test_tcp_only_and_not_unless_asked(lab: Lab) -> None:
    async def main() -> None:
        async with client(lab, tcp_only=True) as made, feeding(made, recorded()):
            await live(made, loopback_tcp=True)
            pair = await made.seen("stats()")
            assert (pair["remote"]["protocol"], pair["remote"]["address"], pair["remote"]["tcpType"]) == ("tcp", "127.0.0.1", "passive")
            usual = await gap_over(made, 60)
            await made.page.evaluate("() => { seen.gap = 0; }")
            await made.request("session.restart_ice")
            await more_frames(made, 60)
            assert await made.seen("seen.gap") < max(100, 2 * usual)
            assert (await made.seen("stats()"))["remote"]["port"] != pair["remote"]["port"]
        async with client(lab) as made, feeding(made, recorded()):
            await live(made)
            lines = [params["candidate"] for params in made.said("session.candidate")]
            assert lines and not [line for line in lines if " tcp " in line or "127.0.0.1" in line]

    lab.run(main())


def test_udp_goes_before_tcp(lab: Lab) -> None:
    async def main() -> None:
        async with client(lab) as made, feeding(made, recorded()):
            await live(made, loopback_tcp=True)
            assert any(" tcp " in params["candidate"] for params in made.said("session.candidate"))
            assert (await made.seen("stats()"))["remote"]["protocol"] == "udp"

    lab.run(main())


def test_candidates_that_come_before_the_answer(lab: Lab) -> None:
    async def main() -> None:
        async with client(lab) as made:
            await made.open(**FED)
            early = made.ask("session.candidate", candidate="nonsense", sdp_mid="0")
            refused = await made.answer(early)
            assert refused["error"]["code"] == "transport"  # there is no offer yet
            await made.page.evaluate("() => { window.kept = []; window.toHost = m => window.kept.push(m); }")
            async with feeding(made, recorded()):
                await until(lambda: made.said("session.description"))
                await made.sees("window.kept.some(m => m.sdp) && window.kept.some(m => m.candidate)")
                kept = await made.seen("window.kept")
                for message in [{"candidate": "nonsense", "sdp_mid": "0"}, *kept]:
                    if "candidate" in message:
                        await made.request("session.candidate", **message)
                [sdp] = [message["sdp"] for message in kept if "sdp" in message]
                await made.request("session.description", description={"type": "answer", "sdp": sdp})
                await made.becomes("connected")
                late = await made.answer(made.ask("session.candidate", candidate="nonsense", sdp_mid="0"))
                assert late["error"]["code"] == "transport"
                again = await made.answer(made.ask("session.description", description={"type": "answer", "sdp": sdp}))
                assert again["error"]["code"] == "transport"
                await made.sees("seen.frames > 5")

    lab.run(main())


def test_a_profile_that_the_browser_does_not_decode_is_named(lab: Lab) -> None:
    async def main() -> None:
        # The same stream, its SPS saying High 4.0: Chromium without a hardware decoder answers `m=video 0`.
        units = tuple(unit.replace(recorded_sps(), b"\x67\x64\x00\x28") for unit in recorded())
        async with client(lab) as made, feeding(made, units):
            await made.open(**FED)
            await until(lambda: any("error" in answer and answer["error"]["code"] == "transport" for answer in made.answers.values()))
            [message] = {answer["error"]["message"] for answer in made.answers.values() if "error" in answer}
            assert "640028" in message and "High" in message

    lab.run(main())


def recorded_sps() -> bytes:
    """The first four bytes of the SPS in the recorded stream."""
    unit = recorded()[0]
    at = unit.index(b"\0\0\1\x67") + 3
    return unit[at : at + 4]


def test_the_browser_that_leaves_ends_the_session(lab: Lab) -> None:
    async def main() -> None:
        async with client(lab) as made, feeding(made, recorded()):
            await live(made)
            await made.page.evaluate("() => pc.close()")
            await until(lambda: made.said("session.revoked"))
            assert made.said("session.revoked")[0]["code"] == "transport"
            assert made.transports[-1] == "closed"

    lab.run(main())


def test_a_still_path_stays_connected(lab: Lab) -> None:
    """Nothing is fed and nothing is said for longer than a silence may last; the heartbeat and the checks are heard."""

    async def main() -> None:
        async with client(lab) as made:
            async with feeding(made, recorded()):
                await live(made)
            pings = await made.seen("seen.messages.filter(m => m.kind === 'ping').length")
            await made.sees(f"seen.messages.filter(m => m.kind === 'ping').length >= {pings + 14}", 10)
            assert made.transports == ["new", "connecting", "connected"]

    lab.run(main())
