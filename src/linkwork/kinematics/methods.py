"""Kinematics of a robot: a documented method each.

Configurations of a robot: a documented method each.

Matrices that map velocities to motions, and how they change: a documented method each.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from linkwork._util.named_tuple_list import Named
from linkwork.expr.linalg.sparse_dot import is_zero
from linkwork.kernels.array_arguments import Size, generator_of, leading_of
from linkwork.kernels.compiled_method import computed_from
from linkwork.kernels.function_request import read_requests
from linkwork.kernels.function_trace import traced
from linkwork.kernels.robot_base import Array, RobotBase
from linkwork.kinematics.algorithms import ROWS as KINEMATICS
from linkwork.kinematics.algorithms.relative_kinematics import fork
from linkwork.model.coupled_joints import bounds

__all__ = ["ConfigurationMethods", "JacobianMethods", "KinematicsMethods"]

computed = computed_from(KINEMATICS)


class KinematicsMethods(RobotBase):
    """Where bodies and frames are, and how they move."""

    __slots__ = ()

    @computed
    def forward_kinematics(self, q: Array, *, out: np.ndarray | None = None) -> np.ndarray:
        """X_WB, the pose in the world of every body B, in the order of `bodies`.

        q (..., nq) -> (..., nb, 4, 4) [1, m], nb bodies.
        """

    @computed
    def pose(self, q: Array, frame: str, *, relative_to: str = "world", out: np.ndarray | None = None) -> np.ndarray:
        """X_AB, the pose of a frame B relative to A (``relative_to``): p_A = X_AB p_B.

        q (..., nq) -> (..., 4, 4) [1, m].
        """

    @computed
    def twist(
        self,
        q: Array,
        v: Array,
        frame: str,
        *,
        relative_to: str = "world",
        expressed_in: str = "world",
        point: str | None = None,
        out: np.ndarray | None = None,
    ) -> np.ndarray:
        """(ω; v) of a frame B relative to A, in the axes of E (``expressed_in``).

        v is the velocity of the point of B that coincides with the origin of the frame ``point`` (B's own by default;
        ``point="world"`` is the Plücker form).  q (..., nq), v (..., nv) -> (..., 6) [rad/s, m/s].
        """

    @computed
    def acceleration(
        self,
        q: Array,
        v: Array,
        a: Array,
        frame: str,
        *,
        relative_to: str = "world",
        expressed_in: str = "world",
        point: str | None = None,
        out: np.ndarray | None = None,
    ) -> np.ndarray:
        """(ω̇; v̇) of a frame B as seen by an observer in A, in the axes of E (``expressed_in``).

        v̇ is the classical acceleration of the point of B that coincides with the origin of the frame ``point`` (B's own
        by default): no gravity in it.  q (..., nq), v, a (..., nv) -> (..., 6) [rad/s², m/s²].
        """

    @computed
    def jacobian(
        self,
        q: Array,
        frame: str,
        *,
        relative_to: str = "world",
        expressed_in: str = "world",
        point: str | None = None,
        out: np.ndarray | None = None,
    ) -> np.ndarray:
        """J with J v the twist of a frame B relative to A, in the axes of E, at the point that `twist` describes.

        q (..., nq) -> (..., 6, nv) [1, m].
        """


class ConfigurationMethods(RobotBase):
    """Configurations as points of a manifold."""

    __slots__ = ()

    def neutral(self) -> np.ndarray:
        """The configuration (nq,) with every joint at its zero, followers at their offset, within limits or not."""
        return np.array([x for _, body in self._tree.stacked() for x in body.call_joint("zero")], dtype=float)

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
            q[..., self._tree.q_slices[i]] = body.call_joint("random", generator, *limits[i], shape)
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


class JacobianMethods(RobotBase):
    """Matrices that map velocities to motions, and how they change."""

    __slots__ = ()

    @computed
    def position_jacobian(
        self,
        q: Array,
        frame: str,
        *,
        relative_to: str = "world",
        expressed_in: str = "world",
        point: str | None = None,
        out: np.ndarray | None = None,
    ) -> np.ndarray:
        """The linear part of `jacobian`: J v is the velocity relative to A of the point of B that `twist` describes.

        q (..., nq) -> (..., 3, nv) [m].
        """

    @computed
    def angular_jacobian(
        self,
        q: Array,
        frame: str,
        *,
        relative_to: str = "world",
        expressed_in: str = "world",
        out: np.ndarray | None = None,
    ) -> np.ndarray:
        """The angular part of `jacobian`: J v is the angular velocity of B relative to A, in the axes of E.

        q (..., nq) -> (..., 3, nv) [1].
        """

    @computed
    def configuration_jacobian(
        self,
        q: Array,
        frame: str,
        *,
        relative_to: str = "world",
        expressed_in: str = "world",
        point: str | None = None,
        out: np.ndarray | None = None,
    ) -> np.ndarray:
        """J with J q̇ the twist of a frame B relative to A, in the coordinates of q: a quaternion has four columns.

        It holds for rates that keep q on its manifold, such as `velocity_to_configuration_derivative` gives: J is
        `jacobian` times the matrix of v = E(q) q̇.  q (..., nq) -> (..., 6, nq) [1, m].
        """

    @computed
    def jacobians(
        self,
        q: Array,
        *,
        relative_to: str = "world",
        expressed_in: str = "world",
        point: str | None = None,
        out: np.ndarray | None = None,
    ) -> np.ndarray:
        """The Jacobians of all bodies, in the order of `bodies`: each at its body's origin, or all at that of
        ``point``.

        q (..., nq) -> (..., nb, 6, nv) [1, m], nb bodies.
        """

    @computed
    def jacobian_derivative(
        self,
        q: Array,
        v: Array,
        frame: str,
        *,
        relative_to: str = "world",
        expressed_in: str = "world",
        point: str | None = None,
        out: np.ndarray | None = None,
    ) -> np.ndarray:
        """J̇, the rate of `jacobian` as an observer in A sees it, in the axes of E: J a + J̇ v is `acceleration`.

        The point is fixed to B while it moves.  Where E is A, and ``point`` is fixed to B, J̇ is the time derivative
        of J element by element; other axes, and other points, do not add their own motion.

        q (..., nq), v (..., nv) -> (..., 6, nv) [1/s, m/s].
        """

    @computed
    def bias_acceleration(
        self,
        q: Array,
        v: Array,
        frame: str,
        *,
        relative_to: str = "world",
        expressed_in: str = "world",
        point: str | None = None,
        out: np.ndarray | None = None,
    ) -> np.ndarray:
        """J̇ v: the `acceleration` (ω̇; v̇) of a frame B relative to A that it has at a = 0.

        q (..., nq), v (..., nv) -> (..., 6) [rad/s², m/s²].
        """

    @computed
    def jacobian_hessian(
        self,
        q: Array,
        frame: str,
        *,
        relative_to: str = "world",
        expressed_in: str = "world",
        point: str | None = None,
        out: np.ndarray | None = None,
    ) -> np.ndarray:
        """H, how `jacobian` changes along each velocity: J̇ = Σ_k H[..., k] v_k, with J̇ of `jacobian_derivative`.

        H[:, j, k] is the change of column j along the unit velocity k, as an observer in A sees it.  Where q̇ = v it is
        ∂J/∂q; a quaternion changes in its tangent directions.  q (..., nq) -> (..., 6, nv, nv) [1, m].
        """

    @computed
    def manipulability(
        self,
        q: Array,
        frame: str,
        *,
        relative_to: str = "world",
        part: str = "all",
        out: np.ndarray | None = None,
    ) -> np.ndarray:
        """Yoshikawa's measure w = √det(J Jᵀ) of a frame relative to A: the product of the singular values of J.

        ``part`` says which rows of `jacobian` count: "all", "position" or "angular"; in all six angles and lengths
        meet, so w depends on the unit of length.  Where the joints between the two frames have fewer velocities than J
        has rows, w = √det(Jᵀ J) of their columns.  0 where J loses rank, and where nothing moves.

        q (..., nq) -> (...) [1, m].
        """

    @computed
    def manipulability_gradient(
        self,
        q: Array,
        frame: str,
        *,
        relative_to: str = "world",
        part: str = "all",
        out: np.ndarray | None = None,
    ) -> np.ndarray:
        """∂w, the derivative of `manipulability` along each velocity: ẇ = ∂w · v.

        w tr(J⁺ H_k), with H of `jacobian_hessian`.  0 where w is, where it has no derivative; where rounding leaves a
        little of w there, one of the slopes beside it.  q (..., nq) -> (..., nv) [1, m].
        """

    def sparsity(self, functions: Any) -> np.ndarray | dict[str, np.ndarray]:
        """Where a function's result can be other than zero: booleans of its shape, for every configuration at once.

        ``functions`` is what `compile` takes: ``("jacobian", "hand")``, ``"mass_matrix"``; of several functions, or one
        of several results, it gives a dict by their names.  False stands where the result is 0 whatever the inputs
        are, as in the columns of joints that do not move a frame, and where a joint's axis gives zeros.
        """
        requests = read_requests(self._subject, "sparsity", functions)
        result = {
            port.name: np.array([not is_zero(x) for x in elements], dtype=bool).reshape(port.shape)
            for port, elements in traced(self._subject, requests).outputs
        }
        return next(iter(result.values())) if len(result) == 1 else result

    def moving_joints(self, frame: str, *, relative_to: str = "world") -> Named[str]:
        """The joints whose motion moves a frame B relative to A: the names of those between them, from A to B.

        A joint that follows another is there by its own name, and its master only if it is between them itself; of
        all joints, fixed ones have no motion.  Raises UnknownNameError.
        """
        B, A = self._tree.frame(frame), self._tree.frame(relative_to)
        _, to_B, to_A = fork(self._tree, B.body, A.body)
        bodies = [self._tree.bodies[i] for i in (*reversed(to_A), *to_B)]
        return Named([body.joint_name for body in bodies if body.joint.nv], "joint")
