"""The pytest plugin: `terminal_app` starts programs in terminals, failures show what was on them, and a session ends in a run's verdict.

pytest loads it by itself (entry point `pytest11`). Until a test asks for a terminal it imports nothing of Triptych and says nothing.

    def test_approves(terminal_app):
        app = terminal_app(["python", "app.py"])
        app.press("enter")
        app.wait_for_text("approved")
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

from .pytest_run import SessionRun

if TYPE_CHECKING:
    from .terminal_sync import Terminal

TERMINALS: Final = pytest.StashKey[list[tuple[str, "Terminal"]]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options."""
    group = parser.getgroup("triptych", "terminal programs (triptych)")
    group.addoption("--triptych-record", metavar="DIR", help="record every terminal into a folder of its own in DIR, new or empty")
    group.addoption("--triptych-report", metavar="FILE", help="write the session's verdict, and what was skipped or failed, as JSON")
    skips = "the skip policy: fail unless exactly the tests so named are skipped; repeatable, and empty for none"
    group.addoption("--triptych-allow-skip", metavar="NODEID", action="append", help=skips)


def pytest_configure(config: pytest.Config) -> None:
    """Declare the marker, and follow the session as one run."""
    options = "terminal(**options): what `terminal_app` passes to `launch`, such as columns=100, rows=30"
    config.addinivalue_line("markers", options)
    worker = hasattr(config, "workerinput")  # of pytest-xdist: the first process has looked, and reports
    folder, report = config.getoption("triptych_record"), config.getoption("triptych_report")
    if folder is not None and not worker and Path(folder).exists() and any(Path(folder).iterdir()):
        raise pytest.UsageError(f"--triptych-record: the folder {folder} is not empty")
    if not worker:
        allowed = config.getoption("triptych_allow_skip")
        run = SessionRun(None if report is None else Path(report), recording=folder is not None, allowed_skips=allowed)
        config.pluginmanager.register(run, "triptych-run")


@pytest.fixture
def terminal_options(request: pytest.FixtureRequest) -> Mapping[str, Any]:
    """What `terminal_app` passes to `launch` unless told otherwise: the arguments of the `terminal` markers, the nearest first.

    Override it in a conftest.py for what holds everywhere, such as `{"columns": 100, "inherit": True}`.
    """
    options: dict[str, Any] = {}
    for marker in request.node.iter_markers("terminal"):
        options = {**marker.kwargs, **options}
    return options


@pytest.fixture
def terminal_app(request: pytest.FixtureRequest, terminal_options: Mapping[str, Any]) -> Iterator[Callable[..., Terminal]]:
    """A factory of running terminals, `terminal_app(program, **options)`: as `terminal_sync.launch`. Each is closed after the test."""
    from . import terminal_sync

    node: pytest.Item = request.node
    folder = request.config.getoption("triptych_record")
    terminals = node.stash.setdefault(TERMINALS, [])
    with ExitStack() as running:

        def start(program: Sequence[str], **options: Any) -> Terminal:
            options = {**terminal_options, **options}
            if folder is not None:
                from ..adapters.termwright.recording import Recorder

                name = _folder_name(node.nodeid, len(terminals) + 1)
                recorder = Recorder(Path(folder) / name, program=program, policy=options.get("policy"))
                running.enter_context(recorder)
                options["observers"] = (*options.get("observers", ()), recorder)
            app = running.enter_context(terminal_sync.launch(program, **options))
            terminals.append((program[0] if len(terminals) == 0 else f"{program[0]} ({len(terminals) + 1})", app))
            return app

        yield start
    del node.stash[TERMINALS]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Attach to the report of a failure what every terminal of the test shows, while they still run."""
    report = yield
    if report.failed and report.when != "teardown":
        for name, app in item.stash.get(TERMINALS, []):
            report.sections += [(f"{title} of {name}", text) for title, text in _shown(app)]
    return report


def _shown(app: Terminal) -> Iterator[tuple[str, str]]:
    from .screen_ansi import printable
    from .terminal import format_tree

    screen = app.screen
    state = "running" if app.exit_status is None else f"exited with {app.exit_status}"
    yield f"terminal screen ({screen.columns}x{screen.rows}, {state})", printable(screen.text)
    if app.tree is not None:
        yield f"semantic tree (revision {app.revision})", printable(format_tree(app.tree))
    if app.diagnostics:
        yield "diagnostics", printable("\n".join(f"{note.at:.3f} {note.code}: {note.detail}" for note in app.diagnostics))


def _folder_name(nodeid: str, number: int) -> str:
    """A file name for the recordings of a test: its last part, readable, and never of two tests the same."""
    from hashlib import blake2s

    readable = re.sub(r"[^A-Za-z0-9_.-]+", "-", nodeid.rpartition("/")[2]).strip("-.")[:80]
    return f"{readable}-{blake2s(nodeid.encode(), digest_size=4).hexdigest()}-{number}"
