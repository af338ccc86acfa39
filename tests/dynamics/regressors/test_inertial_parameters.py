"""Ten inertial parameters of a body: physical consistency, explanations, and log-Cholesky parameters."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import linkwork as lw
from linkwork import parameters
from linkwork.expr.autodiff.dual_numbers import Dual, parts
from linkwork.model.random_tree import random_inertia
from linkwork.spatial import Inertia
from linkwork.spatial.inertia_vector import from_log_cholesky, log_cholesky
from oracles.comparison import assert_close
from oracles.example_robots import EXAMPLES, SHIPPED

THETA = st.lists(st.floats(-2.0, 2.0), min_size=10, max_size=10)
BODIES = np.array([random_inertia(np.random.default_rng(seed)).parameters() for seed in range(20)])
EVERY = [  # what no body has, and a word of why
    ([-1.0, 0, 0, 0, 1, 0, 0, 1, 0, 1], "the mass is -1 kg"),
    ([0.0, 1, 0, 0, 1, 0, 0, 1, 0, 1], "first moments of mass are not zero: 1, 0, 0 kg m"),
    ([1.0, 0, 0, 0, -1, 0, 0, 1, 0, 1], "a principal moment about the centre of mass is negative: -1, 1, 1 kg m²"),
    ([1.0, 0, 0, 0, 1, 0, 0, 1, 0, 3], "exceeds the sum of the others: 1, 1, 3 kg m²"),
    ([1.0, 0, 0, 2, 3, 0, 0, 3, 0, 1], "is negative: -1, -1, 1 kg m²"),
]


@given(THETA)
def test_every_log_cholesky_vector_gives_a_physical_inertia(theta: list[float]) -> None:
    pi = parameters.from_log_cholesky(theta)
    assert pi[0] == pytest.approx(math.exp(2.0 * theta[0]), rel=1e-15)
    assert_close(pi[1:4], pi[0] * np.array(theta[7:]), 1e-14)
    assert parameters.is_physical(pi)
    assert np.linalg.eigvalsh(parameters.pseudo_inertia(pi))[0] > -1e-12 * np.abs(pi).max()
    U = np.diag([*np.exp(theta[1:4]), 1.0])
    U[[0, 1, 0], [1, 2, 2]], U[:3, 3] = theta[4:7], theta[7:]
    assert_close(parameters.pseudo_inertia(pi), math.exp(2.0 * theta[0]) * U @ U.T, 1e-14)


def test_log_cholesky_and_pseudo_inertia_are_inverted_by_their_inverse_functions() -> None:
    theta = parameters.log_cholesky(BODIES)
    assert_close(parameters.from_log_cholesky(theta), BODIES, 1e-12, core=1)
    drawn = np.random.default_rng(0).uniform(-1.0, 1.0, (50, 10))
    assert_close(parameters.log_cholesky(parameters.from_log_cholesky(drawn)), drawn, 1e-12, core=1)
    P = parameters.pseudo_inertia(BODIES.reshape(4, 5, 10))
    assert P.shape == (4, 5, 4, 4) and np.array_equal(P, np.swapaxes(P, -1, -2))
    assert_close(parameters.from_pseudo_inertia(P).reshape(20, 10), BODIES, 1e-15, core=1)
    for pi in BODIES:
        assert_close(Inertia.of_parameters(pi.tolist()).parameters(), pi, 0.0)


def test_log_cholesky_accepts_any_scalar_and_has_a_regular_jacobian() -> None:
    """Floats, symbols in a kernel, and dual numbers."""
    theta = parameters.log_cholesky(BODIES[0])

    def both(theta):
        pi = parameters.from_log_cholesky(theta)
        again = parameters.log_cholesky(pi)
        return pi, again, lw.expr.jacobian(pi, theta), parameters.pseudo_inertia(pi)

    pi, again, J, P = lw.compile(both, theta=10)(theta)
    assert_close(pi, BODIES[0], 1e-12)
    assert_close(again, theta, 1e-12)
    assert_close(P, parameters.pseudo_inertia(BODIES[0]), 1e-12)
    assert np.isfinite(J).all() and np.linalg.cond(J) < 1e6
    for k in range(10):
        seeded = [Dual(float(x), float(j == k)) for j, x in enumerate(theta)]
        values = from_log_cholesky(seeded)
        assert_close([parts(x)[1] for x in values], J[:, k], 1e-13)
        assert_close([parts(x)[1] for x in log_cholesky(values)], np.eye(10)[k], 1e-10)


def test_physical_inertias_are_accepted_and_others_are_explained() -> None:
    assert parameters.is_physical(BODIES).all() and parameters.is_physical(BODIES, definite=True).all()
    assert parameters.explain(BODIES[0]) == parameters.explain(BODIES[0], definite=True) == ()
    for pi, why in EVERY:
        assert not parameters.is_physical(pi) and not parameters.is_physical(pi, definite=True)
        assert why in "; ".join(parameters.explain(pi))
        with pytest.raises(ValueError, match="log_cholesky: parameters: expected a positive definite pseudo-inertia; "):
            parameters.log_cholesky(pi)
    table = np.array([[pi for pi, _ in EVERY], [BODIES[0]] * len(EVERY)])
    assert parameters.is_physical(table).tolist() == [[False] * len(EVERY), [True] * len(EVERY)]
    with pytest.raises(ValueError, match="sample 0, 0: expected a positive definite pseudo-inertia; the mass is -1 kg"):
        parameters.log_cholesky(table)


def test_inertias_of_points_rods_and_plates_are_physical_but_not_definite() -> None:
    """The pseudo-inertia has zero eigenvalues, and no negative one."""
    point = [2.0, 0.0, 0.0, 1.0, 0.5, 0.0, 0.0, 0.5, 0.0, 0.0]
    rod, plate = [1.0, 0, 0, 0, 1, 0, 0, 1, 0, 0], [1.0, 0, 0, 0, 1, 0, 0, 2, 0, 3]
    for pi in ([0.0] * 10, point, rod, plate):
        assert parameters.is_physical(pi) and not parameters.is_physical(pi, definite=True)
        assert parameters.explain(pi) == ()
        assert len(parameters.explain(pi, definite=True)) == 1
    assert parameters.explain([0.0] * 10, definite=True) == ("the mass is 0 kg",)
    assert "no extent in some direction" in parameters.explain(plate, definite=True)[0]
    with pytest.raises(ValueError, match="no extent in some direction"):
        parameters.log_cholesky(rod)


def test_inertial_parameters_of_wrong_shape_or_value_are_refused() -> None:
    for function in (parameters.is_physical, parameters.explain, parameters.log_cholesky, parameters.pseudo_inertia):
        with pytest.raises(ValueError, match=r"parameters: expected .*\(?10,?\)?, got shape \(9,\)"):
            function(np.zeros(9))
        with pytest.raises(ValueError, match=r"parameters: expected an array of finite numbers.*got nan at 0"):
            function([math.nan] * 10)
        with pytest.raises(ValueError, match="parameters: expected an array of finite numbers"):
            function(["a"] * 10)
    with pytest.raises(ValueError, match=r"P: expected .* of shape \(..., 4, 4\), got shape \(3, 3\)"):
        parameters.from_pseudo_inertia(np.eye(3))
    with pytest.raises(ValueError, match=r"explain: parameters: expected .* of shape \(10,\), got shape"):
        parameters.explain(BODIES)


def test_physical_consistency_of_robots_agrees_with_the_readers_warnings(drawn):
    """Links without a warning of the reader are consistent."""
    for example in drawn([*EXAMPLES, *SHIPPED]):
        robot = example.robot()
        warned = [w for w in robot.report.warnings if w.code == "INERTIA_TRIANGLE"]
        report = robot.physical_consistency()
        assert len(report) == len(warned), example.name
        assert {*report} <= {link.name for link in robot.links}
        for why in report.values():
            assert "exceeds the sum of the others" in why[0]
    with pytest.raises(ValueError, match="without inertias"):
        lw.load("arm7", inertia="ignore").physical_consistency()
