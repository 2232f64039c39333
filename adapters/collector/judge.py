"""Passes one observation to the choke point under its real path, and looks for its workspace; the host and the replay judge with it.

A link may lead where the policy does not: what was admitted under the name of a link is judged again under the place that it leads to.
Paths are looked at on the disk only after the policy has let them in by name. A disk that does not answer in time (a network mount whose
server is gone) holds nobody up: nobody can say then where the path leads, and what names it is refused as `bad-resource`.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import msgspec

from ...generated.collector.models import CompanionRefusal
from ...machines.collector.capture import Capture
from ...machines.collector.controls import Desired
from ...machines.collector.facts import Facts
from ...machines.collector.gates import Admitted, placed
from .disk import Disk, NoAnswer
from .workspaces import WorkspaceFinder

T = TypeVar("T")


class Judge:
    """Call `begin` before the observations that were read at once: a folder of theirs is looked up once, since all of them came before."""

    def __init__(self, capture: Capture, finder: WorkspaceFinder | None = None, disk: Disk | None = None) -> None:
        self._capture = capture
        self._disk = disk or Disk()
        self._finder = finder or WorkspaceFinder(disk=self._disk)
        self._real: dict[str, tuple[str, bool]] = {}

    def begin(self) -> None:
        """Forget where paths led: links may have changed since."""
        self._real.clear()

    def close(self) -> None:
        """Let go of the disk."""
        self._disk.close()

    def judge(self, facts: Facts, now_ms: int, *, state: str, desired: Desired, acknowledged: bool = False) -> Admitted | None:
        """As `Capture.take`, with the real path and the workspace."""

        def take(seen: Facts) -> Admitted | None:
            return self._capture.take(seen, now_ms, state=state, desired=desired, acknowledged=acknowledged)

        return self._settled(facts, take)

    def companion(
        self, facts: Facts, now_ms: int, *, state: str, desired: Desired, vouched_root: str | None
    ) -> Admitted | CompanionRefusal | None:
        """As `Capture.take_companion`, with the real path; the workspace is the one that the companion vouches for."""

        def take(seen: Facts) -> Admitted | CompanionRefusal | None:
            return self._capture.take_companion(seen, now_ms, state=state, desired=desired, vouched_root=vouched_root)

        return self._settled(facts, take)

    def _settled(self, facts: Facts, take: Callable[[Facts], Admitted | T | None]) -> Admitted | T | None:
        taken = take(facts)
        if not isinstance(taken, Admitted) or taken.resource is None or (path := taken.resource.path) is None:
            return taken
        try:
            real = self._real_path(path)
        except NoAnswer:
            self._capture.refuse("bad-resource")
            return None
        if real != path:
            taken = take(msgspec.structs.replace(facts, document=real))
        if not isinstance(taken, Admitted) or taken.workspace is not None:
            return taken
        found = self._finder.find(real, is_folder=taken.adapter.document_resource_kind == "directory")
        return taken if found is None else placed(taken, found, self._capture.rules.policy)

    def _real_path(self, path: str) -> str:
        """As `os.path.realpath`, which looks at every folder on the way: files of one folder share that look within a reading."""
        folder, _, name = path.rpartition("/")
        if name in ("", ".", ".."):
            return self._disk.ask(os.path.realpath, path)
        known = self._real.get(folder)
        if known is None:
            real, device = self._disk.ask(_folder, folder or "/")
            known = self._real[folder] = real.rstrip("/"), device is None or self._disk.is_local(device)
        real, is_local = known
        place = f"{real}/{name}"
        # A folder of this machine has just answered, so it can be asked for its files without a thread, which is what costs.
        if _is_link(place) if is_local else self._disk.ask(_is_link, place):
            return self._disk.ask(os.path.realpath, place)
        return place


def _folder(path: str) -> tuple[str, int | None]:
    """Where a folder really is, and the number of its device; None where there is none."""
    real = os.path.realpath(path)
    try:
        return real, Path(real).stat().st_dev
    except OSError:
        return real, None


def _is_link(path: str) -> bool:
    try:
        return stat.S_ISLNK(os.lstat(path).st_mode)
    except OSError:  # it is not there, or nobody may look
        return False
