"""What each vector format asks of our library: a document in, one verdict a case out. vectors.py finds the files and tells the differences.

Expectations are compared as text: `ok` or the stable code, or canonical JSON where a value is expected. A case that our language cannot
express (a JavaScript `undefined`, a stream that was recorded cut short) is untestable, with the reason. termwright/3, conformance vectors.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import msgspec

from ...errors import RemoteProtocolError
from ...generated.termwright import models, vocabulary
from ...machines.termwright import accesskit, marker, semantic_state
from ...machines.termwright.framing import HEADER_BYTES
from ...machines.termwright.limits import DEFAULT_LIMITS
from ...machines.termwright.logs import validate_log_record
from ...machines.termwright.messages import (
    parse_adapter_message,
    parse_driver_message,
    read_adapter_message,
    read_driver_message,
    wire_code,
)
from ...machines.termwright.validate import validate_snapshot
from ...machines.termwright.viewport import clip
from .vector_cases import Answer, Document, Untestable, Verdict, body, canonical, cases, limits_of, outcome, plain, snapshot_of_size
from .vector_framing import run_framing

Runner = Callable[[Document], Iterator[Answer]]


def recognise(document: object) -> Runner | None:
    """The runner for a document of a known format, or None."""
    if not isinstance(document, dict):
        return None
    for runner, holds in _FORMATS:
        if holds(document):
            return _guarded(runner)
    return None


def _guarded(runner: Runner) -> Runner:
    """A case that lacks what its format needs is told as a mismatch and ends the file; the other files still run."""

    def run(document: Document) -> Iterator[Answer]:
        last = "(first case)"
        try:
            for answer in runner(document):
                last = answer.case
                yield answer
        except Exception as cause:  # whatever is wrong with this file, the others must still run
            yield Verdict(f"after {last}", "a readable case", f"{type(cause).__name__}: {cause}")

    return run


# constants


def _keys(kind: type[msgspec.Struct]) -> list[str]:
    return [field.encode_name for field in msgspec.structs.fields(kind)]


_CONSTANTS: Final[Mapping[str, Callable[[], object]]] = {
    "protocolId": lambda: vocabulary.PROTOCOL_ID,
    "protocolVersion": lambda: vocabulary.PROTOCOL_VERSION,
    "frameHeaderBytes": lambda: HEADER_BYTES,
    "markerOscCode": lambda: marker.OSC_CODE,
    "markerOscPrefix": lambda: marker.TAG,
    "markerMacBytes": lambda: marker.MAC_BYTES,
    "env": lambda: {"endpoint": vocabulary.ENDPOINT_VARIABLE, "token": vocabulary.TOKEN_VARIABLE},
    "logLevels": lambda: vocabulary.LOG_LEVEL,
    "logLevelSeverity": lambda: vocabulary.LOG_SEVERITY,
    "maxLogAttrs": lambda: vocabulary.MAX_LOG_ATTRIBUTES,
    "roles": lambda: vocabulary.ROLE,
    "actions": lambda: vocabulary.ACTION,
    "capabilities": lambda: vocabulary.ADAPTER_CAPABILITY,
    "sessionCapabilities": lambda: vocabulary.SESSION_CAPABILITY,
    "evidenceProviderCapabilities": lambda: vocabulary.PROVIDER_CAPABILITY,
    "provenanceSources": lambda: vocabulary.PROVENANCE_SOURCE,
    "probeCapabilities": lambda: vocabulary.PROBE_CAPABILITY,
    "probeUnobservableFields": lambda: vocabulary.UNOBSERVABLE_FIELD,
    "probeIdentityKinds": lambda: vocabulary.IDENTITY_KIND,
    "runStates": lambda: vocabulary.RUN_STATE,
    "terminalRunStates": lambda: vocabulary.RUN_VERDICT,
    "runStateTransitions": lambda: vocabulary.RUN_TRANSITIONS,
    "nodeKeys": lambda: _keys(models.Node),
    "stateKeys": lambda: _keys(models.NodeState),
    "defaultLimits": lambda: vocabulary.DEFAULT_LIMITS,
    "absoluteLimits": lambda: vocabulary.ABSOLUTE_LIMITS,
}
#: A closed set is the same in any order; the keys of a node have one, in which a delta names them.
_ORDERED: Final = frozenset({"nodeKeys"})


def _constants(document: Document) -> Iterator[Answer]:
    for name, expected in document.items():
        if name not in _CONSTANTS:
            yield Untestable(name, "a constant of a module outside this library")
            continue
        shown = [expected, _CONSTANTS[name]()]
        if name not in _ORDERED:
            shown = [_unordered(value) for value in shown]
        yield Verdict(name, canonical(shown[0]), canonical(shown[1]))


def _unordered(value: object) -> object:
    if isinstance(value, list | tuple) and all(isinstance(item, str) for item in value):
        return sorted(value)
    return {key: _unordered(item) for key, item in value.items()} if isinstance(value, dict) else value


# marker


def _marker(document: Document) -> Iterator[Answer]:
    for name, key, actual in (
        ("oscCode", "oscCode", marker.OSC_CODE),
        ("oscPrefix", "oscPrefix", marker.TAG),
        ("macBytes", "macBytes", 16),
    ):
        if key in document:
            yield Verdict(name, str(document[key]), str(actual))
    for index, case in enumerate(document.get("encode", ())):
        name = str(case.get("name", f"encode[{index}]"))
        code, sequence = outcome(marker.encode_marker, case["token"], case["sessionId"], case["revision"])
        yield Verdict(name, str(case.get("code", "ok")), code)
        if code != "ok":
            continue
        payload = sequence[len(b"\x1b]8487;") : -1].decode()
        told = {"sequence": sequence.decode(), "sequenceHex": sequence.hex(), "payload": payload, "mac": payload.rpartition(";")[2]}
        for key, text in told.items():
            if key in case:
                yield Verdict(f"{name} {key}", case[key], text)
    for group in ("acceptTerminators", "verifyAccept", "verifyReject"):
        for index, case in enumerate(document.get(group, ())):
            expected = None if group == "verifyReject" else case.get("revision")
            code, found = outcome(marker.verify_marker, case["payload"], case["token"], case["sessionId"])
            yield Verdict(str(case.get("name", f"{group}[{index}]")), str(expected), str(found) if code == "ok" else code)


# messages


def _messages(document: Document) -> Iterator[Answer]:
    for side, parse, read in (
        ("adapterToDriver", parse_adapter_message, read_adapter_message),
        ("driverToAdapter", parse_driver_message, read_driver_message),
    ):
        group = document.get(side, [])
        for name, case, expected in cases(group if isinstance(group, dict) else {"cases": group}, "accept", "reject", "cases"):
            limits = limits_of(document, case)
            code = outcome(parse, case["message"], limits)[0]
            yield Verdict(f"{side} {name}", expected, code)
            framed = outcome(read, body(case["message"]), limits)[0]
            framed = framed if framed.startswith(("ok", "crash")) else wire_code(framed)
            if limits == DEFAULT_LIMITS and code == expected:
                yield Verdict(f"{side} {name} (framed)", expected, framed)


# snapshots, observations, logs


def _snapshots(document: Document) -> Iterator[Answer]:
    for name, case, expected in cases(document, "accept", "reject", "cases", "limitCases"):
        yield from _snapshot(name, case["snapshot"], expected, limits_of(document, case))


def _snapshot(name: str, value: object, expected: str, limits: Mapping[str, int] = DEFAULT_LIMITS) -> Iterator[Answer]:
    code, snapshot = outcome(validate_snapshot, value, limits)
    yield Verdict(name, expected, code)
    if code == "ok" and expected == "ok":
        yield Verdict(f"{name} content", canonical(value), canonical(plain(snapshot)))
    if limits == DEFAULT_LIMITS and code == expected:
        framed = outcome(read_adapter_message, body({"type": "semantic-full", "snapshot": value}), limits)
        detail = framed[1].detail.removeprefix("snapshot ").split(":")[0] if isinstance(framed[1], RemoteProtocolError) else framed[0]
        if not (isinstance(framed[1], RemoteProtocolError) and framed[0].startswith(("dto-", "frame-"))):
            yield Verdict(f"{name} (framed)", expected, detail)


def _observations(document: Document) -> Iterator[Answer]:
    if "statuses" in document:
        kinds = (models.KnownBoolean, models.Absent, models.Unknown, models.Unsupported)
        yield Verdict(
            "statuses", canonical(sorted(document["statuses"])), canonical(sorted(str(kind.__struct_config__.tag) for kind in kinds))
        )
    for index, example in enumerate(document.get("examples", ())):
        snapshot = snapshot_of_size(1400)
        _place(example, snapshot)
        yield Verdict(f"examples[{index}] {example.get('status')}", "ok", outcome(validate_snapshot, snapshot)[0])
    if "halfOpenTouch" in document:
        rect = msgspec.convert(document["halfOpenTouch"], models.Rect)
        part = clip(rect, rect.column + rect.width, rect.row + rect.height).rect
        yield Verdict("halfOpenTouch", "0", str(part.width * part.height))
    for name, case, _ in cases(document, "geometryCases"):
        found = clip(msgspec.convert(case["rect"], models.Rect), case["columns"], case["rows"])
        told = {"rect": plain(found.rect), "ratio": found.ratio, "fullyInside": found.fully_inside}
        yield Verdict(name, canonical(case["expect"]), canonical(told))
    if "qualifiedSnapshot" in document:
        yield from _snapshot("qualifiedSnapshot", document["qualifiedSnapshot"], "ok")


def _place(example: Document, snapshot: dict[str, Any]) -> None:
    """Put an observation where one of its kind belongs in a snapshot."""
    node, value = snapshot["nodes"][0], example.get("value")
    if "sensitivity" in example or example.get("status") == "withheld" or example.get("reason") == "no-value":
        node["value"] = example
    elif isinstance(value, str):
        snapshot["coordinateSpace"] = example
    elif isinstance(value, dict) and "regions" in value:
        snapshot["hitGrid"] = example
    elif isinstance(value, dict) and ("axis" in value or "regionBounds" in value):
        node["scroll" if "axis" in value else "paintedRegion"] = example
    else:
        node["geometry"] = {**node["geometry"], "intendedRect" if isinstance(value, dict) else "displayed": example}


def _logs(document: Document) -> Iterator[Answer]:
    for name, case, expected in cases(document, "accept", "reject", "cases"):
        code, record = outcome(validate_log_record, case["record"], limits_of(document, case))
        yield Verdict(name, expected, code)
        if code == "ok" and expected == "ok":
            yield Verdict(f"{name} content", canonical(case["record"]), canonical(plain(record)))


# deltas


def _deltas(document: Document) -> Iterator[Answer]:
    for name, case, expected in cases(document, "apply"):
        limits = limits_of(document, case)
        state = _state(case.get("committed", document["committed"]), limits)
        code, applied = outcome(lambda state, delta, limits: state.apply(delta, size=None, limits=limits), state, case["delta"], limits)
        yield Verdict(name, expected, code)
        if code != expected:
            continue
        if "resyncRequired" in case:
            yield Verdict(f"{name} resyncRequired", str(case["resyncRequired"]), str(isinstance(applied, semantic_state.BaseMismatch)))
        if "snapshot" in case:
            yield Verdict(f"{name} snapshot", canonical(case["snapshot"]), canonical(plain(applied.state.snapshot)))
        if "changedNodeIds" in case:
            yield Verdict(f"{name} changedNodeIds", canonical(case["changedNodeIds"]), canonical(applied.changed))
    for name, case, _ in cases(document, "diff"):
        limits = limits_of(document, case)
        state = _state(case.get("committed", document["committed"]), limits)
        following = validate_snapshot(case["next"], limits)
        wanted = "ok" if case.get("delta") is not None else str(case.get("code"))
        code, delta = outcome(semantic_state.diff, state.snapshot, following)
        yield Verdict(name, wanted, code)
        if code != "ok" or wanted != "ok":
            continue
        if delta is None and _loses_order(state, case["delta"], following, limits):
            # A delta cannot say the order of nodes, and would leave both sides in disagreement: our producer sends a full tree instead.
            yield Untestable(f"{name} delta", "the order of nodes changes: a full tree is published instead of this delta")
            continue
        yield Verdict(f"{name} delta", canonical(case["delta"]), canonical(None if delta is None else plain(delta)))
        if "deltaJson" in case:
            ordered = None if delta is None else _key_order(plain(delta))
            yield Verdict(f"{name} deltaJson", canonical(_key_order(json.loads(case["deltaJson"]))), canonical(ordered))


def _state(snapshot: object, limits: Mapping[str, int]) -> semantic_state.SemanticState:
    return semantic_state.SemanticState.of(validate_snapshot(snapshot, limits), limits)


def _key_order(delta: Document) -> list[object]:
    """The order of a delta's own keys and of the fields that it sets; inside a value the order of keys means nothing."""
    updates = [[list(update), list(update.get("set", ())), update.get("clear", [])] for update in delta.get("updateNodes", ())]
    return [list(delta), updates, list(delta.get("snapshot", ()))]


