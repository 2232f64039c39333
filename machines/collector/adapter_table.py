"""Says which applications are known and how each is treated: one ordered table of data, read alike by the host and by the collector.

An application that is not in the table is never recorded, whatever the policy allows. More entries come from a JSON document of the same
shape (schemas/collector/policy.schema.json, AdapterTable), given to both sides: `--adapter-table FILE`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Literal

from ...errors import LocalProtocolError, RemoteProtocolError
from ...generated.collector import models
from ...generated.collector.models import AdapterEntry, AdapterIds
from ..wire.read import Reader
from ..wire.text import COLLECTOR_COMMAND

BAD_TABLE = "adapter-table"

ADAPTER_DOCUMENT: Reader[models.AdapterTable] = Reader("collector", "AdapterTable", COLLECTOR_COMMAND)


class AdapterTable:
    """The entries in order, and the look-up by application id. The first entry that names an id has it."""

    def __init__(self, adapters: Iterable[AdapterEntry]) -> None:
        self.adapters = tuple(adapters)
        self._exact: dict[str, AdapterEntry] = {}
        self._folded: dict[str, tuple[str, AdapterEntry]] = {}
        for adapter in self.adapters:
            for known in _ids(adapter):
                self._exact.setdefault(known, adapter)
                self._folded.setdefault(known.casefold(), (known, adapter))

    def __iter__(self) -> Iterator[str]:
        """Every known application id, in table order."""
        return iter(self._exact)

    def find(self, bundle_id: str) -> AdapterEntry | None:
        """The entry of an application as the host looks it up: `.exe` names in any case, every other id exactly."""
        if bundle_id[-4:].casefold() == ".exe":
            return self._folded.get(bundle_id.casefold(), (None, None))[1]
        return self._exact.get(bundle_id)

    def spelled(self, bundle_id: str) -> tuple[str, AdapterEntry] | None:
        """The table's own spelling of an id in any case, with its entry: a collector reports this spelling, so that the host finds it."""
        return self._folded.get(bundle_id.casefold())

    def extended(self, document: bytes, *, known: Literal["refused", "kept"] = "refused") -> AdapterTable:
        """This table with the entries of a JSON document after its own. An application known already is refused, or keeps its entry.

        Raises LocalProtocolError (code `adapter-table`).
        """
        try:
            more = ADAPTER_DOCUMENT.read(document).adapters
        except RemoteProtocolError as error:
            raise LocalProtocolError(BAD_TABLE, error.detail, error.path) from None
        if known == "refused":
            for adapter in more:
                for named in _ids(adapter):
                    if named in self._exact:
                        raise LocalProtocolError(BAD_TABLE, f"{named} is known already, as {self._exact[named].id}", adapter.id)
        return AdapterTable((*self.adapters, *more))


def _ids(adapter: AdapterEntry) -> tuple[str, ...]:
    return (*adapter.ids.darwin, *adapter.ids.win32, *adapter.ids.linux)


def _entry(
    identifier: str,
    surface: models.AdapterSurfaceKind,
    *,
    darwin: Iterable[str] = (),
    win32: Iterable[str] = (),
    linux: Iterable[str] = (),
    titles: bool = True,
    document: models.DocumentResourceKind = "file",
    focus: models.FocusedElementPolicy = "require",
) -> AdapterEntry:
    return AdapterEntry(
        id=identifier,
        surface_kind=surface,
        suppresses_window_title=not titles,
        document_resource_kind=document,
        focused_element_policy=focus,
        ids=AdapterIds(darwin=tuple(darwin), win32=tuple(win32), linux=tuple(linux)),
    )


BUILT_IN = AdapterTable(
    (
        _entry(
            "vscode",
            "editor",
            # The last of these are what our editor companion declares itself to be.
            darwin=(
                "com.microsoft.VSCode",
                "com.todesktop.230313mzl4w4u92",
                "com.microsoft.VSCodeInsiders",
                "com.exafunction.windsurf",
                "com.vscodium",
            ),
            win32=("Code.exe",),
            linux=(
                "com.microsoft.VSCode.desktop",
                "code.desktop",
                "code-insiders.desktop",
                "com.visualstudio.code.desktop",
                "codium.desktop",
                "com.vscodium.codium.desktop",
            ),
        ),
        _entry("xcode", "editor", darwin=("com.apple.dt.Xcode",)),
        _entry("word", "document", darwin=("com.microsoft.Word",)),
        _entry("wps", "window", darwin=("com.kingsoft.wpsoffice.mac",)),
        _entry(
            "jetbrains",
            "editor",
            focus="window-only",
            darwin=(
                "com.google.android.studio",
                "com.jetbrains.intellij",
                "com.jetbrains.intellij.ce",
                "com.jetbrains.pycharm",
                "com.jetbrains.pycharm.ce",
                "com.jetbrains.goland",
                "com.jetbrains.webstorm",
                "com.jetbrains.clion",
                "com.jetbrains.rustrover",
                "com.jetbrains.datagrip",
            ),
        ),
        _entry("notes", "window", darwin=("com.apple.Notes",)),
        _entry("obsidian", "editor", darwin=("md.obsidian",)),
        # No native id: a browser is recorded through its companion only, since no platform tells private windows from others.
        _entry("browser", "browser", darwin=("companion.browser",)),
        _entry(
            "terminal",
            "terminal",
            titles=False,
            document="directory",
            darwin=("com.apple.Terminal", "com.googlecode.iterm2"),
            win32=("WindowsTerminal.exe",),
            linux=("org.gnome.Terminal.desktop", "org.kde.konsole.desktop"),
        ),
        _entry("preview", "document", darwin=("com.apple.Preview",)),
        _entry(
            "finder",
            "window",
            darwin=("com.apple.finder",),
            win32=("explorer.exe",),
            linux=("org.gnome.Nautilus.desktop", "org.kde.dolphin.desktop"),
        ),
        _entry("notepad", "editor", win32=("Notepad.exe",)),
        _entry("gedit", "editor", linux=("org.gnome.gedit.desktop",)),
        _entry("gnome-text-editor", "editor", linux=("org.gnome.TextEditor.desktop",)),
        _entry("kate", "editor", linux=("org.kde.kate.desktop", "org.kde.kwrite.desktop")),
        _entry("evince", "document", linux=("org.gnome.Evince.desktop",)),
        _entry(
            "libreoffice",
            "document",
            linux=(
                "libreoffice-startcenter.desktop",
                "libreoffice-writer.desktop",
                "libreoffice-calc.desktop",
                "libreoffice-impress.desktop",
                "libreoffice-draw.desktop",
                "libreoffice-base.desktop",
                "libreoffice-math.desktop",
                "org.libreoffice.LibreOffice.desktop",
                "org.libreoffice.LibreOffice.writer.desktop",
                "org.libreoffice.LibreOffice.calc.desktop",
                "org.libreoffice.LibreOffice.impress.desktop",
                "org.libreoffice.LibreOffice.draw.desktop",
                "org.libreoffice.LibreOffice.base.desktop",
                "org.libreoffice.LibreOffice.math.desktop",
            ),
        ),
    )
)
