"""Ends a connection to a compositor, and the task that reads it. The sources of the foreground and of idle time hold one each."""

from __future__ import annotations

import asyncio
import contextlib


async def hang_up(reading: asyncio.Task[None] | None, writer: asyncio.StreamWriter | None) -> None:
    """Cancel the reader and close the connection; either may be missing, or over already."""
    if reading is not None:
        reading.cancel()
        await asyncio.gather(reading, return_exceptions=True)
    if writer is not None:
        writer.close()
        with contextlib.suppress(OSError):
            await writer.wait_closed()
