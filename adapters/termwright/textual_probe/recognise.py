"""What kind of thing a Textual widget is: its role, what can be done to it, and where its name, states and value are kept.

tree.py asks for every widget of a frame. Only Textual's own classes are known; a subclass is what its nearest known base is. Readers take
facts from the widget and run no code of the program's. Any other widget is `generic`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from textual.visual import RichVisual
from textual.widget import Widget

from ....generated.termwright.models import Action, ProvenanceSource, Role

#: What a value reader answers: the value, None for "there is none", or WITHHELD.
WITHHELD: Final = object()


@dataclass(frozen=True)
class Kind:
    """What is known of one class of widgets.

    `name` answers (text, where it comes from); `value` is None for widgets that expose none. `draws_children`: it draws items of its own
    that are no widgets, so that its children are not all there is.
    """

    role: Role
    actions: tuple[Action, ...] = ()
    name: Callable[[Any], tuple[str, ProvenanceSource]] = lambda widget: (text_of(widget.border_title), "framework")
    states: Callable[[Any], Mapping[str, object]] | None = None
    value: Callable[[Any], object] | None = None
    draws_children: bool = False
    contains: bool = False  # a container: it draws nothing itself unless the program's code does


def kind_of(widget: Widget) -> Kind:
    """The kind of a widget."""
    return _kind(type(widget))


def enumerates(widget: Widget) -> bool:
    """Whether the child widgets are surely all that there is inside.

    Proved for a container that only Textual's own code draws, and for a widget of any class that draws nothing but its children.
    """
    kind = kind_of(widget)
    if kind.draws_children:
        return False
    owners = _drawn_by(type(widget))
    if kind is GENERIC:
        return owners <= _BLANK
    return not kind.contains or all(owner.partition(".")[0] == "textual" for owner in owners)


@cache
def textual_class(cls: type) -> str:
    """The name of Textual's own class that this one is, or is made from."""
    return next((base.__qualname__ for base in cls.__mro__ if base.__module__.partition(".")[0] == "textual"), "")


@cache
def _kind(cls: type) -> Kind:
    for base in cls.__mro__:
        if base.__module__.partition(".")[0] == "textual" and base.__qualname__ in KINDS:
            return KINDS[base.__qualname__]
    return GENERIC


@cache
def _drawn_by(cls: type) -> frozenset[str]:
    """The classes whose code draws a widget of this class, or says what its children are."""
    methods = ("render", "render_line", "render_lines", "children")
    return frozenset(_owner(cls, method) for method in methods)


def _owner(cls: type, method: str) -> str:
    return next(f"{base.__module__}.{base.__qualname__}" for base in cls.__mro__ if method in vars(base))


def drawn_by_textual(cls: type, methods: tuple[str, ...] = ("render_line", "render_lines", "_render_line", "_get_option_render")) -> bool:
    """Whether no class of the program's has a say in how these methods draw."""
    return all(base.__module__.partition(".")[0] == "textual" for base in cls.__mro__ if any(method in vars(base) for method in methods))


def prompt_of(option: Any) -> str:
    """The text of an option, without its markup where Textual has read it."""
    return text_of(option._visual) or text_of(option.prompt)


def text_of(content: object) -> str:
    """The plain text of what Textual takes as content: a string, its own Content, a Rich Text; else nothing."""
    if isinstance(content, RichVisual):
        content = content._renderable
    if isinstance(content, str):
        return content
    plain = getattr(content, "plain", "")
    return plain if isinstance(plain, str) else ""


def _own_text(widget: Any) -> str:
    """The text of a Static: what it was given, or what it painted when the program draws it another way."""
    if _owner(type(widget), "render") == _STATIC:
        text = text_of(widget.visual)
        if text:
            return text
    return "\n".join(strip.text.rstrip() for strip in widget._render_cache.lines).strip("\n")


def _text(widget: Any) -> tuple[str, ProvenanceSource]:
    return _own_text(widget), "framework"


def _label(widget: Any) -> tuple[str, ProvenanceSource]:
    return text_of(widget.label), "framework"


def _input_name(widget: Any) -> tuple[str, ProvenanceSource]:
    title = text_of(widget.border_title)
    return (title, "framework") if title else (text_of(widget.placeholder), "heuristic")


def _input_value(widget: Any) -> object:
    return WITHHELD if widget.password else widget.value


def _items(widget: Any) -> tuple[str, ProvenanceSource]:
    """A name made of the texts inside, as assistive tools make one."""
    texts = (_own_text(inner) for inner in widget.walk_children(Widget) if kind_of(inner).name is _text)
    return " ".join(text for text in texts if text), "correlation"


def _highlighted(widget: Any) -> object:
    option = widget.highlighted_option
    return None if option is None else prompt_of(option)


