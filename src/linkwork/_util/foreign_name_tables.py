"""Names of other libraries, and linkwork's names for the same things, from the file ``foreign_names.json``.

A key of a `Table` is a name of linkwork; a remark may follow after a comma.  Its values are the names of other
libraries.  Remedies are texts by the names of other libraries.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

__all__ = [
    "CLASSES",
    "CLASS_REMEDIES",
    "FEATURES",
    "FUNCTION_REMEDIES",
    "MISSING_REMEDIES",
    "MODULES",
    "OPTIONS",
    "POSITIONAL_REMEDIES",
    "RECORDS",
    "REMEDIES",
    "ROBOT",
    "Table",
    "by_foreign_name",
    "own_name",
]

Table = dict[str, tuple[str, ...]]


def own_name(key: str) -> str:
    """Return the name of linkwork at the beginning of a key."""
    return key.partition(",")[0]


def by_foreign_name(table: Table) -> dict[str, list[str]]:
    """Return the keys of a table for each name of other libraries."""
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

FUNCTION_REMEDIES = {
    function: _remedies(texts)
    for functions, texts in _FILE["function_remedies"].items()
    for function in functions.split()
}
"""Remedies for options of one function that belong to another function."""

POSITIONAL_REMEDIES: dict[str, str] = _FILE["positional_remedies"]
"""Remedies for calls with too many positional arguments."""

MISSING_REMEDIES: dict[str, dict[str, str]] = _FILE["missing_remedies"]
"""Remedies for calls without a required argument, by function and argument."""

RECORDS = _table(_FILE["records"])
"""Records of simulations that are not functions of robots."""

FEATURES = _table(_FILE["features"])
"""Features of trajectory problems."""

REMEDIES = _remedies(_FILE["remedies"])
"""Remedies for names of robots and modules that have no equivalent."""
