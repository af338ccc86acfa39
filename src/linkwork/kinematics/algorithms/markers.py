"""Markers (points and directions fixed to bodies), and the relative motions of their bodies.

A marker is named, or is a vector in the axes of a named frame.  A vector field on a body, such as the velocities of its
points, is r ↦ R (a + M r), and one matrix R M and one vector R a serve all markers of the body.

The observer is fixed in a frame.  Poses, twists and motions are computed from body to body: inward to the ancestors of
the observer's own body, and outward from there.  So only the joints in between matter, and a path shared by several
bodies is computed once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from linkwork.kinematics.algorithms.forward_kinematics import ZERO_MOTION, ancestors, fork
from linkwork.model.body import WORLD, Body, Frame
from linkwork.model.tree import Tree
from linkwork.spatial import Matrix3, Motion, Pose, RigidMotion, Rotation, Vec3

__all__ = [
    "Markers",
    "directions_by_body",
    "field_at",
    "in_input_order",
    "marker_columns",
    "marker_motions",
    "marker_poses",
    "marker_twists",
    "points_by_body",
]


Scalars = Sequence[Any]
Names = str | Sequence[str]
FEW = 4  # up to this number, markers of a body take fewer operations separately


@dataclass(frozen=True, slots=True)
class Markers:
    """Markers (points or directions) fixed to a body, in the axes of the body or of a frame on it."""

    body: int
    placement: Pose  # X_body_frame
    vectors: list[Vec3] = field(default_factory=list)
    indices: list[int] = field(default_factory=list)  # indices in the input


def points_by_body(tree: Tree, names: Names, positions: Scalars | None) -> list[Markers]:
    """Return named points, or points at ``positions`` in named frames, grouped by body."""
    if positions is not None:
        return _in_frames(tree, names, positions, Pose.point)
    points = [tree.point(name) for name in _as_sequence(names)]
    return _by_body([(tree.frame(point.frame), point.position) for point in points], Pose.point)


def directions_by_body(tree: Tree, names: Names, vectors: Scalars | None) -> list[Markers]:
    """Return named directions, or the directions ``vectors`` in named frames, grouped by body."""
    if vectors is not None:
        return _in_frames(tree, names, vectors, _rotated)
    directions = [tree.direction(name) for name in _as_sequence(names)]
    return _by_body([(tree.frame(direction.frame), direction.vector) for direction in directions], _rotated)


def field_at(R: Rotation, a: Vec3, M: Matrix3, vectors: Sequence[Vec3]) -> list[Vec3]:
    """Return the vectors R (a + M r) of a linear field at every r of ``vectors``."""
    if len(vectors) > FEW:
        a, M = R @ a, R @ M
        return [a + M @ r for r in vectors]
    return [R @ (a + M @ r) for r in vectors]


def in_input_order(results: Iterable[tuple[Markers, Sequence[Any]]]) -> list[list[Any]]:
    """Return the results for markers, grouped by body, in the order of the input."""
    result: dict[int, Any] = {}
    for group, values in results:
        result.update(zip(group.indices, values, strict=True))
    return [list(result[index]) for index in sorted(result)]


def _as_sequence(names: Names) -> Sequence[str]:
    return (names,) if isinstance(names, str) else names


def _rotated(X: Pose, u: Vec3) -> Vec3:
    return X.rotation @ u


def _in_frames(tree: Tree, names: Names, dofs: Scalars, transform: Callable[[Pose, Vec3], Vec3]) -> list[Markers]:
    frames = [tree.frame(name) for name in _as_sequence(names)]
    vectors = [Vec3.of(dofs[3 * k : 3 * k + 3]) for k in range(len(frames))]
    count = Counter(frame.name for frame in frames)
    return _by_body(zip(frames, vectors, strict=True), transform, [name for name, n in count.items() if n > FEW])


def _by_body(
    value: Iterable[tuple[Frame, Vec3]], transform: Callable[[Pose, Vec3], Vec3], separate_frames: Sequence[str] = ()
) -> list[Markers]:
    """Group markers by body.

    Markers of ``separate_frames`` stay in their axes; all others are transformed to their bodies' axes.
    """
    result: dict[tuple[int, str], Markers] = {}
    for index, (frame, vector) in enumerate(value):
        is_separate = frame.name in separate_frames and not frame.placement.is_identity
        key = frame.body, frame.name if is_separate else ""
        markers = result.setdefault(key, Markers(frame.body, frame.placement if is_separate else Pose.identity()))
        markers.vectors.append(vector if is_separate else transform(frame.placement, vector))
        markers.indices.append(index)
    return list(result.values())


T = TypeVar("T")


def marker_poses(
    tree: Tree, q: Scalars, markers: Sequence[Markers], expressed_in: str
) -> Iterator[tuple[Markers, Pose]]:
    """Yield each group of markers with the pose X_EF of its frame F in E (``expressed_in``)."""
    X = _poses(tree, tree.split_q(q), tree.frame(expressed_in), [group.body for group in markers])
    for group in markers:
        yield group, X[group.body] @ group.placement


def marker_twists(
    tree: Tree, q: Scalars, v: Scalars, markers: Sequence[Markers], relative_to: str, expressed_in: str
) -> Iterator[tuple[Markers, Rotation, Motion]]:
    """Yield each group of markers with the rotation R_EF of its frame F, and F's twist relative to A.

    The twist is at F's origin, in its own axes.
    """
    q_of, v_of = tree.split_q(q), tree.split_v(v)

    def inward(V: Motion, i: int, body: Body) -> Motion:
        V_parent: Motion = body.X(q_of[i]) @ (V - body.S(q_of[i]) @ v_of[i])
        return V_parent

    def outward(V: Motion, i: int, body: Body) -> Motion:
        V_body: Motion = body.X(q_of[i]).inv() @ V + body.S(q_of[i]) @ v_of[i]
        return V_body

    A, bodies = tree.frame(relative_to), [group.body for group in markers]
    V = _propagate(tree, A.body, Motion.zero(), bodies, inward, outward)
    for group, X_EF in marker_poses(tree, q, markers, expressed_in):
        yield group, X_EF.rotation, group.placement.inv() @ V[group.body]


def marker_motions(
    tree: Tree, q: Scalars, v: Scalars, a: Scalars, markers: Sequence[Markers], relative_to: str, expressed_in: str
) -> Iterator[tuple[Markers, Rotation, RigidMotion]]:
    """Yield each group of markers with the rotation R_EF of its frame F, and F's motion relative to A.

    The motion includes velocity and acceleration, in F's own axes.
    """
    q_of, v_of, a_of = tree.split_q(q), tree.split_v(v), tree.split_v(a)

    def joint(i: int, body: Body) -> tuple[Pose, Motion, Motion]:
        S = body.S(q_of[i])
        return body.X(q_of[i]), S @ v_of[i], S @ a_of[i] + body.bias(q_of[i], v_of[i])

    def inward(motion: RigidMotion, i: int, body: Body) -> RigidMotion:
        return motion.before(*joint(i, body))

    def outward(motion: RigidMotion, i: int, body: Body) -> RigidMotion:
        return motion.through(*joint(i, body))

    A, bodies = tree.frame(relative_to), [group.body for group in markers]
    motion = _propagate(tree, A.body, RigidMotion.spinning(Vec3.zero()), bodies, inward, outward)
    for group, X_EF in marker_poses(tree, q, markers, expressed_in):
        yield group, X_EF.rotation, motion[group.body].through(group.placement, ZERO_MOTION, ZERO_MOTION)


def marker_columns(
    tree: Tree, q: Scalars, markers: Sequence[Markers], relative_to: str, expressed_in: str
) -> Iterator[tuple[Markers, Pose, list[tuple[int, Motion]]]]:
    """Yield each group of markers with the pose X_EF of its frame F, and the Jacobian columns of F.

    They are pairs of an index in v, for each velocity that moves F relative to A, and F's twist per unit of it.  The
    twist is at E's origin, in E's axes.
    """
    q_of, A = tree.split_q(q), tree.frame(relative_to)
    paths = {group.body: fork(tree, group.body, A.body)[1:] for group in markers}
    between = [i for chains in paths.values() for chain in chains for i in chain]
    X = _poses(tree, q_of, tree.frame(expressed_in), [*between, *paths])
    S = {i: [X[i] @ column for column in tree.bodies[i].S(q_of[i]).columns] for i in dict.fromkeys(between)}
    dofs = range(tree.nv)
    columns = {
        body: [
            (k, V * sign)
            for chain, sign in zip(chains, (1.0, -1.0), strict=True)
            for i in chain
            for k, V in zip(dofs[tree.v_slices[i]], S[i], strict=True)
        ]
        for body, chains in paths.items()
    }
    for group in markers:
        yield group, X[group.body] @ group.placement, columns[group.body]


def _poses(tree: Tree, q: Scalars, E: Frame, bodies: Iterable[int]) -> dict[int, Pose]:
    """Return the poses in the frame E of ``bodies``, and of the bodies between them and E."""

    def inward(X: Pose, i: int, body: Body) -> Pose:
        return X @ body.X(q[i]).inv()

    def outward(X: Pose, i: int, body: Body) -> Pose:
        return X @ body.X(q[i])

    placement = Pose.identity() if E.placement.is_identity else E.placement.inv().formed()
    return _propagate(tree, E.body, placement, bodies, inward, outward)


def _propagate(
    tree: Tree,
    start: int,
    value: T,
    bodies: Iterable[int],
    inward: Callable[[T, int, Body], T],
    outward: Callable[[T, int, Body], T],
) -> dict[int, T]:
    """Return a quantity by body, computed from its value ``value`` at the body ``start`` along the tree to ``bodies``.

    ``inward`` and ``outward`` compute the value of the next body across a joint.
    """
    result = {start: value}
    to_ancestors, to_bodies = _joint_paths(tree, start, bodies)
    for i in to_ancestors:
        body = tree.bodies[i]
        result[body.parent] = inward(result[i], i, body)
    for i in to_bodies:
        body = tree.bodies[i]
        result[i] = outward(result[body.parent], i, body)
    return result


def _joint_paths(tree: Tree, start: int, bodies: Iterable[int]) -> tuple[list[int], list[int]]:
    """Return the joints on the paths from one body to several bodies: inward, then outward."""
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
