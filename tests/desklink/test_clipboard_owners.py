"""Reading the clipboard of programs that answer in every way that the rules of X allow, and in some that they do not."""

from __future__ import annotations

import asyncio
import os
import struct
import time
from collections.abc import Awaitable, Callable
from itertools import chain, repeat
from pathlib import Path
from typing import Any

import pytest
import xcffib.xproto as x

from clipboard_kit import Handler, Owner, in_pieces, offers, sample
from stopwatch_kit import Stopwatch
from triptych.adapters.desklink import selection_reader
from triptych.adapters.desklink.x11_client import change_numbers, change_property
from triptych.adapters.desklink.x11_clipboard import X11Clipboard
from triptych.adapters.display import PrivateDisplay
from triptych.errors import RemoteProtocolError
from x11_kit import eventually

pytestmark = pytest.mark.display

LIMIT = 262_144
NO_ANSWER = "the desktop clipboard did not answer"
NO_TEXT = "the desktop clipboard holds no text"


def reading(
    display: PrivateDisplay, handle: Handler, act: Callable[[X11Clipboard, Owner], Awaitable[object]], seconds: float = 3.0
) -> None:
    """Let `act` read what an owner with such a handler answers."""

    async def main() -> None:
        ours = X11Clipboard(display.name, seconds=seconds)
        try:
            with Owner(display, handle) as owner:
                await act(ours, owner)
        finally:
            await ours.close()

    asyncio.run(main())


async def outcome(ours: X11Clipboard) -> tuple[str, bool] | str:
    """What is read, or the sentence of the refusal."""
    try:
        return await ours.read()
    except RemoteProtocolError as error:
        assert error.code == "clipboard"
        return error.detail


def read_once(display: PrivateDisplay, handle: Handler, seconds: float = 3.0) -> tuple[str, bool] | str:
    found: list[tuple[str, bool] | str] = []

    async def act(ours: X11Clipboard, _: Owner) -> None:
        found.append(await outcome(ours))

    reading(display, handle, act, seconds)
    return found[0]


