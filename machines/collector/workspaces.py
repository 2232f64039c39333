"""Says which workspace an observation belongs to, and who named it: the gates put it on what they admit, the store keeps it.

A workspace that a collector names is never read. A paired companion vouches for one; for everything else the host looks for the git work
tree that a file lies in.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ...generated.collector.vocabulary import COMPANION_WORKSPACE_CONFIDENCE, GIT_WORKSPACE_CONFIDENCE

Source = Literal["dsh", "git", "filesystem", "companion"]


@dataclass(frozen=True, slots=True)
class Workspace:
    """`id` tells workspaces apart, `root` is the path of its folder, `title` what a person reads, `confidence` 0 to 1."""

    source: Source
    id: str
    root: str
    title: str
    confidence: float


def vouched_workspace(root: str) -> Workspace:
    """The workspace that a paired companion names."""
    return Workspace("companion", root, root, _title(root), COMPANION_WORKSPACE_CONFIDENCE)


def git_workspace(root: str) -> Workspace:
    """The git work tree at `root`, absolute and without links; a companion that vouches for that folder means the same."""
    return Workspace("git", root, root, _title(root), GIT_WORKSPACE_CONFIDENCE)


def _title(root: str) -> str:
    return root.replace("\\", "/").rstrip("/").rpartition("/")[2] or root
