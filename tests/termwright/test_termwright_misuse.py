"""What a caller gets who uses the terminal API wrongly: a refusal by code, at once, with nothing started, sent or left open."""

from __future__ import annotations

import asyncio
import math
import re
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from stopwatch_kit import Stopwatch
from termwright_kit import PATIENCE, run
from triptych.engine import terminal
from triptych.errors import LocalProtocolError, Unavailable, WaitTimeout


def descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def code_of(refused: pytest.ExceptionInfo[LocalProtocolError]) -> str:
    return refused.value.code


WRONG: list[tuple[str, dict[str, Any], str]] = [
    ("a command line as one text", {"program": "bash -c ls"}, "invalid-program"),
    ("nothing", {"program": []}, "invalid-program"),
    ("a number", {"program": ["echo", 5]}, "invalid-program"),
    ("a null character", {"program": ["echo", "a\0b"]}, "invalid-program"),
    ("text that no kernel takes", {"program": ["echo", "\ud800"]}, "invalid-program"),
    ("a variable with =", {"environment": {"A=B": "c"}}, "invalid-environment"),
    ("a variable without a name", {"environment": {"": "c"}}, "invalid-environment"),
    ("a variable that is no text", {"environment": {"A": None}}, "invalid-environment"),
    ("a variable with a null character", {"environment": {"A": "b\0"}}, "invalid-environment"),
    ("a negative window", {"ready_timeout": -1}, "out-of-range"),
    ("no number of seconds", {"ready_timeout": math.nan}, "out-of-range"),
    ("an unknown limit", {"limits": {"maxNodez": 5}}, "invalid-limits"),
    ("a limit of nothing", {"limits": {"maxNodes": 0}}, "invalid-limits"),
    ("a limit that is no number", {"limits": {"maxNodes": "5"}}, "invalid-limits"),
    ("a limit that is a truth value", {"limits": {"maxNodes": True}}, "invalid-limits"),
]


@pytest.mark.parametrize(("options", "code"), [pytest.param(options, code, id=name) for name, options, code in WRONG])
def test_arguments_that_are_none(options: dict[str, Any], code: str) -> None:
    async def main() -> None:
        before = descriptors()
        with pytest.raises(LocalProtocolError) as refused:
            async with terminal.launch(**{"program": ["true"], **options}):
                pass
        assert code_of(refused) == code
        assert descriptors() == before

    run(main)


def test_a_directory_that_is_not_there() -> None:
    async def main() -> None:
        with pytest.raises(Unavailable, match="no directory '/nonexistent'"):
            async with terminal.launch(["true"], directory="/nonexistent"):
                pass

    run(main)


def test_a_relative_program_is_looked_for_where_it_is_to_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "there").mkdir()
    script = tmp_path / "there" / "greet"
    script.write_text("#!/bin/sh\necho hello from $(basename $(pwd))\n")
    script.chmod(0o755)
    monkeypatch.chdir(tmp_path)

    async def main() -> None:
        for directory in (str(tmp_path / "there"), "there"):
            async with terminal.launch(["./greet"], directory=directory) as app:
                assert await app.exited(timeout=PATIENCE) == 0
                assert app.screen.text.strip() == "hello from there"
        with pytest.raises(Unavailable, match="no program"):
            async with terminal.launch(["./greet"]):
                pass

    run(main)


@pytest.mark.parametrize(("mode", "words"), [(0o644, "not executable"), (None, "is a directory")])
def test_a_program_that_is_none_is_told_what_it_is(tmp_path: Path, mode: int | None, words: str) -> None:
    path = tmp_path / "it"
    path.mkdir() if mode is None else path.write_text("echo hello")
    if mode is not None:
        path.chmod(mode)

    async def main() -> None:
        with pytest.raises(Unavailable, match=words):
            async with terminal.launch([str(path)]):
                pass

    run(main)


@pytest.mark.parametrize("key", [b"a", 5, ["a", "b"], None, ""])
def test_what_is_no_key(key: Any) -> None:
    async def main() -> None:
        async with terminal.launch(["cat"]) as app:
            with pytest.raises(LocalProtocolError) as refused:
                await app.press(key)
            assert code_of(refused) == "unknown-key"

    run(main)


