"""ICE candidates: what a browser sends is read, what is none is refused, and a line says the same again."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from triptych.errors import RemoteProtocolError
from triptych.machines.desklink.candidates import Candidate, foundation, is_end, priority, read_candidate

VECTORS = Path(__file__).parents[1] / "vectors" / "desklink"
HOSTS = st.one_of(st.ip_addresses().map(str), st.uuids().map(lambda name: f"{name}.local"))
PORTS = st.integers(0, 65535)


@st.composite
def candidates(draw: st.DrawFn) -> Candidate:
    transport = draw(st.sampled_from(("udp", "tcp")))
    related = draw(st.none() | HOSTS)
    return Candidate(
        foundation=draw(st.text("abcXYZ019+/", min_size=1, max_size=32)),
        component=draw(st.integers(1, 256)),
        transport=transport,
        priority=draw(st.integers(1, 2**31 - 1)),
        host=draw(HOSTS),
        port=draw(PORTS),
        type=draw(st.sampled_from(("host", "srflx", "prflx", "relay"))),
        related_host=related,
        related_port=None if related is None else draw(PORTS),
        tcptype=draw(st.sampled_from(("active", "passive", "so"))) if transport == "tcp" else None,
        ufrag=draw(st.none() | st.text("abcXYZ019+/", min_size=4, max_size=16)),
    )


@given(candidates())
def test_a_line_reads_as_what_it_was_written_from(candidate: Candidate) -> None:
    assert read_candidate(candidate.line()) == candidate
    assert read_candidate(f"a={candidate.line()}\r\n") == candidate


@given(st.text(max_size=300) | st.text("candidate: 0123456789udptcphostyp.", max_size=120).map("candidate:1 1 ".__add__))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        candidate = read_candidate(text)
    except RemoteProtocolError as refused:
        assert refused.code == "transport"
    else:
        assert read_candidate(candidate.line()) == candidate


def test_what_a_browser_trickles_is_read() -> None:
    lines = [line for case in json.loads((VECTORS / "answers.json").read_text())["answers"] for line in case["candidates"]]
    read = [read_candidate(line) for line in lines]
    assert len(read) == 10
    assert all(candidate.is_mdns and candidate.is_reachable and candidate.type == "host" for candidate in read)
    assert all(candidate.ufrag for candidate in read)


def test_a_tcp_candidate_of_a_browser_is_read_but_not_called() -> None:
    candidate = read_candidate("candidate:1 1 TCP 1518280447 192.0.2.7 9 typ host tcptype active generation 0 ufrag abcd network-id 1")
    assert (candidate.transport, candidate.tcptype, candidate.is_reachable) == ("tcp", "active", False)


def test_reflexive_and_relayed_candidates_have_their_base() -> None:
    candidate = read_candidate("candidate:842163049 1 udp 1677729535 203.0.113.5 46154 typ srflx raddr 0.0.0.0 rport 0 generation 0")
    assert (candidate.type, candidate.related_host, candidate.related_port) == ("srflx", "0.0.0.0", 0)
    assert read_candidate("candidate:1 1 udp 41885439 2001:db8::7 3478 typ relay raddr 203.0.113.5 rport 46154").host == "2001:db8::7"


@pytest.mark.parametrize(
    "line",
    [
        "",
        "candidate:",
        "candidate:1 1 udp 1 192.0.2.7 5 typ",
        "candidate:1 1 udp 1 192.0.2.7 5 typ nat",
        "candidate:1 1 sctp 1 192.0.2.7 5 typ host",
        "candidate:1 0 udp 1 192.0.2.7 5 typ host",
        "candidate:1 1 udp 0 192.0.2.7 5 typ host",
        "candidate:1 1 udp 2147483648 192.0.2.7 5 typ host",
        "candidate:1 1 udp 1 192.0.2.7 65536 typ host",
        "candidate:1 1 udp 1 -host- 5 typ host",
        "candidate:1 1 udp 1 fe80::1%eth0 5 typ host",
        "candidate:1 1 udp 1 192.0.2.7 5 typ host generation",
        "candidate:1 1 udp 1 192.0.2.7 5 typ host tcptype passive",
        "candidate:1 1 tcp 1 192.0.2.7 5 typ host",
        "candidate:1 1 udp 1 192.0.2.7 5 typ host raddr 192.0.2.8 rport 70000",
        "candidate:1 1 udp 1 192.0.2.7 5 typ host ufrag a\u00fc\u00fcc",
        "candidate:1 1 udp 1 192.0.2.7 5 typ host a b\x1fc",
        "candidate:1 1 udp 1 192.0.2.7 5 typ host a \u00a0",
        "candidate:1 1 udp ١ 192.0.2.7 5 typ host",
        "candidate:1 1 udp 1 192.0.2.7 5 typ host\ncandidate:1 1 udp 1 192.0.2.7 5 typ host",
        "candidate:1 1 udp 1 192.0.2.7 5 typ host" + " x y" * 300,
    ],
)
def test_what_is_no_candidate_is_refused(line: str) -> None:
    with pytest.raises(RemoteProtocolError) as refused:
        read_candidate(line)
    assert (refused.value.code, refused.value.path) == ("transport", "candidate")


def test_the_end_of_candidates() -> None:
    assert is_end("") and is_end("a=end-of-candidates") and is_end("candidate:")
    assert not is_end("candidate:1 1 udp 1 192.0.2.7 5 typ host")


def test_priorities_prefer_host_over_reflexive_over_relayed_and_udp_over_tcp() -> None:
    assert priority("host") == 2130706431  # RFC 8445 §5.1.2.1 with the recommended preferences
    assert priority("host") > priority("prflx") > priority("srflx") > priority("relay")
    assert priority("host", "tcp") < priority("srflx")
    assert priority("host", local_preference=10) < priority("host", local_preference=11)


def test_foundations_are_equal_for_one_base_and_server_only() -> None:
    assert foundation("host", "udp", "192.0.2.7") == foundation("host", "udp", "192.0.2.7")
    others = {
        foundation("host", "udp", "192.0.2.8"),
        foundation("srflx", "udp", "192.0.2.7"),
        foundation("host", "tcp", "192.0.2.7"),
        foundation("srflx", "udp", "192.0.2.7", "203.0.113.1"),
    }
    assert len(others) == 4 and foundation("host", "udp", "192.0.2.7") not in others
