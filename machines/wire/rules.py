"""The rules that a JSON Schema cannot say, by the names that `x-rule` gives them; the walker calls one on an otherwise clean value.

A rule gets the plain value and its path, and raises a Fault whose keyword is the rule's own name. A name with a colon carries
arguments: `unique-by:id`, `fits:offset,viewport,extent`. Rules across a whole document belong to the protocol's core instead.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .faults import Fault, Path

Rule = Callable[[Any, Path], None]


def rule(name: str) -> Rule:
    """The rule of this name. Raises KeyError for one that is not here."""
    word, _, arguments = name.partition(":")
    return MAKERS[word](name, *arguments.split(",")) if arguments else RULES[word]


def is_rule(name: str) -> bool:
    """Whether an `x-rule` of this name exists."""
    word, _, arguments = name.partition(":")
    return word in (MAKERS if arguments else RULES)


def _unique_by(name: str, key: str) -> Rule:
    def check(items: Any, path: Path) -> None:
        seen = set()
        for index, item in enumerate(items):
            if item[key] in seen:
                raise Fault((*path, index, key), name, f"{item[key]!r} appears twice")
            seen.add(item[key])

    return check


def _fits(name: str, offset: str, length: str, extent: str) -> Rule:
    def check(value: Any, path: Path) -> None:
        if value[offset] + value[length] > value[extent]:
            raise Fault(path, name, f"{offset} + {length} must not exceed {extent}")

    return check


def _ascends(name: str, low: str, high: str) -> Rule:
    def check(value: Any, path: Path) -> None:
        if value[high] <= value[low]:
            raise Fault(path, name, f"{high} must be greater than {low}")

    return check


def _non_empty(name: str, *keys: str) -> Rule:
    def check(value: Any, path: Path) -> None:
        if not any(value.get(key) for key in keys):
            raise Fault(path, name, f"at least one of {', '.join(keys)} must say something")

    return check


def _apart(name: str, changed: str, cleared: str) -> Rule:
    def check(value: Any, path: Path) -> None:
        keys = value.get(changed) if changed else value
        for key in value.get(cleared) or ():
            if key in (keys or ()):
                raise Fault((*path, cleared), name, f"{key} is both set and cleared")

    return check


def _needs(name: str, key: str, other: str) -> Rule:
    def check(value: Any, path: Path) -> None:
        if key in value and other not in value:
            raise Fault((*path, key), name, f"{key} needs {other}")

    return check


def _hit_regions_row_major(regions: Any, path: Path) -> None:
    row = end = -1
    for index, region in enumerate(regions):
        rect = region["rect"]
        if rect["row"] < row or (rect["row"] == row and rect["column"] < end):
            raise Fault((*path, index, "rect"), "hit-regions-row-major", "hit regions must be row-major and must not overlap")
        row, end = rect["row"], rect["column"] + rect["width"]


def _spans_row_major(spans: Any, path: Path) -> None:
    row = end = -1
    for index, span in enumerate(spans):
        if span["row"] < row or (span["row"] == row and span["from"] < end):
            raise Fault((*path, index), "spans-row-major", "spans must be row-major and must not overlap")
        row, end = span["row"], span["to"]


def _recipe_coherent(recipe: Any, path: Path) -> None:
    if recipe["action"] == "focus" and recipe["requiresFocus"]:
        raise Fault(path, "recipe-coherent", "a focus recipe cannot require focus")
    inserts = sum(step["kind"] == "insert-action-value" for step in recipe["steps"])
    if inserts != (recipe["action"] == "setValue"):
        raise Fault(path, "recipe-coherent", "setValue needs exactly one insert-action-value step, every other action none")


def _recipe_intent(node: Any, path: Path) -> None:
    for index, recipe in enumerate(node.get("inputRecipes", ())):
        if recipe["action"] not in node.get("actions", ()):
            raise Fault((*path, "inputRecipes", index, "action"), "recipe-intent", "a recipe needs its action among the node's actions")


def _recipe_actions_unique(recipes: Any, path: Path) -> None:
    """A repeated action is a fault of the whole list, unlike other repeats."""
    if len({recipe["action"] for recipe in recipes}) != len(recipes):
        raise Fault(path, "recipe-actions-unique", "at most one recipe for each action")


def _probe_coherent(probe: Any, path: Path) -> None:
    """The three rules of a probe block, in the protocol's order."""
    instrumentation = probe["instrumentation"]
    degraded = instrumentation["degradedCapabilities"]
    if len(set(degraded)) != len(degraded):
        raise Fault(path, "probe-coherent", "probe: a degraded capability is listed twice")
    if instrumentation["semanticClass"] == "B" and not {"intended-geometry", "clipped-geometry"} <= set(degraded):
        raise Fault(path, "probe-coherent", "probe: class B must list intended-geometry and clipped-geometry as degraded")
    if probe["identityKind"] == "frame-local" and "stable-identity" in probe["capabilities"]:
        raise Fault(path, "probe-coherent", "probe: frame-local identity cannot claim stable-identity")


MAKERS: dict[str, Callable[..., Rule]] = {
    "unique-by": _unique_by,
    "fits": _fits,
    "ascends": _ascends,
    "apart": _apart,
    "needs": _needs,
    "non-empty": _non_empty,
}
RULES: dict[str, Rule] = {
    "hit-regions-row-major": _hit_regions_row_major,
    "spans-row-major": _spans_row_major,
    "recipe-coherent": _recipe_coherent,
    "recipe-intent": _recipe_intent,
    "recipe-actions-unique": _recipe_actions_unique,
    "probe-coherent": _probe_coherent,
}
