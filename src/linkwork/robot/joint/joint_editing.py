"""Methods of `Joint` that return an edited joint: links, placements, limits, damping, friction, springs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike

from linkwork._util.validation import is_integer, shown
from linkwork.joints import JointType
from linkwork.joints.axis import coordinate_axis
from linkwork.joints.base.checks import call_joint
from linkwork.joints.base.generic_rank import check_joint_type
from linkwork.robot.joint.methods import JointMethods
from linkwork.robot.joint.passive_parameters import DRIVE, check_drive, dof_values, read_drive, rest_values
from linkwork.spatial import Pose, Vec3
from linkwork.spatial.arguments import checked_array, checked_pose, checked_string, fixed_array

__all__ = ["ResistanceEditing", "check_links", "check_order", "dof_values", "pose_of"]


class JointEditing(JointMethods):
    """Methods that return a joint with other links, placements, limits or type."""

    __slots__ = ()

    parent: str
    child: str
    lower: np.ndarray
    upper: np.ndarray
    velocity: np.ndarray
    effort: np.ndarray
    acceleration: np.ndarray
    jerk: np.ndarray
    damping: np.ndarray
    friction: np.ndarray
    rest: np.ndarray

    def with_position_limits(self, lower: ArrayLike, upper: ArrayLike, *, dof: int | str | None = None) -> Self:
        """Return the joint with position limits [rad, m]: numbers or arrays (nq,).

        With ``dof``, an index of q or the name of a coordinate, only that coordinate changes.  Raises ValueError if a
        lower limit exceeds the upper one.
        """
        low = self._changed("lower", lower, self.lower, dof, self.type.q_names)
        high = self._changed("upper", upper, self.upper, dof, self.type.q_names)
        check_order(self.name, low, high)
        return self._replaced(lower=low, upper=high)

    def with_position_limits_enabled(self, enabled: bool) -> Self:
        """Return the joint with its position limits enabled or disabled; their values are retained."""
        return self._replaced(position_limits_enabled=bool(enabled))

    def with_velocity_limit(self, velocity: ArrayLike, *, dof: int | str | None = None) -> Self:
        """Return the joint with speed limits [rad/s, m/s], a number or an array (nv,).

        With ``dof``, an index of v or the name of a velocity component, only that component's limit changes.
        """
        return self._replaced(velocity=self._changed("velocity", velocity, self.velocity, dof, least=0.0))

    def with_effort_limit(self, effort: ArrayLike, *, dof: int | str | None = None) -> Self:
        """Return the joint with force limits ``effort`` [N·m, N], a number or an array (nv,).

        With ``dof``, an index of v or the name of a velocity component, only that component's limit changes.
        """
        return self._replaced(effort=self._changed("effort", effort, self.effort, dof, least=0.0))

    def with_acceleration_limit(self, acceleration: ArrayLike, *, dof: int | str | None = None) -> Self:
        """Return the joint with acceleration limits [rad/s², m/s²], a number or an array (nv,).

        With ``dof``, an index of v or the name of a velocity component, only that component's limit changes.
        """
        values = self._changed("acceleration", acceleration, self.acceleration, dof, least=0.0)
        return self._replaced(acceleration=values)

    def with_jerk_limit(self, jerk: ArrayLike, *, dof: int | str | None = None) -> Self:
        """Return the joint with jerk limits [rad/s³, m/s³], a number or an array (nv,).

        With ``dof``, an index of v or the name of a velocity component, only that component's limit changes.
        """
        return self._replaced(jerk=self._changed("jerk", jerk, self.jerk, dof, least=0.0))

    def with_links(self, parent: str, child: str) -> Self:
        """Return the joint between other links, ``parent`` and ``child``.

        `Robot.with_joint` accepts only joints with the robot's links.
        """
        check_links(self.name, parent, child)
        return self._replaced(parent=parent, child=child, welded=())

    def with_rest_transform(self, X_parent_child: ArrayLike | Pose) -> Self:
        """Return the joint with a pose (4, 4) of the child in the parent at the zero configuration [1, m].

        The rotor's placement does not change: placement = X_parent_child · rotor⁻¹ · X_FM(zero)⁻¹.
        """
        X_rest = pose_of(self.name, "X_parent_child", X_parent_child)
        return self._replaced(placement=X_rest @ self.rotor.inv() @ self.type.X(self.type.zero()).inv())

    def with_placements(self, placement: ArrayLike | Pose | None = None, rotor: ArrayLike | Pose | None = None) -> Self:
        """Return the joint with a ``placement`` X_parent_F and a ``rotor`` X_M_child (4, 4) [1, m]; None: as it is."""
        return self._replaced(
            placement=self.placement if placement is None else pose_of(self.name, "placement", placement),
            rotor=self.rotor if rotor is None else pose_of(self.name, "rotor", rotor),
        )

    def with_axis(self, axis: Sequence[float] | str, *, child: str | None = None) -> Self:
        """Return the joint about or along another axis in the frame of the link ``child``, by default its child link.

        ``axis`` is a vector of any length, or "x", "y" or "z". The link ``child`` moves about or along it relative to
        the joint's other link for positive v, so the sign of the axis depends on the link. Raises TypeError for joint
        types without an axis.
        """
        if not hasattr(self.type, "axis"):
            raise TypeError(f"joint {self.name!r}: a {self.type.type_name()} joint has no axis to change")
        if child not in (None, self.parent, self.child):
            raise ValueError(f"joint {self.name!r}: expected link {self.parent!r} or {self.child!r}, got {child!r}")
        expected = f"joint {self.name!r}: axis: expected three numbers"
        a = Vec3.of(checked_array(coordinate_axis(axis), expected, (3,)).tolist())
        if a == Vec3.zero():
            raise ValueError(f"joint {self.name!r}: axis: expected three numbers that are not all zero, got {axis!r}")
        rotated = -self.placement.rotation.inv_act(a) if child == self.parent else self.rotor.rotation @ a
        return self.with_type(replace(self.type, axis=rotated))  # type: ignore[type-var]

    def with_type(self, type: JointType) -> Self:
        """Return the joint with another type and the same placements.

        If the sizes of q or v change, limits, damping, friction, armature and springs are removed.
        """
        if not isinstance(type, JointType):
            raise TypeError(
                f"joint {self.name!r}: type: expected a joint type with its parameters, such as "
                f"linkwork.joints.Revolute((0, 0, 1)), got {type!r}"
            )
        check_joint_type(type, self.name)
        if (type.nq, type.nv) == (self.type.nq, self.type.nv):
            unstated = np.array_equal(self.rest, call_joint(self.name, self.type, "zero"))
            return self._replaced(type=type, rest=rest_values(self.name, type, None if unstated else self.rest))
        free_q, free_v = np.full(type.nq, math.inf), np.full(type.nv, math.inf)
        zeros = np.zeros(type.nv)
        bounds = {"lower": -free_q, "upper": free_q}
        bounds |= dict.fromkeys(("velocity", "effort", "acceleration", "jerk"), free_v)
        arrays = {key: fixed_array(x) for key, x in {**bounds, "damping": zeros, "friction": zeros}.items()}
        arrays |= read_drive(self.name, type, zeros, {})
        return self._replaced(type=type, q_slice=slice(0, type.nq), v_slice=slice(0, type.nv), **arrays)

    # -- implementation

    def _replaced(self, **changes: Any) -> Self:
        return replace(self, **changes)  # type: ignore[type-var]

    def _changed(
        self,
        field: str,
        value: Any,
        before: np.ndarray,
        dof: int | str | None,
        names: tuple[str, ...] | None = None,
        least: float = -math.inf,
        infinite: bool = True,
    ) -> np.ndarray:
        names = self.type.v_names if names is None else names
        if dof is None:
            return dof_values(self.name, field, value, len(before), least, infinite)
        index = names.index(dof) if isinstance(dof, str) and dof in names else dof
        if not is_integer(index) or not 0 <= index < len(before):
            known = f", one of {', '.join(names)}" if names else ""
            expected = f"expected a degree of freedom from 0 to {len(before) - 1}{known}"
            raise ValueError(f"joint {self.name!r}: {field}: {expected}, got dof={shown(dof)}")
        values = before.copy()
        values[index] = dof_values(self.name, field, value, 1, least, infinite)[0]
        return fixed_array(values)


def check_links(joint: str, parent: str, child: str) -> None:
    """Raise ValueError unless the links of a joint are two different names."""
    for role, name in (("parent", parent), ("child", child)):
        checked_string(name, f"joint {joint!r}: {role}", "the name of a link")
    if parent == child:
        raise ValueError(f"joint {joint!r}: expected two links, got {parent!r} twice")


def check_order(joint: str, lower: np.ndarray, upper: np.ndarray) -> None:
    """Raise ValueError for a lower limit above the upper one, +inf as lower or −inf as upper limit."""
    for k, (low, high) in enumerate(zip(lower.tolist(), upper.tolist(), strict=True)):
        if not low <= high or low == math.inf or high == -math.inf:
            raise ValueError(f"joint {joint!r}: lower limit {low!r} of coordinate {k} exceeds upper limit {high!r}")


def pose_of(joint: str, field: str, pose: ArrayLike | Pose | None) -> Pose:
    """Return a pose from a matrix (4, 4) or a position (3,), or the identity for None.  Raises ValueError."""
    return checked_pose(pose, f"joint {joint!r}: {field}")


class ResistanceEditing(JointEditing):
    """Methods that return a joint with other damping, friction, armature or springs."""

    __slots__ = ()

    armature: np.ndarray
    gear_ratio: np.ndarray
    stiffness: np.ndarray
    rest: np.ndarray
    static_friction: np.ndarray
    friction_velocity: np.ndarray

    def with_damping(self, damping: ArrayLike, *, dof: int | str | None = None) -> Self:
        """Return the joint with viscous damping [N·m·s/rad, N·s/m], a number or an array (nv,).

        With ``dof``, an index of v or the name of a velocity component, only that component's damping changes.
        """
        return self._replaced(damping=self._changed("damping", damping, self.damping, dof, least=0.0, infinite=False))

    def with_friction(self, friction: ArrayLike, *, dof: int | str | None = None) -> Self:
        """Return the joint with dry friction [N·m, N], a number or an array (nv,).

        With ``dof``, an index of v or the name of a velocity component, only that component's friction changes. Static
        friction that was equal to the friction changes with it. Raises ValueError if static friction would be lower
        than the friction.
        """
        result = self._changed("friction", friction, self.friction, dof, least=0.0, infinite=False)
        static = np.where(self.static_friction == self.friction, result, self.static_friction)
        return self._resisting(friction=result, static_friction=fixed_array(static))

    def with_static_friction(self, friction: ArrayLike, *, dof: int | str | None = None) -> Self:
        """Return the joint with static dry friction [N·m, N], at least the kinetic friction.

        With ``dof``, an index of v or the name of a velocity component, only that component's value changes. Static
        friction acts with the friction law ``friction="coulomb"``.
        """
        values = self._changed("static_friction", friction, self.static_friction, dof, least=0.0, infinite=False)
        return self._resisting(static_friction=values)

    def with_friction_velocity(self, speed: ArrayLike, *, dof: int | str | None = None) -> Self:
        """Return the joint with a positive speed v_s [rad/s, m/s] of the smooth friction law f tanh(v / v_s).

        With ``dof``, an index of v or the name of a velocity component, only that component's value changes.
        """
        values = self._changed("friction_velocity", speed, self.friction_velocity, dof, least=0.0, infinite=False)
        return self._resisting(friction_velocity=values)

    def with_armature(self, armature: ArrayLike, *, dof: int | str | None = None) -> Self:
        """Return the joint with armature [kg·m², kg], the reflected inertia of a rotor: N² times the rotor's inertia.

        With ``dof``, an index of v or the name of a velocity component, only that component's value changes. With
        ``passive=True`` it is added to the diagonal of the mass matrix.
        """
        return self._replaced(
            armature=self._changed("armature", armature, self.armature, dof, least=0.0, infinite=False)
        )

    def with_gear_ratio(self, ratio: ArrayLike, *, dof: int | str | None = None) -> Self:
        """Return the joint with a gear ratio N, rotor revolutions per joint revolution; negative for opposite rotation.

        With ``dof``, an index of v or the name of a velocity component, only that component's value changes. The
        armature at the joint does not change with it; `Robot.with_joint_dynamics` computes one from the other.
        """
        return self._resisting(gear_ratio=self._changed("gear_ratio", ratio, self.gear_ratio, dof, infinite=False))

    def with_stiffness(
        self, stiffness: ArrayLike, rest: ArrayLike | None = None, *, dof: int | str | None = None
    ) -> Self:
        """Return the joint with spring stiffness [N·m/rad, N/m], a number or an array (nv,).

        With ``dof``, an index of v or the name of a velocity component, only that component's stiffness changes.
        ``rest`` (nq,) is the configuration of zero spring force [rad, m]; unchanged by default.
        """
        values = self._changed("stiffness", stiffness, self.stiffness, dof, least=0.0, infinite=False)
        return self._replaced(
            stiffness=values, rest=self.rest if rest is None else rest_values(self.name, self.type, rest)
        )

    def with_dynamics(self, dynamics: Literal["none", "urdf"]) -> Self:
        """Return the joint with ``dynamics`` "urdf", active damping and friction, or "none": see `passive_torque`."""
        if dynamics not in ("none", "urdf"):
            raise ValueError(f"joint {self.name!r}: dynamics: expected 'none' or 'urdf', got {dynamics!r}")
        return self._replaced(dynamics=dynamics)

    def _resisting(self, **changes: Any) -> Self:
        result = self._replaced(**changes)
        check_drive(self.name, result.friction, {key: getattr(result, key) for key in DRIVE})
        return result
