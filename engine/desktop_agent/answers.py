"""Says a daemon's answers in few words, for a person or a language model: what changed, and pixels as numbers; the commands print it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

EFFECTS = {"none": "had no effect", "partial": "took effect in part", "unknown": "may have taken effect"}
MOST_REGIONS = 40
"""So many regions are told; what moves in more places than that is better looked at."""


def text(answer: dict[str, Any]) -> str:
    """The lines for one answer."""
    return "\n".join(_lines(answer))


def _lines(answer: dict[str, Any]) -> Iterator[str]:
    match answer["command"]:
        case "batch":
            for number, step in enumerate(answer["steps"], 1):
                first, *rest = _lines(step) if step["ok"] else [f"{step['command']}: {_failed(step)}"]
                yield f"{number}  {first}"
                yield from (f"   {line}" for line in rest)
        case "home":
            yield _state(answer)
            yield from map(_window, answer["windows"])
        case "health":
            yield _state(answer)
            yield f"{answer['input_applied']} inputs made, {answer['input_rejected']} refused, {answer['requests']} requests"
            idle = f"after {answer['idle_after_s']:g} s without a request" if answer["idle_after_s"] else "only when told to"
            yield f"up for {answer['uptime_s']:g} s; it ends {idle}"
        case "start":
            yield ("started  " if answer["started"] else "runs already  ") + _state(answer)
        case "stop":
            yield f"stopped  session {answer['session']}"
        case "windows":
            yield from map(_window, answer["windows"])
            if not answer["windows"]:
                yield "no window is shown"
        case "diff":
            yield from _diff(answer)
        case "wait":
            if (window := answer.get("window")) is not None:
                yield f"found after {answer['waited']['ms']} ms"
                yield _window(window)
            else:
                yield f"{_met(answer['waited'])}"
                yield from _diff(answer["diff"])
        case "shot":
            yield f"{answer['path']}  {answer['width']}x{answer['height']}  seq {answer['seq']}{_at(answer)}"
            yield from map(_region, answer.get("marked", ())[:MOST_REGIONS])
        case "clipboard" if "text" in answer:
            yield answer["text"]
        case "clipboard":
            yield f"wrote {answer['written']} bytes to the clipboard"
        case _:
            yield f"{_done(answer)}  seq {answer['seq']}"
            if (waited := answer.get("waited")) is not None:
                yield _met(waited)
                yield from _diff(answer["diff"])


def batch_outcome(answer: dict[str, Any]) -> str:
    """What a batch that stopped at a step has done, in one sentence."""
    failed, total = answer["failed"], len(answer["steps"]) + len(answer["not_run"])
    parts = [f"step {failed} of {total} failed and {EFFECTS[answer['steps'][-1]['effect']]}"]
    parts += [f"{_steps(1, failed - 1)} took effect"] if failed > 1 else []
    parts += [f"{_steps(failed + 1, total)} did not run"] if answer["not_run"] else []
    return "; ".join(parts)


def shown_box(box: list[int]) -> str:
    """A box as people and models read it best: where, and how large."""
    return f"{box[0]},{box[1]} {box[2]}x{box[3]}"


def _failed(step: dict[str, Any]) -> str:
    return f"error: {step['error']['message']} ({step['error']['code']}); it {EFFECTS[step['effect']]}"


def _steps(first: int, last: int) -> str:
    return f"step {first}" if first == last else f"steps {first} to {last}"


def _done(answer: dict[str, Any]) -> str:
    match answer["command"]:
        case "click":
            times = {1: "clicked", 2: "double-clicked", 3: "clicked three times"}[answer["count"]]
            return f"{times} {answer['button']} at {_place(answer['at'])}"
        case "move":
            return f"moved to {_place(answer['at'])}"
        case "drag":
            return f"dragged {_place(answer['from'])} to {_place(answer['to'])}"
        case "scroll":
            return f"scrolled {answer['direction']} {answer['amount']}"
        case "type":
            count = answer["characters"]
            return f"typed {count} character{'s' * (count != 1)}" + (" and Enter" if answer["submitted"] else "")
        case "press":
            return "pressed " + " ".join(answer["keys"])
        case other:
            return str(other)


def _met(waited: dict[str, Any]) -> str:
    what, met, ms = waited["for"], waited["met"], waited["ms"]
    if isinstance(what, int):
        return f"waited {ms} ms"
    if met:
        return f"{'settled' if what == 'settle' else 'changed'} after {ms} ms"
    return f"{'not settled' if what == 'settle' else 'no change'} within {ms} ms; the input was made all the same"


def _diff(diff: dict[str, Any]) -> Iterator[str]:
    regions, windows = diff["regions"], diff["windows"]
    still = f"still for {diff['still_ms'] / 1000:.1f} s"
    if not regions:
        yield f"nothing has changed since seq {diff['since']}; {still}"
    else:
        yield f"{len(regions)} region{'s' * (len(regions) > 1)} changed since seq {diff['since']}; seq {diff['seq']}, {still}"
    yield from map(_region, regions[:MOST_REGIONS])
    if len(regions) > MOST_REGIONS:
        yield f"and {len(regions) - MOST_REGIONS} more regions: --json has them all"
    yield from (f"opened {_window(window)}" for window in windows["opened"])
    yield from (f"closed {_quoted(window['title'])}" for window in windows["closed"])
    yield from (f"renamed {one['ref']} {_quoted(one['from'])} to {_quoted(one['to'])}" for one in windows["renamed"])


def _region(region: dict[str, Any]) -> str:
    return f"{region['ref']}  {shown_box(region['box'])}" + ("  animating" if region["animating"] else "")


def _window(window: dict[str, Any]) -> str:
    parts = [window["ref"], _quoted(window["title"])]
    parts += [part for part in (window["class"], f"pid {window['pid']}" if window["pid"] else None) if part]
    parts += [shown_box(window["box"])]
    parts += ["active"] * window["active"] + ["minimised"] * (not window["visible"])
    return "  ".join(parts)


def _state(answer: dict[str, Any]) -> str:
    size = "x".join(map(str, answer["size"]))
    seen = "" if answer["capture"] == "running" else f", capture {answer['capture']}: {answer['reason']}"
    looks = "" if answer["control"] else ", view only"
    return f"session {answer['session']} on {answer['display']}  {size}  seq {answer['seq']}  process {answer['pid']}{looks}{seen}"


def _at(answer: dict[str, Any]) -> str:
    return f"  at {answer['region'][0]},{answer['region'][1]}" if "region" in answer else ""


def _place(at: list[int]) -> str:
    return f"{at[0]},{at[1]}"


def _quoted(title: str | None) -> str:
    return f'"{title}"' if title is not None else "(no title)"
