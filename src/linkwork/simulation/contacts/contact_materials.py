"""Contact materials, their combination for two surfaces, and parameters of contacts.

Parameters override the values that are combined from two materials. ``contact_friction`` applies to all contacts.
``contact_friction:NAME`` applies to the contacts of the link, obstacle or point frame NAME, such as
``contact_friction:floor``. A parameter may differ between environments, and may be a symbol.
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
    "check_parameter",
    "check_surface",
    "checked_materials",
    "from_zero",
    "input_name",
    "is_of_contacts",
    "material_of",
    "parametrized_surface",
    "read_name",
    "restitution",
    "varied_surface",
]


Materials = tuple[tuple[str | tuple[str, str], "ContactMaterial"], ...]


@public_constructor
@dataclass(frozen=True)
class ContactMaterial:
    """Material of a surface: ``friction``, ``restitution``, ``stiffness`` and ``dissipation`` [s/m].

    ``friction`` is Coulomb's coefficient.  ``restitution`` is from 0, without bounce, to 1.  Contacts without a
    stiffness are as rigid as the step resolves.  Stiffness is in N/m, for compliant contacts in N/m^(3/2).  Dissipation
    applies only to compliant contacts, restitution only to all others.

    Two surfaces have the geometric mean of friction, the smaller restitution, stiffnesses as springs in series,
    1/k = 1/k_a + 1/k_b, and dissipations weighted by compliance, c = (k/k_a) c_a + (k/k_b) c_b.

    >>> from linkwork.simulation import ContactMaterial
    >>> ContactMaterial(friction=1.0, restitution=0.5).beside(ContactMaterial(friction=0.25))
    ContactMaterial(friction=0.5, restitution=0.0, stiffness=None, dissipation=0.0)

    Raises ValueError for a negative friction, restitution or dissipation, a restitution above 1, and a stiffness that
    is not positive.
    """

    friction: float = 0.8
    restitution: float = 0.0
    stiffness: float | None = None
    dissipation: float = 0.0

    def __post_init__(self) -> None:
        check_surface("ContactMaterial", self)

    @public
    def beside(self, other: ContactMaterial) -> ContactMaterial:
        """Return the combined material of this surface and the surface ``other``."""
        k, share = _series(self.stiffness, other.stiffness)
        return ContactMaterial(
            math.sqrt(self.friction * other.friction),
            min(self.restitution, other.restitution),
            k,
            share * self.dissipation + (1.0 - share) * other.dissipation,
        )


def _series(a: float | None, b: float | None) -> tuple[float | None, float]:
    """Return the stiffness of two springs in series, and the first spring's fraction of the deformation."""
    if a is None:
        return b, 0.5 if b is None else 0.0
    if b is None:
        return a, 1.0
    return a * b / (a + b), b / (a + b)


def check_surface(caller: str, surface: Any) -> None:
    """Check friction, restitution, stiffness and dissipation of a surface, and store them as floats."""
    for name, check in _CHECKS.items():
        object.__setattr__(surface, name, check(caller, name, getattr(surface, name)))


def checked_materials(caller: str, value: Any) -> Materials:
    """Read one material for all, or materials by name and by pair of names.  Raises TypeError."""
    if isinstance(value, ContactMaterial):
        return (("", value),)
    if isinstance(value, tuple) and all(isinstance(x, tuple) and len(x) == 2 for x in value):
        value = dict(value)  # a value that was read already
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
    """Raise UnknownNameError for a material of an unknown name."""
    names = list(known)
    for key, _ in materials:
        for name in (key,) if isinstance(key, str) else key:
            if name and name not in names:
                raise UnknownNameError("link or obstacle with a material", name, names)


def material_of(
    materials: Materials, a: str, b: str, frictions: tuple[float | None, float | None] = (None, None)
) -> ContactMaterial:
    """Return the material of a pair of shapes: the pair's own material, else a combination of the shapes' materials.

    A link or obstacle whose name has no material has the material for all names, "". If there is none, it has
    `ContactMaterial()` with the friction of its shape; ``frictions`` are those of both shapes, None if unknown.
    """
    known = dict(materials)
    for pair in ((a, b), (b, a)):
        if pair in known:
            return known[pair]
    sides = []
    for name, friction in zip((a, b), frictions, strict=True):
        side = known.get(name, known.get(""))
        if side is None:
            side = ContactMaterial() if friction is None else ContactMaterial(friction)
        sides.append(side)
    return sides[0].beside(sides[1])


