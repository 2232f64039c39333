"""Calls libvpx without a compiled helper, as the shared library that this machine has; only the encoder imports it.

It is Debian's libvpx.so.N, or the one that the package `av` carries. The layouts below are those of its public headers; the ends of the
structs are left open, since later versions only added there. A version that nobody has looked at is refused: its structs may differ.
"""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

from cffi import FFI

from ...errors import Unavailable
from ...generated.desklink.vocabulary import MIN_QUANTIZER, MOTION_MAX_QUANTIZER, MOTION_MIN_QUANTIZER, REFINE_MAX_QUANTIZER
from ...machines.desklink.geometry import Box, Size
from .encoder import HALF, KEY, REFINE, REMEDY, Encoded, EncoderRefused

LAYOUTS = """
typedef struct { int num, den; } vpx_rational_t;
typedef struct { void *buf; size_t sz; } vpx_fixed_buf_t;
typedef struct {
    unsigned g_usage, g_threads, g_profile, g_w, g_h;
    int g_bit_depth;
    unsigned g_input_bit_depth;
    vpx_rational_t g_timebase;
    uint32_t g_error_resilient;
    int g_pass;
    unsigned g_lag_in_frames, rc_dropframe_thresh, rc_resize_allowed, rc_scaled_width, rc_scaled_height, rc_resize_up_thresh,
        rc_resize_down_thresh;
    int rc_end_usage;
    vpx_fixed_buf_t rc_twopass_stats_in, rc_firstpass_mb_stats_in;
    unsigned rc_target_bitrate, rc_min_quantizer, rc_max_quantizer, rc_undershoot_pct, rc_overshoot_pct, rc_buf_sz, rc_buf_initial_sz,
        rc_buf_optimal_sz, rc_2pass_vbr_bias_pct, rc_2pass_vbr_minsection_pct, rc_2pass_vbr_maxsection_pct, rc_2pass_vbr_corpus_complexity;
    int kf_mode;
    char open_end[4096];
} vpx_codec_enc_cfg_t;
typedef struct { void *buf; size_t sz; int64_t pts; unsigned long duration; uint32_t flags; } frame_t;
typedef struct { int kind; union { frame_t frame; int64_t align; } data; } vpx_codec_cx_pkt_t;
typedef struct { unsigned char *active_map; unsigned rows, cols; } vpx_active_map_t;
"""
FUNCTIONS = """
const char *vpx_codec_version_str(void);
void *vpx_codec_vp9_cx(void);
const char *vpx_codec_error(void *codec);
const char *vpx_codec_error_detail(void *codec);
int vpx_codec_enc_config_default(void *iface, vpx_codec_enc_cfg_t *config, unsigned usage);
int vpx_codec_enc_init_ver(void *codec, void *iface, const vpx_codec_enc_cfg_t *config, long flags, int version);
int vpx_codec_enc_config_set(void *codec, const vpx_codec_enc_cfg_t *config);
int vpx_codec_control_(void *codec, int control, ...);
int vpx_codec_encode(void *codec, const void *image, int64_t pts, unsigned long duration, long flags, unsigned long deadline);
const vpx_codec_cx_pkt_t *vpx_codec_get_cx_data(void *codec, const void **at);
void *vpx_img_wrap(void *image, int format, unsigned width, unsigned height, unsigned align, const unsigned char *planes);
int vpx_codec_destroy(void *codec);
"""
CONSTANTS = {
    "VP8E_SET_ACTIVEMAP": 9,
    "VP8E_SET_CPUUSED": 13,
    "VP8E_GET_LAST_QUANTIZER_64": 20,
    "VP8E_SET_MAX_INTRA_BITRATE_PCT": 26,
    "VP9E_SET_TILE_COLUMNS": 33,
    "VP9E_SET_AQ_MODE": 36,
    "VP9E_SET_NOISE_SENSITIVITY": 38,
    "VP9E_SET_TUNE_CONTENT": 43,
    "VP9E_SET_COLOR_SPACE": 46,
    "VP9E_SET_ROW_MT": 55,
    "VP9E_CONTENT_SCREEN": 1,
    "VPX_CS_BT_601": 1,
    "VPX_IMG_FMT_I420": 258,
    "VPX_CBR": 1,
    "VPX_CODEC_CX_FRAME_PKT": 0,
    "VPX_FRAME_IS_KEY": 1,
    "VPX_EFLAG_FORCE_KF": 1,
    "VPX_DL_REALTIME": 1,
}
"""What the headers call the numbers below."""
TUNING = (
    ("VP8E_SET_CPUUSED", 9),
    ("VP8E_SET_MAX_INTRA_BITRATE_PCT", 900),
    ("VP9E_SET_ROW_MT", 1),
    ("VP9E_SET_TUNE_CONTENT", CONSTANTS["VP9E_CONTENT_SCREEN"]),
    ("VP9E_SET_AQ_MODE", 3),
    ("VP9E_SET_NOISE_SENSITIVITY", 0),
    ("VP9E_SET_COLOR_SPACE", CONSTANTS["VPX_CS_BT_601"]),
)
KNOWN = ((1, 12), (1, 16))
"""The oldest and the newest version whose layouts are these."""
SONAMES = ("libvpx.so.7", "libvpx.so.8", "libvpx.so.9", "libvpx.so.11", "libvpx.so.12")
ABI_NUMBERS = range(39, 24, -1)
"""What those versions call their own interface; the library refuses a number that is not its own before it looks at anything."""
CODEC_BYTES, IMAGE_BYTES = 512, 1024  # more than their structs have
MACROBLOCK = 16
MOVING, STILL = (MOTION_MIN_QUANTIZER, MOTION_MAX_QUANTIZER), (MIN_QUANTIZER, REFINE_MAX_QUANTIZER)
"""The finest and the coarsest quantizer."""
SETTLED = 5  # a macroblock that differs is coded in one picture less, unless it differs again
AGED = bytes(min(age + 1, SETTLED) if age else 0 for age in range(256))
ACTIVE = bytes(0 < age < SETTLED for age in range(256))
ROUGH = bytes(age > 0 for age in range(256))

