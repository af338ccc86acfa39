"""Trees with constraints, force elements, points, directions and frames added or removed, and checks of these."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from linkwork._util.messages import quoted
from linkwork.constraints import Constraint, LoopJoint
from linkwork.constraints.constraint import References, with_names
from linkwork.errors import UnknownNameError
from linkwork.force_elements import ForceElement
from linkwork.joints.axis import unit_axis
from linkwork.model.body import Direction, Frame, Point
from linkwork.model.composite_body import composed
from linkwork.model.tree import Tree
from linkwork.spatial import Vec3
from linkwork.spatial.arguments import LARGEST, given_numbers, given_pose, given_text

__all__ = [
    "check_mark_name",
    "check_references",
    "of_the_world",
    "refuse_locked",
    "renamed_frames",
    "with_constraints",
    "with_direction",
    "with_force_elements",
    "with_frame",
    "with_point",
    "without_constraints",
    "without_force_elements",
]


class ConstraintBuilder:
    """Constraints that are added to a tree, each after a look at it, in time that is linear."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._found = list(tree.constraints)
        self._taken = {constraint.name for constraint in tree.constraints}
        self._joints = {*tree.carried}

    def tree(self) -> Tree:
        """The tree with all that was added."""
        return replace(self._tree, constraints=tuple(self._found))

    def add(self, constraints: Iterable[Constraint]) -> None:
        """Add constraints, each with its companions; see `with_constraints`."""
        for constraint in _with_companions(constraints):
            self._check_name(constraint)
            check_references(self._tree, constraint.references)
            problems = [*_between_one_body(self._tree, constraint), *constraint.checked(self._tree)]
            if problems:
                raise ValueError(f"constraint {constraint.name!r}: {'; '.join(problems)}")
            self._found.append(constraint)
            self._taken.add(constraint.name)

    def _check_name(self, constraint: Constraint) -> None:
        """A constraint's name is its own among constraints; a loop's, which is a joint, among joints too."""
        name = constraint.name
        if not isinstance(name, str) or not name.strip():
            raise ValueError(f"constraints: name: expected a string, got {name!r}")
        if name in self._taken:
            raise ValueError(f"constraints: the robot has a constraint {name!r} already: give this one another name")
        if isinstance(constraint, LoopJoint) and name in self._joints:
            raise ValueError(f"constraints: the robot has a joint {name!r} already: give the loop another name")


def with_constraints(tree: Tree, constraints: Iterable[Constraint]) -> Tree:
    """The tree with further constraints, after those that it has, each with its companions.

    Raises TypeError for what is no constraint, UnknownNameError for a frame, joint, point or direction that is not
    there, and ValueError for a name that is taken and for what a constraint finds wrong.
    """
    builder = ConstraintBuilder(tree)
    builder.add(constraints)
    return builder.tree()


def check_references(tree: Tree, said: References) -> None:
    """Raises UnknownNameError for a frame, joint, point or direction that is not there."""
    for name in said.frames:
        tree.frame(name)
    for name in said.joints:
        tree.joint_index(name)
    for name in said.points:
        tree.point(name)
    for name in said.directions:
        tree.direction(name)


def without_constraints(tree: Tree, names: Iterable[str]) -> Tree:
    """The tree without some of its constraints and their companions.

    Raises UnknownNameError for a name that none has.
    """
    known = {constraint.name: constraint for constraint in tree.constraints}
    left = set(names)
    for name in tuple(left):
        if name not in known:
            raise UnknownNameError("constraint", name, known)
        left.update(companion.name for companion in known[name].implied_constraints)
    return replace(tree, constraints=tuple(c for c in tree.constraints if c.name not in left))


def of_the_world(tree: Tree) -> bool:
    """True where a constraint, a force element or an actuator names the world, or one of its axes."""
    said: list[Constraint | ForceElement] = [*tree.constraints, *tree.force_elements]
    named = [name for one in said for name in _named(one)] + [name for x in tree.actuators for name in x.frames]
    return any(with_names(name, {"world": ""}) != name for name in named)


