"""Kernels with more arrays than a NumPy ufunc takes."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import linkwork as lw

COUNT = 80


def _function(**x: Any) -> Any:
    vector = x["x0"]
    total = sum((k + 1.0) * (x[f"x{k}"] ** 2) for k in range(1, COUNT))
    return {"total": total + vector[0] * vector[2], "scaled": [total * v for v in vector]}


@pytest.mark.slow(every=3)
def test_kernels_accept_more_than_64_arrays() -> None:
    shapes = {"x0": (3,)} | {f"x{k}": () for k in range(1, COUNT)}
    kernel = lw.compile(_function, name="many", **shapes)
    rng = np.random.default_rng(0)

    def expected(vector: Any, *scalars: Any) -> tuple[Any, Any]:
        total = sum((k + 2.0) * np.asarray(x) ** 2 for k, x in enumerate(scalars))
        vector = np.asarray(vector)
        return total + vector[..., 0] * vector[..., 2], total[..., None] * vector

    sample = [rng.normal(size=3), *rng.normal(size=COUNT - 1)]
    strided = [rng.normal(size=(5, 3, 2))[..., 0], *rng.normal(size=(COUNT - 1, 5))]
    spread = [rng.normal(size=(4, 1, 3)), *rng.normal(size=(COUNT - 2, 5)), 2]
    for call in (kernel, pickle.loads(pickle.dumps(kernel))):
        for arrays in (sample, strided, spread):
            total, scaled = call(*arrays)
            sums, products = expected(*arrays)
            assert total.shape == sums.shape and np.allclose(total, sums, rtol=1e-12)
            assert np.allclose(scaled, products, rtol=1e-12)
    single = kernel(*[np.asarray(x, np.float32) for x in strided])
    assert single.total.dtype == np.float32 and np.allclose(single.total, expected(*strided)[0], rtol=1e-4)
    out = np.empty(5), np.empty((5, 3))
    assert kernel(*strided, out=out).total is out[0] and np.array_equal(out[1], kernel(*strided).scaled)
    assert kernel(*[np.zeros((0, 3)), *[1.0] * (COUNT - 1)]).scaled.shape == (0, 3)
    for wrong in ([rng.normal(size=4), *sample[1:]], [rng.normal(size=(2, 3)), rng.normal(size=3), *sample[2:]]):
        with pytest.raises(ValueError, match=r"many: .*(x0|x1)"):
            kernel(*wrong)
    assert np.allclose(kernel.interpret(*sample).total, expected(*sample)[0])


@pytest.mark.slow(every=5)
def test_trajectory_problem_accepts_seventy_terms() -> None:
    problem = lw.TrajectoryProblem(lw.load("double_pendulum"), num_steps=3, duration=0.3)
    for k in range(70):
        problem = problem.add("configuration", "least_squares", target=[0.01 * k, 0.0], name=f"t{k}")
    result = problem.solve()
    assert result.status == "solved" and np.allclose(result.q, [0.345, 0.0], atol=1e-6)
