"use strict";
// Keys of every kind: a keyboard, an input method, a touch keyboard, and the one on the screen with its sticky modifiers.

const PAD = "\u200b\u200b"; // something to delete: a touch keyboard tells a Backspace only where there is text

class Keyboard {
  /** `on.paste(text)` gives the desktop's clipboard that text, and promises whether it has it; `on.leave()` gives the focus to the tools. */
  constructor(session, field, on) {
    [this.session, this.field, this.on] = [session, field, on];
    this.held = new Set(); // modifiers pressed on the desktop for one that is down here
    this.down = new Map(); // code of a key that is down here → what was sent for it
    this.shift = false;
    this.sticky = new Map(); // name → "once" or "locked"
    this.around = []; // modifiers pressed about a click
    this.jobs = null; // what waits for a paste that is under way
    field.addEventListener("keydown", (event) => this.pressed(event));
    field.addEventListener("keyup", (event) => this.lifted(event));
    field.addEventListener("beforeinput", (event) => this.input(event));
    field.addEventListener("input", (event) => this.composing(event));
    field.addEventListener("compositionstart", () => (this.composed = ""));
    field.addEventListener("compositionend", (event) => this.compose(event.data, true));
    field.addEventListener("paste", (event) => this.pasted(event));
    field.addEventListener("blur", () => this.letGo());
    this.clear();
  }

  key(what, down, modifiers = []) {
    return this.say({ kind: "key", ...what, down, modifiers });
  }

  /** Say it, in its turn: what is typed after a paste does not overtake it. */
  say(message) {
    if (!this.jobs) return this.session.say(message);
    this.jobs.push(() => this.session.say(message));
    return 1;
  }

  tap(what, modifiers = []) {
    const all = [...new Set([...modifiers, ...this.sticky.keys()])];
    this.key(what, true, all);
    this.key(what, false, all);
    this.used();
  }

  type(text) {
    if (!text) return;
    if (this.sticky.size && [...text].length === 1) return this.tap({ character: text });
    for (let rest = [...text]; rest.length; ) this.say({ kind: "text", text: rest.splice(0, 1000).join("") });
  }

  // A keyboard

  pressed(event) {
    if (event.isComposing || event.keyCode === 229) return;
    this.shift = event.shiftKey;
    if (event.ctrlKey && event.altKey && event.shiftKey && ["Control", "Alt", "Shift"].includes(event.key)) {
      this.letGo();
      return this.on.leave();
    }
    // Where there is no desktop to drive, the browser keeps its own keys: Tab, and reload.
    if (!["live", "reconnecting"].includes(this.session.word)) return;
    if (event.key === "AltGraph") {
      this.free("ControlLeft"); // Windows presses it along
      return event.preventDefault();
    }
    if (event.code in HELD && !(APPLE && event.key === "Meta")) {
      event.preventDefault();
      if (!event.repeat && this.key({ name: HELD[event.code] }, true)) this.held.add(event.code);
      return;
    }
    if (event.repeat && this.down.has(event.code)) return event.preventDefault(); // the desktop repeats by itself
    const what = this.what(event);
    if (!what) return;
    const modifiers = this.modifiers(event, what);
    if (this.isPaste(event)) {
      this.chord = { what, modifiers };
      return; // the browser tells of a paste next
    }
    event.preventDefault();
    const all = [...new Set([...modifiers, ...this.sticky.keys()])];
    this.key(what, true, all);
    this.used();
    // With Command down, a Mac never says that a key was lifted.
    if (APPLE && event.metaKey) this.key(what, false, all);
    else this.down.set(event.code, { what, all });
  }

  lifted(event) {
    this.shift = event.shiftKey;
    if (this.held.has(event.code)) {
      event.preventDefault();
      return this.free(event.code);
    }
    const sent = this.down.get(event.code);
    if (!sent) return;
    event.preventDefault();
    this.down.delete(event.code);
    this.key(sent.what, false, sent.all);
  }

  what(event) {
    if (NAMED.has(event.key)) return { name: event.key };
    if (event.code === "Space" && (event.ctrlKey || event.altKey || event.metaKey)) return { name: "Space" };
    return [...event.key].length === 1 ? { character: event.key } : null;
  }

