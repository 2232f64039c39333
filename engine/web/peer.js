"use strict";
// The peer connection of one session: it answers the engine's offers, and carries the control channel.

class Peer {
  /** `send(method, params)` signals; `on.track(track)`, `on.message(message)`, `on.closed()` (the channel), `on.failed()` (no path works). */
  constructor(send, on) {
    this.on = on;
    this.seq = 0;
    this.described = false;
    this.early = [];
    this.turn = Promise.resolve();
    const pc = (this.pc = new RTCPeerConnection({ iceServers: [] }));
    this.send = send;
    pc.onicecandidate = ({ candidate }) =>
      candidate?.candidate &&
      send("session.candidate", { candidate: candidate.candidate, sdp_mid: candidate.sdpMid, sdp_m_line_index: candidate.sdpMLineIndex });
    pc.ontrack = ({ track, receiver }) => {
      if ("jitterBufferTarget" in receiver) receiver.jitterBufferTarget = 0;
      on.track(track);
    };
    pc.ondatachannel = ({ channel }) => {
      if (channel.label !== "control") return;
      this.channel = channel;
      channel.onmessage = ({ data }) => on.message(JSON.parse(data));
      channel.onclose = () => on.closed();
    };
    pc.onconnectionstatechange = () => pc.connectionState === "failed" && on.failed();
  }

  /** An offer, the first or one with a new path. What is signalled is taken in order. */
  offer(description) {
    this.turn = this.turn.then(async () => {
      await this.pc.setRemoteDescription(description);
      this.described = true;
      for (const candidate of this.early.splice(0)) await this.add(candidate);
      await this.pc.setLocalDescription(await this.pc.createAnswer());
      await this.send("session.description", { description: { type: "answer", sdp: this.pc.localDescription.sdp } });
    }).catch((error) => console.warn("offer", error));
  }

  candidate({ candidate, sdpMid, sdpMLineIndex }) {
    const init = { candidate, sdpMid, sdpMLineIndex };
    this.turn = this.turn.then(() => (this.described ? this.add(init) : void this.early.push(init)));
  }

  add(init) {
    // One that this browser cannot use is no reason to give up: there are others.
    return this.pc.addIceCandidate(init).catch((error) => console.warn("candidate", error));
  }

  get ready() {
    return this.channel?.readyState === "open";
  }

  get waiting() {
    return this.channel?.bufferedAmount ?? 0;
  }

  /** Say something on the control channel; its number, 0 when there is no channel. */
  say(message) {
    if (!this.ready) return 0;
    this.channel.send(JSON.stringify({ ...message, seq: ++this.seq }));
    return this.seq;
  }

  /** Round trip in seconds, and what was received so far. */
  async measure() {
    const all = await this.pc.getStats();
    const found = { rtt: null, bytes: 0, frames: 0, at: performance.now() };
    all.forEach((item) => {
      if (item.type === "transport" && item.selectedCandidatePairId) found.rtt = all.get(item.selectedCandidatePairId)?.currentRoundTripTime ?? null;
      if (item.type === "inbound-rtp" && item.kind === "video") [found.bytes, found.frames] = [item.bytesReceived, item.framesDecoded];
    });
    return found;
  }

  close() {
    this.on = { track() {}, message() {}, closed() {}, failed() {} };
    this.pc.onconnectionstatechange = this.pc.onicecandidate = null;
    this.pc.close();
  }
}
