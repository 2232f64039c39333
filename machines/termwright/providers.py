"""What an application's evidence providers add to a tree when it is published, and whether they kept their word. The session calls it.

Each provider that the hello registered delivers exactly one entry with every revision, with all the parts that it registered and no other.
The parts of all providers are put together with what the framework says; facts that contradict each other are a failure, not a choice.
termwright/3, evidence providers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NoReturn

from msgspec import UNSET, UnsetType, structs

from ...errors import RemoteProtocolError
from ...generated.termwright.models import (
    Evidence,
    FocusNowhere,
    FocusOnNode,
    HitGrid,
    HitRect,
    HitRegion,
    InputRecipe,
    KnownHitGrid,
    KnownPaintedRegion,
    KnownScroll,
    Node,
    NodeState,
    PaintedRegion,
    ProviderAvailable,
    ProviderInfo,
    ProviderLost,
    ScrollState,
    Snapshot,
)

CODE: Final = "capability-provider-violation"

#: Which part of an entry delivers which capability. A part that is missing there is UNSET; pointer regions are a list in every entry.
_PARTS: Final[Mapping[str, str]] = {
    "hit-test": "hit_grid",
    "focus-state": "focus_state",
    "action-recipes": "action_recipes",
    "scroll-state": "scroll_states",
    "painted-regions": "painted_regions",
    "terminal-input-modes": "input_modes",
}


def compose(snapshot: Snapshot, registered: Sequence[ProviderInfo] | UnsetType) -> Snapshot:
    """The tree with what its providers know in the places where the framework knew nothing; the tree itself when there are none.

    Raises `RemoteProtocolError` (`capability-provider-violation`): an entry is missing or was never registered, a provider is lost or in
    violation, a part is missing or was never registered, or two sources contradict each other.
    """
    entries = _delivered(snapshot, registered or ())
    if not entries:
        return snapshot
    return _Composition(snapshot).composed(entries)


def _fail(provider: str, detail: str) -> NoReturn:
    raise RemoteProtocolError(CODE, f"provider {provider!r}: {detail}", "snapshot.providerEvidence")


def _delivered(snapshot: Snapshot, registered: Iterable[ProviderInfo]) -> list[ProviderAvailable]:
    """The entries, in the order of registration, once each has been held against its registration."""
    given = {entry.provider_id: entry for entry in snapshot.provider_evidence or ()}
    entries = []
    for provider in registered:
        entry = given.pop(provider.id, None)
        if entry is None:
            _fail(provider.id, f"it delivers nothing with revision {snapshot.revision}")
        if not isinstance(entry, ProviderAvailable):
            _fail(provider.id, f"it is {'lost' if type(entry) is ProviderLost else 'in violation'}: {entry.reason}")
        for capability, part in _PARTS.items():
            promised, present = capability in provider.capabilities, getattr(entry, part) is not UNSET
            if promised and not present:
                _fail(provider.id, f"it registered {capability} and does not deliver it with revision {snapshot.revision}")
            if present and not promised:
                _fail(provider.id, f"it delivers {capability} and did not register it")
        if entry.pointer_regions and "pointer-regions" not in provider.capabilities:
            _fail(provider.id, "it delivers pointer-regions and did not register it")
        entries.append(entry)
    for stranger in given:
        _fail(stranger, "it was not registered")
    return entries


class _Composition:
    """The facts of one revision by subject, each with its source, so that the second source of a fact can only agree."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._nodes = {node.id: node for node in snapshot.nodes}
        self._facts: dict[tuple[str, ...], tuple[Any, str]] = {}
        self._changes: dict[str, dict[str, Any]] = {}

    def composed(self, entries: Sequence[ProviderAvailable]) -> Snapshot:
        """The snapshot with everything that the entries add."""
        for entry in entries:
            self._take(entry)
        nodes = tuple(structs.replace(node, **self._changes.get(node.id, {})) for node in self._snapshot.nodes)
        grid = self._hit_grid([entry for entry in entries if entry.hit_grid is not UNSET])
        return structs.replace(self._snapshot, nodes=nodes, hit_grid=grid)

    def _take(self, entry: ProviderAvailable) -> None:
        provider = entry.provider_id
        evidence = Evidence(source="application", method=entry.evidence.method, strength="authoritative", provider_id=provider)
        if entry.input_modes is not UNSET:
            self._state(provider, entry.input_modes, "the input modes")
        for region in entry.pointer_regions:
            self._state(provider, region, "the pointer region of", region.recipient_id)
        if entry.focus_state is not UNSET:
            self._take_focus(provider, entry.focus_state)
        for given in entry.action_recipes or ():
            for recipe in given.recipes:
                self._take_recipe(provider, self._nodes[given.recipient_id], recipe)
        for scroll in entry.scroll_states or ():
            state = ScrollState(axis=scroll.axis, offset=scroll.offset, viewport=scroll.viewport, extent=scroll.extent)
            node = self._nodes[scroll.recipient_id]
            if type(node.scroll) is KnownScroll and node.scroll.value.axis == scroll.axis:
                self._state("the framework", node.scroll.value, "the scroll state of", node.id, scroll.axis)
            self._state(provider, state, "the scroll state of", node.id, scroll.axis)
            if type(node.scroll) is not KnownScroll:
                self._change(node, scroll=KnownScroll(value=state, evidence=evidence))
        for painted in entry.painted_regions or ():
            region_of = PaintedRegion(region_bounds=painted.region_bounds, spans=painted.spans)
            node = self._nodes[painted.recipient_id]
            if type(node.painted_region) is KnownPaintedRegion:
                self._state("the framework", node.painted_region.value, "the painted region of", node.id)
            self._state(provider, region_of, "the painted region of", node.id)
            if type(node.painted_region) is not KnownPaintedRegion:
                self._change(node, painted_region=KnownPaintedRegion(value=region_of, evidence=evidence))

    def _take_focus(self, provider: str, focus: FocusOnNode | FocusNowhere) -> None:
        self._state(provider, focus, "the focus")
        focused = focus.recipient_id if type(focus) is FocusOnNode else None
        for node in self._snapshot.nodes:
            state = node.state
            if type(state) is NodeState and state.focused is not UNSET and state.focused is not (node.id == focused):
                _fail(provider, f"the framework says of node {node.id!r} that focused is {str(state.focused).lower()}")
        if focused is not None:
            node = self._nodes[focused]
            state = node.state if type(node.state) is NodeState else NodeState()
            self._change(node, state=structs.replace(state, focused=True))

    def _take_recipe(self, provider: str, node: Node, recipe: InputRecipe) -> None:
        own = {given.action: given for given in node.input_recipes or ()}
        if recipe.action in own:
            self._state("the framework", own[recipe.action], "the recipe of", node.id, recipe.action)
        self._state(provider, recipe, "the recipe of", node.id, recipe.action)
        recipes = {given.action: given for given in self._changes.get(node.id, {}).get("input_recipes", node.input_recipes) or ()}
        self._change(node, input_recipes=(*{**recipes, recipe.action: recipe}.values(),))

    def _hit_grid(self, entries: Sequence[ProviderAvailable]) -> Any:
        """The framework's grid where it is known, else the runs of all providers; every cell has one owner, whoever says so."""
        own = self._snapshot.hit_grid
        known = type(own) is KnownHitGrid
        told = [("the framework", region) for region in own.value.regions] if type(own) is KnownHitGrid else []
        for entry in entries:
            told += [(entry.provider_id, region) for region in (entry.hit_grid.regions if entry.hit_grid is not UNSET else ())]
        regions: list[HitRegion] = []
        end = (-1, -1)
        for provider, region in sorted(told, key=lambda item: (item[1].rect.row, item[1].rect.column)):
            rect = region.rect
            column, right = rect.column, rect.column + rect.width
            if regions and rect.row == end[0] and column < end[1]:
                if regions[-1].recipient_id != region.recipient_id:
                    _fail(provider, f"cell {column},{rect.row} belongs to {region.recipient_id!r} and to {regions[-1].recipient_id!r}")
                column = end[1]
            if right > column:
                run = HitRect(row=rect.row, column=column, width=right - column, height=1)
                regions.append(HitRegion(rect=run, recipient_id=region.recipient_id))
                end = (rect.row, right)
        if known or not entries:
            return own
        first = entries[0]
        evidence = Evidence(source="application", method=first.evidence.method, strength="authoritative", provider_id=first.provider_id)
        return KnownHitGrid(value=HitGrid(regions=tuple(regions)), evidence=evidence)

    def _state(self, source: str, fact: Any, *subject: str) -> None:
        stated, by = self._facts.setdefault(subject, (fact, source))
        if stated != fact:
            _fail(source, f"{' '.join(subject)} differs from what {by} says")

    def _change(self, node: Node, **fields: Any) -> None:
        self._changes.setdefault(node.id, {}).update(fields)
