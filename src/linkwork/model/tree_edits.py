"""Edits of a tree: joints locked, another root, and joints with straight motion.

Locking (`lock_joints`) fixes a joint at a configuration.  The bodies that it carried are welded to the body before it;
its coordinates are removed from q and v, and its name stays as that of a fixed joint.

Rerooting (`reroot`) keeps the mechanism, and reverses the joints between the old and the new root.  The joint between
two bodies stays in place: X_parent_child = placement · X(q) · rotor becomes X_child_parent = rotor⁻¹ · X(q)⁻¹ ·
placement⁻¹.  Every joint keeps its name, its q, v and τ, and its position in q and v.

`straight_tree` replaces planar and floating joints by ones whose position moves on straight lines, along which segments
between configurations are measured.
"""

from __future__ import annotations

import heapq
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import pairwise

import numpy as np

from linkwork.joints import JointType
from linkwork.joints.straight_motion import straight_motion_joint
from linkwork.model.body import WORLD, Body, Frame
from linkwork.model.composite_body import compose, frames_with_inertias, sum_inertias, with_summed_inertias
from linkwork.model.description import NamedState
from linkwork.model.tree import Tree
from linkwork.model.tree_actuators import with_locked_joints
from linkwork.model.tree_attachments import names_world, referenced_bodies, refuse_locked, renamed_frames
from linkwork.spatial import Inertia, Motion, Pose

__all__ = [
    "affine_coordinates",
    "free_name",
    "is_plain_world",
    "is_tied",
    "lock_joints",
    "names_in_space",
    "off_the_world",
    "reroot",
    "straight_tree",
    "unused",
]


def lock_joints(tree: Tree, configurations: Mapping[int, Sequence[float]]) -> Tree:
    """Return the tree with joints locked at configurations (nq each), by the index of the joint's body.

    The caller must lock a joint together with all joints that follow it, each with its own configuration. The frame
    named like a locked body is welded to the parent link of the joint.

    Raises ValueError if a constraint refers to one of these joints.
    """
    refuse_locked(tree, {tree.bodies[i].joint_name for i in configurations})
    fixed = [(tree.bodies[i], q) for i, q in configurations.items()]
    tree = with_locked_joints(
        tree, {body.joint_name: body.call_joint("difference", body.call_joint("zero"), q) for body, q in fixed}
    )
    new_poses: dict[int, tuple[int, Pose]] = {WORLD: (WORLD, _IDENTITY)}  # by old index: new body and X_new_old
    bodies: list[Body] = []
    gone = {tree.bodies[i].joint_name for i in configurations}
    for i, p, body in tree.outward():
        carrier, X = new_poses[p]
        placement = _identity_if_equal(compose(X, body.placement))
        if i in configurations:
            X_FM = _identity_if_equal(body.call_joint("X", configurations[i]))
            new_poses[i] = (
                carrier,
                _identity_if_equal(compose(compose(placement, X_FM), _identity_if_equal(body.rotor))),
            )
        else:
            new_poses[i] = len(bodies), _IDENTITY
            mimic = body.mimic if body.mimic is None or body.mimic.joint not in gone else None
            bodies.append(replace(body, parent=carrier, placement=placement, mimic=mimic))
    frames = tuple(_moved(tree, frame, configurations, new_poses) for frame in _with_own_frames(tree, configurations))
    stacking = tuple(new_poses[i][0] for i in tree.order if i not in configurations)
    return replace(tree, bodies=with_summed_inertias(bodies, frames), frames=frames, stacking=stacking)


def _with_own_frames(tree: Tree, configurations: Mapping[int, Sequence[float]]) -> list[Frame]:
    """Return the frames of a tree, with a new one for each locked body without a frame of the body's name."""
    frames = frames_with_inertias(tree.bodies, tree.frames)
    known = {frame.name for frame in frames}
    names = {i: tree.bodies[i].name for i in sorted(configurations)}
    return [*frames, *(Frame(name, i, _IDENTITY) for i, name in names.items() if name not in known)]


def _moved(
    tree: Tree, frame: Frame, configurations: Mapping[int, Sequence[float]], new_poses: dict[int, tuple[int, Pose]]
) -> Frame:
    """Return a frame on its body after locking; the frame named like a locked body becomes a welded frame.

    ``new_poses`` has for each old body its new body, and its pose there.
    """
    body, X = new_poses[frame.body]
    placed = replace(frame, body=body, placement=compose(X, _identity_if_equal(frame.placement)))
    if frame.body in configurations and frame.name == tree.bodies[frame.body].name:
        old = tree.bodies[frame.body]
        carrier = "world" if old.parent == WORLD else tree.bodies[old.parent].name
        return replace(placed, fixed_joint=old.joint_name, welded_to=old.links[0] if old.links else carrier)
    return placed


