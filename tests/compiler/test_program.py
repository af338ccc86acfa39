"""Programs: construction from expressions, interpretation and description."""

from __future__ import annotations

import numpy as np
import pytest

from compiler.support import bits_equal
from linkwork.compiler.program import (
    CONSTANT,
    COS_OF,
    FMA,
    FMS,
    FNMA,
    INPUT,
    SIN_OF,
    SINCOS,
    Instruction,
    Port,
    Program,
)
from linkwork.expr.scalar import functions as f
from linkwork.expr.scalar.operations import BY_NAME
from linkwork.expr.scalar.symbol import Graph

ADD, SUB, MUL = BY_NAME["add"], BY_NAME["sub"], BY_NAME["mul"]


def polynomial() -> Program:
    """x (2,), y () -> (x0 x1 + y, x0 x1, 3)."""
    graph = Graph()
    x, y = graph.inputs("x", (2,)), graph.inputs("y", ())
    product = x[0] * x[1]
    elements = [product + y[0], product, 3.0]
    return Program.of("polynomial", [(Port("x", (2,)), x), (Port("y", ()), y)], [(Port("z", (3,)), elements)])


def test_ports_of_a_program_have_a_size_and_print_like_arguments() -> None:
    assert Port("pose", (4, 4)).size == 16
    assert Port("energy", ()).size == 1
    assert Port("nothing", (3, 0)).size == 0
    assert str(Port("pose", (4, 4))) == "pose(4, 4)"


def test_instructions_of_a_traced_program_come_before_their_uses() -> None:
    program = polynomial()
    assert [i.operation.name for i in program.instructions] == ["input", "input", "input", "mul", "add", "constant"]
    assert all(a < k for k, i in enumerate(program.instructions) for a in i.args)
    assert program.results == (4, 3, 5)
    assert program.instructions[2].value == 2


def test_traced_programs_leave_out_unneeded_expressions() -> None:
    graph = Graph()
    x = graph.inputs("x", (3,))
    f.sin(x[1])
    program = Program.of("part", [(Port("x", (3,)), x)], [(Port("z", ()), [x[2] * 2.0])])
    assert [i.value for i in program.instructions if i.operation is INPUT] == [2]
    assert program.operations == {"mul": 1}


def test_traced_programs_distinguish_signed_zeros_and_share_equal_constants() -> None:
    program = Program.of("numbers", [], [(Port("z", (5,)), [0.0, -0.0, 1, 0.0, np.float32(1.0)])])
    assert [i.value for i in program.instructions] == [0.0, -0.0, 1.0]
    assert program.results == (0, 1, 2, 0, 2)
    (z,) = program.interpret()
    assert bits_equal(z, np.array([0.0, -0.0, 1.0, 0.0, 1.0]))


def test_programs_with_symbols_that_are_not_inputs_raise_an_error() -> None:
    graph = Graph()
    x, foreign = graph.input("x"), graph.input("other")
    with pytest.raises(ValueError, match="'other' is used but is not among the inputs"):
        Program.of("foreign", [(Port("x", ()), [x])], [(Port("z", ()), [x + foreign])])


def test_programs_with_symbols_of_two_traces_raise_an_error() -> None:
    x, y = Graph().input("x"), Graph().input("y")
    with pytest.raises(ValueError, match="more than one trace"):
        Program.of("mixed", [(Port("x", ()), [x])], [(Port("z", (2,)), [x, y])])


def test_program_values_are_alive_until_their_last_use() -> None:
    x = [Instruction(INPUT, (), 0), Instruction(CONSTANT, (), 2.0)]
    body = [
        Instruction(MUL, (0, 1)),  # value 2, which waits for the last instruction
        Instruction(ADD, (0, 1)),  # value 3, taken next
        Instruction(SUB, (3, 0)),
        Instruction(MUL, (4, 2)),
    ]
    program = Program("p", (Port("x", ()),), (Port("z", (2,)),), (*x, *body), (5, 3))
    assert program.alive() == [0, 0, 0, 1, 2, 2, 0]
    assert Program("nothing", (), (), (), ()).alive() == [0]


def test_programs_count_all_operations_and_arithmetic_operations() -> None:
    x = [Instruction(INPUT, (), k) for k in range(3)]
    body = [Instruction(MUL, (0, 1)), Instruction(ADD, (3, 2)), Instruction(SUB, (4, 3)), Instruction(SINCOS, (5,))]
    fused = [Instruction(o, (0, 1, 2)) for o in (FMA, FMS, FNMA)]
    program = Program("p", (Port("x", (3,)),), (Port("z", ()),), (*x, *body, *fused), (9,))
    assert program.operations == {"add": 1, "fma": 1, "fms": 1, "fnma": 1, "mul": 1, "sincos": 1, "sub": 1}
    assert list(program.operations) == sorted(program.operations)
    assert program.arithmetic == 9


