"""`triptych terminal`: run a terminal program, show what a person and an assistive tool would see of it, record it.

engine/cli.py adds it. What is printed holds no control character of a program's: it goes to a person's terminal.
"""

from __future__ import annotations

import functools
import math
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from ..adapters.termwright.screen import Screen
    from ..generated.termwright.models import Snapshot
    from .terminal import Terminal

#: Seconds without output after which a program is taken to have drawn what it has to draw.
QUIET = 0.2
#: What runs a program under the Textual probe.
PROBE_MODULE = "triptych.adapters.termwright.textual_probe"
FOLDER, FILE = click.Path(path_type=Path, file_okay=False), click.Path(path_type=Path, dir_okay=False)


@click.group("terminal")
def terminal_command() -> None:
    """See and drive terminal programs (termwright/3).

    Write -- before the program: triptych terminal screen -- htop
    """


class Finite(click.FloatRange):
    """A number that a clock can count to: neither infinite nor `nan`, which no comparison would ever end."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The number; a usage error for what is none."""
        number = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value!r} is not a finite number", param, ctx)
        return number


SECONDS = Finite(min=0)


def _size(context: click.Context, parameter: click.Parameter, value: str) -> tuple[int, int]:
    columns, cross, rows = value.lower().partition("x")
    if not (cross and columns.isascii() and columns.isdigit() and rows.isascii() and rows.isdigit()):
        raise click.BadParameter("write columns x rows, such as 100x30")
    if not (1 <= int(columns) <= 1000 and 1 <= int(rows) <= 1000):
        raise click.BadParameter("from 1x1 to 1000x1000 cells")
    return int(columns), int(rows)


def _variables(context: click.Context, parameter: click.Parameter, values: tuple[str, ...]) -> dict[str, str]:
    named = [value.partition("=") for value in values]
    if any(not (name and equals) for name, equals, _ in named):
        raise click.BadParameter("write NAME=VALUE")
    return {name: value for name, _, value in named}


@dataclass(frozen=True)
class Launch:
    """How a command runs its program; the options that all of them have."""

    program: tuple[str, ...]
    size: tuple[int, int]
    env: dict[str, str]
    inherit_env: bool
    directory: str | None
    probe: bool
    grapheme_clusters: bool
    tree_timeout: float
    timeout: float
    record: Path | None

    @asynccontextmanager
    async def start(self) -> AsyncIterator[Terminal]:
        """The running program, recorded when that was asked for."""
        import sys
        from contextlib import ExitStack

        from . import terminal

        columns, rows = self.size
        policy = terminal.Policy(grapheme_clusters=self.grapheme_clusters)
        under = [sys.executable, "-m", PROBE_MODULE, "--"] if self.probe else []
        with ExitStack() as recording:
            observers = []
            if self.record is not None:
                from ..adapters.termwright.recording import Recorder

                observers.append(recording.enter_context(Recorder(self.record, program=self.program, policy=policy)))
            async with terminal.launch(
                [*under, *self.program],
                columns=columns,
                rows=rows,
                environment=self.env,
                inherit=self.inherit_env,
                directory=self.directory,
                ready_timeout=self.tree_timeout,
                policy=policy,
                observers=observers,
            ) as app:
                yield app