def _identity_if_equal(X: Pose) -> Pose:
    """Return the identity object if X equals it, so that products with it need no operations; else X."""
    return _IDENTITY if X == _IDENTITY else X


_IDENTITY = Pose.identity()


def reroot(tree: Tree, name: str) -> Tree:
    """Return the tree with the named link (or frame) as its root.

    If a floating joint carries the link's branch, this joint carries the link's body instead: its q becomes the pose of
    the link in the joint's frame F.  Otherwise, or if constraints tie the branch to links that are fixed to the world
    or move on them, the link is fixed to the world, and its frame is the world's.  The links that were fixed to the
    world become a body, named for the first of them that no fixed joint welds, in that link's frame.  Without such a
    link it is a link "ground" without mass.  A link "world" without mass or shapes is left out; frames, points and
    directions on it, or on the world itself, stay in place on the former world.  The gravity vector is unchanged, in
    the axes of the new world.

    Raises UnknownNameError for an unknown frame, and ValueError if a link "world" has mass or shapes.
    """
    frame = tree.frame(name)
    path = _path(tree, frame.body)
    if path and tree.bodies[path[0]].joint.is_floating and not is_tied(tree, path[0]):
        return _carried(tree, frame, path)
    return _fixed(tree, frame, path)


def is_tied(tree: Tree, floating: int) -> bool:
    """Return True if constraints connect a floating body to links that are fixed to the world or move on them.

    Such a body is not a floating base, but a link of a mechanism, such as the platform of a hexapod.
    """
    ground = any(f.is_link and f.body == WORLD and not is_plain_world(f) for f in tree.frames)
    roots = [
        WORLD if i == WORLD else _path(tree, i)[0] for i in (*range(len(tree.bodies)), WORLD)
    ]  # the world's is last
    ties = [{roots[i] for i in referenced_bodies(tree, constraint)} for constraint in tree.constraints]
    tied = {floating}
    while more := [tie for tie in ties if tie & tied - {WORLD} and not tie <= tied]:
        tied = tied.union(*more)
    return any(ground if i == WORLD else not tree.bodies[i].joint.is_floating for i in tied)


def _path(tree: Tree, body: int) -> list[int]:
    """Return the indices of the bodies on the path from the world to ``body``, which is the last one."""
    path = []
    while body != WORLD:
        path.append(body)
        body = tree.bodies[body].parent
    return path[::-1]


def _carried(tree: Tree, frame: Frame, path: list[int]) -> Tree:
    """Return the tree with a new root: the floating joint at the start of ``path`` moves the path's last body.

    The joints on the path are reversed. ``frame`` is on the last body, and becomes its frame for the floating joint.
    """
    bodies = {i: body for i, body in enumerate(tree.bodies) if i not in path}
    for child, parent in pairwise(path):
        bodies[child] = _reversed(tree, tree.bodies[child].name, tree.bodies[child].inertia, parent)
    last, floating = tree.bodies[path[-1]], tree.bodies[path[0]]
    tree = replace(
        tree,
        named_configurations=tuple(_rebased_state(tree, frame, path, state) for state in tree.named_configurations),
    )
    bodies[path[-1]] = replace(floating, name=last.name, inertia=last.inertia, rotor=_inverse(frame.placement))
    if floating.links is not None:
        bodies[path[-1]] = replace(bodies[path[-1]], links=(floating.links[0], frame.name))
    return _ordered(tree, bodies, list(tree.frames))


def _rebased_state(tree: Tree, frame: Frame, path: list[int], state: NamedState) -> NamedState:
    """Return a named configuration for the new root: the floating joint gets the frame's pose and velocity."""
    stated_q, stated_v = dict(state.q), dict(state.v or ())
    X, V = _IDENTITY, Motion.zero()
    for i in path:
        body = tree.bodies[i]
        master = body.joint_name if body.coupling is None else body.coupling.joint
        q = stated_q.get(master) or body.call_joint("zero")
        v = stated_v.get(master) or (0.0,) * body.joint.nv
        X_i = body.X(q)
        X, V = X @ X_i, X_i.inv() @ V + body.S(q) @ v
    floating = tree.bodies[path[0]]
    q = floating.call_joint("configuration_from_pose", floating.placement.inv() @ X @ frame.placement)
    v = floating.call_joint("velocity_from_twist", q, frame.placement.inv() @ V)
    return state.with_joint(floating.joint_name, q, v)


