"""Keeps the digests of the companions' tokens in the record, and makes new tokens; the intake and `activity pair` stand on it.

Another process may pair while a host listens: the database says that it was written, and the digests are read again.
"""

from __future__ import annotations

import secrets
import sqlite3
from typing import Protocol

from ...errors import Unavailable
from ...generated.collector.vocabulary import PAIRING_TOKEN_BYTES
from ...machines.collector.pairing import CompanionKind, Pairing, digest, token_of


class PairingStore(Protocol):
    """What a store offers for it. `data_version` changes when another connection has written."""

    def pairing(self, kind: CompanionKind) -> str | None:
        """The digest of the token of this kind."""

    def set_pairing(self, kind: CompanionKind, digest: str | None, now_ms: int) -> None:
        """Put the digest of a new token, or none, in the place of the old one."""

    def data_version(self) -> int:
        """SQLite's `PRAGMA data_version`."""


class Pairings:
    """The pairing in force, as this process and all others left it."""

    def __init__(self, store: PairingStore) -> None:
        self._store = store
        self._read_at: int | None = None
        self._pairing = Pairing()

    def current(self) -> Pairing:
        """The digests. Costs one pragma unless somebody has written."""
        version = self._store.data_version()
        if version != self._read_at:
            self._pairing = Pairing(browser=self._store.pairing("browser"), editor=self._store.pairing("editor"))
            self._read_at = version
        return self._pairing

    def last_known(self) -> Pairing:
        """The same, and what was read last while the record cannot be read: to show it, and never to let anybody in."""
        try:
            return self.current()
        except (Unavailable, sqlite3.Error):
            return self._pairing

    def rotate(self, kind: CompanionKind, now_ms: int) -> str:
        """A new token of this kind, which is kept nowhere: show it once. The one before it is worth nothing from now on."""
        token = token_of(secrets.token_bytes(PAIRING_TOKEN_BYTES))
        self._store.set_pairing(kind, digest(token), now_ms)
        self._read_at = None
        return token

    def forget(self, kind: CompanionKind, now_ms: int) -> None:
        """No companion of this kind may report from now on."""
        self._store.set_pairing(kind, None, now_ms)
        self._read_at = None
