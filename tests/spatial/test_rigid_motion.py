"""Accelerations of moving frames, and the wrench that moves a body, against differentiated trajectories.

Frames A(t) in the world W and B(t) in A follow smooth paths; their poses are differentiated at 120 digits.  A body
is a cloud of point masses, whose places in the world are differentiated twice: Newton's law and nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import mpmath
import numpy as np
import pytest

from helpers.paths import Path, path
from helpers.precise import DIGITS, STEP
from helpers.rigid import inertia_matrix, point_cloud
from helpers.scalars import assert_near, every_scalar
from helpers.spatial import Reader, flat_inertia, scalars_of
from linkwork.spatial import Force, Motion, RigidMotion, Vec3

TIMES = [0.0, 0.7, -1.3]


@dataclass(frozen=True)
class State:
    """A path's pose with its twist and the twist's rate in the moving frame, and the origin's acceleration there."""

    pose: np.ndarray  # rotation by rows, then translation
    twist: np.ndarray
    twist_rate: np.ndarray
    acceleration: np.ndarray


def state(pose: Path, t: float) -> State:
    with mpmath.workdps(DIGITS):
        time = mpmath.mpf(t)
        before, now, after = pose(time - STEP), pose(time), pose(time + STEP)
        rate, second = (after - before) / (2 * STEP), (after - 2 * now + before) / STEP**2
        R, p, R1, p1, R2, p2 = (M[:3, k] for M in (now, rate, second) for k in (slice(0, 3), 3))
        spin, spin_rate = R.T * R1, R1.T * R1 + R.T * R2
        v, v_rate = R.T * p1, R1.T * p1 + R.T * p2
        elements = [
            [*R, *p],
            [spin[2, 1], spin[0, 2], spin[1, 0], *v],
            [spin_rate[2, 1], spin_rate[0, 2], spin_rate[1, 0], *v_rate],
            list(R.T * p2),
        ]
        return State(*(np.array([float(x) for x in row]) for row in elements))


def flat(s: State) -> np.ndarray:
    """Angular velocity, angular acceleration, acceleration of the origin."""
    return np.concatenate([s.twist[:3], s.twist_rate[:3], s.acceleration])


def motion(r: Reader) -> RigidMotion:
    return RigidMotion.of(r.vec3(), r.vec3(), r.vec3())


def parts(m: RigidMotion) -> list[Any]:
    return scalars_of([m.angular_velocity, m.angular_acceleration, m.acceleration])


@every_scalar
def test_rigid_motion_through_a_joint_equals_the_differentiated_path(run: Any) -> None:
    samples, expected = [], []
    for seed in range(3):
        A, B = path(2 * seed), path(2 * seed + 1)
        for t in TIMES:
            first, second, both = state(A, t), state(B, t), state(lambda t, A=A, B=B: A(t) * B(t), t)
            samples.append(np.concatenate([flat(first), second.pose, second.twist, second.twist_rate]))
            expected.append(flat(both))

    def function(x: list[Any]) -> list[Any]:
        r = Reader(x)
        return parts(motion(r).through(r.pose(), r.motion(), r.motion()))

    for result, reference in zip(run(function, np.array(samples)), expected, strict=True):
        assert_near(result, reference, times=32.0)


@every_scalar
def test_wrench_of_an_accelerated_rigid_body_equals_that_of_its_points(run: Any) -> None:
    samples, expected = [], []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        pose, (masses, points) = path(10 + seed), point_cloud(rng, n=5)
        for t in TIMES:
            s = state(pose, t)
            samples.append(np.concatenate([flat(s), flat_inertia(inertia_matrix(masses, points))]))
            expected.append(wrench_of_points(pose, t, masses, points))

    def function(x: list[Any]) -> list[Any]:
        r = Reader(x)
        return list(motion(r).wrench(r.inertia()).elements())

    for result, reference in zip(run(function, np.array(samples)), expected, strict=True):
        assert_near(result, reference, times=64.0)


def wrench_of_points(pose: Path, t: float, masses: np.ndarray, points: np.ndarray) -> np.ndarray:
    """The sum of (r × f; f) of the forces f = m r̈ on the points, in the body's axes and about its origin."""
    with mpmath.workdps(DIGITS):
        time = mpmath.mpf(t)
        before, now, after = pose(time - STEP), pose(time), pose(time + STEP)
        total = [mpmath.mpf(0)] * 6
        for mass, point in zip(masses.tolist(), points.tolist(), strict=True):
            r = mpmath.matrix([*point, 1.0])
            f = now[:3, :3].T * (mass * ((after * r - 2 * (now * r) + before * r) / STEP**2)[:3, 0])
            n = [r[1] * f[2] - r[2] * f[1], r[2] * f[0] - r[0] * f[2], r[0] * f[1] - r[1] * f[0]]
            total = [a + b for a, b in zip(total, [*n, *f], strict=True)]
        return np.array([float(x) for x in total])