@pytest.mark.parametrize("number", [0, 999, -1, "SIGTERM"])
def test_what_is_no_signal(number: Any) -> None:
    async def main() -> None:
        async with terminal.launch(["cat"]) as app:
            with pytest.raises(LocalProtocolError) as refused:
                await app.signal(number)
            assert code_of(refused) == "unknown-signal"
            assert app.exit_status is None

    run(main)


ACTS: list[tuple[str, Callable[[terminal.Terminal], Awaitable[None]]]] = [
    ("press", lambda app: app.press("a")),
    ("type", lambda app: app.type("a")),
    ("paste", lambda app: app.paste("a")),
]


@pytest.mark.parametrize("act", [pytest.param(act, id=name) for name, act in ACTS])
def test_nobody_reads_after_the_exit_and_nothing_is_done_after_the_block(act: Callable[[terminal.Terminal], Awaitable[None]]) -> None:
    async def main() -> None:
        async with terminal.launch(["true"]) as app:
            await app.exited(timeout=PATIENCE)
            with pytest.raises(LocalProtocolError) as refused:
                await act(app)
            assert (code_of(refused), refused.value.path) == ("not-actionable", "exited")
        with pytest.raises(Unavailable, match="block ended"):
            await act(app)

    run(main)


def test_a_pattern_can_be_waited_for() -> None:
    async def main() -> None:
        async with terminal.launch(["sh", "-c", "echo build 42 done; cat"]) as app:
            await app.wait_for_text(re.compile(r"build \d+ done"), timeout=PATIENCE)
            with pytest.raises(WaitTimeout, match="never"):
                await app.wait_for_text(re.compile("never"), timeout=0)

    run(main)


def test_a_timeout_that_is_no_number_is_no_wait_for_ever() -> None:
    async def main() -> None:
        async with terminal.launch(["cat"]) as app:
            for wait in (app.wait_for_text("never", timeout=math.nan), app.wait_quiet(timeout=math.nan)):
                with pytest.raises(LocalProtocolError) as refused:
                    await asyncio.wait_for(wait, PATIENCE)
                assert code_of(refused) == "out-of-range"

    run(main)


WAITS: list[tuple[str, Callable[[terminal.Terminal], Awaitable[object]]]] = [
    ("wait_for_text", lambda app: app.wait_for_text("never", timeout=PATIENCE)),
    ("wait_until", lambda app: app.wait_until(lambda: False, timeout=PATIENCE)),
    ("wait_quiet", lambda app: app.wait_quiet(PATIENCE / 2, timeout=PATIENCE)),
    ("wait_for_revision", lambda app: app.wait_for_revision(timeout=PATIENCE)),
    ("wait_for_log", lambda app: app.wait_for_log(timeout=PATIENCE)),
    ("exited", lambda app: app.exited()),
    ("click", lambda app: app.get_by_text("never").click(timeout=PATIENCE)),
    ("expect", lambda app: terminal.expect(app.get_by_text("never")).to_be_visible(timeout=PATIENCE)),
]


@pytest.mark.parametrize("wait", [pytest.param(wait, id=name) for name, wait in WAITS])
def test_leaving_the_block_ends_every_wait(wait: Callable[[terminal.Terminal], Awaitable[object]]) -> None:
    async def main() -> None:
        async with terminal.launch(["sleep", "1000"]) as app:
            waiting = asyncio.ensure_future(wait(app))
            await asyncio.sleep(0.01)
            assert not waiting.done()
        started = Stopwatch()
        await asyncio.wait([waiting], timeout=PATIENCE)
        assert waiting.done() and started.seconds() < 5
        waiting.exception()  # whichever it is, it has been looked at

    run(main)


@pytest.mark.parametrize("bytes_", [-1, 1.5, "10"])
def test_a_policy_of_no_bytes(bytes_: Any) -> None:
    with pytest.raises(ValueError, match="clipboard_bytes"):
        terminal.Policy(clipboard_bytes=bytes_)


def test_a_long_text_is_typed_quickly() -> None:
    async def main() -> None:
        async with terminal.launch(["sleep", "1000"]) as app:
            started = time.process_time()
            await app.type("many words, " * 20_000)
            assert time.process_time() - started < 1.0  # key by key it took five seconds

    run(main)
