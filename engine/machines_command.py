"""`triptych machines`: any lifecycle as a page, a diagram or data, drawn from the chart itself. `make gen` writes the same texts to docs/.

Everything here reads `lifecycle.rows`, so a diagram, a table and the chart that runs cannot drift apart.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterable
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal, get_args, get_origin

import click

from ..errors import Unavailable

if TYPE_CHECKING:
    from ..machines.lifecycle import Lifecycle

#: name → (protocol, class). The chart of `name` is machines/<protocol>/<name>.py; charts are imported only when they are printed.
CHARTS: dict[str, tuple[str, str]] = {
    "run": ("termwright", "Run"),
    "negotiation": ("termwright", "Negotiation"),
    "manager": ("collector", "Manager"),
    "collector": ("collector", "Collector"),
    "session": ("desklink", "Session"),
    "ice": ("desklink", "Ice"),
    "capture": ("desklink", "Capture"),
    "keeper": ("desklink", "Keeper"),
}
FORMATS = ("md", "mermaid", "json", "svg")


def load(name: str) -> type[Lifecycle[Any]]:
    """The chart of this name. Raises KeyError for a name that is not in `CHARTS`."""
    protocol, attribute = CHARTS[name]
    chart: type[Lifecycle[Any]] = getattr(import_module(f"..machines.{protocol}.{name}", __package__), attribute)
    return chart


def sentence(chart: type[Lifecycle[Any]]) -> str:
    """What the lifecycle is, in the one sentence of its class."""
    return _first_line(chart)


def arrows(chart: type[Lifecycle[Any]]) -> dict[tuple[str, str], tuple[str, ...]]:
    """(state, other state) → the events that may lead from one to the other: what the diagrams draw."""
    from ..machines.lifecycle import rows

    drawn: dict[tuple[str, str], dict[str, None]] = {}
    for row in rows(chart):
        if row.state != row.target:
            drawn.setdefault((row.state, row.target), {})[row.event] = None
    return {ends: tuple(events) for ends, events in drawn.items()}


def mermaid(name: str) -> str:
    """The diagram as Mermaid text."""
    from ..machines.lifecycle import finals, states

    chart = load(name)
    lines = ["stateDiagram-v2"]
    lines += [f'    state "{state}" as {_identifier(state)}' for state in states(chart) if _identifier(state) != state]
    lines.append(f"    [*] --> {_identifier(states(chart)[0])}")
    lines += [f"    {_identifier(a)} --> {_identifier(b)} : {', '.join(events)}" for (a, b), events in arrows(chart).items()]
    lines += [f"    {_identifier(state)} --> [*]" for state in states(chart) if state in finals(chart)]
    return "\n".join(lines) + "\n"


def markdown(name: str) -> str:
    """The page for people: the theory, the diagram, every transition, and what the events carry."""
    from ..machines.lifecycle import event_data, finals, rows, states

    chart = load(name)
    protocol = CHARTS[name][0]
    transitions = [
        (f"`{row.state}`", f"`{row.event}`", _guards(row.guards), f"`{row.target}`", _planned(chart, row.planner)) for row in rows(chart)
    ]
    guards = dict.fromkeys(guard.removeprefix("!") for row in rows(chart) for guard in row.guards)
    return "\n".join(
        [
            f"# {protocol}/{name}",
            "",
            sentence(chart),
            "",
            "```text",
            (inspect.getmodule(chart).__doc__ or "").strip(),
            "```",
            "",
            "The diagram leaves out what stays in its state; the table has everything. What is in neither is illegal and changes nothing.",
            "",
            "```mermaid",
            mermaid(name).rstrip(),
            "```",
            "",
            f"Initial: `{states(chart)[0]}`. Final: {', '.join(f'`{state}`' for state in states(chart) if state in finals(chart))}.",
            "",
            "## Transitions",
            "",
            "The first row that fits is taken.",
            "",
            *_table(("in", "event", "when", "to", "then"), transitions),
            *(("", "## Conditions", "") if guards else ()),
            *(_table(("when", "means"), [(f"`{guard}`", _first_line(getattr(chart, guard))) for guard in guards]) if guards else ()),
            "",
            "## What the events carry",
            "",
            *_table(
                ("event", "data"),
                [
                    (
                        f"`{event}`",
                        ", ".join(
                            f"`{key}`: {_type(datum.type)}{'' if datum.required else ', may be absent'}" for key, datum in data.items()
                        ),
                    )
                    for event, data in event_data(chart).items()
                ],
            ),
            "",
        ]
    )


def as_json(name: str) -> str:
    """Everything in the chart as one JSON object."""
    from ..machines.lifecycle import event_data, finals, rows, states

    chart = load(name)
    return (
        json.dumps(
            {
                "name": name,
                "protocol": CHARTS[name][0],
                "sentence": sentence(chart),
                "initial": states(chart)[0],
                "states": list(states(chart)),
                "finals": [state for state in states(chart) if state in finals(chart)],
                "events": {
                    event: {key: {"type": _type(datum.type), "required": datum.required} for key, datum in data.items()}
                    for event, data in event_data(chart).items()
                },
                "transitions": [
                    {"state": row.state, "event": row.event, "when": list(row.guards), "target": row.target, "then": row.planner}
                    for row in rows(chart)
                ],
            },
            indent=2,
            ensure_ascii=False,
        )
        + "\n"
    )


def svg(name: str) -> str:
    """The diagram as SVG, by Graphviz. Raises Unavailable when pydot or the `dot` program is missing."""
    from ..machines.lifecycle import finals, states

    try:
        import pydot
    except ImportError:
        raise Unavailable("pydot is not installed", "pip install pydot") from None
    chart = load(name)
    graph = pydot.Dot(name, graph_type="digraph", fontname="sans-serif", nodesep="0.4", ranksep="0.6")
    graph.add_node(pydot.Node("__start", shape="circle", label="", width="0.15", style="filled", fillcolor="black"))
    for state in states(chart):
        peripheries = "2" if state in finals(chart) else "1"
        graph.add_node(
            pydot.Node(f'"{state}"', shape="box", style="rounded", fontname="sans-serif", fontsize="12", peripheries=peripheries)
        )
    graph.add_edge(pydot.Edge("__start", f'"{states(chart)[0]}"'))
    for (source, target), events in arrows(chart).items():
        label = '"' + "\\n".join(events) + '"'
        graph.add_edge(pydot.Edge(f'"{source}"', f'"{target}"', label=label, fontname="sans-serif", fontsize="10"))
    try:
        drawn: Any = graph.create(format="svg")
    except OSError:
        raise Unavailable("the program `dot` of Graphviz is not installed", "apt-get install graphviz") from None
    return str(drawn.decode())


@click.command("machines")
@click.argument("name", required=False, type=click.Choice(list(CHARTS)), metavar="[NAME]")
@click.option("--format", "form", type=click.Choice(FORMATS), help="How to print it. The default is md; svg needs Graphviz.")
def machines_command(name: str | None, form: str | None) -> None:
    """Print the lifecycle NAME as a page, a diagram or data; without NAME, list them all."""
    if name is not None:
        click.echo({"md": markdown, "mermaid": mermaid, "json": as_json, "svg": svg}[form or "md"](name), nl=False)
    elif form in (None, "json"):
        listed = [{"name": each, "protocol": protocol, "sentence": sentence(load(each))} for each, (protocol, _) in CHARTS.items()]
        if form == "json":
            click.echo(json.dumps(listed, indent=2))
            return
        for entry in listed:
            click.echo(f"{entry['name']:12} {entry['protocol']:11} {entry['sentence']}")
    else:
        raise click.UsageError(f"--format {form} needs a NAME: {', '.join(CHARTS)}")


def _first_line(documented: object) -> str:
    return (inspect.getdoc(documented) or "").split("\n\n")[0].replace("\n", " ")


def _identifier(state: str) -> str:
    return state.replace("-", "_")


def _guards(guards: tuple[str, ...]) -> str:
    return " and ".join(f"not `{guard[1:]}`" if guard.startswith("!") else f"`{guard}`" for guard in guards)


def _planned(chart: type[Lifecycle[Any]], planner: str | None) -> str:
    return _first_line(getattr(chart, planner)) if planner else ""


def _type(declared: Any) -> str:
    if get_origin(declared) is Literal:
        return " or ".join(get_args(declared))
    if get_origin(declared) is tuple:
        return f"list of {_type(get_args(declared)[0])}"
    return str(declared.__name__)


def _table(header: tuple[str, ...], body: Iterable[tuple[str, ...]]) -> list[str]:
    return [f"| {' | '.join(row)} |" for row in (header, tuple("---" for _ in header), *body)]
