"""The AccessKit export against recorded output of the reference."""

from __future__ import annotations

import copy
import json
from typing import Any

import msgspec
import pytest

from shared_data import data
from triptych.errors import RemoteProtocolError
from triptych.generated.termwright.vocabulary import ACTION, ROLE
from triptych.machines.termwright import accesskit
from triptych.machines.termwright.validate import validate_snapshot

VECTORS = json.loads(data("termwright", "accesskit-v3.json").read_text())
BASE = VECTORS["cases"][0]["snapshot"]
EVIDENCE = {"source": "framework", "method": "native", "strength": "authoritative", "providerId": "p"}


def exported(snapshot: object, **options: Any) -> dict[str, Any]:
    return accesskit.to_accesskit(validate_snapshot(snapshot), **options)


def node_of(**fields: Any) -> dict[str, Any]:
    """What the second node of the base becomes with these fields."""
    snapshot = copy.deepcopy(BASE)
    snapshot["nodes"][1].update(fields)
    converted: dict[str, Any] = exported(snapshot)["update"]["nodes"][1][1]
    return converted


@pytest.mark.parametrize("case", VECTORS["cases"], ids=lambda case: case["name"])
def test_recorded_exports(case: dict[str, Any]) -> None:
    options = case["options"]
    size = options.get("cellSize")
    made = exported(
        case["snapshot"],
        cell_size=None if size is None else (size["width"], size["height"]),
        toolkit_name=options.get("toolkitName"),
        toolkit_version=options.get("toolkitVersion"),
    )
    assert made == case["expect"]
    for (_, node), (_, wanted) in zip(made["update"]["nodes"], case["expect"]["update"]["nodes"], strict=True):
        assert list(node) == list(wanted)


def test_the_recorded_roles_and_ids() -> None:
    assert VECTORS["roleMap"] == accesskit.ROLES
    assert set(accesskit.ROLES) == set(ROLE)
    assert set(ACTION) - set(accesskit.ACTIONS) == {"select"}
    assert [(name, accesskit.node_id(name)) for name, _ in VECTORS["ids"]] == [tuple(pair) for pair in VECTORS["ids"]]


def test_two_ids_that_collide_are_refused() -> None:
    first, second = "n658508440660313", "n8714128388913137"  # a real collision of 53 bits
    assert accesskit.node_id(first) == accesskit.node_id(second)
    snapshot = copy.deepcopy(BASE)
    snapshot["nodes"][1]["id"], snapshot["nodes"][2]["id"] = first, second
    with pytest.raises(RemoteProtocolError) as caught:
        exported(snapshot)
    assert caught.value.code == "dto-key"


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ({"status": "known", "value": "", "sensitivity": "public", "evidence": EVIDENCE}, {"value": ""}),
        ({"status": "known", "value": "secret", "sensitivity": "sensitive", "evidence": EVIDENCE}, {}),
        ({"status": "withheld", "reason": "sensitive", "sensitivity": "sensitive"}, {}),
        ({"status": "absent", "reason": "no-value", "evidence": EVIDENCE}, {}),
    ],
)
def test_only_a_known_and_public_value_is_exported(value: object, shown: dict[str, str]) -> None:
    assert {key: text for key, text in node_of(value=value).items() if key == "value"} == shown


def test_what_is_not_applicable_is_left_out() -> None:
    bare = node_of(name="", actions=["select"], labelledBy=[], describedBy=[], state={"level": 2, "checked": False})
    assert bare == {"role": "button", "toggled": "false"}
    assert node_of(actions=["toggle", "activate", "focus"], describedBy=["b", "b"])["actions"] == ["click", "focus"]


def test_focus_falls_back_to_the_first_root() -> None:
    snapshot = copy.deepcopy(BASE)
    for node in snapshot["nodes"]:
        node.pop("state", None)
    update = exported(snapshot, tree_id="t")["update"]
    assert (update["focus"], update["treeId"]) == (accesskit.node_id("root"), "t")


def test_cells_are_told_without_a_cell_size_and_the_snapshot_is_not_touched() -> None:
    snapshot = validate_snapshot(BASE)
    before = msgspec.json.encode(snapshot)
    made = accesskit.to_accesskit(snapshot)
    assert not any("bounds" in node for _, node in made["update"]["nodes"])
    assert len(made["cellBounds"]) == len(snapshot.nodes)
    made["update"]["nodes"].clear()
    assert msgspec.json.encode(snapshot) == before
