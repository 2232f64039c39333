"""The include-only policy: rules, what they allow and refuse, and what of them goes to the collector. The host decides with it.

A rule speaks about an application (by id) or about a resource (by its text), and allows, denies or protects. Without a rule that allows an
application nothing of it is recorded; a rule that does not allow always wins over one that does. There is no rule about titles: a title is
held against the rules on resources.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property

from ...errors import LocalProtocolError
from ...generated.collector.models import PolicyMode, RuleAction
from ...generated.collector.vocabulary import CONSENT_PREFIX
from .adapter_table import AdapterTable
from .consents import Consent, ConsentKind, check_consent_rules, consent_of, consent_rules
from .rules import BAD_RULE_ID, BUILT_IN_RULES, PROTECTED_BUNDLES, Rule, TextRules, allow_app, check_rule, is_protected_app

__all__ = [
    "BUILT_IN_RULES",
    "CONSENT_PREFIX",
    "PROTECTED_BUNDLES",
    "CollectorPolicy",
    "Consent",
    "ConsentKind",
    "Policy",
    "Rule",
    "allow_app",
    "checked_rules",
    "is_protected_app",
]

REMEMBERED = 1024  #: the most applications whose verdict a policy remembers


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

    def replaced(self, rules: Iterable[Rule]) -> Policy:
        """The next revision: the built-in rules stay, all others are replaced by `rules`."""
        kept = tuple(rule for rule in self.rules if rule.built_in)
        return replace(self, revision=self.revision + 1, rules=(*kept, *rules))

    def included(self) -> Policy:
        """The policy that a host begins with: `exclude` becomes the next revision in include-only, which allows what its rules allow."""
        return self if self.mode == "include-only" else replace(self, revision=self.revision + 1, mode="include-only")

    @property
    def own_rules(self) -> tuple[Rule, ...]:
        """The rules that did not come with the program, the consent entries included."""
        return tuple(rule for rule in self.rules if not rule.built_in)

    def with_consent(self, given: Consent) -> Policy:
        """The next revision, in which this consent stands in the place of the one of its kind."""
        prefix = f"{CONSENT_PREFIX}{given.kind}/"
        return self.replaced((*(rule for rule in self.own_rules if not rule.pattern.startswith(prefix)), *consent_rules(given)))

    def consent(self, kind: ConsentKind) -> Consent:
        """What was agreed to of this kind."""
        return self._consents[kind]

    @cached_property
    def allows_an_app(self) -> bool:
        """Whether any rule lets an application in; without one, health says `no-apps-allowed`."""
        return any(rule.dimension == "app" and rule.action == "allow" for rule in self.rules)

    @cached_property
    def has_resource_refusal(self) -> bool:
        """Whether any resource rule denies or protects; then a name whose place is unknown cannot be cleared."""
        return any(rule.dimension == "resource" and rule.action != "allow" for rule in self.rules)

    def refuses_text(self, text: str) -> bool:
        """Whether a resource rule that does not allow speaks about this text."""
        return self._refusing.match(text)

    def allows(self, bundle_id: str, resource_texts: Iterable[str], *, ignore_case: bool = False) -> bool:
        """Whether an application may be recorded with this resource (the texts that name it; none without a resource)."""
        return self.allows_app(bundle_id, ignore_case=ignore_case) and not any(map(self._refusing.match, resource_texts))

    def allows_app(self, bundle_id: str, *, ignore_case: bool = False) -> bool:
        """Whether an application may be recorded at all."""
        known = self._verdicts.get((bundle_id, ignore_case))
        if known is None:
            if len(self._verdicts) >= REMEMBERED:
                self._verdicts.clear()
            known = self.mode == "include-only" and self._actions(bundle_id, ignore_case) == {"allow"}
            self._verdicts[bundle_id, ignore_case] = known
        return known

    def consents(self, kind: ConsentKind, target: str | None) -> bool:
        """Whether the site or workspace `target` (canonical; None when nothing vouches for one) was agreed to. Without a mode, all are."""
        return self._consents[kind].covers(target)

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

    @cached_property
    def _refusing(self) -> TextRules:
        return TextRules(rule for rule in self.rules if rule.dimension == "resource" and rule.action != "allow")

    @cached_property
    def _verdicts(self) -> dict[tuple[str, bool], bool]:
        return {}

    @cached_property
    def _consents(self) -> dict[ConsentKind, Consent]:
        kinds: tuple[ConsentKind, ...] = ("browser-origin", "editor-workspace")
        return {kind: consent_of(self.rules, kind) for kind in kinds}

    def _actions(self, bundle_id: str, ignore_case: bool) -> set[RuleAction]:
        return {rule.action for rule in self.rules if rule.dimension == "app" and _names_app(rule, bundle_id, ignore_case)}

    def _apps(self, action: RuleAction, table: AdapterTable) -> tuple[str, ...]:
        rules = [rule for rule in self.rules if rule.dimension == "app" and rule.action == action]
        return tuple(bundle_id for bundle_id in table if any(rule.matches(bundle_id) for rule in rules))


def checked_rules(given: Iterable[str | Rule]) -> tuple[Rule, ...]:
    """Rules as they are, and one that lets it in for each application id; each once.

    Raises LocalProtocolError: as `rules.check_rule`, `rule-id` for two rules of one name, `consent-entry` for a consent entry that is none.
    """
    rules = tuple(dict.fromkeys(rule if isinstance(rule, Rule) else allow_app(rule) for rule in given))
    names: set[str] = set()
    for rule in rules:
        check_rule(rule)
        if rule.id in names:
            raise LocalProtocolError(BAD_RULE_ID, f"two rules are called {rule.id!r}")
        names.add(rule.id)
    check_consent_rules(rules)
    return rules


def _names_app(rule: Rule, bundle_id: str, ignore_case: bool) -> bool:
    return replace(rule, pattern=rule.pattern.casefold()).matches(bundle_id.casefold()) if ignore_case else rule.matches(bundle_id)
