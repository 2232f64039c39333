// Takes the pairing that `triptych activity pair editor` leaves for this editor: reads the file once, and deletes it.

"use strict";

const fs = require("node:fs/promises");
const os = require("node:os");
const path = require("node:path");

const FILE = "editor-pairing.json";
const MAX_BYTES = 4096;

/** Where the file is left; `env` is the environment of the editor. */
function bootstrapPath(env = process.env) {
  const home = path.isAbsolute(env.XDG_DATA_HOME ?? "") ? env.XDG_DATA_HOME : path.join(os.homedir(), ".local", "share");
  return path.join(home, "triptych", "companions", FILE);
}

/** `{token, port}`, or null when there is no file, or none that is this person's alone and still valid. The file is gone afterwards. */
async function takeBootstrap(file = bootstrapPath(), now = Date.now()) {
  const mine = `${file}.${process.pid}.${now}`;
  try {
    await fs.rename(file, mine); // of two windows only one gets it
  } catch {
    return null;
  }
  try {
    const found = await fs.lstat(mine);
    const shared = process.getuid && (found.uid !== process.getuid() || (found.mode & 0o077) !== 0);
    if (!found.isFile() || found.size > MAX_BYTES || shared) return null;
    const { v, token, port, validUntilMs } = JSON.parse(await fs.readFile(mine, "utf8"));
    if (v !== 1 || !isToken(token) || !isPort(port) || !(now < validUntilMs)) return null;
    return { token, port };
  } catch {
    return null;
  } finally {
    await fs.rm(mine, { force: true });
  }
}

function isToken(text) {
  return typeof text === "string" && /^[A-Za-z0-9_-]{43}$/.test(text);
}

function isPort(number) {
  return Number.isInteger(number) && number >= 1 && number <= 65535;
}

module.exports = { bootstrapPath, isPort, isToken, takeBootstrap };
