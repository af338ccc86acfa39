"""Giving a joint damping, friction, armature and springs: every method gives a new joint."""

from __future__ import annotations

from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike

from linkwork.parts.joint.joint_editing import JointEditing
from linkwork.parts.joint.passive_parameters import DRIVE, check_drive, rest_values
from linkwork.spatial.arguments import fixed_array

__all__ = ["ResistanceEditing"]


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
        found = self._changed("friction", friction, self.friction, dof, least=0.0, infinite=False)
        static = np.where(self.static_friction == self.friction, found, self.static_friction)
        return self._resisting(friction=found, static_friction=fixed_array(static))

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
        found = self._replaced(**changes)
        check_drive(self.name, found.friction, {key: getattr(found, key) for key in DRIVE})
        return found
