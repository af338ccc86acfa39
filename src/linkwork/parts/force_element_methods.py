"""Force elements of a robot: springs, dampers and bushings between its bodies."""

from __future__ import annotations

from typing import Self

import numpy as np

from linkwork._util.named_tuple_list import Named
from linkwork.dynamics.algorithms import ROWS as DYNAMICS
from linkwork.force_elements import ForceElement
from linkwork.kernels.compiled_method import computed_from
from linkwork.kernels.robot_base import Array, RobotBase, edits
from linkwork.model.tree_force_elements import with_force_elements, without_force_elements

__all__ = ["ForceElementMethods"]

computed = computed_from(DYNAMICS)


class ForceElementMethods(RobotBase):
    """Springs, dampers and bushings between bodies (see `linkwork.force_elements`).

    They act where functions are asked with ``passive=True``, and in simulations, as springs and damping in joints do.
    """

    __slots__ = ()

    @property
    def force_elements(self) -> Named[ForceElement]:
        """The force elements, by name, in the order in which they were put on."""
        return Named(self._tree.force_elements, "force element")

    @edits
    def with_force_elements(self, *elements: ForceElement) -> Self:
        """Return the robot with further force elements, after those that it has.

        >>> import linkwork as lw
        >>> rail = lw.Joint.of(lw.joints.Prismatic((0, 0, 1)), name="rail", parent="world", child="mass")
        >>> robot = lw.Robot.build("oscillator", rail, lw.Link("mass", mass=2.0))
        >>> robot = robot.with_force_elements(lw.SpringDamper("world", "mass", stiffness=50.0, damping=1.0))
        >>> robot.passive_force([0.1], [0.2]).round(3)
        array([-5.2])

        Raises TypeError for what is no force element, UnknownNameError for a frame or point that is not there, and
        ValueError for a name that is taken, and for ends on one rigid body.
        """
        return type(self)(with_force_elements(self._tree, elements))

    @edits
    def without_force_elements(self, *names: str) -> Self:
        """Return the robot without the named force elements, or without any where none is named.

        Raises UnknownNameError for a name that no force element has.
        """
        return type(self)(without_force_elements(self._tree, names or [e.name for e in self._tree.force_elements]))

    @computed
    def force_element_wrenches(self, q: Array, v: Array, *, out: np.ndarray | None = None) -> np.ndarray:
        """Return the wrench of each force element on its body.

        In the order of `force_elements`, of each the wrench (moment; force) on the frame of point b, or on the frame M
        of a bushing, at its origin in its axes; the other end feels the opposite wrench.
        q (..., nq), v (..., nv) -> (..., nfe, 6) [N·m, N].
        """