def _fixed(tree: Tree, frame: Frame, path: list[int]) -> Tree:
    """Return the tree with another root: the last body of the path is fixed to the world.

    Everything that was fixed to the world becomes a body, and the joints on the path are reversed.
    """
    X_new = {frame.body: _inverse(frame.placement)}  # by body: pose of its old frame in its new one, if different
    bodies = {i: body for i, body in enumerate(tree.bodies) if i not in path}
    if not path and frame.placement != _IDENTITY:
        tree = off_the_world(tree, frame)
    frames = list(tree.frames)
    if path:
        ground = _ground_link(tree, [f for f in frames if f.body == WORLD and not is_plain_world(f)])
        tree = off_the_world(tree if ground in frames else replace(tree, frames=(ground, *frames)), ground)
        frames = [f for f in tree.frames if not is_plain_world(f)]
        frames = [
            replace(f, welded_to=ground.name) if f.welded_to == "world" and f is not ground else f for f in frames
        ]
        X_new[WORLD] = _inverse(ground.placement)
        inertia = sum_inertias([_frame_moved(f, X_new) for f in frames if f.body == WORLD])
        body = _reversed(tree, ground.name, inertia, path[0])
        bodies[WORLD] = replace(body, rotor=body.rotor @ ground.placement)
        for child, parent in pairwise(path):
            bodies[child] = _reversed(tree, tree.bodies[child].name, tree.bodies[child].inertia, parent)
    bodies = {i: _with_parent_frame(body, X_new) for i, body in bodies.items()}
    return _ordered(tree, bodies, [_frame_moved(f, X_new) for f in frames], ground=frame.body)


def _ordered(tree: Tree, bodies: dict[int, Body], frames: list[Frame], ground: int = WORLD) -> Tree:
    """Return the tree of these bodies in a new order, parents first, with all indices updated.

    ``bodies`` have their old indices, and ``ground`` is the old index of the body that is now the world. Otherwise
    bodies are in the order in which their joints are stacked. A tree that has this order already is unchanged.
    """
    rank = {tree.bodies[i].joint_name: k for k, i in enumerate(tree.order)}
    children: dict[int, list[tuple[int, int]]] = {}
    for i, body in bodies.items():
        children.setdefault(body.parent, []).append((rank[body.joint_name], i))
    index, ranks = {ground: WORLD}, []
    result: list[Body] = []
    ready = list(children.get(ground, ()))
    heapq.heapify(ready)
    while ready:
        position, i = heapq.heappop(ready)
        index[i] = len(result)
        result.append(replace(bodies[i], parent=index[bodies[i].parent]))
        ranks.append(position)
        for child in children.get(i, ()):
            heapq.heappush(ready, child)
    return replace(
        tree,
        bodies=tuple(result),
        frames=tuple(f if f.body == index[f.body] else replace(f, body=index[f.body]) for f in frames),
        stacking=tuple(sorted(range(len(ranks)), key=ranks.__getitem__)),
    )


def _reversed(tree: Tree, name: str, inertia: Inertia, parent: int) -> Body:
    """Return a body that is moved by the joint of its former child ``parent``, in the reverse direction.

    ``name`` and ``inertia`` are those of the returned body.
    """
    old = tree.bodies[parent]
    return replace(
        old,
        name=name,
        parent=parent,
        joint=old.joint.reversed(),
        placement=_inverse(old.rotor),
        rotor=_inverse(old.placement),
        inertia=inertia,
        links=old.links and old.links[::-1],
    )


def _ground_link(tree: Tree, fixed: list[Frame]) -> Frame:
    """Return the link whose name the body gets that was fixed to the world.

    It is a new link if nothing is fixed to the world. Raises ValueError if "world" is a link with mass or shapes.
    """
    if any(f.name == "world" for f in fixed):
        problem = "a link 'world' with mass or shapes is fixed to the world; rename it"
        raise ValueError(f"with_root: robot {tree.name!r}: {problem}")
    links = [f for f in fixed if f.is_link] or fixed
    named = [f for f in links if f.fixed_joint is None] or links
    return named[0] if named else Frame(free_name(tree, "ground"), WORLD, _IDENTITY)


def free_name(tree: Tree, wish: str) -> str:
    """Return the name of a new frame: ``wish``, with underscores appended if the name is in use."""
    return unused(wish, {*names_in_space(tree)})


def names_in_space(tree: Tree) -> list[str]:
    """Return the names of frames, points and directions, which are all different."""
    return [*(f.name for f in tree.frames), *(p.name for p in tree.points), *(d.name for d in tree.directions)]


