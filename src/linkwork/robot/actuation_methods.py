"""Methods of `Robot` for actuators and named configurations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from linkwork._util.lazy_imports import published_in
from linkwork._util.named_tuples import Named
from linkwork.errors import UnknownNameError
from linkwork.kernels.robot_base import Array, RobotBase, edits
from linkwork.model.actuator import Actuator
from linkwork.model.coordinate_names import named_positions
from linkwork.model.description import ByJoint, NamedState
from linkwork.model.tree import Tree
from linkwork.model.tree_actuators import (
    with_actuators,
    with_named_configurations,
    without_actuators,
    without_named_configurations,
)
from linkwork.spatial.arguments import checked_array, fixed_array

__all__ = ["ActuationMethods", "NamedConfiguration", "named_state"]


@published_in("linkwork.parts")
@dataclass(frozen=True, eq=False)
class NamedConfiguration:
    """Named configuration of a robot, such as "home": ``robot.named_configurations["home"].q``.

    Joints without a stated configuration are at their zero configuration.

    ``name`` is the configuration's name. ``v`` (nv,) and ``controls``, one for each actuator, are None if they are not
    stated. ``joints`` names the joints whose configuration is stated.
    """

    name: str
    q: np.ndarray  # (nq,)
    v: np.ndarray | None  # (nv,); None if not stated
    controls: np.ndarray | None  # (number of actuators,), in their order; None if not stated
    joints: tuple[str, ...]  # names of the joints whose configuration is stated


class ActuationMethods(RobotBase):
    """Methods of `Robot` for its actuators and named configurations."""

    __slots__ = ()

    @property
    def actuators(self) -> Named[Actuator]:
        """Actuators, by name, in the order of controls."""
        return Named(self._tree.actuators, "actuator")

    @property
    def named_configurations(self) -> Named[NamedConfiguration]:
        """Named configurations: ``robot.named_configurations["home"].q`` is an array (nq,)."""
        return Named([_viewed(self._tree, state) for state in self._tree.named_configurations], "named configuration")

    @edits
    def with_actuators(self, *actuators: Actuator) -> Self:
        """Return the robot with further actuators, after the existing ones.

        >>> import linkwork as lw
        >>> motor = lw.Actuator.motor("elbow_motor", "elbow", gear=100.0, force_range=(-0.8, 0.8))
        >>> lw.load("arm7").with_actuators(motor).actuators["elbow_motor"].kind
        'motor'

        The functions of dynamics still use joint forces; `linkwork.simulation.actuator_servos` creates servos that
        follow controls.

        Raises TypeError for an argument that is not an actuator, UnknownNameError for an unknown joint or frame,
        ValueError for a name that exists already, a fixed joint, and gears that do not match the joint's nv.
        """
        return type(self)(with_actuators(self._tree, actuators))

    @edits
    def without_actuators(self, *names: str) -> Self:
        """Return the robot without the named actuators; without names, all actuators are removed.

        Their controls are removed from the named configurations. Raises UnknownNameError for an unknown actuator.
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

        ``q`` is an array (nq,) or a dict by joint name, with the other joints at zero; the same holds for ``v`` (nv,).
        ``controls`` is an array in the order of `actuators`, or a dict by actuator.

        >>> import linkwork as lw
        >>> arm = lw.load("arm7").with_named_configuration("bent", {"elbow": -1.2})
        >>> arm.named_configurations["bent"].q.tolist()
        [0.0, 0.0, 0.0, -1.2, 0.0, 0.0, 0.0]

        Raises UnknownNameError for an unknown joint or actuator, ValueError for a name that exists already, arrays of a
        wrong size, values that are not finite and an invalid configuration of a joint.
        """
        state = named_state(self._tree, name, {"q": q, "v": v, "controls": controls})
        return type(self)(with_named_configurations(self._tree, [state]))

    @edits
    def without_named_configurations(self, *names: str) -> Self:
        """Return the robot without the named configurations in ``names``; without names, all are removed.

        Raises UnknownNameError for an unknown name.
        """
        removed = names or [state.name for state in self._tree.named_configurations]
        return type(self)(without_named_configurations(self._tree, removed))


def named_state(tree: Tree, name: str, values: Mapping[str, Any]) -> NamedState:
    """Return a named configuration from a user's ``q``, ``v`` and ``controls``.

    Raises UnknownNameError for an unknown joint or actuator, TypeError and ValueError for invalid numbers and arrays of
    a wrong shape.
    """
    caller = f"with_named_configuration: {name!r}"
    q = _by_joint(tree, caller, "q", values["q"])
    v = None if values.get("v") is None else _by_joint(tree, caller, "v", values["v"])
    controls = values.get("controls")
    if controls is None:
        return NamedState(name, q, v)
    names = [actuator.name for actuator in tree.actuators]
    if not isinstance(controls, Mapping):
        expected = f"{caller}: controls: expected {len(names)} numbers, one for each actuator"
        controls = dict(zip(names, checked_array(controls, expected, (len(names),)).tolist(), strict=True))
    for actuator in controls:
        if actuator not in names:
            raise UnknownNameError("actuator", actuator, names)
    return NamedState(name, q, v, tuple(controls.items()))


def _by_joint(tree: Tree, caller: str, key: str, value: Any) -> ByJoint:
    count, slices = (tree.nq, tree.q_slices) if key == "q" else (tree.nv, tree.v_slices)
    if not isinstance(value, Mapping):
        expected = f"{caller}: {key}: expected {count} numbers, or a dict by joint name"
        values = checked_array(value, expected, (count,)).tolist()
        return tuple((body.joint_name, tuple(values[slices[i]])) for i, body in tree.stacked())
    pairs = []
    for joint, x in value.items():
        body = tree.bodies[tree.joint_index(joint)]
        size = body.joint.nq if key == "q" else body.joint.nv
        expected = f"{caller}: {key}: joint {joint!r}: expected {size} number{'' if size == 1 else 's'}"
        shapes = [(size,), *([()] if size == 1 else [])]
        pairs.append((joint, tuple(np.atleast_1d(checked_array(x, expected, *shapes)).tolist())))
    return tuple(pairs)


def _viewed(tree: Tree, state: NamedState) -> NamedConfiguration:
    """Convert a named configuration from the values that a tree stores to full arrays q, v and controls."""
    velocities, settings = dict(state.v or ()), dict(state.controls or ())
    v = [x for _, body in tree.stacked() for x in velocities.get(body.joint_name) or (0.0,) * body.joint.nv]
    controls = [settings.get(actuator.name, 0.0) for actuator in tree.actuators]
    return NamedConfiguration(
        state.name,
        fixed_array(named_positions(tree, state.name)),
        None if state.v is None else fixed_array(v),
        None if state.controls is None else fixed_array(controls),
        tuple(joint for joint, _ in state.q),
    )
