"""The companion intake: listens on loopback for paired companions and hands what they report to the host. The engine starts and stops it.

A host records without it: a port that is taken, or a package that is missing, is named in health, and nothing else changes.
"""

from __future__ import annotations

import asyncio
import errno
import time
from typing import Protocol

from ...errors import Unavailable
from ...generated.collector.models import CompanionHealth
from ...generated.collector.vocabulary import DEFAULT_INTAKE_PORT
from ...machines.collector.capture import Delivered
from ...machines.collector.facts import Facts
from ...machines.collector.intake import Answer, Head, Intake, Report, Sender, delivered, refusal
from ...machines.collector.unknown_fields import UnknownFields
from ..log import get_logger
from .pairing import Pairings

_log = get_logger()


class Deliver(Protocol):
    """`CollectorHost.deliver`: judges an observation and stores it; returns after the commit."""

    async def __call__(self, facts: Facts, *, vouched_root: str | None) -> Delivered:
        """Take one observation, and say what became of it."""


class CompanionIntake:
    """One intake: `start` it, `stop` it; `health` says how it is at any time, before and after too."""

    def __init__(self, pairings: Pairings, unknown_fields: UnknownFields, deliver: Deliver) -> None:
        self._pairings = pairings
        self._unknown_fields = unknown_fields
        self._deliver = deliver
        self._under_way: set[asyncio.Task[Answer]] = set()
        self._reason: str | None = "not-started"
        self._port: int | None = None

    @property
    def port(self) -> int | None:
        """The port that it listens on; None while it does not."""
        return self._port

    async def start(self, port: int = DEFAULT_INTAKE_PORT) -> None:
        """Listen on 127.0.0.1, on any free port for 0. Raises Unavailable; health then says the reason, and the host may go on."""
        try:
            from .intake_http import IntakeServer
        except ImportError as error:
            self._reason = "package-missing"
            raise Unavailable(f"the companion intake needs {error.name}", "pip install 'triptych[activity]'") from None
        self._intake = Intake(self._unknown_fields)
        self._server = IntakeServer(self._head, self._body)
        try:
            self._port = await self._server.listen(port)
        except (OSError, OverflowError) as error:
            if isinstance(error, OSError) and error.errno == errno.EADDRINUSE:
                self._reason = "port-in-use"
                raise Unavailable(f"companion intake port {port} is already in use", "choose another port, or 0 for any free one") from None
            self._reason = "cannot-listen"
            raise Unavailable(f"the companion intake cannot listen on port {port}: {error}", "choose another port") from None
        self._reason = None

    async def stop(self) -> None:
        """Refuse what is new, wait for the deliveries under way, and close every connection; a second call does nothing."""
        if self._port is None:
            return
        self._intake.stopping, self._reason = True, "stopped"
        self._server.refuse_connections()
        while self._under_way:
            await asyncio.wait(self._under_way)
        await self._server.close()
        self._port = None

    def health(self) -> CompanionHealth:
        """What capture health shows of the companions."""
        seen = self._intake.last_seen_ms if hasattr(self, "_intake") else {}
        pairing = self._pairings.last_known()
        return CompanionHealth(
            listening=self._reason is None,
            port=self._port,
            paired=pairing.browser is not None,
            editor_paired=pairing.editor is not None,
            reason=self._reason,
            last_seen_at_ms=max(seen.values(), default=None),
            browser_last_seen_at_ms=seen.get("browser"),
            editor_last_seen_at_ms=seen.get("editor"),
        )

    def _head(self, head: Head) -> Answer | Sender:
        return self._intake.head(head, self._port or 0, self._pairings.current())

    async def _body(self, sender: Sender, body: bytes) -> Answer:
        judged = self._intake.body(sender, body, time.monotonic(), time.time_ns() // 1_000_000)
        if isinstance(judged, Answer):
            return judged
        # A task of its own: a sender that hangs up does not undo what it has reported.
        delivery = asyncio.create_task(self._delivered(judged))
        self._under_way.add(delivery)
        delivery.add_done_callback(self._under_way.discard)
        return await asyncio.shield(delivery)

    async def _delivered(self, report: Report) -> Answer:
        try:
            outcome = await self._deliver(report.facts, vouched_root=report.vouched_root)
        except Exception as error:  # whatever it is, its sender learns that this report is not in the record
            _log.error("an observation of a companion was not delivered", error=type(error).__name__)
            return refusal("delivery-failed")
        return delivered(outcome.stored, outcome.reason)
