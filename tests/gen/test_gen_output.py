"""What the generators write: structs as the recipe says, lossless lowering, vocabularies and constant tables."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from triptych.generated.termwright import models, vocabulary
from triptych.tools.bundle import load
from triptych.tools.gen_cases import cases, expand, put
from triptych.tools.gen_models import lower, python_pattern
from triptych.tools.gen_models import models as make_models
from triptych.tools.gen_validators import layout, literal, node
from triptych.tools.gen_vocabulary import annotation
from triptych.tools.gen_vocabulary import vocabulary as make_vocabulary
from wire_kit import PROTOCOLS, bundle


def toy(folder: Path, defs: dict[str, Any], root: str) -> Any:
    document = {"$ref": f"#/$defs/{root}", "x-direction": "strict", "x-code": "malformed", "$defs": defs}
    (folder / "toy").mkdir()
    (folder / "toy" / "one.schema.json").write_text(json.dumps(document))
    return load("toy", folder)


def struct(properties: dict[str, Any], *required: str) -> dict[str, Any]:
    return {
        "type": "object",
        "additionalProperties": False,
        "required": list(required),
        "properties": properties,
        "description": "A thing.",
    }


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_every_struct_is_frozen_closed_and_untracked_in_wire_order(protocol: str) -> None:
    module = __import__(f"triptych.generated.{protocol}.models", fromlist=["models"])
    for name in bundle(protocol).reached():
        schema = bundle(protocol).defs[name]
        if "properties" not in schema:
            continue
        made = getattr(module, name)
        config = made.__struct_config__
        assert (config.frozen, config.forbid_unknown_fields, config.gc) == (True, True, False), name
        assert made.__doc__ == schema["description"], name
        keys = [each.encode_name for each in msgspec.structs.fields(made)]
        assert keys == [key for key in schema["properties"] if key != config.tag_field], name


def test_absent_null_and_both_stay_apart() -> None:
    resync = models.SemanticResyncRequest(session_id="s", expected_base_revision=None, reason="missing-base")
    assert b'"expectedBaseRevision":null' in msgspec.json.encode(resync)
    fields = {each.name: each for each in msgspec.structs.fields(models.Delta)}
    assert fields["add_nodes"].default is msgspec.UNSET


def test_vocabulary_says_what_the_protocol_says() -> None:
    assert len(vocabulary.ROLE) == 23
    assert vocabulary.ABSOLUTE_LIMITS["maxNodes"] == 50_000
    assert set(vocabulary.DEFAULT_LIMITS) == set(vocabulary.ABSOLUTE_LIMITS) == set(vocabulary.KEYS["Limits"])
    assert set(vocabulary.RUN_TRANSITIONS) == set(vocabulary.RUN_STATE)
    assert {state for state, after in vocabulary.RUN_TRANSITIONS.items() if not after} == set(vocabulary.RUN_VERDICT)
    assert set(vocabulary.LOG_SEVERITY) == set(vocabulary.LOG_LEVEL)
    assert vocabulary.DEGRADED_CAPABILITY[:15] == vocabulary.SESSION_CAPABILITY
    assert len(vocabulary.KEYS["Node"]) == 21
    assert set(vocabulary.KEYS["Node"]) - set(vocabulary.CLEARABLE_NODE_FIELD) == {"id", "role", "name", "geometry"}
    assert vocabulary.KEYS["Node"][1:] == vocabulary.KEYS["NodePatch"]


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_models_keep_every_bound_that_they_can_hold(protocol: str) -> None:
    """Lowering takes away only what msgspec cannot check, and never a type, a key, an enumeration or a plain bound."""
    lowered, _ = lower(bundle(protocol))
    for name, schema in lowered.items():
        original = bundle(protocol).defs[name]
        if original.get("x-python"):
            continue
        for word in ("type", "required", "enum", "minLength", "maxLength", "minItems", "maxItems", "minimum"):
            assert schema.get(word) == original.get(word), (name, word)
        assert list(schema.get("properties", {})) == list(original.get("properties", {}))


def test_a_warning_of_the_generator_is_an_error(tmp_path: Path) -> None:
    """Two string members in one union cannot be told apart: the generator would warn and drop one."""
    two = {"oneOf": [{"type": "string", "maxLength": 3}, {"type": "string", "minLength": 9}], "description": "Two."}
    broken = toy(tmp_path, {"Two": two, "Thing": struct({"two": {"$ref": "#/$defs/Two"}})}, "Thing")
    with pytest.raises(RuntimeError, match="datamodel-codegen on toy"):
        make_models(broken)


def test_bounds_beyond_int64_stay_in_the_walker(tmp_path: Path) -> None:
    wide = {"type": "integer", "minimum": 0, "maximum": 2**64 - 1, "description": "Wide."}
    made = toy(tmp_path, {"Wide": wide, "Thing": struct({"n": {"$ref": "#/$defs/Wide"}}, "n")}, "Thing")
    assert "ge=0" in make_models(made)
    assert node(made, made.defs["Wide"]) == {"op": "integer", "low": 0, "high": 2**64 - 1}


def test_patterns_end_where_json_schema_ends_them() -> None:
    assert python_pattern("^a$") == r"^a\Z"
    assert python_pattern(r"^a\$") == r"^a\$"
    assert python_pattern("a") == "a"


def test_cases_of_a_small_type(tmp_path: Path) -> None:
    text = {"type": "string", "minLength": 2, "maxLength": 3}
    made = toy(tmp_path, {"Thing": struct({"word": text}, "word")}, "Thing")
    entry = json.loads(cases(made))["types"]["Thing"]
    assert (entry["root"], entry["message"], entry["at"]) == ("Thing", {"word": "aa"}, [])
    said = {case["name"].partition(": ")[2]: (case.get("put"), case.get("keyword")) for case in entry["cases"] if case.get("key") == "word"}
    assert said["shortest"] == ("aa", None)
    assert said["longest"] == ("aaa", None)
    assert said["one under"] == ("a", "minLength")
    assert said["one over"] == ("aaaa", "maxLength")
    assert said["wrong type, null"] == (None, "type")
    whole = {case["name"]: case for case in entry["cases"] if "key" not in case}
    assert whole["Thing.word: missing"]["keyword"] == "required"
    assert whole["Thing: an unknown key"]["keyword"] == "unknown"
    assert all(("code" in case) == ("path" in case) for case in entry["cases"])


def test_marks_in_cases() -> None:
    assert expand({"a": {"$text": ["x", 3]}, "b": [{"$items": [{"c": 1}, 2]}]}) == {"a": "xxx", "b": [[{"c": 1}, {"c": 1}]]}
    message = {"a": [{"b": 1}]}
    assert put(message, ("a", 0, "b"), 2) == {"a": [{"b": 2}]}
    assert message == {"a": [{"b": 1}]}


def test_literals() -> None:
    assert literal({"a": [1, None, "x"], "b": (True,)}) == "{'a': (1, None, 'x'), 'b': (True,)}"
    wide = {"key": ["x" * 60, "y" * 60, "z" * 60]}
    assert eval(layout(wide)) == {"key": ("x" * 60, "y" * 60, "z" * 60)}
    assert annotation({"a": [1], "b": []}) == "dict[str, tuple[int, ...] | tuple[str, ...]]"
    assert annotation(["a", 1]) == "tuple[str | int, ...]"


def test_vocabulary_of_a_small_bundle(tmp_path: Path) -> None:
    made = toy(tmp_path, {"FooBar": {"enum": ["a", "b"], "description": "Words."}, "Thing": struct({})}, "Thing")
    text = make_vocabulary(made)
    assert 'FOO_BAR: Final[tuple[str, ...]] = (\'a\', \'b\')\n"""Words."""' in text
    assert "KEYS: Final[dict[str, tuple[str, ...]]] = {'Thing': ()}" in text
