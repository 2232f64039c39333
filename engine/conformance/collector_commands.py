"""The protocol scenarios of the collector suite: handshake, commands and how they are cut, what is ignored, pause, and the end.

They run before the collector's real desktop, and need none.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final, TypeAlias

from ...generated.collector.models import Configured, Hello
from .collector_rules import RULES
from .collector_shapes import EDITOR, Look
from .collector_stage import Lab, Stage
from .collector_stories import Rules
from .findings import Check, Finding, Silent, failed, judged, passed
from .running import ScenarioOf, Tell

Scenario: TypeAlias = ScenarioOf[Lab]
Play: TypeAlias = Callable[[Stage], Awaitable[Finding]]

SHARED: Final = "shared-parser contract"
#: A line of junk that is longer than any line of the protocol.
JUNK_BYTES = 200_000
BIG_REVISION = 2**53 - 1
PACE = 0.05  # seconds between the pieces of one command


def _check(name: str, clause: str, rule: str) -> Check:
    return Check(name, f"collector v1, {clause}", rule)


FIRST = _check("hello-first", "handshake", "the first line is a valid hello")
IN_TIME = _check("hello-in-time", "handshake", "hello comes within 5 s of the start")
STATE = _check("state-first", "handshake", "a state follows within 5 s, before anything is asked")
CONFIGURED = _check("configured", "configure", "a configure is acknowledged with its revision within 5 s")
ANEW = _check("configured-anew", "configure", "every later configure is acknowledged with its own revision, up to 2^53-1")
SHUTDOWN = _check("exit-shutdown", "end", "shutdown ends it with status 0 within 1.5 s")


async def _undisturbed(lab: Lab, tell: Tell) -> None:
    async with lab.stage() as stage:
        session = stage.session
        try:
            await stage.hello()
        finally:
            first = session.said[0] if session.said else None
            greeted = next((line.at for line in session.said if isinstance(line.message, Hello)), None)
            tell(FIRST.name, _first(first.fault or _word(first.value) if first else "nothing was said"))
            late = None if greeted is None else greeted - session.started
            tell(IN_TIME.name, failed("no hello came") if late is None else _within(late, lab.timing.hello))
        await _told(tell, STATE, stage.introduced(), lambda: session.states()[0].state)
        await _told(tell, CONFIGURED, stage.configure(stage.everything()))
        await _told(tell, ANEW, _configured_anew(stage))
        tell(SHUTDOWN.name, await _left(stage, "shutdown"))


async def _told(tell: Tell, check: Check, part: Awaitable[None], detail: Callable[[], str] = str) -> None:
    """Tell the check by whether its part fell silent; the next part is tried all the same."""
    try:
        await part
    except Silent as silent:
        tell(check.name, failed(str(silent)))
    else:
        tell(check.name, passed(detail()))


async def _configured_anew(stage: Stage) -> None:
    for revision in (2, 7, BIG_REVISION):
        await stage.configure(stage.everything(), revision)


def _word(value: object) -> str:
    return str(value.get("type", "")) if isinstance(value, dict) else ""


def _first(word: str) -> Finding:
    return passed() if word == "hello" else failed(f"first came: {word[:60]}")


def _within(seconds: float, allowed: float) -> Finding:
    return passed(f"{seconds:.2f} s") if seconds <= allowed else failed(f"it took {seconds:.2f} s")


async def _left(stage: Stage, by: str) -> Finding:
    seconds = await stage.leave(by=by)
    if seconds is None:
        return failed(f"it still runs after {2 * stage.lab.timing.exit:g} s")
    if stage.bench.status:
        return failed(f"it ended with status {stage.bench.status}")
    return _within(seconds, stage.lab.timing.exit)


def _alone(name: str, clause: str, rule: str, play: Play) -> Scenario:
    """One check with a process of its own, for what one fault must not hide from another."""
    check = _check(name, clause, rule)

    async def run(lab: Lab, tell: Tell) -> None:
        async with lab.stage() as stage:
            await stage.started()
            tell(check.name, await play(stage))

    return ScenarioOf((check,), run)


async def _twice(stage: Stage) -> Finding:
    await stage.configure(revision=5)
    await stage.configure(revision=5)
    return passed()


async def _while_paused(stage: Stage) -> Finding:
    await stage.configure()
    await stage.pause()
    place, revision = stage.send_configure()
    await stage.acknowledged(place, revision)
    await stage.configure()
    words = [said.state for said in stage.session.states(place)]
    return judged([f"it said {word} though nobody resumed" for word in words if word != "paused"])


async def _paused(stage: Stage) -> Finding:
    await stage.pause()
    return passed()


async def _resumed(stage: Stage) -> Finding:
    await stage.configure()
    await stage.pause()
    await stage.resume()
    await stage.pause()
    await stage.resume()
    return passed(stage.session.states()[-1].state)


async def _repeated(stage: Stage) -> Finding:
    """A host waits for the answer, whether anything changes or not."""
    await stage.configure()
    await stage.pause()
    await stage.pause()
    await stage.resume()
    await stage.resume()
    return passed()


async def _silence(lab: Lab, tell: Tell) -> None:
    """With a fixture, something happens while it is paused; without one, what is in front stays there."""
    async with lab.stage(lab.platform or "linux") as trial:
        platform = trial.session.hello.platform if await _takes(trial) and trial.session.hello else None
    async with lab.stage(platform) as stage:
        await stage.started(Rules().wire(platform) if platform else None)
        if platform:
            await stage.look(Look(EDITOR, "Release plan"))
        await stage.configure(Rules().wire(platform) if platform else stage.everything())
        if platform:
            await stage.look_again()
        await stage.pause()
        since = stage.session.place
        if platform:
            stage.show(Look(EDITOR, "Budget"))
        await stage.until(lambda: bool(_spoken(stage, since)), 2 * lab.timing.tick)
        tell(SILENT.name, judged(_spoken(stage, since), "with a fixture" if platform else "before the real desktop"))


async def _takes(stage: Stage) -> bool:
    try:
        return await stage.takes_fixture()
    except Silent:
        return False


def _spoken(stage: Stage, since: int) -> list[str]:
    return ["an observation came while it was paused" for _ in stage.session.observations(since)] + [
        f"it said {said.state} while it was paused" for said in stage.session.states(since)
    ]


SILENT = _check("paused-silent", "pause", "for two heartbeats of a pause no observation and no state comes")


async def _nothing_allowed(stage: Stage) -> Finding:
    """Two heartbeats under a policy that lets nothing in, then two under one that lets in all that is known, for the rules to look at."""
    since = stage.session.sent[0].place
    await stage.until(lambda: bool(stage.session.observations(since)), 2 * stage.lab.timing.tick)
    seen = ["an observation came though no application is allowed" for _ in stage.session.observations(since)]
    await stage.configure(stage.everything())
    await stage.until(lambda: False, 2 * stage.lab.timing.tick)
    return judged(seen)


async def _split(stage: Stage) -> Finding:
    line = stage.configure_line(71) + b"\n"
    place = stage.note("configure", 71)
    for start in range(0, len(line), 40):
        stage.write(line[start : start + 40])
        await stage.until(lambda: False, PACE if start < 120 else 0.001)
    await stage.acknowledged(place, 71)
    return passed()


async def _joined(stage: Stage) -> Finding:
    place = stage.note("configure", 81)
    stage.note("configure", 82)
    parts = [stage.configure_line(81), stage.configure_line(82), b'{"v":1,"type":"pause"}', b'{"v":1,"type":"resume"}']
    stage.write(b"\n".join(parts) + b"\n")
    await stage.acknowledged(place, 81)
    await stage.acknowledged(place, 82)
    await stage.stated(place, "paused")
    await stage.require(lambda: len(stage.session.states(place)) > 1, stage.lab.timing.ack, "answer to the resume")
    return passed()


async def _crlf(stage: Stage) -> Finding:
    place = stage.note("configure", 91)
    stage.write(stage.configure_line(91) + b"\r\n")
    await stage.acknowledged(place, 91)
    return passed()


async def _long_junk(stage: Stage) -> Finding:
    stage.note("raw")
    stage.write(b"x" * JUNK_BYTES + b"\n")
    await stage.configure()
    return passed()


def _ignores(*lines: str) -> Play:
    async def play(stage: Stage) -> Finding:
        faults = []
        for line in lines:
            since = stage.note("raw")
            stage.write(line.encode() + b"\n")
            place, revision = stage.send_configure()
            shown = line if len(line) < 60 else f"{line[:40]}…"
            try:
                await stage.acknowledged(place, revision)
            except Silent as silent:
                return failed(f"after {shown!r}: {silent}")
            answers: list[str] = [said.state for said in stage.session.states(since)]
            answers += [f"configured {other}" for other in stage.session.acknowledged(since) if other != revision]
            faults += [f"{shown!r} was answered with {answer}" for answer in answers]
        return judged(faults, f"{len(lines)} lines")

    return play


_EMPTY = '"policy":{"mode":"include-only","allowedBundleIds":[],"blockedBundleIds":[],"protectedBundleIds":[],"protectedPathPatterns":[]}'
JUNK: Final = (
    "", "not json", '{"v":1,"type":"nonsense"}', '{"v":1}', '{"v":1,"type":5}', '{"v":1,"type":"pau', '{"v":1,"type":"pause"} tail',
    '{"v":1,"type":"pause"}{"v":1,"type":"pause"}', "[]", "null", '"pause"', '["pause"]',
)  # fmt: skip
MALFORMED: Final = (
    '{"v":1,"type":"configure"}',
    '{"v":1,"type":"configure","revision":900}',
    f'{{"v":1,"type":"configure",{_EMPTY}}}',
    *(f'{{"v":1,"type":"configure","revision":{number},{_EMPTY}}}' for number in ('"900"', "-1", "1.5", "null", "true", "[900]")),
    *(
        f'{{"v":1,"type":"configure","revision":900,"policy":{policy}}}'
        for policy in ("[]", '[["a"],["b"],["c"],["d"]]', '"x"', "5", "null")
    ),
    f'{{"v":1,"type":"configure","revision":900,{_EMPTY}}} tail',
)
IGNORED_BY_SHARED: Final = (
    '{"v":1,"type":"pause","type":"pause"}',
    '{"v":1,"type":"resume","type":"pause"}',
    f'{{"v":1,"type":"configure","revision":900,"revision":901,{_EMPTY}}}',
    *(
        f'{{"v":1,"type":"configure","revision":{number},{_EMPTY}}}'
        for number in ("1.0", "1e2", "-0", "007", "123456789012345678901234567890")
    ),
    '{"v":1,"type":"pause","note":"\\ud800"}',
    '{"v":1,"type":"pause","note":' + "[" * 128 + "]" * 128 + "}",
)
#: Each with the word that answers it; in this order they are told apart.
UNDERSTOOD: Final = (
    ('{"type":"pause"}', "paused"),
    ('{"v":99,"type":"resume"}', "running"),
    ('{"v":1,"type":"pause","revision":"abc"}', "paused"),
    ('{"v":1,"type":"resume","policy":"x","revision":1.5}', "running"),
    ('{"v":1,"type":"pause","revision":-1,"policy":"x"}', "paused"),
    ('{"v":1,"type":"resume","far":1e-400,"deep":[[[{"a":0.5}]]]}', "running"),
    ('{"v":1,"type":"pause","note":"\\"type\\":\\"configure\\" \\u00e9 計畫 \\\\"}', "paused"),
    (' {"v":1, "type" : "resume"} ', "running"),
)
UNDERSTOOD_CONFIGURES: Final = (
    '{"type":"configure","revision":%d,"policy":{}}',
    '{"v":1,"type":"configure","revision":%d,"policy":{"allowedBundleIds":["a",7,null,{"k":1},"b"],"blockedBundleIds":"none"},"later":[1]}',
    '{"v":1,"type":"configure","revision":%d,"policy":{"allowedBundleIds":["a \\"b\\" \\\\ \\u00e9 計畫"],"later":{"a":{}}}}',
)


async def _understands(stage: Stage) -> Finding:
    await stage.configure()
    faults = []
    for line, word in UNDERSTOOD:
        since = stage.note("raw")
        stage.write(line.encode() + b"\n")
        faults += await _unanswered(stage.stated(since, *((word, "permission-required") if word == "running" else (word,))), line)
    for revision, line in enumerate(UNDERSTOOD_CONFIGURES, 300):
        since = stage.note("configure", revision)
        stage.write((line % revision).encode() + b"\n")
        faults += await _unanswered(stage.acknowledged(since, revision), line)
    return judged(faults, f"{len(UNDERSTOOD) + len(UNDERSTOOD_CONFIGURES)} lines")


async def _unanswered(answer: Awaitable[None], line: str) -> list[str]:
    try:
        await answer
    except Silent:
        return [f"{line!r} was not understood"]
    return []


async def _input_ends(stage: Stage) -> Finding:
    return await _left(stage, "the end of its input")


async def _no_farewell(stage: Stage) -> Finding:
    await stage.configure(stage.everything())  # a policy that allows nothing may still bring a warning
    await stage.leave(by="shutdown")
    told = stage.last_sent()
    after = [line for line in stage.session.said if told is not None and line.place > told.place]
    under_way = [line for line in after if isinstance(line.message, Configured) or _word(line.value) == "observation"]
    return judged(["a line after shutdown" for _ in range(len(after) - len(under_way))])


UNDISTURBED: Scenario = ScenarioOf((FIRST, IN_TIME, STATE, CONFIGURED, ANEW, SHUTDOWN, *(check for check, _ in RULES)), _undisturbed)
COMMANDS: tuple[Scenario, ...] = (
    _alone("configured-twice", "configure", "the same revision twice is acknowledged twice", _twice),
    _alone("configured-paused", "configure", "a configure is acknowledged while paused, and does not resume", _while_paused),
    _alone("paused", "pause", "pause is answered with the state paused within 5 s", _paused),
    _alone("resumed", "pause", "resume is answered with running or permission-required within 5 s", _resumed),
    _alone("pause-repeated", "pause", "a pause while paused and a resume while running are answered too", _repeated),
    ScenarioOf((SILENT,), _silence),
    _alone("nothing-allowed", "policy", "under a policy that allows nothing, two heartbeats bring no observation", _nothing_allowed),
    _alone("command-split", "transport", "a command that comes in pieces is one command", _split),
    _alone("commands-joined", "transport", "several commands in one write are several commands", _joined),
    _alone("command-crlf", "transport", "a carriage return before the newline does no harm", _crlf),
    _alone("junk-long", "commands", "a line of junk beyond 64 KiB is ignored", _long_junk),
    _alone("junk-ignored", "commands", "a line that is no command is ignored, and the next command is not", _ignores(*JUNK)),
    _alone("configure-malformed", "commands", "a malformed configure is ignored whole", _ignores(*MALFORMED)),
    _alone("shared-ignored", f"commands, {SHARED}", "duplicate keys, odd numbers, lone surrogates and deep nesting are ignored",
           _ignores(*IGNORED_BY_SHARED)),
    _alone("shared-understood", f"commands, {SHARED}", "what a command does not need is not looked at", _understands),
    _alone("exit-input", "end", "the end of standard input ends it with status 0 within 1.5 s", _input_ends),
    _alone("exit-quiet", "end", "no line follows the shutdown", _no_farewell),
)  # fmt: skip
