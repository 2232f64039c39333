"""The show itself: drives the two programs through the three panels and prints what each panel saw. Ends with a summary, or stays."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from rich.console import Console
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from ...errors import Unavailable
from .. import activity, desktop, terminal
from .stage import DESKTOP_ID, HERE, private_stage

WIDTH, HEIGHT = 1280, 800
LINE = "Kingfisher seen at 07:42, flying upstream"
SECRET = "correct horse"


async def play(out: Path, keep: bool) -> None:
    """Play the show; the picture and the record stay in `out`. Raises Unavailable, with the remedy, for what this machine lacks."""
    console = Console(highlight=False)
    await asyncio.to_thread(out.mkdir, parents=True, exist_ok=True)
    record = out / "activity"
    with console.status("Starting a private display, a GTK program on it, and a Textual program in a terminal …") as status:
        async with (
            private_stage(WIDTH, HEIGHT) as stage,
            activity.record(
                record, allow=[DESKTOP_ID], adapter_table=stage.adapter_table, env=stage.env, enable_accessibility=True
            ) as recording,
            desktop.open(stage.display, permissions=("view", "control")) as session,
            terminal.launch(_release_board(), columns=88, rows=20, environment={"TMPDIR": str(stage.folder)}) as board,
        ):
            status.update("Driving the desktop: a click and a typed line …")
            picture = await _write_a_line(session, out)
            status.update("Waiting for what the activity panel makes of it …")
            await recording.wait_for_observation(bundle_id=DESKTOP_ID, timeout=20)
            await _visit_the_passphrase(session)
            await recording.wait_for_refusal("secure-field", timeout=20)
            status.update("Driving the terminal: Tab, Tab, and a new revision …")
            await board.wait_for_revision(timeout=20)
            first = board.revision
            await board.press("tab", "tab")
            await board.wait_for_revision(after=first, timeout=20)
            await board.wait_quiet()
            status.stop()

            console.print(_desktop_panel(console, picture, session, out / "desktop.png"))
            console.print(_activity_panel(recording))
            console.print(_terminal_panel(board))
            console.print(_summary(out, recording, first, board))
            if keep:
                console.print(f"Display {stage.display} stays until Ctrl-C (XAUTHORITY={stage.env['XAUTHORITY']}).")
                await asyncio.Event().wait()


def _release_board() -> list[str]:
    """The Textual program, under its probe."""
    for module in ("textual", "termwright_probe"):
        try:
            __import__(module)
        except ImportError as error:
            raise Unavailable(f"the terminal program of the demo needs {error.name}", "pip install textual termwright") from None
    return [sys.executable, "-m", "termwright_probe", "--", sys.executable, str(HERE / "release_board.py")]


async def _write_a_line(session: desktop.Session, out: Path) -> desktop.Frame:
    """Click into the note field, type a line, Enter; the picture is taken once nothing moves any more."""
    before = await session.frame(still_ms=300)
    await session.click(WIDTH // 2, 138)
    await session.type(LINE)
    typed = await session.frame(after_seq=before.seq, still_ms=200)
    await session.press("Enter")
    after = await session.frame(after_seq=typed.seq, still_ms=700, since=before.seq)
    await asyncio.to_thread(after.save_png, out / "desktop.png")
    return after


async def _visit_the_passphrase(session: desktop.Session) -> None:
    """Type into the password field: the activity panel must count it, and keep nothing of it."""
    await session.click(WIDTH // 3, HEIGHT - 60)
    await session.type(SECRET)


def _desktop_panel(console: Console, picture: desktop.Frame, session: desktop.Session, path: Path) -> Panel:
    width, height = session.size
    caption = Text(f"{width}x{height}, frame {picture.seq}; clicked, and typed “{LINE}”\n", style="dim")
    body = caption.append_text(_thumbnail(picture, min(console.width - 4, 72))) if console.color_system in ("truecolor", "256") else caption
    return Panel(body, title="desktop", subtitle=str(path), border_style="blue")


def _thumbnail(picture: desktop.Frame, columns: int) -> Text:
    """The picture in half-block characters, two pixels a cell."""
    from PIL import Image

    image = Image.frombytes("RGB", (picture.width, picture.height), picture.array.tobytes(), "raw", "BGRX")
    rows = max(1, picture.height * columns // picture.width // 2)
    pixels = image.resize((columns, rows * 2), Image.Resampling.BOX).tobytes()
    text = Text()
    for row in range(rows):
        for column in range(columns):
            upper, lower = (3 * (columns * line + column) for line in (2 * row, 2 * row + 1))
            text.append("▀", style="rgb({},{},{}) on rgb({},{},{})".format(*pixels[upper : upper + 3], *pixels[lower : lower + 3]))
        text.append("\n")
    text.rstrip()
    return text


def _activity_panel(recording: activity.Recording) -> Panel:
    table = Table(box=None, pad_edge=False, expand=True)
    for heading in ("application", "window", "element", "adapter"):
        table.add_column(heading, header_style="bold")
    for row in recording.observations()[-8:]:
        table.add_row(row.app_name or row.bundle_id, row.title or "", row.role or "", row.adapter)
    refused = recording.health.refusals.by_reason
    withheld = ", ".join(f"{count} x {reason}" for reason, count in sorted(refused.items())) or "nothing"
    return Panel(table, title="activity", subtitle=f"withheld and only counted: {withheld}", border_style="green")


def _terminal_panel(board: terminal.Terminal) -> Panel:
    assert board.tree is not None
    return Panel(
        Text(terminal.format_tree(board.tree), no_wrap=True, overflow="ellipsis"),
        title="terminal",
        subtitle=f"revision {board.revision}, tree and screen paired by its marker",
        border_style="magenta",
    )


def _summary(out: Path, recording: activity.Recording, first: int, board: terminal.Terminal) -> Table:
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_row("picture", str(out / "desktop.png"))
    table.add_row("record", f"{recording.data_dir / 'history.sqlite'} ({len(recording.observations())} observations)")
    table.add_row("terminal", f"revisions {first} to {board.revision}")
    return table
