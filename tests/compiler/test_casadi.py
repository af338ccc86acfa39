"""Conversion from and to CasADi: every operation, shapes, names and refusals."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from compiler.support import SPECIAL
from linkwork.compiler import program as programs
from linkwork.compiler.casadi.from_casadi import COMPOSED, REFUSED, counterpart, from_casadi
from linkwork.compiler.casadi.to_casadi import to_casadi
from linkwork.compiler.program import Instruction, Port, Program
from linkwork.compiler.trace.trace import compile
from linkwork.expr.scalar.multi_result import PART
from linkwork.expr.scalar.operations import BY_NAME, Lowering, Operation
from linkwork.expr.scalar.symbol import Graph

ca = pytest.importorskip("casadi")

# Operations of matrices, which scalar functions do not have, and those of a function's frame.
# fmt: off
OF_MATRICES = [
    "FIND", "LOW", "MAP", "MTIMES", "SOLVE", "TRANSPOSE", "DETERMINANT", "INVERSE", "DOT", "BILIN", "RANK1",
    "HORZCAT", "VERTCAT", "DIAGCAT", "HORZSPLIT", "VERTSPLIT", "DIAGSPLIT", "RESHAPE", "SUBREF", "SUBASSIGN",
    "GETNONZEROS", "GETNONZEROS_PARAM", "ADDNONZEROS", "ADDNONZEROS_PARAM", "SETNONZEROS", "SETNONZEROS_PARAM",
    "PROJECT", "ASSERTION", "MONITOR", "NORM2", "NORM1", "NORMINF", "NORMF", "MMIN", "MMAX", "HORZREPMAT",
    "HORZREPSUM", "EINSTEIN", "BSPLINE", "CONVEXIFY", "SPARSITY_CAST", "LOGSUMEXP", "DUMP", "KRON", "KRON_CONTRACT",
]
# fmt: on
FRAME = ["CONST", "INPUT", "OUTPUT", "CALL"]

TAKEN = [name for name in vars(ca) if name.startswith("OP_") and counterpart(name)]

RNG = np.random.default_rng(0)
SAMPLE_VALUES = np.concatenate(
    [SPECIAL, RNG.normal(size=40), RNG.normal(size=20) * 30.0, RNG.integers(-6, 7, 20) * 0.5]
)


def function_of_operation(name: str) -> tuple[Any, int]:
    """Return a CasADi function of one operation, and its number of arguments."""
    x, y = ca.SX.sym("x"), ca.SX.sym("y")
    row = counterpart(name)
    assert row is not None
    count = len(row.kinds)
    if name == "OP_IF_ELSE_ZERO":
        expression = ca.if_else(x, y, 0)
    elif name == "OP_CONSTPOW":
        return ca.Function("f", [x], [x**2.7]), 1
    elif count == 1:
        expression = ca.SX.unary(getattr(ca, name), x)
    else:
        expression = ca.SX.binary(getattr(ca, name), x, y)
    return ca.Function("f", [x, y][:count], [expression]), count


def by_casadi(function: Any, *arrays: np.ndarray) -> np.ndarray:
    """CasADi's own values of a function of scalars."""
    return np.array([float(function(*map(float, row))) for row in zip(*arrays, strict=True)])


# -- from CasADi


def test_every_casadi_operation_is_converted_or_refused() -> None:
    known = {*TAKEN, *REFUSED, *(f"OP_{name}" for name in (*OF_MATRICES, *FRAME))}
    assert {name for name in vars(ca) if name.startswith("OP_")} <= known
    assert not set(TAKEN) & set(REFUSED)
    assert set(COMPOSED) <= set(TAKEN)


@pytest.mark.costly
@pytest.mark.parametrize("name", TAKEN)
def test_operations_converted_from_casadi_equal_casadis_values(name: str, capfd: pytest.CaptureFixture[str]) -> None:
    function, count = function_of_operation(name)
    arrays = [SAMPLE_VALUES] if count == 1 else [a.ravel() for a in np.meshgrid(SAMPLE_VALUES, SAMPLE_VALUES)]
    expected = by_casadi(function, *arrays)
    capfd.readouterr()  # printme prints
    kernel = from_casadi(function)
    for values in (kernel(*arrays), kernel.interpret(*arrays)):
        # the C library's inverse functions are not the same on all machines
        assert np.allclose(values, expected, rtol=1e-14, atol=0.0, equal_nan=True)
    assert capfd.readouterr().out == ""


