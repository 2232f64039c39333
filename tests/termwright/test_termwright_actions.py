"""Acting through the API on real programs: a Textual form under the published probe, hand-written adapters, bash, and plain curses."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import termwright_kit as kit
from termwright_kit import CURSES, FORM, PATIENCE, run, scripted
from triptych.engine import terminal, terminal_sync
from triptych.engine.terminal import Policy, expect
from triptych.errors import LocalProtocolError, RemoteProtocolError, Unavailable, WaitTimeout
from triptych.generated.termwright.models import Node, Rect

ALL = (
    "tree", "intended-geometry", "clipped-geometry", "states", "focus-state", "actions", "action-recipes", "render-revisions",
    "pointer-hit-grid",
)  # fmt: skip
CLICKED = "\x1b[?1000h\x1b[?1006h"


class Told:
    """An observer that keeps what it is told."""

    def __init__(self) -> None:
        self.actions: list[dict[str, object]] = []
        self.sent = b""
        self.events: list[str] = []

    def output(self, data: bytes, at: float) -> None:
        self.events.append("output")

    def input(self, data: bytes, at: float) -> None:
        self.sent += data
        self.events.append("input")

    def resized(self, columns: int, rows: int, at: float) -> None:
        self.events.append(f"resized {columns}x{rows}")

    def published(self, revision: int, tree: object, at: float) -> None:
        self.events.append(f"published {revision}")

    def acted(self, action: Any, at: float) -> None:
        self.actions.append(dict(action))
        self.events.append(f"acted {action['type']}")

    def exited(self, status: int, at: float) -> None:
        self.events.append(f"exited {status}")


async def refused(action: Any, path: str, code: str = "not-actionable") -> str:
    with pytest.raises(LocalProtocolError) as refusal:
        await action
    assert (refusal.value.code, refusal.value.path) == (code, path)
    return refusal.value.detail


def test_a_textual_form_is_filled_in_and_sent() -> None:
    told = Told()

    async def main() -> None:
        async with terminal.launch(FORM, columns=80, rows=30, observers=[told], ready_timeout=PATIENCE) as app:
            title, approve = app.get_by_test_id("title"), app.get_by_role("button", name="Approve")
            await expect(title).to_be_focused(timeout=PATIENCE)
            await expect(title).to_have_value("")
            await expect(approve).not_.to_be_focused()
            await expect(app.get_by_role("button")).to_have_count(2)
            await title.type("v1")
            await title.fill("v1.2", timeout=PATIENCE)
            await expect(title).to_have_value("v1.2")
            assert await title.value() == "v1.2"

            ref = await approve.ref()
            await approve.click()
            status = app.get_by_test_id("status")
            await expect(status).to_have_text("Approve: v1.2", timeout=PATIENCE)
            await expect(status).to_contain_text("v1.2")
            await expect(status).to_have_text(re.compile(r"v\d\.\d$"))
            click = told.actions[-1]
            rect = await approve.rect()
            assert (click["type"], click["locator"]) == ("click", "get_by_role('button', name='Approve')")
            assert click["ref"] == ref.replace(ref.rpartition("@")[2], str(click["ref"]).rpartition("@")[2])
            assert (click["column"], click["row"]) == (rect.column + 7, rect.row + 1)

            # The reference of an old revision still means the same button.
            await app.get_by_role("textbox", name="Reviewer").fill("Ada", timeout=PATIENCE)
            await app.locator(ref).press("enter", timeout=PATIENCE)
            await expect(app.locator(ref)).to_be_focused()

            urgent = app.get_by_label("Urgent")
            await expect(urgent).not_.to_be_checked()
            await urgent.click()
            await expect(urgent).to_be_checked(timeout=PATIENCE)
            await expect(urgent).not_.to_be_disabled()
            await expect(app.get_by_role("list").get_by_text("Windows")).to_be_visible()
            await expect(app.get_by_text("Solaris")).not_.to_be_visible()

            reject = app.get_by_role("button").filter(text="Reject")
            await reject.focus(timeout=PATIENCE)
            await expect(reject).to_be_focused()
            await app.press("ctrl+q")
            assert await app.exited(timeout=PATIENCE) == 0
            await refused(reject.click(), "exited")
        assert told.events[0] == "resized 80x30"
        assert told.events[-2:] == ["exited 0", "acted close"]
        assert told.events.index("published 1") < told.events.index("acted type")

    run(main)


def test_what_is_not_found_is_told_with_what_was_seen() -> None:
    async def main() -> None:
        async with terminal.launch(FORM, ready_timeout=PATIENCE) as app:
            await app.wait_for_revision(timeout=PATIENCE)
            nothing = app.get_by_role("button", name="Publish")
            seen = await refused(nothing.click(timeout=0.1), repr(nothing), "not-found")
            assert 'button "Approve" #approve' in seen
            assert "Release notes" in seen
            await refused(nothing.resolve(timeout=0.1), repr(nothing), "not-found")
            both = app.get_by_role("button")
            assert "Approve" in await refused(both.click(), "get_by_role('button')", "ambiguous")
            assert isinstance(await both.first.resolve(), Node)
            assert await both.nth(1).text() == "Reject"
            assert await both.last.text() == "Reject"
            with pytest.raises(WaitTimeout) as late:
                await expect(both.first).to_be_focused(timeout=0.1)
            assert "get_by_role('button').first to be focused" in late.value.waited_for
            assert "#title [focused]" in late.value.seen
            with pytest.raises(WaitTimeout, match="not to be visible"):
                await expect(both.first).not_.to_be_visible(timeout=0.1)
            with pytest.raises(WaitTimeout, match="to be 3"):
                await expect(both).to_have_count(3, timeout=0.1)
            await refused(app.locator("nobody@1").click(timeout=0.1), "nobody@1", "stale-ref")
            await refused(both.first.press("hyper+a"), "hyper+a", "unknown-key")

    run(main)


def board(
    *, hits: Any = "own", space: Any = None, print_first: str = CLICKED, capabilities: tuple[str, ...] = ALL, **nodes: Any
) -> list[str]:
    """A scripted program with two buttons and a box, whose pointer input comes back as hex."""
    given = (
        kit.node("app", role="application", seen=kit.rect(0, 0, 80, 24)),
        kit.node("go", "app", seen=kit.rect(10, 5, 6), **nodes.get("go", {})),
        kit.node("stop", "app", seen=kit.rect(20, 6, 6), **nodes.get("stop", {})),
        kit.node("box", "app", role="textbox", seen=kit.rect(30, 7, 9), **nodes.get("box", {})),
    )
    runs = [kit.region("go", 10, 5, 6), kit.region("stop", 20, 6, 6), kit.region("box", 30, 7, 9)] if hits == "own" else hits
    return scripted(kit.full(1, *given, hits=runs, space=space), {"marker": 1}, print=print_first, capabilities=capabilities)


def hexed(data: bytes) -> str:
    return f"[{data.hex()}]"


def test_pointer_actions_go_to_the_proved_cell() -> None:
    async def main() -> None:
        told = Told()
        async with terminal.launch(board(), observers=[told]) as app:
            go = app.get_by_role("button", name="Go")
            await go.click(timeout=PATIENCE)
            await app.wait_for_text(hexed(b"\x1b[<0;13;6M\x1b[<0;13;6m"), timeout=PATIENCE)
            await go.click(button="right", modifiers="ctrl", count=2)
            await go.wheel(2)
            await go.drag_to(app.get_by_role("button", name="Stop"))
            expected = b"\x1b[<18;13;6M\x1b[<18;13;6m" * 2 + b"\x1b[<65;13;6M" * 2 + b"\x1b[<0;13;6M\x1b[<0;23;7m"
            assert told.sent.endswith(expected)
            drag = {"type": "drag", "locator": repr(go), "column": 12, "row": 5, "target": "get_by_role('button', name='Stop')"}
            assert told.actions[-1] == {**drag, "to_column": 22, "to_row": 6}
            await refused(go.hover(), "mouse-mode")
            assert terminal.format_tree(app.tree, refs=True).splitlines()[1] == '  button "Go" at 10,5 6x1 [go@1]'  # type: ignore[arg-type]  # published
            await refused(app.get_by_role("application").click(timeout=0.05), "hit-grid")
            assert told.sent.endswith(expected)

    run(main)


@pytest.mark.parametrize(
    ("how", "path"),
    [
        ({"space": kit.known("framework-local-cells")}, "coordinate-space"),
        ({"space": kit.unsupported()}, "coordinate-space"),
        ({"hits": None, "capabilities": ALL[:-1]}, "hit-grid"),
        ({"hits": [kit.region("stop", 10, 5, 6)]}, "hit-grid"),
        ({"print_first": ""}, "mouse-mode"),
        ({"go": {"state": {"disabled": True}}}, "disabled"),
        ({"go": {"state": {"hidden": True}}}, "hidden"),
    ],
)
def test_what_is_not_proved_is_refused_and_nothing_is_sent(how: dict[str, Any], path: str) -> None:
    async def main() -> None:
        told = Told()
        async with terminal.launch(board(**how), observers=[told]) as app:
            await app.wait_for_revision(timeout=PATIENCE)
            go = app.get_by_role("button", name="Go")
            for action in (go.click(timeout=0.05), go.wheel(timeout=0.05), go.hover(timeout=0.05), go.drag_to(go, timeout=0.05)):
                await refused(action, path)
            assert told.sent == b""
            assert told.actions == []

    run(main)


def test_an_action_waits_until_the_node_is_ready() -> None:
    def at(revision: int, **go: Any) -> dict[str, Any]:
        nodes = (kit.node("app", role="application"), kit.node("go", "app", seen=kit.rect(10, 5, 6), **go))
        return kit.full(revision, *nodes, hits=[kit.region("go", 10, 5, 6)])

    program = scripted(
        at(1, state={"disabled": True}), {"marker": 1}, {"key": True}, at(2, state={"hidden": True}), {"marker": 2}, {"key": True}, at(3),
        {"marker": 3}, print=CLICKED, capabilities=ALL,
    )  # fmt: skip

    async def main() -> None:
        import asyncio

        async with terminal.launch(program) as app:
            await app.wait_for_revision(timeout=PATIENCE)
            click = asyncio.create_task(app.get_by_role("button").click(timeout=PATIENCE))
            for revision in (2, 3):
                await app.press("x")
                await app.wait_for_revision(revision, timeout=PATIENCE)
            await click
            await app.wait_for_text(hexed(b"\x1b[<0;13;6M\x1b[<0;13;6m"), timeout=PATIENCE)

    run(main)


RECIPES = [
    {"action": "focus", "requiresFocus": False, "steps": [{"kind": "press", "key": "f6"}]},
    {"action": "setValue", "requiresFocus": True, "steps": [{"kind": "press", "key": "ctrl+u"}, {"kind": "insert-action-value"}]},
]


def test_recipes_are_carried_out_with_real_keys() -> None:
    box = {"actions": ["focus", "setValue"], "inputRecipes": RECIPES, "value": kit.public("old")}

    def at(revision: int, focused: bool, value: str) -> dict[str, Any]:
        given = {**box, "state": {"focused": focused}, "value": kit.public(value)}
        return kit.full(
            revision, kit.node("app", role="application"), kit.node("box", "app", role="textbox", seen=kit.rect(0, 0), **given), hits=[]
        )

    program = scripted(
        at(1, False, "old"), {"marker": 1}, {"key": True}, at(2, True, "old"), {"marker": 2}, *[{"key": True}] * 4, at(3, True, "new"),
        {"marker": 3}, capabilities=ALL,
    )  # fmt: skip

    async def main() -> None:
        told = Told()
        async with terminal.launch(program, observers=[told]) as app:
            await app.wait_for_revision(timeout=PATIENCE)
            await app.get_by_role("textbox").fill("new", timeout=PATIENCE)
            assert told.sent == b"\x1b[17~\x15new"
            assert [action["type"] for action in told.actions] == ["focus", "fill"]

    run(main)


@pytest.mark.parametrize(
    ("how", "path"),
    [
        ({"box": {"state": {"readonly": True}}}, "readonly"),
        ({"box": {"state": {"focused": True}}}, "fill"),
        ({"box": {"value": {**kit.known("x"), "sensitivity": "sensitive"}}}, "fill"),
        ({"box": {"value": kit.public("x"), "state": {"multiline": True}}}, "fill"),
        ({"box": {"value": kit.public("x")}, "capabilities": tuple(name for name in ALL if name != "focus-state")}, "focus"),
        (
            {"box": {"actions": ["setValue"], "inputRecipes": [{**RECIPES[1], "requiresFocus": False,
                                                                "steps": [{"kind": "press", "key": "Hyper"}, RECIPES[1]["steps"][1]]}]}},  # type: ignore[index]
            "recipe",
        ),
    ],
)  # fmt: skip
def test_what_cannot_be_filled_is_refused(how: dict[str, Any], path: str) -> None:
    async def main() -> None:
        told = Told()
        async with terminal.launch(board(**how), observers=[told]) as app:
            await app.wait_for_revision(timeout=PATIENCE)
            await refused(app.get_by_role("textbox").fill("new", timeout=0.05), path)
            assert told.sent == b""

    run(main)


def test_facts_that_are_not_observed_are_no_proof_of_the_opposite() -> None:
    secret = {"value": {**kit.known("hunter2"), "sensitivity": "sensitive"}}
    plain = tuple(name for name in ALL if name not in ("focus-state", "states"))

    async def main() -> None:
        async with terminal.launch(board(box=secret, capabilities=plain)) as app:
            await app.wait_for_revision(timeout=PATIENCE)
            go, box = app.get_by_role("button", name="Go"), app.get_by_role("textbox")
            await refused(expect(go).not_.to_be_focused(), "focus-state", "not-observable")
            await refused(expect(go).not_.to_be_disabled(), "states", "not-observable")
            await refused(box.value(), "value", "not-observable")
            await refused(expect(box).to_have_value("hunter2"), "value", "not-observable")
            assert await go.value() is None
            await expect(go).to_have_value(None)
            await expect(go).not_.to_have_value("")

    run(main)


def test_after_the_adapter_has_gone_its_hit_grid_proves_nothing() -> None:
    async def main() -> None:
        async with terminal.launch(board()) as app:
            await app.wait_for_revision(timeout=PATIENCE)
            for link in list(app._driver._listener._links.values()):
                link.transport.abort()
            await app.wait_until(lambda: app.diagnostics[-1].code == "adapter-disconnected", timeout=PATIENCE)
            await refused(app.get_by_role("button", name="Go").click(timeout=0.05), "no-tree")
            assert await app.get_by_role("button", name="Go").text() == "Go"

    run(main)


def test_a_session_that_breaks_its_word_is_reported_by_code() -> None:
    unsettled = kit.full(1, kit.node("app", role="application", value=kit.UNKNOWN))
    for send, providers, code in (
        (unsettled, [], "adapter-guarantee-violation"),
        (kit.full(1, kit.node("app")), [{"id": "p", "version": "1", "method": "native", "capabilities": ["hit-test"]}],
         "capability-provider-violation"),
    ):  # fmt: skip
        program = scripted(send, {"receive": True}, {"receive": True}, hello={"providers": providers})

        async def main(program: list[str] = program, code: str = code) -> None:
            async with terminal.launch(program) as app:
                with pytest.raises(RemoteProtocolError) as broken:
                    await app.wait_for_revision(timeout=PATIENCE)
                assert broken.value.code == code
                told = "malformed" if code.startswith("capability") else code
                await app.wait_for_text(f"<error {told}><closed >", timeout=PATIENCE)
                await app.press("ctrl+d")
                assert await app.exited(timeout=PATIENCE) == 0

        run(main)


def test_logs_with_level_attributes_and_gaps() -> None:
    def log(seq: int, message: str, level: str = "info", **more: Any) -> dict[str, Any]:
        return {"type": "log", "record": {"ts": 1, "level": level, "message": message, "seq": seq, **more}}

    program = scripted(
        log(1, "starting"), log(5, "slow query", "warn", attrs={"rows": 3}, logger="app.db", revision=7), log(5, "again"), {"key": True},
        log(6, "late", "error"), capabilities=("tree", "logs"),
    )  # fmt: skip

    async def main() -> None:
        async with terminal.launch(program) as app:
            slow = await app.wait_for_log("SLOW", level="warn", logger="app.db", timeout=PATIENCE)
            assert (slow.record.attrs, slow.record.revision, slow.lost) == ({"rows": 3}, 7, 3)
            await app.wait_until(lambda: app.diagnostics[-1].code == "protocol-violation", timeout=PATIENCE)
            assert app.lost_logs == 3
            assert [logged.record.message for logged in app.logs] == ["starting", "slow query"]
            assert terminal.format_logs(app.logs).splitlines() == [
                "0.000 info: starting",
                "3 lost at source",
                "0.000 warn app.db: slow query rows=3",
            ]
            with pytest.raises(WaitTimeout) as late:
                await app.wait_for_log(after=5, timeout=0.05)
            assert "3 lost at source" in late.value.seen
            await app.press("x")
            assert (await app.wait_for_log(re.compile("^late$"), after=5, timeout=PATIENCE)).record.level == "error"
            with pytest.raises(LocalProtocolError) as refusal:
                await app.wait_for_log(level="loud")
            assert refusal.value.code == "unknown-level"
            await app.press("ctrl+d")
            with pytest.raises(Unavailable, match="no log record"):
                await app.wait_for_log("never", timeout=PATIENCE)

    run(main)


def test_logs_of_a_program_that_sends_none() -> None:
    async def main() -> None:
        async with terminal.launch(scripted(kit.full(1, kit.node("app")))) as app:
            await app.wait_for_revision(timeout=PATIENCE)
            with pytest.raises(Unavailable, match="no log record"):
                await app.wait_for_log(timeout=PATIENCE)

    run(main)


def test_a_delta_stream_from_a_real_program() -> None:
    def delta(revision: int, base: int, name: str) -> dict[str, Any]:
        update = [{"id": "app", "set": {"name": name}}]
        return {
            "type": "semantic-delta",
            "delta": {"v": 3, "sessionId": "$SESSION", "revision": revision, "baseRevision": base, "updateNodes": update},
        }

    program = scripted(
        kit.full(1, kit.node("app")), delta(2, 1, "Two"), delta(9, 8, "Lost"), {"receive": True}, kit.full(10, kit.node("app", name="Ten")),
        delta(11, 10, "Eleven"), capabilities=("tree", "incremental-tree"),
    )  # fmt: skip

    async def main() -> None:
        async with terminal.launch(program) as app:
            await app.wait_for_revision(11, timeout=PATIENCE)
            assert await app.get_by_text("Eleven").count() == 1
            await app.wait_for_text("<semantic-resync-request base-mismatch>", timeout=PATIENCE)
            assert [note.code for note in app.diagnostics] == ["adapter-attached"]

    run(main)


def test_a_peer_that_never_reads_is_cut_off() -> None:
    program = [kit.PYTHON, "-c", FLOOD]

    async def main() -> None:
        async with terminal.launch(program, columns=120) as app:
            await app.wait_for_text("cut off", timeout=PATIENCE)
            assert app.diagnostics[-1].code == "adapter-disconnected"

    run(main)


FLOOD = """
import json, os, socket
from triptych.machines.termwright.framing import encode_frame
def frame(value): return encode_frame(value, 1 << 20)
link = socket.socket(socket.AF_UNIX)
link.connect(os.environ["TERMWRIGHT_ENDPOINT"])
adapter = {"name": "flood", "version": "1"}
hello = {"type": "hello", "protocol": "termwright/3", "token": os.environ["TERMWRIGHT_TOKEN"], "adapter": adapter}
link.sendall(frame({**hello, "capabilities": ["tree", "incremental-tree"]}))
stale = frame({"type": "semantic-delta", "delta": {"v": 3, "sessionId": "s", "revision": 9, "baseRevision": 8}})
try:
    for _ in range(100000): link.sendall(stale)
