"""Points, directions and frames of one's own: trees with one more."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from .._text import quoted
from ..joints.axis import unit_axis
from ..spatial import Vec3
from ..spatial.given import LARGEST, given_numbers, given_pose, given_text
from .body import Direction, Frame, Point
from .tree import Tree
from .welded import composed

__all__ = ["check_mark_name", "with_direction", "with_frame", "with_point"]


def with_point(tree: Tree, name: str, frame: str, position: Any) -> Tree:
    """The tree with a point more.  Raises UnknownNameError and ValueError."""
    check_mark_name(tree, "with_point", name)
    who = f"with_point: {quoted(name)}: position: expected three numbers [m]"
    place = Vec3.of(given_numbers(position, who, (3,)).tolist())
    _check_size(who, place)
    return replace(tree, points=(*tree.points, Point(name, tree.frame(frame).name, place)))


def with_direction(tree: Tree, name: str, frame: str, vector: Any) -> Tree:
    """The tree with a direction more, of unit length.  Raises UnknownNameError and ValueError."""
    check_mark_name(tree, "with_direction", name)
    unit = unit_axis(vector, f"with_direction: {quoted(name)}", "vector")
    return replace(tree, directions=(*tree.directions, Direction(name, tree.frame(frame).name, unit)))


def with_frame(tree: Tree, name: str, on: str, placement: Any) -> Tree:
    """The tree with a frame more, which is no link.  Raises UnknownNameError and ValueError."""
    check_mark_name(tree, "with_frame", name)
    who = f"with_frame: {quoted(name)}: placement"
    carrier, X = tree.frame(on), given_pose(placement, who)
    _check_size(f"{who}: expected a place [m]", X.translation)
    frame = Frame(name, carrier.body, composed(carrier.placement, X), welded_to=carrier.name)
    return replace(tree, frames=(*tree.frames, frame))


def check_mark_name(tree: Tree, who: str, name: str) -> None:
    """Raises ValueError for a name that is taken, and for what is none."""
    given_text(name, f"{who}: name")
    taken = ["frame"] * any(frame.name == name for frame in tree.frames)
    taken += ["point"] * any(point.name == name for point in tree.points)
    taken += ["direction"] * any(direction.name == name for direction in tree.directions)
    if name == "world":
        raise ValueError(f"{who}: no name may be 'world': it stands for the frame that does not move")
    if taken:
        raise ValueError(f"{who}: the robot has a {taken[0]} {quoted(name)} already: give this one another name")


def _check_size(expected: str, place: Vec3) -> None:
    if any(abs(x) > LARGEST for x in place):
        raise ValueError(f"{expected} of at most {LARGEST:.0e}, got {(*place,)}")
