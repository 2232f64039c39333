"""The commands of `triptych desktop` that see and drive a display through its session's daemon; engine/desktop_command.py adds them.

Exit codes: 0 done, 1 could not be done (`error: …` and `suggestion: …` on stderr; with --json the whole answer on stdout), 2 wrong usage.
"""

from __future__ import annotations

import functools
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from ...errors import LocalProtocolError, ProtocolError, TriptychError
from .. import picture_pipe
from .answers import EFFECTS, batch_outcome, text
from .client import DEFAULT_IDLE_SECONDS, IDLE_VARIABLE, Refused, ask, started, stopped

F = TypeVar("F", bound=Callable[..., Any])
SESSION_VARIABLE = "TRIPTYCH_DESKTOP_SESSION"


def _target_options(command: F) -> F:
    """What every command takes: which session, and how to say the answer."""
    options = (
        click.option("--json", "as_json", is_flag=True, help="Print the answer as one JSON object."),
        click.option("--display", metavar=":N", help="The X display; $DISPLAY by default."),
        click.option(
            "--session", metavar="NAME", envvar=SESSION_VARIABLE, help="A session of its own name; by default one for each display."
        ),
    )
    for option in options:
        command = option(command)
    return command


def _input_options(command: F) -> F:
    """What every command takes that acts."""
    options = (
        click.option("--timeout", type=click.IntRange(0, 120_000), default=5000, show_default=True, metavar="MS", help="Ends the waiting."),
        click.option("--wait", metavar="WHAT", help="Then wait for `settle`, `change` or milliseconds, and tell what changed."),
    )
    for option in options:
        command = option(command)
    return command


def _command(name: str) -> Callable[[Callable[..., dict[str, Any]]], click.Command]:
    """A command whose function returns the request."""

    def made(function: Callable[..., dict[str, Any]]) -> click.Command:
        @functools.wraps(function)
        def run(session: str | None, display: str | None, as_json: bool, **given: Any) -> None:
            _finish(lambda: ask(function(**given), session, display), as_json)

        return click.command(name)(_target_options(run))

    return made


def _finish(work: Callable[[], dict[str, Any]], as_json: bool, show: Callable[[dict[str, Any]], None] | None = None) -> None:
    """Do the work, print its answer, and end with the exit code that belongs to it. `show` prints it for a person."""
    try:
        answer = work()
    except (TriptychError, OSError) as error:
        refused = error.answer if isinstance(error, Refused) else _answer(error)
        if as_json:
            click.echo(json.dumps(refused, ensure_ascii=False))
        else:
            effect = refused.get("effect", "none")
            _say_error(refused["error"] | ({"message": f"{refused['error']['message']}; it {EFFECTS[effect]}"} if effect != "none" else {}))
        sys.exit(2 if refused["error"]["code"] == "usage" else 1)
    if as_json:
        click.echo(json.dumps(answer, ensure_ascii=False))
    else:
        (show or _print_answer)(answer)
    if not answer["ok"]:
        if not as_json:
            last = answer["steps"][-1]["error"]
            _say_error({"message": batch_outcome(answer), "suggestion": last["suggestion"]})
        sys.exit(1)


def _print_answer(answer: dict[str, Any]) -> None:
    if answer["command"] == "clipboard" and "text" in answer:
        _print_clipboard(answer)
    else:
        click.echo(text(answer))


def _print_picture(answer: dict[str, Any]) -> None:
    """The picture itself, in place of the file that the daemon wrote."""
    path = Path(answer["path"])
    try:
        picture_pipe.write(path.read_bytes())
    finally:
        path.unlink(missing_ok=True)


def _print_clipboard(answer: dict[str, Any]) -> None:
    """The text as it is, for a pipe; without control characters, for a terminal, which would obey them."""
    shown: str = answer["text"]
    if person := sys.stdout.isatty():
        shown = "".join(letter if letter.isprintable() or letter in "\n\t" else "\N{REPLACEMENT CHARACTER}" for letter in shown)
    click.echo(shown, nl=person)
    if answer["truncated"]:
        click.echo("the clipboard holds more than this", err=True)


def _answer(error: TriptychError | OSError) -> dict[str, Any]:
    from .refusals import refusal

    return {"ok": False, "error": refusal(error), "effect": "none"}


def _say_error(error: dict[str, Any]) -> None:
    click.echo(f"error: {error['message']}", err=True)
    if error["suggestion"]:
        click.echo(f"suggestion: {error['suggestion']}", err=True)


def _with(request: dict[str, Any], **given: Any) -> dict[str, Any]:
    """The request with what was given; what was left out keeps the daemon's default."""
    return request | {name: value for name, value in given.items() if value is not None and value is not False and value != ()}


def _acting(request: dict[str, Any], wait: str | None, timeout: int, **given: Any) -> dict[str, Any]:
    return _with(request, wait=_number_or_word(wait), timeout=timeout if wait is not None else None, **given)


def _number_or_word(word: str | None) -> int | str | None:
    return int(word) if word is not None and word.isascii() and word.isdigit() else word


