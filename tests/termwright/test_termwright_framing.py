from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET

from shared_data import data
from triptych.errors import LocalProtocolError, RemoteProtocolError
from triptych.machines.termwright.framing import FrameDecoder, encode_body, encode_frame
from triptych.machines.termwright.projection import freeze, project, project_dto

VECTORS = json.loads(data("termwright", "framing.json").read_text())
EXTRA = json.loads(data("termwright", "framing-extra.json").read_text())
CEILING = VECTORS["maxFrameBytes"]


def frame(body: bytes) -> bytes:
    return len(body).to_bytes(4, "big") + body


@pytest.mark.parametrize("case", VECTORS["encode"], ids=lambda case: case["name"])
def test_encoding(case: dict[str, Any]) -> None:
    assert encode_frame(case["value"], CEILING).hex() == case["frameHex"]


@pytest.mark.parametrize("case", VECTORS["decode"], ids=lambda case: case["name"])
def test_decoding(case: dict[str, Any]) -> None:
    decoder = FrameDecoder(CEILING)
    values = [value for chunk in case["chunksHex"] for value in decoder.push(bytes.fromhex(chunk))]
    assert values == case["messages"]
    assert decoder.buffered == 0


@pytest.mark.parametrize("case", VECTORS["reject"], ids=lambda case: case["name"])
def test_a_violation_poisons_the_decoder(case: dict[str, Any]) -> None:
    decoder = FrameDecoder(CEILING)
    with pytest.raises(RemoteProtocolError) as refused:
        decoder.push(bytes.fromhex(case["streamHex"]))
    assert refused.value.code == case["code"]
    assert decoder.buffered == 0
    with pytest.raises(RemoteProtocolError) as again:
        decoder.push(b"")
    assert again.value.code == "decoder-poisoned"


@pytest.mark.parametrize("case", EXTRA["decode"], ids=lambda case: case["name"])
def test_more_decoding(case: dict[str, Any]) -> None:
    if case["name"] == "nest-20000":  # recorded cut short
        chunks = [frame(b"[" * 20000 + b"]" * 20001)]
    else:
        chunks = [bytes.fromhex(chunk) for chunk in case["chunksHex"]]
        assert [len(chunk) for chunk in chunks] == case["chunkBytes"]
    ceiling = 16 if case["name"] == "exact-ceiling-ok" else CEILING
    decoder = FrameDecoder(ceiling)
    values: list[object] = []
    code = None
    try:
        for chunk in chunks:
            values += decoder.push(chunk)
    except RemoteProtocolError as fault:
        code = fault.code
    assert (code, values, decoder.buffered) == (case["code"], case["messages"], case["buffered"])
    if not case["ok"]:
        with pytest.raises(RemoteProtocolError, match=case["afterwards"]):
            decoder.push(b"")


@pytest.mark.parametrize("case", EXTRA["ceilings"], ids=lambda case: case["max"])
def test_ceilings(case: dict[str, Any]) -> None:
    ceiling = float(case["max"]) if case["max"] in ("1.5", "NaN") else int(case["max"])
    with pytest.raises(LocalProtocolError) as refused:
        FrameDecoder(ceiling)  # type: ignore[arg-type]  # what a caller without a type checker may pass
    assert refused.value.code == case["code"]


def test_what_javascript_would_write() -> None:
    assert encode_body({"a": math.nan}) == b'{"a":null}'
    assert encode_body({"a": "\ud800", "b": "ż\U0001f600"}) == '{"a":"\\ud800","b":"ż\U0001f600"}'.encode()
    with pytest.raises(LocalProtocolError) as refused:
        encode_frame({"a": object()}, CEILING)
    assert refused.value.code == "frame-malformed"
    for formless in (UNSET, test_what_javascript_would_write, dict):
        with pytest.raises(LocalProtocolError) as refused:
            encode_body(formless)
        assert refused.value.code == "dto-scalar"
    with pytest.raises(LocalProtocolError) as refused:
        encode_frame("x" * 20, 21)
    assert refused.value.code == "frame-oversized"
    assert encode_frame("x" * 20, 22)[:4] == b"\x00\x00\x00\x16"


