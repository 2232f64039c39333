"""`triptych schema`: self-contained schemas, and every fault of a document explained."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from triptych.engine import schemas
from triptych.errors import LocalProtocolError

SCRIPT = Path(sys.executable).with_name("triptych")
HELLO = {
    "type": "hello",
    "protocol": "termwright/3",
    "token": "t",
    "adapter": {"name": "my-probe", "version": "1.0.0"},
    "capabilities": ["tree"],
}


def run(*argv: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run([SCRIPT, "schema", *argv], capture_output=True, text=True, input=stdin, timeout=60, check=False)


@pytest.mark.parametrize("protocol", schemas.PROTOCOLS)
def test_every_message_is_a_valid_schema_that_stands_alone(protocol: str) -> None:
    for name in schemas.definitions(protocol):
        alone = schemas.schema(protocol, name)
        Draft202012Validator.check_schema(alone)
        Draft202012Validator(alone).is_valid({})  # a dangling reference would raise


def test_it_prints_a_schema_that_accepts_the_message() -> None:
    answer = run("termwright", "Hello")
    assert answer.returncode == 0
    Draft202012Validator(json.loads(answer.stdout)).validate(HELLO)


def test_the_list_names_every_message_with_a_sentence() -> None:
    lines = run("collector", "--list").stdout.splitlines()
    assert len(lines) == len(schemas.definitions("collector"))
    assert any(line.startswith("Observation ") and line.endswith(".") for line in lines)


def test_a_valid_document_is_said_to_be_valid(tmp_path: Path) -> None:
    file = tmp_path / "hello.json"
    file.write_text(json.dumps(HELLO))
    answer = run("termwright", "Hello", "--check", str(file))
    assert (answer.returncode, answer.stdout) == (0, f"{file}: a valid termwright Hello\n")


def test_every_fault_is_explained_with_its_path() -> None:
    wrong = {**HELLO, "capabilities": ["tree", "flight"], "adapter": {"name": ""}, "more": 1}
    answer = run("termwright", "AdapterMessage", "--check", "-", "--json", stdin=json.dumps(wrong))
    assert answer.returncode == 1
    report = json.loads(answer.stdout)
    assert report["valid"] is False
    assert {fault["path"] for fault in report["faults"]} == {"", "capabilities.1", "adapter", "adapter.name"}


@pytest.mark.parametrize(("argv", "code"), [(("nonsense",), 2), (("termwright", "--check", "-"), 2), (("termwright", "Nothing"), 1)])
def test_what_is_not_there_is_refused(argv: tuple[str, ...], code: int) -> None:
    answer = run(*argv)
    assert answer.returncode == code
    assert answer.stdout == ""
    assert "Traceback" not in answer.stderr


def test_a_document_that_is_not_json_is_one_line() -> None:
    answer = run("termwright", "Hello", "--check", "-", stdin="{")
    assert answer.returncode == 1
    assert "is not JSON" in answer.stderr
    assert "Traceback" not in answer.stderr


def test_codes_of_the_library() -> None:
    with pytest.raises(LocalProtocolError) as refused:
        schemas.schema("termwright", "Hallo")
    assert refused.value.code == "unknown-message"
    with pytest.raises(LocalProtocolError) as refused:
        schemas.schema("x11")
    assert refused.value.code == "unknown-protocol"
