"""The file `adapters.json` of a data directory: applications beyond the shipped table, added and removed by a person.

`triptych activity policy adapter` changes it; a host and its collector read it when they start, and when the host is told to. Whatever is
written has passed the same reader that they use.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import msgspec

from ...adapters.collector.adapter_file import FILE_NAME, adapter_files, read_adapter_tables
from ...adapters.collector.store import private_folder
from ...errors import LocalProtocolError
from ...generated.collector.models import AdapterEntry, AdapterIds, AdapterSurfaceKind, DocumentResourceKind, FocusedElementPolicy
from ...machines.collector.adapter_table import BAD_TABLE, BUILT_IN, AdapterTable
from .export import write_private


def known_adapters(data_dir: Path) -> AdapterTable:
    """The shipped table, and the entries of the directory's own file after it. Raises LocalProtocolError (code `adapter-table`)."""
    return read_adapter_tables(adapter_files(data_dir))


def own_adapters(data_dir: Path) -> tuple[AdapterEntry, ...]:
    """The entries of the directory's own file."""
    return known_adapters(data_dir).adapters[len(BUILT_IN.adapters) :]


def add_adapter(
    data_dir: Path,
    bundle_id: str,
    surface: AdapterSurfaceKind,
    *,
    titles: bool = True,
    documents: DocumentResourceKind = "file",
    focus: FocusedElementPolicy = "require",
) -> AdapterEntry:
    """Make an application known, and return its entry. Raises LocalProtocolError (code `adapter-table`) for one that is known, or no id."""
    known = known_adapters(data_dir)
    if (found := known.find(bundle_id)) is not None:
        raise LocalProtocolError(BAD_TABLE, f"{bundle_id} is known already, as {found.id}")
    names = {adapter.id for adapter in known.adapters}
    stem = re.sub(r"[^a-z0-9]+", "-", re.sub(r"\.(desktop|exe)\Z", "", bundle_id.casefold())).strip("-")[:100] or "application"
    name = next(name for number in range(len(names) + 1) if (name := f"{stem}-{number + 1}" if number else stem) not in names)
    win32 = bundle_id[-4:].casefold() == ".exe"
    darwin = not win32 and sys.platform == "darwin"
    entry = AdapterEntry(
        id=name,
        surface_kind=surface,
        suppresses_window_title=not titles,
        document_resource_kind=documents,
        focused_element_policy=focus,
        ids=AdapterIds(
            darwin=(bundle_id,) if darwin else (), win32=(bundle_id,) if win32 else (), linux=() if darwin or win32 else (bundle_id,)
        ),
    )
    _write(data_dir, (*own_adapters(data_dir), entry))
    return entry


def remove_adapter(data_dir: Path, bundle_id: str) -> AdapterEntry:
    """Forget an application that was added, by its id or the id of its entry. Raises LocalProtocolError (code `adapter-table`)."""
    own = own_adapters(data_dir)
    for entry in own:
        if bundle_id in (entry.id, *entry.ids.darwin, *entry.ids.win32, *entry.ids.linux):
            _write(data_dir, tuple(other for other in own if other is not entry))
            return entry
    shipped = ", which comes with the program, stays" if known_adapters(data_dir).find(bundle_id) else " was not added here"
    raise LocalProtocolError(BAD_TABLE, f"{bundle_id}{shipped}")


def _write(data_dir: Path, entries: tuple[AdapterEntry, ...]) -> None:
    try:
        text = json.dumps({"adapters": msgspec.to_builtins(entries)}, indent=2) + "\n"
        text.encode()
    except UnicodeError:
        raise LocalProtocolError(BAD_TABLE, "an application id is valid Unicode") from None
    BUILT_IN.extended(text.encode())
    private_folder(data_dir)
    write_private(data_dir / FILE_NAME, text, "check the data directory")
