"""Writes the collector suite's fact streams to tests/vectors/collector, a file a story: `python -m triptych.tools.gen_collector_vectors`.

A file holds the story for each platform: what a collector is shown and told, line by line, and the observations that must follow. They are
stated by the protocol's text and not by our library; before anything is written, our own collector's core plays every story on every
platform, and a single disagreement ends the run. The same input gives the same bytes. `--check` writes nothing and says whether the files
are current.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from ..engine.conformance.collector_fixtures import compared
from ..engine.conformance.collector_session import Said
from ..engine.conformance.collector_shapes import SHAPES, Look, observation, step
from ..engine.conformance.collector_stories import STORIES, Pause, Raw, Resume, Rules, Story
from ..generated.collector.models import Observation, Platform
from ..generated.collector.vocabulary import PROVIDER_OF_PLATFORM
from ..machines.collector.commands import Configure, parse_command
from ..machines.collector.fixture import Scene, read_start, read_step
from ..machines.collector.tracking import Describe, Tracker

TARGET = Path(__file__).resolve().parents[1] / "tests" / "vectors" / "collector"
NOTE = "Written by triptych's tools/gen_collector_vectors.py; the form of a step is FixtureLine in schemas/collector/fixture.schema.json."
NOW_MS = 1_791_000_000_000

Document = dict[str, Any]


def document(story: Story) -> Document:
    """One file. A missing `platforms` member is a platform that has no such facts."""
    return {
        "note": NOTE,
        "check": story.check.name,
        "clause": story.check.clause,
        "rule": story.check.rule,
        "platforms": {platform: _on(story, platform) for platform in story.platforms},
    }


def _on(story: Story, platform: Platform) -> Document:
    observations = []
    for seen in story.seen:
        expected = observation(seen, platform)
        observations.append({**expected, "optional": True} if seen.optional else expected)
    lines: list[Document] = [_configure(story.rules, platform)]
    for action in story.actions:
        match action:
            case Look():
                lines.append({"fact": step(action, platform)})
            case Rules():
                lines.append(_configure(action, platform))
            case Pause():
                lines.append({"command": {"v": 1, "type": "pause"}})
            case Resume():
                lines.append({"command": {"v": 1, "type": "resume"}})
            case Raw(line):
                lines.append({"raw": line})
    start = {"type": "start", "fixture": 1, "platform": platform, "name": story.check.name}
    return {"shape": SHAPES[platform], "start": start, "lines": lines, "observations": observations}


def _configure(rules: Rules, platform: Platform) -> Document:
    return {"command": {"v": 1, "type": "configure", "revision": 1, "policy": rules.wire(platform)}}


def played(on: Mapping[str, Any], platform: Platform) -> list[Said]:
    """What our collector's core observes when it is shown and told the lines of one platform of a file."""
    read_start(_text(on["start"]))
    tracker = Tracker("vectors", PROVIDER_OF_PLATFORM[platform])  # type: ignore[arg-type]  # the table's values are its words
    scene, paused, asleep, trusted = Scene(), False, False, True
    said: list[Said] = []

    def look() -> None:
        if paused or asleep or not trusted:
            return
        found = tracker.identified(scene.application, 0.0, NOW_MS)
        if isinstance(found, Describe):
            found = tracker.described(found, scene.window, 0.0, NOW_MS)
        if isinstance(found, Observation):
            line = msgspec.json.encode(found)
            said.append(Said(len(said), 0.0, line, json.loads(line), found))

    for line in on["lines"]:
        if "fact" in line:
            scene = read_step(_text(line["fact"]), platform)
            asleep = scene.power == "sleep" or (asleep and scene.power != "wake")
            if scene.power or scene.trusted != trusted:
                tracker.forget()
            trusted = scene.trusted
        else:
            command = parse_command(_text(line["command"]) if "command" in line else line["raw"].encode())
            if command is None:
                continue
            if isinstance(command, Configure):
                tracker.configure(command.policy)
            else:
                paused = line["command"]["type"] == "pause"
                tracker.forget()
        look()
    return said


def written(made: Document) -> str:
    """The document as JSON, one line of a story a line."""
    text = json.dumps(made, ensure_ascii=False, separators=(",", ":"))
    for mark in ('{"fact":', '{"command":', '{"raw":', '{"app":', '"darwin":{"shape"', '"win32":{"shape"', '"linux":{"shape"'):
        text = text.replace(mark, "\n" + mark)
    return text + "\n"


def disagreements(story: Story, made: Mapping[str, Any]) -> list[str]:
    """Where our own collector's core says otherwise."""
    return [
        f"{story.check.name} on {platform}: {fault}"
        for platform in story.platforms
        for fault in compared(played(made["platforms"][platform], platform), story, platform)
    ]


def main(arguments: list[str]) -> int:
    texts = {story.check.name: written(document(story)) for story in STORIES}
    found = [fault for story in STORIES for fault in disagreements(story, json.loads(texts[story.check.name]))]
    if found:
        print("\n".join(found), file=sys.stderr)
        return 1
    files = {TARGET / f"{name}.json": text for name, text in texts.items()}
    if arguments == ["--check"]:
        stale = [path.name for path, text in files.items() if not path.exists() or path.read_text(encoding="utf-8") != text]
        stale += [path.name for path in TARGET.glob("*.json") if path not in files]
        print(f"not current: {', '.join(stale)}" if stale else "vectors are current", file=sys.stderr)
        return 1 if stale else 0
    TARGET.mkdir(parents=True, exist_ok=True)
    for path in TARGET.glob("*.json"):
        path.unlink()
    for path, text in files.items():
        path.write_text(text, encoding="utf-8")
    return 0


def _text(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