def launching(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the program and its options, as one `Launch`."""

    @click.option("--size", default="80x24", show_default=True, callback=_size, help="Columns x rows of the terminal.")
    @click.option("--env", multiple=True, metavar="NAME=VALUE", callback=_variables, help="A variable for the program; repeatable.")
    @click.option("--inherit-env", is_flag=True, help="Pass on all variables, and not only PATH, HOME, LANG and the like.")
    @click.option("--directory", type=click.Path(file_okay=False, exists=True), help="Where the program runs.")
    @click.option("--probe", is_flag=True, help="Run it under our Textual probe, as `triptych terminal probe` does.")
    @click.option("--grapheme-clusters", is_flag=True, help="Start with mode 2027 on: joined emoji are one wide cell.")
    @click.option("--tree-timeout", default=5.0, show_default=True, type=SECONDS, help="Seconds that an adapter has to connect.")
    @click.option("--timeout", default=10.0, show_default=True, type=SECONDS, help="Seconds to wait for the first tree, and for silence.")
    @click.option("--record", type=FOLDER, metavar="DIR", help="Record into this folder, new or empty; `show` replays it.")
    @click.argument("program", nargs=-1, required=True)
    @functools.wraps(command)
    def launched(**given: Any) -> None:
        options = {name: given.pop(name) for name in Launch.__dataclass_fields__}
        command(Launch(**options), **given)

    return launched


@terminal_command.command("run")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object: revision, tree, screen, exit_status, diagnostics.")
@click.option("--keys", default="", help="Keys to press once the program is quiet, separated by spaces: 'tab tab enter'.")
@click.option("--type", "text", default="", help="Text to type after the keys.")
@launching
def run(launch: Launch, as_json: bool, keys: str, text: str) -> None:
    """Run PROGRAM, wait until it is quiet, press keys, and print its semantic tree, or its screen when it has none; then end it.

    triptych terminal run --keys "tab enter" -- python -m termwright_probe -- python app.py
    """

    async def main() -> str:
        async with launch.start() as app:
            await _tree_or_none(app, launch.timeout)
            await _quiet(app, launch.timeout)
            await _press(app, keys.split(), text, launch.timeout)
            return _everything(app) if as_json else _tree(app.tree) if app.tree is not None else _coloured(app.screen)

    _print(main)


@terminal_command.command("tree")
@click.option("--json", "as_json", is_flag=True, help="Print the snapshot as it came over the wire.")
@launching
def tree(launch: Launch, as_json: bool) -> None:
    """Run PROGRAM until its first semantic tree has settled, and print the tree. Fails when the program has none."""

    async def main() -> str:
        async with launch.start() as app:
            await app.wait_for_revision(timeout=launch.timeout)
            await _quiet(app, launch.timeout)
            assert app.tree is not None
            return _json(app.tree) if as_json else _tree(app.tree)

    _print(main)


@terminal_command.command("screen")
@click.option("--png", type=FILE, metavar="FILE", help="Write a picture instead of printing the text.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object: columns, rows, cursor, cursor_visible, lines.")
@launching
def screen(launch: Launch, png: Path | None, as_json: bool) -> None:
    """Run PROGRAM until it has drawn its screen, and print the screen, or write a picture of it."""

    async def main() -> str:
        async with launch.start() as app:
            await _drawn(app, launch)
            return _show_screen(app.screen, png, as_json)

    _print(main)


def acting(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command that acts once the options for what it waits for and prints afterwards, as one `Then`."""

    @click.option("--wait-text", default="", metavar="TEXT", help="Then wait until the screen shows this; fails when it does not.")
    @click.option("--tree", "as_tree", is_flag=True, help="Print the tree instead of the screen.")
    @click.option("--json", "as_json", is_flag=True, help="Print one JSON object: revision, tree, screen, exit_status, diagnostics.")
    @functools.wraps(command)
    def acted(**given: Any) -> None:
        options = {name: given.pop(name) for name in Then.__dataclass_fields__}
        command(then=Then(**options), **given)

    return acted


@dataclass(frozen=True)
class Then:
    """What a command that acts waits for and prints afterwards."""

    wait_text: str
    as_tree: bool
    as_json: bool

    async def show(self, app: Terminal, timeout: float) -> str:
        """What is to be printed once the text is there."""
        from ..errors import Unavailable

        if self.wait_text:
            await app.wait_for_text(self.wait_text, timeout=timeout)
        if self.as_json:
            return _everything(app)
        if not self.as_tree:
            return _coloured(app.screen)
        if app.tree is None:
            raise Unavailable("the program has no semantic tree", "run it under a Termwright probe, or leave out --tree")
        return _tree(app.tree)


@terminal_command.command("press")
@click.option("--type", "text", default="", help="Text to type after the keys.")
@click.argument("keys")
@acting
@launching
def press(launch: Launch, then: Then, keys: str, text: str) -> None:
    """Run PROGRAM, press KEYS ('tab tab enter', one argument) once it has drawn its screen, and print the screen after that."""

    async def main() -> str:
        async with launch.start() as app:
            await (_tree_or_none(app, launch.timeout) if then.as_tree else _drawn(app, launch))
            await _press(app, keys.split(), text, launch.timeout)
            return await then.show(app, launch.timeout)

    _print(main)


@terminal_command.command("click")
@click.option("--role", help="The role of what is clicked: then TARGET is a part of its name.")
@click.argument("target")
@acting
@launching
def click_command(launch: Launch, then: Then, target: str, role: str | None) -> None:
    """Run PROGRAM, click on TARGET, and print the screen after that. TARGET is a test id ('#approve') or a text ('Approve').

    It is clicked where the program proves that it receives the pointer, and nowhere else.
    """

    async def main() -> str:
        async with launch.start() as app:
            if role is not None:
                found = app.get_by_role(role, name=target)
            else:
                found = app.get_by_test_id(target[1:]) if target.startswith("#") else app.get_by_text(target)
            await found.click(timeout=launch.timeout)
            await _quiet(app, launch.timeout)
            return await then.show(app, launch.timeout)

    _print(main)


@terminal_command.command("probe")
@click.argument("program", nargs=-1, required=True)
def probe(program: tuple[str, ...]) -> None:
    """Become PROGRAM, a Textual program, under our probe: whoever drives it sees its tree, and it is the same program otherwise.

    triptych terminal run -- triptych terminal probe -- python app.py
    """
    from ..adapters.termwright.textual_probe.launcher import run as become

    become(program)


def _moment(context: click.Context, parameter: click.Parameter, value: str | None) -> int | float | None:
    """A whole number is a revision; `1.5`, `2s` or `0.25s` are seconds."""
    if value is None:
        return None
    try:
        if value.endswith("s") or "." in value:
            seconds = float(value.removesuffix("s"))
            if 0 <= seconds < float("inf"):
                return seconds
        elif int(value) > 0:
            return int(value)
    except ValueError:
        pass
    raise click.BadParameter("write a revision, such as 3, or seconds, such as 1.5 or 2s")


@terminal_command.command("show")
@click.option("--at", callback=_moment, metavar="REVISION|SECONDS", help="Not all of it, but revision 3, or the moment 1.5 or 2s.")
@click.option("--speed", default=1.0, show_default=True, type=Finite(min=0, min_open=True), help="Times faster than it was.")
@click.option("--idle-limit", type=SECONDS, metavar="SECONDS", help="Shorten longer pauses to this.")
@click.option("--tree", "as_tree", is_flag=True, help="Print only the semantic tree.")
@click.option("--png", type=FILE, metavar="FILE", help="Write a picture of the screen.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object: at, revision, tree, screen, actions, duration, exit_status.")
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
def show(
    at: int | float | None, speed: float, idle_limit: float | None, as_tree: bool, png: Path | None, as_json: bool, folder: Path
) -> None:
    """Replay the recording in DIR on this terminal; where the output is no terminal, print its last screen and tree."""
    import signal
    import sys

    from ..adapters.termwright.recording import Recording
    from ..errors import Unavailable
    from . import terminal_replay

    recording = Recording.read(folder)
    if sys.stdout.isatty() and at is None and not (as_tree or png or as_json):

        def write(drawn: str) -> None:
            sys.stdout.write(drawn)
            sys.stdout.flush()

        for number in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.default_int_handler)  # so that the terminal is given back as at Ctrl-C
        click.echo(_coloured(terminal_replay.play(recording, write, speed=speed, idle_limit=idle_limit)))
        return
    if isinstance(at, int):
        seen, moment = terminal_replay.screen_of(recording, at), recording.revision(at).at
    else:
        moment = recording.ended_at if at is None else at
        seen = terminal_replay.screen_at(recording, moment)
    published = recording.revision(at) if isinstance(at, int) else recording.revision_at(moment)
    if as_json:
        told: dict[str, Any] = {"at": moment, "revision": 0, "tree": None}
        if published is not None:
            told |= {"revision": published.revision, "tree": published.tree}
        actions = [action for action in recording.actions if action["at"] <= moment]
        told |= {"screen": seen.text, "actions": actions, "duration": recording.duration, "exit_status": recording.meta.get("exit_status")}
        click.echo(_json(told))
    elif png is not None:
        click.echo(_show_screen(seen, png, False))
    elif as_tree:
        if published is None:
            raise Unavailable("no semantic tree had been published by then")
        click.echo(_tree(published.tree))
    else:
        click.echo(_coloured(seen))
        if published is not None:
            click.echo(f"--- revision {published.revision}, {published.at:.3f} s\n{_tree(published.tree)}")


