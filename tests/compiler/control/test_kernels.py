"""Kernels with loops, branches, calls and tables: single calls, batches, threads and targets give equal bits."""

from __future__ import annotations

from typing import Any
from unittest import mock

import numpy as np
import pytest

import linkwork as lw
from compiler.support import TARGETS
from expr.control.cases import CASES
from linkwork.compiler.codegen import batch_loop as loops
from linkwork.compiler.codegen import code_segments as segments
from linkwork.compiler.codegen.cpu_backend import CPUBackend
from linkwork.compiler.codegen.loops import basic_blocks as pieces
from linkwork.compiler.codegen.loops import frame_layout as plan
from linkwork.compiler.kernel import Kernel
from linkwork.compiler.program import INPUT, Instruction, Port, Program
from linkwork.compiler.trace.trace import trace
from linkwork.expr import (
    adjoint,
    array,
    call,
    cond,
    cos,
    fori_loop,
    root,
    scan,
    sin,
    sqrt,
    take,
    tangent,
    where,
    while_loop,
)
from linkwork.expr.control.loop_instruction import LOOP, Loop
from linkwork.expr.scalar.block import Region
from linkwork.expr.scalar.multi_result import PART

MANY = 40


def same(result: Any, expected: Any) -> bool:
    """Return True for equal types, shapes and bits; all NaNs count as equal."""
    result, expected = np.asarray(result), np.asarray(expected)
    return result.dtype == expected.dtype and np.array_equal(result, expected, equal_nan=True)


def all_same(results: Any, expected: Any) -> bool:
    return all(map(same, results, expected))


def check(kernel: Kernel, samples: list[np.ndarray], *, sizes: range = range(1, MANY + 1), rtol: float = 1e-11) -> None:
    """Compare single calls, batches at several positions, both float types and the interpreter."""
    with np.errstate(all="ignore"):
        together, expected = (tuple(f(*samples)) for f in (kernel, kernel.interpret))
    for port, got, right in zip(kernel.outputs, together, expected, strict=True):
        np.testing.assert_allclose(got, right, rtol=rtol, atol=rtol, err_msg=f"{kernel.name}: {port}")
    for j in range(len(samples[0])):
        assert all_same(kernel(*(x[j] for x in samples)), [y[j] for y in together]), f"{kernel.name}: sample {j}"
    for dtype in (np.float64, np.float32):
        input_values = [x.astype(dtype) for x in samples]
        whole = kernel(*input_values)
        assert all(y.dtype == dtype for y in whole)
        for size in sizes:
            at = 7 * size % (len(samples[0]) + 1 - size)
            part = kernel(*(x[at : at + size] for x in input_values))
            assert all_same(part, [y[at : at + size] for y in whole]), (
                f"{kernel.name}: {size} samples from {at}, {dtype}"
            )


@pytest.mark.slow(every=9)
def test_kernels_with_control_flow_give_equal_bits_in_single_calls_and_batches() -> None:
    for name, case in CASES.items():
        samples = case.samples(np.random.default_rng(5), MANY)
        samples[0][3] = np.nan
        check(lw.compile(case.function, name=name, **case.shapes), samples)


@pytest.mark.slow(every=5)
def test_kernels_with_loops_give_equal_results_for_broadcast_and_copied_inputs() -> None:
    def table_lookup_loop(x: Any, table: Any) -> Any:
        def step(s: Any) -> Any:
            return s[0] + 1.0, s[1] + sin(s[1] * take(table, s[0])[1]) + cos(sin(s[1]) * take(table, s[1])[2])

        return while_loop(lambda s: s[0] < x[0], step, (0.0, x[1]), max_iterations=9).state[1], 2.0 * table

    rng = np.random.default_rng(0)
    for rows in (2, 3, 7):
        kernel = lw.compile(table_lookup_loop, x=2, table=(rows, 4))
        x, wide = rng.uniform(0.0, 5.0, (600, 2)), rng.normal(size=(2 * rows, 4))
        for table in (wide[:rows], wide[::2], np.asfortranarray(wide[:rows])):
            for n in (3, 9, 70, 600):
                for dtype in (np.float64, np.float32):
                    shared, copied = (
                        kernel(x[:n].astype(dtype), t.astype(dtype))
                        for t in (table, np.broadcast_to(table, (n, rows, 4)).copy())
                    )
                    assert all_same(shared, copied)


