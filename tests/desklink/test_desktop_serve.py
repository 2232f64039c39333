"""`serve` as a process: what a consumer on two pipes sees of it, on a real X display, until either of them ends."""

from __future__ import annotations

import base64
import contextlib
import fcntl
import json
import os
import random
import shlex
import shutil
import signal
import stat
import subprocess
import sys
import termios
import time
from pathlib import Path

import pytest

from desklink_kit import EngineProcess
from stopwatch_kit import Stopwatch
from triptych.adapters.desklink.x11_input import X11Input
from triptych.adapters.display import PrivateDisplay
from triptych.engine.child import triptych_command
from x11_kit import Client, eventually

pytestmark = pytest.mark.display

HEADLESS = {name: value for name, value in os.environ.items() if name not in ("DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY")}

#: The serve loop with a peer connection that holds a key, a chord and a button, and prints where it must not.
HOLDING = """
import os, sys
from triptych.adapters.desklink.serve import serve
from triptych.adapters.desklink.transport import NoTransport

class Client(NoTransport):
    def __init__(self, reports):
        self.reports = reports
    async def start(self, session_id, plan):
        print("noise", flush=True)
        os.write(1, b"more noise\\n")
        self.reports.channel_opened(session_id)
        for text in (
            b'{"kind":"key","name":"Shift","down":true,"seq":1}',
            b'{"kind":"key","name":"F5","down":true,"modifiers":["Control"],"seq":2}',
            b'{"kind":"pointer","phase":"down","x":3,"y":4,"button":3,"seq":3}',
        ):
            self.reports.control_received(session_id, text)

sys.exit(serve(Client))
"""
SHIFT, CONTROL, F5 = 50, 37, 71


def test_a_session_from_hello_to_shutdown(bare_display: PrivateDisplay) -> None:
    path = Path(bare_display.runtime_dir) / "frame.raw"
    with EngineProcess(bare_display.env) as engine, Client(bare_display) as client:
        assert engine.listening() == []
        hello = engine.ask("hello", {"protocol": 3})
        assert (hello["protocol"], hello["platform"], hello["x11"]) == (3, "linux", {"available": True, "size": [1280, 800]})
        assert (hello["input"]["pointer"], hello["input"]["grant"], hello["clipboard"]["read"]) == (True, "granted", True)
        source = {"kind": "x11", "display": bare_display.name}
        opened = engine.ask("session.open", {"source": source, "permissions": ["view", "control"]})
        session = opened["sessionId"]
        assert opened["geometry"]["encoded"] == {"width": 1280, "height": 800}
        engine.event("session.state", capture="consented", transport="new", firstFrame=False)
        engine.event("session.frame.changed", seq=1, damage=[[0, 0, 1280, 800]])
        assert engine.listening() == []

        waiting = engine.send(
            "session.frame", {"session_id": session, "after_seq": 1, "since": 1, "path": str(path), "region": [60, 30, 8, 4]}
        )
        assert engine.ask("session.metrics")["captured_frames"] == 1
        client.fill(0x102030, (64, 32, 32, 32))
        answer = engine.answer(waiting)["result"]
        assert (answer["seq"], answer["width"], answer["height"], answer["written"]) == (2, 8, 4, True)
        assert answer["damage"] == [[64, 32, 32, 32]]
        pixels = path.read_bytes()
        assert len(pixels) == 8 * 4 * 4
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        # The two last rows from x = 64 on are painted: B, G, R.
        assert pixels[3 * 32 + 16 : 3 * 32 + 19] == b"\x30\x20\x10"
        assert pixels[3 * 32 + 12 : 3 * 32 + 15] == bytes(3)
        assert engine.event("session.frame.changed", seq=2)["damage"] == [[64, 32, 32, 32]]

        for bad in ("/tmp/frame.raw", str(path.parent / "none" / "f"), str(path.parent)):
            assert engine.code("session.frame", {"session_id": session, "path": bad}) == "frame"
        assert engine.code("session.restart_ice", {"session_id": session}) == "transport"
        assert engine.ask("session.close", {"session_id": session}) == {"closed": True}
        engine.event("session.state", capture="ended", transport="closed", firstFrame=False)
        assert engine.ask("shutdown") == {}
        assert engine.exit_code() == 0
        assert engine.errors() == ""


