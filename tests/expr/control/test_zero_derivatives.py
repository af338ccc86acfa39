"""Second derivatives through bodies and tables where first derivatives are exactly zero.

Random programs of both kinds of arithmetic: traced, with bodies, and of mpmath, with Python's own control flow.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest

import linkwork as lw
from linkwork.expr import array, call, cond, fori_loop, put, scan, take
from linkwork.expr.autodiff.graph_derivative import adjoint, jacobian
from linkwork.expr.scalar import functions as f
from linkwork.expr.scalar.interpreter import evaluate
from linkwork.expr.scalar.symbol import Graph

UNITS = ([1.0, 0.0], [0.0, 1.0])


def traced(kind: str, a: Any, b: Any) -> tuple[Any, Any]:
    """Return two numbers that a program's step of this kind computes from two others, in a trace."""
    steps: dict[str, Callable[[], tuple[Any, Any]]] = {
        "square": lambda: (a * a, b),
        "swap": lambda: (b, a),
        "product": lambda: (a * b, f.exp(a)),
        "where": lambda: (f.where(a > -1.0, a * a, 0.0), b),
        "call": lambda: (call(f.sin, f.where(b > -2.0, a, 0.0)), b),
        "result of a call": lambda: (f.exp(call(lambda x: f.where(x > -9.0, x * x, 0.0), a)), b),
        "cond": lambda: (f.exp(cond(a > -1.0, lambda: a * b, lambda: 5.0)), b),
        "loop": lambda: fori_loop(0, 2, lambda k, s: (s[0] + 0.5 * s[1], f.sin(s[0]) * b + s[1]), (0.0, a)),
        "scan": lambda: (
            lambda last, rows: (last * rows[1], rows[0])
        )(*scan(lambda c, u: (cond(c < 99.0, lambda: 0.5 * c + u * u, lambda: 1.0), c * u), a, array([b, b]))),
        "loop from a number": lambda: (fori_loop(0, 3, lambda k, s: f.sin(s) + a * b, 0.0), b),
        "take": lambda: (f.exp(take(array([a * a, 0.0]), f.where(a > -1.0, 0.0, 1.0))), b),
        "put": lambda: (lambda t: (f.sin(t[0]), t[1] * t[0]))(put(array([a, 0.0]), f.where(a > -1.0, 1.0, 0.0), b)),
    }  # fmt: skip
    return steps[kind]()


def exact(kind: str, a: Any, b: Any) -> tuple[Any, Any]:
    """Return `traced` of the same arguments at high precision."""
    sin, exp = mpmath.sin, mpmath.exp
    if kind == "loop":
        p, q = mpmath.mpf(0), a
        for _ in range(2):
            p, q = p + q / 2, sin(p) * b + q
        return p, q
    first, second = a / 2 + b * b, a * b
    steps: dict[str, Callable[[], tuple[Any, Any]]] = {
        "square": lambda: (a * a, b),
        "swap": lambda: (b, a),
        "product": lambda: (a * b, exp(a)),
        "where": lambda: (a * a, b),
        "call": lambda: (sin(a), b),
        "result of a call": lambda: (exp(a * a), b),
        "cond": lambda: (exp(a * b), b),
        "scan": lambda: ((first / 2 + b * b) * first * b, second),
        "loop from a number": lambda: (sin(sin(a * b) + a * b) + a * b, b),
        "take": lambda: (exp(a * a), b),
        "put": lambda: (sin(a), b * a),
    }
    return steps[kind]()


KINDS = ("square", "swap", "product", "where", "call", "result of a call", "cond", "loop", "scan",
         "loop from a number", "take", "put")  # fmt: skip


def second_derivatives(output: Any, x: list[Any]) -> list[list[Any]]:
    """Hessians by forward over forward, forward over reverse and reverse over reverse mode, flat."""
    gradient = adjoint([output], x, [1.0])
    return [
        [*itertools.chain(*jacobian(jacobian([output], x)[0], x))],
        [*itertools.chain(*jacobian(gradient, x))],
        [*itertools.chain(*(adjoint(gradient, x, unit) for unit in UNITS))],
    ]


def check(program: tuple[str, ...]) -> None:
    """Compare the second derivatives of a program at zeros with those of mpmath."""
    x = Graph().inputs("x", (2,))
    a, b = x[0], x[1]
    for kind in program:
        a, b = traced(kind, a, b)

    def value(p: Any, q: Any) -> Any:
        for kind in program:
            p, q = exact(kind, p, q)
        return p + 2 * q

    derivatives = second_derivatives(a + 2.0 * b, x)
    with mpmath.workdps(40):
        for at in ((0.0, 0.0), (0.0, 0.5)):
            expected = [float(mpmath.diff(value, at, n)) for n in ((2, 0), (1, 1), (1, 1), (0, 2))]
            for expressions in derivatives:
                result = evaluate(expressions, dict(zip(x, at, strict=True)))
                np.testing.assert_allclose(result, expected, rtol=1e-12, atol=1e-12, err_msg=f"{program} at {at}")


@pytest.mark.parametrize("kind", KINDS)
def test_second_derivatives_at_zero_of_single_operations_equal_mpmaths(kind: str) -> None:
    for program in ((kind,), (kind, "square"), ("square", kind), ("square", kind, "product")):
        check(program)


def test_second_derivatives_at_zero_of_random_programs_equal_mpmaths() -> None:
    rng = np.random.default_rng(3)
    for _ in range(12):
        check(tuple(map(str, rng.choice(KINDS, 4))))


def test_second_derivatives_of_a_rollout_from_rest_are_exact() -> None:
    """q' = v, v' = u² − sin q − v exp q from (0, 0), whose first derivatives by u vanish at u = 0."""

    def rollout(u: Any) -> Any:
        def step(s: Any, t: Any) -> Any:
            return (s[0] + 0.1 * s[1], s[1] + 0.1 * (t * t - f.sin(s[0]) - s[1] * f.exp(s[0]))), None

        (q, v), _ = scan(step, (0.0, 0.0), array([u[0], u[0], u[1], u[1]]))
        return q + v

    kernel = lw.compile(rollout, u=2, name="rollout")
    expected = np.diag([0.3922, 0.4])
    np.testing.assert_allclose(kernel.hessian()(np.zeros(2)), expected, atol=1e-12)
    again = kernel.jvp("u").jvp("u")
    result = [
        [again(np.zeros(2), direction, second_direction) for direction in np.eye(2)] for second_direction in np.eye(2)
    ]
    np.testing.assert_allclose(result, expected, atol=1e-12)