  /** What a key is pressed with. The Shift of a character is the layout's: on the desktop it may need another. */
  modifiers(event, what) {
    const found = [];
    const third = event.getModifierState("AltGraph") || (APPLE && event.altKey && what.character && what.character > "~");
    if (event.ctrlKey && !third) found.push("Control");
    if (event.altKey && !third) found.push("Alt");
    if (event.metaKey) found.push(APPLE ? "Control" : "Meta");
    if (event.shiftKey && (what.name || /^[a-z]$/.test(what.character))) found.push("Shift");
    return found;
  }

  isPaste(event) {
    return this.on.pastes() && event.key.toLowerCase() === "v" && !event.altKey && (APPLE ? event.metaKey : event.ctrlKey && !event.metaKey);
  }

  pasted(event) {
    event.preventDefault();
    const chord = this.chord ?? { what: { character: "v" }, modifiers: ["Control"] };
    this.chord = null;
    const text = event.clipboardData?.getData("text/plain") ?? "";
    const first = !this.jobs;
    this.jobs ??= [];
    this.jobs.push(async () => {
      if (await this.on.paste(text)) return;
      this.jobs.splice(0, 2); // the key that would paste what was there before
    });
    this.tap(chord.what, chord.modifiers);
    if (first) this.work();
  }

  async work() {
    while (this.jobs.length) await this.jobs.shift()();
    this.jobs = null;
  }

  // An input method, a touch keyboard

  input(event) {
    if (event.isComposing || event.inputType === "insertCompositionText") return;
    event.preventDefault();
    const named = {
      insertLineBreak: "Enter", insertParagraph: "Enter", deleteContentBackward: "Backspace", deleteContentForward: "Delete",
      deleteWordBackward: "Backspace",
    }[event.inputType];
    if (named) this.tap({ name: named });
    else if (event.data) this.type(event.data);
    this.clear();
  }

  composing(event) {
    // A touch keyboard composes each word: letters are sent as they come. An input method for Chinese or Japanese is waited for.
    if (event.isComposing && ANDROID && /^[\x20-\x7e\u00a0-\u024f]*$/.test(event.data ?? "")) this.compose(event.data ?? "", false);
  }

  compose(text, done) {
    const before = [...(this.composed ?? "")];
    const now = [...text];
    let same = 0;
    while (same < before.length && before[same] === now[same]) same++;
    for (let left = before.length - same; left > 0; left--) this.tap({ name: "Backspace" });
    this.type(now.slice(same).join(""));
    this.composed = done ? "" : text;
    if (done) setTimeout(() => this.clear());
  }

  clear() {
    this.field.value = PAD;
    this.field.setSelectionRange(PAD.length, PAD.length);
  }

  // Modifiers about a click

  /** Press, before a click or a wheel turn, what is held down here and not yet there. */
  hold() {
    for (const name of new Set([...this.sticky.keys(), ...(this.shift ? ["Shift"] : [])])) {
      if (!this.around.includes(name) && this.key({ name }, true)) this.around.push(name);
    }
  }

  /** A key or click has had its modifiers: those of one time go. */
  used() {
    for (const name of this.around.splice(0)) this.key({ name }, false);
    let changed = false;
    for (const [name, how] of this.sticky) if (how === "once") changed = this.sticky.delete(name);
    if (changed) this.on.sticky();
  }

  /** Off, for the next key, locked, off. */
  toggle(name) {
    const next = { undefined: "once", once: "locked" }[this.sticky.get(name)];
    if (next) this.sticky.set(name, next);
    else this.sticky.delete(name);
    this.on.sticky();
  }

  /** Whether a Control key is down on the desktop. */
  get controls() {
    return this.held.has("ControlLeft") || this.held.has("ControlRight") || this.sticky.has("Control");
  }

  free(code) {
    if (this.held.delete(code)) this.key({ name: HELD[code] }, false);
  }

  /** Nothing stays pressed. */
  letGo() {
    const any = this.held.size || this.down.size || this.around.length;
    this.held.clear();
    this.down.clear();
    this.around = [];
    this.shift = false;
    if (any) this.say({ kind: "release_all" });
  }
}