def unused(wish: str, taken: Collection[str]) -> str:
    """Return ``wish``, with underscores appended until it is not in ``taken``."""
    return next(name for k in range(len(taken) + 1) if (name := wish + "_" * k) not in taken)


def off_the_world(tree: Tree, ground: Frame) -> Tree:
    """Return the tree with the points and directions of "world" on the frame ``ground``, which is fixed to the world.

    Points stay at the same positions. Constraints, force elements and actuators no longer refer to the world.
    """
    X = ground.placement.inv() @ tree.frame("world").placement
    points = [
        replace(p, frame=ground.name, position=X.point(p.position)) if p.frame == "world" else p for p in tree.points
    ]
    directions = [
        replace(d, frame=ground.name, vector=X.rotation @ d.vector) if d.frame == "world" else d
        for d in tree.directions
    ]
    tree = replace(tree, points=tuple(points), directions=tuple(directions))
    return _constraints_off_the_world(tree, ground, X) if names_world(tree) else tree


def _constraints_off_the_world(tree: Tree, ground: Frame, X: Pose) -> Tree:
    """Return the tree whose constraints, force elements and actuators do not refer to the world's frame.

    They refer to the frame ``ground`` if X, the world's pose in it, is the identity, else to a new frame on it.
    """
    if X == _IDENTITY:
        return renamed_frames(tree, {"world": ground.name})
    name = free_name(tree, f"{ground.name}_world")
    placement = tree.frame("world").placement
    marker = Frame(name, WORLD, placement, welded_to=ground.name)
    return renamed_frames(replace(tree, frames=(*tree.frames, marker)), {"world": name})


def is_plain_world(frame: Frame) -> bool:
    return (
        frame.name == "world"
        and frame.body == WORLD
        and frame.inertia == _NO_INERTIA
        and not frame.visuals
        and not frame.collisions
    )


def _with_parent_frame(body: Body, X_new: dict[int, Pose]) -> Body:
    """Return the body with its placement in the new frame of its parent, so that it stays where it is.

    ``X_new`` has for each body the pose of its old frame in its new one.
    """
    X = X_new.get(body.parent, _IDENTITY)
    return body if X == _IDENTITY else replace(body, placement=X @ body.placement)


def _frame_moved(frame: Frame, X_new: dict[int, Pose]) -> Frame:
    X = X_new.get(frame.body, _IDENTITY)
    if X == _IDENTITY:
        return frame
    return replace(frame, placement=_IDENTITY if _inverse(frame.placement) == X else X @ frame.placement)


def _inverse(X: Pose) -> Pose:
    return X if X == _IDENTITY else X.inv().formed()


_NO_INERTIA = Inertia.zero()


_SAMPLES = 8
_SAME = 1e-9


def straight_tree(tree: Tree) -> Tree:
    """Return the tree whose planar and floating joints move straight between two configurations.

    See `linkwork.joints.straight_motion`.  Configurations and poses of bodies are unchanged.  Velocities differ, so
    the tree is for segments between configurations only.  A tree without such joints is returned unchanged.
    """
    result = _straight_or_none(tree)
    return tree if result is None else result


@lru_cache(256)
def _straight_or_none(tree: Tree) -> Tree | None:
    """Return the tree with straight motion of its joints, or None if none of its joints changes."""
    bodies = tuple([replace(body, joint=straight_motion_joint(body.joint)) for body in tree.bodies])
    if all(a.joint is b.joint for a, b in zip(bodies, tree.bodies, strict=True)):
        return None
    return replace(tree, bodies=bodies)


def affine_coordinates(joint: JointType) -> np.ndarray:
    """Return a mask (nq,) of the coordinates of a joint that change linearly with t along ``integrate(q, t φ)``.

    On a segment between two configurations within limits, these coordinates stay within the limits. The mask is
    determined from random segments, within 1e-9.
    """
    if joint.nq == 0:
        return np.ones(0, dtype=bool)
    rng = np.random.default_rng(0)
    free = np.full(joint.nq, np.inf).tolist()
    result = np.ones(joint.nq, dtype=bool)
    for q in joint.random(rng, [-x for x in free], free, (_SAMPLES,)).tolist():
        phi = rng.uniform(-1.0, 1.0, joint.nv).tolist()
        a, b, c = (np.array(joint.integrate(q, [t * x for x in phi]), dtype=float) for t in (0.0, 0.4, 1.0))
        result &= np.abs(a + 0.4 * (c - a) - b) <= _SAME * (1.0 + np.abs(c - a))
    return result
