"""Declares the cffi module `triptych.native.linux._x11` from its headers; setup.py builds it, from the repository root.

libyuv converts colours where this machine has it to build with; without it our own C does, more slowly.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sysconfig
import tempfile
from pathlib import Path

from cffi import FFI

LINUX = Path("native/linux")
COMMON = Path("native/common")
LIBRARIES = ("xcb", "xcb-shm", "xcb-damage", "xcb-xfixes", "xcb-xtest", "xcb-xkb", "xkbcommon", "xkbcommon-x11")
SOURCES = (
    COMMON / "tiles.c",
    COMMON / "convert.c",
    *(LINUX / name for name in ("x11_connection.c", "x11_capture.c", "x11_input.c", "x11_keymap.c", "x11_program.c", "x11_guard.c")),
)
HEADERS = (COMMON / "tiles.h", COMMON / "convert.h", LINUX / "x11.h")


def declarations(header: Path) -> str:
    """The header as cffi reads it: the headers are written so that only preprocessor lines must go."""
    return "\n".join(line for line in header.read_text().splitlines() if not line.startswith("#"))


def has_libyuv() -> bool:
    """Whether this machine's compiler makes a program of libyuv: Debian's package has no description for pkg-config."""
    compiler, before, after = (shlex.split(os.environ.get(name, "")) for name in ("CC", "CFLAGS", "LDFLAGS"))
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder, "program.c")
        program.write_text("#include <libyuv.h>\nint main(void) { return ARGBToI420(0, 0, 0, 0, 0, 0, 0, 0, 0, 0); }\n")
        command = [
            *(compiler or shlex.split(sysconfig.get_config_var("CC") or "cc")),
            *before,
            str(program),
            "-o",
            f"{folder}/program",
            *after,
        ]
        try:
            return subprocess.run([*command, "-lyuv"], capture_output=True, check=False).returncode == 0
        except OSError:
            return False  # no compiler: the build says so


ffi = FFI()
LIBYUV = has_libyuv()
for header in HEADERS:
    ffi.cdef(declarations(header))
ffi.set_source(
    "triptych.native.linux._x11",
    '#include "x11.h"\n#include "convert.h"',
    sources=[str(path) for path in SOURCES],
    depends=[str(path) for path in (*HEADERS, LINUX / "x11_connection.h", LINUX / "x11_input.h")],
    include_dirs=[str(LINUX), str(COMMON)],
    libraries=[*LIBRARIES, *(["yuv"] if LIBYUV else [])],
    define_macros=[("TX_LIBYUV", "1")] if LIBYUV else [],
    extra_compile_args=["-std=c11", "-O3", "-Wall", "-Wextra", "-fvisibility=hidden"],
    py_limited_api=True,
)
