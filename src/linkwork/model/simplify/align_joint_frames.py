"""Seating: an equal robot whose bodies have the frames of their joints, so that nothing stands between the two.

A link's frame need not be its joint's frame M: a table of Denavit and Hartenberg's distal convention puts it at the
link's far end, another root where the link's joint was before.  Such a rotor is a constant pose that is applied again
at every body.  Seen from M it is part of the placements of the joints that follow, and the inertia has other numbers.

Tilting: an equal robot whose joints are tilted against each other about one coordinate axis only.

A placement that is turned in a general way (by roll, pitch and yaw, or by angles of 1.5708 instead of π/2) acts as
nine numbers.  Both frames of a joint may be turned together about directions in which it does not matter,
`JointType.commuting_rotations`: a hinge does not care how its frames stand about its axis.  With m the axis of the
joint before and k that of the joint after, the rotation between them is

    R = T_m(φ) N T_k(ψ),

where N turns about one coordinate axis.  T_k(ψ) goes to the frames of the joint after; T_m(φ) becomes the rotor of the
joint before, where it adds to its angle.

Source: Denavit and Hartenberg, A kinematic notation for lower-pair mechanisms, ASME J. Applied Mechanics 22, 1955.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import replace

from linkwork.joints import JointType
from linkwork.model.body import WORLD, Body, Frame
from linkwork.model.composite_body import composed
from linkwork.model.tree import Tree
from linkwork.spatial import Pose, Rotation, Vec3

__all__ = ["seated", "tilted"]


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


def tilted(tree: Tree, held: Collection[int] = ()) -> Tree:
    """A tree with the same joint-space dynamics, whose bodies are tilted simply wherever a chain allows it.

    The stators' frames of the joints of some bodies, those ``held``, stay as they are.
    """
    axes = _Axes(tree)
    for i, p, _ in tree.outward():
        if p != WORLD and i not in held and axes.is_tilted_badly(i, p):
            axes.simplify(i, p)
    return replace(tree, bodies=tuple(axes.bodies), frames=tuple(map(axes.frame, tree.frames)))


class _Axes:
    """The bodies, and how far their axes have turned."""

    def __init__(self, tree: Tree) -> None:
        self.bodies = list(tree.bodies)
        self.turned = [Rotation.identity()] * len(tree.bodies)
        self.children: list[list[int]] = [[] for _ in tree.bodies]
        for i, p, _ in tree.outward():
            if p != WORLD:
                self.children[p].append(i)

    def is_tilted_badly(self, i: int, p: int) -> bool:
        """Whether body i is turned in a general way, and it and the body before it can turn without harm to others."""
        if len(self.children[p]) > 1 or len(self.children[i]) > 1:
            return False
        for body in (self.bodies[i], self.bodies[p]):
            if _axis(body.joint) is None or body.rotor != Pose.identity():
                return False
        return not self.bodies[i].placement.rotation.is_turn

    def simplify(self, i: int, p: int) -> None:
        m, k = _axis(self.bodies[p].joint), _axis(self.bodies[i].joint)
        assert m is not None and k is not None
        phi, N, psi = _decomposed(self.bodies[i].placement.rotation, m, k)
        self.turn(p, _about(m, phi))
        self.bodies[p] = replace(self.bodies[p], rotor=Pose(_about(m, phi), Vec3.zero()))
        self.bodies[i] = replace(self.bodies[i], placement=Pose(N, self.bodies[i].placement.translation))
        self.turn(i, _about(k, -psi))

    def turn(self, i: int, R: Rotation) -> None:
        """Turn the axes of body i."""
        X = Pose(R, Vec3.zero())
        self.turned[i] = self.turned[i] @ R
        self.bodies[i] = replace(self.bodies[i], inertia=X.inv() @ self.bodies[i].inertia)
        for c in self.children[i]:
            self.bodies[c] = replace(self.bodies[c], placement=X.inv() @ self.bodies[c].placement)

    def frame(self, frame: Frame) -> Frame:
        """The frame where it was, on its body whose axes turned."""
        if frame.body == WORLD or self.turned[frame.body] == Rotation.identity():
            return frame
        return replace(frame, placement=Pose(self.turned[frame.body], Vec3.zero()).inv() @ frame.placement)


def _decomposed(R: Rotation, m: int, k: int) -> tuple[float, Rotation, float]:
    """φ, N and ψ with R = T_m(φ) N T_k(ψ), where N takes axis k into the plane of the axes m and m + 1."""
    m1, m2, k1, k2 = (m + 1) % 3, (m + 2) % 3, (k + 1) % 3, (k + 2) % 3
    u = [row[k] for row in R.rows()]  # axis k, where it points
    phi, c, s = math.atan2(u[m2], u[m1]), u[m], math.hypot(u[m1], u[m2])
    rows = [[0.0] * 3 for _ in range(3)]
    rows[m][k], rows[m1][k], rows[m2][k1], rows[m][k2], rows[m1][k2] = c, s, 1.0, s, -c
    N = Rotation(*(Vec3.of(row) for row in rows))
    rest = (N.T @ _about(m, -phi) @ R).rows()
    return phi, N, math.atan2(rest[k2][k1], rest[k1][k1])


def _axis(joint: JointType) -> int | None:
    """The coordinate axis about which the joint's frames may be turned, if there is one."""
    for direction in joint.commuting_rotations():
        along = [k for k, x in enumerate(direction) if x != 0.0]
        if len(along) == 1:
            return along[0]
    return None


def _about(k: int, angle: float) -> Rotation:
    return Rotation.about(Vec3.of([float(i == k) for i in range(3)]), angle)
