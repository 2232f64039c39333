"""Turns the recorded facts of a platform into what a collector's core asks for: one mapping each for macOS, Windows and Linux.

The fixture source calls it with every line. What a mapping says is what a live source of that platform would say of the same facts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from msgspec import UNSET, UnsetType

from ...errors import RemoteProtocolError
from ...generated.collector.models import AtSpiStep, AxFocus, AxStep, FixtureLine, FixtureStart, Platform, UiaStep
from ..wire.read import Reader
from ..wire.text import COLLECTOR_COMMAND
from .focus import ElementState, FocusEvidence, element_state
from .tracking import Application, Description

FIXTURE_LINES: Reader[FixtureLine] = Reader("collector", "FixtureLine", COLLECTOR_COMMAND)

#: AXError: the attribute is not supported, or has no value; and an element that cannot be asked at all.
AX_UNSUPPORTED, AX_NO_VALUE, AX_ILLEGAL_ARGUMENT = -25205, -25212, -25202
UIA_E_NOTSUPPORTED = 0x80040204
SECURE_SUBROLE = "AXSecureTextField"

Step: TypeAlias = AxStep | UiaStep | AtSpiStep
STEP_OF: dict[Platform, type[Step]] = {"darwin": AxStep, "win32": UiaStep, "linux": AtSpiStep}


NO_WINDOW = Description(ElementState.UNREADABLE)


@dataclass(frozen=True, slots=True)
class Scene:
    """What a platform says at one moment. `application` is None when nobody, or nobody known, is in front."""

    application: Application | None = None
    window: Description = NO_WINDOW
    trusted: bool = True
    reason: str = ""
    power: Literal["sleep", "wake", ""] = ""


def read_start(line: bytes) -> FixtureStart:
    """The first line. Raises RemoteProtocolError, code `start-required` for another one."""
    first = FIXTURE_LINES.read(line)
    if not isinstance(first, FixtureStart):
        raise RemoteProtocolError("start-required", "the first line of a fixture says whose facts follow")
    return first


def read_step(line: bytes, platform: Platform) -> Scene:
    """A line after the first. Raises RemoteProtocolError, code `platform-mismatch` for a step of another platform than the start's."""
    step = FIXTURE_LINES.read(line)
    if isinstance(step, FixtureStart) or not isinstance(step, STEP_OF[platform]):
        raise RemoteProtocolError("platform-mismatch", f"no step of a fixture of {platform}", "type")
    return scene(step)


def scene(step: Step) -> Scene:
    """What a collector is told of one step."""
    match step:
        case AxStep():
            application, window = _ax(step)
        case UiaStep():
            application, window = _uia(step)
        case AtSpiStep():
            application, window = _at_spi(step)
    said = step.availability
    return Scene(
        application,
        window,
        trusted=True if said is UNSET else said.trusted,
        reason="" if said is UNSET else said.reason or "",
        power=step.power or "",
    )


def _ax(step: AxStep) -> tuple[Application | None, Description]:
    seen, window, focus = step.application, step.window, step.focus
    return (
        None if seen is UNSET else Application(seen.pid, (seen.bundle_identifier,)),
        Description(
            ElementState.UNREADABLE if focus is UNSET else _ax_element(focus),
            app_name=None if seen is UNSET else seen.localized_name or None,
            title=None if window is UNSET else window.title or None,
            document=None if window is UNSET else window.document or None,
            role=None if focus is UNSET else focus.role or None,
            idle_seconds=_given(step.idle_seconds),
        ),
    )


def _ax_element(focus: AxFocus) -> ElementState:
    """A program that tells no focused element (Chromium) is not secure; a subrole that is not there, beside a role that is, is none."""
    if focus.error:
        if focus.error in (AX_UNSUPPORTED, AX_NO_VALUE):
            return ElementState.NOT_SECURE
        return ElementState.UNQUERYABLE if focus.error == AX_ILLEGAL_ARGUMENT else ElementState.UNREADABLE
    if focus.subrole == SECURE_SUBROLE:
        return ElementState.SECURE
    if not focus.role or (focus.subrole_error or 0) not in (0, AX_UNSUPPORTED, AX_NO_VALUE):
        return ElementState.UNREADABLE
    return ElementState.NOT_SECURE


def _uia(step: UiaStep) -> tuple[Application | None, Description]:
    seen, window, focus = step.application, step.window, step.focus
    candidates = () if seen is UNSET else tuple(name for name in (seen.app_user_model_id or "", seen.image) if name)
    element, role = ElementState.UNREADABLE, None
    if focus is not UNSET and focus.error:
        element = ElementState.UNQUERYABLE if focus.error == UIA_E_NOTSUPPORTED else ElementState.UNREADABLE
    elif focus is not UNSET:
        element = ElementState.SECURE if focus.is_password else ElementState.NOT_SECURE
        role = None if focus.control_type is UNSET else f"ControlType.{focus.control_type}"
    return (
        None if seen is UNSET else Application(seen.pid, candidates),
        Description(
            element,
            app_name=None if seen is UNSET else seen.image[:-4] if seen.image[-4:].casefold() == ".exe" else seen.image,
            title=None if window is UNSET else window.title or None,
            role=role,
            idle_seconds=_given(step.idle_seconds),
        ),
    )


def _at_spi(step: AtSpiStep) -> tuple[Application | None, Description]:
    seen, window, focus = step.application, step.window, step.focus
    candidates = () if seen is UNSET else tuple(name for name in (seen.desktop_file or "", seen.program) if name)
    focused = () if focus is UNSET else focus.focused or ()
    evidence = FocusEvidence(
        answered=focus is not UNSET and focus.answered,
        on_bus=focus is not UNSET and focus.on_bus,
        window=window is not UNSET,
        roles=tuple(node.role for node in focused),
    )
    return (
        None if seen is UNSET else Application(seen.pid, candidates),
        Description(
            element_state(evidence),
            app_name=None if window is UNSET else window.application_name or None,
            title=None if window is UNSET else window.title or None,
            role=focused[-1].role_name if focused else None,
            idle_seconds=_given(step.idle_seconds),
        ),
    )


def _given(seconds: float | UnsetType) -> float | None:
    return None if seconds is UNSET else seconds
