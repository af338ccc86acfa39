"""Simplified tree for tracing joint-space functions: equal dynamics with more zeros, in four steps.

Each step returns a tree with the same joint forces, mass matrix and accelerations for every q, v and a.

1. `align_joint_frames`: body frames become the frames M of their joints.  A link's frame can differ from M, for example
   at the link's far end in Denavit and Hartenberg's distal convention.  Such a rotor is a constant pose that is applied
   again at every body.  Expressed in M, it is part of the placements of the following joints and of the inertia.
2. `align_axes`: the axes of consecutive joints differ by a rotation about one coordinate axis.  A general rotation in a
   placement (by roll, pitch and yaw, or by angles of 1.5708 instead of π/2) costs nine coefficients.  Both frames of a
   joint may be rotated together about the axes of `JointType.commuting_rotations`; for a hinge, about its axis.  With m
   the axis of the preceding joint and k that of the following one, the rotation between them is R = T_m(φ) N T_k(ψ),
   where N is a rotation about one coordinate axis.  T_k(ψ) moves to the frames of the following joint; T_m(φ) becomes
   the rotor of the preceding joint, where it adds to its angle.
3. `shift_origins`: body origins move to where offsets have more zeros.  Both frames of a joint may be translated
   together along the directions of `JointType.commuting_translations`; for a hinge, along its axis.  Body by body, the
   origin moves until its offset from its parent's origin, or a child's offset from it, loses a coordinate.  Frames stay
   in place; the poses of bodies, whose origins move, change.
4. `regroup_inertias`: inertias lose the components that do not affect the joints.  Masses on the axis of a hinge, say,
   do not move when it rotates.  Such a component, all but `JointType.reduced_inertia`, acts as if it were fixed to the
   body before the joint, and is moved there, body by body from the tips inward.  A component that reaches the world has
   no effect.  The wrenches between bodies change.  The remaining inertias are base parameters of the robot, and need
   not be physically possible.

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
from linkwork.model.composite_body import compose, without_inertias
from linkwork.model.parametrized_tree import ParameterValues, parametrized
from linkwork.model.tree import Tree
from linkwork.spatial import Inertia, Pose, Rotation, Vec3

__all__ = [
    "align_axes",
    "align_joint_frames",
    "regroup_inertias",
    "shift_origins",
    "simplify_parametrized",
    "simplify_tree",
]


def align_joint_frames(tree: Tree) -> Tree:
    """Return a tree with equal joint-space dynamics in which each body's frame is its joint's rotor frame M.

    The poses of child links in M (rotors) are then the identity. Links and frames do not move.
    """
    rotors = {i: body.rotor for i, body in enumerate(tree.bodies) if body.rotor != _IDENTITY}
    if not rotors:
        return tree

    def moved(body: Body) -> Body:
        placement = compose(rotors.get(body.parent, _IDENTITY), body.placement)
        inertia = body.inertia if body.rotor == _IDENTITY else body.rotor @ body.inertia
        return replace(body, placement=placement, rotor=_IDENTITY, inertia=inertia)

    frames = [
        replace(frame, placement=compose(rotors[frame.body], frame.placement)) if frame.body in rotors else frame
        for frame in tree.frames
    ]
    return replace(tree, bodies=tuple(map(moved, tree.bodies)), frames=tuple(frames))


_IDENTITY = Pose.identity()


def align_axes(tree: Tree, fixed: Collection[int] = ()) -> Tree:
    """Return a tree with equal joint-space dynamics and more zeros in the rotations between bodies in chains.

    The axes of a body are rotated about the axis of its joint, which does not change the joint.  Bodies with several
    children stay as they are.  The stator frames of the joints of the ``fixed`` bodies are unchanged.
    """
    axes = _Axes(tree)
    for i, p, _ in tree.outward():
        if p != WORLD and i not in fixed and axes.needs_alignment(i, p):
            axes.simplify(i, p)
    return replace(tree, bodies=tuple(axes.bodies), frames=tuple(map(axes.frame, tree.frames)))


class _Axes:
    """Bodies of a tree while their axes are being rotated, and the total rotation of each body so far."""

    def __init__(self, tree: Tree) -> None:
        self.bodies = list(tree.bodies)
        self.turned = [Rotation.identity()] * len(tree.bodies)
        self.children: list[list[int]] = [[] for _ in tree.bodies]
        for i, p, _ in tree.outward():
            if p != WORLD:
                self.children[p].append(i)

    def needs_alignment(self, i: int, p: int) -> bool:
        """Return True if the rotation from body p to its child i is to be simplified.

        It must not be a rotation about a coordinate axis already.  The axes of both bodies must be free to rotate, and
        neither has more than one child.
        """
        if len(self.children[p]) > 1 or len(self.children[i]) > 1:
            return False
        for body in (self.bodies[i], self.bodies[p]):
            if _axis(body.joint) is None or body.rotor != Pose.identity():
                return False
        return not self.bodies[i].placement.rotation.is_turn

    def simplify(self, i: int, p: int) -> None:
        m, k = _axis(self.bodies[p].joint), _axis(self.bodies[i].joint)
        assert m is not None and k is not None
        phi, N, psi = _decompose(self.bodies[i].placement.rotation, m, k)
        self.turn(p, _about(m, phi))
        self.bodies[p] = replace(self.bodies[p], rotor=Pose(_about(m, phi), Vec3.zero()))
        self.bodies[i] = replace(self.bodies[i], placement=Pose(N, self.bodies[i].placement.translation))
        self.turn(i, _about(k, -psi))

    def turn(self, i: int, R: Rotation) -> None:
        """Rotate the axes of body i by R, and convert its inertia and the placements of its children."""
        X = Pose(R, Vec3.zero())
        self.turned[i] = self.turned[i] @ R
        self.bodies[i] = replace(self.bodies[i], inertia=X.inv() @ self.bodies[i].inertia)
        for c in self.children[i]:
            self.bodies[c] = replace(self.bodies[c], placement=X.inv() @ self.bodies[c].placement)

    def frame(self, frame: Frame) -> Frame:
        """Return a frame with its placement in the rotated axes of its body, so that it stays where it is."""
        if frame.body == WORLD or self.turned[frame.body] == Rotation.identity():
            return frame
        return replace(frame, placement=Pose(self.turned[frame.body], Vec3.zero()).inv() @ frame.placement)


def _decompose(R: Rotation, m: int, k: int) -> tuple[float, Rotation, float]:
    """Return φ, N and ψ of R = T_m(φ) N T_k(ψ), where T_m(φ) is the rotation by φ [rad] about axis m.

    N maps axis k into the plane of the axes m and m + 1.
    """
    m1, m2, k1, k2 = (m + 1) % 3, (m + 2) % 3, (k + 1) % 3, (k + 2) % 3
    u = [row[k] for row in R.rows()]  # direction of axis k
    phi, c, s = math.atan2(u[m2], u[m1]), u[m], math.hypot(u[m1], u[m2])
    rows = [[0.0] * 3 for _ in range(3)]
    rows[m][k], rows[m1][k], rows[m2][k1], rows[m][k2], rows[m1][k2] = c, s, 1.0, s, -c
    N = Rotation(*(Vec3.of(row) for row in rows))
    remainder = (N.T @ _about(m, -phi) @ R).rows()
    return phi, N, math.atan2(remainder[k2][k1], remainder[k1][k1])


def _axis(joint: JointType) -> int | None:
    """Return the index of a coordinate axis about which both frames of a joint can be rotated together, or None.

    Rotating both frames about such an axis does not change the joint.
    """
    for direction in joint.commuting_rotations():
        along = [k for k, x in enumerate(direction) if x != 0.0]
        if len(along) == 1:
            return along[0]
    return None


def _about(k: int, angle: float) -> Rotation:
    return Rotation.about(Vec3.of([float(i == k) for i in range(3)]), angle)


def shift_origins(tree: Tree, fixed: Collection[int] = ()) -> Tree:
    """Return a tree with equal joint-space dynamics and more zeros in the offsets between bodies.

    The stator frames of the joints of the ``fixed`` bodies are unchanged.
    """
    origins = _Origins(tree)
    for i, _, body in tree.outward():
        for direction in () if i in fixed else body.joint.commuting_translations():
            origins.slide(i, direction)
    return replace(tree, bodies=tuple(origins.bodies), frames=tuple(map(origins.frame, tree.frames)))


class _Origins:
    """Bodies of a tree while their origins are being moved, and the total displacement of each origin so far."""

    def __init__(self, tree: Tree) -> None:
        self.bodies = list(tree.bodies)
        self.moved = [Vec3.zero()] * len(tree.bodies)  # in the bodies' axes
        self.children: list[list[int]] = [[] for _ in tree.bodies]
        for i, p, _ in tree.outward():
            if p != WORLD:
                self.children[p].append(i)

    def slide(self, i: int, direction: Vec3) -> None:
        """Move body i's origin along ``direction`` to the candidate position with the fewest nonzero coefficients.

        ``direction`` is in the rotor frame M of the joint, whose two frames can be moved along it together.
        """
        best = min(self.distances(i, direction), key=lambda s: (self.cost(i, direction * s), abs(s)))
        if best != 0.0:
            self.move(i, direction * best)

    def distances(self, i: int, direction: Vec3) -> list[float]:
        """Return candidate distances [m] by which body i's origin may be moved along a direction.

        They are 0, and the distances that make a coordinate of an offset zero: of the body's offset from its parent, or
        of a child's offset from the body. An offset counts only if the direction is parallel to one of its coordinate
        axes. Only the four most common distances for children are returned. ``direction`` is a unit vector in the
        joint's frame M.
        """
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
        """Return the number of nonzero coefficients if body i's origin is displaced by d.

        Coefficients are the coordinates of the offsets to and from the body, and of its first moment of mass. A
        coordinate that a child can remove by moving its own origin counts half: the child may have a better use for
        its freedom.
        """
        body = self.bodies[i]
        e = _in_body(body, d)
        count = float(_count_offset(body.joint.reduced_inertia(body.rotor @ body.inertia.shifted(-e)).moment))
        if body.parent != WORLD:  # offsets in the world, which is at rest, cost nothing
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
            self.bodies[c] = replace(self.bodies[c], placement=_relative_to(e, self.bodies[c].placement))

    def frame(self, frame: Frame) -> Frame:
        """Return a frame with its placement relative to the moved origin of its body, so that it stays where it is."""
        if frame.body == WORLD or self.moved[frame.body] == Vec3.zero():
            return frame
        return replace(frame, placement=_relative_to(self.moved[frame.body], frame.placement))


def _in_body(body: Body, d: Vec3) -> Vec3:
    """Convert the vector d from the axes of the joint's rotor frame M to those of the body."""
    return body.rotor.rotation.inv_act(d)


