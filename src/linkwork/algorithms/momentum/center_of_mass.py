"""The centre of mass of the robot, or of a body and all that hangs on it, and how it moves.

Seen from a body, the first moment h = Σ m r of what hangs on a child that moves relative to it with (ω; v) and (ω̇; v̇)
in its own axes becomes, with rotation R and place p,

    h → R h + m p,      ḣ → R (ḣ + ω × h + m v),      ḧ → R (ḧ + 2 ω × ḣ + ω̇ × h + ω × (ω × h) + m (v̇ + ω × v)).

So only the joints inside the part that is asked about matter to how its centre moves as seen from its root; what
carries the root adds the motion of a frame.

Source: any text of mechanics, e.g. Kane and Levinson, Dynamics, 1985, sections 2.8 and 3.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ...model.body import WORLD, Frame
from ...model.tree import Tree
from ...spatial import Motion, Pose, Vec3
from ..kinematics.between import pose_between
from ..kinematics.frame_kinematics import acceleration, twist
from ..row import Option, Output, Row, frame_options

__all__ = ["PART", "ROWS", "center_of_mass", "center_of_mass_acceleration", "center_of_mass_velocity", "part_of"]

Scalars = Sequence[Any]


def center_of_mass(
    tree: Tree,
    q: Scalars,
    subtree: str | None = None,
    relative_to: str = "world",
    expressed_in: str = "world",
) -> list[Any]:
    """The place of the centre of mass from A's origin, in E's axes [m]."""
    part, split = part_of(tree, subtree, "center_of_mass"), tree.split_q(q)
    E = tree.frame(expressed_in)
    X_EB, X_EA = pose_between(tree, split, E, part.root), pose_between(tree, split, E, tree.frame(relative_to))
    return [*(X_EB.point(_moments(tree, part, split)[0]) - X_EA.translation)]


def center_of_mass_velocity(
    tree: Tree,
    q: Scalars,
    v: Scalars,
    subtree: str | None = None,
    relative_to: str = "world",
    expressed_in: str = "world",
) -> list[Any]:
    """The velocity of the centre of mass as seen from A, in E's axes [m/s]."""
    part, split = part_of(tree, subtree, "center_of_mass_velocity"), tree.split_q(q)
    R = pose_between(tree, split, tree.frame(expressed_in), part.root).rotation
    c, c_dot, _ = _moments(tree, part, split, tree.split_v(v))
    B = twist(tree, q, v, part.root.name, relative_to, expressed_in)
    return [*(B.linear + B.angular.cross(R @ c) + R @ c_dot)]


def center_of_mass_acceleration(
    tree: Tree,
    q: Scalars,
    v: Scalars,
    a: Scalars,
    subtree: str | None = None,
    relative_to: str = "world",
    expressed_in: str = "world",
) -> list[Any]:
    """The acceleration of the centre of mass as seen from A, in E's axes [m/s²]."""
    part, split = part_of(tree, subtree, "center_of_mass_acceleration"), tree.split_q(q)
    R = pose_between(tree, split, tree.frame(expressed_in), part.root).rotation
    c, c_dot, c_ddot = _moments(tree, part, split, tree.split_v(v), tree.split_v(a))
    w = twist(tree, q, v, part.root.name, relative_to, expressed_in).angular
    B = acceleration(tree, q, v, a, part.root.name, relative_to, expressed_in)
    r, r_dot = R @ c, R @ c_dot
    return [*(B.linear + B.angular.cross(r) + w.cross(w.cross(r)) + w.cross(r_dot) * 2.0 + R @ c_ddot)]


@dataclass(frozen=True, slots=True)
class Subtree:
    """What is asked about: a root frame, and the bodies that hang on its body, that one included."""

    root: Frame
    bodies: frozenset[int]  # the world among them where the whole robot is meant
    mass: float


def part_of(tree: Tree, subtree: str | None, function: str) -> Subtree:
    """The whole robot, or the body that carries a frame and all that hangs on it.  Raises ValueError without mass."""
    tree.require_inertias(function)
    root = tree.frame("world" if subtree is None else subtree)
    if root.body == WORLD:
        root = Frame("world", WORLD, Pose.identity())
    inside = {root.body}
    for i, p, _ in tree.outward():
        if p in inside:
            inside.add(i)
    fixed = [tree.fixed_inertia.mass] if WORLD in inside else []
    mass: float = sum([*fixed, *(body.inertia.mass for i, _, body in tree.outward() if i in inside)])
    if mass == 0.0:
        what = f"robot {tree.name!r} has" if WORLD in inside else f"{subtree!r} and all that hangs on it have"
        raise ValueError(f"{function}: {what} no mass, so there is no centre of it: give a link a mass")
    return Subtree(root, frozenset(inside), mass)


def _moments(tree: Tree, part: Subtree, q: Scalars, v: Scalars = (), a: Scalars = ()) -> tuple[Vec3, Vec3, Vec3]:
    """c from the root's origin and its first two derivatives as seen from the root, in the root's axes."""
    inertias = {i: body.inertia for i, _, body in tree.outward() if i in part.bodies}
    if WORLD in part.bodies:
        inertias[WORLD] = tree.fixed_inertia
    m = {i: inertia.mass for i, inertia in inertias.items()}
    h = {i: inertia.moment for i, inertia in inertias.items()}
    h_dot, h_ddot = dict.fromkeys(h, Vec3.zero()), dict.fromkeys(h, Vec3.zero())
    for i, p, body in tree.inward():
        if i in part.bodies and i != part.root.body:
            X, S = body.X(q[i]), body.S(q[i])
            V = S @ v[i] if v else Motion.zero()
            A = S @ a[i] + body.bias(q[i], v[i]) if a else Motion.zero()
            w, sweep = V.angular, V.angular.cross(h[i]) + V.linear * m[i]
            turned = A.angular.cross(h[i]) + A.linear * m[i] + w.cross(sweep)
            m[p] += m[i]
            h[p] += X.rotation @ h[i] + X.translation * m[i]
            h_ddot[p] += X.rotation @ (h_ddot[i] + w.cross(h_dot[i]) * 2.0 + turned)
            h_dot[p] += X.rotation @ (h_dot[i] + sweep)
    B, share = part.root.placement, 1.0 / part.mass
    c, rates = B.inv().point(h[part.root.body] * share), (h_dot[part.root.body], h_ddot[part.root.body])
    c_dot, c_ddot = (B.rotation.inv_act(rate) * share for rate in rates)
    return c, c_dot, c_ddot


PART = (Option("subtree"), *frame_options("relative_to", "expressed_in"))

ROWS = (
    Row.of(
        center_of_mass,
        "q",
        Output((3,), "m"),
        "Centre of mass of the robot or of a subtree.",
        options=PART,
    ),
    Row.of(
        center_of_mass_velocity,
        "q v",
        Output((3,), "m/s"),
        "Velocity of the centre of mass.",
        options=PART,
    ),
    Row.of(
        center_of_mass_acceleration,
        "q v a",
        Output((3,), "m/s²"),
        "Acceleration of the centre of mass.",
        options=PART,
    ),
)
