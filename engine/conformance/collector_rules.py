"""What must hold of everything that a collector said, in every run of the suite: each function looks at all sessions and judges one rule.

collector_suite.py names the checks and asks at the end. Nothing here waits or acts, and no text of a real window is quoted.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
from typing import Any, Final

from ...errors import RemoteProtocolError
from ...generated.collector.models import CollectorState, Configured, Diagnostic, Hello, Observation
from ...generated.collector.vocabulary import (
    FIXTURE_CODE,
    LIVENESS_FLOOR_MS,
    MAX_ADAPTER_BYTES,
    MAX_APP_BYTES,
    MAX_FUTURE_MS,
    MAX_PROTOCOL_LINE_BYTES,
    MAX_ROLE_BYTES,
    MAX_TEXT_BYTES,
    PROVIDER_OF_PLATFORM,
)
from ...machines.collector.unknown_fields import UnknownFields
from ...machines.wire.faults import UnknownKey
from .collector_session import Said, Session
from .collector_stage import Lab
from .collector_stories import CANARY
from .findings import Check, Finding, judged, skipped

EARLY_MS = 1000  # an observation may be so much older than the start of its collector
BOUNDS: Final[Mapping[tuple[str, str], int]] = {
    ("app", "bundleId"): MAX_APP_BYTES,
    ("app", "name"): MAX_APP_BYTES,
    **{("window", name): MAX_TEXT_BYTES for name in ("title", "document", "url")},
    **{("element", name): MAX_ROLE_BYTES for name in ("role", "subrole", "identifier")},
    ("privacy", "reason"): MAX_TEXT_BYTES,
    ("source", "adapter"): MAX_ADAPTER_BYTES,
}
_NONE_CAME = "no observation came; let a collector without a fixture hook see an application of the adapter table in front"


def hello_once(lab: Lab) -> Finding:
    """One hello a process."""
    counts = [sum(isinstance(line.message, Hello) for line in session.said) for session in lab.sessions if session.said]
    return judged([f"{count} hellos" for count in counts if count > 1], f"{len(counts)} processes")


def sessions_differ(lab: Lab) -> Finding:
    """Every process has a session of its own: (session, seq) is the key of what is stored."""
    names = Counter(session.hello.collector_session for session in lab.sessions if session.hello)
    return judged(["two processes said the same collectorSession" for count in names.values() if count > 1], f"{len(names)} processes")


def ndjson(lab: Lab) -> Finding:
    """Every line is one JSON object in UTF-8, and the last one is whole."""
    faults = [line.fault for _, line in _said(lab) if line.value is None]
    faults += ["its last line has no newline" for rest in lab.unfinished if rest]
    return judged(faults, f"{sum(1 for _ in _said(lab))} lines")


def line_bound(lab: Lab) -> Finding:
    """No line is longer than the host reads."""
    sizes = [len(line.data) for _, line in _said(lab)]
    return judged([f"a line of {size} bytes" for size in sizes if size > MAX_PROTOCOL_LINE_BYTES], f"at most {max(sizes, default=0)} bytes")


def messages_valid(lab: Lab) -> Finding:
    """Every message has the shape of its type; what is too long is looked at by another rule."""
    faults = [
        f"{_kind(line)}: {line.fault}" for _, line in _said(lab) if line.fault and line.value is not None and not list(_over(line.value))
    ]
    return judged(faults, f"{sum(line.message is not None for _, line in _said(lab))} messages")


def fields_known(lab: Lab) -> Finding:
    """No field that nobody knows, but for `x-` names."""
    faults: list[str] = []
    extensions: set[str] = set()
    for _, line in _said(lab):
        for path in line.unknown:
            if _is_extension(path):
                extensions.add(path)
            else:
                faults.append(f"{_kind(line)}: {path}")
    return judged(faults, f"extensions: {', '.join(sorted(extensions))}" if extensions else "")


def bounds_kept(lab: Lab) -> Finding:
    """Every text of an observation keeps its bound in UTF-8 bytes."""
    values = [line.value for session in lab.sessions for line in session.observations() if line.value]
    if not values:
        return skipped(_NONE_CAME)
    return judged([f"{path} of {size} bytes" for value in values for path, size in _over(value)], f"{len(values)} observations")


def session_kept(lab: Lab) -> Finding:
    """Every observation names the session of its hello."""
    return _each(lab, lambda session, seen: "" if seen.collector_session == _session(session) else "another collectorSession")


def provider_fits(lab: Lab) -> Finding:
    """The provider is that of the hello's platform, or left out."""

    def fault(session: Session, seen: Observation) -> str:
        wanted = PROVIDER_OF_PLATFORM[session.hello.platform] if session.hello else ""
        said = seen.source.provider or wanted
        return "" if said == wanted else f"{said} from a collector on {session.hello.platform if session.hello else '?'}"

    return _each(lab, fault)


