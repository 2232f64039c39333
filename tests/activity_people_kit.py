"""Runs `triptych activity` as a person does, and makes records for it: real rows, admitted at the gates and stored by the store."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from triptych.adapters.collector.store import Store
from triptych.adapters.collector.stored import StoredEpisode, StoredResource, StoredSurface
from triptych.machines.collector.facts import Facts
from triptych.machines.collector.gates import Admitted, Rulebook, admit
from triptych.machines.collector.policy import Policy, allow_app
from triptych.machines.collector.workspaces import Workspace

TRIPTYCH = [sys.executable, "-P", "-c", "from triptych.engine.cli import main; main()"]
EDITOR, FILES = "code.desktop", "org.gnome.Nautilus.desktop"
RULES = Rulebook(Policy().replaced((allow_app(EDITOR), allow_app(FILES))))
MINUTE = 60_000


def activity(
    *arguments: str, env: dict[str, str] | None = None, stdin: str = "", cwd: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """`triptych activity …`, ended, in a session without a desktop unless `env` has one."""
    return subprocess.run(
        [*TRIPTYCH, "activity", *arguments], env=env, cwd=cwd, input=stdin, capture_output=True, text=True, check=False, timeout=60
    )


def environment(home: Path, **more: str) -> dict[str, str]:
    """An environment of nothing but a home of its own."""
    return {"PATH": os.environ["PATH"], "HOME": str(home), "LANG": "C.UTF-8", "TZ": "UTC", **more}


def seen(seq: int, at_ms: int, bundle_id: str = EDITOR, session: str = "s", **facts: Any) -> Admitted:
    """One observation that the gates let in."""
    values: dict[str, Any] = {"app_name": "Editor" if bundle_id == EDITOR else "Files", "title": "A window", "role": "text"}
    given = Facts(
        session=session, seq=seq, observed_at_ms=at_ms, pid=7, bundle_id=bundle_id, adapter="a", provider="at-spi", **{**values, **facts}
    )
    verdict = admit(given, RULES, max(at_ms, now_ms() - 1))
    assert isinstance(verdict, Admitted), verdict
    return verdict


def recorded(folder: Path, rows: Iterable[Admitted]) -> Path:
    """A data directory with these observations, each stored in a transaction of its own."""
    with Store(folder, now_ms()) as store:
        for row in rows:
            store.add([row])
    return folder


def morning(folder: Path, start_ms: int | None = None) -> Path:
    """A record of work in two applications: half an hour in the editor, a glance at the files, ten minutes in the editor again."""
    at = now_ms() - 60 * MINUTE if start_ms is None else start_ms
    rows = [seen(n + 1, at + n * 3 * MINUTE, title="Kingfisher notes") for n in range(11)]
    rows += [seen(12, at + 40 * MINUTE, FILES, title="Downloads")]
    rows += [seen(13 + n, at + 50 * MINUTE + n * 2 * MINUTE, title="Invoice") for n in range(5)]
    return recorded(folder, rows)


def now_ms() -> int:
    return time.time_ns() // 1_000_000


def episode(
    number: int,
    start_ms: int,
    end_ms: int,
    *,
    workspace: str | None = None,
    apps: Iterable[tuple[str, str | None]] = ((EDITOR, "Editor"),),
    things: Iterable[str] = (),
    title: str | None = None,
    summary: str = "Recent computer activity.",
) -> StoredEpisode:
    """An episode as the store gives it out."""
    return StoredEpisode(
        id=f"episode:s:{number}",
        started_at_ms=start_ms,
        ended_at_ms=end_ms,
        start_reason="first-observation",
        end_reason="timeout",
        workspace=None if workspace is None else Workspace("git", f"git:/home/{workspace}", f"/home/{workspace}", workspace, 0.9),
        thread_key=None,
        confidence=0.9 if workspace else 0.4,
        summary=summary,
        complete=True,
        surfaces=tuple(StoredSurface(bundle, "editor", name, title, start_ms, end_ms, 5) for bundle, name in apps),
        resources=tuple(StoredResource("file", f"file:///{thing}", thing, start_ms, end_ms, 3) for thing in things),
    )
