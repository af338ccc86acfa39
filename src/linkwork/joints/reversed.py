"""Reversed joint: a joint with its two frames exchanged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from linkwork._util.checked_arguments import public_constructor
from linkwork.joints.base.checks import parameter_error
from linkwork.joints.base.joint_type import JointType, Scalars
from linkwork.joints.planar import Planar
from linkwork.joints.quaternion_joints import Floating
from linkwork.joints.universal import Universal
from linkwork.spatial import Inertia, Motion, Pose, Subspace, Vec3

__all__ = ["Reversed"]


@public_constructor
@dataclass(frozen=True)
class Reversed(JointType):
    """Joint with the frames F and M exchanged.

    q, v and τ are those of the original joint, with their signs.  X(q) = X_J(q)⁻¹.  The twist is the opposite one,
    expressed in the frame that now moves: S = −X_J S_J and bias = −X_J bias_J.  It is singular where the original joint
    is.
    """

    joint: JointType

    def __post_init__(self) -> None:
        joint = self.joint
        if not isinstance(joint, JointType):
            raise parameter_error("reversed", "joint", "a joint", repr(joint))
        names = ("nq", "nv", "q_units", "v_units", "q_names", "v_names", "unit_length")
        self._set_attributes(**{name: getattr(joint, name) for name in names})

    @classmethod
    def example(cls, rng: np.random.Generator) -> Reversed:
        return cls((Universal, Planar, Floating)[rng.integers(3)].example(rng))

    @property
    def parts(self) -> tuple[JointType, ...]:
        return (self.joint,)

    def X(self, q: Scalars) -> Pose:
        return self.joint.X(q).inv().formed()

    def S(self, q: Scalars) -> Subspace:
        X = self.joint.X(q)
        return Subspace(tuple(-(X @ column) for column in self.joint.S(q).columns))

    def bias(self, q: Scalars, v: Scalars) -> Motion:
        """Return −X_J bias_J, from the transform X_J and the bias of the original joint at q, v.

        The change of frames adds the term V × V = 0.
        """
        A: Motion = self.joint.X(q) @ self.joint.bias(q, v)
        return -A

    def configuration_from_pose(self, X: Pose) -> list[Any]:
        return self.joint.configuration_from_pose(X.inv().formed())

    def pose_residual(self, X: Pose) -> Motion:
        """Return the negated residual of the original joint for the inverse of X, in the frame that now moves."""
        inverse = X.inv().formed()
        left: Motion = self.joint.X(self.joint.configuration_from_pose(inverse)) @ self.joint.pose_residual(inverse)
        return -left

    def q_dot(self, q: Scalars, v: Scalars) -> list[Any]:
        return self.joint.q_dot(q, v)

    def velocity_from_rate(self, q: Scalars, q_dot: Scalars) -> list[Any]:
        return self.joint.velocity_from_rate(q, q_dot)

    def integrate(self, q: Scalars, phi: Scalars) -> list[Any]:
        return self.joint.integrate(q, phi)

    def difference(self, q: Scalars, other: Scalars) -> list[Any]:
        return self.joint.difference(q, other)

    def deflection(self, q_rest: Scalars, q: Scalars) -> list[Any]:
        return self.joint.deflection(q_rest, q)

    def zero(self) -> list[float]:
        return self.joint.zero()

    def normalize(self, q: Scalars) -> list[Any]:
        return self.joint.normalize(q)

    def distance(self, q: Scalars) -> Any:
        return self.joint.distance(q)

    def canonical(self, q: Scalars) -> list[Any]:
        return self.joint.canonical(q)

    def regularity(self, q: Scalars) -> Any:
        return self.joint.regularity(q)

    def random(
        self, rng: np.random.Generator, lower: Sequence[float], upper: Sequence[float], size: tuple[int, ...]
    ) -> np.ndarray:
        return self.joint.random(rng, lower, upper, size)

    def commuting_translations(self) -> tuple[Vec3, ...]:
        return self.joint.commuting_translations()

    def commuting_rotations(self) -> tuple[Vec3, ...]:
        return self.joint.commuting_rotations()

    def reduced_inertia(self, inertia: Inertia) -> Inertia:
        """Return the reduced inertia of the original joint.

        The inertia that the original joint leaves out does not resist motion and does not depend on q. It can
        therefore be left out on either side of the joint.
        """
        return self.joint.reduced_inertia(inertia)

    def reversed(self) -> JointType:
        return self.joint
