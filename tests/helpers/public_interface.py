"""Public modules, found from `linkwork.__all__`, and the classes and functions that they publish."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import linkwork
from linkwork._util.foreign_names import ForeignName
from linkwork._util.lazy_imports import LazyAttribute


def public_modules() -> dict[str, ModuleType]:
    """Return linkwork and the public modules in it, by name, with public modules in these."""
    results = {"linkwork": linkwork}
    for name in dir(linkwork):  # also `environments`, which ``import *`` leaves out
        if inspect.ismodule(getattr(linkwork, name)):
            _collect(importlib.import_module(f"linkwork.{name}"), results)
    return dict(sorted(results.items()))


def _collect(module: ModuleType, results: dict[str, ModuleType]) -> None:
    results[module.__name__] = module
    for name in module.__all__:
        value = getattr(module, name)
        if inspect.ismodule(value) and value.__name__ not in results:
            _collect(value, results)


def public_classes() -> dict[type, str]:
    """Return all public classes, each with the name of its module: the innermost of those that publish it."""
    results: dict[type, str] = {}
    for title, module in public_modules().items():
        for name in module.__all__:
            value = getattr(module, name)
            if inspect.isclass(value) and title.count(".") >= results.get(value, "").count("."):
                results[value] = title
    return results


class Field:
    """Stands for an attribute that a class only declares, as dataclasses do."""


def own_members(cls: type, public: dict[type, str]) -> dict[str, Any]:
    """Return the attributes that a class defines, or inherits from private classes that no public base has."""
    theirs = {base for base_class in cls.__mro__[1:] if base_class in public for base in base_class.__mro__}
    results: dict[str, Any] = {}
    for base in reversed(cls.__mro__):
        if base.__module__.startswith("linkwork") and base not in theirs:
            results |= dict.fromkeys(inspect.get_annotations(base), Field) | {
                name: value.value() if isinstance(value, LazyAttribute) else value for name, value in vars(base).items()
            }
    return {name: value for name, value in results.items() if not isinstance(value, ForeignName)}


def all_members(cls: type) -> dict[str, Any]:
    """Return the attributes that a class defines or inherits from classes of linkwork."""
    return own_members(cls, {})


def public_functions() -> Iterator[tuple[str, Any]]:
    """Yield public functions, and public methods and properties of public classes as functions, with their names."""
    for title, module in public_modules().items():
        for name in module.__all__:
            if inspect.isroutine(getattr(module, name)):
                yield f"{title}.{name}", getattr(module, name)
    for cls, title in public_classes().items():
        for name, value in all_members(cls).items():
            function = getattr(value, "fget", None) or getattr(value, "func", None) or getattr(value, "__func__", value)
            if not name.startswith("_") and inspect.isroutine(function):
                yield f"{title}.{cls.__name__}.{name}", function
