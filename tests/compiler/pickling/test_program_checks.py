"""Checks of instructions and spaces from untrusted bytes: each refusal alone, and its nearest valid neighbour."""

from __future__ import annotations

from typing import Any

import pytest

from linkwork.compiler.derivatives.tangent_spaces import Block, Space
from linkwork.compiler.pickling.byte_stream import DamagedBytesError
from linkwork.compiler.pickling.program_checks import check_bundle, check_fields, check_size, check_stored_results
from linkwork.compiler.pickling.space_values import space_from, spaces_of_values, value_of_space
from linkwork.compiler.program import INPUT, Instruction
from linkwork.expr.autodiff.custom_derivative import RULE, RuleResult
from linkwork.expr.control.loop_instruction import LOOP, Loop
from linkwork.expr.control.table_access import PUT, TAKE, Put, Take
from linkwork.expr.linalg.frontal_elimination import FRONT, FrontElimination
from linkwork.expr.linalg.matrix_product import PRODUCT, MatrixProduct
from linkwork.expr.scalar.block import Region
from linkwork.expr.scalar.multi_result import PART
from linkwork.expr.scalar.operations import BY_NAME

X = [Instruction(INPUT, (), 0), Instruction(INPUT, (), 1)]
BODY = Region(1, (Instruction(INPUT, (), 0),), (0, 0))
SCAN = Instruction(LOOP, (0,), Loop(BODY, 1, 0, 1, 3, stores=1))
STORED = [*X, SCAN, Instruction(PART, (2,), 1)]


def loop(**changes: Any) -> Instruction:
    values = {"body": BODY, "carried": 1, "inputs": 0, "outputs": 1, "max_iterations": 3}
    return Instruction(LOOP, (0,), Loop(**(values | changes)))


@pytest.mark.light
@pytest.mark.parametrize(
    ("valid", "bad", "message"),
    [
        (loop(stores=1), loop(stores=2), "the counts of a loop contradict each other"),
        (loop(watched=1), loop(watched=2), "the counts of a loop contradict each other"),
        (loop(conditional=True), loop(conditional=True, stores=1), "a loop with a condition stores no outputs"),
        (loop(max_iterations=0), loop(max_iterations=0, stores=1), "a loop without steps has stored outputs"),
        (
            Instruction(PRODUCT, (0, 1), MatrixProduct(1, 1, 1)),
            Instruction(PRODUCT, (0,), MatrixProduct(1, 1, 0)),
            "a matrix product has no elements",
        ),
        (
            Instruction(PRODUCT, (0, 1), MatrixProduct(1, 1, 1)),
            Instruction(PRODUCT, (0, 1, 0), MatrixProduct(1, 1, 1)),
            "expected 2 arguments, got 3",
        ),
        (
            Instruction(FRONT, (0, 1) * 2, FrontElimination(1, 1, 0, 1e-9)),
            Instruction(FRONT, (0, 1) * 2, FrontElimination(1, 2, 0, 1e-9)),
            "an elimination has more pivots than unknowns",
        ),
        (
            Instruction(RULE, (0, 1, 0), RuleResult(None, 1, 1, "n")),  # type: ignore[arg-type]
            Instruction(RULE, (0, 1, 0), RuleResult(None, 1, 1, "x")),  # type: ignore[arg-type]
            "a rule has intermediate values of unknown kinds",
        ),
        (
            Instruction(TAKE, (0,), Take(2, 1, (1.0, 2.0))),
            Instruction(TAKE, (0,), Take(2, 1, (1.0,))),
            "the number of elements of a table is not that of its rows times its columns",
        ),
        (
            Instruction(TAKE, (0, 1, 0), Take(2, 1)),
            Instruction(TAKE, (0, 1), Take(2, 1)),
            "expected 3 arguments, got 2",
        ),
        (Instruction(PUT, (0, 1, 0), Put(1, 1)), Instruction(PUT, (0, 1), Put(1, 1)), "expected 3 arguments, got 2"),
        (
            Instruction(FRONT, (0, 1) * 2, FrontElimination(1, 0, 0, 1e-9)),
            Instruction(FRONT, (0, 1) * 2, FrontElimination(1, -1, 0, 1e-9)),
            "an elimination has more pivots than unknowns",
        ),
        (X[0], Instruction(PART, (0,), 0), "result 0 of value 0 does not exist"),
    ],
)
def test_instructions_with_arguments_that_do_not_fit_their_kind_are_refused(
    valid: Instruction, bad: Instruction, message: str
) -> None:
    check_bundle(valid, X)
    with pytest.raises(DamagedBytesError, match=message):
        check_bundle(bad, X)


