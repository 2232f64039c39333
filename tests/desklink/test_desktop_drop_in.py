"""`triptych-desklink` under a consumer that knows nothing of Triptych: a Node program, written from the protocol alone."""

from __future__ import annotations

import json
import shutil
import subprocess
import sysconfig
from pathlib import Path

import pytest

from triptych.adapters.display import PrivateDisplay

pytestmark = [
    pytest.mark.slow,
    pytest.mark.display,
    pytest.mark.skipif(shutil.which("node") is None, reason="no node: apt install nodejs"),
]

CONSUMER = Path(__file__).parent.parent / "programs" / "desklink_consumer.cjs"
ENGINE = Path(sysconfig.get_path("scripts")) / "triptych-desklink"


def test_a_consumer_that_was_written_for_any_engine_runs_with_this_one(bare_display: PrivateDisplay, tmp_path: Path) -> None:
    private = tmp_path / "private"
    private.mkdir(mode=0o700)
    command = ["node", str(CONSUMER), str(ENGINE), bare_display.name, str(private)]
    done = subprocess.run(command, env=bare_display.env, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["version"]
