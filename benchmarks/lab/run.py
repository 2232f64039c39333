"""The lab: how old a picture of the desktop is when a browser shows it, what that costs, and how `wrtc` does with the same pictures.

    python benchmarks/lab/run.py [--scenario NAME]… [--turns 5] [--seconds 8] [--no-peer] [--keep]

A window on a private display tells the time in its pixels, and a page of headless Chromium reads it where a picture is decoded and where it
is shown. Ours and the peer send to the same page in alternating turns of one run; ratios are medians of the turns' own, above 1 where ours
is better. It prints one JSON line a scenario; `--keep` adds it to results/NAME.jsonl. Needs Linux, root (for a network of its own), Xvfb
and Chromium.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from turn import Scenario, median, turn

from triptych.adapters.display import PrivateDisplay
from triptych.errors import Unavailable

HERE = Path(__file__).parent

SCENARIOS = {
    each.name: each
    for each in (
        Scenario("720p30", 1280, 720, "desk", 30),
        Scenario("720p60", 1280, 720, "desk", 60, work_hertz=60),
        Scenario("1080p30_desk", 1920, 1080, "desk", 30, paint=False),
        Scenario("1080p_motion", 1920, 1080, "scroll", 30),
        Scenario("720p30_2500kbps", 1280, 720, "desk", 30, link_kbps=2500),
        Scenario("720p_typing", 1280, 720, "typing", 30),
        Scenario("720p_still", 1280, 720, "still", 30, has_peer=False),
    )
}
LINK_DELAY = 0.010
TURN_SECONDS = 90.0
LEAST_SAMPLES = 10

Turn = dict[str, Any]
Reader = Callable[[Turn], "float | None"]

#: What is compared, and where a turn has it; of all of them less is better but of `fps`.
COMPARED: dict[str, Reader] = {
    "decoded_p50": lambda turn: _g2g(turn, "decoded", "p50"),
    "decoded_p95": lambda turn: _g2g(turn, "decoded", "p95"),
    "shown_p50": lambda turn: _g2g(turn, "shown", "p50"),
    "shown_p95": lambda turn: _g2g(turn, "shown", "p95"),
    "called_p50": lambda turn: _g2g(turn, "called", "p50"),
    "called_p95": lambda turn: _g2g(turn, "called", "p95"),
    "cpu_engine": lambda turn: turn["cpu_percent"]["engine"],
    "cpu_browser": lambda turn: turn["cpu_percent"]["browser"],
    "fps": lambda turn: turn["decoded"] and turn["decoded"]["fps"],
}


def _g2g(turn: Turn, where: str, what: str) -> float | None:
    return turn[where] and turn[where]["g2g_ms"][what]


def ratio(name: str, ours: float | None, peer: float | None) -> float | None:
    """How many times better ours is; None where either has no figure."""
    if not ours or not peer:
        return None
    return ours / peer if name == "fps" else peer / ours


def summary(turns: Sequence[Turn]) -> dict[str, Any]:
    """The median of each figure of one side's turns; texts are those of the last."""
    if not turns:
        return {}
    return {name: _median([turn[name] for turn in turns]) for name in turns[-1] if name not in ("side", "load")}


def _median(values: Sequence[Any]) -> Any:
    known = [value for value in values if value is not None]
    if known and isinstance(known[-1], dict):
        return {name: _median([value.get(name) for value in known]) for name in known[-1]}
    if known and isinstance(known[-1], (int, float)):
        return median(known)
    return known[-1] if known else None


def doubts(scenario: Scenario, turns: Sequence[Turn]) -> list[str]:
    """Why the figures may say little; nothing on a quiet machine on which both sides send what was asked."""
    found = []
    if (load := statistics.median(made["load"] for made in turns)) > (cores := os.cpu_count() or 1) / 4:
        found.append(f"the machine's load was {load:g} on {cores} cores")
    for side in ("ours", "peer") if scenario.mode != "still" else ():
        mine = [made for made in turns if made["side"] == side]
        kept = [made["decoded"]["g2g_ms"] if made["decoded"] else {"n": 0, "discarded": 0} for made in mine]
        if any(each["n"] < LEAST_SAMPLES or each["discarded"] >= each["n"] for each in kept):
            found.append(f"{side}: a turn had fewer than {LEAST_SAMPLES} samples, or half of them were discarded")
        if any((made["receiver"]["width"] or 0) < scenario.width for made in mine):
            found.append(f"{side}: the picture was sent smaller than the screen")
    return found


