"""The functions of a joint by itself, between the frame before it and the frame after it: a documented method each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from linkwork._util.validation import shown
from linkwork.joints import JointType
from linkwork.joints.base.error_context import attribute_errors, call_joint
from linkwork.kernels.compiler_api import Space
from linkwork.kernels.function_call import checked, lazily
from linkwork.kernels.function_kernels import configuration_space, joint_kernel
from linkwork.kernels.function_request import read_request
from linkwork.kernels.owners import JointOwner
from linkwork.kinematics.algorithms.joint_functions import TABLE as JOINT
from linkwork.model.body import PlacedJoint
from linkwork.spatial import Pose
from linkwork.spatial.arguments import is_rigid

__all__ = ["JointMethods", "LocalCoordinates", "SplitWrench"]


class LocalCoordinates(NamedTuple):
    """Local coordinates φ (..., nv) of a configuration around another, and their rate φ̇ (..., nv)."""

    phi: np.ndarray
    phi_dot: np.ndarray


class SplitWrench(NamedTuple):
    """The two parts (..., 6) of a wrench across a joint: along its motions, and borne by its mounting."""

    joint_force: np.ndarray
    internal_force: np.ndarray


class JointMethods:
    """What a joint type computes, on arrays.  F is the frame before the joint and M the frame after it."""

    __slots__ = ()

    name: str
    type: JointType
    placement: Pose
    rotor: Pose
    _calls: dict[Any, Callable[..., Any]]

    def _run(self, name: str, *arguments: Any, out: Any = None, swapped: bool = False) -> np.ndarray:
        """A function of one result."""
        call = self._calls.get((name, swapped)) or self._made(name, swapped)
        result: np.ndarray = call(*arguments) if out is None else call(*arguments, out=out)
        return result

    def _parts(
        self, name: str, *arguments: Any, swapped: bool = False, given: tuple[str, ...] = ()
    ) -> tuple[np.ndarray, ...]:
        """A function of several results; ``given`` names those of its optional inputs that are there."""
        call = self._calls.get((name, swapped, *given)) or self._made(name, swapped, given)
        results: tuple[np.ndarray, ...] = call(*arguments)
        return results

    def _made(self, name: str, swapped: bool, value: tuple[str, ...] = ()) -> Callable[..., Any]:
        subject = self._subject(swapped)
        request = read_request(subject, name, value)

        def make() -> Callable[..., Any]:
            with attribute_errors(self.name, self.type):
                call = checked(subject, request, joint_kernel(subject, request))
            self._calls[name, swapped, *value] = call
            return call

        return lazily(subject, request, make)

    def _subject(self, swapped: bool = False) -> JointOwner:
        return JointOwner(self.name, PlacedJoint(self.type, self.placement, self.rotor, swapped), JOINT)

    def _refuse_warped(self, what: str, poses: ArrayLike) -> None:
        """Raises ValueError for matrices (..., 4, 4) that are no rigid transforms; others are told of later."""
        if isinstance(poses, np.ma.MaskedArray):
            return
        try:
            X = np.asarray(poses)
        except ValueError:
            raise ValueError(f"{what}: expected poses of shape (..., 4, 4), got {shown(poses)}") from None
        if X.shape[-2:] == (4, 4) and X.dtype.kind in "iuf" and not is_rigid(X):
            expected = "expected poses, with a rotation (within 1e-6) and the last row 0 0 0 1"
            raise ValueError(f"joint {self.name!r}: {what}: {expected}, got\n{X}")

    # -- kinematics

    def transform(self, q: ArrayLike, *, out: np.ndarray | None = None) -> np.ndarray:
        """X_FM(q), the pose of the frame after the joint in the frame before it: p_F = X_FM p_M.

        q (..., nq) -> (..., 4, 4) [1, m].
        """
        return self._run("transform", q, out=out)

    def twist(self, q: ArrayLike, v: ArrayLike, *, out: np.ndarray | None = None) -> np.ndarray:
        """V = S(q) v, the twist (ω; v) of M relative to F, in M's coordinates, its linear part at M's origin.

        q (..., nq), v (..., nv) -> (..., 6) [rad/s, m/s].
        """
        return self._run("twist", q, v, out=out)

    def spatial_acceleration(
        self, q: ArrayLike, v: ArrayLike, a: ArrayLike, *, out: np.ndarray | None = None
    ) -> np.ndarray:
        """S(q) a + Ṡ v, the rate of the components of `twist`: of M relative to F, in M's coordinates.

        It is the spatial acceleration (ω̇; v̇): its linear part is not the classical acceleration of M's origin, which
        is v̇ + ω × v.  q (..., nq), v, a (..., nv) -> (..., 6) [rad/s², m/s²].
        """
        return self._run("spatial_acceleration", q, v, a, out=out)

    def bias_acceleration(self, q: ArrayLike, v: ArrayLike, *, out: np.ndarray | None = None) -> np.ndarray:
        """Ṡ(q, v) v: the spatial acceleration of M relative to F, in M's coordinates, while v̇ = 0.

        q (..., nq), v (..., nv) -> (..., 6) [rad/s², m/s²].
        """
        return self._run("bias_acceleration", q, v, out=out)

    def motion_subspace(self, q: ArrayLike, *, out: np.ndarray | None = None) -> np.ndarray:
        """S(q), whose columns are the motions (ω; v) of M relative to F, in M's coordinates, of the unit velocities.

        q (..., nq) -> (..., 6, nv) [1, m].
        """
        return self._run("motion_subspace", q, out=out)

    def constraint_wrench_subspace(self, q: ArrayLike, *, out: np.ndarray | None = None) -> np.ndarray:
        """T(q), whose columns are a basis of the wrenches (moment; force) in M's coordinates with Tᵀ S = 0.

        T λ, with multipliers λ, is what the joint can bear without moving: it does no work on any motion of the joint.
        Where motions depend on each other (gimbal lock) the joint bears more wrenches than these 6 − nv columns span.
        q (..., nq) -> (..., 6, 6 − nv).
        """
        return self._run("constraint_wrench_subspace", q, out=out)

    # -- the other way

    def configuration_of(self, pose: ArrayLike, *, out: np.ndarray | None = None) -> np.ndarray:
        """A configuration whose transform X_FM is nearest to a pose: the pose itself where the joint can take it.

        Where it cannot, the type says what is nearest; a helical joint counts turns by how far it has advanced.
        pose (..., 4, 4) [1, m] -> (..., nq).
        """
        self._refuse_warped("configuration_of: pose", pose)
        return self._run("configuration_of", pose, out=out)

    def velocity_of(self, q: ArrayLike, motion: ArrayLike, *, out: np.ndarray | None = None) -> np.ndarray:
        """The velocity whose twist S(q) v is nearest to one of M relative to F, in M's coordinates: least squares.

        It is that twist itself where the joint can move so.
        q (..., nq), motion (..., 6) [rad/s, m/s] -> (..., nv) [rad/s, m/s].
        """
        return self._run("velocity_of", q, motion, out=out)

    def pose_residual(self, pose: ArrayLike, *, out: np.ndarray | None = None) -> np.ndarray:
        """What is left to a pose from the joint's nearest configuration, in M's coordinates: (rotation
        vector; position).

        Zero where the joint can take the pose; anywhere else a constraint wrench does work on it, half a turn away too.
        pose (..., 4, 4) [1, m] -> (..., 6) [rad, m].
        """
        self._refuse_warped("pose_residual: pose", pose)
        return self._run("pose_residual", pose, out=out)

    # -- forces

    def torque(self, q: ArrayLike, wrench: ArrayLike, *, out: np.ndarray | None = None) -> np.ndarray:
        """τ = Sᵀ w, the joint forces of a wrench w (moment; force) across the joint.

        w is what the link before the joint exerts on the link after it, at M's origin in M's coordinates; τ acts on
        the link after, and its opposite on the link before.
        q (..., nq), wrench (..., 6) [N·m, N] -> (..., nv) [N·m, N].
        """
        return self._run("torque", q, wrench, out=out)

    def split_wrench(self, q: ArrayLike, wrench: ArrayLike, *, world_pose: ArrayLike | None = None) -> SplitWrench:
        """A wrench w across the joint as its joint force, w projected onto S's span, and its internal force, the rest.

        That is S (SᵀS)⁻¹ Sᵀ w where the motions are independent; where they are not, at and near gimbal lock, a motion
        within 1e-13 of what others span (1e-6 in float32) counts as one of theirs.
        Where S is one unit column s the joint force is (s · w) s.  The internal force, with Sᵀ w_int = 0, is borne by
        the mounting and does no work.  Both are in M's coordinates like w; with the pose X_WM of M in the world
        (..., 4, 4) as ``world_pose`` they are in the world's, at its origin.  How a wrench splits, unlike Sᵀ w, depends
        on the unit of length and on M's origin where S mixes rotation and translation, or where w has both.
        q (..., nq), wrench (..., 6) [N·m, N] -> two of (..., 6) [N·m, N].
        """
        if world_pose is None:
            return SplitWrench(*self._parts("split_wrench", q, wrench))
        self._refuse_warped("split_wrench: world_pose", world_pose)
        return SplitWrench(*self._parts("split_wrench", q, wrench, world_pose, given=("world_pose",)))

    def reaction(self, q: ArrayLike, wrench: ArrayLike, *, out: np.ndarray | None = None) -> np.ndarray:
        """−X_FM w: what the link before the joint feels where the link after it feels w (Newton's third law).

        w is in M's coordinates and at its origin, the result in F's and at its origin; its joint forces are −τ.
        q (..., nq), wrench (..., 6) [N·m, N] -> (..., 6) [N·m, N].
        """
        return self._run("reaction", q, wrench, out=out)

    # -- rates of the configuration

    def velocity_to_configuration_derivative(
        self, q: ArrayLike, v: ArrayLike, *, out: np.ndarray | None = None
    ) -> np.ndarray:
        """q̇, linear in v: how the configuration changes at velocity v.

        q (..., nq), v (..., nv) -> (..., nq) [units of q, per second].
        """
        return self._run("velocity_to_configuration_derivative", q, v, out=out)

    def velocity_to_configuration_derivative_jacobian(
        self, q: ArrayLike, *, out: np.ndarray | None = None
    ) -> np.ndarray:
        """The matrix J with q̇ = J v.  q (..., nq) -> (..., nq, nv)."""
        return self._run("velocity_to_configuration_derivative_jacobian", q, out=out)

    def configuration_derivative_to_velocity(
        self, q: ArrayLike, q_dot: ArrayLike, *, out: np.ndarray | None = None
    ) -> np.ndarray:
        """v, linear in q̇: the inverse of `velocity_to_configuration_derivative` for a q̇ tangent to the manifold.

        q, q_dot (..., nq) -> (..., nv) [units of v].
        """
        return self._run("configuration_derivative_to_velocity", q, q_dot, out=out)

    def configuration_derivative_to_velocity_jacobian(
        self, q: ArrayLike, *, out: np.ndarray | None = None
    ) -> np.ndarray:
        """The matrix J with v = J q̇.  q (..., nq) -> (..., nv, nq)."""
        return self._run("configuration_derivative_to_velocity_jacobian", q, out=out)

    def configuration_derivative_to_velocity_adjoint(
        self, q: ArrayLike, f_v: ArrayLike, *, out: np.ndarray | None = None
    ) -> np.ndarray:
        """f_q = Jᵀ f_v with v = J q̇, so that ⟨f_q, q̇⟩ = ⟨f_v, v⟩ for every motion.

        q (..., nq), f_v (..., nv) -> (..., nq): a force on the velocity as one on the configuration's rate.
        """
        return self._run("configuration_derivative_to_velocity_adjoint", q, f_v, out=out)

    # -- the configuration's manifold

    def local_coordinates(self, q0: ArrayLike, q: ArrayLike, v: ArrayLike) -> LocalCoordinates:
        """φ of the configuration q around q0, and φ̇ while q moves at velocity v and q0 stays.

        ``global_coordinates(q0, φ)`` is q.  φ is q − q0 where q̇ = v, and exponential coordinates where there is a
        rotation in the configuration.  Angles are counted, whole turns and all, so φ is zero only where q is q0;
        rotations written as quaternions, modified Rodrigues parameters or sine and cosine go the short way, and φ is
        zero wherever they are the same rotation.  q0, q (..., nq), v (..., nv) -> two of (..., nv).
        """
        return LocalCoordinates(*self._parts("local_coordinates", q0, q, v))

    def global_coordinates(self, q0: ArrayLike, phi: ArrayLike, *, out: np.ndarray | None = None) -> np.ndarray:
        """The configuration whose local coordinates around q0 are φ: where v = φ, held for unit time, leads.

        q0 (..., nq), phi (..., nv) -> (..., nq).
        """
        return self._run("global_coordinates", q0, phi, out=out)

    def normalize_configuration(self, q: ArrayLike, *, out: np.ndarray | None = None) -> np.ndarray:
        """The configuration on the joint's manifold that is nearest to q: a quaternion divided by its length.

        Raises ValueError where none is nearest (a quaternion of zeros).  q (..., nq) -> (..., nq).
        """
        return self._run("normalize_configuration", q, out=out)

    def principal_value(self, q: ArrayLike, *, out: np.ndarray | None = None) -> np.ndarray:
        """The one of the configurations of the same transform that the type prefers; most types leave q as it is.

        q (..., nq) -> (..., nq).
        """
        return self._run("principal_value", q, out=out)

    def zero_configuration(self) -> np.ndarray:
        """The configuration (nq,) whose transform is the identity.  It may lie outside the limits."""
        return np.array(call_joint(self.name, self.type, "zero"), dtype=float)

    @property
    def configuration_space(self) -> Space:
        """What configurations are points of: in `linkwork.compile`, the shape of an input that is one.

        Derivatives of the kernel by that input are then by its tangent vector, of nv numbers.
        """
        return configuration_space(self._subject())

    # -- how many

    @property
    def num_positions(self) -> int:
        """How many numbers a configuration has: nq."""
        return self.type.nq

    @property
    def num_velocities(self) -> int:
        """The degrees of freedom: nv."""
        return self.type.nv

    @property
    def num_constraints(self) -> int:
        """How many of the six relative motions the joint rules out: 6 − nv."""
        return self.type.num_constraints

    @property
    def is_floating(self) -> bool:
        """Whether the joint rules no motion out."""
        return self.type.is_floating

    @property
    def has_fixed_subspaces(self) -> bool:
        """Whether the motion subspace, in M's coordinates, is the same in every configuration."""
        return self.type.has_fixed_subspaces