def test_a_downscaled_frame_is_nearest_samples(bare_display: PrivateDisplay) -> None:
    path = Path(bare_display.runtime_dir) / "frame.raw"
    with EngineProcess(bare_display.env) as engine, Client(bare_display) as client:
        client.fill(0x0000FF, (0, 0, 640, 800))
        session = engine.open(bare_display.name, max_width=640, max_height=400)
        frame = engine.ask("session.frame", {"session_id": session, "after_seq": 0, "path": str(path)})
        assert (frame["width"], frame["height"]) == (640, 400)
        pixels = path.read_bytes()
        assert pixels[319 * 4 : 321 * 4] == b"\xff\0\0\xff" + b"\0\0\0\xff"


def test_without_a_display_it_answers_honestly_and_still_takes_encoded_video() -> None:
    with EngineProcess(HEADLESS) as engine:
        capabilities = engine.ask("capabilities")
        assert capabilities["session"] == {"kind": "none"}
        assert capabilities["x11"] == {"available": False, "size": None}
        assert not capabilities["input"]["pointer"]
        assert capabilities["input"]["unavailable_reason"]["remedy"]
        engine.ask("hello", {"protocol": 3})
        for display in (None, ":1", "nonsense", ":99999999"):
            source = {"kind": "x11", "display": display}
            assert engine.code("session.open", {"source": source, "permissions": ["view"]}) == "source"
        source = {"kind": "encoded", "codec": "h264", "width": 486, "height": 1080}
        session = engine.ask("session.open", {"source": source, "permissions": ["view", "control"]})["sessionId"]
        unit = {"session_id": session, "keyframe": True, "data_b64": base64.b64encode(bytes(8 << 20)).decode()}
        assert engine.ask("session.feed", unit) == {"accepted": True}
        assert engine.ask("session.metrics")["fed_frames"] == 1
        assert engine.process.stdin is not None
        engine.process.stdin.close()
        assert engine.exit_code() == 0
        assert engine.said[-1]["params"]["capture"] == "ended"


def test_lines_that_are_no_requests_and_the_ones_after_them() -> None:
    with EngineProcess(HEADLESS) as engine:
        engine.write(b"x" * (17 << 20) + b'\n\n  \n{"id":7,"method":"capabilities"}\n\xff\n')
        engine.answer(7, seconds=20)
        engine.wait_for(lambda message: len(engine.said) == 3, "third line")
        assert [message["error"]["code"] for message in engine.said if "error" in message] == ["malformed"] * 2
        # A last line without a newline is a request too.
        engine.write(b'{"id":8,"method":"shutdown"}')
        assert engine.process.stdin is not None
        engine.process.stdin.close()
        assert engine.exit_code() == 0
        assert engine.answer(8)["result"] == {}


def test_a_fuzzed_channel_ends_alive_and_answering(bare_display: PrivateDisplay) -> None:
    chance = random.Random(3)
    words = ["session.open", "session.frame", "session.feed", "session.close", "session.metrics", "hello", "x", "session.candidate"]
    values = [
        None,
        0,
        -1,
        1e99,
        "",
        "x",
        [],
        {},
        [1, 2, 3, 4],
        {"kind": "x11", "display": bare_display.name},
        {"kind": "encoded"},
        ["view"],
        True,
    ]
    keys = ["session_id", "source", "permissions", "region", "path", "timeout_ms", "protocol", "data_b64", "keyframe", "max_fps"]
    with EngineProcess(bare_display.env) as engine:
        session = engine.open(bare_display.name, "view", "control")
        for _ in range(1500):
            params = {chance.choice(keys): chance.choice([*values, session]) for _ in range(chance.randrange(6))}
            line = json.dumps({"id": chance.randrange(10**6, 10**9), "method": chance.choice(words), "params": params}).encode()
            if chance.random() < 0.3:
                at = chance.randrange(len(line))
                line = line[:at] + bytes([chance.randrange(256)]) + line[at + chance.randrange(3) :]
            engine.write(line.replace(b"\n", b"") + b"\n")
            engine.read(time.monotonic())
        assert engine.ask("capabilities", seconds=30)["protocol"] == 3
        assert engine.ask("shutdown") == {}
        assert engine.exit_code() == 0
        assert "Traceback" not in engine.errors()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_lifts_what_is_held_and_nothing_stray_reached_stdout(bare_display: PrivateDisplay, number: signal.Signals) -> None:
    with EngineProcess(bare_display.env, HOLDING) as engine, X11Input(bare_display.name) as look:
        session = engine.open(bare_display.name, "view", "control")
        eventually(lambda: engine.ask("session.metrics")["input_applied"] == 3, "the input is applied")
        assert look.pressed() == {SHIFT, CONTROL, F5}
        assert look.pointer() == (3, 4, frozenset({3}))
        engine.process.send_signal(number)
        assert engine.exit_code() == 0
        assert look.pressed() == frozenset()
        assert look.pointer()[2] == frozenset()
        assert engine.said[-1]["params"] == {"sessionId": session, "capture": "ended", "transport": "closed", "firstFrame": False}
        assert "noise\nmore noise" in engine.errors()