def _shifted(X: Pose, d: Vec3) -> Pose:
    """Return the pose X · translation(d)."""
    R: Rotation = X.rotation
    return Pose(R, X.translation + R @ d)


def _relative_to(e: Vec3, X: Pose) -> Pose:
    """Return the pose X relative to a frame with parallel axes whose origin is at e."""
    return Pose(X.rotation, X.translation - e)


def _axis_along(u: Vec3) -> tuple[int | None, float]:
    """Return the index and the sign of the coordinate axis along the unit vector u, or (None, 0.0) if it is on none."""
    along = [k for k, x in enumerate(u) if x != 0.0]
    if len(along) != 1 or abs(list(u)[along[0]]) != 1.0:
        return None, 0.0
    return along[0], list(u)[along[0]]


def _count_offset(v: Vec3) -> int:
    return sum(x != 0.0 for x in v)


def regroup_inertias(tree: Tree, excluded: Collection[int] = ()) -> Tree:
    """Return a tree with equal joint-space dynamics and more zeros in the bodies' inertias, where joints allow it.

    Parts of a body's inertia that would have the same effect if fixed to the parent body are moved to the parent. If
    an inertia changes, the bodies' inertias are no longer the sums of their links' inertias, and the frames of the new
    tree have zero inertia. The inertias of the bodies with indices ``excluded`` are unchanged; they may be of any
    scalars.
    """
    inertias = [body.inertia for body in tree.bodies]
    for i, p, body in tree.inward():
        if i in excluded:
            continue
        remaining, moved = _split(body, inertias[i])
        carrier = Inertia.zero() if p == WORLD else inertias[p]
        laden = carrier if p == WORLD else carrier + body.placement @ moved
        if _count_inertia(remaining) + _count_inertia(laden) <= _count_inertia(inertias[i]) + _count_inertia(carrier):
            inertias[i] = remaining
            if p != WORLD:
                inertias[p] = laden
    if all(
        b.inertia is remaining or (i not in excluded and b.inertia == remaining)
        for (i, _, b), remaining in zip(tree.outward(), inertias, strict=True)
    ):
        return tree
    bodies = [replace(body, inertia=inertia) for body, inertia in zip(tree.bodies, inertias, strict=True)]
    return replace(tree, bodies=tuple(bodies), frames=without_inertias(tree.frames))


