"""A browser in one network, the engine in another, and between them a path of ours that is as bad as a test wants it."""

from __future__ import annotations

import fcntl
import json
import os
import struct
import subprocess
import sys
import tempfile
import threading
from collections.abc import Coroutine
from contextlib import ExitStack
from pathlib import Path
from typing import Any, TypeVar

import pytest

from webrtc_kit import CHROMIUM, FLAGS, Network

T = TypeVar("T")

PROGRAM = Path(__file__).parent / "programs" / "relay.py"
TUNSETIFF, IFF_TUN, IFF_NO_PI = 0x400454CA, 0x0001, 0x1000
HERE, THERE = "10.79.0.1", "10.79.0.2"


def _device(address: str, peer: str, ready: list[Any]) -> int:
    """A TUN device in the calling thread's network, with an address and the default route; its descriptor."""
    fd = os.open("/dev/net/tun", os.O_RDWR | os.O_CLOEXEC)
    fcntl.ioctl(fd, TUNSETIFF, struct.pack("16sH", b"path", IFF_TUN | IFF_NO_PI))
    for command in (
        ("addr", "add", address, "peer", peer, "dev", "path"),
        ("link", "set", "path", "up", "multicast", "on"),
        ("route", "add", "default", "dev", "path"),
    ):
        subprocess.run(("ip", *command), check=True, capture_output=True, timeout=10)
    ready.append(f"/proc/{os.getpid()}/task/{threading.get_native_id()}/ns/net")
    return fd


class Relay:
    """The path between two networks of their own. `set` makes it bad; `report` says what passed, as relay.py does."""

    def __init__(self, here: Network, there: Network) -> None:
        places: list[str] = []

        async def device(address: str, peer: str) -> int:
            return _device(address, peer, places)

        try:
            fds = [here.run(device(HERE, THERE)), there.run(device(THERE, HERE))]
        except (OSError, subprocess.CalledProcessError) as error:
            pytest.skip(f"no TUN device: {error}")
        self.there = places[1]
        """The other network, as `nsenter --net=` takes it."""
        command = [sys.executable, str(PROGRAM), *map(str, fds)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, pass_fds=fds)
        for fd in fds:
            os.close(fd)

    def set(self, **members: Any) -> None:
        """Tell the relay; `way=0` is from the engine to the browser, 1 back, both without."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(members).encode() + b"\n")
        self._process.stdin.flush()

    def report(self) -> list[dict[str, Any]]:
        """What passed since the last one, forth and back."""
        assert self._process.stdout is not None
        self.set(report=True)
        made: list[dict[str, Any]] = json.loads(self._process.stdout.readline())
        return made

    def close(self) -> None:
        """End it."""
        self._process.communicate(timeout=60)


class BadPath:
    """What `webrtc_kit.client` takes for a lab: the engine's loop on this side of a relay, a browser on the other."""

    def __init__(self) -> None:
        if not Path(CHROMIUM).exists():
            pytest.skip("chromium is not installed: apt install chromium")
        with ExitStack() as made:
            here = Network(routed=False)
            made.callback(here.close)
            there = Network(routed=False)
            made.callback(there.close)
            self.relay = Relay(here, there)
            made.callback(self.relay.close)
            folder = made.enter_context(tempfile.TemporaryDirectory(prefix="triptych-relay-"))
            launcher = Path(folder, "chromium")
            launcher.write_text(f'#!/bin/sh\nexec nsenter --net={self.relay.there} -- {CHROMIUM} "$@"\n')
            launcher.chmod(0o700)
            self._here = here
            self.run(self._open(str(launcher)))
            made.callback(lambda: self.run(self._end()))
            self.close = made.pop_all().close
            """End the browser, the relay and the networks."""

    def run(self, work: Coroutine[Any, Any, T], seconds: float = 120) -> T:
        """Do it on the engine's side."""
        return self._here.run(work, seconds)

    async def _open(self, launcher: str) -> None:
        from playwright.async_api import async_playwright

        self._playwright = await async_playwright().start()
        self.browser = await self._playwright.chromium.launch(executable_path=launcher, args=FLAGS)

    async def _end(self) -> None:
        await self.browser.close()
        await self._playwright.stop()
