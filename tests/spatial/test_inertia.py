"""Rigid-body inertias against clouds of point masses: shift, rotation, momentum, energy, physical consistency."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from helpers.rigid import inertia_matrix, point_cloud, random_pose, skew
from helpers.scalars import EPS, assert_near, every_scalar
from helpers.spatial import Reader, flat_inertia, flat_pose, scalars_of
from linkwork.spatial import ArticulatedInertia, Inertia, Motion, Pose, Symmetric3, Vec3

SEEDS = range(5)


def of_cloud(masses: np.ndarray, points: np.ndarray) -> Inertia:
    return Reader(flat_inertia(inertia_matrix(masses, points)).tolist()).inertia()


def of_pose(T: np.ndarray) -> Pose:
    return Reader(flat_pose(T).tolist()).pose()


def matrix(inertia: Any) -> np.ndarray:
    return np.array([float(x) for x in scalars_of(inertia)]).reshape(6, 6)


@pytest.mark.light
@every_scalar
def test_inertia_shifted_by_a_vector_equals_that_of_the_shifted_points(run: Any) -> None:
    """Every point moves by p."""
    samples, expected = [], []
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        masses, points = point_cloud(rng)
        p = rng.normal(size=3)
        samples.append(np.concatenate([flat_inertia(inertia_matrix(masses, points)), p]))
        expected.append(inertia_matrix(masses, points + p).ravel())
    results = run(lambda x: scalars_of((r := Reader(x)).inertia().shifted(r.vec3())), np.array(samples))
    articulated = run(
        lambda x: scalars_of(ArticulatedInertia.of((r := Reader(x)).inertia()).shifted(r.vec3())), np.array(samples)
    )
    for result, articulated_result, matrix in zip(results, articulated, expected, strict=True):
        assert_near(result, matrix, times=16.0)
        assert_near(articulated_result, matrix, times=16.0)


@pytest.mark.light
@every_scalar
def test_inertia_moved_by_a_pose_equals_that_of_the_moved_points(run: Any) -> None:
    samples, expected = [], []
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        masses, points = point_cloud(rng)
        T = random_pose(rng)
        samples.append(np.concatenate([flat_pose(T), flat_inertia(inertia_matrix(masses, points))]))
        expected.append(inertia_matrix(masses, points @ T[:3, :3].T + T[:3, 3]).ravel())
    results = run(lambda x: scalars_of((r := Reader(x)).pose() @ r.inertia()), np.array(samples))
    for result, matrix in zip(results, expected, strict=True):
        assert_near(result, matrix, times=16.0)


@every_scalar
def test_inertia_about_the_centre_of_mass_follows_the_parallel_axis_theorem(run: Any) -> None:
    """The cloud's origin is arbitrary."""
    samples, expected = [], []
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        masses, points = point_cloud(rng)
        center = masses @ points / masses.sum()
        about = inertia_matrix(masses, points - center)[:3, :3][np.triu_indices(3)]
        samples.append(np.concatenate([[masses.sum()], center, about]))
        expected.append(inertia_matrix(masses, points).ravel())

    def function(x: list[Any]) -> list[Any]:
        r = Reader(x)
        return scalars_of(Inertia.at_center(r.scalar(), r.vec3(), r.symmetric3()))

    for result, matrix in zip(run(function, np.array(samples)), expected, strict=True):
        assert_near(result, matrix, times=16.0)


@pytest.mark.parametrize("seed", SEEDS)
def test_moving_an_inertia_keeps_its_mass_exactly(seed: int) -> None:
    rng = np.random.default_rng(seed)
    I = of_cloud(*point_cloud(rng))
    for _ in range(10):
        X = of_pose(random_pose(rng))
        assert (X @ I).mass == I.mass
        assert (X.inv() @ I).mass == I.mass
        assert I.shifted(X.translation).mass == I.mass


@pytest.mark.parametrize("seed", SEEDS)
def test_moving_an_inertia_and_back_restores_it(seed: int) -> None:
    rng = np.random.default_rng(seed)
    I, X = of_cloud(*point_cloud(rng)), of_pose(random_pose(rng))
    size = float(np.linalg.norm(matrix(X @ I)))
    assert_near(matrix(X.inv() @ (X @ I)), matrix(I), times=32.0, scale=size)
    p = X.translation
    assert_near(matrix(I.shifted(p).shifted(-p)), matrix(I), times=16.0, scale=size)