def _split(body: Body, inertia: Inertia) -> tuple[Inertia, Inertia]:
    """Split an inertia into the part that stays with the body, and the part that can be moved to its parent.

    The second part acts as if it were fixed to the parent. The first is in the body's coordinates, the second in those
    of the joint's stator frame.
    """
    joint, rotor = body.joint, body.rotor
    if rotor.translation == Vec3.zero() and any(rotor.rotation @ u == u for u in joint.commuting_rotations()):
        X = Pose.identity()  # the joint is symmetric: the body's axes serve as its own
    else:
        X = rotor
    in_joint: Inertia = X @ inertia
    reduced = joint.reduced_inertia(in_joint)
    if reduced == in_joint or not _resists(body, in_joint):
        return inertia, Inertia.zero()
    remaining: Inertia = X.inv() @ reduced
    return remaining, rotor @ (inertia - remaining)


def _count_inertia(inertia: Inertia) -> int:
    """Return the number of nonzero values among mass, first and second moments of mass."""
    J = inertia.about
    seconds = J.yy + J.zz - J.xx, J.xx + J.zz - J.yy, J.xx + J.yy - J.zz, J.xy, J.xz, J.yz
    return sum(not is_zero(x) for x in (inertia.mass, *inertia.moment, *seconds))


def _resists(body: Body, inertia: Inertia) -> bool:
    """Return True if the inertia resists motion along each velocity of the joint by more than rounding error.

    Forward dynamics refuses other inertias.
    """
    noise = 1e-15 * (abs(inertia.about.xx) + abs(inertia.mass))
    columns = body.call_joint("S", body.call_joint("zero")).columns
    return all(column.dot(inertia @ column) > noise for column in columns)