def _loses_order(state: semantic_state.SemanticState, delta: object, following: models.Snapshot, limits: Mapping[str, int]) -> bool:
    code, applied = outcome(lambda: state.apply(delta, size=None, limits=limits))
    return code == "ok" and [node.id for node in applied.state.snapshot.nodes] != [node.id for node in following.nodes]


# AccessKit


def _accesskit(document: Document) -> Iterator[Answer]:
    for role, expected in document.get("roleMap", {}).items():
        yield Verdict(f"role {role}", str(expected), str(accesskit.ROLES.get(role)))
    for name, expected in document.get("ids", ()):
        yield Verdict(f"id {name!r}", str(expected), str(outcome(accesskit.node_id, name)[1]))
    for name, case, _ in cases(document, "cases"):
        options = case.get("options", {})
        limits = limits_of(document, case)
        code, snapshot = outcome(validate_snapshot, case["snapshot"], limits)
        if code == "ok":
            code, told = outcome(_exported, snapshot, options)
        yield Verdict(name, str(case.get("code", "ok")), code)
        if code == "ok" and "expect" in case:
            yield Verdict(f"{name} expect", canonical(case["expect"]), canonical(told))


def _exported(snapshot: models.Snapshot, options: Document) -> Any:
    size = options.get("cellSize")
    return accesskit.to_accesskit(
        snapshot,
        cell_size=None if size is None else (size["width"], size["height"]),
        **{name: options[key] for name, key in _EXPORT_OPTIONS.items() if key in options},
    )


