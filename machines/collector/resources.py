"""Derives what was worked on, a file, folder or address, from what a window said of its document. Used by the gates."""

from __future__ import annotations

from typing import Literal
from urllib.parse import quote, urlsplit

import msgspec

from ...generated.collector.models import DocumentResourceKind
from .protected_text import percent_decode

ResourceKind = Literal["file", "directory", "url"]

# What a path keeps unescaped in a file URL (RFC 3986 pchar); everything else is percent-encoded.
_PATH_CHARACTERS = "/!$&'()*+,;=:@~"


class Resource(msgspec.Struct, frozen=True, gc=False):
    """`uri` is canonical, `label` what a person reads, `path` the decoded path of a file or folder (None for an address)."""

    kind: ResourceKind
    uri: str
    label: str
    path: str | None = None

    @property
    def texts(self) -> tuple[str, ...]:
        """Every text by which a rule may name it."""
        return (self.uri,) if self.path is None else (self.uri, self.path)


class UndecodableResource(ValueError):
    """The text names a resource, but nobody can say which. Its name is kept out of the message."""


def derive(document: str | None, url: str | None, kind: DocumentResourceKind) -> Resource | None:
    """The resource of a window, or None when it names none. Raises UndecodableResource."""
    raw = document or url
    if not raw:
        return None
    scheme = raw[:8].casefold()
    if scheme.startswith(("http://", "https://")):
        return _address(raw)
    if scheme.startswith("file:"):
        return _file(_path_of_url(raw), kind)
    return _file(raw, kind) if raw.startswith("/") else None


def file_resource(path: str, kind: DocumentResourceKind) -> Resource:
    """The resource of an absolute, decoded path."""
    return _file(path, kind)


def _file(path: str, kind: DocumentResourceKind) -> Resource:
    if "\0" in path:
        raise UndecodableResource("no path holds a NUL")
    try:
        uri = "file://" + quote(path, safe=_PATH_CHARACTERS)
    except UnicodeError:
        raise UndecodableResource("not valid Unicode") from None
    return Resource(kind, uri, path.rstrip("/").rpartition("/")[2] or "/", path)


def _path_of_url(url: str) -> str:
    try:
        parts = urlsplit(url)
    except ValueError:
        raise UndecodableResource("not a URL") from None
    path = percent_decode(parts.path)
    if path is None or parts.netloc not in ("", "localhost") or not path.startswith("/"):
        raise UndecodableResource("not the URL of a local file")
    return path


def _address(url: str) -> Resource:
    """Without query, fragment, user and password; the label is host and path, never the title of the page."""
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
        port = "" if parts.port is None else f":{parts.port}"
    except ValueError:
        raise UndecodableResource("not a URL") from None
    place = f"{f'[{host}]' if ':' in host else host}{port}"
    return Resource("url", f"{parts.scheme}://{place}{parts.path or '/'}", place + parts.path)