def test_the_end_of_stdin_and_close_lift_what_is_held(bare_display: PrivateDisplay) -> None:
    for ending in ("stdin", "close", "lease"):
        with EngineProcess(bare_display.env, HOLDING) as engine, X11Input(bare_display.name) as look:
            session = engine.open(bare_display.name, "view", "control", ttl_seconds=2 if ending == "lease" else 60)
            eventually(lambda look=look: look.pressed() == {SHIFT, CONTROL, F5}, "the keys are down")
            if ending == "stdin":
                assert engine.process.stdin is not None
                engine.process.stdin.close()
            elif ending == "close":
                engine.ask("session.close", {"session_id": session})
            engine.event("session.state", capture="ended")
            assert look.pressed() == frozenset()
            if ending == "lease":
                assert engine.events("session.revoked")[0]["code"] == "lease"


def test_a_consumer_that_reads_nothing_holds_nothing_up(bare_display: PrivateDisplay) -> None:
    with EngineProcess(bare_display.env) as engine, Client(bare_display) as client:
        engine.open(bare_display.name)
        for number in range(4000):
            engine.write(b'{"id":%d,"method":"session.metrics"}\n' % (number + 1000))
        client.fill(0xFFFFFF, (0, 0, 64, 64))
        assert engine.process.stdin is not None
        stdin = engine.process.stdin.fileno()
        eventually(lambda: not int.from_bytes(fcntl.ioctl(stdin, termios.FIONREAD, bytes(4)), sys.byteorder), "it has read them all", 60)
        engine.process.send_signal(signal.SIGTERM)
        assert engine.process.wait(60) == 0, "who is never read from is not waited for"
        assert "the consumer did not take the last lines" in engine.errors()


ABANDONED = """
import sys
from triptych.adapters.desklink import serve
serve.MOST_UNREAD_BYTES = 1 << 20
from triptych.engine.desklink_command import main
sys.exit(main(["serve"]))
"""


def test_a_consumer_that_leaves_too_much_unread_has_gone(bare_display: PrivateDisplay) -> None:
    """What is not read waits in memory, up to a bound; then everything is released, as at the end of input."""
    with EngineProcess(bare_display.env, ABANDONED) as engine, X11Input(bare_display.name) as look:
        engine.open(bare_display.name, "view", "control")
        rest = b'{"id":1,"method":"session.metrics"}\n' * 100
        with contextlib.suppress(BrokenPipeError):
            for _ in range(100):
                engine.write(rest)
        assert engine.process.wait(60) == 0
        assert look.pressed() == frozenset()
        assert "does not read" in engine.errors()


def test_a_consumer_that_closes_its_end_of_stdout(bare_display: PrivateDisplay) -> None:
    with EngineProcess(bare_display.env) as engine, Client(bare_display) as client:
        engine.open(bare_display.name)
        assert engine.process.stdout is not None
        engine.process.stdout.close()
        client.fill(0xFFFFFF, (0, 0, 64, 64))
        assert engine.process.wait(60) == 0


