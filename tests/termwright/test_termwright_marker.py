from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared_data import data
from triptych.errors import LocalProtocolError
from triptych.machines.termwright.marker import encode_marker, verify_marker

VECTORS = json.loads(data("termwright", "marker.json").read_text())


@pytest.mark.parametrize("case", VECTORS["encode"], ids=lambda case: case["payload"])
def test_encoding_and_verifying(case: dict[str, object]) -> None:
    token, session, revision = str(case["token"]), str(case["sessionId"]), case["revision"]
    assert isinstance(revision, int)
    assert encode_marker(token, session, revision).hex() == case["sequenceHex"]
    assert verify_marker(str(case["payload"]), token, session) == revision


@pytest.mark.parametrize("case", VECTORS["acceptTerminators"], ids=lambda case: case["name"])
def test_one_terminator_is_tolerated(case: dict[str, Any]) -> None:
    assert verify_marker(case["payload"], case["token"], case["sessionId"]) == case["revision"]
    assert verify_marker(case["payload"] + "\x07\x07", case["token"], case["sessionId"]) is None


@pytest.mark.parametrize("case", VECTORS["verifyReject"], ids=lambda case: case["name"])
def test_forgeries(case: dict[str, str]) -> None:
    assert verify_marker(case["payload"], case["token"], case["sessionId"]) is None


@pytest.mark.parametrize(
    ("token", "session", "revision"), [("", "s", 1), ("t", "", 1), ("t", "s", 0), ("t", "s", -1), ("t", "s", 2**53), ("t", "s", True)]
)
def test_what_cannot_be_marked(token: str, session: str, revision: int) -> None:
    with pytest.raises(LocalProtocolError) as refused:
        encode_marker(token, session, revision)
    assert refused.value.code == "marker-argument"


@given(st.text())
def test_verifying_never_raises(payload: str) -> None:
    assert verify_marker(payload, "token", "session") is None
    assert verify_marker(f"twm;1;{payload}", "token", "session") is None


@pytest.mark.parametrize("other", [None, 1, b"twm;1;AAAAAAAAAAAAAAAAAAAAAA", ["twm"], object()])
def test_what_is_no_text_proves_nothing(other: Any) -> None:
    payload = encode_marker("token", "session", 1)[len(b"\x1b]8487;") :].decode()
    assert verify_marker(other, "token", "session") is None
    assert verify_marker(payload, other, "session") is None
    assert verify_marker(payload, "token", other) is None


@given(st.integers(1, 2**53 - 1), st.text(min_size=1, alphabet=st.characters(exclude_categories=["Cs"])))
def test_every_revision_of_a_session_verifies_there_and_nowhere_else(revision: int, session: str) -> None:
    payload = encode_marker("token", session, revision)[len(b"\x1b]8487;") :].decode()
    assert verify_marker(payload, "token", session) == revision
    assert verify_marker(payload, "token", session + "x") is None
    assert verify_marker(payload, "other", session) is None
