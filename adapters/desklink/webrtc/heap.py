"""Keeps the heap of an engine as small as what it holds, where the C library is glibc; called by the transport.

The threads that capture and encode come and go. What is freed on one of them glibc keeps for others that start in the same part of the
heap, and pictures, which it learns to put there too, leave holes: without this an engine holds on to well over a hundred megabytes after
a few sessions, nearly all of them free.
"""

from __future__ import annotations

from functools import cache
from typing import Any

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3
PICTURE_BYTES = 1 << 20
"""A block so large is a picture, or the encoder's of one: made when a session begins or the screen gets another size, and not with each."""


@cache
def _glibc() -> Any:
    """The C library of this process; None where it is another."""
    from cffi import FFI

    ffi = FFI()
    ffi.cdef("int malloc_trim(size_t pad); int mallopt(int param, int value); const char *gnu_get_libc_version(void);")
    try:
        library: Any = ffi.dlopen(None)
        return library if library.gnu_get_libc_version() else None
    except (AttributeError, OSError):
        return None


def bound() -> None:
    """From now on, blocks of a picture's size come from the system and go back to it, and so does the end of a heap that is free."""
    if (library := _glibc()) is not None:
        library.mallopt(M_MMAP_THRESHOLD, PICTURE_BYTES)
        library.mallopt(M_TRIM_THRESHOLD, PICTURE_BYTES)


def trim() -> None:
    """Give back whole pages of the heap that hold nothing. It takes some milliseconds, with the lock of the interpreter free."""
    if (library := _glibc()) is not None:
        library.malloc_trim(0)
