"""Finds the git work tree that a file or folder lies in, by looking at the disk. The judge of a host asks it for what was admitted."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from ...machines.collector.workspaces import Workspace, git_workspace
from .disk import Disk, NoAnswer

KNOWN = 1024  #: the most folders that are remembered
FRESH = 30.0  #: seconds after which a folder is looked at again: a repository may have been made or moved


class WorkspaceFinder:
    """Remembers what it found, within bounds. `clock` is in monotonic seconds; `disk` is asked."""

    def __init__(self, clock: Callable[[], float] = time.monotonic, disk: Disk | None = None) -> None:
        self._clock = clock
        self._disk = disk or Disk()
        self._known: dict[str, tuple[float, Workspace | None]] = {}

    def find(self, path: str, *, is_folder: bool) -> Workspace | None:
        """The workspace of an absolute path without links; None outside of any git work tree. What cannot be looked at is in none."""
        folder = path if is_folder else path.rpartition("/")[0] or "/"
        now = self._clock()
        known = self._known.get(folder)
        if known is not None and now < known[0]:
            return known[1]
        if len(self._known) >= KNOWN:
            self._known.clear()
        try:
            root = self._disk.ask(_work_tree, folder)
        except NoAnswer:
            return None
        found = None if root is None else git_workspace(str(root))
        self._known[folder] = now + FRESH, found
        return found


def _work_tree(path: str) -> Path | None:
    folder = Path(path)
    for candidate in (folder, *folder.parents):
        mark = candidate / ".git"
        # A file in the place of the folder is how a linked work tree or a submodule names its repository.
        if _is_file(mark / "HEAD") or _is_file(mark):
            return candidate
    return None


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # a folder that may not be entered
        return False
