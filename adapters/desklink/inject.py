"""Carries out physical edges on an X display, and answers a control message once they are made; runs on the input thread of a source.

Which edges, the rules of the control channel decide (machines/desklink/input.py). Codes are evdev's there, X keycodes here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, cast

from ...errors import LocalProtocolError, Unavailable
from ...machines.desklink.held import Button, Edge, Key, Move, Type, Wheel
from ...machines.desklink.input import Answer, Apply, Clipboard, ControlInput, Forward, Present

if TYPE_CHECKING:
    from .x11_input import X11Input
    from .x11_keymap import TextPlan

EVDEV_TO_X = 8
UP, DOWN, LEFT, RIGHT = 4, 5, 6, 7


class XLayout:
    """The live layout of the display that `device` is connected to, for the input core."""

    def __init__(self, device: Callable[[], X11Input]) -> None:
        self._device = device

    def stroke(self, character: str, *, any_group: bool = False) -> tuple[int, tuple[int, ...]] | None:
        """The key of one character in the layout group that is locked now, or in any, and its modifiers, as evdev codes."""
        if (stroke := self._device().lookup(character, any_group=any_group)) is None:
            return None
        return stroke.keycode - EVDEV_TO_X, tuple(modifier - EVDEV_TO_X for modifier in stroke.modifiers)

    def plan(self, text: str, *, unicode: bool = False) -> object:
        """The strokes of a text over all layout groups, and with `unicode` over borrowed keys too. Raises as X11Input.plan_text does."""
        return self._device().plan_text(text, unicode=unicode)


def judge(control: ControlInput, device: X11Input | None, text: bytes, present: Present) -> dict[str, Any] | Clipboard:
    """Judge one control message, carry it out, and return the answer for the client; or what it asks of the clipboard."""
    match control.receive(text, present):
        case Answer(message) | Forward(_, message):
            return message
        case Clipboard() as asked:
            return asked
        case Apply(seq, edges):
            try:
                carry_out(device, edges)
            except (Unavailable, LocalProtocolError) as error:
                return control.failed(seq, error.reason if isinstance(error, Unavailable) else error.detail)
            return control.done(seq)


def carry_out(device: X11Input | None, edges: Iterable[Edge]) -> None:
    """Make the edges in order; when this returns, the server has acted on them. Raises Unavailable when it is gone."""
    if device is None:
        raise Unavailable("this session has no input device")
    for edge in edges:
        match edge:
            case Move(x, y):
                device.move(x, y)
            case Button(number, down):
                device.button(number, down)
            case Key(code, down):
                device.key(code + EVDEV_TO_X, down)
            case Wheel(right, down):
                _click(device, DOWN if down > 0 else UP, abs(down))
                _click(device, RIGHT if right > 0 else LEFT, abs(right))
            case Type(plan):
                device.play(cast("TextPlan", plan))
    device.sync()


def _click(device: X11Input, button: int, times: int) -> None:
    for _ in range(times):
        device.button(button, True)
        device.button(button, False)
