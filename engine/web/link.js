"use strict";
// The bridge's socket: requests and their answers, events, and coming back by itself after a loss.

class Refused extends Error {
  constructor(code, message) {
    super(message);
    this.code = code;
  }
}

class Link {
  /** `on.open()` each time there is a socket, `on.event(name, params)` for every event, `on.lost(tries)` each time there is none. */
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
    socket.onopen = () => {
      this.tries = 0;
      this.on.open();
    };
    socket.onmessage = ({ data }) => this.take(JSON.parse(data));
    socket.onclose = () => {
      if (socket !== this.socket) return;
      this.socket = null;
      for (const { refuse } of this.asked.values()) refuse(new Refused("socket", "the bridge is not reached"));
      this.asked.clear();
      this.tries += 1;
      this.timer = setTimeout(() => this.connect(), Math.min(8000, 250 * 2 ** this.tries));
      this.on.lost(this.tries);
    };
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
