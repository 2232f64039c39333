"""What is checked in is what `make gen` writes, whatever the hash seed; and nothing else lies where only generated files belong."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from triptych.tools.bundle import REPOSITORY, SCHEMAS

PROTOCOLS = sorted(path.name for path in SCHEMAS.iterdir() if path.is_dir())
BANNER = "Written by `make gen`"


def generate(out: Path, seed: str) -> dict[str, bytes]:
    command = [sys.executable, "-m", "triptych.tools.gen", *PROTOCOLS, "--out", str(out)]
    run = subprocess.run(command, env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True, text=True, check=False, timeout=300)
    assert run.returncode == 0, run.stderr
    return {str(path.relative_to(out)): path.read_bytes() for path in sorted(out.rglob("*")) if path.is_file()}


@pytest.mark.slow
def test_generated_twice_and_checked_in_are_the_same_bytes(tmp_path: Path) -> None:
    first, second = generate(tmp_path / "one", "0"), generate(tmp_path / "two", "4711")
    assert first == second
    assert len(first) == 5 * len(PROTOCOLS)
    for name, content in first.items():
        assert (REPOSITORY / name).read_bytes() == content, f"{name} differs from the schemas: run `make gen`"


def test_every_generated_file_says_so() -> None:
    for protocol in PROTOCOLS:
        folder = REPOSITORY / "generated" / protocol
        files = sorted(path for path in folder.glob("*.py") if path.name != "__init__.py")
        assert {path.name for path in files} >= {"models.py", "validators.py", "vocabulary.py"}
        for path in files:
            assert BANNER in path.read_text(encoding="utf-8")[:200], path
    for path in (REPOSITORY / "tests" / "vectors" / "generated").iterdir():
        assert BANNER in path.read_text(encoding="utf-8")[:200], path


def test_generated_imports_only_msgspec() -> None:
    code = (
        "import sys\n"
        "before = set(sys.modules)\n"
        "import triptych.generated.{0}.validators, triptych.generated.{0}.vocabulary\n"
        "for make in triptych.generated.{0}.validators.DECODERS.values(): assert make() is make()\n"
        "new = {{name.partition('.')[0] for name in set(sys.modules) - before}} - set(sys.stdlib_module_names)\n"
        "assert new <= {{'triptych', 'msgspec', 'typing_extensions'}}, new\n"  # msgspec takes the last when it is there
        "own = {{name for name in sys.modules if name.startswith('triptych.')}}\n"
        "assert all(name.startswith('triptych.generated') for name in own), own\n"
    )
    for protocol in PROTOCOLS:
        subprocess.run([sys.executable, "-c", code.format(protocol)], check=True, timeout=60)
