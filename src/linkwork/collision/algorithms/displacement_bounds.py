"""Bounds on the displacement, speed and acceleration of a body's points: on straight segments, and on any curve.

**Straight segments of configurations.**

The segment is q(t) = q₀ ⊕ t φ, φ = q₁ ⊖ q₀, t from 0 to 1: every joint moves at the constant velocity φ_i.  Let a point
p be fixed to body n, and let the joints between an ancestor, body 0, and body n be 1 … n.  In the frame M_i after joint
i the point is at r_i(t), with r_n constant and r_{i−1} = X_i r_i, where X_i is the pose of M_i in M_{i−1}.  The joint's
twist in M_i is (ω_i; v_i) = S_i(q_i) φ_i.  With R_i the rotation of X_i

    ṙ_{i−1} = R_i (ω_i × r_i + v_i + ṙ_i)
    r̈_{i−1} = R_i (ω_i × (ω_i × r_i + v_i) + 2 ω_i × ṙ_i + r̈_i + ω̇_i × r_i + v̇_i).

Rotations preserve lengths.  If |ṙ_i| ≤ s_i, |r̈_i| ≤ a_i and |ω_i × r_i + v_i| ≤ l_i on the whole segment, then

    s_{i−1} = l_i + s_i,    a_{i−1} = |ω_i| l_i + 2 |ω_i| s_i + a_i + |ω̇_i| |r_i| + |v̇_i|

are the bounds in M_{i−1}; the recursion starts with s_n = a_n = 0.  It remains to bound l_i.  In half of the segment
r_i moves by at most s_i / 2, so it is always within s_i / 2 of m_i, its value at the segment's midpoint.  The twist is
constant in M_i for revolute, prismatic and screw joints and all that move by an exponential.  There

    l_i = |ω_i × m_i + v_i| + |ω_i| s_i / 2,

which depends on the distance from a revolute joint's axis.  A joint whose origin translates on a straight line
(`linkwork.joints.straight_motion`) rotates at a constant ω_i about that origin, l_i = |ω_i × m_i| + |ω_i| s_i / 2, and
translates after that at a constant rate, which adds |ṗ_i| to the speed and zero to the acceleration.  For other joints
bounds on ω_i, v_i and their rates come from evaluating S(q) φ and Ṡ φ on balls that contain the whole segment, and l_i
= |ω_i| (|m_i| + s_i / 2) + |v_i|.  Points within ρ of p move at most ρ |ω_i| faster in each joint: l_i grows by that,
and |r_i| by ρ.  The bounded functions are convex in the point, so bounds for the ends of a line hold between them.

The bounds are relative to the ancestor; two bodies of a robot move relative to the last body that carries both.

Sources: Schwarzer, Saha and Latombe, Adaptive dynamic collision checking for single and multiple articulated robots in
complex environments, 2005; Zhang, Redon, Lee and Kim, Continuous collision detection for articulated models using
Taylor models and temporal culling, 2007.

Ball arithmetic (`Enclosure`): a function over any scalar, evaluated on balls |x − center| ≤ radius, returns a ball that
contains its values for all arguments within theirs.  Only sums, products, sines and cosines are supported; other
operations raise TypeError.

Source: van der Hoeven, Ball arithmetic, 2010.

**Any curve** (`pair_levers`).

A point at r in a joint's moving frame moves at the rate ω × r + v by the twist (ω; v) = S q̇, so by at most |ω| |r| +
|v| per unit of the joint's coordinate.  While the coordinates k run along any curve from time t₀ to t₁,

    Σ_k l_k ∫ |q̇_k| dt,    l_k = |ω_k| r_k + |v_k|,

bounds the displacement of the point.  r_k is bounded by the lengths from frame to frame and by the displacements of the
joints between.  Two bodies of a robot move relative to the last body that carries both, so l is 0 for the joints of
that body.  Source: Schwarzer, Saha and Latombe, 2005.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np

from linkwork.expr.linalg.sparse_dot import is_zero
from linkwork.expr.scalar.functions import cos, fabs, fmax, fmin, sin, sqrt
from linkwork.expr.scalar.operations import Operation
from linkwork.joints import JointType
from linkwork.joints.straight_motion import StraightJoint
from linkwork.kinematics.algorithms.forward_kinematics import fork
from linkwork.model.body import WORLD, Body
from linkwork.model.collision_pairs import LinkShape, link_shapes
from linkwork.model.tree import Tree
from linkwork.spatial import Motion, Vec3

__all__ = [
    "Enclosure",
    "MotionBound",
    "check_bounded",
    "constant_twist",
    "joint_reaches",
    "largest",
    "motion_bounds",
    "pair_levers",
    "twist_sizes",
]

Scalars = Sequence[Any]
_TWIST_TOLERANCE = 1e-9  # relative
_SAMPLES = 8


@dataclass(frozen=True, slots=True)
class MotionBound:
    """Bounds on the speed and acceleration of a body's points relative to another body, on a segment of unit time."""

    speed: Any  # [m] also bounds the displacement on the whole segment
    acceleration: Any  # [m]

    def __add__(self, other: MotionBound) -> MotionBound:
        return MotionBound(self.speed + other.speed, self.acceleration + other.acceleration)

    def larger(self, other: MotionBound) -> MotionBound:
        """Return the element-wise maximum of two bounds."""
        return MotionBound(fmax(self.speed, other.speed), fmax(self.acceleration, other.acceleration))


