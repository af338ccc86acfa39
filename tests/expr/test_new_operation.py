"""A new operation is one entry in the table: it works on all scalars, in kernels, derivatives and CasADi."""

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
        """Round to the nearest integer, the even one in a tie."""

    yield whole
    remove(whole.operation)


def test_user_defined_operation_is_in_the_table_with_name_and_documentation(whole: Any) -> None:
    assert BY_NAME["whole"] is whole.operation
    assert (whole.__name__, whole.__doc__, whole.operation.doc) == (
        "whole",
        *["Round to the nearest integer, the even one in a tie."] * 2,
    )
    assert pickle.loads(pickle.dumps(whole.operation)) is whole.operation
    assert whole(x=2.7) == 3.0
    for wrong in ((), (1.0, 2.0)):
        with pytest.raises(TypeError, match="argument"):
            whole(*wrong)


def test_user_defined_operation_can_be_evaluated_on_floats_and_arrays(whole: Any) -> None:
    assert (whole(-2.7), whole(3), whole(np.float32(2.5))) == (-3.0, 3.0, 2.0)
    assert math.isinf(whole(math.inf)) and math.isnan(whole(math.nan))  # where round raises
    assert np.array_equal(whole(X), np.rint(X))


def test_user_defined_operation_can_be_applied_to_symbols_also_by_numpys_function(whole: Any) -> None:
    x = Graph().input("x")
    assert isinstance(whole(x), Symbol) and whole(x).op is whole.operation
    assert (-whole(-x)) is whole(x)
    assert np.rint(np.array([x]))[0] is whole(x)
    assert x.round_() is whole(x)


def test_user_defined_operation_can_be_differentiated(whole: Any) -> None:
    assert parts(whole(Dual(2.7, 1.0)) * Dual(3.0, 1.0)) == (9.0, 3.0)
    assert parts(np.rint(np.array([Dual(2.7, 1.0)]))[0]) == (3.0, 0.0)
    x = Graph().input("x")
    assert jacobian([whole(x) * x], [x]) == [[whole(x)]]


def test_user_defined_operation_can_be_compiled(whole: Any) -> None:
    kernel = compile(lambda x: 3.0 * whole(x) + np.rint(2.0 * x), x=len(X))
    expected = 3.0 * np.rint(X) + np.rint(2.0 * X)
    for values in (kernel(X), kernel.interpret(X), kernel(np.tile(X, (40, 1)))[-1]):
        assert np.array_equal(values, expected)
    single = X.astype(np.float32)
    assert kernel(single).dtype == np.float32 and np.array_equal(
        kernel(single), 3 * np.rint(single) + np.rint(2 * single)
    )


def test_user_defined_operation_can_be_converted_to_casadi_and_back(whole: Any) -> None:
    pytest.importorskip("casadi")
    kernel = compile(lambda x: whole(x) + 0.5, x=len(X))
    function = kernel.to_casadi()
    assert np.array_equal(np.array(function(X)).ravel(), np.rint(X) + 0.5)
    assert np.array_equal(from_casadi(function)(X), np.rint(X) + 0.5)


def test_program_with_a_user_defined_operation_can_be_inlined_in_another_trace(whole: Any) -> None:
    """Inlining: a program runs on symbols as on any scalars."""
    inner = compile(lambda x, y: x * whole(y), x=(), y=()).program
    outer = Graph()
    a, b = outer.inputs("q", (2,))
    (product,) = inner.run([a + b, a])
    assert product is (a + b) * whole(a)
    q, z = Port("q", (2,)), Port("z", ())
    kernel = Kernel(Program.of("outer", [(q, [a, b])], [(z, [product - b])]))
    assert kernel([2.7, 1.0]) == 3.7 * 3.0 - 1.0


def test_removing_a_user_defined_operation_restores_the_table(whole: Any) -> None:
    with pytest.raises(ValueError, match="the operation 'sin' already exists"):
        operation(np.sin, math.sin, None, "@sin", name="sin")(lambda x: x)
    remove(whole.operation)
    assert not {"whole", "rint", "round_"} & {*BY_NAME, *BY_METHOD}
    BY_NAME["whole"] = whole.operation  # for the fixture to take out


def test_published_scalar_functions_are_those_of_the_operation_table() -> None:
    """Operations with a Python operator, or a NumPy function on symbols, need no function.

    To publish one, name it in linkwork/expr/__init__.py.
    """
    rows = {name: row for name, function in vars(functions).items() if isinstance(row := _row(function), Operation)}
    assert {row.name for row in rows.values()} == {name for name, row in BY_NAME.items() if row.arity}
    published = {name for name, row in rows.items() if row.composition is None}
    control_names = (*control.__all__, *equations.__all__)
    named = set(expr.__all__) - {"adjoint", "array", "jacobian", "linalg", "optimize", "tangent", *control_names}
    assert named <= published
    assert all(hasattr(np, rows[name].arrays[0]) for name in published - named)


def _row(function: Any) -> Any:
    return vars(function).get("operation") if callable(function) and hasattr(function, "__dict__") else None
