"""The three settings for a field that nobody knows, on the same red and green pair."""

from __future__ import annotations

import json

import pytest

from triptych.errors import RemoteProtocolError
from triptych.generated.collector.models import UnknownFieldPolicy
from triptych.generated.collector.vocabulary import MAX_EXTENSION_NAMES as MAX_NAMES
from triptych.machines.collector.companion_payload import read
from triptych.machines.collector.unknown_fields import UnknownFields
from triptych.machines.wire.faults import UnknownKey

RED_GREEN: list[tuple[UnknownFieldPolicy, UnknownKey, bool]] = [
    ("refuse", UnknownKey("observedAt"), False),
    ("refuse", UnknownKey("x-mood"), False),
    ("extension", UnknownKey("observedAt"), False),
    ("extension", UnknownKey("tittle", ("window",)), False),
    ("extension", UnknownKey("x-mood"), True),
    ("extension", UnknownKey("x-mood", ("window",)), True),
    ("extension", UnknownKey("x-a.b", ("window",)), True),
    ("extension", UnknownKey("a.x-b"), False),
    ("extension", UnknownKey("app.x-b"), False),
    ("extension", UnknownKey("window.x-b", ("app",)), False),
    ("extension", UnknownKey("X-mood"), False),
    ("extension", UnknownKey("xmood"), False),
    ("count", UnknownKey("observedAt"), True),
    ("count", UnknownKey("x-mood"), True),
]


@pytest.mark.parametrize(("rule", "path", "accepted"), RED_GREEN)
def test_rule(rule: UnknownFieldPolicy, path: UnknownKey, accepted: bool) -> None:
    fields = UnknownFields(rule)
    if accepted:
        fields.take([path])
        assert fields.by_name == {path: 1}
    else:
        with pytest.raises(RemoteProtocolError) as caught:
            fields.take([path])
        assert (caught.value.code, caught.value.path) == ("unknown-field", path)


def test_extension_is_the_default() -> None:
    assert UnknownFields().rule == "extension"


def test_a_refused_message_counts_none_of_its_fields() -> None:
    fields = UnknownFields("extension")
    with pytest.raises(RemoteProtocolError) as caught:
        fields.take([UnknownKey("x-first"), UnknownKey("second")])
    assert (caught.value.code, caught.value.path) == ("unknown-field", "second")
    assert fields.by_name == {}


def test_names_are_bounded_and_the_rest_is_one_counter() -> None:
    fields = UnknownFields("count")
    fields.take([UnknownKey(f"x-{number}") for number in range(MAX_NAMES + 5)])
    fields.take([UnknownKey("x-0"), UnknownKey("x" * 65), UnknownKey("é" * 33)])
    assert len(fields.by_name) == MAX_NAMES
    assert fields.by_name["x-0"] == 2
    assert fields.other == 7


@pytest.mark.parametrize(("key", "sentence"), [("app.x-mood", "unknown field for an editor payload: app.x-mood"), ("x-mood", None)])
def test_a_key_with_a_dot_in_it_is_one_key(key: str, sentence: str | None) -> None:
    """A companion cannot make a name of its own an extension by calling it after an object of the message."""
    payload = {
        "source": "editor",
        "app": {"bundleId": "com.microsoft.VSCode", "name": "Code", "x-mood": 1},
        "workspaceRoot": "/work",
        "filePath": "/work/a.py",
        "editorSession": "e",
        "seq": 1,
        "observedAtMs": 1,
        key: 1,
    }
    fields = UnknownFields()
    if sentence is None:
        read(json.dumps(payload).encode(), fields)
        assert fields.by_name == {"app.x-mood": 1, "x-mood": 1}
    else:
        with pytest.raises(RemoteProtocolError) as caught:
            read(json.dumps(payload).encode(), fields)
        assert caught.value.detail == sentence and fields.by_name == {}
