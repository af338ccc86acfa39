"""Markers (points and directions fixed to bodies), and the motions of their bodies as an observer sees them.

A marker is named, or is a vector that is given in the axes of a named frame.  A vector field on a body, such as the
velocities of its points, is r ↦ R (a + M r), and one matrix R M and one vector R a serve all markers of the body.

An observer sits in a frame.  Poses, twists and motions are computed from body to body: inward to the ancestors of the
observer's own body, and outward from there.  So only the joints in between matter, and the path that several bodies
share is computed once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from linkwork.kinematics.algorithms.relative_kinematics import STILL, ancestors, fork
from linkwork.model.body import WORLD, Body, Frame
from linkwork.model.tree import Tree
from linkwork.spatial import Matrix3, Motion, Pose, RigidMotion, Rotation, Vec3

__all__ = [
    "Markers",
    "columns_seen",
    "directions_by_body",
    "field_at",
    "in_order",
    "motions_seen",
    "points_by_body",
    "poses_seen",
    "twists_seen",
]


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
    result: dict[int, Any] = {}
    for some, parts in results:
        result.update(zip(some.places, parts, strict=True))
    return [list(result[place]) for place in sorted(result)]


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
    value: Iterable[tuple[Frame, Vec3]], placed: Callable[[Pose, Vec3], Vec3], kept: Sequence[str] = ()
) -> list[Markers]:
    """Sorted by body, and apart from these in which frames they stay; all others are put in their bodies' axes."""
    result: dict[tuple[int, str], Markers] = {}
    for place, (frame, vector) in enumerate(value):
        apart = frame.name in kept and not frame.placement.is_identity
        key = frame.body, frame.name if apart else ""
        markers = result.setdefault(key, Markers(frame.body, frame.placement if apart else Pose.identity()))
        markers.vectors.append(vector if apart else placed(frame.placement, vector))
        markers.places.append(place)
    return list(result.values())


T = TypeVar("T")


def poses_seen(tree: Tree, q: Scalars, markers: Sequence[Markers], expressed_in: str) -> Iterator[tuple[Markers, Pose]]:
    """X_EF of the frame F that some markers are given in."""
    X = _poses(tree, tree.split_q(q), tree.frame(expressed_in), [some.body for some in markers])
    for some in markers:
        yield some, X[some.body] @ some.placement


def twists_seen(
    tree: Tree, q: Scalars, v: Scalars, markers: Sequence[Markers], relative_to: str, expressed_in: str
) -> Iterator[tuple[Markers, Rotation, Motion]]:
    """R_EF, and the twist of F relative to A at its origin, in its own axes."""
    q_of, v_of = tree.split_q(q), tree.split_v(v)

    def inward(V: Motion, i: int, body: Body) -> Motion:
        V_parent: Motion = body.X(q_of[i]) @ (V - body.S(q_of[i]) @ v_of[i])
        return V_parent

    def outward(V: Motion, i: int, body: Body) -> Motion:
        V_body: Motion = body.X(q_of[i]).inv() @ V + body.S(q_of[i]) @ v_of[i]
        return V_body

    A, bodies = tree.frame(relative_to), [some.body for some in markers]
    V = _walked(tree, A.body, Motion.zero(), bodies, inward, outward)
    for some, X_EF in poses_seen(tree, q, markers, expressed_in):
        yield some, X_EF.rotation, some.placement.inv() @ V[some.body]


def motions_seen(
    tree: Tree, q: Scalars, v: Scalars, a: Scalars, markers: Sequence[Markers], relative_to: str, expressed_in: str
) -> Iterator[tuple[Markers, Rotation, RigidMotion]]:
    """R_EF, and the motion of F relative to A up to accelerations."""
    q_of, v_of, a_of = tree.split_q(q), tree.split_v(v), tree.split_v(a)

    def joint(i: int, body: Body) -> tuple[Pose, Motion, Motion]:
        S = body.S(q_of[i])
        return body.X(q_of[i]), S @ v_of[i], S @ a_of[i] + body.bias(q_of[i], v_of[i])

    def inward(motion: RigidMotion, i: int, body: Body) -> RigidMotion:
        return motion.before(*joint(i, body))

    def outward(motion: RigidMotion, i: int, body: Body) -> RigidMotion:
        return motion.through(*joint(i, body))

    A, bodies = tree.frame(relative_to), [some.body for some in markers]
    motion = _walked(tree, A.body, RigidMotion.spinning(Vec3.zero()), bodies, inward, outward)
    for some, X_EF in poses_seen(tree, q, markers, expressed_in):
        yield some, X_EF.rotation, motion[some.body].through(some.placement, STILL, STILL)


def columns_seen(
    tree: Tree, q: Scalars, markers: Sequence[Markers], relative_to: str, expressed_in: str
) -> Iterator[tuple[Markers, Pose, list[tuple[int, Motion]]]]:
    """X_EF, and for each velocity that moves F relative to A its number and F's twist at E's origin, in E's axes."""
    q_of, A = tree.split_q(q), tree.frame(relative_to)
    ways = {some.body: fork(tree, some.body, A.body)[1:] for some in markers}
    between = [i for chains in ways.values() for chain in chains for i in chain]
    X = _poses(tree, q_of, tree.frame(expressed_in), [*between, *ways])
    S = {i: [X[i] @ column for column in tree.bodies[i].S(q_of[i]).columns] for i in dict.fromkeys(between)}
    numbers = range(tree.nv)
    columns = {
        body: [
            (k, V * sign)
            for chain, sign in zip(chains, (1.0, -1.0), strict=True)
            for i in chain
            for k, V in zip(numbers[tree.v_slices[i]], S[i], strict=True)
        ]
        for body, chains in ways.items()
    }
    for some in markers:
        yield some, X[some.body] @ some.placement, columns[some.body]


def _poses(tree: Tree, q: Scalars, E: Frame, bodies: Iterable[int]) -> dict[int, Pose]:
    """X_Ei of bodies i, and of those between."""

    def inward(X: Pose, i: int, body: Body) -> Pose:
        return X @ body.X(q[i]).inv()

    def outward(X: Pose, i: int, body: Body) -> Pose:
        return X @ body.X(q[i])

    own = Pose.identity() if E.placement.is_identity else E.placement.inv().formed()
    return _walked(tree, E.body, own, bodies, inward, outward)


def _walked(
    tree: Tree,
    start: int,
    own: T,
    bodies: Iterable[int],
    inward: Callable[[T, int, Body], T],
    outward: Callable[[T, int, Body], T],
) -> dict[int, T]:
    """What the steps from one body to others make of what is known of it."""
    result = {start: own}
    to_ancestors, to_bodies = _ways(tree, start, bodies)
    for i in to_ancestors:
        body = tree.bodies[i]
        result[body.parent] = inward(result[i], i, body)
    for i in to_bodies:
        body = tree.bodies[i]
        result[i] = outward(result[body.parent], i, body)
    return result


def _ways(tree: Tree, start: int, bodies: Iterable[int]) -> tuple[list[int], list[int]]:
    """The joints on the ways from one body to others, by the bodies that they carry: inward, then outward."""
    inward = [*reversed(ancestors(tree, start)), WORLD]
    depth = {body: k for k, body in enumerate(inward)}
    reached, last = set(inward), 0
    outward: list[int] = []
    for body in bodies:
        branch: list[int] = []
        while body not in reached:
            branch.append(body)
            body = tree.bodies[body].parent
        last = max(last, depth.get(body, 0))
        reached.update(branch)
        outward += reversed(branch)
    return inward[:last], outward