ffi = FFI()
ffi.cdef(LAYOUTS + FUNCTIONS)


def library_name() -> str:
    """The library and its version. Raises Unavailable."""
    return f"libvpx {_version(_libvpx())} (shared library)"


def _version(library: Any) -> str:
    said = ffi.string(library.vpx_codec_version_str())
    assert isinstance(said, bytes)
    return said.decode(errors="replace")


def candidates() -> Iterator[str]:
    """Where a libvpx may be: names for the loader, then the file inside the package `av`, which is not imported."""
    yield from SONAMES
    if (found := importlib.util.find_spec("av")) is not None and found.origin is not None:
        libraries = Path(found.origin).parent.parent / "av.libs"
        yield from sorted(str(path) for path in libraries.glob("libvpx*.so*"))


@cache
def _libvpx() -> Any:
    seen = []
    for name in candidates():
        try:
            library = ffi.dlopen(name)
        except OSError:
            continue
        version = _version(library)
        numbers = re.match(r"v(\d+)\.(\d+)", version)
        if numbers and KNOWN[0] <= (int(numbers[1]), int(numbers[2])) <= KNOWN[1] and hasattr(library, "vpx_codec_vp9_cx"):
            return library
        seen.append(f"libvpx {version} is not known")
    raise Unavailable("; ".join(seen) or "there is no libvpx", REMEDY)


