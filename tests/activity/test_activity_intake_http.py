"""The companion intake over real sockets: what comes byte by byte, too much, too slowly, pipelined, or as no HTTP at all."""

from __future__ import annotations

import asyncio
import json
import logging
import socket
import sqlite3
import sys

import pytest

from companion_kit import NOW_MS, Listening, PairingMemory, Wire, browser_payload, connected, editor_payload, listening
from triptych.adapters.collector import intake_http
from triptych.adapters.collector.intake import CompanionIntake
from triptych.adapters.collector.pairing import Pairings
from triptych.errors import Unavailable
from triptych.machines.collector.capture import Delivered
from triptych.machines.collector.facts import Facts
from triptych.machines.collector.unknown_fields import UnknownFields


async def nothing(facts: Facts, *, vouched_root: str | None) -> Delivered:
    raise AssertionError("nothing is delivered here")


class TestAnswers:
    def test_stored_and_withheld_and_failed(self) -> None:
        def failing() -> object:
            raise sqlite3.OperationalError("database is locked")

        async def main() -> None:
            async with listening() as running, connected(running.port) as wire:
                said = []
                for answer in (Delivered(True), Delivered(False), Delivered(False, "capture-paused"), None):
                    running.answer = failing if answer is None else lambda answer=answer: answer  # type: ignore[misc]
                    reply = await wire.ask(running.request(browser_payload()))
                    said.append((reply.status, reply.body))
                    assert reply.headers["cache-control"] == "no-store"
                    assert reply.headers["content-type"] == "application/json"
                    assert not any(name.startswith("access-control") for name in reply.headers)
                assert said == [
                    (201, {"stored": True}),
                    (202, {"stored": False}),
                    (202, {"stored": False, "reason": "capture-paused"}),
                    (500, {"error": "observation delivery failed"}),
                ]
                health = running.intake.health()
                assert health.browser_last_seen_at_ms == health.last_seen_at_ms is not None
                assert health.editor_last_seen_at_ms is None

        asyncio.run(main())

    def test_both_kinds_and_the_health_of_the_intake(self) -> None:
        async def main() -> None:
            async with listening() as running, connected(running.port) as wire:
                health = await wire.ask(running.request(place="GET /companion/health"))
                assert (health.status, health.body) == (200, {"ok": True, "port": running.port})
                refused = await wire.ask(running.request(place="GET /companion/health", x_companion_token=running.editor))
                assert (refused.status, refused.body) == (401, {"error": "browser pairing token required"})
                page = await wire.ask(running.request(browser_payload(), origin="chrome-extension://abc"))
                file = await wire.ask(running.request(editor_payload(), x_companion_token=running.editor, host=f"localhost:{running.port}"))
                assert page.status == file.status == 201
                assert [(facts.bundle_id, root) for facts, root in running.delivered] == [
                    ("companion.browser", None),
                    ("com.microsoft.VSCode", "/work/app"),
                ]

        asyncio.run(main())

    @pytest.mark.parametrize(
        ("place", "headers", "status", "sentence"),
        [
            ("OPTIONS /companion/observation", {}, 404, "not found"),
            ("HEAD /companion/health", {}, 404, None),
            ("POST /companion/observation?a", {}, 404, "not found"),
            ("POST //companion/observation", {}, 404, "not found"),
            ("POST /companion/observation", {"host": "evil.example"}, 403, "unexpected host"),
            ("POST /companion/observation", {"origin": "https://evil.example"}, 403, "unexpected origin"),
            ("POST /companion/observation", {"x_companion_token": "guess"}, 401, "pairing token required"),
            ("POST /companion/observation", {"x_companion_token": "\u00ff"}, 401, "pairing token required"),
        ],
    )
    def test_refused_by_its_head(self, place: str, headers: dict[str, str], status: int, sentence: str | None) -> None:
        async def main() -> None:
            async with listening() as running, connected(running.port) as wire:
                await wire.send(running.request(browser_payload(), place=place, **headers))
                if sentence is None:
                    assert (await wire.reader.readuntil(b"\r\n")).startswith(b"HTTP/1.1 404 ")
                else:
                    reply = await wire.reply()
                    assert (reply.status, reply.body) == (status, {"error": sentence})
                assert running.delivered == []

        asyncio.run(main())

    def test_a_connection_serves_many_requests_and_a_refusal_does_not_end_it(self) -> None:
        async def main() -> None:
            async with listening() as running, connected(running.port) as wire:
                for body, status in (
                    (browser_payload(), 201),
                    (b"{", 400),
                    (browser_payload(incognito=True), 403),
                    (browser_payload(), 201),
                ):
                    assert (await wire.ask(running.request(body))).status == status

        asyncio.run(main())