def test_requests_from_a_file_and_from_nowhere(tmp_path: Path) -> None:
    script = tmp_path / "requests"
    script.write_bytes(b'{"id":1,"method":"capabilities"}\n{"id":2,"method":"shutdown"}\n')
    with script.open("rb") as stdin, EngineProcess(HEADLESS, stdin=stdin.fileno()) as engine:
        assert engine.exit_code() == 0
        assert engine.answer(1)["result"]["protocol"] == 3
        assert engine.said[-1] == {"id": 2, "result": {}}
    with EngineProcess(HEADLESS, stdin=subprocess.DEVNULL) as engine:
        assert engine.exit_code() == 0


def test_a_lost_display_is_told_once_and_tried_three_times(bare_display: PrivateDisplay) -> None:
    with EngineProcess(bare_display.env) as engine:
        session = engine.open(bare_display.name, "view", "control")
        engine.event("session.frame.changed", seq=1)
        waiting = engine.send("session.frame", {"session_id": session, "after_seq": 1, "timeout_ms": 60000})
        bare_display.stop_server()
        stopped = engine.event("session.capture.stopped")
        assert bare_display.name in stopped["reason"]
        assert engine.answer(waiting)["error"]["code"] == "stream-stopped"
        assert engine.code("session.frame", {"session_id": session}) == "stream-stopped"
        engine.event("session.state", seconds=15, capture="ended", transport="new")
        assert engine.code("session.frame", {"session_id": session, "still_ms": 10}) == "stream-stopped"
        assert len(engine.events("session.capture.stopped")) == 1
        assert engine.ask("session.close", {"session_id": session}) == {"closed": True}
        assert engine.code("session.open", {"source": {"kind": "x11", "display": bare_display.name}, "permissions": ["view"]}) == "source"
        assert engine.ask("shutdown") == {}
        assert engine.exit_code() == 0


def test_a_display_that_comes_back_is_captured_again(bare_display: PrivateDisplay) -> None:
    with EngineProcess(bare_display.env) as engine:
        session = engine.open(bare_display.name, "view", "control")
        engine.event("session.frame.changed", seq=1)
        bare_display.stop_server()
        engine.event("session.capture.stopped")
        # With -displayfd a server makes no lock file: the number is still claimed by the fixture.
        screen = ["-screen", "0", "1280x800x24", "-nolisten", "tcp", "-noreset", "-displayfd", "1"]
        command = ["Xvfb", bare_display.name, "-auth", bare_display.env["XAUTHORITY"], *screen]
        again = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            engine.event("session.state", seconds=15, capture="streaming", transport="new")
            frame = engine.ask("session.frame", {"session_id": session, "after_seq": 1, "since": 1})
            assert (frame["seq"], frame["damage"]) == (2, [[0, 0, 1280, 800]])
            assert len(engine.events("session.capture.stopped")) == 1
            assert engine.ask("shutdown") == {}
            assert engine.exit_code() == 0
        finally:
            again.terminate()
            again.wait()


def test_a_display_server_that_hangs_holds_nothing_up(bare_display: PrivateDisplay) -> None:
    with EngineProcess(bare_display.env) as engine:
        session = engine.open(bare_display.name, "view", "control")
        engine.event("session.frame.changed", seq=1)
        os.kill(bare_display.pid, signal.SIGSTOP)
        try:
            engine.send("session.frame", {"session_id": session, "path": str(Path(bare_display.runtime_dir) / "f")})
            assert engine.ask("session.metrics")["captured_frames"] == 1
            assert not engine.ask("capabilities")["x11"]["available"]
            engine.process.send_signal(signal.SIGTERM)
            assert engine.exit_code(seconds=3) == 0
            assert engine.said[-1]["params"]["capture"] == "ended"
        finally:
            os.kill(bare_display.pid, signal.SIGCONT)


