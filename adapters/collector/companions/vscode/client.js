// Sends one report to the Triptych on this computer. It never throws, and never waits longer than three seconds.

"use strict";

const http = require("node:http");

const TIMEOUT_MS = 3000;
const MAX_ANSWER = 4096;

/** `{status, body}`; status 0 when nobody answers. */
function send(payload, { token, port }) {
  return new Promise((resolve) => {
    const nobody = () => resolve({ status: 0, body: {} });
    const body = Buffer.from(JSON.stringify(payload));
    const request = http.request(
      {
        host: "127.0.0.1",
        port,
        method: "POST",
        path: "/companion/observation",
        headers: { "content-type": "application/json", "content-length": body.length, "x-companion-token": token },
        agent: false,
        signal: AbortSignal.timeout(TIMEOUT_MS),
      },
      (response) => {
        let text = "";
        response.setEncoding("utf8");
        response.on("data", (chunk) => {
          text += chunk;
          if (text.length > MAX_ANSWER) request.destroy();
        });
        response.on("error", nobody);
        response.on("end", () => {
          try {
            resolve({ status: response.statusCode, body: JSON.parse(text) });
          } catch {
            nobody();
          }
        });
      },
    );
    request.on("error", nobody);
    request.end(body);
  });
}

module.exports = { send };
