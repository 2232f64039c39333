"""Says what of an observation may be judged and stored, as flat facts, whoever saw it; the gates and the store take nothing else.

A field that is not listed here reaches neither. There is none for contents: no text, selection, key, pointer, picture or page body.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from ...generated.collector.models import ActivityEvent, EditorSurfaceKind, NativeProvider

Provider: TypeAlias = NativeProvider | Literal["companion"]


class Facts(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """Who was in front and where a person worked. Absent and null are both None. Times are milliseconds since 1970, idle time seconds.

    `activity_event` and `surface_kind` come from a paired editor companion only.
    """

    session: str
    seq: int
    observed_at_ms: int
    pid: int
    bundle_id: str
    app_name: str | None = None
    title: str | None = None
    document: str | None = None
    url: str | None = None
    role: str | None = None
    subrole: str | None = None
    identifier: str | None = None
    idle_seconds: float | None = None
    secure: bool = False
    protected: bool = False
    reason: str | None = None
    adapter: str
    provider: Provider | None = None
    activity_event: ActivityEvent | None = None
    surface_kind: EditorSurfaceKind | None = None
