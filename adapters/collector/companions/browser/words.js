// How an outcome reads to a person: `{tone, state, detail}`.

const WITHHELD = {
  "capture-disabled": "Triptych did not record.",
  "capture-not-owned": "another Triptych recorded into this history.",
  "capture-paused": "the recording was paused: triptych activity resume",
  "collector-not-running": "the recording did not run: triptych activity doctor",
};

export function words({ outcome, reason = "", at }, { port, paused = false } = {}) {
  const place = `127.0.0.1:${port}`;
  if (paused) return { tone: "warn", state: "Paused", detail: "Nothing is sent from this browser." };
  switch (outcome) {
    case "recorded":
    case "ready":
      return { tone: "good", state: "Connected", detail: `Pages are reported to Triptych on this computer, ${place}.` };
    case "withheld":
      if (reason) return { tone: "warn", state: "Not recording", detail: `At ${clock(at)}: ${WITHHELD[reason] ?? reason}` };
      return { tone: "good", state: "Connected", detail: `Reported to ${place}. The policy kept the last page out of the record.` };
    case "unpaired":
      return { tone: "warn", state: "Not paired", detail: "Nothing is sent. Run triptych activity pair browser and paste its token." };
    case "unreachable":
      return { tone: "warn", state: "Not recording", detail: `Triptych does not listen on ${place}: triptych activity start` };
    default:
      return { tone: "warn", state: "Not recording", detail: `Triptych refused: ${reason}` };
  }
}

function clock(at) {
  return new Date(at).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
}

export function show(said) {
  const state = document.getElementById("state");
  state.textContent = said.state;
  state.className = `state ${said.tone}`;
  document.getElementById("detail").textContent = said.detail;
}
