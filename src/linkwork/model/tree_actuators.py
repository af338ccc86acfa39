"""Actuators and named configurations: adding to and removing from a tree, with their checks."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from linkwork._util.validation import is_real, shown
from linkwork.errors import UnknownNameError
from linkwork.model.actuator import Actuator
from linkwork.model.body import Body
from linkwork.model.description import ByJoint, NamedState
from linkwork.model.tree import Tree
from linkwork.spatial.arguments import LARGEST

__all__ = [
    "ActuatorBuilder",
    "NamedStateBuilder",
    "check_actuation",
    "with_actuators",
    "with_locked_joints",
    "with_named_configurations",
    "without_actuators",
    "without_named_configurations",
]


class ActuatorBuilder:
    """Builder that adds actuators to a tree, each after a check, in linear time."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._added = list(tree.actuators)
        self._taken = {actuator.name for actuator in tree.actuators}

    def tree(self) -> Tree:
        """Return the tree with all actuators that were added."""
        return replace(self._tree, actuators=tuple(self._added))

    def add(self, actuator: Actuator) -> None:
        """Add an actuator: see `with_actuators`."""
        if not isinstance(actuator, Actuator):
            example = 'as in linkwork.Actuator.motor("elbow_motor", "elbow")'
            raise TypeError(f"with_actuators: expected actuators, {example}, got {shown(actuator)}")
        if actuator.name in self._taken:
            raise ValueError(
                f"with_actuators: the robot already has an actuator {actuator.name!r}: choose another name"
            )
        check_actuator(self._tree, actuator)
        self._added.append(actuator)
        self._taken.add(actuator.name)


def check_actuator(tree: Tree, actuator: Actuator) -> None:
    """Raise an error if an actuator does not fit a tree.

    Raises UnknownNameError for an unknown joint or frame, ValueError for a number of gears other than the joint's nv,
    and for two frames on one body.
    """
    caller = f"actuator {actuator.name!r}"
    for joint, gears in actuator.joints:
        body = _moving(tree, caller, joint)
        if len(gears) != body.joint.nv:
            raise ValueError(
                f"{caller}: joint {joint!r}: expected {body.joint.nv} gears, one for each velocity of the joint, "
                f"got {len(gears)}"
            )
    bodies = [tree.frame(name).body for name in actuator.frames]
    if len(bodies) == 2 and bodies[0] == bodies[1]:
        a, b = actuator.frames
        raise ValueError(f"{caller}: frames {a!r} and {b!r} are on one rigid body, so the actuator has no effect")


def with_actuators(tree: Tree, actuators: Iterable[Actuator]) -> Tree:
    """Return the tree with further actuators, after the existing ones.

    Raises TypeError for anything but actuators, ValueError for a name in use, and the errors of `check_actuator`.
    """
    builder = ActuatorBuilder(tree)
    for actuator in actuators:
        builder.add(actuator)
    return builder.tree()


def without_actuators(tree: Tree, names: Iterable[str]) -> Tree:
    """Return the tree without the named actuators, and without their controls in named configurations.

    Raises UnknownNameError for an unknown name.
    """
    left = _known("actuator", names, [actuator.name for actuator in tree.actuators])
    states = tuple(state.without(controls=left) for state in tree.named_configurations)
    return replace(tree, actuators=tuple(x for x in tree.actuators if x.name not in left), named_configurations=states)


