// The editor companion under `node --test`: TRIPTYCH_EXTENSION is its folder, TRIPTYCH_INTAKE {"port", "token"} of an intake that listens.

"use strict";

const assert = require("node:assert/strict");
const fs = require("node:fs");
const http = require("node:http");
const os = require("node:os");
const path = require("node:path");
const { afterEach, beforeEach, test } = require("node:test");
const { loadExtension, makeEditor } = require("./fake_vscode.cjs");

const FOLDER = process.env.TRIPTYCH_EXTENSION;
const INTAKE = JSON.parse(process.env.TRIPTYCH_INTAKE ?? "null");
const ROOT = "/work/app";
const TOKEN = "t".repeat(43);

let home, server, heard, answer, opened;

beforeEach(async () => {
  home = fs.mkdtempSync(path.join(os.tmpdir(), "companion-"));
  process.env.XDG_DATA_HOME = home;
  heard = [];
  answer = { status: 201, body: { stored: true } };
  opened = [];
  server = http.createServer((request, response) => {
    let text = "";
    request.on("data", (chunk) => (text += chunk));
    request.on("end", () => {
      heard.push({ method: request.method, url: request.url, headers: request.headers, body: JSON.parse(text) });
      response.writeHead(answer.status, { "content-type": "application/json" });
      response.end(JSON.stringify(answer.body));
      server.emit("heard");
    });
  });
  await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
});

afterEach(async () => {
  for (const editor of opened) editor.dispose();
  fs.rmSync(home, { recursive: true });
  server.closeAllConnections();
  await new Promise((closed) => server.close(closed));
});

async function editorWith({ paired = true, ...options } = {}) {
  const editor = makeEditor({ folders: [ROOT], ...options });
  if (paired) editor.secrets.set("triptych.pairing", JSON.stringify({ token: TOKEN, port: server.address().port }));
  opened.push(editor);
  await loadExtension(FOLDER, editor);
  return editor;
}

async function until(count) {
  const deadline = AbortSignal.timeout(5000);
  while (heard.length < count) {
    await new Promise((again, failed) => {
      server.once("heard", again);
      deadline.addEventListener("abort", () => failed(new Error(`${heard.length} of ${count} reports came`)));
    });
  }
}

/** Long enough for a report that waits to settle, had there been one. */
const settled = () => new Promise((done) => setTimeout(done, 400));

function pairingFile(changes = {}, mode = 0o600) {
  const folder = path.join(home, "triptych", "companions");
  fs.mkdirSync(folder, { recursive: true, mode: 0o700 });
  const file = path.join(folder, "editor-pairing.json");
  const document = { v: 1, token: TOKEN, port: server.address().port, validUntilMs: Date.now() + 60_000, ...changes };
  fs.writeFileSync(file, typeof changes === "string" ? changes : JSON.stringify(document), { mode });
  fs.chmodSync(file, mode);
  return file;
}

test("the file in front is reported, and nothing of its text", async () => {
  const editor = await editorWith();
  await editor.open(`${ROOT}/main.py`);
  await until(1);
  const [{ method, url, headers, body }] = heard;
  assert.deepEqual([method, url, headers["x-companion-token"]], ["POST", "/companion/observation", TOKEN]);
  assert.match(body.editorSession, /^editor-[0-9a-f-]{36}$/);
  assert.ok(Math.abs(body.observedAtMs - Date.now()) < 5000);
  delete body.editorSession;
  delete body.observedAtMs;
  assert.deepEqual(body, {
    source: "editor",
    app: { bundleId: "com.microsoft.VSCode", name: "Visual Studio Code" },
    workspaceRoot: ROOT,
    filePath: `${ROOT}/main.py`,
    languageId: "python",
    surfaceKind: "editor",
    seq: 1,
  });
});

test("without a token nothing is sent", async () => {
  const editor = await editorWith({ paired: false });
  await editor.open(`${ROOT}/main.py`);
  await editor.save(`${ROOT}/main.py`);
  await editor.endTask("test", 0);
  await settled();
  assert.deepEqual(heard, []);
  assert.match(editor.statusBar.tooltip, /Not paired/);
});

