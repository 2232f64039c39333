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


def programs(page: str) -> list[str]:
    return re.findall(r"```python\n(.*?)```", (REPOSITORY / page).read_text(encoding="utf-8"), re.DOTALL)


#: (page, number of the program on it, what it must print)
TYPED = [
    ("docs/getting-started.md", 0, "Version 2.4 is approved"),
    ("docs/getting-started.md", 1, "(700, 1000, 4)"),
    ("README.md", 0, 'text "Version 2.4 is approved" #status'),
    ("README.md", 1, "(800, 1280, 4) 1 ((0, 0, 1280, 800),)"),
    ("README.md", 2, "withheld:"),
]


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
@pytest.mark.parametrize(("page", "number", "part"), TYPED)
def test_the_programs_work_as_typed(tmp_path: Path, page: str, number: int, part: str) -> None:
    file = tmp_path / "typed.py"
    file.write_text(programs(page)[number].replace("asyncio.sleep(60)", "asyncio.sleep(1)"), encoding="utf-8")
    answer = subprocess.run([sys.executable, file], cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
    assert answer.returncode == 0, answer.stderr
    assert part in answer.stdout


def test_every_program_of_these_pages_is_tried() -> None:
    pages = {page for page, _, _ in TYPED}
    assert [(page, number) for page, number, _ in TYPED] == [
        (page, number) for page in sorted(pages, reverse=True) for number in range(len(programs(page)))
    ]
