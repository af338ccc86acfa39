"""Quadratic programs on arrays: the stored call for arrays of the same shapes."""

from __future__ import annotations

import numpy as np
import pytest

import linkwork as lw


def test_quadratic_program_without_constraint_rows_has_the_same_solution_at_every_call() -> None:
    H, g = np.eye(2), np.array([-3.0, -1.0])
    for bounds in ({}, {"lower": np.zeros(0), "upper": np.zeros(0)}, {"x_upper": np.array([1.0, 4.0])}):
        for _ in range(3):
            solution = lw.quadratic_program(H, g, np.zeros((0, 2)), **bounds)
            assert solution.x.tolist() == [1.0 if "x_upper" in bounds else 3.0, 1.0]
            assert solution.status == 0
    assert np.array_equal(H, np.eye(2)) and g.tolist() == [-3.0, -1.0]


def test_bounds_of_rows_are_passed_by_name():
    """Other solvers take G x <= h by position, which would be read as G x >= h."""
    with pytest.raises(TypeError, match=r"at most 3 positional arguments, got 4; .* lower= and upper=; G x <= h"):
        lw.quadratic_program(np.eye(2), [-3.0, -1.0], [[1.0, 1.0]], [2.0])
