"""The dormant rule, byte for byte: without the environment nothing differs, and with it only the first interpreter speaks to the driver."""

from __future__ import annotations

import asyncio
import os
import pty
import select
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from probe_kit import PATIENCE, PROBE, PROGRAMS
from triptych.adapters.termwright.pty import set_size
from triptych.adapters.termwright.textual_probe.launcher import STARTUP, main, probed_environment
from triptych.engine import terminal

PLAIN = (sys.executable, str(PROGRAMS / "probe_plain.py"))
VARIABLES = {"TERMWRIGHT_ENDPOINT": "/nowhere/semantic.sock", "TERMWRIGHT_TOKEN": "t"}
#: A terminal that answers nothing makes Textual wait for no answer; what it prints depends on its keys alone.
KEYS = (b"\r", b"c", b"q")


def environment(**more: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name in ("PATH", "HOME", "LANG", "TMPDIR")}
    return {**kept, "TERM": "xterm-256color", "COLORTERM": "truecolor", "PYTHONDONTWRITEBYTECODE": "1", **more}


def screenplay(program: Sequence[str], variables: Mapping[str, str]) -> tuple[bytes, int]:
    """All that a program prints on a terminal that is quiet before each key, and its exit status."""
    master, slave = pty.openpty()
    set_size(slave, 60, 12)
    child = subprocess.Popen(program, stdin=slave, stdout=slave, stderr=slave, env=dict(variables), start_new_session=True)
    os.close(slave)
    printed = bytearray()

    def listen(quiet: float) -> None:
        deadline = time.monotonic() + PATIENCE
        while select.select([master], [], [], quiet)[0]:
            assert time.monotonic() < deadline
            try:
                data = os.read(master, 1 << 16)
            except OSError:
                return
            if not data:
                return
            printed.extend(data)

    try:
        while b"Press" not in printed:
            listen(0.05)
            assert child.poll() is None, printed
        listen(0.7)
        for key in KEYS:
            os.write(master, key)
            listen(0.7)
        status = child.wait(PATIENCE)
        listen(0.1)
    finally:
        if child.poll() is None:
            child.kill()
            child.wait()
        os.close(master)
    return bytes(printed), status


@pytest.mark.slow
def test_the_same_bytes_with_and_without_the_probe_when_nobody_drives() -> None:
    alone, status = screenplay(PLAIN, environment())
    assert status == 7
    assert b"pressed" in alone
    assert b"child" in alone
    assert screenplay(PLAIN, environment()) == (alone, status)
    assert screenplay([*PROBE, *PLAIN], environment()) == (alone, status)
    half = environment(TERMWRIGHT_ENDPOINT="/nowhere")
    assert screenplay([*PROBE, *PLAIN], half) == (alone, status)


@pytest.mark.slow
def test_the_same_bytes_when_the_driver_is_not_there() -> None:
    alone = screenplay(PLAIN, environment())
    assert screenplay([*PROBE, *PLAIN], environment(**VARIABLES)) == alone


def test_the_environment_is_untouched_unless_somebody_drives() -> None:
    for given in ({}, {"PYTHONPATH": "/mine"}, {"TERMWRIGHT_ENDPOINT": "/e"}, {"TERMWRIGHT_TOKEN": "t", "TERMWRIGHT_ENDPOINT": ""}):
        assert probed_environment(given) == given
    assert probed_environment({**VARIABLES})["PYTHONPATH"] == STARTUP
    assert probed_environment({**VARIABLES, "PYTHONPATH": "/mine"})["PYTHONPATH"] == f"{STARTUP}{os.pathsep}/mine"


SHOW = """
import os, subprocess, sys
def told():
    return [os.environ.get(name, "-") for name in ("TERMWRIGHT_ENDPOINT", "TERMWRIGHT_TOKEN", "PYTHONPATH")]
watchers = [type(finder).__name__ for finder in sys.meta_path if "Watch" in type(finder).__name__]
print(told(), any("textual_probe" in entry for entry in sys.path), watchers, flush=True)
if "child" not in sys.argv:
    subprocess.run([sys.executable, __file__, "child"])
"""


