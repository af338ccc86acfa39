"""Distances in float32: those of float64 up to rounding, also of bodies that touch, coincide or are level.

Random bodies and bodies on a grid, whose axes are parallel or orthogonal and whose surfaces meet.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from geometry.pairs import CORES, SEARCHED, compiled, rows
from linkwork.compiler.operation_counts import listings
from linkwork.expr.scalar.float_limits import in_float32
from linkwork.geometry import Solid
from linkwork.geometry.ray_casting import ray_length
from linkwork.spatial import Vec3

PAIRS = [*itertools.combinations_with_replacement(CORES, 2)]
SIZE = 200


def on_grid(kind: str, rng: np.random.Generator, n: int) -> np.ndarray:
    """Cores along the axes, of sizes and at places that are exact in float32."""
    position = rng.choice([-1.0, -0.5, -0.25, 0.0, 0.0, 0.25, 0.5, 1.0], (n, 3))
    if kind == "point":
        return position
    turns = np.eye(3)[np.array([*itertools.permutations(range(3))])[rng.integers(6, size=n)]]
    turns *= np.linalg.det(turns)[:, None, None]
    if kind == "segment":
        return np.hstack([position, turns[:, 0] * rng.choice([0.0, 0.25, 0.5, 1.0], (n, 1))])
    sizes = rng.choice([-0.5, -0.25, 0.0, 0.25, 0.5] if kind == "hull" else [0.25, 0.5, 1.0], (n, CORES[kind][0] - 12))
    return np.hstack([turns.reshape(n, 9), position, sizes])


def at_one_pose(a: str, b: str, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    x, y = rows(a, rng, SIZE), rows(b, rng, SIZE)
    centers = [9 if kind not in ("point", "segment") else 0 for kind in (a, b)]
    y[:, centers[1] : centers[1] + 3] = x[:, centers[0] : centers[0] + 3]
    if all(centers):
        y[:, :9] = x[:, :9]
    return x, y


@pytest.mark.slow(every=4)
@pytest.mark.parametrize(("a", "b"), PAIRS)
def test_float32_distances_equal_those_of_float64_to_rounding(a: str, b: str) -> None:
    rng = np.random.default_rng(3)
    kernel = compiled(a, b)
    inputs = [(rows(a, rng, SIZE), rows(b, rng, SIZE)), (on_grid(a, rng, SIZE), on_grid(b, rng, SIZE))]
    for x, y in (*inputs, tuple(1e-4 * z if CORES[k][0] < 7 else np.hstack([z[:, :9], 1e-4 * z[:, 9:]])
                                for z, k in zip(inputs[1], (a, b), strict=True)), at_one_pose(a, b, rng)):  # fmt: skip
        x, y = x.astype(np.float32), y.astype(np.float32)
        exact, outputs = kernel(x.astype(float), y.astype(float)), kernel(x, y).astype(float)
        assert np.isfinite(outputs).all()
        size = np.abs(np.hstack([x, y])[:, [*range(9, 12)] if CORES[a][0] > 6 else [*range(3)]]).max()
        error = np.abs(outputs[:, 0] - exact[:, 0])
        assert error.max() < 1e-4 * max(size, 1e-4) and np.quantile(error, 0.98) < 1e-5 * size
        n, on_a, on_b = outputs[:, 1:4], outputs[:, 4:7], outputs[:, 7:10]
        assert np.abs(np.linalg.norm(n, axis=1) - np.linalg.norm(exact[:, 1:4], axis=1)).max() < 1e-5
        assert np.abs(on_b - on_a - outputs[:, :1] * n).max() < 1e-5 * size


@pytest.mark.slow(every=2)
@pytest.mark.parametrize(("a", "b"), [*SEARCHED, ("box", "box"), ("point", "cone")])
def test_constants_of_distance_kernels_are_representable_in_float32(a: str, b: str) -> None:
    """No constant is 0, infinite or 1 by rounding, and tolerances exceed float32's rounding errors."""
    program: Any = compiled(a, b).program
    constants = {x.value for part in listings(program) for x in part.instructions if x.operation.name == "constant"}
    lost = [x for x in constants if x not in (0.0, 1.0, -1.0) and in_float32(x) == x
            and (abs(x) < 1e-11 or abs(x) > 1e30 or abs(np.float32(x)) == 1.0)]  # fmt: skip
    assert len(constants) > 3 and not lost


@pytest.mark.slow(every=5)
def test_float32_rays_hit_the_shapes_that_float64_rays_hit() -> None:
    """Cones are included: rays reach their surface by steps that end at rounding errors."""
    rng = np.random.default_rng(0)
    for kind in ("box", "cone", "cylinder"):
        elements, core = CORES[kind]

        def length(p: Any, d: Any, y: Any, core: Any = core) -> Any:
            return ray_length(Vec3.of(p), Vec3.of(d), [Solid(core(y))], 10.0)

        kernel = lw.compile(length, p=3, d=3, y=elements)
        d = np.eye(3)[rng.integers(3, size=SIZE)] * rng.choice([-1.0, 1.0], (SIZE, 1))
        y = rows(kind, rng, SIZE)
        origins = y[:, 9:12] + 0.3 * rng.normal(size=(SIZE, 3)) - 3.0 * d
        arrays = [x.astype(np.float32) for x in (origins, d, y)]
        outputs, exact = kernel(*arrays), kernel(*(x.astype(float) for x in arrays))
        assert np.array_equal(outputs < 9.9, exact < 9.9) and 10 < np.sum(exact < 9.9) < SIZE
        assert np.abs(outputs - exact).max() < 5e-3 and np.median(np.abs(outputs - exact)) < 1e-6
