"""Derivatives of a solution by its equation: forward, reverse and of second order, without iterations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import linkwork as lw
from linkwork.expr.autodiff.custom_derivative import ImplicitDerivative, Solution, apply_rule
from linkwork.expr.control import while_loop
from linkwork.expr.scalar.functions import fabs, lt


@dataclass(frozen=True)
class _Root(ImplicitDerivative):
    """x with x³ = p from a start, and how many steps that took: inputs are the start and p."""

    @property
    def size(self) -> int:
        return 1

    @property
    def ignored(self) -> int:
        return 1

    def compute(self, inputs: Sequence[Any]) -> tuple[Sequence[Any], Sequence[Any]]:
        start, p = inputs
        loop = while_loop(
            lambda s: lt(1e-12, s[1]),
            lambda s: (s[0] - (s[0] ** 3 - p) / (3.0 * s[0] * s[0]), fabs((s[0] ** 3 - p) / (3.0 * s[0] * s[0]))),
            (start, 1.0),
            max_iterations=100,
        )
        return [loop.state[0], loop.iterations], []

    def residual_jvp(self, at: Solution, direction: Sequence[Any]) -> Sequence[Any]:
        return [direction[1]]

    def residual_vjp(self, at: Solution, multipliers: Sequence[Any]) -> Sequence[Any]:
        return [0.0, multipliers[0]]

    def solve_jacobian(self, at: Solution, right: Sequence[Any], transpose: bool) -> Sequence[Any]:
        return [right[0] / (3.0 * at.results[0] * at.results[0])]


def test_derivatives_of_an_implicitly_defined_solution_are_exact() -> None:
    def root(start: Any, p: Any) -> Any:
        x, steps = apply_rule(_Root(), [start, p])
        return np.array([x, steps])

    kernel = lw.compile(root, start=(), p=())
    exact = 2.0 ** (1.0 / 3.0)
    slope, bend = exact / 6.0, -exact / 18.0  # of p^(1/3) at 2
    np.testing.assert_allclose(kernel(1.0, 2.0)[0], exact, rtol=1e-14)
    for mode in ("forward", "reverse"):
        first = kernel.jacobian(mode=mode)
        assert first(1.0, 2.0)[0].tolist() == [0.0, 0.0]  # neither result varies with the start
        np.testing.assert_allclose(first(1.0, 2.0)[1], [slope, 0.0], rtol=1e-14)
        second = lw.compile(lambda start, p, first=first: first(start, p)[1], start=(), p=())
        np.testing.assert_allclose(second.jacobian("p")(1.0, 2.0), [bend, 0.0], rtol=1e-13)
