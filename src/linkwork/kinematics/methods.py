"""Methods of `Robot` for kinematics and Jacobians."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from linkwork._util.named_tuples import Named
from linkwork.expr.linalg.sparse_dot import is_zero
from linkwork.kernels.compiled_method import computed
from linkwork.kernels.function_request import read_requests
from linkwork.kernels.function_trace import traced
from linkwork.kernels.robot_base import Array, RobotBase
from linkwork.kinematics.algorithms.forward_kinematics import fork

__all__ = ["JacobianMethods", "KinematicsMethods"]


class KinematicsMethods(RobotBase):
    """Methods for poses, velocities and accelerations of bodies and frames."""

    __slots__ = ()

    @computed
    def forward_kinematics(self, q: Array, *, out: np.ndarray | None = None) -> np.ndarray:
        """Compute X_WB, the pose in the world of every body B, in the order of `bodies`.

        q (..., nq) -> (..., nb, 4, 4) [1, m], nb bodies.
        """

    @computed
    def pose(self, q: Array, frame: str, *, relative_to: str = "world", out: np.ndarray | None = None) -> np.ndarray:
        """Compute X_AB, the pose of a frame B relative to A (``relative_to``): p_A = X_AB p_B.

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
        """Compute the twist (ω; v) of a frame B relative to A (``relative_to``), in the axes of E (``expressed_in``).

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
        """Compute the acceleration (ω̇; v̇) of a frame B relative to A (``relative_to``), in the axes of E.

        E is ``expressed_in``. It is the acceleration measured by an observer fixed in A. v̇ is the classical
        acceleration, without gravity, of the point of B that coincides with the origin of the frame ``point`` (B's own
        by default). q (..., nq), v, a (..., nv) -> (..., 6) [rad/s², m/s²].
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
        """Compute the Jacobian J of a frame B relative to A (``relative_to``): J v is the twist (ω; v) of B.

        The twist is as in `twist`: in the axes of ``expressed_in``, with the velocity of the point of B that coincides
        with the origin of ``point`` (B's own by default). q (..., nq) -> (..., 6, nv) [1, m].
        """


class JacobianMethods(RobotBase):
    """Methods for matrices that map velocities to motions, and their derivatives."""

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
        """Compute the linear rows of `jacobian`: J v is the velocity of a point of B relative to A (``relative_to``).

        The point of B coincides with the origin of ``point`` (B's own by default), and the velocity is in the axes of
        ``expressed_in``. q (..., nq) -> (..., 3, nv) [m].
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
        """Compute the angular rows of `jacobian`: J v is the angular velocity of B relative to A (``relative_to``).

        It is in the axes of ``expressed_in``.  q (..., nq) -> (..., 3, nv) [1].
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
        """Compute the matrix J that maps rates q̇ to the twist J q̇ of a frame B relative to A (``relative_to``).

        A quaternion has four columns. J holds for rates that keep q on its manifold, such as those of
        `velocity_to_configuration_derivative`: J is `jacobian` times the matrix E(q) of v = E(q) q̇. q (..., nq) ->
        (..., 6, nq) [1, m].
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
        """Compute the Jacobians of all bodies relative to ``relative_to``, in the order of `bodies`.

        Each is at its body's origin, or all are at the origin of ``point``, in the axes of ``expressed_in``.
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
        """Compute J̇, the time derivative of `jacobian` as observed in A: J a + J̇ v is `acceleration`.

        It is the rate for an observer in A (``relative_to``), in the axes of E (``expressed_in``), at a point that is
        fixed to B (``frame``). If E is A, and ``point`` is fixed to B, J̇ is the elementwise time derivative of J. The
        motion of other axes and other points is not included.

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
        """Compute J̇ v: the `acceleration` (ω̇; v̇) of a frame B relative to A (``relative_to``) at a = 0.

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
        """Compute H, the derivative of `jacobian` along each velocity.

        J̇ = Σ_k H[..., k] v_k, with J̇ of `jacobian_derivative`. H[:, j, k] is the derivative of column j along the
        unit velocity k, for an observer in ``relative_to``. If q̇ = v it is ∂J/∂q; for a quaternion it is along the
        tangent directions. q (..., nq) -> (..., 6, nv, nv) [1, m].
        """

    @computed
    def manipulability(
        self,
        q: Array,
        frame: str,
        *,
        relative_to: str = "world",
        part: str = "all",
        actuators: str | Sequence[str] | None = None,
        out: np.ndarray | None = None,
    ) -> np.ndarray:
        """Compute Yoshikawa's manipulability w = √det(J Jᵀ) of a frame relative to ``relative_to``.

        It is the product of the singular values of J. ``part`` selects rows of `jacobian`: "all", "position" or
        "angular". "all" combines angles and lengths, so w depends on the unit of length. If the joints between the two
        frames have fewer velocities than J has rows, w = √det(Jᵀ J) of their columns. w is 0 if J loses rank, and if
        no joint moves the frame. The full J of a stretched planar arm keeps its rank, since it turns the frame: the
        textbooks' w of a planar arm, l₁ l₂ |sin q₂|, has ``part="position"``.

        For a robot with constraints, J maps the velocities of the joints ``actuators`` to the twist that the
        constraints permit. The default is all joints but those of six degrees of freedom. If actuators are redundant,
        their velocities have least norm. w = √det(Jᵀ J) where the constraints leave the joints between the frames
        fewer velocities than J has rows. w is infinite if the frame moves while the actuators rest.

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
        actuators: str | Sequence[str] | None = None,
        out: np.ndarray | None = None,
    ) -> np.ndarray:
        """Compute ∂w, the derivative of the `manipulability` w along each velocity: ẇ = ∂w · v.

        It is w tr(J⁺ H_k), with H_k the derivative of J along the unit velocity k, of `jacobian_hessian`. Where w = 0
        it has no derivative, and the result is 0, or one of the adjacent slopes if rounding leaves w slightly above 0.

        For a robot with constraints w is that of ``actuators``, and ẇ = ∂w · v holds for velocities v that satisfy
        the constraints.  The result is 0 where w is infinite.

        q (..., nq) -> (..., nv) [1, m].
        """

    def sparsity(self, functions: Any) -> np.ndarray | dict[str, np.ndarray]:
        """Return a mask of the elements of a function's result that can be nonzero, of its shape.

        It holds for every configuration. ``functions`` is an argument of `compile`: ``("jacobian", "hand")``,
        ``"mass_matrix"``. For several functions, or one with several results, the result is a dict by name. False
        marks elements that are 0 for any inputs, such as columns of joints that do not move a frame, and zeros due to
        a joint's axis.
        """
        requests = read_requests(self._subject, "sparsity", functions)
        result = {
            port.name: np.array([not is_zero(x) for x in elements], dtype=bool).reshape(port.shape)
            for port, elements in traced(self._subject, requests).outputs
        }
        return next(iter(result.values())) if len(result) == 1 else result

    def moving_joints(self, frame: str, *, relative_to: str = "world") -> Named[str]:
        """Return the names of the joints that move a frame B relative to A (``relative_to``), in order from A to B.

        A coupled joint is listed by its own name, and its master only if it is itself between the frames. Fixed joints
        are omitted. Raises UnknownNameError.
        """
        B, A = self._tree.frame(frame), self._tree.frame(relative_to)
        _, to_B, to_A = fork(self._tree, B.body, A.body)
        bodies = [self._tree.bodies[i] for i in (*reversed(to_A), *to_B)]
        return Named([body.joint_name for body in bodies if body.joint.nv], "joint")
