"""What surfaces are made of, and what two of them are together."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from numbers import Real
from typing import Any

from linkwork._util.checked_arguments import public, public_constructor
from linkwork.errors import UnknownNameError

__all__ = [
    "ContactMaterial",
    "Materials",
    "check_names",
    "check_restitution",
    "check_surface",
    "checked_materials",
    "from_zero",
    "is_number",
    "material_of",
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


def check_surface(who: str, one: Any) -> None:
    """Its numbers as floats.

    Raises ValueError for a friction, restitution, stiffness or dissipation that no surface has.
    """
    for name in ("friction", "dissipation"):
        from_zero(f"{who}: {name}", getattr(one, name))
    check_restitution(who, one.restitution)
    if one.stiffness is not None:
        from_zero(f"{who}: stiffness", one.stiffness)
        if one.stiffness == 0.0:
            raise ValueError(f"{who}: stiffness: expected a number above 0 [N/m], got 0.0")
    for name in ("friction", "restitution", "stiffness", "dissipation"):
        given = getattr(one, name)
        object.__setattr__(one, name, None if given is None else float(given))


def checked_materials(who: str, given: Any) -> Materials:
    """One material of all, or materials by name and by pair of names, as a value.  Raises TypeError."""
    if isinstance(given, ContactMaterial):
        return (("", given),)
    if isinstance(given, tuple) and all(isinstance(x, tuple) and len(x) == 2 for x in given):
        given = dict(given)  # as it was read before
    if not isinstance(given, Mapping):
        raise TypeError(f"{who}: materials: expected a ContactMaterial, or a dict of them by name, got {given!r}")
    found: list[tuple[str | tuple[str, str], ContactMaterial]] = []
    for key, material in given.items():
        pair = isinstance(key, tuple) and len(key) == 2 and all(isinstance(x, str) for x in key)
        if not (pair or isinstance(key, str)):
            raise TypeError(f"{who}: materials: expected names, or pairs of names, got {key!r}")
        if not isinstance(material, ContactMaterial):
            raise TypeError(f"{who}: materials[{key!r}]: expected a ContactMaterial, got {material!r}")
        found.append((key, material))
    return tuple(found)


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


def check_restitution(who: str, given: Any) -> None:
    """Raises ValueError for what is no number from 0 to 1."""
    if not is_number(given) or not 0.0 <= given <= 1.0:
        raise ValueError(f"{who}: restitution: expected a number from 0 to 1, got {given!r}")


def is_number(given: Any) -> bool:
    """Whether it is a real number, NumPy's too, and no truth value."""
    return isinstance(given, Real) and not isinstance(given, bool)


def from_zero(what: str, given: Any) -> None:
    """Raises ValueError for what is no finite number from 0."""
    if not is_number(given) or not 0.0 <= given < math.inf:
        raise ValueError(f"{what}: expected a finite number from 0, got {given!r}")
