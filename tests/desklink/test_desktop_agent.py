"""Every command of the agent command line on a real display, with real programs: what it does, what it says, and how it refuses."""

from __future__ import annotations

import io
import json
import re
import shutil
import stat
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy
import pytest
from PIL import Image

from desktop_agent_kit import Agent
from gtk_kit import GtkForm
from triptych.adapters.desklink.x11_input import X11Input
from triptych.adapters.display import PrivateDisplay
from triptych.engine.child import triptych_command
from triptych.engine.desktop_agent.session import chunks
from x11_kit import Client, eventually

pytestmark = [pytest.mark.display, pytest.mark.slow]


@pytest.fixture
def agent(bare_display: PrivateDisplay) -> Iterator[Agent]:
    with Agent(bare_display) as agent:
        yield agent


@pytest.fixture
def form(private_display: PrivateDisplay, gtk_program: Callable[..., GtkForm]) -> Iterator[tuple[Agent, GtkForm]]:
    """A GTK form that fills a screen under our own keeper, and an agent before it."""
    keeper = subprocess.Popen(
        triptych_command("desktop", "keep", "--display", private_display.name), env=private_display.env, stdout=subprocess.PIPE
    )
    assert keeper.stdout is not None
    try:
        assert keeper.stdout.readline() == b'{"windows":[]}\n'
        form = gtk_program(private_display)
        form.wait_until(lambda form: form.layout["window"] == (0, 0, 1280, 800), "the form fills the screen")
        with Agent(private_display) as agent:
            yield agent, form
    finally:
        keeper.terminate()
        keeper.wait()
        keeper.stdout.close()


def at(form: GtkForm, widget: str) -> str:
    return ",".join(map(str, form.centre(widget)))


def test_a_form_is_filled_in_and_each_answer_says_what_changed(form: tuple[Agent, GtkForm]) -> None:
    agent, program = form
    clicked = agent.ask("click", at(program, "Name"), "--wait", "settle")
    program.wait_for("focus", name="Name")
    assert (clicked["at"], clicked["button"], clicked["count"]) == (list(program.centre("Name")), "left", 1)
    assert clicked["waited"]["for"] == "settle"
    typed = agent.ask("type", "Ada Lovelace", "--submit", "--wait", "settle")
    program.wait_for("activate", value="Ada Lovelace")
    assert typed["waited"]["met"]
    _, y = program.centre("Name")
    near = [one["box"] for one in typed["diff"]["regions"] if one["box"][1] <= y < one["box"][1] + one["box"][3]]
    assert near, typed["diff"]
    agent.say("press", "Control+a", "Delete")
    program.wait_for("text", value="")
    agent.say("click", *map(str, program.centre("Save")), "--double")
    program.wait_for("click", name="Save", count=2)


def test_windows_are_told_as_the_window_manager_has_them(form: tuple[Agent, GtkForm]) -> None:
    agent, program = form
    [window] = agent.ask("windows")["windows"]
    assert (window["ref"], window["id"], window["title"], window["class"]) == ("w1", program.window_id, "Triptych form", "GtkForm")
    assert (window["pid"], window["box"], window["active"], window["visible"]) == (program.pid, [0, 0, 1280, 800], True, True)
    agent.say("diff")
    program.command("dialog")
    found = agent.ask("wait", "SURE")
    assert found["window"]["title"] == "Sure?"
    assert agent.say("wait", "Sure").splitlines()[1].startswith('w1  "Sure?"  GtkForm  pid ')
    program.command("close-dialog")
    eventually(lambda: len(agent.ask("windows")["windows"]) == 1, "the dialog has gone")
    assert "no window" not in agent.say()


def test_a_diff_tells_windows_that_come_go_and_change_their_title(agent: Agent, bare_display: PrivateDisplay) -> None:
    with Client(bare_display) as client:
        first = client.window(300, 200, name="Notes")
        client.map(first)
        agent.say("windows")
        second = client.window(100, 100, name="Save \x1b[31mas\u202e?")
        client.map(second)
        client.set_text(first, "_NET_WM_NAME", "UTF8_STRING", b"Notes *")
        told = agent.ask("diff")["windows"]
        assert [(one["title"], one["box"]) for one in told["opened"]] == [("Save \ufffd[31mas\ufffd?", [10, 10, 100, 100])]
        assert [(one["from"], one["to"]) for one in told["renamed"]] == [("Notes", "Notes *")]
        client.destroy(second)
        said = agent.say("diff")
        assert 'closed "Save \ufffd[31mas\ufffd?"' in said
        # A menu is no window, nor is what cannot be seen.
        client.map(client.window(50, 50, name="menu", override_redirect=True))
        client.window(50, 50, name="hidden")
        assert [one["title"] for one in agent.ask("windows")["windows"]] == ["Notes *"]


