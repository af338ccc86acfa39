"""Adding an operation is one row: a made-up one is used in every way there is, and nothing else is touched."""

from __future__ import annotations

import math
import pickle
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from linkwork import expr
from linkwork.compiler.casadi.from_casadi import from_casadi
from linkwork.compiler.kernel import Kernel
from linkwork.compiler.program import Port, Program
from linkwork.compiler.trace.trace import compile
from linkwork.expr import control, equations
from linkwork.expr.autodiff.dual_numbers import Dual, parts
from linkwork.expr.autodiff.graph_derivative import jacobian
from linkwork.expr.scalar import functions
from linkwork.expr.scalar.functions import remainder
from linkwork.expr.scalar.operations import BY_METHOD, BY_NAME, Operation, operation, remove
from linkwork.expr.scalar.symbol import Graph, Symbol

X = np.array([2.7, -2.7, 0.3, -0.3, 5.0, 2.5])


@pytest.fixture
def whole() -> Iterator[Any]:
    """The row, and its function."""

    @operation(
        np.rint,
        lambda x: math.copysign(round(x), x),
        lambda x, r: (0.0,),
        "llvm.rint",
        odd=True,
        arrays=("rint", "round_"),
        casadi=lambda x: x - remainder(x, 1.0),
    )
    def whole(x: Any) -> Any:
        """The nearest whole number, the even one of two."""

    yield whole
    remove(whole.operation)


def test_it_is_in_the_table_and_its_function_has_its_name_and_text(whole: Any) -> None:
    assert BY_NAME["whole"] is whole.operation
    assert (whole.__name__, whole.__doc__, whole.operation.doc) == (
        "whole",
        *["The nearest whole number, the even one of two."] * 2,
    )
    assert pickle.loads(pickle.dumps(whole.operation)) is whole.operation
    assert whole(x=2.7) == 3.0
    for wrong in ((), (1.0, 2.0)):
        with pytest.raises(TypeError, match="argument"):
            whole(*wrong)


def test_on_floats_and_arrays(whole: Any) -> None:
    assert (whole(-2.7), whole(3), whole(np.float32(2.5))) == (-3.0, 3.0, 2.0)
    assert math.isinf(whole(math.inf)) and math.isnan(whole(math.nan))  # where round raises
    assert np.array_equal(whole(X), np.rint(X))


def test_on_symbols_by_its_function_and_by_numpys(whole: Any) -> None:
    x = Graph().input("x")
    assert isinstance(whole(x), Symbol) and whole(x).op is whole.operation
    assert (-whole(-x)) is whole(x)
    assert np.rint(np.array([x]))[0] is whole(x)
    assert x.round_() is whole(x)


def test_differentiated(whole: Any) -> None:
    assert parts(whole(Dual(2.7, 1.0)) * Dual(3.0, 1.0)) == (9.0, 3.0)
    assert parts(np.rint(np.array([Dual(2.7, 1.0)]))[0]) == (3.0, 0.0)
    x = Graph().input("x")
    assert jacobian([whole(x) * x], [x]) == [[whole(x)]]


def test_compiled(whole: Any) -> None:
    kernel = compile(lambda x: 3.0 * whole(x) + np.rint(2.0 * x), x=len(X))
    expected = 3.0 * np.rint(X) + np.rint(2.0 * X)
    for found in (kernel(X), kernel.interpret(X), kernel(np.tile(X, (40, 1)))[-1]):
        assert np.array_equal(found, expected)
    single = X.astype(np.float32)
    assert kernel(single).dtype == np.float32 and np.array_equal(
        kernel(single), 3 * np.rint(single) + np.rint(2 * single)
    )


def test_in_casadi_and_back(whole: Any) -> None:
    pytest.importorskip("casadi")
    kernel = compile(lambda x: whole(x) + 0.5, x=len(X))
    function = kernel.to_casadi()
    assert np.array_equal(np.array(function(X)).ravel(), np.rint(X) + 0.5)
    assert np.array_equal(from_casadi(function)(X), np.rint(X) + 0.5)


def test_a_program_with_it_is_taken_into_another_trace(whole: Any) -> None:
    """Inlining: a program runs on symbols as on any numbers."""
    inner = compile(lambda x, y: x * whole(y), x=(), y=()).program
    outer = Graph()
    a, b = outer.inputs("q", (2,))
    (product,) = inner.run([a + b, a])
    assert product is (a + b) * whole(a)
    q, z = Port("q", (2,)), Port("z", ())
    kernel = Kernel(Program.of("outer", [(q, [a, b])], [(z, [product - b])]))
    assert kernel([2.7, 1.0]) == 3.7 * 3.0 - 1.0


def test_it_goes_as_it_came(whole: Any) -> None:
    with pytest.raises(ValueError, match="the operation 'sin' already exists"):
        operation(np.sin, math.sin, None, "@sin", name="sin")(lambda x: x)
    remove(whole.operation)
    assert not {"whole", "rint", "round_"} & {*BY_NAME, *BY_METHOD}
    BY_NAME["whole"] = whole.operation  # for the fixture to take out


def test_what_is_published_is_the_table() -> None:
    """Every row that neither an operator of Python nor, on arrays of symbols, a function of NumPy's alone stands for.

    To publish one, name it in linkwork/expr/__init__.py.
    """
    rows = {name: row for name, function in vars(functions).items() if isinstance(row := _row(function), Operation)}
    assert {row.name for row in rows.values()} == {name for name, row in BY_NAME.items() if row.arity}
    published = {name for name, row in rows.items() if row.composition is None}
    others = (*control.__all__, *equations.__all__)
    named = set(expr.__all__) - {"adjoint", "array", "jacobian", "linalg", "optimize", "tangent", *others}
    assert named <= published
    assert all(hasattr(np, rows[name].arrays[0]) for name in published - named)


def _row(function: Any) -> Any:
    return vars(function).get("operation") if callable(function) and hasattr(function, "__dict__") else None
