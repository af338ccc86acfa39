"""Hints for attributes that do not exist: the nearest name, or the equivalent of another library's name."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import NoReturn

from linkwork._util.foreign_name_tables import (
    CLASS_REMEDIES,
    CLASSES,
    MODULES,
    REMEDIES,
    ROBOT,
    Table,
    by_foreign_name,
)
from linkwork._util.messages import close_names, nearest

__all__ = ["ForeignName", "add_foreign_names", "hint_at_missing_names", "missing_attribute"]


class ForeignName:
    """Descriptor for a name of another library: access raises an AttributeError with the equivalent name.

    A `__getattr__` of the class could do the same, but would double the time of each method call.
    """

    def __init__(self, name: str, advice: str) -> None:
        self._name, self._advice = name, advice
        self.__doc__ = f"Not an attribute here: {advice}."

    def __get__(self, owner: object, kind: type) -> NoReturn:
        article = "an" if kind.__name__[0] in "AEIOU" else "a"
        message = f"{article} {kind.__name__} has no attribute {self._name!r}; {self._advice}"
        raise AttributeError(message, name=self._name, obj=kind if owner is None else owner)


def add_foreign_names(kind: type, title: str = "") -> None:
    """Add a `ForeignName` to a class for each name of other libraries that the class does not define.

    ``title`` is the name of the class in linkwork; without it the names are those of robots.
    """
    table, remedies = (CLASSES.get(title, {}), CLASS_REMEDIES.get(title, {})) if title else (ROBOT, REMEDIES)
    prefix = kind.__name__ if title else "robot"
    known = {name for base in kind.__mro__ for name in (*vars(base), *inspect.get_annotations(base))}
    advice = {**_advice(table, prefix), **remedies}
    foreign = {name: ForeignName(name, text) for name, text in advice.items() if name not in known}
    for name, descriptor in foreign.items():
        setattr(kind, name, descriptor)

    def without_foreign_names(self: object) -> list[str]:
        """List the attributes without names of other libraries."""
        return [name for name in object.__dir__(self) if name not in foreign]

    kind.__dir__ = without_foreign_names  # type: ignore[assignment]


def hint_at_missing_names(package: ModuleType) -> None:
    """Let errors of attributes that the package's public modules and classes do not have name those that exist."""
    modules = dict(_public_modules(package, package.__name__))
    for title, module in modules.items():
        if "__getattr__" not in vars(module):
            module.__getattr__ = _missing_in(title, package)  # type: ignore[method-assign]
    for title in CLASSES:
        place, _, name = title.rpartition(".")
        owner = modules[f"{package.__name__}.{place}".rstrip(".")]
        add_foreign_names(getattr(owner, name), title)


def _missing_in(title: str, package: ModuleType) -> Callable[[str], NoReturn]:
    """Return the `__getattr__` of a module."""

    def missing(name: str) -> NoReturn:
        raise missing_attribute(title, name, package)

    missing.__name__ = missing.__qualname__ = "__getattr__"
    return missing


def missing_attribute(title: str, name: str, package: ModuleType) -> AttributeError:
    """Return the error of a module's missing attribute, with its equivalent or the nearest name in the package."""
    text = f"module {title!r} has no attribute {name!r}"
    return AttributeError(text if name.startswith("_") else f"{text}; {_hint(title, name, package)}", name=name)


def _hint(title: str, name: str, package: ModuleType) -> str:
    root = package.__name__
    advice = _advice(MODULES, root) | REMEDIES
    if name in advice:
        return advice[name]
    modules = dict(_public_modules(package, root))
    own = [*dict.fromkeys(modules[title].__all__)] if title in modules else []
    elsewhere = {key: place for place, module in modules.items() if place != title for key in module.__all__}
    if name in elsewhere:
        return f"use {elsewhere[name]}.{name}"
    if close_names(name, own):
        return nearest(name, own)
    places = [f"{elsewhere[key]}.{key}" for key in close_names(name, sorted(elsewhere))]
    return f"did you mean {' or '.join(places)}?" if places else nearest(name, own)


def _advice(table: Table, prefix: str) -> dict[str, str]:
    """Return the advice for each foreign name of a table."""
    result = {}
    for name, keys in by_foreign_name(table).items():
        result[name] = f"use {' or '.join(f'{prefix}.{key}' for key in keys)}"
    return result


def _public_modules(module: ModuleType, title: str) -> Iterator[tuple[str, ModuleType]]:
    """Yield the public modules of a package that are imported, with their names; inner ones come first."""
    for name in module.__all__:
        value = vars(module).get(name)
        if isinstance(value, ModuleType) and value.__name__.startswith(title):
            yield from _public_modules(value, f"{title}.{name}")
    yield title, module