def test_the_root_window_is_resized_without_a_loss(bare_display: PrivateDisplay) -> None:
    path = Path(bare_display.runtime_dir) / "frame.raw"
    with EngineProcess(bare_display.env) as engine, Client(bare_display) as client:
        session = engine.open(bare_display.name)
        engine.event("session.frame.changed", seq=1)
        client.resize_screen(800, 600)
        client.fill(0xFF8040, (0, 0, 800, 600))
        eventually(lambda: engine.ask("session.frame", {"session_id": session, "still_ms": 50})["seq"] > 1, "a frame after the resize")
        frame = engine.ask("session.frame", {"session_id": session, "still_ms": 50, "path": str(path)})
        assert (frame["width"], frame["height"]) == (1280, 800)
        assert path.read_bytes()[-4:] == b"\x40\x80\xff\xff"
        assert engine.events("session.capture.stopped") == []


def xclip(display: PrivateDisplay, *arguments: str, text: str | None = None) -> str:
    command = ["xclip", "-selection", "clipboard", *arguments]
    # xclip goes on in the background, with the descriptors that it has.
    keep = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL} if text is not None else {"stdout": subprocess.PIPE}
    return subprocess.run(command, input=text, text=True, check=True, env=display.env, timeout=10, **keep).stdout  # type: ignore[call-overload,no-any-return]  # pipes as asked


@pytest.mark.skipif(shutil.which("xclip") is None, reason="xclip is not installed: apt install xclip")
def test_the_clipboard_over_the_local_protocol(bare_display: PrivateDisplay) -> None:
    with EngineProcess(bare_display.env) as engine:
        session = engine.open(bare_display.name, "view", "clipboard")
        ours = {"session_id": session}
        assert engine.code("session.clipboard.read", ours) == "clipboard"  # nobody has copied anything
        xclip(bare_display, "-i", text="grüße 😀")
        assert engine.ask("session.clipboard.read", ours) == {"text": "grüße 😀", "truncated": False}
        written = "x" * 262_144
        assert engine.ask("session.clipboard.write", {**ours, "text": written}) == {"written": True}
        assert xclip(bare_display, "-o") == written
        assert engine.code("session.clipboard.write", {**ours, "text": written + "y"}) == "clipboard"
        assert xclip(bare_display, "-o") == written
        # Several at once, in order, and other requests in between.
        asked = [
            engine.send("session.clipboard.write", {**ours, "text": "one"}),
            engine.send("session.clipboard.read", ours),
            engine.send("session.clipboard.write", {**ours, "text": "two"}),
            engine.send("session.metrics"),
            engine.send("session.clipboard.read", ours),
        ]
        results = [engine.answer(request)["result"] for request in asked]
        assert (results[1]["text"], results[4]["text"]) == ("one", "two")
        assert engine.listening() == []
        engine.ask("session.close", ours)
        # The selection ends with the session.
        assert subprocess.run(["xclip", "-selection", "clipboard", "-o"], capture_output=True, env=bare_display.env, timeout=10).returncode


@pytest.mark.slow
def test_a_program_that_does_not_give_its_clipboard_away_holds_nothing_up(bare_display: PrivateDisplay) -> None:
    with EngineProcess(bare_display.env) as engine, Client(bare_display) as silent:
        session = engine.open(bare_display.name, "view", "clipboard")
        silent.core.SetSelectionOwner(silent.window(10, 10), silent.atom("CLIPBOARD"), 0)
        silent.sync()
        asked = Stopwatch(engine.process.pid)
        read = engine.send("session.clipboard.read", {"session_id": session})
        assert engine.ask("session.metrics")["captured_frames"] >= 0
        assert engine.ask("session.frame", {"session_id": session, "after_seq": 0})["seq"] > 0
        assert asked.seconds() < 2
        assert engine.answer(read)["error"] == {"code": "clipboard", "message": "the desktop clipboard did not answer"}
        waiting = engine.send("session.clipboard.read", {"session_id": session})
        assert engine.ask("shutdown") == {}
        assert engine.exit_code(seconds=3) == 0
        assert engine.answer(waiting)["error"]["code"] == "session"