def test_diff_groups_what_changed_since_the_last_look_and_flags_what_animates(agent: Agent, bare_display: PrivateDisplay) -> None:
    with Client(bare_display) as client:
        begun = agent.ask("diff")
        assert begun["regions"] == []
        client.fill(0x336699, (100, 100, 40, 40))
        client.fill(0x993366, (640, 320, 8, 8))
        agent.say("wait", "settle")  # a look too
        assert agent.say("diff").startswith("nothing has changed since seq")
        client.fill(0x336699, (640, 320, 20, 20))
        told = agent.ask("wait", "settle")["diff"]
        assert told["regions"] == [{"ref": "r1", "box": [640, 320, 32, 32], "animating": False}]

        def blink_for(process: subprocess.Popen[str]) -> None:
            """Until it has ended."""
            colour = 0
            while process.poll() is None:
                colour ^= 0xFFFFFF
                client.fill(colour, (32, 32, 16, 16))
                time.sleep(0.05)  # the blinking itself

        client.fill(0x112233, (960, 640, 4, 4))
        looking = agent.start_process("wait", "700", "--json")
        blink_for(looking)
        answer = json.loads(looking.communicate(timeout=60)[0])
        assert [(one["box"], one["animating"]) for one in answer["diff"]["regions"]] == [
            ([960, 640, 32, 32], False),
            ([32, 32, 32, 32], True),
        ]
        settling = agent.start_process("wait", "settle", "--timeout", "30000")
        blink_for(settling)
        said, _ = settling.communicate(timeout=60)
        assert said.startswith("settled after"), said


def test_a_shot_is_private_and_shows_the_frame(agent: Agent, bare_display: PrivateDisplay, tmp_path: Path) -> None:
    with Client(bare_display) as client:
        client.fill(0x336699, (0, 0, 1280, 800))
        shot = agent.ask("shot", str(tmp_path / "all.png"))
        assert (shot["width"], shot["height"], shot["path"]) == (1280, 800, str(tmp_path / "all.png"))
        assert stat.S_IMODE((tmp_path / "all.png").stat().st_mode) == 0o600
        with Image.open(tmp_path / "all.png") as picture:
            assert numpy.array_equal(numpy.unique(numpy.asarray(picture).reshape(-1, 3), axis=0), [[0x33, 0x66, 0x99]])
        client.fill(0xFFFFFF, (64, 64, 64, 32))
        agent.say("wait", "settle")
        said = agent.say("shot", str(tmp_path / "part.png"), "--region", "r1")
        assert "part.png  64x32  seq " in said
        assert said.rstrip().endswith("at 64,64")
        marked = agent.ask("shot", "--mark")
        assert marked["marked"] == [{"ref": "r1", "box": [64, 64, 64, 32], "animating": False}]
        assert Path(marked["path"]).parent == agent.folder
        with Image.open(marked["path"]) as picture:
            assert picture.getpixel((64, 64)) == picture.getpixel((127, 95)) == (255, 0, 80)
            assert picture.getpixel((100, 80)) == (255, 255, 255)
    assert "none" in agent.refused("shot", str(tmp_path / "none" / "a.png"), code="io")
    agent.refused("shot", "--region", "1200,0,200,10", code="coordinates")
    agent.refused("shot", "--region", "0,0,0", code="usage", exit_code=2)


def test_a_shot_goes_through_a_pipe(agent: Agent, bare_display: PrivateDisplay, tmp_path: Path) -> None:
    def shot(*arguments: str) -> subprocess.CompletedProcess[bytes]:
        command = triptych_command("desktop", "shot", *arguments)
        return subprocess.run(command, env=agent.env, cwd=tmp_path, capture_output=True, timeout=60)

    piped = shot("-", "--region", "0,0,64,32")
    assert (piped.returncode, piped.stderr) == (0, b"")
    with Image.open(io.BytesIO(piped.stdout)) as picture:
        assert (picture.format, picture.size) == ("PNG", (64, 32))
    assert [*tmp_path.iterdir(), *agent.folder.glob("*.png")] == []
    both = shot("-", "--json")
    assert (both.returncode, both.stdout) == (2, b"")
    assert b"standard output takes the picture or the answer" in both.stderr
    assert shot("./-").returncode == 0
    assert [path.name for path in tmp_path.iterdir()] == ["-"]


