"""The boundary is a requirement on the shape: every field that may travel or be stored stands in a closed list here.

A new field of an observation, of a companion's payload or of the database fails until this list, and the privacy page with it, is changed.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import triptych
from triptych.adapters.collector.store import Store
from triptych.machines.collector.facts import Facts
from triptych.machines.collector.gates import Admitted

SCHEMAS = Path(triptych.__file__).parent / "schemas" / "collector"

OBSERVATION = """
v type collectorSession seq observedAtMs
app app.pid app.bundleId app.name
window window.title window.document window.url
element element.role element.subrole element.identifier
activity activity.idleSeconds
privacy privacy.secure privacy.protected privacy.reason
source source.adapter source.provider
workspace
"""
BROWSER = "source origin path title incognito browserSession seq observedAtMs"
EDITOR = """
source app app.bundleId app.name workspaceRoot filePath languageId surfaceKind title event editorSession seq observedAtMs
"""
FACTS = """
session seq observed_at_ms pid bundle_id app_name title document url role subrole identifier idle_seconds secure protected reason adapter
provider activity_event surface_kind
"""
ADMITTED = "facts adapter title resource policy_revision expires_at_ms workspace activity_event"
COLUMNS = {
    "observations": """
        id collector_session collector_seq observed_at_ms pid bundle_id app_name surface_kind title_id element_role element_subrole
        element_identifier resource_id workspace_id workspace_root workspace_title workspace_source workspace_confidence idle_seconds
        activity_event source_provider source_adapter policy_revision expires_at_ms episode_id detour
        """,
    "titles": "id title folded last_seen_at_ms",
    "resources": "id kind canonical_uri display_label first_seen_at_ms last_seen_at_ms folded",
    "episodes": """
        id collector_session collector_seq started_at_ms ended_at_ms start_reason end_reason primary_workspace_id primary_workspace_root
        primary_workspace_title primary_workspace_source primary_workspace_confidence thread_key last_strong_at_ms last_strong_resource_id
        detour_since_ms summary_kind summary_text confidence state complete created_at_ms updated_at_ms expires_at_ms
        """,
    "episode_surfaces": """
        episode_id bundle_id surface_kind app_name title_id first_seen_at_ms last_seen_at_ms observation_count
        """,
    "episode_resources": "episode_id resource_id first_seen_at_ms last_seen_at_ms observation_count",
    "boundaries": "at_ms reason",
    "deletion_log": """
        id requested_at_ms scope range_start_ms range_end_ms bundle_id observations_deleted episodes_deleted episodes_rebuilt
        """,
    "companion_pairing": "kind token_hash created_at_ms",
    "retention_settings": "singleton observation_retention_hours episode_retention_days updated_at_ms",
    "policy_state": "singleton revision mode updated_at_ms",
    "policy_rules": "id dimension action matcher pattern built_in created_at_ms updated_at_ms",
    "schema_migrations": "version name checksum applied_at_ms",
}
PAGE = Path(triptych.__file__).parent / "docs" / "privacy.md"


def fields(file: str, name: str) -> set[str]:
    definitions = json.loads((SCHEMAS / file).read_text())["$defs"]

    def walk(shape: dict[str, Any], prefix: str) -> set[str]:
        found: set[str] = set()
        for key, value in shape["properties"].items():
            found.add(prefix + key)
            for option in (value, *value.get("oneOf", ())):
                target = definitions.get(option.get("$ref", "").removeprefix("#/$defs/"), {})
                if "properties" in target:
                    found |= walk(target, f"{prefix}{key}.")
        return found

    return walk(definitions[name], "")


def test_an_observation_has_these_fields_and_no_other() -> None:
    assert fields("collector.schema.json", "Observation") == set(OBSERVATION.split())


def test_a_companion_sends_these_fields_and_no_other() -> None:
    assert fields("companion.schema.json", "BrowserPayload") == set(BROWSER.split())
    assert fields("companion.schema.json", "EditorPayload") == set(EDITOR.split())


def test_what_gates_look_at_has_these_fields_and_no_other() -> None:
    assert set(Facts.__struct_fields__) == set(FACTS.split())


def test_what_may_be_stored_has_these_parts_and_no_other() -> None:
    assert set(Admitted.__struct_fields__) == set(ADMITTED.split())


def test_the_database_has_these_columns_and_no_other(tmp_path: Path) -> None:
    with Store(tmp_path / "history", 1) as store:
        tables = [row[0] for row in store._db.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")]
        found = {table: {row[1] for row in store._db.execute(f"PRAGMA table_info({table})")} for table in tables}
    assert found == {table: set(columns.split()) for table, columns in COLUMNS.items()}


def listed(heading: str) -> dict[str, list[str]]:
    """The first column of the table under a heading of the privacy page, and the names in code type in its second column."""
    section = PAGE.read_text(encoding="utf-8").partition(f"## {heading}\n")[2].partition("\n## ")[0]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in section.splitlines() if line.startswith("| `")]
    return {row[0].strip("`"): re.findall(r"`([^`]+)`", row[1]) for row in rows}


def test_the_privacy_page_lists_every_field_that_may_travel_and_no_other() -> None:
    assert listed("What may be told") == {
        "Observation": OBSERVATION.split(),
        "BrowserPayload": BROWSER.split(),
        "EditorPayload": EDITOR.split(),
    }


def test_the_privacy_page_lists_every_column_and_no_other() -> None:
    assert listed("What is stored") == {table: columns.split() for table, columns in COLUMNS.items()}
