"""The program without a driver, and at its end: the dormant rule and a clean exit."""

from __future__ import annotations

import asyncio
import signal
from dataclasses import dataclass
from typing import Final

from .findings import Check, Finding, failed, judged, passed, skipped
from .scenario import Scenario, Tell
from .stage import DRAWING, Lab, Stage

_CLAUSE: Final = "termwright/3, environment"
SILENT = Check("dormant-silent", _CLAUSE, "without both variables no marker is printed and nobody connects")
PARTIAL = Check("dormant-partial", _CLAUSE, "one variable alone is as none: no marker, no connection")
SAME = Check("dormant-same", _CLAUSE, "dormant output is the same with one variable as with none")
EXIT = Check("exit-clean", "termwright/3, transport", "the program ends as it does without an adapter, and leaves no process")

#: Rounds of dormant runs until their output agrees.
ROUNDS = 4


@dataclass(frozen=True)
class _Shown:
    """What a dormant program printed until it was quiet, and how it ended."""

    output: bytes
    text: str
    links: int
    marks: int


async def _shown(lab: Lab, *, endpoint: bool, token: bool) -> _Shown:
    async with lab.stage(endpoint=endpoint, token=token) as stage:
        await stage.drawn()
        session = stage.session
        return _Shown(bytes(stage.bench.output), stage.bench.text(), len(session.links), len(session.marks))


async def _dormant(lab: Lab, tell: Tell) -> None:
    """A few rounds, since what a program prints may depend on how fast its terminal answers: bytes that agree once are the same bytes."""
    plain: list[_Shown] = []
    partial: dict[str, list[_Shown]] = {"the endpoint": [], "the token": []}
    for _ in range(ROUNDS):
        shown = await asyncio.gather(
            _shown(lab, endpoint=False, token=False), _shown(lab, endpoint=True, token=False), _shown(lab, endpoint=False, token=True)
        )
        plain.append(shown[0])
        for seen, one in zip(partial.values(), shown[1:], strict=True):
            seen.append(one)
        same = _compared(plain, list(partial.values()))
        if same.result == "pass":
            break
    tell(SILENT.name, judged([fault for one in plain for fault in _noise(one)]))
    tell(PARTIAL.name, judged([f"with {name} alone: {fault}" for name, seen in partial.items() for one in seen for fault in _noise(one)]))
    tell(SAME.name, same)


def _noise(shown: _Shown) -> list[str]:
    faults = [f"{shown.links} connections were opened"] if shown.links else []
    if shown.marks or b"8487;" in shown.output:
        faults.append("an OSC 8487 was printed")
    return faults


def _compared(plain: list[_Shown], partial: list[list[_Shown]]) -> Finding:
    """The bytes, else, for a program that does not always print the same ones, the last screen."""
    outputs, texts = {one.output for one in plain}, {one.text for one in plain}
    if all(any(one.output in outputs for one in seen) for seen in partial):
        return passed(f"{len(plain[0].output)} bytes")
    if len(outputs) == 1:
        return failed("other bytes are printed")
    if all(any(one.text in texts for one in seen) for seen in partial):
        return passed("the same screen")
    return failed("another screen is shown") if len(texts) == 1 else skipped("runs without any variable already show different screens")


async def _exit(lab: Lab, tell: Tell) -> None:
    wanted = None if lab.fixture.quit is None else lab.fixture.quit.status
    async with lab.stage(endpoint=False, token=False) as stage:
        await stage.drawn()
        plain, fault = await _end(stage)
    if fault:
        tell(EXIT.name, skipped(f"without an adapter: {fault}"))
        return
    async with lab.stage() as stage:
        await stage.attach()
        status, fault = await _end(stage)
        left = stage.bench.survivors() if not fault else []
    if fault:
        tell(EXIT.name, failed(fault))
    elif status != plain or (wanted is not None and status != wanted):
        expected = plain if wanted is None or status != plain else wanted
        tell(EXIT.name, failed(f"status {status} instead of {expected}"))
    else:
        tell(EXIT.name, judged([f"process {pid} is left" for pid in left], f"status {status}"))


async def _end(stage: Stage) -> tuple[int | None, str]:
    """Quit as the fixture says, else by SIGTERM: the status, and what went wrong."""
    bench, leave = stage.bench, stage.lab.fixture.quit
    if leave is not None:
        stage.press(leave.keys)
    else:
        bench.signal(signal.SIGTERM)
    if not await stage.until(lambda: bench.exit_status is not None, 2 * DRAWING):
        return None, f"{' '.join(leave.keys) if leave else 'SIGTERM'} does not end the program"
    return bench.exit_status, ""


DORMANT = Scenario((SILENT, PARTIAL, SAME), _dormant)
LEAVING = Scenario((EXIT,), _exit)
