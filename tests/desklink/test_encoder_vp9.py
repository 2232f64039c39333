"""The VP9 encoder, by the compiled helper and by each libvpx that this machine has: what FFmpeg decodes is what went in."""

from __future__ import annotations

import importlib
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from triptych.adapters.desklink import vp9_library
from triptych.adapters.desklink.encoder import Encoder, EncoderRefused, encoder_name, threads_for
from triptych.errors import ProtocolError, Unavailable
from triptych.machines.desklink.geometry import Size
from vp9_kit import Decoder, desktop, inside, noise, paint, picture, psnr

SIZE = Size(640, 400)
KBPS = 2000


def libraries() -> list[str]:
    """The shared libraries that can be loaded here, each once."""
    found = []
    for name in vp9_library.candidates():
        try:
            vp9_library.ffi.dlopen(name)
        except OSError:
            continue
        found.append(name)
    return found


def use_library(monkeypatch: pytest.MonkeyPatch, *names: str) -> None:
    """A machine without the compiled helper, where only these libraries can be found."""
    monkeypatch.setitem(sys.modules, "triptych.native.common._vp9", None)
    monkeypatch.delitem(sys.modules, "triptych.adapters.desklink.vp9_helper", raising=False)
    monkeypatch.setattr(vp9_library, "candidates", lambda: iter(names))
    vp9_library._libvpx.cache_clear()
    monkeypatch.setattr(vp9_library, "_libvpx", vp9_library._libvpx.__wrapped__)