@pytest.mark.slow(every=5)
def test_kernels_with_control_flow_give_equal_bits_for_all_thread_counts_and_targets() -> None:
    case = CASES["everything"]
    program = trace(case.function, "everything", case.shapes)
    samples = case.samples(np.random.default_rng(6), 700)
    for target in TARGETS.values():
        check(Kernel(program, backend=CPUBackend(target)), [x[:9] for x in samples], sizes=range(1, 10))
    with mock.patch.object(loops, "_MIN_THREAD_WORK", 0.0):
        kernel = Kernel(program)
        alone = kernel(*samples)
        for threads in (2, 5):
            lw.set_num_threads(threads)
            try:
                assert all_same(kernel(*samples), alone)
            finally:
                lw.set_num_threads(1)


def test_float32_kernels_with_loops_are_close_to_float64_kernels() -> None:
    case = CASES["swing"]
    kernel = lw.compile(case.function, **case.shapes)
    samples = [x.astype(np.float32) for x in case.samples(np.random.default_rng(7), MANY)]
    for single, double in zip(kernel(*samples), kernel(*(x.astype(float) for x in samples)), strict=True):
        np.testing.assert_allclose(single, double, rtol=2e-4, atol=2e-4)


def long_line(x: Any, y: Any, terms: int) -> Any:
    """Many sums and products of values that stay alive."""
    parts = [sin(x * (0.1 * k + 1)) if k % 9 == 0 else x * (0.3 - 0.01 * k) + y * y for k in range(terms)]
    total = 0.0 * x
    for a, b in zip(parts, reversed(parts), strict=True):
        total = 0.3 * total + a * b * (1.0 / terms)
    return total


@pytest.mark.slow(every=5)
@pytest.mark.parametrize("terms", [60, 170])
def test_long_loop_bodies_are_compiled_in_several_segments(terms: int) -> None:
    def condition(s: Any, y: Any) -> Any:
        return abs(s[0]) > 0.05 + 1e-3 * abs(long_line(s[0], y, terms))

    def function(x: Any, y: Any, u: Any) -> dict[str, Any]:
        shrink = lambda s: (0.5 * s[0] + 0.001 * long_line(s[0], y, terms), s[1] + 1.0)  # noqa: E731
        ended = while_loop(lambda s: condition(s, y), shrink, (x, 0.0 * x), max_iterations=9)

        def step(s: Any, c: Any) -> Any:
            a = long_line(s, c, terms)
            b = fori_loop(0, 3, lambda k, t: 0.5 * t + 0.1 * cos(t) * k, a)
            d = long_line(b, s, terms)
            far = lambda: while_loop(lambda t: t > d, lambda t: 0.5 * t - 0.3, b, max_iterations=5).state  # noqa: E731
            e = cond(a < 0.1, lambda: long_line(a, y, terms), far)
            return 0.3 * e + 0.01 * d + 0.1 * call(lambda p: long_line(p, 0.5, terms), e), d

        last, outputs = scan(step, x, u)
        return {"ended": ended.state[0], "iterations": ended.iterations, "last": last, "outputs": outputs}

    kernel = lw.compile(function, x=(), y=(), u=(3,))
    rng = np.random.default_rng(8)
    samples = [rng.normal(size=(20, *port.shape)) for port in kernel.inputs]
    check(kernel, samples, sizes=range(1, 21, 3))


@pytest.mark.slow(every=5)
def test_scan_outputs_larger_than_the_stack_limit_are_stored_on_the_heap() -> None:
    def function(x: Any, u: Any) -> Any:
        last, (states, products) = scan(lambda s, c: (0.99 * s + c, (s, s * c)), x, u)
        return {"last": last, "states": states, "products": products}

    kernel = lw.compile(function, x=(), u=(5000,))
    rng = np.random.default_rng(9)
    x, u = rng.normal(size=11), rng.normal(size=(11, 5000))
    check(kernel, [x, u], sizes=range(1, 12, 5))
    np.testing.assert_array_equal(kernel(x, u).states[:, 0], x)


