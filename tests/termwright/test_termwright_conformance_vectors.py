"""`--vectors`: every case of every format is run, a wrong expectation is found in each, and our own vectors are current."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from shared_data import data
from triptych.engine.conformance.vectors import run_vectors
from triptych.engine.conformance_command import conformance_command
from triptych.errors import Unavailable
from triptych.tools import gen_vectors

OURS = Path(__file__).parents[1] / "vectors" / "termwright"
FORMATS = ("constants", "framing", "framing-extra", "marker", "messages", "messages-extra", "observations",
           "snapshots", "snapshots-extra", "deltas-v3", "accesskit-v3", "logs-extra")  # fmt: skip


def command(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(conformance_command, ["termwright", *arguments])
    return result.exit_code, result.output


def test_our_vectors_are_what_the_generator_writes() -> None:
    assert {path.stem for path in OURS.glob("*.json")} == set(gen_vectors.FILES)
    for name, make in gen_vectors.FILES.items():
        assert gen_vectors.written(make()) == (OURS / f"{name}.json").read_text(), name


def test_the_generator_refuses_what_our_library_does_not_say() -> None:
    document = json.loads((OURS / "logs.json").read_text())
    document["cases"][0] = {**document["cases"][0], "ok": False, "code": "schema"}
    assert list(gen_vectors.disagreements("logs", document)) == ["logs whole: stated schema, our library says ok"]
    assert list(gen_vectors.disagreements("logs", {"cases": []})) == ["logs: no known format"]


def test_our_vectors_pass() -> None:
    tally = run_vectors(OURS)
    assert tally.mismatches == []
    assert tally.untestable == []
    assert tally.files == len(gen_vectors.FILES)
    assert tally.cases > 400


def test_the_recorded_vectors_pass() -> None:
    tally = run_vectors(data("termwright"))
    assert tally.mismatches == []
    assert tally.files == len(FORMATS)
    assert {name for name, _ in tally.untestable} == {"constants.json", "deltas-v3.json", "framing-extra.json"}
    assert tally.ignored == ["real-textual-8.2.8-first-semantic-full.json"]


def flip(group: str, place: int = 0, *, key: str = "code", value: object = "internal") -> Callable[[Any], None]:
    def edit(document: Any) -> None:
        cases = document
        for part in group.split("."):
            cases = cases[part]
        case = cases[place]
        case[key] = value
        if key == "code" and case.get("ok") is True:
            case["ok"] = False

    return edit


def put(key: str, value: object) -> Callable[[Any], None]:
    return lambda document: document.__setitem__(key, value)


TAMPERED: list[tuple[str, Callable[[Any], None]]] = [
    ("constants", put("markerOscCode", 8488)),
    ("constants", lambda document: document["roles"].append("slider")),
    ("constants", lambda document: document["nodeKeys"].reverse()),
    ("framing", flip("reject")),
    ("framing", flip("decode", key="messages", value=[])),
    ("framing", flip("encode", key="frameHex", value="00")),
    ("framing-extra", flip("decode")),
    ("framing-extra", flip("decode", key="buffered", value=3)),
    ("framing-extra", flip("decode", 1, key="afterwards", value="frame-malformed")),
    ("framing-extra", flip("ceilings")),
    ("framing-extra", flip("encode", 5, key="body", value="{}")),
    ("framing-extra", lambda document: document["framedQuirks"]["framed_depth1"].update(ok=True)),
    ("framing-extra", lambda document: document["framedQuirks"]["framed_depth5"].update(ok=False, code="malformed")),
    ("marker", flip("encode", key="mac", value="A" * 22)),
    ("marker", flip("acceptTerminators", key="payload", value="twm;42")),
    ("marker", lambda document: document["verifyReject"].append(document["acceptTerminators"][0])),
    ("messages", flip("adapterToDriver.reject")),
    ("messages", lambda document: document["driverToAdapter"]["accept"].append(document["driverToAdapter"]["reject"][0])),
    ("messages-extra", flip("adapterToDriver")),
    ("messages-extra", flip("driverToAdapter", 1)),
    ("observations", put("statuses", ["known"])),
    ("observations", flip("examples", key="status", value="seen")),
    ("observations", lambda document: document["geometryCases"][1]["expect"].update(ratio=0.5)),
    ("observations", lambda document: document["qualifiedSnapshot"].update(rows=0)),
    ("snapshots", flip("reject")),
    ("snapshots", lambda document: document["accept"].append(document["reject"][0])),
    ("snapshots-extra", flip("cases")),
    ("snapshots-extra", flip("limitCases")),
    ("deltas-v3", flip("apply", 1)),
    ("deltas-v3", flip("apply", key="changedNodeIds", value=["a"])),
    ("deltas-v3", flip("apply", 1, key="resyncRequired", value=True)),
    ("deltas-v3", flip("diff", key="delta", value={})),
    ("accesskit-v3", lambda document: document["roleMap"].update(tab="tabPanel")),
    ("accesskit-v3", lambda document: document["ids"].append(["root", 1])),
    ("accesskit-v3", flip("cases", key="expect", value={})),
    ("logs-extra", flip("cases")),
]


@pytest.mark.parametrize(("name", "edit"), TAMPERED, ids=[f"{index}-{name}" for index, (name, _) in enumerate(TAMPERED)])
def test_a_wrong_expectation_is_found(tmp_path: Path, name: str, edit: Callable[[Any], None]) -> None:
    document = json.loads(data("termwright", f"{name}.json").read_text())
    edit(document)
    (tmp_path / "renamed.json").write_text(json.dumps(document))  # the format is known by its content
    status, output = command("--vectors", str(tmp_path))
    assert status == 1, output
    assert "mismatch  renamed.json  " in output
    assert "1 files" in output
    assert " 0 mismatches" not in output


def test_cases_that_were_never_seen(tmp_path: Path) -> None:
    """Other ceilings, other quirks, other nests, observations of other kinds."""
    evidence = {"source": "driver", "method": "measured", "strength": "diagnostic", "providerId": "p"}
    known = {"status": "known", "evidence": evidence}
    nest = b'[{"a":' * 5000
    documents = {
        "framing": {
            "decode": [
                {"name": "one-over-the-ceiling", "chunksHex": ["00000011"], "ok": False, "code": "frame-oversized", "messages": []},
                {"name": "own-ceiling", "max": 3, "chunksHex": ["00000003312c"], "ok": True, "messages": []},
                {"name": "cut", "chunksHex": [((8 * 5000 + 1).to_bytes(4, "big") + nest[:120]).hex()], "chunkBytes": [40005],
                 "ok": False, "code": "dto-depth"},
                {"name": "cut-for-good", "chunksHex": ["00000010" + "31"], "chunkBytes": [20], "ok": True},
            ],
            "ceilings": [{"max": "1e3", "ok": True}, {"max": "Infinity", "ok": False, "code": "frame-malformed"}],
            "framedQuirks": {"framed_depth2": {"ok": True}, "unframed_depth7": {"ok": True}, "unheard_of": {"ok": True}},
        },
        "observations": {
            "statuses": ["unknown", "known", "absent", "unsupported"],
            "examples": [
                {**known, "value": {"axis": "vertical", "offset": 0, "viewport": 1, "extent": 2}},
                {**known, "value": {"regionBounds": {"row": 0, "column": 0, "width": 2, "height": 1}, "spans": []}},
                {**known, "value": "Ada", "sensitivity": "public"},
                {**known, "value": "framework-local-cells"},
                {"status": "withheld", "reason": "sensitive", "sensitivity": "sensitive"},
            ],
            "geometryCases": [
                {"name": "above", "rect": {"row": -2, "column": -1, "width": 4, "height": 4}, "columns": 10, "rows": 5,
                 "expect": {"rect": {"row": 0, "column": 0, "width": 3, "height": 2}, "ratio": 0.375, "fullyInside": False}},
            ],
        },
        "unreadable": {"adapterToDriver": [{"name": "no message", "ok": True}]},
        "other": {"cases": 7},
    }  # fmt: skip
    for name, document in documents.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(document))
    (tmp_path / "broken.json").write_text("{")
    tally = run_vectors(tmp_path)
    assert [(name, verdict.case) for name, verdict in tally.mismatches] == [
        ("broken.json", "(the file)"),
        ("unreadable.json", "after (first case)"),
    ]
    assert [(name, case.case) for name, case in tally.untestable] == [("framing.json", "cut-for-good"), ("framing.json", "unheard_of")]
    assert tally.ignored == ["other.json"]


def test_a_folder_without_vectors_is_no_success(tmp_path: Path) -> None:
    with pytest.raises(Unavailable):
        run_vectors(tmp_path)


def test_the_command_counts_and_succeeds() -> None:
    status, output = command("--vectors", str(OURS))
    assert status == 0
    assert output.splitlines()[-1].endswith("cases, 0 mismatches, 0 not run")


def test_one_bad_file_does_not_end_the_run(tmp_path: Path) -> None:
    (tmp_path / "a folder.json").mkdir()
    (tmp_path / "dangling.json").symlink_to(tmp_path / "nowhere")
    (tmp_path / "delta.json").write_text('{"committed": 5, "apply": [{"name": "a", "delta": {}, "code": "schema"}]}')
    (tmp_path / "not a number.json").write_text('{"protocolId": NaN}')
    (tmp_path / "whole.json").write_text((OURS / "marker.json").read_text())
    tally = run_vectors(tmp_path)
    assert [name for name, _ in tally.mismatches] == ["a folder.json", "dangling.json", "delta.json", "not a number.json"]
    assert tally.cases > 10


def test_what_a_vector_is_called_cannot_touch_the_terminal(tmp_path: Path) -> None:
    name = "\x1b[31mred\nmismatch  forged\ud800"
    (tmp_path / "a\x1b[2J.json").write_text(json.dumps({"reject": [{"name": name, "snapshot": {}, "code": name}]}))
    code, printed = command("--vectors", str(tmp_path))
    assert code == 1
    assert len(printed.splitlines()) == 2
    assert all(character.isprintable() for line in printed.splitlines() for character in line)


@pytest.mark.parametrize(
    "document",
    [
        {"framedQuirks": {"framed_depth5": {"ok": True, "snapshotBytes": 3_000_000_000}}},
        {"decode": [{"name": "nest", "chunksHex": ["7fffffff5b5b5b"], "chunkBytes": [0x7FFFFFFF + 4], "code": "dto-depth"}]},
    ],
)
def test_a_size_beyond_every_ceiling_is_not_made(tmp_path: Path, document: Any) -> None:
    (tmp_path / "huge.json").write_text(json.dumps(document))
    tally = run_vectors(tmp_path)
    assert (tally.cases, len(tally.untestable)) == (0, 1)


def test_an_integer_beyond_every_double_is_refused_as_such(tmp_path: Path) -> None:
    case = json.dumps({"cases": [{"name": "huge", "record": {"ts": 1, "level": "info", "message": "", "seq": 0}, "code": "schema"}]})
    (tmp_path / "huge.json").write_text(case.replace('"seq": 0', f'"seq": {"9" * 5000}'))
    assert run_vectors(tmp_path).mismatches == []
