"""What is judged is the place itself: links, links that change, and the git work tree that a file lies in."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from triptych.adapters.collector.judge import Judge
from triptych.adapters.collector.workspaces import WorkspaceFinder
from triptych.machines.collector.capture import Capture
from triptych.machines.collector.facts import Facts
from triptych.machines.collector.gates import Admitted, Rulebook
from triptych.machines.collector.policy import Policy, Rule, allow_app
from triptych.machines.collector.unknown_fields import UnknownFields
from triptych.machines.collector.workspaces import Workspace, git_workspace

NOW_MS = 1_791_000_000_000


def facts(document: Path | str, bundle_id: str = "code.desktop") -> Facts:
    return Facts(
        session="s", seq=1, observed_at_ms=NOW_MS, pid=7, bundle_id=bundle_id, document=str(document), adapter="vscode", provider="at-spi"
    )


def judge(*more: Rule) -> tuple[Capture, Judge]:
    rules = (allow_app("code.desktop"), allow_app("org.gnome.Terminal.desktop"), *more)
    capture = Capture(Rulebook(Policy().replaced(rules)), UnknownFields())
    return capture, Judge(capture)


def judged(made: Judge, seen: Facts) -> Admitted | None:
    return made.judge(seen, NOW_MS, state="running", desired="running")


def repository(folder: Path) -> Path:
    (folder / ".git").mkdir(parents=True)
    (folder / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    return folder


def test_a_link_that_changes_is_judged_by_where_it_leads_at_each_reading(tmp_path: Path) -> None:
    folder = tmp_path.resolve()
    (folder / "open.md").write_text("")
    (folder / ".ssh").mkdir()
    link = folder / "link.md"
    link.symlink_to(folder / "open.md")
    capture, made = judge()
    made.begin()
    first = judged(made, facts(link))
    assert first is not None and first.resource is not None and first.resource.path == str(folder / "open.md")
    link.unlink()
    link.symlink_to(folder / ".ssh" / "config")
    made.begin()
    assert judged(made, facts(link)) is None
    assert capture.refusals == {"protected-metadata": 1}
    link.unlink()
    link.symlink_to(folder / "open.md")
    made.begin()
    assert judged(made, facts(link)) is not None


def test_a_folder_that_is_a_link_leads_a_file_out_of_what_a_rule_lets_in(tmp_path: Path) -> None:
    folder = tmp_path.resolve()
    (folder / "private").mkdir()
    (folder / "notes").symlink_to(folder / "private")
    capture, made = judge(Rule("mine", "resource", "deny", "prefix", f"{folder}/private/"))
    assert judged(made, facts(folder / "notes" / "new.md")) is None, "the file need not be there"
    assert capture.refusals == {"protected-metadata": 1}


def test_a_path_that_is_not_on_this_machine_is_kept_as_it_is(tmp_path: Path) -> None:
    _, made = judge()
    seen = judged(made, facts("/nowhere/on/this/machine/../page.md"))
    assert seen is not None and seen.resource is not None and seen.resource.path == "/nowhere/on/this/page.md"
    assert seen.workspace is None


def test_nothing_is_looked_at_on_the_disk_before_the_policy_lets_it_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[str] = []
    monkeypatch.setattr("triptych.adapters.collector.judge.os.path.realpath", lambda path: looked.append(path) or path)
    lstat = os.lstat
    monkeypatch.setattr("triptych.adapters.collector.judge.os.lstat", lambda path: lstat(path) if looked.append(path) is None else None)
    _, made = judge()
    for _ in range(3):
        assert judged(made, facts("/home/me/a.md")) is not None
    assert judged(made, facts("/home/me/b.md", "org.gnome.gedit.desktop")) is None
    assert judged(made, facts("/home/me/.env")) is None
    assert looked == ["/home/me", "/home/me/a.md", "/home/me/a.md", "/home/me/a.md"], "a folder once in a reading, and each file"
    looked.clear()
    made.begin()
    judged(made, facts("/home/me/a.md"))
    assert looked == ["/home/me", "/home/me/a.md"]


NAMES = st.lists(st.sampled_from(["a", "b", "..", ".", "", "link", "up", "loop", "gone"]), max_size=6).map("/".join)


@given(names=NAMES)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=300)
def test_the_real_path_is_that_of_the_system(tmp_path: Path, names: str) -> None:
    folder = tmp_path / "tree"
    if not folder.exists():
        (folder / "a" / "b").mkdir(parents=True)
        (folder / "link").symlink_to("a/b")
        (folder / "a" / "up").symlink_to("..")
        (folder / "a" / "b" / "link").symlink_to(folder / "link")
        (folder / "loop").symlink_to("loop")
    _, made = judge()
    for path in (f"{folder}/{names}", f"/{names}", str(folder)):
        for _ in range(2):
            assert made._real_path(path) == os.path.realpath(path)


def test_a_file_is_in_the_git_work_tree_that_lies_nearest(tmp_path: Path) -> None:
    outer = repository(tmp_path.resolve() / "outer")
    inner = repository(outer / "vendor" / "inner")
    linked = outer / "linked"
    linked.mkdir()
    (linked / ".git").write_text("gitdir: /somewhere/.git/worktrees/linked\n")
    (outer / "empty" / ".git").mkdir(parents=True)
    _, made = judge()
    for path, root in (
        (outer / "a.md", outer),
        (outer / "deep" / "er" / "a.md", outer),
        (inner / "src" / "a.py", inner),
        (linked / "a.py", linked),
        (outer / "empty" / "a.py", outer),
    ):
        seen = judged(made, facts(path))
        assert seen is not None and seen.workspace == Workspace("git", str(root), str(root), root.name, 0.9), path
    outside = judged(made, facts(tmp_path.resolve() / "a.md"))
    assert outside is not None and outside.workspace is None


def test_a_terminal_is_in_the_work_tree_of_its_folder(tmp_path: Path) -> None:
    root = repository(tmp_path.resolve() / "app")
    _, made = judge()
    seen = judged(made, facts(root, "org.gnome.Terminal.desktop"))
    assert seen is not None and seen.workspace == git_workspace(str(root))


def test_a_work_tree_is_found_through_a_link(tmp_path: Path) -> None:
    root = repository(tmp_path.resolve() / "real")
    (tmp_path / "link").symlink_to(root)
    _, made = judge()
    seen = judged(made, facts(tmp_path.resolve() / "link" / "a.md"))
    assert seen is not None and seen.workspace == git_workspace(str(root))


def test_a_companions_own_workspace_stands_and_its_file_is_judged_at_its_place(tmp_path: Path) -> None:
    root = repository(tmp_path.resolve() / "app")
    (root / ".ssh").mkdir()
    (root / "link.md").symlink_to(root / ".ssh" / "config")
    capture, made = judge()

    def companion(path: Path) -> object:
        seen = msgspec.structs.replace(facts(path), provider="companion")
        return made.companion(seen, NOW_MS, state="running", desired="running", vouched_root=str(root / "inner"))

    stood = companion(root / "inner" / "a.md")
    assert isinstance(stood, Admitted) and stood.workspace is not None
    assert (stood.workspace.source, stood.workspace.root) == ("companion", str(root / "inner"))
    assert companion(root / "link.md") is None
    assert capture.refusals == {"protected-metadata": 1}


def test_the_finder_remembers_for_a_while_and_within_bounds(tmp_path: Path) -> None:
    now = 0.0
    finder = WorkspaceFinder(lambda: now)
    folder = tmp_path.resolve() / "app"
    folder.mkdir()
    assert finder.find(str(folder / "a.md"), is_folder=False) is None
    repository(folder)
    assert finder.find(str(folder / "b.md"), is_folder=False) is None
    now = 31.0
    assert finder.find(str(folder / "b.md"), is_folder=False) == git_workspace(str(folder))
    for number in range(3000):
        finder.find(f"/nowhere/{number}/a", is_folder=False)
    assert len(finder._known) <= 1024
    assert finder.find("/a.md", is_folder=False) is None
