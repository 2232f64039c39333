// Reports the page that a person looks at, whenever that changes. One session lasts as long as this worker: the sequence restarts with it.

import { pageOf } from "./page.js";
import { report, settings } from "./triptych.js";

const SETTLE_MS = 250; // tabs that are only passed through are nobody's work

const session = `browser-${crypto.randomUUID()}`;
let seq = 0;
let last = ""; // the page that was reported last, so that it is not reported again while it stays in front
let settling;

chrome.tabs.onActivated.addListener(look);
chrome.tabs.onUpdated.addListener((id, change, tab) => {
  if (change.status === "complete" && tab.active) look();
});
chrome.windows.onFocusChanged.addListener((window) => {
  if (window === chrome.windows.WINDOW_ID_NONE) last = ""; // who comes back from elsewhere starts anew
  else look();
});
chrome.storage.onChanged.addListener((changes, area) => {
  if (area !== "local") return;
  last = "";
  look();
});
chrome.runtime.onStartup.addListener(look);
chrome.runtime.onInstalled.addListener(look);

function look() {
  clearTimeout(settling);
  settling = setTimeout(tell, SETTLE_MS);
}

async function tell() {
  const set = await settings();
  if (!set.token) return show({ outcome: "unpaired" });
  if (set.paused) return show({ outcome: "paused" });
  const page = pageOf(await inFront());
  const here = page && page.origin + page.path;
  if (!page || here === last) return;
  last = here;
  seq += 1;
  const payload = { source: "browser", ...page, incognito: false, browserSession: session, seq, observedAtMs: Date.now() };
  const said = await report(payload, set);
  if (said.outcome !== "recorded") {
    last = ""; // it may be taken the next time
    console.debug("triptych:", said.outcome, said.reason ?? "");
  }
  await show(said);
}

/** The active tab of the window that has the focus; undefined when a person works elsewhere. */
async function inFront() {
  const [tab] = await chrome.tabs.query({ active: true, lastFocusedWindow: true });
  if (!tab) return undefined;
  const window = await chrome.windows.get(tab.windowId);
  return window.focused ? tab : undefined;
}

const BADGES = { recorded: "", withheld: "", paused: "II" };

/** Keep what was answered last for the popup, in memory only and without the page; a mark on the button says when it was no good. */
async function show(said) {
  await chrome.storage.session.set({ last: { ...said, at: Date.now() } });
  await chrome.action.setBadgeText({ text: BADGES[said.outcome] ?? "!" });
  await chrome.action.setBadgeBackgroundColor({ color: said.outcome === "paused" ? "#6b7280" : "#b45309" });
}
