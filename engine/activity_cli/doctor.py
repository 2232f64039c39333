"""Explains why a record is empty: looks at everything between a person's programs and the database, in the order in which it can fail.

`triptych activity doctor` prints it, `triptych doctor` its outcome. It starts nothing, asks for no consent and changes no setting.
"""

from __future__ import annotations

import asyncio
import shutil
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ...errors import TriptychError, Unavailable
from ..doctor import Finding, Status
from .reasons import REFUSED, capture_reason

LITTLE_SPACE, NO_SPACE = 100 << 20, 4 << 20  # bytes that are free
PANEL = "activity"


def examine(data_dir: Path) -> list[Finding]:
    """Everything about the record of one data directory. `missing` is what has to be done before anything is recorded."""
    return [*_packages(), *_directory(data_dir), *_session(), *_record(data_dir)]


def outcome(data_dir: Path) -> Finding:
    """The whole record in one finding, for a list of other things: what is missing here is no fault of the machine."""
    findings = [*_directory(data_dir), *_record(data_dir)]
    first = next((finding for finding in findings if finding.status == "missing"), None)
    if first is None:
        said = next((finding for finding in findings if finding.what == "capture"), findings[-1])
        return Finding(PANEL, "record", "ok", said.detail)
    return Finding(PANEL, "record", "limited", first.detail, first.remedy)


def _packages() -> Iterator[Finding]:
    for module, purpose in {"dbus_fast": "D-Bus", "xcffib": "window focus on X11"}.items():
        if find_spec(module):
            yield Finding(PANEL, purpose, "ok", f"{module} is installed")
        else:
            yield Finding(PANEL, purpose, "missing", f"{module} is not installed", "pip install 'triptych[activity]'")
    if not find_spec("aiohttp"):
        yield Finding(PANEL, "companions", "limited", "aiohttp is not installed", "pip install 'triptych[activity]'")


def _directory(data_dir: Path) -> Iterator[Finding]:
    """The data directory and its database, as far as looking tells."""
    from ...adapters.collector.store import Store

    there = next(folder for folder in (data_dir, *data_dir.absolute().parents) if folder.exists())
    free = shutil.disk_usage(there).free
    if free < LITTLE_SPACE:
        status: Status = "missing" if free < NO_SPACE else "limited"
        yield Finding(
            PANEL, "disk", status, f"{free >> 20} MiB are free where {data_dir} is", "make room: nothing is stored on a full disk"
        )
    try:
        store = Store.reading(data_dir)
        if store is None:
            yield Finding(PANEL, "database", "ok", f"nothing is recorded in {data_dir} yet")
            return
        with store:
            counts = store.counts()
    except Unavailable as error:
        yield Finding(PANEL, "database", "missing", error.reason, error.remedy)
        return
    yield Finding(PANEL, "database", "ok", f"{counts.observations:,} observations in {counts.episodes:,} episodes in {data_dir}")


def _session() -> Iterator[Finding]:
    """The desktop session of this very process."""
    if sys.platform != "linux" or not find_spec("dbus_fast"):
        return
    from ...adapters.collector.atspi_bus import AccessibilityBus, AccessibilityUnavailable

    async def look() -> None:
        await (await AccessibilityBus.connect(lambda event: None)).close()

    try:
        asyncio.run(look())
    except AccessibilityUnavailable as error:
        yield Finding(PANEL, "accessibility", "missing", error.reason, error.remedy)
    else:
        yield Finding(PANEL, "accessibility", "ok", "the accessibility bus answers")


def _record(data_dir: Path) -> Iterator[Finding]:
    """The host, the collector, the policy, and what became of what was seen."""
    from .status import look

    try:
        status = look(data_dir)
    except TriptychError as error:
        reason, remedy = (error.reason, error.remedy) if isinstance(error, Unavailable) else (str(error), "")
        yield Finding(PANEL, "host", "missing", reason, remedy)
        return
    yield from _host(data_dir, status)
    yield from _policy(data_dir, status)
    if (health := status["health"]) is not None:
        yield from _capture(status["host"], health)
        yield from _companions(health["companion"])
        yield from _refusals(health["refusals"]["byReason"])
        if (maintenance := health["maintenance"]) and maintenance["retention"] == "failed":
            yield Finding(
                PANEL, "deleting", "limited", "what has expired could not be deleted; it is tried again every 15 minutes", "check the disk"
            )


