"""The first fault of a value, and the stable code that its protocol gives it; raised by the walker, answered by the reader."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Path = tuple[str | int, ...]
CodeTable = Mapping[str, Any]


class Fault(Exception):
    """A value breaks its schema. It never leaves machines/: the reader turns it into a RemoteProtocolError.

    `path` is the place as keys and indexes, `keyword` what failed there (a JSON Schema keyword, `required`, `unknown`, `tag`, `union`
    or the name of an x-rule), `detail` a sentence, and `code` the schema's own code for this place when it names one.
    """

    def __init__(self, path: Path, keyword: str, detail: str, code: str | None = None) -> None:
        super().__init__(detail)
        self.path = path
        self.keyword = keyword
        self.detail = detail
        self.code = code


SENTENCE = 400


def shortened(text: str) -> str:
    """A sentence or a path as an error carries it: what it quotes is a peer's, and may be as long as a frame."""
    return text if len(text) <= SENTENCE else f"{text[: SENTENCE - 1]}…"


def dotted(path: Path) -> str:
    """A path as people read it: `nodes.0.role`; the empty string is the whole value."""
    return ".".join(map(str, path))


class UnknownKey(str):
    """The dotted path of a key that a schema does not know. `key` is the key itself, in which dots are nothing special."""

    __slots__ = ("key",)
    key: str

    def __new__(cls, key: str, of: Path = ()) -> UnknownKey:
        """`of` is the path of its object."""
        made = super().__new__(cls, dotted((*of, key)))
        made.key = key
        return made

    @property
    def nested(self) -> bool:
        """Whether it is the key of an object inside the message."""
        return len(self) > len(self.key)


def code_of(fault: Fault, tables: Mapping[str, CodeTable], root: str) -> tuple[str, str]:
    """The stable code of a fault in a value of this root, and its sentence.

    A code that the schema names at the place itself wins. Then an embedded document is asked: a fault below `at` gets the code of
    that document's own table, translated by `to` into a code of this root (`else` for the rest), and says so in the sentence.
    Then the first rule of the root's table that fits, else its default.
    """
    table = tables[root]
    for embedded in table.get("embedded", ()):
        at = tuple(embedded["at"])
        if fault.path[: len(at)] == at and len(fault.path) >= len(at):
            inner, detail = code_of(Fault(fault.path[len(at) :], fault.keyword, fault.detail, fault.code), tables, embedded["root"])
            return embedded["to"].get(inner, embedded["else"]), f"{embedded['label']} {inner}: {detail}"
    if fault.code is not None:
        return fault.code, fault.detail
    return next((rule["code"] for rule in table.get("rules", ()) if _fits(rule, fault)), table["default"]), fault.detail


def _fits(rule: Mapping[str, Any], fault: Fault) -> bool:
    """Every condition of a rule holds: a `segment` anywhere in the path, the `last` segment, the `keyword` that failed."""
    return (
        ("segment" not in rule or not _listed(rule["segment"]).isdisjoint(fault.path))
        and ("last" not in rule or (bool(fault.path) and fault.path[-1] in _listed(rule["last"])))
        and ("keyword" not in rule or fault.keyword in _listed(rule["keyword"]))
    )


def _listed(words: Any) -> frozenset[object]:
    return frozenset((words,)) if isinstance(words, str) else frozenset(words)
