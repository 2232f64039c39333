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


@pytest.mark.parametrize(
    ("command", "program"),
    [
        ("/usr/bin/flatpak run --branch=stable --arch=x86_64 --command=gedit --file-forwarding org.gnome.gedit @@u %U @@", "gedit"),
        ("flatpak run --command=/app/bin/kate org.kde.kate", "kate"),
        ("env BAMF_DESKTOP_FILE_HINT=/var/lib/snapd/desktop/applications/code_code.desktop /snap/bin/code %F", "code"),
    ],
)
def test_what_flatpak_and_snap_start_is_known_by_the_program_inside(folders: Folders, command: str, program: str) -> None:
    folders.write(folders.first, "org.example.App.desktop", f"Exec={command}")
    assert folders.files.find((), program) == "org.example.App.desktop"
    assert folders.files.find((), "flatpak") is None


def test_a_sandbox_that_names_no_program_is_known_by_its_id_only(folders: Folders) -> None:
    folders.write(folders.first, "org.example.App.desktop", "Exec=flatpak run --command=python3 org.example.App")
    folders.write(folders.first, "org.example.Other.desktop", "Exec=flatpak run org.example.Other")
    assert folders.files.find((), "python3") is None
    assert folders.files.find((), "org.example.Other") is None
    assert folders.files.find(("org.example.Other",), "python3") == "org.example.Other.desktop"


def test_the_exports_of_flatpak_and_snap_are_searched_last(tmp_path: Path) -> None:
    home, system = tmp_path / "home", tmp_path / "system"
    exports = home / "flatpak" / "exports" / "share"
    made = Folders(tmp_path)
    files = DesktopFiles({"XDG_DATA_HOME": str(home), "XDG_DATA_DIRS": str(made.first)}, sandboxed=(str(system),))
    made.write(exports, "org.example.Mine.desktop", "Exec=mine")
    made.write(system, "org.example.Theirs.desktop", "Exec=theirs")
    made.write(system, "org.example.Hidden.desktop", "Exec=hidden")
    made.write(home, "org.example.Hidden.desktop", "Hidden=true")
    assert files.find(("org.example.mine",), None) == "org.example.Mine.desktop"
    assert files.find((), "theirs") == "org.example.Theirs.desktop"
    assert files.find((), "hidden") is None


def test_a_browser_is_one_by_its_own_word(folders: Folders) -> None:
    folders.write(folders.first, "web.desktop", "Exec=web", "Categories=GNOME;Network;WebBrowser;")
    folders.write(folders.first, "mail.desktop", "Exec=mail", "Categories=Network;Email;")
    web, mail = folders.files.entry((), "web"), folders.files.entry((), "mail")
    assert web is not None and web.is_browser
    assert mail is not None and not mail.is_browser
