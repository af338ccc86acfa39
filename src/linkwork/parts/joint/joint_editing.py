"""Edits of a joint, each of which returns a new joint: names, frames, limits, damping, friction, armature, springs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike

from linkwork._util.validation import is_integer, shown
from linkwork.joints import JointType
from linkwork.joints.base.error_context import call_joint
from linkwork.joints.base.generic_rank import check_joint_type
from linkwork.parts.joint.methods import JointMethods
from linkwork.parts.joint.passive_parameters import DRIVE, check_drive, dof_values, given_drive, rest_values
from linkwork.spatial import Pose, Vec3
from linkwork.spatial.arguments import fixed_array, given_numbers, given_pose, given_text

__all__ = ["ResistanceEditing", "check_links", "check_order", "dof_values", "pose_of"]


class JointEditing(JointMethods):
    """How a joint with something changed is made of a joint."""

    __slots__ = ()

    parent: str
    child: str
    lower: np.ndarray
    upper: np.ndarray
    velocity: np.ndarray
    effort: np.ndarray
    damping: np.ndarray
    friction: np.ndarray
    rest: np.ndarray

    def with_position_limits(self, lower: ArrayLike, upper: ArrayLike, *, dof: int | str | None = None) -> Self:
        """The joint with bounds [rad, m] of its configuration: numbers, or one for each number of q.

        With ``dof``, an index into q or one of the type's names for its numbers, only that one's.  Raises ValueError
        where a lower bound is above the upper one.
        """
        low = self._changed("lower", lower, self.lower, dof, self.type.q_names)
        high = self._changed("upper", upper, self.upper, dof, self.type.q_names)
        check_order(self.name, low, high)
        return self._replaced(lower=low, upper=high)

    def with_position_limits_enabled(self, enabled: bool) -> Self:
        """The joint with the bounds of its configuration switched on or off; they are kept either way."""
        return self._replaced(position_limits_enabled=bool(enabled))

    def with_velocity_limit(self, velocity: ArrayLike, *, dof: int | str | None = None) -> Self:
        """The joint with bounds of its speed [rad/s, m/s]: a number, one for each of v, or with ``dof`` one of them."""
        return self._replaced(velocity=self._changed("velocity", velocity, self.velocity, dof, least=0.0))

    def with_effort_limit(self, effort: ArrayLike, *, dof: int | str | None = None) -> Self:
        """The joint with bounds of its force [N·m, N]: a number, one for each of v, or with ``dof`` one of them."""
        return self._replaced(effort=self._changed("effort", effort, self.effort, dof, least=0.0))

    def with_links(self, parent: str, child: str) -> Self:
        """The joint attached to other links.  A robot takes back only joints whose links are its own."""
        check_links(self.name, parent, child)
        return self._replaced(parent=parent, child=child, welded=())

    def with_rest_transform(self, X_parent_child: ArrayLike | Pose) -> Self:
        """The joint with this pose (4, 4) of the child in the parent at the zero configuration [1, m].

        The rotor's placement stays: placement = X_parent_child · rotor⁻¹ · X_FM(zero)⁻¹.
        """
        rest = pose_of(self.name, "rest transform", X_parent_child)
        return self._replaced(placement=rest @ self.rotor.inv() @ self.type.X(self.type.zero()).inv())

    def with_placements(self, placement: ArrayLike | Pose | None = None, rotor: ArrayLike | Pose | None = None) -> Self:
        """The joint with its stator at X_parent_F and its child link at X_M_child (4, 4) [1, m]; None: as it is."""
        return self._replaced(
            placement=self.placement if placement is None else pose_of(self.name, "placement", placement),
            rotor=self.rotor if rotor is None else pose_of(self.name, "rotor", rotor),
        )

    def with_axis(self, axis: Sequence[float], *, child: str | None = None) -> Self:
        """The joint about or along another axis, given in the frame of the link ``child`` (the joint's child if None).

        The axis is the one of positive motion of that link relative to the other, so its sign changes with the link.
        For types with one axis; raises TypeError for others.
        """
        if not hasattr(self.type, "axis"):
            raise TypeError(f"joint {self.name!r}: a {self.type.type_name()} joint has no axis to change")
        if child not in (None, self.parent, self.child):
            raise ValueError(f"joint {self.name!r}: expected link {self.parent!r} or {self.child!r}, got {child!r}")
        a = Vec3.of(given_numbers(axis, f"joint {self.name!r}: axis: expected three numbers", (3,)).tolist())
        if a == Vec3.zero():
            raise ValueError(f"joint {self.name!r}: axis: expected three numbers that are not all zero, got {axis!r}")
        turned = -self.placement.rotation.inv_act(a) if child == self.parent else self.rotor.rotation @ a
        return self.with_type(replace(self.type, axis=turned))  # type: ignore[type-var]

    def with_type(self, type: JointType) -> Self:
        """The joint with another type, at the same place.

        Where q or v have other sizes it is without bounds, damping, friction, armature and springs.
        """
        if not isinstance(type, JointType):
            raise TypeError(
                f"joint {self.name!r}: expected a joint type with its parameters, such as "
                f"linkwork.joints.Revolute((0, 0, 1)), got {type!r}"
            )
        check_joint_type(type, self.name)
        if (type.nq, type.nv) == (self.type.nq, self.type.nv):
            unstated = np.array_equal(self.rest, call_joint(self.name, self.type, "zero"))
            return self._replaced(type=type, rest=rest_values(self.name, type, None if unstated else self.rest))
        free_q, free_v = np.full(type.nq, math.inf), np.full(type.nv, math.inf)
        none = np.zeros(type.nv)
        bounds = {"lower": -free_q, "upper": free_q, "velocity": free_v, "effort": free_v}
        arrays = {key: fixed_array(x) for key, x in {**bounds, "damping": none, "friction": none}.items()}
        arrays |= given_drive(self.name, type, none, {})
        return self._replaced(type=type, q_slice=slice(0, type.nq), v_slice=slice(0, type.nv), **arrays)

    # -- how

    def _replaced(self, **changes: Any) -> Self:
        return replace(self, **changes)  # type: ignore[type-var]

    def _changed(
        self,
        what: str,
        value: Any,
        before: np.ndarray,
        dof: int | str | None,
        names: tuple[str, ...] | None = None,
        least: float = -math.inf,
        infinite: bool = True,
    ) -> np.ndarray:
        names = self.type.v_names if names is None else names
        if dof is None:
            return dof_values(self.name, what, value, len(before), least, infinite)
        index = names.index(dof) if isinstance(dof, str) and dof in names else dof
        if not is_integer(index) or not 0 <= index < len(before):
            known = f", one of {', '.join(names)}" if names else ""
            expected = f"expected a degree of freedom from 0 to {len(before) - 1}{known}"
            raise ValueError(f"joint {self.name!r}: {what}: {expected}, got dof={shown(dof)}")
        values = before.copy()
        values[index] = dof_values(self.name, what, value, 1, least, infinite)[0]
        return fixed_array(values)


def check_links(joint: str, parent: str, child: str) -> None:
    """Raises ValueError where the links of a joint are not two names."""
    for what, name in (("parent", parent), ("child", child)):
        given_text(name, f"joint {joint!r}: {what}", "the name of a link")
    if parent == child:
        raise ValueError(f"joint {joint!r}: expected two links, got {parent!r} twice")


def check_order(joint: str, lower: np.ndarray, upper: np.ndarray) -> None:
    """Raises ValueError where a lower bound is above the upper one, or bounds leave nothing between them."""
    for k, (low, high) in enumerate(zip(lower.tolist(), upper.tolist(), strict=True)):
        if not low <= high or low == math.inf or high == -math.inf:
            raise ValueError(f"joint {joint!r}: lower limit {low!r} of number {k} is above upper limit {high!r}")


def pose_of(joint: str, what: str, pose: ArrayLike | Pose | None) -> Pose:
    """A pose given as a matrix (4, 4) or a place (3,), or the identity for None.  Raises ValueError."""
    return given_pose(pose, f"joint {joint!r}: {what}")


class ResistanceEditing(JointEditing):
    """How a joint with other damping, friction, armature or springs is made of a joint."""

    __slots__ = ()

    armature: np.ndarray
    gear_ratio: np.ndarray
    stiffness: np.ndarray
    rest: np.ndarray
    static_friction: np.ndarray
    friction_velocity: np.ndarray

    def with_damping(self, damping: ArrayLike, *, dof: int | str | None = None) -> Self:
        """The joint with viscous damping [N·m·s/rad, N·s/m]: a number, one for each of v, or with ``dof`` one."""
        return self._replaced(damping=self._changed("damping", damping, self.damping, dof, least=0.0, infinite=False))

    def with_friction(self, friction: ArrayLike, *, dof: int | str | None = None) -> Self:
        """The joint with dry friction [N·m, N]: a number, one for each of v, or with ``dof`` one of them.

        Static friction is the same where it was the same before; raises ValueError where it would be less.
        """
        result = self._changed("friction", friction, self.friction, dof, least=0.0, infinite=False)
        static = np.where(self.static_friction == self.friction, result, self.static_friction)
        return self._resisting(friction=result, static_friction=fixed_array(static))

    def with_static_friction(self, friction: ArrayLike, *, dof: int | str | None = None) -> Self:
        """The joint whose dry friction at rest holds up to this [N·m, N]: at least the friction of motion.

        It acts where the law is ``friction="coulomb"``.
        """
        values = self._changed("static_friction", friction, self.static_friction, dof, least=0.0, infinite=False)
        return self._resisting(static_friction=values)

    def with_friction_velocity(self, speed: ArrayLike, *, dof: int | str | None = None) -> Self:
        """The joint with another speed v_s [rad/s, m/s] of the smooth law of friction, f tanh(v / v_s); above zero."""
        values = self._changed("friction_velocity", speed, self.friction_velocity, dof, least=0.0, infinite=False)
        return self._resisting(friction_velocity=values)

    def with_armature(self, armature: ArrayLike, *, dof: int | str | None = None) -> Self:
        """The joint with inertia [kg·m², kg] of what turns with it alone: of a rotor, N² times the rotor's own.

        It stands on the diagonal of the mass matrix with ``passive=True``.
        """
        return self._replaced(
            armature=self._changed("armature", armature, self.armature, dof, least=0.0, infinite=False)
        )

    def with_gear_ratio(self, ratio: ArrayLike, *, dof: int | str | None = None) -> Self:
        """The joint with another gear ratio N, turns of the rotor for one of the joint; negative turns the other way.

        It is data: the armature, which is felt at the joint, stays as it is (see `Robot.with_joint_dynamics`).
        """
        return self._resisting(gear_ratio=self._changed("gear_ratio", ratio, self.gear_ratio, dof, infinite=False))

    def with_stiffness(
        self, stiffness: ArrayLike, rest: ArrayLike | None = None, *, dof: int | str | None = None
    ) -> Self:
        """The joint with springs [N·m/rad, N/m]: a number, one for each of v, or with ``dof`` one of them.

        ``rest`` (nq,) is the configuration at which they exert nothing [rad, m]; as it was if left out.
        """
        values = self._changed("stiffness", stiffness, self.stiffness, dof, least=0.0, infinite=False)
        return self._replaced(
            stiffness=values, rest=self.rest if rest is None else rest_values(self.name, self.type, rest)
        )

    def with_dynamics(self, dynamics: Literal["none", "urdf"]) -> Self:
        """The joint whose damping and friction act as URDF has it, or are kept and do not act: see `passive_torque`."""
        if dynamics not in ("none", "urdf"):
            raise ValueError(f"joint {self.name!r}: dynamics: expected 'none' or 'urdf', got {dynamics!r}")
        return self._replaced(dynamics=dynamics)

    def _resisting(self, **changes: Any) -> Self:
        result = self._replaced(**changes)
        check_drive(self.name, result.friction, {key: getattr(result, key) for key in DRIVE})
        return result