def _selected(widget: Any) -> object:
    """What the closed select shows: the prompt of the chosen option."""
    if widget.is_blank():
        return None
    return next((text_of(prompt) or str(prompt) for prompt, value in widget._options if value == widget.value), None)


def _percentage(widget: Any) -> object:
    return None if widget.percentage is None else f"{widget.percentage * 100:.0f}%"


def _title(attribute: str) -> Callable[[Any], tuple[str, ProvenanceSource]]:
    return lambda widget: (text_of(getattr(widget, attribute)), "framework")


def _screen(widget: Any) -> tuple[str, ProvenanceSource]:
    return text_of(widget.title) or ("" if widget.is_modal else text_of(widget.app.title)), "framework"


GENERIC: Final = Kind("generic")
_TEXT: Final = Kind("text", name=_text)
_REGION: Final = Kind("region", contains=True)
_STATIC: Final = "textual.widgets._static.Static"
#: The classes of Textual whose drawing is the background alone.
_BLANK: Final = frozenset(("textual.widget.Widget", "textual.dom.DOMNode"))

_CONTAINERS: Final = (
    "Container",
    "ScrollableContainer",
    "Vertical",
    "VerticalGroup",
    "Horizontal",
    "HorizontalGroup",
    "Center",
    "Right",
    "Middle",
    "CenterMiddle",
    "Grid",
    "ItemGrid",
    "Header",
    "Markdown",
    "Tabs",
    "TabbedContent",
)


def _heading(level: int) -> Kind:
    return Kind("heading", name=_text, states=lambda widget: {"level": level})


KINDS: Final[Mapping[str, Kind]] = {
    **dict.fromkeys(_CONTAINERS, _REGION),
    "Screen": Kind("application", name=_screen, contains=True),
    "ModalScreen": Kind("dialog", name=_screen, states=lambda widget: {"modal": True}, contains=True),
    "Static": _TEXT,
    "Digits": Kind("text", name=_title("value")),
    "Link": Kind("text", ("activate",), name=_title("text")),
    "Pretty": _TEXT,
    "Placeholder": _TEXT,
    "Log": Kind("text"),
    "RichLog": Kind("text"),
    "HeaderTitle": _heading(1),
    **{f"MarkdownH{level}": _heading(level) for level in range(1, 7)},
    "Button": Kind("button", ("activate",), name=_label),
    "FooterKey": Kind("button", ("activate",), name=_title("description")),
    "Checkbox": Kind("checkbox", ("toggle",), name=_label, states=lambda widget: {"checked": widget.value}),
    "Switch": Kind("checkbox", ("toggle",), states=lambda widget: {"checked": widget.value}),
    "RadioButton": Kind("radio", ("select",), name=_label, states=lambda widget: {"checked": widget.value}),
    "RadioSet": _REGION,
    "Input": Kind("textbox", ("setValue",), name=_input_name, value=_input_value),
    "TextArea": Kind(
        "textbox",
        ("setValue",),
        name=_input_name,
        states=lambda widget: {"multiline": True, "readonly": widget.read_only},
        value=lambda widget: widget.text,
    ),
    "ListView": Kind("list", contains=True),
    "ListItem": Kind("listitem", ("select",), name=_items, states=lambda widget: {"selected": widget.highlighted}, contains=True),
    "OptionList": Kind("list", ("select",), value=_highlighted, draws_children=True),
    "SelectionList": Kind("list", ("select",), states=lambda widget: {"multiselectable": True}, value=_highlighted, draws_children=True),
    "Select": Kind(
        "button",
        ("activate", "expand"),
        name=_title("prompt"),
        states=lambda widget: {"expanded": widget.expanded},
        value=_selected,
        contains=True,
    ),
    "Tab": Kind("tab", ("select",), name=_text, states=lambda widget: {"selected": widget.has_class("-active")}),
    "TabPane": Kind("region", name=_title("_title"), contains=True),
    "Collapsible": Kind("region", name=_title("title"), states=lambda widget: {"expanded": not widget.collapsed}, contains=True),
    "CollapsibleTitle": Kind("button", ("activate", "expand"), name=_label, states=lambda widget: {"expanded": not widget.collapsed}),
    "DataTable": Kind("table", ("select",), draws_children=True),
    "Tree": Kind("list", ("select", "expand"), draws_children=True),
    "ProgressBar": Kind("progressbar", value=_percentage, contains=True),
    "LoadingIndicator": Kind("progressbar", states=lambda widget: {"busy": True}),
    "Rule": Kind("separator", states=lambda widget: {"orientation": widget.orientation}),
    "ScrollBar": Kind("scrollbar", states=lambda widget: {"orientation": "vertical" if widget.vertical else "horizontal"}),
    "Toast": Kind("alert", name=lambda widget: (widget._notification.message, "framework")),
    "Tooltip": _TEXT,
}
"""By the name of Textual's class."""