def motion_bounds(
    tree: Tree, middle: Scalars, phi: Scalars, body: int, points: Sequence[Vec3], radius: Any = 0.0
) -> dict[int, MotionBound]:
    """Return bounds on the motion of points of a body relative to each of its ancestors and the world.

    They hold for the convex hull of balls of ``radius`` [m] about ``points``, in the body's coordinates [m].
    ``middle`` (nq,) is the segment's midpoint and ``phi`` (nv,) its difference, both of any scalar.  Raises TypeError
    for a joint whose motion cannot be bounded: see `check_bounded`.
    """
    q, v = tree.split_q(middle), tree.split_v(phi)
    result: dict[int, MotionBound] = {body: MotionBound(0.0, 0.0)}
    for point in points:
        r, bound, i = point, MotionBound(0.0, 0.0), body
        while i != WORLD:
            carried = tree.bodies[i]
            r = r if carried.rotor.is_identity else carried.rotor.point(r)
            bound = _through(carried, q[i], v[i], r, radius, bound)
            q_i = q[i] if carried.coupling is None else carried.coupling.q(q[i])
            r = carried.placement.point(carried.call_joint("X", q_i).point(r))
            i = carried.parent
            result[i] = bound.larger(result[i]) if i in result and point is not points[0] else bound
    return result


def check_bounded(body: Body) -> None:
    """Raise TypeError for a joint whose type uses operations that `Enclosure` does not support."""
    joint = body.joint
    if joint.nv == 0 or isinstance(joint, StraightJoint) or constant_twist(joint):
        return
    unknown = f"joint {body.joint_name!r} ({joint.type_name()}): no bound is known for its points' motion"
    try:
        result = largest_twist(joint, joint.zero(), [1.0] * joint.nv)
    except TypeError as error:
        raise TypeError(f"{unknown}: {error}") from None
    if not np.isfinite(result).all():
        raise TypeError(unknown)


def _through(body: Body, q: Scalars, phi: Scalars, m: Vec3, radius: Any, inner: MotionBound) -> MotionBound:
    """Return the motion bounds in the frame before a joint, from the bounds ``inner`` in the frame after it.

    m is the point at the segment's midpoint, in the frame after the joint.
    """
    joint = body.joint
    if body.coupling is not None:
        q, phi = body.coupling.q(q), body.coupling.v(phi)
    off = inner.speed * 0.5 + radius
    if joint.nv == 0:
        return inner
    if isinstance(joint, StraightJoint):
        omega, p_dot = joint.rates(phi)
        turning = length(omega)
        lever = length(omega.cross(m)) + turning * off
        acceleration = turning * (lever + 2.0 * inner.speed) + inner.acceleration
        return MotionBound(lever + inner.speed + length(p_dot), acceleration)
    if constant_twist(joint):
        twist: Motion = body.call_joint("S", q) @ phi
        turning, turned = length(twist.angular), 0.0
        lever = length(twist.angular.cross(m) + twist.linear) + turning * off
    else:
        turning, sliding, turning_rate, sliding_rate = largest_twist(joint, q, phi)
        away = length(m) + off
        lever, turned = turning * away + sliding, turning_rate * away + sliding_rate
    acceleration = turning * (lever + 2.0 * inner.speed) + inner.acceleration + turned
    return MotionBound(lever + inner.speed, acceleration)


