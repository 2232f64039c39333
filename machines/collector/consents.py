"""Decides which web sites and workspaces a person agreed to, and how that is written into rules. The policy and the gates ask it.

A kind of target (`browser-origin`, `editor-workspace`) is in one of three modes: all targets, selected ones, or none. The mode and each
target are resource rules that allow exactly one pattern, and nothing else of the policy is changed by them:

    @dch-consent/v1/<kind>/mode/selected    @dch-consent/v1/<kind>/mode/none    @dch-consent/v1/<kind>/allow/<target>

No mode means all, and none wins over selected. Targets are compared as equals in their canonical form: no sub-folders, no sub-domains.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal
from urllib.parse import urlsplit

from ...errors import LocalProtocolError
from ...generated.collector.vocabulary import CONSENT_KIND, CONSENT_MODE, CONSENT_PREFIX, MAX_CONSENT_TARGET_CHARS, MAX_CONSENT_TARGETS
from ..wire.faults import Fault
from ..wire.rules import rule as wire_rule
from .rules import Rule

ConsentKind = Literal["browser-origin", "editor-workspace"]
ConsentMode = Literal["all", "selected", "none"]

BAD_CONSENT = "consent-entry"  # refusal code

_DRIVE = re.compile(r"[A-Za-z]:[\\/]")
_UNC = re.compile(r"[\\/]{2}[^\\/]+[\\/]+[^\\/]+")
_check_origin = wire_rule("canonical-origin")


@dataclass(frozen=True, slots=True)
class Consent:
    """What of one kind a companion may report. `targets` counts in the mode `selected` only, and is kept in the others."""

    kind: ConsentKind
    mode: ConsentMode = "all"
    targets: frozenset[str] = frozenset()

    def covers(self, target: str | None) -> bool:
        """Whether a target was agreed to: canonical, or None when nothing names one."""
        return self.mode == "all" or (self.mode == "selected" and target is not None and target in self.targets)


def consent(kind: ConsentKind, mode: ConsentMode, targets: Iterable[str] = ()) -> Consent:
    """A consent as a person gives it, its targets in their canonical form.

    Raises LocalProtocolError (code `consent-entry`) for another kind or mode, a target that is none, and for more than 64 of them.
    """
    if kind not in CONSENT_KIND or mode not in CONSENT_MODE:
        raise LocalProtocolError(BAD_CONSENT, f"a consent is for {' or '.join(CONSENT_KIND)} and all, selected or none")
    found: dict[str, None] = {}
    for target in targets:
        canonical = canonical_target(kind, target)
        if canonical is None:
            raise LocalProtocolError(BAD_CONSENT, f"{target[:64]!a} is no {_WANTED[kind]}")
        found[canonical] = None
    if len(found) > MAX_CONSENT_TARGETS:
        raise LocalProtocolError(BAD_CONSENT, f"at most {MAX_CONSENT_TARGETS} targets of one kind, not {len(found)}")
    return Consent(kind, mode, frozenset(found))


def consent_rules(given: Consent) -> tuple[Rule, ...]:
    """The rules that say it."""
    mode = () if given.mode == "all" else (f"mode/{given.mode}",)
    entries = (*mode, *(f"allow/{target}" for target in sorted(given.targets)))
    return tuple(_entry(f"{CONSENT_PREFIX}{given.kind}/{entry}") for entry in entries)


def consent_of(rules: Iterable[Rule], kind: ConsentKind) -> Consent:
    """What the rules of a policy say about one kind."""
    prefix = f"{CONSENT_PREFIX}{kind}/"
    marks = {rule.pattern[len(prefix) :] for rule in rules if rule.pattern.startswith(prefix) and _is_entry(rule)}
    mode: ConsentMode = "none" if "mode/none" in marks else "selected" if "mode/selected" in marks else "all"
    return Consent(kind, mode, frozenset(mark.removeprefix("allow/") for mark in marks if mark.startswith("allow/")))


def is_consent_rule(rule: Rule) -> bool:
    """Whether a rule is meant as a consent entry, well-formed or not."""
    return rule.pattern.startswith(CONSENT_PREFIX)


def check_consent_rules(rules: Iterable[Rule]) -> None:
    """Refuse a consent entry that is none. Raises LocalProtocolError (code `consent-entry`)."""
    targets = dict.fromkeys(CONSENT_KIND, 0)
    for rule in filter(is_consent_rule, rules):
        kind, _, mark = rule.pattern.removeprefix(CONSENT_PREFIX).partition("/")
        word, _, target = mark.partition("/")
        fits = kind in targets and _is_entry(rule) and rule.id == rule.pattern
        if not fits or not (mark in ("mode/selected", "mode/none") or (word == "allow" and canonical_target(kind, target) == target)):
            raise LocalProtocolError(BAD_CONSENT, f"{rule.pattern[:96]!a} is no consent entry", rule.id[:96])
        targets[kind] += word == "allow"
        if targets[kind] > MAX_CONSENT_TARGETS:
            raise LocalProtocolError(BAD_CONSENT, f"at most {MAX_CONSENT_TARGETS} targets of one kind")


def canonical_target(kind: str, target: str) -> str | None:
    """The one spelling of a target; None when it is none of its kind."""
    if "\0" in target or len(target) > MAX_CONSENT_TARGET_CHARS:
        return None
    return canonical_origin(target) if kind == "browser-origin" else canonical_workspace(target)


def canonical_origin(address: str) -> str | None:
    """`https://host[:port]/` of an http or https address that names nothing but its origin; None for any other."""
    try:
        parts = urlsplit(address.strip())
        port = parts.port
    except ValueError:
        return None
    if parts.path not in ("", "/") or "@" in parts.netloc or "?" in address or "#" in address or parts.scheme not in _DEFAULT_PORT:
        return None
    host = (parts.hostname or "").lower()
    shown = f"[{host}]" if ":" in host else host
    origin = f"{parts.scheme}://{shown}" + ("" if port in (None, _DEFAULT_PORT[parts.scheme]) else f":{port}")
    try:
        _check_origin(origin, ())
    except Fault:
        return None
    return f"{origin}/"


def canonical_workspace(path: str) -> str | None:
    """An absolute folder without `.`, `..`, empty segments and closing slash; drive and UNC paths with slashes and in lower case."""
    if _UNC.match(path):
        server, _, rest = path.replace("\\", "/").lower().lstrip("/").partition("/")
        share, _, inner = rest.lstrip("/").partition("/")
        return None if share in (".", "..") else _resolved(f"//{server}/{share}/", inner)
    if _DRIVE.match(path):
        return _resolved(path[:2].lower() + "/", path[2:].replace("\\", "/").lower())
    return _resolved("/", path) if path.startswith("/") and "\\" not in path else None


def _resolved(root: str, path: str) -> str | None:
    segments: list[str] = []
    for segment in path.split("/"):
        if segment == "..":
            if not segments:
                return None
            segments.pop()
        elif segment not in ("", "."):
            segments.append(segment)
    joined = root + "/".join(segments)
    return joined.rstrip("/") if root.startswith("//") else joined


def _entry(pattern: str) -> Rule:
    return Rule(pattern, "resource", "allow", "exact", pattern)


def _is_entry(rule: Rule) -> bool:
    return rule.dimension == "resource" and rule.action == "allow" and rule.matcher == "exact" and not rule.built_in


_DEFAULT_PORT = {"http": 80, "https": 443}
_WANTED = {"browser-origin": "http or https origin, such as https://example.org/", "editor-workspace": "absolute folder"}
