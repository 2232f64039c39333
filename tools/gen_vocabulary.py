"""Writes generated/<protocol>/vocabulary.py: a tuple for every named enumeration, and the constant tables of `x-vocabulary`."""

from __future__ import annotations

from typing import Any

from .bundle import Bundle, snake
from .gen_models import header
from .gen_validators import layout


def vocabulary(bundle: Bundle) -> str:
    """The text of vocabulary.py."""
    parts = [
        header(bundle.protocol, f"The closed vocabularies, limits and constants of {bundle.protocol}."),
        "",
        "from __future__ import annotations",
        "",
        "from typing import Final",
    ]
    for name, schema in bundle.defs.items():
        values = schema.get("enum")
        if values is None and "const" in schema:
            values = schema["const"]
        if values is not None:
            value: Any = tuple(values) if isinstance(values, list) else values
            parts += ["", _constant(snake(name).upper(), value), f'"""{schema["description"]}"""']
    for name, value in bundle.constants.items():
        parts += ["", _constant(name, value)]
    keys = {name: tuple(schema["properties"]) for name, schema in bundle.defs.items() if "properties" in schema}
    parts += ["", _constant("KEYS", keys), '"""The keys of every object, in the order that the protocol declares."""']
    return "\n".join(parts) + "\n"


def _constant(name: str, value: Any) -> str:
    """A text is `Final` alone: then it is one of the texts of a closed vocabulary, too, and not any text."""
    kind = "Final" if isinstance(value, str) else f"Final[{annotation(value)}]"
    return f"{name}: {kind} = {layout(value)}"


def annotation(value: Any) -> str:
    """The type of a constant as text: scalars, tuples and dicts of one kind."""
    if isinstance(value, dict):
        kinds = dict.fromkeys(annotation(inner) for inner in value.values())
        return f"dict[str, {' | '.join(kinds) or 'str'}]"
    if isinstance(value, tuple | list):
        kinds = dict.fromkeys(annotation(inner) for inner in value)
        return f"tuple[{' | '.join(kinds) or 'str'}, ...]"
    return "None" if value is None else type(value).__name__
