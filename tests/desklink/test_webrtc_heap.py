"""Memory that a session freed goes back to the system: what the C library keeps, and when the transport asks for it."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any

import pytest
from cffi import FFI

from triptych.adapters.desklink.webrtc import heap, transport
from triptych.adapters.desklink.webrtc.versions import strange
from triptych.machines.desklink.effects import PeerPlan
from triptych.machines.desklink.geometry import Size

BLOCK_BYTES, BLOCKS, KEPT_EVERY = 64 << 10, 1024, 64


def anonymous_bytes() -> int:
    found = re.search(r"^Anonymous:\s+(\d+) kB", Path("/proc/self/smaps_rollup").read_text(), re.MULTILINE)
    assert found is not None
    return int(found[1]) << 10


def test_what_lies_free_between_blocks_in_use_is_given_back() -> None:
    if heap._glibc() is None:
        pytest.skip("another C library than glibc")
    ffi = FFI()
    ffi.cdef("void *malloc(size_t size); void free(void *block); void *memset(void *block, int byte, size_t size);")
    library = ffi.dlopen(None)
    before = anonymous_bytes()
    blocks = [library.malloc(BLOCK_BYTES) for _ in range(BLOCKS)]
    for block in blocks:
        library.memset(block, 1, BLOCK_BYTES)
    for number, block in enumerate(blocks):
        if number % KEPT_EVERY:
            library.free(block)
    most = BLOCKS // KEPT_EVERY * BLOCK_BYTES + (8 << 20)
    try:
        assert anonymous_bytes() > before + most
        heap.trim()
        assert anonymous_bytes() < before + most
    finally:
        for block in blocks[::KEPT_EVERY]:
            library.free(block)


class Silent:
    """Reports that nobody reads."""

    def __getattr__(self, name: str) -> Any:
        return lambda *_, **__: None


@pytest.mark.skipif(strange() is not None, reason="no WebRTC here")
def test_a_closed_session_gives_its_memory_back(monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> None:
        loop, trims = asyncio.get_running_loop(), asyncio.Semaphore(0)
        monkeypatch.setattr(transport, "trim", lambda: loop.call_soon_threadsafe(trims.release))
        peers: Any = transport.WebRtc(Silent())  # type: ignore[arg-type]  # it reports to anything
        for session in ("first", "second"):
            await peers.start(session, PeerPlan(Size(64, 64), 30, 1000, (), False))
            assert trims.locked()
            await peers.close(session)
            await asyncio.wait_for(trims.acquire(), 10)

    asyncio.run(main())
