"""Says what one rule of the policy is and which rules come with the program; the policy is made of them, and the store keeps them.

A rule speaks about an application (by id) or about a resource (by its text), and allows, denies or protects.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ...errors import LocalProtocolError
from ...generated.collector.models import RuleAction, RuleDimension, RuleMatcher
from ...generated.collector.vocabulary import MAX_TEXT_BYTES, RULE_ACTION, RULE_DIMENSION, RULE_MATCHER
from .protected_text import glob_matches

BAD_RULE_TEXT, BAD_RULE_SHAPE, BAD_RULE_ID = "rule-text", "rule-shape", "rule-id"  # refusal codes
BUILT_IN_PREFIX = "builtin:"

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
    """One rule. A glob has `*` as its only wildcard, which stands for any run of characters, `/` and nothing included; case counts."""

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


def check_rule(rule: Rule) -> None:
    """Refuse what could not be kept, told to a collector or shown. Raises LocalProtocolError.

    Code `rule-text`: half a character, NUL, nothing, or more than 4,096 bytes. Code `rule-shape`: a word that the vocabulary does not have.
    Code `rule-id`: the name of a rule that comes with the program.
    """
    for text in (rule.id, rule.pattern):
        try:
            size = len(text.encode())
        except UnicodeError:
            raise LocalProtocolError(BAD_RULE_TEXT, f"{text!a} is not valid Unicode") from None
        if not 0 < size <= MAX_TEXT_BYTES or "\0" in text:
            raise LocalProtocolError(BAD_RULE_TEXT, f"{text[:64]!a} is not 1 to {MAX_TEXT_BYTES} bytes of text without NUL")
    for word, words in ((rule.dimension, RULE_DIMENSION), (rule.action, RULE_ACTION), (rule.matcher, RULE_MATCHER)):
        if word not in words:
            raise LocalProtocolError(BAD_RULE_SHAPE, f"{word!a} is none of {', '.join(words)}", rule.id)
    if rule.built_in or rule.id.startswith(BUILT_IN_PREFIX):
        raise LocalProtocolError(BAD_RULE_ID, f"{rule.id!r}: a built-in rule comes with the program and cannot be given")


def _protect(identifier: str, dimension: RuleDimension, matcher: RuleMatcher, pattern: str) -> Rule:
    return Rule(f"{BUILT_IN_PREFIX}{identifier}", dimension, "protect", matcher, pattern, built_in=True)


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


def is_protected_app(bundle_id: str) -> bool:
    """Whether an application is one of those that are never recorded."""
    return bundle_id.casefold() in PROTECTED_BUNDLES


class TextRules:
    """Many rules on one text, asked at once: each pattern is taken apart when the rules are put together, not when a text is judged."""

    def __init__(self, rules: Iterable[Rule]) -> None:
        self._exact: set[str] = set()
        prefixes: list[str] = []
        suffixes: list[str] = []
        infixes: list[str] = []
        globs: list[str] = []
        for rule in rules:
            stars = rule.pattern.count("*")
            if rule.matcher == "exact" or (rule.matcher == "glob" and not stars):
                self._exact.add(rule.pattern)
            elif rule.matcher == "prefix":
                prefixes.append(rule.pattern)
            elif stars == 1 and rule.pattern.endswith("*"):
                prefixes.append(rule.pattern[:-1])
            elif stars == 1 and rule.pattern.startswith("*"):
                suffixes.append(rule.pattern[1:])
            elif stars == 2 and len(rule.pattern) > 2 and rule.pattern[0] == rule.pattern[-1] == "*":
                infixes.append(rule.pattern[1:-1])
            else:
                globs.append(rule.pattern)
        self._prefixes, self._suffixes, self._infixes, self._globs = tuple(prefixes), tuple(suffixes), tuple(infixes), tuple(globs)

    def match(self, text: str) -> bool:
        """Whether any of the rules speaks about this text."""
        if text in self._exact or text.startswith(self._prefixes) or text.endswith(self._suffixes):
            return True
        for infix in self._infixes:
            if infix in text:
                return True
        return bool(self._globs) and any(glob_matches(glob, text) for glob in self._globs)
