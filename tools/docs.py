"""The entry of `make docs`: the documentation as HTML in docs/_build/html, with each lifecycle's diagram as SVG.

SVG text differs between machines, so it is made here and never checked in. The checked-in pages keep Mermaid, which code hosts draw. A link
to a lifecycle that stands alone on its line, in a page of this folder, becomes the diagram.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

from ..engine.machines_command import CHARTS, svg
from .bundle import REPOSITORY

ALONE = re.compile(r"^(\[The diagram of [^\]]+\]\(lifecycles/\w+)\.md\)$", re.MULTILINE)
MERMAID = re.compile(r"^```mermaid\n.*?^```$", re.DOTALL | re.MULTILINE)


def build(docs: Path = REPOSITORY / "docs", out: Path | None = None) -> Path:
    """Build the pages of `docs`; the folder with index.html. Raises CalledProcessError when Sphinx warns, Unavailable without Graphviz."""
    out = out or docs / "_build"
    source, html = out / "source", out / "html"
    shutil.rmtree(out, ignore_errors=True)
    shutil.copytree(docs, source, ignore=shutil.ignore_patterns("_build"))
    for name in CHARTS:
        (source / "lifecycles" / f"{name}.svg").write_text(svg(name), encoding="utf-8")
        page = source / "lifecycles" / f"{name}.md"
        text, drawn = MERMAID.subn(f"![The diagram of {name}]({name}.svg)", page.read_text(encoding="utf-8"))
        assert drawn == 1, f"{page} has {drawn} Mermaid diagrams"
        page.write_text(text, encoding="utf-8")
    for page in source.glob("*.md"):
        page.write_text(ALONE.sub(r"!\1.svg)", page.read_text(encoding="utf-8")), encoding="utf-8")
    command = [sys.executable, "-m", "sphinx", "--fail-on-warning", "--keep-going", "--quiet", "-b", "html", str(source), str(html)]
    subprocess.run(command, check=True)
    return html


if __name__ == "__main__":
    print(build() / "index.html")
