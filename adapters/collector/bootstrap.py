"""Hands things to companions on this computer: where the shipped extensions lie, the editor's as a package, and a pairing file for it.

`activity pair` calls it. The pairing file is the person's alone (0600), valid for five minutes, and deleted by the editor that reads it. It
lies where the editor looks without being told, whatever data directory is recorded into.
"""

from __future__ import annotations

import json
import os
import stat
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from xml.sax.saxutils import escape

from ...errors import Unavailable
from ...generated.collector.vocabulary import PAIRING_FILE_TTL_MS

BROWSER = Path(__file__).parent / "companions" / "browser"
EDITOR = Path(__file__).parent / "companions" / "vscode"
PAIRING_FILE = "editor-pairing.json"


@dataclass(frozen=True, slots=True)
class Bootstrap:
    """A pairing file that was written. `valid_until_ms`: wall clock."""

    path: Path
    valid_until_ms: int


def companions_dir(env: Mapping[str, str] = os.environ) -> Path:
    """`$XDG_DATA_HOME/triptych/companions`, below `~/.local/share` when that is not set."""
    home = env.get("XDG_DATA_HOME") or ""
    return (Path(home) if home.startswith("/") else Path("~").expanduser() / ".local" / "share") / "triptych" / "companions"


def write_bootstrap(token: str, port: int, now_ms: int, folder: Path) -> Bootstrap:
    """Leave a token and a port for the editor, in the place of any older ones. Raises Unavailable."""
    made = Bootstrap(folder / PAIRING_FILE, now_ms + PAIRING_FILE_TTL_MS)
    document = json.dumps({"v": 1, "token": token, "port": port, "validUntilMs": made.valid_until_ms}).encode()
    _write(made.path, document)
    return made


def remove_bootstrap(folder: Path) -> None:
    """Take a pairing file that no editor has read away again."""
    (folder / PAIRING_FILE).unlink(missing_ok=True)


def write_editor_package(folder: Path) -> Path:
    """Pack the editor's extension for `code --install-extension`, and return the `.vsix` file. Raises Unavailable."""
    about = json.loads((EDITOR / "package.json").read_bytes())
    target = folder / f"{about['name']}-{about['version']}.vsix"
    scratch = _private(folder) / f".{target.name}.{os.getpid()}"
    try:
        with zipfile.ZipFile(scratch, "w", zipfile.ZIP_DEFLATED) as package:
            package.writestr("extension.vsixmanifest", _manifest(about))
            package.writestr("[Content_Types].xml", _CONTENT_TYPES)
            for file in sorted(path for path in EDITOR.iterdir() if path.suffix in {".js", ".json", ".md", ".png"}):
                package.write(file, f"extension/{file.name}")
        scratch.replace(target)
    except OSError as error:
        raise Unavailable(f"cannot write {target}: {error.strerror}", "make room for it") from None
    finally:
        scratch.unlink(missing_ok=True)
    return target


def _write(path: Path, document: bytes) -> None:
    scratch = _private(path.parent) / f".{path.name}.{os.getpid()}"
    try:
        scratch.unlink(missing_ok=True)
        descriptor = os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(document)
        scratch.replace(path)
    except OSError as error:
        raise Unavailable(f"cannot write {path}: {error.strerror}", "make room for it") from None
    finally:
        scratch.unlink(missing_ok=True)


def _private(folder: Path) -> Path:
    """The folder, made 0700 when it is not there. Raises Unavailable when others can write into it."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = folder.stat()
    except OSError as error:
        raise Unavailable(f"cannot make {folder}: {error.strerror}", "set XDG_DATA_HOME to a folder of yours") from None
    if found.st_uid != os.geteuid() or stat.S_IMODE(found.st_mode) & 0o022:
        raise Unavailable(f"others can write into {folder}", f"chmod 700 {folder}")
    return folder


_CONTENT_TYPES = """<?xml version="1.0" encoding="utf-8"?>
<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">
  <Default Extension=".js" ContentType="application/javascript"/>
  <Default Extension=".json" ContentType="application/json"/>
  <Default Extension=".md" ContentType="text/markdown"/>
  <Default Extension=".png" ContentType="image/png"/>
  <Default Extension=".vsixmanifest" ContentType="text/xml"/>
</Types>
"""


def _manifest(about: Mapping[str, object]) -> str:
    said = {name: escape(str(about[name]), {'"': "&quot;"}) for name in ("name", "version", "publisher", "displayName", "description")}
    engine = escape(str(about["engines"]["vscode"]))  # type: ignore[index]  # the shape of our own package.json
    return f"""<?xml version="1.0" encoding="utf-8"?>
<PackageManifest Version="2.0.0" xmlns="http://schemas.microsoft.com/developer/vsx-schema/2011">
  <Metadata>
    <Identity Language="en-US" Id="{said["name"]}" Version="{said["version"]}" Publisher="{said["publisher"]}"/>
    <DisplayName>{said["displayName"]}</DisplayName>
    <Description xml:space="preserve">{said["description"]}</Description>
    <Properties><Property Id="Microsoft.VisualStudio.Code.Engine" Value="{engine}"/></Properties>
  </Metadata>
  <Installation><InstallationTarget Id="Microsoft.VisualStudio.Code"/></Installation>
  <Dependencies/>
  <Assets>
    <Asset Type="Microsoft.VisualStudio.Code.Manifest" Path="extension/package.json" Addressable="true"/>
    <Asset Type="Microsoft.VisualStudio.Services.Content.Details" Path="extension/README.md" Addressable="true"/>
  </Assets>
</PackageManifest>
"""
