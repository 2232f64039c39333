"""The choke point: every gate with its reason, and the order in which they stand."""

from __future__ import annotations

from dataclasses import replace
from typing import get_args

import msgspec
import pytest

from triptych.generated.collector import vocabulary
from triptych.machines.collector.adapter_table import BUILT_IN
from triptych.machines.collector.capture import HealthReason
from triptych.machines.collector.consents import ConsentMode
from triptych.machines.collector.facts import Facts, Provider
from triptych.machines.collector.focus import ElementState
from triptych.machines.collector.gates import DEFAULT_RETENTION_MS, Admitted, Reason, Refused, Rulebook, SurfaceKind, admit, placed
from triptych.machines.collector.policy import CONSENT_PREFIX, PROTECTED_BUNDLES, ConsentKind, Policy, Rule, allow_app
from triptych.machines.collector.resources import Resource
from triptych.machines.collector.workspaces import Source, Workspace, git_workspace

NOW = 1_791_000_000_000
EDITOR = "code.desktop"
TERMINAL = "org.gnome.Terminal.desktop"


def facts(**changes: object) -> Facts:
    plain = Facts(
        session="linux-1", seq=1, observed_at_ms=NOW, pid=42, bundle_id=EDITOR, title="A page of notes", adapter="vscode", provider="at-spi"
    )
    return msgspec.structs.replace(plain, **changes)


def rulebook(*more: Rule, allowed: tuple[str, ...] = tuple(BUILT_IN)) -> Rulebook:
    return Rulebook(Policy().replaced((*map(allow_app, allowed), *more)))


def reason(seen: Facts, rules: Rulebook | None = None, **more: str) -> str:
    verdict = admit(seen, rules or rulebook(), NOW, **more)
    return verdict.reason if isinstance(verdict, Refused) else ""


def consent(kind: str, rest: str) -> Rule:
    pattern = f"{CONSENT_PREFIX}{kind}/{rest}"
    return Rule(pattern, "resource", "allow", "exact", pattern)


def test_admits_what_every_gate_lets_pass() -> None:
    verdict = admit(facts(document="/home/me/notes/page.md", role="text"), rulebook(), NOW)
    assert isinstance(verdict, Admitted)
    assert verdict.title == "A page of notes"
    assert verdict.resource == Resource("file", "file:///home/me/notes/page.md", "page.md", "/home/me/notes/page.md")
    assert verdict.adapter.id == "vscode"
    assert (verdict.policy_revision, verdict.expires_at_ms) == (2, NOW + DEFAULT_RETENTION_MS)


@pytest.mark.parametrize("document", ["file:///a%00b", "file:///%00", "/a\0b"])
def test_a_path_with_a_nul_is_no_path(document: str) -> None:
    assert reason(facts(document=document)) == "bad-resource"


def test_a_new_policy_allows_nothing() -> None:
    assert reason(facts(), Rulebook()) == "policy"


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"protected": True, "reason": "protected-app"}, "protected-app"),
        ({"protected": True, "secure": True, "reason": "protected-app"}, "protected-app"),
        ({"protected": True, "reason": "protected-metadata"}, "protected-metadata"),
        ({"protected": True}, "secure-field"),
        ({"protected": True, "reason": "anything"}, "secure-field"),
        ({"secure": True, "reason": "secure-field"}, "secure-field"),
        ({"secure": True, "reason": "unreadable-focused-element"}, "secure-field"),
        ({"secure": True, "reason": "focused-element-unqueryable"}, "secure-field"),
        ({"bundle_id": "org.keepassxc.KeePassXC.desktop"}, "protected-app"),
        ({"bundle_id": "BITWARDEN.exe"}, "protected-app"),
        ({"document": "/repo/.env"}, "protected-metadata"),
        ({"url": "https://example.org/credentials"}, "protected-metadata"),
        ({"identifier": "%zz"}, "protected-metadata"),
        ({"title": "/home/me/.ssh/id_rsa"}, "protected-metadata"),
        ({"bundle_id": "org.example.Unknown.desktop"}, "not-an-adapter"),
        ({"bundle_id": "Code.desktop"}, "not-an-adapter"),
        ({"title": "provider.ts"}, "unlocatable-name"),
        ({"url": "https://example.org/page"}, "browser-unpaired"),
        ({"document": "http://example.org/page"}, "browser-unpaired"),
        ({"document": "file://elsewhere/page"}, "bad-resource"),
        ({"observed_at_ms": NOW + 5_001}, "future-timestamp"),
        ({"observed_at_ms": NOW - DEFAULT_RETENTION_MS}, "expired"),
        ({"observed_at_ms": 0}, "expired"),
    ],
)
def test_reason(changes: dict[str, object], expected: str) -> None:
    assert reason(facts(**changes)) == expected


