"""Reads the JSON file of additional applications from disk; the engine calls it for a host and for a collector alike."""

from __future__ import annotations

from pathlib import Path

from ...errors import LocalProtocolError
from ...machines.collector.adapter_table import BAD_TABLE, BUILT_IN, AdapterTable


def read_adapter_table(path: Path | None) -> AdapterTable:
    """The built-in table of applications, and the entries of the file after its own. Raises LocalProtocolError (code `adapter-table`)."""
    if path is None:
        return BUILT_IN
    try:
        document = path.read_bytes()
    except OSError as error:
        raise LocalProtocolError(BAD_TABLE, f"cannot read {path}: {error.strerror}") from error
    return BUILT_IN.extended(document)