def test_acceleration_of_a_body_point_follows_from_the_angular_acceleration_matrix() -> None:
    """p̈ + Ω r is the acceleration of the point at r, Ω = [ω̇×] + [ω×][ω×]."""
    s, r = state(path(20), 0.4), np.array([0.3, -0.8, 0.5])
    m = motion(Reader(flat(s).tolist()))
    w, w_dot = s.twist[:3], s.twist_rate[:3]
    expected = s.acceleration + np.cross(w_dot, r) + np.cross(w, np.cross(w, r))
    assert_near(list(m.acceleration + m.omega @ Vec3.of(r.tolist())), expected, times=16.0)


def test_wrench_of_an_accelerated_rigid_body_satisfies_newton_and_euler() -> None:
    """n = J ω̇ + ω × J ω + h × p̈, f = m p̈ + ω̇ × h + ω × (ω × h)."""
    s = state(path(21), -0.2)
    M = inertia_matrix(*point_cloud(np.random.default_rng(5)))
    m, (mass, *h), J = motion(Reader(flat(s).tolist())), flat_inertia(M)[:4], M[:3, :3]
    w, w_dot, a = s.twist[:3], s.twist_rate[:3], s.acceleration
    n = J @ w_dot + np.cross(w, J @ w) + np.cross(h, a)
    f = mass * a + np.cross(w_dot, h) + np.cross(w, np.cross(w, h))
    F = m.wrench(Reader(flat_inertia(M).tolist()).inertia())
    assert_near(list(F.elements()), np.concatenate([n, f]), times=32.0)


@pytest.mark.parametrize("seed", range(3))
def test_power_of_the_wrench_on_a_spinning_body_is_the_rate_of_its_energy(seed: int) -> None:
    """A body spinning freely: ω · n is the rate of its energy, zero where ω̇ solves Euler's equation."""
    rng = np.random.default_rng(seed)
    M = inertia_matrix(*point_cloud(rng))
    J, w = M[:3, :3], rng.normal(size=3)
    w_dot = -np.linalg.solve(J, np.cross(w, J @ w))
    body = Reader(flat_inertia(M).tolist()).inertia()
    m = RigidMotion.of(Vec3.of(w.tolist()), Vec3.of(w_dot.tolist()), Vec3.zero())
    assert_near(list(m.wrench(body).moment), np.zeros(3), times=64.0, scale=float(np.linalg.norm(J) * (1.0 + w @ w)))


def test_resting_body_needs_its_weight_as_supporting_wrench() -> None:
    """A body at rest weighs m g: it is held up by −m g at its centre of mass."""
    M = inertia_matrix(*point_cloud(np.random.default_rng(1)))
    mass, *h = flat_inertia(M)[:4]
    resting = RigidMotion.of_fixed_base(Vec3(0.0, 0.0, -9.81))
    F = resting.wrench(Reader(flat_inertia(M).tolist()).inertia())
    assert_near(list(F.elements()), np.concatenate([np.cross(h, [0.0, 0.0, 9.81]), [0.0, 0.0, 9.81 * mass]]), times=8.0)
    assert resting.angular_velocity == resting.angular_acceleration == Vec3.zero()


def test_steadily_spinning_frame_has_centripetal_acceleration_only() -> None:
    w = np.array([0.3, -1.0, 2.0])
    steady = RigidMotion.spinning(Vec3.of(w.tolist()))
    assert steady.acceleration == steady.angular_acceleration == Vec3.zero()
    assert_near(list(steady.omega @ Vec3(1.0, 2.0, 3.0)), np.cross(w, np.cross(w, [1.0, 2.0, 3.0])), times=8.0)
    assert steady.spatial_rate == Motion.zero()
    moving = RigidMotion.of(Vec3(1.0, 2.0, 3.0), Vec3(4.0, 5.0, 6.0), Vec3(7.0, 8.0, 9.0))
    assert moving.spatial_rate == Motion(Vec3(4.0, 5.0, 6.0), Vec3(7.0, 8.0, 9.0))
    assert isinstance(moving.wrench(Reader([1.0] * 10).inertia()), Force)


def test_rigid_motion_through_a_resting_joint_is_a_change_of_frame() -> None:
    """The wrench on a body is the same wrench in the other frame."""
    s = state(path(30), 0.1)
    X = Reader(state(path(31), 0.0).pose.tolist()).pose()
    before = motion(Reader(flat(s).tolist()))
    after = before.through(X, Motion.zero(), Motion.zero())
    M = inertia_matrix(*point_cloud(np.random.default_rng(2)))
    body = Reader(flat_inertia(M).tolist()).inertia()
    assert_near(list((X @ after.wrench(body)).elements()), list(before.wrench(X @ body).elements()), times=64.0)
