"""What an adapter sends while its program is driven: broken words, logs, deltas, and more than it reads."""

from __future__ import annotations

import re
from typing import Any

import pytest

import termwright_kit as kit
from termwright_kit import PATIENCE, run, scripted
from triptych.engine import terminal
from triptych.errors import LocalProtocolError, RemoteProtocolError, Unavailable, WaitTimeout


def test_a_session_that_breaks_its_word_is_reported_by_code() -> None:
    unsettled = kit.full(1, kit.node("app", role="application", value=kit.UNKNOWN))
    for send, providers, code in (
        (unsettled, [], "adapter-guarantee-violation"),
        (kit.full(1, kit.node("app")), [{"id": "p", "version": "1", "method": "native", "capabilities": ["hit-test"]}],
         "capability-provider-violation"),
    ):  # fmt: skip
        program = scripted(send, {"receive": True}, {"receive": True}, hello={"providers": providers})

        async def main(program: list[str] = program, code: str = code) -> None:
            async with terminal.launch(program) as app:
                with pytest.raises(RemoteProtocolError) as broken:
                    await app.wait_for_revision(timeout=PATIENCE)
                assert broken.value.code == code
                told = "malformed" if code.startswith("capability") else code
                await app.wait_for_text(f"<error {told}><closed >", timeout=PATIENCE)
                await app.press("ctrl+d")
                assert await app.exited(timeout=PATIENCE) == 0

        run(main)


def test_logs_with_level_attributes_and_gaps() -> None:
    def log(seq: int, message: str, level: str = "info", **more: Any) -> dict[str, Any]:
        return {"type": "log", "record": {"ts": 1, "level": level, "message": message, "seq": seq, **more}}

    program = scripted(
        log(1, "starting"), log(5, "slow query", "warn", attrs={"rows": 3}, logger="app.db", revision=7), log(5, "again"), {"key": True},
        log(6, "late", "error"), capabilities=("tree", "logs"),
    )  # fmt: skip

    async def main() -> None:
        async with terminal.launch(program) as app:
            slow = await app.wait_for_log("SLOW", level="warn", logger="app.db", timeout=PATIENCE)
            assert (slow.record.attrs, slow.record.revision, slow.lost) == ({"rows": 3}, 7, 3)
            await app.wait_until(lambda: app.diagnostics[-1].code == "protocol-violation", timeout=PATIENCE)
            assert app.lost_logs == 3
            assert [logged.record.message for logged in app.logs] == ["starting", "slow query"]
            assert terminal.format_logs(app.logs).splitlines() == [
                "0.000 info: starting",
                "3 lost at source",
                "0.000 warn app.db: slow query rows=3",
            ]
            with pytest.raises(WaitTimeout) as late:
                await app.wait_for_log(after=5, timeout=0.05)
            assert "3 lost at source" in late.value.seen
            await app.press("x")
            assert (await app.wait_for_log(re.compile("^late$"), after=5, timeout=PATIENCE)).record.level == "error"
            with pytest.raises(LocalProtocolError) as refusal:
                await app.wait_for_log(level="loud")
            assert refusal.value.code == "unknown-level"
            await app.press("ctrl+d")
            with pytest.raises(Unavailable, match="no log record"):
                await app.wait_for_log("never", timeout=PATIENCE)

    run(main)


def test_logs_of_a_program_that_sends_none() -> None:
    async def main() -> None:
        async with terminal.launch(scripted(kit.full(1, kit.node("app")))) as app:
            await app.wait_for_revision(timeout=PATIENCE)
            with pytest.raises(Unavailable, match="no log record"):
                await app.wait_for_log(timeout=PATIENCE)

    run(main)


def test_a_delta_stream_from_a_real_program() -> None:
    def delta(revision: int, base: int, name: str) -> dict[str, Any]:
        update = [{"id": "app", "set": {"name": name}}]
        return {
            "type": "semantic-delta",
            "delta": {"v": 3, "sessionId": "$SESSION", "revision": revision, "baseRevision": base, "updateNodes": update},
        }

    program = scripted(
        kit.full(1, kit.node("app")), delta(2, 1, "Two"), delta(9, 8, "Lost"), {"receive": True}, kit.full(10, kit.node("app", name="Ten")),
        delta(11, 10, "Eleven"), capabilities=("tree", "incremental-tree"),
    )  # fmt: skip

    async def main() -> None:
        async with terminal.launch(program) as app:
            await app.wait_for_revision(11, timeout=PATIENCE)
            assert await app.get_by_text("Eleven").count() == 1
            await app.wait_for_text("<semantic-resync-request base-mismatch>", timeout=PATIENCE)
            assert [note.code for note in app.diagnostics] == ["adapter-attached"]

    run(main)


def test_a_peer_that_never_reads_is_cut_off() -> None:
    program = [kit.PYTHON, "-c", FLOOD]

    async def main() -> None:
        async with terminal.launch(program, columns=120) as app:
            await app.wait_for_text("cut off", timeout=PATIENCE)
            assert app.diagnostics[-1].code == "adapter-disconnected"

    run(main)


FLOOD = """
import json, os, socket
from triptych.machines.termwright.framing import encode_frame
def frame(value): return encode_frame(value, 1 << 20)
link = socket.socket(socket.AF_UNIX)
link.connect(os.environ["TERMWRIGHT_ENDPOINT"])
adapter = {"name": "flood", "version": "1"}
hello = {"type": "hello", "protocol": "termwright/3", "token": os.environ["TERMWRIGHT_TOKEN"], "adapter": adapter}
link.sendall(frame({**hello, "capabilities": ["tree", "incremental-tree"]}))
stale = frame({"type": "semantic-delta", "delta": {"v": 3, "sessionId": "s", "revision": 9, "baseRevision": 8}})
try:
    for _ in range(100000): link.sendall(stale)
except OSError: print("cut off", flush=True)
input()
"""