class NamedStateBuilder:
    """Builder that adds named configurations to a tree, each after a check."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._added = list(tree.named_configurations)
        self._taken = {state.name for state in tree.named_configurations}
        self._actuators = {actuator.name for actuator in tree.actuators}

    def tree(self) -> Tree:
        """Return the tree with all named configurations that were added."""
        return replace(self._tree, named_configurations=tuple(self._added))

    def add(self, state: NamedState) -> None:
        """Add a named configuration: see `with_named_configurations`."""
        if not isinstance(state.name, str) or not state.name.strip():
            raise ValueError(f"with_named_configuration: name: expected a non-empty string, got {state.name!r}")
        if state.name in self._taken:
            raise ValueError(
                f"with_named_configuration: the robot already has a configuration {state.name!r}: choose "
                "another name, or remove the existing one with without_named_configurations"
            )
        self._added.append(self._checked(state))
        self._taken.add(state.name)

    def _checked(self, state: NamedState) -> NamedState:
        """Return the state after projection of each joint configuration to its manifold, such as unit quaternions."""
        caller = f"configuration {state.name!r}"
        q = tuple((body.joint_name, _on_manifold(caller, body, x)) for body, x in self._own(caller, state.q))
        v = state.v
        if v is not None:
            v = tuple(
                (body.joint_name, _finite(f"{caller}: v of joint {body.joint_name!r}", x, body.joint.nv))
                for body, x in self._own(caller, v)
            )
        controls = state.controls
        if controls is not None:
            for name, _ in controls:
                if name not in self._actuators:
                    raise UnknownNameError("actuator", name, self._actuators)
            controls = tuple((name, _finite(f"{caller}: control of {name!r}", (u,), 1)[0]) for name, u in controls)
        return replace(state, q=q, v=v, controls=controls)

    def _own(self, caller: str, pairs: ByJoint) -> Iterator[tuple[Body, Sequence[float]]]:
        """Yield (body, values) for each joint in ``pairs``. Raises an error for a fixed joint or a follower."""
        names = set()
        for joint, values in pairs:
            body = _moving(self._tree, caller, joint)
            if body.coupling is not None:
                raise ValueError(
                    f"{caller}: joint {joint!r} follows joint {body.coupling.joint!r}: state the value of that joint"
                )
            if joint in names:
                raise ValueError(f"{caller}: joint {joint!r} is listed twice")
            names.add(joint)
            yield body, values


def with_named_configurations(tree: Tree, states: Iterable[NamedState]) -> Tree:
    """Return the tree with further named configurations, after the existing ones.

    Raises UnknownNameError for an unknown joint or actuator, ValueError for a name in use, for values that are not
    finite or of the wrong number, and for values that are not a configuration of the joint.
    """
    builder = NamedStateBuilder(tree)
    for state in states:
        builder.add(state)
    return builder.tree()


def without_named_configurations(tree: Tree, names: Iterable[str]) -> Tree:
    """Return the tree without the named configurations in ``names``.  Raises UnknownNameError."""
    left = _known("named configuration", names, [state.name for state in tree.named_configurations])
    return replace(tree, named_configurations=tuple(x for x in tree.named_configurations if x.name not in left))


# -- updates when a robot is edited


def check_actuation(tree: Tree) -> Tree:
    """Check the actuators and named configurations of a tree against its joints, and return the tree.

    It is called after a joint was exchanged. Raises ValueError, naming what to remove.
    """
    for actuator in tree.actuators:
        try:
            check_actuator(tree, actuator)
        except ValueError as error:
            raise ValueError(f"{error}; remove it first, robot.without_actuators({actuator.name!r})") from None
    if not tree.named_configurations:
        return tree
    builder = NamedStateBuilder(replace(tree, named_configurations=()))
    for state in tree.named_configurations:
        try:
            builder.add(state)
        except ValueError as error:
            remedy = f"remove it first, robot.without_named_configurations({state.name!r})"
            raise ValueError(f"{error}; {remedy}") from None
    return builder.tree()


def with_locked_joints(tree: Tree, fixed: Mapping[str, Sequence[float]]) -> Tree:
    """Return the tree whose actuators and named configurations no longer use the joints in ``fixed``.

    The joints themselves stay in the tree.  ``fixed`` maps each joint to be locked to its coordinates (nv) from its
    zero.  An actuator that acts only on these joints is removed, with its control in named configurations.  A tendon
    keeps its other joints, and the lengths of the locked joints become part of its offset.
    """
    if not (tree.actuators or tree.named_configurations):
        return tree
    changed = [actuator.without_joints(fixed) for actuator in tree.actuators]
    gone = [old.name for old, new in zip(tree.actuators, changed, strict=True) if new is None]
    states = tuple(state.without(joints=fixed, controls=gone) for state in tree.named_configurations)
    return replace(tree, actuators=tuple(x for x in changed if x is not None), named_configurations=states)


# -- arguments


def _moving(tree: Tree, caller: str, joint: str) -> Body:
    """Return the body that a joint moves.  Raises UnknownNameError, and ValueError for a joint that is fixed."""
    if joint in tree.fixed_joints:
        raise ValueError(f"{caller}: joint {joint!r} is a fixed joint and does not move")
    return tree.bodies[tree.joint_index(joint)]


def _on_manifold(caller: str, body: Body, values: Sequence[float]) -> tuple[float, ...]:
    q = _finite(f"{caller}: q of joint {body.joint_name!r}", values, body.joint.nq)
    try:
        return tuple(body.joint.checked(q, body.joint_name).tolist())
    except ValueError as error:
        raise ValueError(f"{caller}: {error}") from None


def _finite(caller: str, values: Sequence[float], count: int) -> tuple[float, ...]:
    if len(values) != count or not all(is_real(x) and abs(x) <= LARGEST for x in values):
        expected = f"{count} finite number{'' if count == 1 else 's'} of at most {LARGEST:.0e}"
        raise ValueError(f"{caller}: expected {expected}, got {shown(values)}")
    return tuple(float(x) for x in values)


def _known(kind: str, names: Iterable[str], known: Collection[str]) -> list[str]:
    result = [*names]
    for name in result:
        if name not in known:
            raise UnknownNameError(kind, name, known)
    return result
