"""Calls the compiled VP9 helper; only the encoder imports it, and an ImportError means that the helper was not built here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ...errors import Unavailable
from ...machines.desklink.geometry import Box, Size
from ...native.common._vp9 import ffi, lib
from .encoder import REMEDY, Encoded, EncoderRefused

if TYPE_CHECKING:
    from ...native.common._vp9 import CData


def _text(text: CData) -> str:
    said = ffi.string(text)
    assert isinstance(said, bytes)
    return said.decode(errors="replace")


NAME = f"libvpx {_text(lib.tx_vp9_version())}"
"""The library and its version."""


class HelperVp9:
    """One encoder of the helper; the lock of the interpreter is free while it encodes."""

    name = NAME
    halves = True

    def __init__(self, size: Size, fps: int, kbps: int, threads: int, half_threads: int) -> None:
        error = ffi.new("char[]", 200)
        self._encoder = lib.tx_vp9_open(size.width, size.height, fps, kbps, threads, half_threads, error, len(error))
        if self._encoder == ffi.NULL:
            raise Unavailable(_text(error), REMEDY)
        self._packet: Any = ffi.new("tx_vp9_packet *")
        self._length = size.width * size.height * 3 // 2

    def encode(self, planes: memoryview, damage: Sequence[Box], flags: int, most: int, kbps: int) -> Encoded:
        """One frame. Raises EncoderRefused."""
        if len(planes) != self._length:
            raise EncoderRefused(f"it has {len(planes)} bytes instead of {self._length}")
        boxes = ffi.new("int32_t[][4]", list(damage))
        packet = self._packet
        if lib.tx_vp9_encode(self._encoder, ffi.from_buffer("uint8_t[]", planes), boxes, len(damage), flags, most, kbps, packet):
            raise EncoderRefused(_text(lib.tx_vp9_error(self._encoder)))
        return Encoded(ffi.buffer(packet.data, packet.size)[:], bool(packet.key), packet.coded, packet.rough, packet.quantizer)

    def close(self) -> None:
        """Free everything."""
        lib.tx_vp9_close(self._encoder)
