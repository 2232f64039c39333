"""Rules, what of them goes to the collector, and the table of applications."""

from __future__ import annotations

import json

import pytest

from shared_data import data
from triptych.errors import LocalProtocolError
from triptych.machines.collector.adapter_table import BUILT_IN
from triptych.machines.collector.policy import BUILT_IN_RULES, CollectorPolicy, Policy, Rule, allow_app


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
        blocked=("org.kde.konsole.desktop", "org.kde.dolphin.desktop"),
        protected=("md.obsidian",),
        path_patterns=("*/.env", "*/.env.*", "*.pem", "*.key", "*/.ssh/*", "*credentials*", "*secrets*", "/home/me/*", "/a*b"),
    )


def test_an_id_is_found_exactly_and_an_exe_in_any_case() -> None:
    assert BUILT_IN.find("notepad.EXE") is BUILT_IN.find("Notepad.exe")
    assert BUILT_IN.find("Code.desktop") is None
    found = BUILT_IN.spelled("ORG.GNOME.TERMINAL.DESKTOP")
    assert found is not None and found[0] == "org.gnome.Terminal.desktop" and found[1].id == "terminal"


def test_the_table_is_the_recorded_one() -> None:
    recorded = json.loads(data("collector", "adapter-table.json").read_text())["adapters"]
    assert [adapter.id for adapter in BUILT_IN.adapters] == [entry["id"] for entry in recorded]
    for adapter, entry in zip(BUILT_IN.adapters, recorded, strict=True):
        assert adapter.surface_kind == entry["surfaceKind"]
        assert adapter.suppresses_window_title is entry["suppressesWindowTitle"]
        assert adapter.document_resource_kind == entry["documentResourceKind"]
        assert adapter.focused_element_policy == entry["focusedElementPolicy"]
        for platform in ("darwin", "win32", "linux"):
            more = entry["linuxIdsOnlyInNativeTable"] if platform == "linux" else []
            assert list(getattr(adapter.ids, platform)) == entry["ids"][platform] + more


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
