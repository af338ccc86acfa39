"""Results of several kernels combined: smooth minima with their gradients, and the worst of checked motions."""

from __future__ import annotations

import numpy as np
import pytest

import linkwork as lw
from helpers.balls import with_balls
from linkwork.collision import kernels

FREE, COLLIDING, UNDECIDED = 0.0, 1.0, 2.0


def test_smooth_minimum_of_minima_is_that_of_all_their_pairs_with_the_gradient() -> None:
    """m(x) of distances d_i = c_i + g_i · x of two kernels equals −log(Σ exp(−k d))/k over both."""
    rng = np.random.default_rng(0)
    c, g, k = rng.uniform(0.1, 0.5, (2, 3)), rng.normal(size=(2, 3, 4)), 7.0

    def minima(x):
        return [-np.log(np.exp(-k * (c[j] + g[j] @ x)).sum()) / k for j in range(2)]

    def gradients(x):
        weights = [np.exp(-k * (c[j] + g[j] @ x)) for j in range(2)]
        return [w @ g[j] / w.sum() for j, w in enumerate(weights)]

    x = rng.normal(size=4)
    both = lambda x: -np.log(sum(np.exp(-k * (c[j] + g[j] @ x)).sum() for j in range(2))) / k  # noqa: E731
    assert kernels.smooth_minimum_of(minima(x), k) == pytest.approx(both(x), abs=1e-14)
    differences = [(both(x + e) - both(x - e)) / 2e-6 for e in 1e-6 * np.eye(4)]
    assert kernels.smooth_minimum_gradient_of(minima(x), gradients(x), k) == pytest.approx(differences, abs=1e-8)
    batch = kernels.smooth_minimum_of([np.array([0.3, -0.1]), np.array([0.4, 50.0])], k)
    assert batch == pytest.approx([-np.log(np.exp(-2.1) + np.exp(-2.8)) / k, -0.1], abs=1e-14)
    (symbolic,) = lw.compile(lambda m: [kernels.smooth_minimum_of([m[0], m[1]], k)], m=(2,))(minima(x))
    assert symbolic == pytest.approx(both(x), abs=1e-14)


def test_worst_of_motion_checks_collides_before_it_is_undecided_or_free() -> None:
    """Columns are status, time, clearance, number of checks and configuration."""

    def check(status, t, clearance):
        return np.array([status, t, clearance, 3.0, 10.0 * t])

    cases = {
        (FREE, FREE): FREE,
        (FREE, UNDECIDED): UNDECIDED,
        (UNDECIDED, FREE): UNDECIDED,
        (UNDECIDED, COLLIDING): COLLIDING,
        (COLLIDING, UNDECIDED): COLLIDING,
        (COLLIDING, FREE): COLLIDING,
    }
    for (first, second), worst in cases.items():
        result = kernels.worst_edge([check(first, 0.2, 0.05), check(second, 0.6, 0.03)])
        t = 0.2 if worst == first and first != second else 0.6
        assert result.tolist() == [worst, t, 0.03, 6.0, 10.0 * t], (first, second)
    batch = kernels.worst_edge([np.array([check(FREE, 0.1, 1.0), check(COLLIDING, 0.2, 0.0)])] * 2)
    assert batch[:, 0].tolist() == [FREE, COLLIDING] and batch[:, 3].tolist() == [6.0, 6.0]


def test_obstacles_for_different_links_are_selected_in_groups_that_cover_all_pairs_once() -> None:
    robot = with_balls("arm7")
    scene = lw.Scene().with_sphere("near", 0.1, (0.4, 0.2, 0.3)).with_sphere("far", 0.1, (0.9, 0.3, 0.2))
    pairs = [("wrist", "near"), ("flange", "far"), ("base", "wrist")]
    selection = kernels.select_pairs(robot.tree, "distances", scene, pairs, None)
    assert len(selection.parts) == 2
    names = [name for part in selection.parts for name in part.names]
    assert {frozenset(name) for name in names} == {frozenset(pair) for pair in pairs} and len(names) == 3
