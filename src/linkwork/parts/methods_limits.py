"""The limits of a whole robot, and what damping and friction exert on it, joints that follow others included."""

from __future__ import annotations

import numpy as np

from linkwork.kernels.robot_base import Array, RobotBase
from linkwork.model.coupled_joints import bounds
from linkwork.parts.joint.passive_parameters_passive import resistance

__all__ = ["LimitMethods"]


class LimitMethods(RobotBase):
    """Bounds of the numbers of q, v and τ, in their order; there are none where they are infinite."""

    __slots__ = ()

    @property
    def lower(self) -> np.ndarray:
        """The least configuration (nq,) that the joints' limits allow [rad, m]; −inf where there is none.

        Limits that are switched off do not count.  Where joints follow others, all of them are within theirs.  Raises
        ValueError, with the joints' names, where they nowhere are.
        """
        return self._positions(0)

    @property
    def upper(self) -> np.ndarray:
        """The greatest configuration (nq,) that the joints' limits allow [rad, m], as `lower`."""
        return self._positions(1)

    @property
    def velocity_limits(self) -> np.ndarray:
        """The greatest speeds (nv,) of the joints [rad/s, m/s]: |v| is not to be more; inf where there is none.

        A joint that follows another with a ratio bounds its speed to its own limit divided by |ratio|.
        """
        tree = self._tree
        limits = np.full(tree.nv, np.inf)
        for body, place in zip(tree.bodies, tree.v_slices, strict=True):
            ratio = 1.0 if body.coupling is None else abs(body.coupling.ratio)
            if ratio > 0.0:
                limits[place] = np.minimum(limits[place], np.array(body.limits.velocity) / ratio)
        return limits

    @property
    def effort_limits(self) -> np.ndarray:
        """The greatest joint forces (nv,) [N·m, N]: |τ| is not to be more; inf where there is none.

        They are those of the joints that have numbers of their own: a joint that follows another is not driven itself.
        """
        return np.array([x for _, body in self._tree.stacked() for x in body.limits.effort], dtype=float)

    def passive_torque(self, v: Array) -> np.ndarray:
        """τ = −damping · v − friction · sign(v), what damping and dry friction of all joints exert at velocity v.

        What they exert on joints that follow others counts for their masters, times the ratio; nothing comes from
        joints whose ``dynamics`` is "none".  sign(0) is 0.  The functions of dynamics include it with ``passive=True``
        alone, springs and armature too: see `passive_force`.
        v (..., nv) -> (..., nv) [N·m, N].
        """
        damping, friction = np.zeros((2, self.nv))
        for body, place in zip(self._tree.bodies, self._tree.v_slices, strict=True):
            if body.dynamics != "none":
                ratio = 1.0 if body.coupling is None else body.coupling.ratio
                damping[place] += ratio * ratio * np.array(body.damping)
                friction[place] += abs(ratio) * np.array(body.friction)
        return resistance(self._subject, v, damping, friction)

    def _positions(self, side: int) -> np.ndarray:
        found = bounds(self._tree)
        return np.array([x for i, _ in self._tree.stacked() for x in found[i][side]], dtype=float)
