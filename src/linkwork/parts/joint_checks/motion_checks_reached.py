"""Lines of the contract: the way back, from poses and twists to a joint's numbers."""

from __future__ import annotations

import math

import numpy as np

from linkwork.expr.autodiff.dual_numbers import parts, seeded
from linkwork.joints import JointType
from linkwork.parts.joint_checks.check_context import TOLERANCE, Line, Trial, off
from linkwork.spatial import Motion, Pose, Rotation, Vec3

__all__ = ["REACHED", "reaches"]


def reaches(joint: JointType) -> bool:
    """Whether a type says itself what is nearest to a pose; the contract's search takes its time."""
    return not (type(joint).q_of is JointType.q_of and type(joint).gap is JointType.gap)


def _configuration(t: Trial) -> list[float]:
    return [off(t.type.X(t.type.q_of(X)).elements(), X.elements()) for X in (t.type.X(q) for q, _ in t.states())]


def _velocity(t: Trial) -> list[float]:
    """The motions' own velocities, and of any twist what is left is across them."""
    rng, errors = np.random.default_rng(13), []
    for q, v in t.states():
        S = t.type.S(q)
        errors.append(off(t.type.v_of_twist(q, S @ v), v))
        V = Motion.of(rng.normal(size=6).tolist())
        left = S @ t.type.v_of_twist(q, V) - V
        along = [sum(a * b for a, b in zip(C.elements(), left.elements(), strict=True)) for C in S.columns]
        errors.append(off(along, [0.0] * t.type.nv))
    return errors


def _gap(t: Trial) -> list[float]:
    """Nothing at poses of the joint, the twist that leads there next to them, and something half a turn away."""
    if not reaches(t.type):
        return []
    rng, errors, states = np.random.default_rng(14), [], t.states()
    for q, _ in states:
        X, V = t.type.X(q), Motion.of(rng.normal(size=6).tolist())
        wrenches = t.type.constraint_wrench_subspace(t.type.q_of(X))
        moving, level = _moving(X, V)
        gap = t.type.gap(moving)
        found = [parts(gap.dot(F), level) for F in wrenches]
        errors.append(off([x for x, _ in found], [0.0] * len(found)))
        errors.append(off([rate for _, rate in found], [V.dot(F) for F in wrenches]))
    for k, (q, _) in enumerate(states[:3]):
        axis = Vec3.of([float(i == k) for i in range(3)])
        X = t.type.X(q) @ Pose(Rotation.about(axis, math.pi), Vec3.zero())
        q, gap = t.type.q_of(X), t.type.gap(X)
        missed = off(t.type.X(q).elements(), X.elements())
        told = max((abs(float(gap.dot(F))) for F in t.type.constraint_wrench_subspace(q)), default=0.0)
        if missed > 1e-6 and told < 1e-3 * missed:
            raise ValueError(f"gap: {told:.1e} for a pose that the nearest configuration, {q}, misses by {missed:.1e}")
    return errors


def _moving(X: Pose, V: Motion) -> tuple[Pose, int]:
    """The pose, a dual number whose rate is that of moving with a twist, in its own coordinates."""
    R, w = X.rotation.T, V.angular
    rows = [w.cross(row) * -1.0 for row in (R.T.x, R.T.y, R.T.z)]  # of Ṙ = R [ω×]
    rates = [*rows[0], 0.0, *rows[1], 0.0, *rows[2], 0.0]
    rates[3::4] = [*(X.rotation @ V.linear)]
    numbers = [float(x) for x in X.elements()[:12]]
    moving = seeded(numbers, [float(x) for x in rates])
    return Pose.of_elements([*moving, 0.0, 0.0, 0.0, 1.0]), moving[0].level


REACHED = (
    Line("q_of", "X(q_of(X(q))) = X(q)", TOLERANCE, _configuration),
    Line("v_of_twist", "v_of_twist(q, S v) = v, and what is left of any twist is across S", TOLERANCE, _velocity),
    Line("gap", "the twist to a pose, as wrenches T feel it; zero at the joint's poses alone", TOLERANCE, _gap),
)
