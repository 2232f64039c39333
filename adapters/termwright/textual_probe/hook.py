"""Ties the probe to Textual: after each frame that the program draws, its tree goes to the driver and its marker follows the frame's bytes.

claim.py installs it once `textual.app` is loaded. Whatever fails here ends the session, never the program.
"""

from __future__ import annotations

import asyncio
import functools
import importlib.metadata
import weakref
from typing import TYPE_CHECKING, Any

from .... import __version__
from ....errors import LocalProtocolError
from ....generated.termwright.models import AdapterCapability, DegradedCapability, Instrumentation, ProbeCapability, ProbeInfo
from ..client import Client, Endpoint, note
from .geometry import Audit, audit
from .tree import TreeBuilder

if TYPE_CHECKING:
    from textual.app import App

NAME = "triptych-textual-probe"
#: Refusals of a tree after which the session lives, since the next tree may fit.
PASSING = frozenset(("frame-oversized", "bytes", "count", "depth"))
#: Refusals that the driver is told by their own code; every other one is the probe's own fault.
TOLD = frozenset(("duplicate-semantic-key", "adapter-guarantee-violation"))


def install(programs: type[App[Any]], endpoint: Endpoint) -> None:
    """Call the probe after each frame of every Textual program in this process; `programs` is Textual's own `App`."""
    probe = _Probe(endpoint)
    display = programs._display

    @functools.wraps(display)
    def display_and_tell(app: App[Any], screen: Any, renderable: Any) -> None:
        display(app, screen, renderable)
        if renderable is not None and not app._batch_count:
            probe.drawn(app)

    programs._display = display_and_tell  # type: ignore[method-assign, assignment]  # this is the hook


class _Probe:
    """The session of this process. The first program that draws owns it for as long as it runs."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._client: Client | None = None
        self._builder: TreeBuilder | None = None
        self._app: weakref.ref[App[Any]] | None = None
        self._given_up = False

    def drawn(self, app: App[Any]) -> None:
        """A frame of `app` is on its way to the terminal."""
        try:
            if self._given_up or not _draws(app) or not self._owns(app):
                return
            if self._client is None:
                self._attach(app)
            else:
                self._publish(app)
        except Exception as cause:  # the program goes on as if nobody watched
            self._given_up = True
            note(f"the probe gives up: {cause!r}")
            if self._client is not None:
                code = cause.code if isinstance(cause, LocalProtocolError) else ""
                self._client.fail(code if code in TOLD else "internal", str(cause))

    def _owns(self, app: App[Any]) -> bool:
        owner = self._app() if self._app is not None else None
        if owner is None or not owner._running:
            self._app = weakref.ref(app)
            owner = app
        return owner is app

    def _attach(self, app: App[Any]) -> None:
        found = audit(app)
        self._builder = TreeBuilder(found)
        capabilities, probe = announcement(found)
        self._client = client = Client(NAME, __version__, capabilities=capabilities, probe=probe, endpoint=self._endpoint)
        loop = asyncio.get_running_loop()

        def attached() -> None:
            # The frame on the screen was drawn before anyone listened.
            loop.call_soon_threadsafe(app.call_later, self.drawn, app)

        client.start_soon(attached)

    def _publish(self, app: App[Any]) -> None:
        client, builder, driver = self._client, self._builder, app._driver
        if client is None or builder is None or driver is None or client.session is None or not client.attached:
            return
        marker = client.publish(builder.build(app, client.session.limits))
        if client.refusal is not None and client.refusal.code not in PASSING:
            raise client.refusal
        if marker:
            driver.write(marker.decode())
            driver.flush()


def _draws(app: App[Any]) -> bool:
    """Whether the frame went to a terminal: the conditions under which Textual writes it."""
    return app._running and not app._closed and not app.is_headless and app._driver is not None and bool(app.screen._compositor.size)


def announcement(found: Audit) -> tuple[list[AdapterCapability], ProbeInfo]:
    """What the hello claims: what was audited, and nothing else."""
    capabilities: list[AdapterCapability] = ["tree", "intended-geometry"]
    observed: list[ProbeCapability] = ["stable-identity", "intended-rect"]
    degraded: list[DegradedCapability] = ["inactive-screen-tree", "custom-container-enumeration"]
    if found.clipping:
        capabilities.append("clipped-geometry")
        observed.append("visible-rect")
    else:
        degraded.append("clipped-geometry")
    capabilities += ["states", "focus-state", "actions", "action-recipes", "render-revisions", "logs", "incremental-tree"]
    if found.whole_terminal:
        capabilities.append("pointer-hit-grid")
    else:
        degraded += ["pointer-geometry", "pointer-hit-testing", "pointer-input"]
    observed.append("annotations")
    return capabilities, ProbeInfo(
        framework="textual",
        framework_version=importlib.metadata.version("textual"),
        probe_version=__version__,
        identity_kind="stable",
        capabilities=tuple(observed),
        instrumentation=Instrumentation(highest_tier="T3", semantic_class="A", degraded_capabilities=tuple(degraded)),
    )