restitution = partial(finite_number, least=0.0, most=1.0, symbols=False)
from_zero = partial(finite_number, least=0.0, symbols=False)
_CHECKS: Mapping[str, Check] = {
    "friction": from_zero,
    "restitution": restitution,
    "stiffness": optional(partial(finite_number, above=0.0, symbols=False, unit="N/m")),
    "dissipation": partial(from_zero, unit="s/m"),
}


Parameters = Sequence[tuple[str, Any]]
_PREFIX = "contact_"
_KINDS = {"convex": ("friction", "restitution", "stiffness"), "compliant": ("friction", "stiffness", "dissipation")}


class SurfaceParameters(NamedTuple):
    """Combined material of two surfaces, of any scalars."""

    friction: Any
    restitution: Any
    stiffness: Any
    dissipation: Any


def is_of_contacts(name: Any) -> bool:
    """Return True if a parameter's name has the prefix of contacts."""
    return isinstance(name, str) and name.startswith(_PREFIX)


def read_name(name: str, model: str, known: Iterable[str]) -> tuple[str, str]:
    """Return the kind of a contact parameter, such as "friction", and the link, obstacle or frame of its name.

    The second is "" for a parameter of all contacts.  Raises UnknownNameError.
    """
    kind, colon, owner = name.removeprefix(_PREFIX).partition(":")
    if kind not in _KINDS[model]:
        whole = [_PREFIX + kind for kind in _KINDS[model]]
        raise UnknownNameError(f"parameter of {model} contacts", _PREFIX + kind, whole)
    names = list(dict.fromkeys(known))
    if colon and owner not in names:
        raise UnknownNameError(f"link, obstacle or point's frame with contacts, of {_PREFIX}{kind},", owner, names)
    return kind, owner


def input_name(name: str) -> str:
    """Return the name of a parameter with underscores instead of characters that an identifier may not contain."""
    return re.sub(r"\W", "_", name)


def check_parameter(name: str, x: Any) -> None:
    """Raise ValueError for values (...) that no surface can have."""
    if is_traced(x):
        return
    kind = name.removeprefix(_PREFIX).partition(":")[0]
    fits, expected = x >= 0.0, "numbers >= 0"
    if kind == "stiffness":
        fits, expected = x > 0.0, "numbers > 0"
    elif kind == "restitution":
        fits, expected = fits & (x <= 1.0), "numbers from 0 to 1"
    if not np.all(fits):
        wrong = float(np.asarray(x)[~np.asarray(fits)].ravel()[0])
        raise ValueError(f"simulate: parameters[{name!r}]: expected {expected}, got {wrong:g}")


def parametrized_surface(material: Any, row: Sequence[Any], compliant: bool) -> SurfaceParameters:
    """Return surface parameters from a row (friction, restitution, stiffness, dissipation).

    A restitution or stiffness that the material does not have is left out (0, None). Dissipation is left out (0), too,
    unless the contacts are ``compliant``.
    """
    friction, restitution, stiffness, dissipation = row
    return SurfaceParameters(
        friction,
        restitution if material.restitution else 0.0,
        None if material.stiffness is None else stiffness,
        dissipation if compliant else 0.0,
    )


def varied_surface(material: Any, of: Sequence[str], parameters: Parameters, caller: str) -> Any:
    """Return a material with the values of the parameters that apply to it.

    These are parameters of all contacts, and of a link, obstacle or frame in ``of``.  Raises ValueError if two
    parameters of a kind apply.
    """
    result = {kind: getattr(material, kind) for kind in SurfaceParameters._fields}
    by: dict[str, str] = {}
    for name, x in sorted(parameters, key=lambda item: ":" in item[0]):  # those of all contacts first
        kind, _, subject = name.removeprefix(_PREFIX).partition(":")
        if subject and subject not in of:
            continue
        if subject and by.get(kind):
            raise ValueError(
                f"simulate: parameters: expected one {kind} for the contact of {caller}, got {name!r} and {by[kind]!r}"
            )
        result[kind], by[kind] = x, name if subject else ""
    return SurfaceParameters(**result) if by else material
