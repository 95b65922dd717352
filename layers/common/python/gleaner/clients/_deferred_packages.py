"""Defers the import of SDK packages until one of their attributes is used."""

from __future__ import annotations

import sys
import threading
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import ModuleType
from typing import Any


def defer_packages(root: str) -> None:
    """Run the `__init__` of package `root`, and of its subpackages, only when one of their attributes is used.

    Their modules can be imported before that. Use it for packages whose `__init__` imports all their modules just
    to export names, and defines no `__getattr__`. Packages that are already imported are not affected.
    """
    sys.meta_path.insert(0, _DeferringFinder(root))


class _DeferringFinder(MetaPathFinder):
    def __init__(self, root: str) -> None:
        self._root = root

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if not f"{fullname}.".startswith(f"{self._root}."):
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec and spec.submodule_search_locations and isinstance(spec.loader, SourceFileLoader):
            spec.loader = _DeferringLoader(spec.loader.name, spec.loader.path)
        return spec


class _DeferringLoader(SourceFileLoader):
    """Runs a module when an attribute is first missing from it (PEP 562).

    `importlib.util.LazyLoader` does not work here: importing a submodule already reads attributes of the package.
    """

    def exec_module(self, module: ModuleType) -> None:
        started = False
        lock = threading.RLock()  # reentrant: while the module runs, it may read its own attributes

        def load_attribute(name: str) -> Any:
            nonlocal started
            with lock:
                if not started:
                    started = True
                    super(_DeferringLoader, self).exec_module(module)
            try:
                return vars(module)[name]
            except KeyError:
                raise AttributeError(f"module {module.__name__!r} has no attribute {name!r}") from None

        module.__getattr__ = load_attribute  # type: ignore[method-assign]
