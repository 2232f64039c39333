"""The C encoder under AddressSanitizer and UndefinedBehaviorSanitizer: random boxes, sizes and passes stay inside their memory."""

from __future__ import annotations

import runpy
import shutil
import subprocess
from pathlib import Path

import pytest

COMMON = Path(__file__).resolve().parents[2] / "native" / "common"

PROGRAM = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "vp9.h"

static int below(int limit) { return rand() % limit; }

static void encode_many(int width, int height) {
    char error[200];
    tx_vp9 *encoder = tx_vp9_open(width, height, 30, 800, 2, 1, error, sizeof error);
    if (!encoder) { fprintf(stderr, "%s\n", error); exit(1); }
    size_t length = (size_t)width * height * 3 / 2;
    tx_vp9_packet packet;
    int64_t sum = 0;
    for (int turn = 0; turn < 40; turn++) {
        uint8_t *planes = malloc(length); /* exactly the picture, so that a read past it is seen */
        for (size_t i = 0; i < length; i++) planes[i] = (uint8_t)(i * 7 + turn * (i % 97));
        int32_t boxes[5][4];
        int count = below(6);
        for (int i = 0; i < count; i++) {
            int x = below(width), y = below(height);
            int32_t box[4] = {x, y, 1 + below(width - x), 1 + below(height - y)};
            memcpy(boxes[i], box, sizeof box);
        }
        int refine = turn % 5 == 4, half = turn / 7 % 2 && !refine && width >= 64;
        int flags = (turn % 9 == 8) * TX_VP9_KEY | refine * TX_VP9_REFINE | half * TX_VP9_HALF;
        if (tx_vp9_encode(encoder, planes, boxes, count, flags, turn % 3 * 7, 300 + 50 * turn, &packet)) {
            fprintf(stderr, "%dx%d turn %d: %s\n", width, height, turn, tx_vp9_error(encoder));
            exit(1);
        }
        for (int64_t i = 0; i < packet.size; i++) sum += packet.data[i];
        free(planes);
    }
    printf("%dx%d %lld\n", width, height, (long long)(sum > 0));
    tx_vp9_close(encoder);
}

int main(void) {
    char error[200] = "";
    static const int sizes[][2] = {{2, 2}, {16, 16}, {18, 34}, {64, 66}, {202, 146}, {640, 360}, {66, 1080}};
    for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++) encode_many(sizes[i][0], sizes[i][1]);
    if (tx_vp9_open(70000, 64, 30, 800, 2, 1, error, 16) || strlen(error) != 15) return 1; /* cut to its room */
    printf("%s\n", tx_vp9_version());
    return 0;
}
"""


def test_random_pictures_under_the_sanitizers(tmp_path: Path) -> None:
    if shutil.which("cc") is None or not Path("/usr/include/vpx/vp8cx.h").exists():
        pytest.skip("no C compiler or no libvpx headers")
    source, program = tmp_path / "program.c", tmp_path / "program"
    source.write_text(PROGRAM)
    flags = ["-std=c11", "-O1", "-g", "-Wall", "-Wextra", "-Werror", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
    built = subprocess.run(
        ["cc", *flags, f"-I{COMMON}", str(source), str(COMMON / "vp9.c"), "-o", str(program), "-lvpx"],
        capture_output=True,
        text=True,
        check=False,
    )
    if "cannot find" in built.stderr and "asan" in built.stderr:
        pytest.skip("this compiler has no AddressSanitizer")
    assert built.returncode == 0, built.stderr
    ran = subprocess.run([str(program)], capture_output=True, text=True, check=False, timeout=120)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.count(" 1\n") == 7


def test_the_helper_is_built_only_where_a_program_of_libvpx_can_be_made(monkeypatch: pytest.MonkeyPatch) -> None:
    if shutil.which("cc") is None or not Path("/usr/include/vpx/vp8cx.h").exists():
        pytest.skip("no C compiler or no libvpx headers")
    monkeypatch.chdir(COMMON.parent.parent)

    def builds(**environment: str) -> bool:
        with monkeypatch.context() as changed:
            for name, value in environment.items():
                changed.setenv(name, value)
            found: bool = runpy.run_path("native/common/build_vp9.py")["has_libvpx"]()
            return found

    assert builds()
    assert not builds(CFLAGS="-nostdinc")
    assert not builds(CC="/nonexistent/cc")
