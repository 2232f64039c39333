"""Plain X programs for clipboard tests: one that asks for a selection step by step, and owners that answer as a test wants; and xclip."""

from __future__ import annotations

import os
import select
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Self

import xcffib.xproto as x

from triptych.adapters.desklink.x11_client import change_numbers, change_property, events, read_property
from triptych.adapters.display import PrivateDisplay
from x11_kit import Client, eventually

CONVERTED = "TEST_CONVERTED"


def sample(size: int) -> str:
    """A text of exactly `size` bytes of UTF-8, with characters of every length."""
    whole = "aä日😀\n" * (size // 11 + 1)
    text = whole.encode()[:size].decode(errors="ignore")
    return text + "." * (size - len(text.encode()))


def pasted(display: PrivateDisplay, target: str = "UTF8_STRING") -> bytes:
    """What xclip reads from the clipboard."""
    command = ["xclip", "-o", "-selection", "clipboard", "-t", target]
    return subprocess.run(command, env=display.env, capture_output=True, timeout=20, check=True).stdout


@contextmanager
def copied(display: PrivateDisplay, data: bytes, *options: str) -> Iterator[subprocess.Popen[bytes]]:
    """An xclip that holds `data` on the clipboard."""
    with Client(display) as client:
        before = client.core.GetSelectionOwner(client.atom("CLIPBOARD")).reply().owner
        command = ["xclip", "-i", "-quiet", "-selection", "clipboard", *options]
        with subprocess.Popen(command, env=display.env, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL) as xclip:
            try:
                assert xclip.stdin is not None
                xclip.stdin.write(data)
                xclip.stdin.close()
                eventually(
                    lambda: client.core.GetSelectionOwner(client.atom("CLIPBOARD")).reply().owner not in (0, before),
                    "xclip has the clipboard",
                )
                yield xclip
            finally:
                xclip.kill()


class Requestor(Client):
    """Asks for the clipboard and takes what comes one step at a time."""

    def __init__(self, display: PrivateDisplay) -> None:
        super().__init__(display)
        self.own = self.window(10, 10)

    def owner(self) -> int:
        return int(self.core.GetSelectionOwner(self.atom("CLIPBOARD")).reply().owner)

    def ask(self, target: str, into: str | None = CONVERTED, at: int = 0, window: int | None = None) -> None:
        prop = self.atom(into) if into else 0
        self.core.ConvertSelection(window or self.own, self.atom("CLIPBOARD"), self.atom(target), prop, at)
        self.connection.flush()

    def answered(self) -> Any:
        """The SelectionNotify."""
        return self.event(lambda event: isinstance(event, x.SelectionNotifyEvent))

    def convert(self, target: str, into: str | None = CONVERTED, at: int = 0) -> Any:
        """Ask and wait; the property then, or None when it is refused."""
        self.ask(target, into, at)
        prop = self.answered().property
        return read_property(self.connection, self.own, prop, 1 << 22) if prop else None

    def take(self, window: int | None = None, into: str = CONVERTED) -> bytes:
        """The piece that is there, which is deleted; the next one follows."""
        window = window or self.own
        found = read_property(self.connection, window, self.atom(into), 1 << 22)
        self.core.DeleteProperty(window, self.atom(into))
        self.connection.flush()
        return found.data

    def wait_piece(self, window: int | None = None, into: str = CONVERTED) -> None:
        prop = self.atom(into)
        eventually(lambda: read_property(self.connection, window or self.own, prop, 0).kind != 0, "a piece has come")

    def pieces(self, window: int | None = None, into: str = CONVERTED) -> list[bytes]:
        """All pieces of a hand-over that has been announced by INCR."""
        self.take(window, into)
        found = []
        while True:
            self.wait_piece(window, into)
            found.append(self.take(window, into))
            if not found[-1]:
                return found


Handler = Callable[["Owner", Any], None]


class Owner:
    """A thread that owns the clipboard and lets `handle` see each event that it gets. `requests` counts the requests."""

    def __init__(self, display: PrivateDisplay, handle: Handler) -> None:
        self.requests = 0
        self._handle = handle
        self.client = Requestor(display)
        self.client.core.SetSelectionOwner(self.client.own, self.client.atom("CLIPBOARD"), 0)
        assert self.client.owner() == self.client.own
        self._stop = os.eventfd(0)
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        os.eventfd_write(self._stop, 1)
        self._thread.join()
        os.close(self._stop)
        self.client.connection.disconnect()

    def _run(self) -> None:
        while True:
            for event in events(self.client.connection):
                self.requests += isinstance(event, x.SelectionRequestEvent)
                self._handle(self, event)
            self.client.connection.flush()
            if self._stop in select.select([self.client.connection.get_file_descriptor(), self._stop], [], [], 0.05)[0]:
                return

    def put(self, event: Any, kind: str, data: bytes) -> None:
        """Answer a request with bytes of that type."""
        change_property(self.client.connection, event.requestor, event.property, self.client.atom(kind), data)
        self.tell(event, event.property)

    def announce(self, event: Any, size: int = 1) -> None:
        """Answer a request with INCR, and watch the requestor."""
        core = self.client.core
        core.ChangeWindowAttributes(event.requestor, x.CW.EventMask, [x.EventMask.PropertyChange])
        change_numbers(self.client.connection, event.requestor, event.property, self.client.atom("INCR"), [size])
        self.tell(event, event.property)

    def tell(self, event: Any, prop: int) -> None:
        told = x.SelectionNotifyEvent.synthetic(event.time, event.requestor, event.selection, event.target, prop)
        self.client.core.SendEvent(False, event.requestor, 0, told.pack())

    def name(self, atom: int) -> str:
        return str(self.client.core.GetAtomName(atom).reply().name.to_string())


def offers(kind: str, data: bytes, targets: Sequence[str]) -> Handler:
    """Answers requests for one of `targets` with `data` of the type `kind`, and refuses others."""

    def handle(owner: Owner, event: Any) -> None:
        if isinstance(event, x.SelectionRequestEvent):
            if owner.name(event.target) in targets:
                owner.put(event, kind, data)
            else:
                owner.tell(event, 0)

    return handle


def in_pieces(kind: str, next_piece: Callable[[], bytes], pause: float = 0.0) -> Handler:
    """Answers in pieces, each as `next_piece` gives it when the one before was taken; it ends with an empty one."""

    ended: list[bool] = []

    def handle(owner: Owner, event: Any) -> None:
        match event:
            case x.SelectionRequestEvent():
                owner.announce(event)
                ended.clear()
            case x.PropertyNotifyEvent() if event.state == x.Property.Delete and not ended:
                time.sleep(pause)
                piece = next_piece()
                ended.extend([True] * (not piece))
                change_property(owner.client.connection, event.window, event.atom, owner.client.atom(kind), piece)

    return handle
