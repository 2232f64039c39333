"""Writes generated/<protocol>/models.py: one frozen msgspec struct for each object, by datamodel-code-generator.

The bundle is lowered first, since the generator drops or mistranslates some keywords; machines/wire checks those on the struct.
"""

from __future__ import annotations

import copy
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from .bundle import Bundle, Schema, subschemas

TEMPLATES = Path(__file__).parent / "templates"
INT64 = 2**63 - 1
# Said by the schema, checked by the walker and the remainder: the generator ignores them, or makes another type of them.
NOT_LOWERED = (
    "uniqueItems",
    "propertyNames",
    "x-rule",
    "x-unit",
    "x-max-bytes",
    "x-max-items",
    "x-code",
    "x-unknown",
    "x-fault-at",
    "examples",
)


def models(bundle: Bundle) -> str:
    """The text of models.py. Raises RuntimeError with whatever the generator says on stderr: its warnings are lost constraints."""
    defs, overrides = lower(bundle)
    structs = {name: schema for name, schema in defs.items() if "properties" in schema}
    extra = {
        name: {"base_class_kwargs": {"frozen": True, "forbid_unknown_fields": True, "gc": False}, "wire_order": list(schema["properties"])}
        for name, schema in structs.items()
    }
    document = {"$schema": "https://json-schema.org/draft/2020-12/schema", "$defs": defs}
    with tempfile.TemporaryDirectory(prefix="triptych-gen-") as folder:
        source, data, out = (Path(folder) / name for name in ("bundle.json", "extra.json", "models.py"))
        source.write_text(json.dumps(document, indent=1, ensure_ascii=False), encoding="utf-8")
        data.write_text(json.dumps(extra, indent=1), encoding="utf-8")
        command = [*(sys.executable, "-m", "datamodel_code_generator"), *("--input", str(source)), *("--output", str(out))]
        command += [*OPTIONS, *("--custom-template-dir", str(TEMPLATES)), *("--extra-template-data", str(data))]
        command += ["--custom-file-header", header(bundle.protocol, f"The messages of {bundle.protocol} as frozen structs.")]
        if overrides:
            command += ["--type-overrides", json.dumps(overrides)]
        run = subprocess.run(command, capture_output=True, text=True, check=False)
        if run.returncode or run.stderr.strip():
            raise RuntimeError(f"datamodel-codegen on {bundle.protocol} (its warnings are lost constraints):\n{run.stderr}")
        return _as_tuples(out.read_text(encoding="utf-8").rstrip()) + "\n"


def _as_tuples(text: str) -> str:
    """The same with every `list[X]` written as `tuple[X, ...]`: an accepted message is immutable all the way down."""
    start = text.rfind("list[")
    while start >= 0:
        end, open_brackets = start + len("list["), 1
        while open_brackets:
            open_brackets += {"[": 1, "]": -1}.get(text[end], 0)
            end += 1
        text = f"{text[:start]}tuple[{text[start + 5 : end - 1]}, ...]{text[end:]}"
        start = text.rfind("list[", 0, start)
    return text


OPTIONS = (
    *("--input-file-type", "jsonschema", "--schema-version", "2020-12", "--output-model-type", "msgspec.Struct"),
    *("--target-python-version", "3.11", "--use-annotated", "--keyword-only", "--snake-case-field", "--enum-field-as-literal", "all"),
    *("--use-msgspec-tagged-unions", "--use-schema-description", "--use-field-description", "--use-single-line-docstring"),
    *("--use-double-quotes", "--skip-root-model", "--strict-refs", "--no-allow-remote-refs", "--disable-timestamp"),
    *("--formatters", "builtin"),
)


def header(protocol: str, sentence: str) -> str:
    """The banner of a generated module."""
    return f'# Written by `make gen` from schemas/{protocol}/. Do not edit: change the schema and run `make gen`.\n"""{sentence}"""'


def lower(bundle: Bundle) -> tuple[dict[str, Schema], dict[str, str]]:
    """What the generator gets: the reached `$defs` without what it would get wrong, and its type overrides."""
    overrides: dict[str, str] = {}
    defs = {name: copy.deepcopy(bundle.defs[name]) for name in bundle.reached()}
    for name, schema in defs.items():
        defs[name] = _free_form(schema, name, overrides)
        for key, inner in defs[name].get("properties", {}).items():
            defs[name]["properties"][key] = _free_form(inner, f"{name}.{key}", overrides)
        _simplify(defs[name])
    lowered = Bundle(bundle.protocol, defs, bundle.home, bundle.roots, {})
    return {name: defs[name] for name in lowered.reached()}, overrides


def python_pattern(pattern: str) -> str:
    """The pattern for Python: a final `$` would also match before a last newline, which JSON Schema does not mean."""
    return pattern[:-1] + r"\Z" if pattern.endswith("$") and not pattern.endswith(r"\$") else pattern


def _free_form(schema: Schema, place: str, overrides: dict[str, str]) -> Schema:
    kind = schema.get("x-python")
    if kind is None:
        return schema
    kept: dict[str, Any] = {key: schema[key] for key in ("description", "maxProperties") if key in schema}
    if kind == "json-object":
        return {"type": "object", **kept}
    overrides[place] = "msgspec.Raw"
    return kept if "." in place else {"type": "object", **kept}


def _simplify(schema: Schema) -> None:
    for word in NOT_LOWERED:
        schema.pop(word, None)
    if schema.get("maximum", 0) > INT64:
        del schema["maximum"]
    if "pattern" in schema:
        schema["pattern"] = python_pattern(schema["pattern"])
    for _, inner in subschemas(schema):
        _simplify(inner)
