"""Modules under names that they had in earlier versions, which pickles of these versions name."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.abc import Loader
from importlib.machinery import ModuleSpec
from types import ModuleType

__all__ = ["find_moved_modules"]


def find_moved_modules(package: str, names: Mapping[str, str]) -> list[str]:
    """Let modules and packages that were in a package be imported under their old names; return its ``__path__``.

    ``names`` has the new name of each.
    """
    sys.meta_path.insert(0, _Finder({f"{package}.{old}": new for old, new in names.items()}))
    return []


class _Finder:
    """Finder of modules under old names."""

    def __init__(self, names: Mapping[str, str]) -> None:
        self._names = names

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        for old, new in self._names.items():
            if f"{name}.".startswith(f"{old}."):
                return ModuleSpec(name, _Loader(new + name.removeprefix(old)), is_package=True)
        return None


class _Loader(Loader):
    """Loader that imports the moved module under its old name."""

    def __init__(self, name: str) -> None:
        self._name = name

    def create_module(self, spec: ModuleSpec) -> None:
        """Let Python create a module, which is replaced."""

    def exec_module(self, module: ModuleType) -> None:
        """Replace the module."""
        sys.modules[module.__name__] = import_module(self._name)
