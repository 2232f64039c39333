"""The public surface of the protocol library: its fifteen modules, their words and numbers, and the documentation's code."""

from __future__ import annotations

import importlib
import json
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest

import triptych.machines.termwright as package
from shared_data import data
from triptych.errors import LocalProtocolError, ProtocolError
from triptych.generated.termwright import vocabulary
from triptych.generated.termwright.models import Rect
from triptych.machines.termwright import env, errors, framing, limits, logs, marker, node_keys, probe, roles, run_state, tree
from triptych.machines.termwright.validate import validate_snapshot

# Module of the library → what a reader of the protocol expects to find there.
SURFACE = {
    "env": "ENDPOINT_VARIABLE TOKEN_VARIABLE PROTOCOL_VERSION PROTOCOL_ID Endpoint endpoint",
    "roles": "ROLES ACTIONS RECIPE_ACTIONS is_role is_action",
    "limits": "DEFAULT_LIMITS ABSOLUTE_LIMITS clamp",
    "tree": "Snapshot Node NodeState Geometry Rect Evidence Absent Unknown Unsupported KnownRect KnownHitGrid status_of clip intersection",
    "node_keys": "NODE_KEYS STATE_KEYS SNAPSHOT_KEYS PATCH_KEYS CLEARABLE_NODE_KEYS CLEARABLE_SNAPSHOT_KEYS",
    "probe": "ProbeFrame ProbeInfo PROBE_CAPABILITIES IDENTITY_KINDS PROVENANCE_SOURCES validate_probe_frame validate_annotations",
    "logs": "LogChannel Logged LogNotice validate_log_record RATE BURST",
    "messages": "read_adapter_message parse_adapter_message read_driver_message parse_driver_message wire_code",
    "framing": "FrameDecoder encode_frame encode_body decode_body HEADER_BYTES",
    "marker": "encode_marker verify_marker OSC_CODE TAG MAC_BYTES",
    "validate": "validate_snapshot check_snapshot",
    "semantic_state": "SemanticState Applied BaseMismatch diff resync_request",
    "accesskit": "to_accesskit node_id role_of ROLES ACTIONS ROOT_TREE_ID",
    "errors": "ProtocolViolation LocalProtocolError RemoteProtocolError WIRE_ERROR_CODES VALIDATION_CODES PROTOCOL_VIOLATION_CODES",
    "run_state": "RUN_STATES VERDICTS RUN_TRANSITIONS Run validate_transition may_become is_verdict",
}


def test_the_package_lists_the_fifteen_modules() -> None:
    assert len(SURFACE) == 15
    assert sorted(package.__all__) == sorted(SURFACE)


@pytest.mark.parametrize("name", SURFACE)
def test_every_module_is_public_and_says_what_it_is(name: str) -> None:
    module = importlib.import_module(f"triptych.machines.termwright.{name}")
    assert (module.__doc__ or "").strip()
    listed = getattr(module, "__all__", None)
    for word in SURFACE[name].split():
        thing = getattr(module, word)
        assert not callable(thing) or (thing.__doc__ or "").strip(), f"{word} says nothing"
        assert listed is None or word in listed
    assert listed is None or all(hasattr(module, word) for word in listed)


