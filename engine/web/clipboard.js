"use strict";
// Text between the two clipboards, each way only when somebody asks for it.

class Clipboard {
  constructor(session, toast) {
    [this.session, this.toast] = [session, toast];
    this.dialog = document.getElementById("clip");
    this.value = document.getElementById("clip-value");
    this.dialog.onclose = () => this.dialog.returnValue === "send" && this.give(this.value.value);
  }

  /** What was copied on the desktop comes here. */
  async fetch() {
    try {
      const { text, truncated } = await this.session.clipboard({ kind: "clipboard_read" });
      try {
        await navigator.clipboard.writeText(text);
        this.toast(`Copied ${count(text)}${truncated ? ", the rest was too long" : ""}.`);
      } catch {
        this.ask("This browser does not let a page write your clipboard. Copy the text from here.", text, false);
      }
    } catch (error) {
      this.toast(sentence(error.message));
    }
  }

  /** The local clipboard goes to the desktop. */
  async send() {
    let text;
    try {
      text = await navigator.clipboard.readText();
    } catch {
      return this.ask("This browser does not let a page read your clipboard. Paste the text here.", "", true);
    }
    if (text) await this.give(text);
    else this.toast("Your clipboard holds no text.");
  }

  async give(text, then) {
    if (!text) return then?.();
    try {
      await this.session.clipboard({ kind: "clipboard_write", text });
      if (then) then();
      else this.toast(`The desktop's clipboard has ${count(text)} now: paste there.`);
    } catch (error) {
      this.toast(sentence(error.message));
    }
  }

  ask(why, text, sends) {
    document.getElementById("clip-text").textContent = why;
    document.getElementById("clip-send").hidden = !sends;
    this.value.value = text;
    this.dialog.returnValue = "";
    this.dialog.showModal();
    this.value.select();
  }
}

function count(text) {
  const length = [...text].length;
  return `${length.toLocaleString("en")} character${length === 1 ? "" : "s"}`;
}

function sentence(text) {
  return text.charAt(0).toUpperCase() + text.slice(1) + (/[.!?]$/.test(text) ? "" : ".");
}
