"""Decides what one control message does: a refusal with its code, edges, a forwarded message or an answer; called by a live session.

The order of the checks is the protocol's, and nothing physical comes out before all of them passed (desklink v3, control channel): text
and shape (`operation`, seq 0), session ended or channel not open (`session`), `permission`, `input-replay`, then what the kind itself
asks. A seq is used up even when a later check refuses; seq 0, or none, is never a replay. The caller carries the edges out and then says
`done` or `failed`: only then is the client answered, so an `ack` means that the display server has acted.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import msgspec

from ...errors import ProtocolError, RemoteProtocolError, Unavailable
from ...generated.desklink import models, vocabulary
from .geometry import Size, contains, to_source
from .held import Edge, Held, Move, Type, Wheel
from .keys import COMMANDING, MODIFIERS, NAMED_KEYS, Layout
from .messages import CONTROL_MESSAGES, given

MOST_WAITING = 512
"""So many control messages may wait to be judged. A text takes tens of milliseconds, and its sender may go meanwhile."""

BUTTONS = (1, 2, 3)
ROUNDING = 1e-9
"""Ten wheel steps of 0.1 are one click, though their binary sum is a little less."""


_NO_LINE_BREAKS = bytes.maketrans(b"\r\n", b"  ")


@dataclass(frozen=True)
class Present:
    """What holds of the session when a message comes in.

    `source` is the size of the captured surface. `reachable`: the control channel is open, or the message comes from this process.
    `unicode`: a caller in this process asks that a text may borrow keys for characters that the layout lacks; a client cannot.
    """

    source: Size
    reachable: bool = True
    ended: bool = False
    unicode: bool = False


@dataclass(frozen=True)
class Answer:
    """Send `message` to the client; there is nothing else to do."""

    message: dict[str, Any]


@dataclass(frozen=True)
class Apply:
    """Carry out `edges` in order, then call `done` or `failed` with `seq`."""

    seq: int
    edges: tuple[Edge, ...]


@dataclass(frozen=True)
class Forward:
    """Hand `message`, as it arrived, to the consumer, and `reply` to the client."""

    message: msgspec.Raw
    reply: dict[str, Any]


@dataclass(frozen=True)
class Clipboard:
    """Ask the desktop's clipboard for its text, or give it `text`; the answer carries the client's `request`, a refusal its `seq`."""

    seq: int
    request: str
    text: str | None


Verdict = Answer | Apply | Forward | Clipboard


def crowded(text: bytes) -> dict[str, Any]:
    """The answer for a message that comes while MOST_WAITING others wait: it is not judged, so its seq may be used again. On any thread."""
    try:
        seq = given(CONTROL_MESSAGES.read(text).seq, 0)
    except RemoteProtocolError:
        seq = 0
    detail = f"{MOST_WAITING} messages wait to be carried out: send on when some of them are acknowledged"
    return {"kind": "rejected", "seq": seq, "code": "operation", "message": detail}


class ControlInput:
    """The control rules of one session. `encoded` is the surface that the client aims at.

    Its messages are judged on one thread. What may change meanwhile on another comes with each message, as its `Present`; another thread
    only reads the counters.
    """

    def __init__(
        self, permissions: Collection[str], encoded: Size, layout: Layout | None, *, forwards: bool = False, clipboard: bool = False
    ) -> None:
        self.encoded = encoded
        self.applied = self.rejected = self.forwarded = 0
        self.held = Held()
        self._permissions = frozenset(permissions)
        self._layout = layout
        self._forwards = forwards
        self._has_clipboard = clipboard
        self._last_seq = 0
        self._wheel = [0.0, 0.0]
        self._struck: dict[str, int] = {}  # the keys that are down for a character

    def receive(self, text: bytes, present: Present) -> Verdict:
        """Judge one message. Never raises for what a client sends."""
        try:
            message = CONTROL_MESSAGES.read(text)
        except RemoteProtocolError as error:
            return self._rejected(0, "operation", f"{error.path}: {error.detail}" if error.path else error.detail)
        seq = given(message.seq, 0)
        try:
            self._admit(seq, present)
            if self._forwards:
                return self._forward(text, message, seq)
            match message:
                case models.ControlClipboardRead() | models.ControlClipboardWrite():
                    return self._clipboard(message, seq)
                case _:
                    return Apply(seq, tuple(self._edges(message, present)))
        except ProtocolError as error:
            return self._rejected(seq, error.code, error.detail)
        except Unavailable as error:  # the layout of a display that is gone
            return self._rejected(seq, "input", error.reason)

    def done(self, seq: int) -> dict[str, Any]:
        """The edges of an `Apply` were carried out: the answer for the client."""
        self.applied += 1
        return {"kind": "ack", "seq": seq}

    def failed(self, seq: int, reason: str) -> dict[str, Any]:
        """The edges of an `Apply` could not be carried out: the answer for the client."""
        return self._rejected(seq, "input", reason).message

    def release_all(self) -> tuple[Edge, ...]:
        """The edges that lift everything this session holds; the wheel forgets its fractions too."""
        self._wheel = [0.0, 0.0]
        self._struck.clear()
        return tuple(self.held.release_all())

    def _rejected(self, seq: int, code: str, message: str) -> Answer:
        self.rejected += 1
        return Answer({"kind": "rejected", "seq": seq, "code": code, "message": message})

    def _admit(self, seq: int, present: Present) -> None:
        if present.ended:
            raise RemoteProtocolError("session", "the session has ended")
        if not present.reachable:
            raise RemoteProtocolError("session", "the control channel is not open")
        if "control" not in self._permissions:
            raise RemoteProtocolError("permission", "this session was opened without the control permission")
        if seq:
            if seq <= self._last_seq:
                raise RemoteProtocolError("input-replay", f"seq {seq} is not above {self._last_seq}, the last one taken")
            self._last_seq = seq

    def _forward(self, text: bytes, message: models.ClientControl, seq: int) -> Verdict:
        if isinstance(message, models.ControlClipboardRead | models.ControlClipboardWrite):
            return Answer(_clipboard_error(message.request, "an encoded source has no desktop clipboard"))
        self.forwarded += 1
        # As it arrived, to the byte: a number may be larger than what can be decoded and encoded again. A line break, which valid JSON has
        # only between its tokens, would end the line of the event.
        return Forward(msgspec.Raw(text.translate(_NO_LINE_BREAKS).strip()), {"kind": "ack", "seq": seq})

    def _clipboard(self, message: models.ControlClipboardRead | models.ControlClipboardWrite, seq: int) -> Verdict:
        if "clipboard" not in self._permissions:
            raise RemoteProtocolError("permission", "this session was opened without the clipboard permission")
        text = message.text if isinstance(message, models.ControlClipboardWrite) else None
        if self._has_clipboard:
            return Clipboard(seq, message.request, text)
        if text is not None:
            raise RemoteProtocolError("clipboard-unsupported", "this source has no clipboard")
        return Answer(_clipboard_error(message.request, "this source has no clipboard"))

    def _edges(self, message: models.ClientControl, present: Present) -> list[Edge]:
        match message:
            case models.ControlPointer():
                return self._pointer(message, present.source)
            case models.ControlWheel():
                return self._wheel_clicks(given(message.dx, 0.0), given(message.dy, 0.0))
            case models.ControlKey():
                return self._key(message)
            case models.ControlText():
                return self._text(message.text, present.unicode)
            case _:
                return list(self.release_all())

    def _pointer(self, message: models.ControlPointer, source: Size) -> list[Edge]:
        if not contains(self.encoded, message.x, message.y):
            raise RemoteProtocolError(
                "coordinates", f"({message.x},{message.y}) is outside the {self.encoded.width}x{self.encoded.height} surface"
            )
        if message.phase == "cancel":
            return list(self.release_all())
        edges: list[Edge] = [Move(*to_source(self.encoded, source, message.x, message.y))]
        if message.phase != "move":
            edges += self.held.button(button if (button := given(message.button, 1)) in BUTTONS else 1, message.phase == "down")
        return edges

    def _wheel_clicks(self, dx: float, dy: float) -> list[Edge]:
        most = vocabulary.MAX_WHEEL_DELTA
        if not all(math.isfinite(delta) and abs(delta) <= most for delta in (dx, dy)):
            raise RemoteProtocolError("coordinates", f"a wheel step of ({dx},{dy}) is not within -{most}..{most}")
        clicks = []
        for axis, delta in enumerate((dx, dy)):
            # Fractions add up across messages, so that a slow touchpad scrolls; what passes the cap of one message is dropped.
            turned = self._wheel[axis] + delta
            whole = math.trunc(turned + math.copysign(ROUNDING, turned))
            self._wheel[axis] += delta - whole
            clicks.append(max(-vocabulary.MAX_WHEEL_CLICKS, min(vocabulary.MAX_WHEEL_CLICKS, whole)))
        return [Wheel(*clicks)] if any(clicks) else []

    def _key(self, message: models.ControlKey) -> list[Edge]:
        name, character = given(message.name, None), given(message.character, None)
        if name in MODIFIERS:
            return self.held.modifier(MODIFIERS[name], message.down)
        asked = [MODIFIERS[modifier] for modifier in given(message.modifiers, []) if modifier in MODIFIERS]
        code, needed = self._meant(name, character, COMMANDING.intersection(asked) or self.held.any_down(COMMANDING))
        if message.down:
            if name is None and character is not None:
                self._struck[character] = code
            return self.held.chord_down(code, (*needed, *asked))
        self._struck = {other: struck for other, struck in self._struck.items() if struck != code}
        return self.held.chord_up(code)

    def _meant(self, name: str | None, character: str | None, commanding: object) -> tuple[int, tuple[int, ...]]:
        if name is not None:
            if name not in NAMED_KEYS:
                raise RemoteProtocolError("text-unsupported", f"no key is called {name!r}")
            return NAMED_KEYS[name], ()
        if character is None or len(character) != 1:
            raise RemoteProtocolError("text-unsupported", "a key needs a name, or a character of one code point")
        # The layout may be another one since the press: the key that went down is the one to lift.
        if (struck := self._struck.get(character)) is not None:
            return struck, ()
        # A shortcut is named by its key: programs know Ctrl+C while the layout group makes another letter of it.
        stroke = self._keyboard().stroke(character, any_group=bool(commanding))
        if stroke is None:
            raise RemoteProtocolError("text-unsupported", f"the keyboard layout has no key for {character!r}")
        return stroke

    def _text(self, text: str, unicode: bool) -> list[Edge]:
        if (size := len(text.encode())) > vocabulary.MAX_TEXT_BYTES:
            raise RemoteProtocolError("text-too-large", f"{size} bytes of text; at most {vocabulary.MAX_TEXT_BYTES} go in one message")
        return [Type(self._keyboard().plan(text, unicode=unicode))] if text else []

    def _keyboard(self) -> Layout:
        if self._layout is None:
            raise RemoteProtocolError("input-unavailable", "this source has no keyboard")
        return self._layout


def _clipboard_error(request: str, error: str) -> dict[str, Any]:
    return {"kind": "clipboard", "request": request, "text": "", "truncated": False, "error": error}