def test_references_are_refused_once_what_they_mean_has_changed(agent: Agent, bare_display: PrivateDisplay) -> None:
    with Client(bare_display) as client, X11Input(bare_display.name) as look:
        agent.say("start")
        client.fill(0x336699, (320, 320, 32, 32))
        assert agent.ask("wait", "settle")["diff"]["regions"][0]["ref"] == "r1"
        agent.say("move", "r1")
        assert look.pointer()[:2] == (336, 336)
        client.fill(0x993366, (330, 330, 2, 2))
        agent.refused("click", "r1", code="stale-ref")
        agent.refused("click", "r7", code="not-found")
        window = client.window(200, 100, name="here")
        client.map(window)
        agent.say("windows")
        agent.say("move", "w1")
        assert look.pointer()[:2] == (110, 60)
        client.destroy(window)
        agent.refused("move", "w1", code="stale-ref")
        agent.refused("move", "w2", code="not-found")


def test_the_pointer_does_what_is_said(agent: Agent, bare_display: PrivateDisplay) -> None:
    with X11Input(bare_display.name) as look:
        agent.say("move", "300,200")
        assert look.pointer()[:2] == (300, 200)
        assert agent.say("drag", "100,100", "400,300").startswith("dragged 100,100 to 400,300")
        assert look.pointer()[:2] == (400, 300)
        assert agent.say("scroll", "down", "--amount", "45", "--at", "5,6").startswith("scrolled down 45")
        assert look.pointer()[:2] == (5, 6)
        assert agent.say("click", "9", "8", "--button", "right", "--holding", "Control").startswith("clicked right at 9,8")
        assert (look.pointer()[:2], look.pressed()) == ((9, 8), frozenset())
        for place in ("1280,0", "0,800"):
            agent.refused("click", place, code="coordinates")
        assert "outside the 1280x800 surface" in agent.run("click", "--", "-1,5").stderr
        for place in ("here", "1", "1,2,3", "1.5,2"):
            agent.refused("click", place, code="usage", exit_code=2)
        agent.refused("click", "1,1", "--holding", "Nope", code="text-unsupported")
        agent.refused("press", "a", "Nope", code="text-unsupported", effect="partial")
        assert look.pressed() == frozenset()


@pytest.mark.skipif(shutil.which("xterm") is None, reason="xterm is not installed: apt install xterm")
def test_typing_into_a_terminal_and_what_it_refuses(agent: Agent, bare_display: PrivateDisplay, tmp_path: Path) -> None:
    out = tmp_path / "out"
    program = subprocess.Popen(
        ["xterm", "-u8", "-T", "work", "-e", f"cat > {out}"], env={**bare_display.env, "LC_ALL": "C.UTF-8"}, stderr=subprocess.DEVNULL
    )
    try:
        agent.say("wait", "work", "--timeout", "15000")
        agent.say("click", "w1", "--wait", "settle")
        assert "'日'" in agent.refused("type", "plain 日", code="text-unsupported")
        long = "".join(f"line {number}\n" for number in range(600))
        assert agent.say("type", "-", stdin=long).startswith(f"typed {len(long)} characters")
        agent.say("type", "日本語 ok", "--unicode", "--submit")
        agent.say("press", "Control+d")
        assert program.wait(60) == 0
        assert out.read_text(encoding="utf-8") == long + "日本語 ok\n"
    finally:
        program.terminate()
        program.wait()