@pytest.mark.parametrize("seed", SEEDS)
def test_moved_inertia_stays_physical(seed: int) -> None:
    """Positive semidefinite, and the moments about the centre satisfy the triangle inequality."""
    rng = np.random.default_rng(seed)
    masses, points = point_cloud(rng, n=3 + seed)
    I = of_pose(random_pose(rng)) @ of_cloud(masses, points)
    M = matrix(I)
    assert np.array_equal(M, M.T)
    assert np.linalg.eigvalsh(M)[0] >= -32.0 * EPS * np.linalg.norm(M)
    center = np.array(list(I.moment)) / I.mass
    at_center = matrix(I.shifted(Vec3.of((-center).tolist())))[:3, :3]
    a, b, c = np.linalg.eigvalsh(at_center)
    assert a + b >= c - 32.0 * EPS * np.linalg.norm(M)
    assert_near([a + b + c], [2.0 * masses @ np.sum((points - masses @ points / masses.sum()) ** 2, axis=1)], 32.0)


@pytest.mark.parametrize("seed", SEEDS)
def test_momentum_and_energy_of_a_rigid_body_equal_those_of_its_points(seed: int) -> None:
    rng = np.random.default_rng(seed)
    masses, points = point_cloud(rng)
    w, v = rng.normal(size=(2, 3))
    velocities = v + np.cross(w, points)
    V = Motion.of([*w.tolist(), *v.tolist()])
    h = of_cloud(masses, points) @ V
    assert_near(list(h.force), masses @ velocities, times=16.0)
    assert_near(list(h.moment), np.sum(masses[:, None] * np.cross(points, velocities), axis=0), times=32.0)
    energy = 0.5 * masses @ np.sum(velocities**2, axis=1)
    assert_near([0.5 * V.dot(h)], [energy], times=16.0)


def test_inertia_of_a_composed_body_is_the_sum_of_inertias() -> None:
    rng = np.random.default_rng(9)
    masses, points = point_cloud(rng, n=10)
    whole = of_cloud(masses, points)
    halves = of_cloud(masses[:4], points[:4]) + of_cloud(masses[4:], points[4:])
    assert_near(matrix(halves), matrix(whole), times=8.0)
    assert whole + Inertia.zero() == whole
    assert np.array_equal(matrix(Inertia.zero()), np.zeros((6, 6)))


def test_point_mass_at_the_origin_has_no_moments_of_inertia() -> None:
    I = Inertia.at_center(2.0, Vec3.zero(), Symmetric3.zero())
    assert (I.mass, I.moment, I.about) == (2.0, Vec3.zero(), Symmetric3.zero())
    p = Vec3(0.0, 3.0, 0.0)
    assert I.shifted(p).about == Symmetric3.diagonal(18.0, 0.0, 18.0)
    assert I.shifted(p).moment == p * 2.0


def test_inertia_of_a_sphere_off_the_origin_equals_the_textbooks() -> None:
    """A uniform sphere of 3 kg and radius 0.4 m, hung 2 m from the origin."""
    J = 0.4 * 3.0 * 0.4**2
    I = Inertia.at_center(3.0, Vec3(0.0, 0.0, -2.0), Symmetric3.diagonal(J, J, J))
    assert I.about.xx == pytest.approx(J + 3.0 * 4.0, rel=1e-15)
    assert I.about.zz == pytest.approx(J, rel=1e-15)
    assert I.moment == Vec3(0.0, 0.0, -6.0)
    assert (I.about.xy, I.about.xz, I.about.yz) == (0.0, 0.0, 0.0)
    assert math.isclose((I @ Motion.of([1.0, 0.0, 0.0, 0.0, 0.0, 0.0])).force.y, 6.0)


def test_inertia_matrices_of_the_reference_have_the_textbooks_blocks() -> None:
    """[[J, m c×], [(m c×)ᵀ, m 1]]."""
    masses, points = point_cloud(np.random.default_rng(3))
    M = inertia_matrix(masses, points)
    h = skew(masses @ points)
    assert_near(M[:3, 3:], h, times=8.0)
    assert_near(M[3:, :3], h.T, times=8.0)
    assert_near(M[3:, 3:], masses.sum() * np.eye(3), times=8.0)
