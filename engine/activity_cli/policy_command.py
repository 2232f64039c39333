"""`triptych activity policy`: what may be recorded. Changes go to the host that runs, and are in force when the command returns."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from ...errors import TriptychError
from ...generated.collector.vocabulary import COMPANION_BROWSER_BUNDLE_ID
from .options import data_option, json_option
from .spelling import print_json

if TYPE_CHECKING:
    from ...adapters.collector.open_programs import OpenProgram
    from ...machines.collector.consents import ConsentKind
    from ...machines.collector.policy import Policy, Rule

Action = Literal["allow", "deny", "protect"]
SURFACES = ("editor", "terminal", "document", "window")  # a browser is recorded through its companion only
CONSENTS: tuple[tuple[str, ConsentKind, str], ...] = (
    ("web sites", "browser-origin", "a paired browser"),
    ("workspaces", "editor-workspace", "a paired editor"),
)


@click.group("policy", invoke_without_command=True)
@data_option
@json_option
@click.pass_context
def policy_command(context: click.Context, data_dir: Path, as_json: bool) -> None:
    """Say what may be recorded: applications, files, sites, workspaces. Without a sub-command, list it.

    Only applications that are allowed are recorded, and a rule that denies or protects always wins. ID is a .desktop file name, such as
    org.gnome.TextEditor.desktop, or a program's name; with * in it, it stands for all that fit.
    """
    context.obj = data_dir
    if context.invoked_subcommand is None:
        _list(data_dir, as_json, everything=False)


def _or_of_the_group(context: click.Context, parameter: click.Parameter, value: Path | None) -> Path:
    """The directory that was named behind the sub-command, else before it."""
    found = value or context.find_object(Path)
    assert found is not None
    return found


_own_data = click.option(
    "--data",
    "own_data",
    type=click.Path(path_type=Path, file_okay=False),
    callback=_or_of_the_group,
    show_default="$XDG_DATA_HOME/triptych/activity",
    help="The data directory.",
)


@policy_command.command("list")
@_own_data
@click.option("--all", "everything", is_flag=True, help="The built-in rules too, one by one.")
@json_option
def list_command(own_data: Path, everything: bool, as_json: bool) -> None:
    """List the rules and consents in force."""
    _list(own_data, as_json, everything)


@policy_command.command("allow")
@_own_data
@click.argument("ids", metavar="[ID]...", nargs=-1)
@click.option("--dry-run", is_flag=True, help="Only show which open programs it would let in.")
@json_option
def allow_command(own_data: Path, ids: tuple[str, ...], dry_run: bool, as_json: bool) -> None:
    """Let applications in, and show which programs that are open now it lets in. Without an ID, show what is open, with its ids.

    What is open is asked at this moment, and not stored.
    """
    if ids:
        _put_apps(own_data, "allow", ids, as_json, dry_run)
    else:
        _show_open(own_data, as_json)


@policy_command.command("deny")
@_own_data
@click.argument("ids", metavar="ID...", nargs=-1, required=True)
@json_option
def deny_command(own_data: Path, ids: tuple[str, ...], as_json: bool) -> None:
    """Keep applications out, whatever else lets them in."""
    _put_apps(own_data, "deny", ids, as_json)


@policy_command.command("protect")
@_own_data
@click.argument("ids", metavar="ID...", nargs=-1, required=True)
@json_option
def protect_command(own_data: Path, ids: tuple[str, ...], as_json: bool) -> None:
    """Treat applications like password managers: kept out, and counted as protected-app."""
    _put_apps(own_data, "protect", ids, as_json)


@policy_command.command("remove")
@_own_data
@click.argument("names", metavar="ID...", nargs=-1, required=True)
@json_option
def remove_command(own_data: Path, names: tuple[str, ...], as_json: bool) -> None:
    """Take back rules: by application id, by pattern, or by the rule's name as `policy list` shows it."""
    from ...errors import LocalProtocolError
    from .policy import NO_SUCH_RULE, change_policy, stored_policy

    own = stored_policy(own_data).own_rules
    found: list[str] = []
    for name in names:
        these = [rule.id for rule in own if name == rule.id] or [rule.id for rule in own if name == rule.pattern]
        if not these:
            raise LocalProtocolError(NO_SUCH_RULE, f"no rule of yours is about {name}; see: triptych activity policy list")
        found += these
    policy = change_policy(own_data, remove=tuple(dict.fromkeys(found)))
    _changed(policy, as_json, [f"removed  {name}" for name in names])


