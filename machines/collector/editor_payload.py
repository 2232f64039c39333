"""Turns a paired editor's report into facts: what it claims to be and the file that it shows; the workspace is vouched for beside them."""

from __future__ import annotations

from msgspec import UNSET

from ...generated.collector.models import EditorPayload
from .companion_payload import cut
from .facts import Facts


def editor_facts(payload: EditorPayload) -> Facts:
    """What may be judged of it. The language is checked and dropped: no record has a place for it."""
    return Facts(
        session=payload.editor_session,
        seq=payload.seq,
        observed_at_ms=int(payload.observed_at_ms),
        pid=0,
        bundle_id=payload.app.bundle_id,
        app_name=cut(payload.app.name),
        title=cut(payload.title) if isinstance(payload.title, str) else None,
        document=None if payload.file_path is UNSET else payload.file_path,
        surface_kind=None if payload.surface_kind is UNSET else payload.surface_kind,
        activity_event=None if payload.event is UNSET else payload.event,
        adapter="editor",  # the host finds the adapter by the declared id
        provider="companion",
    )
