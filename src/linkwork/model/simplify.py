"""The tree that joint-space functions are traced on: equal dynamics with more zeros, made in four steps.

Each step gives a tree with the same joint forces, mass matrix and accelerations for every q, v and a.

1. `seated`: bodies get the frames of their joints.  A link's frame need not be its joint's frame M: a table of
   Denavit and Hartenberg's distal convention puts it at the link's far end, another root where the link's joint was
   before. Such a rotor is a constant pose that is applied again at every body.  Seen from M it is part of the
   placements of the joints that follow, and the inertia has other numbers.
2. `tilted`: joints are tilted against each other about one coordinate axis only.  A placement that is turned in a
   general way (by roll, pitch and yaw, or by angles of 1.5708 instead of π/2) acts as nine numbers.  Both frames of a
   joint may be turned together about directions in which it does not matter, `JointType.commuting_rotations`: a hinge
   does not care how its frames stand about its axis.  With m the axis of the joint before and k that of the joint
   after, the rotation between them is R = T_m(φ) N T_k(ψ), where N turns about one coordinate axis.  T_k(ψ) goes to
   the frames of the joint after; T_m(φ) becomes the rotor of the joint before, where it adds to its angle.
3. `slid`: origins of bodies move to where offsets have more zeros.  Both frames of a joint may be moved together
   along directions in which their position does not matter, `JointType.commuting_translations`: a hinge may sit
   anywhere on its axis.  Body by body, the origin slides until its offset from its parent's, or a child's from it,
   loses a coordinate.  All frames stay where they are; the poses of bodies, whose origins moved, do not.
4. `regrouped`: inertias lose the components that joints do not feel.  Masses on the axis of a hinge, say, do not move
   when it turns.  Such a part, all but what `JointType.reduced_inertia` keeps, acts as if it were fixed to the body
   before the joint, and is moved there, body by body from the tips inward; what reaches the world is felt by no joint.
    The wrenches between bodies change.  The remaining inertias are base parameters of the robot, and need not be those
    of
   possible bodies.

Sources: Denavit and Hartenberg, A kinematic notation for lower-pair mechanisms, ASME J. Applied Mechanics 22, 1955
(origins on common normals; here they move along coordinate axes only, so that zeros are exact); Gautier and Khalil,
Direct calculation of minimum set of inertial parameters of serial robots, IEEE Trans. Robotics and Automation 6, 1990;
Khalil and Dombre, Modeling, Identification and Control of Robots, 2002, section 9.4.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection
from dataclasses import replace

from linkwork.expr.linalg.sparse_dot import is_zero
from linkwork.joints import JointType
from linkwork.model.body import WORLD, Body, Frame
from linkwork.model.composite_body import composed, without_inertias
from linkwork.model.parametrized_tree import Numbers, parametrised
from linkwork.model.tree import Tree
from linkwork.spatial import Inertia, Pose, Rotation, Vec3

__all__ = ["lightened", "lightened_with", "regrouped", "seated", "slid", "tilted"]


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
        body, result = self.bodies[i], [0.0]
        k, sign = _axis_along(body.placement.rotation @ direction)
        if k is not None:
            result.append(-sign * list(body.placement.translation)[k])
        k, sign = _axis_along(_in_body(body, direction))
        if k is not None:
            ends = Counter(sign * list(self.bodies[c].placement.translation)[k] for c in self.children[i])
            result += [distance for distance, _ in ends.most_common(4)]
        return result

    def cost(self, i: int, d: Vec3) -> float:
        """How many numbers there would be in the offsets to and from body i, and in its first moment of mass.

        A coordinate that a child can lose by sliding itself counts half: it may have a better use for its freedom.
        """
        body = self.bodies[i]
        e = _in_body(body, d)
        count = float(_count_offset(body.joint.reduced_inertia(body.rotor @ body.inertia.shifted(-e)).moment))
        if body.parent != WORLD:  # the world rests: it does not matter where on it a joint sits
            count += _count_offset(_shifted(body.placement, d).translation)
        for c in self.children[i]:
            child = self.bodies[c]
            offset = child.placement.translation - e
            axes = [_axis_along(child.placement.rotation @ u)[0] for u in child.joint.commuting_translations()]
            count += _count_offset(offset) - 0.5 * any(k is not None and list(offset)[k] != 0.0 for k in axes)
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


def _axis_along(u: Vec3) -> tuple[int | None, float]:
    """Which coordinate axis a unit vector lies along, if one, and which way."""
    along = [k for k, x in enumerate(u) if x != 0.0]
    if len(along) != 1 or abs(list(u)[along[0]]) != 1.0:
        return None, 0.0
    return along[0], list(u)[along[0]]


def _count_offset(v: Vec3) -> int:
    return sum(x != 0.0 for x in v)


def regrouped(tree: Tree, but: Collection[int] = ()) -> Tree:
    """A tree with the same joint-space dynamics, whose inertias have more zeros where its joints allow it.

    Where any is another, they are not those of its links any more: its frames have none.  From some bodies, ``but``,
    nothing is moved: their inertias may be of any scalars.
    """
    inertias = [body.inertia for body in tree.bodies]
    for i, p, body in tree.inward():
        if i in but:
            continue
        kept, moved = _split(body, inertias[i])
        carrier = Inertia.zero() if p == WORLD else inertias[p]
        laden = carrier if p == WORLD else carrier + body.placement @ moved
        if _count_inertia(kept) + _count_inertia(laden) <= _count_inertia(inertias[i]) + _count_inertia(carrier):
            inertias[i] = kept
            if p != WORLD:
                inertias[p] = laden
    if all(
        b.inertia is own or (i not in but and b.inertia == own)
        for (i, _, b), own in zip(tree.outward(), inertias, strict=True)
    ):
        return tree
    bodies = [replace(body, inertia=inertia) for body, inertia in zip(tree.bodies, inertias, strict=True)]
    return replace(tree, bodies=tuple(bodies), frames=without_inertias(tree.frames))


def _split(body: Body, inertia: Inertia) -> tuple[Inertia, Inertia]:
    """What stays with the body (in its coordinates), and what acts as if fixed before its joint (in the stator's)."""
    joint, rotor = body.joint, body.rotor
    if rotor.translation == Vec3.zero() and any(rotor.rotation @ u == u for u in joint.commuting_rotations()):
        seen = Pose.identity()  # the body's axes are as good to the joint as its own
    else:
        seen = rotor
    there: Inertia = seen @ inertia
    felt = joint.reduced_inertia(there)
    if felt == there or not _resists(body, there):
        return inertia, Inertia.zero()
    kept: Inertia = seen.inv() @ felt
    return kept, rotor @ (inertia - kept)


def _count_inertia(inertia: Inertia) -> int:
    """How many of its ten numbers (mass, first and second moments of mass) are not zero."""
    J = inertia.about
    seconds = J.yy + J.zz - J.xx, J.xx + J.zz - J.yy, J.xx + J.yy - J.zz, J.xy, J.xz, J.yz
    return sum(not is_zero(x) for x in (inertia.mass, *inertia.moment, *seconds))


def _resists(body: Body, inertia: Inertia) -> bool:
    """Whether the inertia resists every motion of the joint by more than rounding: forward dynamics refuses others."""
    noise = 1e-15 * (abs(inertia.about.xx) + abs(inertia.mass))
    columns = body.call_joint("S", body.call_joint("zero")).columns
    return all(column.dot(inertia @ column) > noise for column in columns)


def lightened(tree: Tree) -> Tree:
    """A tree of the same joint-space dynamics that takes fewer operations.

    Bodies take the frames of their joints, so that these can be turned; joints that are tilted simply have origins that
    slide to where offsets have zeros; and inertias are regrouped where everything sits in its place.
    """
    return regrouped(slid(tilted(seated(tree))))


def lightened_with(tree: Tree, numbers: Numbers) -> Tree:
    """The same of a tree with some numbers, of any scalars, for its own: none of them decides how it is done.

    Inertias are carried to where their bodies' frames go, and stay there; so do those of bodies whose joints are moved.
    The stators' frames of joints with offsets stay where they are, so that offsets are what they were.
    """
    given = parametrised(tree, numbers)
    pairs = list(enumerate(zip(tree.bodies, given.bodies, strict=True)))
    heavy = [i for i, (old, new) in pairs if new.inertia is not old.inertia]
    moved = [i for i, (old, new) in pairs if new.placement is not old.placement or new.rotor is not old.rotor]
    origins = [Frame(f"origin of body {i}", i, Pose.identity()) for i in heavy]
    seen = seated(replace(tree, frames=(*tree.frames, *origins)))
    light = slid(tilted(seen, held=moved), held=moved)
    bodies = list(light.bodies)
    for i, origin in zip(heavy, origins, strict=True):
        X, inertia = light.frame(origin.name).placement, given.bodies[i].inertia
        bodies[i] = replace(bodies[i], inertia=inertia if X.is_identity else X @ inertia)
    frames = without_inertias(light.frames[: len(tree.frames)])
    grouped = regrouped(light.made_of(bodies=tuple(bodies), frames=frames), but={*heavy, *moved})
    return parametrised(grouped, numbers, weighed=False)
