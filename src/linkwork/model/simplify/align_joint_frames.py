"""Seating: an equal robot whose bodies have the frames of their joints, so that nothing stands between the two.

A link's frame need not be its joint's frame M: a table of Denavit and Hartenberg's distal convention puts it at the
link's far end, another root where the link's joint was before.  Such a rotor is a constant pose that is applied again
at every body.  Seen from M it is part of the placements of the joints that follow, and the inertia has other numbers.
"""

from __future__ import annotations

from dataclasses import replace

from linkwork.model.body import Body
from linkwork.model.composite_body import composed
from linkwork.model.tree import Tree
from linkwork.spatial import Pose

__all__ = ["seated"]


def seated(tree: Tree) -> Tree:
    """A tree with the same joint-space dynamics and its frames where they are, in which every rotor is the identity."""
    rotors = {i: body.rotor for i, body in enumerate(tree.bodies) if body.rotor != _IDENTITY}
    if not rotors:
        return tree

    def moved(body: Body) -> Body:
        placement = composed(rotors.get(body.parent, _IDENTITY), body.placement)
        inertia = body.inertia if body.rotor == _IDENTITY else body.rotor @ body.inertia
        return replace(body, placement=placement, rotor=_IDENTITY, inertia=inertia)

    frames = [
        replace(frame, placement=composed(rotors[frame.body], frame.placement)) if frame.body in rotors else frame
        for frame in tree.frames
    ]
    return replace(tree, bodies=tuple(map(moved, tree.bodies)), frames=tuple(frames))


_IDENTITY = Pose.identity()
