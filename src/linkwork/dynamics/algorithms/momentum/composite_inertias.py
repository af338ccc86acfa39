"""What hangs on each body: its pose in its parent, and the masses that its joint carries, as one composite body."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from linkwork.expr.linalg.sparse_dot import is_zero
from linkwork.model.body import WORLD
from linkwork.model.tree import Tree
from linkwork.spatial import Inertia, Pose, Vec3

__all__ = ["centers", "composite_inertias", "only_root", "total_mass"]

Scalars = Sequence[Any]


def composite_inertias(tree: Tree, q: Scalars) -> tuple[dict[int, Pose], dict[int, Inertia]]:
    """X_parent_body and, in the body's coordinates, the inertia of all that hangs on it; q is split, body by body.

    What hangs on the world is the whole robot, what is fixed to the world included.
    """
    X = {i: body.X(q[i]) for i, _, body in tree.outward()}
    composite = {WORLD: tree.fixed_inertia} | {i: body.inertia for i, _, body in tree.outward()}
    for i, p, _ in tree.inward():
        composite[p] += X[i] @ composite[i]
    return X, composite


def centers(tree: Tree, X: Mapping[int, Pose], composite: Mapping[int, Inertia]) -> dict[int, Vec3]:
    """The robot's centre of mass in the coordinates of each body.

    Where all that there is hangs on one body, it does not matter where that is in the world.
    """
    root, share = only_root(tree), 1.0 / composite[WORLD].mass
    found = {WORLD: composite[WORLD].moment * share}
    for i, p, _ in tree.outward():
        found[i] = composite[i].moment * share if i == root else X[i].inv().point(found[p])
    return found


def only_root(tree: Tree) -> int | None:
    """The body on which all other bodies hang, where nothing that is fixed to the world weighs anything."""
    roots = [i for i, p, _ in tree.outward() if p == WORLD]
    return roots[0] if len(roots) == 1 and tree.fixed_inertia.is_nothing else None


def total_mass(tree: Tree, function: str) -> float:
    """The mass of all links.  Raises ValueError where there is none, or inertias were left out."""
    tree.require_inertias(function)
    mass: float = tree.fixed_inertia.mass + sum(body.inertia.mass for body in tree.bodies)
    if is_zero(mass):
        raise ValueError(f"{function}: robot {tree.name!r} has no mass, so it has no centre of mass: give a link one")
    return mass
