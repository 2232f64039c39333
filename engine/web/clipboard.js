"use strict";
// Text between the two clipboards, each way only when somebody asks for it.

class Clipboard {
  constructor(session, toast) {
    [this.session, this.toast] = [session, toast];
    this.dialog = document.getElementById("clip");
    this.value = document.getElementById("clip-value");
    this.dialog.onclose = () => this.dialog.returnValue === "send" && this.value.value && this.tell(this.value.value);
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
    if (text) await this.tell(text);
    else this.toast("Your clipboard holds no text.");
  }

  /** Whether the desktop's clipboard has it now. No text leaves it as it is. */
  async give(text) {
    try {
      if (text) await this.session.clipboard({ kind: "clipboard_write", text });
      return true;
    } catch (error) {
      this.toast(sentence(error.message));
      return false;
    }
  }

  async tell(text) {
    if (await this.give(text)) this.toast(`The desktop's clipboard has ${count(text)} now: paste there.`);
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