def lab_of(scenario: Scenario) -> Any:
    """A network of its own with a browser in it, which the tests use too; over a path of ours where the scenario limits it."""
    sys.path.insert(0, str(HERE.parents[1] / "tests"))
    import pytest

    from relay_kit import BadPath
    from webrtc_kit import Lab

    try:
        if not scenario.link_kbps:
            return Lab()
        made = BadPath()
    except pytest.skip.Exception as lacking:
        raise Unavailable(str(lacking), "run the lab as root, on Linux with /dev/net/tun and Chromium") from None
    made.relay.set(kbps=0, delay=LINK_DELAY)
    made.relay.set(way=0, kbps=scenario.link_kbps)
    return made


def measure(scenario: Scenario, turns: int, seconds: float, *, peer: bool) -> dict[str, Any]:
    """Run one scenario. Raises Unavailable when the machine lacks something."""
    lab = lab_of(scenario)
    done: list[Turn] = []
    sides = ["ours", "peer"] if peer and scenario.has_peer else ["ours"]
    try:
        with PrivateDisplay(scenario.width, scenario.height, dbus=False) as display:
            os.environ["XAUTHORITY"] = display.env["XAUTHORITY"]
            for number in range(turns):
                for side in sides if number % 2 == 0 else reversed(sides):
                    made = lab.run(turn(lab.browser, display, scenario, side, seconds), TURN_SECONDS + seconds)
                    done.append({"side": side, "load": round(os.getloadavg()[0], 2), **made})
                    print(f"{scenario.name} {number + 1}/{turns} {side}: {_line(done[-1])}", file=sys.stderr, flush=True)
    finally:
        lab.close()
    ours, theirs = ([made for made in done if made["side"] == side] for side in ("ours", "peer"))
    pairs = list(zip(ours, theirs, strict=True)) if theirs else []
    ratios = {name: median([ratio(name, read(one), read(other)) for one, other in pairs]) for name, read in COMPARED.items()}
    return {
        "scenario": scenario.name,
        "at": time.strftime("%Y-%m-%d", time.gmtime()),
        "turns": turns,
        "seconds": seconds,
        "cores": os.cpu_count(),
        "load": {"median": statistics.median(made["load"] for made in done), "max": max(made["load"] for made in done)},
        "doubts": doubts(scenario, done),
        "ours": summary(ours),
        **({"peer": summary(theirs), "ratio": ratios} if theirs else {}),
        "p50_of_turns": {side: [_g2g(made, "decoded", "p50") for made in of] for side, of in (("ours", ours), ("peer", theirs)) if of},
    }


def _line(made: Turn) -> str:
    return ", ".join(f"{name} {read(made)}" for name, read in COMPARED.items()) + f", load {made['load']}"


def main() -> None:
    parser = argparse.ArgumentParser(description="Glass to glass, ours beside wrtc.")
    parser.add_argument("--scenario", action="append", choices=sorted(SCENARIOS), help="which, may be given again; all of them if absent")
    parser.add_argument("--turns", type=int, default=5, help="turns of each side (5)")
    parser.add_argument("--seconds", type=float, default=8.0, help="seconds that are measured in each turn (8)")
    parser.add_argument("--no-peer", action="store_true", help="ours alone")
    parser.add_argument("--keep", action="store_true", help="add the line to benchmarks/lab/results")
    options = parser.parse_args()
    for name in options.scenario or SCENARIOS:
        try:
            line = json.dumps(measure(SCENARIOS[name], options.turns, options.seconds, peer=not options.no_peer))
        except Unavailable as lacking:
            sys.exit(f"{name}: {lacking}")
        print(line, flush=True)
        if options.keep:
            (HERE / "results").mkdir(exist_ok=True)
            with (HERE / "results" / f"{name}.jsonl").open("a") as kept:
                kept.write(line + "\n")


if __name__ == "__main__":
    main()