@pytest.mark.parametrize("bundle_id", sorted(PROTECTED_BUNDLES))
def test_a_protected_application_stays_so_under_a_policy_that_allows_it(bundle_id: str) -> None:
    assert reason(facts(bundle_id=bundle_id), rulebook(allowed=(bundle_id,))) == "protected-app"


def test_a_file_url_with_a_secret_behind_an_escape_is_refused() -> None:
    assert reason(facts(document="file:///home/me/%2Essh/config")) == "protected-metadata"


def test_edges_of_time_pass() -> None:
    assert reason(facts(observed_at_ms=NOW + 5_000)) == ""
    assert reason(facts(observed_at_ms=NOW - DEFAULT_RETENTION_MS + 1)) == ""


def test_each_gate_stands_before_the_next() -> None:
    """One observation that every gate would refuse; taking the first reason away shows the second, and so on."""
    seen = facts(
        protected=True,
        reason="protected-app",
        secure=True,
        bundle_id="org.keepassxc.KeePassXC.desktop",
        identifier="%zz",
        title="provider.ts",
        url="https://example.org/page",
        observed_at_ms=0,
    )
    nothing = Rulebook()
    steps: list[tuple[dict[str, object], str]] = [
        ({}, "protected-app"),
        ({"protected": False, "reason": None}, "secure-field"),
        ({"secure": False}, "protected-app"),
        ({"bundle_id": "org.example.Unknown.desktop"}, "protected-metadata"),
        ({"identifier": None}, "not-an-adapter"),
        ({"bundle_id": EDITOR}, "browser-unpaired"),
        ({"url": None}, "unlocatable-name"),
        ({"title": "A page"}, "policy"),
    ]
    for changes, expected in steps:
        seen = msgspec.structs.replace(seen, **changes)
        assert reason(seen, nothing) == expected
    assert reason(seen) == "expired"


class TestPolicyGate:
    def test_an_application_that_no_rule_names_is_refused(self) -> None:
        assert reason(facts(), rulebook(allowed=("org.gnome.Nautilus.desktop",))) == "policy"

    @pytest.mark.parametrize("action", ["deny", "protect"])
    def test_a_rule_that_does_not_allow_wins_over_one_that_does(self, action: str) -> None:
        rule = Rule("mine", "app", action, "glob", "code*")  # type: ignore[arg-type]  # one of the two literals
        assert reason(facts(), rulebook(rule)) == "policy"

    def test_exclude_mode_fails_closed(self) -> None:
        rules = rulebook()
        assert reason(facts(), replace(rules, policy=replace(rules.policy, mode="exclude"))) == "policy"

    def test_case_of_an_application_is_forgiven_on_windows_only(self) -> None:
        allowed = rulebook(allowed=("CODE.EXE",))
        assert reason(facts(bundle_id="Code.exe", provider="windows-uia"), allowed) == ""
        assert reason(facts(bundle_id="Code.exe", provider="at-spi"), allowed) == "policy"

    def test_a_resource_rule_speaks_about_the_canonical_address_and_the_path(self) -> None:
        by_path = Rule("mine", "resource", "deny", "prefix", "/home/me/private/")
        by_address = Rule("mine", "resource", "deny", "glob", "file:///home/me/private/*")
        for rule in (by_path, by_address):
            assert reason(facts(document="file:///home/me/private/diary.md"), rulebook(rule)) != ""
            assert reason(facts(document="/home/me/private/diary.md"), rulebook(rule)) != ""
            assert reason(facts(document="/home/me/public/diary.md"), rulebook(rule)) == ""


