"""Binds the encode loop of a captured session to its source, its peer connection and those who are told; called by the transport."""

from __future__ import annotations

from ....errors import RemoteProtocolError
from ....machines.desklink.counters import Sent
from ....machines.desklink.effects import PeerPlan
from ..encode_loop import EncodeLoop, Outlet, Watcher
from ..transport import Reports


def encode_captured(reports: Reports, session_id: str, plan: PeerPlan, outlet: Outlet) -> EncodeLoop:
    """Begin to encode the newest pictures of the session's source. Raises RemoteProtocolError (`transport`) when it has ended."""
    slot = reports.newest(session_id, plan.surface)
    if slot is None:
        raise RemoteProtocolError("transport", "the session has no source any more")
    return EncodeLoop(slot, plan.surface, plan.max_fps, outlet, _Told(reports, session_id))


class _Told(Watcher):
    """Hands on what the loop tells, with the session's name."""

    def __init__(self, reports: Reports, session_id: str) -> None:
        self._reports = reports
        self._id = session_id
        self._first = True

    def sent(self, sent: Sent) -> None:
        first, self._first = self._first, False
        self._reports.sent(self._id, sent, first=first)

    def superseded(self, count: int) -> None:
        for _ in range(count):
            self._reports.superseded(self._id)

    def refused(self, reason: str) -> None:
        self._reports.revoke(self._id, "error", reason)
