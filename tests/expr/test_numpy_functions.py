"""NumPy's functions on arrays of symbols, each against NumPy on floats; and their table in docs/compiler.md.

`python -m pytest tests/expr/test_numpy_functions.py --update-golden` writes the table anew.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.compiler.trace.trace import trace
from linkwork.expr.arrays.numpy_elementwise import ELEMENTWISE, PLAIN
from linkwork.expr.arrays.numpy_formulas import FORMULAS
from linkwork.expr.arrays.numpy_functions import COMPOSED, DELEGATED, MOVING, REFUSED
from linkwork.expr.arrays.symbol_array import SymbolArray, array, object_array
from linkwork.expr.scalar.operations import BY_NAME
from linkwork.expr.scalar.symbol import Graph, Symbol

PAGE = Path(__file__).parents[2] / "docs" / "compiler.md"
BEGIN, END = "<!-- NumPy's functions -->\n", "<!-- end of NumPy's functions -->\n"

SHAPES = {"p": (3,), "r": (3,), "A": (3, 3), "B": (2, 3, 3), "s": ()}
Case = Callable[..., Any]


def numpys(name: str) -> Any:
    member: Any = np
    for part in name.split("."):
        member = getattr(member, part)
    return member


LOGIC = {f"logical_{name}" for name in ("and", "or", "xor", "not")} | {
    "bitwise_and",
    "bitwise_or",
    "bitwise_xor",
    "invert",
}
ORDER = {"equal", "not_equal", "less", "less_equal", "greater", "greater_equal"}
TRUTH = LOGIC | ORDER | {"isnan", "isinf", "isfinite", "signbit"}
OPERATIONS = {
    name
    for row in BY_NAME.values()
    for name in (getattr(row.value, "__name__", ""), *row.arrays)
    if row.arity > 0 and isinstance(getattr(np, name, None), np.ufunc)
}
NEW = "cumulative_prod", "cumulative_sum", "matvec", "unstack", "vecmat"
ABSENT = {name for name in NEW if not hasattr(np, name)}
"""Functions that NumPy's lowest versions do not have."""
NAMES = {*OPERATIONS, *ELEMENTWISE, *PLAIN} - {"clip"} - ABSENT
UFUNCS = sorted({getattr(np, name).__name__ for name in NAMES})


def elements(name: str) -> list[Case]:
    """Return calls of an elementwise function on arrays and scalars in its domain."""
    function = getattr(np, name)
    if name in ("matmul", "vecdot", "matvec", "vecmat"):
        return {
            "matmul": [lambda p, r, A, B, s: (A @ p, p @ A, A @ A, B @ A, B @ p, p @ r)],
            "vecdot": [lambda p, r, A, B, s: (np.vecdot(A, p), np.vecdot(p, r))],
            "matvec": [lambda p, r, A, B, s: np.matvec(B, p)],
            "vecmat": [lambda p, r, A, B, s: np.vecmat(p, B)],
        }[name]
    inside = {"arccosh": lambda x: 1.1 + x * x, "log": np.abs, "log2": np.abs, "log10": np.abs, "sqrt": np.abs}
    inside |= {"arcsin": np.sin, "arccos": np.sin, "arctanh": lambda x: 0.9 * np.sin(x), "log1p": np.abs}
    change = inside.get(name, lambda x: x)
    if name in LOGIC:
        if function.nin == 1:
            return [lambda p, r, A, B, s: number(function(p < 0.1))]
        return [lambda p, r, A, B, s: (number(function(p < 0.1, r < p)), number(function(s < 0.1, p < r)))]
    give = number if name in TRUTH else (lambda x: x)
    if function.nin == 1:
        return [lambda p, r, A, B, s: (give(function(change(A))), give(function(change(s))))]
    base = np.abs if name in ("power", "float_power") else (lambda x: x)
    samples = np.array([0.5, -1.25, 2.0])
    return [
        lambda p, r, A, B, s: (
            give(function(base(p), r)),
            give(function(base(A), r)),
            give(function(base(s), r)),
            give(function(base(p), s)),
            give(function(base(p), 1.5)),
            give(function(2.5, r)),
            give(function(base(samples), s)),
        )
    ]


