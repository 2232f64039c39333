"""Programs in a terminal, mostly without a probe: bash and curses, their screen, size and policy, observers, and what stays at the end."""

from __future__ import annotations

from pathlib import Path

import pytest

from termwright_app_kit import Told, refused
from termwright_kit import CURSES, FORM, PATIENCE, run
from triptych.engine import terminal
from triptych.engine.terminal import Policy, expect
from triptych.errors import LocalProtocolError, Unavailable
from triptych.generated.termwright.models import Rect


def test_bash_is_read_and_pasted_into() -> None:
    async def main() -> None:
        environment = {"PS1": "ready> ", "INPUTRC": "/dev/null"}
        async with terminal.launch(
            ["bash", "--norc", "--noprofile"], columns=60, rows=8, environment=environment, ready_timeout=0.1
        ) as app:
            ready = app.get_by_text("ready>")
            await expect(ready).to_be_visible(timeout=PATIENCE)
            assert await ready.rect() == Rect(row=0, column=0, width=6, height=1)
            assert await ready.text() == "ready>"
            await app.wait_until(lambda: app.modes.bracketed_paste, timeout=PATIENCE)
            await app.paste("echo one\necho two")
            await app.wait_for_text("echo two", timeout=PATIENCE)
            await app.wait_quiet(timeout=PATIENCE)
            assert "\none" not in app.screen.text  # nothing has run: the lines came as one paste
            await app.press("enter")
            await app.wait_for_text("\ntwo", timeout=PATIENCE)
            await expect(app.get_by_text("two")).to_have_count(2, timeout=PATIENCE)
            assert await app.get_by_text("two").last.text() == "two"
            await app.wait_until(lambda: any(note.code == "negotiation-timeout" for note in app.diagnostics), timeout=PATIENCE)
            why = await refused(app.get_by_text("two").last.click(), "no-tree")
            assert "click_cell(0, " in why
            await refused(ready.first.focus(), "no-tree")
            await refused(ready.first.value(), "tree", "not-observable")
            await refused(app.get_by_role("button").resolve(timeout=0.05), "get_by_role('button')", "not-found")
            with pytest.raises(LocalProtocolError) as refusal:
                await app.click_cell(0, 0)
            assert refusal.value.path == "mouse-mode"
            with pytest.raises(LocalProtocolError) as refusal:
                await app.click_cell(60, 0)
            assert refusal.value.code == "out-of-range"

    run(main)


def test_a_curses_program_is_driven_by_its_cells() -> None:
    async def main() -> None:
        async with terminal.launch(CURSES, columns=50, rows=9, environment={"LANG": "C.UTF-8"}, ready_timeout=0.1) as app:
            close = app.get_by_text("Close the valve")
            await expect(close).to_be_visible(timeout=PATIENCE)
            assert app.modes.alternate_screen
            assert app.modes.application_cursor_keys
            assert app.screen.cells[0][0].style.bold
            assert app.screen.cells[0][0].style.underline == 1
            assert app.screen.cells[2][2].style.background is not None
            assert app.screen.cells[3][2].style.background is None
            await app.press("down", "enter")
            await app.wait_for_text("chose Close the valve", timeout=PATIENCE)
            assert app.screen.cells[3][2].style.background is not None

            zawor = await app.get_by_text("中文 zawór").rect()
            assert (zawor.column, zawor.row, zawor.width) == (8, 4, 10)
            await app.wait_until(lambda: app.modes.mouse_tracking != "none", timeout=PATIENCE)
            await app.click_cell(zawor.column, zawor.row)
            await app.wait_for_text("mouse 8,4", timeout=PATIENCE)
            await app.resize(60, 12)
            await app.wait_for_text("60x12", timeout=PATIENCE)
            await app.press("q")
            assert await app.exited(timeout=PATIENCE) == 0

    run(main)


