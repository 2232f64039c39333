"""`triptych conformance`: check any adapter against its protocol, or vector files against our library. engine/cli.py adds it."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from .conformance.findings import Check, Report


@click.group("conformance")
def conformance_command() -> None:
    """Check an adapter, in any language, against its protocol."""


_FILE = click.Path(dir_okay=False, path_type=Path)
_DECLARE = click.option(
    "--declare", type=click.Path(exists=True, dir_okay=False, path_type=Path), help='JSON {"check": "why it deviates"}.'
)
_ALLOW_SKIP = click.option("--allow-skip", multiple=True, metavar="NAME", help="A check that must be skipped, and may be; repeatable.")
_ONLY = click.option("--only", multiple=True, metavar="NAME", help="Run only this check; repeatable.")
_JSON = click.option("--json", "json_file", type=_FILE, help="Write the report as JSON.")
_JUNIT = click.option("--junit", "junit_file", type=_FILE, help="Write the report as JUnit XML.")
_LIST = click.option("--list", "list_checks", is_flag=True, help="List the checks, their clauses and rules.")


@conformance_command.command("termwright")
@click.option(
    "--vectors", type=click.Path(exists=True, file_okay=False, path_type=Path), help="Run the vector files of this folder instead."
)
@click.option(
    "--fixture", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="Manifest by which the claims are proved too."
)
@_DECLARE
@_ALLOW_SKIP
@_ONLY
@_JSON
@_JUNIT
@_LIST
@click.argument("program", nargs=-1)
@click.pass_context
def termwright(
    context: click.Context,
    vectors: Path | None,
    fixture: Path | None,
    declare: Path | None,
    allow_skip: tuple[str, ...],
    only: tuple[str, ...],
    json_file: Path | None,
    junit_file: Path | None,
    list_checks: bool,
    program: tuple[str, ...],
) -> None:
    """Run PROGRAM, which holds a termwright/3 adapter, through every check, one line each.

    Exit code 0: nothing failed, and exactly the checks given with --allow-skip were skipped.

    \b
    triptych conformance termwright -- python -m termwright_probe -- python app.py
    triptych conformance termwright --vectors clients/test-vectors
    """
    if vectors is not None:
        if program or json_file or junit_file:
            raise click.UsageError("--vectors runs without a program and writes no report")
        context.exit(_vectors(vectors))
    from .conformance.suite import CHECKS

    if list_checks:
        _list(CHECKS)
        return
    if not program:
        raise click.UsageError("name the PROGRAM after --, or give --vectors DIR")
    declared = _declarations(declare)
    _known(CHECKS, allow_skip, only, declared)
    report = _run(program, fixture, declared, only)
    _write(report, allow_skip, json_file, junit_file)
    context.exit(0 if report.certifies(allow_skip) else 1)


@conformance_command.command("collector")
@click.option(
    "--adapter-table",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="A JSON file of more applications, which are let in too (schema: triptych schema collector AdapterTable).",
)
@_DECLARE
@_ALLOW_SKIP
@_ONLY
@_JSON
@_JUNIT
@_LIST
@click.argument("program", nargs=-1)
@click.pass_context
def collector(
    context: click.Context,
    adapter_table: Path | None,
    declare: Path | None,
    allow_skip: tuple[str, ...],
    only: tuple[str, ...],
    json_file: Path | None,
    junit_file: Path | None,
    list_checks: bool,
    program: tuple[str, ...],
) -> None:
    """Run PROGRAM, a collector in any language, through every check of the collector protocol, one line each.

    It is started many times, with this environment; texts of real windows stand in no report. docs/conformance.md tells what each check
    means, and how a collector is given made-up facts.

    Exit code 0: nothing failed, and exactly the checks given with --allow-skip were skipped.

    \b
    triptych conformance collector -- triptych activity collect
    triptych conformance collector --junit report.xml -- ./my-collector
    """
    from .conformance.collector_suite import CHECKS

    if list_checks:
        _list(CHECKS)
        return
    if not program:
        raise click.UsageError("name the PROGRAM after --")
    declared = _declarations(declare)
    _known(CHECKS, allow_skip, only, declared)
    report = _run_collector(program, adapter_table, declared, only)
    _write(report, allow_skip, json_file, junit_file)
    context.exit(0 if report.certifies(allow_skip) else 1)


def _vectors(directory: Path) -> int:
    from .conformance.vectors import run_vectors

    tally = run_vectors(directory)
    for line in tally.lines():
        click.echo(line)
    return 1 if tally.mismatches else 0


def _list(checks: Mapping[str, Check]) -> None:
    for check in checks.values():
        click.echo(f"{check.name:<24} {check.rule} [{check.clause}]")


def _known(checks: Mapping[str, Check], allow_skip: Iterable[str], only: Iterable[str], declared: Iterable[str]) -> None:
    for option, names in (("--allow-skip", allow_skip), ("--only", only), ("--declare", declared)):
        for name in names:
            if name not in checks:
                raise click.UsageError(f"{option}: there is no check {name!r}; --list lists them")


def _declarations(path: Path | None) -> dict[str, str]:
    import msgspec

    if path is None:
        return {}
    try:
        return msgspec.json.decode(path.read_bytes(), type=dict[str, str])
    except msgspec.MsgspecError as cause:
        raise click.UsageError(f"{path} must map check names to reasons: {cause}") from None


def _run(program: tuple[str, ...], fixture: Path | None, declared: dict[str, str], only: tuple[str, ...]) -> Report:
    import asyncio

    from .conformance.fixture import read_fixture
    from .conformance.report import line
    from .conformance.suite import run_suite

    manifest = None if fixture is None else read_fixture(fixture)
    return asyncio.run(run_suite(program, fixture=manifest, declared=declared, only=only, tell=lambda outcome: click.echo(line(outcome))))


def _run_collector(program: tuple[str, ...], adapter_table: Path | None, declared: dict[str, str], only: tuple[str, ...]) -> Report:
    import asyncio

    from ..adapters.collector.adapter_file import read_adapter_table
    from .conformance.collector_suite import run_collector_suite
    from .conformance.report import line

    table = read_adapter_table(adapter_table)
    return asyncio.run(
        run_collector_suite(program, table=table, declared=declared, only=only, tell=lambda outcome: click.echo(line(outcome)))
    )


def _write(report: Report, allowed: tuple[str, ...], json_file: Path | None, junit_file: Path | None) -> None:
    from .conformance.report import as_json, as_junit, summary

    for path, text in ((json_file, as_json), (junit_file, None)):
        if path is not None:
            path.write_text(as_json(report, allowed) + "\n" if text is not None else as_junit(report), "utf-8")
    click.echo("\n" + summary(report, allowed))
    sys.stdout.flush()
