"""The fuzz of the engine process holds for a few seconds, and it notices what it is there to notice."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from triptych.tools import fuzz_desklink

pytestmark = [pytest.mark.display, pytest.mark.slow]

#: An engine that answers each request as the test says. `{id}` is the request's.
BAD_ENGINE = """
import json, sys
for line in sys.stdin.buffer:
    try:
        request = json.loads(line)["id"]
    except Exception:
        continue
    print({answer!r}.replace("ID", str(request)), flush=True)
"""


def test_the_engine_ends_alive_and_answering(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kept = tmp_path / "lines"
    assert fuzz_desklink.main(["--seconds", "4", "--seed", "11", "--keep", str(kept)]) == 0
    told = capsys.readouterr().out
    assert told.startswith("desklink: ")
    for word in ("malformed", "operation", "opened", "session.state"):
        assert f"{word} " in told
    assert not kept.exists()


@pytest.mark.parametrize(
    ("answer", "complaint"),
    [
        ('{"id":ID,"error":{"code":"oops","message":""}}', "'oops' is not documented"),
        ('{"id":ID,"result":{}}\n{"id":ID,"result":{}}', "was answered twice"),
        ("hello", "it said b'hello'"),
        ('{"event":"session.state","params":{}}', "it said"),
    ],
)
def test_an_engine_that_does_what_it_must_not_is_told(
    answer: str, complaint: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    program = BAD_ENGINE.format(answer=answer)
    monkeypatch.setattr(fuzz_desklink, "triptych_command", lambda *_: [sys.executable, "-c", program])
    assert not fuzz_desklink.fuzz(20.0, 1, tmp_path / "lines")
    assert complaint in capsys.readouterr().err
    assert (tmp_path / "lines").read_bytes()


def test_an_engine_that_ends_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    program = "import sys; sys.stdin.buffer.readline()"
    monkeypatch.setattr(fuzz_desklink, "triptych_command", lambda *_: [sys.executable, "-c", program])
    assert not fuzz_desklink.fuzz(20.0, 1, tmp_path / "lines")
    assert "the engine ended" in capsys.readouterr().err
