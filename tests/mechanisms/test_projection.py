"""Projection onto constraints: idempotent, nearest, and harmless at singular configurations."""

import numpy as np
import pytest

import linkwork as lw
from helpers.fourbars import fourbars, parallel
from helpers.linkages import five_bar


@pytest.mark.costly
@pytest.mark.parametrize("metric", ["mass", "plain"])
def test_projection_onto_constraints_is_idempotent(metric):
    """Invariant 55."""
    rng = np.random.default_rng(0)
    for robot in (fourbars(2), five_bar()):
        near = (
            parallel(robot, 0.8)[0]
            if robot.nv == 5
            else robot.assemble_configuration([0.5, -1.2, 0.4, -0.6], np.zeros(4), np.ones(4)).q
        )
        q = near + 0.1 * rng.normal(size=(20, robot.nq))
        projected, error, iterations, status = robot.project_configuration(q, metric=metric)
        assert np.abs(error).max() < 1e-14 and not status.any() and iterations.max() < 15
        again = robot.project_configuration(projected, metric=metric).q
        np.testing.assert_allclose(again, projected, rtol=0, atol=1e-13)
        v = robot.project_velocity(projected, rng.normal(size=(20, robot.nv)), metric=metric)
        np.testing.assert_allclose(robot.project_velocity(projected, v, metric=metric), v, rtol=0, atol=1e-13)


def test_projected_velocity_is_the_nearest_permitted_velocity():
    """Against the equations M δ = Gᵀ λ, G (v + δ) = 0 solved densely."""
    robot, rng = fourbars(2), np.random.default_rng(1)
    q, _ = parallel(robot, 0.8)
    v = rng.normal(size=robot.nv)
    G = robot.constraint_jacobian(q)
    n = len(G)
    for metric, M in (("mass", robot.mass_matrix(q)), ("plain", np.eye(robot.nv))):
        kkt = np.block([[M, G.T], [G, np.zeros((n, n))]])
        delta = np.linalg.lstsq(kkt, [*np.zeros(robot.nv), *(-G @ v)])[0][: robot.nv]
        np.testing.assert_allclose(robot.project_velocity(q, v, metric=metric), v + delta, rtol=0, atol=1e-13)


def test_small_projections_move_configurations_orthogonally_to_the_constraints():
    robot, rng = five_bar(), np.random.default_rng(2)
    q = robot.project_configuration([0.5, -1.2, 2.4, -2.6], metric="plain").q
    kernel = np.linalg.svd(robot.constraint_jacobian(q))[2][2:]
    for size in (1e-3, 1e-5):
        start = q + size * rng.normal(size=4)
        projected = robot.project_configuration(start, metric="plain").q
        assert np.abs(kernel @ (projected - start)).max() < 20 * size**2


@pytest.mark.costly
@pytest.mark.parametrize("metric", ["mass", "plain"])
def test_projection_moves_flat_four_bars_by_rounding_only(metric):
    """One degree of freedom becomes 11 in the flat position."""
    robot, rng = fourbars(10, plane=np.eye(4)), np.random.default_rng(0)
    q, v = parallel(robot, 0.0, rate=1.0)
    np.testing.assert_array_equal(robot.project_configuration(q, metric=metric).q, q)
    np.testing.assert_allclose(robot.project_velocity(q, v, metric=metric), v, rtol=0, atol=1e-14)
    for size in (1e-14, 1e-12, 1e-10):
        near = q + size * rng.normal(size=(8, robot.nv))
        projected = robot.project_configuration(near, metric=metric)
        assert np.abs(projected.q - near).max() < 10 * size
    for size in (1e-4, 1e-2):
        projected = robot.project_configuration(q + size * rng.normal(size=(8, robot.nv)), metric=metric)
        assert np.abs(projected.error).max() < 1e-13 and np.abs(projected.q - q).max() < 500 * size


def test_projection_does_not_change_a_robot_without_constraints():
    robot = lw.load("arm7")
    q = robot.random_configuration(seed=0, size=3)
    projected = robot.project_configuration(q)
    np.testing.assert_array_equal(projected.q, q)
    assert projected.error.shape == (3, 0)


def test_velocities_by_joint_are_projected_as_those_of_an_array():
    robot = lw.load("differential_drive")
    q = robot.neutral()
    v = np.zeros(robot.nv)
    v[robot.v_index(["left", "right"])] = 5.0, 6.0
    for by_name, by_array in zip(robot.project(q, {"left": 5.0, "right": 6.0}), robot.project(q, v), strict=True):
        np.testing.assert_array_equal(by_name, by_array)
