"""Numbers of contacts as inputs of kernels: materials, and where the ground is, so that others take the same code.

What decides about code stays: which links and shapes touch, whether a contact has a stiffness or bounces, and a ground
whose normal is a coordinate axis, whose zeros save work.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from linkwork.kernels.kernel_cache import LazyCache
from linkwork.simulation.contacts.contact_materials import ContactMaterial
from linkwork.simulation.contacts.contact_set import ContactSet
from linkwork.simulation.contacts.ground_contact import ContactGround, ContactPoint

__all__ = ["ContactData", "contact_data", "with_data"]

ContactData = Mapping[str, np.ndarray]

SURFACES, PLANES = "contact_surfaces", "contact_planes"

_SOME = 0.5  # in the place of numbers that are inputs
_ASKEW = (0.6, 0.0, 0.8)
_SPLIT: LazyCache[tuple[ContactSet, ContactData]] = LazyCache(64)


def contact_data(contacts: ContactSet, robot: Any) -> tuple[ContactSet, ContactData]:
    """Return contacts with other numbers in the place of those that are inputs, and the inputs by name.

    Contacts that differ in these alone have the same first part.
    """
    own = replace(contacts, numbers=())
    return _SPLIT.get((own, robot), lambda: (replace(own, parts=tuple(map(_bare, own.parts))), _data(own, robot)))


def with_data(contacts: ContactSet, data: Mapping[str, Any]) -> ContactSet:
    """Return contacts of the first part with such inputs, as symbols."""
    planes: list[Any] = []
    rest = iter(data.get(PLANES, ()))
    for part in contacts.parts:
        if not isinstance(part, ContactGround):
            planes.append(None)
            continue
        height = next(rest)
        axes = [[next(rest) for _ in range(3)] for _ in range(3)] if part.normal == _ASKEW else part.axes()
        planes.append((axes, height))
    return replace(contacts, surfaces=data[SURFACES], planes=tuple(planes))


def _data(contacts: ContactSet, robot: Any) -> ContactData:
    rows = [
        [m.friction, m.restitution, 0.0 if m.stiffness is None else m.stiffness, m.dissipation]
        for m in (place.material for place in contacts.places(robot, robot.neutral()))
    ]
    found = {SURFACES: np.array(rows, dtype=float).reshape(-1, 4)}
    planes: list[float] = []
    for part in contacts.parts:
        if isinstance(part, ContactGround):
            planes += [part.height, *(() if _is_along_axis(part.normal) else np.ravel(part.axes()))]
    return {**found, PLANES: np.array(planes)} if planes else found


def _bare(part: Any) -> Any:
    if not isinstance(part, ContactGround):
        return replace(part, materials=tuple((key, _bare_material(material)) for key, material in part.materials))
    return replace(
        part,
        points=tuple(map(_bare_point, part.points)),
        friction=_SOME,
        restitution=_SOME if part.restitution else 0.0,
        stiffness=None if part.stiffness is None else _SOME,
        dissipation=0.0,
        normal=part.normal if _is_along_axis(part.normal) else _ASKEW,
        height=0.0,
    )


def _bare_point(point: ContactPoint) -> ContactPoint:
    restitution = point.restitution and _SOME
    return replace(point, friction=None, restitution=restitution)


def _bare_material(material: ContactMaterial) -> ContactMaterial:
    stiffness = None if material.stiffness is None else _SOME
    return ContactMaterial(_SOME, _SOME if material.restitution else 0.0, stiffness)


def _is_along_axis(normal: tuple[float, float, float]) -> bool:
    return sum(x != 0.0 for x in normal) == 1
