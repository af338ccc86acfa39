"""Points, directions and frames of one's own: trees with one more."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from linkwork._util.messages import quoted
from linkwork.errors import UnknownNameError
from linkwork.joints.axis import unit_axis
from linkwork.model.body import Direction, Frame, Point
from linkwork.model.composite_body import composed
from linkwork.model.tree import Tree
from linkwork.spatial import Vec3
from linkwork.spatial.arguments import LARGEST, given_numbers, given_pose, given_text

__all__ = ["MarkBuilder", "check_mark_name", "with_direction", "with_frame", "with_point"]


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
        who = f"with_point: {quoted(name)}: position: expected three numbers [m]"
        place = Vec3.of(given_numbers(position, who, (3,)).tolist())
        _check_size(who, place)
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
        who = f"with_frame: {quoted(name)}: placement"
        carrier, X = self._frame(on), given_pose(placement, who)
        _check_size(f"{who}: expected a place [m]", X.translation)
        self._frames[name] = Frame(name, carrier.body, composed(carrier.placement, X), welded_to=carrier.name)
        self._names["frame"].add(name)

    def check_name(self, who: str, name: str) -> None:
        """Raises ValueError for a name that is taken, and for what is none."""
        given_text(name, f"{who}: name")
        if name == "world":
            raise ValueError(f"{who}: no name may be 'world': it stands for the frame that does not move")
        for kind, names in self._names.items():
            if name in names:
                raise ValueError(f"{who}: the robot has a {kind} {quoted(name)} already: give this one another name")

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


def with_frame(tree: Tree, name: str, on: str, placement: Any) -> Tree:
    """The tree with a frame more, which is no link.  Raises UnknownNameError and ValueError."""
    builder = MarkBuilder(tree)
    builder.add_frame(name, on, placement)
    return builder.tree()


def check_mark_name(tree: Tree, who: str, name: str) -> None:
    """Raises ValueError for a name that is taken, and for what is none."""
    MarkBuilder(tree).check_name(who, name)


def _check_size(expected: str, place: Vec3) -> None:
    if any(abs(x) > LARGEST for x in place):
        raise ValueError(f"{expected} of at most {LARGEST:.0e}, got {(*place,)}")
