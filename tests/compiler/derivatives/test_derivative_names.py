"""Derivatives of kernels: arguments, names of inputs and outputs, and refusals."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest

import linkwork as lw
from linkwork.errors import UnknownNameError
from linkwork.expr import cos, sin


class State(NamedTuple):
    """A nested input."""

    x: Any
    v: Any


def spring(state: State, k: Any) -> dict[str, Any]:
    return {"energy": k * (state.x @ state.x) + 0.5 * (state.v @ state.v), "next": State(sin(k) * state.x, state.v)}


@pytest.fixture(scope="module")
def nested() -> lw.Kernel:
    return lw.compile(spring, state=State(2, 2), k=())


@pytest.fixture(scope="module")
def flat() -> lw.Kernel:
    return lw.compile(lambda x, y: {"a": x * y[0], "b": cos(x[0]) * y[1]}, x=2, y=3, name="f")


def ports(kernel: lw.Kernel) -> list[str]:
    return [", ".join(map(str, side)) for side in (kernel.inputs, kernel.outputs)]


def test_ports_of_derivative_kernels_are_named_after_the_kernels_ports(flat: lw.Kernel) -> None:
    assert ports(flat.jvp("y")) == ["x(2), y(3), d_y(3)", "d_a(2), d_b()"]
    assert ports(flat.vjp(of="b")) == ["x(2), y(3), w_b()", "grad_x(2), grad_y(3)"]
    assert ports(flat.jacobian("y", "x", of=["b"])) == ["x(2), y(3)", "d_b_d_y(3), d_b_d_x(2)"]
    assert ports(flat.value_and_gradient("x", of="b")) == ["x(2), y(3)", "b(), grad_x(2)"]
    second = ["d2_b_d_x_d_x(2, 2), d2_b_d_x_d_y(2, 3), d2_b_d_y_d_y(3, 3)"]
    assert ports(flat.hessian(of="b")) == ["x(2), y(3)", *second]
    weighed = flat.hessian("y", weights=True)
    assert ports(weighed) == ["x(2), y(3), w_a(2), w_b()", "d2_d_y_d_y(3, 3)"]
    assert ports(flat.hessian("y", of="b", vector=True)) == ["x(2), y(3), d_y(3)", "d2_b_d_y(3)"]
    assert flat.jacobian().name == "f_jacobian" and flat.jvp().vjp().name == "f_jvp_vjp"


def test_repeated_port_name_of_a_second_derivative_gets_a_number(flat: lw.Kernel) -> None:
    twice = flat.jvp("x").jvp("x", of="d_b")
    assert ports(twice) == ["x(2), y(3), d_x(2), d2_x(2)", "d_d_b()"]
    assert "d3_x" in [port.name for port in twice.jvp().inputs]


def test_requesting_an_equal_derivative_returns_the_same_kernel_object(flat: lw.Kernel) -> None:
    assert flat.jvp("x", of=["a"]) is flat.jvp("x", of=("a",)) and flat.jvp("x") is not flat.jvp("y")


def test_derivatives_with_respect_to_nested_inputs_accept_nested_directions(nested: lw.Kernel) -> None:
    jvp = nested.jvp("state", of="energy")
    x, v, dx, dv = np.arange(8.0).reshape(4, 2)
    rate = jvp(State(x, v), 2.0, State(dx, dv))
    assert rate == pytest.approx(4.0 * x @ dx + v @ dv)
    assert ports(jvp) == ["state_x(2), state_v(2), k(), d_state_x(2), d_state_v(2)", "d_energy()"]
    by_velocity = nested.jvp("state_v", of="energy")
    assert by_velocity(state=State(x, v), k=2.0, d_state_v=dv) == pytest.approx(v @ dv)
    whole = nested.jacobian("k", of="next")
    assert ports(whole)[1] == "d_next_x_d_k(2), d_next_v_d_k(2)"
    assert whole(State(x, v), 2.0)[0] == pytest.approx(np.cos(2.0) * x)
    gradient = nested.value_and_gradient(of="energy")(State(x, v), 2.0)
    assert gradient._fields == ("energy", "grad_state_x", "grad_state_v", "grad_k")


def test_unknown_ports_of_derivatives_are_refused_with_the_existing_ports(flat: lw.Kernel, nested: lw.Kernel) -> None:
    for kernel, by, of, text in (
        (flat, ("z",), None, "'x', 'y'"),
        (flat, ("a",), None, "of='...'"),
        (flat, (), "x", "inputs are named first"),
        (flat, (), "c", "'a', 'b'"),
        (nested, ("stat",), None, "'state'"),
    ):
        with pytest.raises(UnknownNameError, match=text.replace("(", r"\(")):
            kernel.jacobian(*by, of=of)


def test_invalid_arguments_of_jvp_and_vjp_are_refused_with_a_remedy(flat: lw.Kernel) -> None:
    for by, options, text in (
        ((["x", "y"],), {}, "as separate arguments, as in vjp"),
        ((0,), {}, "got 0"),
        (("x",), {"of": 3}, "names of outputs, got 3"),
        (("x",), {"of": [["a"]]}, "names of outputs"),
        (("x",), {"space": ["tangent"]}, "'tangent' or 'coordinates', got"),
    ):
        with pytest.raises(TypeError, match=text):
            flat.jacobian(*by, **options)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="'x' is named twice"):
        flat.vjp("x", "x")
    with pytest.raises(ValueError, match="'tangent' or 'coordinates', got 'body'"):
        flat.jvp(space="body")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="'forward', 'reverse' or 'auto', got 'back'"):
        flat.jacobian(mode="back")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"one element, got a of shape \(2,\); use weights=True"):
        flat.hessian()
    with pytest.raises(ValueError, match=r"expected one output, got 2 \(a, b\): name it by of"):
        flat.value_and_gradient()
    with pytest.raises(ValueError, match=r"one element, got a of shape \(2,\); use vjp with weights"):
        flat.value_and_gradient(of="a")
    with pytest.raises(ValueError, match="sparse=True applies to the matrix"):
        flat.hessian(of="b", vector=True, sparse=True)
    with pytest.raises(ValueError, match="at least one output"):
        flat.jvp(of=[])
    with pytest.raises(ValueError, match="expected inputs to differentiate with respect to"):
        lw.compile(lambda: np.ones(2)).jacobian()
    ambiguous = lw.compile(lambda b_d_c, c: {"a": c, "a_d_b": c}, b_d_c=(), c=())
    with pytest.raises(ValueError, match="two arrays would be called 'd_a_d_b_d_c'"):
        ambiguous.jacobian()


def test_derivative_kernels_check_the_shapes_of_points_of_output_spaces(flat: lw.Kernel) -> None:
    space = lw.load("arm7").configuration_space
    with pytest.raises(ValueError, match=r"a: expected a space of shape \(2,\), .*got <Space .*of shape \(7,\)"):
        flat.jvp(of={"a": space})
    with pytest.raises(TypeError, match=r"expected a space, such as robot\.configuration_space, or None, got 3"):
        flat.jvp(of={"a": 3})  # type: ignore[dict-item]


def test_repeated_calls_of_one_derivative_compile_it_once(flat: lw.Kernel) -> None:
    """It raises an error after its kernel is deleted."""
    derivative = flat.vjp()
    call = derivative.__call__
    first = call(*[np.ones(port.shape) for port in derivative.inputs])
    compiled = derivative._call
    assert np.array_equal(call(*[np.ones(port.shape) for port in derivative.inputs])[0], first[0])
    assert derivative._call is compiled
    lost = lw.compile(lambda x: x * x, x=3).jvp().__call__
    with pytest.raises(ReferenceError, match="keep a reference to the kernel"):
        lost(np.ones(3), np.ones(3))