def time_true(lab: Lab) -> Finding:
    """Every observation is of the time since the start, and not of the future."""

    def fault(session: Session, seen: Observation, said: Said) -> str:
        heard_ms = session.started_ms + round((said.at - session.started) * 1000)
        if seen.observed_at_ms < session.started_ms - EARLY_MS:
            return f"{session.started_ms - seen.observed_at_ms} ms before the start"
        if seen.observed_at_ms > heard_ms + MAX_FUTURE_MS:
            return f"{seen.observed_at_ms - heard_ms} ms in the future"
        return ""

    faults = [fault(session, seen, said) for session in lab.sessions for said, seen in session.valid_observations()]
    return judged([one for one in faults if one], f"{len(faults)} observations") if faults else skipped(_NONE_CAME)


def sequence_grows(lab: Lab) -> Finding:
    """The sequence number strictly increases within a session."""
    numbers = [[seen.seq for _, seen in session.valid_observations()] for session in lab.sessions]
    if not any(numbers):
        return skipped(_NONE_CAME)
    faults = [f"seq {after} after {before}" for row in numbers for before, after in pairwise(row) if after <= before]
    return judged(faults, f"{sum(map(len, numbers))} observations")


def policy_first(lab: Lab) -> Finding:
    """Nothing is observed before the first policy was sent."""
    faults = []
    for session in lab.sessions:
        first = min((sent.place for sent in session.sent if sent.kind == "configure"), default=session.place + 1)
        faults += ["an observation without a policy" for said, _ in session.valid_observations() if said.place < first]
    return judged(faults) if any(session.observations() for session in lab.sessions) else skipped(_NONE_CAME)


def repeats_apart(lab: Lab) -> Finding:
    """The same twice in a row comes 30 s apart at least, unless an answer, a state or the end of a fixture's step stands between."""
    looked_at, faults = 0, []
    for session in lab.sessions:
        before: Said | None = None
        for line in session.said:
            if isinstance(line.message, Observation):
                looked_at += 1
                if before is not None and _content(before.value) == _content(line.value):
                    apart = line.message.observed_at_ms - (before.value or {})["observedAtMs"]
                    faults += [f"the same again after {apart:.0f} ms"] if apart < LIVENESS_FLOOR_MS else []
                before = line
            elif isinstance(line.message, Configured | CollectorState) or _ends_step(line):
                before = None
    return judged(faults, f"{looked_at} observations") if looked_at else skipped(_NONE_CAME)


def _ends_step(line: Said) -> bool:
    return isinstance(line.message, Diagnostic) and line.message.code == FIXTURE_CODE


def acknowledged_once(lab: Lab) -> Finding:
    """No revision is acknowledged more often than it was sent."""
    faults = []
    for session in lab.sessions:
        sent = Counter(command.revision for command in session.sent if command.kind == "configure")
        said = Counter(session.acknowledged())
        faults += [f"revision {one} was sent {sent[one]} times and acknowledged {said[one]} times" for one in said if said[one] > sent[one]]
    return judged(faults)