_EXPORT_OPTIONS: Final = {"tree_id": "treeId", "toolkit_name": "toolkitName", "toolkit_version": "toolkitVersion"}

_FORMATS: Final[tuple[tuple[Runner, Callable[[Document], bool]], ...]] = (
    (_constants, lambda document: "protocolId" in document),
    (_deltas, lambda document: "committed" in document or "diff" in document),
    (_messages, lambda document: "adapterToDriver" in document or "driverToAdapter" in document),
    (_observations, lambda document: "qualifiedSnapshot" in document or "geometryCases" in document or "statuses" in document),
    (_accesskit, lambda document: "roleMap" in document or _holds(document, "expect")),
    (_marker, lambda document: _holds(document, "mac") or _holds(document, "payload")),
    (_snapshots, lambda document: _holds(document, "snapshot")),
    (_logs, lambda document: _holds(document, "record")),
    (
        run_framing,
        lambda document: (
            "ceilings" in document
            or "framedQuirks" in document
            or any(_holds(document, key) for key in ("chunksHex", "streamHex", "frameHex"))
        ),
    ),
)


def _holds(document: Document, key: str) -> bool:
    """Whether some case, in any group of the document, has this key."""
    groups = (group for group in document.values() if isinstance(group, list))
    return any(isinstance(case, dict) and key in case for group in groups for case in group)
