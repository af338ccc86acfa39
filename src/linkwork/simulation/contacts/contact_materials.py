"""What surfaces are made of, and what two of them are together.

Numbers of contacts as parameters: friction and the like, of each environment, and as symbols.

``contact_friction`` is that of all contacts, ``contact_friction:floor`` of those of a link, an obstacle, or a point's
frame: what the two surfaces have together, in the place of what their materials make.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from linkwork._util.checked_arguments import public, public_constructor
from linkwork._util.validation import Check, finite_number, optional
from linkwork.errors import UnknownNameError
from linkwork.expr.arrays.symbol_array import is_traced

__all__ = [
    "ContactMaterial",
    "Materials",
    "check_names",
    "check_number",
    "check_surface",
    "checked_materials",
    "from_zero",
    "given_surface",
    "input_name",
    "is_of_contacts",
    "material_of",
    "read_name",
    "restitution",
    "varied_surface",
]


Materials = tuple[tuple[str | tuple[str, str], "ContactMaterial"], ...]


@public_constructor
@dataclass(frozen=True)
class ContactMaterial:
    """A surface: Coulomb's coefficient of ``friction``, ``restitution`` from 0 (what falls stays down) to 1,
    ``stiffness`` and ``dissipation`` [s/m].

    Contacts without a stiffness are as rigid as a step can tell.  It is in N/m, of compliant contacts in N/m^(3/2);
    dissipation is theirs alone, and restitution is of the others alone.

    Two surfaces have together the geometric mean of friction, the lesser restitution, stiffnesses as springs one behind
    the other, 1/k = 1/k_a + 1/k_b, and the dissipation that each has, by how much it yields, c = (k/k_a) c_a +
    (k/k_b) c_b.

    >>> from linkwork.simulation import ContactMaterial
    >>> ContactMaterial(friction=1.0, restitution=0.5).beside(ContactMaterial(friction=0.25))
    ContactMaterial(friction=0.5, restitution=0.0, stiffness=None, dissipation=0.0)

    Raises ValueError for a friction, restitution or dissipation below 0, a restitution above 1, and a stiffness that is
    not above 0.
    """

    friction: float = 0.8
    restitution: float = 0.0
    stiffness: float | None = None
    dissipation: float = 0.0

    def __post_init__(self) -> None:
        check_surface("ContactMaterial", self)

    @public
    def beside(self, other: ContactMaterial) -> ContactMaterial:
        """This surface and another one."""
        k, share = _series(self.stiffness, other.stiffness)
        return ContactMaterial(
            math.sqrt(self.friction * other.friction),
            min(self.restitution, other.restitution),
            k,
            share * self.dissipation + (1.0 - share) * other.dissipation,
        )


def _series(a: float | None, b: float | None) -> tuple[float | None, float]:
    """The stiffness of two springs one behind the other, and how much of the way is the first one's."""
    if a is None:
        return b, 0.5 if b is None else 0.0
    if b is None:
        return a, 1.0
    return a * b / (a + b), b / (a + b)


def check_surface(caller: str, one: Any) -> None:
    """Check friction, restitution, stiffness and dissipation of a surface, and store them as floats."""
    for name, check in _CHECKS.items():
        object.__setattr__(one, name, check(caller, name, getattr(one, name)))


def checked_materials(caller: str, value: Any) -> Materials:
    """One material of all, or materials by name and by pair of names, as a value.  Raises TypeError."""
    if isinstance(value, ContactMaterial):
        return (("", value),)
    if isinstance(value, tuple) and all(isinstance(x, tuple) and len(x) == 2 for x in value):
        value = dict(value)  # as it was read before
    if not isinstance(value, Mapping):
        raise TypeError(f"{caller}: materials: expected a ContactMaterial, or a dict of them by name, got {value!r}")
    result: list[tuple[str | tuple[str, str], ContactMaterial]] = []
    for key, material in value.items():
        pair = isinstance(key, tuple) and len(key) == 2 and all(isinstance(x, str) for x in key)
        if not (pair or isinstance(key, str)):
            raise TypeError(f"{caller}: materials: expected names, or pairs of names, got {key!r}")
        if not isinstance(material, ContactMaterial):
            raise TypeError(f"{caller}: materials[{key!r}]: expected a ContactMaterial, got {material!r}")
        result.append((key, material))
    return tuple(result)


def check_names(materials: Materials, known: Iterable[str]) -> None:
    """Raises UnknownNameError for the material of what there is not."""
    names = list(known)
    for key, _ in materials:
        for name in (key,) if isinstance(key, str) else key:
            if name and name not in names:
                raise UnknownNameError("link or obstacle with a material", name, names)


def material_of(materials: Materials, a: str, b: str) -> ContactMaterial:
    """That of a pair: its own, else what its two make of theirs; what has none is as `ContactMaterial` is."""
    known = dict(materials)
    for pair in ((a, b), (b, a)):
        if pair in known:
            return known[pair]
    alike = known.get("", ContactMaterial())
    return known.get(a, alike).beside(known.get(b, alike))


restitution = partial(finite_number, least=0.0, most=1.0, symbols=False)
from_zero = partial(finite_number, least=0.0, symbols=False)
_CHECKS: Mapping[str, Check] = {
    "friction": from_zero,
    "restitution": restitution,
    "stiffness": optional(partial(finite_number, above=0.0, symbols=False, unit="N/m")),
    "dissipation": partial(from_zero, unit="s/m"),
}


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


def varied_surface(material: Any, of: Sequence[str], numbers: Numbers, caller: str) -> Any:
    """A material with such of the numbers as are of one of these names, or of all.

    Raises ValueError where two of them are of it.
    """
    result = {kind: getattr(material, kind) for kind in SurfaceNumbers._fields}
    by: dict[str, str] = {}
    for name, x in sorted(numbers, key=lambda one: ":" in one[0]):  # those of all come first
        kind, _, own = name.removeprefix(_PREFIX).partition(":")
        if own and own not in of:
            continue
        if own and by.get(kind):
            raise ValueError(
                f"simulate: parameters: {name!r} and {by[kind]!r} are both of the contact of {caller}: give one of them"
            )
        result[kind], by[kind] = x, name if own else ""
    return SurfaceNumbers(**result) if by else material
