"""Says what goes over the wire, as the generated structs: a collector's messages and a host's commands; the adapters only encode them.

The order of keys is that of msgspec: `type`, which tells the members of a union apart, before `v`. JSON gives key order no meaning, and no
reader of this protocol may either.
"""

from __future__ import annotations

from typing import TypeAlias

import msgspec
from msgspec import UNSET

from ...errors import LocalProtocolError
from ...generated.collector.models import (
    Arch,
    Capability,
    CollectorMessage,
    CollectorState,
    Configure,
    Configured,
    Diagnostic,
    Fatal,
    Hello,
    HostCommand,
    Pause,
    Platform,
    ProtocolVersion,
    Resume,
    Shutdown,
    WirePolicy,
)
from ...generated.collector.vocabulary import MAX_PROTOCOL_LINE_BYTES
from .adapter_table import AdapterTable
from .collector import EmitConfigured, EmitDiagnostic, EmitFatal, EmitState
from .controls import SendConfigure, SendPause, SendResume
from .effects import SendShutdown
from .policy import CollectorPolicy, Policy

V: ProtocolVersion = 1
POLICY_TOO_LARGE = "policy-too-large"  # refusal code

Emitted: TypeAlias = EmitState | EmitConfigured | EmitDiagnostic | EmitFatal
Sent: TypeAlias = SendConfigure | SendPause | SendResume | SendShutdown


def hello(session: str, version: str, platform: Platform, arch: Arch, capabilities: tuple[Capability, ...]) -> Hello:
    """A collector's introduction."""
    return Hello(v=V, collector_session=session, collector_version=version, platform=platform, arch=arch, capabilities=capabilities)


def message(effect: Emitted) -> CollectorMessage:
    """The line that an effect of the collector lifecycle asks for."""
    match effect:
        case EmitState(state, trusted, reason):
            return CollectorState(v=V, state=state, accessibility_trusted=trusted, reason=reason or UNSET)
        case EmitConfigured(revision):
            return Configured(v=V, revision=revision)
        case EmitDiagnostic(code, text):
            return Diagnostic(v=V, level="warn", code=code, message=text)
        case EmitFatal(code, text):
            return Fatal(v=V, code=code, message=text)


def command(effect: Sent, policy: CollectorPolicy) -> HostCommand:
    """The line that an effect of the manager lifecycle asks for; `policy` is that of the revision to be sent."""
    match effect:
        case SendConfigure(revision):
            return Configure(v=V, revision=revision, policy=_wire(policy))
        case SendPause():
            return Pause(v=V)
        case SendResume():
            return Resume(v=V)
        case SendShutdown(reason):
            return Shutdown(v=V, reason=reason)


def line(effect: Sent, policy: CollectorPolicy) -> bytes:
    """The bytes of it, with its newline."""
    return msgspec.json.encode(command(effect, policy)) + b"\n"


def check_fits(policy: Policy, table: AdapterTable) -> None:
    """Refuse a policy that no line has room for. Raises LocalProtocolError (code `policy-too-large`)."""
    size = len(line(SendConfigure(policy.revision), policy.for_collector(table)))
    if size > MAX_PROTOCOL_LINE_BYTES:
        raise LocalProtocolError(POLICY_TOO_LARGE, f"its configure would be {size} bytes, and a line has {MAX_PROTOCOL_LINE_BYTES}")


def _wire(policy: CollectorPolicy) -> WirePolicy:
    return WirePolicy(
        mode="include-only",
        allowed_bundle_ids=policy.allowed,
        blocked_bundle_ids=policy.blocked,
        protected_bundle_ids=policy.protected,
        protected_path_patterns=policy.path_patterns,
    )
