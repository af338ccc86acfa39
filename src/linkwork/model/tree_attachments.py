"""Constraints, force elements, points, directions and frames: adding to and removing from a tree."""

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
from linkwork.model.composite_body import compose
from linkwork.model.tree import Tree
from linkwork.spatial import Vec3
from linkwork.spatial.arguments import LARGEST, checked_array, checked_pose, checked_string

__all__ = [
    "check_new_name",
    "check_references",
    "names_world",
    "referenced_bodies",
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
    """Builder that adds constraints to a tree, each after a check, in linear time."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._added = list(tree.constraints)
        self._taken = {constraint.name for constraint in tree.constraints}
        self._joints = {*tree.carried}

    def tree(self) -> Tree:
        """Return the tree with all constraints that were added."""
        return replace(self._tree, constraints=tuple(self._added))

    def add(self, constraints: Iterable[Constraint], with_implied: bool = True) -> None:
        """Add constraints, each with its implied constraints unless ``with_implied`` is False: `with_constraints`."""
        for constraint in _with_implied(constraints) if with_implied else constraints:
            self._check_name(constraint)
            check_references(self._tree, constraint.references)
            problems = [*_same_body_errors(self._tree, constraint), *constraint.checked(self._tree)]
            if problems:
                raise ValueError(f"constraint {constraint.name!r}: {'; '.join(problems)}")
            self._added.append(constraint)
            self._taken.add(constraint.name)

    def _check_name(self, constraint: Constraint) -> None:
        """Raise ValueError unless the name is new among constraints and, for a loop joint, among joints."""
        name = constraint.name
        if not isinstance(name, str) or not name.strip():
            raise ValueError(f"constraints: name: expected a non-empty string, got {name!r}")
        if name in self._taken:
            raise ValueError(f"constraints: the robot already has a constraint {name!r}: choose another name")
        if isinstance(constraint, LoopJoint) and name in self._joints:
            raise ValueError(f"constraints: the robot already has a joint {name!r}: choose another name for the loop")


def with_constraints(tree: Tree, constraints: Iterable[Constraint]) -> Tree:
    """Return the tree with further constraints, each followed by its implied constraints.

    Raises TypeError for anything but constraints, UnknownNameError for an unknown frame, joint, point or direction, and
    ValueError for a name in use and for the errors that a constraint reports.
    """
    builder = ConstraintBuilder(tree)
    builder.add(constraints)
    return builder.tree()


def check_references(tree: Tree, references: References) -> None:
    """Raise UnknownNameError for an unknown frame, joint, point or direction."""
    for name in references.frames:
        tree.frame(name)
    for name in references.joints:
        tree.joint_index(name)
    for name in references.points:
        tree.point(name)
    for name in references.directions:
        tree.direction(name)


def referenced_bodies(tree: Tree, item: Constraint | ForceElement) -> list[int]:
    """Return the bodies that a constraint or force element refers to by frames, points, directions or joints.

    The world may be among them.
    """
    named = item.references
    frames = [*named.frames, *(tree.point(name).frame for name in named.points)]
    frames += [tree.direction(name).frame for name in named.directions]
    return [*(tree.frame(name).body for name in frames), *map(tree.joint_index, named.joints)]


def without_constraints(tree: Tree, names: Iterable[str]) -> Tree:
    """Return the tree without the named constraints and their implied constraints.

    Raises UnknownNameError for an unknown name.
    """
    known = {constraint.name: constraint for constraint in tree.constraints}
    left = set(names)
    for name in tuple(left):
        if name not in known:
            raise UnknownNameError("constraint", name, known)
        left.update(companion.name for companion in known[name].implied_constraints)
    return replace(tree, constraints=tuple(c for c in tree.constraints if c.name not in left))


def names_world(tree: Tree) -> bool:
    """Return True if a constraint, a force element or an actuator refers to the world frame or to an axis of it."""
    items: list[Constraint | ForceElement] = [*tree.constraints, *tree.force_elements]
    named = [name for item in items for name in _named(item)] + [name for x in tree.actuators for name in x.frames]
    return any(with_names(name, {"world": ""}) != name for name in named)


def renamed_frames(tree: Tree, names: Mapping[str, str]) -> Tree:
    """Return the tree with frames renamed in its constraints, force elements and actuators."""
    return replace(
        tree,
        constraints=tuple(constraint.with_names(names) for constraint in tree.constraints),
        force_elements=tuple(element.with_names(names) for element in tree.force_elements),
        actuators=tuple(actuator.with_names(names) for actuator in tree.actuators),
    )


def refuse_locked(tree: Tree, joints: Collection[str]) -> None:
    """Raise ValueError if a constraint refers to a joint that is to be locked."""
    for constraint in tree.constraints:
        locked = [joint for joint in constraint.references.joints if joint in joints]
        if locked:
            raise ValueError(
                f"with_locked_joints: constraint {constraint.name!r} refers to joint {locked[0]!r}, which would be "
                f"fixed: remove the constraint first, robot.without_constraints({constraint.name!r})"
            )


def _named(constraint: Constraint | ForceElement) -> tuple[str, ...]:
    references = constraint.references
    return *references.frames, *references.points, *references.directions


def _with_implied(constraints: Iterable[Constraint]) -> Iterator[Constraint]:
    """Yield constraints, each followed by the constraints that it implies.

    An implied constraint that ``constraints`` already contains is not repeated.
    """
    explicit = list(constraints)
    for constraint in explicit:
        if not isinstance(constraint, Constraint):
            raise TypeError(f"with_constraints: expected constraints, as in linkwork.constraints, got {constraint!r}")
    by_name: dict[str, list[Constraint]] = {}
    for constraint in explicit:
        by_name.setdefault(constraint.name, []).append(constraint)
    for constraint in explicit:
        yield constraint
        yield from (c for c in constraint.implied_constraints if c not in by_name.get(c.name, ()))


def _same_body_errors(tree: Tree, constraint: Constraint) -> Iterator[str]:
    """Yield an error message if a constraint connects two frames of one rigid body."""
    frames = constraint.references.frames
    if len(frames) != 2 or constraint.functions:
        return
    frame, second = map(tree.frame, frames)
    if frames[0] == frames[1]:
        yield f"it is between frame {frames[0]!r} and itself"
    elif frame.body == second.body:
        relation = "are fixed to the world" if frame.body < 0 else f"are of one body, {tree.bodies[frame.body].name!r}"
        yield f"frames {frames[0]!r} and {frames[1]!r} {relation}, so they never move relative to each other"


class FrameBuilder:
    """Builder that adds frames, points and directions to a tree, each after a check of its name, in linear time."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._names = {
            "frame": {frame.name for frame in tree.frames},
            "point": {point.name for point in tree.points},
            "direction": {direction.name for direction in tree.directions},
        }
        self._frames: dict[str, Frame] = {}  # additions
        self._points: list[Point] = []
        self._directions: list[Direction] = []

    def tree(self) -> Tree:
        """Return the tree with all frames, points and directions that were added."""
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
        position = Vec3.of(checked_array(position, caller, (3,)).tolist())
        _check_size(caller, position)
        self._points.append(Point(name, self._frame(frame).name, position))
        self._names["point"].add(name)

    def add_direction(self, name: str, frame: str, vector: Any) -> None:
        """Add a direction, normalised to unit length.  Raises UnknownNameError and ValueError."""
        self.check_name("with_direction", name)
        unit = unit_axis(vector, f"with_direction: {quoted(name)}", "vector")
        self._directions.append(Direction(name, self._frame(frame).name, unit))
        self._names["direction"].add(name)

    def add_frame(self, name: str, on: str, placement: Any) -> None:
        """Add a frame that is not a link.  Raises UnknownNameError and ValueError."""
        self.check_name("with_frame", name)
        caller = f"with_frame: {quoted(name)}: pose"
        carrier, X = self._frame(on), checked_pose(placement, caller)
        _check_size(f"{caller}: expected a position [m]", X.translation)
        self._frames[name] = Frame(name, carrier.body, compose(carrier.placement, X), welded_to=carrier.name)
        self._names["frame"].add(name)

    def check_name(self, caller: str, name: str) -> None:
        """Raise ValueError for a name that is in use or invalid."""
        checked_string(name, f"{caller}: name")
        if name == "world":
            raise ValueError(f"{caller}: 'world' is reserved for the world's frame: choose another name")
        for kind, names in self._names.items():
            if name in names:
                raise ValueError(f"{caller}: the robot already has a {kind} {quoted(name)}: choose another name")

    def _frame(self, name: str) -> Frame:
        """Return a frame of the tree or an added one.  Raises UnknownNameError."""
        if isinstance(name, str) and name in self._frames:
            return self._frames[name]
        try:
            return self._tree.frame(name)
        except UnknownNameError:
            if not self._frames:
                raise
            return self.tree().frame(name)  # its error lists the added frames as well


