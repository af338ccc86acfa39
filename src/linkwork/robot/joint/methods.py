"""Methods of `Joint` between the stator frame F, fixed to the parent link, and the child's rotor frame M."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from linkwork._util.lazy_imports import published_in
from linkwork._util.validation import is_masked, shown
from linkwork.joints import JointType
from linkwork.joints.base.checks import attribute_errors, call_joint
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


@published_in("linkwork.parts")
class LocalCoordinates(NamedTuple):
    """Local coordinates φ (..., nv) of a configuration about a reference, and their rate φ̇ (..., nv)."""

    phi: np.ndarray
    phi_dot: np.ndarray


@published_in("linkwork.parts")
class SplitWrench(NamedTuple):
    """Wrench across a joint split in two parts (..., 6): the joint force, and the internal force without work."""

    joint_force: np.ndarray
    internal_force: np.ndarray


class JointMethods:
    """Methods of `Joint` on arrays, between the stator frame F (parent side) and the rotor frame M (child side)."""

    __slots__ = ()

    name: str
    type: JointType
    placement: Pose
    rotor: Pose
    _calls: dict[Any, Callable[..., Any]]

    def _run(self, name: str, *arguments: Any, out: Any = None, swapped: bool = False) -> np.ndarray:
        """Return the result of a compiled function of the joint, by the function's name.

        ``swapped`` is True for the joint in the opposite direction.
        """
        call = self._calls.get((name, swapped)) or self._prepared(name, swapped)
        result: np.ndarray = call(*arguments) if out is None else call(*arguments, out=out)
        return result

    def _run_several(
        self, name: str, *arguments: Any, swapped: bool = False, optional: tuple[str, ...] = ()
    ) -> tuple[np.ndarray, ...]:
        """Return the results of a compiled function of the joint with several results.

        ``optional`` names the optional inputs that are passed.
        """
        call = self._calls.get((name, swapped, *optional)) or self._prepared(name, swapped, optional)
        results: tuple[np.ndarray, ...] = call(*arguments)
        return results

    def _prepared(self, name: str, swapped: bool, optional: tuple[str, ...] = ()) -> Callable[..., Any]:
        subject = self._subject(swapped)
        request = read_request(subject, name, optional)

        def make() -> Callable[..., Any]:
            with attribute_errors(self.name, self.type):
                call = checked(subject, request, joint_kernel(subject, request))
            self._calls[name, swapped, *optional] = call
            return call

        return lazily(subject, request, make)

    def _subject(self, swapped: bool = False) -> JointOwner:
        return JointOwner(self.name, PlacedJoint(self.type, self.placement, self.rotor, swapped), JOINT)

    def _check_rigid(self, caller: str, poses: ArrayLike) -> None:
        """Raise ValueError for matrices (..., 4, 4) that are not rigid transforms; shapes are checked later."""
        if is_masked(poses):
            return
        try:
            X = np.asarray(poses)
        except ValueError:
            raise ValueError(f"{caller}: expected poses of shape (..., 4, 4), got {shown(poses)}") from None
        if X.shape[-2:] == (4, 4) and X.dtype.kind in "iuf" and not is_rigid(X):
            expected = "expected poses, with a rotation (within 1e-6) and the last row 0 0 0 1"
            raise ValueError(f"joint {self.name!r}: {caller}: {expected}, got\n{X}")

    # -- kinematics

    def transform(self, q: ArrayLike, *, out: np.ndarray | None = None) -> np.ndarray:
        """Compute X_FM(q), the pose of the rotor frame M in the stator frame F: p_F = X_FM p_M.

        q (..., nq) -> ``out`` (..., 4, 4) [1, m].
        """
        return self._run("transform", q, out=out)

    def twist(self, q: ArrayLike, v: ArrayLike, *, out: np.ndarray | None = None) -> np.ndarray:
        """Compute V = S(q) v, the twist (ω; v) of M relative to F in M's coordinates, at M's origin.

        q (..., nq), v (..., nv) -> ``out`` (..., 6) [rad/s, m/s].
        """
        return self._run("twist", q, v, out=out)

    def spatial_acceleration(
        self, q: ArrayLike, v: ArrayLike, a: ArrayLike, *, out: np.ndarray | None = None
    ) -> np.ndarray:
        """Compute S(q) a + Ṡ v, the spatial acceleration (ω̇; v̇) of M relative to F in M's coordinates.

        It is the rate of the components of `twist`.  The classical acceleration of M's origin is v̇ + ω × v instead.
        q (..., nq), v, a (..., nv) -> ``out`` (..., 6) [rad/s², m/s²].
        """
        return self._run("spatial_acceleration", q, v, a, out=out)

    def bias_acceleration(self, q: ArrayLike, v: ArrayLike, *, out: np.ndarray | None = None) -> np.ndarray:
        """Compute Ṡ(q, v) v, the spatial acceleration of M relative to F in M's coordinates for v̇ = 0.

        q (..., nq), v (..., nv) -> ``out`` (..., 6) [rad/s², m/s²].
        """
        return self._run("bias_acceleration", q, v, out=out)

    def motion_subspace(self, q: ArrayLike, *, out: np.ndarray | None = None) -> np.ndarray:
        """Compute S(q), whose columns are the twists (ω; v) of M relative to F for unit velocities, in M's coordinates.

        q (..., nq) -> ``out`` (..., 6, nv) [1, m].
        """
        return self._run("motion_subspace", q, out=out)

    def constraint_wrench_subspace(self, q: ArrayLike, *, out: np.ndarray | None = None) -> np.ndarray:
        """Compute T(q), whose columns are a basis of the wrenches (moment; force) in M's coordinates with Tᵀ S = 0.

        T λ, with multipliers λ, is a constraint wrench, which does no work on any motion of the joint.  At a
        singularity (gimbal lock) the joint resists more wrenches than these 6 − nv columns span.
        q (..., nq) -> ``out`` (..., 6, 6 − nv).
        """
        return self._run("constraint_wrench_subspace", q, out=out)

    # -- inverses

    def configuration_of(self, pose: ArrayLike, *, out: np.ndarray | None = None) -> np.ndarray:
        """Compute a configuration whose transform X_FM is nearest to a pose; exact if the joint can reach the pose.

        Otherwise the joint type defines the nearest configuration.  A helical joint counts revolutions by its advance.
        pose (..., 4, 4) [1, m] -> ``out`` (..., nq).
        """
        self._check_rigid("configuration_of: pose", pose)
        return self._run("configuration_of", pose, out=out)

    def velocity_of(self, q: ArrayLike, motion: ArrayLike, *, out: np.ndarray | None = None) -> np.ndarray:
        """Compute the velocity whose twist S(q) v is nearest to a twist of M relative to F, by least squares.

        The twist is in M's coordinates.  The result is exact if the joint can have this twist.
        q (..., nq), motion (..., 6) [rad/s, m/s] -> ``out`` (..., nv) [rad/s, m/s].
        """
        return self._run("velocity_of", q, motion, out=out)

    def pose_residual(self, pose: ArrayLike, *, out: np.ndarray | None = None) -> np.ndarray:
        """Compute the difference (rotation vector; position) between a pose and the joint's nearest pose.

        The difference is in the rotor frame M's coordinates. It is zero if the joint can reach the pose. Otherwise
        some wrench of `constraint_wrench_subspace` does work on it, even if the rotation differs by half a revolution.
        pose (..., 4, 4) [1, m] -> ``out`` (..., 6) [rad, m].
        """
        self._check_rigid("pose_residual: pose", pose)
        return self._run("pose_residual", pose, out=out)

    # -- forces

    def torque(self, q: ArrayLike, wrench: ArrayLike, *, out: np.ndarray | None = None) -> np.ndarray:
        """Compute τ = Sᵀ w, the joint forces of a wrench w (moment; force) across the joint.

        w is exerted by the link before the joint on the link after it, at M's origin in M's coordinates.  τ acts on the
        link after the joint, −τ on the link before it.
        q (..., nq), wrench (..., 6) [N·m, N] -> ``out`` (..., nv) [N·m, N].
        """
        return self._run("torque", q, wrench, out=out)

    def split_wrench(self, q: ArrayLike, wrench: ArrayLike, *, world_pose: ArrayLike | None = None) -> SplitWrench:
        """Split a wrench w across the joint into the joint force, its projection onto span(S), and the internal force.

        The joint force is S (SᵀS)⁻¹ Sᵀ w; for one unit column s it is (s · w) s.  At and near gimbal lock, a column
        within 1e-13 (1e-6 in float32) of the span of others counts as dependent.  The internal force, with
        Sᵀ w_int = 0, is carried by the joint's structure and does no work.  Both are in M's coordinates like w; with
        the pose X_WM of M in the world (..., 4, 4) as ``world_pose`` they are in the world's axes at its origin.
        Unlike Sᵀ w, the split depends on the unit of length and on M's origin if S or w mixes rotation and translation.
        q (..., nq), wrench (..., 6) [N·m, N] -> two of (..., 6) [N·m, N].
        """
        if world_pose is None:
            return SplitWrench(*self._run_several("split_wrench", q, wrench))
        self._check_rigid("split_wrench: world_pose", world_pose)
        return SplitWrench(*self._run_several("split_wrench", q, wrench, world_pose, optional=("world_pose",)))

    def reaction(self, q: ArrayLike, wrench: ArrayLike, *, out: np.ndarray | None = None) -> np.ndarray:
        """Compute −X_FM w, the reaction on the link before the joint if w acts on the link after it.

        w is in M's coordinates at M's origin, the result in F's coordinates at F's origin; its joint forces are −τ.
        q (..., nq), wrench (..., 6) [N·m, N] -> ``out`` (..., 6) [N·m, N].
        """
        return self._run("reaction", q, wrench, out=out)

    # -- rates of the configuration

    def velocity_to_configuration_derivative(
        self, q: ArrayLike, v: ArrayLike, *, out: np.ndarray | None = None
    ) -> np.ndarray:
        """Compute the configuration's rate q̇ at velocity v; it is linear in v.

        q (..., nq), v (..., nv) -> ``out`` (..., nq) [units of q, per second].
        """
        return self._run("velocity_to_configuration_derivative", q, v, out=out)

    def velocity_to_configuration_derivative_jacobian(
        self, q: ArrayLike, *, out: np.ndarray | None = None
    ) -> np.ndarray:
        """Compute the matrix J with q̇ = J v.  q (..., nq) -> ``out`` (..., nq, nv)."""
        return self._run("velocity_to_configuration_derivative_jacobian", q, out=out)

    def configuration_derivative_to_velocity(
        self, q: ArrayLike, q_dot: ArrayLike, *, out: np.ndarray | None = None
    ) -> np.ndarray:
        """Compute v from a rate q̇ tangent to the manifold: inverse of `velocity_to_configuration_derivative`.

        q, q_dot (..., nq) -> ``out`` (..., nv) [units of v].
        """
        return self._run("configuration_derivative_to_velocity", q, q_dot, out=out)

    def configuration_derivative_to_velocity_jacobian(
        self, q: ArrayLike, *, out: np.ndarray | None = None
    ) -> np.ndarray:
        """Compute the matrix J with v = J q̇.  q (..., nq) -> ``out`` (..., nv, nq)."""
        return self._run("configuration_derivative_to_velocity_jacobian", q, out=out)

    def configuration_derivative_to_velocity_adjoint(
        self, q: ArrayLike, f_v: ArrayLike, *, out: np.ndarray | None = None
    ) -> np.ndarray:
        """Compute f_q = Jᵀ f_v, the force on q̇ that does the same power as a force f_v on v: ⟨f_q, q̇⟩ = ⟨f_v, v⟩.

        J is the matrix with v = J q̇.  q (..., nq), f_v (..., nv) -> ``out`` (..., nq).
        """
        return self._run("configuration_derivative_to_velocity_adjoint", q, f_v, out=out)

    # -- the configuration's manifold

    def local_coordinates(self, q0: ArrayLike, q: ArrayLike, v: ArrayLike) -> LocalCoordinates:
        """Compute the local coordinates φ of q about q0, and φ̇ while q moves at velocity v and q0 is constant.

        ``global_coordinates(q0, φ)`` is q.  φ is q − q0 for joints with q̇ = v, and exponential coordinates for
        rotations.  Angles count full revolutions, so φ is zero only for q = q0.  Rotations as quaternions, modified
        Rodrigues parameters or sine and cosine use the shortest rotation; φ is zero for equal rotations.  q0, q (...,
        nq), v (..., nv) -> two of (..., nv).
        """
        return LocalCoordinates(*self._run_several("local_coordinates", q0, q, v))

    def global_coordinates(self, q0: ArrayLike, phi: ArrayLike, *, out: np.ndarray | None = None) -> np.ndarray:
        """Compute the configuration with local coordinates φ about q0: the result of v = φ for unit time.

        q0 (..., nq), phi (..., nv) -> ``out`` (..., nq).
        """
        return self._run("global_coordinates", q0, phi, out=out)

    def normalize_configuration(self, q: ArrayLike, *, out: np.ndarray | None = None) -> np.ndarray:
        """Compute the nearest configuration on the joint's manifold: a quaternion is divided by its length.

        Raises ValueError if there is no unique nearest one (a zero quaternion).  q (..., nq) -> ``out`` (..., nq).
        """
        return self._run("normalize_configuration", q, out=out)

    def principal_value(self, q: ArrayLike, *, out: np.ndarray | None = None) -> np.ndarray:
        """Compute the preferred configuration among those with the same transform as q; q itself for most types.

        q (..., nq) -> ``out`` (..., nq).
        """
        return self._run("principal_value", q, out=out)

    def zero_configuration(self) -> np.ndarray:
        """Return the configuration (nq,) whose transform is the identity.  It may be outside the limits."""
        return np.array(call_joint(self.name, self.type, "zero"), dtype=float)

    @property
    def configuration_space(self) -> Space:
        """Manifold of the joint's configurations, which declares a configuration as an input of `linkwork.compile`.

        Derivatives of the kernel with respect to that input are in its tangent space, of dimension nv.
        """
        return configuration_space(self._subject())

    # -- sizes

    @property
    def num_positions(self) -> int:
        """Number of position coordinates, nq."""
        return self.type.nq

    @property
    def num_velocities(self) -> int:
        """Number of degrees of freedom, nv."""
        return self.type.nv

    @property
    def num_constraints(self) -> int:
        """Number of relative motions that the joint prevents, 6 − nv."""
        return self.type.num_constraints

    @property
    def is_floating(self) -> bool:
        """True if the joint has all six degrees of freedom."""
        return self.type.is_floating

    @property
    def has_fixed_subspaces(self) -> bool:
        """True if the motion subspace in M's coordinates is the same in every configuration."""
        return self.type.has_fixed_subspaces
