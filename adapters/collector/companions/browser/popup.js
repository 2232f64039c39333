// Says whether this browser is recorded and to where, and lets a person pause it.

import { check, settings } from "./triptych.js";
import { show, words } from "./words.js";

const paused = document.getElementById("paused");

await refresh();

paused.addEventListener("change", async () => {
  await chrome.storage.local.set({ paused: paused.checked });
  await refresh();
});
document.getElementById("settings").addEventListener("click", () => {
  chrome.runtime.openOptionsPage();
  window.close();
});

async function refresh() {
  const set = await settings();
  paused.checked = set.paused;
  if (!set.token) return show(words({ outcome: "unpaired" }, set));
  const found = await check(set);
  const { last } = await chrome.storage.session.get("last");
  // What the last report met says more than that somebody listens.
  show(words(found.outcome === "ready" && last?.outcome === "withheld" ? last : found, set));
}
