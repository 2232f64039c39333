"""The driver and the engine API against real programs: a Textual app under the published probe, shells, and programs that misbehave."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from triptych.adapters.termwright.environment import child_environment
from triptych.engine import terminal, terminal_sync
from triptych.errors import RemoteProtocolError, Unavailable, WaitTimeout
from triptych.generated.termwright.models import Node, Snapshot

PROGRAMS = Path(__file__).resolve().parents[1] / "programs"
FORM = (sys.executable, "-m", "termwright_probe", "--", sys.executable, str(PROGRAMS / "textual_form.py"))
PATIENCE = 60.0


def run(main: Callable[[], Coroutine[Any, Any, None]]) -> None:
    asyncio.run(asyncio.wait_for(main(), 2 * PATIENCE))


def node(tree: Snapshot | None, test_id: str) -> Node:
    assert tree is not None
    return next(node for node in tree.nodes if node.test_id == test_id)


def is_gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


def has_focus(tree: Snapshot | None, test_id: str) -> bool:
    return getattr(node(tree, test_id).state, "focused", None) is True


def endpoint(app: terminal.Terminal) -> Path:
    return Path(app._driver._listener.path)


def test_a_textual_program_under_the_published_probe(tmp_path: Path) -> None:
    async def main() -> None:
        # The probe leaves a directory behind when it is killed.
        environment = {"TMPDIR": str(tmp_path)}
        async with terminal.launch(FORM, columns=100, rows=30, environment=environment, ready_timeout=PATIENCE) as app:
            tree = await app.wait_for_revision(timeout=PATIENCE)
            assert (tree.columns, tree.rows) == (100, 30)
            assert {"application", "textbox", "checkbox", "list", "listitem", "button"} <= {each.role for each in tree.nodes}
            await app.wait_until(lambda: has_focus(app.tree, "title"), timeout=PATIENCE)
            assert app.revision_screen is not None
            assert "Approve" in app.revision_screen.text
            assert "8487" not in app.revision_screen.text

            # Every node that says where it is seen is on the screen of that same revision.
            approve = node(app.tree, "approve")
            rect = approve.geometry.visible_rect.value  # type: ignore[union-attr]
            lines = app.revision_screen.lines[rect.row : rect.row + rect.height]
            assert any("Approve" in line[rect.column : rect.column + rect.width] for line in lines)

            before = app.revision
            await app.type("v1.2")
            after = await app.wait_for_revision(after=before, timeout=PATIENCE)
            assert after.revision > before
            await app.wait_until(lambda: getattr(node(app.tree, "title").value, "value", "") == "v1.2", timeout=PATIENCE)
            await app.press(*["tab"] * 4)
            await app.wait_until(lambda: has_focus(app.tree, "approve"), timeout=PATIENCE)
            await app.press("enter")
            await app.wait_for_text("Approve: v1.2", timeout=PATIENCE)
            assert app.tree is not None
            assert '  button "Approve" #approve [focused] at 0,15 16x3' in terminal.format_tree(app.tree)
            assert [note.code for note in app.diagnostics] == ["adapter-attached"]

            await app.resize(90, 28)
            await app.wait_until(lambda: app.tree is not None and app.tree.columns == 90, timeout=PATIENCE)
            assert app.screen.columns == 90

            await app.press("ctrl+q")
            assert await app.exited(timeout=PATIENCE) == 0
            with pytest.raises(Unavailable, match="cannot come"):
                await app.wait_for_revision(after=app.revision)
        assert not endpoint(app).parent.exists()

    run(main)


def test_the_program_outlives_its_adapter_s_socket(tmp_path: Path) -> None:
    async def main() -> None:
        async with terminal.launch(FORM, environment={"TMPDIR": str(tmp_path)}, ready_timeout=PATIENCE) as app:
            await app.wait_for_revision(timeout=PATIENCE)
            await app.wait_quiet(timeout=PATIENCE)
            for link in list(app._driver._listener._links.values()):
                link.transport.abort()
            await app.wait_until(lambda: app.diagnostics[-1].code == "adapter-disconnected")
            tree = app.tree
            await app.type("still here")
            await app.wait_for_text("still here", timeout=PATIENCE)
            assert app.tree is tree
            with pytest.raises(Unavailable, match="adapter-disconnected"):
                await app.wait_for_revision(after=app.revision)
            await app.press("ctrl+q")
            assert await app.exited(timeout=PATIENCE) == 0

    run(main)


CLIENT = """
import asyncio, os, struct, sys
async def main():
    reader, writer = await asyncio.open_unix_connection(os.environ["TERMWRIGHT_ENDPOINT"])
    writer.write(bytes.fromhex(sys.argv[1]))
    answer = await reader.readexactly(struct.unpack(">I", await reader.readexactly(4))[0])
    rest = await reader.read()
    print(answer.decode(), len(rest), flush=True)
