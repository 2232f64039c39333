"""A live desktop in a browser: starts an engine, its bridge and the page. `triptych desktop bridge`, the demo and programs run it.

async with bridge(display=":99") as live:
    print(live.url)
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Literal

from ..errors import Unavailable
from ..generated.desklink.vocabulary import DEFAULT_BRIDGE_HOST, DEFAULT_BRIDGE_PORT
from .child import triptych_command
from .extras import need

Kind = Literal["portal", "x11", "display"]
ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@dataclass(frozen=True)
class Live:
    """A bridge that runs. `url` opens the desktop for whoever has it: the token stands in it."""

    host: str
    port: int
    token: str
    engine: str

    @property
    def address(self) -> str:
        """Where it listens; a wildcard address is told as one that a browser on this machine can open."""
        host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(self.host, self.host)
        return f"http://{f'[{host}]' if ':' in host else host}:{self.port}"

    @property
    def url(self) -> str:
        """The address of the page, with the token."""
        from urllib.parse import quote

        return f"{self.address}/?token={quote(self.token, safe='')}"


@asynccontextmanager
async def bridge(
    display: str | None = None,
    *,
    kind: Kind = "x11",
    display_id: int | None = None,
    host: str = DEFAULT_BRIDGE_HOST,
    port: int = DEFAULT_BRIDGE_PORT,
    token: str | None = None,
    hosts: Iterable[str] = (),
    env: Mapping[str, str] | None = None,
    on_engine_error: Callable[[str], None] = lambda line: None,
) -> AsyncIterator[Live]:
    """Serve one source to browsers until the block ends. Port 0 takes any free one; `token` None makes one of 24 random bytes.

    `hosts` are names, besides addresses and localhost, under which browsers reach it. Raises Unavailable, with the remedy.
    """
    need("desktop", "aiohttp", "xcffib")
    from ..adapters.desklink.bridge import BridgeServer
    from .web import page

    if token is not None and not token.strip():
        raise Unavailable("a blank token would let everybody in", "leave --token out: a random one is made")
    environment = dict(os.environ if env is None else env)
    source: dict[str, Any] = {"kind": kind}
    if kind == "x11":
        display = display or environment.get("DISPLAY") or None
        if display is None:
            raise Unavailable("there is no X display to show", "name one with --display :N, or set DISPLAY")
        # What the engine says it can do here is then said of this very display.
        environment["DISPLAY"] = source["display"] = display
        environment.pop("WAYLAND_DISPLAY", None)
    elif kind == "display":
        source["display_id"] = display_id
    command = triptych_command("desktop", "serve")
    server = BridgeServer(command, source, page(), env=environment, token=token, hosts=hosts, on_engine_error=on_engine_error)
    try:
        bound = await server.start(host, port)
        yield Live(host if host else bound[0], bound[1], server.token, server.engine_name)
    finally:
        await server.close()


def listen_address(text: str) -> tuple[str, int]:
    """HOST:PORT split at the last colon, or a bare port of 127.0.0.1. Raises ValueError."""
    host, colon, port = text.rpartition(":")
    host = host.removeprefix("[").removesuffix("]") if colon else DEFAULT_BRIDGE_HOST
    if not (port.isascii() and port.isdecimal() and int(port) < 65536 and host):
        raise ValueError(f"{text!r} is no HOST:PORT and no PORT")
    return host, int(port)


def run(options: Mapping[str, Any]) -> None:
    """Serve until a signal; `options` are those of `bridge`. Prints where to look."""
    from .logs import to_stderr

    to_stderr("warning")
    asyncio.run(_run(options))


async def _run(options: Mapping[str, Any]) -> None:
    ended = asyncio.Event()
    for number in ENDING:
        asyncio.get_running_loop().add_signal_handler(number, ended.set)

    def engine_says(line: str) -> None:
        sys.stderr.write(f"engine: {line}\n")

    async with bridge(**options, on_engine_error=engine_says) as live:
        told = {"engine": live.engine, "bridge": live.address, "token": live.token, "open": live.url}
        sys.stdout.write("".join(f"{name:<7} {value}\n" for name, value in told.items()))
        sys.stdout.flush()
        await ended.wait()
