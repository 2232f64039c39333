"""A program on a pseudo-terminal of its own: spawn, read, write, resize, signal, wait, end. Only the driver uses it.

The child leads a session and a process group of its own, so it and what it started are ended by number and never by name.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import shutil
import signal
import struct
import termios
from collections.abc import Callable, Mapping, Sequence

from ...errors import Unavailable

READ_BYTES = 1 << 16
#: A Linux pty hands out at most 4 KiB a read: so many reads are made in one turn of the loop, and so many to drain a program that is gone.
READS_A_TURN = 16
READS_TO_DRAIN = 256
#: Seconds between SIGHUP, SIGTERM and SIGKILL when a program has to go.
GRACE = 1.0


class Pty:
    """One child on one pty. Output goes to `on_output`; `wait` answers once the child is gone and its output is drained."""

    def __init__(self, pid: int, master: int, on_output: Callable[[bytes], None]) -> None:
        self.pid = pid
        self._master = master
        self._on_output = on_output
        self._loop = asyncio.get_running_loop()
        self._unwritten = bytearray()
        self._reading = True
        self._reapable = True  # the process number is ours: nobody has reaped the child
        self._exited: asyncio.Future[int] = self._loop.create_future()
        self._pidfd = os.pidfd_open(pid)
        os.set_blocking(master, False)
        self._loop.add_reader(master, self._readable)
        self._loop.add_reader(self._pidfd, self._ended)

    @classmethod
    def spawn(
        cls,
        program: Sequence[str],
        *,
        columns: int,
        rows: int,
        environment: Mapping[str, str],
        directory: str | None = None,
        on_output: Callable[[bytes], None],
    ) -> Pty:
        """Start `program` on a new pty of that size; raises `Unavailable` when it cannot be started."""
        path = shutil.which(program[0], path=environment.get("PATH", os.defpath))
        if path is None:
            raise Unavailable(f"there is no program {program[0]!r} to run", "give a path, or a name on PATH")
        arguments = list(program)
        if directory is not None:
            # posix_spawn cannot change the directory; a shell that replaces itself can.
            path, arguments = "/bin/sh", ["sh", "-c", 'cd -- "$1" && shift && exec "$@"', "sh", directory, path, *program[1:]]
        master, slave = os.openpty()
        try:
            set_size(master, columns, rows)
            # A session leader without a terminal that opens one gets it as its controlling terminal: so the child opens it by name.
            standard = [(os.POSIX_SPAWN_OPEN, 0, os.ttyname(slave), os.O_RDWR, 0), (os.POSIX_SPAWN_DUP2, 0, 1), (os.POSIX_SPAWN_DUP2, 0, 2)]
            ignored = [signal.SIGPIPE, signal.SIGXFSZ]  # as Python itself sets them, which the program must not inherit
            pid = os.posix_spawn(path, arguments, dict(environment), file_actions=standard, setsid=True, setsigdef=ignored, setsigmask=[])
        except OSError as cause:
            os.close(master)
            raise Unavailable(f"{program[0]!r} cannot be started: {cause.strerror}", "check that it is an executable file") from None
        finally:
            os.close(slave)
        return cls(pid, master, on_output)

    @property
    def unwritten(self) -> int:
        """Bytes of input that the program has not taken yet."""
        return len(self._unwritten)

    def write(self, data: bytes) -> None:
        """Send input to the program; what the pty does not take at once follows in order."""
        if self._master < 0 or not data:
            return
        if not self._unwritten:
            self._loop.add_writer(self._master, self._writable)
        self._unwritten += data

    def resize(self, columns: int, rows: int) -> None:
        """Change the size; the program gets SIGWINCH from the kernel."""
        if self._master >= 0:
            set_size(self._master, columns, rows)

    def signal(self, number: int) -> None:
        """Send a signal to the program's process group; nothing when it is gone."""
        if not self._exited.done():
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.pid, number)

    async def wait(self) -> int:
        """The exit status once the child is gone and what it wrote has been read: 0.. or minus the signal's number.

        Raises `Unavailable` when something else in this process reaped the child, which took the status with it.
        """
        return await asyncio.shield(self._exited)

    async def close(self) -> None:
        """End the program and its group, then free the pty; when cancelled, the same at once. A second call does nothing."""
        if self._master < 0:
            return
        try:
            for number in (signal.SIGHUP, signal.SIGTERM, signal.SIGKILL):
                if self._exited.done():
                    break
                self.signal(number)
                if number == signal.SIGHUP:
                    self.signal(signal.SIGCONT)  # a stopped program would not see it
                with contextlib.suppress(TimeoutError, Unavailable):
                    await asyncio.wait_for(self.wait(), GRACE)
        finally:
            self._free()

    def _free(self) -> None:
        """Kill what is left of the group, and let go of the pty and of the process number."""
        if self._reapable:
            # The child is not reaped yet, so its number still means its group, and what it left behind there.
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, signal.SIGKILL)
            if self._exited.done():
                self._reap()
        self._loop.remove_writer(self._master)
        self._stop_reading()
        os.close(self._master)
        self._master = -1

    def _reap(self) -> None:
        """Free the process number of a child that has exited."""
        self._reapable = False
        with contextlib.suppress(ChildProcessError):
            os.waitpid(self.pid, os.WNOHANG)

    def _readable(self) -> None:
        for _ in range(READS_A_TURN):
            if not self._read():
                break

    def _read(self) -> bool:
        """Read once; False when there is nothing (now, or ever)."""
        try:
            data = os.read(self._master, READ_BYTES)
        except BlockingIOError:
            return False
        except OSError:  # EIO: no process has the terminal open any more
            data = b""
        if not data:
            self._stop_reading()
            return False
        self._on_output(data)
        return True

    def _writable(self) -> None:
        try:
            written = os.write(self._master, self._unwritten)
        except BlockingIOError:
            return
        except OSError:
            written = len(self._unwritten)
        del self._unwritten[:written]
        if not self._unwritten:
            self._loop.remove_writer(self._master)

    def _stop_reading(self) -> None:
        if self._reading:
            self._reading = False
            self._loop.remove_reader(self._master)

    def _ended(self) -> None:
        self._loop.remove_reader(self._pidfd)
        os.close(self._pidfd)
        # All that the child wrote is in the kernel's buffer by now. A grandchild may hold the terminal and write for ever: hence the bound.
        for _ in range(READS_TO_DRAIN):
            if not self._reading or not self._read():
                break
        try:
            found = os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOWAIT)
        except ChildProcessError:
            found = None
        if found is None:
            self._reapable = False
            self._exited.set_exception(Unavailable(f"how process {self.pid} ended is not known: something else reaped it"))
            return
        self._exited.set_result(found.si_status if found.si_code == os.CLD_EXITED else -found.si_status)
        if self._master < 0:  # closing did not wait
            self._reap()


def set_size(terminal: int, columns: int, rows: int) -> None:
    """Set the window size of a terminal descriptor, in cells."""
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
