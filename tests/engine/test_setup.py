"""The set-up refuses what it cannot use with one clear line, before it touches anything."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]


def setup(python: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["make", "--no-print-directory", "setup", f"PYTHON={python}"],
        cwd=REPOSITORY,
        env={**os.environ, "MAKEFLAGS": ""},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_a_python_that_is_too_old_is_named_with_the_remedy(tmp_path: Path) -> None:
    old = tmp_path / "an old" / "python3"
    old.parent.mkdir()
    old.write_text('#!/bin/sh\n[ "$1" = --version ] && echo "Python 3.9.2" && exit 0\nexit 1\n')
    old.chmod(0o755)
    answer = setup(str(old))
    first, *_ = answer.stderr.splitlines()
    assert answer.returncode == 2
    assert first == "setup: Python 3.9.2 is too old: Triptych needs Python 3.11 or newer; run make with PYTHON=/path/to/python3.11"


def test_a_python_that_is_not_there_is_named_with_the_remedy() -> None:
    answer = setup("/nonexistent/python3")
    assert answer.returncode == 2
    assert answer.stderr.startswith("setup: no /nonexistent/python3 here; install Python 3.11 or newer")
