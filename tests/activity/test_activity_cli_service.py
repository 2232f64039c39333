"""`triptych activity start` and how the other commands talk to it: in the foreground, in the background, and when it is gone."""

from __future__ import annotations

import json
import os
import signal
import socket
import stat
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from activity_kit import FORM, desk, every_byte
from activity_people_kit import TRIPTYCH, activity, environment
from gtk_kit import GtkForm
from triptych.adapters.display import PrivateDisplay
from triptych.engine.activity_cli import service as activity_service
from triptych.generated.collector.models import Health, RefusalCounts, UnknownFieldCounts

pytestmark = pytest.mark.display


@pytest.fixture
def short(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("s")


@contextmanager
def started(data: Path, env: dict[str, str], *options: str) -> Iterator[subprocess.Popen[str]]:
    """The host in the foreground, once it takes commands."""
    command = [*TRIPTYCH, "activity", "start", "--data", str(data), "--port", "0", *options]
    with subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as host:
        try:
            assert host.stdout is not None
            assert host.stdout.readline().startswith("recording into ")
            yield host
        finally:
            host.kill()


def wait_until_stored(data: Path) -> None:
    deadline = time.monotonic() + 15
    while not activity("show", "--data", str(data)).stdout:
        assert time.monotonic() < deadline, "nothing was stored"


def status_once(capture: str, env: dict[str, str]) -> dict[str, Any]:
    """The status as soon as it is that of a capture which is so."""
    deadline = time.monotonic() + 10
    while (status := json.loads(activity("status", "--json", env=env).stdout))["health"]["capture"] != capture:
        assert time.monotonic() < deadline, status
    return dict(status)


def _parent(process: Path) -> int:
    try:
        return int((process / "stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return 0


def is_gone(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def test_in_the_background_it_is_controlled_and_ended(private_display: PrivateDisplay, short: Path) -> None:
    env = {**private_display.env, **environment(short)}
    data = short / "share" / "triptych" / "activity"
    env["XDG_DATA_HOME"] = str(short / "share")  # where a record is without --data
    began = activity("start", "--detach", "--port", "0", env=env)
    assert began.returncode == 0, began.stderr
    first, second = began.stdout.splitlines()
    assert first.startswith(f"recording into {data} (process ")
    assert second == "no application is allowed yet, so nothing is recorded; see what is open: triptych activity policy allow"
    pid = int(first.rpartition(" ")[2].rstrip(")"))
    try:
        assert os.getsid(pid) == pid, "it has no terminal"
        assert {Path(f"/proc/{pid}/fd/{number}").readlink() for number in (0, 1)} == {Path("/dev/null")}
        assert stat.S_IMODE((data / "host.log").stat().st_mode) == stat.S_IMODE((data / "control.sock").stat().st_mode) == 0o600

        status = status_once("permission-required", env)
        assert status["running"] and status["host"]["pid"] == pid
        assert status["health"]["companion"]["listening"]

        again = activity("start", "--detach", env=env)
        assert (
            again.returncode == 1 and again.stderr.startswith("triptych: capture-owned-by-another-host") and again.stderr.count("\n") == 1
        )

        assert activity("pause", env=env).stdout == "capture paused\n"
        assert json.loads(activity("status", "--json", env=env).stdout)["health"]["capture"] == "paused"
        assert activity("resume", env=env).stdout.startswith("capture permission-required")

        assert activity("policy", "allow", FORM, env=env).returncode == 0
        status = json.loads(activity("status", "--json", env=env).stdout)
        assert status["policy"]["allowed"] == [FORM]
        assert status["health"]["reason"] != "no-apps-allowed"
        known = activity("policy", "adapter", "add", "org.example.Late.desktop", "--surface", "window", env=env)
        assert known.stdout == "known as org-example-late: org.example.Late.desktop\nthe host that runs knows it now\n"
        collectors = [path.read_bytes() for path in Path("/proc").glob("[0-9]*/cmdline") if _parent(path.parent) == pid]
        assert len(collectors) == 1 and bytes(data / "adapters.json") in collectors[0]
        assert status_once("permission-required", env)["health"]["capture"]
        refused = activity("policy", "remove", "nothing", env=env)
        assert refused.returncode == 1 and refused.stderr.startswith("triptych: [no-such-rule]")

        ended = activity("stop", env=env)
        assert (ended.returncode, ended.stdout) == (0, "stopped\n")
        assert is_gone(pid)
    finally:
        if not is_gone(pid):
            os.kill(pid, signal.SIGKILL)
    assert not (data / "control.sock").exists()
    assert activity("stop", env=env).stdout == f"no host records into {data}\n"
    for command in ("pause", "resume"):
        nobody = activity(command, env=env)
        assert nobody.returncode == 1 and nobody.stderr == f"triptych: no host records into {data} (triptych activity start)\n"
    assert activity("status", env=env).stdout.startswith("capture stopped: no host runs")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_it_in_order(private_display: PrivateDisplay, short: Path, number: signal.Signals) -> None:
    data = short / "history"
    with started(data, private_display.env) as host:
        children = Path(f"/proc/{host.pid}/task/{host.pid}/children").read_text().split()
        host.send_signal(number)
        assert host.wait(60) == 0
        assert host.stderr is not None and "Traceback" not in host.stderr.read()
    assert all(is_gone(int(child)) for child in children)
    assert not (data / "control.sock").exists()


def test_a_host_that_was_killed_is_gone_and_the_next_one_starts(private_display: PrivateDisplay, short: Path) -> None:
    data = short / "history"
    with started(data, private_display.env) as host:
        host.kill()
        host.wait(60)
        assert (data / "control.sock").exists()
        status = json.loads(activity("status", "--data", str(data), "--json").stdout)
        assert not status["running"] and not status["owned"]
    with started(data, private_display.env):
        assert json.loads(activity("status", "--data", str(data), "--json").stdout)["running"]
        assert activity("stop", "--data", str(data)).stdout == "stopped\n"


def test_a_recording_of_a_program_that_takes_no_commands_is_told_apart(private_display: PrivateDisplay, short: Path) -> None:
    data = short / "history"
    program = (
        "import sys; from pathlib import Path; from triptych.engine import activity_sync\n"
        f"with activity_sync.record(Path({str(data)!r})):\n    print('up', flush=True); sys.stdin.read()"
    )
    with subprocess.Popen([TRIPTYCH[0], "-c", program], env=private_display.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None and other.stdout.readline()
        status = json.loads(activity("status", "--data", str(data), "--json").stdout)
        assert not status["running"] and status["owned"]
        assert "takes no commands" in activity("status", "--data", str(data)).stdout
        refused = activity("policy", "--data", str(data), "allow", FORM)
        assert refused.returncode == 1 and "owned by another host" in refused.stderr and refused.stderr.count("\n") == 1
        other.communicate(timeout=60)


def test_without_a_session_neither_start_goes_on(short: Path) -> None:
    env = environment(short, DBUS_SESSION_BUS_ADDRESS="unix:path=/nonexistent")
    for options in ([], ["--detach"]):
        ended = activity("start", "--data", str(short / "history"), "--port", "0", *options, env=env)
        assert (ended.returncode, ended.stdout) == (1, ""), ended.stdout
        assert ended.stderr.splitlines()[-1].startswith("triptych: no session bus: ")
        assert "dbus-run-session" in ended.stderr
    assert not (short / "history" / "control.sock").exists()


def test_a_port_that_is_taken_is_said_and_capture_goes_on(private_display: PrivateDisplay, short: Path) -> None:
    data = short / "history"
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with started(data, private_display.env, "--port", str(port)):
            shown = activity("status", "--data", str(data)).stdout
            assert "companions  not listening (port-in-use)" in shown
            doctor = json.loads(activity("doctor", "--data", str(data), "--json", env=private_display.env).stdout)
            [found] = [finding for finding in doctor["findings"] if finding["what"] == "companions"]
            assert found["status"] == "limited" and "--port" in found["remedy"]


@pytest.mark.slow
def test_what_is_worked_on_is_in_today_and_in_no_log(
    private_display: PrivateDisplay, short: Path, gtk_program: Callable[..., GtkForm]
) -> None:
    with desk(private_display, short, gtk_program) as desktop:
        data, env = desktop.data, {**desktop.env, "LANG": "C.UTF-8", "TZ": "UTC"}
        options = ["--detach", "--port", "0", "--adapter-table", str(desktop.table), "--enable-accessibility"]
        assert activity("start", "--data", str(data), *options, env=env).returncode == 0
        try:
            form = desktop.form("Letter to the museum")
            open_now = activity("policy", "--data", str(data), "allow", env=env)
            assert [line.split()[:2] for line in open_now.stdout.splitlines() if FORM in line] == [["not", "allowed"]]
            assert "Letter to the museum" not in open_now.stdout
            dry = activity("policy", "--data", str(data), "allow", FORM, "--dry-run", env=env)
            assert f"would be allowed  {FORM}" in dry.stdout and "open now, and let in:" in dry.stdout
            allowed = json.loads(activity("policy", "--data", str(data), "allow", FORM, "--json", env=env).stdout)
            assert [program["pid"] for program in allowed["openNow"]] == [form.pid]
            wait_until_stored(data)
            desktop.click(form, "Save")
            shown = activity("today", "--data", str(data), env=env)
            assert "Letter to the museum" in shown.stdout and "under a minute" in shown.stdout
            assert "refused since the host started" in shown.stdout
            found = activity("search", "--data", str(data), "MUSEUM", env=env)
            assert "Letter to the museum" in found.stdout
        finally:
            assert activity("stop", "--data", str(data), env=env).returncode == 0
        log = (data / "host.log").read_bytes()
        assert b"museum" not in log and b"capture running" in log
        deleted = activity("delete", "--data", str(data), "--all", "--yes", env=env)
        assert deleted.stdout.startswith("deleted ")
        assert b"museum" not in every_byte(data)


def test_a_log_names_nothing_that_another_program_chose(short: Path) -> None:
    def health(reason: str) -> Health:
        return Health(
            capture="degraded",
            reason=reason,
            detail=None,
            collector=None,
            accessibility_trusted=None,
            companion=None,
            refusals=RefusalCounts(total=0, by_reason={}),
            unknown_fields=UnknownFieldCounts(policy="extension", total=0, by_name={}, other=0),
            maintenance=None,
        )

    assert "secret title" not in activity_service.quiet_state_line(health("secret title"))
    assert "[protocol-error]" in activity_service.quiet_state_line(health("protocol-error"))
    assert "secret title" in activity_service.state_line(health("secret title"))
    log = short / "host.log"
    log.write_bytes(b"x" * (2 << 20))
    os.close(activity_service.private_log(log))
    assert log.stat().st_size == 0 and stat.S_IMODE(log.stat().st_mode) == 0o600
