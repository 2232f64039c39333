"""What a program says of its own widgets: kept on the widget or its class, and read by the probe of its framework. It changes nothing else.

`annotate` is public as `triptych.engine.probe.annotate`. It costs nothing while nobody drives the program. An annotation wins over what the
probe recognises, and has no word for what a framework measures: focus, text, geometry, clipping, pointer routing. termwright/3, semantic
conventions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Final, TypeVar

from ...errors import LocalProtocolError
from ...generated.termwright.vocabulary import ACTION, ROLE

Target = TypeVar("Target")
Told = str | Callable[[Any], str]
Facts = Mapping[str, object] | Callable[[Any], Mapping[str, object]]

#: The states that a program may declare: those that a framework measures are not among them.
STATES: Final = frozenset(
    (
        "disabled",
        "selected",
        "checked",
        "expanded",
        "modal",
        "busy",
        "readonly",
        "multiline",
        "required",
        "multiselectable",
        "orientation",
        "level",
        "positionInSet",
        "setSize",
    )
)
_ATTRIBUTE: Final = "__termwright_annotation__"


@dataclass(frozen=True, kw_only=True)
class Annotation:
    """The fields that were given; None where the probe is to say what it recognises."""

    role: str | None = None
    name: Told | None = None
    description: Told | None = None
    key: Told | None = None
    test_id: Told | None = None
    labelled_by: Sequence[str] | None = None
    described_by: Sequence[str] | None = None
    actions: Sequence[str] | None = None
    state: Facts | None = None
    extended: Facts | None = None


NOTHING: Final = Annotation()


def annotate(
    *,
    role: str | None = None,
    name: Told | None = None,
    description: Told | None = None,
    key: Told | None = None,
    test_id: Told | None = None,
    labelled_by: Sequence[str] | None = None,
    described_by: Sequence[str] | None = None,
    actions: Sequence[str] | None = None,
    state: Facts | None = None,
    extended: Facts | None = None,
) -> Callable[[Target], Target]:
    """Decorate a widget class, or call the result with one widget: `annotate(role="dialog", name="Checkout")(pane)`.

    `key` is a stable identity, unique on the screen. `labelled_by` and `described_by` name other widgets by key, test id or framework id.
    `state` holds portable states (`expanded`, `required`, …), `extended` the program's own data as JSON. Where a callable may stand, it
    gets the widget and answers for the frame that was drawn. A widget's annotation adds to its class's, and a class's to its base's.
    Raises `LocalProtocolError` (`unknown-role`, `unknown-action`, `measured-state`).
    """
    if role is not None and role not in ROLE:
        raise LocalProtocolError("unknown-role", f"{role!r} is none of: {', '.join(ROLE)}")
    for action in actions or ():
        if action not in ACTION:
            raise LocalProtocolError("unknown-action", f"{action!r} is none of: {', '.join(ACTION)}")
    for word in state if isinstance(state, Mapping) else ():
        if word not in STATES:
            raise LocalProtocolError("measured-state", f"{word!r} is no state that a program declares: {', '.join(sorted(STATES))}")
    given = Annotation(
        role=role,
        name=name,
        description=description,
        key=key,
        test_id=test_id,
        labelled_by=labelled_by,
        described_by=described_by,
        actions=actions,
        state=state,
        extended=extended,
    )
    changes = {field.name: value for field in fields(given) if (value := getattr(given, field.name)) is not None}

    def mark(target: Target) -> Target:
        setattr(target, _ATTRIBUTE, replace(annotation_of(target), **changes))
        return target

    return mark


def annotation_of(target: object) -> Annotation:
    """What the program said of this widget, or class of widgets."""
    found = getattr(target, _ATTRIBUTE, NOTHING)
    return found if isinstance(found, Annotation) else NOTHING
