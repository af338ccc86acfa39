"""The inverse kinematics of arms that have a closed form."""

from __future__ import annotations

from typing import Any, cast

from linkwork.ik.closed_form import ClosedForm, closed_form_of
from linkwork.kernels.robot_base import RobotBase

__all__ = ["ClosedFormMethods"]


class ClosedFormMethods(RobotBase):
    """Arms whose configurations can be told from the hand's pose by formulas."""

    __slots__ = ()

    def closed_form(self, frame: str, *, relative_to: str = "world", held: str | None = None) -> ClosedForm | None:
        """The closed form of the inverse kinematics of a frame, or None where the arm is of no family that has one.

        The joints from ``relative_to`` to the frame have to be six or seven that turn about one axis each, and follow
        no others.  Six axes have a closed form where three neighbours go through one point or are parallel.  Seven
        have one where the first three and the last three go through points (then the elbow's angle is given), or where
        one at an end can be held and the six others are such an arm; ``held`` names it.  Lengths and angles count as
        zero within 1e-5 of the arm's length, or rad: what that leaves wrong is polished away.  Constraints that the
        robot has besides its joints are not looked at.

        >>> import linkwork as lw
        >>> arm = lw.load("arm6").closed_form("tool")
        >>> arm.family
        'three parallel axes, the last two intersect'
        >>> robot = lw.load("arm6")
        >>> found = arm.branches(robot.pose([0.3, -1.2, 1.4, -0.9, -1.1, 0.2], "tool"))
        >>> int(found.count)
        8

        Raises UnknownNameError for frames and a joint that are not there, TypeError for a robot with symbols in it.
        """
        key = ("closed_form", frame, relative_to, held)
        known: Any = self._calls.get(key) if all(isinstance(name, (str, type(None))) for name in key) else None
        if known is None:
            known = self._calls[key] = cast(Any, (closed_form_of(self, frame, relative_to, held),))
        return cast("ClosedForm | None", known[0])
