"""Carries out the requests of an agent on one desktop session, one after another, and says honestly what took effect; the daemon calls it.

An answer is a JSON object. A refusal is an exception; `Effects` tells how far the step had come by then.
"""

from __future__ import annotations

import asyncio
import contextlib
import io
import time
from collections.abc import Awaitable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from ...adapters.desklink.private_file import write_owned
from ...errors import LocalProtocolError, ProtocolError, TriptychError, WaitTimeout
from ...generated.desklink.vocabulary import MAX_TEXT_BYTES, MAX_WHEEL_CLICKS
from ..desktop import Frame
from ..extras import need
from . import steps as ask
from .looks import Looks
from .refusals import refusal

if TYPE_CHECKING:
    from ..desktop import Session

Effect = Literal["none", "partial", "unknown"]


class AgentSession:
    """The work of one daemon. `folder` is the private one for pictures without a path, `name` the session's."""

    def __init__(self, looks: Looks, folder: Path, name: str) -> None:
        self.looks = looks
        self._folder = folder
        self._name = name
        self._made = 0  # inputs of the present step that were acknowledged
        self._clock = asyncio.get_running_loop().time

    @property
    def session(self) -> Session:
        """The desktop session."""
        return self.looks.session

    async def perform(self, step: ask.Single) -> dict[str, Any]:
        """Carry out one step; its answer. Raises TriptychError and OSError; `effect` then says how far it came."""
        self._made = 0
        ask.check(step)
        began = self._clock()
        try:
            return await self._performed(step, began)
        except BaseException:
            if isinstance(step, ask.Input):
                await self._let_go()
            raise

    async def _performed(self, step: ask.Single, began: float) -> dict[str, Any]:
        match step:
            case ask.Click() | ask.Move() | ask.Drag() | ask.Scroll() | ask.Type() | ask.Press():
                self.looks.require_picture()
                done = await self._input(step)
                return {**done, "seq": self.session.status.seq, **await self._afterwards(step, began)}
            case ask.Wait():
                return await self._wait(step, began)
            case ask.Shot():
                return await self._shot(step)
            case ask.Diff():
                self.looks.require_picture()
                return await self.looks.diff()
            case ask.Windows():
                return {"windows": await self.looks.windows()}
            case ask.Clipboard():
                return await self._clipboard(step.text)

    def effect(self, error: BaseException) -> Effect:
        """What a step that failed with `error` has done all the same."""
        if isinstance(error, ProtocolError) and error.code == "input":
            return "unknown"
        return "partial" if self._made else "none"

    async def batch(self, steps: tuple[ask.Single, ...]) -> dict[str, Any]:
        """Carry out steps up to the first that fails; what each did, and which were not tried."""
        for number, step in enumerate(steps, 1):
            try:
                ask.check(step)
            except LocalProtocolError as error:
                raise LocalProtocolError(error.code, f"step {number}: {error.detail}; nothing was done") from None
        answers: list[dict[str, Any]] = []
        for step in steps:
            command = {"command": step.__struct_config__.tag}
            try:
                answers.append({**command, "ok": True, **await self.perform(step)})
            except (TriptychError, OSError) as error:
                answers.append({**command, "ok": False, "effect": self.effect(error), "error": refusal(error)})
                break
        ok = answers[-1]["ok"]
        untried = list(range(len(answers) + 1, len(steps) + 1))
        return {"ok": ok, "steps": answers, "failed": None if ok else len(answers), "not_run": untried}

    async def health(self) -> dict[str, Any]:
        """How the session is."""
        status, size = self.session.status, self.session.size
        metrics = await self.session.metrics() if not status.ended else {}
        return {
            "size": list(size),
            "seq": status.seq,
            "seen_seq": self.looks.seen_seq,
            "capture": status.capture,
            "reason": status.reason,
            "input_applied": metrics.get("input_applied", 0),
            "input_rejected": metrics.get("input_rejected", 0),
        }

    # Input

    async def _input(self, step: ask.Click | ask.Move | ask.Drag | ask.Scroll | ask.Type | ask.Press) -> dict[str, Any]:
        session = self.session
        match step:
            case ask.Click():
                x, y = await self._place(step.at)
                for modifier in step.holding:
                    await self._do(session.hold(modifier))
                for _ in range(step.count):
                    await self._do(session.click(x, y, button=ask.BUTTONS[step.button]))
                for modifier in reversed(step.holding):
                    await self._do(session.release(modifier))
                return {"at": [x, y], "button": step.button, "count": step.count}
            case ask.Move():
                x, y = await self._place(step.at)
                await self._do(session.move(x, y))
                return {"at": [x, y]}
            case ask.Drag():
                start, end = await self._place(step.start), await self._place(step.end)
                await self._do(session.drag(start, end, button=ask.BUTTONS[step.button]))
                return {"from": list(start), "to": list(end), "button": step.button}
            case ask.Scroll():
                if step.at is not None:
                    await self._do(session.move(*await self._place(step.at)))
                sign = 1 if step.direction in ("down", "right") else -1
                for turn in _parts(step.amount, MAX_WHEEL_CLICKS):
                    await self._do(session.wheel(**{"dy" if step.direction in ("up", "down") else "dx": float(sign * turn)}))
                return {"direction": step.direction, "amount": step.amount}
            case ask.Type():
                if step.at is not None:
                    await self._do(session.click(*await self._place(step.at)))
                for part in chunks(step.text):
                    await self._do(session.type(part, unicode=step.unicode))
                if step.submit:
                    await self._do(session.press("Enter"))
                return {"characters": len(step.text), "submitted": step.submit}
            case ask.Press():
                for key in step.keys:
                    await self._do(session.press(key))
                return {"keys": list(step.keys)}

    async def _do(self, act: Awaitable[None]) -> None:
        self.looks.acted()
        await act
        self.looks.acted()
        self._made += 1

    async def _let_go(self) -> None:
        """A step broke off between a press and its release: nothing stays down."""
        # A session without control holds nothing, and a display that is gone neither.
        with contextlib.suppress(TriptychError):
            await asyncio.shield(self.session.release_all())

    async def _place(self, target: ask.Target) -> tuple[int, int]:
        if (place := ask.position(target)) is not None:
            return place
        x, y, width, height = await self.looks.referred(str(target))
        return x + width // 2, y + height // 2

    async def _afterwards(self, step: ask.Input, began: float) -> dict[str, Any]:
        """What was waited for after an input, and what changed; a time-out is no failure, since the input was made."""
        if step.wait is None:
            return {}
        met, acted = True, self._clock()
        match step.wait:
            case "settle":
                met = await self.looks.settled(acted, ask.SETTLE_MS, step.timeout)
            case "change":
                met = await self.looks.changed(began, step.timeout)
            case milliseconds:
                await asyncio.sleep(milliseconds / 1000)
        waited = {"for": step.wait, "met": met, "ms": round((self._clock() - acted) * 1000)}
        return {"waited": waited, "diff": await self.looks.diff()}

    async def _clipboard(self, text: str | None) -> dict[str, Any]:
        if text is None:
            found = await self.session.clipboard_read()
            return {"text": found.text, "truncated": found.truncated}
        await self.session.clipboard_write(text)
        self._made += 1
        return {"written": len(text.encode())}

    # Looking

    async def _wait(self, step: ask.Wait, began: float) -> dict[str, Any]:
        window = None
        match step.until:
            case "change":
                met = await self.looks.changed(began, step.timeout)
            case "settle":
                met = await self.looks.settled(0.0, ask.SETTLE_MS, step.timeout)
            case int() as milliseconds:
                met = True
                await asyncio.sleep(milliseconds / 1000)
            case text:
                window = await self.looks.title(text, step.timeout)
                met = window is not None
        if not met:
            wanted = {"change": "a change", "settle": "a still picture"}.get(str(step.until), f"a window whose title has {step.until!r}")
            raise WaitTimeout(wanted, f"frame {self.session.status.seq} after {step.timeout} ms")
        waited = {"for": step.until, "met": True, "ms": round((self._clock() - began) * 1000)}
        return {"waited": waited, **({"window": window} if window else {"diff": await self.looks.diff()})}

    async def _shot(self, step: ask.Shot) -> dict[str, Any]:
        region = None
        if step.region is not None:
            region = ask.area(step.region) or await self.looks.referred(str(step.region))
        # The look is before the picture: what changes in between is in both, and never in neither.
        if step.mark or region is None:
            self.looks.regions()
        marks = self.looks.latest() if step.mark else []
        frame = await self.session.frame(region=region)
        x, y = region[:2] if region else (0, 0)
        path = step.path or str(self._folder / f"{self._name}-{time.time_ns() // 1_000_000}.png")
        size = await asyncio.to_thread(_write_png, frame, path, [(mark["ref"], mark["box"]) for mark in marks], (x, y))
        told = {"path": path, "width": frame.width, "height": frame.height, "seq": frame.seq, "bytes": size}
        return told | ({"region": list(region)} if region else {}) | ({"marked": marks} if step.mark else {})