def number(truth: Any) -> Any:
    """A truth value as a number."""
    return np.where(truth, 1.0, 0.0)


ARRAYS: dict[str, Case] = {
    "all": lambda p, r, A, B, s: (number(np.all(A > -9.0, axis=1)), number((p < r).all()), number(np.all(p < 9.0))),
    "any": lambda p, r, A, B, s: (number(np.any(A > 0.5, axis=0)), number((p < r).any()), number(np.any(p > 9.0))),
    "amax": lambda p, r, A, B, s: np.amax(A, axis=0),
    "amin": lambda p, r, A, B, s: np.amin(A, axis=0),
    "max": lambda p, r, A, B, s: (np.max(A), A.max(axis=1, keepdims=True), np.max(B, axis=(0, 2))),
    "min": lambda p, r, A, B, s: (np.min(A), A.min(axis=1), B.min(axis=(0, 2))),
    "ptp": lambda p, r, A, B, s: (np.ptp(p), np.ptp(A, axis=0)),
    "sum": lambda p, r, A, B, s: (np.sum(A), B.sum(axis=(0, 1)), A.sum(axis=0, keepdims=True), np.sum(p > r)),
    "trapezoid": lambda p, r, A, B, s: (np.trapezoid(p), np.trapezoid(A, dx=0.5), np.trapezoid(p, [0.0, 1.0, 3.0])),
    "convolve": lambda p, r, A, B, s: np.convolve(p, r),
    "correlate": lambda p, r, A, B, s: np.correlate(p, r, "full"),
    "append": lambda p, r, A, B, s: np.append(p, s),
    "array2string": lambda p, r, A, B, s: float(len(np.array2string(p)) > 3),
    "array_repr": lambda p, r, A, B, s: float(len(np.array_repr(p)) > 3),
    "array_str": lambda p, r, A, B, s: float(len(np.array_str(p)) > 3),
    "array_split": lambda p, r, A, B, s: tuple(np.array_split(p, 2)),
    "atleast_1d": lambda p, r, A, B, s: (np.atleast_1d(s), np.atleast_1d(p)),
    "atleast_2d": lambda p, r, A, B, s: np.atleast_2d(p),
    "atleast_3d": lambda p, r, A, B, s: np.atleast_3d(p),
    "block": lambda p, r, A, B, s: np.block([[A, p[:, None]], [np.zeros((1, 3)), s]]),
    "broadcast_arrays": lambda p, r, A, B, s: tuple(np.broadcast_arrays(p, A)),
    "broadcast_to": lambda p, r, A, B, s: np.broadcast_to(p, (2, 3)),
    "column_stack": lambda p, r, A, B, s: np.column_stack([p, A]),
    "concatenate": lambda p, r, A, B, s: np.concatenate([p, [1.0, 2.0], r]),
    "copy": lambda p, r, A, B, s: (np.copy(p), p.copy()),
    "copyto": lambda p, r, A, B, s: copied(p),
    "cross": lambda p, r, A, B, s: (np.cross(p, r), np.cross(A, [1.0, 0.0, 0.0])),
    "cumprod": lambda p, r, A, B, s: (np.cumprod(p), A.cumprod(axis=1)),
    "cumsum": lambda p, r, A, B, s: (np.cumsum(p), A.cumsum(axis=0)),
    "cumulative_prod": lambda p, r, A, B, s: np.cumulative_prod(p),
    "cumulative_sum": lambda p, r, A, B, s: np.cumulative_sum(p),
    "delete": lambda p, r, A, B, s: np.delete(A, 1, axis=0),
    "diag": lambda p, r, A, B, s: (np.diag(p), np.diag(A)),
    "diagflat": lambda p, r, A, B, s: np.diagflat(p),
    "diagonal": lambda p, r, A, B, s: (np.diagonal(A), A.diagonal(1)),
    "diff": lambda p, r, A, B, s: np.diff(A, axis=1),
    "dot": lambda p, r, A, B, s: (np.dot(p, r), np.dot(A, p), A.dot(A)),
    "dsplit": lambda p, r, A, B, s: tuple(np.dsplit(B, 3)),
    "dstack": lambda p, r, A, B, s: np.dstack([p, r]),
    "einsum": lambda p, r, A, B, s: (np.einsum("ij,j->i", A, p), np.einsum("kij,j,i->k", B, p, r, optimize=True)),
    "empty_like": lambda p, r, A, B, s: np.empty_like(p).shape[0] * 1.0,
    "expand_dims": lambda p, r, A, B, s: np.expand_dims(p, 0),
    "fill_diagonal": lambda p, r, A, B, s: with_diagonal(A, s),
    "flip": lambda p, r, A, B, s: np.flip(A, 0),
    "fliplr": lambda p, r, A, B, s: np.fliplr(A),
    "flipud": lambda p, r, A, B, s: np.flipud(A),
    "full_like": lambda p, r, A, B, s: np.full_like(p, 2.5),
    "hsplit": lambda p, r, A, B, s: tuple(np.hsplit(A, 3)),
    "hstack": lambda p, r, A, B, s: np.hstack([p, s, r]),
    "inner": lambda p, r, A, B, s: (np.inner(p, r), np.inner(A, p)),
    "insert": lambda p, r, A, B, s: np.insert(p, 1, s),
    "kron": lambda p, r, A, B, s: np.kron(A, p),
    "linalg.cross": lambda p, r, A, B, s: np.linalg.cross(p, r),
    "linalg.diagonal": lambda p, r, A, B, s: np.linalg.diagonal(B),
    "linalg.matmul": lambda p, r, A, B, s: np.linalg.matmul(A, B),
    "linalg.matrix_transpose": lambda p, r, A, B, s: np.linalg.matrix_transpose(B),
    "linalg.multi_dot": lambda p, r, A, B, s: np.linalg.multi_dot([A, A, p]),
    "linalg.outer": lambda p, r, A, B, s: np.linalg.outer(p, r),
    "linalg.tensordot": lambda p, r, A, B, s: np.linalg.tensordot(A, B, axes=([1], [2])),
    "linalg.trace": lambda p, r, A, B, s: np.linalg.trace(B),
    "linalg.vecdot": lambda p, r, A, B, s: np.linalg.vecdot(A, p),
    "matrix_transpose": lambda p, r, A, B, s: (np.matrix_transpose(B), B.mT, A.T),
    "meshgrid": lambda p, r, A, B, s: tuple(np.meshgrid(p, [1.0, 2.0])),
    "moveaxis": lambda p, r, A, B, s: np.moveaxis(B, 0, -1),
    "ndim": lambda p, r, A, B, s: float(np.ndim(B) + np.ndim(s)),
    "ones_like": lambda p, r, A, B, s: np.ones_like(p),
    "outer": lambda p, r, A, B, s: (np.outer(p, r), np.multiply.outer(p, r)),
    "pad": lambda p, r, A, B, s: np.pad(p, 2),
    "polyval": lambda p, r, A, B, s: (np.polyval([1.0, 2.0, 3.0], s), np.polyval(p, 0.5)),
    "prod": lambda p, r, A, B, s: (np.prod(p), A.prod(axis=0)),
    "put_along_axis": lambda p, r, A, B, s: put(p),
    "ravel": lambda p, r, A, B, s: (np.ravel(A), A.ravel(), A.flatten()),
    "repeat": lambda p, r, A, B, s: (np.repeat(p, 2), p.repeat(3)),
    "reshape": lambda p, r, A, B, s: (np.reshape(A, -1), A.reshape(9, 1)),
    "resize": lambda p, r, A, B, s: np.resize(p, (2, 2)),
    "roll": lambda p, r, A, B, s: np.roll(p, 1),
    "rollaxis": lambda p, r, A, B, s: np.rollaxis(B, 2),
    "rot90": lambda p, r, A, B, s: np.rot90(A),
    "shape": lambda p, r, A, B, s: float(np.shape(B)[0] + len(np.shape(s))),
    "size": lambda p, r, A, B, s: float(np.size(A) + np.size(s)),
    "split": lambda p, r, A, B, s: tuple(np.split(A, 3)),
    "squeeze": lambda p, r, A, B, s: np.squeeze(A[:1]),
    "stack": lambda p, r, A, B, s: (np.stack([p, r]), np.stack([s, s, 1.0])),
    "swapaxes": lambda p, r, A, B, s: np.swapaxes(B, 0, 1),
    "take": lambda p, r, A, B, s: np.take(p, [2, 0]),
    "take_along_axis": lambda p, r, A, B, s: np.take_along_axis(A, np.array([[0], [1], [2]]), axis=1),
    "tensordot": lambda p, r, A, B, s: np.tensordot(A, B, axes=(1, 1)),
    "tile": lambda p, r, A, B, s: np.tile(p, (2, 2)),
    "trace": lambda p, r, A, B, s: (np.trace(A), A.trace()),
    "transpose": lambda p, r, A, B, s: (np.transpose(B, (2, 0, 1)), B.transpose()),
    "tril": lambda p, r, A, B, s: np.tril(A),
    "triu": lambda p, r, A, B, s: np.triu(A, 1),
    "unstack": lambda p, r, A, B, s: tuple(np.unstack(A)),
    "vander": lambda p, r, A, B, s: np.vander(p, 3),
    "vdot": lambda p, r, A, B, s: (np.vdot(p, r), np.vdot(A, A)),
    "vsplit": lambda p, r, A, B, s: tuple(np.vsplit(A, 3)),
    "vstack": lambda p, r, A, B, s: np.vstack([p, r, A]),
    "zeros_like": lambda p, r, A, B, s: written(p),
    "where": lambda p, r, A, B, s: (np.where(p < r, p, 2.0), np.where(s < A, A, s), np.where(A > 0.0, p, r)),
    "select": lambda p, r, A, B, s: np.select([p < -0.5, p < 0.5], [r, 2.0 * r], 7.0),
    "clip": lambda p, r, A, B, s: (np.clip(A, -0.5, s), A.clip(min=0.0), np.clip(p, None, 0.3), p.clip(-0.1, 0.1)),
    "mean": lambda p, r, A, B, s: (np.mean(A), B.mean(axis=(0, 1)), A.mean(axis=1, keepdims=True)),
    "average": lambda p, r, A, B, s: (np.average(p), np.average(A, axis=0), np.average(p, weights=[1.0, 2.0, 3.0])),
    "var": lambda p, r, A, B, s: (np.var(A), A.var(axis=0, ddof=1)),
    "std": lambda p, r, A, B, s: (np.std(A), p.std(), A.std(axis=1, keepdims=True)),
    "round": lambda p, r, A, B, s: (np.round(A, 1), np.round(3.0 * p), (7.0 * A).round()),
    "around": lambda p, r, A, B, s: np.around(A, 2),
    "isclose": lambda p, r, A, B, s: (
        number(np.isclose(p, p + 1e-9)),
        number(np.isclose(p, r)),
        number(np.isclose(s, 9.0)),
    ),
    "nan_to_num": lambda p, r, A, B, s: (np.nan_to_num(p), np.nan_to_num(np.log(p), nan=-7.0)),
    "sinc": lambda p, r, A, B, s: (np.sinc(p), np.sinc(s - s)),
    "linspace": lambda p, r, A, B, s: (
        np.linspace(s, 2.0, 5),
        np.linspace(p, r, 4),
        np.linspace(0.0, s, 3, endpoint=False),
    ),
    "real": lambda p, r, A, B, s: np.real(p),
    "linalg.norm": lambda p, r, A, B, s: (
        np.linalg.norm(p),
        np.linalg.norm(A),
        np.linalg.norm(A, axis=1),
        np.linalg.norm(A, "fro", keepdims=True),
        np.linalg.norm(A, axis=(1, 0)),
        np.linalg.norm(A, 1, axis=(0, 1)),
        np.linalg.norm(A, np.inf, axis=(1, 0), keepdims=True),
        np.linalg.norm(p, 1),
        np.linalg.norm(p, np.inf),
        np.linalg.norm(p, -np.inf),
        np.linalg.norm(p, 3),
        np.linalg.norm(p, 0),
        np.linalg.norm(A, 1),
        np.linalg.norm(A, np.inf),
        np.linalg.norm(A, -1),
        np.linalg.norm(B, axis=(1, 2)),
        np.linalg.norm(B, axis=(0, 2), keepdims=True),
        np.linalg.norm(A, 1, axis=0),
    ),
    "linalg.vector_norm": lambda p, r, A, B, s: (np.linalg.vector_norm(A), np.linalg.vector_norm(A, axis=0, ord=1)),
    "linalg.matrix_norm": lambda p, r, A, B, s: (np.linalg.matrix_norm(B), np.linalg.matrix_norm(B, ord=1)),
    "linalg.matrix_power": lambda p, r, A, B, s: (np.linalg.matrix_power(A, 3), np.linalg.matrix_power(A, 0)),
}

