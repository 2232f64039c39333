"""The stories that a collector is told with made-up facts, in platform-neutral words, and the observations that must follow.

What must follow is taken from the protocol's text. tools/gen_collector_vectors.py writes the stories down for each platform, and checks
each expectation against our own collector's core; collector_fixtures.py plays them to any collector.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from ...generated.collector.models import Platform
from ...generated.collector.vocabulary import IDLE_BOUNDARY_SECONDS, MAX_TEXT_BYTES
from .collector_shapes import (
    EDITOR,
    FILES,
    ITEM,
    PASSWORD,
    PLATFORMS,
    STRANGER,
    TERMINAL,
    TEXT,
    UNQUERYABLE,
    UNREADABLE,
    VAULT,
    WINDOW_ONLY,
    App,
    Element,
    Look,
    Seen,
)
from .findings import Check

#: A text that must never be told. Every title and reason that is withheld in a story holds it.
CANARY = "Kanarienvogel"
#: The path patterns that a policy of ours holds.
PATTERNS = ("*/.env", "*/.env.*", "*.pem", "*.key", "*/.ssh/*", "*credentials*", "*secrets*")
LONG = "é" * 2100  # two bytes each: after one `x` a character lies across the bound


@dataclass(frozen=True)
class Rules:
    """The policy of a `configure`."""

    allowed: tuple[App, ...] = (EDITOR, TERMINAL, FILES)
    blocked: tuple[App, ...] = ()
    protected: tuple[App, ...] = ()
    patterns: tuple[str, ...] = PATTERNS

    def wire(self, platform: Platform) -> dict[str, object]:
        """As the command says it."""

        def ids(apps: tuple[App, ...]) -> list[str]:
            return [app.id_on(platform) for app in apps if app.id_on(platform)]

        return {
            "mode": "include-only",
            "allowedBundleIds": ids(self.allowed),
            "blockedBundleIds": ids(self.blocked),
            "protectedBundleIds": ids(self.protected),
            "protectedPathPatterns": list(self.patterns),
        }


@dataclass(frozen=True)
class Pause:
    """The host pauses, and waits until it is so."""


@dataclass(frozen=True)
class Resume:
    """The host resumes, and waits until it is so."""


@dataclass(frozen=True)
class Raw:
    """The host sends a line that is no command."""

    line: str


#: What happens in a story, in order. Rules are sent as a `configure`.
Action: TypeAlias = Look | Rules | Pause | Resume | Raw


@dataclass(frozen=True)
class Story:
    """A check, what happens, and what must be observed. `states`: the words of the state lines in it; None when they do not matter."""

    check: Check
    actions: tuple[Action, ...]
    seen: tuple[Seen, ...]
    rules: Rules = field(default_factory=Rules)
    platforms: tuple[Platform, ...] = PLATFORMS
    states: tuple[str, ...] | None = None


def _open(app: App, title: str, element: Element = TEXT, idle: float | None = None) -> Seen:
    return Seen(app, title, element, idle)


def _withheld(app: App, reason: str) -> Seen:
    return Seen(app, secure=True, reason=reason)


def _identity(app: App, reason: str, *, optional: bool = False) -> Seen:
    return Seen(app, protected=True, reason=reason, optional=optional)


def _whole(text: str) -> str:
    """As much of it as fits into a title, in whole characters."""
    return text.encode()[:MAX_TEXT_BYTES].decode("utf-8", "ignore")


def _story(
    name: str,
    clause: str,
    rule: str,
    actions: tuple[Action, ...],
    *seen: Seen,
    rules: Rules | None = None,
    platforms: tuple[Platform, ...] = PLATFORMS,
    states: tuple[str, ...] | None = None,
) -> Story:
    return Story(Check(name, f"collector v1, {clause}", rule), actions, seen, rules or Rules(), platforms, states)


_PAGE, _PAGE_SEEN = Look(EDITOR, "Release plan"), _open(EDITOR, "Release plan")
_SECRET_PATHS = (f"/home/{CANARY}/.env", f"/home/{CANARY}/.ssh/id_rsa", f"{CANARY}-credentials.json", f"server-{CANARY}.pem")
_MALFORMED = (
    '{"v":1,"type":"configure"}',
    '{"v":1,"type":"configure","revision":9001}',
    '{"v":1,"type":"configure","revision":9001,"policy":[]}',
    '{"v":1,"type":"configure","revision":"9001","policy":{"mode":"include-only","allowedBundleIds":[]}}',
    '{"v":1,"type":"configure","revision":1.5,"policy":{"mode":"include-only","allowedBundleIds":[]}}',
    '{"v":1,"type":"configure","revision":9001,"policy":{"mode":"include-only"}} tail',
)

STORIES: tuple[Story, ...] = (
    _story(
        "fact-window", "observation", "an allowed application is told with its id, name, title, role and adapter",
        (_PAGE, Look(FILES, "Downloads", ITEM)),
        _PAGE_SEEN, _open(FILES, "Downloads", ITEM),
    ),
    _story(
        "fact-changes", "observation", "another title and another focused role are told, and so is coming back",
        (_PAGE, Look(EDITOR, "Budget"), Look(EDITOR, "Budget", ITEM), Look(FILES, "Downloads"), Look(EDITOR, "Budget", ITEM)),
        _PAGE_SEEN, _open(EDITOR, "Budget"), _open(EDITOR, "Budget", ITEM), _open(FILES, "Downloads"), _open(EDITOR, "Budget", ITEM),
    ),
    _story(
        "fact-unchanged", "timing", "what has not changed is not told again, however long a person is still",
        tuple(Look(EDITOR, "Release plan", idle=idle) for idle in (1, 2.5, 90, IDLE_BOUNDARY_SECONDS - 1)),
        _open(EDITOR, "Release plan", idle=1),
    ),
    _story(
        "fact-idle", "timing", "the idle time is told, and once more when it passes 480 s, and when the person is back",
        tuple(Look(EDITOR, "Release plan", idle=idle) for idle in (12.25, IDLE_BOUNDARY_SECONDS, 1)),
        *(_open(EDITOR, "Release plan", idle=idle) for idle in (12.25, IDLE_BOUNDARY_SECONDS, 1)),
    ),
    _story(
        "fact-terminal", "boundary", "the title of a terminal is never told",
        (Look(TERMINAL, f"vim {CANARY}"),),
        Seen(TERMINAL, element=TEXT),
    ),
    _story(
        "fact-protected-app", "boundary", "of a password manager only its identity is told, under any policy",
        (Look(VAULT, f"Vault of {CANARY}"), _PAGE),
        _identity(VAULT, "protected-app"), _PAGE_SEEN,
        rules=Rules(allowed=(EDITOR, VAULT)),
    ),
    _story(
        "fact-protected-by-policy", "boundary", "of an application that the policy protects only its identity is told",
        (Look(FILES, f"Letters to {CANARY}"), _PAGE),
        _identity(FILES, "protected-app"), _PAGE_SEEN,
        rules=Rules(protected=(FILES,)),
    ),
    _story(
        "fact-secure-field", "boundary", "a password field withholds window and element, and the observation says so",
        (_PAGE, Look(EDITOR, f"Password of {CANARY}", PASSWORD), _PAGE),
        _PAGE_SEEN, _withheld(EDITOR, "secure-field"), _PAGE_SEEN,
    ),
    _story(
        "fact-unqueryable", "boundary", "a focus that cannot be asked for withholds window and element",
        (Look(EDITOR, f"Letter to {CANARY}", UNQUERYABLE), _PAGE),
        _withheld(EDITOR, "focused-element-unqueryable"), _PAGE_SEEN,
    ),
    _story(
        "fact-unreadable", "boundary", "a focus that does not answer withholds window and element",
        (Look(EDITOR, f"Letter to {CANARY}", UNREADABLE), _PAGE),
        _withheld(EDITOR, "unreadable-focused-element"), _PAGE_SEEN,
    ),
    _story(
        "fact-window-only", "boundary", "an application whose focus need not be known is told without its element",
        (Look(WINDOW_ONLY, "tracking.py", UNQUERYABLE),),
        Seen(WINDOW_ONLY, "tracking.py"),
        rules=Rules(allowed=(WINDOW_ONLY,)), platforms=("darwin",),
    ),
    _story(
        "fact-blocked", "policy", "of an application that the policy blocks nothing is told, and the way back is told",
        (_PAGE, Look(FILES, f"Letters to {CANARY}"), _PAGE),
        _PAGE_SEEN, _PAGE_SEEN,
        rules=Rules(blocked=(FILES,)),
    ),
    _story(
        "fact-not-allowed", "policy", "of an application that the policy does not allow nothing is told, and the way back is told",
        (_PAGE, Look(FILES, f"Letters to {CANARY}"), _PAGE),
        _PAGE_SEEN, _PAGE_SEEN,
        rules=Rules(allowed=(EDITOR,)),
    ),
    _story(
        "fact-no-adapter", "policy", "of an application without an adapter nothing is told, though the policy allows it",
        (Look(STRANGER, f"Puzzle of {CANARY}"), _PAGE),
        _PAGE_SEEN,
        rules=Rules(allowed=(EDITOR, STRANGER)),
    ),
    _story(
        "fact-protected-title", "boundary", "a title that a path pattern names is not told: the identity alone, or nothing",
        (*(look for path in _SECRET_PATHS for look in (Look(EDITOR, path), _PAGE)),),
        *(seen for _ in _SECRET_PATHS for seen in (_identity(EDITOR, "protected-metadata", optional=True), _PAGE_SEEN)),
    ),
    _story(
        "fact-protected-document", "boundary", "a document that a path pattern names, escaped or not, is not told",
        (
            Look(EDITOR, "Settings", document=f"file:///Users/{CANARY}/%2Eenv"), _PAGE,
            Look(EDITOR, "Settings", document=f"file:///Users/{CANARY}/.ssh/config"), _PAGE,
        ),
        *(seen for _ in range(2) for seen in (_identity(EDITOR, "protected-metadata", optional=True), _PAGE_SEEN)),
        platforms=("darwin",),
    ),
    _story(
        "fact-document", "observation", "the document of a window is told as the platform gives it",
        (Look(EDITOR, "plan.md", document="file:///Users/demo/plan.md"),),
        Seen(EDITOR, "plan.md", TEXT, document="file:///Users/demo/plan.md"),
        platforms=("darwin",),
    ),
    _story(
        "fact-nobody", "observation", "while nobody is known to be in front nothing is told, and the way back is told",
        (_PAGE, Look(), _PAGE),
        _PAGE_SEEN, _PAGE_SEEN,
    ),
    _story(
        "fact-resumed", "pause", "what is in front is told anew after a resume",
        (_PAGE, Pause(), Resume(), _PAGE),
        _PAGE_SEEN, _PAGE_SEEN,
        states=("paused", "running"),
    ),
    _story(
        "fact-reconfigured", "configure", "what is in front is told anew under a new policy, or no more when that lets it out",
        (_PAGE, Rules(allowed=(EDITOR,)), _PAGE, Rules(allowed=(FILES,)), _PAGE, Look(FILES, "Downloads")),
        _PAGE_SEEN, _PAGE_SEEN, _open(FILES, "Downloads"),
    ),
    _story(
        "fact-policy-kept", "commands", "after a configure that is not understood the policy before it is in force, whole",
        (*map(Raw, _MALFORMED), _PAGE, Look(FILES, f"Letters to {CANARY}"), Look(EDITOR, f"/home/{CANARY}/.env.local")),
        _PAGE_SEEN, _identity(EDITOR, "protected-metadata", optional=True),
        rules=Rules(allowed=(EDITOR,)),
    ),
    _story(
        "fact-nothing-allowed", "policy", "a policy that allows nothing lets nothing be told",
        (Look(EDITOR, f"Letter to {CANARY}"), Look(TERMINAL, CANARY), Look(FILES, CANARY)),
        rules=Rules(allowed=()),
    ),
    _story(
        "fact-unavailable", "state", "the loss of the permission is told once, nothing is observed without it, and its return is told",
        (_PAGE, Look(EDITOR, f"Letter to {CANARY}", trusted=False, reason="accessibility"), _PAGE),
        _PAGE_SEEN, _PAGE_SEEN,
        states=("permission-required", "running"),
    ),
    _story(
        "fact-sleep", "sleep and wake", "nothing is observed between sleep and wake, and after it what is in front is told anew",
        (
            _PAGE, Look(EDITOR, "Release plan", power="sleep"), Look(FILES, f"Letters to {CANARY}"),
            Look(EDITOR, "Release plan", power="wake"),
        ),
        _PAGE_SEEN, _PAGE_SEEN,
    ),
    _story(
        "fact-cut", "bounds", "a title beyond 4096 bytes is cut between two characters",
        (Look(EDITOR, "x" + LONG),),
        _open(EDITOR, _whole("x" + LONG)),
    ),
    _story(
        "fact-characters", "transport", "control characters, quotes and every script come through as they are",
        (Look(EDITOR, 'a\u0007b\t"c\\d" it\'s 計畫 план \U0001f4c4'),),
        _open(EDITOR, 'a\u0007b\t"c\\d" it\'s 計畫 план \U0001f4c4'),
    ),
)  # fmt: skip

BY_NAME: Mapping[str, Story] = {story.check.name: story for story in STORIES}