CONSTANTS = json.loads(data("termwright", "constants.json").read_text())
# Names of the vector file that this library has no use for: they describe the reference's own graph, journal and test providers.
OUTSIDE = {
    "capabilityGraphVersion", "capabilityNodeCategories", "capabilityNodeLayers", "evidenceProviderTypes", "runtimePrerequisites",
    "conditionKinds", "capabilityConformanceClaims", "runIdKinds", "runEventClasses", "runEventVersion", "runEventLimits",
}  # fmt: skip
OURS: dict[str, Any] = {
    "protocolId": env.PROTOCOL_ID,
    "protocolVersion": env.PROTOCOL_VERSION,
    "frameHeaderBytes": framing.HEADER_BYTES,
    "markerOscCode": marker.OSC_CODE,
    "markerOscPrefix": marker.TAG,
    "markerMacBytes": marker.MAC_BYTES,
    "env": {"endpoint": env.ENDPOINT_VARIABLE, "token": env.TOKEN_VARIABLE},
    "logLevels": vocabulary.LOG_LEVEL,
    "logLevelSeverity": vocabulary.LOG_SEVERITY,
    "maxLogAttrs": vocabulary.MAX_LOG_ATTRIBUTES,
    "roles": roles.ROLES,
    "actions": roles.ACTIONS,
    "capabilities": vocabulary.ADAPTER_CAPABILITY,
    "sessionCapabilities": vocabulary.SESSION_CAPABILITY,
    "evidenceProviderCapabilities": vocabulary.PROVIDER_CAPABILITY,
    "provenanceSources": probe.PROVENANCE_SOURCES,
    "probeCapabilities": probe.PROBE_CAPABILITIES,
    "probeUnobservableFields": probe.UNOBSERVABLE_FIELDS,
    "probeIdentityKinds": probe.IDENTITY_KINDS,
    "runStates": run_state.RUN_STATES,
    "terminalRunStates": run_state.VERDICTS,
    "runStateTransitions": run_state.RUN_TRANSITIONS,
    "nodeKeys": node_keys.NODE_KEYS,
    "stateKeys": node_keys.STATE_KEYS,
    "defaultLimits": limits.DEFAULT_LIMITS,
    "absoluteLimits": limits.ABSOLUTE_LIMITS,
}


def plain(value: object) -> Any:
    return msgspec.json.decode(msgspec.json.encode(value))


def test_every_constant_of_the_vectors_is_asked_or_named_as_outside() -> None:
    assert set(CONSTANTS) == set(OURS) | OUTSIDE
    assert not OUTSIDE & set(OURS)


@pytest.mark.parametrize("name", OURS)
def test_constants(name: str) -> None:
    """Words and numbers, in the same order; where order means nothing to the wire, as a set."""
    ours, theirs = plain(OURS[name]), CONSTANTS[name]
    if name == "runStateTransitions":
        assert {state: sorted(words) for state, words in ours.items()} == {state: sorted(words) for state, words in theirs.items()}
    elif name == "terminalRunStates":
        assert sorted(ours) == sorted(theirs)
    else:
        assert ours == theirs


def test_limits_are_whole() -> None:
    assert list(limits.DEFAULT_LIMITS) == list(limits.ABSOLUTE_LIMITS)
    assert all(limits.DEFAULT_LIMITS[name] <= ceiling for name, ceiling in limits.ABSOLUTE_LIMITS.items())
    assert limits.clamp(dict.fromkeys(limits.ABSOLUTE_LIMITS, 10**9)) == limits.ABSOLUTE_LIMITS
    assert logs.RATE * vocabulary.LOG_WINDOW_MS // 1000 == 50


# observations.json


OBSERVATIONS = json.loads(data("termwright", "observations.json").read_text())


def with_displayed(example: object) -> dict[str, Any]:
    """The recorded snapshot with this observation on its first node."""
    snapshot = json.loads(json.dumps(OBSERVATIONS["qualifiedSnapshot"]))
    snapshot["nodes"][0]["geometry"]["displayed"] = example
    return dict(snapshot)


def test_the_observation_statuses() -> None:
    assert list(tree.OBSERVATION_STATUSES) == OBSERVATIONS["statuses"]
    assert [example["status"] for example in OBSERVATIONS["examples"]] == OBSERVATIONS["statuses"]


@pytest.mark.parametrize("example", OBSERVATIONS["examples"], ids=lambda example: example["status"])
def test_observation_examples(example: dict[str, Any]) -> None:
    displayed = validate_snapshot(with_displayed(example)).nodes[0].geometry.displayed
    assert tree.status_of(displayed) == example["status"]
    assert plain(displayed) == example
    with pytest.raises(ProtocolError) as caught:
        validate_snapshot(with_displayed({**example, "added": 1}))
    assert caught.value.code == "schema"


def test_the_recorded_snapshot_is_kept_whole() -> None:
    assert plain(validate_snapshot(OBSERVATIONS["qualifiedSnapshot"])) == OBSERVATIONS["qualifiedSnapshot"]


@pytest.mark.parametrize("case", OBSERVATIONS["geometryCases"], ids=lambda case: case["name"])
def test_rectangles_in_a_viewport(case: dict[str, Any]) -> None:
    rect, wanted = Rect(**case["rect"]), case["expect"]
    clipped = tree.clip(rect, case["columns"], case["rows"])
    assert (plain(clipped.rect), clipped.ratio, clipped.fully_inside) == (wanted["rect"], wanted["ratio"], wanted["fullyInside"])
    viewport = Rect(row=0, column=0, width=case["columns"], height=case["rows"])
    assert plain(tree.intersection(rect, viewport)) == wanted["rect"]


