"""Declares the cffi module `triptych.native.linux._x11` from x11.h and tiles.h; setup.py builds it, from the repository root."""

from __future__ import annotations

from pathlib import Path

from cffi import FFI

LINUX = Path("native/linux")
COMMON = Path("native/common")
LIBRARIES = ("xcb", "xcb-shm", "xcb-damage", "xcb-xfixes", "xcb-xtest", "xcb-xkb", "xkbcommon", "xkbcommon-x11")
SOURCES = (COMMON / "tiles.c", *(LINUX / name for name in ("x11_connection.c", "x11_capture.c", "x11_input.c", "x11_keymap.c")))
HEADERS = (COMMON / "tiles.h", LINUX / "x11.h")


def declarations(header: Path) -> str:
    """The header as cffi reads it: the headers are written so that only preprocessor lines must go."""
    return "\n".join(line for line in header.read_text().splitlines() if not line.startswith("#"))


ffi = FFI()
for header in HEADERS:
    ffi.cdef(declarations(header))
ffi.set_source(
    "triptych.native.linux._x11",
    '#include "x11.h"',
    sources=[str(path) for path in SOURCES],
    depends=[str(path) for path in (*HEADERS, LINUX / "x11_connection.h", LINUX / "x11_input.h")],
    include_dirs=[str(LINUX), str(COMMON)],
    libraries=list(LIBRARIES),
    extra_compile_args=["-std=c11", "-O2", "-Wall", "-Wextra", "-fvisibility=hidden"],
    py_limited_api=True,
)
