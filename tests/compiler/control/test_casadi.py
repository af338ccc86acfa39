"""Conversion of kernels with loops, branches, calls and tables to CasADi: to SX, and to MX for long programs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import linkwork as lw
from expr.control.cases import CASES, Case
from linkwork.compiler.casadi import to_casadi as casadi_control
from linkwork.compiler.casadi.to_casadi import to_casadi
from linkwork.expr import adjoint, array, fori_loop, scan, sin, take, while_loop

ca = pytest.importorskip("casadi")


def check(case: Case, name: str) -> str:
    """Compare the CasADi function with the interpreter, and return whether it is a function of SX or of MX."""
    kernel = lw.compile(case.function, name=name, **case.shapes)
    function = kernel.to_casadi()
    samples = case.samples(np.random.default_rng(12), 12)
    samples[0][0] = np.nan
    for j in range(12):
        arrays = [x[j] for x in samples]
        for port, got, right in zip(kernel.outputs, function(*arrays), kernel.interpret(*arrays), strict=True):
            got = np.array(got).reshape(port.shape)
            np.testing.assert_allclose(got, right, rtol=1e-13, atol=1e-13, err_msg=f"{name}: {port}")
    return str(function.class_name())


@pytest.mark.costly
@pytest.mark.parametrize(("most", "kind"), [(10_000, "SXFunction"), (0, "MXFunction")])
def test_casadi_conversions_of_programs_with_control_flow_equal_the_interpreter(
    most: int, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(casadi_control, "MAX_EXPANDED", most)
    for name, case in CASES.items():
        if case.reverse:
            assert check(case, name) == kind


def roll_out(x: Any, u: Any) -> Any:
    """A scan over a nested loop, too long to be unrolled."""
    step = lambda s, c: (s + 0.01 * (c - fori_loop(0, 20, lambda k, t: sin(t) * 0.9, s)), s * s)  # noqa: E731
    last, saved = scan(step, x, u, reverse=True)
    return {"last": last, "kept": saved}


def test_long_loops_are_converted_to_casadi_loops_and_can_be_differentiated() -> None:
    kernel = lw.compile(roll_out, x=(), u=(400,))
    function = kernel.to_casadi()
    assert function.class_name() == "MXFunction" and function.n_instructions() < 2000
    rng = np.random.default_rng(13)
    x, u = rng.normal(), rng.normal(size=400)
    for got, right in zip(function(x, u), kernel(x, u), strict=True):
        np.testing.assert_allclose(np.array(got).ravel(), np.ravel(right), rtol=1e-12)
    a, b = ca.MX.sym("x"), ca.MX.sym("u", 400)
    slope = ca.Function("slope", [a, b], [ca.gradient(function(a, b)[0], b)])
    ours = lw.compile(lambda x, u: array(adjoint([roll_out(x, u)["last"]], list(u), [1.0])), x=(), u=(400,))
    np.testing.assert_allclose(np.array(slope(x, u)).ravel(), ours(x, u), rtol=1e-10, atol=1e-14)


def test_programs_without_loops_can_be_converted_to_casadi() -> None:
    plain = lw.compile(lambda x: take(np.array([2.0, 3.0, 5.0]), x) * x, x=())
    function = plain.to_casadi()
    assert function.class_name() == "SXFunction"
    for index in (-1.5, 0.0, 1.0, 1.9, 2.0, 9.0):
        assert float(function(index)) == plain(index)
    assert np.isnan(float(function(np.nan)))
    kernel = lw.compile(CASES["called"].function, x=(), y=())
    for got, right in zip(to_casadi(kernel.program)(0.3, 0.4), kernel(0.3, 0.4), strict=True):
        assert float(got) == pytest.approx(float(right), rel=1e-14)


def test_conversion_to_casadi_rejects_loops_of_unknown_length() -> None:
    def inside(x):
        return fori_loop(
            0, 3, lambda k, s: while_loop(lambda t: t > 1.0, lambda t: 0.5 * t, s, max_iterations=9).state, x
        )

    for name, function in {"alone": CASES["newton"].function, "inside": inside}.items():
        shapes = CASES["newton"].shapes if name == "alone" else {"x": ()}
        with pytest.raises(ValueError, match=f"{name}: CasADi has no loop of unknown length, such as while_loop"):
            lw.compile(function, name=name, **shapes).to_casadi()
