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


@pytest.mark.parametrize(("argv", "code"), [(("nonsense",), 2), (("termwright", "--check", "-"), 2), (("termwright", "Nothing"), 2)])
def test_what_is_not_there_is_refused(argv: tuple[str, ...], code: int) -> None:
    answer = run(*argv)
    assert answer.returncode == code
    assert answer.stdout == ""
    assert "Traceback" not in answer.stderr


def test_a_document_that_is_not_json_is_one_line() -> None:
    answer = run("termwright", "Hello", "--check", "-", stdin="{")
    assert (answer.returncode, answer.stderr) == (1, "")
    assert answer.stdout.startswith("(document): is not JSON as termwright reads it: ")
    assert answer.stdout.count("\n") == 1


@pytest.mark.parametrize(
    ("protocol", "message", "body", "path", "says"),
    [
        ("termwright", "Hello", b'{"type":"hello","token":NaN}', "", "NaN"),
        ("termwright", "Hello", b'{"type":"\\ud800"}', "", "surrogate"),
        ("termwright", "Hello", b'{"__proto__":1}', "", "reserved"),
        ("collector", "ReceivedCommand", b'{"type":"pause","type":"pause"}', "", "twice"),
        ("collector", "ReceivedConfigure", b'{"type":"configure","revision":1.0,"policy":{}}', "revision", "1.0 is not of type"),
        ("desklink", "Request", b'{"id":1.0,"method":"shutdown"}', "id", "1.0 is not of type"),
        ("desklink", "Request", b'{"id":' + b"1" * 6000 + b',"method":"shutdown"}', "", "no double"),
        ("collector", "Configured", b'{"v":1,"type":"configured","revision":1e999}', "revision", "inf is not of type"),
        ("collector", "BrowserPayload", b"[" + b"1," * 5000 + b"1]", "", " ..."),
    ],
)
def test_text_and_numbers_are_read_as_on_the_wire(protocol: str, message: str, body: bytes, path: str, says: str) -> None:
    found = schemas.faults(protocol, message, body)
    assert [fault.path for fault in found if says in fault.detail] == [path]
    assert all(len(fault.detail) < 400 for fault in found)


def test_what_the_wire_takes_is_valid_and_what_no_schema_can_say_is_not() -> None:
    assert schemas.faults("collector", "Configured", b'{"v":1,"type":"configured","revision":1.0}') == []
    assert schemas.faults("collector", "Configured", b'{"v":1,"type":"configured","revision":1,"revision":2}') == []
    page = {
        "source": "browser",
        "origin": "http://a:80",
        "path": "/",
        "browserSession": "s",
        "seq": 1,
        "observedAtMs": 1,
        "incognito": False,
    }
    [fault] = schemas.faults("collector", "CompanionPayload", json.dumps(page).encode())
    assert fault.path == "origin"


def test_codes_of_the_library() -> None:
    with pytest.raises(LocalProtocolError) as refused:
        schemas.schema("termwright", "Hallo")
    assert refused.value.code == "unknown-message"
    with pytest.raises(LocalProtocolError) as refused:
        schemas.schema("x11")
    assert refused.value.code == "unknown-protocol"
