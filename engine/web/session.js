"use strict";
// The viewer's session: opens it, watches it, mends it. Its state is one word: waiting, connecting, live, reconnecting or ended.

const SILENT_MS = 1500; // without a ping the path is in doubt
const MEND_MS = 2000; // and then a new one is looked for
const MEND_AGAIN_MS = [3000, 4000, 6000, 8000, 12000, 15000];
const REOPEN_MS = [0, 1000, 2000, 4000, 8000];
const BRIDGE_GONE_MS = 60000;
const SOCKET_GONE_MS = 15000; // nothing is heard, and the bridge does not answer either
const CLOSED = "it was closed";
const ORPHANED_MS = 3000; // a session that was closed so shortly before the bridge was lost was closed by its loss
const ASLEEP_MS = 5000; // between two looks: the machine slept, or the browser froze the page

class Session {
  /** `on.state(word, why)`, `on.stream(track)`, `on.leaving()` (the picture will end), `on.geometry({width, height})`,
   *  `on.refused(rejected)`, `on.readout(values)`, `on.able(capabilities)`. */
  constructor(token, on) {
    this.on = on;
    this.word = "waiting";
    this.id = null;
    this.permissions = [];
    this.waits = new Map();
    this.asked = 0;
    this.unanswered = 0; // requests for another path
    this.reopened = 0;
    this.link = new Link(token, {
      open: () => this.greet(),
      event: (name, params) => this.event(name, params),
      lost: (ended) => this.lost(ended),
      shut: () => this.end("the bridge was started again, with another token. Open the address that it tells now"),
    });
    this.watch = setInterval(() => this.look(), 250);
    setInterval(() => this.measure(), 1000);
  }

  start() {
    this.link.connect();
  }

  become(word, why = "") {
    if (this.word === "ended" && word !== "waiting") return;
    if (word === this.word && why === this.why) return;
    [this.word, this.why] = [word, why];
    this.on.state(word, why);
  }

  get able() {
    return this.permissions;
  }

  // Opening

  async greet() {
    this.lostAt = null;
    if (this.word === "ended") return;
    try {
      this.capabilities = await this.link.request("hello", { protocol: 3 });
      this.on.able(this.capabilities);
      await this.open();
    } catch (error) {
      if (error.code !== "socket") this.end(error.message);
    }
  }

  async open() {
    this.drop();
    const { input, clipboard, encode } = this.capabilities;
    if (!encode.codecs.length) return this.end("this engine sends no picture: its WebRTC or its encoder is not installed");
    const here = ["127.0.0.1", "localhost", "[::1]"].includes(location.hostname);
    this.permissions = ["view", ...(input.pointer ? ["control"] : []), ...(clipboard.read || clipboard.write ? ["clipboard"] : [])];
    this.foreign = false;
    this.early = [];
    this.become(this.seen ? "reconnecting" : "connecting", this.seen ? "opening a new session" : "");
    const opened = await this.link.request("session.open", { permissions: this.permissions, max_fps: 60, loopback_tcp: here });
    this.id = opened.sessionId;
    this.on.geometry(opened.geometry.encoded);
    const early = this.early;
    this.early = null;
    this.live = false;
    this.pingAt = performance.now() + 3000; // the first path may take longer than a ping
    this.mends = 0;
    this.peer = new Peer((method, params) => this.signal(method, params), {
      track: (track) => this.on.stream(track),
      message: (message) => this.heard(message),
      closed: () => {},
      failed: () => this.mend(),
    });
    for (const [name, params] of early) this.event(name, params);
  }

  /** Open a session where there is none, after a while that grows. */
  reopen(why) {
    this.drop();
    this.become("reconnecting", why);
    const wait = REOPEN_MS[Math.min(this.reopened++, REOPEN_MS.length - 1)];
    clearTimeout(this.opening);
    this.opening = setTimeout(() => this.link.up && this.open().catch((error) => error.code === "socket" || this.end(error.message)), wait);
  }

  /** Begin again, because somebody asked for it. */
  again() {
    this.become("waiting");
    this.reopened = 0;
    if (this.link.up) this.greet();
    else this.link.connect();
  }

  signal(method, params) {
    return this.link.request(method, { session_id: this.id, ...params }).catch((error) => console.warn(method, error.message));
  }

  event(name, params) {
    if (this.early) return void this.early.push([name, params]);
    if (params.sessionId !== this.id) {
      this.foreign = name === "session.description" || this.foreign;
      if (this.foreign && this.word === "ended" && this.replaceable) {
        this.why = "it was opened somewhere else";
        this.on.state("ended", this.why);
      }
      return;
    }
    if (name === "session.description") this.peer?.offer(params.description);
    else if (name === "session.candidate") this.peer?.candidate(params);
    else if (name === "session.revoked") this.revoked(params.code, params.reason);
    else if (name === "session.capture.stopped") this.on.refused({ code: "capture", message: `The desktop's picture stopped: ${params.reason}` });
    else if (name === "session.state" && params.capture === "ended") {
      if (params.transport === "closed") this.revoked("closed", "");
      else this.finish("the desktop's screen has gone");
    }
  }

  // The control channel

  heard(message) {
    const wait = this.waits.get(message.request ?? message.seq);
    switch (message.kind) {
      case "hello":
        this.on.geometry(message.geometry.encoded ?? message.geometry);
        this.ping();
        break;
      case "ping":
        this.ping();
        break;
      case "clipboard":
        wait?.(message);
        break;
      case "rejected":
        if (this.waits.has(message.seq)) this.waits.get(message.seq)({ error: message.message });
        else this.on.refused(message);
        break;
      case "revoked":
        this.revoked(message.code, message.reason);
    }
  }

