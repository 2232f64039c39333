"""The rule that holds the two paths together, on values derived from the schemas: fast yes ⇒ slow yes, with an equal value."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from schema_strategies import changed, message, spelled
from triptych.errors import RemoteProtocolError
from triptych.machines.wire.text import TextFault, parse
from wire_kit import PROTOCOLS, bundle, oracle, policy, reader

pytestmark = pytest.mark.property

SETTINGS = settings(max_examples=max(300, settings().max_examples), suppress_health_check=list(HealthCheck))


def plain(struct: Any) -> Any:
    """A struct as plain JSON, so that raw parts compare by value and not by their spelling."""
    return json.loads(msgspec.json.encode(struct))


def slow(protocol: str, root: str, body: bytes) -> Any:
    """The slow path alone; None when it refuses."""
    try:
        return reader(protocol, root).read_value(parse(body, policy(protocol, root)))
    except (TextFault, RemoteProtocolError):
        return None


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_fast_yes_is_slow_yes(protocol: str) -> None:
    counted = {"fast": 0, "slow": 0, "refused": 0}

    @SETTINGS
    @given(st.data())
    def hold(data: st.DataObject) -> None:
        root = data.draw(st.sampled_from(list(bundle(protocol).roots)))
        body = data.draw(message(protocol, root).flatmap(changed).flatmap(spelled))
        fast, explained = reader(protocol, root).accept(body), slow(protocol, root, body)
        counted["fast" if fast is not None else "slow" if explained is not None else "refused"] += 1
        if fast is not None:
            assert explained is not None, (root, body[:500])
            assert plain(fast) == plain(explained), (root, body[:500])

    hold()
    assert min(counted.values()) > 2, counted  # every outcome was tried


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_yes_is_a_yes_of_the_schema(protocol: str) -> None:
    """Whatever the reader accepts, JSON Schema accepts too; the reader only adds rules."""

    @SETTINGS
    @given(st.data())
    def hold(data: st.DataObject) -> None:
        root = data.draw(st.sampled_from(list(bundle(protocol).roots)))
        value = data.draw(message(protocol, root).flatmap(changed))
        body = json.dumps(value).encode()
        if slow(protocol, root, body) is not None and "\\ud8" not in json.dumps(value):
            assert oracle(protocol, root).is_valid(value), (root, body[:500])

    hold()


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_any_bytes_are_read_or_refused(protocol: str) -> None:
    """Whatever comes in, a read answers a message or raises RemoteProtocolError; nothing else leaves the reader."""

    @SETTINGS
    @given(st.data())
    def hold(data: st.DataObject) -> None:
        root = data.draw(st.sampled_from(list(bundle(protocol).roots)))
        body = data.draw(st.binary(max_size=40) | message(protocol, root).flatmap(changed).flatmap(spelled))
        try:
            reader(protocol, root).read_reporting(body)
        except RemoteProtocolError as refusal:
            assert refusal.code

    hold()