def _print(main: Callable[[], Coroutine[Any, Any, str]]) -> None:
    """Run it, and print what it answers. SIGTERM and SIGHUP end it as Ctrl-C does: with the program, and with all that was made for it."""
    import asyncio
    import signal

    async def interruptible() -> str:
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        assert task is not None
        for number in (signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(number) != signal.SIG_IGN:  # as under nohup
                loop.add_signal_handler(number, task.cancel)
        return await main()

    try:
        click.echo(asyncio.run(interruptible()))
    except asyncio.CancelledError:
        raise click.Abort from None


async def _tree_or_none(app: Terminal, timeout: float) -> None:
    """Wait for the first tree. Without an adapter there is none, and the screen is shown instead."""
    from ..errors import Unavailable

    with suppress(Unavailable):
        await app.wait_for_revision(timeout=timeout)


async def _drawn(app: Terminal, launch: Launch) -> None:
    """Wait until something was printed and the program is quiet; and for the first tree, where an adapter has attached."""
    from ..errors import WaitTimeout

    with suppress(WaitTimeout):
        await app.wait_until(lambda: app.exit_status is not None or bool(app.screen.text.strip()), timeout=launch.tree_timeout)
    await _quiet(app, launch.timeout)
    if app.exit_status is None and any(note.code == "adapter-attached" for note in app.diagnostics):
        await _tree_or_none(app, launch.timeout)
        await _quiet(app, launch.timeout)


async def _press(app: Terminal, keys: list[str], text: str, timeout: float) -> None:
    """One key after the other, each when the program has answered the one before; none when there is one that is no key."""
    from ..machines.termwright.keys import split_key

    for key in keys:
        split_key(key)
    for key in keys:
        if app.exit_status is not None:  # told with the answer; nobody reads the rest
            return
        await app.press(key)
        await _quiet(app, timeout)
    if text and app.exit_status is None:
        await app.type(text)
        await _quiet(app, timeout)


async def _quiet(app: Terminal, timeout: float) -> None:
    """Let the program draw. One that never stops drawing is looked at when the time is over."""
    from ..errors import WaitTimeout

    with suppress(WaitTimeout):
        await app.wait_quiet(QUIET, timeout=timeout)


def _tree(snapshot: Snapshot) -> str:
    from .screen_ansi import printable
    from .terminal import format_tree

    return printable(format_tree(snapshot))


def _coloured(screen: Screen) -> str:
    """In colour on a terminal, else as plain text."""
    import sys

    from .screen_ansi import ansi_screen, printable

    return ansi_screen(screen) if sys.stdout.isatty() else printable(screen.text)


def _show_screen(screen: Screen, png: Path | None, as_json: bool) -> str:
    if png is not None:
        from ..errors import Unavailable
        from . import screen_picture

        try:
            png.write_bytes(screen_picture.png(screen))
        except OSError as cause:
            raise Unavailable(f"{png} cannot be written: {cause.strerror}") from None
        if not as_json:
            return str(png)
    if not as_json:
        return _coloured(screen)
    told = {"columns": screen.columns, "rows": screen.rows, "cursor": screen.cursor, "cursor_visible": screen.cursor_visible}
    return _json({**told, "lines": screen.lines})


def _everything(app: Terminal) -> str:
    notes = [{"at": note.at, "code": note.code, "detail": note.detail} for note in app.diagnostics]
    told = {"revision": app.revision, "tree": app.tree, "screen": app.screen.text, "exit_status": app.exit_status, "diagnostics": notes}
    return _json(told)


def _json(value: object) -> str:
    import msgspec

    return msgspec.json.encode(value).decode()