@policy_command.command("resource")
@_own_data
@click.argument("action", type=click.Choice(["deny", "protect"]))
@click.argument("patterns", metavar="PATTERN...", nargs=-1, required=True)
@click.option(
    "--matcher", type=click.Choice(["exact", "prefix", "glob"]), help="How it is compared; without it, glob where there is a *, else exact."
)
@json_option
def resource_command(own_data: Path, action: Action, patterns: tuple[str, ...], matcher: str | None, as_json: bool) -> None:
    """Keep out files, addresses and titles that fit a pattern, such as '*/diary/*' or 'https://mail.example.org/*'."""
    from .policy import change_policy

    rules = [_rule(action, "resource", pattern, matcher) for pattern in patterns]
    _changed(change_policy(own_data, rules), as_json, [f"{_PAST[action]}  {pattern}" for pattern in patterns])


@policy_command.command("sites")
@_own_data
@click.argument("mode", type=click.Choice(["all", "selected", "none"]), required=False)
@click.argument("targets", metavar="[ORIGIN]...", nargs=-1)
@json_option
def sites_command(own_data: Path, mode: Literal["all", "selected", "none"] | None, targets: tuple[str, ...], as_json: bool) -> None:
    """Say which web sites a paired browser may report: all, selected ones (such as https://example.org), or none."""
    _consent(own_data, "browser-origin", mode, targets, as_json)


@policy_command.command("workspaces")
@_own_data
@click.argument("mode", type=click.Choice(["all", "selected", "none"]), required=False)
@click.argument("targets", metavar="[FOLDER]...", nargs=-1)
@json_option
def workspaces_command(own_data: Path, mode: Literal["all", "selected", "none"] | None, targets: tuple[str, ...], as_json: bool) -> None:
    """Say which workspaces of editors may be recorded: all, selected folders, or none.

    In the modes selected and none, what an editor without its companion shows is not recorded: only a companion vouches for a workspace.
    """
    _consent(own_data, "editor-workspace", mode, tuple(str(Path(target).expanduser().absolute()) for target in targets), as_json)


@policy_command.command("retention")
@_own_data
@click.option("--hours", type=int, help="How long an observation is kept, 1 to 720.")
@click.option("--days", type=int, help="How long an episode is kept, 1 to 365.")
@json_option
def retention_command(own_data: Path, hours: int | None, days: int | None, as_json: bool) -> None:
    """Show, or set, how long what is recorded from now on is kept."""
    import time

    from ...adapters.collector.control_socket import NoHost, ask
    from ...adapters.collector.store import Retention, Store

    now_ms = time.time_ns() // 1_000_000
    try:
        kept = Retention(**ask(own_data, "retention", hours=hours, days=days)["retention"])
    except NoHost:
        with Store(own_data, now_ms) as store:
            kept = store.retention()
            if hours is not None or days is not None:
                kept = store.set_retention(
                    kept.observation_hours if hours is None else hours, kept.episode_days if days is None else days, now_ms
                )
    if as_json:
        print_json(kept)
    else:
        click.echo(f"observations are kept {kept.observation_hours} hours, episodes {kept.episode_days} days")


@policy_command.group("adapter")
def adapter_command() -> None:
    """Make more applications known. Only known applications can be recorded, whatever is allowed."""


@adapter_command.command("list")
@_own_data
@json_option
def adapter_list_command(own_data: Path, as_json: bool) -> None:
    """List the known applications: those that come with the program, and yours."""
    import msgspec

    from .adapters import known_adapters, own_adapters

    own = {adapter.id for adapter in own_adapters(own_data)}
    adapters = known_adapters(own_data).adapters
    if as_json:
        print_json([{**msgspec.to_builtins(adapter), "own": adapter.id in own} for adapter in adapters])
        return
    for adapter in adapters:
        ids = (*adapter.ids.linux, *adapter.ids.win32, *adapter.ids.darwin)
        click.echo(f"{adapter.surface_kind.ljust(9)} {adapter.id}{' (yours)' if adapter.id in own else ''}: {', '.join(ids)}")


@adapter_command.command("add")
@_own_data
@click.argument("bundle_id", metavar="ID")
@click.option("--surface", type=click.Choice(SURFACES), required=True, help="What its windows are.")
@click.option("--no-titles", is_flag=True, help="Never record the titles of its windows.")
@click.option("--folders", is_flag=True, help="Its documents are folders.")
@click.option("--window-only", is_flag=True, help="Record its window even where its focused element cannot be asked for.")
@json_option
def adapter_add_command(
    own_data: Path, bundle_id: str, surface: Any, no_titles: bool, folders: bool, window_only: bool, as_json: bool
) -> None:
    """Make an application known, by its .desktop file name or program name."""
    import msgspec

    from .adapters import add_adapter

    entry = add_adapter(
        own_data,
        bundle_id,
        surface,
        titles=not no_titles,
        documents="directory" if folders else "file",
        focus="window-only" if window_only else "require",
    )
    if as_json:
        print_json(msgspec.to_builtins(entry))
    else:
        click.echo(f"known as {entry.id}: {bundle_id}")
    _take_over(own_data, as_json)


