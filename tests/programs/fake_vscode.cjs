// A small `vscode`: what our extension uses of the editor's API, and hands with which a test plays the person. Documents have no text.

"use strict";

const Module = require("node:module");
const path = require("node:path");

class Emitter {
  constructor() {
    this.listeners = new Set();
    this.event = (listener) => {
      this.listeners.add(listener);
      return { dispose: () => this.listeners.delete(listener) };
    };
  }
  async fire(value) {
    for (const listener of this.listeners) await listener(value);
  }
}

class TabInputTextDiff {}

function document(file, scheme = "file") {
  return {
    uri: { scheme, fsPath: file, path: file },
    languageId: "python",
    getText() {
      throw new Error("the text of a document was asked for");
    },
  };
}

function makeEditor({ appName = "Visual Studio Code", folders = [] } = {}) {
  const on = Object.fromEntries(["editor", "window", "save", "task", "secret"].map((name) => [name, new Emitter()]));
  const commands = new Map();
  const secrets = new Map();
  const memory = new Map();
  const statusBar = { text: "", tooltip: "", show() {}, dispose() {} };
  const asked = [];
  const answers = [];
  const workspaceFolders = folders.map((fsPath) => ({ uri: { scheme: "file", fsPath } }));
  const api = {
    StatusBarAlignment: { Left: 1, Right: 2 },
    TabInputTextDiff,
    TaskGroup: { Build: { id: "build" }, Test: { id: "test" }, Clean: { id: "clean" } },
    env: { appName },
    window: {
      activeTextEditor: undefined,
      state: { focused: true },
      tabGroups: { activeTabGroup: { activeTab: { input: undefined } } },
      createStatusBarItem: () => statusBar,
      onDidChangeActiveTextEditor: on.editor.event,
      onDidChangeWindowState: on.window.event,
      showInformationMessage: async (text) => void asked.push(text),
      showInputBox: async (options) => {
        const answer = answers.shift();
        const refused = answer === undefined ? undefined : options.validateInput?.(answer);
        asked.push(refused ?? options.prompt);
        return refused ? undefined : answer;
      },
    },
    workspace: {
      workspaceFolders,
      getWorkspaceFolder: (uri) => workspaceFolders.find(({ uri: root }) => uri.fsPath.startsWith(root.fsPath + path.sep)),
      onDidSaveTextDocument: on.save.event,
    },
    tasks: { onDidEndTaskProcess: on.task.event },
    commands: {
      registerCommand(name, run) {
        commands.set(name, run);
        return { dispose: () => commands.delete(name) };
      },
    },
  };
  const context = {
    subscriptions: [],
    globalState: { get: (key, otherwise) => memory.get(key) ?? otherwise, update: async (key, value) => void memory.set(key, value) },
    secrets: {
      get: async (key) => secrets.get(key),
      store: async (key, value) => {
        secrets.set(key, value);
        await on.secret.fire({ key });
      },
      delete: async (key) => {
        secrets.delete(key);
        await on.secret.fire({ key });
      },
      onDidChange: on.secret.event,
    },
  };
  return {
    api,
    context,
    statusBar,
    secrets,
    asked,
    answers,
    run: (name) => commands.get(name)(),
    focus(focused) {
      api.window.state = { focused };
      return on.window.fire({ focused });
    },
    open(file, { diff = false, scheme = "file" } = {}) {
      api.window.activeTextEditor = file && { document: document(file, scheme) };
      api.window.tabGroups.activeTabGroup.activeTab.input = diff ? new TabInputTextDiff() : undefined;
      return on.editor.fire(api.window.activeTextEditor);
    },
    save: (file, scheme) => on.save.fire(document(file, scheme)),
    endTask: (group, exitCode, scope) => on.task.fire({ execution: { task: { group: group && { id: group }, scope } }, exitCode }),
    dispose() {
      for (const item of context.subscriptions) item.dispose();
    },
  };
}

/** Load the extension as the editor would, with this `vscode` in the place of the real one. */
async function loadExtension(folder, editor) {
  const resolve = Module._resolveFilename;
  Module._resolveFilename = (request, ...rest) => (request === "vscode" ? "vscode" : resolve(request, ...rest));
  require.cache.vscode = { id: "vscode", filename: "vscode", loaded: true, exports: editor.api };
  try {
    const { main } = require(path.join(folder, "package.json"));
    const entry = require.resolve(path.join(folder, main));
    delete require.cache[entry];
    return await require(entry).activate(editor.context);
  } finally {
    Module._resolveFilename = resolve;
  }
}

module.exports = { loadExtension, makeEditor };
