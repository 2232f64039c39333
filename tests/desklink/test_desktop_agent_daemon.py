"""The process behind the agent command line: who may talk to it, how it starts and ends, and that it serves many at once in order."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from desktop_agent_kit import Agent
from triptych.adapters.desklink import agent_socket
from triptych.adapters.desklink.agent_socket import NoDaemon, NotPrivate
from triptych.adapters.desklink.x11_input import X11Input
from triptych.adapters.display import PrivateDisplay
from triptych.adapters.process_end import wait_until_gone
from triptych.engine.desktop_agent.where import which
from triptych.errors import LocalProtocolError, Unavailable
from x11_kit import Client, eventually

display = pytest.mark.display
slow = pytest.mark.slow


@pytest.fixture
def agent(bare_display: PrivateDisplay) -> Iterator[Agent]:
    with Agent(bare_display) as agent:
        yield agent


# Who may talk to it


def test_the_folder_is_made_private(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tmp_path.chmod(0o700)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    old = os.umask(0)
    try:
        folder = agent_socket.private_folder()
    finally:
        os.umask(old)
    assert folder == tmp_path / "triptych" / "desktop"
    for path in (folder, folder.parent):
        assert path.stat().st_mode & 0o777 == 0o700
    assert agent_socket.private_folder() == folder


PARTS = ["", "triptych", "triptych/desktop"]
FAULTS = [(part, fault) for part in PARTS for fault in ("open", "symlink", "file", "foreign") if part or fault != "file"]


@pytest.mark.parametrize(("part", "fault"), FAULTS)
def test_a_folder_that_is_not_ours_alone_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, part: str, fault: str) -> None:
    top = tmp_path / "run"
    (top / "triptych" / "desktop").mkdir(parents=True, mode=0o700)
    for folder in (top, top / "triptych", top / "triptych" / "desktop"):
        folder.chmod(0o700)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(top))
    bad = top / part
    if fault == "open":
        bad.chmod(0o710)
    elif fault == "foreign":
        if os.geteuid() != 0:
            pytest.skip("only root can give a directory away")
        os.chown(bad, 65534, 65534)
    else:
        elsewhere = bad.rename(tmp_path / "elsewhere")
        if fault == "symlink":
            bad.symlink_to(elsewhere, target_is_directory=True)
        else:
            bad.write_text("")
    with pytest.raises(NotPrivate) as refused:
        agent_socket.private_folder()
    assert refused.value.remedy


def test_without_a_runtime_directory_it_is_one_under_tmp(monkeypatch: pytest.MonkeyPatch) -> None:
    top = Path(f"/tmp/triptych-{os.geteuid()}")
    there = top.exists()
    try:
        for value in ("", "/nowhere", "relative"):
            monkeypatch.setenv("XDG_RUNTIME_DIR", value)
            assert agent_socket.private_folder() == top / "desktop"
    finally:
        if not there:
            (top / "desktop").rmdir()
            top.rmdir()


def test_a_socket_that_was_left_is_replaced_and_a_file_in_its_place_is_not(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(tmp_path / "a.sock"))
    with pytest.raises(NoDaemon):
        agent_socket.connect(tmp_path, "a", 1.0)
    with agent_socket.listen(tmp_path, "a"):
        assert (tmp_path / "a.sock").stat().st_mode & 0o777 == 0o600
        with agent_socket.connect(tmp_path, "a", 1.0) as connection:
            assert agent_socket.peer(connection) == (os.getpid(), os.geteuid())
    (tmp_path / "b.sock").write_text("mine")
    with pytest.raises(Unavailable, match="no socket"):
        agent_socket.listen(tmp_path, "b")
    assert (tmp_path / "b.sock").read_text() == "mine"


def test_a_path_longer_than_a_socket_may_have(tmp_path: Path) -> None:
    folder = tmp_path / ("d" * 120)
    folder.mkdir(mode=0o700)
    with agent_socket.listen(folder, "a"), agent_socket.connect(folder, "a", 1.0) as connection:
        assert agent_socket.peer(connection)[0] == os.getpid()


def test_only_the_socket_that_was_made_is_removed(tmp_path: Path) -> None:
    with agent_socket.listen(tmp_path, "a"):
        made = (tmp_path / "a.sock").lstat()
        with agent_socket.starting(tmp_path, "a"):
            agent_socket.remove(tmp_path, "a", made)
        assert (tmp_path / "a.sock").exists(), "whoever holds the lock is about to replace it"
        with agent_socket.listen(tmp_path, "a"):
            agent_socket.remove(tmp_path, "a", made)
            assert (tmp_path / "a.sock").exists()
            agent_socket.remove(tmp_path, "a", (tmp_path / "a.sock").lstat())
            assert not (tmp_path / "a.sock").exists()


def test_a_lock_that_another_keeps_is_given_up(tmp_path: Path) -> None:
    with agent_socket.starting(tmp_path, "a"):
        with pytest.raises(Unavailable, match="still starting"), agent_socket.starting(tmp_path, "a", 0.05):
            raise AssertionError("it is taken")
        with agent_socket.starting(tmp_path, "b", 0.0):
            pass


def test_which_session_a_command_means(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DISPLAY", raising=False)
    with pytest.raises(Unavailable, match="DISPLAY is not set"):
        which(None, None, tmp_path)
    assert which("mine", None, tmp_path).name == "mine"
    assert which(None, ":7", tmp_path).name == which(None, ":7.0", tmp_path).name == "display-7"
    monkeypatch.setenv("DISPLAY", "far:10.0")
    assert which(None, None, tmp_path).name == "display-far-10"
    monkeypatch.delenv("DISPLAY")
    with contextlib.ExitStack() as held:
        held.enter_context(agent_socket.listen(tmp_path, "only"))
        assert which(None, None, tmp_path).name == "only"
        held.enter_context(agent_socket.listen(tmp_path, "other"))
        with pytest.raises(Unavailable, match="only, other"):
            which(None, None, tmp_path)
    for name in ("", "../x", ".hidden", "a/b", "x" * 41, "a b", "ä"):
        with pytest.raises(LocalProtocolError) as refused:
            which(name, None, tmp_path)
        assert refused.value.code == "usage"


@display
@slow
@pytest.mark.skipif(os.geteuid() != 0 or shutil.which("setpriv") is None, reason="only root can become another user")
def test_another_users_process_is_turned_away(agent: Agent) -> None:
    agent.say("start")
    path = agent.folder / f"{agent.name}.sock"
    code = (
        "import socket, sys\ns = socket.socket(socket.AF_UNIX)\ntry:\n    s.connect(sys.argv[1])\n"
        '    s.sendall(b\'{"command":"health"}\\n\')\n    print(s.recv(100))\n'
        "except PermissionError:\n    print('no way in')\nexcept OSError:\n    print(b'')\n"
    )
    intrude = ["setpriv", "--reuid", "65534", "--clear-groups", "/usr/bin/python3", "-c", code, str(path)]
    asked = subprocess.run(intrude, capture_output=True, text=True, timeout=30, check=False)
    assert asked.stdout == "no way in\n", asked
    opened = [path, *(folder for folder in path.parents if folder != Path("/tmp") and folder != Path("/"))]
    modes = [folder.stat().st_mode & 0o7777 for folder in opened]
    try:
        for folder in opened:
            folder.chmod(0o777)
        asked = subprocess.run(intrude, capture_output=True, text=True, timeout=30, check=False)
        # Hung up, before or after its line was read: either way nothing was said.
        assert asked.stdout == "b''\n", asked
    finally:
        for folder, mode in zip(opened, modes, strict=True):
            folder.chmod(mode)
    assert agent.ask("health")["ok"]


# How it starts and ends


@display
@slow
def test_eight_first_calls_at_once_start_one_daemon_and_all_are_answered(agent: Agent) -> None:
    calls = [agent.start_process("move", f"{10 * number},5", "--json") for number in range(8)]
    answers = [json.loads(call.communicate(timeout=60)[0]) for call in calls]
    assert all(answer["ok"] for answer in answers), answers
    assert sorted(answer["at"][0] for answer in answers) == [10 * number for number in range(8)]
    health = agent.ask("health")
    assert health["input_applied"] == 8
    daemons = [path for path in Path("/proc").glob("[0-9]*/cmdline") if _is_daemon(path, agent.name)]
    assert [int(path.parent.name) for path in daemons] == [health["pid"]]


def _is_daemon(path: Path, name: str) -> bool:
    try:
        words = path.read_bytes().split(b"\0")
    except OSError:
        return False
    return b"daemon" in words and name.encode() in words


@display
@slow
def test_eight_processes_call_at_once_and_none_is_mixed_up(agent: Agent, bare_display: PrivateDisplay) -> None:
    agent.say("start")
    code = (
        "import sys\nfrom triptych.engine.desktop_agent.client import ask\n"
        "number = int(sys.argv[1])\n"
        "for turn in range(10):\n"
        "    at = [number * 100 + turn, turn]\n"
        "    done = ask({'command': 'batch', 'steps': [{'command': 'move', 'at': at}, {'command': 'click', 'at': at}]}, None, None)\n"
        "    assert done['ok'] and [step['at'] for step in done['steps']] == [at, at], done\n"
    )
    began = time.monotonic()
    callers = [
        subprocess.Popen([sys.executable, "-c", code, str(number)], env=agent.env, stderr=subprocess.PIPE, text=True) for number in range(8)
    ]
    for caller in callers:
        _, said = caller.communicate(timeout=60)
        assert caller.returncode == 0, said
    print(f"8 processes, 10 batches each: {time.monotonic() - began:.2f} s")
    health = agent.ask("health")
    # A move, and the down and up of a click, for each.
    assert (health["input_applied"], health["input_rejected"]) == (8 * 10 * 3, 0)
    with X11Input(bare_display.name) as look:
        assert look.pressed() == frozenset()


@display
@slow
def test_a_click_answers_at_once(agent: Agent) -> None:
    agent.say("start", "--no-indicator")
    with agent.connected() as line:
        times = []
        for turn in range(200):
            began = time.perf_counter()
            assert line.ask(command="click", at=[turn, 10])["ok"]
            times.append((time.perf_counter() - began) * 1000)
    times.sort()
    print(f"click, round trip on the socket: p50 {statistics.median(times):.2f} ms, p95 {times[190]:.2f} ms")
    assert statistics.median(times) < 25


@display
@slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_releases_everything_and_leaves_nothing(agent: Agent, bare_display: PrivateDisplay, number: signal.Signals) -> None:
    agent.say("start")
    log = agent.folder / f"{agent.name}.log"
    with X11Input(bare_display.name) as look, agent.connected() as line:
        line.send({"command": "click", "at": [5, 5], "holding": ["Shift"], "wait": "change", "timeout": 60_000})
        waiting = agent.start_process("wait", "change", "--timeout", "60000", "--json")
        eventually(lambda: agent.ask("health")["busy"], "it waits")
        agent.kill(number)
        answer = line.answer()
        assert answer is not None
        assert (answer["ok"], answer["error"]["code"], answer["effect"]) == (False, "interrupted", "unknown")
        waited = json.loads(waiting.communicate(timeout=60)[0])
        assert waited["ok"] is False
        assert look.pressed() == frozenset()
    assert not (agent.folder / f"{agent.name}.sock").exists()
    assert number.name in log.read_text()
    assert log.stat().st_mode & 0o777 == 0o600


@display
@slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_nothing_stays_down_when_it_dies_in_a_step(agent: Agent, bare_display: PrivateDisplay, number: signal.Signals) -> None:
    clicks = [{"command": "click", "at": [5, 5], "count": 3, "holding": ["Shift", "Control"]}] * 30
    with X11Input(bare_display.name) as look:
        for delay in (0.0, 0.003, 0.01, 0.02):
            agent.say("start", "--no-indicator")
            pid = agent.pid
            with agent.connected() as line:
                line.send({"command": "batch", "steps": clicks})
                time.sleep(delay)  # where in the batch it dies
                os.kill(pid, number)
                assert wait_until_gone(pid, 5.0)
            # Of a process that is killed, the guard lifts what was down, a moment later.
            eventually(lambda: look.pressed() == frozenset() and not look.pointer()[2], f"nothing is down after {delay} s")


@display
@slow
def test_people_at_the_display_see_that_an_agent_acts_unless_told_not_to(agent: Agent) -> None:
    def halo() -> bool:
        threads = Path(f"/proc/{agent.pid}/task").glob("*/children")  # a process is the child of the thread that started it
        children = [child for thread in threads for child in thread.read_text().split()]
        found = [Path(f"/proc/{child}/cmdline").read_bytes() for child in children if Path(f"/proc/{child}/cmdline").exists()]
        return any(b"overlay_process" in words for words in found)

    agent.say("move", "5,5")
    eventually(halo, "the halo runs")
    agent.say("stop")
    for options in (["--no-indicator"], ["--view-only"]):
        agent.say("start", *options)
        agent.say("diff")
        assert not halo()
        agent.say("stop")


@display
@slow
def test_a_daemon_that_was_killed_is_replaced(agent: Agent) -> None:
    agent.say("start")
    first = agent.pid
    agent.kill(signal.SIGKILL)
    assert (agent.folder / f"{agent.name}.sock").exists()
    assert "no session" in agent.run("health").stderr
    assert agent.say("move", "1,1")
    assert agent.pid != first


@display
@slow
def test_it_ends_when_nobody_asks_anything_and_comes_back(agent: Agent) -> None:
    pid = agent.ask("start", "--idle", "0.3")["pid"]
    assert wait_until_gone(pid, 10.0)
    assert not list(agent.folder.glob("*.sock"))
    assert "nobody has asked anything" in (agent.folder / f"{agent.name}.log").read_text()
    agent.env["TRIPTYCH_DESKTOP_IDLE"] = "0.2"
    # Calls that meet a daemon that is just leaving are carried out all the same, by it or by the next.
    for turn in range(12):
        assert agent.ask("move", f"{turn},0")["ok"]
        time.sleep(0.015 * turn)
    agent.env["TRIPTYCH_DESKTOP_IDLE"] = "soon"
    agent.run("stop")
    assert "not a number" in agent.run("move", "1,1").stderr


@display
@slow
def test_a_display_that_goes_away_ends_it_with_a_clear_word(agent: Agent, bare_display: PrivateDisplay) -> None:
    agent.say("start")
    pid = agent.pid
    waiting = agent.start_process("wait", "change", "--timeout", "60000")
    eventually(lambda: agent.ask("health")["busy"], "it waits")
    bare_display.stop_server()
    said, why = waiting.communicate(timeout=60)
    assert (waiting.returncode, said) == (1, "")
    assert why.startswith("error: the X display ")
    assert "went away" in why
    assert "suggestion: start" in why
    assert wait_until_gone(pid, 20.0)
    assert "went away" in (agent.folder / f"{agent.name}.log").read_text()
    later = agent.run("click", "1,1")
    assert (later.returncode, later.stderr.splitlines()[0]) == (
        1,
        f"error: cannot open X display {bare_display.name}: no server answers there, or it refuses our authority",
    )


@display
@slow
def test_a_client_that_hangs_up_does_not_keep_the_others_waiting(agent: Agent) -> None:
    agent.say("start")
    with agent.connected() as line:
        line.send({"command": "wait", "until": "change", "timeout": 120_000})
        eventually(lambda: agent.ask("health")["busy"], "it waits")
    began = time.monotonic()
    assert agent.ask("diff")["ok"]
    assert time.monotonic() - began < 60, "the other waits for two minutes"


@display
@slow
def test_sessions_of_their_own_names_look_each_for_itself(agent: Agent, bare_display: PrivateDisplay) -> None:
    agent.say("start", "--session", "one")
    agent.say("start", "--session", "two")
    with Client(bare_display) as client:
        client.fill(0x336699, (0, 0, 40, 40))
        for name in ("one", "two"):
            assert agent.ask("wait", "settle", "--session", name)["diff"]["regions"], name
            assert not agent.ask("diff", "--session", name)["regions"], name
    assert agent.ask("health", "--session", "one")["pid"] != agent.ask("health", "--session", "two")["pid"]
    assert agent.ask("health", "--session", "one", "--display", f"{bare_display.name}.0")["ok"]
    agent.refused("health", "--session", "one", "--display", ":998", code="other-display")
    agent.refused("health", "--session", "no/name", code="usage", exit_code=2)
    # Without a display in the environment, two sessions are one too many to guess.
    agent.env.pop("DISPLAY")
    assert "one, two" in agent.run("diff").stderr
    agent.say("stop", "--session", "two")
    assert agent.ask("diff")["ok"]


# What it takes


@display
@slow
def test_bad_lines_are_refused_and_the_daemon_goes_on(agent: Agent) -> None:
    agent.say("start")
    bad: list[bytes] = [
        *(b"{", b"[]", b"5", b'"x"', b"{}", b'{"command":5}', b'{"command":"nope"}', b'{"command":"click"}', b"\xff\xfe"),
        *(b'{"command":"click","at":[1,2,3]}', b'{"command":"click","at":"1,2","timeout":120001}', b'{"command":"wait","until":-5}'),
        *(b'{"command":"type","text":5}', b'{"command":"press","keys":[]}', b'{"command":"batch","steps":[]}', b"[" * 100_000),
        *(
            b'{"command":"diff","display":5}',
            b'{"command":"scroll","direction":"down","amount":1e9}',
            b'{"command":"diff","display":":998"}',
        ),
    ]
    with agent.connected() as line:
        for text in bad:
            line.send(text + b"\n")
            answer = line.answer()
            assert answer is not None, text
            assert answer["ok"] is False, text
            assert answer["error"]["code"] in ("usage", "other-display"), answer
        # Ahead of their answers, and with an empty line between: answered in order.
        line.send(b'{"command":"move","at":[1,1]}\n{"command":"move","at":[2,2]}\n{"command":"move","at":[3,3]}\n')
        answers = [line.answer() for _ in range(3)]
        assert [answer and answer["at"] for answer in answers] == [[1, 1], [2, 2], [3, 3]]
    with agent.connected() as line:
        with contextlib.suppress(OSError):
            line.send(b"x" * 5_000_000 + b"\n")
        with contextlib.suppress(OSError):
            answer = line.answer()
            assert answer is None or answer["error"]["code"] == "usage"
    assert agent.ask("health")["ok"]


@display
@slow
def test_it_listens_on_its_one_socket_only(agent: Agent) -> None:
    agent.say("start")
    folder = Path(f"/proc/{agent.pid}")
    inodes = {str(path.readlink())[8:-1] for path in (folder / "fd").iterdir() if str(path.readlink()).startswith("socket:[")}
    for table in ("tcp", "tcp6", "udp", "udp6", "raw"):
        if (folder / "net" / table).exists():
            assert not [line for line in (folder / "net" / table).read_text().splitlines()[1:] if line.split()[9] in inodes]
    listening = []
    for line in (folder / "net" / "unix").read_text().splitlines()[1:]:
        columns = line.split()
        if columns[6] in inodes and int(columns[3], 16) & 0x10000:
            listening.append(columns[-1])
    assert [Path(path).name for path in listening] == [f"{agent.name}.sock"]
