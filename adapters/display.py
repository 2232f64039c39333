"""Starts a display nobody else can see, with its own cookie, runtime folder and D-Bus session; used by `make run`, tests and benchmarks.

Everything that a `PrivateDisplay` starts carries one mark in its environment: the path of its folder. `close()` ends by process id, first
what it started itself, then whatever the private bus has activated since (the accessibility bus and its registry), found by that mark.
Children get their own session, so a Ctrl-C in the terminal reaches only the owner, who then closes in order. The kernel's parent-death
signal is deliberately not used: it fires when the *thread* that spawned ends. An owner that is killed outright leaves its Xvfb running.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import secrets
import select
import shutil
import signal
import struct
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from ..errors import Unavailable
from .process_end import end
from .unix_socket import PATH_BYTES

FIRST_NUMBER = 170
"""Below it are the numbers that people and other programs use."""
LAST_NUMBER = 999
START_SECONDS = 15.0
STOP_SECONDS = 3.0
MARK = "TRIPTYCH_DISPLAY"
#: Variables of the surrounding desktop that would lead a program away from the private display and bus.
FOREIGN = (
    "AT_SPI_BUS_ADDRESS",
    "DBUS_SESSION_BUS_ADDRESS",
    "DBUS_STARTER_ADDRESS",
    "DBUS_STARTER_BUS_TYPE",
    "DESKTOP_STARTUP_ID",
    "DISPLAY",
    "GTK_IM_MODULE",
    "NO_AT_BRIDGE",
    "QT_IM_MODULE",
    "SESSION_MANAGER",
    "WAYLAND_DISPLAY",
    "WAYLAND_SOCKET",
    "XAUTHORITY",
    "XMODIFIERS",
)


class PrivateDisplay:
    """An Xvfb of `width` x `height` pixels, 24 bits deep, and with `dbus` a session bus of its own.

    `name` is the display (":170"), `env` the whole environment for programs that shall appear on it. Raises Unavailable with the package to
    install when Xvfb or dbus-daemon is missing or does not start. Use it as a context manager, or call `close()`.
    """

    def __init__(self, width: int = 1280, height: int = 800, dbus: bool = True) -> None:
        self.width = width
        self.height = height
        self._processes: list[subprocess.Popen[bytes]] = []
        self._xvfb: subprocess.Popen[bytes] | None = None
        self._claimed: int | None = None
        xvfb = _program("Xvfb", "xvfb")
        bus = _program("dbus-daemon", "dbus-daemon") if dbus else None
        self._folder = Path(tempfile.mkdtemp(prefix="triptych-display-"))
        self._owner = os.getpid()
        atexit.register(self.close)
        try:
            # The accessibility bus makes the longest socket of all.
            if len(os.fsencode(self._folder)) + len("/run/at-spi/bus_999") > PATH_BYTES:
                where = self._folder.parent
                raise Unavailable(f"sockets in {where} would have too long a path", "set TMPDIR to a shorter path, such as /tmp")
            self.runtime_dir = self._folder / "run"
            self.runtime_dir.mkdir(mode=0o700)
            self._authority = self._folder / "Xauthority"
            self.number = self._start_xvfb(xvfb)
            self.env = self._environment()
            self.bus_address = self._start_bus(bus) if bus else None
            # "disabled:" keeps GDBus from starting a bus by itself when it finds no address.
            self.env["DBUS_SESSION_BUS_ADDRESS"] = self.bus_address or "disabled:"
        except BaseException:
            self.close()
            raise

    @property
    def name(self) -> str:
        """What goes into DISPLAY."""
        return f":{self.number}"

    @property
    def pid(self) -> int:
        """The process id of the X server."""
        assert self._xvfb is not None
        return self._xvfb.pid

    def stop_server(self) -> None:
        """End only the X server, as a crash would: every client loses its connection. `close()` is still needed."""
        if self._xvfb is not None:
            end(self._xvfb, STOP_SECONDS)

    def close(self) -> None:
        """End every process of this display and remove its files. Safe to call twice; in a forked child it does nothing."""
        if os.getpid() != self._owner:
            return
        # The bus goes first: while it lives it may activate more.
        for process in reversed(self._processes):
            if process is not self._xvfb:
                end(process, STOP_SECONDS)
        _end_marked(str(self._folder))
        for process in self._processes:
            end(process, STOP_SECONDS)
        self._processes.clear()
        self._xvfb = None
        self._give_up_claim()
        shutil.rmtree(self._folder, ignore_errors=True)
        atexit.unregister(self.close)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def _environment(self) -> dict[str, str]:
        env = {name: value for name, value in os.environ.items() if name not in FOREIGN}
        env.update(
            DISPLAY=self.name,
            XAUTHORITY=str(self._authority),
            XDG_RUNTIME_DIR=str(self.runtime_dir),
            XDG_SESSION_TYPE="x11",
            GDK_BACKEND="x11",
            QT_QPA_PLATFORM="xcb",
            # Neither a FUSE mount in the runtime folder nor a settings database in the person's home.
            GIO_USE_VFS="local",
            GVFS_DISABLE_FUSE="1",
            GSETTINGS_BACKEND="memory",
        )
        return env

    def _start_xvfb(self, program: str) -> int:
        self._authority.touch(mode=0o600)
        log = self._folder / "xvfb.log"
        failure = f"no display number from {FIRST_NUMBER} to {LAST_NUMBER} is free"
        for number in _free_numbers():
            if not _claim(number):
                continue
            self._claimed = number
            self._authority.write_bytes(_authority_record(number))
            with log.open("wb") as said:
                command = [program, f":{number}", "-screen", "0", f"{self.width}x{self.height}x24", "-dpi", "96", "-s", "0"]
                command += ["-noreset", "-nolisten", "tcp", "-auth", str(self._authority)]
                process, answer = self._spawn(command, "-displayfd", dict(os.environ), said)
            if answer.strip() == str(number):
                self._xvfb = process
                return number
            end(process, STOP_SECONDS)
            self._processes.remove(process)
            self._give_up_claim()
            failure = log.read_text(errors="replace").strip() or "it ended at once"
            # A server in another mount of /tmp holds the number by its abstract socket only: the next number may do.
            if "already running" not in failure:
                break
        raise Unavailable(f"Xvfb did not start: {failure.splitlines()[-1]}", f"run `Xvfb :{FIRST_NUMBER}` by hand to see why")

    def _give_up_claim(self) -> None:
        if self._claimed is not None:
            _remove_claim(self._claimed)
            self._claimed = None

    def _start_bus(self, program: str) -> str:
        address = f"unix:path={self.runtime_dir / 'bus'}"
        log = self._folder / "dbus.log"
        with log.open("wb") as errors:
            command = [program, "--session", "--nofork", "--nopidfile", "--nosyslog", f"--address={address}"]
            _, answer = self._spawn(command, "--print-address", self.env, errors)
        if not answer.startswith("unix:"):
            said = log.read_text(errors="replace").strip() or "it ended at once"
            raise Unavailable(f"dbus-daemon did not start: {said.splitlines()[-1]}", "apt install dbus-daemon")
        return answer.strip()

    def _spawn(self, command: list[str], ready_option: str, env: dict[str, str], errors: IO[bytes]) -> tuple[subprocess.Popen[bytes], str]:
        """Start a server that writes one line to the descriptor named after `ready_option` once it listens; the line, or "" if it ended."""
        ours, theirs = os.pipe()
        try:
            ready = [f"{ready_option}={theirs}"] if ready_option.startswith("--") else [ready_option, str(theirs)]
            process = subprocess.Popen(
                command + ready,
                env={**env, MARK: str(self._folder)},
                stdin=subprocess.DEVNULL,
                stdout=errors,
                stderr=errors,
                pass_fds=(theirs,),
                start_new_session=True,
            )
            self._processes.append(process)
            os.close(theirs)
            theirs = -1
            return process, _first_line(ours, START_SECONDS)
        finally:
            os.close(ours)
            if theirs >= 0:
                os.close(theirs)


def _program(name: str, package: str) -> str:
    path = shutil.which(name)
    if path is None:
        raise Unavailable(f"{name} is not installed", f"apt install {package}")
    return path


def _lock_of(number: int) -> Path:
    return Path(f"/tmp/.X{number}-lock")


def _socket_of(number: int) -> Path:
    return Path(f"/tmp/.X11-unix/X{number}")


def _free_numbers() -> Iterator[int]:
    """Numbers that nobody has claimed. One that a killed owner left claimed is passed over: taking it away from a live one is worse."""
    for number in range(FIRST_NUMBER, LAST_NUMBER + 1):
        if not _lock_of(number).exists() and not _socket_of(number).exists():
            yield number


def _claim(number: int) -> bool:
    """Take a number by making its lock file, as X servers do among each other; Xvfb itself makes none when it is given -displayfd."""
    try:
        descriptor = os.open(_lock_of(number), os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o444)
    except FileExistsError:
        return False
    with os.fdopen(descriptor, "w") as lock:
        lock.write(f"{os.getpid():>10}\n")
    return True


def _remove_claim(number: int) -> None:
    """The socket, which Xvfb leaves when it is killed, and then the lock: while it is there nobody else takes the number."""
    _socket_of(number).unlink(missing_ok=True)
    _lock_of(number).unlink(missing_ok=True)


def _authority_record(number: int) -> bytes:
    """One Xauthority entry: family Wild (any host name, so that a renamed machine still gets in), display number, name, 16 random bytes."""
    fields = (b"", str(number).encode(), b"MIT-MAGIC-COOKIE-1", secrets.token_bytes(16))
    return struct.pack(">H", 65535) + b"".join(struct.pack(">H", len(field)) + field for field in fields)


def _first_line(descriptor: int, seconds: float) -> str:
    deadline = time.monotonic() + seconds
    read = b""
    while not read.endswith(b"\n"):
        if not select.select([descriptor], [], [], max(0.0, deadline - time.monotonic()))[0]:
            break
        chunk = os.read(descriptor, 4096)
        if not chunk:
            break
        read += chunk
    return read.decode(errors="replace")


def _end_marked(folder: str) -> None:
    """End the processes that carry the mark, other than this one, until none is left; TERM first, KILL for those that stay."""
    deadline = time.monotonic() + STOP_SECONDS
    while marked := _marked(folder):
        stubborn = time.monotonic() > deadline
        for handle in marked:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(handle, signal.SIGKILL if stubborn else signal.SIGTERM)
        for handle in marked:
            select.select([handle], [], [], 1.0 if stubborn else STOP_SECONDS)
            os.close(handle)


def _marked(folder: str) -> list[int]:
    """A pidfd for every live process with the mark. The mark is read after the pidfd is open, so a reused process id is never hit."""
    handles = []
    wanted = f"{MARK}={folder}".encode()
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            handle = os.pidfd_open(int(entry.name))
        except OSError:
            continue
        try:
            mine = wanted in (entry / "environ").read_bytes().split(b"\0")
        except OSError:
            mine = False
        if mine:
            handles.append(handle)
        else:
            os.close(handle)
    return handles