@pytest.mark.parametrize(
    ("kind", "data", "targets", "expected"),
    [
        ("UTF8_STRING", "日本".encode(), ["UTF8_STRING"], ("日本", False)),
        ("text/plain;charset=utf-8", "日本".encode(), ["text/plain;charset=utf-8"], ("日本", False)),
        ("STRING", "Größe".encode("latin-1"), ["STRING"], ("Größe", False)),
        ("STRING", b"asked for TEXT", ["TEXT", "STRING"], ("asked for TEXT", False)),
        ("COMPOUND_TEXT", b"\x1b$(BF|K\\\x1b(B \xe4", ["TEXT"], ("日本 ä", False)),
        ("STRING", b"other type than asked", ["UTF8_STRING"], ("other type than asked", False)),
        ("UTF8_STRING", b"", ["UTF8_STRING"], ("", False)),
        ("UTF8_STRING", b"\xff\xfe", ["UTF8_STRING"], "the text on the desktop clipboard is not UTF-8"),
        ("UTF8_STRING", b"x" * (LIMIT - 1) + "é".encode(), ["UTF8_STRING"], ("x" * (LIMIT - 1), True)),
        ("STRING", b"\xe9" * (LIMIT // 2 + 1), ["STRING"], ("é" * (LIMIT // 2), True)),
        ("image/png", b"\x89PNG", ["UTF8_STRING"], NO_TEXT),
        ("UTF8_STRING", b"text", [], NO_TEXT),
        ("UTF8_STRING", b"text", ["image/png"], NO_TEXT),
    ],
)
def test_every_type_of_answer(
    bare_display: PrivateDisplay, kind: str, data: bytes, targets: list[str], expected: tuple[str, bool] | str
) -> None:
    assert read_once(bare_display, offers(kind, data, targets)) == expected


def test_numbers_are_no_text(bare_display: PrivateDisplay) -> None:
    def handle(owner: Owner, event: Any) -> None:
        if isinstance(event, x.SelectionRequestEvent):
            change_numbers(owner.client.connection, event.requestor, event.property, owner.client.atom("UTF8_STRING"), [1, 2])
            owner.tell(event, event.property)

    assert read_once(bare_display, handle) == NO_TEXT


def test_granted_and_nothing_there_is_no_text(bare_display: PrivateDisplay) -> None:
    def handle(owner: Owner, event: Any) -> None:
        if isinstance(event, x.SelectionRequestEvent):
            owner.tell(event, event.property)

    assert read_once(bare_display, handle) == NO_TEXT


def test_silence_is_answered_after_three_seconds_and_the_next_owner_at_once(bare_display: PrivateDisplay) -> None:
    async def main() -> None:
        ours = X11Clipboard(bare_display.name)
        try:
            with Owner(bare_display, lambda *_: None):
                began, watch = time.monotonic(), Stopwatch()
                answers = await asyncio.gather(outcome(ours), outcome(ours), outcome(ours))
                assert answers == [NO_ANSWER] * 3
                assert time.monotonic() - began > 2.9 and watch.seconds() < 4.5, "one deadline for all three, which were asked for together"
            with Owner(bare_display, offers("UTF8_STRING", b"text", ["UTF8_STRING"])):
                watch = Stopwatch()
                assert await outcome(ours) == ("text", False)
                assert watch.seconds() < 1
        finally:
            await ours.close()

    asyncio.run(main())


@pytest.mark.parametrize("pieces", [[], [b"begun "]])
def test_pieces_that_stop_are_given_up(bare_display: PrivateDisplay, pieces: list[bytes]) -> None:
    left = list(pieces)

    def handle(owner: Owner, event: Any) -> None:
        match event:
            case x.SelectionRequestEvent():
                owner.announce(event)
            case x.PropertyNotifyEvent() if event.state == x.Property.Delete and left:
                change_property(owner.client.connection, event.window, event.atom, owner.client.atom("UTF8_STRING"), left.pop())

    assert read_once(bare_display, handle, seconds=0.5) == NO_ANSWER


def test_pieces_of_odd_sizes_are_put_together(bare_display: PrivateDisplay) -> None:
    text = sample(100_001).encode()
    sizes = chain([1, 2, 3, 5, 70_000, 1], repeat(9_999))
    rest = [text]

    def next_piece() -> bytes:
        size = next(sizes)
        piece, rest[0] = rest[0][:size], rest[0][size:]
        return piece

    assert read_once(bare_display, in_pieces("UTF8_STRING", next_piece)) == (text.decode(), False)


def test_pieces_of_a_picture_are_refused_at_once_and_the_rest_is_not_kept(bare_display: PrivateDisplay) -> None:
    left = [b""] + [b"\x89PNG" * 1000] * 20

    async def act(ours: X11Clipboard, owner: Owner) -> None:
        assert await outcome(ours) == NO_TEXT
        deadline = time.monotonic() + 5
        while left:
            assert time.monotonic() < deadline, "the owner is heard to its end"
            await asyncio.sleep(0.01)

    reading(bare_display, in_pieces("image/png", left.pop), act)


def test_pieces_for_ever_cost_neither_memory_nor_time(bare_display: PrivateDisplay, monkeypatch: pytest.MonkeyPatch) -> None:
    sent = [0]
    piece = b"x" * (1 << 20)

    def next_piece() -> bytes:
        sent[0] += 1
        return piece

    async def heard(ours: X11Clipboard, _: Owner) -> None:
        assert await outcome(ours) == ("x" * LIMIT, True)
        before, begun = resident(), sent[0]
        await asyncio.to_thread(eventually, lambda: sent[0] >= begun + 50, "it is still heard")
        assert resident() - before < 8 << 20, "fifty pieces of a mebibyte are not kept"

    async def given_up(ours: X11Clipboard, owner: Owner) -> None:
        assert await outcome(ours) == ("x" * LIMIT, True)
        still = -1
        async with asyncio.timeout(60):
            while still != sent[0]:
                still = sent[0]
                await asyncio.sleep(0.3)
        assert owner.client.owner() == owner.client.own

    monkeypatch.setattr(selection_reader, "LISTEN_SECONDS", 60.0)
    reading(bare_display, in_pieces("UTF8_STRING", next_piece), heard)
    monkeypatch.setattr(selection_reader, "LISTEN_SECONDS", 1.0)
    reading(bare_display, in_pieces("UTF8_STRING", next_piece), given_up)


def test_drops_for_ever_are_cut_off_by_the_deadline(bare_display: PrivateDisplay) -> None:
    began = Stopwatch()
    assert read_once(bare_display, in_pieces("UTF8_STRING", lambda: b"x", pause=0.01), seconds=0.5) == NO_ANSWER
    assert began.seconds() < 3


def test_a_property_of_forty_mebibytes_is_not_fetched(bare_display: PrivateDisplay) -> None:
    def handle(owner: Owner, event: Any) -> None:
        if isinstance(event, x.SelectionRequestEvent):
            core, prop, utf8 = owner.client.core, event.property, owner.client.atom("UTF8_STRING")
            for _ in range(10):  # one request takes 16 mebibytes at the most
                head = struct.pack("=xB2xIIIB3xI", x.PropMode.Append, event.requestor, prop, utf8, 8, 4 << 20)
                core.send_request(18, Bytes(head + b"x" * (4 << 20)))
            owner.tell(event, prop)

    before = resident()
    assert read_once(bare_display, handle) == ("x" * LIMIT, True)
    assert resident() - before < 24 << 20, "what the test itself sends is 4 mebibytes at a time"


class Bytes:
    """A request as xcffib wants it."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def getvalue(self) -> bytes:
        return self._data


def resident() -> int:
    """Bytes of memory that this process has."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_an_owner_that_takes_over_while_another_is_read(bare_display: PrivateDisplay) -> None:
    """The text that was begun comes whole; a reading that began later gets the new one without waiting for it."""

    async def main() -> None:
        slow = iter([b"slow "] * 50 + [b""])
        ours, another = X11Clipboard(bare_display.name), X11Clipboard(bare_display.name)
        try:
            with Owner(bare_display, in_pieces("UTF8_STRING", lambda: next(slow), pause=0.01)) as owner:
                begun = asyncio.create_task(outcome(ours))
                deadline = time.monotonic() + 5
                while not owner.requests:
                    assert time.monotonic() < deadline
                    await asyncio.sleep(0.005)
                with Owner(bare_display, offers("UTF8_STRING", b"new", ["UTF8_STRING"])):
                    assert await outcome(ours) == ("new", False)
                    assert not begun.done()
                    await ours.write("ours")
                    assert await outcome(another) == ("ours", False)
                    assert await begun == ("slow " * 50, False)
        finally:
            await ours.close()
            await another.close()

    asyncio.run(main())


def test_too_many_readings_at_once_are_refused(bare_display: PrivateDisplay) -> None:
    async def act(ours: X11Clipboard, owner: Owner) -> None:
        most = selection_reader.MOST_READINGS
        answers = await asyncio.gather(*(outcome(ours) for _ in range(most + 5)))
        assert answers == [NO_ANSWER] * most + ["too many clipboard requests are under way"] * 5
        assert owner.requests == 1, "an owner that has not answered is not asked again"

    reading(bare_display, lambda *_: None, act, seconds=0.5)


def test_a_call_that_is_given_up_harms_nobody(bare_display: PrivateDisplay) -> None:
    async def act(ours: X11Clipboard, _: Owner) -> None:
        for _ in range(3):
            call = asyncio.create_task(ours.read())
            await asyncio.sleep(0.01)
            call.cancel()
            with pytest.raises(asyncio.CancelledError):
                await call
        await ours.write("text")
        assert await ours.read() == ("text", False)

    reading(bare_display, lambda *_: None, act)


def test_a_call_that_is_under_way_at_the_end_is_refused(bare_display: PrivateDisplay) -> None:
    async def act(ours: X11Clipboard, _: Owner) -> None:
        call = asyncio.create_task(outcome(ours))
        await asyncio.sleep(0.05)
        began = Stopwatch()
        await ours.close()
        assert await call == "the session has ended"
        assert began.seconds() < 1

    reading(bare_display, lambda *_: None, act)


def descriptors() -> int:
    """How many this process has open."""
    return len(list(Path("/proc/self/fd").iterdir()))


def test_nothing_is_left_open(bare_display: PrivateDisplay) -> None:
    async def cycle() -> None:
        ours = X11Clipboard(bare_display.name)
        await ours.write("text")
        await ours.close()

    async def main() -> None:
        await cycle()
        before = descriptors()
        for _ in range(20):
            await cycle()
        assert descriptors() == before

    asyncio.run(main())
