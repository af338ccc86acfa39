"""Hints for attributes that do not exist: the nearest name, or the equivalent of another library's name."""

from __future__ import annotations

import inspect
import json
import re
import sys
from abc import ABCMeta
from pathlib import Path
from typing import Any, NoReturn

from linkwork._util.lazy_imports import public_modules
from linkwork._util.messages import close_names, nearest

__all__ = [
    "CLASSES",
    "CLASS_REMEDIES",
    "FEATURES",
    "FUNCTION_REMEDIES",
    "MISSING_REMEDIES",
    "MODULES",
    "MODULE_REMEDIES",
    "OPTIONS",
    "POSITIONAL_REMEDIES",
    "RECORDS",
    "REMEDIES",
    "ROBOT",
    "VALUES",
    "ForeignName",
    "Table",
    "WithForeignNames",
    "add_foreign_names",
    "by_foreign_name",
    "missing_attribute",
    "own_name",
]

Table = dict[str, tuple[str, ...]]


class ForeignName:
    """Descriptor for a name of another library: access raises an AttributeError with the equivalent name.

    A `__getattr__` of the class could do the same, but would double the time of each method call.
    """

    def __init__(self, name: str, advice: str, owner: str = "") -> None:
        """Create the descriptor of another library's name, with the advice of its error message.

        ``owner`` is the class of linkwork that the advice names, if any; the message of a subclass names the subclass.
        """
        self._name, self._advice, self._owner = name, advice, owner
        self.__doc__ = f"Not an attribute here: {advice}."

    def __get__(self, owner: object, kind: type) -> NoReturn:
        article = "an" if kind.__name__[0] in "AEIOU" else "a"
        advice = self._advice
        if self._owner:  # a subclass has the attribute, too
            advice = re.sub(rf"\b{self._owner}\.", f"{kind.__name__}.", advice)
        message = f"{article} {kind.__name__} has no attribute {self._name!r}; {advice}"
        raise AttributeError(message, name=self._name, obj=kind if owner is None else owner)


class WithForeignNames(ABCMeta):
    """Metaclass of classes with foreign names: `dir` and `help` leave them out of the attributes.

    It is a subclass of ABCMeta, so that a user's class may have an abstract class as another base.
    """

    __instancecheck__ = type.__instancecheck__  # that of ABCMeta is slower
    __subclasscheck__ = type.__subclasscheck__

    def __dir__(cls) -> list[str]:
        """List the attributes without names of other libraries."""
        foreign = _foreign_names_of(cls)
        return [name for name in super().__dir__() if name not in foreign]


def _foreign_names_of(kind: type) -> set[str]:
    """Return the names of other libraries for which a class or one of its bases has a `ForeignName`."""
    return {name for base in kind.__mro__ for name, value in vars(base).items() if isinstance(value, ForeignName)}


def add_foreign_names(kind: WithForeignNames, title: str = "") -> None:
    """Add a `ForeignName` to a class for each name of other libraries that the class does not define.

    ``title`` is the name of the class in linkwork; by default the names of other libraries for robots are added.
    """
    table, remedies = (CLASSES.get(title, {}), CLASS_REMEDIES.get(title, {})) if title else (ROBOT, REMEDIES)
    prefix = kind.__name__ if title else "robot"
    known = {name for base in kind.__mro__ for name in (*vars(base), *inspect.get_annotations(base))}
    advice = {**_advice(table, prefix), **remedies}
    for name, text in advice.items():
        if name not in known:
            setattr(kind, name, ForeignName(name, text, kind.__name__ if title else ""))
    kind.__dir__ = _without_foreign_names  # type: ignore[assignment]


def _without_foreign_names(self: object) -> list[str]:
    """List the attributes without names of other libraries."""
    foreign = _foreign_names_of(type(self))
    return [name for name in object.__dir__(self) if name not in foreign]


def missing_attribute(title: str, name: str) -> AttributeError:
    """Return the AttributeError for a name that a public module lacks, with the equivalent or the most similar name."""
    return AttributeError(f"module {title!r} has no attribute {name!r}; {_hint(title, name)}", name=name)