test("files that are only passed through are not reported", async () => {
  const editor = await editorWith();
  for (const name of ["a", "b", "c"]) await editor.open(`${ROOT}/${name}.py`);
  await until(1);
  await settled();
  assert.deepEqual(heard.map(({ body }) => body.filePath), [`${ROOT}/c.py`]);
});

test("the same file is reported once while it stays in front, and again for who comes back", async () => {
  const editor = await editorWith();
  await editor.open(`${ROOT}/a.py`);
  await until(1);
  await editor.open(`${ROOT}/a.py`);
  await settled();
  assert.equal(heard.length, 1);
  await editor.focus(false);
  await editor.focus(true);
  await until(2);
  assert.deepEqual(heard.map(({ body }) => body.seq), [1, 2]);
  assert.equal(heard[0].body.editorSession, heard[1].body.editorSession);
});

test("what is not taken is reported again at the next occasion", async () => {
  const editor = await editorWith();
  answer = { status: 202, body: { stored: false, reason: "capture-paused" } };
  await editor.open(`${ROOT}/a.py`);
  await until(1);
  await settled();
  assert.match(editor.statusBar.tooltip, /capture-paused/);
  answer = { status: 201, body: { stored: true } };
  await editor.open(`${ROOT}/a.py`);
  await until(2);
  await settled();
  assert.match(editor.statusBar.tooltip, /are reported/);
});

test("saves, builds and tests are events; other tasks are not", async () => {
  const editor = await editorWith();
  await editor.save(`${ROOT}/a.py`);
  await editor.endTask("build", 0);
  await editor.endTask("build", 2, { uri: { scheme: "file", fsPath: ROOT } });
  await editor.endTask("test", 0);
  await editor.endTask("test", 1);
  await editor.endTask("clean", 0);
  await editor.endTask(undefined, 0);
  await editor.endTask("test", undefined);
  await until(5);
  await settled();
  assert.deepEqual(
    heard.map(({ body }) => [body.event, body.workspaceRoot, body.filePath]),
    [
      ["save", ROOT, `${ROOT}/a.py`],
      ["verify-build-success", ROOT, undefined],
      ["verify-build-failure", ROOT, undefined],
      ["verify-test-success", ROOT, undefined],
      ["verify-test-failure", ROOT, undefined],
    ],
  );
});

test("a comparison is a diff", async () => {
  const editor = await editorWith();
  await editor.open(`${ROOT}/a.py`, { diff: true });
  await until(1);
  assert.equal(heard[0].body.surfaceKind, "diff");
});

test("what is no file of an open workspace is not reported", async () => {
  const editor = await editorWith();
  for (const [file, scheme] of [["/etc/passwd", "file"], [`${ROOT}/a.py`, "vscode-remote"], ["/Untitled-1", "untitled"], [undefined]]) {
    await editor.open(file, { scheme });
    await settled();
    if (file) await editor.save(file, scheme);
  }
  assert.deepEqual(heard, []);
});

test("a window in the background says nothing", async () => {
  const editor = await editorWith();
  await editor.focus(false);
  await editor.open(`${ROOT}/a.py`);
  await settled();
  assert.deepEqual(heard, []);
});

test("each editor declares itself", async () => {
  const declared = [];
  for (const appName of ["Visual Studio Code - Insiders", "Cursor", "Windsurf", "VSCodium", "My Own Editor!", "…"]) {
    const editor = await editorWith({ appName });
    await editor.save(`${ROOT}/a.py`);
    declared.push(heard.at(-1).body.app.bundleId);
  }
  assert.deepEqual(declared, [
    "com.microsoft.VSCodeInsiders",
    "com.todesktop.230313mzl4w4u92",
    "com.exafunction.windsurf",
    "com.vscodium",
    "com.dsh.editor.my-own-editor",
    "com.dsh.editor.editor",
  ]);
});

test("the pairing file is read once and deleted", async () => {
  const file = pairingFile();
  const editor = await editorWith({ paired: false });
  assert.deepEqual(JSON.parse(editor.secrets.get("triptych.pairing")), { token: TOKEN, port: server.address().port });
  assert.deepEqual(fs.readdirSync(path.dirname(file)), []);
  await editor.open(`${ROOT}/a.py`);
  await until(1);
});

