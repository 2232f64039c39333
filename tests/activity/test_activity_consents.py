"""What a person agrees to let companions report: the one spelling of a site and of a folder, the three modes, and what is no entry."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from triptych.errors import LocalProtocolError
from triptych.machines.collector.adapter_table import BUILT_IN
from triptych.machines.collector.consents import (
    Consent,
    canonical_origin,
    canonical_workspace,
    check_consent_rules,
    consent,
    consent_of,
    consent_rules,
)
from triptych.machines.collector.policy import BUILT_IN_RULES, CONSENT_PREFIX, Policy, Rule, allow_app, checked_rules


@pytest.mark.parametrize(
    ("given_as", "canonical"),
    [
        ("https://example.org/", "https://example.org/"),
        ("https://Example.ORG", "https://example.org/"),
        ("HTTPS://example.org:443/", "https://example.org/"),
        ("http://example.org:80", "http://example.org/"),
        ("http://example.org:8080/", "http://example.org:8080/"),
        ("http://[::1]:8080", "http://[::1]:8080/"),
        ("http://127.0.0.1/", "http://127.0.0.1/"),
        ("https://example.org/path", None),
        ("https://example.org/?q", None),
        ("https://example.org/#", None),
        ("https://me@example.org/", None),
        ("https://@example.org/", None),
        ("ftp://example.org/", None),
        ("example.org", None),
        ("https://", None),
        ("https://exa mple.org/", None),
        ("https://münchen.de/", None),
        ("http://127.1/", None),
        ("https://example.org:99999/", None),
        ("", None),
    ],
)
def test_the_one_spelling_of_a_site(given_as: str, canonical: str | None) -> None:
    assert canonical_origin(given_as) == canonical
    assert canonical is None or canonical_origin(canonical) == canonical


@pytest.mark.parametrize(
    ("given_as", "canonical"),
    [
        ("/home/me/App", "/home/me/App"),
        ("/home//me/./App/", "/home/me/App"),
        ("/home/me/x/../App", "/home/me/App"),
        ("/", "/"),
        ("/..", None),
        ("/a/../../b", None),
        ("/a\\b", None),
        ("C:\\Work\\App\\", "c:/work/app"),
        ("c:/Work/./App", "c:/work/app"),
        ("C:\\", "c:/"),
        ("C:\\..", None),
        ("\\\\Server\\Share\\App", "//server/share/app"),
        ("\\\\server\\share\\", "//server/share"),
        ("\\\\server\\share\\..", None),
        ("\\\\server\\..", None),
        ("\\\\server", None),
        ("C:work", None),
        ("work/app", None),
        ("", None),
    ],
)
def test_the_one_spelling_of_a_folder(given_as: str, canonical: str | None) -> None:
    assert canonical_workspace(given_as) == canonical
    assert canonical is None or canonical_workspace(canonical) == canonical


@given(st.text("/\\aB.:C ", max_size=12))
def test_a_spelling_is_its_own_spelling(text: str) -> None:
    found = canonical_workspace(text)
    assert found is None or canonical_workspace(found) == found


@pytest.mark.parametrize("kind", ["browser-origin", "editor-workspace"])
def test_without_a_mode_all_are_agreed_to_and_none_wins(kind: Any) -> None:
    target = "https://example.org/" if kind == "browser-origin" else "/work/app"
    other = "https://example.com/" if kind == "browser-origin" else "/work/other"
    policy = Policy()
    assert policy.consents(kind, target) and policy.consents(kind, None)
    selected = policy.with_consent(consent(kind, "selected", [target]))
    assert selected.consents(kind, target) and not selected.consents(kind, other) and not selected.consents(kind, None)
    none = selected.with_consent(consent(kind, "none", [target]))
    assert not none.consents(kind, target)
    assert none.consent(kind) == Consent(kind, "none", frozenset({target}))
    both = Policy(2, (*consent_rules(consent(kind, "selected", [target])), *consent_rules(consent(kind, "none"))))
    assert not both.consents(kind, target)
    back = none.with_consent(consent(kind, "all"))
    assert back.consents(kind, other) and back.rules == BUILT_IN_RULES


def test_a_consent_changes_nothing_else_of_the_policy() -> None:
    policy = Policy().replaced((allow_app("code.desktop"),)).with_consent(consent("editor-workspace", "selected", ["/work/app"]))
    both = policy.with_consent(consent("browser-origin", "selected", ["https://example.org"]))
    assert both.consent("editor-workspace").targets == {"/work/app"}
    assert both.consent("browser-origin").targets == {"https://example.org/"}
    assert allow_app("code.desktop") in both.rules and both.revision == policy.revision + 1
    assert checked_rules(both.own_rules) == both.own_rules
    assert not any(CONSENT_PREFIX in text for text in both.for_collector(BUILT_IN).path_patterns)


def test_a_subfolder_and_a_subdomain_are_others() -> None:
    folder, site = consent("editor-workspace", "selected", ["/work/app"]), consent("browser-origin", "selected", ["https://example.org"])
    assert not folder.covers("/work/app/inner") and not folder.covers("/work")
    assert not site.covers("https://www.example.org/") and not site.covers("http://example.org/")


@pytest.mark.parametrize(
    ("kind", "mode", "targets"),
    [
        ("sound", "all", ()),
        ("browser-origin", "some", ()),
        ("browser-origin", "selected", ["https://example.org/page"]),
        ("editor-workspace", "selected", ["work"]),
        ("editor-workspace", "selected", ["/a\0b"]),
        ("editor-workspace", "selected", ["/" + "a" * 1024]),
        ("editor-workspace", "selected", [f"/{number}" for number in range(65)]),
    ],
)
def test_what_is_no_consent_is_refused(kind: Any, mode: Any, targets: Any) -> None:
    with pytest.raises(LocalProtocolError) as caught:
        consent(kind, mode, targets)
    assert caught.value.code == "consent-entry"


def test_64_targets_of_a_kind_are_kept() -> None:
    given_targets = consent("editor-workspace", "selected", [f"/{number}" for number in range(64)])
    rules = consent_rules(given_targets)
    assert checked_rules(rules) == rules and consent_of(rules, "editor-workspace") == given_targets
    with pytest.raises(LocalProtocolError):
        check_consent_rules((*rules, _entry("editor-workspace/allow//more")))


def _entry(rest: str, **changes: Any) -> Rule:
    made = {"id": CONSENT_PREFIX + rest, "dimension": "resource", "action": "allow", "matcher": "exact", "pattern": CONSENT_PREFIX + rest}
    return Rule(**{**made, **changes})


@pytest.mark.parametrize(
    "rule",
    [
        _entry(""),
        _entry("browser-origin"),
        _entry("browser-origin/mode/all"),
        _entry("browser-origin/mode/"),
        _entry("browser-origin/allow/"),
        _entry("browser-origin/allow/https://example.org"),
        _entry("browser-origin/allow/https://example.org/page"),
        _entry("browser-origin/deny/https://example.org/"),
        _entry("editor-workspace/allow//work/app/"),
        _entry("editor-workspace/allow/C:\\Work"),
        _entry("terminal-folder/mode/none"),
        _entry("browser-origin/mode/none", action="deny"),
        _entry("browser-origin/mode/none", matcher="prefix"),
        _entry("browser-origin/mode/none", dimension="app"),
        _entry("browser-origin/mode/none", id="mine"),
        _entry("browser-origin/mode/none", built_in=True),
    ],
)
def test_an_entry_that_is_malformed_is_refused_and_means_nothing(rule: Rule) -> None:
    with pytest.raises(LocalProtocolError) as caught:
        check_consent_rules((rule,))
    assert caught.value.code == "consent-entry"
    if rule.id == rule.pattern:
        assert consent_of((rule,), "browser-origin").mode == "all"