def constant_twist(joint: JointType) -> bool:
    """Return True if a joint's twist in its moving frame is constant to 1e-9 along random segments."""
    if joint.nv == 0 or joint.has_fixed_subspaces:
        return True
    rng = np.random.default_rng(0)
    free = np.full(joint.nq, np.inf).tolist()
    for q in joint.random(rng, [-x for x in free], free, (_SAMPLES,)).tolist():
        phi = rng.uniform(-1.0, 1.0, joint.nv).tolist()
        twists = [
            np.array((joint.S(joint.integrate(q, [t * x for x in phi])) @ phi).elements(), dtype=float)
            for t in (0.0, 0.4, 1.0)
        ]
        size = max(1.0, float(np.max(np.abs(twists[0]))))
        if any(float(np.max(np.abs(twist - twists[0]))) > _TWIST_TOLERANCE * size for twist in twists[1:]):
            return False
    return True


def largest_twist(joint: JointType, middle: Scalars, phi: Scalars) -> tuple[Any, Any, Any, Any]:
    """Return bounds on |ω|, |v|, |ω̇| and |v̇| of a joint's twist in its moving frame, on a segment.

    ``middle`` is the segment's midpoint and ``phi`` its difference.  A coordinate whose rate does not depend on the
    configuration moves by at most half of its rate.  Coordinates of a vector of length 1 are within 1, which bounds
    their rates.
    """
    within = {k for indices in joint.unit_length for k in indices}
    start = [Enclosure(0.0, 1.0) if k in within else Enclosure(x, np.inf) for k, x in enumerate(middle)]
    q: list[Any] = list(start)
    for _ in range(2):  # the rates of the second round are bounded by the balls of the first
        rates = joint.q_dot(q, phi)
        q = [Enclosure(x, 0.5 * largest(rate)) for x, rate in zip(middle, rates, strict=True)]
    twist, rate = joint.S(q) @ phi, joint.bias(q, phi)
    return tuple(length(Vec3(*map(largest, v))) for v in (twist.angular, twist.linear, rate.angular, rate.linear))


def length(v: Vec3) -> Any:
    """Return |v|; 0.0 for a vector that is zero at trace time."""
    square = v.dot(v)
    return 0.0 if is_zero(square) else sqrt(square)


class Enclosure:
    """Ball of all values within a radius of a center, for arithmetic that encloses the values of functions."""

    __slots__ = ("center", "radius")
    __array_ufunc__ = None

    _precedence = 1.5  # above symbols, which may be its components; below dual numbers, whose components may be balls

    def __init__(self, center: Any, radius: Any) -> None:
        self.center = center
        self.radius = radius

    def _apply(self, operation: Operation, arguments: tuple[Any, ...]) -> Enclosure:
        rule = {"sin": sin, "cos": cos}.get(operation.name)
        if rule is None:
            raise TypeError(f"{operation.name}: not supported by ball arithmetic")
        return Enclosure(rule(self.center), fmin(self.radius, 2.0))

    def __neg__(self) -> Enclosure:
        return Enclosure(-self.center, self.radius)

    def __add__(self, other: Any) -> Enclosure:
        b, s = _split(other)
        return Enclosure(self.center + b, self.radius + s)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Enclosure:
        b, s = _split(other)
        return Enclosure(self.center - b, self.radius + s)

    def __rsub__(self, other: Any) -> Enclosure:
        return Enclosure(other - self.center, self.radius)

    def __mul__(self, other: Any) -> Any:
        if not isinstance(other, Enclosure):
            return 0.0 if is_zero(other) else Enclosure(self.center * other, fabs(other) * self.radius)
        (a, r), (b, s) = _split(self), _split(other)
        return Enclosure(a * b, fabs(a) * s + fabs(b) * r + r * s)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        if isinstance(other, Enclosure):
            return self.__rtruediv__(other)
        return self * (1.0 / other)

    def __rtruediv__(self, other: Any) -> NoReturn:
        raise TypeError("div: division by a ball is not supported by ball arithmetic")

    def __repr__(self) -> str:
        return f"Enclosure({self.center!r}, {self.radius!r})"


def largest(x: Any) -> Any:
    """Return the maximum absolute value of a scalar, or of all values in a ball."""
    center, radius = _split(x)
    return fabs(center) + radius


def _split(x: Any) -> tuple[Any, Any]:
    return (x.center, x.radius) if isinstance(x, Enclosure) else (x, 0.0)


