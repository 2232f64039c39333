"""Reads the JSON files of additional applications from disk; the engine calls it for a host and for a collector alike.

There may be two: `adapters.json` of the data directory, which a person keeps, and one that is named when a recording is started. The host
reads both and names both to the collector that it starts.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from ...errors import LocalProtocolError
from ...machines.collector.adapter_table import BAD_TABLE, BUILT_IN, AdapterTable

FILE_NAME = "adapters.json"


def adapter_files(data_dir: Path, named: Path | None = None) -> tuple[Path, ...]:
    """The files that count for a recording into `data_dir`, in the order in which they are read."""
    kept = data_dir / FILE_NAME
    return (*((kept,) if kept.exists() else ()), *((named,) if named is not None else ()))


def read_adapter_table(path: Path | None) -> AdapterTable:
    """The built-in table of applications, and the entries of the file after its own.

    Raises LocalProtocolError (code `adapter-table`) for a file that is no table, and for an entry that names a known application.
    """
    return BUILT_IN if path is None else BUILT_IN.extended(_read(path))


def read_adapter_tables(paths: Iterable[Path]) -> AdapterTable:
    """The same for several files. An application that is known already keeps its first entry: a newer program may have brought its own.

    Raises LocalProtocolError (code `adapter-table`) for a file that is no table.
    """
    table = BUILT_IN
    for path in paths:
        table = table.extended(_read(path), known="kept")
    return table


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise LocalProtocolError(BAD_TABLE, f"cannot read {path}: {error.strerror}") from error
