"""`triptych activity policy`: what a person says is what is stored, what cannot be is one clear line, and nothing is let in by accident."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from activity_people_kit import activity, environment
from triptych.engine.activity_cli.adapters import known_adapters
from triptych.engine.activity_cli.policy import changed_rules, stored_policy
from triptych.errors import LocalProtocolError
from triptych.machines.collector.policy import Policy, Rule, allow_app

EDITOR = "org.gnome.TextEditor.desktop"


@pytest.fixture
def policy(tmp_path: Path) -> Any:
    env = environment(tmp_path, DBUS_SESSION_BUS_ADDRESS="unix:path=/nonexistent")

    def run(*arguments: str, code: int = 0) -> str:
        ended = activity("policy", "--data", str(tmp_path / "history"), *arguments, env=env)
        assert ended.returncode == code, ended.stderr
        if code:
            assert ended.stdout == "" and (code == 2 or ended.stderr.count("\n") == 1)
        return ended.stderr if code else ended.stdout

    return run


def test_looking_makes_nothing_and_says_that_nothing_is_recorded(policy: Any, tmp_path: Path) -> None:
    for arguments in ([], ["list", "--all"], ["sites"], ["workspaces"], ["adapter", "list"]):
        policy(*arguments)
    assert not (tmp_path / "history").exists()
    shown = policy()
    assert "applications that are recorded: none; see what is open: triptych activity policy allow" in shown
    assert "web sites: all that a paired browser reports" in shown
    assert "protect resource glob *.pem" in policy("list", "--all")


def test_allow_deny_and_remove(policy: Any, tmp_path: Path) -> None:
    data = tmp_path / "history"
    said = policy("allow", EDITOR, "org.example.*")
    assert said.splitlines()[:2] == [f"allowed  {EDITOR}", "allowed  org.example.*"]
    assert "cannot be told: no session bus" in said
    assert stored_policy(data).allows_app(EDITOR) and stored_policy(data).allows_app("org.example.Any")
    policy("deny", "org.example.Any")
    assert not stored_policy(data).allows_app("org.example.Any") and stored_policy(data).allows_app("org.example.Other")
    policy("allow", "org.example.Any")  # about the same application: it takes the place of the rule that denied it
    assert stored_policy(data).allows_app("org.example.Any")
    policy("protect", EDITOR)
    assert not stored_policy(data).allows_app(EDITOR)
    value = json.loads(policy("remove", EDITOR, "org.example.*", "--json"))
    assert [rule["pattern"] for rule in value["rules"] if not rule["builtIn"]] == ["org.example.Any"]
    revision = value["revision"]
    assert json.loads(policy("allow", "org.example.Any", "--json"))["revision"] == revision, "nothing has changed"


def test_what_an_open_program_would_need_is_said(policy: Any) -> None:
    assert "no adapter knows org.example.Form.desktop" in policy("allow", "org.example.Form.desktop")
    assert "no adapter knows" not in policy("allow", EDITOR)


def test_a_dry_run_changes_nothing(policy: Any, tmp_path: Path) -> None:
    assert policy("allow", EDITOR, "--dry-run").startswith(f"would be allowed  {EDITOR}\n")
    assert not stored_policy(tmp_path / "history").allows_an_app


def test_files_sites_and_workspaces(policy: Any, tmp_path: Path) -> None:
    data = tmp_path / "history"
    policy("resource", "deny", "*/diary/*", "https://mail.example.org/", "/home/ada/x", "--json")
    rules = {rule.pattern: rule.matcher for rule in stored_policy(data).own_rules}
    assert rules == {"*/diary/*": "glob", "https://mail.example.org/": "exact", "/home/ada/x": "exact"}
    policy("resource", "protect", "/home/ada/private", "--matcher", "prefix")
    assert stored_policy(data).refuses_text("/home/ada/private/letter.txt")

    assert policy("sites", "selected", "https://Example.org", "http://localhost:8000/") == (
        "web sites: only http://localhost:8000/, https://example.org/\n"
    )
    assert stored_policy(data).consents("browser-origin", "https://example.org/")
    assert not stored_policy(data).consents("browser-origin", "https://example.com/")
    assert policy("sites", "none") == "web sites: none\n"
    assert policy("sites", "selected") == "web sites: only http://localhost:8000/, https://example.org/\n"  # they were kept
    assert policy("sites", "all") == "web sites: all that a paired browser reports\n"
    assert stored_policy(data).consents("browser-origin", "https://example.com/")
    assert policy("workspaces", "selected", "/home/ada/../ada/triptych") == "workspaces: only /home/ada/triptych\n"
    assert len(stored_policy(data).own_rules) == 4 + 2 + 1 + 1
    assert json.loads(policy("workspaces", "--json")) == {"kind": "editor-workspace", "mode": "selected", "targets": ["/home/ada/triptych"]}


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["remove", "nothing"], 1, "[no-such-rule]"),
        (["remove", "builtin:pem"], 1, "[no-such-rule]"),
        (["allow", "\udcff"], 1, "[rule-text]"),
        (["allow", ""], 1, "[rule-text]"),
        (["allow", "x" * 5000], 1, "[rule-text]"),
        (["sites", "selected", "https://example.org/path"], 1, "[consent-entry]"),
        (["sites", "selected", *(f"https://h{n}.example" for n in range(65))], 1, "[consent-entry]"),
        (["sites", "all", "https://example.org"], 2, "takes no targets"),
        (["resource", "allow", "x"], 2, "resource"),
        (["retention", "--hours", "0"], 1, "[retention-hours]"),
        (["retention", "--days", "366"], 1, "[retention-days]"),
        (["adapter", "add", EDITOR, "--surface", "editor"], 1, "[adapter-table]"),
        (["adapter", "add", "org.example.Form.desktop"], 2, "--surface"),
        (["adapter", "add", "x" * 600, "--surface", "window"], 1, "[adapter-table]"),
        (["adapter", "add", "\udcff", "--surface", "window"], 1, "[adapter-table]"),
        (["adapter", "remove", EDITOR], 1, "comes with the program"),
        (["adapter", "remove", "nothing"], 1, "was not added"),
    ],
)
def test_what_cannot_be_is_one_clear_line_and_changes_nothing(
    policy: Any, tmp_path: Path, arguments: list[str], code: int, words: str
) -> None:
    before = stored_policy(tmp_path / "history")
    assert words in policy(*arguments, code=code)
    assert stored_policy(tmp_path / "history").own_rules == before.own_rules
    assert not (tmp_path / "history" / "adapters.json").exists()


def test_retention(policy: Any) -> None:
    assert policy("retention") == "observations are kept 24 hours, episodes 30 days\n"
    assert policy("retention", "--hours", "48") == "observations are kept 48 hours, episodes 30 days\n"
    assert json.loads(policy("retention", "--days", "7", "--json")) == {"observationHours": 48, "episodeDays": 7}


def test_adapters_of_ones_own(policy: Any, tmp_path: Path) -> None:
    data = tmp_path / "history"
    assert policy("adapter", "add", "org.example.Form.desktop", "--surface", "window", "--window-only") == (
        "known as org-example-form: org.example.Form.desktop\n"
    )
    entry = json.loads(policy("adapter", "add", "form.desktop", "--surface", "document", "--folders", "--no-titles", "--json"))
    assert (entry["surfaceKind"], entry["documentResourceKind"], entry["suppressesWindowTitle"]) == ("document", "directory", True)
    assert (data / "adapters.json").stat().st_mode & 0o777 == 0o600
    table = known_adapters(data)
    found = table.find("org.example.Form.desktop")
    assert found is not None and found.focused_element_policy == "window-only"
    assert "org-example-form (yours): org.example.Form.desktop" in policy("adapter", "list")
    assert "no adapter knows" not in policy("allow", "org.example.Form.desktop")
    assert policy("adapter", "add", "form.desktop", "--surface", "window", code=1).startswith("triptych: [adapter-table]")
    policy("adapter", "remove", "org-example-form")
    assert known_adapters(data).find("org.example.Form.desktop") is None
    assert known_adapters(data).find("form.desktop") is not None


def test_a_data_directory_may_stand_before_or_behind_the_sub_command(tmp_path: Path) -> None:
    env = environment(tmp_path, DBUS_SESSION_BUS_ADDRESS="unix:path=/nonexistent")
    assert activity("policy", "deny", "a.desktop", "--data", str(tmp_path / "one"), env=env).returncode == 0
    assert activity("policy", "--data", str(tmp_path / "two"), "deny", "b.desktop", env=env).returncode == 0
    assert activity("policy", "deny", "c.desktop", env=env).returncode == 0
    for folder, pattern in (("one", "a.desktop"), ("two", "b.desktop"), (".local/share/triptych/activity", "c.desktop")):
        assert [rule.pattern for rule in stored_policy(tmp_path / folder).own_rules] == [pattern]


def test_a_rule_takes_the_place_of_one_about_the_same_thing_and_of_no_other() -> None:
    deny = Rule("deny:a", "app", "deny", "exact", "a")
    prefix = Rule("deny-prefix:a", "app", "deny", "prefix", "a")
    resource = Rule("deny:resource:a", "resource", "deny", "exact", "a")
    policy = Policy().replaced((deny, prefix, resource))
    assert set(changed_rules(policy, [allow_app("a")], [])) == {allow_app("a"), prefix, resource}
    assert set(changed_rules(policy, [], ["deny:a"])) == {prefix, resource}
    assert set(changed_rules(policy, [], [])) == set(policy.own_rules)
    for remove in (["nothing"], ["builtin:pem"], ["deny:a", "deny:a"]):
        with pytest.raises(LocalProtocolError) as refused:
            changed_rules(policy, [], remove)
        assert refused.value.code == "no-such-rule"
    with pytest.raises(LocalProtocolError) as refused:
        changed_rules(policy, [Rule("builtin:pem", "resource", "allow", "exact", "x")], [])
    assert refused.value.code == "rule-id"
