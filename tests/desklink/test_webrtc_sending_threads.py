"""The threads that send packets: their order, their pace, what an error costs, and the end."""

from __future__ import annotations

import math
import socket
import threading
import time
from asyncio.trsock import TransportSocket
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import pytest

from triptych.adapters.desklink.webrtc.paced_thread import PacedThread
from triptych.adapters.desklink.webrtc.udp_sender import UdpSender

SECONDS = 20.0


class Queue:
    """What waits, a packet a turn; `free` is when the next may go."""

    def __init__(self) -> None:
        self.waiting: list[bytes] = []
        self.sent: list[bytes] = []
        self.threads: set[str] = set()
        self.failures: list[Exception] = []
        self.asked = 0
        self.free = 0.0
        self.lock = threading.Lock()

    def due(self) -> list[bytes]:
        with self.lock:
            self.asked += 1
            return [self.waiting.pop(0)] if self.waiting and time.monotonic() >= self.free else []

    def next_at(self) -> float:
        with self.lock:
            return self.free if self.waiting else math.inf

    def send(self, packets: Sequence[bytes]) -> None:
        self.threads.add(threading.current_thread().name)
        self.sent += packets

    def put(self, *packets: bytes) -> None:
        with self.lock:
            self.waiting += packets


def until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + SECONDS
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.002)


@contextmanager
def paced(queue: Queue) -> Iterator[PacedThread]:
    made = PacedThread(queue.due, queue.next_at, queue.send, queue.failures.append)
    try:
        yield made
    finally:
        made.close()


def test_what_is_due_goes_on_the_thread_that_asks() -> None:
    queue = Queue()
    with paced(queue) as made:
        queue.put(b"1")
        made.flush()
        assert queue.sent == [b"1"] and queue.threads == {threading.current_thread().name}


def test_the_rest_goes_in_order_on_a_thread_of_its_own() -> None:
    queue = Queue()
    packets = [bytes([place]) for place in range(50)]
    with paced(queue) as made:
        queue.free = time.monotonic() + 0.05
        queue.put(*packets)
        made.flush()
        assert queue.sent == []
        until(lambda: len(queue.sent) == len(packets))
        assert queue.sent == packets and queue.threads == {"desklink-send"}


def test_it_sleeps_until_something_is_planned() -> None:
    queue = Queue()
    with paced(queue) as made:
        until(lambda: made._sleeps_until == math.inf)
        asked = queue.asked
        time.sleep(0.1)
        assert queue.asked == asked
        queue.put(b"1")
        made.plan()
        until(lambda: queue.sent == [b"1"])


def test_what_two_threads_send_at_once_is_sent_once_and_in_order() -> None:
    queue = Queue()
    with paced(queue) as made:

        def flush() -> None:
            for _ in range(300):
                made.flush()

        queue.put(*(place.to_bytes(2, "big") for place in range(600)))
        others = [threading.Thread(target=flush) for _ in range(3)]
        for other in others:
            other.start()
        for other in others:
            other.join()
        until(lambda: len(queue.sent) == 600)
        assert queue.sent == sorted(queue.sent)


@pytest.mark.parametrize("own", [True, False])
def test_an_error_is_told_once_and_nothing_is_sent_after_it(own: bool) -> None:
    queue = Queue()

    def refuse(_: Sequence[bytes]) -> None:
        raise ValueError("no key")

    made = PacedThread(queue.due, queue.next_at, refuse, queue.failures.append)
    queue.put(b"1", b"2")
    (made.plan if own else made.flush)()
    until(lambda: bool(queue.failures))
    made.flush()
    made.close()
    assert [str(error) for error in queue.failures] == ["no key"] and queue.waiting == [b"2"]


def test_the_end_waits_for_the_thread_and_may_come_twice() -> None:
    before = threading.active_count()
    queue = Queue()
    with paced(queue) as made:
        assert threading.active_count() == before + 1
        made.close()
        assert threading.active_count() == before
    queue.put(b"1")
    made.flush()
    assert queue.sent == []


@contextmanager
def pair() -> Iterator[tuple[socket.socket, UdpSender, tuple[str, int]]]:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as here, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as there:
        for each in (here, there):
            each.bind(("127.0.0.1", 0))
        here.setblocking(False)
        there.settimeout(SECONDS)
        made = UdpSender(TransportSocket(here))
        try:
            yield there, made, there.getsockname()
        finally:
            made.close()


def test_datagrams_go_and_after_the_end_none() -> None:
    with pair() as (there, made, address):
        assert made.send([b"one", b"two"], address) == 2
        assert [there.recv(100), there.recv(100)] == [b"one", b"two"]
        made.close()
        assert made.send([b"three"], address) == 1
        there.setblocking(False)
        with pytest.raises(BlockingIOError):
            there.recv(100)


def test_a_datagram_that_cannot_be_sent_costs_itself() -> None:
    with pair() as (there, made, address):
        assert made.send([bytes(70_000), b"one"], address) == 2
        assert there.recv(100) == b"one"


def test_a_full_socket_says_how_many_are_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    class Full:
        left = 2

        def sendto(self, packet: bytes, address: tuple[str, int]) -> None:
            if not self.left:
                raise BlockingIOError
            self.left -= 1

        def close(self) -> None:
            pass

    with pair() as (_, made, address):
        before = made._socket
        assert before is not None
        monkeypatch.setattr(made, "_socket", Full())
        assert made.send([b"1", b"2", b"3"], address) == 2
        monkeypatch.setattr(made, "_socket", before)