asyncio.run(main())
print("the program goes on", flush=True)
sys.stdin.readline()
"""


@pytest.mark.parametrize(
    ("said", "code"),
    [
        (b"\x00\x00\x00\x07{oops!}", "malformed"),
        (b"GET / HTTP/1.1\r\n\r\n", "limit-exceeded"),
        (b"\x00\x00\x00\x00", "malformed"),
        (b'\x00\x00\x00\x22{"type":"hello","protocol":"other"}', "bad-version"),
    ],
)
def test_a_malformed_line_gets_the_protocol_s_own_refusal(said: bytes, code: str) -> None:
    if code == "bad-version":
        said = len(said[4:]).to_bytes(4, "big") + said[4:]

    async def main() -> None:
        async with terminal.launch([sys.executable, "-c", CLIENT, said.hex()], columns=200, ready_timeout=PATIENCE) as app:
            await app.wait_for_text("the program goes on", timeout=PATIENCE)
            answer, _, rest = app.screen.lines[0].rpartition(" ")
            assert json.loads(answer)["code"] == code
            assert rest == "0"
            await app.press("enter")
            assert await app.exited(timeout=PATIENCE) == 0

    run(main)


def test_a_program_without_an_adapter_is_driven_by_its_screen() -> None:
    async def main() -> None:
        environment = {"PS1": "ready> ", "VISIBLE": "yes"}
        async with terminal.launch(
            ["bash", "--norc", "--noprofile"], columns=60, rows=10, environment=environment, ready_timeout=0.2
        ) as app:
            await app.wait_for_text("ready>", timeout=PATIENCE)
            await app.type("stty size; tty; echo $TERM $VISIBLE $SECRET.\n")
            await app.wait_for_text("xterm-256color yes .", timeout=PATIENCE)
            assert "10 60" in app.screen.lines
            await app.resize(70, 12)
            await app.type("stty size\n")
            await app.wait_for_text("12 70", timeout=PATIENCE)
            assert app.tree is None
            with pytest.raises(Unavailable, match="negotiation-timeout"):
                await app.wait_for_revision(timeout=PATIENCE)
            with pytest.raises(WaitTimeout) as late:
                await app.wait_for_text("never printed", timeout=0.05)
            assert "ready>" in late.value.seen
            assert "negotiation-timeout" in late.value.seen
            await app.type("sleep 1000\n")
            await app.press("ctrl+c")  # which throws away what was typed behind it
            await app.wait_for_text("^C", timeout=PATIENCE)
            await app.type("exit 7\n")
            assert await app.exited(timeout=PATIENCE) == 7

    os.environ["SECRET"] = "not for the child"
    try:
        run(main)
    finally:
        del os.environ["SECRET"]


def test_the_last_output_of_a_program_that_exits_at_once_is_kept() -> None:
    async def main() -> None:
        for _ in range(20):
            async with terminal.launch(["sh", "-c", "seq 1 2000; printf 'the end'; exit 3"], rows=5) as app:
                assert await app.exited(timeout=PATIENCE) == 3
                assert app.screen.lines == ("1997", "1998", "1999", "2000", "the end")
        assert app.screen.lines[-1] == "the end"  # and still after the block

    run(main)


def test_the_exit_is_told_while_a_grandchild_holds_the_terminal_and_its_group_is_ended() -> None:
    async def main() -> None:
        async with terminal.launch(["sh", "-c", "sleep 1000 & echo $!; echo done"]) as app:
            assert await app.exited(timeout=PATIENCE) == 0
            grandchild = int(app.screen.lines[0])
            assert app.screen.lines[1] == "done"
            assert not is_gone(grandchild)
        deadline = asyncio.get_running_loop().time() + PATIENCE
        while not is_gone(grandchild):  # init reaps it
            assert asyncio.get_running_loop().time() < deadline
            await asyncio.sleep(0.01)

    run(main)


def test_a_program_that_ignores_the_hangup_is_ended_all_the_same() -> None:
    async def main() -> None:
        async with terminal.launch(["sh", "-c", "trap '' HUP TERM; echo deaf; while :; do sleep 1000; done"]) as app:
            await app.wait_for_text("deaf", timeout=PATIENCE)
            pid = app.pid
        assert is_gone(pid)
        assert app.exit_status == -signal.SIGKILL

    run(main)


def test_signals_reach_the_program() -> None:
    async def main() -> None:
        async with terminal.launch(["sh", "-c", "trap 'echo caught; exit 5' USR1; echo ready; while :; do sleep 0.05; done"]) as app:
            await app.wait_for_text("ready", timeout=PATIENCE)
            await app.signal(signal.SIGUSR1)
            await app.wait_for_text("caught", timeout=PATIENCE)
            assert await app.exited(timeout=PATIENCE) == 5
            await app.signal(signal.SIGUSR1)  # it is gone: nothing happens

    run(main)


def test_what_cannot_be_started(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))

    async def main() -> None:
        for program in (["no-such-program"], ["/etc/passwd"]):
            with pytest.raises(Unavailable):
                async with terminal.launch(program):
                    pass

    run(main)
    assert list(tmp_path.iterdir()) == []


def test_the_directory_of_the_program(tmp_path: Path) -> None:
    async def main() -> None:
        async with terminal.launch(["pwd"], directory=str(tmp_path), columns=200) as app:
            assert await app.exited(timeout=PATIENCE) == 0
            assert app.screen.lines[0] == str(tmp_path)

    run(main)


def test_a_block_that_fails_leaves_nothing_behind() -> None:
    async def main() -> None:
        with pytest.raises(RuntimeError, match="mine"):
            async with terminal.launch(["sleep", "1000"]) as app:
                pid = app.pid
                assert endpoint(app).parent.stat().st_mode & 0o777 == 0o700
                raise RuntimeError("mine")
        assert is_gone(pid)
        assert not endpoint(app).parent.exists()

    run(main)


def test_an_adapter_that_breaks_the_protocol_is_reported_by_code_and_the_program_runs_on() -> None:
    rogue = """
