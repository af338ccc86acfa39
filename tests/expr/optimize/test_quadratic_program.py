"""Quadratic programs: Karush, Kuhn and Tucker's conditions, certificates, and the calls."""

import numpy as np
import pytest

import linkwork as lw
from helpers.programs import kkt_errors, random_program, rows_of, times, transposed


def satisfied(program, found, tolerance=1e-8):
    """That all conditions hold, in all samples."""
    assert np.all(found.status == 0.0), np.unique(found.status, return_counts=True)
    for name, error in kkt_errors(program, found).items():
        assert np.all(error <= tolerance), (name, float(np.max(error)))


CASES = [
    (1, 0, {}), (1, 0, {"box": True}), (1, 3, {}), (2, 5, {"box": True}), (3, 2, {"equalities": 2}),
    (5, 12, {"box": True, "equalities": 2}), (7, 0, {"box": True}), (6, 9, {"box": True, "rank": 2, "definite": False}),
    (5, 4, {"box": True, "rank": 0, "definite": False}), (4, 6, {"scale": 6.0}),
]  # fmt: skip


@pytest.mark.parametrize(("n", "m", "how"), CASES)
def test_conditions(n, m, how):
    rng = np.random.default_rng(n + 10 * m)
    program = random_program(rng, n, m, batch=(200,), **how)
    satisfied(program, lw.quadratic_program(**program))


def test_infeasible_rows_have_a_certificate():
    rng = np.random.default_rng(3)
    program = random_program(rng, 4, 7, batch=(100,), box=True)
    low, high = program["lower"], program["upper"]
    A = program["A"]
    A[:, 6] = A[:, 0] - 2.0 * A[:, 1] + A[:, 2]
    low[:, 6] = high[:, 0] - 2.0 * low[:, 1] + high[:, 2] + 0.1
    high[:, 6] = low[:, 6] + 1.0
    found = lw.quadratic_program(**program)
    assert np.all(found.status == 3.0)
    C, lower, upper = rows_of(program)
    y = np.concatenate([found.multipliers, found.bound_multipliers], -1)
    value = np.where(y > 0, y * upper, np.where(y < 0, y * lower, 0.0)).sum(-1)
    assert np.all(abs(transposed(C, y)).max(-1) <= 1e-9 * abs(y).max(-1))
    assert np.all(value < 0.0)


def test_unbounded_programs_have_a_direction():
    rng = np.random.default_rng(4)
    program = random_program(rng, 4, 2, batch=(50,), rank=1, definite=False)
    found = lw.quadratic_program(**program)
    assert np.all(found.status == 4.0)
    d = found.x / abs(found.x).max(-1, keepdims=True)
    assert abs(times(program["H"], d)).max() < 1e-8 and abs(times(program["A"], d)).max() < 1e-8
    assert np.all((program["g"] * d).sum(-1) < 0.0)


DERIVED = [
    (3, 2, {"box": True}),
    (4, 5, {"box": True, "equalities": 1}),
    (4, 6, {"rank": 0, "definite": False, "box": True}),
]


@pytest.mark.parametrize(("n", "m", "how"), DERIVED)
def test_derivatives_are_those_of_the_solution(n, m, how):
    rng = np.random.default_rng(n)
    program = random_program(rng, n, m, **how)

    def function(H, g, A, lower, upper, x_lower, x_upper):
        return lw.quadratic_program(H, g, A, lower, upper, x_lower=x_lower, x_upper=x_upper)[:3]

    kernel = lw.compile(function, **{name: x.shape for name, x in program.items()})
    way = {name: rng.standard_normal(x.shape) for name, x in program.items()}
    way["H"] = (way["H"] + way["H"].T) * (how.get("rank") != 0)
    way["upper"][: how.get("equalities", 0)] = way["lower"][: how.get("equalities", 0)]
    h = 1e-6
    ahead, behind = (kernel(**{name: x + s * way[name] for name, x in program.items()}) for s in (h, -h))
    expected = np.concatenate([(a - b) / (2 * h) for a, b in zip(ahead, behind, strict=True)])
    found = np.concatenate(kernel.jvp()(*program.values(), *way.values())[-3:])
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-7 * max(1.0, abs(expected).max()))
    weights = [rng.standard_normal(size) for size in (n, m, n)]
    gradients = kernel.vjp()(*program.values(), *weights)[-7:]
    total = sum((x * way[name]).sum() for x, name in zip(gradients, program, strict=True))
    np.testing.assert_allclose(total, np.concatenate(weights) @ found, rtol=1e-10)
