"""A client that is not ours, with the message flow of the public reference page: it drives the desktop through the bridge."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from bridge_kit import bridged
from gtk_kit import GtkForm
from triptych.adapters.display import PrivateDisplay
from webrtc_kit import LIVE, Lab

pytestmark = LIVE

CLIENT = """async () => {
  document.body.innerHTML = '<video autoplay muted playsinline></video>';
  const video = document.querySelector('video'), asked = new Map();
  const token = new URLSearchParams(location.search).get('token');
  const socket = new WebSocket(`ws://${location.host}/desktop?token=${encodeURIComponent(token)}`);
  const all = window.client = {acks: [], rejected: [], clipboards: {}, revoked: null, state: 'opening', seq: 0};
  let last = 0, session, described = false;
  const held = [];
  await new Promise((opened, failed) => { socket.onopen = opened; socket.onerror = failed; });
  const request = all.request = (method, params) => new Promise((answer, refuse) => {
    const id = ++last;
    const timer = setTimeout(() => refuse(new Error('timeout')), 30000);
    asked.set(id, (message) => { clearTimeout(timer); message.error ? refuse(new Error(message.error.code)) : answer(message.result); });
    socket.send(JSON.stringify({id, method, params}));
  });
  const pc = new RTCPeerConnection();
  pc.ontrack = (event) => {
    video.srcObject = event.streams[0];  // the stream has a name of its own
    video.requestVideoFrameCallback(() => { all.state = 'live'; });
  };
  pc.ondatachannel = ({channel}) => {
    all.channel = channel;
    channel.onmessage = ({data}) => {
      const message = JSON.parse(data);
      if (message.kind === 'ack') all.acks.push(message.seq);
      else if (message.kind === 'rejected') all.rejected.push([message.seq, message.code]);
      else if (message.kind === 'clipboard') all.clipboards[message.request] = message;
      else if (message.kind === 'hello') all.hello = message;
      else if (message.kind === 'revoked') all.revoked = message;
    };
  };
  const ids = () => ({session_id: session.sessionId, generation: session.generation});
  pc.onicecandidate = ({candidate}) => candidate && request('session.candidate',
    {...ids(), candidate: candidate.candidate, sdp_mid: candidate.sdpMid, sdp_m_line_index: candidate.sdpMLineIndex}).catch(() => {});
  const early = [];
  const event = async ({event: name, params}) => {
    if (!session) return early.push({event: name, params});
    if (name === 'session.description') {
      await pc.setRemoteDescription(params.description);
      described = true;
      for (const candidate of held.splice(0)) await pc.addIceCandidate(candidate);
      await pc.setLocalDescription(await pc.createAnswer());
      await request('session.description', {...ids(), description: {type: 'answer', sdp: pc.localDescription.sdp}});
    } else if (name === 'session.candidate') {
      const candidate = {candidate: params.candidate, sdpMid: params.sdpMid, sdpMLineIndex: params.sdpMLineIndex};
      described ? await pc.addIceCandidate(candidate) : held.push(candidate);
    }
  };
  socket.onmessage = ({data}) => {
    const message = JSON.parse(data);
    if (message.id !== undefined) { asked.get(message.id)?.(message); asked.delete(message.id); } else if (message.event) event(message);
  };
  all.capabilities = await request('capabilities', {});
  const permissions = ['view', 'control', ...(all.capabilities.clipboard.read ? ['clipboard'] : [])];
  session = all.session = await request('session.open', {permissions});
  for (const message of early.splice(0)) await event(message);
  const say = all.say = (message) => { all.channel.send(JSON.stringify({...message, seq: ++all.seq})); return all.seq; };
  all.tap = (x, y) => ['move', 'down', 'up'].map((phase) => say({kind: 'pointer', phase, x, y, button: 1}));
  all.key = (name) => [true, false].map((down) => say({kind: 'key', name, down, modifiers: []}));
}"""


def test_a_client_of_others_sees_taps_types_copies_and_is_told_the_end(
    lab: Lab, bare_display: PrivateDisplay, gtk_program: Callable[..., GtkForm]
) -> None:
    form = gtk_program(bare_display)

    async def work() -> None:
        async with bridged(bare_display) as live:
            page = await lab.browser.new_page()
            try:
                # A page of the same origin that is not the viewer: what the bridge says of an address that it does not serve.
                await page.goto(f"{live.address}/nothing?token={live.token}")
                await page.evaluate(CLIENT)
                await page.wait_for_function("() => client.state === 'live' && client.hello", polling=50)
                size = {"width": 1280, "height": 800}
                assert (
                    await page.evaluate("client.hello.geometry.encoded") == await page.evaluate("client.session.geometry.encoded") == size
                )

                async def report(event: str, **fields: Any) -> None:
                    await asyncio.to_thread(form.wait_for, event, **fields)

                await page.evaluate("([x, y]) => client.tap(x, y)", list(form.centre("Name")))
                await page.evaluate("client.say({kind: 'text', text: 'by another client'})")
                await report("text", value="by another client")
                await page.evaluate("client.key('Backspace'), 0")
                await report("text", value="by another clien")
                await page.evaluate("client.say({kind: 'clipboard_write', request: 'w1', text: 'copied'})")
                await page.evaluate("client.say({kind: 'clipboard_read', request: 'r1'})")
                await page.wait_for_function("() => client.clipboards.r1", polling=50)
                assert await page.evaluate("[client.clipboards.r1.text, client.clipboards.r1.truncated]") == ["copied", False]
                await page.evaluate("client.say({kind: 'wheel', dx: 0, dy: 1})")
                await page.evaluate("([x, y]) => client.tap(x, y)", list(form.centre("Save")))
                await report("click", count=1)
                await page.wait_for_function("() => client.acks.at(-1) === client.seq", polling=50)
                assert await page.evaluate("client.rejected") == []
                closing = "client.request('session.close', {session_id: client.session.sessionId, generation: 1})"
                assert await page.evaluate(closing) == {"closed": True}
                await page.wait_for_function("() => client.revoked?.code === 'closed'", polling=50)
            finally:
                await page.close()

    lab.run(work())
