"""Each protocol's verdict on each file of JSONTestSuite: JSON is read, anything else is a TextFault, and the open cases are decided."""

from __future__ import annotations

import pytest

from shared_data import data
from triptych.errors import RemoteProtocolError
from triptych.machines.wire import text
from triptych.machines.wire.text import FAULT_KINDS, TextFault, TextPolicy, parse
from wire_kit import reader

SUITE = sorted(data("json", "test_parsing").glob("*.json"))
POLICIES: dict[str, TextPolicy] = {
    "termwright": text.TERMWRIGHT,
    "collector": text.COLLECTOR,
    "command": text.COLLECTOR_COMMAND,
    "companion": text.COMPANION,
    "desklink": text.DESKLINK,
    "control": text.CONTROL,
}
READ = "read"


def each(names: list[str], decided: str | dict[str, str]) -> dict[str, str | dict[str, str]]:
    return dict.fromkeys(names, decided)


# The open cases, decided. JavaScript (collector, companion) reads what its JSON.parse reads; termwright projects afterwards; the
# others read as a strict parser of a typed language does. One word stands for all six.
OPEN: dict[str, str | dict[str, str]] = {
    **each(["i_number_double_huge_neg_exp", "i_number_real_underflow"], READ),  # zero is a fine double
    **each(["i_number_too_big_neg_int", "i_number_too_big_pos_int", "i_number_very_big_negative_int"], READ),  # exact
    **each(
        [
            *("i_number_huge_exp", "i_number_neg_int_huge_exp", "i_number_pos_double_huge_exp"),
            *("i_number_real_neg_overflow", "i_number_real_pos_overflow"),
        ],
        {"else": "number", "collector": READ, "companion": READ},  # infinite in JavaScript; a typed field refuses it
    ),
    **each(
        [
            *("i_object_key_lone_2nd_surrogate", "i_string_1st_surrogate_but_2nd_missing", "i_string_1st_valid_surrogate_2nd_invalid"),
            *("i_string_incomplete_surrogate_and_escape_valid", "i_string_incomplete_surrogate_pair"),
            *("i_string_incomplete_surrogates_escape_valid", "i_string_invalid_lonely_surrogate", "i_string_invalid_surrogate"),
            *("i_string_inverted_surrogates_U+1D11E", "i_string_lone_second_surrogate"),
        ],
        {"else": "surrogate", "collector": READ, "companion": READ},
    ),
    **each(
        [
            *("i_string_UTF-8_invalid_sequence", "i_string_UTF8_surrogate_U+D800", "i_string_invalid_utf-8", "i_string_iso_latin_1"),
            *("i_string_lone_utf8_continuation_byte", "i_string_not_in_unicode_range", "i_string_overlong_sequence_2_bytes"),
            *("i_string_overlong_sequence_6_bytes", "i_string_overlong_sequence_6_bytes_null", "i_string_truncated-utf-8"),
        ],
        {"else": "encoding", "collector": READ},  # a collector's line is decoded with replacement
    ),
    **each(
        ["i_string_UTF-16LE_with_BOM", "i_string_utf16BE_no_BOM", "i_string_utf16LE_no_BOM"],
        {"else": "encoding", "collector": "syntax"},
    ),
    "i_structure_500_nested_arrays": {"else": "depth", "collector": READ, "companion": READ},
    "i_structure_UTF-8_BOM_empty_object": {"else": "syntax", "termwright": READ},
}
REPEATED_KEYS = ("y_object_duplicated_key", "y_object_duplicated_key_and_value")


def verdict(body: bytes, policy: TextPolicy) -> str:
    try:
        parse(body, policy)
    except TextFault as fault:
        assert fault.kind in FAULT_KINDS
        assert fault.detail
        return fault.kind
    return READ


def test_the_whole_suite_is_here() -> None:
    assert len(SUITE) == 318
    assert {path.stem for path in SUITE if path.stem.startswith("i_")} == set(OPEN)


@pytest.mark.parametrize("protocol", POLICIES)
def test_verdict_on_each_file(protocol: str) -> None:
    policy = POLICIES[protocol]
    for path in SUITE:
        said = verdict(path.read_bytes(), policy)
        if path.stem in OPEN:
            decided = OPEN[path.stem]
            assert said == (decided if isinstance(decided, str) else decided.get(protocol, decided["else"])), path.name
        elif path.stem in REPEATED_KEYS and policy.duplicates == "refuse":
            assert said == "duplicate-key", path.name
        elif path.stem.startswith("y_"):
            assert said == READ, path.name
        else:
            assert said in ("syntax", "encoding", "depth"), path.name


@pytest.mark.parametrize(
    ("protocol", "root"),
    [
        *(("collector", "CollectorMessage"), ("collector", "ReceivedCommand"), ("collector", "CompanionPayload")),
        *(("desklink", "RequestEnvelope"), ("termwright", "AdapterMessage"), ("termwright", "DriverMessage")),
    ],
)
def test_a_reader_answers_each_file_with_its_own_error_at_most(protocol: str, root: str) -> None:
    read = reader(protocol, root)
    for path in SUITE:
        body = path.read_bytes()
        try:
            read.read(body)
        except RemoteProtocolError as refusal:
            assert refusal.code
            assert read.accept(body) is None, path.name