def _hint(title: str, name: str) -> str:
    root = title.partition(".")[0]
    advice = _advice(MODULES, root) | REMEDIES | MODULE_REMEDIES.get(title.partition(".")[2], {})
    robot = vars(sys.modules[root]).get("Robot")  # only if it is imported already
    if name in map(own_name, ROBOT) or (robot is not None and name in dir(robot)):
        return f"use Robot.{name}"
    if name in advice:
        return advice[name]
    published = {module: sys.modules[module].__all__ for module in public_modules(root)}
    of_title: list[str] = [*dict.fromkeys(published.get(title, getattr(sys.modules.get(title), "__all__", ())))]
    elsewhere = {key: title_of for title_of, names in published.items() if title_of != title for key in names}
    if name in elsewhere:
        return f"use {elsewhere[name]}.{name}"
    methods = [own_name(key) for key in by_foreign_name(ROBOT).get(name, ())]
    if methods:
        return f"use {' or '.join(f'Robot.{key}' for key in methods)}"
    if close_names(name, of_title):
        return nearest(name, of_title)
    alternatives = [f"{elsewhere[key]}.{key}" for key in close_names(name, sorted(elsewhere))]
    return f"did you mean {' or '.join(alternatives)}?" if alternatives else nearest(name, of_title)


def _advice(table: Table, prefix: str) -> dict[str, str]:
    """Return, for each name of other libraries in a table, the advice to use the equivalent name with the ``prefix``.

    A table maps names of linkwork to their equivalents in other libraries.
    """
    result = {}
    for name, keys in by_foreign_name(table).items():
        result[name] = f"use {' or '.join(f'{prefix}.{key}' for key in keys)}"
    return result


def own_name(key: str) -> str:
    """Return the name of linkwork in a key of a table of equivalent names: the text before the first comma."""
    return key.partition(",")[0]


def by_foreign_name(table: Table) -> dict[str, list[str]]:
    """Return, for each name of other libraries in a table, the table's keys for it: equivalent names of linkwork."""
    result: dict[str, list[str]] = {}
    for key, names in table.items():
        for name in names:
            result.setdefault(name, []).append(key)
    return result


def _table(texts: dict[str, str]) -> Table:
    return {key: tuple(names.split()) for key, names in texts.items()}


def _remedies(texts: dict[str, str]) -> dict[str, str]:
    return {name: remedy for remedy, names in texts.items() for name in names.split()}


_FILE: dict[str, Any] = json.loads(Path(__file__).with_name("foreign_names.json").read_text(encoding="utf-8"))

ROBOT = _table(_FILE["robot"])
"""Attributes of `Robot`."""

MODULES = _table(_FILE["modules"])
"""Names of linkwork and of its public modules."""

CLASSES = {title: _table(texts) for title, texts in _FILE["classes"].items()}
"""Attributes of other classes, by the name of the class in linkwork."""

CLASS_REMEDIES = {title: _remedies(texts) for title, texts in _FILE["class_remedies"].items()}
"""Remedies for attributes of other classes that belong to other objects."""

OPTIONS = _table(_FILE["options"])
"""Options of functions and constructors.  An error names those options that the function has."""

FUNCTION_REMEDIES: dict[str, dict[str, str]] = {}
for _functions, _texts in _FILE["function_remedies"].items():
    for _function in _functions.split():
        FUNCTION_REMEDIES[_function] = FUNCTION_REMEDIES.get(_function, {}) | _remedies(_texts)
"""Remedies for options of one function that belong to another function."""

POSITIONAL_REMEDIES: dict[str, str] = _FILE["positional_remedies"]
"""Remedies for calls with too many positional arguments."""

MISSING_REMEDIES: dict[str, dict[str, str]] = _FILE["missing_remedies"]
"""Remedies for calls without a required argument, by function and argument."""

RECORDS = _table(_FILE["records"])
"""Records of simulations that are not functions of robots."""

FEATURES = _table(_FILE["features"])
"""Features of trajectory problems."""

VALUES = {kind: by_foreign_name(_table(texts)) for kind, texts in _FILE["values"].items()}
"""Names of linkwork for values that other libraries name otherwise, by the kind of the value."""

REMEDIES = _remedies(_FILE["remedies"])
"""Remedies for names of robots and modules that have no equivalent."""

MODULE_REMEDIES = {title: _remedies(texts) for title, texts in _FILE["module_remedies"].items()}
"""Remedies for names of one module, "" for linkwork itself, which are other things elsewhere."""