def renamed_frames(tree: Tree, names: Mapping[str, str]) -> Tree:
    """The tree whose constraints, force elements and actuators know some frames by other names."""
    return replace(
        tree,
        constraints=tuple(constraint.with_names(names) for constraint in tree.constraints),
        force_elements=tuple(element.with_names(names) for element in tree.force_elements),
        actuators=tuple(actuator.with_names(names) for actuator in tree.actuators),
    )


def refuse_locked(tree: Tree, joints: Collection[str]) -> None:
    """Raises ValueError where a constraint is of joints that are to be locked, which have no numbers any more."""
    for constraint in tree.constraints:
        locked = [joint for joint in constraint.references.joints if joint in joints]
        if locked:
            raise ValueError(
                f"with_locked_joints: constraint {constraint.name!r} is of joint {locked[0]!r}, which would be fixed: "
                f"take the constraint off first, robot.without_constraints({constraint.name!r})"
            )


def _named(constraint: Constraint | ForceElement) -> tuple[str, ...]:
    said = constraint.references
    return *said.frames, *said.points, *said.directions


def _with_companions(constraints: Iterable[Constraint]) -> Iterator[Constraint]:
    """Constraints, and after each its companions, unless they are among those given."""
    given = list(constraints)
    for constraint in given:
        if not isinstance(constraint, Constraint):
            raise TypeError(f"with_constraints: expected constraints, as in linkwork.constraints, got {constraint!r}")
    by_name: dict[str, list[Constraint]] = {}
    for constraint in given:
        by_name.setdefault(constraint.name, []).append(constraint)
    for constraint in given:
        yield constraint
        yield from (one for one in constraint.implied_constraints if one not in by_name.get(one.name, ()))


def _between_one_body(tree: Tree, constraint: Constraint) -> Iterator[str]:
    """Where a constraint is between two frames of one rigid body."""
    frames = constraint.references.frames
    if len(frames) != 2 or constraint.functions:
        return
    one, other = map(tree.frame, frames)
    if frames[0] == frames[1]:
        yield f"it is between frame {frames[0]!r} and itself"
    elif one.body == other.body:
        whose = "are fixed to the world" if one.body < 0 else f"are of one body, {tree.bodies[one.body].name!r}"
        yield f"frames {frames[0]!r} and {frames[1]!r} {whose}, so nothing moves between them"


