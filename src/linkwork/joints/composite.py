"""Composite joint: a chain of joints as one joint."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from linkwork._util.checked_arguments import public_constructor
from linkwork.expr.scalar.functions import fmin
from linkwork.joints.axis import random_axis
from linkwork.joints.base.checks import finite_parameter, parameter_error
from linkwork.joints.base.joint_type import JointType, Scalars
from linkwork.joints.quaternion_joints import Spherical
from linkwork.joints.revolute import Revolute
from linkwork.joints.translational import Prismatic
from linkwork.spatial import Motion, Pose, Rotation, Subspace, Vec3, cross
from linkwork.spatial.arguments import checked_pose

__all__ = ["Composite"]


@public_constructor
@dataclass(frozen=True)
class Composite(JointType):
    """Composite joint: a chain of joints as one joint, with the q and v of the joints in order.

    X = P₁ X₁(q₁) P₂ X₂(q₂) ...; P_k, the pose of the k-th joint's F in the preceding M, is ``placements[k]``, by
    default the identity.  At zero, X is the product of the placements.  A configuration in which motions of the chain
    become dependent (two of its axes coincide) is singular for forward dynamics; `regularity` is 0 there.
    """

    joints: tuple[JointType, ...]
    placements: tuple[Pose, ...] = ()

    def __post_init__(self) -> None:
        joints = tuple(self.joints)
        for joint in joints:
            if not isinstance(joint, JointType):
                raise parameter_error("composite", "joints", "joint types", repr(joint))
        placements = tuple(self.placements) or (Pose.identity(),) * len(joints)
        for placement in placements:
            if not isinstance(placement, Pose):
                raise parameter_error("composite", "placements", "poses", repr(placement))
            if all(isinstance(x, (float, int)) for x in placement.elements()):  # they may be symbols
                checked_pose(placement, "composite: placements")
                for x in placement.translation:
                    finite_parameter(x, "composite", "placements")
        if len(placements) != len(joints):
            raise parameter_error(
                "composite", "placements", f"{len(joints)}, one before each joint", str(len(placements))
            )
        nv = sum(joint.nv for joint in joints)
        if nv > 6:
            names = ", ".join(joint.type_name() for joint in joints)
            raise parameter_error("composite", "joints", "at most 6 degrees of freedom", f"{nv}: {names}")
        object.__setattr__(self, "joints", joints)
        object.__setattr__(self, "placements", placements)
        nq = sum(joint.nq for joint in joints)
        starts = [sum(joint.nq for joint in joints[:k]) for k in range(len(joints))]
        self._set_attributes(
            nq=nq,
            nv=nv,
            q_units=tuple(unit for joint in joints for unit in joint.q_units),
            v_units=tuple(unit for joint in joints for unit in joint.v_units),
            q_names=tuple(_names("q", joints, lambda j: (j.nq, j.q_names))) if nq > 1 else (),
            v_names=tuple(_names("v", joints, lambda j: (j.nv, j.v_names))) if nv > 1 else (),
            unit_length=tuple(
                tuple(start + k for k in indices)
                for start, joint in zip(starts, joints, strict=True)
                for indices in joint.unit_length
            ),
        )

    @classmethod
    def example(cls, rng: np.random.Generator) -> Composite:
        joints: list[JointType] = [kind.example(rng) for kind in (Revolute, Prismatic, Spherical)]
        order = [joints[k] for k in rng.permutation(3)][: rng.integers(2, 4)]
        poses = [Pose(*_random_pose(rng)) for _ in order]
        return cls(tuple(order), tuple(poses))

    @property
    def parts(self) -> tuple[JointType, ...]:
        return self.joints

    def X(self, q: Scalars) -> Pose:
        X = Pose.identity()
        for joint, placement, q_k in zip(self.joints, self.placements, self._split_q(q), strict=True):
            X = (X if placement == Pose.identity() else X @ placement) @ joint.X(q_k)
        return X

    def S(self, q: Scalars) -> Subspace:
        """Return the motion subspace: the columns of all joints at q, transformed to the frame after the last."""
        columns: tuple[Motion, ...] = ()
        for joint, placement, q_k in zip(self.joints, self.placements, self._split_q(q), strict=True):
            X = placement @ joint.X(q_k)
            columns = (*(X.inv() @ column for column in columns), *joint.S(q_k).columns)
        return Subspace(columns)

    def bias(self, q: Scalars, v: Scalars) -> Motion:
        """Return the acceleration at v̇ = 0 of the frame after the last joint, propagated joint by joint.

        At q, from the frame before a joint J to the frame after it: A = X⁻¹ A_before + V × V_J + bias_J, with the
        joint's own twist V_J = S_J v_J, the twist V = X⁻¹ V_before + V_J and the pose X of the frame after it.
        """
        V = A = Motion.zero()
        parts = zip(self.joints, self.placements, self._split_q(q), self._split_v(v), strict=True)
        for joint, placement, q_k, v_k in parts:
            X, V_J = placement @ joint.X(q_k), joint.twist(q_k, v_k)
            V = X.inv() @ V
            A = X.inv() @ A + cross(V, V_J) + joint.bias(q_k, v_k)
            V = V + V_J
        return A

    def q_dot(self, q: Scalars, v: Scalars) -> list[Any]:
        return self._each(lambda j, q, v: j.q_dot(q, v), self._split_q(q), self._split_v(v))

    def velocity_from_rate(self, q: Scalars, q_dot: Scalars) -> list[Any]:
        return self._each(lambda j, q, q_dot: j.velocity_from_rate(q, q_dot), self._split_q(q), self._split_q(q_dot))

    def integrate(self, q: Scalars, phi: Scalars) -> list[Any]:
        return self._each(lambda j, q, phi: j.integrate(q, phi), self._split_q(q), self._split_v(phi))

    def difference(self, q: Scalars, other: Scalars) -> list[Any]:
        return self._each(lambda j, q, target: j.difference(q, target), self._split_q(q), self._split_q(other))

    def deflection(self, q_rest: Scalars, q: Scalars) -> list[Any]:
        return self._each(lambda j, q_rest, q: j.deflection(q_rest, q), self._split_q(q_rest), self._split_q(q))

    def zero(self) -> list[float]:
        return self._each(lambda j: j.zero())

    def normalize(self, q: Scalars) -> list[Any]:
        return self._each(lambda j, q: j.normalize(q), self._split_q(q))

    def distance(self, q: Scalars) -> Any:
        """Return the sum of the distances of the joints' configurations from their manifolds, at q."""
        return sum((joint.distance(q_k) for joint, q_k in zip(self.joints, self._split_q(q), strict=True)), 0.0)

    def canonical(self, q: Scalars) -> list[Any]:
        return self._each(lambda j, q: j.canonical(q), self._split_q(q))

    def regularity(self, q: Scalars) -> Any:
        """Return the minimum of the joints' regularities at q and of the linear independence of all columns."""
        least = super().regularity(q)
        for joint, q_k in zip(self.joints, self._split_q(q), strict=True):
            least = fmin(least, joint.regularity(q_k))
        return least

    def random(
        self, rng: np.random.Generator, lower: Sequence[float], upper: Sequence[float], size: tuple[int, ...]
    ) -> np.ndarray:
        """Draw the configuration of each joint by its own ``random``, with its part of ``lower`` and ``upper``.

        ``rng`` draws ``size`` configurations of each.
        """
        super().random(rng, lower, upper, ())  # checks the sizes of the bounds
        bounds = zip(self.joints, self._split_q(lower), self._split_q(upper), strict=True)
        drawn = [joint.random(rng, low, high, size) for joint, low, high in bounds]
        return np.concatenate([*drawn, np.zeros((*size, 0))], axis=-1)

    def _split_q(self, q: Scalars) -> list[Scalars]:
        return _split(q, [joint.nq for joint in self.joints])

    def _split_v(self, v: Scalars) -> list[Scalars]:
        return _split(v, [joint.nv for joint in self.joints])

    def _each(self, function: Callable[..., Sequence[Any]], *arguments: list[Scalars]) -> list[Any]:
        return [x for row in zip(self.joints, *arguments, strict=True) for x in function(*row)]


def _split(x: Scalars, sizes: list[int]) -> list[Scalars]:
    parts, start = [], 0
    for size in sizes:
        parts.append(x[start : start + size])
        start += size
    return parts


def _names(
    letter: str, joints: tuple[JointType, ...], of: Callable[[JointType], tuple[int, tuple[str, ...]]]
) -> Iterator[str]:
    """Yield the coordinates' names q1, q2_x, q2_y, ...

    Each has the joint's index in the chain and, if the joint has several coordinates, the coordinate's own name.
    """
    for k, joint in enumerate(joints, start=1):
        count, names = of(joint)
        yield from (f"{letter}{k}_{name}" for name in names) if names else (f"{letter}{k}",) * count


def _random_pose(rng: np.random.Generator) -> tuple[Rotation, Vec3]:
    x, y, z = rng.uniform(-0.3, 0.3, 3).tolist()
    return Rotation.about(random_axis(rng), float(rng.uniform(-3.0, 3.0))), Vec3(x, y, z)
