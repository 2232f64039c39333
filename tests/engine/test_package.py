"""The package as others get it: a source archive that builds everywhere, and a wheel that holds what runs and no more."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def setup(folder: Path, *arguments: str, **env: str) -> str:
    done = subprocess.run(
        [sys.executable, "setup.py", *arguments],
        cwd=folder,
        env={**os.environ, **env},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The source archive, unpacked. Nothing is written into the checkout."""
    folder = tmp_path_factory.mktemp("package")
    (folder / "egg").mkdir()
    setup(ROOT, "-q", "egg_info", "--egg-base", str(folder / "egg"), "sdist", "--dist-dir", str(folder))
    [archive] = folder.glob("*.tar.gz")
    with tarfile.open(archive) as packed:
        packed.extractall(folder, filter="data")
    return folder / archive.name.removesuffix(".tar.gz")


def wheel(source: Path, folder: Path, **env: str) -> tuple[set[str], str]:
    """What a wheel of it holds, and what was said while it was made."""
    said = setup(source, "build", "--build-base", str(folder / "build"), "bdist_wheel", "--dist-dir", str(folder), **env)
    [made] = folder.glob("*.whl")
    with zipfile.ZipFile(made) as packed:
        return set(packed.namelist()), said


def test_the_source_archive_is_the_checkout(source: Path) -> None:
    for path in (
        *("Makefile", "constraints.txt", ".ci/run", "tools/templates/msgspec.jinja2", "tools/setup.sh", "native/linux/x11_keymap.c"),
        *("native/common/tiles.h", "schemas/README.md", "docs/conf.py", "tests/pytest.ini", "benchmarks/run.py"),
    ):
        assert (source / path).is_file(), path
    assert not [*source.rglob("*.so"), *source.rglob("*.pyc")]


def test_the_wheel_holds_what_runs(source: Path, tmp_path: Path) -> None:
    files, _ = wheel(source, tmp_path)
    assert {"triptych/py.typed", "triptych/errors.py", "triptych/native/linux/_x11.pyi", "triptych/native/linux/_x11.abi3.so"} <= files
    assert "triptych/schemas/desklink/limits.schema.json" in files
    assert "triptych/setup.py" not in files
    rooms = {name.split("/")[1] for name in files if name.startswith("triptych/") and name.count("/") > 1}
    assert rooms == {"adapters", "engine", "generated", "machines", "native", "schemas"}


def test_without_a_compiler_all_the_rest_is_there(source: Path, tmp_path: Path) -> None:
    files, said = wheel(source, tmp_path, CC="false")
    assert "triptych/machines/desklink/engine.py" in files
    assert not [name for name in files if name.endswith(".so")]
    assert "triptych doctor" in said


def test_in_a_checkout_a_helper_that_does_not_build_is_an_error(source: Path) -> None:
    done = subprocess.run(
        [sys.executable, "setup.py", "-q", "build_ext", "--inplace", "--force"],
        cwd=source,
        env={**os.environ, "CC": "false"},
        capture_output=True,
        timeout=120,
        check=False,
    )
    assert done.returncode != 0
