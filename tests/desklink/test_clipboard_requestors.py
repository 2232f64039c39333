"""Programs that ask for what is on our clipboard, in every way that the rules of X allow, and in some that they do not."""

from __future__ import annotations

import asyncio
import contextlib
import struct
import time
from collections.abc import Callable

import pytest
import xcffib
import xcffib.xproto as x

from clipboard_kit import CONVERTED, Requestor, sample
from triptych.adapters.desklink import selection_owner
from triptych.adapters.desklink.selection_owner import MOST_TRANSFERS, PIECE
from triptych.adapters.desklink.x11_client import change_numbers, read_property
from triptych.adapters.desklink.x11_clipboard import X11Clipboard
from triptych.adapters.display import PrivateDisplay

pytestmark = pytest.mark.display


def holding(display: PrivateDisplay, text: str, act: Callable[[X11Clipboard, Requestor], object], limit: int = 64 << 20) -> None:
    """Let `act` ask, on a thread of its own, for a text that is written."""

    async def main() -> None:
        ours = X11Clipboard(display.name, limit=limit)
        try:
            await ours.write(text)
            with Requestor(display) as requestor:
                await asyncio.to_thread(act, ours, requestor)
        finally:
            await ours.close()

    asyncio.run(main())


def test_what_is_offered_and_of_which_type_it_is(bare_display: PrivateDisplay) -> None:
    def act(_: X11Clipboard, requestor: Requestor) -> None:
        text = ["UTF8_STRING", "text/plain;charset=utf-8", "TEXT", "STRING"]
        offered = requestor.convert("TARGETS")
        assert offered.kind == x.Atom.ATOM
        assert offered.numbers == tuple(requestor.atom(name) for name in ("TARGETS", "TIMESTAMP", "MULTIPLE", *text))
        for target, kind, data in (
            ("UTF8_STRING", "UTF8_STRING", "Größe".encode()),
            ("text/plain;charset=utf-8", "text/plain;charset=utf-8", "Größe".encode()),
            ("TEXT", "UTF8_STRING", "Größe".encode()),
            ("STRING", "STRING", "Größe".encode("latin-1")),
        ):
            found = requestor.convert(target)
            assert (found.kind, found.format, found.data) == (requestor.atom(kind), 8, data)
        (since,) = requestor.convert("TIMESTAMP").numbers
        assert since > 0
        # ICCCM 2.2: who asks for a time before it was ours asks for what another had.
        assert requestor.convert("UTF8_STRING", at=since - 1) is None
        assert requestor.convert("UTF8_STRING", at=since).data == "Größe".encode()

    holding(bare_display, "Größe", act)


def test_what_latin1_cannot_say_is_not_offered_as_a_string(bare_display: PrivateDisplay) -> None:
    def act(_: X11Clipboard, requestor: Requestor) -> None:
        assert requestor.atom("STRING") not in requestor.convert("TARGETS").numbers
        assert requestor.convert("STRING") is None
        assert requestor.convert("UTF8_STRING").data == "日本".encode()

    holding(bare_display, "日本", act)


@pytest.mark.parametrize("target", ["image/png", "DELETE", "INCR", "COMPOUND_TEXT"])
def test_what_is_not_there_is_refused(bare_display: PrivateDisplay, target: str) -> None:
    holding(bare_display, "text", lambda _, requestor: _assert(requestor.convert(target) is None))


def _assert(condition: bool) -> None:
    assert condition


def test_a_program_of_before_the_rules_names_no_property(bare_display: PrivateDisplay) -> None:
    def act(_: X11Clipboard, requestor: Requestor) -> None:
        found = requestor.convert("UTF8_STRING", into=None)
        assert found.data == b"text"
        assert read_property(requestor.connection, requestor.own, requestor.atom("UTF8_STRING"), 99).data == b"text"
        assert requestor.convert("MULTIPLE", into=None) is None

    holding(bare_display, "text", act)


