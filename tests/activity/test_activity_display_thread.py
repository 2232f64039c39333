"""The collector's X display on its own thread: no change is missed, and a server that hangs or leaves costs a deadline and nothing more."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from stopwatch_kit import Stopwatch
from triptych.adapters.collector import display_thread, foreground_x11
from triptych.adapters.collector.display_thread import DisplayThread
from triptych.adapters.collector.foreground_x11 import X11Foreground, X11Unavailable
from triptych.adapters.display import PrivateDisplay
from x11_kit import Client

pytestmark = pytest.mark.display


def env(display: PrivateDisplay) -> dict[str, str]:
    return {"DISPLAY": display.name}


@contextmanager
def stopped(display: PrivateDisplay) -> Iterator[None]:
    """While the X server does not run at all."""
    os.kill(display.pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(display.pid, signal.SIGCONT)


def activate(client: Client, window: int) -> None:
    client.set_numbers(client.root, "_NET_ACTIVE_WINDOW", "WINDOW", window)


async def tick(ticks: list[float]) -> None:
    while True:
        await asyncio.sleep(0.01)
        ticks.append(time.monotonic())


def test_a_change_that_an_answer_took_in_is_still_told(bare_display: PrivateDisplay) -> None:
    async def main() -> None:
        looked = asyncio.Event()
        thread = DisplayThread(looked.set, env(bare_display))
        with Client(bare_display) as client:
            window = client.window(10, 10, name="One")
            assert await thread.ready()
            await thread.ask(X11Foreground.active)
            looked.clear()
            activate(client, window)
            # The event lies before the answer in the stream: whoever reads the answer has read the event.
            assert await thread.ask(lambda display: display.title(window)) == "One"
            assert looked.is_set()
            looked.clear()
            activate(client, window)
            await asyncio.wait_for(looked.wait(), 60)  # nobody asks: the descriptor tells
        await thread.close()

    asyncio.run(main())


def test_another_title_of_the_active_window_is_told_and_of_no_other(bare_display: PrivateDisplay) -> None:
    with Client(bare_display) as client:
        first, second = client.window(10, 10, name="One"), client.window(10, 10, name="Two")
        display = X11Foreground(env(bare_display))
        try:
            activate(client, first)
            client.sync()
            display.active()  # it follows the window from here on
            display.changed()
            client.set_text(second, "_NET_WM_NAME", "UTF8_STRING", b"Two again")
            client.sync()
            display.title(first)
            assert not display.changed()
            client.set_text(first, "_NET_WM_NAME", "UTF8_STRING", b"One again")
            client.sync()
            display.title(first)
            assert display.changed()
            activate(client, 0)
            client.sync()
            assert display.active() is None
            display.changed()
            client.set_text(first, "_NET_WM_NAME", "UTF8_STRING", b"One at last")
            client.sync()
            display.title(first)
            assert not display.changed()
            activate(client, 0x7FFFFFF)  # a window that is gone is no error
            client.sync()
            assert display.active() is None
            assert display.names_active()
        finally:
            display.close()


def test_a_title_is_read_in_the_encoding_that_its_type_says(bare_display: PrivateDisplay) -> None:
    with Client(bare_display) as client:
        window = client.window(10, 10)
        client.set_text(window, "WM_NAME", "STRING", "Büro".encode("latin-1"))
        client.set_text(window, "WM_CLASS", "STRING", "büro\0Büro\0".encode("latin-1"))
        client.sync()
        activate(client, window)
        display = X11Foreground(env(bare_display))
        try:
            assert display.title(window) == "Büro"
            client.set_text(window, "_NET_WM_NAME", "UTF8_STRING", "Büro 😀".encode())
            client.sync()
            assert display.title(window) == "Büro 😀"
            active = display.active()
            assert active is not None and active.names == ("Büro", "büro")
        finally:
            display.close()


def test_a_server_that_hangs_costs_one_deadline_and_the_loop_runs_on(bare_display: PrivateDisplay, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(display_thread, "ASK_SECONDS", 0.3)

    async def main() -> None:
        looks: list[None] = []
        thread = DisplayThread(lambda: looks.append(None), env(bare_display))
        assert await thread.ready()
        with stopped(bare_display):
            ticks: list[float] = []
            ticking = asyncio.create_task(tick(ticks))
            with pytest.raises(X11Unavailable):
                await thread.ask(X11Foreground.active)
            ticking.cancel()
            assert len(ticks) > 5
            assert thread.gone
            await thread.close()  # the thread that hung has been broken off and has let the connection go
            assert thread._closed is not None and thread._closed.done()

    asyncio.run(main())


def test_a_server_that_hangs_while_connecting_is_not_waited_for_and_is_ready_later(
    bare_display: PrivateDisplay, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(display_thread, "CONNECT_SECONDS", 0.2)

    async def main() -> None:
        looked = asyncio.Event()
        with stopped(bare_display):
            thread = DisplayThread(looked.set, env(bare_display))
            began = Stopwatch()
            assert not await thread.ready()
            assert began.seconds() < 5
            assert not thread.gone
            with pytest.raises(X11Unavailable):
                await thread.ask(X11Foreground.active)
        await asyncio.wait_for(looked.wait(), 60)
        assert await thread.ready()
        await thread.close()

    asyncio.run(main())


def test_a_server_that_leaves_makes_the_display_gone_and_asks_for_a_look(bare_display: PrivateDisplay) -> None:
    async def main() -> None:
        looked = asyncio.Event()
        thread = DisplayThread(looked.set, env(bare_display))
        assert await thread.ready()
        looked.clear()
        bare_display.stop_server()
        await asyncio.wait_for(looked.wait(), 60)
        assert thread.gone and not thread.is_open
        await thread.close()

    asyncio.run(main())


def test_a_connection_that_breaks_right_after_it_was_made_is_let_go(bare_display: PrivateDisplay, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Any] = []
    connect = foreground_x11._CONNECT

    def broken(**arguments: str) -> Any:
        connection = connect(**arguments)
        with socket.socket(fileno=os.dup(connection.get_file_descriptor())) as end:
            end.shutdown(socket.SHUT_RDWR)
        made.append(connection)
        return connection

    monkeypatch.setattr(foreground_x11, "_CONNECT", broken)
    with pytest.raises(X11Unavailable):
        X11Foreground(env(bare_display))
    assert made[0]._conn is None


def test_no_display_is_said_so() -> None:
    async def main() -> None:
        thread = DisplayThread(lambda: None, {})
        assert not await thread.ready()
        assert thread.gone
        with pytest.raises(X11Unavailable):
            await thread.ask(X11Foreground.active)
        await thread.close()

    asyncio.run(main())
