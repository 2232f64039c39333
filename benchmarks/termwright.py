"""Terminal panel: how fast a frame from the socket becomes a checked tree, against the decoder and validator of the published client."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from harness import Benchmark, Sides, Skip

FRAMES = Path(__file__).resolve().parents[2] / "shared" / "data" / "termwright"


def validate(name: str, nodes: int) -> Callable[[], AbstractContextManager[Sides]]:
    """Both sides take the whole frame through a fresh frame decoder and validate the tree in it; both must find all its nodes."""

    @contextmanager
    def prepare() -> Iterator[Sides]:
        path = FRAMES / name
        if not path.exists():
            raise Skip(f"the recorded frame {name} is not beside this checkout")
        try:
            from termwright.framing import FrameDecoder as PeerDecoder
            from termwright.limits import DEFAULT_LIMITS as PEER_LIMITS
            from termwright.validate import validate_snapshot
        except ImportError as missing:
            raise Skip("the peer is not installed: pip install 'triptych[dev]'") from missing
        from triptych.generated.termwright.models import SemanticFull
        from triptych.machines.termwright.framing import FrameDecoder
        from triptych.machines.termwright.limits import DEFAULT_LIMITS
        from triptych.machines.termwright.messages import read_adapter_message

        frame = path.read_bytes()

        def ours() -> None:
            (body,) = FrameDecoder(DEFAULT_LIMITS["maxFrameBytes"]).bodies(frame)
            message = read_adapter_message(body, DEFAULT_LIMITS)
            assert isinstance(message, SemanticFull) and len(message.snapshot.nodes) == nodes

        def peer() -> None:
            (message,) = PeerDecoder(PEER_LIMITS.maxFrameBytes, PEER_LIMITS.maxDepth).push(frame)
            result = validate_snapshot(message["snapshot"], PEER_LIMITS)
            assert result.ok and result.snapshot is not None and len(result.snapshot["nodes"]) == nodes

        yield Sides(ours, peer)

    return prepare


BENCHMARKS = (
    Benchmark("termwright.validate_100", "termwright 0.7.7", validate("frame-full-100.bin", 100), rounds=30),
    Benchmark("termwright.validate_1000", "termwright 0.7.7", validate("frame-full-1000.bin", 1000), rounds=20),
)
