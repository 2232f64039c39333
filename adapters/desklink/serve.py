"""The engine on stdio: request lines in, answers and events out, and an end that leaves nothing pressed; called by `desktop serve`.

stdout carries only the protocol: descriptor 1 itself is turned towards stderr, so that nothing printed by anybody can get between two
lines. It never holds the engine up: what the consumer leaves unread waits in memory, up to a bound. No socket is opened but those of a
session's peer connection (desklink v3, "Starting the engine").
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable
from typing import Any

import msgspec

from ...errors import Unavailable
from ...generated.desklink.vocabulary import MAX_LINE_BYTES
from ...machines.desklink.effects import Emit
from ...machines.wire.lines import LineSplitter
from ..log import get_logger
from ..stdio import LineReader, LineWriter
from .host import Host
from .transport import Reports, Transport
from .webrtc.transport import available
from .webrtc.versions import broke

log = get_logger()

SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
FLUSH_SECONDS = 0.9
"""How long a consumer has to take the last lines."""

CROWDED_BYTES = 1 << 20
"""With more than this unread, what may be dropped is."""

MOST_UNREAD_BYTES = 32 << 20
"""A consumer that leaves more than this unread has stopped: the engine ends as at the end of its input."""


def serve(transport: Callable[[Reports], Transport] | None = None) -> int:
    """Serve one consumer until it, or a signal, ends it. Returns the exit status: 0, or 1 when the engine itself broke.

    Without a `transport` it is WebRTC, where its libraries are installed.

    Raises Unavailable when a standard stream is closed.
    """
    try:
        for stream in (0, 2):
            os.fstat(stream)
        lines = os.dup(1)
        os.dup2(2, 1)
    except OSError:
        raise Unavailable("the engine needs its standard streams, and one of them is closed", "start it on pipes") from None
    if os.geteuid() == 0:
        log.warning("running as root works, and is not needed: run the engine as the user of the desktop")
    return asyncio.run(_serve(0, lines, transport or available()))


async def _serve(stdin: int, stdout: int, transport: Callable[[Reports], Transport]) -> int:
    loop = asyncio.get_running_loop()
    writer: LineWriter
    encode = msgspec.json.Encoder().encode

    abandoned = False

    def send(said: Emit) -> None:
        nonlocal abandoned
        if abandoned or (said.droppable and writer.backlog > CROWDED_BYTES):
            return
        writer.write(encode(said.message))
        if writer.backlog > MOST_UNREAD_BYTES:
            abandoned = True
            log.warning("the consumer does not read what it is told", bytes=writer.backlog)
            loop.call_soon(host.guarded, host.shutdown)

    host = Host(on_emit=send, transport=transport)
    writer = LineWriter(stdout, on_broken=host.shutdown)
    loop.set_exception_handler(lambda _, context: _stray(host, context))
    for number in SIGNALS:
        loop.add_signal_handler(number, host.shutdown)
    LineReader(stdin, LineSplitter(MAX_LINE_BYTES), on_line=host.line, on_end=host.shutdown)
    await host.finished.wait()
    if not await writer.close(FLUSH_SECONDS) and not abandoned:
        log.warning("the consumer did not take the last lines", bytes=writer.backlog)
    return 1 if host.failure else 0


def _stray(host: Host, context: dict[str, Any]) -> None:
    """Judge an error that reached the event loop: a WebRTC library's costs one session, whose path falls silent; any other the engine."""
    error = context.get("exception") or RuntimeError(context["message"])
    if (library := broke(error)) is None:
        host.fail(error)
    else:
        log.warning("a peer connection broke inside its library", library=library, exc_info=error)
