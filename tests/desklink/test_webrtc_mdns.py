"""Multicast DNS, by which hidden addresses are found: messages as a real browser sent them, broken ones, and a responder on the network."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import Iterator
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as some

from triptych.adapters.desklink.webrtc.names import Names
from triptych.machines.desklink import mdns
from webrtc_kit import ADDRESS, Network, until

NAME = "081e0c04-a7bb-4892-b32d-a7ff34f6b533.local"
LABELS = b"$081e0c04-a7bb-4892-b32d-a7ff34f6b533\x05local\0"
HEAD = b"\0\0\x84\0\0\0\0\x01\0\0\0\x01"
#: As Chromium answers: the address, and that there is none of the other kind (NSEC), which refers to a name by a pointer.
OF_CHROMIUM = HEAD + LABELS + b"\0\x01\x80\x01\0\0\0x\0\x04\nM\0\x01" + LABELS + b"\0/\x80\x01\0\0\0x\0\x05\xc0F\0\x01@"
NOBODY = HEAD + LABELS + b"\0\x1c\x80\x01\0\0\0x\0\x10" + bytes(16) + LABELS + b"\0/\x80\x01\0\0\0x\0\x08\xc0R\0\x04\0\0\0\x08"


def record(kind: int, data: bytes, name: bytes = LABELS, group: int = 1) -> bytes:
    """One resource record."""
    return name + struct.pack("!HHIH", kind, group, 120, len(data)) + data


def message(*records: bytes, flags: int = 0x8400) -> bytes:
    """An answer of these records."""
    return struct.pack("!6H", 0, flags, 0, len(records), 0, 0) + b"".join(records)


def test_what_a_browser_answers_is_read() -> None:
    assert mdns.answers(OF_CHROMIUM) == ((NAME, "10.77.0.1"),)
    assert mdns.answers(NOBODY) == (), "an address of no machine is none"
    six = socket.inet_pton(socket.AF_INET6, "fd00::7")
    both = message(record(1, b"\x0a\0\0\7"), record(28, six, b"\xc0\x0c"))
    assert mdns.answers(both) == ((NAME, "10.0.0.7"), (NAME, "fd00::7")), "a pointer to the first name"
    assert mdns.answers(message(record(1, b"\x0a\0\0\7", LABELS.upper()))) == ((NAME, "10.0.0.7"),)


@pytest.mark.parametrize(
    "packet",
    [
        b"",
        b"\0" * 11,
        mdns.question(NAME),
        message(record(1, b"\x0a\0\0\7"), flags=0),
        message(record(1, b"\x0a\0\0")),
        message(record(28, b"\x0a\0\0\7")),
        message(record(1, b"\x0a\0\0\7", group=3)),
        message(record(1, b"\xe0\0\0\xfb")),
        message(record(1, b"\xff\xff\xff\xff")),
        message(record(1, b"\x0a\0\0\7", b"\xc0\x0c")),
        message(record(1, b"\x0a\0\0\7", b"\xc0\xff")),
        message(record(1, b"\x0a\0\0\7", b"\x40" + b"a" * 64 + b"\0")),
        message(record(1, b"\x0a\0\0\7"))[:-1],
        message(record(1, b"\x0a\0\0\7", b"\1a" * 200 + b"\0")),
    ],
    ids=range(14),
)
def test_what_is_no_answer_says_nothing(packet: bytes) -> None:
    assert mdns.answers(packet) == ()


def test_what_comes_before_the_broken_part_counts() -> None:
    assert mdns.answers(message(record(1, b"\x0a\0\0\7"), b"\xc0")) == ((NAME, "10.0.0.7"),)


@given(some.binary(max_size=200), some.integers(0, 120))
def test_no_bytes_break_it(junk: bytes, at: int) -> None:
    for packet in (junk, OF_CHROMIUM[:at] + junk, OF_CHROMIUM[:at] + junk + OF_CHROMIUM[at:], HEAD + junk):
        for name, address in mdns.answers(packet):
            assert name == name.lower() and address


@pytest.mark.parametrize("name", ["", ".local", "a..local", "a" * 64 + ".local", "é.local", "a." * 127 + "local"])
def test_a_name_that_none_can_have_is_not_asked_for(name: str) -> None:
    with pytest.raises(ValueError):
        mdns.question(name)


@pytest.fixture(scope="module")
def network() -> Iterator[Network]:
    """A network with two addresses of this machine."""
    made = Network()
    yield made
    made.close()


class Responder(asyncio.DatagramProtocol):
    """Somebody else on the network: it hears the questions, and answers the second time it is asked."""

    def __init__(self, address: str) -> None:
        self.asked = 0
        self.address = address

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.DatagramTransport, transport)

    def datagram_received(self, data: bytes, addr: object) -> None:
        if data == mdns.question(NAME):
            self.asked += 1
            answer = message(record(1, socket.inet_aton(self.address)))
            self.transport.sendto(b"junk", (mdns.GROUP, mdns.PORT))
            self.transport.sendto(message(record(1, b"\x0a\0\0\7", b"\5other\5local\0")), (mdns.GROUP, mdns.PORT))
            if self.asked > 1:
                self.transport.sendto(answer, (mdns.GROUP, mdns.PORT))


def shared_port() -> socket.socket:
    made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    for option in (socket.SO_REUSEADDR, socket.SO_REUSEPORT):
        made.setsockopt(socket.SOL_SOCKET, option, 1)
    made.bind(("", mdns.PORT))
    here = socket.inet_aton(ADDRESS)
    made.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, socket.inet_aton(mdns.GROUP) + here)
    made.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, here)
    return made


def test_a_name_is_asked_for_until_somebody_answers(network: Network) -> None:
    async def main() -> None:
        responder = Responder("10.77.0.77")
        await asyncio.get_running_loop().create_datagram_endpoint(lambda: responder, sock=shared_port())
        names = Names([ADDRESS, "fe80::1", "192.0.2.1"])
        try:
            found = await asyncio.gather(*(names.address(name) for name in (NAME, NAME.upper() + ".")))
            assert found == ["10.77.0.77", "10.77.0.77"]
            asked = responder.asked
            assert await names.address(NAME) == "10.77.0.77" and responder.asked == asked, "it is known"
        finally:
            names.close()
            responder.transport.close()

    network.run(main())


def test_names_are_forgotten_with_the_path(network: Network) -> None:
    async def main() -> None:
        names = Names([ADDRESS])
        asking = asyncio.create_task(names.address("nobody.local"))
        await until(lambda: names._transport is not None)
        names.close()
        assert await asking is None
        assert await names.address(NAME) is None
        assert await Names([]).address(NAME) is None, "there is no network to ask"

    network.run(main())
