from __future__ import annotations

import os
import resource
import stat
from pathlib import Path

import pytest

from triptych.adapters.desklink.private_file import write_private
from triptych.errors import RemoteProtocolError


@pytest.fixture
def private(tmp_path: Path) -> Path:
    folder = tmp_path / "private"
    folder.mkdir(mode=0o700)
    return folder


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def refused(path: Path | str) -> str:
    with pytest.raises(RemoteProtocolError) as caught:
        write_private(str(path), b"pixels")
    assert (caught.value.code, caught.value.path) == ("frame", "path")
    return caught.value.detail


def test_the_file_is_private_whole_and_replaced(private: Path) -> None:
    old = os.umask(0)
    try:
        write_private(str(private / "f.raw"), b"one")
    finally:
        os.umask(old)
    assert stat.S_IMODE((private / "f.raw").stat().st_mode) == 0o600
    reader = (private / "f.raw").open("rb")
    with reader:
        write_private(str(private / "f.raw"), memoryview(bytearray(b"other")))
        # A consumer that still has the old file open reads the old frame, never a mixture.
        assert reader.read() == b"one"
    assert (private / "f.raw").read_bytes() == b"other"
    assert names(private) == ["f.raw"]


@pytest.mark.parametrize("mode", [0o701, 0o710, 0o750, 0o755, 0o1777, 0o704])
def test_a_directory_open_to_others_is_refused(private: Path, mode: int) -> None:
    private.chmod(mode)
    refused(private / "f.raw")
    assert names(private) == []


def test_a_missing_directory_is_not_made(private: Path) -> None:
    refused(private / "no" / "f.raw")
    assert names(private) == []


def test_links_are_not_followed(private: Path) -> None:
    secret = private / "secret"
    secret.write_text("keep")
    (private / "link").symlink_to(secret)
    refused(private / "link")
    (private / "dangling").symlink_to(private / "made")
    refused(private / "dangling")
    (private.parent / "alias").symlink_to(private)
    refused(private.parent / "alias" / "f.raw")
    assert names(private) == ["dangling", "link", "secret"]
    assert secret.read_text() == "keep"


def test_only_regular_files_are_replaced(private: Path) -> None:
    os.mkfifo(private / "fifo")
    refused(private / "fifo")
    (private / "folder").mkdir()
    refused(private / "folder")
    assert names(private) == ["fifo", "folder"]


@pytest.mark.parametrize("path", ["", "/", "/tmp/", ".", "..", "/tmp/..", "a\0b", "/tmp/\0/x", "/\ud800/x", "x" * 5000])
def test_paths_that_name_no_file(path: str, monkeypatch: pytest.MonkeyPatch, private: Path) -> None:
    monkeypatch.chdir(private)
    refused(path)
    assert names(private) == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a directory of another user")
def test_a_directory_of_another_user_is_refused(private: Path) -> None:
    os.chown(private, 1, 1)
    assert "user 1" in refused(private / "f.raw")


def test_a_full_disk_leaves_the_old_file_and_no_scrap(private: Path) -> None:
    write_private(str(private / "f.raw"), b"old")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4, hard))
    try:
        refused(private / "f.raw")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert (private / "f.raw").read_bytes() == b"old"
    assert names(private) == ["f.raw"]
