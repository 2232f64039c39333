"""The style check refuses what a generator would get wrong in silence, with the place and the remedy."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from triptych.tools import gen
from triptych.tools.bundle import SchemaError, load
from triptych.tools.schema_style import check

GOOD: dict[str, Any] = {
    "$ref": "#/$defs/Message",
    "x-direction": "strict",
    "x-code": "malformed",
    "x-vocabulary": {"DEFAULT_LIMITS": {"maxItems": 4}, "ABSOLUTE_LIMITS": {"maxItems": 9}},
    "$defs": {
        "Count": {"type": "integer", "minimum": 0, "maximum": 9, "description": "A count."},
        "Hue": {"enum": ["red", "blue"], "description": "A hue."},
        "Ping": {
            "type": "object",
            "additionalProperties": False,
            "required": ["type", "n"],
            "description": "A ping.",
            "properties": {"type": {"const": "ping"}, "n": {"$ref": "#/$defs/Count"}, "hue": {"$ref": "#/$defs/Hue"}},
        },
        "Pong": {
            "type": "object",
            "additionalProperties": False,
            "required": ["type"],
            "description": "A pong.",
            "properties": {"type": {"const": "pong"}},
        },
        "Message": {
            "oneOf": [{"$ref": "#/$defs/Ping"}, {"$ref": "#/$defs/Pong"}],
            "discriminator": {"propertyName": "type"},
            "description": "Any message.",
        },
    },
}


def write(folder: Path, document: dict[str, Any], name: str = "one") -> Path:
    (folder / "toy").mkdir(exist_ok=True)
    (folder / "toy" / f"{name}.schema.json").write_text(json.dumps(document))
    return folder


def faults(folder: Path, document: dict[str, Any]) -> str:
    with pytest.raises(SchemaError) as raised:
        check(load("toy", write(folder, document)))
    return str(raised.value)


def changed(*path: str, to: Any) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(json.dumps(GOOD))
    here = document
    for step in path[:-1]:
        here = here[step]
    if to is None:
        del here[path[-1]]
    else:
        here[path[-1]] = to
    return document


def test_the_good_one_is_good(tmp_path: Path) -> None:
    check(load("toy", write(tmp_path, GOOD)))


PING = ("$defs", "Ping")
INLINE = {"type": "object", "additionalProperties": False, "properties": {}, "description": "Inline."}


@pytest.mark.parametrize(
    ("path", "to", "says"),
    [
        ((*PING, "properties", "n"), INLINE, "an inline object steals its class name"),
        ((*PING, "properties", "n"), {"oneOf": [{"type": "string"}, {"type": "boolean"}]}, "an inline union"),
        (("$defs", "One"), {"const": 1, "description": "One."}, "a const without type in a $def becomes Any"),
        ((*PING, "properties", "type"), {"enum": ["ping", "pang"]}, "one const string; an enum there becomes the class name"),
        ((*PING, "required"), ["n"], "Ping requires type and gives it one const"),
        (("$defs", "Pong", "properties", "type", "const"), "ping", "the tag 'ping' stands twice"),
        (("$defs", "Message", "oneOf"), [{"$ref": "#/$defs/Ping"}], "at least two members"),
        (("$defs", "Meta"), {"type": "string", "description": "A name that msgspec has."}, "the name is taken"),
        (("$defs", "lower"), {"type": "string", "description": "A name."}, "PascalCase"),
        ((*PING, "description"), None, "has no description"),
        ((*PING, "description"), "Two\nlines.", "one line that ends as a sentence"),
        ((*PING, "description"), "no sentence", "one line that ends as a sentence"),
        ((*PING, "dependentRequired"), {"n": ["hue"]}, "dependentRequired is not understood"),
        ((*PING, "patternProperties"), {"x": True}, "patternProperties is not understood"),
        ((*PING, "x-rules"), "unique-by:id", "x-rules is not understood"),
        ((*PING, "x-rule"), "unheard-of", "is not in machines/wire/rules.py"),
        ((*PING, "additionalProperties"), {"type": "string"}, "typed additionalProperties beside properties"),
        ((*PING, "additionalProperties"), None, "is strict, so Ping says additionalProperties: false"),
        (("x-direction",), "tolerant", "is tolerant, so Ping does not say additionalProperties: false"),
        (("x-direction",), "sideways", "it is one of strict, tolerant, report"),
        (("x-direction",), None, 'say its "x-direction"'),
        (("x-code",), None, "has no x-code with a default"),
        (("$defs", "Count", "maximum"), None, "an integer says both bounds; maximum is missing"),
        ((*PING, "properties", "n"), {"$ref": "#/$defs/Ping"}, "a union member, which alone would not need its tag"),
        (("$ref",), "#/$defs/Ping", "the root Ping is a member of a union"),
        ((*PING, "properties", "n"), {"$ref": "#/$defs/Gone"}, "which is not there"),
        ((*PING, "properties", "n"), {"type": "string", "x-max-bytes": "maxMoons"}, "DEFAULT_LIMITS lacks"),
        (
            (*PING, "properties", "n"),
            {"type": "array", "items": {"type": "string"}, "maxItems": 8, "x-max-items": "maxItems"},
            "the absolute ceiling of maxItems: 9",
        ),
        ((*PING, "properties", "n"), {"type": "string", "x-unit": "utf32"}, "x-unit is utf8 or utf16"),
        ((*PING, "properties", "n"), {"type": "string", "pattern": "("}, "does not compile"),
        ((*PING, "properties", "n"), {"type": "array"}, "an array says its items"),
        ((*PING, "properties", "n"), {"type": "object"}, "an object says its properties"),
        ((*PING, "properties", "n"), {"type": "float"}, "is no JSON type"),
        (("$defs", "Hue", "enum"), ["red", 0.5], "an enumeration of fractions"),
        (("$id",), "https://example.org/one.schema.json", "the $id is https://triptych.invalid/schemas/toy/one.schema.json"),
        ((*PING, "required"), ["type", "n", "m"], "requires m, which is no property"),
        (
            ("$defs", "Either"),
            {"oneOf": [{"type": "string"}, {"$ref": "#/$defs/Hue"}], "description": "Either."},
            "differ in their JSON type",
        ),
    ],
)
def test_broken_rule(tmp_path: Path, path: tuple[str, ...], to: Any, says: str) -> None:
    assert says in faults(tmp_path, changed(*path, to=to))


def test_every_fault_is_told_at_once(tmp_path: Path) -> None:
    document = changed(*PING, "description", to=None)
    del document["$defs"]["Pong"]["description"]
    told = faults(tmp_path, document).splitlines()
    assert [line.split(": ")[2] for line in told if "no description" in line] == ["Ping", "Pong"]
    assert all(line.startswith("schemas/toy: one.schema.json: ") for line in told)


def test_a_name_twice_in_two_files(tmp_path: Path) -> None:
    write(tmp_path, {"$defs": {"Hue": GOOD["$defs"]["Hue"]}}, "two")
    with pytest.raises(SchemaError, match=r"already in one\.schema\.json"):
        load("toy", write(tmp_path, GOOD))


@pytest.mark.parametrize("text", ["{", '{"$defs": {}, "$defs": {}}', "[1,]"])
def test_a_file_that_is_no_json(tmp_path: Path, text: str) -> None:
    write(tmp_path, GOOD)
    (tmp_path / "toy" / "bad.schema.json").write_text(text)
    with pytest.raises(SchemaError, match=r"bad\.schema\.json: is not JSON"):
        load("toy", tmp_path)


def test_one_protocol_fails_and_the_others_are_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    schemas, out = tmp_path / "schemas", tmp_path / "out"
    write(schemas.parent, GOOD)
    schemas.mkdir()
    (tmp_path / "toy").rename(schemas / "toy")
    (schemas / "broken").mkdir()
    (schemas / "broken" / "one.schema.json").write_text(json.dumps(changed(*PING, "description", to=None)))
    monkeypatch.setattr(gen, "SCHEMAS", schemas)
    assert gen.main(["broken", "toy", "--out", str(out)]) == 1
    told = capsys.readouterr()
    assert "schemas/broken: one.schema.json: Ping: has no description" in told.err
    assert "toy: 5 files" in told.out
    assert (out / "generated" / "toy" / "models.py").exists()
    assert not (out / "generated" / "broken").exists()


def test_check_says_which_files_are_stale(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    schemas, out = tmp_path / "schemas", tmp_path / "out"
    schemas.mkdir()
    write(schemas, GOOD)
    monkeypatch.setattr(gen, "SCHEMAS", schemas)
    assert gen.main(["toy", "--out", str(out), "--check"]) == 1  # nothing is there, and nothing is written
    assert not out.exists()
    assert gen.main(["toy", "--out", str(out)]) == 0
    assert gen.main(["toy", "--out", str(out), "--check"]) == 0
    capsys.readouterr()
    stale = out / "generated" / "toy" / "models.py"
    stale.write_text(stale.read_text() + "# a hand was here\n")
    assert gen.main(["toy", "--out", str(out), "--check"]) == 1
    assert capsys.readouterr().err == "generated/toy/models.py is not what its source gives: run `make gen`\n"