class LibraryVp9:
    """One encoder of the library. It does not halve."""

    halves = False

    def __init__(self, size: Size, fps: int, kbps: int, threads: int) -> None:
        self._vpx = _libvpx()
        self.name = library_name()
        self._size = size
        self._columns, self._rows = -(-size.width // MACROBLOCK), -(-size.height // MACROBLOCK)
        self._ages = bytearray(self._columns * self._rows)
        self._pictures = 0
        self._config: Any = ffi.new("vpx_codec_enc_cfg_t *")
        self._image = ffi.new("char[]", IMAGE_BYTES)
        interface = self._vpx.vpx_codec_vp9_cx()
        if self._vpx.vpx_codec_enc_config_default(interface, self._config, 0):
            raise Unavailable(f"{self.name} has no VP9 encoder", REMEDY)
        self._configure(size, fps, kbps, threads)
        for number in ABI_NUMBERS:
            self._codec = ffi.new("char[]", CODEC_BYTES)
            if self._vpx.vpx_codec_enc_init_ver(self._codec, interface, self._config, 0, number) == 0:
                break
        else:
            raise Unavailable(f"{self.name} opens no encoder of {size.width}x{size.height}: {self._error()}", REMEDY)
        # No more tiles than threads: they make a moving window worse, and nothing faster.
        for control, value in (*TUNING, ("VP9E_SET_TILE_COLUMNS", min(3, (threads - 1).bit_length()))):
            if self._control(control, ffi.cast("int", value)):
                why = self._error()
                self.close()
                raise Unavailable(f"{self.name} does not know {control}: {why}", REMEDY)

    def _configure(self, size: Size, fps: int, kbps: int, threads: int) -> None:
        config = self._config
        config.g_w, config.g_h, config.g_threads, config.g_lag_in_frames = size.width, size.height, threads, 0
        config.g_timebase.num, config.g_timebase.den = 1, fps
        config.rc_end_usage, config.rc_target_bitrate = CONSTANTS["VPX_CBR"], kbps
        config.rc_min_quantizer, config.rc_max_quantizer = MOVING
        config.rc_undershoot_pct = config.rc_overshoot_pct = 50
        config.rc_buf_sz, config.rc_buf_initial_sz, config.rc_buf_optimal_sz = 1000, 500, 600
        config.rc_dropframe_thresh = config.kf_mode = 0

    def encode(self, planes: memoryview, damage: Sequence[Box], flags: int, most: int, kbps: int) -> Encoded:
        """One frame. Raises EncoderRefused."""
        size, key, refine = self._size, flags & KEY or self._pictures == 0, flags & REFINE
        if len(planes) != size.width * size.height * 3 // 2 or flags & HALF:
            raise EncoderRefused(f"it has {len(planes)} bytes, or is to be halved")
        finest, coarsest = STILL if refine else MOVING
        if (self._config.rc_max_quantizer, self._config.rc_target_bitrate) != (coarsest, kbps):
            self._config.rc_min_quantizer, self._config.rc_max_quantizer, self._config.rc_target_bitrate = finest, coarsest, kbps
            self._done(self._vpx.vpx_codec_enc_config_set(self._codec, self._config))
        active = self._choose(damage, bool(key), bool(refine), 0 if key else most)
        if not key:  # the library forgets the map at every key frame
            chosen = ffi.new("unsigned char[]", active) if 0 in active else ffi.NULL
            self._done(self._control("VP8E_SET_ACTIVEMAP", ffi.new("vpx_active_map_t *", (chosen, self._rows, self._columns))))
        pixels = ffi.from_buffer("unsigned char[]", planes)
        self._vpx.vpx_img_wrap(self._image, CONSTANTS["VPX_IMG_FMT_I420"], size.width, size.height, 1, pixels)
        forced = CONSTANTS["VPX_EFLAG_FORCE_KF"] if key else 0
        self._done(self._vpx.vpx_codec_encode(self._codec, self._image, self._pictures, 1, forced, CONSTANTS["VPX_DL_REALTIME"]))
        self._pictures += 1
        packet, quantizer = self._packet(), ffi.new("int *")
        self._done(self._control("VP8E_GET_LAST_QUANTIZER_64", quantizer))
        return Encoded(*packet, sum(active), len(self._ages) - self._ages.count(0), quantizer[0])

    def _choose(self, damage: Sequence[Box], key: bool, refine: bool, most: int) -> bytes:
        """Which macroblocks this picture codes: 1 for each of them, 0 for the others; at most so many are refined, if that is above 0."""
        if key:
            self._ages[:] = b"\1" * len(self._ages)
        for x, y, width, height in damage:
            left, right = x // MACROBLOCK, (x + width - 1) // MACROBLOCK + 1
            for row in range(y // MACROBLOCK, (y + height - 1) // MACROBLOCK + 1):
                start = row * self._columns
                self._ages[start + left : start + right] = b"\1" * (right - left)
        if not refine:
            active = bytes(self._ages.translate(ACTIVE))
            self._ages = self._ages.translate(AGED)
            return active
        active = bytes(self._ages.translate(ROUGH))
        end = len(active)
        if 0 < most < sum(active):
            end = next(islice((place for place, rough in enumerate(active) if rough), most, None))
        self._ages[:end] = bytes(end)
        return active[:end] + bytes(len(active) - end)

    def _packet(self) -> tuple[bytes, bool]:
        at, frames = ffi.new("const void **"), []
        packet: Any
        while (packet := self._vpx.vpx_codec_get_cx_data(self._codec, at)) != ffi.NULL:
            if packet.kind == CONSTANTS["VPX_CODEC_CX_FRAME_PKT"]:
                frame = packet.data.frame
                frames.append((ffi.buffer(frame.buf, frame.sz)[:], bool(frame.flags & CONSTANTS["VPX_FRAME_IS_KEY"])))
        if len(frames) != 1:
            raise EncoderRefused(f"libvpx made {len(frames)} packets of one picture")
        return frames[0]

    def _control(self, control: str, value: Any) -> int:
        return int(self._vpx.vpx_codec_control_(self._codec, CONSTANTS[control], value))

    def _done(self, status: int) -> None:
        if status:
            raise EncoderRefused(self._error())

    def _error(self) -> str:
        detail = self._vpx.vpx_codec_error_detail(self._codec) or self._vpx.vpx_codec_error(self._codec)
        said = ffi.string(detail)
        assert isinstance(said, bytes)
        return said.decode(errors="replace")

    def close(self) -> None:
        """Free everything."""
        self._vpx.vpx_codec_destroy(self._codec)
