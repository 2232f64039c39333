"""The first interpreter under the probe is the adapter: it waits for the program to import Textual, and only then loads the rest.

startup/sitecustomize.py calls it once the variables are out of the environment, so that no child of the program can claim them again.
It imports the standard library only: a program without Textual pays for nothing.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType

WATCHED = "textual.app"


def watch(endpoint: str, token: str) -> None:
    """Tie the probe to `textual.app` as soon as that module is imported."""
    sys.meta_path.insert(0, _Watcher(endpoint, token))


class _Watcher(MetaPathFinder):
    def __init__(self, endpoint: str, token: str) -> None:
        self._endpoint, self._token = endpoint, token

    def find_spec(self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        if fullname != WATCHED:
            return None
        sys.meta_path.remove(self)
        spec = find_spec(fullname)
        if spec is not None and spec.loader is not None:
            spec.loader = _Tied(spec.loader, self._endpoint, self._token)
        return spec


class _Tied(Loader):
    """Loads the module as its own loader would, then ties the probe to it."""

    def __init__(self, loader: Loader, endpoint: str, token: str) -> None:
        self._loader = loader
        self._endpoint, self._token = endpoint, token

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        module.__loader__ = self._loader
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        self._loader.exec_module(module)
        try:
            from ..client import Endpoint
            from .hook import install

            install(module.App, Endpoint(self._endpoint, self._token))
        except Exception as cause:  # another Textual than the probe knows: the program runs without it
            from ..client import note

            note(f"the probe cannot be tied to this Textual: {cause!r}")