def test_only_scans_may_read_the_stored_outputs_of_a_scan() -> None:
    two = Region(2, (Instruction(INPUT, (), 0), Instruction(INPUT, (), 1)), (0, 1))
    check_bundle(Instruction(LOOP, (0, 3), Loop(two, 1, 1, 0, 3, reads=(1,))), STORED)
    for instruction, message in (
        (
            Instruction(LOOP, (0, 1), Loop(two, 1, 1, 0, 3, reads=(1,))),
            "a loop reads outputs that no other loop stores",
        ),
        (Instruction(LOOP, (0,), Loop(two, 1, 1, 0, 3, reads=(1,))), "a loop reads outputs that no other loop stores"),
        (Instruction(BY_NAME["neg"], (3,)), "stored outputs of a scan are used as a number"),
        (Instruction(LOOP, (3,), Loop(BODY, 1, 0, 0, 3)), "stored outputs of a scan are used as a number"),
    ):
        with pytest.raises(DamagedBytesError, match=message):
            check_bundle(instruction, STORED)
    several = [*X, Instruction(LOOP, (0,), Loop(Region(1, BODY.instructions, (0, 0, 0)), 1, 0, 2, 3, stores=2))]
    several.append(Instruction(PART, (2,), 1))
    three = Region(3, (*two.instructions, Instruction(INPUT, (), 2)), (0,))
    check_bundle(Instruction(LOOP, (0, 3), Loop(three, 1, 2, 0, 3, reads=(2,))), several)
    with pytest.raises(DamagedBytesError, match="a loop reads outputs that no other loop stores"):
        check_bundle(Instruction(LOOP, (0, 3), Loop(two, 1, 1, 0, 3, reads=(1,))), several)
    check_stored_results(Region(2, tuple(STORED), (0,)))
    with pytest.raises(DamagedBytesError, match="stored outputs of a scan are used as a number"):
        check_stored_results(Region(2, tuple(STORED), (3,)))


def test_fields_of_instructions_have_their_declared_types_and_sizes() -> None:
    values = {"rows": 2, "columns": 1, "table": (1.0, 2.0)}
    check_fields(Take, values | {"rows": 1 << 40})
    for changed, name in (
        ({"rows": -1}, "Take.rows is not int"),
        ({"rows": (1 << 40) + 1}, "Take.rows is not int"),
        ({"rows": True}, "Take.rows is not int"),
        ({"table": (1.0, 2)}, r"Take.table is not tuple\[float, ...\]"),
        ({"table": [1.0, 2.0]}, r"Take.table is not tuple\[float, ...\]"),
    ):
        with pytest.raises(DamagedBytesError, match=name):
            check_fields(Take, values | changed)
    check_size(1 << 24)
    with pytest.raises(DamagedBytesError, match="an array has 16777217 elements, more than 16777216"):
        check_size((1 << 24) + 1)


def test_configuration_spaces_with_gaps_between_blocks_or_maps_of_wrong_sizes_are_refused() -> None:
    """A space of two coordinates whose rates are twice and three times the velocities."""
    maps = [
        Block(
            slice(k, k + 1), slice(k, k + 1), lambda q, v, k=k: [(2.0 + k) * v[0]], lambda q, r, k=k: [r[0] / (2.0 + k)]
        )
        for k in range(2)
    ]
    value = value_of_space(Space(2, 2, tuple(maps), "doubled", ("content",)))
    space = space_from(value)
    assert space.blocks[1].q_dot([0.3], [0.5]) == [1.5] and space.blocks[0].velocity_from_rate([0.3], [1.0]) == [0.5]
    assert space_from(value, trusted=False).content[0] == "maps" and space.content == ("content",)
    nq, nv, name, content, (first, second) = value
    for changed, message in (
        ((nq, nv, name, content, (first,)), "the blocks of a space do not fill it"),
        ((3, nv, name, content, (first, second)), "the blocks of a space do not fill it"),
        ((nq, nv, 7, content, (first, second)), "the blocks of a space do not fill it"),
        ((nq, nv, name, content, (second, first)), "the blocks of a space contradict each other"),
        ((nq, nv, name, content, (first, (1, 3, 1, 2, *second[4:]))), "the blocks of a space contradict each other"),
        ((nq, nv, name, content, (first, (1, 0, 1, 2, *second[4:]))), "the blocks of a space contradict each other"),
        ((nq, nv, name, content, (first, (1, 2, 0, 1, *second[4:]))), "the blocks of a space contradict each other"),
        ((nq, nv, name, content, ((0.0, *first[1:]), second)), "a block of a space has no ends"),
    ):
        with pytest.raises(DamagedBytesError, match=message):
            space_from(changed)
    assert spaces_of_values(((value,), (("q", 0),), ())).inputs["q"].name == "doubled"
    for k in (-1, 1, True, 0.0):
        with pytest.raises(DamagedBytesError, match="spaces of configurations: "):
            spaces_of_values(((value,), (("q", k),), ()))
