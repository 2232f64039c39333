"""Every generated case: the reader, the fast path alone and a JSON Schema oracle agree with the verdict, and with its code and path."""

from __future__ import annotations

import jsonschema
import pytest

from triptych.errors import RemoteProtocolError
from wire_kit import PROTOCOLS, document, encode, messages, oracle, reader, types

TYPES = [pytest.param(protocol, name, id=f"{protocol}-{name}") for protocol in PROTOCOLS for name in types(protocol)]


@pytest.mark.parametrize(("protocol", "name"), TYPES)
def test_generated_case(protocol: str, name: str) -> None:
    root = types(protocol)[name]["root"]
    read, valid = reader(protocol, root), oracle(protocol, root).is_valid
    for case, message in messages(protocol, name):
        body = encode(message)
        fast = read.accept(body)
        if "code" in case:
            with pytest.raises(RemoteProtocolError) as refusal:
                read.read(body)
            assert (refusal.value.code, refusal.value.path) == (case["code"], case["path"]), case["name"]
            assert fast is None, case["name"]
            assert valid(message) == case.get("beyond", False), case["name"]
        else:
            slow = read.read_value(message)
            assert fast is None or fast == slow, case["name"]
            assert valid(message), case["name"]


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_second_oracle_on_every_kind_of_case(protocol: str) -> None:
    """The Python implementation of JSON Schema says the same as the fast one: of each type one acceptance and one refusal of each kind.

    It is a hundred times slower, so it does not try every key of a type.
    """
    for name, entry in types(protocol).items():
        validator = jsonschema.Draft202012Validator(document(protocol, entry["root"]))
        tried = set()
        for case, message in messages(protocol, name):
            kind = (case.get("keyword"), case["name"].rpartition(": ")[2])
            if kind not in tried:
                tried.add(kind)
                assert validator.is_valid(message) == ("code" not in case or case.get("beyond", False)), case["name"]


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_fast_path_says_yes_to_what_is_ordinary(protocol: str) -> None:
    """Of the accepted cases of strict, fast-readable roots, the fast path takes all but the few that the walker must decide."""
    taken = total = 0
    for name, entry in types(protocol).items():
        read = reader(protocol, entry["root"])
        for case, message in messages(protocol, name):
            if "code" not in case and "unknown key" not in case["name"]:
                total += 1
                taken += read.accept(encode(message)) is not None
    assert taken > 0.95 * total, (taken, total)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_every_kind_of_case_is_there(protocol: str) -> None:
    names = " ".join(case["name"] for entry in types(protocol).values() for case in entry["cases"])
    for kind in (
        "missing",
        "wrong type",
        "an unknown key",
        "minimum",
        "maximum",
        "one under",
        "one over",
        "unknown word",
        "only what is required",
    ):
        assert kind in names
