"""How a collector introduces itself, and how one that cannot even begin says so; it needs no package that may be missing.

`collect` says hello with it, and the command says with it that a package is missing or that its options cannot be used.
"""

from __future__ import annotations

import os
import platform
import secrets
import sys

import msgspec

from ... import __version__
from ...errors import LocalProtocolError, TriptychError, Unavailable
from ...generated.collector.models import Arch, Capability, Hello, Platform
from ...machines.collector.collector import Collector, EmitFatal, EmitHello
from ...machines.collector.outgoing import hello, message

CAPABILITIES: tuple[Capability, ...] = ("app-focus", "window-metadata", "secure-field-detection")  # no resource-uri: AT-SPI names no file
CANNOT_RUN = "cannot-run-here"

_ARCH: dict[str, Arch] = {"x86_64": "x64", "amd64": "x64", "aarch64": "arm64", "arm64": "arm64", "i386": "x86", "i686": "x86"}


def architecture(machine: str) -> Arch:
    """The protocol's word for a processor. Raises Unavailable for one that it has no word for."""
    try:
        return _ARCH[machine.lower()]
    except KeyError:
        raise Unavailable(f"the collector protocol has no word for the processor {machine}") from None


def new_session() -> str:
    """A name for this run that no other run has."""
    return f"linux-{os.getpid()}-{secrets.token_hex(4)}"


def introduction(session: str, system: Platform = "linux") -> Hello:
    """The `hello` line. Raises Unavailable on a processor that the protocol has no word for."""
    return hello(session, __version__, system, architecture(platform.machine()), CAPABILITIES)


def fatal(error: TriptychError) -> dict[str, str]:
    """The code and the sentence of the `fatal` line for what a restart does not cure."""
    return {"code": error.code if isinstance(error, LocalProtocolError) else CANNOT_RUN, "message": str(error)}


def refuse(error: TriptychError) -> None:
    """Say on standard output that a restart will not cure this: `hello`, then `fatal`, whose code is the error's. Raises as `introduction`.

    A host that reads it does not start the collector again. Where nobody reads any more, nothing is said.
    """
    for effect in Collector().step("fail", 0.0, **fatal(error)):
        match effect:
            case EmitHello():
                _write(msgspec.json.encode(introduction(new_session())))
            case EmitFatal():
                _write(msgspec.json.encode(message(effect)))


def _write(line: bytes) -> None:
    try:
        sys.stdout.buffer.write(line + b"\n")
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        return