class TestRawBytes:
    def test_byte_by_byte(self) -> None:
        async def main() -> None:
            async with listening() as running, connected(running.port) as wire:
                for byte in running.request(browser_payload()):
                    await wire.send(bytes([byte]))
                assert (await wire.reply()).status == 201

        asyncio.run(main())

    def test_pipelined_requests_are_answered_in_order(self) -> None:
        async def main() -> None:
            async with listening() as running, connected(running.port) as wire:
                bodies = [browser_payload(seq=1), b"{", browser_payload(seq=2), browser_payload(seq=0)]
                await wire.send(b"".join(running.request(body) for body in bodies))
                assert [(await wire.reply()).status for _ in bodies] == [201, 400, 201, 400]
                assert [facts.seq for facts, _ in running.delivered] == [1, 2]

        asyncio.run(main())

    def test_chunked_bodies(self) -> None:
        async def main() -> None:
            async with listening() as running, connected(running.port) as wire:
                data = json.dumps(browser_payload()).encode()
                head = running.request(content_length="", transfer_encoding="chunked")
                await wire.send(head + b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in (data[:9], data[9:])) + b"0\r\n\r\n")
                assert (await wire.reply()).status == 201
                await wire.send(head + b"zz\r\nnothing\r\n")
                reply = await wire.reply()
                assert (reply.status, reply.body) == (400, {"error": "malformed request"})
                assert await wire.ended()

        asyncio.run(main())

    def test_a_declared_size_is_refused_before_the_body_and_the_answer_comes_first(self) -> None:
        async def main() -> None:
            async with listening() as running, connected(running.port) as wire:
                await wire.send(running.request(content_length="8193"))  # and not a byte of it
                reply = await wire.reply()
                assert (reply.status, reply.body, reply.headers["connection"]) == (413, {"error": "body too large"}, "close")
                assert await wire.ended()
            async with listening() as running, connected(running.port) as wire:
                await wire.send(running.request(b"x" * 100_000))  # all of it, at once
                assert (await wire.reply()).status == 413
                assert await wire.ended()

        asyncio.run(main())

    def test_the_cap_is_exact(self) -> None:
        def padded(size: int) -> bytes:
            data = json.dumps(browser_payload()).encode()
            return data + b" " * (size - len(data))

        async def main() -> None:
            async with listening() as running, connected(running.port) as wire:
                assert (await wire.ask(running.request(padded(8192)))).status == 201
                chunked = running.request(content_length="", transfer_encoding="chunked")
                await wire.send(chunked + b"2000\r\n" + padded(8192) + b"\r\n0\r\n\r\n")
                assert (await wire.reply()).status == 201
                await wire.send(chunked + b"2001\r\n" + padded(8193) + b"\r\n0\r\n\r\n")
                assert (await wire.reply()).status == 413
                assert await wire.ended()
                assert len(running.delivered) == 2

        asyncio.run(main())

    def test_a_compressed_body_is_not_unpacked(self) -> None:
        async def main() -> None:
            import gzip

            async with listening() as running, connected(running.port) as wire:
                reply = await wire.ask(running.request(gzip.compress(json.dumps(browser_payload()).encode()), content_encoding="gzip"))
                assert (reply.status, reply.body) == (400, {"error": "malformed json"})

        asyncio.run(main())

    def test_who_asks_before_sending_is_told_to_go_on(self) -> None:
        async def main() -> None:
            async with listening() as running, connected(running.port) as wire:
                request = running.request(browser_payload(), expect="100-continue")
                head, _, body = request.partition(b"\r\n\r\n")
                assert (await wire.ask(head + b"\r\n\r\n")).status == 100
                assert (await wire.ask(body)).status == 201
            async with listening() as running, connected(running.port) as wire:
                refused = await wire.ask(running.request(content_length="8193", expect="100-continue"))
                assert refused.status == 413

        asyncio.run(main())

    @pytest.mark.parametrize(
        "data",
        [
            b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(64),
            b"hello\r\n\r\n",
            b"POST /companion/observation HTTP/1.1\r\nno colon\r\n\r\n",
            b"POST /companion/observation HTTP/1.1\r\ncontent-length: -1\r\n\r\n",
            b"POST /companion/observation HTTP/1.1\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n\r\n",
            b"GET /" + b"a" * 9000 + b" HTTP/1.1\r\n\r\n",
            b"GET / HTTP/1.1\r\nx: " + b"a" * 9000 + b"\r\n\r\n",
        ],
    )
    def test_what_is_no_http_is_answered_in_json_and_dropped(self, data: bytes, caplog: pytest.LogCaptureFixture) -> None:
        async def main() -> None:
            async with listening() as running, connected(running.port) as wire:
                reply = await wire.ask(data)
                assert (reply.status, reply.body) == (400, {"error": "malformed request"})
                assert reply.headers["cache-control"] == "no-store"
                assert await wire.ended()
                async with connected(running.port) as another:
                    assert (await another.ask(running.request(browser_payload()))).status == 201

        with caplog.at_level(logging.DEBUG):
            asyncio.run(main())
        assert [record for record in caplog.records if record.name != "asyncio"] == []