def simplify_tree(tree: Tree) -> Tree:
    """Return a tree of equal joint-space dynamics that needs fewer operations.

    The steps are `align_joint_frames`, `align_axes`, `shift_origins` and `regroup_inertias`; each depends on the
    frames of the steps before.
    """
    return regroup_inertias(shift_origins(align_axes(align_joint_frames(tree))))


def simplify_parametrized(tree: Tree, values: ParameterValues) -> Tree:
    """Return a simplified tree with values of kernel parameters; the values do not affect the simplification.

    Values may be of any scalars.  Parametrized inertias are transformed to the new frames of their bodies and are not
    regrouped; neither are those of bodies whose joints are moved.  The stator frames of joints with offsets are
    unchanged, so that offsets keep their meaning.
    """
    changed = parametrized(tree, values)
    pairs = list(enumerate(zip(tree.bodies, changed.bodies, strict=True)))
    heavy = [i for i, (old, new) in pairs if new.inertia is not old.inertia]
    moved = [i for i, (old, new) in pairs if new.placement is not old.placement or new.rotor is not old.rotor]
    origins = [Frame(f"origin of body {i}", i, Pose.identity()) for i in heavy]
    aligned = align_joint_frames(replace(tree, frames=(*tree.frames, *origins)))
    light = shift_origins(align_axes(aligned, fixed=moved), fixed=moved)
    bodies = list(light.bodies)
    for i, origin in zip(heavy, origins, strict=True):
        X, inertia = light.frame(origin.name).placement, changed.bodies[i].inertia
        bodies[i] = replace(bodies[i], inertia=inertia if X.is_identity else X @ inertia)
    frames = without_inertias(light.frames[: len(tree.frames)])
    grouped = regroup_inertias(light.with_unchecked(bodies=tuple(bodies), frames=frames), excluded={*heavy, *moved})
    return parametrized(grouped, values, with_inertias=False)
