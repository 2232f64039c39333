"""What a real browser may answer, and a consumer feed: who shakes hands first, what is declined, who is found how, what is lost."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Callable
from typing import Any

import pytest

from h264_kit import recorded
from webrtc_kit import Client, Lab, client, feeding, until

FED: dict[str, Any] = {"source": {"kind": "encoded", "codec": "h264", "width": 486, "height": 1080}, "permissions": ["view", "control"]}

ANSWER_WITH = """(change) => {
  const answer = RTCPeerConnection.prototype.createAnswer;
  RTCPeerConnection.prototype.createAnswer = async function () {
    const {type, sdp} = await answer.call(this);
    return {type, sdp: new Function('sdp', 'return ' + change)(sdp)};
  };
}"""
PLI = """() => {
  const worker = new Worker(URL.createObjectURL(new Blob([`onrtctransform = ({transformer: t}) => {
    t.readable.pipeTo(t.writable); onmessage = () => t.sendKeyFrameRequest(); }`], {type: 'text/javascript'})));
  pc.getReceivers()[0].transform = new RTCRtpScriptTransform(worker, {});
  window.askForKeyFrame = () => worker.postMessage(1);
}"""
"""A browser asks for a key frame by PLI; this is how a page can make it."""


async def live(made: Client, **more: Any) -> None:
    """Open, and wait until the browser shows pictures and has the control channel."""
    await made.open(**FED, **more)
    await made.becomes("connected")
    await made.sees("seen.frames > 5 && seen.messages.some(m => m.kind === 'hello')")


async def settled(made: Client) -> dict[str, Any]:
    """The metrics, once every unit that was fed is sent or dropped."""
    deadline = asyncio.get_running_loop().time() + 10
    while (metrics := await made.request("session.metrics"))["encoded_frames"] + metrics["dropped_frames"] < metrics["fed_frames"]:
        assert asyncio.get_running_loop().time() < deadline, metrics
        await asyncio.sleep(0.01)
    return metrics


async def measured(made: Client, condition: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    """What the browser measures, once it is so."""
    deadline = asyncio.get_running_loop().time() + 10
    while not condition(stats := await made.seen("stats()")):
        assert asyncio.get_running_loop().time() < deadline, stats
        await asyncio.sleep(0.02)
    found: dict[str, Any] = stats
    return found


def feed(made: Client, unit: bytes) -> int:
    """Feed one unit; the number of the request."""
    return made.ask("session.feed", keyframe=False, data_b64=base64.b64encode(unit).decode())


def test_a_browser_that_waits_for_the_handshake_gets_it_from_us(lab: Lab) -> None:
    async def main() -> None:
        async with client(lab) as made, feeding(made, recorded()):
            await made.page.evaluate(ANSWER_WITH, "sdp.replaceAll('a=setup:active', 'a=setup:passive')")
            await live(made)
            assert (await made.seen("stats()"))["transport"]["dtlsRole"] == "server"
            assert "a=setup:passive" in await made.seen("pc.localDescription.sdp")
            # The ids of data channels go by the roles (RFC 8832, 6), and a restart changes none of it.
            assert await made.seen("channel.id % 2") == 0
            await made.request("session.restart_ice")
            await until(lambda: len(made.said("session.description")) == 2)
            await made.page.evaluate("say({kind: 'pointer', phase: 'move', x: 1, y: 1, seq: 1})")
            await made.sees("seen.messages.some(m => m.kind === 'ack' && m.seq === 1)")

    lab.run(main())


@pytest.mark.parametrize("kept", [True, False])
def test_the_least_playout_delay_is_asked_for_unless_the_browser_declines(lab: Lab, kept: bool) -> None:
    async def main() -> None:
        async with client(lab) as made, feeding(made, recorded()):
            if not kept:
                await made.page.evaluate(ANSWER_WITH, "sdp.replace(/a=extmap:\\d+ [^\\r]*playout-delay\\r\\n/, '')")
            await live(made)
            await made.sees("seen.frames > 60")
            answer = await made.seen("pc.localDescription.sdp")
            assert ("playout-delay" in answer) is kept
            video = (await made.seen("stats()"))["video"]
            # A packet with an extension that was declined would be as good as lost.
            assert (video["packetsLost"], video["pliCount"]) == (0, 0)
            assert video["framesDecoded"] > 60

    lab.run(main())


def test_a_browser_that_is_told_no_address_is_found_by_its_mdns_name(lab: Lab) -> None:
    """It cannot reach out by itself, so all depends on what the engine makes of `….local`."""

    async def main() -> None:
        async with client(lab) as made, feeding(made, recorded()):
            made.passes = lambda candidate: False
            await live(made)
            assert made.heard and all(".local " in line for line in made.heard)
            assert (await made.seen("stats()"))["remote"]["candidateType"] == "prflx"

    lab.run(main())


@pytest.mark.parametrize("tcp", [False, True])
def test_a_restart_over_a_path_that_works_loses_nothing(lab: Lab, tcp: bool) -> None:
    """Of the time between two pictures a busy machine has its own idea; here every picture and packet is counted."""

    async def main() -> None:
        async with client(lab, tcp_only=tcp) as made:
            async with feeding(made, recorded()):
                await live(made, loopback_tcp=tcp)
                for offers in (2, 3, 4):
                    shown = await made.seen("seen.frames")
                    pair = (await made.seen("stats()"))["pair"]["id"]
                    await made.request("session.restart_ice")
                    await until(lambda offers=offers: len(made.said("session.description")) == offers)
                    await made.sees(f"seen.frames > {shown + 15}")
                    await measured(made, lambda stats, pair=pair: stats["pair"]["id"] != pair)
            sent = (await settled(made))["encoded_frames"]
            video = (await measured(made, lambda stats: stats["video"]["framesReceived"] >= sent))["video"]
            assert (video["framesReceived"], video["packetsLost"], video["pliCount"]) == (sent, 0, 0)
            assert (video["nackCount"], video.get("retransmittedPacketsReceived", 0)) == (0, 0)
            assert made.transports == ["new", "connecting", "connected"]
            assert await made.seen("[seen.channels, seen.closed]") == [1, 0]

    lab.run(main())


def test_a_picture_that_the_browser_lost_is_asked_of_the_consumer(lab: Lab) -> None:
    async def main() -> None:
        async with client(lab) as made, feeding(made, recorded()):
            await live(made)
            first = len(made.said("session.keyframeRequest"))
            assert first >= 1, "one when the path came up"
            await made.page.evaluate(PLI)
            for _ in range(2):
                told = len(made.said("session.keyframeRequest"))
                keys = (await made.seen("stats()"))["video"]["keyFramesDecoded"]
                while len(made.said("session.keyframeRequest")) == told:
                    await made.page.evaluate("askForKeyFrame()")
                    await asyncio.sleep(0.05)
                # The consumer's encoder begins anew, and the browser has what it asked for.
                await measured(made, lambda stats, keys=keys: stats["video"]["keyFramesDecoded"] > keys)
            asked = made.said("session.keyframeRequest")[-1]
            assert asked == {"sessionId": made.session_id, "generation": 1}
            assert (await made.request("session.metrics"))["key_frames"] >= 3

    lab.run(main())


def test_after_a_drop_nothing_is_sent_that_could_not_be_decoded(lab: Lab) -> None:
    async def main() -> None:
        units = recorded()  # a key frame is the first of each thirty
        async with client(lab) as made:
            async with feeding(made, units):
                await live(made)
            await made.answer(feed(made, units[0]))
            before = await settled(made)
            # More at once than waits: the newest are dropped, and what follows them is worth nothing.
            burst = [feed(made, unit) for unit in units[5:25]]
            assert all([(await made.answer(number))["result"]["accepted"] for number in burst])
            await until(lambda: len(made.said("session.keyframeRequest")) > 1)
            asked, full = len(made.said("session.keyframeRequest")), await settled(made)
            assert full["dropped_frames"] - before["dropped_frames"] == 20 - 8
            for unit in units[25:30]:
                await made.answer(feed(made, unit))
            now = await settled(made)
            assert now["dropped_frames"] - full["dropped_frames"] == 5
            assert now["encoded_frames"] == before["encoded_frames"] + 8
            assert now["fed_frames"] == before["fed_frames"] + 25
            assert len(made.said("session.keyframeRequest")) <= asked + 1, "not for each of them"

            for unit in units[30:40]:
                await made.answer(feed(made, unit))
                await asyncio.sleep(1 / 30)
            sent = (await settled(made))["encoded_frames"]
            assert sent == before["encoded_frames"] + 8 + 10
            video = (await measured(made, lambda stats: stats["video"]["framesDecoded"] + stats["video"]["framesDropped"] >= sent))["video"]
            # It missed nothing: all that was sent could be decoded.
            assert (video["pliCount"], video["packetsLost"], video["framesReceived"]) == (0, 0, sent)

    lab.run(main())
