"""Steps on the manifold of configurations in which free bodies turn and go straight, each by itself.

The displacement φ of a step is that of the joints' own charts, but for joints that turn and slide freely (floating and
planar ones, alone or in a composite).  Their frame turns by φ_ω and its origin goes straight, by φ_v in the axes of the
step's start.  Halfway, in the axes there, the step's displacement is (φ_ω, exp(−φ_ω/2) φ_v): the way of the origin does
not depend on how the body turns, so what moves a body does not turn it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from linkwork.joints.composite import Composite
from linkwork.joints.planar import Planar
from linkwork.model.tree import Tree
from linkwork.motion.algorithms.curves.curve_space import CurveSpace, JointPlace
from linkwork.spatial import Vec3

__all__ = ["StepSpace", "composite_parts", "displacement", "halved"]

Scalars = Sequence[Any]


@dataclass(frozen=True, slots=True)
class StepSpace:
    """The configurations of a tree, and the steps between them: q ⊕ φ, φ = q⁺ ⊖ q, and what lies halfway."""

    joints: tuple[JointPlace, ...]  # none where q adds up and v is its rate

    @staticmethod
    def of(tree: Tree) -> StepSpace:
        """That of a tree."""
        return StepSpace(CurveSpace.of(tree).joints)

    @property
    def is_plain(self) -> bool:
        """True where q adds up and v is its rate."""
        return not self.joints

    def integrate(self, q: Scalars, phi: Scalars) -> list[Any]:
        """q ⊕ φ (nq)."""
        if self.is_plain:
            return [a + b for a, b in zip(q, phi, strict=True)]
        return [x for place in self.joints for x in retracted(place, q[place.in_q], phi[place.in_v])]

    def difference(self, q: Scalars, other: Scalars) -> list[Any]:
        """other ⊖ q (nv)."""
        if self.is_plain:
            return [b - a for a, b in zip(q, other, strict=True)]
        return [x for place in self.joints for x in displacement(place, q[place.in_q], other[place.in_q])]

    def halfway(self, q: Scalars, phi: Scalars) -> tuple[list[Any], list[Any]]:
        """The configuration (nq) in the middle of a step φ, and the step's displacement (nv) in the axes there."""
        if self.is_plain:
            return [a + 0.5 * b for a, b in zip(q, phi, strict=True)], list(phi)
        middle: list[Any] = []
        moved: list[Any] = []
        for place in self.joints:
            at, way = halved(place, q[place.in_q], phi[place.in_v])
            middle += at
            moved += way
        return middle, moved


def retracted(place: JointPlace, q: Scalars, phi: Scalars) -> list[Any]:
    """q ⊕ φ of a joint."""
    joint = place.joint
    if isinstance(joint, Composite):
        return _of_parts(place, lambda part, q, phi: retracted(part, q, phi), q, phi)
    if isinstance(joint, Planar):
        dx, dy, _ = joint.q_dot(q, phi)
        return [q[0] + dx, q[1] + dy, q[2] + phi[2]]
    return place.integrate(q, phi, True)


def displacement(place: JointPlace, q: Scalars, other: Scalars) -> list[Any]:
    """other ⊖ q of a joint."""
    joint = place.joint
    if isinstance(joint, Composite):
        found: list[Any] = []
        for part, in_q, _ in composite_parts(place):
            found += displacement(part, q[in_q], other[in_q])
        return found
    if isinstance(joint, Planar):
        return joint.velocity_from_rate(q, [b - a for a, b in zip(q, other, strict=True)])
    return place.difference(q, other, True)


def halved(place: JointPlace, q: Scalars, phi: Scalars) -> tuple[list[Any], list[Any]]:
    """The configuration in the middle of a joint's step φ, and the displacement in the axes there."""
    joint = place.joint
    if isinstance(joint, Composite):
        middle: list[Any] = []
        moved: list[Any] = []
        for part, in_q, in_v in composite_parts(place):
            at, way = halved(part, q[in_q], phi[in_v])
            middle += at
            moved += way
        return middle, moved
    at = retracted(place, q, [0.5 * x for x in phi])
    if isinstance(joint, Planar):
        return at, joint.velocity_from_rate(at, joint.q_dot(q, phi))
    if place.has_twist:
        along = joint.X(q).rotation @ Vec3.of(phi[3:6])
        return at, [*phi[:3], *joint.X(at).rotation.inv_act(along)]
    return at, list(phi)


def composite_parts(place: JointPlace) -> list[tuple[JointPlace, slice, slice]]:
    """The parts of a composite joint, and where they stand in its q and v."""
    found, q, v = [], 0, 0
    for part in place.joint.parts:
        found.append((JointPlace(place.name, part, 0, 0), slice(q, q + part.nq), slice(v, v + part.nv)))
        q, v = q + part.nq, v + part.nv
    return found


def _of_parts(place: JointPlace, compute: Callable[..., list[Any]], q: Scalars, phi: Scalars) -> list[Any]:
    return [x for part, in_q, in_v in composite_parts(place) for x in compute(part, q[in_q], phi[in_v])]