@adapter_command.command("remove")
@_own_data
@click.argument("bundle_id", metavar="ID")
@json_option
def adapter_remove_command(own_data: Path, bundle_id: str, as_json: bool) -> None:
    """Forget an application that you have added."""
    import msgspec

    from .adapters import remove_adapter

    entry = remove_adapter(own_data, bundle_id)
    if as_json:
        print_json(msgspec.to_builtins(entry))
    else:
        click.echo(f"no longer known: {bundle_id}")
    _take_over(own_data, as_json)


_PAST = {"allow": "allowed", "deny": "denied", "protect": "protected"}


def _rule(action: Action, dimension: Literal["app", "resource"], pattern: str, matcher: str | None = None) -> Rule:
    from ...machines.collector.policy import Rule

    prefix = action if dimension == "app" else f"{action}:resource"
    chosen: Any = matcher or ("glob" if "*" in pattern else "exact")
    return Rule(f"{prefix}:{pattern}", dimension, action, chosen, pattern)


def _put_apps(data_dir: Path, action: Action, ids: Sequence[str], as_json: bool, dry_run: bool = False) -> None:
    from ...machines.collector.policy import checked_rules
    from .adapters import known_adapters
    from .policy import change_policy, changed_rules, stored_policy

    rules = [_rule(action, "app", identifier) for identifier in ids]
    if dry_run:
        before = stored_policy(data_dir)
        policy = before.replaced(checked_rules(changed_rules(before, rules, ())))
    else:
        policy = change_policy(data_dir, rules)
    lines = [f"{'would be ' if dry_run else ''}{_PAST[action]}  {identifier}" for identifier in ids]
    if action != "allow":
        _changed(policy, as_json, lines)
        return
    table = known_adapters(data_dir)
    unknown = [rule.pattern for rule in rules if not any(map(rule.matches, table))]
    for identifier in unknown:
        remedy = "policy adapter list" if "*" in identifier else f"policy adapter add {identifier} --surface window"
        lines.append(f"no adapter knows {identifier}, so nothing of it is recorded: triptych activity {remedy}")
    companion = [rule for rule in rules if rule.matches(COMPANION_BROWSER_BUNDLE_ID)]
    if companion:
        lines.append("what a browser shows is reported by its companion: triptych activity pair browser")
    programs, fault = _open_now()
    let_in = [program for program in programs if any(rule.matches(known) for rule in rules for known in program.ids)]
    if let_in or len(companion) < len(rules):
        lines += _told(policy, let_in, fault)
    _changed(policy, as_json, lines, unknown=unknown, open_now=let_in)


def _told(policy: Policy, let_in: Sequence[OpenProgram], fault: str) -> list[str]:
    """What of the open programs it lets in, for a person."""
    from .day import app_shown
    from .timeline import printable

    if fault:
        return [f"which open programs it lets in cannot be told: {fault}"]
    if not let_in:
        return ["no program that is open now goes by that; see what is open: triptych activity policy allow"]
    shown = []
    for program in let_in:
        kept_out = "" if any(map(policy.allows_app, program.ids)) else "  kept out by another rule"
        shown.append(f"  {printable(app_shown(program.name, program.ids[0]))}  {printable(program.ids[0])}{kept_out}")
    return ["open now, and let in:", *shown]


def _open_now() -> tuple[list[OpenProgram], str]:
    """The open programs, or why they cannot be told."""
    import asyncio

    from ..extras import need

    try:
        need("activity", "dbus_fast", "xcffib")
        from ...adapters.collector.open_programs import open_programs

        return asyncio.run(open_programs()), ""
    except TriptychError as error:
        return [], str(error)


def _show_open(data_dir: Path, as_json: bool) -> None:
    import asyncio

    from ..extras import need
    from .adapters import known_adapters
    from .day import app_shown
    from .policy import stored_policy
    from .timeline import cells, printable

    need("activity", "dbus_fast", "xcffib")
    from ...adapters.collector.open_programs import open_programs

    programs, policy, table = asyncio.run(open_programs()), stored_policy(data_dir), known_adapters(data_dir)
    rows = []
    for program in programs:
        adapter = next((name for name in program.ids if table.find(name)), None)
        rows.append((program, adapter or program.ids[0], any(map(policy.allows_app, program.ids)), adapter is not None))
    if as_json:
        print_json([{"pid": row[0].pid, "name": row[0].name, "id": row[1], "allowed": row[2], "known": row[3]} for row in rows])
        return
    if not rows:
        click.echo("no program is open that could be recorded", err=True)
    names = [printable(app_shown(program.name, identifier)) for program, identifier, _, _ in rows]
    width = max(map(cells, names), default=0)
    for name, (_, identifier, allowed, known) in zip(names, rows, strict=True):
        mark = "allowed     " if allowed else "not allowed "
        note = "" if known else "  (not known yet: triptych activity policy adapter add)"
        click.echo(f"{mark} {name}{' ' * (width - cells(name))}  {printable(identifier)}{note}")


