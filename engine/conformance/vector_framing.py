"""The vector formats framing and framing-extra: streams to decode or refuse, values to encode, ceilings, the quirks of framed trees."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any, Final

from ...machines.termwright.framing import HEADER_BYTES, FrameDecoder, encode_body, encode_frame
from ...machines.termwright.limits import DEFAULT_LIMITS
from ...machines.termwright.messages import parse_adapter_message, read_adapter_message
from .vector_cases import Answer, Document, Untestable, Verdict, body, canonical, cases, outcome, snapshot_of_size

#: Bytes of the largest stream or snapshot that is made anew: well above the absolute ceilings.
MAX_RESTORED = 1 << 25


def run_framing(document: Document) -> Iterator[Answer]:
    """Every case of one framing file."""
    ceiling = int(document.get("maxFrameBytes", DEFAULT_LIMITS["maxFrameBytes"]))
    for name, case, expected in cases(document, "encode"):
        yield from _encoding(name, case, expected, ceiling)
    for name, case, expected in cases(document, "decode", "reject"):
        yield from _decoding(name, case, expected, ceiling)
    for name, case, expected in cases({"ceilings": [{"name": case["max"], **case} for case in document.get("ceilings", ())]}, "ceilings"):
        yield Verdict(f"ceiling {name}", expected, outcome(FrameDecoder, _number(str(case["max"])))[0])
    for name, case in document.get("framedQuirks", {}).items():
        yield _quirk(name, case)


#: Cases that the reference names after a JavaScript value, with the value of ours that means the same.
_NAMED_VALUES: Final[Mapping[str, object]] = {"nan-becomes-null": {"a": math.nan}, "lone-surrogate-escaped": {"a": "\ud800"}}


def _encoding(name: str, case: Document, expected: str, ceiling: int) -> Iterator[Answer]:
    if "value" in case:
        value: object = case["value"]
    elif name in _NAMED_VALUES:
        value = _NAMED_VALUES[name]
    elif name == "too-big":
        value, ceiling = "x" * 32, 16
    else:
        yield Untestable(name, "the value exists only in JavaScript")
        return
    code, frame = outcome(encode_frame, value, int(case.get("maxFrameBytes", ceiling)))
    yield Verdict(name, expected, code)
    if code != "ok":
        return
    for key, actual in (("frameHex", frame.hex()), ("bodyBytes", len(frame) - HEADER_BYTES)):
        if key in case:
            yield Verdict(f"{name} {key}", str(case[key]), str(actual))
    for key in ("bodyJson", "body"):
        if key in case:
            yield Verdict(f"{name} {key}", case[key], encode_body(value).decode("utf-8", "replace"))


def _decoding(name: str, case: Document, expected: str, ceiling: int) -> Iterator[Answer]:
    chunks = [bytes.fromhex(chunk) for chunk in case.get("chunksHex", [case.get("streamHex", "")])]
    sizes = case.get("chunkBytes") or [len(chunk) for chunk in chunks]
    whole = [_restored(chunk, size) for chunk, size in zip(chunks, sizes, strict=True)]
    if any(chunk is None for chunk in whole):
        yield Untestable(name, "the stream was recorded cut short")
        return
    decoder = FrameDecoder(_ceiling_of(case, expected, chunks, name) or ceiling)
    values: list[object] = []
    code = "ok"
    for chunk in whole:
        code, decoded = outcome(decoder.push, chunk)
        if code != "ok":
            break
        values += decoded
    yield Verdict(name, expected, code)
    if code != expected:
        return
    if "messages" in case:
        yield Verdict(f"{name} messages", canonical(case["messages"]), canonical(values))
    if case.get("buffered") is not None:
        yield Verdict(f"{name} buffered", str(case["buffered"]), str(decoder.buffered))
    if code != "ok":
        yield Verdict(f"{name} afterwards", case.get("afterwards") or "decoder-poisoned", outcome(decoder.push, b"")[0])


def _ceiling_of(case: Document, expected: str, chunks: list[bytes], name: str) -> int | None:
    """The ceiling a case was made with: its own, or, where it is about the ceiling and does not tell it, what its first header implies."""
    for key in ("maxFrameBytes", "ceiling", "max"):
        if key in case:
            return int(case[key])
    if not any(word in name for word in ("ceiling", "oversize", "too-big")):
        return None
    declared = int.from_bytes(b"".join(chunks)[:HEADER_BYTES], "big")
    if expected == "frame-oversized" and 1 < declared <= DEFAULT_LIMITS["maxFrameBytes"]:
        return declared - 1
    return declared if expected == "ok" and declared else None


def _restored(chunk: bytes, size: int) -> bytes | None:
    """The whole chunk. One that was cut short is restored when what is left of it is a regular nest in one frame; else None."""
    if len(chunk) == size:
        return chunk
    length, shown = int.from_bytes(chunk[:HEADER_BYTES], "big"), chunk[HEADER_BYTES:]
    if length + HEADER_BYTES != size or size > MAX_RESTORED:
        return None
    for width in range(1, 17):
        unit = shown[:width]
        closers = unit.translate(bytes.maketrans(b"[{", b"]}"), bytes(set(range(256)) - set(b"[{")))[::-1]
        if closers and (unit * (len(shown) // width + 1))[: len(shown)] == shown:
            count = (length - 1) // (width + len(closers))
            return chunk[:HEADER_BYTES] + unit * count + b"1" * (length - count * (width + len(closers))) + closers * count
    return None


def _number(text: str) -> Any:
    """A JavaScript number: integers and integral floats are one kind."""
    value = float(text)
    return int(text) if text.lstrip("-").isdigit() else int(value) if value.is_integer() else value


def _quirk(name: str, case: Document) -> Answer:
    """A snapshot of the recorded size, in a frame or as a plain value, under a ceiling that the case's name tells."""
    kind, _, number = name.partition("_depth")
    if name != "bytes_between" and not (kind in ("framed", "unframed") and number.isdigit()):
        return Untestable(name, "a quirk that this runner does not know")
    size = int(case["snapshotBytes"]) if "snapshotBytes" in case else 2156
    if size > MAX_RESTORED:
        return Untestable(name, f"a snapshot of {size} bytes is beyond every ceiling")
    message = {"type": "semantic-full", "snapshot": snapshot_of_size(size)}
    between = {"maxSnapshotBytes": (size + len(body(message))) // 2}
    limits = {**DEFAULT_LIMITS, **({"maxDepth": int(number)} if number else between)}
    unframed = kind == "unframed"
    actual = outcome(*(parse_adapter_message, message) if unframed else (read_adapter_message, body(message)), limits)[0]
    return Verdict(name, "ok" if case["ok"] else case["code"], actual)
