"""Desktop panel: how fast the pixels of an X display are in the program's hands, against `mss`, on the same private display."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from harness import Benchmark, Sides, Skip
from triptych.adapters.display import PrivateDisplay
from triptych.errors import Unavailable

WIDTH, HEIGHT = 1920, 1080


def paint(display: str) -> None:
    """A picture on the root window: 8x8 blocks of a few hundred colours, so that no part of a frame is plain."""
    import xcffib
    import xcffib.xproto as x

    connection = xcffib.connect(display=display)
    try:
        root = connection.get_setup().roots[0].root
        context = connection.generate_id()
        connection.core.CreateGC(context, root, 0, [])
        for shade in range(256):
            connection.core.ChangeGC(context, x.GC.Foreground, [shade * 0x010305 ^ 0x5A3C71])
            blocks = [
                x.RECTANGLE.synthetic(column * 8, row * 8, 8, 8)
                for row in range(HEIGHT // 8)
                for column in range(WIDTH // 8)
                if (row * 97 + column * 31) % 256 == shade
            ]
            connection.core.PolyFillRectangle(root, context, len(blocks), blocks)
        connection.core.GetInputFocus().reply()
    finally:
        connection.disconnect()


@contextmanager
def grab_1080p() -> Iterator[Sides]:
    """A whole 1920x1080 root window: our shared-memory grab, without and with a copy into memory of our own, and mss as it comes."""
    try:
        import mss
    except ImportError as missing:
        raise Skip("mss is not installed: pip install 'triptych[dev]'") from missing
    from triptych.adapters.desklink.x11_capture import X11Capture

    try:
        display = PrivateDisplay(WIDTH, HEIGHT, dbus=False)
    except Unavailable as lacking:
        raise Skip(str(lacking)) from lacking
    with display:
        before = os.environ.get("XAUTHORITY")
        os.environ["XAUTHORITY"] = display.env["XAUTHORITY"]
        try:
            paint(display.name)
            with X11Capture(display.name) as capture, mss.MSS(display=display.name) as peer:
                screen = peer.monitors[0]
                # Through memory views: a slice of a bytearray would copy twice.
                kept = memoryview(bytearray(WIDTH * HEIGHT * 4))
                other = memoryview(bytearray(kept))
                capture.refresh()
                if bytes(capture.grab().data) != bytes(peer.grab(screen).raw):
                    raise Skip("the two do not see the same pixels")

                def ours() -> None:
                    capture.grab()

                def theirs() -> None:
                    peer.grab(screen)

                def ours_copied() -> None:
                    kept[:] = capture.grab().data

                def ours_compared() -> None:
                    capture.refresh()

                def memory_copy() -> None:
                    other[:] = kept

                beside = {
                    "ours, copied into memory of our own": ours_copied,
                    "ours, compared by tiles with the kept frame": ours_compared,
                    "a plain copy of one frame in memory": memory_copy,
                }
                yield Sides(ours, theirs, beside)
        finally:
            if before is None:
                del os.environ["XAUTHORITY"]
            else:
                os.environ["XAUTHORITY"] = before


BENCHMARKS = (Benchmark("desktop.grab_1080p", "mss", grab_1080p, rounds=60, calls=3),)
