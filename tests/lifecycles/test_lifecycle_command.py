"""`triptych machines`: the list, each form of each lifecycle, and its refusals."""

from __future__ import annotations

import html
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from triptych.engine.machines_command import CHARTS, machines_command
from triptych.errors import Unavailable
from triptych.tools.gen_transitions import REPOSITORY

EACH = pytest.mark.parametrize("name", list(CHARTS))


def answer(*arguments: str) -> str:
    result = CliRunner().invoke(machines_command, list(arguments))
    assert result.exit_code == 0, result.output
    return result.output


def test_without_a_name_it_lists_the_eight() -> None:
    lines = answer().splitlines()
    assert [line.split()[:2] for line in lines] == [[name, protocol] for name, (protocol, _) in CHARTS.items()]
    assert len(lines) == 8
    assert all(line.endswith(".") for line in lines)
    listed = json.loads(answer("--format", "json"))
    assert [entry["name"] for entry in listed] == list(CHARTS)
    assert all(entry["sentence"] in line for entry, line in zip(listed, lines, strict=True))


@EACH
def test_the_printed_page_is_the_one_in_the_docs(name: str) -> None:
    docs = REPOSITORY / "docs" / "lifecycles"
    assert (docs / f"{name}.md").read_text(encoding="utf-8").endswith(answer(name))
    assert answer(name) == answer(name, "--format", "md")
    assert (docs / f"{name}.mmd").read_text(encoding="utf-8").endswith(answer(name, "--format", "mermaid"))
    assert answer(name, "--format", "mermaid") in answer(name).replace("\n```\n\nInitial", "\n\nInitial")
    assert json.loads(answer(name, "--format", "json")) == json.loads((docs / f"{name}.json").read_text(encoding="utf-8"))


@EACH
def test_the_diagram_as_svg(name: str) -> None:
    if shutil.which("dot") is None:
        pytest.skip("Graphviz is not installed: apt-get install graphviz")
    drawn = answer(name, "--format", "svg")
    assert "<svg" in drawn
    drawn = html.unescape(drawn)
    for state in json.loads(answer(name, "--format", "json"))["states"]:
        assert f">{state}</text>" in drawn


def test_svg_without_graphviz_is_one_line_with_the_remedy(tmp_path: Path) -> None:
    code = "from triptych.engine.cli import main; main()"
    command = [sys.executable, "-c", code, "machines", "keeper", "--format", "svg"]
    done = subprocess.run(command, env={"PATH": str(tmp_path)}, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "triptych: the program `dot` of Graphviz is not installed (apt-get install graphviz)\n"


def test_svg_without_pydot_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pydot", None)
    result = CliRunner().invoke(machines_command, ["keeper", "--format", "svg"])
    assert isinstance(result.exception, Unavailable)
    assert (result.exception.reason, result.exception.remedy) == ("pydot is not installed", "pip install pydot")


@pytest.mark.parametrize(
    "arguments", [["nothing"], ["keeper", "--format", "png"], ["--format", "svg"], ["--format", "md"], ["keeper", "ice"]]
)
def test_wrong_usage_is_exit_2(arguments: list[str]) -> None:
    result = CliRunner().invoke(machines_command, arguments)
    assert result.exit_code == 2
    assert "Usage" in result.output


def test_the_charts_are_imported_only_when_they_are_printed() -> None:
    code = "import sys, triptych.engine.machines_command; sys.exit('statemachine' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
