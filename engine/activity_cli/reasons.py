"""What the reasons of the activity panel mean to a person, and what mends each. `status`, `start`, `today` and `doctor` say them.

Every word of the closed vocabularies is here (a test compares them); a reason that is not comes from a collector and is shown as it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class Reason(NamedTuple):
    """`meaning` is a sentence, `remedy` a command or an action; empty where nothing has to be done."""

    meaning: str
    remedy: str = ""


_AGAIN = "triptych activity resume"
_COLLECTOR = "run `triptych conformance collector -- CMD` on it, or use our own"

#: Why capture does not record, by the reason of the health report.
CAPTURE: Mapping[str, Reason] = {
    "no-apps-allowed": Reason("no application is allowed, so nothing is recorded", "triptych activity policy allow"),
    "capture-owned-by-another-host": Reason("another host records into this directory", "stop it: triptych activity stop"),
    "collector-starting": Reason("the collector is starting"),
    "storage-locked": Reason(
        "another program keeps the record locked; what was seen waits, and is stored when the record is free", "end what holds it"
    ),
    "storage-full": Reason("the disk is full; what was seen waits, and is stored when there is room", "make room on its disk"),
    "sleep": Reason("the computer sleeps"),
    "wake": Reason("the computer woke up"),
    "accessibility": Reason("the collector may not read windows", "allow it in the system's accessibility settings"),
    "hello-timeout": Reason("the collector is silent: it said nothing within 5 seconds of its start", _AGAIN),
    "collector-spoke-without-hello": Reason("the collector did not introduce itself within 5 seconds", _COLLECTOR),
    "collector-start-refused": Reason("a collector runs already", "triptych activity status"),
    "collector-spawn-failed": Reason("the collector cannot be started", "check that its program is there: triptych activity collect"),
    "collector-stdio-missing": Reason("the collector has no standard input or output", _AGAIN),
    "protocol-error": Reason("the collector broke its protocol, and was stopped", _COLLECTOR),
    "configure-ack-timeout": Reason("the collector did not take the policy within 5 seconds, and was stopped", _AGAIN),
    "paused-ack-timeout": Reason("the collector did not confirm the pause within 5 seconds, and was stopped", _AGAIN),
    "running-ack-timeout": Reason("the collector did not confirm that it goes on within 5 seconds, and was stopped", _AGAIN),
    "configure-send-failed": Reason("the collector could not be told the policy, and was stopped", _AGAIN),
    "pause-send-failed": Reason("the collector could not be told to pause, and was stopped", _AGAIN),
    "resume-send-failed": Reason("the collector could not be told to go on, and was stopped", _AGAIN),
    "apply-policy-send-failed": Reason("the collector could not be told the new policy, and was stopped", _AGAIN),
    "host-message-handler-error": Reason(
        "what the collector said could not be stored", "look at the free space of the disk: triptych activity doctor"
    ),
    "collector-exited": Reason("the collector crashed", f"it is started again up to 5 times in 10 minutes; then: {_AGAIN}"),
    "collector-exit-unconfirmed": Reason("the collector did not end when it was told to", "end its process"),
}

#: Why an observation was not stored.
REFUSED: Mapping[str, Reason] = {
    "protected-app": Reason("a password manager or another protected application"),
    "secure-field": Reason("a password field had the focus, or it could not be told what had"),
    "not-an-adapter": Reason("an application that no adapter knows", "triptych activity policy adapter add ID --surface KIND"),
    "unknown-adapter": Reason("an application that no adapter knows", "triptych activity policy adapter add ID --surface KIND"),
    "protected-metadata": Reason("a title or file name that looks like a secret"),
    "unlocatable-name": Reason("a title that is a bare file name, whose place nobody can check"),
    "browser-unpaired": Reason("a web address that no paired browser sent", "triptych activity pair browser"),
    "secure-path": Reason("a file that holds keys or passwords"),
    "policy": Reason("the policy does not let it in", "triptych activity policy"),
    "future-timestamp": Reason("a time that has not come yet", "check the clocks of collector and host"),
    "expired": Reason("older than observations are kept"),
    "capture-disabled": Reason("capture is off"),
    "capture-not-owned": Reason("another host records"),
    "capture-paused": Reason("capture was paused", "triptych activity resume"),
    "collector-not-running": Reason("no collector was running", "triptych activity status"),
    "duplicate": Reason("the same observation again"),
    "deleted-range": Reason("it lies in what you have deleted"),
    "bad-resource": Reason("a file name that cannot be read"),
    "unknown": Reason("another reason"),
}


def capture_reason(reason: str) -> Reason:
    """What a reason of the health report means; a collector's own sentence stands for itself."""
    if reason in CAPTURE:
        return CAPTURE[reason]
    said, _, remedy = reason.partition("; ")
    return Reason(said, remedy)


def refused_line(by_reason: Mapping[str, int]) -> str:
    """What was refused, most frequent first: `12 (7 policy, 5 secure-field)`; `nothing` when all is 0."""
    total = sum(by_reason.values())
    counts = sorted(by_reason.items(), key=lambda item: (-item[1], item[0]))
    return f"{total} ({', '.join(f'{count} {reason}' for reason, count in counts if count)})" if total else "nothing"