except OSError: print("cut off", flush=True)
input()
"""


# Programs without a probe


def test_bash_is_read_and_pasted_into() -> None:
    async def main() -> None:
        environment = {"PS1": "ready> ", "INPUTRC": "/dev/null"}
        async with terminal.launch(
            ["bash", "--norc", "--noprofile"], columns=60, rows=8, environment=environment, ready_timeout=0.1
        ) as app:
            ready = app.get_by_text("ready>")
            await expect(ready).to_be_visible(timeout=PATIENCE)
            assert await ready.rect() == Rect(row=0, column=0, width=6, height=1)
            assert await ready.text() == "ready>"
            await app.wait_until(lambda: app.modes.bracketed_paste, timeout=PATIENCE)
            await app.paste("echo one\necho two")
            await app.wait_for_text("echo two", timeout=PATIENCE)
            await app.wait_quiet(timeout=PATIENCE)
            assert "\none" not in app.screen.text  # nothing has run: the lines came as one paste
            await app.press("enter")
            await app.wait_for_text("\ntwo", timeout=PATIENCE)
            await expect(app.get_by_text("two")).to_have_count(2, timeout=PATIENCE)
            assert await app.get_by_text("two").last.text() == "two"
            await app.wait_until(lambda: any(note.code == "negotiation-timeout" for note in app.diagnostics), timeout=PATIENCE)
            why = await refused(app.get_by_text("two").last.click(), "no-tree")
            assert "click_cell(0, " in why
            await refused(ready.first.focus(), "no-tree")
            await refused(ready.first.value(), "tree", "not-observable")
            await refused(app.get_by_role("button").resolve(timeout=0.05), "get_by_role('button')", "not-found")
            with pytest.raises(LocalProtocolError) as refusal:
                await app.click_cell(0, 0)
            assert refusal.value.path == "mouse-mode"
            with pytest.raises(LocalProtocolError) as refusal:
                await app.click_cell(60, 0)
            assert refusal.value.code == "out-of-range"

    run(main)


def test_a_curses_program_is_driven_by_its_cells() -> None:
    async def main() -> None:
        async with terminal.launch(CURSES, columns=50, rows=9, environment={"LANG": "C.UTF-8"}, ready_timeout=0.1) as app:
            close = app.get_by_text("Close the valve")
            await expect(close).to_be_visible(timeout=PATIENCE)
            assert app.modes.alternate_screen
            assert app.modes.application_cursor_keys
            assert app.screen.cells[0][0].style.bold
            assert app.screen.cells[0][0].style.underline == 1
            assert app.screen.cells[2][2].style.background is not None
            assert app.screen.cells[3][2].style.background is None
            await app.press("down", "enter")
            await app.wait_for_text("chose Close the valve", timeout=PATIENCE)
            assert app.screen.cells[3][2].style.background is not None

            zawor = await app.get_by_text("中文 zawór").rect()
            assert (zawor.column, zawor.row, zawor.width) == (8, 4, 10)
            await app.wait_until(lambda: app.modes.mouse_tracking != "none", timeout=PATIENCE)
            await app.click_cell(zawor.column, zawor.row)
            await app.wait_for_text("mouse 8,4", timeout=PATIENCE)
            await app.resize(60, 12)
            await app.wait_for_text("60x12", timeout=PATIENCE)
            await app.press("q")
            assert await app.exited(timeout=PATIENCE) == 0

    run(main)


def test_the_policy_reaches_the_program_s_terminal() -> None:
    writing = ["sh", "-c", r"printf '\033]52;c;aGVsbG8=\007\033]8;;http://x.y/\007L\033]8;;\007 done'; read x"]

    async def main() -> None:
        for policy, copied in ((None, None), (Policy(clipboard_bytes=10), "hello")):
            async with terminal.launch(writing, policy=policy) as app:
                await app.wait_for_text("done", timeout=PATIENCE)
                assert app.clipboard == copied
                assert app.link_at(0, 0) == "http://x.y/"
                assert app.link_at(3, 0) is None

    run(main)


def test_an_observer_that_fails_is_noted_and_disturbs_nothing() -> None:
    class Broken(Told):
        def output(self, data: bytes, at: float) -> None:
            raise RuntimeError("no")

    async def main() -> None:
        broken, told = Broken(), Told()
        async with terminal.launch(["echo", "hello"], observers=[broken, told]) as app:
            assert await app.exited(timeout=PATIENCE) == 0
            assert app.screen.lines[0] == "hello"
            assert [note.code for note in app.diagnostics if note.code == "observer-failed"] == ["observer-failed"]
        assert told.events == ["resized 80x24", "output", "exited 0", "acted close"]

    run(main)


def test_after_the_block_the_terminal_can_be_looked_at_and_nothing_else() -> None:
    async def main() -> None:
        async with terminal.launch(["sh", "-c", r"printf '\033[?2004hhello'; read x"]) as app:
            await app.wait_for_text("hello", timeout=PATIENCE)
        assert app.screen.lines[0] == "hello"
        assert app.modes.bracketed_paste
        assert await app.get_by_text("hello").rect() == Rect(row=0, column=0, width=5, height=1)
        for action in (app.press("x"), app.type("x"), app.paste("x"), app.click_cell(0, 0), app.resize(10, 10)):
            with pytest.raises(Unavailable):
                await action

    run(main)


def test_a_screenshot(tmp_path: Path) -> None:
    async def main() -> None:
        async with terminal.launch(["echo", "hello"]) as app:
            await app.exited(timeout=PATIENCE)
            picture = await app.screenshot(tmp_path / "screen.png")
            assert picture.startswith(b"\x89PNG")
            assert (tmp_path / "screen.png").read_bytes() == picture

    run(main)


@pytest.mark.parametrize(("columns", "rows", "path"), [(0, 24, "columns"), (80, -1, "rows"), (70_000, 24, "columns"), (80, 1001, "rows")])
def test_sizes_that_no_terminal_has(columns: int, rows: int, path: str) -> None:
    async def main() -> None:
        with pytest.raises(LocalProtocolError) as refusal:
            async with terminal.launch(["true"], columns=columns, rows=rows):
                pass
        assert (refusal.value.code, refusal.value.path) == ("terminal-size", path)
        async with terminal.launch(["cat"]) as app:
            with pytest.raises(LocalProtocolError) as refusal:
                await app.resize(columns, rows)
            assert refusal.value.code == "terminal-size"
            assert (app.screen.columns, app.screen.rows) == (80, 24)

    run(main)


def test_a_probed_program_leaves_nothing_in_the_temporary_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path))

    def entries() -> int:
        return len(list(tmp_path.iterdir()))

    async def main() -> None:
        async with terminal.launch(FORM, ready_timeout=PATIENCE) as app:
            await app.wait_for_revision(timeout=PATIENCE)
            assert entries() == 1

    run(main)
    assert entries() == 0


def test_a_program_that_fails_at_once_is_told_by_its_own_words() -> None:
    async def main() -> None:
        async with terminal.launch(["sh", "-c", "echo 'no such module'; exit 2"]) as app:
            with pytest.raises(Unavailable) as gone:
                await app.wait_for_revision(timeout=PATIENCE)
            assert "exited with 2" in gone.value.reason
            assert "no such module" in gone.value.reason
            assert gone.value.remedy == ""

    run(main)


def test_the_sync_twin_has_locators_and_expectations() -> None:
    with terminal_sync.launch(board(box={"value": kit.public("x")})) as app:
        app.wait_for_revision(timeout=PATIENCE)
        go = app.get_by_role("button", name="Go")
        go.click(timeout=PATIENCE)
        app.wait_for_text(hexed(b"\x1b[<0;13;6M\x1b[<0;13;6m"), timeout=PATIENCE)
        go.wheel(-1)
        go.drag_to(app.get_by_text("Stop"))
        terminal_sync.expect(go).to_be_visible()
        terminal_sync.expect(go).not_.to_be_checked()
        terminal_sync.expect(go).not_.to_be_focused()
        terminal_sync.expect(go).not_.to_be_disabled()
        terminal_sync.expect(go).to_have_text("Go")
        terminal_sync.expect(go).to_contain_text("g")
        terminal_sync.expect(app.get_by_label("Box")).to_have_value("x")
        terminal_sync.expect(app.get_by_role("button")).to_have_count(2)
        assert repr(app.get_by_role("application").get_by_role("button").first) == "get_by_role('application').get_by_role('button').first"
        inside = app.get_by_role("application").filter(has=app.get_by_text("Go"))
        assert (inside.count(), inside.get_by_label("Box").value(), inside.get_by_test_id("x").count()) == (1, "x", 0)
        assert inside.get_by_text("Stop").nth(0).last.text() == "Stop"
        assert app.locator(go.ref()).rect() == Rect(row=5, column=10, width=6, height=1)
        assert go.resolve() is not None
        for refuse, path in (
            (go.hover, "mouse-mode"),
            (lambda: go.fill("x", timeout=0.1), "fill"),
            (lambda: go.focus(timeout=0.1), "focus"),
        ):
            with pytest.raises(LocalProtocolError) as refusal:
                refuse()
            assert refusal.value.path == path
        app.paste("z")
        app.wait_for_text(hexed(b"z"), timeout=PATIENCE)
        app.click_cell(0, 0)
        assert (app.clipboard, app.lost_logs, app.link_at(0, 0), app.modes.mouse_tracking) == (None, 0, None, "vt200")
        assert "pointer-hit-grid" in app.capabilities
        assert app.screenshot().startswith(b"\x89PNG")
        with pytest.raises(Unavailable):
            app.wait_for_log(timeout=1)


def test_the_twins_have_the_same_names_everywhere() -> None:
    def public(kind: type) -> set[str]:
        return {name for name in vars(kind) if not name.startswith("_")}

    for kind in ("Terminal", "Locator", "Expectation"):
        assert public(getattr(terminal_sync, kind)) == public(getattr(terminal, kind))
    assert set(terminal_sync.__all__) == set(terminal.__all__)
