"""Markers: points and directions by what they are fixed to, so that what a body needs is computed once.

A marker is named, or is a vector that is given in the axes of a named frame.  A vector field on a body, such as the
velocities of its points, is r ↦ R (a + M r), and of many markers one matrix R M and one vector R a serve all.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from linkwork.model.body import Frame
from linkwork.model.tree import Tree
from linkwork.spatial import Matrix3, Pose, Rotation, Vec3

__all__ = ["Markers", "directions_by_body", "field_at", "in_order", "points_by_body"]

Scalars = Sequence[Any]
Names = str | Sequence[str]

FEW = 4  # up to so many markers of a body take fewer operations one by one


@dataclass(frozen=True, slots=True)
class Markers:
    """Some markers on a body, in the axes of a frame on it: the body's own, or that in which many were given."""

    body: int
    placement: Pose  # X_body_frame
    vectors: list[Vec3] = field(default_factory=list)
    places: list[int] = field(default_factory=list)  # where they are among all that are asked about


def points_by_body(tree: Tree, names: Names, positions: Scalars | None) -> list[Markers]:
    """Named points; or, where there are ``positions``, points that are given in named frames."""
    if positions is not None:
        return _given(tree, names, positions, Pose.point)
    points = [tree.point(name) for name in _listed(names)]
    return _by_body([(tree.frame(point.frame), point.position) for point in points], Pose.point)


def directions_by_body(tree: Tree, names: Names, vectors: Scalars | None) -> list[Markers]:
    """Named directions; or, where there are ``vectors``, directions that are given in named frames."""
    if vectors is not None:
        return _given(tree, names, vectors, _turned)
    directions = [tree.direction(name) for name in _listed(names)]
    return _by_body([(tree.frame(direction.frame), direction.vector) for direction in directions], _turned)


def field_at(R: Rotation, a: Vec3, M: Matrix3, vectors: Sequence[Vec3]) -> list[Vec3]:
    """R (a + M r) of every r."""
    if len(vectors) > FEW:
        a, M = R @ a, R @ M
        return [a + M @ r for r in vectors]
    return [R @ (a + M @ r) for r in vectors]


def in_order(results: Iterable[tuple[Markers, Sequence[Any]]]) -> list[list[Any]]:
    """What was found for markers, body by body, in the order in which they were asked about."""
    found: dict[int, Any] = {}
    for some, parts in results:
        found.update(zip(some.places, parts, strict=True))
    return [list(found[place]) for place in sorted(found)]


def _listed(names: Names) -> Sequence[str]:
    return (names,) if isinstance(names, str) else names


def _turned(X: Pose, u: Vec3) -> Vec3:
    return X.rotation @ u


def _given(tree: Tree, names: Names, numbers: Scalars, placed: Callable[[Pose, Vec3], Vec3]) -> list[Markers]:
    frames = [tree.frame(name) for name in _listed(names)]
    vectors = [Vec3.of(numbers[3 * k : 3 * k + 3]) for k in range(len(frames))]
    count = Counter(frame.name for frame in frames)
    return _by_body(zip(frames, vectors, strict=True), placed, [name for name, n in count.items() if n > FEW])


def _by_body(
    given: Iterable[tuple[Frame, Vec3]], placed: Callable[[Pose, Vec3], Vec3], kept: Sequence[str] = ()
) -> list[Markers]:
    """Sorted by body, and apart from these in which frames they stay; all others are put in their bodies' axes."""
    found: dict[tuple[int, str], Markers] = {}
    for place, (frame, vector) in enumerate(given):
        apart = frame.name in kept and not frame.placement.is_identity
        key = frame.body, frame.name if apart else ""
        markers = found.setdefault(key, Markers(frame.body, frame.placement if apart else Pose.identity()))
        markers.vectors.append(vector if apart else placed(frame.placement, vector))
        markers.places.append(place)
    return list(found.values())
