"""The requests that a session's daemon takes, one JSON object each, and how they are read; made by the commands, and by hand for a batch.

    {"command": "click", "at": "640,360", "wait": "settle"}

A target (`at`, `from`, `to`) is a position "x,y" or [x, y], a region of the latest `diff` ("r1": its middle) or a window of the latest list
("w2"). A region is "x,y,width,height", four numbers, "r1" or "w2". All pixels are the frame's.
"""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

import msgspec
from msgspec import Meta, Struct

from ...errors import LocalProtocolError

USAGE = "usage"
"""The code of a request that no state of the desktop could make right."""
MOST_STEPS = 30
MAX_LINE_BYTES = 4_194_304
SETTLE_MS = 250
"""So long nothing but an animation may change before a picture counts as settled."""
DEFAULT_TIMEOUT_MS = 5000

Timeout: TypeAlias = Annotated[int, Meta(ge=0, le=120_000)]
Target: TypeAlias = str | tuple[int, int]
Area: TypeAlias = str | tuple[int, int, int, int]
AfterInput: TypeAlias = Literal["settle", "change"] | Timeout
Button: TypeAlias = Literal["left", "middle", "right"]
BUTTONS: dict[str, int] = {"left": 1, "middle": 2, "right": 3}


class Step(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="command", tag=str.lower):
    """Anything that can be asked."""


class Input(Step, frozen=True, kw_only=True, tag=None):
    """Anything that presses, turns or moves something. `wait`: what to wait for afterwards, and then tell what changed."""

    wait: AfterInput | None = None
    timeout: Timeout = DEFAULT_TIMEOUT_MS


class Click(Input, frozen=True, kw_only=True, tag="click"):
    """Press and release a button, `count` times, with the modifiers `holding` down."""

    at: Target
    button: Button = "left"
    count: Annotated[int, Meta(ge=1, le=3)] = 1
    holding: tuple[str, ...] = ()


class Move(Input, frozen=True, kw_only=True, tag="move"):
    """Put the pointer somewhere."""

    at: Target


class Drag(Input, frozen=True, kw_only=True, tag="drag", rename={"start": "from", "end": "to"}):
    """Press at one place, release at another."""

    start: Target
    end: Target
    button: Button = "left"


class Scroll(Input, frozen=True, kw_only=True, tag="scroll"):
    """Turn the wheel by `amount` clicks, where the pointer is or `at` a place."""

    direction: Literal["up", "down", "left", "right"]
    amount: Annotated[int, Meta(ge=1, le=100)] = 3
    at: Target | None = None


class Type(Input, frozen=True, kw_only=True, tag="type"):
    """Type a text: after a click `at` a place, followed by Enter with `submit`. `unicode`: also what the keyboard layout lacks."""

    text: str
    at: Target | None = None
    unicode: bool = False
    submit: bool = False


class Press(Input, frozen=True, kw_only=True, tag="press"):
    """Press and release keys or chords, one after another."""

    keys: Annotated[tuple[str, ...], Meta(min_length=1)]


class Wait(Step, frozen=True, kw_only=True, tag="wait"):
    """Wait: for a change, until settled, for milliseconds, or for a text in a window's title."""

    until: str | Timeout
    timeout: Timeout = DEFAULT_TIMEOUT_MS


class Shot(Step, frozen=True, kw_only=True, tag="shot"):
    """Write a picture to the absolute `path`, or into the session's private folder."""

    path: str | None = None
    region: Area | None = None
    mark: bool = False


class Diff(Step, frozen=True, kw_only=True, tag="diff"):
    """Tell what has changed since the last look."""


class Windows(Step, frozen=True, kw_only=True, tag="windows"):
    """List the windows."""


class Clipboard(Step, frozen=True, kw_only=True, tag="clipboard"):
    """Read the clipboard, or write `text` to it."""

    text: str | None = None


class Batch(Step, frozen=True, kw_only=True, tag="batch"):
    """Carry out steps in order, up to the first that fails."""

    steps: Annotated[tuple[msgspec.Raw, ...], Meta(min_length=1, max_length=MOST_STEPS)]


class Health(Step, frozen=True, kw_only=True, tag="health"):
    """Tell how the session is, without waiting for other commands."""


class Home(Step, frozen=True, kw_only=True, tag="home"):
    """Tell how the session is, and which windows there are."""


class Stop(Step, frozen=True, kw_only=True, tag="stop"):
    """End the session."""


Single: TypeAlias = Click | Move | Drag | Scroll | Type | Press | Wait | Shot | Diff | Windows | Clipboard
Asked: TypeAlias = Single | Batch | Health | Home | Stop

_ASKED: msgspec.json.Decoder[Asked] = msgspec.json.Decoder(Asked)
_SINGLE: msgspec.json.Decoder[Single] = msgspec.json.Decoder(Single)


def read_step(line: bytes | msgspec.Raw) -> Asked:
    """The request of one line. Raises LocalProtocolError (usage)."""
    try:
        return _ASKED.decode(line)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise LocalProtocolError(USAGE, str(error)) from None


def read_steps(batch: Batch) -> tuple[Single, ...]:
    """The steps of a batch, all of them judged before any is carried out. Raises LocalProtocolError (usage) that names the step."""
    steps = []
    for number, raw in enumerate(batch.steps, 1):
        try:
            steps.append(_SINGLE.decode(raw))
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise LocalProtocolError(USAGE, f"step {number}: {error}; nothing was done") from None
    return tuple(steps)


def position(target: Target) -> tuple[int, int] | None:
    """A target as pixels; None when it names a region or a window. Raises LocalProtocolError (usage)."""
    if not isinstance(target, str):
        return target
    numbers = _numbers(target, 2)
    if numbers is None and not _is_reference(target):
        raise LocalProtocolError(USAGE, f"{target!r} is no place: name x,y, a region such as r1, or a window such as w1")
    return None if numbers is None else (numbers[0], numbers[1])


def area(region: Area) -> tuple[int, int, int, int] | None:
    """A region as pixels; None when it names a region or a window. Raises LocalProtocolError (usage)."""
    if not isinstance(region, str):
        return region
    numbers = _numbers(region, 4)
    if numbers is None and not _is_reference(region):
        raise LocalProtocolError(USAGE, f"{region!r} is no region: name x,y,width,height, a region such as r1, or a window such as w1")
    return None if numbers is None else (numbers[0], numbers[1], numbers[2], numbers[3])


def check(step: Asked) -> None:
    """Judge what the types leave open, before anything is done. Raises LocalProtocolError (usage)."""
    match step:
        case Click(at=at) | Move(at=at):
            position(at)
        case Drag(start=start, end=end):
            position(start)
            position(end)
        case Scroll(at=at) | Type(at=at) if at is not None:
            position(at)
        case Shot(region=region) if region is not None:
            area(region)
        case Wait(until=""):
            raise LocalProtocolError(USAGE, "name what to wait for: change, settle, milliseconds, or a text in a window's title")
        case _:
            pass


def _is_reference(text: str) -> bool:
    return text[:1] in ("r", "w") and text[1:].isascii() and text[1:].isdigit()


def _numbers(text: str, count: int) -> tuple[int, ...] | None:
    parts = text.split(",")
    try:
        return tuple(int(part) for part in parts) if len(parts) == count else None
    except ValueError:
        return None
