"""A program on a pseudo-terminal of its own: spawn, read, write, resize, signal, wait, end. Only the driver uses it.

The child leads a session and a process group of its own, so it and what it started there are ended by number and never by name.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import signal
import struct
import termios
from collections.abc import Callable, Mapping, Sequence
from typing import Literal

from ...errors import Unavailable
from . import process_session
from .program import resolve

READ_BYTES = 1 << 16
#: A Linux pty hands out at most 4 KiB a read: so many reads are made in one turn of the loop, and so many to drain a program that is gone.
READS_A_TURN = 16
READS_TO_DRAIN = 256
#: Seconds of one turn that reading may take: some sequences are slow to parse (a repetition of two thousand million), and others wait.
TURN = 0.02
#: Seconds between two looks at a terminal that nobody has open: a program that closed it may open it again by name.
REOPENED = 0.05
#: Seconds between SIGHUP, SIGTERM and SIGKILL when a program has to go.
GRACE = 1.0

#: What a turn of reading leaves: more than its bounds let it take, nothing now, or a terminal that nobody has open.
_Left = Literal["more", "empty", "closed"]


class Pty:
    """One child on one pty. Output goes to `on_output`; `wait` answers once the child is gone and its output is drained.

    `on_turn` is told once after the pieces of output that one turn of the loop brought.
    """

    def __init__(self, pid: int, master: int, on_output: Callable[[bytes], None], on_turn: Callable[[], None] | None = None) -> None:
        self.pid = pid
        self._master = master
        self._on_output = on_output
        self._on_turn = on_turn
        self._loop = asyncio.get_running_loop()
        self._unwritten = bytearray()
        self._reading = True
        self._hung_up: asyncio.TimerHandle | None = None  # set while no process has the terminal open
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
        on_turn: Callable[[], None] | None = None,
    ) -> Pty:
        """Start `program` on a new pty of that size.

        Raises `Unavailable` when it cannot be started, `LocalProtocolError` (`invalid-program`, `invalid-environment`) for what is none.
        """
        path, arguments = resolve(program, environment, directory)
        master, slave = os.openpty()
        try:
            set_size(master, columns, rows)
            # A session leader without a terminal that opens one gets it as its controlling terminal: so the child opens it by name.
            standard = [(os.POSIX_SPAWN_OPEN, 0, os.ttyname(slave), os.O_RDWR, 0), (os.POSIX_SPAWN_DUP2, 0, 1), (os.POSIX_SPAWN_DUP2, 0, 2)]
            ignored = [signal.SIGPIPE, signal.SIGXFSZ]  # as Python itself sets them, which the program must not inherit
            pid = os.posix_spawn(path, arguments, dict(environment), file_actions=standard, setsid=True, setsigdef=ignored, setsigmask=[])
        except BaseException as cause:
            os.close(master)
            if isinstance(cause, OSError):
                raise Unavailable(f"{program[0]!r} cannot be started: {cause.strerror}", "check that it is an executable file") from None
            raise
        finally:
            os.close(slave)
        return cls(pid, master, on_output, on_turn)

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
        """End the program and its session, then free the pty; when cancelled, the same at once. A second call does nothing."""
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
            if self._reapable and process_session.members(self.pid):
                process_session.tell(self.pid, signal.SIGHUP, signal.SIGCONT)
                await process_session.gone(process_session.members(self.pid), GRACE)
        finally:
            self._free()

    def _free(self) -> None:
        """Kill what is left of the session, and let go of the pty and of the process number."""
        if self._master < 0:
            return
        if self._reapable:
            # The child is not reaped yet, so its number still means its session, and what it left behind there.
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, signal.SIGKILL)
            process_session.kill(self.pid)
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
        _, found = self._take(READS_A_TURN)
        if found == "closed":
            self._loop.remove_reader(self._master)  # else the loop would tell it without end
            self._hung_up = self._loop.call_later(REOPENED, self._look_again)

    def _look_again(self) -> None:
        self._hung_up = None
        self._loop.add_reader(self._master, self._readable)

    def _take(self, most: int) -> tuple[int, _Left]:
        """Read what is there, at most so often and for no longer than a turn: how often, and what is left."""
        taken, left = self._pieces(most)
        if taken and self._on_turn is not None:
            self._on_turn()
        return taken, left

    def _pieces(self, most: int) -> tuple[int, _Left]:
        enough = self._loop.time() + TURN
        for count in range(most):
            try:
                data = os.read(self._master, READ_BYTES)
            except BlockingIOError:
                return count, "empty"
            except OSError:  # EIO: no process has the terminal open
                data = b""
            if not data:
                return count, "closed"
            self._on_output(data)
            if self._loop.time() >= enough:
                return count + 1, "more"
        return most, "more"

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
            if self._hung_up is not None:
                self._hung_up.cancel()

    def _ended(self) -> None:
        self._loop.remove_reader(self._pidfd)
        os.close(self._pidfd)
        # All that the child wrote is in the kernel's buffer by now. A grandchild may hold the terminal and write for ever: hence the bound.
        self._drain(READS_TO_DRAIN)

    def _drain(self, most: int) -> None:
        if self._reading:
            taken, left = self._take(min(most, READS_A_TURN))
            if left == "more" and most > taken:
                self._loop.call_soon(self._drain, most - taken)
                return
            if left == "closed":
                self._stop_reading()  # what is still written to the terminal would come back as its echo
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
