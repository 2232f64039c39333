"""The reference pages: every shape once, every link leads somewhere, and what a table cell may not hold is written so that it may."""

from __future__ import annotations

import re
from typing import Any

import pytest

from triptych.tools.bundle import REPOSITORY, load
from triptych.tools.gen_reference import _text, _value
from wire_kit import PROTOCOLS


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_every_shape_member_and_constant_is_there_and_every_link_leads_to_one(protocol: str) -> None:
    bundle = load(protocol)
    page = (REPOSITORY / "docs" / "protocols" / f"{protocol}-reference.md").read_text(encoding="utf-8")
    headings = re.findall(r"^### (\w+)$", page, re.MULTILINE)
    assert sorted(headings) == sorted(bundle.defs)
    assert set(re.findall(r"\]\(#(\w+)\)", page)) <= {name.lower() for name in headings}
    for name in bundle.constants:
        assert page.count(f"| `{name}` |") >= 1
    for name, schema in bundle.defs.items():
        part = page.split(f"### {name}\n", 1)[1].split("\n### ", 1)[0].split("\n## ", 1)[0]
        members = re.findall(r"^\| `([^`]+)` \|", part, re.MULTILINE)
        assert members == list(schema.get("properties", {}))
        # A bar inside a cell would begin another cell.
        rows = [line for line in part.splitlines() if line.startswith("|")]
        assert {len(re.findall(r"(?<!\\)\|", row)) for row in rows} <= {5}


@pytest.mark.parametrize(
    ("schema", "told"),
    [
        ({"type": "string", "minLength": 1, "maxLength": 5}, "string, 1 to 5 characters"),
        ({"type": "string", "x-max-bytes": 9}, "string, at most `9` bytes of UTF-8"),
        ({"type": ["string", "null"]}, "string or null"),
        ({"type": "array", "items": {"$ref": "#/$defs/Box"}, "minItems": 4, "maxItems": 4}, "array of [Box](#box), 4 items"),
        ({"const": 3}, "always `3`"),
        ({"enum": ["a", "b|c"]}, "one of `a`, `b\\|c`"),
        ({"oneOf": [{"$ref": "#/$defs/Box"}, {"type": "null"}]}, "[Box](#box) or null"),
        ({"type": "integer", "minimum": 0}, "integer, at least 0"),
        ({"type": "string", "pattern": "^a`b$"}, "string, matching ``^a`b$``"),
        ({}, "any value"),
    ],
)
def test_what_a_value_is_told_as(schema: dict[str, Any], told: str) -> None:
    assert _value(schema) == told


def test_a_description_is_text_and_no_markup() -> None:
    assert _text("a*b_c|d <e> [f] `g` \\") == "a\\*b\\_c\\|d \\<e\\> \\[f\\] \\`g\\` \\\\"