LINEAR: dict[str, Case] = {
    "solve": lambda p, r, A, B, s: (np.linalg.solve(A, p), np.linalg.solve(A, A.T), np.linalg.solve(A, np.eye(3))),
    "inv": lambda p, r, A, B, s: np.linalg.inv(A),
    "det": lambda p, r, A, B, s: np.linalg.det(A),
    "slogdet": lambda p, r, A, B, s: tuple(np.linalg.slogdet(A)),
    "cholesky": lambda p, r, A, B, s: np.linalg.cholesky(A @ A.T + np.eye(3)),
    "qr": lambda p, r, A, B, s: np.abs(np.linalg.qr(A)[1]),
    "eigh": lambda p, r, A, B, s: (np.linalg.eigh(A + A.T)[0], np.linalg.eigvalsh(A + A.T)),
    "svd": lambda p, r, A, B, s: (
        np.linalg.svd(A)[1],
        np.linalg.svdvals(A),
        np.linalg.norm(A, 2),
        np.linalg.norm(A, -2),
    ),
    "nuclear": lambda p, r, A, B, s: np.linalg.norm(A, "nuc"),
    "pinv": lambda p, r, A, B, s: np.linalg.pinv(A[:2]),
    "powers": lambda p, r, A, B, s: np.linalg.matrix_power(A, -2),
}

