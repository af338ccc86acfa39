"""Locking joints: the robot with some of its joints held at a configuration, as if they were fixed joints.

What a locked joint carried is welded to what carried it; its numbers leave q and v, and its name stays as that of a
fixed joint.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from linkwork.model.body import WORLD, Body, Frame
from linkwork.model.composite_body import composed, told, with_summed_inertias
from linkwork.model.tree import Tree
from linkwork.model.tree_constraints import refuse_locked
from linkwork.spatial import Pose

__all__ = ["locked"]


def locked(tree: Tree, configurations: Mapping[int, Sequence[float]]) -> Tree:
    """The tree whose joints before these bodies, by index, are fixed at these configurations (nq each).

    A joint and all that follow it are locked together, each with a configuration of its own, by whoever calls this.
    A locked body's frame of the same name is welded to the link that its joint was attached to.

    Raises ValueError where a constraint is of one of these joints.
    """
    refuse_locked(tree, {tree.bodies[i].joint_name for i in configurations})
    places: dict[int, tuple[int, Pose]] = {WORLD: (WORLD, _IDENTITY)}  # by old index: the new body, and X_new_old
    bodies: list[Body] = []
    gone = {tree.bodies[i].joint_name for i in configurations}
    for i, p, body in tree.outward():
        carrier, X = places[p]
        placement = _tidy(composed(X, body.placement))
        if i in configurations:
            X_FM = _tidy(body.asked("X", configurations[i]))
            places[i] = carrier, _tidy(composed(composed(placement, X_FM), _tidy(body.rotor)))
        else:
            places[i] = len(bodies), _IDENTITY
            mimic = body.mimic if body.mimic is None or body.mimic.joint not in gone else None
            bodies.append(replace(body, parent=carrier, placement=placement, mimic=mimic))
    frames = tuple(_moved(tree, frame, configurations, places) for frame in _with_own(tree, configurations))
    stacking = tuple(places[i][0] for i in tree.order if i not in configurations)
    return replace(tree, bodies=with_summed_inertias(bodies, frames), frames=frames, stacking=stacking)


def _with_own(tree: Tree, configurations: Mapping[int, Sequence[float]]) -> list[Frame]:
    """The frames, with one of its own for every locked body that has none: its name stays."""
    frames = told(tree.bodies, tree.frames)
    known = {frame.name for frame in frames}
    names = {i: tree.bodies[i].name for i in sorted(configurations)}
    return [*frames, *(Frame(name, i, _IDENTITY) for i, name in names.items() if name not in known)]


def _moved(
    tree: Tree, frame: Frame, configurations: Mapping[int, Sequence[float]], places: dict[int, tuple[int, Pose]]
) -> Frame:
    """The frame on its new body; a locked body's own is welded from now on."""
    body, X = places[frame.body]
    placed = replace(frame, body=body, placement=composed(X, _tidy(frame.placement)))
    if frame.body in configurations and frame.name == tree.bodies[frame.body].name:
        old = tree.bodies[frame.body]
        carrier = "world" if old.parent == WORLD else tree.bodies[old.parent].name
        return replace(placed, fixed_joint=old.joint_name, welded_to=old.links[0] if old.links else carrier)
    return placed


def _tidy(X: Pose) -> Pose:
    """The identity itself where a pose is equal to it, so that chaining it costs no rounding and no operation."""
    return _IDENTITY if X == _IDENTITY else X


_IDENTITY = Pose.identity()
