"""Moving masses, and the momentum that a joint gives them, against sums over points."""

from __future__ import annotations

from typing import Any

import numpy as np

from helpers.rigid import random_pose, skew
from linkwork.spatial import Inertia, Matrix3, Motion, Pose, Symmetric3, Vec3
from linkwork.spatial.rigid_motion import MovingInertia


def of_points(m: Any, r: Any, r_dot: Any) -> MovingInertia:
    """The twenty-two numbers of point masses (n,) at r (n, 3) that move by ṙ (n, 3)."""
    J = sum(k * skew(x).T @ skew(x) for k, x in zip(m, r, strict=True))
    inertia = Inertia(float(m.sum()), Vec3.of(m @ r), Symmetric3(*J[np.triu_indices(3)]))
    P = np.einsum("n,ni,nj->ij", m, r_dot, r)
    return MovingInertia(inertia, Vec3.of(m @ r_dot), Matrix3(*map(Vec3.of, P.tolist())))


def flat_elements(inertia: MovingInertia) -> np.ndarray:
    I, P = inertia.inertia, inertia.second_moment_rate
    return np.array([I.mass, *I.moment, *I.about.elements(), *inertia.moment_rate, *P.x, *P.y, *P.z])


def cloud(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.uniform(0.1, 1.0, 9), rng.normal(size=(9, 3)), rng.normal(size=(9, 3))


def near(actual: Any, expected: Any) -> None:
    np.testing.assert_allclose(np.asarray(actual, dtype=float), expected, rtol=1e-12, atol=1e-12)


def test_rate_of_a_rotating_inertia_equals_the_sum_over_points() -> None:
    m, r, _ = cloud(0)
    w = np.array([0.3, -1.2, 0.7])
    resting = of_points(m, r, np.zeros_like(r)).inertia
    near(flat_elements(MovingInertia.of(resting, Vec3.of(w))), flat_elements(of_points(m, r, np.cross(w, r))))


def test_rates_of_inertias_are_added_and_transformed_as_those_of_points() -> None:
    (m, r, r_dot), (n, s, s_dot) = cloud(1), cloud(2)
    both = of_points(np.r_[m, n], np.r_[r, s], np.r_[r_dot, s_dot])
    near(flat_elements(of_points(m, r, r_dot) + of_points(n, s, s_dot)), flat_elements(both))
    X, speed = random_pose(np.random.default_rng(3)), np.array([0.4, 0.5, -0.6])
    R, p = X[:3, :3], X[:3, 3]
    transformed = of_points(m, r, r_dot).transformed(Pose.of(X.tolist()), Vec3.of(speed))
    near(flat_elements(transformed), flat_elements(of_points(m, r @ R.T + p, r_dot @ R.T + speed)))


def test_momentum_matrix_column_of_a_joint_and_its_rate_equal_sums_over_points() -> None:
    """J = s_v + s_ω × r and its rate, summed; also in another frame."""
    m, r, r_dot = cloud(4)
    s, s_dot = np.random.default_rng(5).normal(size=(2, 6))

    def sums(r: Any, r_dot: Any, s: Any, s_dot: Any) -> np.ndarray:
        J = s[3:] + np.cross(s[:3], r)
        J_dot = s_dot[3:] + np.cross(s_dot[:3], r) + np.cross(s[:3], r_dot)
        parts = (np.cross(r, J), J, np.cross(r, J_dot), J_dot, np.cross(r_dot, J))
        return np.concatenate([m @ part for part in parts])

    load = of_points(m, r, r_dot).joint_momentum(Motion.of(s.tolist()), Motion.of(s_dot.tolist()))
    actual = [*load.momentum.elements(), *load.column_rate.elements(), *load.coriolis]
    near(actual, sums(r, r_dot, s, s_dot))
    rate = np.array(load.rate.elements())
    near(rate, [*(np.array(actual[6:9]) + actual[12:15]), *actual[9:12]])
    X, speed = random_pose(np.random.default_rng(6)), np.array([0.4, 0.5, -0.6])
    R, p = X[:3, :3], X[:3, 3]
    transformed = load.transformed(Pose.of(X.tolist()), Vec3.of(speed))
    moved_axis = [R @ s[:3], R @ s[3:] - np.cross(R @ s[:3], p)]  # the same motion of the points, seen from there
    changed = [R @ s_dot[:3], R @ s_dot[3:] - np.cross(R @ s_dot[:3], p) - np.cross(R @ s[:3], speed)]
    expected = sums(r @ R.T + p, r_dot @ R.T + speed, np.concatenate(moved_axis), np.concatenate(changed))
    near([*transformed.momentum.elements(), *transformed.column_rate.elements(), *transformed.coriolis], expected)
