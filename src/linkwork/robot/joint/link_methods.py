"""Methods of `Joint` between the two links that it connects, in both directions.

``child`` and ``parent`` name the two links.  By default they are the joint's own.  With swapped names, every function
returns its result for the reversed joint, with the same q, v and τ.  A link's frame is its body's frame.  A link that
fixed joints weld to one of the two with the identity pose is an alias of it; with another pose it is refused.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from linkwork._util.lazy_imports import published_in
from linkwork._util.validation import shown
from linkwork.errors import ArgumentError, UnknownNameError
from linkwork.robot.joint.methods import JointMethods
from linkwork.spatial import Pose

__all__ = ["LinkMethods", "LinkMotion", "LinkVelocityAcceleration", "ScrewAxes"]


@published_in("linkwork.parts")
class ScrewAxes(NamedTuple):
    """Screw axis of each degree of freedom of a joint, in the child link's frame.

    It has ``direction`` (..., nv, 3), ``point`` (..., nv, 3) [m] and ``pitch`` (..., nv) [m/rad]. The point is the
    point of the axis nearest to the link's origin. A translation has infinite pitch; its point is the origin.
    """

    direction: np.ndarray
    point: np.ndarray
    pitch: np.ndarray


@published_in("linkwork.parts")
class LinkVelocityAcceleration(NamedTuple):
    """Twist (ω; v) and spatial acceleration (..., 6) of a link in its own coordinates."""

    twist: np.ndarray
    acceleration: np.ndarray


@published_in("linkwork.parts")
class LinkMotion(NamedTuple):
    """Pose (..., 4, 4) of a link, and its twist and spatial acceleration (..., 6) in its own coordinates."""

    pose: np.ndarray
    twist: np.ndarray
    acceleration: np.ndarray


class LinkMethods(JointMethods):
    """Methods of `Joint` for the two links that it connects; P is the parent and B the child."""

    __slots__ = ()

    parent: str
    child: str
    welded: tuple[tuple[str, str, Pose], ...]

    def _swapped(
        self, method: str, child: str | None, parent: str | None, names: tuple[str, str] = ("child", "parent")
    ) -> bool:
        """Return True if the arguments name the joint's links in reverse: its parent as the child, or vice versa.

        ``names`` are the arguments' names in messages.

        Raises UnknownNameError, ValueError.
        """
        child = child if child is None else self._end(f"{method}: {names[0]}", child)
        parent = parent if parent is None else self._end(f"{method}: {names[1]}", parent)
        if child is not None and child == parent:
            raise ValueError(
                f"{method}: {names[0]} and {names[1]}: joint {self.name!r}: expected two links, got {child!r} "
                f"as child and as parent"
            )
        return child == self.parent or parent == self.child

    def _end(self, where: str, name: str) -> str:
        """Return the parent or child link of the joint to which a link's name refers.

        A link welded with the identity pose to the parent or child refers to that link.

        Raises UnknownNameError, ArgumentError for a name that is not a string, and ValueError for a link that is
        welded with another pose.
        """
        ends = self.parent, self.child
        if not isinstance(name, str):
            raise ArgumentError(f"{where}: expected the name of a link of joint {self.name!r}, got {shown(name)}")
        if name in ends:
            return name
        for link, body, placement in self.welded:
            if link == name and placement == Pose.identity():
                return body
            if link == name:
                raise ValueError(
                    f"{where}: joint {self.name!r}: link {name!r} is welded to {body!r} at another pose: "
                    f"use {body!r}, and add robot.pose({{}}, {name!r}, relative_to={body!r})"
                )
        known = [*ends, *(link for link, _, placement in self.welded if placement == Pose.identity())]
        raise UnknownNameError(f"link of joint {self.name!r}", name, known, where=where)

    @property
    def links(self) -> tuple[str, str]:
        """Names of the two links that the joint connects: (parent, child)."""
        return self.parent, self.child

    def rest_transform(self, *, child: str | None = None, parent: str | None = None) -> np.ndarray:
        """Compute X_PB (4, 4), the pose of the child in the parent at the zero configuration [1, m].

        p_P = X_PB p_B maps the coordinates of a point.
        """
        return self.link_transform(self.zero_configuration(), child=child, parent=parent)

    def link_transform(
        self, q: ArrayLike, *, child: str | None = None, parent: str | None = None, out: np.ndarray | None = None
    ) -> np.ndarray:
        """Compute X_PB(q), the pose of the child in the parent: p_P = X_PB p_B; the inverse with swapped names.

        X_PB = placement · X_FM(q) · rotor for the joint's own direction.  q (..., nq) -> ``out`` (..., 4, 4) [1, m].
        """
        swapped = self._swapped("link_transform", child, parent)
        return self._run("link_transform", q, out=out, swapped=swapped)

    def link_transform_derivative(
        self, q: ArrayLike, *, child: str | None = None, parent: str | None = None, out: np.ndarray | None = None
    ) -> np.ndarray:
        """Compute ∂X_PB/∂q_k for each position coordinate k, so that Ẋ_PB = Σ_k ∂X_PB/∂q_k q̇_k.

        ``parent`` and ``child`` are as in `link_transform`.  For configurations on a manifold (a quaternion), a single
        derivative is that of the formula; only the sum along a q̇ tangent to the manifold has a physical meaning.  q
        (..., nq) -> ``out`` (..., nq, 4, 4).
        """
        return self._run(
            "link_transform_derivative", q, out=out, swapped=self._swapped("link_transform_derivative", child, parent)
        )

    def link_motion_subspace(
        self, q: ArrayLike, *, child: str | None = None, parent: str | None = None, out: np.ndarray | None = None
    ) -> np.ndarray:
        """Compute the motion subspace S_PB(q): the twists of the child relative to the parent for unit velocities.

        They are in the child's frame: V_B = S_PB v + X_BP V_P.  With swapped links it is −X_PB S_PB.
        q (..., nq) -> ``out`` (..., 6, nv) [1, m].
        """
        return self._run(
            "link_motion_subspace", q, out=out, swapped=self._swapped("link_motion_subspace", child, parent)
        )

    def axes(self, q: ArrayLike | None = None, *, child: str | None = None, parent: str | None = None) -> ScrewAxes:
        """Compute the screw axis of each degree of freedom in the child's frame, by default at zero configuration.

        A positive v rotates the child relative to the parent about ``direction`` by the right-hand rule, so the sign
        changes if the links are swapped.  A column (ω; v) of the motion subspace has the direction ω/|ω|, the point
        ω × v/|ω|² and the pitch ω·v/|ω|².  A motion with |ω| below 1e-9 |v| counts as a translation, since such an ω is
        rounding.  q (..., nq); computed in float64.
        """
        q = self.zero_configuration() if q is None else q
        if isinstance(q, np.ndarray) and q.dtype.kind == "f":
            q = q.astype(np.float64)
        S = np.swapaxes(self.link_motion_subspace(q, child=child, parent=parent), -1, -2)
        w, v = S[..., :3], S[..., 3:]
        square = np.sum(w * w, axis=-1)
        slides = square <= 1e-18 * np.sum(v * v, axis=-1)
        safe = np.where(slides, 1.0, square)
        along = np.where(slides[..., None], v, w)
        length = np.sqrt(np.sum(along * along, axis=-1, keepdims=True))
        direction = along / np.where(length == 0.0, 1.0, length)
        point = np.cross(w, v) / safe[..., None]
        return ScrewAxes(direction, point, np.where(slides, np.inf, np.sum(w * v, axis=-1) / safe))

    # -- propagation from the parent to the child

    def link_pose(
        self,
        q: ArrayLike,
        parent_pose: ArrayLike,
        *,
        child: str | None = None,
        parent: str | None = None,
        out: np.ndarray | None = None,
    ) -> np.ndarray:
        """Compute X_AB = X_AP X_PB, the child's pose in a frame A, from the parent's pose X_AP (``parent_pose``).

        q (..., nq), parent_pose (..., 4, 4) -> ``out`` (..., 4, 4) [1, m].
        """
        self._check_rigid("link_pose: parent_pose", parent_pose)
        swapped = self._swapped("link_pose", child, parent)
        return self._run("link_pose", q, parent_pose, out=out, swapped=swapped)

    def link_velocity(
        self,
        q: ArrayLike,
        v: ArrayLike,
        parent_twist: ArrayLike,
        *,
        child: str | None = None,
        parent: str | None = None,
        out: np.ndarray | None = None,
    ) -> np.ndarray:
        """Compute the child's twist (ω; v) from the parent's, V_B = X_BP V_P + S v, each in its own coordinates.

        q (..., nq), v (..., nv), parent_twist (..., 6) -> ``out`` (..., 6) [rad/s, m/s].
        """
        return self._run(
            "link_velocity", q, v, parent_twist, out=out, swapped=self._swapped("link_velocity", child, parent)
        )

    def link_acceleration(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        parent_twist: ArrayLike,
        parent_acceleration: ArrayLike,
        *,
        child: str | None = None,
        parent: str | None = None,
        out: np.ndarray | None = None,
    ) -> np.ndarray:
        """Compute the child's spatial acceleration A_B = X_BP A_P + S a + Ṡ v + V_B × S v from the parent's.

        Both are in the link's own coordinates, as rates of the components of V; see `link_velocity` for V_B.
        q (..., nq), v, a (..., nv), parent_twist, parent_acceleration (..., 6) -> ``out`` (..., 6) [rad/s², m/s²].
        """
        swapped = self._swapped("link_acceleration", child, parent)
        arguments = (q, v, a, parent_twist, parent_acceleration)
        return self._run("link_acceleration", *arguments, out=out, swapped=swapped)

    def link_velocity_acceleration(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        parent_twist: ArrayLike,
        parent_acceleration: ArrayLike,
        *,
        child: str | None = None,
        parent: str | None = None,
    ) -> LinkVelocityAcceleration:
        """Compute the child's twist and spatial acceleration from the parent's.

        They are the results of `link_velocity` and `link_acceleration`. q (..., nq), v, a (..., nv), parent_twist,
        parent_acceleration (..., 6) -> two of (..., 6) [rad/s, m/s; rad/s², m/s²].
        """
        swapped = self._swapped("link_velocity_acceleration", child, parent)
        arguments = (q, v, a, parent_twist, parent_acceleration)
        return LinkVelocityAcceleration(*self._run_several("link_velocity_acceleration", *arguments, swapped=swapped))

    def link_motion(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        parent_pose: ArrayLike,
        parent_twist: ArrayLike,
        parent_acceleration: ArrayLike,
        *,
        child: str | None = None,
        parent: str | None = None,
    ) -> LinkMotion:
        """Compute the child's pose, twist and spatial acceleration from the parent's.

        q (..., nq), v, a (..., nv), parent_pose (..., 4, 4), parent_twist, parent_acceleration (..., 6)
        -> (..., 4, 4), (..., 6), (..., 6).
        """
        self._check_rigid("link_motion: parent_pose", parent_pose)
        swapped = self._swapped("link_motion", child, parent)
        arguments = (q, v, a, parent_pose, parent_twist, parent_acceleration)
        return LinkMotion(*self._run_several("link_motion", *arguments, swapped=swapped))

    def link_bias_acceleration(
        self,
        q: ArrayLike,
        v: ArrayLike,
        parent_twist: ArrayLike,
        parent_acceleration: ArrayLike,
        *,
        child: str | None = None,
        parent: str | None = None,
        out: np.ndarray | None = None,
    ) -> np.ndarray:
        """Compute the child's spatial acceleration for v̇ = 0 from the parent's: X_BP A_P + Ṡ v + V_B × S v.

        q (..., nq), v (..., nv), parent_twist, parent_acceleration (..., 6) -> ``out`` (..., 6) [rad/s², m/s²].
        """
        swapped = self._swapped("link_bias_acceleration", child, parent)
        arguments = (q, v, parent_twist, parent_acceleration)
        return self._run("link_bias_acceleration", *arguments, out=out, swapped=swapped)

    def link_torque(
        self,
        q: ArrayLike,
        wrench: ArrayLike,
        *,
        on: str | None = None,
        applied_by: str | None = None,
        out: np.ndarray | None = None,
    ) -> np.ndarray:
        """Compute the joint force τ = Sᵀ w of a wrench w that a link applies to the other, in the other link's frame.

        w acts ``on`` the joint's child by default, and is ``applied_by`` the other link. τ is the same for the
        opposite wrench on the other link. q (..., nq), wrench (..., 6) [N·m, N] -> ``out`` (..., nv) [N·m, N].
        """
        swapped = self._swapped("link_torque", on, applied_by, ("on", "applied_by"))
        return self._run("link_torque", q, wrench, out=out, swapped=swapped)