def shown(tmp_path: Path, **variables: str) -> list[str]:
    program = tmp_path / "show.py"
    program.write_text(SHOW)
    run = subprocess.run(
        [*PROBE, sys.executable, str(program)], env=environment(**variables), capture_output=True, text=True, check=True, timeout=PATIENCE
    )
    assert run.stderr == ""
    return run.stdout.splitlines()


def test_only_the_first_interpreter_claims_and_leaves_nothing_behind(tmp_path: Path) -> None:
    first, child = shown(tmp_path, **VARIABLES)
    assert first == "['-', '-', '-'] False ['_Watcher']"
    assert child == "['-', '-', '-'] False []"
    first, child = shown(tmp_path, **VARIABLES, PYTHONPATH="/mine")
    assert first == "['-', '-', '/mine'] False ['_Watcher']"
    assert child == "['-', '-', '/mine'] False []"


def test_the_interpreter_s_own_sitecustomize_runs_as_ever(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("print('mine', __name__)\n")
    first, *_ = shown(tmp_path, **VARIABLES, PYTHONPATH=str(tmp_path))
    assert first == "mine sitecustomize"
    (tmp_path / "sitecustomize.py").write_text("import nothing_of_that_name\n")
    program = [*PROBE, sys.executable, "-c", "print('runs')"]
    broken = subprocess.run(program, env=environment(**VARIABLES, PYTHONPATH=str(tmp_path)), capture_output=True, text=True, check=False)
    plain = subprocess.run(program[-3:], env=environment(PYTHONPATH=str(tmp_path)), capture_output=True, text=True, check=False)
    assert (broken.returncode, broken.stdout) == (plain.returncode, plain.stdout)


def test_an_interpreter_that_cannot_load_the_probe_says_so_in_the_debug_file_only(tmp_path: Path) -> None:
    debug = tmp_path / "debug"
    hidden = tmp_path / "triptych"
    hidden.mkdir()
    (hidden / "__init__.py").write_text("raise ImportError('not here')\n")
    program = [sys.executable, "-c", "import os; print(os.environ.get('TERMWRIGHT_TOKEN'))"]
    given = environment(**VARIABLES, TERMWRIGHT_DEBUG_FILE=str(debug), PYTHONPATH=f"{STARTUP}{os.pathsep}{tmp_path}")
    run = subprocess.run(program, env=given, capture_output=True, text=True, check=True)
    assert (run.stdout, run.stderr) == ("None\n", "")
    assert "cannot load the probe: not here" in debug.read_text()


def test_a_textual_that_the_probe_does_not_know_runs_without_it(tmp_path: Path) -> None:
    package = tmp_path / "textual"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "app.py").write_text("class App: ...\n")
    debug = tmp_path / "debug"
    code = "import textual.app; print(textual.app.App.__name__, type(textual.app.__spec__.loader).__name__)"
    program = [*PROBE, sys.executable, "-c", code]
    given = environment(**VARIABLES, TERMWRIGHT_DEBUG_FILE=str(debug), PYTHONPATH=str(tmp_path))
    run = subprocess.run(program, env=given, capture_output=True, text=True, check=True)
    assert (run.stdout, run.stderr) == ("App SourceFileLoader\n", "")
    assert "cannot be tied to this Textual" in debug.read_text()


def test_a_program_that_is_not_there(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments, status in ((["--", "no-such-program"], 127), (["/etc/passwd"], 126), (["--"], 2), ([], 2)):
        with pytest.raises(SystemExit) as left:
            main(arguments)
        assert left.value.code == status
        assert capsys.readouterr().err


def test_the_exit_status_of_the_program_is_its_own_under_a_driver() -> None:
    async def drive() -> None:
        async with terminal.launch([*PROBE, *PLAIN], columns=60, rows=12, ready_timeout=PATIENCE) as app:
            tree = await app.wait_for_revision(timeout=PATIENCE)
            assert next(node for node in tree.nodes if node.test_id == "title").role == "heading"
            await app.press("q")
            assert await app.exited(timeout=PATIENCE) == 7

    asyncio.run(drive())