def test_several_targets_at_once(bare_display: PrivateDisplay) -> None:
    text = sample(300_000)

    def act(_: X11Clipboard, requestor: Requestor) -> None:
        pairs = [("UTF8_STRING", "A"), ("image/png", "B"), ("TIMESTAMP", "C"), ("TEXT", "D"), ("MULTIPLE", "E"), ("TARGETS", CONVERTED)]
        numbers = [requestor.atom(name) for pair in pairs for name in pair]
        change_numbers(requestor.connection, requestor.own, requestor.atom(CONVERTED), requestor.atom("ATOM_PAIR"), numbers)
        answer = requestor.convert("MULTIPLE")
        refused = [place for place in range(len(pairs)) if not answer.numbers[2 * place + 1]]
        assert [pairs[place] for place in refused] == [("image/png", "B"), ("MULTIPLE", "E"), ("TARGETS", CONVERTED)]
        assert answer.numbers[::2] == tuple(numbers[::2])
        assert read_property(requestor.connection, requestor.own, requestor.atom("C"), 4).numbers > (0,)
        # Two texts in pieces are under way to the same window, each in its own property.
        assert b"".join(requestor.pieces(into="D")) == text.encode()
        assert b"".join(requestor.pieces(into="A")) == text.encode()

    holding(bare_display, text, act)


@pytest.mark.parametrize("numbers", [[], [1], [1, 2, 3], [1, 2] * (selection_owner.MOST_PAIRS + 1)])
def test_a_list_of_targets_that_is_none_is_refused(bare_display: PrivateDisplay, numbers: list[int]) -> None:
    def act(_: X11Clipboard, requestor: Requestor) -> None:
        change_numbers(requestor.connection, requestor.own, requestor.atom(CONVERTED), requestor.atom("ATOM_PAIR"), numbers)
        assert requestor.convert("MULTIPLE") is None

    holding(bare_display, "text", act)


def test_a_list_of_targets_of_letters_is_refused(bare_display: PrivateDisplay) -> None:
    def act(_: X11Clipboard, requestor: Requestor) -> None:
        requestor.set_text(requestor.own, CONVERTED, "STRING", b"12345678")
        assert requestor.convert("MULTIPLE") is None

    holding(bare_display, "text", act)


def test_pieces_go_to_many_windows_at_their_own_pace(bare_display: PrivateDisplay) -> None:
    text = sample(5 * PIECE + 17).encode()

    def act(_: X11Clipboard, requestor: Requestor) -> None:
        windows = [requestor.window(1, 1) for _ in range(10)]
        for window in windows:
            requestor.ask("UTF8_STRING", window=window)
            assert requestor.answered().requestor == window
        got = dict.fromkeys(windows, b"")
        for window in windows:
            announced = read_property(requestor.connection, window, requestor.atom(CONVERTED), 4)
            assert (announced.kind, announced.numbers) == (requestor.atom("INCR"), (len(text),))
            requestor.take(window)
        sizes = []
        for _ in range(7):
            for window in reversed(windows):
                requestor.wait_piece(window)
                got[window] += (piece := requestor.take(window))
                sizes.append(len(piece))
        assert set(got.values()) == {text}
        assert set(sizes) == {PIECE, 17, 0}

    holding(bare_display, text.decode(), act)


def test_a_requestor_that_dies_halfway_harms_nobody(bare_display: PrivateDisplay) -> None:
    def act(_: X11Clipboard, requestor: Requestor) -> None:
        for _ in range(5):
            with Requestor(bare_display) as mortal:
                mortal.ask("UTF8_STRING")
                mortal.answered()
                mortal.take()
                mortal.wait_piece()
        gone = requestor.window(1, 1)
        requestor.ask("UTF8_STRING", window=gone)
        requestor.destroy(gone)  # before or while it is answered
        requestor.ask("UTF8_STRING")
        while requestor.answered().requestor != requestor.own:
            pass
        assert b"".join(requestor.pieces()) == sample(400_000).encode()

    holding(bare_display, sample(400_000), act)


