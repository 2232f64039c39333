"use strict";
// Puts the parts together: what the tools do, and what the page says.

const $ = (id) => document.getElementById(id);
const WORDS = { waiting: "waiting for the desktop", connecting: "connecting", live: "live", reconnecting: "reconnecting", ended: "ended" };
const TITLES = { waiting: "Waiting for the desktop", connecting: "Connecting", reconnecting: "Reconnecting", ended: "The session has ended" };
const TEXTS = { waiting: "Speaking with the engine.", connecting: "Looking for a path, and waiting for the first picture." };

const video = $("picture");
const view = new View($("stage"), video, $("still"));
const token = new URLSearchParams(location.search).get("token") ?? "";
const touchOnly = matchMedia("(hover: none) and (pointer: coarse)").matches;

function toast(text) {
  const line = Object.assign(document.createElement("p"), { textContent: text });
  for (const other of [...$("toasts").children]) if (other.textContent === text) other.remove();
  $("toasts").append(line);
  while ($("toasts").children.length > 3) $("toasts").firstChild.remove();
  setTimeout(() => line.remove(), 4500);
}

const session = new Session(token, {
  state(word, why) {
    document.body.dataset.state = word;
    $("word").textContent = word === "ended" ? `ended: ${why}` : WORDS[word];
    $("state").title = why;
    $("card-title").textContent = TITLES[word] ?? "";
    $("card-text").textContent = word === "ended" ? sentence(why) : why ? sentence(why) : TEXTS[word] ?? "";
    $("again").hidden = word !== "ended";
    $("held").hidden = !(word === "reconnecting" && document.body.classList.contains("seen"));
    $("held-word").textContent = why ? `reconnecting: ${why}` : "reconnecting";
    document.title = `${WORDS[word]} · Desktop`;
    if (word !== "live") $("readout").textContent = "";
    if (word !== "live") {
      keyboard.letGo();
      pointer.letGo();
    }
    enable();
    if (word === "ended" && [document.body, $("text"), $("end")].includes(document.activeElement)) $("again").focus({ preventScroll: true });
  },
  stream(track) {
    video.srcObject = new MediaStream([track]);
    video.play().catch(() => {});
    firstFrame(video, () => {
      $("still").hidden = true;
      document.body.classList.add("seen");
      session.shown();
    });
  },
  leaving() {
    // A track that ends turns black; the last picture is held until there is another one.
    if (!document.body.classList.contains("seen") || !$("still").hidden || !video.videoWidth) return;
    const still = $("still");
    [still.width, still.height] = [video.videoWidth, video.videoHeight];
    still.getContext("2d").drawImage(video, 0, 0);
    still.hidden = false;
  },
  geometry(size) {
    view.geometry = size;
    surface = `${size.width}×${size.height}`;
  },
  able(capabilities) {
    panel.use({ en: "us" }[capabilities.input.layout] ?? capabilities.input.layout);
    enable();
  },
  refused({ code, message }) {
    if (code === "coordinates" || code === "session") return;
    toast(sentence(message));
  },
  readout({ rtt, kbps, fps }) {
    const rate = kbps >= 1000 ? `${(kbps / 1000).toFixed(1)} Mbit/s` : `${Math.round(kbps)} kbit/s`;
    const parts = [rtt === null ? "" : `${Math.round(rtt * 1000)} ms`, rate];
    if (innerWidth > 720) parts.push(`${Math.round(fps)} fps`, surface);
    $("readout").textContent = parts.filter(Boolean).join(" · ");
  },
});
let surface = "";

function firstFrame(element, shown) {
  if (element.requestVideoFrameCallback) element.requestVideoFrameCallback(shown);
  else element.addEventListener("timeupdate", shown, { once: true });
}

const clipboard = new Clipboard(session, toast);
const keyboard = new Keyboard(session, $("text"), {
  pastes: () => session.able.includes("clipboard"),
  paste: (text) => clipboard.give(text),
  leave: () => $("fit").focus(),
  sticky: () => (panel.board.hidden ? panel.show() : panel.draw()),
});
const panel = new Panel(keyboard, $("row"), $("board"), "us");
const pointer = new Pointer(session, view, keyboard, (event) => {
  document.body.classList.remove("tools-out");
  if (event.pointerType !== "touch" || document.activeElement === $("text")) focusDesktop();
});

function focusDesktop() {
  $("text").focus({ preventScroll: true });
}

function enable() {
  const live = session.word === "live";
  $("copy").disabled = $("paste").disabled = !(live && session.able.includes("clipboard"));
  $("keys").disabled = !session.able.includes("control");
  $("end").disabled = session.word === "ended";
}

// The tools. Those that are for the desktop give it the focus back.

function fit(fitted) {
  view.fit(fitted);
  $("fit").setAttribute("aria-pressed", String(fitted));
  $("one").setAttribute("aria-pressed", String(!fitted));
}
$("fit").onclick = () => fit(true);
$("one").onclick = () => fit(false);
$("keys").onclick = () => {
  const shown = $("panel").hidden;
  $("panel").hidden = !shown;
  $("keys").setAttribute("aria-expanded", String(shown));
  // A touch device brings its own keyboard; elsewhere the keyboard on the screen is the one wanted.
  $("text").inputMode = shown && touchOnly ? "text" : "none";
  if (!touchOnly) panel.open(shown);
  if (shown) focusDesktop();
  else if (touchOnly) $("text").blur();
};
$("copy").onclick = () => clipboard.fetch().then(backToDesktop);
$("paste").onclick = () => clipboard.send().then(backToDesktop);
function backToDesktop() {
  if (!touchOnly && !document.querySelector("dialog[open]")) focusDesktop();
}
$("help").onclick = () => $("guide").showModal();
$("end").onclick = () => session.finish("you ended it");
$("again").onclick = () => {
  session.again();
  if (!touchOnly) focusDesktop();
};
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && event.target.closest("#bar, #panel, #handle") && !document.querySelector("dialog[open]")) focusDesktop();
});

$("full").hidden = !document.documentElement.requestFullscreen;
$("full").onclick = async () => {
  if (document.fullscreenElement) return document.exitFullscreen();
  try {
    await document.documentElement.requestFullscreen({ navigationUI: "hide" });
    await navigator.keyboard?.lock?.(["Escape", "Tab", "AltLeft", "MetaLeft"]).catch(() => {});
    focusDesktop();
  } catch {
    toast("This browser refuses full screen here.");
  }
};
document.addEventListener("fullscreenchange", () => {
  const full = Boolean(document.fullscreenElement);
  document.body.classList.toggle("full", full);
  document.body.classList.remove("tools-out");
  $("full").setAttribute("aria-pressed", String(full));
  if (!full) navigator.keyboard?.unlock?.();
});
$("handle").onclick = () => document.body.classList.toggle("tools-out");

// The window

window.addEventListener("blur", () => (keyboard.letGo(), pointer.letGo()));
document.addEventListener("visibilitychange", () => document.hidden && (keyboard.letGo(), pointer.letGo()));
document.addEventListener("visibilitychange", () => document.hidden || session.link.hurry());
window.addEventListener("online", () => session.link.hurry());
window.addEventListener("pagehide", () => session.link.close());
window.addEventListener("pageshow", (event) => event.persisted && session.again());
visualViewport?.addEventListener("resize", () => {
  // A touch keyboard covers the page's foot where the browser does not make the page smaller.
  document.body.style.setProperty("--height", visualViewport.scale === 1 ? `${visualViewport.height}px` : "100dvh");
  scrollTo(0, 0);
});

enable();
session.start();
if (!touchOnly) focusDesktop();
