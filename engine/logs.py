"""Where log lines go: stderr, always, so that stdout carries only a protocol or an answer. Commands that log call `to_stderr` first."""

from __future__ import annotations

import logging
import sys
from typing import TextIO, cast

import structlog

from ..adapters.log import Stderr


def to_stderr(level: str = "warning") -> None:
    """Send every structlog line at `level` (debug, info, warning, error) and above to stderr: coloured for a person, JSON for a pipe."""
    person = sys.stderr.isatty()
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso"),
            *([structlog.dev.ConsoleRenderer()] if person else [structlog.processors.format_exc_info, structlog.processors.JSONRenderer()]),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.getLevelNamesMapping()[level.upper()]),
        logger_factory=structlog.PrintLoggerFactory(cast(TextIO, Stderr())),
        cache_logger_on_first_use=False,
    )