def test_rectangles_that_touch_share_nothing() -> None:
    touch = OBSERVATIONS["halfOpenTouch"]
    left = Rect(row=touch["row"], column=touch["column"] - 3, width=3, height=touch["height"])
    right = Rect(row=touch["row"], column=touch["column"], width=2, height=touch["height"])
    assert plain(tree.intersection(left, right)) == touch


# The small modules.


def test_without_both_variables_an_adapter_stays_dormant() -> None:
    both = {"TERMWRIGHT_ENDPOINT": "/run/x/semantic.sock", "TERMWRIGHT_TOKEN": "secret"}
    for name in both:
        assert env.endpoint({**both, name: ""}) is None
        assert env.endpoint({key: value for key, value in both.items() if key != name}) is None
    found = env.endpoint(both)
    assert found is not None
    assert (found.address, found.token, found.is_pipe) == ("/run/x/semantic.sock", "secret", False)
    assert "secret" not in repr(found)
    for pipe in ("\\\\.\\pipe\\termwright-0", "\\\\?\\pipe\\termwright-0"):
        assert env.Endpoint(pipe, "t").is_pipe


def test_closed_vocabularies() -> None:
    assert roles.is_role("button")
    assert not roles.is_role("slider")
    assert not roles.is_role(None)
    assert roles.is_action("setValue")
    assert not roles.is_action("click")
    assert set(roles.RECIPE_ACTIONS) < set(roles.ACTIONS)


def test_keys() -> None:
    assert ("id", *node_keys.PATCH_KEYS) == node_keys.NODE_KEYS
    assert set(node_keys.NODE_KEYS) - set(node_keys.CLEARABLE_NODE_KEYS) == {"id", "role", "name", "geometry"}
    assert set(node_keys.CLEARABLE_SNAPSHOT_KEYS) < set(node_keys.SNAPSHOT_KEYS)


def test_codes() -> None:
    assert errors.ProtocolViolation is ProtocolError
    assert {*errors.VALIDATION_CODES, "base-revision"} == set(errors.DELTA_CODES)
    assert len(errors.WIRE_ERROR_CODES) == 8
    assert len(errors.PROTOCOL_VIOLATION_CODES) == 14
    for code in (*errors.PROTOCOL_VIOLATION_CODES, *errors.PARSER_CODES):
        assert errors.wire_code(code) in errors.WIRE_ERROR_CODES or code == "marker-argument"


def test_the_run_lifecycle_by_its_words() -> None:
    for source in run_state.RUN_STATES:
        for target in run_state.RUN_STATES:
            allowed = target in CONSTANTS["runStateTransitions"][source]
            assert run_state.may_become(source, target) == allowed
            if allowed:
                run_state.validate_transition(source, target)
                continue
            with pytest.raises(LocalProtocolError) as caught:
                run_state.validate_transition(source, target)
            assert caught.value.code == "illegal-run-transition"
        assert run_state.is_verdict(source) == (source in CONSTANTS["terminalRunStates"])
    assert not run_state.may_become("flying", "passed")
    with pytest.raises(LocalProtocolError) as caught:
        run_state.validate_transition("flying", "passed")
    assert caught.value.code == "invalid-run-state"


# The documentation.


PAGE = Path(__file__).resolve().parents[2] / "docs" / "termwright-library.md"


def test_the_code_of_the_page_works_as_it_stands() -> None:
    """Block after block in one namespace, as a reader would type them."""
    blocks = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    assert len(blocks) == 6
    namespace: dict[str, Any] = {"__name__": "page"}
    for number, block in enumerate(blocks, 1):
        exec(compile(block, f"{PAGE.name}, block {number}", "exec"), namespace)
    assert namespace["decoder"].buffered == 0
    refusal = namespace["received"](b"\0\0\0\2{}")
    assert json.loads(refusal[4:])["code"] == "malformed"


def test_the_page_lists_every_module() -> None:
    assert re.findall(r"^\| `(\w+)` \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE) == list(SURFACE)
