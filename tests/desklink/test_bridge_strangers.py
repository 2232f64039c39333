"""Who has no token takes nothing from those who have: no descriptors, no place on the disk, no memory."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import socket
from pathlib import Path

import aiohttp
import pytest

from bridge_kit import bridged
from triptych.adapters.desklink.bridge import MOST_STRANGERS
from triptych.adapters.display import PrivateDisplay

pytestmark = pytest.mark.display
RUBBISH = (b"\x16\x03\x01\0\xff" * 40 + b"\r\n\r\n", b"GET /\0 HTTP/1.1\r\n\r\n", b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n")


def descriptors() -> int:
    """So many are open in this process."""
    return len(list(Path("/proc/self/fd").iterdir()))


def resident() -> int:
    """The memory of this process in bytes."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_connections_that_say_nothing_shut_nobody_out(bare_display: PrivateDisplay) -> None:
    async def main() -> None:
        async with bridged(bare_display) as live, aiohttp.ClientSession() as session:
            url = f"ws://127.0.0.1:{live.port}/desktop?token={live.token}"
            async with session.ws_connect(url) as person:
                before = descriptors()
                held = []
                for _ in range(3 * MOST_STRANGERS):
                    held.append((socket.create_connection((live.host, live.port)),))
                    await asyncio.sleep(0)
                async with session.get(live.url, timeout=aiohttp.ClientTimeout(total=10)) as page:
                    assert page.status == 200
                # Our own ends are in this process too.
                assert descriptors() - before <= len(held) + MOST_STRANGERS + 8
                await person.send_json({"id": 1, "method": "session.metrics"})
                assert "error" in await person.receive_json(timeout=10)
                for (stranger,) in held:
                    stranger.close()

    asyncio.run(main())


def test_rubbish_leaves_no_word_behind(bare_display: PrivateDisplay, capfd: pytest.CaptureFixture[str]) -> None:
    async def main() -> None:
        async with bridged(bare_display) as live:
            for number in range(60):
                reader, writer = await asyncio.open_connection(live.host, live.port)
                writer.write(RUBBISH[number % len(RUBBISH)])
                assert b" 400 " in await asyncio.wait_for(reader.read(200), 10)
                writer.close()
                with contextlib.suppress(ConnectionError):
                    await writer.wait_closed()

    asyncio.run(main())
    said = capfd.readouterr()
    assert "Traceback" not in said.out + said.err


def test_a_browser_that_says_more_than_the_engine_takes_is_held_up(bare_display: PrivateDisplay) -> None:
    async def main() -> None:
        async with bridged(bare_display) as live, aiohttp.ClientSession() as session:
            flooding = await session.ws_connect(f"ws://127.0.0.1:{live.port}/desktop?token={live.token}")
            most = before = resident()
            large = json.dumps({"method": "session.close", "params": {"session_id": "x" * 1_900_000}})
            for _ in range(80):
                await flooding.send_str(large)
                most = max(most, resident())
            await flooding.send_json({"id": 7, "method": "session.metrics"})
            while (await flooding.receive_json(timeout=20)).get("id") != 7:
                pass
            assert most - before < 64 << 20
            await flooding.close()

    asyncio.run(main())