def test_a_long_text_is_cut_between_characters() -> None:
    text = "aé日😀" * 2000
    pieces = chunks(text)
    assert "".join(pieces) == text
    assert max(len(piece.encode()) for piece in pieces) <= 4096
    assert len(pieces) == -(-len(text.encode()) // 4096)
    assert chunks("") == []


def test_the_clipboard_is_written_and_read(agent: Agent, bare_display: PrivateDisplay) -> None:
    agent.refused("clipboard", "read", code="clipboard")
    assert agent.say("clipboard", "write", "Grüße\n").strip() == "wrote 8 bytes to the clipboard"
    assert agent.ask("clipboard", "read")["text"] == "Grüße\n"
    if shutil.which("xclip"):
        got = subprocess.run(["xclip", "-o", "-selection", "clipboard"], env=bare_display.env, capture_output=True, timeout=20, check=True)
        assert got.stdout.decode() == "Grüße\n"
    big = "x" * 262_144
    assert agent.ask("clipboard", "write", "-", stdin=big)["written"] == len(big)
    assert agent.ask("clipboard", "read")["text"] == big
    assert agent.run("clipboard", "write", "-", stdin=big + "x").returncode == 1


def told_ms(said: str, before: str) -> int:
    """The milliseconds that a text names after these words."""
    found = re.search(rf"{before} (\d+) ms", said)
    assert found is not None, said
    return int(found[1])


def test_waiting(agent: Agent, bare_display: PrivateDisplay) -> None:
    with Client(bare_display) as client:
        agent.say("start")
        waiting = agent.start_process("wait", "change", "--json")
        eventually(lambda: agent.ask("health")["busy"], "it waits")
        assert waiting.poll() is None
        client.fill(0x336699, (0, 0, 9, 9))
        answer = json.loads(waiting.communicate(timeout=60)[0])
        assert (answer["waited"]["met"], answer["diff"]["regions"][0]["box"]) == (True, [0, 0, 32, 32])
        assert told_ms(agent.say("wait", "150"), "waited") >= 150
        agent.refused("wait", "change", "--timeout", "50", code="timeout")
        assert "'no such title'" in agent.refused("wait", "no such title", "--timeout", "50", code="timeout")
        agent.refused("wait", "", code="usage", exit_code=2)
        # A time-out after an input is no failure: the input was made, and the answer says so.
        said = agent.say("click", "5,5", "--wait", "change", "--timeout", "100")
        assert told_ms(said, "no change within") >= 100
        assert "the input was made all the same" in said
        agent.refused("click", "5,5", "--wait", "a while", code="usage", exit_code=2)


def test_a_batch_stops_at_the_first_failure_and_says_what_took_effect(agent: Agent, bare_display: PrivateDisplay) -> None:
    with X11Input(bare_display.name) as look:
        steps = [
            {"command": "move", "at": "50,60"},
            {"command": "press", "keys": ["a", "Nope"]},
            {"command": "move", "at": [1, 1]},
            {"command": "diff"},
        ]
        stopped = agent.run("batch", json.dumps(steps))
        assert stopped.returncode == 1
        assert stopped.stdout.splitlines()[0].startswith("1  moved to 50,60")
        assert stopped.stdout.splitlines()[1] == "2  press: error: no key is called 'Nope' (text-unsupported); it took effect in part"
        first = stopped.stderr.splitlines()[0]
        assert first == "error: step 2 of 4 failed and took effect in part; step 1 took effect; steps 3 to 4 did not run"
        answer = json.loads(agent.run("batch", json.dumps(steps), "--json").stdout)
        assert (answer["ok"], answer["failed"], answer["not_run"]) == (False, 2, [3, 4])
        assert [step["ok"] for step in answer["steps"]] == [True, False]
        assert look.pointer()[:2] == (50, 60)
        assert look.pressed() == frozenset()

        whole = agent.ask("batch", stdin=json.dumps([*steps[:1], *steps[2:], {"command": "wait", "until": "settle"}]))
        assert [step["command"] for step in whole["steps"]] == ["move", "move", "diff", "wait"]
        assert look.pointer()[:2] == (1, 1)

        # What is wrong with any step is found before the first is carried out.
        unknown, nested = {"command": "type", "txt": "x"}, {"command": "batch", "steps": steps}
        for bad in (unknown, nested, {"command": "click", "at": "x"}, {"command": "stop"}, 5):
            why = agent.refused("batch", json.dumps([{"command": "move", "at": "9,9"}, bad]), code="usage", exit_code=2)
            assert why.startswith("step 2: ")
            assert why.endswith("; nothing was done")
        assert look.pointer()[:2] == (1, 1)
        for number in (0, 31):
            agent.refused("batch", json.dumps([{"command": "diff"}] * number), code="usage", exit_code=2)
        agent.refused("batch", "{", code="usage", exit_code=2)
        agent.refused("batch", "{}", code="usage", exit_code=2)


def test_a_session_that_only_looks(agent: Agent) -> None:
    assert "view only" in agent.say("start", "--view-only")
    assert agent.ask("diff")["regions"] == []
    agent.refused("click", "1,1", code="permission")
    agent.refused("clipboard", "read", code="clipboard")


def test_the_home_screen_and_health(agent: Agent) -> None:
    assert agent.say().splitlines()[0] == f"no session '{agent.name}' runs (triptych desktop start)"
    assert json.loads(agent.say("--json"))["session"] is None
    assert "no session" in agent.run("health").stderr
    assert agent.run("stop").returncode == 1
    assert not list(agent.folder.glob("*.sock")), "to ask how it is starts nothing"
    started = agent.ask("start", "--idle", "60")
    assert (started["started"], started["idle_after_s"], started["size"]) == (True, 60.0, [1280, 800])
    assert agent.say("start").startswith("runs already  session ")
    assert agent.say().startswith(f"session {agent.name} on ")
    health = agent.ask("health")
    assert (health["pid"], health["capture"], health["control"]) == (started["pid"], "running", True)
    assert agent.say("stop") == f"stopped  session {agent.name}\n"
    assert not list(agent.folder.glob("*.sock"))


@pytest.mark.parametrize("arguments", [["click"], ["scroll", "sideways"], ["--json", "shot"], ["wait", "change", "--timeout", "-1"]])
def test_wrong_usage_is_exit_2_and_starts_nothing(agent: Agent, arguments: list[str]) -> None:
    answer = agent.run(*arguments)
    assert (answer.returncode, answer.stdout) == (2, "")
    assert "Usage:" in answer.stderr
    assert not agent.folder.exists()
