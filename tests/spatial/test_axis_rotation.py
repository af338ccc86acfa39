"""Rotations about coordinate axes: recognized exactly, with equal tensors by fewer operations."""

import itertools
import math

import numpy as np
import pytest

from helpers.scalars import EPS, assert_near
from helpers.spatial import scalars_of
from linkwork.expr.scalar.interpreter import evaluate
from linkwork.expr.scalar.symbol import Graph
from linkwork.spatial import Matrix3, Rotation, Symmetric3, Vec3
from linkwork.spatial.rotation import AxisRotation

X, Y, Z = AXES = (Vec3(1.0, 0.0, 0.0), Vec3(0.0, 1.0, 0.0), Vec3(0.0, 0.0, 1.0))
QUARTERS = [Rotation.from_rpy(*(0.5 * math.pi * n for n in turns)) for turns in itertools.product(range(4), repeat=3)]


def rows(R):
    return [list(R.x), list(R.y), list(R.z)]


def matrix(tensor):
    return np.array([float(x) for x in scalars_of(tensor)]).reshape(3, 3)


def random_matrix(rng):
    return Matrix3(*(Vec3.of(rng.normal(size=3).tolist()) for _ in range(3)))


def random_symmetric(rng):
    return Symmetric3(*rng.normal(size=6).tolist())


@pytest.mark.parametrize("axis", range(3))
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_products_of_quarter_turns_and_axis_rotations_are_recognized_as_axis_rotations(axis, sign):
    """All 64 products of a quarter turn with a rotation, on floats and symbols, on both sides."""
    rng = np.random.default_rng(axis)
    H, S = random_matrix(rng), random_symmetric(rng)
    symbol, angle = Graph().input("q"), 0.7
    for quarter in QUARTERS:
        for product in (lambda R, P=quarter: P @ R, lambda R, P=quarter: R @ P):
            traced, R = (product(Rotation.about(AXES[axis] * sign, q)) for q in (symbol, angle))
            assert AxisRotation.of(rows(traced)) is not None
            assert AxisRotation.of(rows(R)) is not None
            assert not traced.factors
            M = matrix(R)
            assert_near(matrix(R.congruent(H)), M @ matrix(H) @ M.T, times=32.0)
            assert_near(matrix(R @ S), M @ matrix(S) @ M.T, times=32.0)
            for tensor, rotated in ((H, traced.congruent(H)), (S, traced @ S)):
                values = evaluate(scalars_of(rotated), {symbol: angle})
                assert_near(np.reshape(values, (3, 3)), M @ matrix(tensor) @ M.T, times=32.0)


def test_rotations_close_to_an_axis_rotation_are_not_treated_as_axis_rotations():
    """Angles near a quarter turn leave a one and small elements that count."""
    near = Rotation.from_rpy(0.0, 1.57079632679, 0.0)
    assert near.x.z == 1.0 and 0.0 < near.x.x < 1e-11
    recognized = AxisRotation.of(rows(near))
    assert (recognized.k, recognized.r, recognized.is_permutation) == (1, 1, False)
    tilted = Rotation.from_rpy(1.5708, 1.5708, 0.0)
    assert AxisRotation.of(rows(tilted)) is None
    graph = Graph()
    q, p = graph.inputs("q", (2,))
    c, s = q, p  # a block of two numbers that are no cosine and sine of one angle is a turn by its shape alone
    for R in (
        Rotation(Vec3(c, -s, 0.0), Vec3(s, s, 0.0), Z),
        Rotation(Vec3(c, s, 0.0), Vec3(s, c, 0.0), Z),
        Rotation(Vec3(c, -s, 1e-12), Vec3(s, c, 0.0), Z),
        Rotation(Vec3(c, -s, 0.0), Vec3(s, c, 0.0), Vec3(1e-12, 0.0, 1.0)),
    ):
        assert AxisRotation.of(rows(R)) is None


def test_rotating_an_inertia_about_a_coordinate_axis_needs_less_than_half_of_the_operations():
    graph = Graph()
    S = Symmetric3(*graph.inputs("s", (6,)))
    H = Matrix3(*(Vec3.of(graph.inputs(name, (3,))) for name in "xyz"))
    R = Rotation.about(Z, graph.input("q"))
    for act, most in ((lambda: R @ S, 16), (lambda: R.congruent(H), 23)):
        before = len(graph.nodes)
        act()
        operations = [n for n in graph.nodes[before:] if n.op.name in ("add", "sub", "mul")]
        assert len(operations) <= most


def test_two_rotations_about_coordinate_axes_are_applied_one_after_the_other():
    """A constant tilt and a joint's rotation about another axis: their product is never formed."""
    rng = np.random.default_rng(5)
    graph = Graph()
    q = graph.input("q")
    tilt, angle = Rotation.from_rpy(0.3, 0.0, 0.0), 0.7
    R, exact = tilt @ Rotation.about(Z, q), matrix(tilt) @ matrix(Rotation.about(Z, angle))
    assert R.factors == (tilt, Rotation.about(Z, q))
    v, H, S = Vec3.of(rng.normal(size=3).tolist()), random_matrix(rng), random_symmetric(rng)
    general = Rotation.from_rpy(0.1, 0.2, 0.3)
    cases = {
        "vector": (R @ v, exact @ list(v)),
        "inverse": (R.inv_act(v), exact.T @ list(v)),
        "symmetric": (R @ S, exact @ matrix(S) @ exact.T),
        "matrix": (R @ H, exact @ matrix(H)),
        "congruent": (R.congruent(H), exact @ matrix(H) @ exact.T),
        "before": (R @ general, exact @ matrix(general)),
        "after": (general @ R, matrix(general) @ exact),
        "turned round": (R.T @ v, exact.T @ list(v)),
        "elements": (R, exact),
    }
    for actual, expected in cases.values():
        values = evaluate(scalars_of(actual), {q: angle})
        assert_near(np.array(values, dtype=float), np.ravel(expected), times=32.0)
    assert not (tilt @ Rotation.about(X, q)).factors  # a turn again
    assert not (tilt @ general).factors  # numbers
    assert Rotation(R.x, R.y, R.z) == R


def test_products_of_rotations_about_coordinate_axes_stay_orthonormal():
    R = Rotation.from_rpy(0.3, 0.0, 0.0) @ Rotation.about(Z, 0.4)
    assert np.max(np.abs(matrix(R).T @ matrix(R) - np.eye(3))) <= 6.0 * EPS
