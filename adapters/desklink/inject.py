"""Carries out physical edges on an X display, and answers a control message once they are made; runs on the input thread of a source.

Which edges, the rules of the control channel decide (machines/desklink/input.py). Codes are evdev's there, X keycodes here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, cast

from ...errors import LocalProtocolError, Unavailable
from ...machines.desklink.held import Button, Edge, Key, Move, Type, Wheel
from ...machines.desklink.input import Answer, Apply, ControlInput, Forward, Present

if TYPE_CHECKING:
    from .x11_input import TextPlan, X11Input

EVDEV_TO_X = 8
UP, DOWN, LEFT, RIGHT = 4, 5, 6, 7


class XLayout:
    """The live layout of the display that `device` is connected to, for the input core."""

    def __init__(self, device: Callable[[], X11Input]) -> None:
        self._device = device

    def stroke(self, character: str) -> tuple[int, tuple[int, ...]] | None:
        """The key of one character in the layout group that is locked now, and its modifiers, as evdev codes."""
        if (stroke := self._device().lookup(character)) is None:
            return None
        return stroke.keycode - EVDEV_TO_X, tuple(modifier - EVDEV_TO_X for modifier in stroke.modifiers)

    def plan(self, text: str) -> object:
        """The strokes of a text over all layout groups. Raises LocalProtocolError (text-unsupported)."""
        return self._device().plan_text(text)


def judge(control: ControlInput, device: X11Input | None, text: bytes, present: Present) -> dict[str, Any]:
    """Judge one control message, carry it out, and return the answer for the client."""
    match control.receive(text, present):
        case Answer(message) | Forward(_, message):
            return message
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
