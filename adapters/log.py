"""Where adapters log: wherever the application has configured structlog to write, and stderr when it has not.

structlog's own default is stdout, which in a process that speaks a protocol belongs to the protocol.
"""

from __future__ import annotations

import sys
from typing import Any

import structlog


class _Output:
    """The application's logger, or one to stderr, decided when a line is written."""

    def __getattr__(self, method: str) -> Any:
        configured = structlog.is_configured()
        if not configured and method == "debug":
            return lambda *_, **__: None  # nobody has asked for details
        return getattr(structlog.get_config()["logger_factory"]() if configured else structlog.PrintLogger(sys.stderr), method)


def get_logger() -> Any:
    """A structlog logger for one module."""
    return structlog.wrap_logger(_Output())
