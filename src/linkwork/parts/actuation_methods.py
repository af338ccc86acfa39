"""Actuators and named configurations of a robot."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from linkwork._util.named_tuple_list import Named
from linkwork.errors import UnknownNameError
from linkwork.kernels.robot_base import Array, RobotBase, edits
from linkwork.model.actuator import Actuator
from linkwork.model.named_state import ByJoint, NamedState
from linkwork.model.tree import Tree
from linkwork.model.tree_actuators import (
    with_actuators,
    with_named_configurations,
    without_actuators,
    without_named_configurations,
)
from linkwork.spatial.arguments import fixed_array, given_numbers

__all__ = ["ActuationMethods", "NamedConfiguration", "named_state"]


@dataclass(frozen=True, eq=False)
class NamedConfiguration:
    """A configuration of a robot that has a name, such as "home": ``robot.named_configurations["home"].q``.

    Joints that it says nothing of are at their zero.
    """

    name: str
    q: np.ndarray  # (nq,)
    v: np.ndarray | None  # (nv,); None where none is stated
    controls: np.ndarray | None  # (number of actuators,), in their order; None where none are stated
    joints: tuple[str, ...]  # those that it says something of


class ActuationMethods(RobotBase):
    """The actuators of a robot, and configurations that have names."""

    __slots__ = ()

    @property
    def actuators(self) -> Named[Actuator]:
        """The actuators, by name, in the order of controls."""
        return Named(self._tree.actuators, "actuator")

    @property
    def named_configurations(self) -> Named[NamedConfiguration]:
        """The configurations that have names: ``robot.named_configurations["home"].q`` is one, (nq,)."""
        return Named([_viewed(self._tree, state) for state in self._tree.named_configurations], "named configuration")

    @edits
    def with_actuators(self, *actuators: Actuator) -> Self:
        """Return the robot with further actuators, after those that it has.

        >>> import linkwork as lw
        >>> motor = lw.Actuator.motor("elbow_motor", "elbow", gear=100.0, force_range=(-0.8, 0.8))
        >>> lw.load("arm7").with_actuators(motor).actuators["elbow_motor"].kind
        'motor'

        Functions of dynamics take joint forces as before; `linkwork.simulation.actuator_servos` makes servos of
        controls.

        Raises TypeError for what is no actuator, UnknownNameError for a joint or a frame that is not there, ValueError
        for a name that is taken, a fixed joint, and gears of another number than the joint has velocities.
        """
        return type(self)(with_actuators(self._tree, actuators))

    @edits
    def without_actuators(self, *names: str) -> Self:
        """Return the robot without the named actuators, or without any where none is named.

        Their controls leave the named configurations.  Raises UnknownNameError for a name that no actuator has.
        """
        return type(self)(without_actuators(self._tree, names or [x.name for x in self._tree.actuators]))

    @edits
    def with_named_configuration(
        self,
        name: str,
        q: Array,
        *,
        v: Array | None = None,
        controls: ArrayLike | Mapping[str, float] | None = None,
    ) -> Self:
        """Return the robot with a further named configuration.

        ``q`` is an array (nq,) or a dict by joint name, of which the others are at their zero; so is ``v`` (nv,).
        ``controls`` are numbers in the order of `actuators`, or a dict by actuator.

        >>> import linkwork as lw
        >>> arm = lw.load("arm7").with_named_configuration("bent", {"elbow": -1.2})
        >>> arm.named_configurations["bent"].q.tolist()
        [0.0, 0.0, 0.0, -1.2, 0.0, 0.0, 0.0]

        Raises UnknownNameError for a joint or an actuator that is not there, ValueError for a name that is taken,
        numbers that are not finite or too many or few, and what is no configuration of a joint.
        """
        state = named_state(self._tree, name, {"q": q, "v": v, "controls": controls})
        return type(self)(with_named_configurations(self._tree, [state]))

    @edits
    def without_named_configurations(self, *names: str) -> Self:
        """Return the robot without the named configurations of these names, or without any where none is named.

        Raises UnknownNameError for a name that none has.
        """
        left = names or [state.name for state in self._tree.named_configurations]
        return type(self)(without_named_configurations(self._tree, left))


def named_state(tree: Tree, name: str, given: Mapping[str, Any]) -> NamedState:
    """A named configuration as users write it, of its ``q``, ``v`` and ``controls``.

    Raises UnknownNameError for a joint or an actuator that is not there, TypeError and ValueError for what are no
    numbers, and arrays of another shape.
    """
    caller = f"with_named_configuration: {name!r}"
    q = _by_joint(tree, caller, "q", given["q"])
    v = None if given.get("v") is None else _by_joint(tree, caller, "v", given["v"])
    controls = given.get("controls")
    if controls is None:
        return NamedState(name, q, v)
    names = [actuator.name for actuator in tree.actuators]
    if not isinstance(controls, Mapping):
        expected = f"{caller}: controls: expected {len(names)} numbers, one for each actuator"
        controls = dict(zip(names, given_numbers(controls, expected, (len(names),)).tolist(), strict=True))
    for actuator in controls:
        if actuator not in names:
            raise UnknownNameError("actuator", actuator, names)
    return NamedState(name, q, v, tuple(controls.items()))


def _by_joint(tree: Tree, caller: str, key: str, value: Any) -> ByJoint:
    count, places = (tree.nq, tree.q_slices) if key == "q" else (tree.nv, tree.v_slices)
    if not isinstance(value, Mapping):
        expected = f"{caller}: {key}: expected {count} numbers, or a dict by joint name"
        numbers = given_numbers(value, expected, (count,)).tolist()
        return tuple((body.joint_name, tuple(numbers[places[i]])) for i, body in tree.stacked())
    pairs = []
    for joint, own in value.items():
        body = tree.bodies[tree.joint_index(joint)]
        size = body.joint.nq if key == "q" else body.joint.nv
        expected = f"{caller}: {key}: joint {joint!r}: expected {size} number{'' if size == 1 else 's'}"
        shapes = [(size,), *([()] if size == 1 else [])]
        pairs.append((joint, tuple(np.atleast_1d(given_numbers(own, expected, *shapes)).tolist())))
    return tuple(pairs)


def _viewed(tree: Tree, state: NamedState) -> NamedConfiguration:
    """The named configuration as arrays."""
    stated, moved, set_to = dict(state.q), dict(state.v or ()), dict(state.controls or ())
    q = [x for _, body in tree.stacked() for x in stated.get(body.joint_name) or body.call_joint("zero")]
    v = [x for _, body in tree.stacked() for x in moved.get(body.joint_name) or (0.0,) * body.joint.nv]
    controls = [set_to.get(actuator.name, 0.0) for actuator in tree.actuators]
    return NamedConfiguration(
        state.name,
        fixed_array(q),
        None if state.v is None else fixed_array(v),
        None if state.controls is None else fixed_array(controls),
        tuple(joint for joint, _ in state.q),
    )
