"""The show itself: drives the two programs through the three panels and prints what each panel saw. Ends with a summary, or stays."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import datetime
from importlib.util import find_spec
from pathlib import Path

from rich.align import Align
from rich.console import Console, Group
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from ...errors import Unavailable
from .. import activity, desktop, probe, terminal
from ..activity_cli.day import app_shown, arrange
from ..activity_cli.options import day_span
from ..activity_cli.timeline import day_lines, glyphs_for, styled
from ..desktop_bridge import Live, bridge
from .stage import DESKTOP_ID, HERE, private_stage

WIDTH, HEIGHT = 1120, 700
NOTE_FIELD = (WIDTH // 2, 131)
SECRET_FIELD = (WIDTH // 3, HEIGHT - 64)
LINE = "Kingfisher, flying upstream"
SECRET = "correct horse"
ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)


async def play(out: Path, keep: bool) -> None:
    """Play the show; the picture and the record stay in `out`. Raises Unavailable, with the remedy, for what this machine lacks.

    A signal ends it as Ctrl-C does: the task is cancelled once, and everything is closed in order, whatever else comes.
    """
    task = asyncio.current_task()
    assert task is not None
    loop = asyncio.get_running_loop()
    for number in ENDING:
        loop.add_signal_handler(number, lambda: task.cancelling() or task.cancel())
    console = Console(highlight=False)
    out.mkdir(parents=True, exist_ok=True)  # noqa: ASYNC240 -- nothing runs yet
    with console.status("Starting a private display, a GTK program on it, and a Textual program in a terminal …") as status:
        async with (
            private_stage(WIDTH, HEIGHT) as stage,
            activity.record(
                out / "activity", allow=[DESKTOP_ID], adapter_table=stage.adapter_table, env=stage.env, enable_accessibility=True
            ) as recording,
            desktop.open(stage.display, permissions=("view", "control")) as session,
            terminal.launch(_release_board(), columns=88, rows=20) as board,
        ):
            before = recording.last_id
            status.update("Driving the desktop: a click and a typed line …")
            picture = await _write_a_line(session, out)
            status.update("Waiting for what the activity panel makes of it …")
            await recording.wait_for_observation(bundle_id=DESKTOP_ID, after_id=before, timeout=20)
            await _visit_the_passphrase(session)
            await recording.wait_for_refusal("secure-field", timeout=20)
            status.update("Driving the terminal: Tab, Tab, and a new revision …")
            await terminal.expect(board.get_by_test_id("tests")).to_be_focused(timeout=20)
            first = await board.wait_for_revision()
            await board.press("tab", "tab")
            await terminal.expect(board.get_by_test_id("note")).to_be_focused(timeout=20)
            await board.wait_quiet()
            status.stop()

            console.print(_desktop_panel(console, picture, out / "desktop.png"))
            console.print(_activity_panel(console, recording, before))
            console.print(_terminal_panel(board, first))
            console.print(_summary(out, recording, before, board))
            if keep:
                await _stay(console, stage.display, stage.env)


async def _stay(console: Console, display: str, env: dict[str, str]) -> None:
    """Put the desktop live into a browser, and wait for a signal, which here is no interruption but the expected end."""
    ended = asyncio.Event()
    for number in ENDING:
        asyncio.get_running_loop().add_signal_handler(number, ended.set)
    async with AsyncExitStack() as running:
        try:
            live = await running.enter_async_context(_live(display, env))
        except Unavailable as error:
            console.print(f"\nThe desktop cannot be shown in a browser: {error}")
        else:
            console.print("\nThe desktop is live: open this in a browser on this machine, click and type:")
            # By itself and unbroken, to be clicked or copied.
            console.print(f"  {live.url}", style="bold underline", soft_wrap=True)
        console.print(
            f"\nEverything stays until Ctrl-C. Or look at it from another shell:\n"
            f"  DISPLAY={display} XAUTHORITY={env['XAUTHORITY']} triptych doctor",
            soft_wrap=True,
        )
        await ended.wait()


@asynccontextmanager
async def _live(display: str, env: dict[str, str]) -> AsyncIterator[Live]:
    """The bridge at its usual address, or at a free one when that is taken."""
    async with AsyncExitStack() as running:
        try:
            live = await running.enter_async_context(bridge(display, env=env))
        except Unavailable:
            live = await running.enter_async_context(bridge(display, env=env, port=0))
        yield live


def _release_board() -> list[str]:
    """The Textual program, under our probe."""
    if find_spec("textual") is None:
        raise Unavailable("the terminal program of the demo needs Textual", "pip install textual")
    return probe.textual([sys.executable, str(HERE / "release_board.py")])


async def _write_a_line(session: desktop.Session, out: Path) -> desktop.Frame:
    """Click into the note field, type a line, Enter; the picture is taken once nothing moves any more."""
    before = await session.frame(still_ms=300)
    await session.click(*NOTE_FIELD)
    await session.type(LINE)
    typed = await session.frame(after_seq=before.seq, still_ms=200)
    await session.press("Enter")
    after = await session.frame(after_seq=typed.seq, still_ms=700, since=typed.seq)
    await asyncio.to_thread(after.save_png, out / "desktop.png")
    return after


async def _visit_the_passphrase(session: desktop.Session) -> None:
    """Type into the password field: the activity panel must count it, and keep nothing of it."""
    await session.click(*SECRET_FIELD)
    await session.type(SECRET)


def _desktop_panel(console: Console, picture: desktop.Frame, path: Path) -> Panel:
    told = Text.assemble(
        ("clicked the note field, typed “", ""), (LINE, "bold"), (f"” and Enter; {len(picture.damage)} regions of the screen changed", "")
    )
    shown = [Align.center(_thumbnail(picture, 84)), told] if console.color_system == "truecolor" and console.width >= 90 else [told]
    return Panel(Group(*shown), title="desktop", subtitle=f"{picture.width}x{picture.height}  {path}", border_style="blue")


def _thumbnail(picture: desktop.Frame, columns: int) -> Text:
    """The picture in half-block characters, two pixels a cell."""
    from PIL import Image

    image = Image.frombytes("RGB", (picture.width, picture.height), picture.array.tobytes(), "raw", "BGRX")
    rows = max(1, picture.height * columns // picture.width // 2)
    pixels = image.resize((columns, rows * 2), Image.Resampling.HAMMING).tobytes()
    text = Text()
    for row in range(rows):
        for column in range(columns):
            upper, lower = (3 * (columns * line + column) for line in (2 * row, 2 * row + 1))
            text.append("▀", style="rgb({},{},{}) on rgb({},{},{})".format(*pixels[upper : upper + 3], *pixels[lower : lower + 3]))
        text.append("\n")
    text.rstrip()
    return text


def _activity_panel(console: Console, recording: activity.Recording, before: int) -> Panel:
    """Today's episodes, as `triptych activity today` shows them, and the observations that this show added."""
    start_ms, end_ms = day_span(datetime.now().date())
    today = arrange(recording.episodes(start_ms, end_ms), start_ms, end_ms)
    timeline = styled(day_lines(today, min(console.width, 120) - 4, glyphs_for(console.encoding), episodes=4))
    table = Table(box=None, pad_edge=False, expand=True)
    for heading in ("time", "application", "window", "focused element"):
        table.add_column(heading, header_style="bold")
    for row in recording.observations(after_id=before):
        at = datetime.fromtimestamp(row.observed_at_ms / 1000).strftime("%H:%M:%S")
        table.add_row(at, app_shown(row.app_name, row.bundle_id), row.title or "", row.role or "")
    refused = recording.health.refusals.by_reason
    withheld = ", ".join(f"{count} × {reason}" for reason, count in sorted(refused.items())) or "nothing"
    return Panel(Group(timeline, "", table), title="activity", subtitle=f"withheld and only counted: {withheld}", border_style="green")