def _text_or_stdin(given: str) -> str:
    return sys.stdin.buffer.read().decode() if given == "-" else given


@click.command("start")
@click.option(
    "--idle",
    type=click.FloatRange(min=0, max=1e9),
    envvar=IDLE_VARIABLE,
    default=DEFAULT_IDLE_SECONDS,
    show_default=True,
    metavar="SECONDS",
    help="End when nobody has asked anything for so long; 0: never.",
)
@click.option("--view-only", is_flag=True, help="A session that can only look: no input, no clipboard.")
@click.option("--no-indicator", is_flag=True, help="Do not show people at the display what the agent does.")
@_target_options
def start_command(session: str | None, display: str | None, as_json: bool, idle: float, view_only: bool, no_indicator: bool) -> None:
    """Start the session of a display. Every other command starts it by itself; this one sets its options.

    It says so when the session runs already, which keeps the options it has.
    """

    def work() -> dict[str, Any]:
        from ...adapters.desklink.agent_socket import private_folder
        from .where import which

        folder = private_folder()
        where = which(session, display, folder)
        said = started(folder, where, idle_seconds=idle, control=not view_only, indicator=not no_indicator)
        return {**ask({"command": "health"}, where.name, display, start=False), "command": "start", "started": said is not None}

    _finish(work, as_json)


@click.command("stop")
@_target_options
def stop_command(session: str | None, display: str | None, as_json: bool) -> None:
    """End a session. Everything it holds is released first."""
    _finish(lambda: stopped(session, display), as_json)


@click.command("health")
@_target_options
def health_command(session: str | None, display: str | None, as_json: bool) -> None:
    """Say how a session is; exit code 1 when none runs. It never waits for other commands."""
    _finish(lambda: ask({"command": "health"}, session, display, start=False), as_json)


@click.command("shot")
@_target_options
@click.argument("path", required=False, type=click.Path(dir_okay=False))
@click.option("--region", metavar="X,Y,W,H", help="Only this part: pixels, a region of the latest diff (r1), or a window (w1).")
@click.option("--mark", is_flag=True, help="Draw a frame around each region that changed since the last look, or in the latest diff.")
def shot_command(session: str | None, display: str | None, as_json: bool, path: str | None, region: str | None, mark: bool) -> None:
    """Write the picture to PATH as PNG, for your eyes only, or to stdout for `-`; without PATH into the session's private folder."""
    piped = picture_pipe.check(path, as_json)
    request = _with({"command": "shot"}, path=None if path is None or piped else str(Path(path).absolute()), region=region, mark=mark)
    _finish(lambda: ask(request, session, display), as_json, _print_picture if piped else None)


@_command("diff")
def diff_command() -> dict[str, Any]:
    """Say what has changed since the last look: regions (r1, r2, …), and windows that came, went or changed their title.

    A region that changed three times within 600 ms by itself is marked `animating`.
    """
    return {"command": "diff"}


@_command("click")
@click.argument("at", nargs=-1, required=True, metavar="X,Y")
@click.option("--button", type=click.Choice(["left", "middle", "right"]), default="left", show_default=True)
@click.option("--double", is_flag=True, help="Click twice.")
@click.option("--count", type=click.IntRange(1, 3), default=1, help="Click so many times.")
@click.option("--holding", multiple=True, metavar="MODIFIER", help="With a modifier down, such as Control; repeatable.")
@_input_options
def click_command(
    at: tuple[str, ...], button: str, double: bool, count: int, holding: tuple[str, ...], wait: str | None, timeout: int
) -> dict[str, Any]:
    """Click at X,Y, in the middle of a region of the latest diff (r1), or of a window (w1)."""
    many = max(count, 2 if double else 1)
    request = {"command": "click", "at": _place(at)}
    return _acting(request, wait, timeout, button=button, count=many, holding=holding)


@_command("move")
@click.argument("at", nargs=-1, required=True, metavar="X,Y")
@_input_options
def move_command(at: tuple[str, ...], wait: str | None, timeout: int) -> dict[str, Any]:
    """Put the pointer at X,Y, on a region (r1) or a window (w1)."""
    return _acting({"command": "move", "at": _place(at)}, wait, timeout)


@_command("drag")
@click.argument("start", metavar="FROM")
@click.argument("end", metavar="TO")
@click.option("--button", type=click.Choice(["left", "middle", "right"]), default="left", show_default=True)
@_input_options
def drag_command(start: str, end: str, button: str, wait: str | None, timeout: int) -> dict[str, Any]:
    """Press a button at FROM, move, and release it at TO."""
    return _acting({"command": "drag", "from": start, "to": end}, wait, timeout, button=button)


@_command("scroll")
@click.argument("direction", type=click.Choice(["up", "down", "left", "right"]))
@click.option("--amount", type=click.IntRange(1, 100), default=3, show_default=True, help="Clicks of the wheel.")
@click.option("--at", metavar="X,Y", help="Put the pointer there first.")
@_input_options
def scroll_command(direction: str, amount: int, at: str | None, wait: str | None, timeout: int) -> dict[str, Any]:
    """Turn the wheel, where the pointer is."""
    return _acting({"command": "scroll", "direction": direction}, wait, timeout, amount=amount, at=at)


