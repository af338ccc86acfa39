"""Bounds of how bodies of large robots move relative to each other along a segment, from sums along the tree.

What `motion_bounds` finds for a body and each of its ancestors are n² numbers of a chain of n joints.  Here each body
has six, and the bounds of any pair follow from them.

Joint k has its moving frame M_k.  On the segment, of unit time, let |ω_k| ≤ τ_k and |v_k| ≤ u_k bound its twist there,
|ω̇_k| ≤ α_k and |v̇_k| ≤ β_k its rate.  From M_k's origin to the next it is never farther than a length, and D_k is the
sum of these from the world on.  A point that is within e of the origin of M_j is no farther than R − D_k, R = D_j + e,
from that of any M_k on the way to it, whatever the configuration.  So joint k moves it by no more than

    l_k = τ_k (R − D_k) + u_k,

and the bounds of `motion_bounds`, from a body f that carries j outward, are

    s = Σ l_k,    a = Σ τ_k (l_k + 2 Σ_{i>k} l_i) + α_k (R − D_k) + β_k        (f < k ≤ j).

With T_k = Σ τ up to k, the double sum is Σ l_k (2 T_k − τ_k − 2 T_f), and τ_k (2 T_k − τ_k) = T_k² − T_{k−1}².  So

    s = R (T_j − T_f) + P_j − P_f,
    a = R (T_j² − T_f²) + B_j − B_f − 2 T_f s + R (A_j − A_f) + H_j − H_f,

with the sums P of u − τ D, B of (u − τ D)(2 T − τ), A of α and H of β − α D.  A straight chain has the bounds that
`motion_bounds` gives; one that is curled up has larger ones, since R − D_k is the way along the links.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from linkwork.collision.algorithms.displacement_bounds import MotionBound, constant_twist, largest_twist, length
from linkwork.expr.scalar.functions import fabs, fmax
from linkwork.joints.straight_motion import StraightJoint
from linkwork.model.body import WORLD, Body
from linkwork.model.tree import Tree
from linkwork.spatial import Motion

__all__ = ["PathSums", "bound_between", "path_sums"]

Scalars = Sequence[Any]

_ROUNDING = 1e-13  # of what sums consist of: more than differences of them lose in chains of 10⁴ joints


class PathSums(NamedTuple):
    """The sums of a body's joints from the world on."""

    T: Any  # [rad]
    D: Any  # [m]
    P: Any  # [m]
    B: Any  # [m]
    A: Any  # [rad]
    H: Any  # [m]


def path_sums(tree: Tree, middle: Scalars, phi: Scalars) -> list[PathSums]:
    """The sums by body, the world's last, of the segment whose middle is a configuration (nq), along φ (nv)."""
    q, v = tree.split_q(middle), tree.split_v(phi)
    found = {WORLD: PathSums(0.0, 0.0, 0.0, 0.0, 0.0, 0.0)}
    for i, parent, body in tree.outward():
        found[i] = _after(found[parent], None if parent == WORLD else tree.bodies[parent], body, q[i], v[i])
    return [*(found[i] for i in range(len(tree.bodies))), found[WORLD]]


def bound_between(reach: Any, outer: Scalars, shared: Scalars) -> MotionBound:
    """The bounds of points of a body relative to one that carries it, from the `PathSums` of both.

    ``reach`` is R of the points: D of the body's joint, and how far the farthest is from its moving frame's origin.
    """
    far, near = PathSums(*outer), PathSums(*shared)
    speed = reach * (far.T - near.T) + (far.P - near.P)
    speed = fmax(speed, 0.0) + _ROUNDING * (reach * far.T + fabs(far.P))
    turned = far.T * far.T - near.T * near.T + far.A - near.A
    acceleration = reach * turned + (far.B - near.B) + (far.H - near.H) - 2.0 * near.T * speed
    lost = reach * (far.T * far.T + far.A) + fabs(far.B) + fabs(far.H) + 2.0 * far.T * speed
    return MotionBound(speed, fmax(acceleration, 0.0) + _ROUNDING * lost)


def _after(before: PathSums, parent: Body | None, body: Body, q: Scalars, phi: Scalars) -> PathSums:
    """The sums with one more joint."""
    joint = body.joint
    if body.coupling is not None:
        q, phi = body.coupling.q(q), body.coupling.v(phi)
    turning, sliding, turned, slid = _rates(body, q, phi)
    base = body.placement if parent is None or parent.rotor.is_identity else parent.rotor @ body.placement
    D = before.D + length(base.translation)
    if joint.nv:
        D = D + length(body.asked("X", q).translation) + 0.5 * sliding
    else:
        D = D + length(joint.X([]).translation)
    T = before.T + turning
    own = sliding - turning * D
    return PathSums(
        T,
        D,
        before.P + own,
        before.B + own * (T + before.T),
        before.A + turned,
        before.H + (slid - turned * D),
    )


def _rates(body: Body, q: Scalars, phi: Scalars) -> tuple[Any, Any, Any, Any]:
    """The largest |ω|, |v|, |ω̇| and |v̇| of a joint's twist in its moving frame."""
    joint = body.joint
    if joint.nv == 0:
        return 0.0, 0.0, 0.0, 0.0
    if isinstance(joint, StraightJoint):
        omega, p_dot = joint.rates(phi)
        return length(omega), length(p_dot), 0.0, 0.0
    if constant_twist(joint):
        twist: Motion = body.asked("S", q) @ phi
        return length(twist.angular), length(twist.linear), 0.0, 0.0
    return largest_twist(joint, q, phi)