test("a pairing file that comes later is taken when the window is looked at again", async () => {
  const editor = await editorWith({ paired: false });
  await editor.open(`${ROOT}/a.py`);
  await settled();
  const file = pairingFile();
  await editor.focus(false);
  await editor.focus(true);
  await until(1);
  assert.equal(fs.existsSync(file), false);
});

test("a pairing file that is no good is deleted and not used", async () => {
  const bad = [
    [{ validUntilMs: Date.now() - 1 }],
    [{ validUntilMs: "later" }],
    [{ v: 2 }],
    [{ token: "short" }],
    [{ token: `${TOKEN}\n` }],
    [{ port: 0 }],
    [{ port: "19388" }],
    [`${"x".repeat(5000)}`],
    ["not json"],
    [{}, 0o644],
  ];
  for (const [changes, mode] of bad) {
    const file = pairingFile(changes, mode);
    const editor = await editorWith({ paired: false });
    assert.equal(editor.secrets.size, 0, JSON.stringify(changes));
    assert.deepEqual(fs.readdirSync(path.dirname(file)), []);
  }
  const secret = path.join(home, "elsewhere");
  fs.writeFileSync(secret, JSON.stringify({ v: 1, token: TOKEN, port: 1, validUntilMs: Date.now() + 60_000 }), { mode: 0o600 });
  fs.symlinkSync(secret, path.join(home, "triptych", "companions", "editor-pairing.json"));
  const editor = await editorWith({ paired: false });
  assert.equal(editor.secrets.size, 0);
  assert.equal(fs.existsSync(secret), true);
});

test("a person can pair by hand, pause, go on and forget", async () => {
  const editor = await editorWith({ paired: false });
  editor.api.window.activeTextEditor = undefined;
  editor.answers.push("too short");
  await editor.run("triptychCompanion.pair");
  assert.equal(editor.secrets.size, 0);
  editor.answers.push(` ${TOKEN} `, String(server.address().port));
  await editor.run("triptychCompanion.pair");
  await editor.save(`${ROOT}/a.py`);
  await until(1);
  await editor.run("triptychCompanion.pause");
  await editor.save(`${ROOT}/a.py`);
  assert.equal(heard.length, 1);
  assert.match(editor.statusBar.tooltip, /Paused/);
  await editor.run("triptychCompanion.pause");
  await editor.save(`${ROOT}/a.py`);
  await until(2);
  await editor.run("triptychCompanion.forget");
  await editor.save(`${ROOT}/a.py`);
  assert.equal(heard.length, 2);
  await editor.run("triptychCompanion.status");
  assert.match(editor.asked.at(-1), /Not paired/);
});

test("a Triptych that is away, or refuses, is said in the status bar", async () => {
  const editor = await editorWith();
  answer = { status: 401, body: { error: "pairing token required" } };
  await editor.save(`${ROOT}/a.py`);
  assert.match(editor.statusBar.tooltip, /no longer valid/);
  answer = { status: 429, body: { error: "rate limit exceeded" } };
  await editor.save(`${ROOT}/a.py`);
  assert.match(editor.statusBar.tooltip, /rate limit exceeded/);
  server.closeAllConnections();
  editor.secrets.set("triptych.pairing", JSON.stringify({ token: TOKEN, port: 1 }));
  await editor.save(`${ROOT}/a.py`);
  assert.match(editor.statusBar.tooltip, /does not listen/);
});

test("the real intake takes what it sends", { skip: !INTAKE && "no intake listens" }, async () => {
  const editor = await editorWith({ paired: false });
  await editor.context.secrets.store("triptych.pairing", JSON.stringify(INTAKE));
  await editor.open(`${ROOT}/main.py`, { diff: true });
  await settled();
  await editor.save(`${ROOT}/main.py`);
  await editor.endTask("test", 1);
  assert.match(editor.statusBar.tooltip, /are reported/);
  assert.deepEqual(heard, []);
});