def _terminal_panel(board: terminal.Terminal, first: terminal.Snapshot) -> Panel:
    assert board.tree is not None
    tree = Text(terminal.format_tree(board.tree), no_wrap=True, overflow="ellipsis")
    tree.highlight_regex(r"(?m)^.*\[[^]]*\bfocused\b.*$", "bold yellow")
    moved = Text.assemble(
        "pressed Tab twice; the focus moved from ", (_focused(first), "bold"), " to ", (_focused(board.tree), "bold yellow")
    )
    return Panel(
        Group(tree, moved),
        title="terminal",
        subtitle=f"revision {board.revision}, paired with its screen by a marker",
        border_style="magenta",
    )


def _focused(tree: terminal.Snapshot) -> str:
    return next((f"“{node.name}”" for node in tree.nodes if node.state and node.state.focused is True), "nothing")


def _summary(out: Path, recording: activity.Recording, before: int, board: terminal.Terminal) -> Table:
    rows = len(recording.observations(after_id=before))
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_row("picture", str(out / "desktop.png"))
    table.add_row("record", f"{out / 'activity' / 'history.sqlite'}, {rows} new {'row' if rows == 1 else 'rows'}")
    table.add_row("tree", f"{len(board.tree.nodes) if board.tree else 0} nodes, revision {board.revision}")
    return table
