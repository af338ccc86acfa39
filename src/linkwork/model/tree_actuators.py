"""Actuators and named configurations put on a tree and taken off it, and what can be wrong with them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from linkwork._util.validation import is_real, shown
from linkwork.errors import UnknownNameError
from linkwork.model.actuator import Actuator
from linkwork.model.body import Body
from linkwork.model.named_state import ByJoint, NamedState
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
    """Actuators that are added to a tree, each after a look at it, in time that is linear."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._added = list(tree.actuators)
        self._taken = {actuator.name for actuator in tree.actuators}

    def tree(self) -> Tree:
        """The tree with all that was added."""
        return replace(self._tree, actuators=tuple(self._added))

    def add(self, actuator: Actuator) -> None:
        """Add an actuator: see `with_actuators`."""
        if not isinstance(actuator, Actuator):
            example = 'as in linkwork.Actuator.motor("elbow_motor", "elbow")'
            raise TypeError(f"with_actuators: expected actuators, {example}, got {shown(actuator)}")
        if actuator.name in self._taken:
            raise ValueError(
                f"with_actuators: the robot has an actuator {actuator.name!r} already: give this one another name"
            )
        check_actuator(self._tree, actuator)
        self._added.append(actuator)
        self._taken.add(actuator.name)


def check_actuator(tree: Tree, actuator: Actuator) -> None:
    """Raise for an actuator that a tree cannot have.

    Raises UnknownNameError for a joint or frame that is not there, ValueError for gears of another number than the
    joint has velocities, and for two frames of one body.
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
        one, other = actuator.frames
        raise ValueError(f"{caller}: frames {one!r} and {other!r} are of one rigid body: nothing moves between them")


def with_actuators(tree: Tree, actuators: Iterable[Actuator]) -> Tree:
    """Return the tree with further actuators, after those that it has.

    Raises TypeError for what is no actuator, ValueError for a name that is taken, and what `check_actuator` does.
    """
    builder = ActuatorBuilder(tree)
    for actuator in actuators:
        builder.add(actuator)
    return builder.tree()


def without_actuators(tree: Tree, names: Iterable[str]) -> Tree:
    """Return the tree without some of its actuators, and without their controls in named configurations.

    Raises UnknownNameError for a name that none has.
    """
    left = _known("actuator", names, [actuator.name for actuator in tree.actuators])
    states = tuple(state.without(controls=left) for state in tree.named_configurations)
    return replace(tree, actuators=tuple(x for x in tree.actuators if x.name not in left), named_configurations=states)


class NamedStateBuilder:
    """Named configurations that are added to a tree, each after a look at it."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._added = list(tree.named_configurations)
        self._taken = {state.name for state in tree.named_configurations}
        self._actuators = {actuator.name for actuator in tree.actuators}

    def tree(self) -> Tree:
        """The tree with all that was added."""
        return replace(self._tree, named_configurations=tuple(self._added))

    def add(self, state: NamedState) -> None:
        """Add a named configuration: see `with_named_configurations`."""
        if not isinstance(state.name, str) or not state.name.strip():
            raise ValueError(f"with_named_configuration: name: expected a string, got {state.name!r}")
        if state.name in self._taken:
            raise ValueError(
                f"with_named_configuration: the robot has a configuration {state.name!r} already: give this one "
                "another name, or take that one off by without_named_configurations"
            )
        self._added.append(self._checked(state))
        self._taken.add(state.name)

    def _checked(self, state: NamedState) -> NamedState:
        """The state with configurations on their manifolds."""
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
        """The bodies of the joints, which have numbers of their own, and these."""
        names = set()
        for joint, values in pairs:
            body = _moving(self._tree, caller, joint)
            if body.coupling is not None:
                raise ValueError(f"{caller}: joint {joint!r} follows joint {body.coupling.joint!r}: state that one")
            if joint in names:
                raise ValueError(f"{caller}: joint {joint!r} comes twice")
            names.add(joint)
            yield body, values


def with_named_configurations(tree: Tree, states: Iterable[NamedState]) -> Tree:
    """Return the tree with further named configurations, after those that it has.

    Raises UnknownNameError for a joint or an actuator that is not there, ValueError for a name that is taken, numbers
    that are not finite or too many or few, and what is no configuration of a joint.
    """
    builder = NamedStateBuilder(tree)
    for state in states:
        builder.add(state)
    return builder.tree()


def without_named_configurations(tree: Tree, names: Iterable[str]) -> Tree:
    """Return the tree without some of its named configurations.  Raises UnknownNameError."""
    left = _known("named configuration", names, [state.name for state in tree.named_configurations])
    return replace(tree, named_configurations=tuple(x for x in tree.named_configurations if x.name not in left))


# -- what becomes of them when robots are edited


def check_actuation(tree: Tree) -> Tree:
    """Return the tree, whose actuators and named configurations fit its joints.

    Raises ValueError, which names what to take off, where they do not: for a robot of which a joint was exchanged.
    """
    for actuator in tree.actuators:
        try:
            check_actuator(tree, actuator)
        except ValueError as error:
            raise ValueError(f"{error}; take it off first, robot.without_actuators({actuator.name!r})") from None
    if not tree.named_configurations:
        return tree
    builder = NamedStateBuilder(replace(tree, named_configurations=()))
    for state in tree.named_configurations:
        try:
            builder.add(state)
        except ValueError as error:
            remedy = f"take it off first, robot.without_named_configurations({state.name!r})"
            raise ValueError(f"{error}; {remedy}") from None
    return builder.tree()


def with_locked_joints(tree: Tree, held: Mapping[str, Sequence[float]]) -> Tree:
    """Return the tree, with the joints still in it, whose actuators and named configurations do without some joints.

    ``held`` has the coordinates (nv) from its zero of each joint that is locked.  Actuators of these joints alone go,
    with their controls; of a tendon the rest stays, and what is held is part of its length.
    """
    if not (tree.actuators or tree.named_configurations):
        return tree
    changed = [actuator.without_joints(held) for actuator in tree.actuators]
    gone = [old.name for old, new in zip(tree.actuators, changed, strict=True) if new is None]
    states = tuple(state.without(joints=held, controls=gone) for state in tree.named_configurations)
    return replace(tree, actuators=tuple(x for x in changed if x is not None), named_configurations=states)


# -- arguments


def _moving(tree: Tree, caller: str, joint: str) -> Body:
    """The body that a joint moves.  Raises UnknownNameError, and ValueError for a fixed joint."""
    if joint in tree.fixed_joints:
        raise ValueError(f"{caller}: joint {joint!r} is a fixed joint: nothing moves there")
    return tree.bodies[tree.joint_index(joint)]


def _on_manifold(caller: str, body: Body, values: Sequence[float]) -> tuple[float, ...]:
    numbers = _finite(f"{caller}: q of joint {body.joint_name!r}", values, body.joint.nq)
    try:
        return tuple(body.joint.checked(numbers, body.joint_name).tolist())
    except ValueError as error:
        raise ValueError(f"{caller}: {error}") from None


def _finite(caller: str, values: Sequence[float], count: int) -> tuple[float, ...]:
    if len(values) != count or not all(is_real(x) and abs(x) <= LARGEST for x in values):
        raise ValueError(f"{caller}: expected {count} finite number{'' if count == 1 else 's'}, got {shown(values)}")
    return tuple(float(x) for x in values)


def _known(kind: str, names: Iterable[str], known: Collection[str]) -> list[str]:
    result = [*names]
    for name in result:
        if name not in known:
            raise UnknownNameError(kind, name, known)
    return result
