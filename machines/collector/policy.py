"""The include-only policy: rules, what they allow and refuse, and what of them goes to the collector. The host decides with it.

A rule speaks about an application (by id) or about a resource (by its text), and allows, denies or protects. Without a rule that allows an
application nothing of it is recorded; a rule that does not allow always wins over one that does.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

from ...errors import LocalProtocolError
from ...generated.collector.models import PolicyMode, RuleAction, RuleDimension, RuleMatcher
from ...generated.collector.vocabulary import CONSENT_PREFIX
from .adapter_table import AdapterTable
from .protected_text import glob_matches

BAD_RULE_TEXT = "rule-text"  # refusal code
ConsentKind = Literal["browser-origin", "editor-workspace"]

PROTECTED_BUNDLES = frozenset(
    bundle.casefold()
    for bundle in (
        "com.1password.1password",
        "com.bitwarden.desktop",
        "com.apple.keychainaccess",
        "com.dashlane.Dashlane",
        "com.lastpass.LastPass",
        "1Password.exe",
        "Bitwarden.exe",
        "Dashlane.exe",
        "KeePass.exe",
        "KeePassXC.exe",
        "LastPass.exe",
        "1password.desktop",
        "bitwarden.desktop",
        "com.bitwarden.desktop.desktop",
        "keepassxc.desktop",
        "org.keepassxc.KeePassXC.desktop",
        "org.gnome.seahorse.Application.desktop",
        "org.gnome.World.Secrets.desktop",
        "org.kde.kwalletmanager5.desktop",
        "org.kde.kwalletmanager.desktop",
    )
)
"""Applications that are never recorded, on any platform and under any policy; compared without regard to case."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule. A glob has `*` as its only wildcard."""

    id: str
    dimension: RuleDimension
    action: RuleAction
    matcher: RuleMatcher
    pattern: str
    built_in: bool = False

    def matches(self, text: str) -> bool:
        """Whether the rule speaks about this application id or resource text."""
        if self.matcher == "exact":
            return text == self.pattern
        if self.matcher == "prefix":
            return text.startswith(self.pattern)
        return glob_matches(self.pattern, text)


def allow_app(bundle_id: str) -> Rule:
    """The rule with which a person lets one application in."""
    return Rule(f"allow:{bundle_id}", "app", "allow", "exact", bundle_id)


def checked_rules(applications: Iterable[str | Rule]) -> tuple[Rule, ...]:
    """Rules as they are, and one that lets it in for each application id.

    Raises LocalProtocolError (code `rule-text`) for half a character, which neither the record nor the collector could be told.
    """
    rules = tuple(rule if isinstance(rule, Rule) else allow_app(rule) for rule in applications)
    for rule in rules:
        try:
            f"{rule.id}{rule.pattern}".encode()
        except UnicodeError:
            raise LocalProtocolError(BAD_RULE_TEXT, f"{rule.pattern!a} is not valid Unicode") from None
    return rules


def _protect(identifier: str, dimension: RuleDimension, matcher: RuleMatcher, pattern: str) -> Rule:
    return Rule(f"builtin:{identifier}", dimension, "protect", matcher, pattern, built_in=True)


BUILT_IN_RULES = (
    _protect("1password", "app", "exact", "com.1password.1password"),
    _protect("bitwarden", "app", "exact", "com.bitwarden.desktop"),
    _protect("keychain", "app", "exact", "com.apple.keychainaccess"),
    _protect("dashlane", "app", "exact", "com.dashlane.Dashlane"),
    _protect("lastpass", "app", "exact", "com.lastpass.LastPass"),
    _protect("env", "resource", "glob", "*/.env"),
    _protect("env-suffix", "resource", "glob", "*/.env.*"),
    _protect("pem", "resource", "glob", "*.pem"),
    _protect("key", "resource", "glob", "*.key"),
    _protect("ssh", "resource", "glob", "*/.ssh/*"),
    _protect("credentials", "resource", "glob", "*credentials*"),
    _protect("secrets", "resource", "glob", "*secrets*"),
)


