"""How the C helper is put together: with libyuv where the machine's compiler finds it, and without where not."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ASK = """
import json, runpy
made = runpy.run_path("native/linux/build_x11.py")
extension = made["ffi"]._assigned_source[3]
print(json.dumps([made["LIBYUV"], "yuv" in extension["libraries"], dict(extension["define_macros"])]))
"""


@pytest.mark.parametrize(
    "without",
    [
        {"CC": "/nonexistent/compiler"},
        {"CC": "false"},
        {"CFLAGS": "-nostdinc"},
        {"LDFLAGS": "-nostdlib -Wl,--no-such-option"},
    ],
)
def test_without_libyuv_the_module_is_our_own_c_alone(without: dict[str, str]) -> None:
    assert asked(without) == [False, False, {}]


def test_with_libyuv_the_module_says_so() -> None:
    found, linked, macros = asked({})
    assert linked == found == ("TX_LIBYUV" in macros)


def asked(more: dict[str, str]) -> list[object]:
    env = {**os.environ, **more}
    done = subprocess.run([sys.executable, "-c", ASK], cwd=ROOT, env=env, capture_output=True, text=True, check=True)
    answer: list[object] = json.loads(done.stdout)
    return answer