  ping() {
    this.pingAt = performance.now();
    this.mends = 0;
    if (this.word === "reconnecting" && this.live) this.become("live");
  }

  /** A picture of this session was shown. */
  shown() {
    this.seen = true;
    if (this.live || !this.peer) return;
    this.live = true;
    this.reopened = 0;
    this.become("live");
  }

  /** What is said while the path is in doubt would arrive much later, and nobody wants that, but of what is let go. */
  say(message) {
    const heard = this.word === "live" || (this.word === "reconnecting" && message.kind === "release_all");
    return heard && this.peer && this.permissions.includes("control") ? this.peer.say(message) : 0;
  }

  get waiting() {
    return this.peer?.waiting ?? 0;
  }

  /** A clipboard message, and its answer: {text, truncated}. Rejects with a sentence. */
  clipboard(message) {
    return new Promise((answer, refuse) => {
      if (!this.permissions.includes("clipboard")) return refuse(new Error("This session has no clipboard."));
      const request = `clipboard-${++this.asked}`;
      let seq = 0;
      try {
        seq = this.peer?.say({ ...message, request });
      } catch {
        return refuse(new Error("This is too much text for the desktop's clipboard, which takes 256 KiB."));
      }
      if (!seq) return refuse(new Error("The desktop is not connected."));
      const settle = (reply) => {
        clearTimeout(timer);
        this.waits.delete(request);
        this.waits.delete(seq);
        if (reply.error) refuse(new Error(reply.error));
        else answer(reply);
      };
      const timer = setTimeout(() => settle({ error: "The desktop's clipboard did not answer." }), 5000);
      this.waits.set(request, settle);
      this.waits.set(seq, settle);
    });
  }

  // Watching

  look() {
    const now = performance.now();
    const slept = now - (this.lookedAt ?? now);
    this.lookedAt = now;
    if (slept > ASLEEP_MS) {
      // What was not heard meanwhile says nothing of the path.
      if (this.lostAt) this.lostAt += slept;
      this.pingAt = Math.max(this.pingAt, now - SILENT_MS);
      this.link.hurry();
    }
    if (this.lostAt && this.word !== "ended" && now - this.lostAt > BRIDGE_GONE_MS) this.end("the bridge is not reached any more");
    if (!this.peer || this.word === "ended") return;
    const silent = now - this.pingAt;
    if (silent > SOCKET_GONE_MS && this.unanswered) return this.link.gone(this.link.socket);
    if (silent > SILENT_MS && this.word === "live") this.become("reconnecting", "nothing is heard from the desktop");
    const due = this.mends ? this.mendAt : this.pingAt + MEND_MS;
    if (silent > MEND_MS && now > due) this.mend();
  }

  /** Ask for another path. */
  mend() {
    if (!this.peer || !this.link.up || performance.now() < (this.mendAt ?? 0)) return;
    this.mendAt = performance.now() + MEND_AGAIN_MS[Math.min(this.mends++, MEND_AGAIN_MS.length - 1)];
    const answered = () => this.unanswered--;
    this.unanswered++;
    this.signal("session.restart_ice", {}).then(answered);
  }

  lost(ended) {
    this.lostAt ??= performance.now();
    this.drop();
    const closed = this.word === "ended" && this.why === CLOSED;
    if (closed && ended) this.on.state("ended", (this.why = "the bridge has ended"));
    // An engine whose bridge was killed closes its session, and the channel may tell that sooner than the socket.
    const orphaned = closed && !ended && this.lostAt - this.closedAt < ORPHANED_MS;
    if (this.word !== "ended" || orphaned) this.become(this.seen ? "reconnecting" : "waiting", "the bridge is not reached");
  }

  revoked(code, reason) {
    this.drop();
    if (code === "transport") return this.reopen(reason);
    if (code === "closed" && this.word === "reconnecting" && !this.link.up) return; // closed by the loss of its bridge
    this.replaceable = code === "closed";
    this.closedAt = performance.now();
    this.end(this.replaceable ? (this.foreign ? "it was opened somewhere else" : CLOSED) : reason);
  }

  end(why) {
    this.drop();
    this.become("ended", why);
  }

  /** End it, and give it back. */
  finish(why) {
    const id = this.id;
    this.end(why);
    if (id && this.link.up) this.link.request("session.close", { session_id: id }).catch(() => {});
  }

  drop() {
    clearTimeout(this.opening);
    this.early = null;
    if (this.peer) this.on.leaving();
    this.peer?.close();
    this.peer = this.id = null;
    this.live = false;
    this.mendAt = 0;
    for (const settle of new Set(this.waits.values())) settle({ error: "The connection was lost." });
  }

  async measure() {
    const peer = this.peer;
    if (!peer || this.word !== "live" || document.hidden) return;
    const now = await peer.measure();
    if (peer !== this.peer) return;
    const before = this.measured?.peer === peer ? this.measured : null;
    this.measured = { ...now, peer };
    if (!before) return;
    const seconds = (now.at - before.at) / 1000;
    this.on.readout({ rtt: now.rtt, kbps: ((now.bytes - before.bytes) * 8) / 1000 / seconds, fps: (now.frames - before.frames) / seconds });
  }
}
