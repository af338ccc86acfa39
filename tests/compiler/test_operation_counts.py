"""Operation counts of programs with loops: they equal the operations of a run."""

from __future__ import annotations

import operator
from collections import Counter
from typing import Any
from unittest import mock

import numpy as np
import pytest

import linkwork as lw
from expr.control.cases import CASES
from linkwork.compiler.codegen.loops.execution_plan import samples_cost
from linkwork.compiler.kernel import Kernel
from linkwork.compiler.runtime.code_statistics import code_statistics
from linkwork.compiler.trace.trace import trace
from linkwork.expr import call, cond, fori_loop, linalg, root, scan, sin, while_loop
from linkwork.expr.scalar import interpreter as interpret
from linkwork.expr.scalar.interpreter import Instruction, apply_operation
from linkwork.expr.scalar.multi_result import MultiResult


class Noted(float):
    """A number that notes what is done with it, and with what comes of it."""

    done: Counter[str]


def _noting(name: str, operation: Any) -> Any:
    def method(self: Noted, *operands: float) -> Any:
        Noted.done[name] += 1
        value = operation(float(self), *map(float, operands))
        return value if isinstance(value, bool) else Noted(value)

    return method


for _operator_name, _operator in {"add": operator.add, "mul": operator.mul, "rmul": operator.mul}.items():
    setattr(Noted, f"__{_operator_name}__", _noting(_operator_name[-3:], _operator))
for _operator_name, _operator in {"lt": operator.lt, "gt": operator.gt}.items():
    setattr(Noted, f"__{_operator_name}__", _noting("lt", _operator))


def noted(function: Any, *arguments: float) -> dict[str, int]:
    """Count the operations that Python executes when it runs a function on floats."""
    Noted.done = Counter()
    function(*map(Noted, arguments))
    return dict(sorted(Noted.done.items()))


def run(kernel: Kernel, *inputs: float) -> dict[str, int]:
    """Count the operations of the interpreter when it runs a kernel's program."""
    done: Counter[str] = Counter()

    def noted(instruction: Instruction, arguments: list[Any]) -> Any:
        if not isinstance(instruction.value, MultiResult):
            done[instruction.operation.name] += 1
        return apply_operation(instruction, arguments)

    with mock.patch.object(interpret, "apply_operation", noted):  # as bodies are run
        kernel._source.traced.run(inputs, noted)
    return dict(sorted(done.items()))


def test_operation_counts_of_loops_calls_and_branches_are_those_executed() -> None:
    def function(x: Any, y: Any) -> Any:
        inner = lambda j, total: total * y - j  # noqa: E731
        total = fori_loop(0, 5, lambda k, s: s + fori_loop(0, 3, inner, s), x)
        scaled = lambda a, b: sin(a) * b + y  # noqa: E731
        total = call(scaled, total, 2.0) * call(scaled, x, total)
        return cond(x < 2.5, lambda: total, lambda: sin(total) * fori_loop(0, 4, inner, total))

    kernel = lw.compile(function, x=(), y=())
    assert kernel.while_loops == []
    assert kernel.operations == kernel.count(7) == run(kernel, 3.0, 2.0)
    assert kernel.arithmetic == sum(kernel.operations[name] for name in ("add", "sub", "mul"))
    assert sum(run(kernel, 2.0, 2.0).values()) < sum(kernel.operations.values())


def test_operation_counts_of_while_loops_are_multiplied_by_their_iterations() -> None:
    def function(x: Any, y: Any) -> Any:
        halve = lambda s: while_loop(lambda t: t * t > y, lambda t: 0.5 * t, s, max_iterations=30)  # noqa: E731
        outer = while_loop(lambda s: s < 100.0, lambda s: 3.0 * s + halve(s).state, x, max_iterations=9)
        squared = while_loop(lambda s: s < y, lambda s: s * s + 1.0, x, max_iterations=6)
        return outer.state + squared.state, outer.iterations, squared.iterations

    kernel = lw.compile(function, x=(), y=())
    loops = kernel.while_loops
    assert [loop.max_iterations for loop in loops] == [9, 6, 30]
    assert loops[0].operations == {"add": 1, "lt": 2, "mul": 2} and loops[2].operations == {"lt": 1, "mul": 2}
    assert kernel.operations == {"add": 1, "lt": 2}
    for x, y in ((200.0, 1e9), (1.0, 1e9), (50.0, 0.0)):
        _, first, second = (int(n) for n in kernel(x, y))
        inner = 0 if y > 1.0 else 30
        assert kernel.count((first, second, inner)) == noted(function, x, y)
    assert kernel.count(2) == kernel.count([2, 2, 2]) and kernel.count(0) == kernel.operations
    for wrong in (7, -1, (1, 2), (1.5, 0, 0), (0, 0, 31), "123"):
        with pytest.raises(ValueError, match=r"one for each of the 3 loops .* at most \[9, 6, 30\], got"):
            kernel.count(wrong)


def test_work_estimates_of_branches_count_the_longer_branch_with_a_weight() -> None:
    """Threads start for the work of most samples: a long branch is for rare samples."""

    def long(x: Any) -> Any:
        return fori_loop(0, 100, lambda k, y: sin(y) + 0.5, x)

    each = samples_cost(trace(long, "long", {"x": ()}))
    rare = samples_cost(trace(lambda x: cond(x < 3.0, lambda: x, lambda: long(x)), "rare", {"x": ()}))
    both = samples_cost(trace(lambda x: cond(x < 3.0, lambda: long(x + 1.0), lambda: long(x)), "both", {"x": ()}))
    assert 0.05 * each < rare < 0.25 * each < 0.9 * each < both


def test_derivative_rules_add_no_operations_to_a_kernel() -> None:
    A = np.array([[3.0, 1.0], [1.0, 2.0]])
    step = lambda s, u: (linalg.solve(A * u, s), None)  # noqa: E731
    kernel = lw.compile(lambda s, u: scan(step, s, u)[0], s=(2,), u=(4,))
    assert kernel.operations == run(kernel, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0)
    kernel_of_root = lw.compile(lambda c: root(lambda x: x * x - c, 1.0).value, c=())
    assert "ruled" not in kernel_of_root.operations and kernel_of_root.while_loops[0].operations["div"] >= 1


def test_operation_statistics_of_kernels_with_loops_are_plausible() -> None:
    for name in ("everything", "called", "swing"):
        case = CASES[name]
        kernel = Kernel(trace(case.function, name, case.shapes))
        facts = code_statistics(kernel)
        assert 0 < facts.instructions < 400 and facts.fused > 0 and facts.max_live_values >= 1 and facts.segments >= 2
        assert facts.code_bytes > 0 and facts.lanes >= 1
