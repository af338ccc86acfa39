"""Numbers of contacts as parameters: friction and the like, of each environment, and as symbols.

``contact_friction`` is that of all contacts, ``contact_friction:floor`` of those of a link, an obstacle, or a point's
frame: what the two surfaces have together, in the place of what their materials make.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from linkwork.errors import UnknownNameError
from linkwork.expr.arrays.symbol_array import is_traced

__all__ = [
    "SurfaceNumbers",
    "check_number",
    "given_surface",
    "input_name",
    "is_of_contacts",
    "read_name",
    "varied_surface",
]

Numbers = Sequence[tuple[str, Any]]

_PREFIX = "contact_"
_KINDS = {"convex": ("friction", "restitution", "stiffness"), "compliant": ("friction", "stiffness", "dissipation")}


class SurfaceNumbers(NamedTuple):
    """What two surfaces have together, as a `ContactMaterial` has it, of any scalars."""

    friction: Any
    restitution: Any
    stiffness: Any
    dissipation: Any


def is_of_contacts(name: Any) -> bool:
    """Whether a parameter's name is one of these, or is meant to be."""
    return isinstance(name, str) and name.startswith(_PREFIX)


def read_name(name: str, model: str, known: Iterable[str]) -> tuple[str, str]:
    """The number that is meant, and whose: nothing for all contacts.  Raises UnknownNameError."""
    kind, colon, of = name.removeprefix(_PREFIX).partition(":")
    if kind not in _KINDS[model]:
        whole = [_PREFIX + one for one in _KINDS[model]]
        raise UnknownNameError(f"parameter of {model} contacts", _PREFIX + kind, whole)
    names = list(dict.fromkeys(known))
    if colon and of not in names:
        raise UnknownNameError(f"link, obstacle or point's frame with contacts, of {_PREFIX}{kind},", of, names)
    return kind, of


def input_name(name: str) -> str:
    """An identifier for it."""
    return re.sub(r"\W", "_", name)


def check_number(name: str, x: Any) -> None:
    """Raises ValueError for numbers (...) that no surface has."""
    if is_traced(x):
        return
    kind = name.removeprefix(_PREFIX).partition(":")[0]
    fits, expected = x >= 0.0, "numbers from 0"
    if kind == "stiffness":
        fits, expected = x > 0.0, "numbers above 0"
    elif kind == "restitution":
        fits, expected = fits & (x <= 1.0), "numbers from 0 to 1"
    if not np.all(fits):
        wrong = float(np.asarray(x)[~np.asarray(fits)].ravel()[0])
        raise ValueError(f"simulate: parameters[{name!r}]: expected {expected}, got {wrong:g}")


def given_surface(material: Any, row: Sequence[Any], compliant: bool) -> SurfaceNumbers:
    """Return a row of friction, restitution, stiffness and dissipation as a surface that has what a material has."""
    friction, restitution, stiffness, dissipation = row
    return SurfaceNumbers(
        friction,
        restitution if material.restitution else 0.0,
        None if material.stiffness is None else stiffness,
        dissipation if compliant else 0.0,
    )


def varied_surface(material: Any, of: Sequence[str], numbers: Numbers, who: str) -> Any:
    """A material with such of the numbers as are of one of these names, or of all.

    Raises ValueError where two of them are of it.
    """
    found = {kind: getattr(material, kind) for kind in SurfaceNumbers._fields}
    by: dict[str, str] = {}
    for name, x in sorted(numbers, key=lambda one: ":" in one[0]):  # those of all come first
        kind, _, own = name.removeprefix(_PREFIX).partition(":")
        if own and own not in of:
            continue
        if own and by.get(kind):
            raise ValueError(
                f"simulate: parameters: {name!r} and {by[kind]!r} are both of the contact of {who}: give one of them"
            )
        found[kind], by[kind] = x, name if own else ""
    return SurfaceNumbers(**found) if by else material
