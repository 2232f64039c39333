"""Turns a paired browser's report into facts: the address of the page and nothing else that stands on it."""

from __future__ import annotations

from ...generated.collector.models import BrowserPayload
from ...generated.collector.vocabulary import COMPANION_BROWSER_BUNDLE_ID, COMPANION_BROWSER_NAME
from .companion_payload import cut
from .facts import Facts


def browser_facts(payload: BrowserPayload) -> Facts:
    """What may be judged of it. A title that is no string is ignored."""
    return Facts(
        session=payload.browser_session,
        seq=payload.seq,
        observed_at_ms=int(payload.observed_at_ms),
        pid=0,
        bundle_id=COMPANION_BROWSER_BUNDLE_ID,
        app_name=COMPANION_BROWSER_NAME,
        title=cut(payload.title) if isinstance(payload.title, str) else None,
        url=payload.origin + payload.path,
        adapter="browser",
        provider="companion",
    )
