"""The documentation builds without a warning, every diagram drawn, and what it tells a newcomer to type works as typed."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from triptych.engine.machines_command import CHARTS
from triptych.tools.docs import build

REPOSITORY = Path(__file__).resolve().parents[2]
BLOCKS = re.findall(r"```python\n(.*?)```", (REPOSITORY / "docs" / "getting-started.md").read_text(encoding="utf-8"), re.DOTALL)


@pytest.mark.slow
def test_it_builds_without_a_warning_and_draws_every_diagram(tmp_path: Path) -> None:
    html = build(out=tmp_path / "built")
    for name in CHARTS:
        assert f"{name}.svg" in (html / "lifecycles" / f"{name}.html").read_text(encoding="utf-8")
        assert list((html / "_images").glob(f"{name}.svg"))
    for page in ("termwright", "collector", "desklink"):
        assert (html / "protocols" / f"{page}.html").exists()


@pytest.mark.slow
@pytest.mark.display
@pytest.mark.parametrize(
    ("number", "part"), [(0, "Version 2.4 is approved"), (1, "(700, 1000, 4)")], ids=["drive a terminal program", "see and drive a display"]
)
def test_the_getting_started_programs_work_as_typed(tmp_path: Path, number: int, part: str) -> None:
    file = tmp_path / "typed.py"
    file.write_text(BLOCKS[number], encoding="utf-8")
    answer = subprocess.run([sys.executable, file], cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
    assert answer.returncode == 0, answer.stderr
    assert part in answer.stdout


def test_every_program_of_the_page_is_tried() -> None:
    assert len(BLOCKS) == 2
