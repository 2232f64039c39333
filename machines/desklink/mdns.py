"""Reads and writes the messages of multicast DNS by which a browser that hides its addresses is found; called by the ICE path.

A browser names itself `….local` in its candidates and answers for that name on the local network (RFC 6762). What is read comes from
whoever is on that network: nothing here raises, and what cannot be read says nothing.
"""

from __future__ import annotations

import struct
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Final

GROUP: Final = "224.0.0.251"
PORT: Final = 5353

_HEADER: Final = struct.Struct("!6H")  # id, flags, questions, answers, authorities, additional records
_RECORD: Final = struct.Struct("!HHIH")  # type, class, time to live, length
_ANSWER: Final = 0x8000
_A, _AAAA, _IN, _FLUSH = 1, 28, 1, 0x8000
_POINTER: Final = 0xC0
_MOST_LABELS: Final = 128
_MOST_LABEL: Final = 63


def question(name: str) -> bytes:
    """Ask for the addresses of a name. Raises ValueError for a name that none can have."""
    labels = [label.encode("ascii") for label in name.rstrip(".").split(".")]
    if not all(0 < len(label) <= _MOST_LABEL for label in labels) or len(name) > 253:
        raise ValueError(f"{name[:80]!r} is no name")
    asked = b"".join(bytes([len(label)]) + label for label in labels) + b"\0"
    return _HEADER.pack(0, 0, 2, 0, 0, 0) + b"".join(asked + struct.pack("!HH", kind, _IN) for kind in (_A, _AAAA))


def answers(packet: bytes) -> tuple[tuple[str, str], ...]:
    """The names in lower case and their addresses that a message tells; of a question, or of what is broken, none.

    Addresses of no single machine are left out: nothing is sent there because somebody on the network says so.
    """
    found: list[tuple[str, str]] = []
    try:
        _, flags, questions, *counts = _HEADER.unpack_from(packet)
        if not flags & _ANSWER:
            return ()
        at = _HEADER.size
        for _ in range(questions):
            _, at = _name(packet, at)
            at += 4
        for _ in range(sum(counts)):
            name, at = _name(packet, at)
            kind, group, _, length = _RECORD.unpack_from(packet, at)
            at += _RECORD.size + length
            if at > len(packet):
                break
            size = {_A: 4, _AAAA: 16}.get(kind)
            if group & ~_FLUSH == _IN and size == length and _is_of_one(address := ip_address(packet[at - length : at])):
                found.append((name, str(address)))
    except (struct.error, IndexError, ValueError):
        pass  # what came before is whole
    return tuple(found)


def _is_of_one(address: IPv4Address | IPv6Address) -> bool:
    return not (address.is_unspecified or address.is_multicast or address.is_reserved)


def _name(packet: bytes, at: int) -> tuple[str, int]:
    """The name that begins there, and where what follows it begins. Each pointer must lead further back (RFC 1035, 4.1.4)."""
    labels: list[str] = []
    end: int | None = None
    least = at
    while (length := packet[at]) != 0:
        if length & _POINTER == _POINTER:
            end = at + 2 if end is None else end
            at = (length & ~_POINTER) << 8 | packet[at + 1]
            if at >= least:
                raise ValueError("a name that leads to itself")
            least = at
            continue
        if length > _MOST_LABEL or len(labels) == _MOST_LABELS:
            raise ValueError("no label")
        labels.append(packet[at + 1 : at + 1 + length].decode("utf-8", "replace"))
        at += 1 + length
    return ".".join(labels).lower(), at + 1 if end is None else end
