"""How far points of a body can move along a straight segment of configurations, and how fast they turn off.

The segment is q(t) = q₀ ⊕ t φ, φ = q₁ ⊖ q₀, t from 0 to 1: every joint moves at the constant velocity φ_i.  Let a point
p be fixed to body n, and let the joints between an ancestor, body 0, and body n be 1 … n.  In the frame M_i after joint
i the point is at r_i(t), with r_n at rest and r_{i−1} = X_i r_i, where X_i is the pose of M_i in M_{i−1}.  The joint's
twist in M_i is (ω_i; v_i) = S_i(q_i) φ_i.  So with R_i the rotation of X_i

    ṙ_{i−1} = R_i (ω_i × r_i + v_i + ṙ_i)
    r̈_{i−1} = R_i (ω_i × (ω_i × r_i + v_i) + 2 ω_i × ṙ_i + r̈_i + ω̇_i × r_i + v̇_i).

Rotations keep lengths.  If |ṙ_i| ≤ s_i and |r̈_i| ≤ a_i on the whole segment, and |ω_i × r_i + v_i| ≤ l_i, then

    s_{i−1} = l_i + s_i,    a_{i−1} = |ω_i| l_i + 2 |ω_i| s_i + a_i + |ω̇_i| |r_i| + |v̇_i|

bound the next ones, and s_n = a_n = 0 begin.  What is left is l_i: in half of the segment r_i moves by at most s_i / 2,
so it is never farther than that from where it is in the middle, at m_i.  Where the twist is constant in M_i, as it is
for hinges, sliders, screws and whatever moves by an exponential,

    l_i = |ω_i × m_i + v_i| + |ω_i| s_i / 2,

which knows the distance from a hinge's axis.  A joint whose origin goes straight (`linkwork.joints.straight_motion`)
is a turn at a constant ω_i about that origin, l_i = |ω_i × m_i| + |ω_i| s_i / 2, and a translation after it at a
constant rate, which adds |ṗ_i| to the speed and nothing to the acceleration.  For other joints largest values of ω_i,
v_i and their rates come from evaluating S(q) φ and Ṡ φ on balls that hold the whole segment, and l_i = |ω_i| (|m_i| +
s_i / 2) + |v_i|. All points within ρ of p move at most ρ |ω_i| faster in each joint: l_i grows by that, and so does
|r_i| by ρ.  The functions that are bounded are convex in the point, so bounds for the ends of a line hold between them.

The bounds are relative to the ancestor: two bodies of one robot move relative to the last body that carries both.

Sources: Schwarzer, Saha and Latombe, Adaptive dynamic collision checking for single and multiple articulated robots in
complex environments, 2005; Zhang, Redon, Lee and Kim, Continuous collision detection for articulated models using
Taylor models and temporal culling, 2007.

Numbers that are known up to a radius, over any scalar: what a function may give while its arguments move.

A function over any scalar that is given `Enclosure` numbers gives one that holds all its values: |x − center| ≤ radius
for every choice of the arguments within theirs.  What is no sum, product, sine or cosine is refused with a TypeError.

Source: van der Hoeven, Ball arithmetic, 2010.

How far points of a robot can be from where its joints turn.

A point p that a joint carries, at r in the joint's moving frame, moves by the twist (ω; v) there by ω × r + v, so no
farther than |ω| |r| + |v| by a unit of the joint's number, as long as the twist stays: on the whole of a straight
segment Σ_k (|ω_k| r_k + |v_k|) |Δq_k| bounds the way.  r is bounded by the lengths from frame to frame, and by how far
joints slide within their limits.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from linkwork.expr.linalg.sparse_dot import is_zero
from linkwork.expr.scalar.functions import cos, fabs, fmax, fmin, sin, sqrt
from linkwork.expr.scalar.operations import Operation
from linkwork.joints import JointType
from linkwork.joints.straight_motion import StraightJoint
from linkwork.model.body import WORLD, Body
from linkwork.model.collision_pairs import link_shapes
from linkwork.model.tree import Tree
from linkwork.spatial import Motion, Vec3

__all__ = ["Enclosure", "MotionBound", "check_bounded", "constant_twist", "joint_reaches", "largest", "motion_bounds"]


Scalars = Sequence[Any]
_SAME = 1e-9  # of a twist, relative to its size
_SAMPLES = 8


@dataclass(frozen=True, slots=True)
class MotionBound:
    """What no point of a body exceeds on the segment, relative to another body, the segment taking unit time."""

    speed: Any  # [m]: also how far it moves on the whole segment
    acceleration: Any  # [m]

    def __add__(self, other: MotionBound) -> MotionBound:
        return MotionBound(self.speed + other.speed, self.acceleration + other.acceleration)

    def larger(self, other: MotionBound) -> MotionBound:
        """What exceeds neither."""
        return MotionBound(fmax(self.speed, other.speed), fmax(self.acceleration, other.acceleration))


def motion_bounds(
    tree: Tree, middle: Scalars, phi: Scalars, body: int, points: Sequence[Vec3], radius: Any = 0.0
) -> dict[int, MotionBound]:
    """By ancestor of a body, the world included: bounds of how the convex hull of points moves, each grown by a radius.

    ``middle`` is the configuration half way (nq), ``phi`` the way (nv), both of any scalar; points are in the body's
    coordinates [m].  Raises TypeError for a joint whose motion nothing bounds: see `check_bounded`.
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
    """Raises TypeError for a joint whose motion nothing bounds: its type uses what `Enclosure` does not know."""
    joint = body.joint
    if joint.nv == 0 or isinstance(joint, StraightJoint) or constant_twist(joint):
        return
    result = largest_twist(joint, joint.zero(), [1.0] * joint.nv)
    if not np.isfinite(result).all():
        raise TypeError(f"joint {body.joint_name!r} ({joint.type_name()}): nothing bounds how its configuration moves")