def test_rebuilt_programs_have_the_original_name_and_ports() -> None:
    program = polynomial()
    rebuilt = program.rebuilt(list(program.instructions), list(program.results))
    assert rebuilt == program
    assert isinstance(rebuilt.instructions, tuple) and isinstance(rebuilt.results, tuple)


def test_program_interpreter_evaluates_single_samples_and_batches() -> None:
    program = polynomial()
    (single,) = program.interpret([2.0, 3.0], 1.0)
    assert single.shape == (3,) and single.tolist() == [7.0, 6.0, 3.0]
    x, y = np.arange(24.0).reshape(4, 3, 2), np.arange(3.0)
    (many,) = program.interpret(x, y)
    assert many.shape == (4, 3, 3)
    product = x[..., 0] * x[..., 1]
    assert np.array_equal(many, np.stack([product + y, product, np.full((4, 3), 3.0)], axis=-1))


def test_program_interpreter_returns_new_arrays() -> None:
    program = Program("same", (Port("x", (2,)),), (Port("z", (2,)),), (Instruction(INPUT, (), 1),), (0, 0))
    x = np.arange(2.0)
    (z,) = program.interpret(x)
    z[:] = 7.0
    assert x.tolist() == [0.0, 1.0]


@pytest.mark.parametrize("batch", [(0,), (2, 0), (0, 3)])
def test_program_interpreter_accepts_empty_batches(batch: tuple[int, ...]) -> None:
    (z,) = polynomial().interpret(np.ones((*batch, 2)), 1.0)
    assert z.shape == (*batch, 3)


def test_program_interpreter_accepts_empty_ports() -> None:
    ports = (Port("x", (0, 2)),), (Port("y", (3, 0)), Port("z", ()))
    program = Program("empty", *ports, (Instruction(CONSTANT, (), 4.0),), (0,))
    y, z = program.interpret(np.zeros((5, 0, 2)))
    assert y.shape == (5, 3, 0)
    assert z.tolist() == [4.0] * 5


@pytest.mark.parametrize("x", [1.0, [1.0], [[1.0], [2.0]], [1.0, 2.0, 3.0], np.ones((2, 1))])
def test_program_interpreter_refuses_wrong_shapes(x: object) -> None:
    with pytest.raises(ValueError, match=r"x: expected an array of shape"):
        polynomial().interpret(x, 1.0)
    with pytest.raises(ValueError, match="argument 2"):
        polynomial().interpret([1.0, 2.0])


def test_program_interpreter_raises_an_error_for_batches_that_do_not_broadcast() -> None:
    with pytest.raises(ValueError, match="broadcast"):
        polynomial().interpret(np.ones((4, 2)), np.ones(3))


def test_program_interpreter_causes_no_floating_point_warnings() -> None:
    instructions = (Instruction(INPUT, (), 0), Instruction(INPUT, (), 1), Instruction(BY_NAME["div"], (0, 1)))
    program = Program("div", (Port("x", (2,)),), (Port("z", ()),), instructions, (2,))
    with np.errstate(all="raise"):
        (z,) = program.interpret([[1.0, 0.0], [0.0, 0.0], [1e300, 1e-300]])
    assert z[0] == np.inf and np.isnan(z[1]) and z[2] == np.inf


def test_program_interpreter_evaluates_fused_operations_and_sincos_pairs() -> None:
    x = [Instruction(INPUT, (), k) for k in range(3)]
    body = [Instruction(FMA, (0, 1, 2)), Instruction(FMS, (0, 1, 2)), Instruction(FNMA, (0, 1, 2))]
    pair = [Instruction(SINCOS, (0,)), Instruction(SIN_OF, (6,)), Instruction(COS_OF, (6,))]
    program = Program("own", (Port("x", (3,)),), (Port("z", (5,)),), (*x, *body, *pair), (3, 4, 5, 7, 8))
    a = np.random.default_rng(0).normal(size=(10, 3))
    (z,) = program.interpret(a)
    product = a[:, 0] * a[:, 1]
    expected = [product + a[:, 2], product - a[:, 2], a[:, 2] - product, np.sin(a[:, 0]), np.cos(a[:, 0])]
    assert np.array_equal(z, np.stack(expected, axis=-1))
