"""Composite inertias, and the centre of mass of the robot or of a subtree: position, velocity, acceleration, Jacobian.

`composite_inertias` returns each body's pose in its parent and the inertia that its joint carries, as one body.

A child moves relative to its parent with (ω; v) and (ω̇; v̇) in its own axes.  The first moment h = Σ m r of its
subtree relative to the parent is, with rotation R and position p,

    h → R h + m p,      ḣ → R (ḣ + ω × h + m v),      ḧ → R (ḧ + 2 ω × ḣ + ω̇ × h + ω × (ω × h) + m (v̇ + ω × v)).

So the motion of the centre of mass relative to the subtree's root depends only on joints inside the subtree.  The
motion of the root's frame is added.

Jacobian: a joint moves with (ω; v) at the origin of its body, and carries the mass m_i with first moment h_i of the
subtree.  It moves the subtree's centre of mass by (m_i v + ω × h_i) / m.  This needs directions in the world, but no
positions.

Sources: Kane and Levinson, Dynamics, 1985, sections 2.8 and 3; Orin and Goswami, Centroidal momentum matrix of a
humanoid robot, IROS 2008 (the linear part of the matrix).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from linkwork.expr.linalg.sparse_dot import is_zero
from linkwork.kinematics.algorithms.forward_kinematics import (
    ZERO_MOTION,
    chain_motion,
    chain_twist,
    fork,
    pose_between,
    pose_of_body,
)
from linkwork.model.body import WORLD, Body, Frame
from linkwork.model.composite_body import frames_with_inertias, link_inertia
from linkwork.model.function_spec import FunctionSpec, Option, Output, frame_options
from linkwork.model.tree import Tree
from linkwork.spatial import Inertia, Motion, Pose, Vec3

__all__ = [
    "PART",
    "ROWS",
    "center_of_mass",
    "center_of_mass_acceleration",
    "center_of_mass_jacobian",
    "center_of_mass_velocity",
    "centers",
    "composite_inertias",
    "only_root",
    "part_of",
    "total_mass",
]


Scalars = Sequence[Any]


def center_of_mass(
    tree: Tree,
    q: Scalars,
    subtree: str | None = None,
    relative_to: str = "world",
    expressed_in: str = "world",
) -> list[Any]:
    """Return the position of the centre of mass from the origin of the frame ``relative_to`` [m].

    It is in the axes of ``expressed_in``.
    """
    part, q = part_of(tree, subtree, "center_of_mass"), tree.split_q(q)
    A, E = tree.frame(relative_to), tree.frame(expressed_in)
    c, _, _ = _moments(tree, part, q)
    return [*(pose_between(tree, q, E, part.root).point(c) - pose_between(tree, q, E, A).translation)]


def center_of_mass_velocity(
    tree: Tree,
    q: Scalars,
    v: Scalars,
    subtree: str | None = None,
    relative_to: str = "world",
    expressed_in: str = "world",
) -> list[Any]:
    """Return the velocity of the centre of mass relative to ``relative_to``, in the axes of ``expressed_in`` [m/s]."""
    part, q, v = part_of(tree, subtree, "center_of_mass_velocity"), tree.split_q(q), tree.split_v(v)
    A, E = tree.frame(relative_to), tree.frame(expressed_in)
    c, c_dot, _ = _moments(tree, part, q, v)
    return [*_velocity(tree, q, v, part.root, A, E, c, c_dot)]


def center_of_mass_acceleration(
    tree: Tree,
    q: Scalars,
    v: Scalars,
    a: Scalars,
    subtree: str | None = None,
    relative_to: str = "world",
    expressed_in: str = "world",
) -> list[Any]:
    """Return the acceleration of the centre of mass relative to ``relative_to`` [m/s²].

    It is in the axes of ``expressed_in``.
    """
    part = part_of(tree, subtree, "center_of_mass_acceleration")
    q, v, a = tree.split_q(q), tree.split_v(v), tree.split_v(a)
    B, A, E = part.root, tree.frame(relative_to), tree.frame(expressed_in)
    c, c_dot, c_ddot = _moments(tree, part, q, v, a)
    velocity = _velocity(tree, q, v, B, A, E, c, c_dot)
    chains = fork(tree, B.body, A.body)[1:]
    of_B, of_A = (
        chain_motion(tree, q, v, a, chain).through(frame.placement, ZERO_MOTION, ZERO_MOTION)
        for chain, frame in zip(chains, (B, A), strict=True)
    )
    R_EB, R_EA = (pose_between(tree, q, E, frame).rotation for frame in (B, A))
    r = pose_between(tree, q, A, B).point(c)
    whole = R_EB @ (of_B.acceleration + of_B.omega @ c + of_B.angular_velocity.cross(c_dot) * 2.0 + c_ddot)
    w_A = R_EA @ of_A.angular_velocity
    return [*(whole - R_EA @ (of_A.acceleration + of_A.omega @ r) - w_A.cross(velocity) * 2.0)]


def _velocity(tree: Tree, q: Scalars, v: Scalars, B: Frame, A: Frame, E: Frame, c: Vec3, c_dot: Vec3) -> Vec3:
    """Return the velocity relative to A, in E's axes, of a point at c from B's origin that moves by ċ relative to B."""
    chains = fork(tree, B.body, A.body)[1:]
    of_B, of_A = (
        frame.placement.inv() @ chain_twist(tree, q, v, chain) for chain, frame in zip(chains, (B, A), strict=True)
    )
    R_EB, R_EA = (pose_between(tree, q, E, frame).rotation for frame in (B, A))
    r = pose_between(tree, q, A, B).point(c)
    return R_EB @ (of_B.linear + of_B.angular.cross(c) + c_dot) - R_EA @ (of_A.linear + of_A.angular.cross(r))


@dataclass(frozen=True, slots=True)
class Subtree:
    """Part of a robot: the link that carries a root frame and all links behind it, with their mass [kg]."""

    root: Frame
    inertias: Mapping[int, Inertia]  # of the part of each body that counts; WORLD for links fixed to the world
    mass: float

    @property
    def bodies(self) -> Collection[int]:
        """Indices of the bodies with links in the subtree.

        WORLD is among them if the subtree has links fixed to the world, or is the whole robot.
        """
        return self.inertias.keys()


def part_of(tree: Tree, subtree: str | None, function: str) -> Subtree:
    """Return the subtree behind a frame: the frame's link and all links behind it; None is the whole robot.

    A link is behind another one if joints or welds connect it on the side away from the world. For a frame fixed to
    the world, the result is the whole robot. Raises ValueError for a part without mass, and for a part of a body whose
    inertia is set as a whole by the kernel parameter "inertia".
    """
    tree.require_inertias(function)
    root = tree.frame("world" if subtree is None else subtree)
    whole = root.body == WORLD
    if whole:
        alone = only_root(tree)
        root = Frame("root", WORLD if alone is None else alone, Pose.identity())
    link, welded = (root.name, None) if whole else _welded_part(tree, root)
    inside = {root.body: _own_inertia(tree, root, welded, function)}
    for i, p, body in tree.outward():
        if p in inside and (p != root.body or welded is None or _parent_link(tree, body) in welded):
            inside[i] = body.inertia
    mass: float = sum(inside[i].mass for i in sorted(inside))
    if is_zero(mass):
        label = f"robot {tree.name!r}" if whole else f"{subtree!r} and the bodies behind it"
        main = next((x.name for x in tree.frames if x.body == root.body and x.is_link and x.fixed_joint is None), None)
        remedy = (
            f"{main!r} is the link to which {link!r} is welded"
            if welded and main not in (None, link)
            else "give a link a mass"
        )
        raise ValueError(f"{function}: expected a mass above 0, got {label} without mass; {remedy}")
    return Subtree(root, inside, mass)


def _welded_part(tree: Tree, root: Frame) -> tuple[str, frozenset[str | None] | None]:
    """Return a frame's link, and the names of the frames of its body that are fixed to it or to links behind it.

    The links of a body are welded together in a tree, whose first link has the body's joint. The set is None if it has
    all frames of the body. It contains None if it includes the body's main link, which is welded to no other link.
    """
    frames = {frame.name: frame for frame in (root, *tree.frames) if frame.body == root.body}
    chain = _links_to_main(frames, root.name)
    at_joint = (tree.bodies[root.body].links or ("", ""))[1]
    path: list[str | None] = _links_to_main(frames, at_joint) if at_joint in frames else [None]
    name = chain[0] or _link_of(frames, root.name)
    if chain[0] == path[0]:
        return name, None
    if chain[0] not in path:
        return name, _welded_behind(frames, chain[0])
    near = _welded_behind(frames, path[path.index(chain[0]) - 1])
    return name, frozenset({None, *frames}) - near


def _link_of(frames: Mapping[str, Frame], name: str) -> str:
    """Return the name of the link that carries a frame."""
    while not frames[name].is_link and frames[name].welded_to in frames:
        name = frames[name].welded_to or name
    return name


def _links_to_main(frames: Mapping[str, Frame], name: str) -> list[str | None]:
    """Return the chain of links from a frame's link to the body's main link, each welded to the next.

    The last element is None, which stands for the main link; a main link is welded to no other link.
    """
    links: list[str | None] = []
    carrier: str | None = _link_of(frames, name)
    while carrier is not None and (on := frames[carrier].welded_to) in frames:
        links.append(carrier)
        carrier = None if on is None else _link_of(frames, on)
    return [*links, None]


def _welded_behind(frames: Mapping[str, Frame], link: str | None) -> frozenset[str | None]:
    """Return a link and all frames that are welded to it, directly or through others, away from the main link."""
    inside, count = {link}, 0
    while len(inside) > count:  # frames may be listed before the one that they are welded to
        count = len(inside)
        inside |= {name for name, frame in frames.items() if frame.welded_to is not None and frame.welded_to in inside}
    return frozenset(inside)


def _own_inertia(tree: Tree, root: Frame, welded: Collection[str | None] | None, function: str) -> Inertia:
    """Return the inertia of the links named ``welded`` in the root's body, about its origin and in its axes.

    None stands for all links of the body.
    """
    if welded is None:
        return tree.fixed_inertia if root.body == WORLD else tree.bodies[root.body].inertia
    has_none = all(f.body == WORLD or f.inertia.is_zero for f in tree.frames)
    frames = frames_with_inertias(tree.bodies, tree.frames) if has_none else tree.frames
    links = [f for f in frames if f.body == root.body and f.name in welded]
    parts = [frame.placement @ link_inertia(frame, function) for frame in links]
    return sum(parts[1:], parts[0])


def _parent_link(tree: Tree, body: Body) -> str | None:
    """Return the name of the link of the parent body to which the joint connects a body; None for the main link."""
    return next((name for name in body.links or () if tree.frame(name).body == body.parent), None)


def _moments(tree: Tree, part: Subtree, q: Scalars, v: Scalars = (), a: Scalars = ()) -> tuple[Vec3, Vec3, Vec3]:
    """Return a subtree's centre of mass in its root frame [m], and its velocity and acceleration relative to the root.

    All are in the root's axes.
    """
    m = {i: inertia.mass for i, inertia in part.inertias.items()}
    h = {i: inertia.moment for i, inertia in part.inertias.items()}
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


def center_of_mass_jacobian(
    tree: Tree,
    q: Sequence[Any],
    subtree: str | None = None,
    relative_to: str = "world",
    expressed_in: str = "world",
) -> list[list[Any]]:
    """Return J (3 × nv): J v is the velocity of the centre of mass relative to ``relative_to``.

    It is in the axes of ``expressed_in``.
    """
    part, q = part_of(tree, subtree, "center_of_mass_jacobian"), tree.split_q(q)
    shared, to_part, to_A = fork(tree, part.root.body, tree.frame(relative_to).body)
    carriers = {*part.bodies, *to_part}  # bodies whose joints move the part relative to the last shared body
    X = {i: body.X(q[i]) for i, _, body in tree.outward() if i in carriers or i in to_A}
    m: dict[int, Any] = dict.fromkeys((shared, *carriers), 0.0)  # share of the part's mass that each carries
    h = dict.fromkeys((shared, *carriers), Vec3.zero())
    for i, inertia in part.inertias.items():
        m[i], h[i] = inertia.mass / part.mass, inertia.moment * (1.0 / part.mass)
    for i, p, _ in tree.inward():
        if i in carriers and i != shared:
            m[p] += m[i]
            h[p] += X[i].rotation @ h[i] + X[i].translation * m[i]

    columns = [Vec3.zero()] * tree.nv
    R = {shared: pose_of_body(tree, q, tree.frame(expressed_in), shared).rotation}
    for i, p, body in tree.outward():
        if i in carriers and i != shared:
            R[i] = R[p] @ X[i].rotation
            for k, S in enumerate(body.S(q[i]).columns, start=tree.v_slices[i].start):
                columns[k] += R[i] @ _moved(S, m[i], h[i])
    R_EA, c = R[shared], h[shared]  # the whole part is now a point, relative to which A's own joints move
    for i in to_A:
        R_EA, c = R_EA @ X[i].rotation, X[i].inv().point(c)
        for k, S in enumerate(tree.bodies[i].S(q[i]).columns, start=tree.v_slices[i].start):
            columns[k] -= R_EA @ _moved(S, 1.0, c)
    return [[column.x for column in columns], [column.y for column in columns], [column.z for column in columns]]


def _moved(S: Motion, mass: Any, moment: Vec3) -> Vec3:
    velocity: Vec3 = S.linear * mass + S.angular.cross(moment)
    return velocity


def composite_inertias(tree: Tree, q: Scalars) -> tuple[dict[int, Pose], dict[int, Inertia]]:
    """Return, for each body, its pose in its parent, and the inertia of the body and all bodies behind it.

    The inertia is in the body's coordinates; q is split by body. The entry of WORLD is the whole robot, including
    links fixed to the world.
    """
    X = {i: body.X(q[i]) for i, _, body in tree.outward()}
    composite = {WORLD: tree.fixed_inertia} | {i: body.inertia for i, _, body in tree.outward()}
    for i, p, _ in tree.inward():
        composite[p] += X[i] @ composite[i]
    return X, composite


def centers(tree: Tree, X: Mapping[int, Pose], composite: Mapping[int, Inertia]) -> dict[int, Vec3]:
    """Return the robot's centre of mass in the coordinates of each body.

    If one body carries all others, its pose in the world is not used.
    """
    root, share = only_root(tree), 1.0 / composite[WORLD].mass
    result = {WORLD: composite[WORLD].moment * share}
    for i, p, _ in tree.outward():
        result[i] = composite[i].moment * share if i == root else X[i].inv().point(result[p])
    return result


def only_root(tree: Tree) -> int | None:
    """Return the body that carries all others, None if there is none or links fixed to the world have mass."""
    roots = [i for i, p, _ in tree.outward() if p == WORLD]
    return roots[0] if len(roots) == 1 and tree.fixed_inertia.is_zero else None


def total_mass(tree: Tree, function: str) -> float:
    """Return the mass of all links.  Raises ValueError if it is zero, or if the robot was loaded without inertias."""
    tree.require_inertias(function)
    mass: float = tree.fixed_inertia.mass + sum(body.inertia.mass for body in tree.bodies)
    if is_zero(mass):
        raise ValueError(
            f"{function}: expected a mass above 0, got robot {tree.name!r} without mass; give a link a mass"
        )
    return mass


ROWS = (
    FunctionSpec.of(
        center_of_mass,
        "q",
        Output((3,), "m"),
        "Centre of mass of the robot or of a subtree.",
        options=PART,
        needs_body_inertia=True,
    ),
    FunctionSpec.of(
        center_of_mass_velocity,
        "q v",
        Output((3,), "m/s"),
        "Velocity of the centre of mass.",
        options=PART,
        needs_body_inertia=True,
    ),
    FunctionSpec.of(
        center_of_mass_acceleration,
        "q v a",
        Output((3,), "m/s²"),
        "Acceleration of the centre of mass.",
        options=PART,
        needs_body_inertia=True,
    ),
    FunctionSpec.of(
        center_of_mass_jacobian,
        "q",
        Output((3, "nv"), "1, m"),
        "Matrix that maps velocities to that of the centre of mass.",
        options=PART,
        needs_body_inertia=True,
    ),
)
