"""What `triptych activity status` shows, as a plain value and as lines: the host and its health, the policy, and what is recorded.

`doctor` looks at the same value. It only reads: nothing is made, and nobody is held up.
"""

from __future__ import annotations

import time
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec

from ...adapters.collector.control_socket import NoHost, ask
from ...adapters.collector.ownership import Ownership
from ...adapters.collector.store import Store
from ...generated.collector.models import Health
from ...machines.collector.policy import Policy
from .reasons import refused_line
from .service import state_line
from .spelling import json_value


def look(data_dir: Path) -> dict[str, Any]:
    """The state of a data directory: `running`, `owned` (somebody records), `host`, `health`, `policy`, `recorded`, `retention`.

    `host` and `health` are None where no host answers, `recorded` and `retention` where nothing was ever recorded. Raises Unavailable.
    """
    try:
        host: dict[str, Any] | None = ask(data_dir, "status")
    except NoHost:
        host = None
    health = host.pop("health") if host else None
    if host:
        host.pop("ok")
    store = Store.reading(data_dir)
    policy, recorded, retention = Policy(), None, None
    if store is not None:
        with store:
            policy = store.policy(time.time_ns() // 1_000_000)
            recorded, retention = json_value(store.counts()), json_value(store.retention())
    apps = {
        action: [rule.pattern for rule in policy.rules if (rule.dimension, rule.action) == ("app", action)] for action in ("allow", "deny")
    }
    return {
        "data": str(data_dir),
        "running": host is not None,
        "owned": host is not None or Ownership.held(data_dir),
        "host": host,
        "health": health,
        "policy": {"revision": policy.revision, "allowed": apps["allow"], "denied": apps["deny"]},
        "recorded": recorded,
        "retention": retention,
    }


def health_line(answer: dict[str, Any]) -> str:
    """The capture line of a host's answer."""
    return state_line(msgspec.convert(answer["health"], Health), answer.get("collectorSaid", ""))


def lines(status: dict[str, Any]) -> list[str]:
    """The status for a person: the capture line, then one line for each thing."""
    host, health, allowed = status["host"], status["health"], status["policy"]["allowed"]
    if health is not None:
        shown = [health_line({"health": health, **host})]
    elif status["owned"]:
        shown = ["a program that takes no commands records into this directory; it alone can pause or end"]
    else:
        shown = ["capture stopped: no host runs (triptych activity start --detach)"]
    facts = {"data": status["data"]}
    if host is not None:
        facts["host"] = f"process {host['pid']}, since {_clock(host['sinceMs'])}"
    facts["allowed"] = _listed(allowed) if allowed else "no application (see what is open: triptych activity policy allow)"
    if (recorded := status["recorded"]) and recorded["episodes"]:
        counted = f"{_count(recorded['observations'], 'observation')} in {_count(recorded['episodes'], 'episode')}"
        newest = recorded["lastAtMs"]
        facts["recorded"] = counted + (f", the last {_clock(newest)}" if newest is not None else "")
    else:
        facts["recorded"] = "nothing yet"
    if retention := status["retention"]:
        days = _count(retention["episodeDays"], "day")
        facts["kept"] = f"observations {_count(retention['observationHours'], 'hour')}, episodes {days}"
    if health is not None:
        facts["refused"] = refused_line(health["refusals"]["byReason"]) + ", since the host started"
        if companion := health["companion"]:
            facts["companions"] = _companions(companion)
        if unknown := health["unknownFields"]["total"]:
            facts["unknown fields"] = f"{unknown} dropped: {', '.join(sorted(health['unknownFields']['byName']))}"
        if (maintenance := health["maintenance"]) and maintenance["retention"] == "failed":
            facts["deleting"] = f"what has expired could not be deleted at {_clock(maintenance['lastFailureAtMs'])}; it is tried again"
    width = max(map(len, facts))
    return shown + [f"  {name.ljust(width)}  {fact}" for name, fact in facts.items()]


def _companions(companion: dict[str, Any]) -> str:
    if not companion["listening"]:
        return f"not listening ({companion['reason'] or 'off'})"
    kinds = (("browser", "paired", "browserLastSeenAtMs"), ("editor", "editorPaired", "editorLastSeenAtMs"))
    told = []
    for kind, paired, seen in kinds:
        if not companion[paired]:
            told.append(f"no {kind} paired")
        else:
            told.append(f"{kind} paired" + (f", last seen {_clock(companion[seen])}" if companion[seen] is not None else ""))
    return f"listening on 127.0.0.1:{companion['port']}; {'; '.join(told)}"


def _listed(names: list[str], most: int = 4) -> str:
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _clock(at_ms: int) -> str:
    """A moment in local time; without the day when it is today."""
    moment = datetime.fromtimestamp(at_ms / 1000)
    return f"{moment:%H:%M:%S}" if moment.date() == datetime.now().date() else f"{moment:%Y-%m-%d %H:%M}"