@pytest.fixture(params=["helper", *libraries()], ids=lambda name: Path(name).name.partition("-")[0])
def backend(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "helper":
        importlib.import_module("triptych.native.common._vp9")
    else:
        use_library(monkeypatch, request.param)
    return str(request.param)


@pytest.fixture
def encoder(backend: str) -> Iterator[Encoder]:
    with Encoder(SIZE.width, SIZE.height, KBPS) as one:
        assert one.name == encoder_name()
        assert one.name.startswith("libvpx v1.")
        assert one.name.endswith("(shared library)") == (backend != "helper")
        assert one.halves == (backend == "helper")
        yield one


def test_the_first_frame_is_a_key_frame_the_others_are_not_until_one_is_wanted(encoder: Encoder) -> None:
    planes, decoder = desktop(SIZE), Decoder()
    for key, expected in ((False, True), (False, False), (True, True), (False, False)):
        frame = encoder.encode(picture(planes, SIZE), key=key)
        assert frame.key == expected
        assert psnr(decoder.decode(frame.data), planes) > 30
        assert decoder.size == SIZE


def test_no_key_frame_comes_by_itself(backend: str) -> None:
    size = Size(64, 64)
    with Encoder(size.width, size.height, 500) as encoder:
        keys = [encoder.encode(picture(noise(size, turn), size)).key for turn in range(400)]
    assert keys == [True] + [False] * 399


def test_a_key_frame_can_be_decoded_without_any_before_it(encoder: Encoder) -> None:
    planes = desktop(SIZE)
    for _ in range(3):
        encoder.encode(picture(planes, SIZE))
    assert psnr(Decoder().decode(encoder.encode(picture(planes, SIZE, []), key=True).data), planes) > 30


def test_only_the_damage_is_coded_and_the_rest_stays(encoder: Encoder) -> None:
    planes, decoder = desktop(SIZE), Decoder()
    decoder.decode(encoder.encode(picture(planes, SIZE)).data)
    still = decoder.decode(encoder.encode(picture(planes, SIZE, []), refine=True).data)
    box = (400, 100, 50, 33)
    paint(planes, SIZE, box, 60)
    frame = encoder.encode(picture(planes, SIZE, [box]))
    shown = decoder.decode(frame.data)
    assert psnr(inside(shown, SIZE, box), inside(planes, SIZE, box)) > 30
    assert len(frame.data) < 3000
    far = (0, 0, 320, 400)
    page = inside(planes, SIZE, far)
    assert psnr(inside(shown, SIZE, far), page) > psnr(inside(still, SIZE, far), page) - 0.1
    assert (inside(shown, SIZE, far) == inside(still, SIZE, far)).mean() > 0.7
    # What the encoder is not told of it does not look at.
    paint(planes, SIZE, SIZE.box, 60)
    decoder.decode(encoder.encode(picture(planes, SIZE, [])).data)
    assert inside(decoder.decode(encoder.encode(picture(planes, SIZE, [])).data), SIZE, far).mean() > 180


def test_a_still_picture_is_refined_and_that_only_once_where_it_was_rough(encoder: Encoder) -> None:
    planes, decoder = desktop(SIZE), Decoder()
    rough = decoder.decode(encoder.encode(picture(planes, SIZE), kbps=300).data)
    refined = encoder.encode(picture(planes, SIZE, []), refine=True)
    shown = decoder.decode(refined.data)
    assert not refined.key
    assert psnr(shown, planes) > psnr(rough, planes) + 3
    assert psnr(shown, planes) > 40
    again = encoder.encode(picture(planes, SIZE, []), refine=True)
    assert len(again.data) < len(refined.data) / 4
    assert psnr(decoder.decode(again.data), planes) > psnr(shown, planes) - 0.1
    # A change makes rough again what it touches, and the refinement mends it.
    box = (16, 18, 64, 64)
    paint(planes, SIZE, box, 90)
    decoder.decode(encoder.encode(picture(planes, SIZE, [box])).data)
    shown = decoder.decode(encoder.encode(picture(planes, SIZE, []), refine=True).data)
    assert psnr(inside(shown, SIZE, box), inside(planes, SIZE, box)) > 40
    keepalive = encoder.encode(picture(planes, SIZE, []))
    assert len(keepalive.data) < len(refined.data) / 4
    assert psnr(decoder.decode(keepalive.data), planes) > psnr(shown, planes) - 0.1


def test_a_refinement_in_parts_ends_with_the_whole_picture_refined(encoder: Encoder) -> None:
    planes, decoder = desktop(SIZE), Decoder()
    first = encoder.encode(picture(planes, SIZE), kbps=300)
    shown = decoder.decode(first.data)
    assert (first.coded, first.rough) == (1000, 1000)
    top, bottom = (0, 0, 640, 100), (0, 300, 640, 100)
    for left in (700, 400, 100, 0, 0):
        below = psnr(inside(shown, SIZE, bottom), inside(planes, SIZE, bottom))
        part = encoder.encode(picture(planes, SIZE, []), refine=True, most=300)
        shown = decoder.decode(part.data)
        assert (part.key, part.rough) == (False, left)
        assert part.coded <= 300
        assert psnr(inside(shown, SIZE, top), inside(planes, SIZE, top)) > 36
        if left == 700:
            assert psnr(inside(shown, SIZE, bottom), inside(planes, SIZE, bottom)) < below + 1
    assert psnr(shown, planes) > 40
    # What differs between two parts is rough again.
    encoder.encode(picture(planes, SIZE, [(0, 0, 64, 64)]))
    assert encoder.encode(picture(planes, SIZE, []), refine=True, most=10).rough == 6
    # A key frame has no parts.
    assert encoder.encode(picture(planes, SIZE, []), refine=True, most=10, key=True).rough == 0


def test_what_was_rough_long_ago_is_refined_too(encoder: Encoder) -> None:
    planes, decoder = noise(SIZE, 5), Decoder()
    # The first picture is a key frame whatever is said to differ.
    decoder.decode(encoder.encode(picture(planes, SIZE, []), kbps=300).data)
    for turn in range(12):
        box = (8 * turn, 0, 8, 8)
        paint(planes, SIZE, box, 50)
        shown = decoder.decode(encoder.encode(picture(planes, SIZE, [box])).data)
    far = (320, 200, 320, 200)
    before = psnr(inside(shown, SIZE, far), inside(planes, SIZE, far))
    shown = decoder.decode(encoder.encode(picture(planes, SIZE, []), refine=True).data)
    assert psnr(inside(shown, SIZE, far), inside(planes, SIZE, far)) > max(before + 5, 38)


def test_a_long_session_of_small_changes_shows_what_the_screen_shows(encoder: Encoder) -> None:
    planes, decoder = desktop(SIZE), Decoder()
    shown = decoder.decode(encoder.encode(picture(planes, SIZE)).data)
    for turn in range(120):
        box = (turn * 37 % 600, turn * 53 % 380, 30, 17)
        paint(planes, SIZE, box, 40 + turn)
        frame = encoder.encode(picture(planes, SIZE, [box]), refine=turn % 40 == 39, key=turn == 60)
        shown = decoder.decode(frame.data)
        assert psnr(inside(shown, SIZE, box), inside(planes, SIZE, box)) > 28
    assert psnr(shown, planes) > 40


def test_a_new_bit_rate_holds_without_a_key_frame(encoder: Encoder) -> None:
    def kilobytes(kbps: int) -> float:
        total = 0
        for turn in range(45):
            frame = encoder.encode(picture(noise(SIZE, turn), SIZE), kbps=kbps)
            decoder.decode(frame.data)
            assert not frame.key
            total += len(frame.data) if turn >= 15 else 0
        return total / 1000

    decoder = Decoder()
    decoder.decode(encoder.encode(picture(noise(SIZE, 1), SIZE)).data)
    slow, fast = kilobytes(1500), kilobytes(12000)
    assert fast > 2 * slow


def test_half_the_picture_and_back_are_key_frames_of_their_size(encoder: Encoder) -> None:
    if not encoder.halves:
        frame = [encoder.encode(picture(desktop(SIZE), SIZE), half=True) for _ in range(2)][1]
        assert not frame.key
        return
    planes, decoder = noise(SIZE, 3), Decoder()
    kbps = 20_000
    shown = []
    for half in (False, True, True, False, False):
        frame = encoder.encode(picture(planes, SIZE), half=half, kbps=kbps)
        shown.append((decoder.decode(frame.data), decoder.size, frame.key))
    whole, halved = SIZE, Size(320, 200)
    assert [(size, key) for _, size, key in shown] == [(whole, True), (halved, True), (halved, False), (whole, True), (whole, False)]
    expected = inside(planes, SIZE, SIZE.box).reshape(200, 2, 320, 2).astype(int).sum((1, 3)) + 2 >> 2
    assert psnr(inside(shown[2][0], halved, halved.box), expected.astype("uint8")) > 28
    # Refining is at full size.
    decoder.decode(encoder.encode(picture(planes, SIZE), half=True).data)
    refined = encoder.encode(picture(planes, SIZE, []), half=True, refine=True)
    assert refined.key
    assert psnr(decoder.decode(refined.data), planes) > 38
    assert decoder.size == SIZE


@pytest.mark.parametrize("size", [Size(2, 2), Size(18, 34), Size(202, 146), Size(1366, 768)])
def test_sizes_that_no_block_divides(backend: str, size: Size) -> None:
    planes, decoder = desktop(size), Decoder()
    with Encoder(size.width, size.height, 3000) as encoder:
        assert psnr(decoder.decode(encoder.encode(picture(planes, size)).data), planes) > 30
        box = (size.width - 2, size.height - 2, 2, 2)
        paint(planes, size, box, 20)
        assert psnr(decoder.decode(encoder.encode(picture(planes, size, [box])).data), planes) > 30
        if encoder.halves and size.width >= 640:
            decoder.decode(encoder.encode(picture(planes, size), half=True).data)
            assert decoder.size == Size(682, 384)


def test_a_picture_of_another_size_is_refused_and_the_encoder_goes_on(encoder: Encoder) -> None:
    small = Size(32, 32)
    for wrong in (picture(desktop(small), small), picture(desktop(small), SIZE)):
        with pytest.raises(EncoderRefused) as refused:
            encoder.encode(wrong)
        assert refused.value.code == "error"
        assert refused.value.detail.startswith("the encoder rejected a frame: ")
    planes = desktop(SIZE)
    assert psnr(Decoder().decode(encoder.encode(picture(planes, SIZE)).data), planes) > 30


def test_what_is_closed_encodes_nothing(backend: str) -> None:
    encoder = Encoder(64, 64, 500)
    encoder.close()
    encoder.close()
    with pytest.raises(ProtocolError) as refused:
        encoder.encode(picture(desktop(Size(64, 64)), Size(64, 64)))
    assert refused.value.code == "error"


@pytest.mark.parametrize("size", [(0, 64), (64, -2), (63, 64), (70000, 64)])
def test_no_encoder_for_impossible_sizes(backend: str, size: tuple[int, int]) -> None:
    with pytest.raises(Unavailable):
        Encoder(*size, 500)


def test_many_encoders_leave_no_thread_behind(backend: str) -> None:
    def threads() -> int:
        return len(list(Path("/proc/self/task").iterdir()))

    before = threads()
    planes = desktop(SIZE)
    for _ in range(5):
        with Encoder(SIZE.width, SIZE.height, KBPS, threads=4) as encoder:
            encoder.encode(picture(planes, SIZE))
    assert threads() == before


def test_a_machine_without_libvpx_has_no_encoder_and_says_what_mends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    use_library(monkeypatch, "libvpx.so.999")
    assert encoder_name() is None
    with pytest.raises(Unavailable) as lacking:
        Encoder(64, 64, 500)
    assert "libvpx" in lacking.value.reason
    assert "triptych[desktop]" in lacking.value.remedy


def test_a_version_that_nobody_looked_at_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    present = libraries()
    if not present:
        pytest.skip("this machine has no libvpx")
    use_library(monkeypatch, present[0])
    monkeypatch.setattr(vp9_library, "KNOWN", ((1, 2), (1, 3)))
    assert encoder_name() is None
    with pytest.raises(Unavailable, match="is not known"):
        Encoder(64, 64, 500)


def fields(struct: str) -> list[tuple[str, Any]]:
    """The members that we name; a union of the library's own, and what is left open, are not among them."""
    return [(name, field) for name, field in vp9_library.ffi.typeof(struct).fields or () if name != "open_end"]


@pytest.mark.skipif(shutil.which("cc") is None or not Path("/usr/include/vpx/vp8cx.h").exists(), reason="no compiler or no libvpx headers")
def test_the_layouts_are_those_of_the_headers(tmp_path: Path) -> None:
    ffi = vp9_library.ffi
    places = {f"{struct}.{name}": field.offset for struct in ("vpx_codec_enc_cfg_t", "vpx_active_map_t") for name, field in fields(struct)}
    start = ffi.offsetof("vpx_codec_cx_pkt_t", "data")
    places |= {f"vpx_codec_cx_pkt_t.data.frame.{name}": start + field.offset for name, field in fields("frame_t")}
    room = {"vpx_codec_ctx_t": vp9_library.CODEC_BYTES, "vpx_image_t": vp9_library.IMAGE_BYTES}
    room["vpx_codec_enc_cfg_t"] = ffi.sizeof("vpx_codec_enc_cfg_t")
    asked = {place: "offsetof({}, {})".format(*place.split(".", 1)) for place in places}
    asked |= {name: f"(size_t){name}" for name in vp9_library.CONSTANTS}
    asked |= {f"{struct} fits": f"(size_t)(sizeof({struct}) <= {size})" for struct, size in room.items()}
    prints = "".join(f'printf("{what}=%zu\\n", {expression});\n' for what, expression in asked.items())
    source = tmp_path / "layouts.c"
    headers = "#include <stddef.h>\n#include <stdio.h>\n#include <vpx/vp8cx.h>\n#include <vpx/vpx_encoder.h>\n"
    source.write_text(f"{headers}int main(void) {{\n{prints}}}\n")
    subprocess.run(["cc", str(source), "-o", str(tmp_path / "layouts"), "-lvpx"], check=True)
    said = subprocess.run([str(tmp_path / "layouts")], check=True, capture_output=True, text=True).stdout
    theirs = {what: int(number) for what, number in (line.split("=") for line in said.splitlines())}
    assert theirs == {**places, **vp9_library.CONSTANTS, **{f"{struct} fits": 1 for struct in room}}


@pytest.mark.parametrize(
    ("size", "cores", "threads"),
    [
        (Size(640, 360), 8, 1),
        (Size(1280, 720), 8, 1),
        (Size(1282, 720), 8, 2),
        (Size(1920, 1080), 2, 2),
        (Size(1920, 1080), 8, 3),
        (Size(3840, 2160), 16, 8),
        (Size(3840, 2160), 1, 1),
    ],
)
def test_an_encoder_has_as_many_threads_as_a_picture_takes(size: Size, cores: int, threads: int) -> None:
    assert threads_for(size, cores) == threads
