"""Our Textual probe in a session with our own driver: handshake, deltas, pairing, log budget, and what ends the session only."""

from __future__ import annotations

import asyncio
import json
import statistics
import time
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest
from msgspec import UNSET

from probe_kit import PATIENCE, Watch, by_test_id, check_by_both, probed
from triptych.engine.terminal import Terminal


def run(main: Callable[[], Coroutine[Any, Any, None]]) -> None:
    asyncio.run(asyncio.wait_for(main(), 2 * PATIENCE))


async def until(app: Terminal, met: Callable[[], bool]) -> None:
    await app.wait_until(met, timeout=PATIENCE)


@pytest.fixture
def notes(tmp_path: Path) -> str:
    return str(tmp_path)


def test_the_handshake_says_what_was_audited(notes: str) -> None:
    async def main() -> None:
        async with probed("probe_zoo.py", notes) as app:
            hello = app._driver.session.hello
            assert hello is not None
            assert set(hello.capabilities) == {
                "tree",
                "intended-geometry",
                "clipped-geometry",
                "states",
                "focus-state",
                "actions",
                "action-recipes",
                "render-revisions",
                "pointer-hit-grid",
                "incremental-tree",
                "logs",
            }
            assert hello.probe is not UNSET
            assert (hello.probe.framework, hello.probe.identity_kind) == ("textual", "stable")
            assert set(hello.probe.capabilities) == {"stable-identity", "intended-rect", "visible-rect", "annotations"}
            assert set(hello.probe.instrumentation.degraded_capabilities) == {"inactive-screen-tree", "custom-container-enumeration"}
            assert [note.code for note in app.diagnostics] == ["adapter-attached"]

    run(main)


def test_one_whole_tree_and_then_deltas_each_paired_with_its_frame(notes: str) -> None:
    async def main() -> None:
        watch = Watch()
        async with probed("probe_zoo.py", notes, watch=watch) as app:
            for character in "abc":
                await app.type(character)
            await until(app, lambda: getattr(by_test_id(app.tree, "word").value, "value", "") == "plainabc")
            await app.wait_quiet(timeout=PATIENCE)
            kinds = [kind for kind in watch.kinds() if kind != "log"]
            assert kinds[:3] == ["hello", "semantic-full", "revision-commit"]
            assert set(kinds[3:]) == {"semantic-delta", "revision-commit"}
            assert kinds[3::2] == ["semantic-delta"] * len(kinds[3::2])
            published = [tree.revision for tree in watch.trees]
            assert published == list(range(1, app.revision + 1))
            assert app._driver.session.waiting == ((), ())
            assert [note.code for note in app.diagnostics] == ["adapter-attached"]
            # A delta says what changed: one character typed is far from a whole tree.
            deltas = [message["delta"] for message in watch.messages if message["type"] == "semantic-delta"]
            typed = [delta for delta in deltas if "updateNodes" in delta]
            assert all(len(delta["updateNodes"]) <= 2 for delta in typed[-3:])
            for tree in watch.trees:
                check_by_both(tree)

    run(main)


def test_a_change_of_order_is_told_as_a_whole_tree(notes: str) -> None:
    async def main() -> None:
        watch = Watch()
        async with probed("probe_zoo.py", notes, watch=watch) as app:
            await app.wait_quiet(timeout=PATIENCE)
            seen = len(watch.messages)
            await app.press("f8")

            def order() -> list[str]:
                assert app.tree is not None
                return [str(node.test_id) for node in app.tree.nodes if node.test_id in ("heading", "drawn")]

            await until(app, lambda: order() == ["drawn", "heading"])
            assert "semantic-full" in [message["type"] for message in watch.messages[seen:]]

    run(main)


def test_two_widgets_with_one_key_end_the_session_and_not_the_program(notes: str) -> None:
    async def main() -> None:
        async with probed("probe_zoo.py", notes) as app:
            await app.press("f10")
            await until(app, lambda: any("duplicate-semantic-key" in note.code + note.detail for note in app.diagnostics))
            await app.type("still here")
            await app.wait_for_text("plainstill here", timeout=PATIENCE)

    run(main)


