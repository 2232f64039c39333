"""The editor companion, as Node runs it: its own tests with a small `vscode`, and what a real intake has of it."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
from pathlib import Path

import pytest

from companion_kit import listening
from triptych.adapters.collector.bootstrap import EDITOR

PROGRAM = Path(__file__).parents[1] / "programs" / "companion_vscode.test.cjs"
NODE = shutil.which("node")


@pytest.mark.slow
def test_the_extension_under_node_and_a_real_intake(tmp_path: Path) -> None:
    if NODE is None:
        pytest.skip("node is not installed: apt install nodejs")

    async def main() -> None:
        async with listening() as running:
            intake = json.dumps({"port": running.port, "token": running.editor})
            env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "TMPDIR": str(tmp_path)}
            node = await asyncio.create_subprocess_exec(
                str(NODE),
                "--test",
                "--test-reporter=tap",
                str(PROGRAM),
                env={**env, "TRIPTYCH_EXTENSION": str(EDITOR), "TRIPTYCH_INTAKE": intake},
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.STDOUT,
            )
            said = (await asyncio.wait_for(node.communicate(), 60))[0].decode()
            assert node.returncode == 0, said
            assert "# skipped 0" in said and "# fail 0" in said, said
            assert [(facts.activity_event, facts.document, facts.surface_kind, root) for facts, root in running.delivered] == [
                (None, "/work/app/main.py", "diff", "/work/app"),
                ("save", "/work/app/main.py", "diff", "/work/app"),
                ("verify-test-failure", None, None, "/work/app"),
            ]
            first = running.delivered[0][0]
            assert (first.bundle_id, first.app_name, first.title, first.seq) == ("com.microsoft.VSCode", "Visual Studio Code", None, 1)

    asyncio.run(main())


def test_its_manifest_asks_for_nothing_that_it_does_not_use() -> None:
    about = json.loads((EDITOR / "package.json").read_text())
    assert (EDITOR / about["main"]).is_file() and (EDITOR / about["icon"]).is_file()
    assert about["extensionKind"] == ["ui"]  # where the intake is, not where a remote workspace is
    text = "\n".join(path.read_text() for path in EDITOR.glob("*.js"))
    registered = {name for name in (each["command"] for each in about["contributes"]["commands"]) if f'"{name}"' in text}
    assert len(registered) == len(about["contributes"]["commands"]) == text.count("registerCommand(")
    assert "getText" not in text and "selection" not in text and "clipboard" not in text and "lineAt" not in text
    assert "child_process" not in text and "eval(" not in text