def no_fatal(lab: Lab) -> Finding:
    """A collector that is not asked for anything impossible says no last words."""
    return judged([f"fatal {fatal.code}" for session in lab.sessions for fatal in session.fatals()])


def withheld_nowhere(lab: Lab) -> Finding:
    """No withheld text stands in a diagnostic, a state or on standard error."""
    if not any(session.fixture and session.steps() for session in lab.sessions):
        return skipped("it takes no fixture, so no text is known that must be withheld")
    faults = [
        f"a {_kind(line)} tells it"
        for _, line in _said(lab)
        if _kind(line) != "observation" and CANARY in json.dumps(line.value, ensure_ascii=False)
    ]
    faults += ["standard error tells it" for text in lab.stderr if CANARY.encode() in text]
    return judged(faults)


_RULES: Final[tuple[tuple[str, str, str, Callable[[Lab], Finding]], ...]] = (
    ("hello-once", "handshake", "a process says hello once", hello_once),
    ("session-own", "handshake", "every process has a collectorSession of its own", sessions_differ),
    ("ndjson", "transport", "every line of standard output is one JSON object in UTF-8", ndjson),
    ("line-bound", "transport", "no line is longer than 65536 bytes", line_bound),
    ("messages-valid", "messages", "every message has the shape of its type", messages_valid),
    ("fields-known", "unknown fields", "no field is unknown, but for names that start with x-", fields_known),
    ("acknowledged-once", "configure", "no acknowledgement comes that nobody asked for", acknowledged_once),
    ("no-fatal", "messages", "no fatal comes in an undisturbed run", no_fatal),
    ("policy-first", "policy", "nothing is observed before the first policy", policy_first),
    ("session-kept", "observation", "every observation names the session of the hello", session_kept),
    ("sequence-grows", "observation", "the sequence number strictly increases", sequence_grows),
    ("provider-fits", "observation", "the provider is that of the hello's platform, or absent", provider_fits),
    ("time-true", "observation", "observedAtMs lies between the start and now", time_true),
    ("bounds-kept", "observation", "every text keeps its bound in bytes", bounds_kept),
    ("repeats-apart", "timing", "what has not changed is told again after 30 s at the earliest", repeats_apart),
    ("withheld-nowhere", "boundary", "what an observation withholds stands in no other line and not on standard error", withheld_nowhere),
)  # fmt: skip
RULES: Final = tuple((Check(name, f"collector v1, {clause}", rule), judge) for name, clause, rule, judge in _RULES)


def _said(lab: Lab) -> Iterator[tuple[Session, Said]]:
    return ((session, line) for session in lab.sessions for line in session.said)


def _kind(line: Said) -> str:
    """Its type, where that is one of the protocol's words: another one may be a text."""
    kind = (line.value or {}).get("type")
    return kind if kind in ("hello", "observation", "state", "configured", "diagnostic", "fatal") else "message"


def _over(value: Mapping[str, Any]) -> Iterator[tuple[str, int]]:
    for (parent, name), bound in BOUNDS.items():
        inner = value.get(parent)
        text = inner.get(name) if isinstance(inner, dict) else None
        if isinstance(text, str) and (size := len(text.encode("utf-8", "surrogatepass"))) > bound:
            yield f"{parent}.{name}", size


def _is_extension(path: UnknownKey) -> bool:
    """Under the rule that a host has unless it is told otherwise."""
    try:
        UnknownFields().take([path])
    except RemoteProtocolError:
        return False
    return True


def _session(session: Session) -> str:
    return session.hello.collector_session if session.hello else ""


def _content(value: Mapping[str, Any] | None) -> dict[str, Any]:
    return {name: part for name, part in (value or {}).items() if name not in ("seq", "observedAtMs", "activity")}


def _each(lab: Lab, fault: Callable[[Session, Observation], str]) -> Finding:
    faults = [fault(session, seen) for session in lab.sessions for _, seen in session.valid_observations()]
    return judged([one for one in faults if one], f"{len(faults)} observations") if faults else skipped(_NONE_CAME)