import asyncio, json, os, sys
def frame(value):
    body = json.dumps(value).encode()
    return len(body).to_bytes(4, "big") + body
async def main():
    reader, writer = await asyncio.open_unix_connection(os.environ["TERMWRIGHT_ENDPOINT"])
    adapter = {"name": "rogue", "version": "1"}
    hello = {"type": "hello", "protocol": "termwright/3", "token": os.environ["TERMWRIGHT_TOKEN"], "adapter": adapter}
    writer.write(frame({**hello, "capabilities": ["tree"]}))
    await reader.readexactly(int.from_bytes(await reader.readexactly(4), "big"))
    writer.write(frame({"type": "semantic-full", "snapshot": {"v": 2}}))
    print((await reader.read())[4:].decode(), flush=True)
asyncio.run(main())
print("alive", flush=True)
sys.stdin.readline()
"""

    async def main() -> None:
        async with terminal.launch([sys.executable, "-c", rogue], columns=200, ready_timeout=PATIENCE) as app:
            with pytest.raises(RemoteProtocolError) as broken:
                await app.wait_for_revision(timeout=PATIENCE)
            assert broken.value.code == "protocol-violation"
            assert broken.value.detail.startswith("malformed")
            await app.wait_for_text("alive", timeout=PATIENCE)
            assert json.loads(app.screen.lines[0])["code"] == "malformed"
            await app.press("enter")
            assert await app.exited(timeout=PATIENCE) == 0

    run(main)


def test_the_sync_twin() -> None:
    with terminal_sync.launch(["bash", "--norc", "--noprofile"], environment={"PS1": "> "}, rows=6, ready_timeout=0.1) as app:
        app.type("echo one two\n")
        app.wait_for_text("one two", timeout=PATIENCE)
        app.wait_quiet(0.05, timeout=PATIENCE)
        with pytest.raises(WaitTimeout):
            app.wait_for_text("three", timeout=0.05)
        app.resize(40, 6)
        app.wait_until(lambda: True)
        with pytest.raises(Unavailable):
            app.wait_for_revision(timeout=PATIENCE)
        assert (app.tree, app.revision, app.revision_screen, app.exit_status, app.logs) == (None, 0, None, None, ())
        assert app.diagnostics[-1].code == "negotiation-timeout"
        app.signal(signal.SIGCONT)
        app.press("ctrl+d")
        assert app.exited(timeout=PATIENCE) == 0
        assert app.pid > 0
        assert app.screen.columns == 40
    assert "one two" in app.screen.text
    assert app.diagnostics[-1].code == "negotiation-timeout"


def test_the_twins_have_the_same_names() -> None:
    def public(kind: type) -> set[str]:
        return {name for name in vars(kind) if not name.startswith("_")}

    assert public(terminal_sync.Terminal) == public(terminal.Terminal)


def test_questions_that_nobody_reads_the_answers_of_are_bounded() -> None:
    async def main() -> None:
        asking = (
            "import sys, tty; tty.setraw(0)\n"
            "for _ in range(50000): sys.stdout.write('\\x1b[6n')\n"
            "print('asked', flush=True); sys.stdin.readline()"
        )
        async with terminal.launch([sys.executable, "-c", asking]) as app:
            await app.wait_for_text("asked", timeout=PATIENCE)
            assert app._driver._running().unwritten <= 1 << 17

    run(main)


def test_a_text_that_never_comes() -> None:
    async def main() -> None:
        async with terminal.launch(["echo", "something else"]) as app:
            with pytest.raises(Unavailable, match="something else"):
                await app.wait_for_text("never", timeout=PATIENCE)
            with pytest.raises(WaitTimeout, match="silence"):
                await app.wait_quiet(5, timeout=0.01)

    run(main)


def test_the_child_s_environment() -> None:
    os.environ["SECRET"] = "x"
    try:
        given = child_environment({"TERM": "vt100", "TERMWRIGHT_TOKEN": "forged"}, endpoint="/e", token="t")
        assert "SECRET" not in given
        assert (given["TERM"], given["COLORTERM"]) == ("vt100", "truecolor")
        assert (given["TERMWRIGHT_ENDPOINT"], given["TERMWRIGHT_TOKEN"]) == ("/e", "t")
        assert given["PATH"] == os.environ["PATH"]
        assert child_environment({}, endpoint="/e", token="t", inherit=True)["SECRET"] == "x"
    finally:
        del os.environ["SECRET"]
