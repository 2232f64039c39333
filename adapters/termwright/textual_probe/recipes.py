"""How the value of a text field is replaced with real keys: told only where the keys are proved to reach Textual's own editing.

tree.py asks for every field. The keys empty the field, and then the value is typed; a password needs no value to be seen for that.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from textual.widget import Widget

from ....generated.termwright.models import InputRecipe, InsertActionValueStep, PressStep, RecipeStep
from .recognise import textual_class

#: By the name of Textual's class: the keys that empty a field, and the actions that Textual binds them to.
_EMPTYING: Final[Mapping[str, Mapping[str, str]]] = {
    "Input": {"home": "home", "ctrl+k": "delete_right_all"},
    "TextArea": {"f7": "select_all", "backspace": "delete_left"},
}
_KEY_HANDLERS: Final = ("_on_key", "on_key", "on_event", "check_consume_key", "dispatch_key", "handle_key")


def set_value_recipe(widget: Widget) -> InputRecipe | None:
    """The recipe for `setValue`; None for a widget that is no such field, or whose keys may mean something else here."""
    emptying = _EMPTYING.get(textual_class(type(widget)))
    if emptying is None or getattr(widget, "read_only", False) or not _has_own_keys(widget, emptying):
        return None
    steps: tuple[RecipeStep, ...] = (*(PressStep(key=key) for key in emptying), InsertActionValueStep())
    return InputRecipe(action="setValue", requires_focus=True, steps=steps)


def _has_own_keys(widget: Widget, emptying: Mapping[str, str]) -> bool:
    """Whether each key runs Textual's own action on this widget: bound there, not bound before it, and neither was replaced."""
    if widget.app._keymap:  # the person may have given any key another meaning
        return False
    methods = (*_KEY_HANDLERS, *(f"action_{action}" for action in emptying.values()), *(f"key_{key}" for key in emptying))
    if any(method in vars(base) for base in type(widget).__mro__ if not _is_textual(base) for method in methods):
        return False
    for key, action in emptying.items():
        if [binding.action for binding in _bindings(widget, key)] != [action]:
            return False
        if any(binding.priority for above in (*widget.ancestors, widget.app) for binding in _bindings(above, key)):
            return False
    return True


def _bindings(owner: Any, key: str) -> list[Any]:
    return list(owner._bindings.key_to_bindings.get(key, ()))


def _is_textual(cls: type) -> bool:
    return cls.__module__.partition(".")[0] in ("textual", "builtins", "typing", "abc")
