"""Decides whose token a request carries: a token is shown once to its companion, and only its SHA-256 digest is kept. The intake asks.

The two kinds of companion are paired apart from each other: a new token of one kind leaves the other's alone.
"""

from __future__ import annotations

import hashlib
import hmac
from base64 import urlsafe_b64encode
from dataclasses import dataclass
from typing import Literal, TypeAlias

from ...errors import LocalProtocolError
from ...generated.collector.vocabulary import PAIRING_TOKEN_BYTES

CompanionKind: TypeAlias = Literal["browser", "editor"]

BAD_RANDOM = "pairing-random"
_NOBODY = "0" * 64  # no token has this digest, as far as anybody knows


def token_of(random: bytes) -> str:
    """A pairing token of 32 random bytes: 43 characters of base64url without padding. Raises LocalProtocolError (`pairing-random`)."""
    if len(random) != PAIRING_TOKEN_BYTES:
        raise LocalProtocolError(BAD_RANDOM, f"a token is made of {PAIRING_TOKEN_BYTES} random bytes, not {len(random)}")
    return urlsafe_b64encode(random).rstrip(b"=").decode()


def digest(token: str) -> str:
    """What is kept of a token: its SHA-256, 64 hexadecimal digits in lower case."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(frozen=True, slots=True)
class Pairing:
    """The digest of each companion's token; None for one that was never paired."""

    browser: str | None = None
    editor: str | None = None

    def kind_of(self, token_digest: str) -> CompanionKind | None:
        """Whose token has this digest; None for nobody's. Both are compared, in constant time, whatever the first comparison says."""
        browser = hmac.compare_digest(token_digest, self.browser or _NOBODY)
        editor = hmac.compare_digest(token_digest, self.editor or _NOBODY)
        return "browser" if browser and self.browser else "editor" if editor and self.editor else None
