"""The control socket: who may use it, what it answers, and that a host which is gone is never mistaken for one that runs."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import socket
import stat
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from triptych.adapters.collector import control_socket
from triptych.adapters.collector.control_socket import FILE_NAME, NoHost, ask, served
from triptych.errors import LocalProtocolError, Unavailable


async def echo(request: dict[str, Any]) -> dict[str, Any]:
    match request["command"]:
        case "refused":
            raise Unavailable("no luck", "try again")
        case "wrong":
            raise LocalProtocolError("no-such-rule", "there is none")
        case "broken":
            raise OSError("the disk")
        case _:
            return {"heard": request}


def serving(folder: Path, check: Callable[[], Awaitable[None]], handle: control_socket.Handler = echo) -> None:
    async def main() -> None:
        async with served(folder, handle):
            await check()

    asyncio.run(main())


def asked(folder: Path, command: str, **fields: Any) -> Awaitable[dict[str, Any]]:
    return asyncio.to_thread(ask, folder, command, **fields)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "history"
    made.mkdir(mode=0o700)
    return made


def test_a_command_is_answered_by_its_host_and_the_socket_is_its_owners(folder: Path) -> None:
    async def check() -> None:
        found = (folder / FILE_NAME).lstat()
        assert stat.S_ISSOCK(found.st_mode) and stat.S_IMODE(found.st_mode) == 0o600
        assert (await asked(folder, "hello", more=[1, "ä"]))["heard"] == {"command": "hello", "more": [1, "ä"]}

    serving(folder, check)
    assert list(folder.iterdir()) == []


def test_what_a_host_refuses_is_raised_where_it_was_asked(folder: Path) -> None:
    async def check() -> None:
        with pytest.raises(Unavailable) as refused:
            await asked(folder, "refused")
        assert (refused.value.reason, refused.value.remedy) == ("no luck", "try again")
        with pytest.raises(LocalProtocolError) as wrong:
            await asked(folder, "wrong")
        assert wrong.value.code == "no-such-rule"
        with pytest.raises(Unavailable, match="the disk"):
            await asked(folder, "broken")
        assert (await asked(folder, "still"))["ok"] is True

    serving(folder, check)


@pytest.mark.parametrize("line", [b"\n", b"nonsense\n", b"[]\n", b'{"command": 1}\n', b"[" * 100_000 + b"\n", b"\xff\n"])
def test_a_line_that_is_no_command_is_refused_and_the_host_goes_on(folder: Path, line: bytes) -> None:
    async def check() -> None:
        reader, writer = await asyncio.open_unix_connection(str(folder / FILE_NAME))
        writer.write(line)
        assert json.loads(await reader.readline())["ok"] is False
        writer.write(b'{"command": "again"}\n')
        assert json.loads(await reader.readline())["ok"] is True
        writer.close()
        await writer.wait_closed()

    serving(folder, check)


def test_a_line_without_an_end_is_given_up(folder: Path) -> None:
    async def check() -> None:
        reader, writer = await asyncio.open_unix_connection(str(folder / FILE_NAME))
        writer.write(b"x" * (control_socket.MAX_LINE_BYTES + 65536))
        with contextlib.suppress(ConnectionError):
            assert await reader.read() == b""
        writer.close()
        assert (await asked(folder, "again"))["ok"] is True

    serving(folder, check)


def test_a_client_that_says_nothing_is_let_go(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(control_socket, "REQUEST_SECONDS", 0.05)

    async def check() -> None:
        reader, writer = await asyncio.open_unix_connection(str(folder / FILE_NAME))
        assert await asyncio.wait_for(reader.read(), 60) == b""
        writer.close()

    serving(folder, check)


def test_nobody_is_there(folder: Path, tmp_path: Path) -> None:
    for place in (folder, tmp_path / "none", Path("/dev/null")):
        with pytest.raises(NoHost) as refused:
            ask(place, "status")
        assert "triptych activity start" in refused.value.remedy


def test_a_socket_that_a_host_left_behind_is_nobody_and_is_replaced(folder: Path) -> None:
    left = socket.socket(socket.AF_UNIX)
    left.bind(str(folder / FILE_NAME))
    left.close()
    with pytest.raises(NoHost):
        ask(folder, "status")

    async def check() -> None:
        assert (await asked(folder, "again"))["ok"] is True

    serving(folder, check)


def test_what_is_no_socket_is_left_alone(folder: Path) -> None:
    (folder / FILE_NAME).write_text("mine")

    async def check() -> None:
        raise AssertionError("it was served")

    with pytest.raises(Unavailable, match="is no socket"):
        serving(folder, check)
    assert (folder / FILE_NAME).read_text() == "mine"


def test_a_directory_with_a_long_name_has_one_too(tmp_path: Path) -> None:
    deep = tmp_path / ("d" * 90) / ("e" * 90)
    deep.mkdir(parents=True, mode=0o700)

    async def check() -> None:
        assert (await asked(deep, "hello"))["ok"] is True

    serving(deep, check)
    assert list(deep.iterdir()) == []


def test_the_next_hosts_socket_is_not_removed_by_the_one_before(folder: Path) -> None:
    async def main() -> None:
        async with served(folder, echo):
            (folder / FILE_NAME).unlink()
            async with served(folder, echo):
                inner = (folder / FILE_NAME).lstat()
                assert inner.st_ino
            (folder / FILE_NAME).write_text("another")
        assert (folder / FILE_NAME).read_text() == "another"

    asyncio.run(main())


def test_a_host_that_ends_in_the_middle_of_an_answer_is_a_clear_refusal(folder: Path) -> None:
    async def main() -> None:
        heard, never = asyncio.Event(), asyncio.Event()

        async def hang(request: dict[str, Any]) -> dict[str, Any]:
            heard.set()
            await never.wait()
            return {}

        async with served(folder, hang):
            asking = asyncio.create_task(asyncio.to_thread(ask, folder, "status"))
            await heard.wait()
        with pytest.raises(Unavailable, match="went away"):
            await asking

    asyncio.run(main())


def test_a_host_that_does_not_answer_is_given_up(folder: Path) -> None:
    with socket.socket(socket.AF_UNIX) as silent:
        silent.bind(str(folder / FILE_NAME))
        silent.listen()
        with pytest.raises(Unavailable, match="does not answer"):
            ask(folder, "status", seconds=0.1)


@pytest.mark.parametrize("answer", [b"nonsense\n", b"[]\n", b'{"ok": false}\n', b'{"ok": 1}\n'])
def test_an_answer_in_another_language_is_a_clear_refusal(folder: Path, answer: bytes) -> None:
    async def main() -> None:
        async def client(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readline()
            writer.write(answer)
            await writer.drain()
            writer.close()

        async with await asyncio.start_unix_server(client, str(folder / FILE_NAME)):
            with pytest.raises(Unavailable, match="does not speak"):
                await asked(folder, "status")

    asyncio.run(main())


def test_waiting_for_the_end_of_a_process(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(Unavailable, match="has not ended"):
        control_socket.wait_until_gone(os.getpid(), 0.05)
    child = os.fork()
    if child == 0:
        os._exit(0)
    control_socket.wait_until_gone(child, 5)
    os.waitpid(child, 0)
    control_socket.wait_until_gone(child, 5)


def test_a_thousand_connections_are_not_held_and_the_host_goes_on(folder: Path) -> None:
    def connected() -> socket.socket:
        client = socket.socket(socket.AF_UNIX)
        client.settimeout(60)
        client.connect(str(folder / FILE_NAME))
        return client

    def descriptors() -> int:
        return len(list(Path("/proc/self/fd").iterdir()))

    async def check() -> None:
        before = descriptors()
        with contextlib.ExitStack() as crowd:
            for _ in range(1000):
                client = crowd.enter_context(await asyncio.to_thread(connected))
                with contextlib.suppress(BrokenPipeError):  # hung up on already
                    client.sendall(b"\xff garbage without an end")
            await asyncio.sleep(0)
            assert descriptors() - before - 1000 < control_socket.MOST_CLIENTS + 10
            with pytest.raises(Unavailable, match="went away"):
                await asked(folder, "hello")
        async with asyncio.timeout(60):
            while True:
                with contextlib.suppress(Unavailable):
                    assert (await asked(folder, "hello"))["ok"]
                    return

    serving(folder, check)
