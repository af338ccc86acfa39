"""Checked numbers of arguments: arrays beyond the inputs are refused, since a ufunc takes them as outputs."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.compiler.kernel import batch_call, general_call

ARM = lw.load("arm6")
KERNELS = {
    "one output": lambda: lw.compile(lambda x, y: x + 2.0 * y, name="k", x=3, y=3),
    "two outputs": lambda: lw.compile(lambda x, y: (x + y, x @ y), name="k", x=3, y=3),
    "no input": lambda: lw.compile(lambda: np.arange(3.0), name="k"),
    "nested": lambda: lw.compile(lambda s: s["a"] + s["b"], name="k", s={"a": 3, "b": 3}),
    "empty": lambda: lw.compile(lambda x, e: (x, e), name="k", x=3, e=(0, 3)),
    "in float64": lambda: lw.compile(lambda H, x: lw.quadratic_program(H, x).x, name="k", H=(3, 3), x=3),
    "robot": lambda: ARM.compile("inverse_dynamics"),
    "derivative": lambda: lw.compile(lambda x, A: np.linalg.solve(A, x), name="k", x=3, A=(3, 3)).jvp(),
}


def calls(kernel: lw.Kernel) -> Iterator[tuple[list[Any], list[np.ndarray]]]:
    """Yield arguments of one sample, of a batch, of float32 and in lists, each with arrays like the results."""
    arguments = [np.eye(*port.shape) if len(port.shape) == 2 else np.ones(port.shape) for port in kernel.inputs]
    out = [np.full(port.shape, 7.0) for port in kernel.outputs]
    yield arguments, out
    yield [np.stack([x, x]) for x in arguments], [np.stack([x, x]) for x in out] if arguments else out
    yield [x.astype(np.float32) for x in arguments], [x.astype(np.float32) for x in out]
    yield [x.tolist() if x.size else x for x in arguments], out


@pytest.mark.parametrize("name", KERNELS)
def test_pickled_and_original_kernels_raise_errors_for_superfluous_or_missing_arrays(name: str) -> None:
    kernel = KERNELS[name]()
    for copied in (kernel, pickle.loads(pickle.dumps(kernel))):
        flat: list[Callable[..., Any]] = [general_call(copied), batch_call(copied)] if name != "nested" else []
        for arguments, out in calls(copied):
            if name == "nested":
                arguments = [dict(zip("ab", arguments, strict=True))]
            for call in (copied, copied.interpret, *flat):
                for more in (out[:1], out, [*out, out[0]], [None]):
                    with pytest.raises(TypeError, match=rf"expected {len(arguments)} arguments, .* got"):
                        call(*arguments, *more)
                if arguments:
                    with pytest.raises(TypeError, match="missing argument"):
                        call(*arguments[:-1])
            for named in ({"out": out[0]}, {"where": True}, {"dtype": float}):
                with pytest.raises(TypeError, match=rf"expected {len(arguments)} arguments, .* got"):
                    copied(*arguments, *out, **named)
            assert all((x == 7.0).all() for x in out), name


def test_numpys_error_in_a_kernel_call_names_the_argument_and_leaves_outputs_unchanged() -> None:
    kernel, x = lw.compile(lambda x, y: {"sum": x + y, "dot": x @ y}, name="k", x=3, y=3), np.ones(3)
    out = np.full((2, 3), 7.0), np.full(2, 7.0)
    for wrong, kind, message in (
        (np.ones(4), ValueError, r"y: expected an array of shape \(\.\.\., 3\), got shape \(4,\)"),
        (1.0, ValueError, r"y: .* got shape \(\)"),
        ([[1.0], [1.0, 2.0]], ValueError, "y: .* not an array"),
        (None, TypeError, "y: .* got None"),
        ("abc", TypeError, "y: .* got 'abc'"),
        (x.astype(complex), TypeError, "y: .* got numbers of type complex128"),
        (np.array([1.0, None, 2.0]), TypeError, "y: .* got array"),
        ({"elbow": 1.0}, TypeError, "y: .* got a dict"),
        (np.ma.ones(3), ValueError, "expected arrays, got a masked array for y"),
    ):
        with pytest.raises(kind, match=f"k: {message}"):
            kernel(x, wrong, out=out)
        with pytest.raises(kind, match=f"k: {message}"):
            kernel(np.stack([x, x]), wrong)
    with pytest.raises(ValueError, match=r"k: the leading dimensions do not broadcast: x \(2, 3\), y \(5, 3\)"):
        kernel(np.ones((2, 3)), np.ones((5, 3)), out=out)
    assert all((a == 7.0).all() for a in out)
    for wrong_out, kind in (((out[0],), ValueError), (out[0], TypeError), ((out[1], out[0]), ValueError)):
        with pytest.raises(kind, match="k: out: expected"):
            kernel(np.stack([x, x]), x, out=wrong_out)
    assert all((a == 7.0).all() for a in out)


def test_robot_and_joint_methods_raise_errors_for_superfluous_arrays() -> None:
    q = ARM.random_configuration(seed=0)
    out = np.full((ARM.nv, ARM.nv), 7.0)
    joint = next(iter(ARM.joints))
    methods: list[tuple[Any, np.ndarray]] = [(ARM.mass_matrix, q), (ARM.mass_matrix, q[None]), (joint.transform, q[:1])]
    for method, x in methods:
        for _ in range(2):  # the first call, and that of stored code
            with pytest.raises(TypeError, match=r"takes (from 1 to )?2 positional arguments but 3 were given"):
                method(x, out)
            method(x)
    assert (out == 7.0).all()
