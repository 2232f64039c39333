"""How one fact looks on each platform, and how an observation of it must look on the wire: AX, UIA and AT-SPI beside each other.

collector_stories.py tells the stories in platform-neutral words; the suite and tools/gen_collector_vectors.py write them down by this.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from ...generated.collector.models import Platform
from ...generated.collector.vocabulary import PROTECTED_ADAPTER, PROVIDER_OF_PLATFORM

PLATFORMS: tuple[Platform, ...] = ("darwin", "win32", "linux")
#: What the steps of a platform are called.
SHAPES: Mapping[Platform, Literal["ax", "uia", "at-spi"]] = {"darwin": "ax", "win32": "uia", "linux": "at-spi"}
PID = 4242


@dataclass(frozen=True)
class App:
    """An application on each platform: its id, its name as it is reported, and the program that runs it on Linux."""

    adapter: str
    ids: tuple[str, str, str]  #: in the order of PLATFORMS
    names: tuple[str, str, str]
    program: str

    def id_on(self, platform: Platform) -> str:
        """Its application id."""
        return self.ids[PLATFORMS.index(platform)]

    def name_on(self, platform: Platform) -> str:
        """Its name."""
        return self.names[PLATFORMS.index(platform)]


EDITOR = App("vscode", ("com.microsoft.VSCode", "Code.exe", "code.desktop"), ("Code", "Code", "Code"), "code")
TERMINAL = App(
    "terminal",
    ("com.apple.Terminal", "WindowsTerminal.exe", "org.gnome.Terminal.desktop"),
    ("Terminal", "WindowsTerminal", "gnome-terminal-server"),
    "gnome-terminal-server",
)
FILES = App("finder", ("com.apple.finder", "explorer.exe", "org.gnome.Nautilus.desktop"), ("Finder", "explorer", "nautilus"), "nautilus")
#: A password manager, which is protected under any policy and is in no adapter table.
VAULT = App(PROTECTED_ADAPTER, ("com.1password.1password", "1Password.exe", "1password.desktop"), ("", "", ""), "1password")
#: An application that no adapter table knows.
STRANGER = App("", ("com.example.Puzzle", "Puzzle.exe", "org.example.Puzzle.desktop"), ("Puzzle", "Puzzle", "Puzzle"), "puzzle")
#: An application whose focused element need not be known.
WINDOW_ONLY = App("jetbrains", ("com.jetbrains.pycharm", "", ""), ("PyCharm", "", ""), "")


@dataclass(frozen=True)
class Element:
    """A focused element, as each platform tells of it; `roles` are None where it has none that may be told."""

    focus: tuple[dict[str, Any], dict[str, Any], dict[str, Any]]
    roles: tuple[str, str, str] | None = None


def _readable(ax: str, control_type: int, role: int, role_name: str) -> Element:
    return Element(
        (
            {"error": 0, "role": ax, "subroleError": -25212},
            {"error": 0, "controlType": control_type, "isPassword": False},
            {"answered": True, "onBus": True, "focused": [{"role": role, "roleName": role_name}]},
        ),
        (ax, f"ControlType.{control_type}", role_name),
    )


TEXT = _readable("AXTextArea", 50030, 61, "text")
ITEM = _readable("AXRow", 50007, 32, "list item")
PASSWORD = Element(
    (
        {"error": 0, "role": "AXTextField", "subrole": "AXSecureTextField"},
        {"error": 0, "controlType": 50004, "isPassword": True},
        {"answered": True, "onBus": True, "focused": [{"role": 40, "roleName": "password text"}]},
    )
)
UNQUERYABLE = Element(({"error": -25202}, {"error": 0x80040204}, {"answered": True, "onBus": False}))
UNREADABLE = Element(({"error": -25204}, {"error": 0x80131505}, {"answered": False, "onBus": True}))


@dataclass(frozen=True)
class Look:
    """What is seen at one moment. Without `app` nobody is in front."""

    app: App | None = None
    title: str = ""
    element: Element = TEXT
    idle: float | None = None
    document: str = ""  #: told on macOS only: the others have none
    trusted: bool = True
    reason: str = ""
    power: Literal["sleep", "wake", ""] = ""


@dataclass(frozen=True)
class Seen:
    """One observation that must come. A collector may leave out what is `optional`, and give a `reason` or not where that is empty."""

    app: App
    title: str | None = None
    element: Element | None = None
    idle: float | None = None
    document: str | None = None
    secure: bool = False
    protected: bool = False
    reason: str = ""
    optional: bool = False


def step(look: Look, platform: Platform) -> dict[str, Any]:
    """The line of the fixture for this moment."""
    place = PLATFORMS.index(platform)
    line: dict[str, Any] = {"type": SHAPES[platform]}
    if look.app is not None:
        line["application"] = _application(look.app, platform)
        line["window"] = _window(look, platform)
        line["focus"] = look.element.focus[place]
    if look.idle is not None:
        line["idleSeconds"] = look.idle
    if not look.trusted:
        line["availability"] = {"trusted": False, "reason": look.reason}
    if look.power:
        line["power"] = look.power
    return line


def observation(seen: Seen, platform: Platform) -> dict[str, Any]:
    """The observation, without session, sequence number, time and the provider, all of which other checks look at."""
    role = seen.element.roles[PLATFORMS.index(platform)] if seen.element is not None and seen.element.roles else None
    return {
        "app": {"pid": PID, "bundleId": seen.app.id_on(platform), "name": None if seen.protected else seen.app.name_on(platform)},
        "window": {"title": seen.title, "document": seen.document, "url": None},
        "element": {"role": role, "subrole": None, "identifier": None},
        "privacy": {"secure": seen.secure, "protected": seen.protected, "reason": seen.reason or None},
        "source": {"adapter": seen.app.adapter, "provider": PROVIDER_OF_PLATFORM[platform]},
        "activity": {"idleSeconds": seen.idle},
    }


def _application(app: App, platform: Platform) -> dict[str, Any]:
    if platform == "darwin":
        return {"pid": PID, "bundleIdentifier": app.id_on(platform), "localizedName": app.name_on(platform) or app.program}
    if platform == "win32":
        return {"pid": PID, "image": app.id_on(platform)}
    return {"pid": PID, "program": app.program, "desktopFile": app.id_on(platform)}


def _window(look: Look, platform: Platform) -> dict[str, Any]:
    window: dict[str, Any] = {"title": look.title} if look.title else {}
    if platform == "darwin" and look.document:
        window["document"] = look.document
    if platform == "linux" and look.app is not None:
        window["applicationName"] = look.app.name_on(platform) or look.app.program
    return window
