"""Dependent motions of a joint: nearly, at single configurations, and everywhere."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from helpers.joints import EVERY, THEIRS
from helpers.precise import precisely
from helpers.scalars import every_scalar
from linkwork.joints import (
    Composite,
    FloatingEuler,
    JointType,
    Planar,
    Prismatic,
    Reversed,
    Revolute,
    SphericalEuler,
    Translational,
)
from linkwork.joints.base.from_transform import Span
from linkwork.spatial import Pose, Rotation, Vec3

X, Y, Z = Vec3(1.0, 0.0, 0.0), Vec3(0.0, 1.0, 0.0), Vec3(0.0, 0.0, 1.0)
AXES = (X, Y, Z)
A = Vec3(2.0 / 7.0, -3.0 / 7.0, 6.0 / 7.0)
W = [0.3, -1.0, 2.0, 0.7, 1.1, -0.4]


def at(x: float, y: float, z: float) -> Pose:
    return Pose(Rotation.about(A, 0.4), Vec3(x, y, z))


def columns(joint: JointType, q: list[float]) -> list[list[float]]:
    return [[float(x) for x in column.elements()] for column in joint.S(q).columns]


def exactly_projected(joint: JointType, q: list[float], w: list[float]) -> np.ndarray:
    """The projection onto the span of S, all of it in 50 digits, by Gram and Schmidt: S must have full rank."""

    def project(x: list[Any]) -> list[Any]:
        basis: list[list[Any]] = []
        for column in joint.S(x).columns:
            r = list(column.elements())
            for b in basis:
                along = sum(s * t for s, t in zip(r, b, strict=True))
                r = [s - along * t for s, t in zip(r, b, strict=True)]
            size = sum(s * s for s in r) ** 0.5
            basis.append([s / size for s in r])
        amounts = [sum(s * t for s, t in zip(w, b, strict=True)) for b in basis]
        return [sum(a * b[i] for a, b in zip(amounts, basis, strict=True)) for i in range(6)]

    return np.array([float(x) for x in precisely(project, q)])


WRIST = Composite((Revolute(Z), Revolute(Y), Revolute(Z)), (at(0.1, 0, 0), Pose.identity(), Pose.identity()))


@pytest.mark.parametrize("by", [0.3, 1e-3, 1e-6, 1e-8, 1e-10])
def test_joint_wrenches_near_gimbal_lock_are_split_with_the_stated_accuracy(by: float) -> None:
    """A direction of size σ is accurate to about ten times rounding/σ."""
    for joint, q in (
        (SphericalEuler("xyz"), [0.3, math.pi / 2 - by, -0.8]),
        (SphericalEuler("zxz"), [0.3, by, -0.8]),
        (FloatingEuler("zyx"), [0.2, -math.pi / 2 + by, 0.7, 1.0, -2.0, 0.5]),
        (WRIST, [0.3, by, -0.8]),
    ):
        placed = lw.Joint.of(joint, name="wrist")
        split = placed.split_wrench(q, W)
        assert np.max(np.abs(split.joint_force - exactly_projected(joint, q, W))) <= 1e-14 + 2e-15 / by
        T = placed.constraint_wrench_subspace(q)
        assert np.max(np.abs(T.T @ np.array(columns(joint, q)).T), initial=0.0) <= 1e-15 * 8
        assert np.max(np.abs(T.T @ T - np.eye(6 - joint.nv)), initial=0.0) <= 1e-14


LOCKED = [
    (SphericalEuler("xyx"), [0.3, 0.0, 0.8], 2),
    (WRIST, [0.3, 0.0, -0.8], 2),
    (Composite((Planar(), Prismatic(A))), [0.1, 0.2, 0.3, 0.4], 4),
    (Composite((Translational(), Revolute(Z), Revolute(A)), (at(0, 0, 0),) * 3), [0.1, 0.2, 0.3, 0.4, 0.5], 5),
]


@pytest.mark.parametrize(("joint", "q", "rank"), LOCKED, ids=[f"{joint.type_name()}-{r}" for joint, _, r in LOCKED])
@every_scalar
def test_joint_wrenches_are_split_if_columns_of_the_motion_subspace_are_dependent(
    joint: JointType, q: list[float], rank: int, run: Any
) -> None:
    """Finite and orthogonal to S at dependent motions too, on every scalar."""
    S = np.array(columns(joint, q)).T
    assert np.linalg.matrix_rank(S, tol=1e-12) == rank
    U = np.linalg.svd(S)[0][:, :rank]

    def function(q: list[Any]) -> list[Any]:
        span = Span.of([column.elements() for column in joint.S(q).columns])
        wrenches = JointType.constraint_wrench_subspace(joint, q)
        return [*span.projected(W), *(x for T in wrenches for x in T.elements())]

    for result in run(function, np.array([q])):
        assert np.max(np.abs(result[:6] - U @ U.T @ W)) <= 4e-15
        T = result[6:].reshape(-1, 6).T
        assert np.max(np.abs(T.T @ S), initial=0.0) <= 4e-15
        assert np.max(np.abs(T.T @ T - np.eye(6 - joint.nv)), initial=0.0) <= 4e-15


def test_nearly_dependent_columns_are_left_out_of_the_span_of_a_motion_subspace() -> None:
    """The middle one of a, a + 1e-10 b and b is dependent: noise is not taken for a third direction."""
    a, b = np.linalg.qr(np.random.default_rng(0).normal(size=(6, 2)))[0].T
    span = Span.of([a.tolist(), (a + 1e-10 * b).tolist(), b.tolist()])
    exact = np.outer(a, a) + np.outer(b, b)
    assert np.max(np.abs(np.array(span.projected(W)) - exact @ W)) <= 4e-15
    assert [bool(x) for x in span.is_independent] == [True, True, False]
    zero = Span.of([[0.0] * 6, a.tolist()])
    assert np.max(np.abs(np.array(zero.projected(W)) - a * (a @ W))) <= 4e-15


# -- everywhere


@dataclass(frozen=True)
class Motionless(JointType):
    """A velocity that moves nothing."""

    nq, nv = 1, 1
    q_units, v_units = ("rad",), ("rad/s",)

    @classmethod
    def example(cls, rng: np.random.Generator) -> Motionless:
        return cls()

    def X(self, q: Any) -> Pose:
        return Pose(Rotation.identity(), Vec3(0.0 * q[0], 0.1, 0.0))


@dataclass(frozen=True)
class Seven(JointType):
    """Seven hinges in a row."""

    nq, nv = 7, 7
    q_units, v_units = ("rad",) * 7, ("rad/s",) * 7

    @classmethod
    def example(cls, rng: np.random.Generator) -> Seven:
        return cls()

    def X(self, q: Any) -> Pose:
        X = Pose.identity()
        for k in range(7):
            X = X @ Pose(Rotation.about(AXES[k % 3], q[k]), Vec3(0.1, 0.0, 0.0))
        return X


REFUSED = [
    (
        Motionless(),
        r"joint 'knee' \(motionless\): motions: expected 1 linearly independent col.*, got 1, of which 0 are",
    ),
    (Seven(), r"joint 'knee' \(seven\): nv: expected at most 6 degrees of freedom, got 7"),
    (Composite((Revolute(Z),) * 6), r"expected 6 linearly independent columns of S, got 6, of which 1 is independent"),
    (
        Reversed(Composite((Planar(), Revolute(Z)))),
        r"'knee' \(reversed\): motions: .* 4, of which 3 are independent",
    ),
]


@pytest.mark.parametrize(("joint", "message"), REFUSED, ids=[joint.type_name() for joint, _ in REFUSED])
def test_joint_types_with_always_dependent_motions_are_refused(joint: JointType, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        lw.Joint.of(joint, name="knee")
    robot = lw.load("arm7")
    elbow = robot.joint("elbow")
    with pytest.raises(ValueError, match=message.replace("knee", "elbow")):
        elbow.with_type(joint)
    S = np.array(columns(joint, [0.3] * joint.nq))
    assert joint.num_constraints == 6 - np.linalg.matrix_rank(S, tol=1e-9)


def test_composite_joint_of_six_independent_hinges_is_treated_as_floating() -> None:
    offsets = (at(0.1, 0.2, 0.3), at(0.0, 0.5, 0.0), at(0.2, 0.0, 0.0), at(0.0, 0.0, 0.4), at(0.3, 0, 0), at(0, 0.1, 0))
    arm = Composite((Revolute(Z), Revolute(X), Revolute(Y), Revolute(Z), Revolute(Y), Revolute(X)), offsets)
    assert (arm.num_constraints, arm.is_floating) == (0, True)
    assert lw.Joint.of(arm).is_floating
    parallel = Composite((Revolute(Z),) * 6, offsets)
    assert parallel.num_constraints == 0  # the placements turn the axes
    assert Composite((Revolute(Z),) * 6).num_constraints == 5


def test_kind_of_a_joint_follows_from_its_motion_subspace() -> None:
    for joint in EVERY.values():
        q = joint.random(np.random.default_rng(1), [-np.inf] * joint.nq, [np.inf] * joint.nq, (4,)).tolist()
        S = [np.array(columns(joint, configuration)).reshape(-1, 6) for configuration in q]
        assert max(np.linalg.matrix_rank(s) if s.size else 0 for s in S) == 6 - joint.num_constraints == joint.nv
        assert joint.is_floating == (joint.nv == 6)
        assert joint.has_fixed_subspaces == (np.ptp(S, axis=0).max(initial=0.0) <= 1e-12)
    assert THEIRS["helical"].has_fixed_subspaces and not THEIRS["cam"].has_fixed_subspaces