def pair_levers(tree: Tree, pairs: Sequence[tuple[int, int | None]], slides: Sequence[float]) -> np.ndarray:
    """Return bounds (pairs, nv) on the relative displacement of two shapes per unit of each coordinate [m/rad, m/m].

    ``pairs`` are indices of `link_shapes`; None is an obstacle, which rests in the world.  ``slides`` (bodies) [m] are
    the largest distances from the frame before each joint to the frame after it.  Raises TypeError for a joint whose
    twist has no bound, and ValueError for a shape that moves and is unbounded.
    """
    shapes, sizes = link_shapes(tree), [twist_sizes(body) for body in tree.bodies]
    result = np.zeros((len(pairs), tree.nv))
    for row, (a, b) in zip(result, pairs, strict=True):
        on = [WORLD if k is None else shapes[k].body for k in (a, b)]
        _, *chains = fork(tree, *on)
        for k, chain in zip((a, b), chains, strict=True):
            if k is not None:
                row += _levers(tree, shapes[k], chain, slides, sizes)
    if not np.isfinite(result).all():
        raise ValueError("a shape or a prismatic joint is unbounded, so the displacement of points is unbounded")
    return result


def joint_reaches(tree: Tree, lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
    """Return bounds on the displacement of collision shapes' points per unit of each coordinate (nv,) [m/rad, m/m].

    ``lower`` and ``upper`` (nq,) are the joint limits.

    Raises TypeError for a joint whose twist is not constant or whose configuration is not a vector space, ValueError
    for an unbounded shape or an unbounded prismatic joint.
    """
    slides = []
    for i, body in enumerate(tree.bodies):
        joint = body.joint
        if joint.nq != joint.nv or not (joint.has_fixed_subspaces or (joint.nv == 1 and constant_twist(joint))):
            raise TypeError(
                f"joint {body.joint_name!r} ({joint.type_name()}): no bound is known for its points' displacement"
            )
        ratio, offset = (1.0, 0.0) if body.coupling is None else (body.coupling.ratio, body.coupling.offset)
        far = np.maximum(np.abs(lower[tree.q_slices[i]]), np.abs(upper[tree.q_slices[i]]))
        moved = [(sliding, x) for (_, sliding), x in zip(twist_sizes(body), far.tolist(), strict=True) if sliding]
        slides.append(
            _size(joint.X(joint.zero()).translation) + sum(s * (abs(ratio) * x + abs(offset)) for s, x in moved)
        )
    moving = [(k, None) for k, shape in enumerate(link_shapes(tree)) if shape.body != WORLD]
    result: np.ndarray = pair_levers(tree, moving, slides).max(axis=0, initial=0.0)
    return result


def _levers(
    tree: Tree, shape: LinkShape, chain: Sequence[int], slides: Sequence[float], sizes: Sequence[Any]
) -> np.ndarray:
    """Return the bounds (nv,) for points of a shape relative to the parent of the ``chain`` of bodies to its body."""
    result = np.zeros(tree.nv)
    radius = shape.shape.origin_radius
    arm = _size(shape.placement.translation) + (math.inf if radius is None else radius)
    for i in reversed(chain):
        body = tree.bodies[i]
        arm += _size(body.rotor.translation)  # from the moving frame's origin
        ratio = 1.0 if body.coupling is None else abs(body.coupling.ratio)
        for k, (turning, sliding) in enumerate(sizes[i]):
            lever = sliding + (turning * arm if turning > 0.0 else 0.0)
            result[tree.v_slices[i].start + k] += ratio * lever
        arm += slides[i] + _size(body.placement.translation)
    return result


def twist_sizes(body: Body) -> list[tuple[float, float]]:
    """Return bounds on |ω| and |v| of a joint's twist per unit of each of its velocities, at any configuration."""
    joint = body.joint
    if joint.has_fixed_subspaces or (joint.nv == 1 and constant_twist(joint)):
        columns = joint.S(joint.zero()).columns
        return [(_size(column.angular), _size(column.linear)) for column in columns]
    within = {k for indices in joint.unit_length for k in indices}
    anywhere = [Enclosure(0.0, 1.0 if k in within else math.inf) for k in range(joint.nq)]
    try:
        columns = joint.S(anywhere).columns
        result = [(_size(map(largest, x.angular)), _size(map(largest, x.linear))) for x in columns]
    except TypeError:
        result = [(math.inf, math.inf)] * joint.nv
    if not np.isfinite(result).all():
        raise TypeError(
            f"joint {body.joint_name!r} ({joint.type_name()}): no bound is known for its points' displacement"
        )
    return result


def _size(v: Iterable[Any]) -> float:
    return math.hypot(*(float(x) for x in v))