class TestConsent:
    def test_an_editor_seen_natively_passes_without_a_mode_and_never_with_one(self) -> None:
        for mode in ("mode/selected", "mode/none"):
            assert reason(facts(), rulebook(consent("editor-workspace", mode))) == "policy"
        assert reason(facts(bundle_id=TERMINAL), rulebook(consent("editor-workspace", "mode/none"))) == ""

    def test_a_companion_passes_for_a_workspace_that_was_agreed_to(self) -> None:
        seen = facts(provider="companion", document="/work/app/main.py")
        selected = rulebook(consent("editor-workspace", "mode/selected"), consent("editor-workspace", "allow//work/app"))
        assert reason(seen, selected, vouched_root="/work/app") == ""
        assert reason(seen, selected, vouched_root="/work/other") == "policy"

    def test_a_vouched_root_that_is_protected_is_refused(self) -> None:
        seen = facts(provider="companion", document="/work/app/main.py")
        assert reason(seen, vouched_root="/work/secrets") == "protected-metadata"

    def test_a_site_needs_consent_once_a_mode_is_set(self) -> None:
        page = facts(provider="companion", bundle_id="companion.browser", url="https://example.org/a?b#c")
        assert reason(page) == ""
        selected = consent("browser-origin", "mode/selected")
        assert reason(page, rulebook(selected)) == "policy"
        assert reason(page, rulebook(selected, consent("browser-origin", "allow/https://example.org/"))) == ""

    def test_a_consent_is_asked_for_whatever_application_an_editor_companion_declares(self) -> None:
        """A companion that called itself a terminal, or a browser, would slip past the consent for workspaces otherwise."""
        none = consent("editor-workspace", "mode/none")
        for bundle_id in (TERMINAL, "companion.browser", EDITOR):
            seen = facts(provider="companion", bundle_id=bundle_id, document="/work/app/main.py")
            assert reason(seen, vouched_root="/work/app") == ""
            assert reason(seen, rulebook(none), vouched_root="/work/app") == "policy"

    def test_the_vouched_root_is_compared_in_its_one_spelling(self) -> None:
        selected = rulebook(consent("editor-workspace", "mode/selected"), consent("editor-workspace", "allow/c:/work/app"))
        seen = facts(provider="companion", bundle_id="com.microsoft.VSCode", title="main")
        assert reason(seen, selected, vouched_root="C:\\Work\\.\\App\\") == ""
        assert reason(seen, selected, vouched_root="C:\\Work\\App\\inner") == "policy"

    def test_a_root_that_a_collector_would_vouch_for_is_never_read(self) -> None:
        verdict = admit(facts(), rulebook(), NOW, vouched_root="/work/secrets")
        assert isinstance(verdict, Admitted) and verdict.workspace is None
        selected = rulebook(consent("editor-workspace", "mode/selected"), consent("editor-workspace", "allow//work/app"))
        assert reason(facts(), selected, vouched_root="/work/app") == "policy"


