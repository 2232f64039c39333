"""The three settings for a field that nobody knows, on the same red and green pair."""

from __future__ import annotations

import pytest

from triptych.errors import RemoteProtocolError
from triptych.generated.collector.models import UnknownFieldPolicy
from triptych.generated.collector.vocabulary import MAX_EXTENSION_NAMES as MAX_NAMES
from triptych.machines.collector.unknown_fields import UnknownFields

RED_GREEN: list[tuple[UnknownFieldPolicy, str, bool]] = [
    ("refuse", "observedAt", False),
    ("refuse", "x-mood", False),
    ("extension", "observedAt", False),
    ("extension", "window.tittle", False),
    ("extension", "x-mood", True),
    ("extension", "window.x-mood", True),
    ("extension", "window.x-a.b", True),
    ("extension", "a.x-b", False),
    ("extension", "X-mood", False),
    ("extension", "xmood", False),
    ("count", "observedAt", True),
    ("count", "x-mood", True),
]


@pytest.mark.parametrize(("rule", "path", "accepted"), RED_GREEN)
def test_rule(rule: UnknownFieldPolicy, path: str, accepted: bool) -> None:
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
        fields.take(["x-first", "second"])
    assert (caught.value.code, caught.value.path) == ("unknown-field", "second")
    assert fields.by_name == {}


def test_names_are_bounded_and_the_rest_is_one_counter() -> None:
    fields = UnknownFields("count")
    fields.take([f"x-{number}" for number in range(MAX_NAMES + 5)])
    fields.take(["x-0", "x" * 65, "é" * 33])
    assert len(fields.by_name) == MAX_NAMES
    assert fields.by_name["x-0"] == 2
    assert fields.other == 7
