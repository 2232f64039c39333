"""`triptych doctor` says the truth about the machine, with a remedy for what lacks."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from triptych.adapters.display import PrivateDisplay
from triptych.engine import doctor
from triptych.errors import Unavailable

SCRIPT = Path(sys.executable).with_name("triptych")


def examine(**environment: str) -> dict[str, dict[str, Any]]:
    answer = subprocess.run(
        [SCRIPT, "doctor", "--json"], capture_output=True, text=True, timeout=60, env={**os.environ, **environment}, check=False
    )
    assert answer.stderr == ""
    return {finding["what"]: finding for finding in json.loads(answer.stdout)["findings"]}


def test_without_a_display_and_a_bus_it_says_so() -> None:
    found = examine(DBUS_SESSION_BUS_ADDRESS="unix:path=/nonexistent")
    assert found["display"]["status"] == "limited"
    assert found["display"]["remedy"]
    assert found["accessibility bus"]["status"] == "limited"
    assert found["accessibility bus"]["remedy"]
    assert found["X11 helper"]["status"] == "ok"


def test_with_a_display_it_names_its_size(private_display: PrivateDisplay) -> None:
    found = examine(**{name: private_display.env[name] for name in ("DISPLAY", "XAUTHORITY")})
    assert found["display"]["status"] == "ok"
    assert f"{private_display.width}x{private_display.height}" in found["display"]["detail"]


def test_for_a_person_each_panel_is_a_paragraph() -> None:
    answer = subprocess.run([SCRIPT, "doctor"], capture_output=True, text=True, timeout=60, check=False)
    assert answer.returncode == 0
    for panel in ("machine", "terminal", "activity", "desktop"):
        assert f"{panel}\n" in answer.stdout


def test_a_missing_package_is_named_with_the_command_that_mends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "find_spec", lambda name: None)
    found = {finding.what: finding for finding in doctor.examine()}
    assert found["terminal emulation"].status == "missing"
    assert found["terminal emulation"].remedy == "pip install 'triptych[terminal]'"
    assert found["X11 helper"].status == "missing"


def test_libyuv_is_named_as_optional(monkeypatch: pytest.MonkeyPatch) -> None:
    from triptych.adapters.desklink import x11_connection

    class Lib:
        def __init__(self, has: int) -> None:
            self.tx_has_libyuv = lambda: has

    def finding(has: int) -> doctor.Finding:
        monkeypatch.setattr(x11_connection, "lib", Lib(has))
        return doctor._attempt("desktop", "colour conversion", "limited", doctor._colours)

    assert (finding(1).status, finding(1).detail) == ("ok", "libyuv")
    assert (finding(0).status, finding(0).remedy) == ("limited", "apt-get install libyuv-dev, then pip install again")
    assert "optional" in finding(0).detail


def test_what_a_probe_cannot_do_becomes_a_finding() -> None:
    def probe() -> str:
        raise Unavailable("no such thing", "get one")

    finding = doctor._attempt("desktop", "display", "limited", probe)
    assert (finding.status, finding.detail, finding.remedy) == ("limited", "no such thing", "get one")