def _through(body: Body, q: Scalars, phi: Scalars, m: Vec3, radius: Any, inner: MotionBound) -> MotionBound:
    """The bounds in the frame before a joint, from those in the frame after it; m is where the point is half way."""
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
    """Whether the twist in M is the same all along every segment, as far as random ones tell, within 1e-9."""
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
        if any(float(np.max(np.abs(twist - twists[0]))) > _SAME * size for twist in twists[1:]):
            return False
    return True


def largest_twist(joint: JointType, middle: Scalars, phi: Scalars) -> tuple[Any, Any, Any, Any]:
    """The largest |ω|, |v|, |ω̇| and |v̇| of a joint's twist in M, on the segment through a configuration half way.

    Numbers whose rate does not depend on the configuration move by half of it; those that together have length 1 are
    within 1 at first, which bounds their rates.
    """
    within = {k for places in joint.unit_length for k in places}
    start = [Enclosure(0.0, 1.0) if k in within else Enclosure(x, np.inf) for k, x in enumerate(middle)]
    q: list[Any] = list(start)
    for _ in range(2):  # the rates of the second round are bounded by the balls of the first
        rates = joint.q_dot(q, phi)
        q = [Enclosure(x, 0.5 * largest(rate)) for x, rate in zip(middle, rates, strict=True)]
    twist, rate = joint.S(q) @ phi, joint.bias(q, phi)
    return tuple(length(Vec3(*map(largest, v))) for v in (twist.angular, twist.linear, rate.angular, rate.linear))


def length(v: Vec3) -> Any:
    """|v|, which is no root where one coordinate is all there is."""
    square = v.dot(v)
    return 0.0 if is_zero(square) else sqrt(square)


class Enclosure:
    """All numbers within a radius of a center, both of any scalar."""

    __slots__ = ("center", "radius")
    __array_ufunc__ = None

    _precedence = 1.5  # above symbols, which may be parts; below dual numbers, whose parts may be balls

    def __init__(self, center: Any, radius: Any) -> None:
        self.center = center
        self.radius = radius

    def _apply(self, operation: Operation, arguments: tuple[Any, ...]) -> Enclosure:
        rule = {"sin": sin, "cos": cos}.get(operation.name)
        if rule is None:
            raise TypeError(f"{operation.name}: nothing bounds it over a range")
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
            raise TypeError("div: nothing bounds it over a range")
        return self * (1.0 / other)

    def __repr__(self) -> str:
        return f"Enclosure({self.center!r}, {self.radius!r})"


def largest(x: Any) -> Any:
    """The largest absolute value."""
    center, radius = _split(x)
    return fabs(center) + radius


def _split(x: Any) -> tuple[Any, Any]:
    return (x.center, x.radius) if isinstance(x, Enclosure) else (x, 0.0)


def joint_reaches(tree: Tree, lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
    """By number of v (nv,): how far any point of a collision shape moves at most by a unit of it [m/rad, m/m], between
    limits (nq,).

    Raises TypeError for joints whose twists do not stay, or whose configurations are no plain numbers, ValueError where
    a shape, or a joint that slides, has no end.
    """
    far = np.full(len(tree.bodies), -math.inf)  # from the body's origin, of what it carries: of nothing, −∞
    for one in link_shapes(tree):
        if one.body != WORLD:
            reach = math.inf if one.shape.origin_radius is None else one.shape.origin_radius
            far[one.body] = max(far[one.body], _size(one.placement.translation) + reach)
    result = np.zeros(tree.nv)
    for i in reversed(range(len(tree.bodies))):  # children come after their parents
        body = tree.bodies[i]
        joint = body.joint
        if joint.nq != joint.nv or not (joint.has_fixed_subspaces or (joint.nv == 1 and constant_twist(joint))):
            raise TypeError(f"joint {body.joint_name!r} ({joint.type_name()}): nothing bounds how far it takes points")
        own = far[i] + _size(body.rotor.translation)  # from the moving frame's origin
        slide = _size(joint.X(joint.zero()).translation)
        ratio, offset = (1.0, 0.0) if body.coupling is None else (body.coupling.ratio, body.coupling.offset)
        low, high = lower[tree.q_slices[i]], upper[tree.q_slices[i]]
        for k, column in enumerate(joint.S(joint.zero()).columns):
            turning, sliding = _size(column.angular), _size(column.linear)
            if own > -math.inf:
                result[tree.v_slices[i].start + k] += abs(ratio) * (sliding + (turning * own if turning > 0.0 else 0.0))
            if sliding > 0.0:
                slide += sliding * (abs(ratio) * max(abs(low[k]), abs(high[k])) + abs(offset))
        if body.parent != WORLD:
            far[body.parent] = max(far[body.parent], own + slide + _size(body.placement.translation))
    if not np.isfinite(result).all():
        raise ValueError("a shape, or a joint that slides, has no end, so nothing bounds how far points move")
    return result


def _size(v: Iterable[Any]) -> float:
    return math.hypot(*(float(x) for x in v))