def _host(data_dir: Path, status: dict[str, Any]) -> Iterator[Finding]:
    if status["running"]:
        yield Finding(PANEL, "host", "ok", f"process {status['host']['pid']} records into {data_dir}")
    elif status["owned"]:
        detail = "another host records into this directory, and takes no commands"
        yield Finding(PANEL, "host", "limited", detail, "pause or end it where it was started")
    else:
        from .service import LOG_NAME

        ended = _last_words(data_dir / LOG_NAME)
        yield Finding(
            PANEL,
            "host",
            "missing",
            "no host runs" + (f"; the last one ended with: {ended}" if ended else ""),
            "triptych activity start --detach",
        )


def _policy(data_dir: Path, status: dict[str, Any]) -> Iterator[Finding]:
    from .adapters import known_adapters
    from .policy import stored_policy

    policy = stored_policy(data_dir)
    if not policy.allows_an_app:
        yield Finding(PANEL, "policy", "missing", "no application is allowed", "see what is open: triptych activity policy allow")
        return
    try:
        table = known_adapters(data_dir)
    except TriptychError as error:
        yield Finding(PANEL, "adapters", "missing", str(error), f"mend or remove {data_dir / 'adapters.json'}")
        return
    effective = policy.for_collector(table)
    recorded = [name for name in effective.allowed if policy.allows_app(name)]
    allowed = [rule for rule in policy.rules if (rule.dimension, rule.action) == ("app", "allow")]
    if not recorded:
        told = ", ".join(rule.pattern for rule in allowed)
        kept_out = any(rule.matches(name) for rule in allowed for name in table)
        if kept_out:
            yield Finding(
                PANEL, "policy", "missing", f"what is allowed ({told}) is denied by another rule", "triptych activity policy list"
            )
        else:
            first = allowed[0].pattern
            yield Finding(
                PANEL,
                "policy",
                "missing",
                f"no adapter knows what is allowed: {told}",
                f"triptych activity policy adapter add {first} --surface window",
            )
        return
    yield Finding(
        PANEL, "policy", "ok", f"allowed: {', '.join(recorded[:5])}{f' and {len(recorded) - 5} more' if len(recorded) > 5 else ''}"
    )
    for rule in allowed:
        if not any(rule.matches(name) for name in table):
            yield Finding(
                PANEL,
                "policy",
                "limited",
                f"no adapter knows {rule.pattern}",
                f"triptych activity policy adapter add {rule.pattern} --surface window",
            )


def _capture(host: dict[str, Any], health: dict[str, Any]) -> Iterator[Finding]:
    word, reason = health["capture"], health["reason"]
    if word == "running" and reason in (None, "wake"):
        yield Finding(PANEL, "capture", "ok", "running")
    elif word == "paused":
        yield Finding(PANEL, "capture", "missing", "paused", "triptych activity resume")
    elif reason == "no-apps-allowed":  # the policy has said it
        yield Finding(PANEL, "capture", "ok", "running, for nothing")
    elif reason is None:
        yield Finding(PANEL, "capture", "missing", word, "triptych activity resume")
    else:
        meaning, remedy = capture_reason(reason)
        told = "".join(f": {said}" for said in (health.get("detail"), host["collectorSaid"]) if said)
        passing = reason in ("collector-starting", "sleep")
        yield Finding(PANEL, "capture", "limited" if passing else "missing", f"{word}: {meaning}{told}", remedy)


def _companions(companion: dict[str, Any] | None) -> Iterator[Finding]:
    if companion is None:
        return
    if not companion["listening"]:
        remedy = (
            "start the host with another --port, or --no-companions" if companion["reason"] == "port-in-use" else "start the host again"
        )
        yield Finding(PANEL, "companions", "limited", f"no browser and no editor can report: {companion['reason']}", remedy)
    elif not (companion["paired"] or companion["editorPaired"]):
        yield Finding(PANEL, "companions", "ok", f"listening on port {companion['port']}; none is paired (triptych activity pair browser)")
    else:
        paired = [kind for kind, key in (("browser", "paired"), ("editor", "editorPaired")) if companion[key]]
        yield Finding(PANEL, "companions", "ok", f"listening on port {companion['port']}; paired: {', '.join(paired)}")


def _refusals(by_reason: dict[str, int]) -> Iterator[Finding]:
    for reason, count in sorted(by_reason.items(), key=lambda item: (-item[1], item[0])):
        meaning, remedy = REFUSED.get(reason, REFUSED["unknown"])
        yield Finding(PANEL, "refused", "limited" if remedy else "ok", f"{count} × {reason}: {meaning}", remedy)


def _last_words(log: Path) -> str:
    """The last error in the log of a host in the background; empty when there is none."""
    try:
        with log.open("rb") as file:
            file.seek(max(0, log.stat().st_size - 65536))
            lines = file.read().decode(errors="replace").splitlines()
    except OSError:
        return ""
    last = lines[-1] if lines else ""
    return last.removeprefix("triptych: ") if last.startswith("triptych: ") else ""