def chunks(text: str) -> list[str]:
    """The text in pieces that one message may carry, cut between characters."""
    pieces: list[str] = []
    piece: list[str] = []
    size = 0
    for letter in text:
        length = len(letter.encode(errors="surrogatepass"))
        if size + length > MAX_TEXT_BYTES:
            pieces.append("".join(piece))
            piece, size = [], 0
        piece.append(letter)
        size += length
    return [*pieces, "".join(piece)] if piece else pieces


def _parts(amount: int, most: int) -> list[int]:
    return [most] * (amount // most) + ([amount % most] if amount % most else [])


def _write_png(frame: Frame, path: str, marks: list[tuple[str, list[int]]], origin: tuple[int, int]) -> int:
    """Write the picture, with a frame and a name around each mark; the size of the file in bytes."""
    need("desktop", "PIL")
    from PIL import Image, ImageDraw

    picture = Image.frombytes("RGB", (frame.width, frame.height), frame.array.tobytes(), "raw", "BGRX")
    if marks:
        pen = ImageDraw.Draw(picture)
        for ref, (x, y, width, height) in marks:
            left, top = x - origin[0], y - origin[1]
            pen.rectangle((left, top, left + width - 1, top + height - 1), outline=(255, 0, 80), width=2)
            label = pen.textbbox((left + 3, top + 2), ref)
            pen.rectangle((label[0] - 2, label[1] - 1, label[2] + 1, label[3] + 1), fill=(255, 0, 80))
            pen.text((left + 3, top + 2), ref, fill=(255, 255, 255))
    written = io.BytesIO()
    picture.save(written, "PNG")
    write_owned(path, written.getbuffer())
    return written.tell()
