"""Rules, what of them goes to the collector, and the table of applications."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared_data import data
from triptych.adapters.collector.adapter_file import adapter_files, read_adapter_tables
from triptych.errors import LocalProtocolError
from triptych.machines.collector.adapter_table import BUILT_IN
from triptych.machines.collector.outgoing import check_fits
from triptych.machines.collector.policy import BUILT_IN_RULES, CollectorPolicy, Policy, Rule, allow_app, checked_rules
from triptych.machines.collector.rules import TextRules


def test_matchers() -> None:
    assert Rule("r", "app", "allow", "exact", "a*").matches("a*")
    assert not Rule("r", "app", "allow", "exact", "a*").matches("ab")
    assert Rule("r", "app", "allow", "prefix", "a.").matches("a.b")
    assert not Rule("r", "app", "allow", "prefix", "a.").matches("A.b")
    assert Rule("r", "app", "allow", "glob", "*.desktop").matches("x.desktop")


def test_a_fresh_policy_has_the_built_in_rules_and_allows_no_application() -> None:
    assert len(BUILT_IN_RULES) == 12
    assert all(rule.action == "protect" and rule.built_in for rule in BUILT_IN_RULES)
    assert Policy().allows_an_app is False
    assert Policy().has_resource_refusal is True
    assert Policy().for_collector(BUILT_IN).allowed == ()


def test_replacing_keeps_the_built_ins_and_counts_the_revision() -> None:
    policy = Policy().replaced((allow_app("code.desktop"),)).replaced((allow_app("code-insiders.desktop"),))
    assert policy.revision == 3
    assert policy.rules == (*BUILT_IN_RULES, allow_app("code-insiders.desktop"))


def test_the_wire_lists_hold_ids_of_the_table_in_its_order_and_every_resource_rule_as_a_glob() -> None:
    mine = (
        allow_app("org.gnome.Terminal.desktop"),
        allow_app("com.microsoft.VSCode.desktop"),
        allow_app("org.example.NotInTheTable.desktop"),
        Rule("deny", "app", "deny", "glob", "org.kde.*"),
        Rule("protect", "app", "protect", "prefix", "md."),
        Rule("mine", "resource", "deny", "prefix", "/home/me/"),
        Rule("exact", "resource", "protect", "exact", "/a*b"),
        Rule("ok", "resource", "allow", "exact", "/ok"),
    )
    assert Policy().replaced(mine).for_collector(BUILT_IN) == CollectorPolicy(
        allowed=("com.microsoft.VSCode.desktop", "org.gnome.Terminal.desktop"),
        blocked=("org.kde.konsole.desktop", "org.kde.dolphin.desktop", "org.kde.kate.desktop", "org.kde.kwrite.desktop"),
        protected=("md.obsidian",),
        path_patterns=("*/.env", "*/.env.*", "*.pem", "*.key", "*/.ssh/*", "*credentials*", "*secrets*", "/home/me/*", "/a*b"),
    )


def test_an_id_is_found_exactly_and_an_exe_in_any_case() -> None:
    assert BUILT_IN.find("notepad.EXE") is BUILT_IN.find("Notepad.exe")
    assert BUILT_IN.find("Code.desktop") is None
    found = BUILT_IN.spelled("ORG.GNOME.TERMINAL.DESKTOP")
    assert found is not None and found[0] == "org.gnome.Terminal.desktop" and found[1].id == "terminal"


def test_the_table_begins_with_the_recorded_one() -> None:
    recorded = json.loads(data("collector", "adapter-table.json").read_text())["adapters"]
    assert [adapter.id for adapter in BUILT_IN.adapters][: len(recorded)] == [entry["id"] for entry in recorded]
    for adapter, entry in zip(BUILT_IN.adapters, recorded, strict=False):
        assert adapter.surface_kind == entry["surfaceKind"]
        assert adapter.suppresses_window_title is entry["suppressesWindowTitle"]
        assert adapter.document_resource_kind == entry["documentResourceKind"]
        assert adapter.focused_element_policy == entry["focusedElementPolicy"]
        for platform in ("darwin", "win32", "linux"):
            more = entry["linuxIdsOnlyInNativeTable"] if platform == "linux" else []
            wanted = entry["ids"][platform] + more
            assert list(getattr(adapter.ids, platform))[: len(wanted)] == wanted


@pytest.mark.parametrize(
    ("bundle_id", "surface"),
    [
        ("org.gnome.gedit.desktop", "editor"),
        ("org.gnome.TextEditor.desktop", "editor"),
        ("org.kde.kate.desktop", "editor"),
        ("org.gnome.Evince.desktop", "document"),
        ("libreoffice-writer.desktop", "document"),
        ("libreoffice-calc.desktop", "document"),
        ("org.libreoffice.LibreOffice.impress.desktop", "document"),
        ("org.kde.konsole.desktop", "terminal"),
        ("org.kde.dolphin.desktop", "window"),
        ("com.microsoft.VSCodeInsiders", "editor"),
        ("com.exafunction.windsurf", "editor"),
        ("com.vscodium", "editor"),
    ],
)
def test_what_people_use_on_linux_is_in_the_table(bundle_id: str, surface: str) -> None:
    found = BUILT_IN.find(bundle_id)
    assert found is not None
    assert (found.surface_kind, found.suppresses_window_title) == (surface, surface == "terminal")


def test_no_id_stands_twice_in_the_table() -> None:
    named = [name for adapter in BUILT_IN.adapters for name in (*adapter.ids.darwin, *adapter.ids.win32, *adapter.ids.linux)]
    assert len(named) == len(set(named))
    assert len({adapter.id for adapter in BUILT_IN.adapters}) == len(BUILT_IN.adapters)


FORM = {
    "id": "form",
    "surfaceKind": "window",
    "suppressesWindowTitle": False,
    "documentResourceKind": "file",
    "focusedElementPolicy": "require",
    "ids": {"darwin": [], "win32": [], "linux": ["org.example.Form.desktop"]},
}


def test_more_entries_come_from_a_document_after_the_built_in_ones() -> None:
    table = BUILT_IN.extended(json.dumps({"adapters": [FORM]}).encode())
    found = table.find("org.example.Form.desktop")
    assert found is not None and found.surface_kind == "window"
    assert list(table)[-1] == "org.example.Form.desktop"
    assert BUILT_IN.find("org.example.Form.desktop") is None


@pytest.mark.parametrize(
    "document",
    [
        "",
        "[]",
        "{}",
        '{"adapters": 1}',
        json.dumps({"adapters": [{**FORM, "surfaceKind": "toaster"}]}),
        json.dumps({"adapters": [{**FORM, "more": 1}]}),
        json.dumps({"adapters": [{**FORM, "id": ""}]}),
        json.dumps({"adapters": [{**FORM, "ids": {"darwin": [], "win32": [], "linux": ["x" * 513]}}]}),
        json.dumps({"adapters": [{**FORM, "ids": {"darwin": [], "win32": [], "linux": ["code.desktop"]}}]}),
    ],
)
def test_a_document_that_is_no_table_is_refused(document: str) -> None:
    with pytest.raises(LocalProtocolError) as caught:
        BUILT_IN.extended(document.encode())
    assert caught.value.code == "adapter-table"


def test_the_entries_of_the_data_directory_come_before_those_of_a_named_file_and_give_way_to_built_in_ones(tmp_path: Path) -> None:
    named = tmp_path / "named.json"
    assert adapter_files(tmp_path) == ()
    assert adapter_files(tmp_path, named) == (named,)
    kept = tmp_path / "adapters.json"
    kept.write_text(json.dumps({"adapters": [{**FORM, "ids": {**FORM["ids"], "linux": ["code.desktop", "org.example.Form.desktop"]}}]}))  # type: ignore[dict-item]  # plain JSON
    named.write_text(json.dumps({"adapters": [{**FORM, "id": "other", "surfaceKind": "document"}]}))
    assert adapter_files(tmp_path, named) == (kept, named)
    table = read_adapter_tables(adapter_files(tmp_path, named))
    form, code = table.find("org.example.Form.desktop"), table.find("code.desktop")
    assert form is not None and code is not None
    assert (form.id, form.surface_kind, code.id) == ("form", "window", "vscode")
    named.write_text("{}")
    with pytest.raises(LocalProtocolError) as caught:
        read_adapter_tables(adapter_files(tmp_path, named))
    assert caught.value.code == "adapter-table"


@pytest.mark.parametrize(
    ("rules", "code"),
    [
        ([""], "rule-text"),
        (["a\0b"], "rule-text"),
        (["\udcff.desktop"], "rule-text"),
        (["é" * 2049], "rule-text"),
        ([Rule("", "app", "allow", "exact", "a")], "rule-text"),
        ([Rule("r", "app", "allow", "exact", "")], "rule-text"),
        ([Rule("r", "title", "allow", "exact", "a")], "rule-shape"),  # type: ignore[arg-type]  # what a caller may get wrong
        ([Rule("r", "app", "permit", "exact", "a")], "rule-shape"),  # type: ignore[arg-type]  # what a caller may get wrong
        ([Rule("r", "app", "allow", "regex", "a")], "rule-shape"),  # type: ignore[arg-type]  # what a caller may get wrong
        ([Rule("builtin:mine", "app", "allow", "exact", "a")], "rule-id"),
        ([Rule("mine", "app", "allow", "exact", "a", built_in=True)], "rule-id"),
        ([Rule("r", "app", "allow", "exact", "a"), Rule("r", "app", "deny", "exact", "a")], "rule-id"),
        ([Rule("@dch-consent/v1/sound/mode/none", "resource", "allow", "exact", "@dch-consent/v1/sound/mode/none")], "consent-entry"),
    ],
)
def test_what_is_no_rule_is_refused_by_its_code(rules: list[str | Rule], code: str) -> None:
    with pytest.raises(LocalProtocolError) as caught:
        checked_rules(rules)
    assert caught.value.code == code


def test_the_same_rule_twice_is_one_rule() -> None:
    assert checked_rules(["a.desktop", allow_app("a.desktop")]) == (allow_app("a.desktop"),)


def test_a_policy_in_exclude_mode_becomes_include_only_and_allows_no_more_than_its_rules_do() -> None:
    excluding = replace(Policy().replaced((allow_app("code.desktop"),)), mode="exclude")
    assert not excluding.allows("code.desktop", ())
    included = excluding.included()
    assert (included.mode, included.revision) == ("include-only", excluding.revision + 1)
    assert included.allows("code.desktop", ()) and not included.allows("org.gnome.gedit.desktop", ())
    assert included.included() is included


def test_a_policy_that_no_line_has_room_for_is_refused() -> None:
    rules = tuple(Rule(f"r{number}", "resource", "deny", "exact", f"/{number}/" + "x" * 1000) for number in range(70))
    check_fits(Policy().replaced(rules[:60]), BUILT_IN)
    with pytest.raises(LocalProtocolError) as caught:
        check_fits(Policy().replaced(rules), BUILT_IN)
    assert caught.value.code == "policy-too-large"


def test_a_policy_forgets_verdicts_before_they_are_too_many() -> None:
    policy = Policy().replaced((Rule("r", "app", "allow", "prefix", "org."),))
    for number in range(3000):
        assert policy.allows_app(f"org.{number}") and not policy.allows_app(f"com.{number}")
    assert len(policy._verdicts) <= 1024


TEXTS = st.text("ab*/.", max_size=8)
RULES = st.builds(
    Rule,
    TEXTS,
    st.sampled_from(["app", "resource"]),
    st.sampled_from(["allow", "deny", "protect"]),
    st.sampled_from(["exact", "prefix", "glob"]),
    TEXTS.filter(bool),
)


def glob(pattern: str, text: str) -> bool:
    """The meaning of a glob, said once more and slowly."""
    if not pattern:
        return not text
    if pattern[0] == "*":
        return any(glob(pattern[1:], text[at:]) for at in range(len(text) + 1))
    return bool(text) and pattern[0] == text[0] and glob(pattern[1:], text[1:])


def speaks(rule: Rule, text: str) -> bool:
    return {"exact": text == rule.pattern, "prefix": text.startswith(rule.pattern), "glob": glob(rule.pattern, text)}[rule.matcher]


@given(st.lists(RULES, max_size=6), TEXTS, TEXTS)
def test_a_policy_decides_as_its_rules_say(rules: list[Rule], app: str, resource: str) -> None:
    assert [rule.matches(resource) for rule in rules] == [speaks(rule, resource) for rule in rules]
    assert TextRules(rules).match(resource) == any(speaks(rule, resource) for rule in rules)
    policy = Policy(2, tuple(rules))
    refused = any(rule.dimension == "resource" and rule.action != "allow" and speaks(rule, resource) for rule in rules)
    about = {rule.action for rule in rules if rule.dimension == "app" and speaks(rule, app)}
    for _ in range(2):  # the second time from memory
        assert policy.allows(app, (resource,)) == (about == {"allow"} and not refused)
        assert policy.allows(app, ()) == (about == {"allow"})
    assert not replace(policy, mode="exclude").allows(app, ())
    told = policy.for_collector(BUILT_IN)
    assert all(any(glob(pattern, resource) for pattern in told.path_patterns) for _ in range(refused)), "the collector is told no less"