def test_a_widget_that_cannot_be_looked_at_ends_the_session_and_not_the_program() -> None:
    async def main() -> None:
        async with probed("probe_compositor.py", "broken") as app:
            await app.press("f2")
            await app.wait_for_text("mounted all the same", timeout=PATIENCE)
            await until(app, lambda: any(note.code == "adapter-disconnected" for note in app.diagnostics))
            assert any("internal" in note.code + note.detail and "nobody may look" in note.detail for note in app.diagnostics)
            assert app.exit_status is None
            await app.press("ctrl+q")
            assert await app.exited(timeout=PATIENCE) == 0

    run(main)


def test_a_tree_over_the_frame_ceiling_is_held_back_and_the_session_lives(notes: str) -> None:
    async def main() -> None:
        watch = Watch()
        async with probed("probe_compositor.py", "large", watch=watch) as app:
            first = app.revision
            await app.press("f2")  # too much for a frame
            await app.wait_for_text("large", timeout=PATIENCE)
            await app.press("f2")  # and back
            await app.wait_for_text("small", timeout=PATIENCE)
            await until(app, lambda: app.revision > first and getattr(by_test_id(app.tree, "first"), "name", "") == "small")
            published = [tree.revision for tree in watch.trees]
            assert published == list(range(1, app.revision + 1))  # no number was lost
            assert [note.code for note in app.diagnostics] == ["adapter-attached"]

    run(main)


def test_log_records_stay_within_the_budget_and_the_gaps_are_told(notes: str) -> None:
    async def main() -> None:
        async with probed("probe_zoo.py", notes) as app:
            await app.press("f5")
            await app.wait_for_text("dropped", timeout=PATIENCE)
            await until(app, lambda: len(app.logs) >= 500)
            first = app.logs[0].record
            assert (first.level, first.message, first.logger) == ("warn", "low on hay", "zoo")
            assert first.attrs == {"animal": "horse", "left": 3}
            assert first.seq == 1
            assert first.revision is not UNSET
            await until(app, lambda: "dropped" in by_test_id(app.tree, "status").name)
            status = by_test_id(app.tree, "status").name.split()
            sent, dropped = int(status[1]), int(status[3])
            assert sent + dropped == 2001
            assert 500 <= sent < 1500
            await until(app, lambda: len(app.logs) == sent)
            numbers = [logged.record.seq for logged in app.logs]
            assert numbers == sorted(set(numbers))
            # The next record after the flood says how many were lost before it.
            await app.press("f5")
            await until(app, lambda: len(app.logs) > sent)
            assert sum(logged.lost for logged in app.logs) > 0
            assert not any(note.code == "log-dropped" for note in app.diagnostics)

    run(main)


def test_the_program_s_children_find_nothing_to_claim(notes: str) -> None:
    async def main() -> None:
        async with probed("probe_zoo.py", notes) as app:
            await app.press("f6")
            await app.wait_for_text("() False", timeout=PATIENCE)
            assert app._driver.session.state == "attached"

    run(main)


def test_the_program_outlives_its_driver_s_socket(notes: str) -> None:
    async def main() -> None:
        async with probed("probe_zoo.py", notes) as app:
            await app.wait_quiet(timeout=PATIENCE)
            for link in list(app._driver._listener._links.values()):
                link.transport.abort()
            await app.type("still here")
            await app.wait_for_text("plainstill here", timeout=PATIENCE)
            await app.press("ctrl+q")
            assert await app.exited(timeout=PATIENCE) == 0

    run(main)


def test_five_hundred_widgets(capsys: pytest.CaptureFixture[str]) -> None:
    async def main() -> None:
        watch = Watch()
        async with probed("probe_compositor.py", "many", watch=watch, columns=120, rows=50) as app:
            assert app.tree is not None
            assert len(app.tree.nodes) > 500
            await app.wait_quiet(timeout=PATIENCE)
            times = []
            for _ in range(15):
                before = app.revision
                started = time.perf_counter()
                await app.press("x")
                await app.wait_for_revision(after=before, timeout=PATIENCE)
                times.append(time.perf_counter() - started)
                await app.wait_quiet(0.05, timeout=PATIENCE)
            middle, most = (round(1000 * time, 1) for time in (statistics.median(times), max(times)))
            with capsys.disabled():
                print(f"\n500 widgets: key to paired revision p50 {middle} ms, most {most} ms")
            sizes = [len(json.dumps(message)) for message in watch.messages[-10:] if message["type"] == "semantic-delta"]
            assert max(sizes) < 20_000
            check_by_both(app.tree)

    run(main)
