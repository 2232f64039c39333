"""Throws bytes at what reads hostile termwright input, a target at a time; `make fuzz` gives each of them a minute.

    python -m triptych.tools.fuzz_termwright [--target NAME] [--seconds 60] [--seed N] [--input FILE]

The targets: `frames` (the frame decoder, and each body as a message), `messages` (one body, in both directions), `snapshot` (the
validator), `delta` (apply), `client` (what an adapter does with its driver's bytes) and `marker`. With atheris installed (Linux wheels for
Python 3.11 to 3.13) the inputs follow its coverage; without it they are mutations of the same seeds, which are the vectors of
tests/vectors/termwright. Only a documented code may leave the library; a fast yes must be a slow yes; any split of a stream gives the same
answers. An input that breaks this is kept as a file, its name is printed, and the exit code is 1. `--input` runs such a file again.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import Any, Final

from ..errors import LocalProtocolError
from ..generated.termwright.models import AdapterInfo, SemanticFull
from ..generated.termwright.vocabulary import WIRE_ERROR_CODE
from ..machines.termwright.errors import DELTA_CODES, PARSER_CODES, PROTOCOL_VIOLATION_CODES, VALIDATION_CODES
from ..machines.termwright.framing import FrameDecoder, decode_body, encode_body
from ..machines.termwright.limits import DEFAULT_LIMITS
from ..machines.termwright.marker import encode_marker, verify_marker
from ..machines.termwright.messages import ADAPTER_MESSAGES, parse_adapter_message, read_adapter_message, read_driver_message
from ..machines.termwright.publisher import Closed, Publisher
from ..machines.termwright.semantic_state import SemanticState
from ..machines.termwright.validate import check_snapshot, validate_snapshot
from ..machines.wire.text import TERMWRIGHT, parse
from .bundle import REPOSITORY
from .fuzzing import Broken, Campaign, outcome

VECTORS: Final = REPOSITORY / "tests" / "vectors" / "termwright"
TOKEN, SESSION = "fuzz-token", "fuzz-session"
# Small ceilings, so that they are met.
LIMITS: Final = {**DEFAULT_LIMITS, "maxFrameBytes": 1 << 16, "maxNodes": 40, "maxDepth": 8, "maxStringBytes": 200, "maxRelationTargets": 6}
FRAME_CODES: Final = frozenset(PROTOCOL_VIOLATION_CODES)
MESSAGE_CODES: Final = FRAME_CODES | frozenset(PARSER_CODES)
#: What JSON mutations are made of, and the dictionary of atheris.
TOKENS: Final = tuple(
    b'null|true|-1|0|1e999|9007199254740992|1.0|[]|{}|"\\ud800"|"__proto__":|"extended":|"px":|"parentId":"root"|"status":"known"'
    b'|"labelledBy":["root"]|"state":{"offscreen":true}|"role":"generic"|[[[[[[[[[[|]]]]]]]]]]|\xf0\x9f\x8e\x89|\xed\xa0\x80'.split(b"|")
)
#: What the adapter of the target `client` publishes.
TREE: Final = {
    "columns": 80,
    "rows": 24,
    "rootIds": [],
    "nodes": [],
    "coordinateSpace": {"status": "unknown", "reason": "provider-refresh"},
    "hitGrid": {"status": "unknown", "reason": "provider-refresh"},
}


def frames(data: bytes) -> str:
    """A stream, whole and cut in two; then each body as a message of either direction."""
    whole, cut = _stream([data]), _stream([data[: len(data) // 3], data[len(data) // 3 :]])
    if whole != cut:
        raise Broken("the split of a stream changes its frames")
    bodies, code, _ = whole
    return "+".join([*map(messages, bodies), code])


def _stream(chunks: Sequence[bytes]) -> tuple[list[bytes], str, int]:
    decoder = FrameDecoder(LIMITS["maxFrameBytes"])
    bodies: list[bytes] = []
    for chunk in chunks:
        code, _ = outcome(FRAME_CODES, lambda chunk=chunk: bodies.extend(decoder.bodies(chunk)))  # type: ignore[misc]  # a bound default
        if code != "ok":
            return bodies, code, decoder.buffered
    return bodies, "ok", decoder.buffered


def messages(body: bytes) -> str:
    """One body, as an adapter's message and as the driver's."""
    decoded, value = outcome(FRAME_CODES, lambda: decode_body(body))
    if decoded == "ok":
        outcome(MESSAGE_CODES, lambda: parse_adapter_message(value, LIMITS))
    outcome(MESSAGE_CODES, lambda: read_driver_message(body, LIMITS))
    code, message = outcome(MESSAGE_CODES, lambda: read_adapter_message(body, LIMITS))
    fast = ADAPTER_MESSAGES.accept(body, LIMITS)
    if fast is not None and code != "limit-exceeded":
        slow = ADAPTER_MESSAGES.read_value(parse(body, TERMWRIGHT), LIMITS)
        if isinstance(slow, SemanticFull):
            check_snapshot(slow.snapshot, LIMITS)
        if fast != message or _plain(fast) != _plain(slow):
            raise Broken("the fast path and the slow path read different messages")
    return code


def _plain(message: object) -> object:
    """A message as it would be sent: the delta in it is text, which the two paths may write differently."""
    return decode_body(encode_body(message))


def snapshot(data: bytes) -> str:
    """A snapshot as a plain value. One that is accepted can be held."""
    code, value = outcome(FRAME_CODES, lambda: decode_body(data))
    if code != "ok":
        return code
    code, accepted = outcome(frozenset(VALIDATION_CODES), lambda: validate_snapshot(value, LIMITS))
    if code == "ok":
        SemanticState.of(accepted, LIMITS)
    return code


def delta(data: bytes) -> str:
    """A delta against a small tree. What it makes must be what full validation accepts, and the same when it comes in a message."""
    code, value = outcome(FRAME_CODES, lambda: decode_body(data))
    if code != "ok":
        return code
    held = _held()
    code, applied = outcome(frozenset(DELTA_CODES), lambda: held.apply(value))
    if code == "ok":
        check_snapshot(applied.state.snapshot, LIMITS)
    sent, message = outcome(MESSAGE_CODES, lambda: read_adapter_message(b'{"type":"semantic-delta","delta":%b}' % data, LIMITS))
    if sent == "ok":
        given, followed = outcome(frozenset(DELTA_CODES), lambda: held.apply(message.delta))
        if given != code or (given == "ok" and followed.state.snapshot != applied.state.snapshot):
            raise Broken(f"a delta ends as {code} when it is a value, and as {given} when it is a message")
    return code


def client(data: bytes) -> str:
    """A driver's stream, whole and cut in two, at an adapter that then publishes and logs."""
    whole, cut = _adapter([data]), _adapter([data[: len(data) // 3], data[len(data) // 3 :]])
    if whole != cut:
        raise Broken("the split of a stream changes what an adapter makes of it")
    return whole[0]


def _adapter(chunks: Sequence[bytes]) -> tuple[str, list[object]]:
    publisher = Publisher(token=TOKEN, adapter=AdapterInfo(name="fuzz", version="1"), capabilities=("tree", "logs", "incremental-tree"))
    publisher.hello()
    events: list[object] = []
    for chunk in chunks:
        events += publisher.received(chunk, 1.0)
    for event in events:
        if isinstance(event, Closed) and event.code not in WIRE_ERROR_CODE:
            raise Broken(f"the code {event.code!r} is no wire error code")
    try:
        publisher.log("info", "m", 1.0, 1)
        publisher.publish(TREE)
    except LocalProtocolError as refused:
        return f"{publisher.state} {refused.code}", events
    return publisher.state, events


@cache
def _vectors(name: str) -> Any:
    return json.loads((VECTORS / name).read_text(encoding="utf-8"))


@cache
def _held() -> SemanticState:
    return SemanticState.of(validate_snapshot(_vectors("deltas.json")["committed"], LIMITS), LIMITS)


def marker(data: bytes) -> str:
    """A marker's payload. It proves nothing, unless it is the very marker of this session."""
    payload = data.decode("latin-1")
    revision = verify_marker(payload, TOKEN, SESSION)
    if revision is not None and payload.rstrip("\x07\x1b\\").encode() not in encode_marker(TOKEN, SESSION, revision):
        raise Broken("a payload that nobody signed is a proof")
    return "ok" if revision else "unproved"


#: One input in, how it ended out; each raises when something is broken.
TARGETS: Final[Mapping[str, Callable[[bytes], str]]] = {
    target.__name__: target for target in (frames, messages, snapshot, delta, client, marker)
}


def seeds(target: str) -> list[bytes]:
    """What the mutations of a target start from: the vectors, as its inputs."""

    def sent(side: str) -> list[bytes]:
        return [_json(case["message"]) for kind in _vectors("messages.json")[side].values() for case in kind]

    def framed(bodies: Iterable[bytes]) -> list[bytes]:
        return [len(body).to_bytes(4, "big") + body for body in bodies]

    trees = [case["snapshot"] for kind in ("accept", "reject") for case in _vectors("snapshots.json")[kind]]
    fulls = [_json({"type": "semantic-full", "snapshot": tree}) for tree in trees]
    match target:
        case "frames":
            streams = [bytes.fromhex("".join(case["chunksHex"])) for case in _vectors("framing.json")["decode"]]
            found = [*streams, *framed([*sent("adapterToDriver"), *fulls])]
        case "messages":
            found = [*sent("adapterToDriver"), *sent("driverToAdapter"), *fulls]
        case "snapshot":
            found = [_json(tree) for tree in trees]
        case "delta":
            found = [_json(case["delta"]) for case in _vectors("deltas.json")["apply"]]
        case "client":
            found = framed(sent("driverToAdapter"))
            found += [found[0] + later for later in found]
        case _:
            found = [case["payload"].encode("utf-8", "replace") for case in _vectors("marker.json")["verifyReject"]]
            found.append(encode_marker(TOKEN, SESSION, 7)[len(b"\x1b]8487;") :])
    return [data for data in found if len(data) < LIMITS["maxFrameBytes"]]


def _json(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


CAMPAIGN: Final = Campaign(f"{__package__}.fuzz_termwright", "Fuzz what reads termwright.", TARGETS, seeds, TOKENS, LIMITS["maxFrameBytes"])


if __name__ == "__main__":
    sys.exit(CAMPAIGN.main())
