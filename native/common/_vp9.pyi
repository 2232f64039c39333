"""The types of the built module; the contract of each function is in vp9.h."""

from typing import Protocol, TypeAlias

from _cffi_backend import FFI

ffi: FFI
CData: TypeAlias = FFI.CData

class _Lib(Protocol):
    TX_VP9_KEY: int
    TX_VP9_REFINE: int
    TX_VP9_HALF: int

    def tx_vp9_open(
        self, width: int, height: int, fps: int, kbps: int, threads: int, half_threads: int, error: CData, error_size: int, /
    ) -> CData: ...
    def tx_vp9_encode(
        self, encoder: CData, planes: CData, damage: CData, count: int, flags: int, most: int, kbps: int, packet: CData, /
    ) -> int: ...
    def tx_vp9_error(self, encoder: CData, /) -> CData: ...
    def tx_vp9_close(self, encoder: CData, /) -> None: ...
    def tx_vp9_version(self) -> CData: ...

lib: _Lib
