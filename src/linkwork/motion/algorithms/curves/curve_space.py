"""What a curve runs in: the manifold of a robot's configurations, joint by joint, or plain numbers.

A robot whose joints' configurations are numbers with v for their rates is plain numbers too, so curves of all such
robots are evaluated by the same code.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from linkwork.expr.autodiff.dual_numbers import parts, seeded
from linkwork.expr.scalar.functions import where
from linkwork.joints.base.error_context import asked
from linkwork.joints.base.from_transform import units
from linkwork.joints.base.joint_type import JointType
from linkwork.joints.base.pose_inversion import least_squares
from linkwork.joints.straight_motion import straightened
from linkwork.model.tree import Tree
from linkwork.spatial import Motion, Vec3

__all__ = ["CurveSpace", "JointSlice"]

Scalars = Sequence[Any]


@dataclass(frozen=True, slots=True)
class JointSlice:
    """A joint and where its numbers stand in q and v."""

    name: str
    joint: JointType
    q: int
    v: int

    @property
    def in_q(self) -> slice:
        """Its place in q."""
        return slice(self.q, self.q + self.joint.nq)

    @property
    def in_v(self) -> slice:
        """Its place in v."""
        return slice(self.v, self.v + self.joint.nv)

    @property
    def is_plain(self) -> bool:
        """Whether its configuration is numbers that add up, and v their rates."""
        kind, names = type(self.joint), ("q_dot", "velocity_from_rate", "integrate", "difference")
        return self.joint.nq == self.joint.nv and all(getattr(kind, x) is getattr(JointType, x) for x in names)

    @property
    def has_twist(self) -> bool:
        """Whether v is the twist itself, any of them, in the moving frame's axes."""
        if self.joint.nv != 6 or self.is_plain:
            return False
        columns = [[*column.elements()] for column in self.joint.S(self.joint.zero()).columns]
        return columns == units(6) and self.joint.has_fixed_subspaces

    @property
    def goes_straight(self) -> bool:
        """Whether its origin goes straight where the joint moves apart: of planar and floating joints."""
        return not self.is_plain and (self.has_twist or straightened(self.joint) is not self.joint)

    def integrate(self, q: Scalars, phi: Scalars, apart: bool) -> list[Any]:
        """q ⊕ φ.  Apart, it turns about its origin, and the origin goes straight, by R φ_v from where it was."""
        if not (apart and self.goes_straight):
            return self._moved(q, phi)
        if not self.has_twist:
            straight = straightened(self.joint)
            return straight.integrate(q, straight.velocity_from_rate(q, self.joint.q_dot(q, phi)))
        way = self.joint.X(q).rotation @ Vec3.of(phi[3:6])
        turned = self._moved(q, [*phi[:3], 0.0, 0.0, 0.0])
        return self._moved(turned, [0.0, 0.0, 0.0, *self.joint.X(turned).rotation.inv_act(way)])

    def _moved(self, q: Scalars, phi: Scalars) -> list[Any]:
        result: list[Any] = asked(self.name, self.joint, "integrate", q, phi)
        return result

    def difference(self, q: Scalars, other: Scalars, apart: bool) -> list[Any]:
        """other ⊖ q."""
        if apart and self.goes_straight and not self.has_twist:
            straight = straightened(self.joint)
            return self.joint.velocity_from_rate(q, straight.q_dot(q, straight.difference(q, other)))
        result: list[Any] = asked(self.name, self.joint, "difference", q, other)
        if not (apart and self.has_twist):
            return result
        X = self.joint.X(q)
        return [*result[:3], *X.rotation.inv_act(self.joint.X(other).translation - X.translation)]