def test_the_indicator_is_a_process_of_its_own_that_ends_with_the_session(bare_display: PrivateDisplay) -> None:
    with EngineProcess(bare_display.env) as engine:
        session = engine.open(bare_display.name, "view", "control")
        without = len(engine.helpers())
        engine.ask("session.close", {"session_id": session})
        eventually(lambda: engine.helpers() == [], "the helpers of the first session are gone")
        session = engine.open(bare_display.name, "view", "control", agent_indicator=True)
        eventually(lambda: len(engine.helpers()) == without + 1, "the indicator runs")
        assert engine.listening() == []
        engine.ask("session.close", {"session_id": session})
        eventually(lambda: engine.helpers() == [], "the indicator is gone")
        session = engine.open(bare_display.name, "view", agent_indicator=True)
        assert engine.ask("session.frame", {"session_id": session, "after_seq": 0})["seq"] > 0
        assert engine.helpers() == []


@pytest.mark.parametrize("stream", [0, 1])
def test_a_closed_standard_stream_is_one_line(stream: int) -> None:
    command = " ".join(map(shlex.quote, triptych_command("desktop", "serve")))
    done = subprocess.run(["sh", "-c", f"{command} {stream}>&-"], capture_output=True, text=True, env=HEADLESS, timeout=30)
    assert done.returncode == 1
    assert done.stderr == "triptych: the engine needs its standard streams, and one of them is closed (start it on pipes)\n"


WITHOUT = """
import sys
for module in ("numpy", "xcffib", "PIL"):
    sys.modules[module] = None
sys.argv = ["triptych-desklink", *sys.argv[1:]]
from triptych.engine import extras
extras.find_spec = lambda name: None if sys.modules.get(name, name) is None else name
"""


@pytest.mark.parametrize(
    ("entry", "arguments", "out", "err"),
    [
        ("desklink_command", ["serve"], "", "triptych-desklink: numpy and xcffib are not installed (pip install 'triptych[desktop]')\n"),
        (
            "desklink_command",
            ["keep", "--display", ":998"],
            '{"error": "xcffib is not installed (pip install \'triptych[desktop]\')"}\n',
            "",
        ),
        ("cli", ["desktop", "serve"], "", "triptych: numpy and xcffib are not installed (pip install 'triptych[desktop]')\n"),
        ("cli", ["desktop", "screenshot", "f.png"], "", "triptych: numpy and PIL are not installed (pip install 'triptych[desktop]')\n"),
        (
            "cli",
            ["desktop", "keep", "--display", ":998"],
            '{"error": "xcffib is not installed (pip install \'triptych[desktop]\')"}\n',
            "",
        ),
    ],
)
def test_without_the_extra_it_is_one_line(entry: str, arguments: list[str], out: str, err: str) -> None:
    program = f"{WITHOUT}\nfrom triptych.engine.{entry} import main\nsys.exit(main())"
    done = subprocess.run([sys.executable, "-c", program, *arguments], capture_output=True, text=True, env=HEADLESS, timeout=30)
    assert (done.returncode, done.stdout, done.stderr) == (1, out, err)


@pytest.mark.parametrize(
    ("arguments", "code", "out", "err"),
    [
        (["version"], 0, "0.", ""),
        (["--version"], 0, "0.", ""),
        (["-V"], 0, "0.", ""),
        (["help"], 0, "triptych-desklink", ""),
        (["--help"], 0, "triptych-desklink", ""),
        ([], 0, "triptych-desklink", ""),
        (["capabilities"], 0, "{\n", ""),
        (["frobnicate"], 2, "triptych-desklink", "unknown command: frobnicate\n"),
        (["keep"], 1, '{"error":"no display given"}\n', ""),
        (["keep", "--help"], 0, "usage: triptych-desklink keep --display :N\n", ""),
        (["serve", "--help"], 0, "usage: triptych-desklink serve\n", ""),
        (["keep", "--display"], 1, '{"error":"no display given"}\n', ""),
        (["keep", "--display", ""], 1, '{"error":"no display given"}\n', ""),
        (["keep", "--display="], 1, '{"error":"no display given"}\n', ""),
        (["keep", ":3"], 1, '{"error":"no display given"}\n', ""),
        (["keep", "--display", ":998"], 1, '{"error":"cannot open X display :998', ""),
        (["keep", "--display=:998"], 1, '{"error":"cannot open X display :998', ""),
        (["setup-input"], 0, "/dev/uinput is ", ""),
        (["setup-input", "--help"], 0, "usage: triptych-desklink setup-input\n", ""),
        (["capture-probe", "--help"], 0, "usage: triptych-desklink capture-probe [seconds] [display]\n", ""),
        (["capture-probe"], 1, "", "triptych-desklink: DISPLAY is not set (set it to a running X server, or name a display, such as :0)\n"),
        (["capture-probe", "1", ":998"], 1, "", None),
        (["-x"], 2, "triptych-desklink", "unknown command: -x\n"),
    ],
)
def test_the_script_of_the_original_engine(arguments: list[str], code: int, out: str, err: str | None) -> None:
    program = "import sys; from triptych.engine.desklink_command import main; sys.exit(main())"
    done = subprocess.run([sys.executable, "-c", program, *arguments], capture_output=True, text=True, env=HEADLESS, timeout=20)
    assert done.returncode == code
    assert done.stdout.startswith(out)
    if err is None:
        assert ":998" in done.stderr
    else:
        assert done.stderr == err
    if "capabilities" in arguments:
        assert json.loads(done.stdout)["protocol"] == 3