@pytest.mark.parametrize("exponent", [2, 3, -1, -2, 0, 0.5, 7, 2.7, -0.3, 100])
def test_constant_powers_converted_from_casadi_have_correct_values(exponent: float) -> None:
    x = ca.SX.sym("x")
    kernel = from_casadi(ca.Function("f", [x], [x**exponent]))
    points = abs(RNG.normal(size=50)) + 0.1
    assert np.allclose(kernel(points), points**exponent, rtol=1e-14)


def test_casadi_conditions_become_floats_only_if_arithmetic_uses_them() -> None:
    x, y = ca.SX.sym("x"), ca.SX.sym("y")
    both = ca.logic_and(x < y, ca.logic_not(ca.logic_or(x == 1, y)))
    chosen = from_casadi(ca.Function("f", [x, y], [ca.if_else(both, x * y, -1.0)]))
    assert chosen.operations["where"] == 1  # CasADi has two halves of a choice and their sum
    assert chosen.operations.get("add", 0) == 0
    counted = from_casadi(ca.Function("f", [x, y], [both + (x <= y), both]))
    assert counted(-1.0, 0.0) == (2.0, 1.0)
    assert counted(np.nan, 0.0) == (0.0, 0.0)
    assert chosen(-1.0, 0.0) == 0.0 and chosen(-1.0, -0.5) == -1.0


def test_casadi_conditionals_with_negated_conditions_have_correct_values() -> None:
    x = ca.SX.sym("x")
    halves = ca.Function("f", [x], [ca.if_else(x < 1, 3.0, 0) + ca.if_else(ca.logic_not(x < 1), 3.0, 0)])
    assert np.array_equal(from_casadi(halves)([0.0, 2.0]), [3.0, 3.0])


def test_conversion_from_casadi_preserves_matrix_shapes_and_argument_order() -> None:
    M, column, row, scalar = ca.SX.sym("M", 2, 3), ca.SX.sym("c", 3), ca.SX.sym("r", 1, 2), ca.SX.sym("s")
    function = ca.Function(
        "g", [M, column, row, scalar], [M @ column, row @ M, M.T * scalar, scalar], list("Mcrs"), list("wxyz")
    )
    kernel = lw.from_casadi(function)
    assert repr(kernel) == "<Kernel g: M(2, 3), c(3), r(1, 2), s() -> w(2), x(1, 3), y(3, 2), z()>"
    m, c, r = RNG.normal(size=(4, 2, 3)), RNG.normal(size=3), RNG.normal(size=(1, 2))
    results = kernel(m, c, r, 2.0)
    for result, expected in zip(results, (m @ c, r @ m, 2.0 * m.swapaxes(1, 2), [2.0] * 4), strict=True):
        assert np.allclose(result, expected, rtol=1e-15)


def test_sparse_casadi_matrices_become_dense_arrays() -> None:
    lower = ca.SX.sym("L", ca.Sparsity.lower(3))
    diagonal = ca.SX.sym("D", ca.Sparsity.diag(3))
    function = ca.Function("f", [lower, diagonal], [lower @ diagonal, ca.SX(2, 2), lower[:, 1]])
    kernel = from_casadi(function)
    L, D = RNG.normal(size=(2, 3, 3))
    product, zeros, column = kernel(L, D)
    expected = np.tril(L) @ np.diag(np.diag(D))
    assert np.allclose(product, expected, rtol=1e-15) and np.array_equal(np.triu(product, 1), np.zeros((3, 3)))
    assert np.array_equal(zeros, np.zeros((2, 2)))
    assert np.array_equal(column, np.tril(L)[:, 1])


def test_casadi_functions_without_inputs_or_with_empty_inputs_are_converted() -> None:
    assert from_casadi(ca.Function("f", [], [ca.SX([1, 2])]))().tolist() == [1.0, 2.0]
    x, empty_input = ca.SX.sym("x"), ca.SX.sym("n", 0, 1)
    kernel = from_casadi(ca.Function("f", [x, empty_input], [2 * x, empty_input]))
    doubled, empty = kernel(np.arange(3.0), np.zeros(0))
    assert doubled.tolist() == [0.0, 2.0, 4.0] and empty.shape == (3, 0)


def test_names_of_casadi_ports_become_valid_identifiers() -> None:
    x = ca.SX.sym("x", 5)
    parts = ca.vertsplit(x)
    function = ca.Function("f", parts, [x[0], x[1]], ["in", "out", "a-b", "a_b", "1"], ["class", "_y"])
    kernel = from_casadi(function)
    assert [port.name for port in kernel.inputs] == ["in_", "out_", "a_b", "a_b_", "x1"]
    assert [port.name for port in kernel.outputs] == ["class_", "y"]
    assert kernel(in_=1.0, out_=2.0, a_b=0.0, a_b_=0.0, x1=0.0) == (1.0, 2.0)
    assert kernel.name == "f" and from_casadi(function, name="g").name == "g"
    with pytest.raises(ValueError, match="name: expected an identifier"):
        from_casadi(function, name="no name")