SYNTAX: dict[str, Case] = {
    "brackets": lambda p, r, A, B, s: (
        A[0],
        A[:, 1],
        A[::-1, [0, 2]],
        p[np.array([True, False, True])],
        B[..., 0],
        p[-1],
    ),
    "operators": lambda p, r, A, B, s: (-p + 2.0 * r - p / 3.0, s * p, p * s, 1.0 - A, abs(p), +p, p**2, 2.0**p, p**-1),
    "remainders": lambda p, r, A, B, s: (p % 0.7, s % 0.3, p // 0.7, -p % 0.7),
    "truth": lambda p, r, A, B, s: (number((p < r) & (p > -9.0) | ~(p == r)), number((p != s) ^ (s <= 2.0))),
    "numbers of NumPy": lambda p, r, A, B, s: (np.float64(2.0) * s, np.int64(3) + p, s / np.int8(2)),
    "loops": lambda p, r, A, B, s: sum(x * y for x, y in zip(p, r, strict=True)) + sum(row @ row for row in A),
    "in place": lambda p, r, A, B, s: in_place(p, s),
    "r_ and c_": lambda p, r, A, B, s: (np.r_[p, 1.0, s], np.c_[A, p]),
    "array": lambda p, r, A, B, s: (array([s, p[0], 1.0]), np.sqrt(np.abs(array([[s, 2.0], [p[1], 0.5]])))),
    "ufunc methods": lambda p, r, A, B, s: (
        np.maximum.reduce(A),
        np.maximum.accumulate(p),
        np.add.accumulate(A, axis=1),
    ),
}


def copied(p: Any) -> Any:
    to = np.zeros_like(p)
    np.copyto(to, 2.0 * p)
    return to


def put(p: Any) -> Any:
    to = np.zeros_like(p)
    np.put_along_axis(to, np.array([2]), 3.0, 0)
    return to + p


def with_diagonal(A: Any, s: Any) -> Any:
    B = A.copy()
    np.fill_diagonal(B, s)
    return B


def written(p: Any) -> Any:
    to = np.zeros_like(p)
    to[1:] = p[:2]
    return to


def in_place(p: Any, s: Any) -> Any:
    q = p.copy()
    q += 1.0
    q *= s
    q[0] -= p[1]
    return q


def values(seed: int) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    return {key: rng.uniform(-1.0, 1.0, shape) for key, shape in SHAPES.items()}


def check(cases: dict[str, Case], compiled: bool = False) -> None:
    """Compare all cases in one program with NumPy: values and shapes."""
    parts: dict[str, Any] = {}

    def everything(**arrays: Any) -> dict[str, Any]:
        for name, case in cases.items():
            outputs = case(**arrays)
            for k, part in enumerate(outputs if isinstance(outputs, tuple) else (outputs,)):
                parts[f"{name}_{k}".replace(".", "_").replace(" ", "_")] = part
        result = dict(parts)
        parts.clear()
        return result

    program = trace(everything, "everything", SHAPES)
    assert not compiled or len(program.outputs) < 58  # NumPy has no more
    run = lw.Kernel(program) if compiled else program.interpret
    for seed in range(3):
        arrays = values(seed)
        arrays["s"] = float(arrays["s"])
        with np.errstate(all="ignore"):
            expected = everything(**arrays)
        actual = run(*arrays.values())
        for (name, value), result in zip(expected.items(), actual, strict=True):
            assert np.shape(result) == np.shape(value), name
            np.testing.assert_allclose(result, np.asarray(value, float), rtol=4e-15, atol=1e-14, err_msg=name)


def test_elementwise_numpy_functions_on_symbols_equal_numpys() -> None:
    check({f"{name} {k}": case for name in UFUNCS for k, case in enumerate(elements(name))})


def test_array_functions_of_numpy_on_symbols_equal_numpys() -> None:
    assert {*ARRAYS} == {*MOVING, *COMPOSED, *FORMULAS}
    check({name: case for name, case in ARRAYS.items() if name not in ABSENT})


def test_linear_algebra_of_numpy_on_symbols_equals_numpys() -> None:
    check(LINEAR)


def test_python_operators_on_symbol_arrays_equal_numpys() -> None:
    check(SYNTAX)


def test_compiled_numpy_functions_equal_numpys() -> None:
    few = {name: ARRAYS[name] for name in ("where", "clip", "max", "std", "round", "einsum", "isclose")}
    check({**few, **{name: elements(name)[0] for name in ("maximum", "minimum", "remainder", "cbrt", "rint")}}, True)


def test_numpy_functions_of_special_values_equal_numpys() -> None:
    special = np.array([0.0, -0.0, 1.0, -1.5, 2.5, 0.5, -0.5, 3.5, np.inf, -np.inf, np.nan, 1e300, 8.0, -27.0])
    unary = ["cbrt", "rint", "trunc", "ceil", "isnan", "isinf", "isfinite", "signbit", "square", "sign", "heaviside"]
    two = ["maximum", "minimum", "fmax", "fmin", "heaviside", "isclose", "logical_and", "logical_xor"]

    def function(x: Any, y: Any) -> list[Any]:
        results = [getattr(np, name)(x) for name in unary if name != "heaviside"]
        results += [getattr(np, name)(x, y) for name in two]
        return [np.where(z, 1.0, 0.0) if truth else z for z, truth in zip(results, truths, strict=True)]

    truths = [False, False, False, False, True, True, True, True, False, False, *[False] * 5, True, True, True]
    program = trace(lambda x, y: np.stack(function(x, y)), "f", {"x": (1,), "y": (1,)})
    x, y = (np.ravel(z)[:, None] for z in np.meshgrid(special, special))
    (results,) = program.interpret(x, y)
    with np.errstate(all="ignore"):
        expected = np.stack(function(x, y), axis=1)
    np.testing.assert_allclose(results, expected, rtol=1e-15, atol=0.0)


def test_numpy_functions_of_object_arrays_of_batches_equal_those_of_each_sample() -> None:
    """Elements are arrays of all samples."""
    rng = np.random.default_rng(0)
    samples = {key: rng.uniform(-1.0, 1.0, (5, *shape)) for key, shape in SHAPES.items()}
    columns = {
        key: object_array(shape, list(np.moveaxis(samples[key].reshape(5, math.prod(shape)), 1, 0)))
        for key, shape in SHAPES.items()
    }
    left_out = {"array2string", "array_repr", "array_str", "correlate", "convolve", *ABSENT}
    left_out |= (
        {"cross", "linalg.cross"} if np.lib.NumpyVersion(np.__version__) < "2.3.0" else set()
    )  # it has no elements of arrays
    cases = {**{name: case for name, case in ARRAYS.items() if name not in left_out}, **SYNTAX}
    cases |= {f"{name} {k}": case for name in UFUNCS for k, case in enumerate(elements(name))}
    for name, case in cases.items():
        with np.errstate(all="ignore"):
            result = case(**columns)
            expected = [case(**{key: x[k] for key, x in samples.items()}) for k in range(5)]
        pairs = (
            zip(result, zip(*expected, strict=True), strict=True) if isinstance(result, tuple) else [(result, expected)]
        )
        for value, reference in pairs:
            many = isinstance(value, np.ndarray) and (value.dtype == object or value.shape == np.shape(reference[0]))
            elements_of = value.ravel().tolist() if many else [value]
            wide = np.stack([np.broadcast_to(np.asarray(x, float), (5,)) for x in elements_of], axis=-1)
            np.testing.assert_allclose(wide, np.reshape(reference, wide.shape), rtol=4e-15, atol=1e-14, err_msg=name)


def test_unsupported_numpy_functions_are_refused_with_an_alternative() -> None:
    graph = Graph()
    p, A = object_array((3,), graph.inputs("p", (3,))), object_array((3, 3), graph.inputs("A", (3, 3)))
    for name, why in REFUSED.items():
        argument = A if name.startswith("linalg") else p
        more = {"searchsorted": ([0.0],), "choose": ([p],), "percentile": (3,), "quantile": (0.3,), "compress": (p,)}
        more |= {"array_equal": (p,), "array_equiv": (p,), "allclose": (p,), "extract": (p,), "digitize": (p,)}
        more |= {"interp": (p, p), "putmask": (p, p), "place": (p, p), "setdiff1d": (p,), "union1d": (p,)}
        more |= {
            "linalg.lstsq": (A,),
            "intersect1d": (p,),
            "histogram2d": (p,),
            "argpartition": (1,),
            "partition": (1,),
        }
        arguments = ("f", argument) if name.startswith("save") else (argument, *more.get(name, ()))
        with pytest.raises(TypeError, match="not supported on symbols") as caught:
            numpys(name)(*arguments)
        assert str(caught.value) == f"np.{name}: not supported on symbols: {why}"
    for method in ("argmax", "argmin", "argsort", "sort", "nonzero", "searchsorted"):
        with pytest.raises(TypeError, match=f"np.{method}: not supported on symbols"):
            getattr(p, method)(*([0.0] if method == "searchsorted" else []))
    for function in (np.frexp, np.gradient, np.unwrap, np.spacing):
        with pytest.raises(TypeError, match=r"not supported on symbols, .* docs/compiler.md"):
            function(p)
    further: dict[str, tuple[Case, str]] = {
        "bool": (lambda: bool(p[0]), "no truth value .* np.minimum"),
        "min": (lambda: min(p), "no truth value .* np.minimum"),
        "in": (lambda: p[0] in p, "in: the values"),
        "float": (lambda: float(p[0]), "no numeric value"),
        "int": (lambda: int(p[0]), "no numeric value"),
        "math": (lambda: math.sin(p[0]), "no numeric value"),
        "random": (lambda: np.random.default_rng(0).normal(p[0]), "no numeric value"),
        "index": (lambda: [1.0][p[0]], "linkwork.take"),
        "brackets": (lambda: p[p[0]], "linkwork.take"),
        "as many": (lambda: list(range(p[0])), "linkwork.while_loop"),
        "mask": (lambda: p[p < 0.0], "linkwork.take"),
        "written mask": (lambda: p.__setitem__(p < 0.0, 0.0), "linkwork.take"),
        "where=": (lambda: np.sin(p, where=[True, False, True]), "where= is not supported"),
        "out=": (lambda: np.sin(p, out=np.zeros(3)), "symbols cannot be written to an array of float64"),
        "at": (lambda: np.add.at(p, [0], 1.0), "np.add.at: not supported"),
        "bits": (lambda: p & 1, "&: expected truth values"),
        "one condition": (lambda: np.where(p < 0.0), r"np.where\(condition, x, y\)"),
        "an order": (lambda: np.linalg.norm(A, 7), "NumPy's orders"),
    }
    for kind, (function, text) in further.items():
        with pytest.raises((TypeError, ValueError), match=f"(?s){text}"):
            function()
        assert kind
    assert isinstance(p[0], Symbol) and isinstance(p[:1], SymbolArray)


def test_copies_of_symbol_arrays_contain_the_same_symbols() -> None:
    p = object_array((3,), Graph().inputs("p", (3,)))
    for copied in (copy.copy(p), copy.deepcopy(p), p.copy()):
        assert copied is not p and all(x is y for x, y in zip(copied, p, strict=True))
    assert copy.deepcopy({"x": p[0]})["x"] is p[0]


# -- the table


def listed(names: Any) -> str:
    return ", ".join(f"`{name}`" for name in sorted(names))


def table() -> str:
    truth = TRUTH & {*UFUNCS}
    linear = {*DELEGATED, *(name for name in FORMULAS if name.startswith("linalg"))}
    aliases = {"abs", "acos", "asin", "atan", "atan2"}
    rows = {
        "functions of elements": {*UFUNCS} - truth - PLAIN
        | {"add", "subtract", "multiply", "negative", "clip"}
        | aliases,
        "comparisons and truth values, as `<`, `==`, `&`, `~` too": truth | {"isclose"},
        "choices": {"where", "select"},
        "reductions, also as methods": {*COMPOSED, "mean", "average", "var", "std", "prod", "cumsum", "cumprod"},
        "products": {
            "dot",
            "vdot",
            "inner",
            "outer",
            "matmul",
            "vecdot",
            "matvec",
            "vecmat",
            "einsum",
            "tensordot",
            "kron",
        }
        | {"cross", "trace"},
        "linear algebra": linear | {name for name in MOVING if name.startswith("linalg")},
    }
    known = set().union(*rows.values())
    rows["shapes and places"] = {*MOVING, *FORMULAS, *COMPOSED} - known - {"array2string", "array_repr", "array_str"}
    text = "| | of `np` |\n|---|---|\n" + "".join(f"| {group} | {listed(names)} |\n" for group, names in rows.items())
    remedies: dict[str, list[str]] = {}
    for name, why in REFUSED.items():
        remedies.setdefault(why, []).append(name)
    text += "\n| refused | what to know, and to use |\n|---|---|\n"
    return text + "".join(f"| {listed(names)} | {why} |\n" for why, names in remedies.items())


def test_compiler_page_has_the_current_table_of_numpy_functions(update_golden: bool) -> None:
    text = PAGE.read_text(encoding="utf-8")
    before, following = text.split(BEGIN)
    old, after = following.split(END)
    if update_golden:
        PAGE.write_text(before + BEGIN + table() + END + after, encoding="utf-8")
        return
    assert old == table(), "python -m pytest tests/expr/test_numpy_functions.py --update-golden writes it anew"
