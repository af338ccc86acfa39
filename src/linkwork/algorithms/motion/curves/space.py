"""What a curve runs in: the manifold of a robot's configurations, joint by joint, or plain numbers.

A robot whose joints' configurations are numbers with v for their rates is plain numbers too, so curves of all such
robots are evaluated by the same code.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ....expr.dual import parts, seeded
from ....expr.functions import where
from ....joints.blamed import asked
from ....joints.contract import JointType
from ....model.tree import Tree

__all__ = ["CurveSpace", "JointPlace"]

Scalars = Sequence[Any]


@dataclass(frozen=True, slots=True)
class JointPlace:
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
        kind, names = type(self.joint), ("q_dot", "v_of", "retract", "local")
        return self.joint.nq == self.joint.nv and all(getattr(kind, x) is getattr(JointType, x) for x in names)


@dataclass(frozen=True, slots=True)
class CurveSpace:
    """q of nq numbers and v of nv: joints whose numbers are no plain ones, the rest being plain.

    ``apart`` says that floating joints turn and shift each by itself along a curve (`JointType.retract_apart`),
    instead of along a screw.
    """

    nq: int
    nv: int
    joints: tuple[JointPlace, ...] = ()  # all, or none where all numbers are plain
    apart: bool = False

    @staticmethod
    def of(tree: Tree, apart: bool = False) -> CurveSpace:
        """A robot's."""
        joints = []
        q = v = 0
        for _, body in tree.stacked():
            joints.append(JointPlace(body.joint_name, body.joint, q, v))
            q, v = q + body.joint.nq, v + body.joint.nv
        plain = all(place.is_plain for place in joints)
        return CurveSpace(q, v, () if plain else tuple(joints), apart and not plain)

    @property
    def is_plain(self) -> bool:
        """Whether q are numbers that add up, and v their rates."""
        return not self.joints

    def retract(self, q: Scalars, phi: Scalars) -> list[Any]:
        """q ⊕ φ (nq)."""
        if self.is_plain:
            return [a + b for a, b in zip(q, phi, strict=True)]
        method = "retract_apart" if self.apart else "retract"
        return self._each(lambda place: asked(place.name, place.joint, method, q[place.in_q], phi[place.in_v]))

    def local(self, q: Scalars, other: Scalars) -> list[Any]:
        """other ⊖ q (nv)."""
        if self.is_plain:
            return [b - a for a, b in zip(q, other, strict=True)]
        method = "local_apart" if self.apart else "local"
        return self._each(lambda place: asked(place.name, place.joint, method, q[place.in_q], other[place.in_q]))

    def v_of(self, q: Scalars, q_dot: Scalars) -> list[Any]:
        """v (nv) of q̇."""
        if self.is_plain:
            return list(q_dot)
        return self._each(lambda place: asked(place.name, place.joint, "v_of", q[place.in_q], q_dot[place.in_q]))

    def q_dot(self, q: Scalars, v: Scalars) -> list[Any]:
        """q̇ (nq) of v."""
        if self.is_plain:
            return list(v)
        return self._each(lambda place: asked(place.name, place.joint, "q_dot", q[place.in_q], v[place.in_v]))

    def local_rates(self, q: Scalars, other: Scalars, v: Scalars, a: Scalars) -> tuple[list[Any], list[Any]]:
        """φ̇ and φ̈ of φ = other ⊖ q, while the other moves by v and a, and q stays."""
        if self.is_plain:
            return list(v), list(a)

        def rate(x: Scalars, v: Scalars) -> list[Any]:
            moving = seeded(x, self.q_dot(x, v))
            return [parts(y, moving[0].level)[1] for y in self.local(q, moving)]

        changing = seeded([*other, *v], [*self.q_dot(other, v), *a])
        found = rate(changing[: self.nq], changing[self.nq :])
        both = [parts(x, changing[0].level) for x in found]
        return [x for x, _ in both], [y for _, y in both]

    def nearer_sign(self, q: Scalars, other: Scalars) -> list[Any]:
        """The one of the ways to write the same rotation that is nearer to q: ε or −ε."""
        found = list(other)
        for place in self.joints:
            if place.joint.nq == place.joint.nv:
                continue
            for unit in place.joint.unit_length:
                if len(unit) == 4:
                    at = [place.q + k for k in unit]
                    flip = where(sum((q[k] * other[k] for k in at), 0.0) < 0.0, -1.0, 1.0)
                    for k in at:
                        found[k] = found[k] * flip
        return found

    def _each(self, computed: Callable[[JointPlace], Sequence[Any]]) -> list[Any]:
        return [x for place in self.joints for x in computed(place)]