def test_casadi_functions_that_call_other_functions_are_converted() -> None:
    A, b = ca.MX.sym("A", 3, 3), ca.MX.sym("b", 3)
    inner = ca.Function("inner", [A, b], [A @ ca.sin(b), ca.norm_2(b)], ["A", "b"], ["y", "n"])
    rows = np.array([RNG.normal(size=(3, 3)) for _ in range(5)])
    kernel = from_casadi(inner)
    assert np.allclose(kernel(rows, np.ones(3)).y, rows @ np.sin(np.ones(3)), rtol=1e-14)
    x, y = ca.SX.sym("x", 2), ca.SX.sym("y")
    called = ca.Function("kept", [x, y], [ca.sin(x) * y, x[0] + y], {"never_inline": True})
    outer = ca.Function("outer", [x], [called(2 * x, x[0] < x[1])[0] * 3, called(x, 1)[1]])
    if hasattr(ca.SX, "which_function"):  # before, CasADi always took such functions in
        assert ca.OP_CALL in [outer.instruction_id(k) for k in range(outer.n_instructions())]
    point = np.array([0.3, 0.7])
    values = from_casadi(outer)(point)
    assert np.allclose(values[0], 3 * np.sin(2 * point)) and values[1] == 1.3
    lower = ca.SX.sym("L", ca.Sparsity.lower(2))
    sparse = ca.Function("sparse", [lower, x], [lower @ x, lower.T], {"never_inline": True})
    full = ca.SX.sym("F", 2, 2)
    _, turned = from_casadi(ca.Function("outer", [full, x], list(sparse(full, x))))(np.ones((2, 2)), point)
    assert np.array_equal(turned, [[1.0, 1.0], [0.0, 1.0]])
    mapped = from_casadi(called.map(3))
    assert mapped(np.ones((2, 3)), np.ones((1, 3)))[0].shape == (2, 3)


def test_unsupported_casadi_functions_are_refused_with_their_name() -> None:
    x, y, A = ca.SX.sym("x"), ca.SX.sym("y"), ca.MX.sym("A", 2, 2)

    class Doubled(ca.Callback):  # type: ignore[misc,name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.construct("doubled", {})

        def eval(self, arguments: Any) -> Any:
            return [2 * arguments[0]]

    callback, z = Doubled(), ca.MX.sym("z")
    cases = [
        (ca.Function("f", [x], [ca.erf(x)]), "f: .*OP_ERF cannot be compiled"),
        (ca.Function("f", [x], [ca.erfinv(x)]), "OP_ERFINV cannot be compiled"),
        (ca.Function("f", [x], [x * y], {"allow_free": True}), "f: it has free variables: y"),
        (ca.Function("f", [x], []), "f: the CasADi function has no outputs"),
        (ca.Function("f", [A], [ca.inv(A)]), "f: CasADi cannot expand it to scalar operations: .*Linsol"),
        (callback, "^doubled: .*Callback"),
        (ca.Function("f", [z], [callback(z) + 1]), "^f( calls doubled)?: .*Callback"),
        (ca.rootfinder("root", "newton", {"x": x, "g": x * x - 2}), "root: .*Newton"),
    ]
    for function, message in cases:
        with pytest.raises(ValueError, match=message):
            from_casadi(function)
    with pytest.raises(TypeError, match=r"expected a casadi\.Function"):
        from_casadi(lambda x: x)


def test_missing_casadi_gives_an_error_that_names_the_extra_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = compile(lambda x: 2 * x, x=())
    monkeypatch.setitem(sys.modules, "casadi", None)
    for attempt in (lambda: lw.from_casadi(None), kernel.to_casadi):
        with pytest.raises(ImportError, match=r'pip install "linkwork\[casadi\]"'):
            attempt()


# -- to CasADi


def linkwork_operations() -> dict[str, Operation]:
    """Operations of the table, and those that only passes create."""
    operations = {o.name: o for o in vars(programs).values() if isinstance(o, Operation) and o.arity and o is not PART}
    return {name: o for name, o in BY_NAME.items() if o.arity} | operations


