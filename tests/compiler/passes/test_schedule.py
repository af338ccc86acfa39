"""Instruction scheduling: a permutation that does not depend on the run and keeps few values alive."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given, settings

from compiler.passes.samples import SAMPLES, sample
from compiler.support import programs
from helpers.examples import examples
from linkwork.compiler.passes import dead_code, optimize, pair_sincos, schedule, trace_order
from linkwork.compiler.program import COS_OF, SIN_OF, Program
from linkwork.expr import lt, while_loop
from linkwork.expr.scalar.block import Region
from linkwork.expr.scalar.functions import sin
from linkwork.expr.scalar.multi_result import PART
from linkwork.expr.scalar.symbol import Graph


def max_live_values(program: Program) -> int:
    """The greatest number of computed values that are alive at once.

    A value lives from its instruction to its last use as an argument.  Leaves do not count, for they lie in memory;
    nor do results, which are stored as soon as they are there.
    """
    last_use: dict[int, int] = {}
    for k, instruction in enumerate(program.instructions):
        for a in instruction.args:
            if program.instructions[a].args:
                last_use[a] = k
    ends = Counter(last_use.values())
    alive = most = 0
    for k in range(len(program.instructions)):
        alive += (k in last_use) - ends[k]
        most = max(most, alive)
    return most


def values(program: Program) -> Counter[object]:
    """The values as trees of operations, whatever their numbers."""
    trees: list[object] = []
    for operation, args, value in program.instructions:
        trees.append((operation.name, repr(value), tuple(hash(trees[a]) for a in args)))
    return Counter(trees)


@pytest.mark.parametrize("order", [schedule, trace_order])
@settings(max_examples=examples(100))
@given(programs())
def test_instruction_scheduling_permutes_the_needed_instructions(
    order: Callable[[Program], Program], program: Program
) -> None:
    before = optimize(program, without=["schedule"])
    after = order(before)
    assert len(after.instructions) == len(before.instructions)
    assert values(after) == values(before)
    assert order(before) == after


def test_quick_instruction_schedule_starts_with_conditions_and_sines() -> None:
    x, y = Graph().inputs("x", (2,))
    region = Region.of([x * y * 2.0, sin(x) + y, x - y], [x, y])
    used = replace(region, results=region.results[:2])
    for first, names in ((0, "input sincos sin_of input mul constant mul add"), (1, "input input mul constant mul")):
        listing = trace_order(pair_sincos(replace(used, first=first)))
        computed_names = [i.operation.name for i in listing.instructions]
        assert computed_names[: len(names.split())] == names.split() and "sub" not in computed_names


@settings(max_examples=examples(50))
@given(programs())
def test_instruction_scheduling_drops_only_unused_inputs_and_constants(program: Program) -> None:
    after = schedule(program)
    missing = values(program) - values(after)
    assert all(name in ("input", "constant") for name, *_ in missing)
    assert not values(after) - values(program)


@pytest.mark.parametrize("name", SAMPLES)
def test_instruction_scheduling_needs_at_most_as_many_live_values_as_the_traced_order(name: str) -> None:
    """Sines and cosines of inputs, which come first, are not counted."""
    before = optimize(sample(name), without=["schedule"])
    early = sum(i.operation in (SIN_OF, COS_OF) for i in before.instructions)
    assert max_live_values(schedule(before)) <= max_live_values(before) + early


def test_instruction_scheduling_reduces_the_count_of_live_values() -> None:
    program = sample("wide then narrow")
    assert max_live_values(program) == 39
    assert max_live_values(optimize(program)) == 1
    assert max_live_values(schedule(program)) <= 3


def test_instruction_scheduling_moves_inputs_and_constants_just_before_their_first_use() -> None:
    after = schedule(dead_code(sample("elimination")))
    first_use: dict[int, int] = {}
    for k, instruction in enumerate(after.instructions):
        for a in instruction.args:
            first_use.setdefault(a, k)
    for k, instruction in enumerate(after.instructions):
        if not instruction.args:
            assert 1 <= first_use[k] - k <= 2


def test_quick_instruction_schedule_has_the_results_of_an_instruction_just_after_it() -> None:
    """Also those that only results after the condition need."""
    (x,) = Graph().inputs("x", (1,))
    state = while_loop(
        lambda s: lt(s[0] * s[1], 9.0), lambda s: (s[0] * 1.3, s[1] + s[0]), (x, x + 0.5), max_iterations=9
    ).state
    region = replace(Region.of([state[0] * 2.0, (x * x + 1.0) * state[1]], [x]), first=1)
    after = trace_order(region)
    assert after.bundles
    for k in after.bundles:
        parts = [j for j, (operation, args, _) in enumerate(after.instructions) if operation is PART and args[0] == k]
        assert parts == [*range(k + 1, k + 1 + len(parts))] and len(parts) >= 2
