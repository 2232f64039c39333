"""The fixture scenario of the collector suite: every story, told with the facts of each platform that the collector takes.

One process a platform plays all stories, one after the other; each begins with a policy of its own.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from ...generated.collector.models import Platform
from ...generated.collector.vocabulary import FIXTURE_VARIABLE, MAX_TEXT_BYTES
from .collector_session import Said
from .collector_shapes import PLATFORMS, SHAPES, Look, Seen, observation
from .collector_stage import Lab, Stage
from .collector_stories import STORIES, Pause, Raw, Resume, Rules, Story
from .findings import Check, Silent, judged, passed, skipped
from .running import ScenarioOf, Tell

HOOK = Check("fixture-hook", "collector v1, fixtures", "it takes made-up facts, so that what it makes of them can be checked")
NO_HOOK = f"no `fixture` diagnostic follows its first state when {FIXTURE_VARIABLE} is set"
#: Fields that another check looks at, or that may differ: the provider, the process, and of what is withheld the name and the idle time.
_LEFT_OUT = {("source", "provider"), ("app", "pid")}
_LEFT_OUT_WITHHELD = {*_LEFT_OUT, ("app", "name"), ("activity", "idleSeconds")}


async def _run(lab: Lab, tell: Tell) -> None:
    played = dict(zip(PLATFORMS, await asyncio.gather(*(_play(lab, platform) for platform in PLATFORMS)), strict=True))
    taken = [platform for platform in PLATFORMS if played[platform] is not None]
    shapes = ", ".join(SHAPES[platform] for platform in taken)
    tell(HOOK.name, passed(shapes) if taken else skipped(NO_HOOK))
    for story in STORIES:
        on = [platform for platform in taken if platform in story.platforms]
        if not taken:
            finding = skipped(NO_HOOK)
        elif not on:
            finding = skipped(f"a story of {', '.join(SHAPES[platform] for platform in story.platforms)} only")
        else:
            faults = [f"{SHAPES[one]}: {fault}" for one in on for fault in (played[one] or {}).get(story.check.name, [])]
            finding = judged(faults, ", ".join(SHAPES[one] for one in on))
        tell(story.check.name, finding)


async def _play(lab: Lab, platform: Platform) -> dict[str, list[str]] | None:
    """The faults of every story with the facts of one platform; None when the collector does not take them."""
    async with lab.stage(platform) as stage:
        try:
            if not await stage.takes_fixture():
                return None
        except Silent as silent:
            return {story.check.name: [str(silent)] for story in STORIES} if _took(stage) else None
        faults: dict[str, list[str]] = {}
        for story in STORIES:
            if platform in story.platforms:
                try:
                    faults[story.check.name] = await _told(stage, story, platform)
                except Silent as silent:
                    faults[story.check.name] = [str(silent)]
        return faults


def _took(stage: Stage) -> bool:
    return bool(stage.session.steps())


async def _told(stage: Stage, story: Story, platform: Platform) -> list[str]:
    session = stage.session
    if stage.policed:
        await stage.look(Look())  # nobody is in front, so that the policy brings nothing about by itself
    await stage.configure(story.rules.wire(platform))
    stage.policed = True
    since = session.place
    for action in story.actions:
        match action:
            case Look():
                await stage.look(action)
            case Rules():
                await stage.configure(action.wire(platform))
                await stage.look_again()
            case Pause():
                await stage.pause()
            case Resume():
                await stage.resume()
                await stage.look_again()
            case Raw(line):
                stage.note("raw")
                stage.write(line.encode() + b"\n")
    faults = compared(session.observations(since), story, platform)
    if story.states is not None:
        words = tuple(said.state for said in session.states(since))
        faults += [] if words == story.states else [f"the states were {', '.join(words) or 'none'} instead of {', '.join(story.states)}"]
    return faults


def compared(said: list[Said], story: Story, platform: Platform) -> list[str]:
    """Where the observations differ from those of the story, field by field."""
    seen, faults = [line.value or {} for line in said], []
    place = 0
    for expected in story.seen:
        wanted = observation(expected, platform)
        if place < len(seen) and not (differs := list(_differences(seen[place], wanted, expected))):
            place += 1
        elif expected.optional:
            continue
        elif place >= len(seen):
            faults.append(f"the observation of {wanted['app']['bundleId']} did not come ({len(seen)} came)")
        else:
            faults.append(f"observation {place + 1}: {'; '.join(differs)}")
            place += 1
    return faults + [f"an observation of {_app(value)} too much" for value in seen[place:]]


def _differences(value: Mapping[str, Any], wanted: Mapping[str, Any], expected: Seen) -> list[str]:
    left_out = _LEFT_OUT_WITHHELD if expected.secure or expected.protected else _LEFT_OUT
    found = []
    for parent, fields in wanted.items():
        inner = value.get(parent)
        given = inner if isinstance(inner, dict) else {}
        for name, right in fields.items():
            is_ = _within_bounds(given.get(name))
            if (parent, name) not in left_out and is_ != right and not _may_say(parent, name, is_, expected):
                found.append(f"{parent}.{name} is {is_!r:.60} instead of {right!r:.60}")
    return found


def _may_say(parent: str, name: str, said: object, expected: Seen) -> bool:
    """A window that is told without its element may say why, and a protected application may stand under either adapter word."""
    if (parent, name) == ("privacy", "reason"):
        return expected.element is None and not expected.reason and said == "focused-element-unqueryable"
    return (parent, name) == ("source", "adapter") and expected.protected and said == "protected"


def _within_bounds(text: object) -> object:
    """What is too long is another check's; here it is cut."""
    return text.encode()[:MAX_TEXT_BYTES].decode("utf-8", "ignore") if isinstance(text, str) else text


def _app(value: Mapping[str, Any]) -> str:
    app = value.get("app")
    return str(app.get("bundleId")) if isinstance(app, dict) else "?"


FIXTURES = ScenarioOf[Lab]((HOOK, *(story.check for story in STORIES)), _run)
