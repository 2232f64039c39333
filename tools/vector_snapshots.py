"""The snapshots of our vectors: one valid form, and what each rule makes of a change to it. gen_vectors.py writes them."""

from __future__ import annotations

import copy
from typing import Any

WIDE = "zażółć 漢字 👩‍👩‍👧"
EVIDENCE = {"source": "framework", "method": "native", "strength": "authoritative", "providerId": "example"}

Tree = dict[str, Any]


def known(value: object) -> Tree:
    return {"status": "known", "value": copy.deepcopy(value), "evidence": dict(EVIDENCE)}


def rectangle(row: int, column: int, width: int, height: int) -> dict[str, int]:
    return {"row": row, "column": column, "width": width, "height": height}


def node(
    name: str, role: str, label: str, *, parentId: str | None = None, rect: tuple[int, int, int, int] = (0, 0, 1, 1), **more: object
) -> Tree:
    made: Tree = {"id": name} | ({} if parentId is None else {"parentId": parentId}) | {"role": role, "name": label, **more}
    area = rectangle(*rect)
    return {**made, "geometry": {"displayed": known(True), "intendedRect": known(area), "visibleRect": known(area)}}


def form() -> Tree:
    """A region with a text box and a button: every case starts from it."""
    value = {**known("Ada"), "sensitivity": "public"}
    return {
        "v": 3, "sessionId": "session-7", "revision": 4, "columns": 20, "rows": 6,
        "cursor": {"row": 1, "column": 4, "visible": True, "shape": "bar"}, "rootIds": ["form"],
        "nodes": [
            node("form", "region", "Address", rect=(0, 0, 20, 6)),
            node("name", "textbox", "Name", parentId="form", rect=(1, 1, 12, 1), value=value, state={"focused": True},
                 actions=["focus", "setValue"], testId="name", p="framework", px={"name": "annotation"}),
            node("send", "button", "Send", parentId="form", rect=(2, 1, 8, 1), state={"disabled": True}, actions=["focus", "activate"],
                 labelledBy=["name"]),
        ],
        "coordinateSpace": known("viewport-cells"),
        "hitGrid": known({"regions": [
            {"rect": rectangle(0, 0, 20, 1), "recipientId": "form"},
            {"rect": rectangle(1, 1, 12, 1), "recipientId": "name"},
            {"rect": rectangle(1, 13, 7, 1), "recipientId": "form"},
        ]}),
    }  # fmt: skip


def changed(value: Tree, path: str, new: object) -> Tree:
    """A copy with the member at a dotted path replaced; `DROP` takes it away."""
    made = copy.deepcopy(value)
    *way, last = path.split(".")
    place: Any = made
    for step in way:
        place = place[int(step)] if isinstance(place, list) else place[step]
    if new is DROP:
        del place[last]
    else:
        place[int(last) if isinstance(place, list) else last] = copy.deepcopy(new)
    return made


DROP = object()

Cases = tuple[dict[str, Tree], dict[str, tuple[object, str, dict[str, int]]]]


