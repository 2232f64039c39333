"""What /proc says a process is called: its executable, and the id of its sandbox. The Linux source and the list of open programs ask."""

from __future__ import annotations

from pathlib import Path

MAX_SANDBOX_BYTES = 65_536


def executable(pid: int) -> str | None:
    """The base name of the executable of a process; None when it is gone or not ours to ask."""
    try:
        path = str(Path(f"/proc/{pid}/exe").readlink())
    except OSError:
        return None
    return path.removesuffix(" (deleted)").rpartition("/")[2].encode("utf-8", "replace").decode() or None


def sandboxed(pid: int) -> str | None:
    """The application id that flatpak wrote into the sandbox of a process; None outside of one."""
    try:
        with Path(f"/proc/{pid}/root/.flatpak-info").open("rb") as file:
            lines = file.read(MAX_SANDBOX_BYTES).decode("utf-8", "replace").splitlines()
    except OSError:
        return None
    group = lines[lines.index("[Application]") + 1 :] if "[Application]" in lines else []
    return next((line.removeprefix("name=") for line in group if line.startswith("name=")), None) or None