@dataclass(frozen=True, slots=True)
class CurveSpace:
    """q of nq numbers and v of nv: joints whose numbers are no plain ones, the rest being plain.

    ``apart`` says that floating and planar joints turn and go straight, each by itself, instead of along screws and
    arcs.
    """

    nq: int
    nv: int
    joints: tuple[JointSlice, ...] = ()  # all, or none where all numbers are plain
    apart: bool = False

    @staticmethod
    def of(tree: Tree, apart: bool = False) -> CurveSpace:
        """A robot's."""
        joints = []
        q = v = 0
        for _, body in tree.stacked():
            joints.append(JointSlice(body.joint_name, body.joint, q, v))
            q, v = q + body.joint.nq, v + body.joint.nv
        plain = all(place.is_plain for place in joints)
        return CurveSpace(q, v, () if plain else tuple(joints), apart and any(place.goes_straight for place in joints))

    @property
    def is_plain(self) -> bool:
        """Whether q are numbers that add up, and v their rates."""
        return not self.joints

    @property
    def parts(self) -> list[slice]:
        """Where the numbers of each joint are in v."""
        return [place.in_v for place in self.joints] or [slice(0, self.nv)]

    def integrate(self, q: Scalars, phi: Scalars) -> list[Any]:
        """q ⊕ φ (nq)."""
        if self.is_plain:
            return [a + b for a, b in zip(q, phi, strict=True)]
        return self._each(lambda place: place.integrate(q[place.in_q], phi[place.in_v], self.apart))

    def difference(self, q: Scalars, other: Scalars) -> list[Any]:
        """other ⊖ q (nv)."""
        if self.is_plain:
            return [b - a for a, b in zip(q, other, strict=True)]
        return self._each(lambda place: place.difference(q[place.in_q], other[place.in_q], self.apart))

    def velocity_from_rate(self, q: Scalars, q_dot: Scalars) -> list[Any]:
        """v (nv) of q̇."""
        if self.is_plain:
            return list(q_dot)
        return self._each(
            lambda place: asked(place.name, place.joint, "velocity_from_rate", q[place.in_q], q_dot[place.in_q])
        )

    def q_dot(self, q: Scalars, v: Scalars) -> list[Any]:
        """q̇ (nq) of v."""
        if self.is_plain:
            return list(v)
        return self._each(lambda place: asked(place.name, place.joint, "q_dot", q[place.in_q], v[place.in_v]))

    def in_fixed_axes(self, q: Scalars, v: Scalars) -> list[Any]:
        """v as the twists of joints in the frames before them, six numbers a joint; v itself of plain numbers."""
        result: list[Any] = []
        for place in self.joints:
            own = v[place.in_v]
            if place.is_plain:
                result += own
            else:
                q_own = q[place.in_q]
                result += (place.joint.X(q_own) @ place.joint.twist(q_own, own)).elements()
        return result

    def from_fixed_axes(self, q: Scalars, twists: Scalars) -> list[Any]:
        """The v of `in_fixed_axes`, as near as the joints can move so."""
        result: list[Any] = []
        start = 0
        for place in self.joints:
            size = place.joint.nv if place.is_plain else 6
            own, start = twists[start : start + size], start + size
            if not place.is_plain:
                q_own = q[place.in_q]
                own = place.joint.velocity_from_twist(q_own, place.joint.X(q_own).inv() @ Motion.of([*own]))
            result += own
        return result

    def step_rates(self, q: Scalars, phi: Scalars, v: Scalars, w: Scalars) -> list[Any]:
        """φ̇ while q moves by v and q ⊕ φ by w, at any φ, beyond half a turn too."""
        other = self.integrate(q, phi)
        moving = seeded(q, self.q_dot(q, v))
        level = moving[0].level
        carried = self.velocity_from_rate(other, [parts(x, level)[1] for x in self.integrate(moving, phi)])
        left = [a - b for a, b in zip(w, carried, strict=True)]
        result: list[Any] = []
        for place in self.joints:
            columns = []
            for unit in units(place.joint.nv):
                changing = seeded(phi[place.in_v], unit)
                there = place.integrate(q[place.in_q], changing, self.apart)
                rates = [parts(x, changing[0].level)[1] for x in there]
                columns.append(asked(place.name, place.joint, "velocity_from_rate", other[place.in_q], rates))
            result += least_squares(columns, left[place.in_v])
        return result

    def local_rates(self, q: Scalars, other: Scalars, v: Scalars, a: Scalars) -> tuple[list[Any], list[Any]]:
        """φ̇ and φ̈ of φ = other ⊖ q, while the other moves by v and a, and q stays."""
        if self.is_plain:
            return list(v), list(a)

        def rate(x: Scalars, v: Scalars) -> list[Any]:
            moving = seeded(x, self.q_dot(x, v))
            return [parts(y, moving[0].level)[1] for y in self.difference(q, moving)]

        changing = seeded([*other, *v], [*self.q_dot(other, v), *a])
        result = rate(changing[: self.nq], changing[self.nq :])
        both = [parts(x, changing[0].level) for x in result]
        return [x for x, _ in both], [y for _, y in both]

    def nearer_sign(self, q: Scalars, other: Scalars) -> list[Any]:
        """The one of the ways to write the same rotation that is nearer to q: ε or −ε."""
        result = list(other)
        for place in self.joints:
            if place.joint.nq == place.joint.nv:
                continue
            for unit in place.joint.unit_length:
                if len(unit) == 4:
                    at = [place.q + k for k in unit]
                    flip = where(sum((q[k] * other[k] for k in at), 0.0) < 0.0, -1.0, 1.0)
                    for k in at:
                        result[k] = result[k] * flip
        return result

    def _each(self, computed: Callable[[JointSlice], Sequence[Any]]) -> list[Any]:
        return [x for place in self.joints for x in computed(place)]
