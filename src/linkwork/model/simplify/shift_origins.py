"""Sliding: an equal robot whose bodies' origins sit where the offsets between them have more zeros.

Both frames of a joint may be moved together along directions in which their place does not matter,
`JointType.commuting_translations`: a hinge may sit anywhere on its axis.  Body by body, the origin slides until its
offset from its parent's, or a child's from it, loses a coordinate.  Joint forces, mass matrix and accelerations stay
the same, and all frames where they are; the poses of bodies, whose origins moved, do not.

Source: Denavit and Hartenberg, A kinematic notation for lower-pair mechanisms, ASME J. Applied Mechanics 22, 1955:
origins on common normals.  Here they move along coordinate axes only, so that what becomes zero is zero exactly.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import replace

from linkwork.model.body import WORLD, Body, Frame
from linkwork.model.tree import Tree
from linkwork.spatial import Pose, Rotation, Vec3

__all__ = ["slid"]


def slid(tree: Tree, held: Collection[int] = ()) -> Tree:
    """A tree with the same joint-space dynamics, and offsets between bodies that have more zeros.

    The stators' frames of the joints of some bodies, those ``held``, stay as they are.
    """
    origins = _Origins(tree)
    for i, _, body in tree.outward():
        for direction in () if i in held else body.joint.commuting_translations():
            origins.slide(i, direction)
    return replace(tree, bodies=tuple(origins.bodies), frames=tuple(map(origins.frame, tree.frames)))


class _Origins:
    """The bodies, and how far their origins have moved."""

    def __init__(self, tree: Tree) -> None:
        self.bodies = list(tree.bodies)
        self.moved = [Vec3.zero()] * len(tree.bodies)  # in the bodies' axes
        self.children: list[list[int]] = [[] for _ in tree.bodies]
        for i, p, _ in tree.outward():
            if p != WORLD:
                self.children[p].append(i)

    def slide(self, i: int, direction: Vec3) -> None:
        """Move body i's origin along a direction to where the fewest numbers are left."""
        best = min(self.distances(i, direction), key=lambda s: (self.cost(i, direction * s), abs(s)))
        if best != 0.0:
            self.move(i, direction * best)

    def distances(self, i: int, direction: Vec3) -> list[float]:
        """How far to slide along a direction: not at all, or until the own offset or a child's loses a coordinate."""
        body, found = self.bodies[i], [0.0]
        k, sign = _axis(body.placement.rotation @ direction)
        if k is not None:
            found.append(-sign * list(body.placement.translation)[k])
        k, sign = _axis(_in_body(body, direction))
        if k is not None:
            ends = Counter(sign * list(self.bodies[c].placement.translation)[k] for c in self.children[i])
            found += [distance for distance, _ in ends.most_common(4)]
        return found

    def cost(self, i: int, d: Vec3) -> float:
        """How many numbers there would be in the offsets to and from body i, and in its first moment of mass.

        A coordinate that a child can lose by sliding itself counts half: it may have a better use for its freedom.
        """
        body = self.bodies[i]
        e = _in_body(body, d)
        count = float(_size(body.joint.reduced_inertia(body.rotor @ body.inertia.shifted(-e)).moment))
        if body.parent != WORLD:  # the world rests: it does not matter where on it a joint sits
            count += _size(_shifted(body.placement, d).translation)
        for c in self.children[i]:
            child = self.bodies[c]
            offset = child.placement.translation - e
            axes = [_axis(child.placement.rotation @ u)[0] for u in child.joint.commuting_translations()]
            count += _size(offset) - 0.5 * any(k is not None and list(offset)[k] != 0.0 for k in axes)
        return count

    def move(self, i: int, d: Vec3) -> None:
        body = self.bodies[i]
        e = _in_body(body, d)
        self.bodies[i] = replace(body, placement=_shifted(body.placement, d), inertia=body.inertia.shifted(-e))
        self.moved[i] += e
        for c in self.children[i]:
            self.bodies[c] = replace(self.bodies[c], placement=_from_there(e, self.bodies[c].placement))

    def frame(self, frame: Frame) -> Frame:
        """The frame where it was, on its body whose origin moved."""
        if frame.body == WORLD or self.moved[frame.body] == Vec3.zero():
            return frame
        return replace(frame, placement=_from_there(self.moved[frame.body], frame.placement))


def _in_body(body: Body, d: Vec3) -> Vec3:
    """A direction of the joint's frame M in the body's axes."""
    return body.rotor.rotation.inv_act(d)


def _shifted(X: Pose, d: Vec3) -> Pose:
    """X followed by a translation d."""
    R: Rotation = X.rotation
    return Pose(R, X.translation + R @ d)


def _from_there(e: Vec3, X: Pose) -> Pose:
    """X seen from an origin at e."""
    return Pose(X.rotation, X.translation - e)


def _axis(u: Vec3) -> tuple[int | None, float]:
    """Which coordinate axis a unit vector lies along, if one, and which way."""
    along = [k for k, x in enumerate(u) if x != 0.0]
    if len(along) != 1 or abs(list(u)[along[0]]) != 1.0:
        return None, 0.0
    return along[0], list(u)[along[0]]


def _size(v: Vec3) -> int:
    return sum(x != 0.0 for x in v)
