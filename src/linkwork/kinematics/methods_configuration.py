"""Configurations of a robot: a documented method each."""

from __future__ import annotations

import numpy as np

from linkwork.kernels.array_arguments_sampling import Size, generator_of, leading_of
from linkwork.kernels.compiled_method import computed
from linkwork.kernels.robot_base import Array, RobotBase
from linkwork.model.coupled_joints import bounds

__all__ = ["ConfigurationMethods"]


class ConfigurationMethods(RobotBase):
    """Configurations as points of a manifold."""

    __slots__ = ()

    def neutral(self) -> np.ndarray:
        """The configuration (nq,) with every joint at its zero, followers at their offset, within limits or not."""
        return np.array([x for _, body in self._tree.stacked() for x in body.asked("zero")], dtype=float)

    def random_configuration(
        self, rng: np.random.Generator | None = None, *, size: Size = None, seed: int | None = None
    ) -> np.ndarray:
        """Configurations drawn between the joints' limits, of shape (nq,) or (*size, nq).

        A joint without limits: angles from [-π, π], lengths from [-1, 1] m, rotations evenly from SO(3).  Joints that
        others follow stay where all are within limits (ValueError where that is nowhere).  ``rng`` is a NumPy
        generator and ``seed`` a number to make one from; without either it is a fresh one.  A bare number is refused
        (TypeError): it could be a seed as well as a size.
        """
        generator = generator_of(rng, seed)
        shape = leading_of(size)
        q = np.zeros((*shape, self.nq))
        limits = bounds(self._tree)
        for i, body in self._tree.stacked():
            q[..., self._tree.q_slices[i]] = body.asked("random", generator, *limits[i], shape)
        return q

    @computed
    def normalize(self, q: Array, *, out: np.ndarray | None = None) -> np.ndarray:
        """The nearest configuration on the joints' manifolds: quaternions become unit.

        q (..., nq) [rad, m, 1] -> (..., nq) [rad, m, 1].
        """

    @computed
    def integrate(self, q: Array, v: Array, *, out: np.ndarray | None = None) -> np.ndarray:
        """q ⊕ v: the configuration that a velocity, held for unit time, leads to.

        q (..., nq), v (..., nv) [rad, m: a rate times a time] -> (..., nq) [rad, m, 1].  A floating joint moves along
        the exponential of its twist (a screw), and its quaternion stays unit.
        """

    @computed
    def difference(self, q0: Array, q1: Array, *, out: np.ndarray | None = None) -> np.ndarray:
        """q1 ⊖ q0: the velocity that leads from one configuration to another in unit time.

        q0 (..., nq), q1 (..., nq) -> (..., nv) [rad, m].  ``integrate(q0, difference(q0, q1))`` is q1; rotations go
        the short way round.
        """

    @computed
    def velocity_to_configuration_derivative(self, q: Array, v: Array, *, out: np.ndarray | None = None) -> np.ndarray:
        """q̇, linear in v: how the configuration changes at velocity v.  Where all joints' q̇ is v, it is v.

        q (..., nq), v (..., nv) -> (..., nq) [rad/s, m/s, 1/s].
        """

    @computed
    def configuration_derivative_to_velocity(
        self, q: Array, q_dot: Array, *, out: np.ndarray | None = None
    ) -> np.ndarray:
        """v, linear in q̇: the inverse of `velocity_to_configuration_derivative` for a q̇ tangent to the manifold.

        q, q_dot (..., nq) -> (..., nv) [rad/s, m/s].
        """