class TestSlowness:
    @pytest.fixture(autouse=True)
    def soon(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(intake_http, "READ_TIMEOUT", 0.2)

    def test_a_body_that_does_not_come(self) -> None:
        async def main() -> None:
            async with listening() as running, connected(running.port) as wire:
                whole = running.request(browser_payload())
                await wire.send(whole[:-5])
                reply = await wire.reply()
                assert (reply.status, reply.body) == (408, {"error": "body took too long"})
                assert await wire.ended()
                assert running.delivered == []

        asyncio.run(main())

    def test_a_body_that_drips(self) -> None:
        """Each byte comes in time; the whole does not."""

        async def main() -> None:
            async with listening() as running, connected(running.port) as wire:
                await wire.send(running.request(content_length="8000"))

                async def drip() -> None:
                    while True:
                        await wire.send(b" ")
                        await asyncio.sleep(0.02)

                dripping = asyncio.create_task(drip())
                assert (await wire.reply()).status == 408
                dripping.cancel()
                await asyncio.gather(dripping, return_exceptions=True)

        asyncio.run(main())

    @pytest.mark.parametrize("sent", [b"", b"POST /companion/obs"])
    def test_a_head_that_does_not_come(self, sent: bytes) -> None:
        async def main() -> None:
            async with listening() as running, connected(running.port) as wire:
                await wire.send(sent)
                assert await wire.ended()

        asyncio.run(main())

    def test_one_who_is_slow_holds_nobody_up(self) -> None:
        async def main() -> None:
            async with listening() as running, connected(running.port) as slow, connected(running.port) as wire:
                await slow.send(running.request(content_length="100"))
                assert (await wire.ask(running.request(browser_payload()))).status == 201
                assert (await slow.reply()).status == 408

        asyncio.run(main())


class TestItsLife:
    def test_a_port_that_is_taken_is_named_and_nothing_else_happens(self) -> None:
        async def main() -> None:
            with socket.create_server(("127.0.0.1", 0)) as taken:
                port = taken.getsockname()[1]
                intake = CompanionIntake(Pairings(PairingMemory()), UnknownFields(), nothing)
                assert (intake.health().listening, intake.health().reason) == (False, "not-started")
                with pytest.raises(Unavailable) as raised:
                    await intake.start(port)
                assert raised.value.reason == f"companion intake port {port} is already in use"
                health = intake.health()
                assert (health.listening, health.port, health.reason, health.paired) == (False, None, "port-in-use", False)
                await intake.stop()
            await intake.start(port)  # the other one is gone
            assert (intake.health().listening, intake.health().port, intake.health().reason) == (True, port, None)
            await intake.stop()
            assert intake.health().reason == "stopped"

        asyncio.run(main())

    def test_without_the_extra(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "triptych.adapters.collector.intake_http", None)

        async def main() -> None:
            intake = CompanionIntake(Pairings(PairingMemory()), UnknownFields(), nothing)
            with pytest.raises(Unavailable, match="pip install"):
                await intake.start(0)
            assert intake.health().reason == "package-missing"

        asyncio.run(main())

    def test_it_listens_on_loopback_only(self) -> None:
        async def main() -> None:
            async with listening() as running:
                with socket.socket(socket.AF_INET6) as six, pytest.raises(OSError):
                    six.connect(("::1", running.port))
                with socket.socket() as four, pytest.raises(OSError):
                    four.bind(("127.0.0.1", running.port))
                    four.listen()
                with socket.socket() as elsewhere, pytest.raises(OSError):
                    elsewhere.settimeout(2)
                    elsewhere.connect(("127.0.0.2", running.port))

        asyncio.run(main())

    def test_at_the_end_what_is_new_is_refused_and_what_is_under_way_is_delivered(self) -> None:
        async def main() -> None:
            async with listening() as running, connected(running.port) as first, connected(running.port) as second:
                held = asyncio.Event()

                async def later() -> Delivered:
                    await held.wait()
                    return Delivered(True)

                running.answer = later
                assert (await second.ask(running.request(place="GET /companion/health"))).status == 200
                await first.send(running.request(browser_payload()))
                await running.wait(1)
                stopping = asyncio.create_task(running.intake.stop())
                await asyncio.sleep(0)
                reply = await second.ask(running.request(browser_payload(seq=2)))
                assert (reply.status, reply.body) == (503, {"error": "companion intake is stopping"})
                with pytest.raises(OSError):
                    await asyncio.open_connection("127.0.0.1", running.port)
                assert not stopping.done()
                held.set()
                assert (await first.reply()).status == 201
                await stopping
                assert await first.ended() and await second.ended()
                assert len(running.delivered) == 1

        asyncio.run(main())

    def test_a_sender_that_hangs_up_does_not_undo_its_report(self) -> None:
        async def main() -> None:
            async with listening() as running:
                held, done = asyncio.Event(), asyncio.Event()

                async def later() -> Delivered:
                    await held.wait()
                    done.set()
                    return Delivered(True)

                running.answer = later
                async with connected(running.port) as wire:
                    await wire.send(running.request(browser_payload()))
                    await running.wait(1)
                held.set()
                async with asyncio.timeout(5):
                    await done.wait()

        asyncio.run(main())

    def test_stopping_does_not_wait_for_idle_connections(self) -> None:
        async def main() -> None:
            async with listening() as running, connected(running.port) as wire:
                await wire.ask(running.request(browser_payload()))
                async with asyncio.timeout(0.8):  # less than what an answer under way would get
                    await running.intake.stop()
                assert await wire.ended()

        asyncio.run(main())

    def test_a_new_token_counts_from_the_next_request_on(self) -> None:
        async def main(running: Listening, wire: Wire, memory: PairingMemory) -> None:
            assert (await wire.ask(running.request(browser_payload()))).status == 201
            asked = memory.asked
            other = Pairings(memory)
            token = other.rotate("browser", NOW_MS)
            assert (await wire.ask(running.request(browser_payload()))).status == 201  # nobody has said that something was written
            assert memory.asked == asked
            memory.written += 1
            assert (await wire.ask(running.request(browser_payload()))).status == 401
            assert (await wire.ask(running.request(browser_payload(), x_companion_token=token))).status == 201
            assert (await wire.ask(running.request(editor_payload(), x_companion_token=running.editor))).status == 201
            other.forget("browser", NOW_MS)
            memory.written += 1
            assert (await wire.ask(running.request(browser_payload(), x_companion_token=token))).status == 401
            assert asdict_of(running)["paired"] is False and asdict_of(running)["editor_paired"] is True

        async def started() -> None:
            async with listening() as running, connected(running.port) as wire:
                memory = running.intake._pairings._store
                assert isinstance(memory, PairingMemory)
                await main(running, wire, memory)

        asyncio.run(started())


def asdict_of(running: Listening) -> dict[str, object]:
    health = running.intake.health()
    return {name: getattr(health, name) for name in health.__struct_fields__}
