"use strict";
// The bridge's socket: requests and their answers, events, and coming back by itself after a loss.

const PATIENCE_MS = 6000;

class Refused extends Error {
  constructor(code, message) {
    super(message);
    this.code = code;
  }
}

class Link {
  /** `on.open()` each time there is a socket, `on.event(name, params)` for every event, `on.lost(ended)` each time there is none
   *  any more (`ended`: the bridge has said that it ends),
   *  `on.shut()` when the bridge is there and does not let this page in: it was started again, with another token. */
  constructor(token, on) {
    this.token = token;
    this.on = on;
    this.asked = new Map();
    this.last = 0;
    this.tries = 0;
    this.socket = null;
  }

  get up() {
    return this.socket?.readyState === WebSocket.OPEN;
  }

  connect() {
    clearTimeout(this.timer);
    const scheme = location.protocol === "https:" ? "wss" : "ws";
    const socket = (this.socket = new WebSocket(`${scheme}://${location.host}/desktop?token=${encodeURIComponent(this.token)}`));
    // A browser waits for minutes where nothing answers at all.
    const patience = setTimeout(() => this.gone(socket), PATIENCE_MS);
    socket.onopen = () => {
      clearTimeout(patience);
      this.tries = 0;
      this.on.open();
    };
    socket.onmessage = ({ data }) => this.take(JSON.parse(data));
    socket.onclose = ({ code }) => {
      clearTimeout(patience);
      this.gone(socket, code === 1001);
    };
  }

  /** This socket is of no use any more; another is tried, after a while that grows. */
  gone(socket, ended = false) {
    if (socket !== this.socket || !socket) return;
    this.socket = null;
    socket.close();
    for (const { refuse } of this.asked.values()) refuse(new Refused("socket", "the bridge is not reached"));
    this.asked.clear();
    this.tries += 1;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.connect(), Math.min(2500, 250 * 2 ** this.tries));
    this.on.lost(ended);
    if (this.tries > 1) this.ask();
  }

  /** Try at once: there is a network again, or somebody looks again. */
  hurry() {
    if (!this.socket && this.tries) this.connect();
  }

  /** A socket that is refused does not say why: ask for the page itself. */
  async ask() {
    const answer = await fetch(location.pathname + location.search, { cache: "no-store" }).catch(() => null);
    if (answer && [401, 403, 404].includes(answer.status) && !this.up) {
      clearTimeout(this.timer);
      this.on.shut();
    }
  }

  close() {
    clearTimeout(this.timer);
    const socket = this.socket;
    this.socket = null;
    socket?.close();
  }

  request(method, params) {
    if (!this.up) return Promise.reject(new Refused("socket", "the bridge is not reached"));
    const id = ++this.last;
    return new Promise((answer, refuse) => {
      this.asked.set(id, { answer, refuse });
      this.socket.send(JSON.stringify({ id, method, params }));
    });
  }

  take(message) {
    if (message.event) return this.on.event(message.event, message.params);
    const asked = this.asked.get(message.id);
    this.asked.delete(message.id);
    if (message.error) return asked?.refuse(new Refused(message.error.code, message.error.message));
    asked?.answer(message.result);
  }
}