def snapshot_cases() -> Cases:
    """Accepted ones by name; refused ones with their code and, where they need it, tighter limits."""
    base = form()
    recipe = {"action": "activate", "requiresFocus": True, "steps": [{"kind": "press", "key": "enter"}]}
    region = {"regionBounds": rectangle(2, 1, 8, 1), "spans": [{"row": 2, "from": 1, "to": 4}, {"row": 2, "from": 4, "to": 9}]}
    provider: Tree = {
        "providerId": "app.pointer", "sessionId": "session-7", "revision": 4, "status": "available",
        "evidence": {**EVIDENCE, "source": "application", "providerId": "app.pointer"},
        "pointerRegions": [{"recipientId": "send", **region}],
    }  # fmt: skip
    empty = {**base, "rootIds": [], "nodes": [], "hitGrid": known({"regions": []})}
    absent = {"status": "absent", "reason": "not-displayed", "evidence": EVIDENCE}
    unsupported = {"status": "unsupported", "capability": "pointer-hit-grid", "reason": "not-negotiated"}
    accept = {
        "form": base,
        "empty": empty,
        "no-cursor": changed(base, "cursor", DROP),
        "revision-as-a-float": changed(base, "revision", 4.0),
        "partly-outside": changed(changed(base, "nodes.1.geometry.intendedRect", known(rectangle(1, -5, 30, 1))),
                                  "nodes.1.geometry.visibleRect", known(rectangle(1, -5, 30, 1))),
        "empty-visible-rect-anywhere": changed(base, "nodes.1.geometry.visibleRect", known(rectangle(50, 50, 0, 0))),
        "not-displayed": changed(base, "nodes.2.geometry.visibleRect", absent),
        "hit-grid-unsupported": changed(base, "hitGrid", unsupported),
        "value-empty": changed(base, "nodes.1.value.value", ""),
        "value-withheld": changed(base, "nodes.1.value", {"status": "withheld", "reason": "sensitive", "sensitivity": "sensitive"}),
        "value-absent": changed(base, "nodes.1.value", {**absent, "reason": "no-value"}),
        "recipe": changed(base, "nodes.2.inputRecipes", [recipe]),
        "painted-region-touching-spans": changed(base, "nodes.2.paintedRegion", known(region)),
        "provider": changed(base, "providerEvidence", [provider]),
        "generic": changed(changed(base, "nodes.2.role", "generic"), "nodes.2.frameworkType", "Sparkline"),
        "relation-to-itself": changed(base, "nodes.2.labelledBy", ["send", "send"]),
        "extended": changed(base, "nodes.2.extended", {"a": [1.5, None, {"b": [[]]}], "n": 9007199254740991}),
    }  # fmt: skip

    weak = {**absent, "evidence": {**EVIDENCE, "strength": "diagnostic"}}
    bare = {"status": "known", "value": True}
    overlapping = {**region, "spans": [{"row": 2, "from": 1, "to": 4}, {"row": 2, "from": 3, "to": 5}]}
    outside = {**region, "spans": [{"row": 3, "from": 1, "to": 4}]}

    def refused(path: str, new: object, code: str, **limits: int) -> tuple[object, str, dict[str, int]]:
        return changed(base, path, new), code, limits

    hit = "hitGrid.value.regions"
    twice = [*base["nodes"], base["nodes"][2]]
    reject = {
        "not-an-object": ([], "schema", {}),
        "version-2": refused("v", 2, "schema"),
        "unknown-field": refused("title", "x", "schema"),
        "node-unknown-field": refused("nodes.1.colour", "red", "schema"),
        "revision-zero": refused("revision", 0, "revision"),
        "columns-zero": refused("columns", 0, "schema"),
        "cursor-outside": refused("cursor.row", 6, "bad-rect"),
        "cursor-shape": refused("cursor.shape", "round", "schema"),
        "role-unknown": refused("nodes.1.role", "slider", "unknown-role"),
        "name-missing": refused("nodes.1.name", DROP, "schema"),
        "generic-without-type": refused("nodes.2.role", "generic", "schema"),
        "state-unknown": refused("nodes.1.state", {"blinking": True}, "schema"),
        "offscreen-yet-not-hidden": refused("nodes.1.state", {"offscreen": True}, "schema"),
        "value-as-text": refused("nodes.1.value", "Ada", "schema"),
        "value-null": refused("nodes.1.value", None, "schema"),
        "action-unknown": refused("nodes.2.actions", ["smash"], "schema"),
        "geometry-missing": refused("nodes.1.geometry", DROP, "schema"),
        "evidence-missing": refused("nodes.1.geometry.displayed", bare, "schema"),
        "absent-diagnostic": refused("nodes.1.geometry.visibleRect", weak, "schema"),
        "rect-fraction": refused("nodes.1.geometry.intendedRect.value.width", 1.5, "bad-rect"),
        "rect-negative-height": refused("nodes.1.geometry.intendedRect.value.height", -1, "bad-rect"),
        "rect-beyond-safe": refused("nodes.1.geometry.intendedRect.value.column", 9007199254740991, "bad-rect"),
        "visible-outside-viewport": refused("nodes.1.geometry.visibleRect.value.row", 6, "bad-rect"),
        "visible-outside-intended": refused("nodes.1.geometry.visibleRect.value.width", 13, "bad-rect"),
        "hit-height-2": refused(f"{hit}.0.rect.height", 2, "bad-rect"),
        "hit-overlap": refused(f"{hit}.1.rect.width", 13, "bad-rect"),
        "hit-unknown-recipient": refused(f"{hit}.1.recipientId", "nobody", "missing-parent"),
        "hit-outside-viewport": refused(f"{hit}.2.rect.column", 20, "bad-rect"),
        "id-twice": refused("nodes", twice, "duplicate-id"),
        "root-twice": refused("rootIds", ["form", "form"], "duplicate-id"),
        "root-unknown": refused("rootIds", ["form", "nobody"], "missing-parent"),
        "root-with-parent": refused("rootIds", ["form", "name"], "schema"),
        "orphan": refused("nodes.1.parentId", DROP, "schema"),
        "parent-unknown": refused("nodes.1.parentId", "nobody", "missing-parent"),
        "parent-of-itself": refused("nodes.1.parentId", "name", "cycle"),
        "relation-unknown": refused("nodes.2.labelledBy", ["nobody"], "missing-parent"),
        "relations-65": refused("nodes.2.labelledBy", ["name"] * 65, "count"),
        "recipe-of-no-action": refused("nodes.1.inputRecipes", [recipe], "schema"),
        "span-overlap": refused("nodes.2.paintedRegion", known(overlapping),
                                "schema"),
        "span-outside-bounds": refused("nodes.2.paintedRegion", known(outside), "bad-rect"),
        "provider-of-another-revision": refused("providerEvidence", [{**provider, "revision": 3}], "provider"),
        "provider-of-another-session": refused("providerEvidence", [{**provider, "sessionId": "session-8"}], "provider"),
        "provider-twice": refused("providerEvidence", [provider, provider], "provider"),
        "string-too-long": refused("nodes.1.name", "é" * 8193, "string-bytes"),
        "too-many-nodes": refused("columns", 20, "count", maxNodes=2),
        "tree-too-deep": refused("columns", 20, "depth", maxDepth=1),
        "too-many-bytes": refused("columns", 20, "bytes", maxSnapshotBytes=500),
    }  # fmt: skip
    return accept, reject