@pytest.mark.slow(every=5)
def test_gradients_of_long_scans_equal_finite_differences_with_and_without_segments() -> None:
    """Scans with and without segments have the same gradient."""

    def cost(x: Any, u: Any, segments: int | None) -> Any:
        last, angles = scan(lambda s, c: (0.95 * s + 0.1 * sin(s) * c, s), x, u, segments=segments)
        return last + fori_loop(0, 9, lambda k, total: total + take(angles, 199.0 - k) * k * 0.01, 0.0 * x)

    rng = np.random.default_rng(10)
    samples = [rng.normal(size=5), rng.normal(size=(5, 200))]
    gradients = []
    for count in (None, 14):
        gradient = lambda x, u, s=count: array(adjoint([cost(x, u, s)], [x, *u], [1.0]))  # noqa: E731
        kernel = lw.compile(gradient, x=(), u=(200,))
        gradients.append(kernel(*samples))
        np.testing.assert_allclose(gradients[-1], kernel.interpret(*samples), rtol=1e-11, atol=1e-14)
        assert same(kernel(samples[0][2], samples[1][2]), gradients[-1][2])
    np.testing.assert_allclose(gradients[0], gradients[1], rtol=1e-12, atol=1e-15)
    bump = 1e-6 * (np.arange(200) == 150)
    ahead, behind = (cost(float(samples[0][0]), samples[1][0] + s * bump, None) for s in (1.0, -1.0))
    np.testing.assert_allclose(gradients[0][0][151], (ahead - behind) / 2e-6, rtol=1e-6)


def test_scans_of_zero_and_one_step_return_the_initial_state_and_the_next_state() -> None:
    def last(x: Any, u: Any) -> Any:
        return scan(lambda s, c: (s * (c + 2.0), s - c), x, u)

    def function(x: Any, u: Any) -> Any:
        whole, rows = last(x, u)
        return {"whole": whole, "rows": rows, "gradient": adjoint([whole], [x], [1.0])[0]}

    x = np.array([1.0, -3.0, 0.5])
    for steps, factor in ((0, 1.0), (1, 2.5)):
        kernel = lw.compile(function, x=(), u=(steps,))
        values = kernel(x, np.full((3, steps), 0.5))
        np.testing.assert_array_equal(values.whole, x * factor)
        np.testing.assert_array_equal(values.rows, (x - 0.5)[:, None][:, :steps])
        np.testing.assert_array_equal(values.gradient, np.full(3, factor))
        assert kernel(x[1], np.full(steps, 0.5)).whole == x[1] * factor


def test_loop_and_its_derivative_are_compiled_in_one_kernel() -> None:
    """Loops with equal arguments are compared for fusion; one carries constants where another carries results."""

    def function(x: Any) -> Any:
        def value(x: Any) -> Any:
            return fori_loop(0, 3, lambda k, s: root(lambda y: y * y * y + y - s, s).value + 0.1 * s, x)

        (first,) = adjoint([value(x)], [x], [1.0])
        return {"value": value(x), "first": first, "second": tangent([first], [x], [1.0])[0]}

    kernel = lw.compile(function, x=())
    at = np.array([1.3, -0.4])
    values, above, below = kernel(at), kernel(at + 1e-6), kernel(at - 1e-6)
    np.testing.assert_allclose(values.first, (above.value - below.value) / 2e-6, rtol=1e-8)
    np.testing.assert_allclose(values.second, (above.first - below.first) / 2e-6, rtol=1e-8)


def test_inactive_simd_lanes_do_not_run_loops_of_branches_not_taken() -> None:
    """Loops in branches, in called functions and in loops that lanes have left would not end for inactive lanes."""

    def counted_down(x: Any) -> Any:
        return while_loop(lambda s: abs(s) > 0.5, lambda s: s - 1.0, x, max_iterations=10**15).state

    def function(x: Any) -> Any:
        inside = cond(x > 0.0, lambda: call(counted_down, x), lambda: x)
        beside = cond(x > 0.0, lambda: counted_down(x) + x, lambda: x)
        outer = while_loop(lambda s: s > 0.0, lambda s: call(counted_down, s) - s, x, max_iterations=3).state
        return {"inside": inside, "beside": beside, "outer": outer}

    x = np.array([3.0, 4.0, -5.0, 2.0, 1.0, 6.0, -7.0, 8.0, -1.0])
    result = lw.compile(function, x=())(x)
    np.testing.assert_array_equal(result.inside, np.minimum(x, 0.0))
    np.testing.assert_array_equal(result.beside, x)
    np.testing.assert_array_equal(result.outer, -np.abs(x))