@_command("type")
@click.argument("text")
@click.option("--at", metavar="X,Y", help="Click there first.")
@click.option("--submit", is_flag=True, help="Press Enter afterwards.")
@click.option("--unicode", is_flag=True, help="Type characters too that the keyboard layout lacks.")
@_input_options
def type_command(text: str, at: str | None, submit: bool, unicode: bool, wait: str | None, timeout: int) -> dict[str, Any]:
    """Type TEXT into what has the focus; `-` reads it from stdin. A character that cannot be typed is named, and nothing is typed."""
    request = {"command": "type", "text": _text_or_stdin(text)}
    return _acting(request, wait, timeout, at=at, submit=submit, unicode=unicode)


@_command("press")
@click.argument("keys", nargs=-1, required=True)
@_input_options
def press_command(keys: tuple[str, ...], wait: str | None, timeout: int) -> dict[str, Any]:
    """Press KEYS one after another: names (Enter, F5, ArrowDown), characters, or chords such as Control+Shift+t."""
    return _acting({"command": "press", "keys": keys}, wait, timeout)


@_command("wait")
@click.argument("until", metavar="change|settle|MS|TEXT")
@click.option("--timeout", type=click.IntRange(0, 120_000), default=5000, show_default=True, metavar="MS")
def wait_command(until: str, timeout: int) -> dict[str, Any]:
    """Wait for a change, until nothing changes any more, for MS milliseconds, or until a window's title contains TEXT.

    What animates by itself counts neither as a change nor against settling. Text inside a picture is not read.
    """
    return {"command": "wait", "until": _number_or_word(until), "timeout": timeout}


@_command("windows")
def windows_command() -> dict[str, Any]:
    """List the windows (w1, w2, …), top first: title, class, process, place, and which is active."""
    return {"command": "windows"}


@click.group("clipboard")
def clipboard_command() -> None:
    """Read or write the display's clipboard."""


@clipboard_command.command("read")
@_target_options
def clipboard_read_command(session: str | None, display: str | None, as_json: bool) -> None:
    """Print the text on the clipboard."""
    _finish(lambda: ask({"command": "clipboard"}, session, display), as_json)


@clipboard_command.command("write")
@click.argument("text")
@_target_options
def clipboard_write_command(text: str, session: str | None, display: str | None, as_json: bool) -> None:
    """Put TEXT on the clipboard; `-` reads it from stdin. It stays there while the session runs."""
    _finish(lambda: ask({"command": "clipboard", "text": _text_or_stdin(text)}, session, display), as_json)


@_command("batch")
@click.argument("steps", default="-")
def batch_command(steps: str) -> dict[str, Any]:
    """Carry out a JSON array of 1 to 30 steps in one go, up to the first that fails; `-`, or nothing, reads it from stdin.

    A step is the command and its options: [{"command": "click", "at": "640,360"}, {"command": "type", "text": "hi", "wait": "settle"}]
    """
    try:
        value = json.loads(_text_or_stdin(steps))
    except (ValueError, RecursionError) as error:
        raise LocalProtocolError("usage", f"the steps are not JSON: {error}") from None
    if not isinstance(value, list):
        raise LocalProtocolError("usage", "the steps are a JSON array")
    return {"command": "batch", "steps": value}


@click.command("daemon", hidden=True)
@click.option("--session", required=True)
@click.option("--display")
@click.option("--idle", type=float, required=True)
@click.option("--lock", type=int)
@click.option("--view-only", is_flag=True)
@click.option("--no-indicator", is_flag=True)
def daemon_command(session: str, display: str | None, idle: float, lock: int | None, view_only: bool, no_indicator: bool) -> None:
    """Be the process behind a session; the other commands start it."""
    from .daemon import Settings, main

    sys.exit(main(Settings(session, display, idle, control=not view_only, indicator=not no_indicator), lock))


def home(as_json: bool) -> None:
    """What `triptych desktop` says by itself: the session of $DISPLAY and its windows, or how to begin."""
    try:
        answer: dict[str, Any] | None = ask({"command": "home"}, os.environ.get(SESSION_VARIABLE) or None, None, start=False)
    except ProtocolError:
        raise
    except TriptychError as error:
        answer, why = None, str(error)
    if as_json:
        click.echo(json.dumps(answer or {"ok": True, "command": "home", "session": None, "reason": why}, ensure_ascii=False))
        return
    click.echo(text(answer) if answer else why)
    click.echo("see: shot, diff, windows   act: click, type, press, scroll, drag, move   then: wait, clipboard, batch, health, stop")
    click.echo("each explains itself: triptych desktop click --help")


def _place(words: tuple[str, ...]) -> str:
    """`640,360` or `640 360`."""
    return ",".join(words)


COMMANDS: tuple[click.Command, ...] = (
    *(start_command, stop_command, health_command, shot_command, diff_command, windows_command, click_command, move_command),
    *(drag_command, scroll_command, type_command, press_command, wait_command, clipboard_command, batch_command, daemon_command),
)
"""What engine/desktop_command.py adds to its group."""
