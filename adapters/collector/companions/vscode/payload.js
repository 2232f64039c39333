// What is told of an editor: who it says it is, its workspace, the path of the file in front, and an event. Never the text of a document.

"use strict";

const KNOWN = {
  "Visual Studio Code": "com.microsoft.VSCode",
  "Visual Studio Code - Insiders": "com.microsoft.VSCodeInsiders",
  VSCodium: "com.vscodium",
  Cursor: "com.todesktop.230313mzl4w4u92",
  Windsurf: "com.exafunction.windsurf",
};

/** The application that an editor of this name declares itself to be. */
function declaredApp(name) {
  const slug = name.toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-+|-+$/g, "").slice(0, 64) || "editor";
  return { bundleId: KNOWN[name] ?? `com.dsh.editor.${slug}`, name: name.trim() || "Editor" };
}

/** Where a file lies: `{workspaceRoot, filePath}`; null for what is no file of this computer, or of no open workspace. */
function placeOf(vscode, uri) {
  if (uri?.scheme !== "file") return null;
  const folder = vscode.workspace.getWorkspaceFolder(uri);
  return folder?.uri.scheme === "file" ? { workspaceRoot: folder.uri.fsPath, filePath: uri.fsPath } : null;
}

/** `diff` when the file in front is shown beside another version of itself, else `editor`. */
function surfaceOf(vscode) {
  const input = vscode.window.tabGroups?.activeTabGroup?.activeTab?.input;
  return vscode.TabInputTextDiff && input instanceof vscode.TabInputTextDiff ? "diff" : "editor";
}

/** `verify-build-success` and its like for a build or test task that has ended; null for any other. */
function taskEvent(vscode, task, exitCode) {
  const group = task.group?.id;
  const kind = group === vscode.TaskGroup.Build.id ? "build" : group === vscode.TaskGroup.Test.id ? "test" : null;
  return kind && exitCode !== undefined ? `verify-${kind}-${exitCode === 0 ? "success" : "failure"}` : null;
}

module.exports = { declaredApp, placeOf, surfaceOf, taskEvent };