def test_what_a_look_at_a_display_prints(bare_display: PrivateDisplay) -> None:
    program = "import sys; from triptych.engine.desklink_command import main; sys.exit(main())"
    command = [sys.executable, "-c", program, "capture-probe"]
    with Client(bare_display) as client:
        looking = subprocess.Popen([*command, "1.0", bare_display.name], stdout=subprocess.PIPE, text=True, env=bare_display.env)
        painted = 0
        while looking.poll() is None:
            painted += 1
            client.fill(painted * 0x010305, (0, 0, 64, 64))
            client.sync()
            time.sleep(0.02)
        assert looking.stdout is not None
        seen = json.loads(looking.stdout.read())
        looking.stdout.close()
    assert looking.returncode == 0
    assert seen["source"] == {"kind": "x11-root", "display": bare_display.name, "width": 1280, "height": 800}
    assert seen["encoded"] == {"width": 1280, "height": 800}
    assert 3 <= seen["distinct_frames"] <= seen["frames"] <= 31
    # Of itself it looks at the display of the environment.
    still = subprocess.run([*command, "0.2"], capture_output=True, text=True, env=bare_display.env, timeout=20)
    assert json.loads(still.stdout)["distinct_frames"] == 1
    none = subprocess.run([*command, "0", bare_display.name], capture_output=True, text=True, env=bare_display.env, timeout=20)
    assert (none.returncode, none.stdout) == (1, "")


def test_the_layout_that_is_told_is_the_one_of_the_display(bare_display: PrivateDisplay) -> None:
    with EngineProcess(bare_display.env) as engine:
        assert engine.ask("capabilities")["input"]["layout"] == "us"
        if shutil.which("setxkbmap") is None:
            pytest.skip("setxkbmap is not installed: apt install x11-xkb-utils")
        subprocess.run(["setxkbmap", "-layout", "us,de,ru", "-variant", ",neo,"], env=bare_display.env, check=True, timeout=10)
        assert engine.ask("capabilities")["input"]["layout"] == "us,de(neo),ru"


BROKEN = """
import sys
from triptych.machines.desklink.engine import Engine
def bug(*_):
    raise RuntimeError("a bug")
Engine.grab_failed = Engine._hello = bug
from triptych.engine.desklink_command import main
sys.exit(main(["serve"]))
"""


def test_an_engine_that_is_broken_says_so_and_exits_with_1() -> None:
    with EngineProcess(HEADLESS, BROKEN) as engine:
        engine.send("hello", {"protocol": 3})
        assert engine.exit_code() == 1
        assert engine.said == []
        told = engine.errors()
        assert "a bug" in told
        assert told.endswith("error: the engine failed; what broke it stands above\n")


def test_a_root_user_is_warned_once_on_stderr() -> None:
    command = triptych_command("desktop", "serve")
    done = subprocess.run(
        command, input=b'{"id":1,"method":"hello","params":{"protocol":3}}\n', capture_output=True, env=HEADLESS, timeout=30
    )
    assert done.returncode == 0
    assert done.stderr.count(b"running as root") == (1 if os.geteuid() == 0 else 0)
    assert [json.loads(line)["id"] for line in done.stdout.splitlines()] == [1]
