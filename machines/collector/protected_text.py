"""Decides which texts must not be stored for what they say: paths to secrets, texts that cannot be decoded, texts that a rule names.

Asked by the gates (host side) and by tracking (collector side). All functions are total and take linear time.
"""

from __future__ import annotations

import re
from collections.abc import Callable

_ESCAPE = re.compile(rb"%([0-9A-Fa-f]{2})?")
_SECURE_PATH = re.compile(
    r"""
    (?: \A | / ) (?:
        \.env (?: \. | \Z )
      | \.ssh (?: / | \Z )
      | \.netrc \Z
      | \.npmrc \Z
      | id_(?: rsa | ed25519 | ecdsa | dsa ) \Z
      | service-account\.json \Z
    )
    | \. (?: pem | key | p12 | pfx | jks | keystore ) \Z
    | credentials
    | secrets
    """,
    re.VERBOSE | re.IGNORECASE,
)
_SECRET_ENDS = (".netrc", ".npmrc", "service-account.json", ".pem", ".key", ".p12", ".pfx", ".jks", ".keystore")
_BARE_FILE_NAME = re.compile(r"[^\s/]+\.[A-Za-z0-9]{1,8}\Z")
_SPACE = re.compile(r"\s")

TextRule = Callable[[str], bool]


def percent_decode(text: str) -> str | None:
    """Undo percent escapes once. None when an escape is malformed, or the bytes are not UTF-8: then nobody can say what the text names."""
    if "%" not in text:
        return text
    try:
        raw = text.encode()
        if any(match[1] is None for match in _ESCAPE.finditer(raw)):
            return None
        return _ESCAPE.sub(lambda match: bytes.fromhex(match[1].decode()), raw).decode()
    except UnicodeError:
        return None


def is_secure_path(path: str) -> bool:
    """Whether a decoded path names something that is a secret by convention (`.env`, `.ssh`, private keys, …)."""
    return _may_be_secret(path) and _SECURE_PATH.search(path) is not None


def _may_be_secret(path: str) -> bool:
    """Whether it is worth asking the pattern: it is asked of every text, and hardly one of them holds any of these words."""
    low = path.lower()
    return (
        ".env" in low
        or ".ssh" in low
        or "credentials" in low
        or "secrets" in low
        or "id_" in low
        or low.endswith(_SECRET_ENDS)
        or (not low.isascii() and ("\u017f" in path or "\u0131" in path or "\u0130" in path))  # what ignoring case takes for an s or an i
    )


def is_protected_text(text: str, refuses: TextRule) -> bool:
    """Whether a document, an address or an identifier is protected. `refuses`: does a resource rule of the policy name this text?"""
    if "%" not in text:
        return is_secure_path(text) or refuses(text)
    decoded = percent_decode(text)
    return decoded is None or is_secure_path(decoded) or refuses(text) or refuses(decoded)


def is_protected_title(title: str, refuses: TextRule) -> bool:
    """Whether a window title is protected. With white space it is prose, and only rules speak; without, it may be a path."""
    return refuses(title) if _SPACE.search(title) else is_protected_text(title, refuses)


def is_bare_file_name(title: str) -> bool:
    """Whether a title is a file name without its folder, so that no rule on paths can be asked about it."""
    return _BARE_FILE_NAME.match(title) is not None


def glob_matches(pattern: str, text: str) -> bool:
    """Match the whole `text`. `*` is the only wildcard and stands for any run, `/` and nothing included; case counts."""
    first, *rest = pattern.split("*")
    if not rest:
        return pattern == text
    *middle, last = rest
    if len(text) < len(first) + len(last) or not text.startswith(first) or not text.endswith(last):
        return False
    at, end = len(first), len(text) - len(last)
    for part in middle:
        found = text.find(part, at, end)
        if found < 0:
            return False
        at = found + len(part)
    return True
