"""The rules that a JSON Schema cannot say, by the names that `x-rule` gives them; the walker calls one on an otherwise clean value.

A rule gets the plain value and its path, and raises a Fault whose keyword is the rule's own name. A name with a colon carries
arguments: `unique-by:id`, `fits:offset,viewport,extent`. Rules across a whole document belong to the protocol's core instead.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from ipaddress import IPv4Address, IPv6Address
from typing import Any, Final

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


def _inside(name: str, file: str, folder: str) -> Rule:
    def check(value: Any, path: Path) -> None:
        if file in value and not is_inside(value[file], value[folder]):
            raise Fault((*path, file), name, f"{file} must live under {folder}")

    return check


def _not_blank(text: Any, path: Path) -> None:
    if not text.strip(WHITE_SPACE):
        raise Fault(path, "not-blank", "must not be blank")


def _absolute_path(text: Any, path: Path) -> None:
    if not ABSOLUTE.match(text) or "\0" in text:
        raise Fault(path, "absolute-path", "must be an absolute POSIX or Windows path")


def _canonical_origin(text: Any, path: Path) -> None:
    found = ORIGIN.fullmatch(text)
    if found is None or not _canonical_host(found["host"]) or not _canonical_port(found["scheme"], found["port"]):
        raise Fault(path, "canonical-origin", "must be a canonical http or https origin, without credentials, path, query or fragment")


def _canonical_port(scheme: str, port: str | None) -> bool:
    return port is None or (int(port) <= 65535 and port != {"http": "80", "https": "443"}[scheme])


def _canonical_host(host: str) -> bool:
    """A name as it is; an address, which is what ends in a number or stands in brackets, only in its one spelling."""
    try:
        if host.startswith("["):
            return IPv6Address(host[1:-1]).compressed == host[1:-1]
        if re.search(r"(?:\A|\.)(?:[0-9]+|0x[0-9a-f]*)\.?\Z", host):
            return str(IPv4Address(host)) == host
    except ValueError:
        return False
    return True


def _canonical_path(text: Any, path: Path) -> None:
    if not URL_PATH.fullmatch(text) or DOT_SEGMENT.search(text):
        raise Fault(path, "canonical-path", "must be a canonical URL path from its slash on, without query or fragment")


def is_inside(file: str, folder: str) -> bool:
    """Whether an absolute path lies under an absolute folder of the same kind once its dots are resolved; the folder itself does not."""
    if "\0" in file or not ABSOLUTE.match(file):
        return False
    (file_root, *inner), (root, *outer) = _segments(file), _segments(folder)
    return file_root == root and len(inner) > len(outer) and inner[: len(outer)] == outer


def _segments(text: str) -> list[str]:
    """The root of an absolute path and its segments without dots; Windows paths in lower case, since case is nothing there."""
    if text.startswith("/"):
        root, rest = "/", text
    else:
        text = text.replace("\\", "/").lower()
        root, rest = ("//", text[2:]) if text.startswith("//") else (text[:2], text[2:])
    segments: list[str] = []
    for segment in rest.split("/"):
        if segment == "..":
            del segments[-1:]
        elif segment not in ("", "."):
            segments.append(segment)
    return [root, *segments]


WHITE_SPACE: Final = "\t\n\v\f\r \u00a0\u1680" + "".join(map(chr, range(0x2000, 0x200B))) + "\u2028\u2029\u202f\u205f\u3000\ufeff"
"""What JavaScript's trim takes away."""
ABSOLUTE: Final = re.compile(r"/|[A-Za-z]:[\\/]|\\\\[^\\/]")
"""POSIX, drive or UNC."""
# What the URL standard leaves as it is; what it would write otherwise (upper case, a default port, a dot segment) is not canonical.
ORIGIN: Final = re.compile(
    r"(?P<scheme>https?)://(?P<host>[a-z0-9_](?:[a-z0-9_.-]{0,251}[a-z0-9_.])?|\[[0-9a-f:]{2,39}\])(?::(?P<port>0|[1-9][0-9]{0,4}))?"
)
URL_PATH: Final = re.compile(r"/[!$%&'()*+,./0-9:;=@A-Z\[\]_a-z|~-]*")
DOT_SEGMENT: Final = re.compile(r"/(?:\.|%2e){1,2}(?:/|\Z)", re.IGNORECASE)


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
    "inside": _inside,
}
RULES: dict[str, Rule] = {
    "hit-regions-row-major": _hit_regions_row_major,
    "spans-row-major": _spans_row_major,
    "recipe-coherent": _recipe_coherent,
    "recipe-intent": _recipe_intent,
    "recipe-actions-unique": _recipe_actions_unique,
    "probe-coherent": _probe_coherent,
    "not-blank": _not_blank,
    "absolute-path": _absolute_path,
    "canonical-origin": _canonical_origin,
    "canonical-path": _canonical_path,
}
