"""Decides what happens to a field that nobody knows: refuse, extension or count; the collector wire and the companion intake share it.

`refuse` refuses every unknown field; `extension` (the default) refuses it unless its own name starts with `x-`, and then drops and counts
it; `count` drops and counts every unknown field. Only names are kept, within bounds; a value of an unknown field goes nowhere.
"""

from __future__ import annotations

from collections.abc import Iterable

from ...errors import RemoteProtocolError
from ...generated.collector.models import UnknownFieldCounts, UnknownFieldPolicy
from ...generated.collector.vocabulary import DEFAULT_UNKNOWN_FIELDS, EXTENSION_PREFIX, MAX_EXTENSION_NAME_BYTES, MAX_EXTENSION_NAMES
from ..wire.faults import UnknownKey

UNKNOWN_FIELD = "unknown-field"


class UnknownFields:
    """The rule and what it has counted: `by_name` says how often each dotted name was dropped, `other` counts what it has no room for."""

    def __init__(self, rule: UnknownFieldPolicy = DEFAULT_UNKNOWN_FIELDS) -> None:
        self.rule = rule
        self.by_name: dict[str, int] = {}
        self.other = 0

    def take(self, paths: Iterable[UnknownKey]) -> None:
        """Count the unknown fields of one message, or raise RemoteProtocolError (code `unknown-field`) and count none of them."""
        paths = tuple(paths)
        for path in paths:
            if self.rule == "refuse" or (self.rule == "extension" and not path.key.startswith(EXTENSION_PREFIX)):
                raise RemoteProtocolError(UNKNOWN_FIELD, f"nobody knows this field, and the rule is {self.rule!r}", path)
        for path in paths:
            self._count(path)

    def report(self) -> UnknownFieldCounts:
        """What capture health shows of it."""
        return UnknownFieldCounts(
            policy=self.rule, total=sum(self.by_name.values()) + self.other, by_name=dict(self.by_name), other=self.other
        )

    def _count(self, path: str) -> None:
        room = len(self.by_name) < MAX_EXTENSION_NAMES and len(path.encode("utf-8", "surrogatepass")) <= MAX_EXTENSION_NAME_BYTES
        if room or path in self.by_name:
            self.by_name[path] = self.by_name.get(path, 0) + 1
        else:
            self.other += 1
