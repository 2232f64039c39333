// Takes the token and the port, and says at once whether Triptych accepts them.

import { check, settings } from "./triptych.js";
import { show, words } from "./words.js";

const token = document.getElementById("token");
const port = document.getElementById("port");

const set = await settings();
token.value = set.token;
port.value = set.port;
await test();

document.getElementById("pairing").addEventListener("submit", async (event) => {
  event.preventDefault();
  await chrome.storage.local.set({ token: token.value.trim(), port: Number(port.value) });
  await test();
});

async function test() {
  const now = await settings();
  show(words(now.token ? await check(now) : { outcome: "unpaired" }, now));
}