@dataclass(frozen=True)
class CollectorPolicy:
    """What the collector is told, as the lists of a `configure` command."""

    allowed: tuple[str, ...] = ()
    blocked: tuple[str, ...] = ()
    protected: tuple[str, ...] = ()
    path_patterns: tuple[str, ...] = ()


@dataclass(frozen=True)
class Policy:
    """One revision of the policy. Only `include-only` records anything: `exclude` fails closed."""

    revision: int = 1
    rules: tuple[Rule, ...] = BUILT_IN_RULES
    mode: PolicyMode = "include-only"

    def replaced(self, rules: tuple[Rule, ...]) -> Policy:
        """The next revision: the built-in rules stay, all others are replaced by `rules`."""
        kept = tuple(rule for rule in self.rules if rule.built_in)
        return replace(self, revision=self.revision + 1, rules=kept + rules)

    @property
    def allows_an_app(self) -> bool:
        """Whether any rule lets an application in; without one, health says `no-apps-allowed`."""
        return any(rule.dimension == "app" and rule.action == "allow" for rule in self.rules)

    @property
    def has_resource_refusal(self) -> bool:
        """Whether any resource rule denies or protects; then a name whose place is unknown cannot be cleared."""
        return any(rule.dimension == "resource" and rule.action != "allow" for rule in self.rules)

    def refuses_text(self, text: str) -> bool:
        """Whether a resource rule that does not allow speaks about this text."""
        return any(rule.dimension == "resource" and rule.action != "allow" and rule.matches(text) for rule in self.rules)

    def allows(self, bundle_id: str, resource_texts: tuple[str, ...], *, ignore_case: bool = False) -> bool:
        """Whether an application may be recorded with this resource (the texts that name it; none without a resource)."""
        if self.mode != "include-only" or any(map(self.refuses_text, resource_texts)):
            return False
        actions = {rule.action for rule in self.rules if rule.dimension == "app" and _names_app(rule, bundle_id, ignore_case)}
        return actions == {"allow"}

    def consents(self, kind: ConsentKind, target: str | None) -> bool:
        """Whether the site or workspace `target` (canonical; None when nothing vouches for one) was agreed to. Without a mode, all are."""
        prefix = f"{CONSENT_PREFIX}{kind}/"
        marks = {rule.pattern[len(prefix) :] for rule in self.rules if rule.pattern.startswith(prefix) and _is_consent(rule)}
        if "mode/none" in marks:
            return False
        return "mode/selected" not in marks or (target is not None and f"allow/{target}" in marks)

    def for_collector(self, table: AdapterTable) -> CollectorPolicy:
        """Compile the rules to the wire: application ids of the table only, and every resource rule that does not allow as a glob."""
        return CollectorPolicy(
            allowed=self._apps("allow", table),
            blocked=self._apps("deny", table),
            protected=self._apps("protect", table),
            path_patterns=tuple(
                rule.pattern + "*" if rule.matcher == "prefix" else rule.pattern
                for rule in self.rules
                if rule.dimension == "resource" and rule.action != "allow"
            ),
        )

    def _apps(self, action: RuleAction, table: AdapterTable) -> tuple[str, ...]:
        rules = [rule for rule in self.rules if rule.dimension == "app" and rule.action == action]
        return tuple(bundle_id for bundle_id in table if any(rule.matches(bundle_id) for rule in rules))


def is_protected_app(bundle_id: str) -> bool:
    """Whether an application is one of those that are never recorded."""
    return bundle_id.casefold() in PROTECTED_BUNDLES


def _names_app(rule: Rule, bundle_id: str, ignore_case: bool) -> bool:
    return replace(rule, pattern=rule.pattern.casefold()).matches(bundle_id.casefold()) if ignore_case else rule.matches(bundle_id)


def _is_consent(rule: Rule) -> bool:
    return rule.dimension == "resource" and rule.action == "allow" and rule.matcher == "exact" and not rule.built_in
