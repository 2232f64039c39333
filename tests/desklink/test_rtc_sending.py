"""What is sent, when, and again: the history of packets, the store of retransmissions, and the pacer."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from rtc_kit import congestion
from triptych.machines.desklink import rtcp
from triptych.machines.desklink.pacer import BURST, MOST_QUEUED, Pacer
from triptych.machines.desklink.retransmission import LONGEST_KEPT, MOST_BYTES, MOST_PACKETS, WINDOW, Store, rtx_payload
from triptych.machines.desklink.rtp import ExtensionIds, Packet, Stream
from triptych.machines.desklink.transport_cc import CAPACITY, TICK, Arrival, Feedback, History

# the history


def feedback(base: int, ticks: dict[int, int], count: int, reference: int = 0) -> Feedback:
    (item,) = rtcp.read(congestion(1, base, {place: came + reference * 256 for place, came in ticks.items()}, count, reference=reference))
    assert isinstance(item, Feedback)
    return item


def sent(history: History, count: int, *, begin: float = 0.0) -> None:
    for number in range(count):
        history.sent(1000, begin + number * 0.01)


def test_each_packet_is_told_with_when_it_was_sent_and_when_it_came() -> None:
    history = History()
    sent(history, 4)
    told = history.arrivals(feedback(0, {0: 100, 1: 140, 3: 220}, 4), 1.0)
    assert told == (
        Arrival(0, 0.0, 100 * TICK, 1000),
        Arrival(1, 0.01, 140 * TICK, 1000),
        Arrival(2, 0.02, None, 1000),
        Arrival(3, 0.03, 220 * TICK, 1000),
    )


def test_a_packet_told_lost_may_come_late_and_nothing_is_told_twice() -> None:
    history = History()
    sent(history, 3)
    assert [each.received_at for each in history.arrivals(feedback(0, {0: 4, 2: 8}, 3), 1.0)] == [4 * TICK, None, 8 * TICK]
    assert history.arrivals(feedback(0, {0: 4, 2: 8}, 3), 1.1) == ()
    assert history.arrivals(feedback(1, {0: 12}, 1), 1.2) == (Arrival(1, 0.01, 12 * TICK, 1000),)


def test_what_is_under_way_is_what_was_sent_after_all_that_was_told() -> None:
    history = History()
    sent(history, 10)
    assert history.in_flight == 10_000
    history.arrivals(feedback(0, {0: 1}, 4), 1.0)
    assert history.in_flight == 6_000
    history.arrivals(feedback(8, {0: 1}, 1), 1.0)  # the feedback between was lost
    assert history.in_flight == 1_000
    history.arrivals(feedback(2, {0: 1}, 1), 1.0)  # an old one
    assert history.in_flight == 1_000
    history.forget()
    assert history.in_flight == 0
    history.sent(500, 2.0)
    assert history.in_flight == 500


def test_numbers_of_packets_that_were_never_sent_say_nothing() -> None:
    history = History()
    sent(history, 5)
    assert history.arrivals(feedback(5, {0: 1, 1: 2}, 2), 1.0) == ()
    assert history.arrivals(feedback(65000, {0: 1}, 1), 1.0) == ()
    assert history.in_flight == 5_000
    assert len(history.arrivals(feedback(3, {0: 1, 1: 2, 2: 3, 3: 4}, 4), 1.0)) == 2
    assert History().arrivals(feedback(0, {0: 1}, 1), 1.0) == ()


def test_numbers_and_the_peers_clock_go_on_when_they_wrap() -> None:
    history, came, last = History(), [], 2**24 - 2
    for number in range(70_000):
        assert history.sent(100, number * 0.001) == number % 65536
        if number % 7000 == 6999:
            told = history.arrivals(feedback((number - 1) % 65536, {0: 0, 1: 1}, 2, reference=last % 2**24), number * 0.001)
            came += [each.received_at for each in told]
            last += 1
    assert len(came) == 20
    assert came == sorted(came) and came[-1] - came[0] < 1.0


def test_the_history_is_bounded_and_what_falls_out_is_not_under_way() -> None:
    history = History()
    sent(history, CAPACITY + 5000)
    assert history.in_flight == CAPACITY * 1000
    assert len(history.arrivals(feedback(5000 - 10, {place: place for place in range(200)}, 200), 1.0)) == 190


@given(st.lists(st.tuples(st.integers(0, 65535), st.integers(1, 60), st.integers(0, 2**24 - 1)), max_size=12), st.integers(0, 200))
def test_any_feedback_leaves_the_sums_right(said: list[tuple[int, int, int]], count: int) -> None:
    history = History()
    sent(history, count)
    for base, length, reference in said:
        told = history.arrivals(Feedback(1, base, reference * 256, 0, tuple(range(length))), 1.0)
        assert all(0 <= each.number < count for each in told)
    assert 0 <= history.in_flight <= count * 1000


# the store


def packets(count: int, *, size: int = 1000, first: int = 0) -> list[Packet]:
    made = Stream(1, 98, ExtensionIds(), sequence=first)
    return [made.packet(bytes(size), 90 * number, number % 4 == 3) for number in range(count)]


def stored(made: list[Packet], now: float = 0.0) -> Store:
    store = Store()
    for packet in made:
        store.keep(packet, now)
    return store


def test_a_packet_is_sent_again_once_per_window() -> None:
    store = stored(packets(5))
    assert [kept.sequence for kept in store.wanted([1, 3, 1], 0.2)] == [1, 3]
    assert store.wanted([1, 3], 0.2 + WINDOW - 0.01) == []
    assert [kept.sequence for kept in store.wanted([1, 4], 0.21 + WINDOW)] == [1, 4]


def test_a_short_round_trip_shortens_the_window_and_a_long_one_does_not_lengthen_it() -> None:
    store = stored(packets(1))
    assert store.wanted([0], 0.1, rtt=0.02) and not store.wanted([0], 0.12, rtt=0.02) and store.wanted([0], 0.126, rtt=0.02)
    assert not store.wanted([0], 0.140, rtt=0.0)  # never more often than 50 times a second
    assert store.wanted([0], 0.126 + WINDOW, rtt=5.0)


def test_what_is_unknown_too_old_or_before_a_key_frame_is_not_sent_again() -> None:
    store = stored(packets(3))
    assert store.wanted([77], 0.1) == []
    assert store.wanted([0], 2.5) == []
    store.forget()
    assert store.wanted([1], 0.1) == [] and len(store) == store.bytes == 0


def test_a_retransmission_carries_the_original_number() -> None:
    (kept,) = stored(packets(4, first=65533)).wanted([0], 0.1)
    assert (kept.sequence, kept.marker, kept.timestamp) == (0, True, 270)
    assert rtx_payload(kept) == b"\0\0" + bytes(1000)


def test_the_store_is_bounded_in_packets_and_bytes() -> None:
    many = stored(packets(MOST_PACKETS + 10, size=10))
    assert len(many) == MOST_PACKETS and many.wanted([9], 0.1) == [] and many.wanted([10], 0.1)
    large = stored(packets(300, size=100_000))
    assert large.bytes <= MOST_BYTES and len(large) == MOST_BYTES // 100_000
    again = stored(packets(70_000, size=1))
    assert again.bytes == len(again) == MOST_PACKETS


def test_what_nobody_may_ask_for_any_more_is_not_kept() -> None:
    store = Store()
    for turn, packet in enumerate(packets(100)):
        store.keep(packet, turn * 0.1)
    assert len(store) == LONGEST_KEPT / 0.1 + 1


def test_the_newest_packets_are_what_a_probe_repeats() -> None:
    store = stored(packets(20))
    assert [kept.sequence for kept in store.recent(2500)] == [19, 18, 17]
    assert len(store.recent(10**9)) == 20 and Store().recent(1000) == []


# the pacer


def test_a_burst_goes_at_once_and_the_rest_at_the_pace() -> None:
    pacer: Pacer[int] = Pacer(4000, 0.0)
    for number in range(100):
        assert pacer.push(number, 1000)
    sent_at, now = [], 0.0
    while pacer.next_at is not None:
        now = max(now, pacer.next_at)
        due = pacer.due(now)
        assert due
        sent_at += [now] * len(due)
    assert sum(at == 0.0 for at in sent_at) == BURST // 8000
    assert abs(sent_at[-1] - (100_000 * 8 - BURST) / 20e6) < 0.001


def test_the_pace_is_three_times_the_target_above_20_mbit() -> None:
    pacer: Pacer[int] = Pacer(10_000, 0.0)
    pacer.set_kbps(20_000, 0.0)
    assert pacer.push(0, 1_000_000) and pacer.due(0.0) == [0]
    assert pacer.push(1, 10) and pacer.due(0.1) == []
    assert pacer.next_at is not None and abs(pacer.next_at - (8_000_000 - BURST) / 60e6) < 0.001


def test_retransmissions_go_first_and_nothing_is_reordered() -> None:
    pacer: Pacer[str] = Pacer(1000, 0.0)
    for item in "abc":
        pacer.push(item, 100)
    for item in "XY":
        pacer.push_first(item, 100)
    assert pacer.due(0.0) == ["X", "Y", "a", "b", "c"] and pacer.next_at is None and pacer.queued == 0


def test_what_waits_is_bounded() -> None:
    pacer: Pacer[int] = Pacer(1000, 0.0)
    assert pacer.push(0, MOST_QUEUED) and not pacer.push(1, 1) and not pacer.push_first(2, 1)
    pacer.clear()
    assert pacer.queued == 0 and pacer.next_at is None and pacer.push(1, 1)


@given(st.lists(st.tuples(st.floats(0, 0.05), st.integers(1, 40_000)), min_size=1, max_size=60))
def test_the_pacer_never_sends_more_than_the_pace_and_one_burst(arrivals: list[tuple[float, int]]) -> None:
    pacer: Pacer[int] = Pacer(1000, 0.0)
    now, bits, largest = 0.0, 0, max(size for _, size in arrivals)
    for gap, size in arrivals:
        now += gap
        pacer.push(size, size)
        bits += 8 * sum(pacer.due(now))
        assert bits <= 20e6 * now + BURST + 8 * largest
    while (at := pacer.next_at) is not None:
        assert at >= now or pacer.due(now)
        now = max(now, at)
        bits += 8 * sum(pacer.due(now))
    assert bits == 8 * sum(size for _, size in arrivals)