def test_nan_loop_condition_ends_the_loop_of_its_simd_lane_only() -> None:
    def function(x: Any) -> Any:
        grow = lambda s: (where(s[1] < 2.5, s[0] + 1.0, sqrt(-1.0 - s[0] * s[0])), s[1] + 1.0)  # noqa: E731
        result = while_loop(lambda s: s[0] < 9.0, grow, (x, 0.0 * x), max_iterations=20)
        return {"x": result.state[0], "iterations": result.iterations, "status": result.status}

    kernel = lw.compile(function, x=())
    x = np.linspace(0.0, 12.0, 33)
    whole = kernel(x)
    assert set(whole.status.tolist()) == {0.0, 2.0} and np.array_equal(np.isnan(whole.x), whole.status == 2.0)
    for bad in (np.nan, np.inf, -np.inf):
        for k in range(33):
            changed = x.copy()
            changed[k] = bad
            for got, before in zip(kernel(changed), whole, strict=True):
                assert same(np.delete(got, k), np.delete(before, k))
    assert kernel(np.nan) == (pytest.approx(np.nan, nan_ok=True), 0.0, 2.0)


def test_guards_count_out_of_range_samples_for_inputs_and_for_results_of_loops() -> None:
    """A guard counts whether it is computed from inputs or from the result of a loop."""
    traced = trace(
        lambda x: (fori_loop(0, 4, lambda k, s: s + k, x), fori_loop(0, 3, lambda k, s: 2.0 * s, x) - 8.0),
        "guarded",
        {"x": ()},
    )
    program = Program("guarded", traced.inputs, traced.outputs[:1], traced.instructions, traced.results, guards=1)
    kernel = Kernel(program)
    from linkwork.compiler.kernel import call_state

    state = call_state(kernel)
    for x, off in ((0.5, 0), (1.5, 1), (np.nan, 0)):
        before = state.off_calls
        kernel(np.full(20, x))
        assert (state.off_calls > before) == bool(off)
        assert same(kernel(x), np.asarray(x + 6.0))


@pytest.mark.slow(every=3)
def test_wide_tables_and_shared_loop_conditions_are_correct_in_split_loop_bodies() -> None:
    """The instructions that read one result of several stay in the segment of their instruction."""
    wide = np.random.default_rng(11).normal(size=(3, 50))

    def function(x: Any, y: Any) -> Any:
        row = take(wide, x)
        total = fori_loop(0, 2, lambda k, s: s + sum(take(wide, s + k) * 1e-2), y)
        near = lambda s: take(wide[:, :3], s)[0] + sin(s) < 2.0  # noqa: E731
        result = while_loop(near, lambda s: s + 0.3 + 0.01 * take(wide[:, :3], s)[2] * cos(s), x, max_iterations=9)
        return sum(row * row[::-1]), sum(row) * total, result.state

    with mock.patch.object(pieces, "INLINE", 0), mock.patch.object(plan, "MAX_SEGMENT", 30):
        kernel = lw.compile(function, x=(), y=())
        check(kernel, [np.linspace(-1.0, 4.0, 13), np.linspace(0.0, 2.0, 13)], sizes=range(1, 14, 4), rtol=1e-10)
    program = trace(lambda x: sum(take(np.ones((2, 50)), x) * x), "wide", {"x": ()})
    for segment in segments.plan(program, 10, 20).segments:
        assert program.instructions[segment.start].operation is not PART


def test_optimized_loops_of_zero_steps_return_their_inputs() -> None:
    x = (Instruction(INPUT, (), 0), Instruction(INPUT, (), 1))
    loop = Loop(Region(3, x, (1,)), 1, 2, 0, 0)
    whole = (x[0], Instruction(LOOP, (0,), loop), Instruction(PART, (1,), 0))
    kernel = Kernel(Program("none", (Port("x", ()),), (Port("y", ()),), whole, (2,)), without_passes=["trim_loops"])
    np.testing.assert_array_equal(kernel(np.arange(9.0)), np.arange(9.0))


def test_branches_inside_scans_read_the_correct_table_rows() -> None:
    table = np.random.default_rng(0).normal(size=(3, 4))

    def function(x, rows):
        def step(total, row):
            row_given, known = row

            def yes():
                inner = scan(lambda s, y: (s + y * row_given[1], None), total, row_given)[0]
                return cond(x > known[0], lambda: inner * known[1] + row_given[3], lambda: inner - row_given[2])

            return cond(row_given[0] < x, yes, lambda: total - known[2] * row_given[0]), row_given[0] * total

        return scan(step, x, (rows, table))

    kernel = lw.compile(function, x=(), rows=(3, 4))
    rng = np.random.default_rng(1)
    x, rows = rng.normal(size=50), rng.normal(size=(50, 3, 4))
    values = kernel(x, rows)
    for k in range(50):
        total, outputs = function(float(x[k]), rows[k])
        assert abs(values[0][k] - total) < 1e-13 and np.abs(values[1][k] - np.array(outputs, float)).max() < 1e-13
        assert kernel(x[k], rows[k])[0] == values[0][k]
