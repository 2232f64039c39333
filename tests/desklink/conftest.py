"""What the tests of the desktop share."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from webrtc_kit import Lab


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    """One network and browser for the module."""
    from webrtc_kit import Lab

    made = Lab()
    yield made
    made.close()
