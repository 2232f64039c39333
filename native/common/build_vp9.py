"""Declares the cffi module `triptych.native.common._vp9` from its header; setup.py builds it, from the repository root, where libvpx can be
built with. Without it the encoder adapter finds libvpx itself.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sysconfig
import tempfile
from pathlib import Path

from cffi import FFI

COMMON = Path("native/common")
HEADER = COMMON / "vp9.h"
PROGRAM = """
#include <vpx/vp8cx.h>
#include <vpx/vpx_encoder.h>
int main(void) { vpx_codec_ctx_t codec; return vpx_codec_enc_init(&codec, vpx_codec_vp9_cx(), 0, 0) + VP9E_SET_ROW_MT; }
"""


def has_libvpx() -> bool:
    """Whether this machine's compiler makes a program of libvpx, with a VP9 encoder in it."""
    compiler, before, after = (shlex.split(os.environ.get(name, "")) for name in ("CC", "CFLAGS", "LDFLAGS"))
    with tempfile.TemporaryDirectory() as folder:
        source, program = Path(folder, "program.c"), f"{folder}/program"
        source.write_text(PROGRAM)
        command = [*(compiler or shlex.split(sysconfig.get_config_var("CC") or "cc")), *before, str(source), "-o", program, *after, "-lvpx"]
        try:
            return subprocess.run(command, capture_output=True, check=False).returncode == 0
        except OSError:
            return False  # no compiler: the build of the other helpers says so


ffi = FFI()
ffi.cdef("\n".join(line for line in HEADER.read_text().splitlines() if not line.startswith("#")))
ffi.set_source(
    "triptych.native.common._vp9",
    '#include "vp9.h"',
    sources=[str(COMMON / "vp9.c")],
    depends=[str(HEADER)],
    include_dirs=[str(COMMON)],
    libraries=["vpx"],
    extra_compile_args=["-std=c11", "-O3", "-Wall", "-Wextra", "-fvisibility=hidden"],
    py_limited_api=True,
)
