"""What must hold in any session that the driver does not disturb: each function looks at one whole session and judges one rule.

ordinary.py runs the session and names the checks. Nothing here waits or acts.
"""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

from ...generated.termwright.models import Hello, RevisionCommit, SemanticDelta, SemanticFull
from ...machines.termwright.gates import gate_fault, guarantee_fault
from .findings import Finding, failed, judged, passed, skipped
from .session import Session
from .stage import LOG_BURST, LOG_RATE

#: Text of a marker that must never be seen on a screen.
MARKER_TEXT = ("8487;", "twm;")
#: Seconds by which arrival may bunch what was sent apart.
JITTER = 0.5
#: Log records whose times are compared, each with each.
LOOKED_AT = 1000


def hello_first(session: Session) -> Finding:
    """The first thing on the socket is a hello."""
    if not session.links:
        return failed("nobody connected")
    first = min([*session.messages, *session.faults], key=lambda entry: entry[0], default=None)
    if first is None:
        return failed("nothing was said on the socket")
    return passed() if isinstance(first[2], Hello) else failed(f"the first message: {_named(first[2])}")


def hello_valid(session: Session) -> Finding:
    """The hello is whole, of this protocol, and carries the token of the environment."""
    if session.hello is None:
        return failed(session.faults[0][2] if session.faults else "no hello came")
    return (
        passed(f"{session.hello.adapter.name} {session.hello.adapter.version}")
        if session.hello.token == session.token
        else failed("another token")
    )


def hello_once(session: Session) -> Finding:
    """There is exactly one hello in the whole session."""
    count = sum(isinstance(message, Hello) for _, _, message in session.messages)
    return passed() if count == 1 else failed(f"{count} hellos")


def one_socket(session: Session) -> Finding:
    """The program opens one socket, children and reconnections included."""
    return passed() if len(session.links) == 1 else failed(f"{len(session.links)} connections were opened")


def messages_valid(session: Session) -> Finding:
    """Every frame and message is valid, unknown fields included."""
    return judged([fault for _, _, fault in session.faults], f"{len(session.messages)} messages")


def no_errors(session: Session) -> Finding:
    """The adapter has nothing to complain about."""
    return judged([f"{error.code}: {error.message}" for error in session.errors])


def first_tree_full(session: Session) -> Finding:
    """The first publication is a full tree."""
    if not session.publications:
        return failed("no tree was published")
    first = session.publications[0]
    return passed() if first.full else failed(f"revision {first.revision}, the first, is a delta")


def session_named(session: Session) -> Finding:
    """Every tree names this session."""
    wrong = [tree.session_id for published in session.publications if (tree := published.tree) and tree.session_id != session.session_id]
    return judged([f"a tree of session {name!r}" for name in dict.fromkeys(wrong)])


def revisions_increase(session: Session) -> Finding:
    """Each revision is higher than all before it."""
    numbers = [published.revision for published in session.publications]
    return judged(
        [f"revision {after} after {before}" for before, after in pairwise(numbers) if after <= before], f"{len(numbers)} revisions"
    )


def publication_order(session: Session) -> Finding:
    """On the socket, tree N is followed by commit N before the next tree."""
    revisions = {published.place: published.revision for published in session.publications}
    faults, awaited = [], 0
    for place, _, message in session.messages:
        if isinstance(message, SemanticFull | SemanticDelta):
            if awaited:
                faults.append(f"the next tree came before the commit of revision {awaited}")
            awaited = revisions[place]
        elif isinstance(message, RevisionCommit):
            if message.revision != awaited:
                faults.append(f"commit {message.revision} {f'after tree {awaited}' if awaited else 'without its tree before it'}")
            awaited = 0
    return judged(faults)


def commits_paired(session: Session) -> Finding:
    """Each published revision is committed exactly once, and nothing else is."""
    commits = Counter(commit.revision for commit in session.commits)
    revisions = {published.revision for published in session.publications}
    faults = [f"revision {number} was committed {commits[number]} times" for number in sorted(revisions) if commits[number] != 1]
    return judged([*faults, *(f"commit of revision {number}, which was not published" for number in sorted(commits.keys() - revisions))])


def marker_last(session: Session) -> Finding:
    """When marker N comes out of the terminal, commit N was already written to the socket."""
    if not session.marked:
        return skipped("render-revisions is not announced")
    committed = {commit.revision: commit.place for commit in reversed(session.commits)}
    early = [mark.revision for mark in session.marks if mark.revision and committed.get(mark.revision, mark.place) >= mark.place]
    return judged([f"marker {number} was printed before commit {number} was sent" for number in early], f"{len(session.marks)} markers")