def _consent(
    data_dir: Path, kind: ConsentKind, mode: Literal["all", "selected", "none"] | None, targets: tuple[str, ...], as_json: bool
) -> None:
    from ...machines.collector.consents import consent
    from ...machines.collector.policy import CONSENT_PREFIX
    from .policy import change_policy, stored_policy

    policy = stored_policy(data_dir)
    if mode is not None:
        if targets and mode != "selected":
            raise click.UsageError(f"{mode} takes no targets")
        given = consent(kind, mode, targets or policy.consent(kind).targets)
        wanted = {rule.id: rule for rule in policy.with_consent(given).own_rules}
        mine = f"{CONSENT_PREFIX}{kind}/"
        remove = [rule.id for rule in policy.own_rules if rule.id not in wanted and rule.pattern.startswith(mine)]
        known = {rule.id for rule in policy.own_rules}
        policy = change_policy(data_dir, [rule for name, rule in wanted.items() if name not in known], remove)
    said = policy.consent(kind)
    if as_json:
        print_json({"kind": kind, "mode": said.mode, "targets": sorted(said.targets)})
    else:
        click.echo(_consent_line(policy, kind))


def _consent_line(policy: Policy, kind: ConsentKind) -> str:
    said = policy.consent(kind)
    name, _, who = next(entry for entry in CONSENTS if entry[1] == kind)
    if said.mode == "selected":
        return f"{name}: only {', '.join(sorted(said.targets)) or 'the selected ones, and none is selected'}"
    return f"{name}: {'all that ' + who + ' reports' if said.mode == 'all' else 'none'}"


def _list(data_dir: Path, as_json: bool, everything: bool) -> None:
    from .policy import stored_policy

    policy = stored_policy(data_dir)
    if as_json:
        print_json(_policy_value(policy))
        return
    own = [rule for rule in policy.own_rules if not rule.id.startswith("@")]
    click.echo(f"policy revision {policy.revision}")
    for action, heading in (("allow", "recorded"), ("deny", "kept out"), ("protect", "protected")):
        apps = [rule.pattern for rule in own if (rule.dimension, rule.action) == ("app", action)]
        if apps or action == "allow":
            click.echo(f"  applications that are {heading}: {', '.join(apps) or 'none; see what is open: triptych activity policy allow'}")
    refused = [
        f"{rule.pattern} ({rule.action}{'' if rule.matcher == 'glob' else ', ' + rule.matcher})"
        for rule in own
        if rule.dimension == "resource"
    ]
    if refused:
        click.echo(f"  files, addresses and titles that are kept out: {', '.join(refused)}")
    for _, kind, _ in CONSENTS:
        click.echo(f"  {_consent_line(policy, kind)}")
    built_in = [rule for rule in policy.rules if rule.built_in]
    click.echo(f"  built in: {len(built_in)} rules for password managers, keys and secrets{'' if everything else ' (policy list --all)'}")
    for rule in built_in if everything else ():
        click.echo(f"    {rule.action} {rule.dimension} {rule.matcher} {rule.pattern}")


def _policy_value(policy: Policy) -> dict[str, Any]:
    return {
        "revision": policy.revision,
        "mode": policy.mode,
        "rules": policy.rules,
        "consents": {kind: {"mode": policy.consent(kind).mode, "targets": sorted(policy.consent(kind).targets)} for _, kind, _ in CONSENTS},
    }


def _changed(
    policy: Policy, as_json: bool, lines: Sequence[str], unknown: Sequence[str] = (), open_now: Sequence[OpenProgram] | None = None
) -> None:
    """Say what a change came to."""
    if not as_json:
        click.echo("\n".join(lines))
        return
    value = _policy_value(policy)
    if open_now is not None:
        value["unknownToAdapters"] = list(unknown)
        value["openNow"] = open_now
    print_json(value)


def _take_over(data_dir: Path, as_json: bool) -> None:
    """Let a host that runs read the table anew. One that takes no commands does so when it starts."""
    from ...adapters.collector.control_socket import NoHost, ask
    from ...adapters.collector.ownership import Ownership

    said = "the host that runs knows it now"
    try:
        ask(data_dir, "adapters")
    except NoHost:
        if not Ownership.held(data_dir):
            return
        said = "the host that records there takes no commands: it reads this when it is started again"
    if not as_json:
        click.echo(said)
