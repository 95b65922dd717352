"""Packages of an SDK that are not run before something of them is asked for."""

from __future__ import annotations

import sys
import threading
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import ModuleType
from typing import Any


def defer_packages(root: str) -> None:
    """Leave the `__init__` of package `root`, and of the packages in it, unrun until an attribute is asked for.

    Meanwhile their modules can be imported. That is for packages whose `__init__` imports all their modules to list
    them by name, and has no `__getattr__` of its own. What was imported before the call stays as it is.
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
    """Runs a module at the first look for something that it does not have yet (PEP 562).

    `importlib.util.LazyLoader` is of no use here: importing a module of a package looks at the package.
    """

    def exec_module(self, module: ModuleType) -> None:
        began = False
        lock = threading.RLock()  # held while the module runs, which may look at itself

        def look(name: str) -> Any:
            nonlocal began
            with lock:
                if not began:
                    began = True
                    super(_DeferringLoader, self).exec_module(module)
            try:
                return vars(module)[name]
            except KeyError:
                raise AttributeError(f"module {module.__name__!r} has no attribute {name!r}") from None

        module.__getattr__ = look  # type: ignore[method-assign]