def markers_paired(session: Session) -> Finding:
    """Each published revision has exactly one marker, in order, and no marker is of another revision."""
    if not session.marked:
        return skipped("render-revisions is not announced")
    marks = [mark.revision for mark in session.marks if mark.revision is not None]
    counts, revisions = Counter(marks), {published.revision for published in session.publications}
    faults = [f"revision {number} has {counts[number]} markers" for number in sorted(revisions) if counts[number] != 1]
    faults += [f"marker of revision {number}, which was not published" for number in sorted(counts.keys() - revisions)]
    faults += [f"marker {after} after marker {before}" for before, after in pairwise(marks) if after <= before]
    return judged(faults, f"{len(marks)} revisions")


def markers_authentic(session: Session) -> Finding:
    """Every OSC 8487 of the terminal is a canonical marker with the right MAC: none is forged, replayed from elsewhere or cut."""
    if not session.marked and not session.marks:
        return skipped("render-revisions is not announced")
    return judged(
        [f"{mark.payload[:64]!r} does not verify" for mark in session.marks if mark.revision is None], f"{len(session.marks)} markers"
    )


def in_flight(session: Session) -> Finding:
    """Never more than maxQueuedFrames revisions wait for their marker."""
    if not session.marked:
        return skipped("render-revisions is not announced")
    steps = sorted(
        [(published.place, published.revision, 1) for published in session.publications]
        + [(mark.place, mark.revision, -1) for mark in session.marks if mark.revision is not None]
    )
    waiting: set[int] = set()
    most = 0
    for _, revision, step in steps:
        waiting.add(revision) if step > 0 else waiting.difference_update({held for held in waiting if held <= revision})
        most = max(most, len(waiting))
    allowed = session.granted["maxQueuedFrames"]
    return (
        passed(f"at most {most} of {allowed}") if most <= allowed else failed(f"{most} revisions waited for markers; {allowed} are allowed")
    )


def announced_only(session: Session) -> Finding:
    """No tree, delta, log, marker or frame-begin goes beyond what the hello announced."""
    faults = [
        f"revision {published.revision}: {fault}"
        for published in session.publications
        if published.tree is not None and (fault := gate_fault(published.tree, session.announced))
    ]
    if any(not published.full for published in session.publications) and "incremental-tree" not in session.announced:
        faults.append("a delta needs the capability incremental-tree")
    if session.logs and "logs" not in session.announced:
        faults.append("a log record needs the capability logs")
    if session.marks and not session.marked:
        faults.append("a marker needs the capability render-revisions")
    probe = session.hello.probe if session.hello is not None else None
    if any(True for _ in session.frame_begins()) and (not probe or "frame-begin" not in probe.capabilities):
        faults.append("frame-begin needs the probe capability frame-begin")
    return judged(faults, ", ".join(sorted(session.announced)))


def guarantees(session: Session) -> Finding:
    """A committed observation is never unknown, and what was announced is known or absent everywhere."""
    return judged(
        [
            f"revision {published.revision}: {fault}"
            for published in session.publications
            if published.tree is not None and (fault := guarantee_fault(published.tree, session.announced))
        ]
    )


def deltas_apply(session: Session) -> Finding:
    """Every delta names the last tree as its base and applies to it without a fault."""
    if "incremental-tree" not in session.announced:
        return skipped("incremental-tree is not announced")
    deltas = [published for published in session.publications if not published.full]
    if not deltas:
        return skipped("incremental-tree is announced, and no delta came")
    faults = [f"revision {published.revision}: {published.fault}" for published in deltas if published.state is None]
    return judged(faults, f"{len(deltas)} deltas")


def log_order(session: Session) -> Finding:
    """The seq of log records strictly increases."""
    if "logs" not in session.announced:
        return skipped("logs is not announced")
    if not session.logs:
        return skipped("no log record came")
    numbers = [record.seq for _, record in session.logs]
    return judged([f"log seq {after} after {before}" for before, after in pairwise(numbers) if after <= before], f"{len(numbers)} records")


def log_budget(session: Session) -> Finding:
    """No stretch of time holds more log records than the granted rate and burst allow."""
    if "logs" not in session.announced:
        return skipped("logs is not announced")
    if not session.logs:
        return skipped("no log record came")
    times = [at for at, _ in session.logs[:LOOKED_AT]]
    worst = max(
        (end - start + 1 - LOG_BURST - LOG_RATE * (1 + JITTER + times[end] - times[start]), start, end)
        for start in range(len(times))
        for end in range(start, len(times))
    )
    if worst[0] <= 0:
        return passed(f"{len(times)} records")
    _, start, end = worst
    return failed(
        f"{end - start + 1} records in {times[end] - times[start]:.2f} s; granted were {LOG_RATE} a second and {LOG_BURST} at once"
    )


def _named(message: object) -> str:
    return message if isinstance(message, str) else type(message).__name__
