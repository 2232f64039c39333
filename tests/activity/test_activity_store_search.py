"""Search: every word, in any case and script, in titles and resources; by the observations that are left and by what episodes tell."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from activity_store_kit import DAY_MS, EDITOR, FILES, MINUTE, NOW, admitted, git, opened
from triptych.adapters.collector.store import App, Store
from triptych.errors import LocalProtocolError


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with opened(tmp_path / "history") as made:
        made.add(
            [
                admitted(1, NOW, title="Budget 2026 - Calc", name="Calc"),
                admitted(2, NOW + MINUTE, file="/w/Übungen/straße.py", title="straße.py - Code", workspace=git("/w")),
                admitted(3, NOW + 2 * MINUTE, app=FILES, title="budget drafts", name="Files"),
                admitted(4, NOW + 3 * MINUTE, title="Budget 2026 - Calc", name="Calc"),
            ]
        )
        yield made


def texts(store: Store, words: str, **more: int) -> list[str]:
    return [one.text for one in store.search(words, **more)]


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("budget", ["Budget 2026 - Calc", "budget drafts"]),
        ("BUDGET draft", ["budget drafts"]),
        ("2026 get", ["Budget 2026 - Calc"]),
        ("STRASSE", ["straße.py - Code", "straße.py"]),
        ("übungen", ["straße.py"]),
        ("/w/", ["straße.py"]),
        ("nowhere", []),
        ("budget nowhere", []),
        ("%", []),
        ("_", []),
    ],
)
def test_what_is_found(store: Store, words: str, found: list[str]) -> None:
    assert sorted(texts(store, words)) == sorted(found)


def test_the_newest_comes_first_with_where_it_was(store: Store) -> None:
    first, second = store.search("budget")
    assert (first.kind, first.text, first.uri, first.bundle_id, first.app_name) == ("title", "Budget 2026 - Calc", None, EDITOR, "Calc")
    assert (first.first_seen_at_ms, first.last_seen_at_ms, first.count) == (NOW, NOW + 3 * MINUTE, 2)
    assert (second.text, second.bundle_id, second.last_seen_at_ms) == ("budget drafts", FILES, NOW + 2 * MINUTE)
    [title, file] = store.search("straße")
    assert {title.kind, file.kind} == {"title", "file"}
    assert {one.episode_id for one in (title, file)} == {"episode:s:2"}
    assert {one.uri for one in (title, file)} == {None, "file:///w/Übungen/straße.py"}


def test_only_of_a_time(store: Store) -> None:
    assert texts(store, "budget", since_ms=NOW + 2 * MINUTE, until_ms=NOW + 3 * MINUTE) == ["budget drafts"]
    [found] = store.search("budget", until_ms=NOW + MINUTE)
    assert (found.count, found.last_seen_at_ms) == (1, NOW)
    assert texts(store, "budget", since_ms=NOW + 4 * MINUTE) == []
    assert texts(store, "budget", limit=1) == ["Budget 2026 - Calc"]
    assert texts(store, "budget", limit=0) == []


@pytest.mark.parametrize("words", ["", " \t"])
def test_a_search_for_nothing_is_refused(store: Store, words: str) -> None:
    with pytest.raises(LocalProtocolError) as caught:
        store.search(words)
    assert caught.value.code == "search-text"


def test_an_episode_still_tells_what_has_expired(store: Store) -> None:
    store.sweep(NOW + DAY_MS + 4 * MINUTE)
    assert store.counts().observations == 0
    found = {one.kind: one for one in store.search("straße")}
    assert {one.count for one in found.values()} == {0}
    assert {one.episode_id for one in found.values()} == {"episode:s:2"}
    assert (found["title"].bundle_id, found["file"].last_seen_at_ms) == (EDITOR, NOW + MINUTE)
    store.sweep(NOW + 40 * DAY_MS)
    assert store.search("py") == []


def test_what_was_deleted_is_not_found(store: Store) -> None:
    store.delete(App(FILES), NOW + DAY_MS)
    assert texts(store, "budget") == ["Budget 2026 - Calc"]


@given(st.lists(st.text(min_size=1, max_size=12).filter(str.strip), min_size=1, max_size=8, unique=True), st.data())
@settings(max_examples=60, deadline=None)
def test_any_part_of_any_title_finds_it(tmp_path_factory: pytest.TempPathFactory, titles: list[str], data: st.DataObject) -> None:
    with opened(tmp_path_factory.mktemp("search") / "history") as store:
        store.add([admitted(number, NOW + number, title=title) for number, title in enumerate(titles, 1)])
        stored = [row.title or "" for row in store.observations()]
        chosen = data.draw(st.sampled_from(stored))
        start = data.draw(st.integers(0, len(chosen) - 1))
        part = chosen[start : data.draw(st.integers(start + 1, len(chosen)))]
        if part.split():
            found = set(texts(store, part))
            assert chosen in found
            assert found == {title for title in stored if all(word in title.casefold() for word in part.casefold().split())}
