from __future__ import annotations

from triptych.machines.termwright.pairing import Notice, Pair, Pairing


def pairing(queued: int = 32, *, marked: bool = True) -> Pairing[str, str]:
    return Pairing(queued, marked=marked, now=0.0)


def codes(answers: list[Pair[str, str] | Notice]) -> list[tuple[str, int]]:
    return [(answer.code, answer.revision) for answer in answers if isinstance(answer, Notice)]


def test_a_revision_is_published_when_both_halves_are_there_in_either_order() -> None:
    pairs = pairing()
    assert pairs.tree(1, "tree 1", 0.1) == []
    assert pairs.marker(1, "screen 1", 0.2) == [Pair(1, "tree 1", "screen 1")]
    assert pairs.marker(2, "screen 2", 0.3) == []
    assert pairs.tree(2, "tree 2", 0.4) == [Pair(2, "tree 2", "screen 2")]
    assert pairs.published == 2
    assert pairs.waiting() == ((), ())


def test_without_markers_a_tree_is_published_as_it_arrives() -> None:
    pairs = pairing(marked=False)
    assert pairs.tree(7, "tree", 0.0) == [Pair(7, "tree", None)]


def test_what_is_not_newer_than_the_published_revision_is_dropped() -> None:
    pairs = pairing()
    pairs.tree(5, "tree", 0.0)
    pairs.marker(5, "screen", 0.0)
    assert codes(pairs.marker(5, "replayed", 0.1)) == [("revision-dropped", 5)]
    assert codes(pairs.tree(4, "late", 0.1)) == [("revision-dropped", 4)]
    assert pairs.published == 5


def test_publishing_discards_older_halves() -> None:
    pairs = pairing()
    pairs.tree(1, "tree 1", 0.0)
    pairs.marker(2, "screen 2", 0.0)
    pairs.tree(3, "tree 3", 0.0)
    answers = pairs.marker(3, "screen 3", 0.1)
    assert codes(answers) == [("revision-superseded", 1), ("revision-superseded", 2)]
    assert answers[-1] == Pair(3, "tree 3", "screen 3")
    assert pairs.waiting() == ((), ())


def test_the_oldest_half_is_evicted_when_too_many_wait() -> None:
    pairs = pairing(2)
    pairs.tree(1, "a", 0.0)
    pairs.tree(2, "b", 0.0)
    assert codes(pairs.tree(3, "c", 0.0)) == [("revision-dropped", 1)]
    assert pairs.waiting() == ((2, 3), ())
    assert pairs.marker(1, "screen", 0.1) == []
    assert pairs.tree(3, "the same revision again takes no room", 0.1) == []


def test_a_late_half_is_reported_once_and_kept() -> None:
    pairs = pairing()
    pairs.tree(1, "tree", 5.0)
    assert pairs.deadline() == 6.0
    assert pairs.overdue(5.9) == []
    assert codes(list(pairs.overdue(6.0))) == [("revision-pairing-watchdog", 1)]
    assert pairs.overdue(9.0) == []
    assert pairs.deadline() is None
    assert pairs.marker(1, "screen", 20.0) == [Pair(1, "tree", "screen")]


def test_output_and_an_open_frame_hold_the_watchdog_back() -> None:
    pairs = pairing()
    pairs.tree(1, "tree", 5.0)
    pairs.output(5.5)
    assert pairs.deadline() == 7.5  # quiet for a second, then a second of waiting
    assert pairs.overdue(7.4) == []
    pairs.frame_begin(2)
    assert pairs.deadline() is None
    assert pairs.overdue(100.0) == []
    pairs.commit(1, 100.0)
    assert pairs.deadline() is None  # frame 2 is still open
    pairs.commit(2, 100.0)
    assert pairs.deadline() == 101.0
