// Reports the file in front whenever it changes, is saved, or a build or test task ends. Nothing is sent without a token.

"use strict";

const { randomUUID } = require("node:crypto");
const vscode = require("vscode");
const { isPort, isToken, takeBootstrap } = require("./bootstrap");
const { send } = require("./client");
const { declaredApp, placeOf, surfaceOf, taskEvent } = require("./payload");

const SECRET = "triptych.pairing";
const PAUSED = "triptych.paused";
const DEFAULT_PORT = 19388;
const SETTLE_MS = 250; // files that are only passed through are nobody's work

class Companion {
  constructor(context) {
    this.context = context;
    this.app = declaredApp(vscode.env.appName);
    this.session = `editor-${randomUUID()}`;
    this.seq = 0;
    this.last = ""; // what was reported last, so that it is not reported again while it stays in front
    this.settling = undefined;
    this.status = vscode.window.createStatusBarItem("triptych", vscode.StatusBarAlignment.Right);
    this.status.name = "Triptych companion";
    this.status.command = "triptychCompanion.status";
    context.subscriptions.push(
      this.status,
      { dispose: () => clearTimeout(this.settling) },
      vscode.window.onDidChangeActiveTextEditor(() => this.look()),
      vscode.window.onDidChangeWindowState((window) => (window.focused ? this.look() : this.leave())),
      vscode.workspace.onDidSaveTextDocument((document) => this.tell(document, "save")),
      vscode.tasks.onDidEndTaskProcess(({ execution, exitCode }) => this.tellTask(execution.task, exitCode)),
      context.secrets.onDidChange(({ key }) => key === SECRET && this.start()), // also by another window
      vscode.commands.registerCommand("triptychCompanion.pair", () => this.pair()),
      vscode.commands.registerCommand("triptychCompanion.status", () => vscode.window.showInformationMessage(this.status.tooltip)),
      vscode.commands.registerCommand("triptychCompanion.pause", () => this.pause()),
      vscode.commands.registerCommand("triptychCompanion.forget", () => context.secrets.delete(SECRET)),
    );
    this.show("unpaired");
    this.status.show();
  }

  start() {
    this.last = "";
    return this.now();
  }

  look() {
    clearTimeout(this.settling);
    this.settling = setTimeout(() => void this.now(), SETTLE_MS);
  }

  leave() {
    clearTimeout(this.settling);
    this.last = ""; // who comes back from elsewhere starts anew
  }

  /** Report the file in front, when it is another than before. */
  async now() {
    const found = await takeBootstrap();
    if (found) await this.keep(found);
    if (vscode.window.state.focused) await this.tell(vscode.window.activeTextEditor?.document);
    else await this.ready();
  }

  async tell(document, event) {
    const place = placeOf(vscode, document?.uri);
    const surfaceKind = surfaceOf(vscode);
    const here = place && JSON.stringify([place, surfaceKind]);
    const set = await this.ready();
    if (!set || !place || (!event && here === this.last)) return;
    if (!event) this.last = here;
    const stored = await this.report({ ...place, languageId: document.languageId, surfaceKind, ...(event && { event }) }, set);
    if (!stored && !event) this.last = ""; // it may be taken the next time
  }

  async tellTask(task, exitCode) {
    const event = taskEvent(vscode, task, exitCode);
    const folder = task.scope?.uri ?? vscode.workspace.workspaceFolders?.[0]?.uri;
    if (!event || folder?.scheme !== "file") return;
    const set = await this.ready();
    if (set) await this.report({ workspaceRoot: folder.fsPath, event }, set);
  }

  async report(what, set) {
    this.seq += 1;
    const said = { source: "editor", app: this.app, ...what, editorSession: this.session, seq: this.seq, observedAtMs: Date.now() };
    const { status, body } = await send(said, set);
    if (status === 201) this.show("recording", set);
    else if (status === 202) this.show(body.reason ? "withheld" : "recording", set, body.reason);
    else if (status === 401) this.show("refused", set);
    else this.show(status === 0 ? "unreachable" : "failed", set, body.error);
    return status === 201;
  }

  /** The pairing, when there is one and nothing is paused. */
  async ready() {
    const kept = await this.context.secrets.get(SECRET);
    if (!kept) return this.show("unpaired");
    const set = JSON.parse(kept);
    return this.context.globalState.get(PAUSED, false) ? this.show("paused") : set;
  }

  keep({ token, port }) {
    return this.context.secrets.store(SECRET, JSON.stringify({ token, port }));
  }

  async pair() {
    const found = await takeBootstrap();
    if (found) return this.keep(found);
    const token = await vscode.window.showInputBox({
      title: "Triptych: pair this editor",
      prompt: "The token that `triptych activity pair editor` shows",
      password: true,
      ignoreFocusOut: true,
      validateInput: (text) => (isToken(text.trim()) ? undefined : "A token has 43 letters, digits, - and _"),
    });
    if (token === undefined) return undefined;
    const port = await vscode.window.showInputBox({
      title: "Triptych: pair this editor",
      prompt: "The port of the companion intake",
      value: String(DEFAULT_PORT),
      ignoreFocusOut: true,
      validateInput: (text) => (isPort(Number(text)) ? undefined : "A port is a number from 1 to 65535"),
    });
    return port === undefined ? undefined : this.keep({ token: token.trim(), port: Number(port) });
  }

  async pause() {
    await this.context.globalState.update(PAUSED, !this.context.globalState.get(PAUSED, false));
    await this.start();
  }

  show(state, { port } = {}, reason = "") {
    const [icon, text] = {
      recording: ["$(eye)", `Paths in front are reported to Triptych on 127.0.0.1:${port}.`],
      withheld: ["$(eye-closed)", `Triptych does not record now (${reason}).`],
      paused: ["$(debug-pause)", "Paused: nothing is sent from this editor."],
      unpaired: ["$(debug-disconnect)", "Not paired, so nothing is sent: triptych activity pair editor"],
      refused: ["$(warning)", "The pairing is no longer valid: triptych activity pair editor"],
      unreachable: ["$(eye-closed)", `Triptych does not listen on 127.0.0.1:${port}: triptych activity start`],
      failed: ["$(warning)", `Triptych refused: ${reason}`],
    }[state];
    this.status.text = `${icon} Triptych`;
    this.status.tooltip = text;
  }
}

/** Called by the editor. The companion that it answers is for tests. */
async function activate(context) {
  const companion = new Companion(context);
  await companion.start();
  return companion;
}

function deactivate() {}

module.exports = { activate, deactivate };
