"""The page of a live desktop: one HTML file with its style and scripts beside it; `page` puts them together, and the bridge serves it."""

from __future__ import annotations

import base64
import hashlib
import re
from functools import cache
from pathlib import Path

from ...adapters.desklink.bridge import Page

FOLDER = Path(__file__).parent
STYLE = re.compile(r'<link rel="stylesheet" href="([a-z]+\.css)">')
SCRIPTS = re.compile(r'(?:<script src="[a-z]+\.js"></script>\s*)+')
SOURCE = re.compile(r'src="([a-z]+\.js)"')


@cache
def page() -> Page:
    """The page as one document that needs no other file.

    The style and the scripts, which stay files of their own to be read and changed, are put in their places, and their hashes into the
    page's policy: nothing else can run in it. (Opened from the disk, viewer.html finds them itself.)
    """
    html = (FOLDER / "viewer.html").read_text()
    named, listed = STYLE.search(html), SCRIPTS.search(html)
    assert named is not None
    assert listed is not None
    style = (FOLDER / named[1]).read_text()
    # One script: its parts share their names as they do as files.
    script = "\n".join((FOLDER / name).read_text() for name in SOURCE.findall(listed[0]))
    html = html.replace(listed[0], f"<script>{script}</script>\n").replace(named[0], f"<style>{style}</style>")
    return Page(html.encode(), (_source(script),), (_source(style),))


def _source(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
