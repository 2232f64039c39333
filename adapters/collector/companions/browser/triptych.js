// Where Triptych listens, and the two questions that it answers. Nothing is sent without a token, and only ever to this computer.

export const DEFAULT_PORT = 19388;
const TIMEOUT_MS = 3000;

/** What a person has set: `{token, port, paused}`. */
export async function settings() {
  const { token = "", port = DEFAULT_PORT, paused = false } = await chrome.storage.local.get(["token", "port", "paused"]);
  return { token, port, paused };
}

/** Report one page: `recorded`, `withheld` (with a reason, when there is one), or what `outcomeOf` makes of a failure. */
export async function report(payload, { token, port }) {
  const answer = await ask("observation", { token, port }, { method: "POST", body: JSON.stringify(payload) });
  if (answer.status === 201) return { outcome: "recorded" };
  if (answer.status === 202) return { outcome: "withheld", reason: answer.body.reason ?? "" };
  return outcomeOf(answer);
}

/** Whether Triptych listens and takes this token: `ready`, or what `outcomeOf` makes of a failure. */
export async function check({ token, port }) {
  const answer = await ask("health", { token, port }, { method: "GET" });
  return answer.status === 200 ? { outcome: "ready" } : outcomeOf(answer);
}

function outcomeOf({ status, body }) {
  if (status === 0) return { outcome: "unreachable" };
  if (status === 401) return { outcome: "unpaired" };
  return { outcome: "refused", reason: body.error ?? `status ${status}` };
}

async function ask(what, { token, port }, request) {
  try {
    const response = await fetch(`http://127.0.0.1:${port}/companion/${what}`, {
      ...request,
      headers: { "content-type": "application/json", "x-companion-token": token },
      credentials: "omit",
      cache: "no-store",
      redirect: "error",
      referrerPolicy: "no-referrer",
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    return { status: response.status, body: await response.json() };
  } catch (error) {
    console.debug("triptych:", error.name);
    return { status: 0, body: {} };
  }
}
