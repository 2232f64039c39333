"""Each x-rule: a value that holds it, and one that breaks it with the rule's own keyword at the right place."""

from __future__ import annotations

from typing import Any

import pytest

from triptych.machines.wire.faults import Fault, Path
from triptych.machines.wire.rules import MAKERS, RULES, is_rule, rule

PRESS, INSERT = {"kind": "press", "key": "x"}, {"kind": "insert-action-value"}


def region(row: int, column: int, width: int = 2) -> dict[str, Any]:
    return {"rect": {"row": row, "column": column, "width": width, "height": 1}, "recipientId": "n"}


def span(row: int, start: int, end: int) -> dict[str, Any]:
    return {"row": row, "from": start, "to": end}


def recipe(action: str, *steps: dict[str, Any], focus: bool = False) -> dict[str, Any]:
    return {"action": action, "requiresFocus": focus, "steps": list(steps)}


def probe(kind: str = "stable", semantic: str = "A", degraded: tuple[str, ...] = (), claims: tuple[str, ...] = ()) -> dict[str, Any]:
    instrumentation = {"highestTier": "T0", "semanticClass": semantic, "degradedCapabilities": list(degraded)}
    return {"identityKind": kind, "capabilities": list(claims), "instrumentation": instrumentation}


HOLD: list[tuple[str, Any]] = [
    ("unique-by:id", [{"id": 1}, {"id": 2}]),
    ("fits:offset,viewport,extent", {"offset": 3, "viewport": 4, "extent": 7}),
    ("ascends:from,to", {"from": 0, "to": 1}),
    ("non-empty:set,clear", {"set": {"name": "x"}}),
    ("non-empty:set,clear", {"set": None, "clear": ["p"]}),
    ("apart:set,clear", {"set": {"name": "x"}, "clear": ["p"]}),
    ("apart:set,clear", {"set": None, "clear": None}),
    ("apart:,clear", {"columns": 4, "clear": ["cursor"]}),
    ("needs:valueSensitivity,value", {"value": "", "valueSensitivity": "public"}),
    ("needs:valueSensitivity,value", {}),
    ("hit-regions-row-major", [region(0, 0), region(0, 2), region(1, 0)]),
    ("spans-row-major", [span(0, 0, 2), span(0, 2, 3), span(5, 0, 1)]),
    ("recipe-coherent", recipe("setValue", PRESS, INSERT)),
    ("recipe-coherent", recipe("focus", PRESS)),
    ("recipe-intent", {"actions": ["toggle"], "inputRecipes": [recipe("toggle", PRESS)]}),
    ("recipe-intent", {}),
    ("recipe-actions-unique", [recipe("focus", PRESS), recipe("toggle", PRESS)]),
    ("probe-coherent", probe(semantic="B", degraded=("intended-geometry", "clipped-geometry"))),
    ("probe-coherent", probe(claims=("stable-identity",))),
    ("not-blank", " a "),
    ("not-blank", "\x1c"),
    *(("absolute-path", path) for path in ("/", "/a b", "C:\\", "c:/x", "\\\\host\\share")),
    *(
        ("canonical-origin", f"http{rest}")
        for rest in ("://a", "s://a.example:8443", "://127.0.0.1:80801"[:-1], "://[::1]", "://xn--bcher-kva.de")
    ),
    *(("canonical-path", path) for path in ("/", "/a/b;c=1", "/%20", "/.a", "/...")),
    *(
        ("inside:filePath,workspaceRoot", {"filePath": file, "workspaceRoot": root})
        for file, root in (
            ("/w/a", "/w"),
            ("/w/../w/./a", "/w/"),
            ("/a", "/"),
            ("C:\\W\\a", "c:/w"),
            ("\\\\h\\s\\a", "\\\\h\\s"),
        )
    ),
    ("inside:filePath,workspaceRoot", {"workspaceRoot": "/w"}),
]
BREAK: list[tuple[str, Any, Path]] = [
    ("unique-by:id", [{"id": 1}, {"id": 2}, {"id": 1}], (2, "id")),
    ("fits:offset,viewport,extent", {"offset": 3, "viewport": 5, "extent": 7}, ()),
    ("ascends:from,to", {"from": 1, "to": 1}, ()),
    ("non-empty:set,clear", {"set": {}, "clear": None}, ()),
    ("apart:set,clear", {"set": {"p": "framework"}, "clear": ["p"]}, ("clear",)),
    ("apart:,clear", {"cursor": {}, "clear": ["cursor"]}, ("clear",)),
    ("needs:valueSensitivity,value", {"valueSensitivity": "public"}, ("valueSensitivity",)),
    ("hit-regions-row-major", [region(0, 0), region(0, 1)], (1, "rect")),
    ("hit-regions-row-major", [region(1, 0), region(0, 4)], (1, "rect")),
    ("spans-row-major", [span(0, 0, 2), span(0, 1, 3)], (1,)),
    ("spans-row-major", [span(2, 0, 2), span(1, 0, 3)], (1,)),
    ("recipe-coherent", recipe("setValue", PRESS), ()),
    ("recipe-coherent", recipe("setValue", INSERT, INSERT), ()),
    ("recipe-coherent", recipe("toggle", INSERT), ()),
    ("recipe-coherent", recipe("focus", PRESS, focus=True), ()),
    ("recipe-intent", {"inputRecipes": [recipe("toggle", PRESS)]}, ("inputRecipes", 0, "action")),
    ("recipe-actions-unique", [recipe("focus", PRESS), recipe("focus", PRESS)], ()),
    ("probe-coherent", probe(degraded=("focus", "focus")), ()),
    ("probe-coherent", probe(semantic="B", degraded=("intended-geometry",)), ()),
    ("probe-coherent", probe(kind="frame-local", claims=("stable-identity",)), ()),
    *(("not-blank", text, ()) for text in ("", " \t\u3000\ufeff")),
    *(("absolute-path", path, ()) for path in ("", "a/b", "~/a", "C:", "C:a", "\\a", "\\\\", "/a\0b")),
    *(
        ("canonical-origin", origin, ())
        for origin in (
            *(
                "",
                "a",
                "ftp://a",
                "http://",
                "http://A",
                "http://a/",
                "http://u@a",
                "http://a?q",
                "http://a#f",
                "http://a b",
                "http://b\u00fccher.de",
            ),
            *("http://a:80", "https://a:443", "http://a:08", "http://a:65536", "http://a:", "http://a\n"),
            *("http://127.1", "http://0x7f.0.0.1", "http://127.0.0.01", "http://[0:0::1]", "http://[::g]"),
        )
    ),
    *(
        ("canonical-path", path, ())
        for path in ("", "a", "/a?b", "/a#b", "/a b", "/\u00e9", "/a\\b", "/./a", "/a/..", "/a/%2E%2e/b", "/a\n")
    ),
    *(
        ("inside:filePath,workspaceRoot", {"filePath": file, "workspaceRoot": root}, ("filePath",))
        for file, root in (
            ("a", "/w"),
            ("/w", "/w"),
            ("/wa/b", "/w"),
            ("/w/../a", "/w"),
            ("/w/a\0", "/w"),
            ("D:\\w\\a", "C:\\w"),
            ("/w/a", "C:\\w"),
        )
    ),
]


@pytest.mark.parametrize(("name", "value"), HOLD)
def test_holds(name: str, value: Any) -> None:
    rule(name)(value, ("at",))


@pytest.mark.parametrize(("name", "value", "path"), BREAK)
def test_breaks(name: str, value: Any, path: Path) -> None:
    with pytest.raises(Fault) as fault:
        rule(name)(value, ("at",))
    assert (fault.value.keyword, fault.value.path) == (name, ("at", *path))


def test_every_rule_is_tried() -> None:
    tried = {name.partition(":")[0] for name, _, _ in BREAK} & {name.partition(":")[0] for name, _ in HOLD}
    assert tried == {*RULES, *MAKERS}


def test_names() -> None:
    assert is_rule("unique-by:id")
    assert is_rule("probe-coherent")
    assert not is_rule("unique-by")
    assert not is_rule("unheard-of:a,b")
