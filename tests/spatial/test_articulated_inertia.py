"""Articulated-body inertias through a free joint, with exact zeros."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from helpers.scalars import EPS, assert_near, every_scalar
from helpers.spatial import Reader, flat_articulated, scalars_of
from linkwork.expr.scalar.interpreter import evaluate
from linkwork.expr.scalar.symbol import Graph, Symbol
from linkwork.spatial import Motion

SEEDS = range(4)


def positive(rng: np.random.Generator) -> np.ndarray:
    a = rng.normal(size=(6, 6))
    return a @ a.T + 0.5 * np.eye(6)


def dense(M: np.ndarray, S: np.ndarray) -> np.ndarray:
    U = M @ S
    return M - np.outer(U, U) / (S @ U)


def freed(x: list[Any], S: Motion | None = None) -> list[Any]:
    """The 36 elements of what is left of an inertia along S; S is read too where it is not given."""
    reader = Reader(x)
    I = reader.articulated()
    S = reader.motion() if S is None else S
    U = I @ S
    return scalars_of(I.freed(S, U, 1.0 / S.dot(U)))


@pytest.mark.light
@every_scalar
def test_articulated_inertias_along_any_direction_equal_the_dense_formula(run: Any) -> None:
    samples, expected = [], []
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        M, S = positive(rng), rng.normal(size=6)
        samples.append(np.concatenate([flat_articulated(M), S]))
        expected.append(dense(M, S))
    for result, matrix, sample in zip(run(freed, np.array(samples)), expected, samples, strict=True):
        left = result.reshape(6, 6)
        assert np.array_equal(left, left.T)
        assert_near(left, matrix, times=64.0, scale=float(np.linalg.norm(sample[:21])))


@pytest.mark.light
@pytest.mark.parametrize("along", range(6))
@pytest.mark.parametrize("length", [1.0, -1.0, 0.3])
@every_scalar
def test_articulated_inertias_along_a_coordinate_axis_have_exact_zeros(run: Any, along: int, length: float) -> None:
    direction = [0.0] * 6
    direction[along] = length
    matrices = [positive(np.random.default_rng(seed)) for seed in SEEDS]
    samples = np.array([flat_articulated(M) for M in matrices])
    for result, M in zip(run(lambda x: freed(x, Motion.of(direction)), samples), matrices, strict=True):
        left = result.reshape(6, 6)
        assert np.all(left[along] == 0.0) and np.all(left[:, along] == 0.0)
        assert_near(left, dense(M, np.array(direction)), times=64.0, scale=float(np.linalg.norm(M)))


@pytest.mark.parametrize("along", range(6))
def test_exact_zeros_of_articulated_inertias_need_no_operations(along: int) -> None:
    graph = Graph()
    direction = [0.0] * 6
    direction[along] = 1.0
    left = np.array(freed(graph.inputs("I", (21,)), Motion.of(direction)), dtype=object).reshape(6, 6)
    zeros = [type(x) is float and x == 0.0 for x in (*left[along], *left[:, along])]
    assert all(zeros)
    remaining = np.delete(np.delete(left, along, axis=0), along, axis=1)
    assert all(isinstance(x, Symbol) for x in remaining.ravel())


def test_articulated_inertia_along_a_symbolic_direction_is_projected_without_exact_zeros() -> None:
    """Its row is zero to rounding, also where the variable is zero."""
    graph = Graph()
    symbols, s = graph.inputs("I", (21,)), graph.input("s")
    left = freed(symbols, Motion.of([0.0, 0.0, s, 0.0, 0.0, 0.0]))
    assert isinstance(left[14], Symbol)
    M = positive(np.random.default_rng(7))
    values = dict(zip(symbols, flat_articulated(M), strict=True)) | {s: 1.0}
    result = np.array([float(x) for x in evaluate(left, values)]).reshape(6, 6)
    assert_near(result, dense(M, np.eye(6)[2]), times=64.0, scale=float(np.linalg.norm(M)))


@pytest.mark.parametrize("seed", SEEDS)
def test_articulated_inertia_is_zero_along_the_free_direction_and_semidefinite(seed: int) -> None:
    rng = np.random.default_rng(seed)
    M, S = positive(rng), rng.normal(size=6)
    left = np.array(freed([*flat_articulated(M).tolist(), *S.tolist()])).reshape(6, 6)
    size = float(np.linalg.norm(M))
    assert_near(left @ S, np.zeros(6), times=64.0, scale=size * float(np.linalg.norm(S)))
    values = np.linalg.eigvalsh(left)
    assert abs(values[0]) <= 64.0 * EPS * size and values[1] > 0.0
