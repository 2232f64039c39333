"""The authenticated render marker: the OSC 8487 sequence that says which revision the terminal has just drawn.

The adapter prints `encode_marker` after the last byte of a revision; the driver hands what its terminal parsed to `verify_marker`. The
verifier remembers no marker: replays and order are for the pairing of one session. termwright/3, render marker.
"""

from __future__ import annotations

import binascii
import hmac
import re
from functools import lru_cache
from typing import Final

from ...errors import LocalProtocolError
from ...generated.termwright import vocabulary

OSC_CODE: Final = vocabulary.MARKER_OSC_CODE
TAG: Final = vocabulary.MARKER_PREFIX
MAC_BYTES: Final = vocabulary.MARKER_MAC_BYTES
MAX_SAFE_INTEGER = 2**53 - 1

_URL_SAFE = bytes.maketrans(b"+/", b"-_")
_PAYLOAD = re.compile(r"twm;([1-9][0-9]{0,15});([A-Za-z0-9_-]{22})")


@lru_cache(maxsize=8)
def _keyed(token: str) -> hmac.HMAC:
    """The HMAC with its key mixed in, to be copied: half the work of a marker, and the same for all of a session."""
    # A lone surrogate cannot be in a token that came over the wire; as a key of our own caller it must not raise either.
    return hmac.new(token.encode("utf-8", "surrogatepass"), digestmod="sha256")


def _mac(token: str, session_id: str, revision: str) -> bytes:
    mac = _keyed(token).copy()
    mac.update(f"{session_id}:{revision}".encode("utf-8", "surrogatepass"))
    return binascii.b2a_base64(mac.digest()[:MAC_BYTES], newline=False)[:22].translate(_URL_SAFE)


def encode_marker(token: str, session_id: str, revision: int) -> bytes:
    """The bytes to print once the terminal bytes of `revision` are flushed; raises `LocalProtocolError` (`marker-argument`)."""
    if not token or not session_id:
        raise LocalProtocolError("marker-argument", "a marker needs the token and the session id")
    if type(revision) is not int or not 0 < revision <= MAX_SAFE_INTEGER:
        raise LocalProtocolError("marker-argument", "a revision is a positive safe integer", "revision")
    return b"\x1b]%d;twm;%d;%b\x07" % (OSC_CODE, revision, _mac(token, session_id, str(revision)))


def verify_marker(payload: str, token: str, session_id: str) -> int | None:
    """The revision that `payload` (what follows `8487;`) proves, or None. It never raises, and compares in constant time.

    One trailing BEL or ST is tolerated, since a raw-stream scanner may keep the terminator.
    """
    if type(payload) is not str or type(token) is not str or type(session_id) is not str or not token or not session_id:
        return None
    if payload.endswith("\x07"):
        payload = payload[:-1]
    elif payload.endswith("\x1b\\"):
        payload = payload[:-2]
    found = _PAYLOAD.fullmatch(payload)
    if found is None:
        return None
    revision, mac = found.groups()
    if int(revision) > MAX_SAFE_INTEGER or not hmac.compare_digest(mac.encode(), _mac(token, session_id, revision)):
        return None
    return int(revision)
