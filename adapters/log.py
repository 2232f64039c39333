"""Where adapters log: wherever the application has configured structlog to write, and stderr when it has not.

structlog's own default is stdout, which in a process that speaks a protocol belongs to the protocol.
"""

from __future__ import annotations

import sys
from contextlib import suppress
from typing import Any, TextIO, cast

import structlog


class Stderr:
    """The standard error of now, for structlog to print to. A line that nobody can take is lost: to log is no reason to fail."""

    def write(self, text: str) -> int:
        """Write, or lose, the text."""
        with suppress(OSError, ValueError):  # its reader has ended; it is closed
            sys.stderr.write(text)
        return len(text)

    def flush(self) -> None:
        """Write out, or lose, what waits."""
        with suppress(OSError, ValueError):
            sys.stderr.flush()


class _Output:
    """The application's logger, or one to stderr, decided when a line is written."""

    def __getattr__(self, method: str) -> Any:
        configured = structlog.is_configured()
        if not configured and method == "debug":
            return lambda *_, **__: None  # nobody has asked for details
        return getattr(structlog.get_config()["logger_factory"]() if configured else structlog.PrintLogger(cast(TextIO, Stderr())), method)


def get_logger() -> Any:
    """A structlog logger for one module."""
    return structlog.wrap_logger(_Output())