class TestWorkspace:
    def test_a_companions_workspace_is_the_one_it_vouches_for(self) -> None:
        verdict = admit(facts(provider="companion", document="/work/app/a.py"), rulebook(), NOW, vouched_root="/work//app/")
        assert isinstance(verdict, Admitted)
        assert verdict.workspace == Workspace("companion", "/work/app", "/work/app", "app", 1.0)

    def test_a_workspace_that_the_host_found_is_put_on_it_unless_its_folder_is_protected(self) -> None:
        mine = Rule("mine", "resource", "deny", "exact", "/home/me/diary")
        rules = rulebook(mine)
        verdict = admit(facts(document="/home/me/diary/a.md"), rules, NOW)
        assert isinstance(verdict, Admitted)
        assert placed(verdict, git_workspace("/home/me/diary"), rules.policy).workspace is None
        found = placed(verdict, git_workspace("/home/me"), rules.policy)
        assert found.workspace == Workspace("git", "/home/me", "/home/me", "me", 0.9)
        assert msgspec.structs.replace(found, workspace=None) == verdict


class TestWhatIsStored:
    def test_an_event_and_a_kind_of_surface_come_from_a_companion_only(self) -> None:
        said = {"activity_event": "save", "surface_kind": "diff"}
        companion = admit(facts(provider="companion", **said), rulebook(), NOW, vouched_root="/work/app")
        native = admit(facts(**said), rulebook(), NOW)
        assert isinstance(companion, Admitted) and isinstance(native, Admitted)
        assert (companion.activity_event, companion.surface_kind) == ("save", "diff")
        assert (native.activity_event, native.surface_kind) == (None, "editor")

    @pytest.mark.parametrize(
        ("surface", "title"), [("editor", "A page of notes"), ("diff", "A page of notes"), ("terminal", None), ("output", None)]
    )
    def test_an_editors_terminal_loses_its_title_as_any_terminal(self, surface: str, title: str | None) -> None:
        verdict = admit(facts(provider="companion", surface_kind=surface), rulebook(), NOW, vouched_root="/work/app")
        assert isinstance(verdict, Admitted) and verdict.title == title

    def test_a_terminal_keeps_its_folder_and_loses_its_title(self) -> None:
        verdict = admit(facts(bundle_id=TERMINAL, title="me@host: /repo", document="/repo"), rulebook(), NOW)
        assert isinstance(verdict, Admitted)
        assert verdict.title is None
        assert verdict.resource == Resource("directory", "file:///repo", "repo", "/repo")

    def test_a_page_loses_query_fragment_password_and_title(self) -> None:
        page = facts(
            provider="companion", bundle_id="companion.browser", title="My mail", url="https://me:pw@Example.org:8443/a/b?token=1#x"
        )
        verdict = admit(page, rulebook(), NOW)
        assert isinstance(verdict, Admitted)
        assert verdict.title is None
        assert verdict.resource == Resource("url", "https://example.org:8443/a/b", "example.org:8443/a/b")

    def test_a_refusal_holds_no_text(self) -> None:
        assert admit(facts(title="/home/me/.ssh/id_rsa"), rulebook(), NOW) == Refused("protected-metadata")


def words(kind: object) -> tuple[str, ...]:
    """The words of a Literal, or of a union of them."""
    return (kind,) if isinstance(kind, str) else tuple(word for member in get_args(kind) for word in words(member))


def test_the_words_that_are_written_out_are_those_of_the_vocabulary() -> None:
    assert set(get_args(Reason)) <= set(vocabulary.REFUSAL_REASON)
    assert words(Provider) == vocabulary.PROVIDER
    assert {state.name.lower().replace("_", "-") for state in ElementState} == set(vocabulary.ELEMENT_STATE)
    assert {state.value for state in ElementState if state.value} <= set(vocabulary.PRIVACY_REASON)
    assert get_args(ConsentKind) == vocabulary.CONSENT_KIND
    assert get_args(ConsentMode) == vocabulary.CONSENT_MODE
    assert get_args(SurfaceKind) == vocabulary.SURFACE_KIND
    assert get_args(HealthReason) == vocabulary.HEALTH_REASON
    assert {*get_args(Source), "none"} == set(vocabulary.WORKSPACE_SOURCE)