def test_the_policy_reaches_the_program_s_terminal() -> None:
    writing = ["sh", "-c", r"printf '\033]52;c;aGVsbG8=\007\033]8;;http://x.y/\007L\033]8;;\007 done'; read x"]

    async def main() -> None:
        for policy, copied in ((None, None), (Policy(clipboard_bytes=10), "hello")):
            async with terminal.launch(writing, policy=policy) as app:
                await app.wait_for_text("done", timeout=PATIENCE)
                assert app.clipboard == copied
                assert app.link_at(0, 0) == "http://x.y/"
                assert app.link_at(3, 0) is None

    run(main)


def test_an_observer_that_fails_is_noted_and_disturbs_nothing() -> None:
    class Broken(Told):
        def output(self, data: bytes, at: float) -> None:
            raise RuntimeError("no")

    async def main() -> None:
        broken, told = Broken(), Told()
        async with terminal.launch(["echo", "hello"], observers=[broken, told]) as app:
            assert await app.exited(timeout=PATIENCE) == 0
            assert app.screen.lines[0] == "hello"
            assert [note.code for note in app.diagnostics if note.code == "observer-failed"] == ["observer-failed"]
        assert told.events == ["resized 80x24", "output", "exited 0", "acted close"]

    run(main)


def test_after_the_block_the_terminal_can_be_looked_at_and_nothing_else() -> None:
    async def main() -> None:
        async with terminal.launch(["sh", "-c", r"printf '\033[?2004hhello'; read x"]) as app:
            await app.wait_for_text("hello", timeout=PATIENCE)
        assert app.screen.lines[0] == "hello"
        assert app.modes.bracketed_paste
        assert await app.get_by_text("hello").rect() == Rect(row=0, column=0, width=5, height=1)
        for action in (app.press("x"), app.type("x"), app.paste("x"), app.click_cell(0, 0), app.resize(10, 10)):
            with pytest.raises(Unavailable):
                await action

    run(main)


def test_a_screenshot(tmp_path: Path) -> None:
    async def main() -> None:
        async with terminal.launch(["echo", "hello"]) as app:
            await app.exited(timeout=PATIENCE)
            picture = await app.screenshot(tmp_path / "screen.png")
            assert picture.startswith(b"\x89PNG")
            assert (tmp_path / "screen.png").read_bytes() == picture

    run(main)


@pytest.mark.parametrize(("columns", "rows", "path"), [(0, 24, "columns"), (80, -1, "rows"), (70_000, 24, "columns"), (80, 1001, "rows")])
def test_sizes_that_no_terminal_has(columns: int, rows: int, path: str) -> None:
    async def main() -> None:
        with pytest.raises(LocalProtocolError) as refusal:
            async with terminal.launch(["true"], columns=columns, rows=rows):
                pass
        assert (refusal.value.code, refusal.value.path) == ("terminal-size", path)
        async with terminal.launch(["cat"]) as app:
            with pytest.raises(LocalProtocolError) as refusal:
                await app.resize(columns, rows)
            assert refusal.value.code == "terminal-size"
            assert (app.screen.columns, app.screen.rows) == (80, 24)

    run(main)


def test_a_probed_program_leaves_nothing_in_the_temporary_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path))

    def entries() -> int:
        return len(list(tmp_path.iterdir()))

    async def main() -> None:
        async with terminal.launch(FORM, ready_timeout=PATIENCE) as app:
            await app.wait_for_revision(timeout=PATIENCE)
            assert entries() == 1

    run(main)
    assert entries() == 0


def test_a_program_that_fails_at_once_is_told_by_its_own_words() -> None:
    async def main() -> None:
        async with terminal.launch(["sh", "-c", "echo 'no such module'; exit 2"]) as app:
            with pytest.raises(Unavailable) as gone:
                await app.wait_for_revision(timeout=PATIENCE)
            assert "exited with 2" in gone.value.reason
            assert "no such module" in gone.value.reason
            assert gone.value.remedy == ""

    run(main)