class MarkBuilder:
    """Frames, points and directions that are added to a tree, each after a look at its name, in time that is linear."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._names = {
            "frame": {frame.name for frame in tree.frames},
            "point": {point.name for point in tree.points},
            "direction": {direction.name for direction in tree.directions},
        }
        self._frames: dict[str, Frame] = {}  # those that are added
        self._points: list[Point] = []
        self._directions: list[Direction] = []

    def tree(self) -> Tree:
        """The tree with all that was added."""
        tree = self._tree
        if not (self._frames or self._points or self._directions):
            return tree
        return replace(
            tree,
            frames=(*tree.frames, *self._frames.values()),
            points=(*tree.points, *self._points),
            directions=(*tree.directions, *self._directions),
        )

    def add_point(self, name: str, frame: str, position: Any) -> None:
        """Add a point.  Raises UnknownNameError and ValueError."""
        self.check_name("with_point", name)
        caller = f"with_point: {quoted(name)}: position: expected three numbers [m]"
        place = Vec3.of(given_numbers(position, caller, (3,)).tolist())
        _check_size(caller, place)
        self._points.append(Point(name, self._frame(frame).name, place))
        self._names["point"].add(name)

    def add_direction(self, name: str, frame: str, vector: Any) -> None:
        """Add a direction, of unit length.  Raises UnknownNameError and ValueError."""
        self.check_name("with_direction", name)
        unit = unit_axis(vector, f"with_direction: {quoted(name)}", "vector")
        self._directions.append(Direction(name, self._frame(frame).name, unit))
        self._names["direction"].add(name)

    def add_frame(self, name: str, on: str, placement: Any) -> None:
        """Add a frame, which is no link.  Raises UnknownNameError and ValueError."""
        self.check_name("with_frame", name)
        caller = f"with_frame: {quoted(name)}: pose"
        carrier, X = self._frame(on), given_pose(placement, caller)
        _check_size(f"{caller}: expected a place [m]", X.translation)
        self._frames[name] = Frame(name, carrier.body, composed(carrier.placement, X), welded_to=carrier.name)
        self._names["frame"].add(name)

    def check_name(self, caller: str, name: str) -> None:
        """Raises ValueError for a name that is taken, and for what is none."""
        given_text(name, f"{caller}: name")
        if name == "world":
            raise ValueError(f"{caller}: no name may be 'world': it stands for the frame that does not move")
        for kind, names in self._names.items():
            if name in names:
                raise ValueError(f"{caller}: the robot has a {kind} {quoted(name)} already: give this one another name")

    def _frame(self, name: str) -> Frame:
        """A frame of the tree, or one that was added.  Raises UnknownNameError."""
        if isinstance(name, str) and name in self._frames:
            return self._frames[name]
        try:
            return self._tree.frame(name)
        except UnknownNameError:
            if not self._frames:
                raise
            return self.tree().frame(name)  # whose error knows the frames that were added


def with_point(tree: Tree, name: str, frame: str, position: Any) -> Tree:
    """The tree with a point more.  Raises UnknownNameError and ValueError."""
    builder = MarkBuilder(tree)
    builder.add_point(name, frame, position)
    return builder.tree()


def with_direction(tree: Tree, name: str, frame: str, vector: Any) -> Tree:
    """The tree with a direction more, of unit length.  Raises UnknownNameError and ValueError."""
    builder = MarkBuilder(tree)
    builder.add_direction(name, frame, vector)
    return builder.tree()


def with_frame(tree: Tree, name: str, frame: str, pose: Any) -> Tree:
    """The tree with a frame more, which is no link.  Raises UnknownNameError and ValueError."""
    builder = MarkBuilder(tree)
    builder.add_frame(name, frame, pose)
    return builder.tree()


def check_mark_name(tree: Tree, caller: str, name: str) -> None:
    """Raises ValueError for a name that is taken, and for what is none."""
    MarkBuilder(tree).check_name(caller, name)


def _check_size(expected: str, place: Vec3) -> None:
    if any(abs(x) > LARGEST for x in place):
        raise ValueError(f"{expected} of at most {LARGEST:.0e}, got {(*place,)}")


class ForceElementBuilder:
    """Force elements that are added to a tree, each after a look at it, in time that is linear."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._found = list(tree.force_elements)
        self._taken = {element.name for element in tree.force_elements}

    def tree(self) -> Tree:
        """The tree with all that was added."""
        return replace(self._tree, force_elements=tuple(self._found))

    def add(self, element: ForceElement) -> None:
        """Add a force element; see `with_force_elements`."""
        if not isinstance(element, ForceElement):
            raise TypeError(
                f"with_force_elements: expected force elements, as in linkwork.force_elements, got {element!r}"
            )
        name = element.name
        if not isinstance(name, str) or not name.strip():
            raise ValueError(f"with_force_elements: name: expected a string, got {name!r}")
        if name in self._taken:
            raise ValueError(
                f"with_force_elements: the robot has a force element {name!r} already: give this one another name"
            )
        check_references(self._tree, element.references)
        problems = [*element.checked(self._tree)]
        if problems:
            raise ValueError(f"with_force_elements: {name!r}: {'; '.join(problems)}")
        self._found.append(element)
        self._taken.add(name)


def with_force_elements(tree: Tree, elements: Iterable[ForceElement]) -> Tree:
    """Return the tree with further force elements, after those that it has.

    Raises TypeError for what is no force element, UnknownNameError for a frame or point that is not there, ValueError
    for a name that is taken, and for ends on one rigid body.
    """
    builder = ForceElementBuilder(tree)
    for element in elements:
        builder.add(element)
    return builder.tree()


def without_force_elements(tree: Tree, names: Iterable[str]) -> Tree:
    """Return the tree without some of its force elements.  Raises UnknownNameError for a name that none has."""
    known = [element.name for element in tree.force_elements]
    left = [*names]
    for name in left:
        if name not in known:
            raise UnknownNameError("force element", name, known)
    return replace(tree, force_elements=tuple(e for e in tree.force_elements if e.name not in left))
