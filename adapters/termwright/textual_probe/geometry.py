"""Where Textual itself says that a frame's widgets are, what of them is clipped away, and which widget a fresh pointer would reach.

Facts only, taken from the compositor that painted the frame; tree.py puts them into nodes. Reading them changes nothing in the program.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from textual._compositor import Compositor
from textual.drivers.linux_driver import LinuxDriver
from textual.errors import NoWidget
from textual.geometry import NULL_REGION
from textual.screen import Screen

if TYPE_CHECKING:
    from typing import Any

    from textual.app import App
    from textual.geometry import Region
    from textual.map_geometry import MapGeometry
    from textual.widget import Widget


@dataclass(frozen=True)
class Audit:
    """What was looked at before anything is claimed.

    `whole_terminal`: Textual owns every cell of the terminal, so that its cells are the terminal's. `clipping`: its own compositor knows
    what containers cut off.
    """

    whole_terminal: bool
    clipping: bool


def audit(app: App[Any]) -> Audit:
    """Look at a running program. Subclasses may do anything: only Textual's own driver and compositor are known."""
    return Audit(type(app._driver) is LinuxDriver and not app.is_inline, clips(app.screen))


def clips(screen: Screen[Any]) -> bool:
    """Whether what this screen's compositor says about clipping is known to be true."""
    return type(screen._compositor) is Compositor


@dataclass(frozen=True)
class Place:
    """One widget in the frame: its whole region, and the part that no container cuts off (None when nothing knows)."""

    region: Region
    visible: Region | None


class Run(NamedTuple):
    """Cells of one row with one recipient."""

    row: int
    column: int
    width: int
    owner: Widget


class Places:
    """Where each widget of a screen is. `of` answers for the frame that was painted last."""

    def __init__(self) -> None:
        self._arranged: dict[Widget, MapGeometry] = {}
        self._arranged_for: object = None

    def of(self, screen: Screen[Any]) -> dict[Widget, Place]:
        """The place of every widget that the layout has one for, painted or scrolled away."""
        compositor = screen._compositor
        known = clips(screen)
        painted = compositor._full_map if compositor._visible_map is None else compositor._visible_map
        places = {}
        if painted is compositor._visible_map:
            # After a scroll the compositor has only what is in view. The rest is arranged as it would do it, without keeping that there.
            if self._arranged_for is not painted:
                self._arranged, _ = compositor._arrange_root(screen, compositor.size, visible_only=False)
                self._arranged_for = painted
            for widget, geometry in self._arranged.items():
                places[widget] = Place(geometry.region, NULL_REGION if known else None)
        for widget, geometry in painted.items():
            places[widget] = Place(geometry.region, geometry.visible_region if known else None)
        return places


class Routing:
    """Who gets a pointer that comes fresh to each cell, as Textual routes its events.

    Every answer is one of `get_widget_at`, which routes mouse events. Textual's own looks only at the regions between the cuts of a row, so
    one question for each such run is a question for each of its cells, and its answers stay while its table of regions does; any other is
    asked cell by cell for every frame. A pointer that is being dragged belongs to whoever captured it, and is not a fresh one.
    """

    def __init__(self) -> None:
        self._runs: list[Run] = []
        self._table: object = None

    def runs(self, screen: Screen[Any]) -> list[Run]:
        """The runs of cells with one recipient, row by row; cells that nobody gets are in none."""
        compositor = screen._compositor
        own = clips(screen) and type(screen).get_widget_at is Screen.get_widget_at
        if not own:
            columns = range(compositor.size.width + 1)
            return [*_runs(screen, [columns] * compositor.size.height)]
        if self._table is not compositor.layers_visible:
            self._runs = [*_runs(screen, compositor.cuts)]
            self._table = compositor.layers_visible
        return self._runs


def _runs(screen: Screen[Any], cuts: Sequence[Sequence[int]]) -> Iterator[Run]:
    for row, columns in enumerate(cuts):
        start, owner = 0, None
        for column, _ in pairwise(columns):
            try:
                found, _ = screen.get_widget_at(column, row)
            except NoWidget:
                found = None
            if found is not owner:
                if owner is not None:
                    yield Run(row, start, column - start, owner)
                start, owner = column, found
        if owner is not None:
            yield Run(row, start, columns[-1] - start, owner)