def test_a_requestor_that_stalls_is_given_up(bare_display: PrivateDisplay, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(selection_owner, "PATIENCE", 0.5)

    def act(_: X11Clipboard, requestor: Requestor) -> None:
        stalled = [requestor.window(1, 1) for _ in range(MOST_TRANSFERS)]
        for window in stalled:
            requestor.ask("UTF8_STRING", window=window)
        for _ in stalled:
            assert requestor.answered().property
        # Nobody else gets pieces for so long; short answers are not held up.
        assert requestor.convert("UTF8_STRING") is None
        assert requestor.convert("TIMESTAMP") is not None
        deadline = time.monotonic() + 5
        while requestor.convert("UTF8_STRING") is None:
            assert time.monotonic() < deadline, "the stalled ones still count"
        assert b"".join(requestor.pieces()) == sample(400_000).encode()
        requestor.take(stalled[0])
        requestor.convert("TIMESTAMP", into="LATER")  # has been answered, so the deletion before it was seen
        assert not read_property(requestor.connection, stalled[0], requestor.atom(CONVERTED), 4).kind, "nothing follows"
        # Nothing of it is selected any more either.
        assert requestor.core.GetWindowAttributes(stalled[0]).reply().all_event_masks & x.EventMask.PropertyChange
        with Requestor(bare_display) as other:
            seen = other.core.GetWindowAttributes(stalled[0]).reply()
            assert seen.all_event_masks == requestor.core.GetWindowAttributes(stalled[1]).reply().your_event_mask

    holding(bare_display, sample(400_000), act)


def test_events_that_nobody_should_send(bare_display: PrivateDisplay) -> None:
    def act(ours: X11Clipboard, requestor: Requestor) -> None:
        owner = requestor.owner()
        clipboard, utf8, prop = (requestor.atom(name) for name in ("CLIPBOARD", "UTF8_STRING", CONVERTED))

        def send(event: bytes) -> None:
            with contextlib.suppress(xcffib.Error):  # the server has no event of that number
                requestor.core.SendEventChecked(False, owner, 0, event).check()

        def request(requesting: int, selection: int = clipboard, owned: int = owner) -> bytes:
            return bytes(x.SelectionRequestEvent.synthetic(0, owned, requesting, selection, utf8, prop).pack())

        # Its own window as the one that asks, no window, the root window; another selection; another owner.
        for event in (request(owner), request(0xDEAD), request(requestor.root), request(requestor.own, requestor.atom("PRIMARY"))):
            send(event)
        send(request(requestor.own, owned=requestor.own))
        for number in range(64, 128):  # events of extensions, where the server has some of these numbers
            send(struct.pack("=B31x", number))
        send(bytes(x.PropertyNotifyEvent.synthetic(owner, prop, 0, 1).pack()))
        send(bytes(x.SelectionNotifyEvent.synthetic(0, owner, clipboard, utf8, prop).pack()))
        send(bytes(x.SelectionClearEvent.synthetic(0, requestor.own, clipboard).pack()))
        send(bytes(x.SelectionClearEvent.synthetic(0, owner, clipboard).pack()))
        send(bytes(x.DestroyNotifyEvent.synthetic(owner, owner).pack()))
        requestor.ask("UTF8_STRING", into="AFTER")
        assert requestor.answered().property == requestor.atom("AFTER"), "requests that do not come from the server are not answered"
        assert not read_property(requestor.connection, requestor.own, prop, 4).kind

    holding(bare_display, "text", act)


def test_a_thousand_requests_at_once(bare_display: PrivateDisplay) -> None:
    def act(_: X11Clipboard, requestor: Requestor) -> None:
        for number in range(1000):
            requestor.ask("UTF8_STRING", into=f"P{number % 50}")
        answered = 0
        while answered < 1000:
            assert requestor.answered().property
            answered += 1

    holding(bare_display, sample(1000), act)