def test_an_oversized_frame_is_refused_with_its_header() -> None:
    decoder = FrameDecoder(10)
    assert decoder.push(b"\x00\x00") == []
    with pytest.raises(RemoteProtocolError, match="frame-oversized"):
        decoder.push(b"\x00\x0b")


def test_bodies_before_a_violation_are_handed_out() -> None:
    decoder = FrameDecoder(100)
    bodies = decoder.bodies(frame(b"1") + frame(b"[2]") + bytes(4))
    assert [next(bodies), next(bodies)] == [b"1", b"[2]"]
    with pytest.raises(RemoteProtocolError, match="frame-malformed"):
        next(bodies)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), inner, max_size=4),
    max_leaves=20,
)


@given(st.lists(json_values, max_size=5), st.data())
def test_any_split_gives_the_same_values(values: list[Any], choose: st.DataObject) -> None:
    stream = b"".join(encode_frame(value, CEILING) for value in values)
    cuts = sorted(choose.draw(st.lists(st.integers(0, len(stream)), max_size=8)))
    decoder = FrameDecoder(CEILING)
    read: list[object] = []
    for start, end in zip([0, *cuts], [*cuts, len(stream)], strict=True):
        read += decoder.push(stream[start:end])
    assert read == values
    assert decoder.buffered == 0


def test_a_body_is_held_until_it_is_whole() -> None:
    decoder = FrameDecoder(100)
    stream = frame(b'"abc"') + frame(b"[]")
    held = []
    for byte in stream:
        held.append((list(decoder.bodies(bytes([byte]))), decoder.buffered))
    assert [bodies for bodies, _ in held if bodies] == [[b'"abc"'], [b"[]"]]
    assert [buffered for _, buffered in held] == [1, 2, 3, 4, 5, 6, 7, 8, 0, 1, 2, 3, 4, 5, 0]


@given(st.binary(max_size=200))
def test_any_bytes_give_values_or_a_documented_code(stream: bytes) -> None:
    decoder = FrameDecoder(64)
    try:
        decoder.push(stream)
    except RemoteProtocolError as fault:
        assert fault.code in (
            "frame-oversized", "frame-malformed", "frame-encoding", "dto-scalar", "dto-string", "dto-key", "dto-depth",
        )  # fmt: skip
        assert decoder.buffered == 0
    else:
        assert decoder.buffered <= 68


class _Sly(dict[str, int]):
    def __getitem__(self, key: str) -> int:
        raise AssertionError("code of the value ran")


def _cycle() -> object:
    loop: list[object] = []
    loop.append(loop)
    return loop


def _alias() -> object:
    shared: list[object] = []
    return [shared, shared]


@pytest.mark.parametrize(
    ("value", "code", "path"),
    [
        ({"a": [math.inf]}, "dto-scalar", "a.0"),
        (math.nan, "dto-scalar", ""),
        (10**400, "dto-scalar", ""),
        (b"x", "dto-scalar", ""),
        ("\ud800", "dto-string", ""),
        ({"\udc00": 1}, "dto-string", ""),
        (_alias(), "dto-alias", "1"),
        (_cycle(), "dto-alias", "0"),
        ({"a": _Sly(b=1)}, "dto-prototype", "a"),
        ((1, 2), "dto-prototype", ""),
        ({"a": {"__proto__": 1}}, "dto-key", "a"),
        ({1: 2}, "dto-key", ""),
        ([[[]]], "dto-depth", "0.0"),
    ],
)
def test_projection_refuses(value: object, code: str, path: str) -> None:
    with pytest.raises(RemoteProtocolError) as refused:
        project(value, 1)
    assert (refused.value.code, refused.value.path) == (code, path)


def test_projection_copies_and_freezes() -> None:
    given = {"a": [1, {"b": None}], "c": 0.5}
    copied = project(given)
    assert copied == given
    assert copied is not given
    frozen: Any = project_dto(given)
    assert frozen == {"a": (1, {"b": None}), "c": 0.5}
    with pytest.raises(TypeError):
        frozen["a"] = 2
    assert freeze("x") == "x"
    assert project([[1]], 1) == [[1]]  # scalars never count
    with pytest.raises(RemoteProtocolError, match="dto-depth"):
        project({}, -1)