def with_point(tree: Tree, name: str, frame: str, position: Any) -> Tree:
    """Return the tree with a further point.  Raises UnknownNameError and ValueError."""
    builder = FrameBuilder(tree)
    builder.add_point(name, frame, position)
    return builder.tree()


def with_direction(tree: Tree, name: str, frame: str, vector: Any) -> Tree:
    """Return the tree with a further direction, of unit length.  Raises UnknownNameError and ValueError."""
    builder = FrameBuilder(tree)
    builder.add_direction(name, frame, vector)
    return builder.tree()


def with_frame(tree: Tree, name: str, frame: str, pose: Any) -> Tree:
    """Return the tree with a further frame that is not a link.  Raises UnknownNameError and ValueError."""
    builder = FrameBuilder(tree)
    builder.add_frame(name, frame, pose)
    return builder.tree()


def check_new_name(tree: Tree, caller: str, name: str) -> None:
    """Raise ValueError for a name that is in use in the tree, or invalid."""
    FrameBuilder(tree).check_name(caller, name)


def _check_size(expected: str, position: Vec3) -> None:
    if any(abs(x) > LARGEST for x in position):
        raise ValueError(f"{expected} of at most {LARGEST:.0e}, got {(*position,)}")


class ForceElementBuilder:
    """Builder that adds force elements to a tree, each after a check, in linear time."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._added = list(tree.force_elements)
        self._taken = {element.name for element in tree.force_elements}

    def tree(self) -> Tree:
        """Return the tree with all force elements that were added."""
        return replace(self._tree, force_elements=tuple(self._added))

    def add(self, element: ForceElement) -> None:
        """Add a force element; see `with_force_elements`."""
        if not isinstance(element, ForceElement):
            raise TypeError(
                f"with_force_elements: expected force elements, as in linkwork.force_elements, got {element!r}"
            )
        name = element.name
        if not isinstance(name, str) or not name.strip():
            raise ValueError(f"with_force_elements: name: expected a non-empty string, got {name!r}")
        if name in self._taken:
            raise ValueError(
                f"with_force_elements: the robot already has a force element {name!r}: choose another name"
            )
        check_references(self._tree, element.references)
        problems = [*element.checked(self._tree)]
        if problems:
            raise ValueError(f"with_force_elements: {name!r}: {'; '.join(problems)}")
        self._added.append(element)
        self._taken.add(name)


def with_force_elements(tree: Tree, elements: Iterable[ForceElement]) -> Tree:
    """Return the tree with further force elements, after the existing ones.

    Raises TypeError for anything but force elements, UnknownNameError for an unknown frame or point, ValueError for a
    name in use, and for ends on one rigid body.
    """
    builder = ForceElementBuilder(tree)
    for element in elements:
        builder.add(element)
    return builder.tree()


def without_force_elements(tree: Tree, names: Iterable[str]) -> Tree:
    """Return the tree without the named force elements.  Raises UnknownNameError."""
    known = [element.name for element in tree.force_elements]
    left = [*names]
    for name in left:
        if name not in known:
            raise UnknownNameError("force element", name, known)
    return replace(tree, force_elements=tuple(e for e in tree.force_elements if e.name not in left))
