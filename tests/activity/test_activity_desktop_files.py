"""Which `.desktop` id a program has, over real folders of files."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from triptych.adapters.collector.desktop_files import DesktopFiles


class Folders:
    def __init__(self, base: Path) -> None:
        self.home, self.first, self.second = (base / name for name in ("home", "first", "second"))
        self.files = DesktopFiles({"XDG_DATA_HOME": str(self.home), "XDG_DATA_DIRS": f"{self.first}:relative:{self.second}"})

    def write(self, folder: Path, name: str, *lines: str) -> None:
        path = folder / "applications" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join(("[Desktop Entry]", "Type=Application", *lines, "")))


@pytest.fixture
def folders(tmp_path: Path) -> Folders:
    return Folders(tmp_path)


def test_a_window_class_names_it_in_any_case(folders: Folders) -> None:
    folders.write(folders.second, "org.example.Form.desktop", "Exec=python3 form.py", "StartupWMClass=GtkForm;other")
    assert folders.files.find(("gtkform", "x"), "python3.11") == "org.example.Form.desktop"
    assert folders.files.find(("OTHER",), None) == "org.example.Form.desktop"


def test_an_application_id_names_it_without_a_window_class(folders: Folders) -> None:
    folders.write(folders.first, "foot.desktop", "Exec=foot")
    assert folders.files.find(("foot",), None) == "foot.desktop"


def test_the_executable_names_it_last(folders: Folders) -> None:
    folders.write(folders.first, "org.gnome.gedit.desktop", "Exec=env GTK=1 /usr/bin/gedit --new %U")
    assert folders.files.find(("gedit-class",), "gedit") == "org.gnome.gedit.desktop"
    folders.write(folders.second, "second.desktop", "Exec=other", "StartupWMClass=gedit-class")
    assert folders.files.find(("gedit-class",), "gedit") == "second.desktop"


@pytest.mark.parametrize("program", ["python3.11", "bash", "java", "node", "flatpak"])
def test_a_program_that_many_share_names_nothing(folders: Folders, program: str) -> None:
    folders.write(folders.first, "org.example.Form.desktop", f"Exec={program} form.py")
    assert folders.files.find((), program) is None


def test_an_earlier_folder_overrides_and_may_hide(folders: Folders) -> None:
    folders.write(folders.second, "a.desktop", "Exec=a", "StartupWMClass=old")
    folders.write(folders.first, "a.desktop", "Exec=a", "StartupWMClass=new")
    assert folders.files.find(("old",), None) is None
    assert folders.files.find(("new",), None) == "a.desktop"
    folders.write(folders.home, "a.desktop", "Hidden=true")
    os.utime(folders.home / "applications", ns=(1, 1))
    assert folders.files.find(("new",), "a") is None


def test_an_id_is_the_path_below_applications(folders: Folders) -> None:
    folders.write(folders.first, "kde/kate.desktop", "Exec=kate")
    assert folders.files.find((), "kate") == "kde-kate.desktop"


def test_only_the_main_group_counts_and_bad_files_are_no_error(folders: Folders) -> None:
    folders.write(folders.first, "a.desktop", "Exec=a", "[Desktop Action new]", "Exec=b", "StartupWMClass=action")
    (folders.first / "applications" / "bad.desktop").write_bytes(b"\xff\xfe\n[Desktop Entry]\nExec=\xff\n=\n")
    (folders.first / "applications" / "gone.desktop").symlink_to("/nonexistent")
    assert folders.files.find(("action",), "b") is None
    assert folders.files.find((), "a") == "a.desktop"


def test_a_file_that_is_added_later_is_found(folders: Folders) -> None:
    assert folders.files.find(("late",), None) is None
    folders.write(folders.first, "late.desktop", "Exec=late")
    assert folders.files.find(("late",), None) == "late.desktop"
