"""Probe frames: every rule of the probe IR with its code, and their order."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given

from schema_strategies import changed, message
from triptych.errors import RemoteProtocolError
from triptych.generated.termwright.vocabulary import UNOBSERVABLE_FIELD, VALIDATION_CODE
from triptych.machines.termwright.limits import DEFAULT_LIMITS
from triptych.machines.termwright.probe import ProbeAnnotations, ProbeFrame, validate_annotations, validate_probe_frame

RECT = {"row": 0, "column": 0, "width": 4, "height": 1}
PRESS = {"kind": "press", "key": "enter"}
RECIPE = {"action": "activate", "requiresFocus": True, "steps": [PRESS]}
STATE = {
    "focused": True, "disabled": False, "checked": "mixed", "expanded": True, "readonly": False, "selected": True, "busy": False,
    "multiline": False, "required": True, "multiselectable": False, "displayed": True, "value": "v", "valueSensitivity": "sensitive",
    "selectedIndex": 0, "textSelection": {"start": 0, "end": 1}, "scroll": {"row": 0, "column": 0},
    "scrollExtent": {"rows": 9, "columns": 9},
}  # fmt: skip
WHOLE = {
    "identity": {"kind": "frame-local", "value": "b"}, "frameworkType": "Button", "parent": "a", "state": STATE,
    "text": "Go", "paintOrder": -1,
    "geometry": {"intendedRect": RECT, "visibleRect": RECT}, "accessibility": {"role": "push", "name": "Go", "description": "d"},
    "annotations": {
        "role": "anything at all", "name": "Go", "testId": "go", "description": "", "extended": {"a": [1, None]},
        "actions": ["activate"], "inputRecipes": [RECIPE], "labelledBy": ["a"], "describedBy": ["b"],
    },
    "unobservable": [],
}  # fmt: skip
ROOT = {"identity": {"kind": "stable", "value": "a"}, "frameworkType": "Screen"}


def unshared(value: Any) -> Any:
    """A copy in which no container stands twice."""
    return json.loads(json.dumps(value))


def frame(*objects: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """A frame of a root and these objects."""
    return unshared({"frame": 1, "objects": [ROOT, *objects], **fields})


def child(**fields: Any) -> dict[str, Any]:
    """An object below the root."""
    return {"identity": {"kind": "stable", "value": "b"}, "frameworkType": "Button", "parent": "a", **fields}


def code_of(value: object, **limits: int) -> str | None:
    try:
        validate_probe_frame(value, {**DEFAULT_LIMITS, **limits})
    except RemoteProtocolError as fault:
        return fault.code
    return None


def test_a_whole_frame() -> None:
    operations = [
        {"kind": "layout", "ordinal": 0, "target": {"kind": "stable", "value": "a"}, "intendedRect": RECT},
        {"kind": "render", "ordinal": 1, "frameworkType": "Button"},
    ]
    accepted = validate_probe_frame(frame(WHOLE, operations=operations))
    assert isinstance(accepted, ProbeFrame)
    assert [each.identity.value for each in accepted.objects] == ["a", "b"]
    assert accepted.objects[1].state.value_sensitivity == "sensitive"  # type: ignore[union-attr]  # given above
    assert validate_probe_frame({"frame": 1, "objects": []}).objects == ()


@pytest.mark.parametrize(
    ("value", "code"),
    [
        ({"frame": 1, "objects": [{"__proto__": 1}]}, "schema"),
        (7, "schema"),
        (frame(frame=0), "revision"),
        (frame(frame="1"), "revision"),
        ({"objects": []}, "revision"),
        ({"frame": 1}, "schema"),
        (frame(added=1), "schema"),
        (frame(child(added=1)), "schema"),
        (frame(child(identity={"kind": "stable", "value": ""})), "schema"),
        (frame(child(identity={"kind": "durable", "value": "b"})), "schema"),
        (frame(child(frameworkType="")), "schema"),
        (frame(child(geometry={"intendedRect": {**RECT, "width": -1}})), "bad-rect"),
        (frame(child(geometry={"visibleRect": {**RECT, "row": 0.5}})), "bad-rect"),
        (frame(child(geometry={"visibleRect": {**RECT, "depth": 1}})), "bad-rect"),
        (frame(operations=[{"kind": "render", "ordinal": 0, "intendedRect": 1}]), "bad-rect"),
        (frame(operations=[{"kind": "render", "ordinal": -1}]), "schema"),
        (frame(operations=[{"kind": "paint", "ordinal": 0}]), "schema"),
        (frame(operations=[{"kind": "render", "ordinal": 0, "target": "a"}]), "schema"),
        (frame(child(state={"checked": "half"})), "schema"),
        (frame(child(state={"selectedIndex": -1})), "schema"),
        (frame(child(state={"textSelection": {"start": 0}})), "schema"),
        (frame(child(paintOrder=0.5)), "schema"),
        (frame(child(unobservable=["colour"])), "schema"),
        (frame(child(unobservable=["text"] * 22)), "count"),
        (frame(child(annotations={"actions": ["focus"] * 8})), "count"),
        (frame(child(annotations={"labelledBy": ["a"] * 65})), "count"),
        (frame(child(annotations={"labelledBy": [""]})), "schema"),
        (frame(child(annotations={"inputRecipes": [RECIPE]})), "schema"),
        (frame(child(annotations={"extended": {str(n): n for n in range(65)}})), "schema"),
        (frame(child(annotations={"extended": {"frame": 2**53}})), "revision"),
        (frame(child(text="x" * 16385)), "schema"),
        (frame(child(), child()), "duplicate-id"),
        (frame(child(parent="z"), child()), "duplicate-id"),
        (frame(child(parent="z")), "missing-parent"),
        (frame(child(parent="b")), "cycle"),
        (frame(child(parent="z", state={"valueSensitivity": "public"})), "missing-parent"),
        (frame(child(state={"valueSensitivity": "public"}, unobservable=["busy", "busy"])), "schema"),
        (frame(child(unobservable=["busy", "busy", "parent"])), "duplicate-id"),
    ],
)
def test_refusals(value: object, code: str) -> None:
    assert code_of(value) == code


@pytest.mark.parametrize("field", UNOBSERVABLE_FIELD)
def test_what_is_reported_is_not_unobservable(field: str) -> None:
    """Each of the 21 fields, reported and not."""
    whole = unshared({**WHOLE, "unobservable": [field]})
    assert code_of(frame(whole)) == "schema"
    for part in (whole, whole["geometry"], whole["state"]):
        part.pop(field, None)
        if field == "value":
            part.pop("valueSensitivity", None)
    assert code_of(frame(whole)) is None


def test_projection_and_size_come_first() -> None:
    assert code_of(frame(child(annotations={"extended": {"a": [[[[]]]]}}), frame=0), maxDepth=5) == "depth"
    assert code_of(frame(child(text="x" * 500), frame=0), maxSnapshotBytes=500) == "bytes"
    assert code_of(frame(child(), child()), maxNodes=2) == "count"


def test_one_bad_annotation_is_refused_alone() -> None:
    accepted = validate_annotations({"role": "slider", "actions": ["activate"], "inputRecipes": [RECIPE]})
    assert isinstance(accepted, ProbeAnnotations)
    assert accepted.role == "slider"
    for value in ({"actions": ["fly"]}, {"added": 1}, None, 7, {"inputRecipes": [RECIPE]}):
        with pytest.raises(RemoteProtocolError) as caught:
            validate_annotations(value)
        assert caught.value.code == "schema"


@given(message("termwright", "ProbeFrame").flatmap(changed))
def test_any_frame_is_accepted_or_refused_by_a_documented_code(value: object) -> None:
    assert code_of(value) in (None, *VALIDATION_CODE)
