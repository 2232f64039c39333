"""Writes what is made from the charts: the flat tables in generated/, and for each lifecycle its page, its diagram and its data in docs/.

    python -m triptych.tools.gen_transitions

`make gen` runs it. The same charts give the same bytes, on every machine; SVG differs between machines, so `make docs` draws it.
"""

from __future__ import annotations

from pathlib import Path

from ..engine.machines_command import CHARTS, as_json, load, markdown, mermaid, sentence
from ..machines.lifecycle import flat_table

REPOSITORY = Path(__file__).resolve().parents[1]


def transitions(protocol: str) -> str:
    """The module generated/<protocol>/transitions.py."""
    lines = [
        f"# Written by `make gen` from the charts in machines/{protocol}/. Do not edit: change the chart and run `make gen`.",
        f'"""The lifecycles of {protocol} as flat tables: (state, event) → where it may lead; a pair that is missing is illegal."""',
        "",
        "from __future__ import annotations",
        "",
        "TABLES: dict[str, dict[tuple[str, str], tuple[str, ...]]] = {",
    ]
    for name, (owner, _) in CHARTS.items():
        if owner == protocol:
            lines += [f'    "{name}": {{', *_entries(name), "    },"]
    return "\n".join([*lines, "}", ""])


def index() -> str:
    """The page that lists the lifecycles."""
    lines = [
        "<!-- Written by `make gen` from machines/. Do not edit. -->",
        "",
        "# The lifecycles",
        "",
        "Each is one chart in one file. Its page, its diagram and its flat table are drawn from the chart that runs.",
        "",
        "| lifecycle | protocol | |",
        "| --- | --- | --- |",
        *(f"| [{name}]({name}.md) | {protocol} | {sentence(load(name))} |" for name, (protocol, _) in CHARTS.items()),
        "",
        "```{toctree}",
        ":hidden:",
        "",
        *CHARTS,
        "```",
        "",
    ]
    return "\n".join(lines)


def texts() -> dict[str, str]:
    """Every generated file: its path below the repository, and what is in it."""
    written = {f"generated/{protocol}/transitions.py": transitions(protocol) for protocol in dict.fromkeys(p for p, _ in CHARTS.values())}
    for name, (protocol, _) in CHARTS.items():
        banner = f"Written by `make gen` from machines/{protocol}/{name}.py. Do not edit."
        written[f"docs/lifecycles/{name}.md"] = f"<!-- {banner} -->\n\n{markdown(name)}"
        written[f"docs/lifecycles/{name}.mmd"] = f"%% {banner}\n{mermaid(name)}"
        written[f"docs/lifecycles/{name}.json"] = as_json(name)
    written["docs/lifecycles/index.md"] = index()
    return written


def main(root: Path | None = None) -> tuple[Path, ...]:
    """Write every file below `root` (default: this repository); answers their paths."""
    paths = []
    for name, text in texts().items():
        path = (root or REPOSITORY) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        paths.append(path)
    print(f"lifecycles: {', '.join(CHARTS)}")
    return tuple(paths)


def _entries(name: str) -> list[str]:
    return [f"        {_pair(key)}: {_tuple(targets)}," for key, targets in flat_table(load(name)).items()]


def _pair(key: tuple[str, str]) -> str:
    return f'("{key[0]}", "{key[1]}")'


def _tuple(words: tuple[str, ...]) -> str:
    return "(" + ", ".join(f'"{word}"' for word in words) + ("," if len(words) == 1 else "") + ")"


if __name__ == "__main__":
    main()