@pytest.mark.parametrize("name", linkwork_operations())
def test_operations_converted_to_casadi_equal_the_interpreter(name: str) -> None:
    operation = linkwork_operations()[name]
    takes = operation.arity
    instructions = [Instruction(BY_NAME["input"], (), k) for k in range(takes)]
    args = list(range(takes))
    if "t" in operation.kinds:  # of truth values: 0 <= x
        instructions.append(Instruction(BY_NAME["constant"], (), 0.0))
        for k in range(operation.kinds.count("t")):
            args[k] = len(instructions)
            instructions.append(Instruction(BY_NAME["le"], (takes, k)))
    if operation.kinds == "p":
        args = [len(instructions)]
        instructions.append(Instruction(programs.SINCOS, (0,)))
    last = len(instructions)
    instructions.append(Instruction(operation, tuple(args)))
    if operation.logical:
        last += 3
        instructions += [Instruction(BY_NAME["constant"], (), x) for x in (1.0, 0.0)]
        instructions.append(Instruction(BY_NAME["where"], (last - 3, last - 2, last - 1)))
    if operation is programs.SINCOS:
        last += 1
        instructions.append(Instruction(programs.COS_OF, (last - 1,)))
    inputs = tuple(Port(f"x{k}", ()) for k in range(takes))
    program = Program("one", inputs, (Port("y", ()),), tuple(instructions), (last,))
    chosen = SAMPLE_VALUES if takes == 1 else SAMPLE_VALUES[::3] if takes == 2 else SAMPLE_VALUES[::9]
    arrays = [a.ravel() for a in np.meshgrid(*[chosen] * takes)]
    expected = program.interpret(*arrays)[0]
    values = by_casadi(to_casadi(program), *arrays)
    assert np.allclose(values, expected, rtol=1e-14, atol=0.0, equal_nan=True)


def test_operation_that_casadi_lacks_is_refused_with_its_name() -> None:
    strange = Operation("strange", 1, np.sin, np.sin, None, Lowering("none"))
    program = Program.of("f", [(Port("x", ()), [Graph().input("x")])], [(Port("y", ()), [1.0])])
    program = replace(
        program, instructions=(Instruction(BY_NAME["input"], (), 0), Instruction(strange, (0,))), results=(1,)
    )
    with pytest.raises(ValueError, match="f: CasADi has no operation for linkwork's 'strange'"):
        to_casadi(program)


def test_conversion_to_casadi_preserves_shapes_and_names() -> None:
    def outer(s: Any, u: Any, M: Any, T: Any) -> Any:
        return {"s": 2.0 * s, "u": u, "product": M @ u, "T": T, "one": np.array([s])}

    kernel = compile(outer, name="f__g", s=(), u=3, M=(2, 3), T=(4, 2, 3))
    function = kernel.to_casadi()
    assert function.name() == "f_g"
    assert function.name_in() == ["s", "u", "M", "T"]
    assert function.name_out() == ["s_out", "u_out", "product", "T_out", "one"]
    assert [function.size_in(k) for k in range(4)] == [(1, 1), (3, 1), (2, 3), (8, 3)]
    s, u, M, T = 0.5, RNG.normal(size=3), RNG.normal(size=(2, 3)), RNG.normal(size=(4, 2, 3))
    results = function(s, u, M, T.reshape(8, 3))
    for result, expected, port in zip(results, kernel(s, u, M, T), kernel.outputs, strict=True):
        assert np.allclose(np.array(result).reshape(port.shape), expected, rtol=1e-15)


def test_empty_arrays_are_converted_to_casadi() -> None:
    function = compile(lambda x, n: (x, n), x=2, n=(3, 0)).to_casadi()
    assert function.size_in(1) == (3, 0) and function.size_out(1) == (3, 0)
    assert np.array_equal(np.array(function([1.0, 2.0], np.zeros((3, 0)))[0]).ravel(), [1.0, 2.0])


def test_programs_with_fused_operations_are_converted_to_casadi() -> None:
    kernel = compile(lambda x: np.sin(x[0]) * np.cos(x[0]) + x[1] * x[2] - x[0] * x[2], x=3)
    assert {"fma", "sincos"} & set(kernel.program.operations)
    x = RNG.normal(size=3)
    assert np.allclose(float(to_casadi(kernel.program)(x)), kernel(x), rtol=1e-14)


def test_from_casadi_converts_sums_with_an_if_else_that_is_zero_in_the_else_branch() -> None:
    x, y = ca.SX.sym("x"), ca.SX.sym("y")
    choice = ca.if_else(x > 0.3, x * y, 0)
    values = np.array([[0.7, -0.4], [-0.6, 1.3]])
    for expression in (choice + y, y + choice, choice + 0.7, choice + ca.if_else(y > 0.2, y, 0)):
        function = ca.Function("f", [x, y], [expression])
        kernel = from_casadi(function)
        np.testing.assert_allclose(kernel(*values.T), by_casadi(function, *values.T), rtol=1e-15)