/** The row of keys and the keyboard on the screen. */
class Panel {
  constructor(keyboard, row, board, layout) {
    [this.keyboard, this.row, this.board] = [keyboard, row, board];
    this.layout = layout in LAYOUTS ? layout : "us";
    for (const entry of ROW) {
      if (entry) row.append(this.button(entry[0], entry[2], () => this.press({ name: entry[1] }), STICKY.includes(entry[1]) ? entry[1] : null));
      else row.append(Object.assign(document.createElement("span"), { className: "gap" }));
    }
    const toggle = this.button("abc", "Keyboard on the screen", () => this.open(board.hidden));
    const choice = Object.assign(document.createElement("select"), { title: "Layout of the keyboard on the screen" });
    choice.setAttribute("aria-label", choice.title);
    for (const [name, [title]] of Object.entries(LAYOUTS)) choice.append(new Option(title, name, false, name === this.layout));
    choice.onchange = () => {
      this.layout = choice.value;
      this.draw();
    };
    this.choice = choice;
    this.toggle = toggle;
    toggle.setAttribute("aria-pressed", "false");
    row.prepend(toggle, choice, Object.assign(document.createElement("span"), { className: "gap" }));
    choice.hidden = true;
  }

  open(shown) {
    this.board.hidden = this.choice.hidden = !shown;
    this.toggle.setAttribute("aria-pressed", String(shown));
    if (shown) this.draw();
  }

  use(layout) {
    if (!(layout in LAYOUTS)) return;
    this.layout = this.choice.value = layout;
    this.draw();
  }

  button(shown, spoken, press, sticky = null) {
    const button = Object.assign(document.createElement("button"), { textContent: shown, type: "button", tabIndex: 0 });
    if (spoken !== shown) button.setAttribute("aria-label", spoken);
    // The desktop keeps the focus, and with it a touch keyboard its place.
    button.onpointerdown = (event) => event.preventDefault();
    button.onclick = press;
    if (sticky) {
      button.classList.add("sticky");
      button.dataset.sticky = sticky;
      button.onclick = () => this.keyboard.toggle(sticky);
      button.setAttribute("aria-pressed", "false");
    }
    return button;
  }

  press(what) {
    this.keyboard.tap(what);
  }

  draw() {
    const has = (name) => this.keyboard.sticky.has(name);
    const level = this.third ? 2 : has("Shift") ? 1 : 0;
    const rows = LAYOUTS[this.layout][1].map((row) => {
      const line = document.createElement("div");
      for (const [at, plain] of [...row[0]].entries()) {
        const shown = level === 2 ? [...(row[2] ?? "")][at]?.trim() || plain : level === 1 ? [...row[1]][at] : plain;
        line.append(this.button(shown, shown, () => this.character(shown)));
      }
      return line;
    });
    const wide = (button, name = "wide") => (button.classList.add(name), button);
    rows[0].append(wide(this.button("⌫", "Backspace", () => this.press({ name: "Backspace" }))));
    rows[2].append(wide(this.button("↵", "Enter", () => this.press({ name: "Enter" }))));
    rows[3].prepend(wide(this.button("⇧", "Shift", null, "Shift")));
    const third = wide(this.button("AltGr", "AltGr", () => ((this.third = !this.third), this.draw())));
    third.setAttribute("aria-pressed", String(Boolean(this.third)));
    const last = document.createElement("div");
    last.append(
      wide(this.button("Ctrl", "Control", null, "Control")), wide(this.button("Alt", "Alt", null, "Alt")),
      wide(this.button("", "Space", () => this.character(" ")), "space"), third,
    );
    this.board.replaceChildren(...rows, last);
    this.show();
  }

  /** A character of the keyboard: its Shift is in it already, where it is a character of another level. */
  character(shown) {
    this.third = false;
    const shift = this.keyboard.sticky.get("Shift");
    this.keyboard.sticky.delete("Shift");
    this.keyboard.tap({ character: shown });
    if (shift === "locked") this.keyboard.sticky.set("Shift", "locked");
    this.draw();
    this.show();
  }

  /** What is sticky now, on every button of it. */
  show() {
    for (const button of document.querySelectorAll("[data-sticky]")) {
      const how = this.keyboard.sticky.get(button.dataset.sticky);
      button.setAttribute("aria-pressed", how === "locked" ? "true" : how === "once" ? "mixed" : "false");
    }
  }
}
