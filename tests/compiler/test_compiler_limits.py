"""Checks, caches and traces of the compiler on both sides of each limit, with little or no compiled code."""

from __future__ import annotations

import itertools
import math
import stat
import warnings
from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from linkwork.compiler.cache import disk_cache
from linkwork.compiler.cache.disk_cache import Cache, Entry
from linkwork.compiler.cache.own_files import _changed_after
from linkwork.compiler.cache.program_digest import content
from linkwork.compiler.cache.secure_directory import UntrustedError, _verify
from linkwork.compiler.codegen.float_type import DOUBLE
from linkwork.compiler.codegen.jit import effort_of
from linkwork.compiler.derivatives.sparsity import Pattern
from linkwork.compiler.derivatives.tangent_spaces import Space
from linkwork.compiler.passes.simplifications import _same
from linkwork.compiler.program import INPUT, Instruction, InvalidProgramError, Port, Program, verify
from linkwork.compiler.runtime.gufunc import ManyOperands
from linkwork.compiler.runtime.numpy_call import on_symbols
from linkwork.compiler.trace import side_effects
from linkwork.compiler.trace.pytree_ports import MAX_ELEMENTS, form_of_shapes
from linkwork.compiler.trace.trace import _check_inputs, _check_names, _check_traces, _nested_outputs
from linkwork.compiler.trace.user_state import VariableWatch, _ReachedCode, _Same
from linkwork.errors import TraceWarning
from linkwork.expr.control.loop_instruction import LOOP, Loop
from linkwork.expr.scalar.block import Region
from linkwork.expr.scalar.multi_result import PART
from linkwork.expr.scalar.operations import BY_NAME
from linkwork.expr.scalar.symbol import Graph

checks: Any = import_module("linkwork.compiler.checks.check_operation")


def trial(partial: Callable[..., float], scalar: Callable[..., float] = math.sin, **changes: Any) -> Any:
    """Return the trial of sin at a few arguments, with another derivative and other values on floats."""
    operation = replace(BY_NAME["sin"], partials=lambda x, y: (partial(x),), scalar=scalar, **changes)
    result = checks._Trial(operation, np.random.default_rng(0), 1e-12)
    result.arguments = [(0.3,), (-0.7,), (0.0,)]
    return result


def test_check_operation_accepts_derivatives_up_to_the_tolerance_of_finite_differences() -> None:
    for excess, accepted in (
        (0.0, True),
        (0.7e-5, True),
        (-0.7e-5, True),
        (2e-5, False),
        (-2e-5, False),
        (math.nan, False),
    ):
        t = trial(lambda x, excess=excess: math.cos(x) + excess)
        if accepted:
            errors = checks._partials(t)
            assert len(errors) == 3 and abs(max(errors) - abs(excess)) < 1e-8
        else:
            with pytest.raises(ValueError, match=r"sin\(0\.3,\): derivative by argument 1 is .*, differences give"):
                checks._partials(t)
    assert (
        checks._partials(checks._Trial(replace(BY_NAME["sin"], partials=None), np.random.default_rng(0), 1e-12)) == []
    )


def test_check_operation_skips_points_at_kinks() -> None:
    """One-sided slopes that differ by 3e-3 have no derivative there; by 3e-4 they have."""
    for jump, count in ((0.3e-3, 3), (3e-3, 2), (1.0, 2)):
        t = trial(math.cos, lambda x, jump=jump: math.sin(x) + 0.5 * jump * abs(x))
        points: list[float] = []
        t.at_partials(lambda k, x, partial, numeric, points=points: points.append(x[0]) or 0.0)
        assert len(points) == count and (0.0 in points) is (count == 3)


def test_caches_store_entries_up_to_their_size(tmp_path: Path) -> None:
    entry = Entry({"kind": "test"}, bytes(1000))
    size = len(disk_cache._packed("a" * 64, entry))
    small = Cache(tmp_path / "small", size - 1)
    small.store("a" * 64, entry)
    assert "a" * 64 not in small
    cache = Cache(tmp_path / "cache", size)
    cache.store("a" * 64, entry)
    assert "a" * 64 in cache and cache.load("a" * 64) == entry
    cache.trim()
    assert "a" * 64 in cache
    eight = Cache(tmp_path / "eight", 8 * size)
    names = [letter * 64 for letter in "abcdefgh"]
    for name in names:
        eight.store(name, entry)
    eight.trim()
    assert all(name in eight for name in names)
    less = Cache(tmp_path / "eight", 8 * size - 1)
    less.trim()
    assert sum(name in less for name in names) == 6  # at most seven eighths of the size


def test_directories_that_others_can_write_are_not_trusted() -> None:
    def state(mode: int, group: int = 0, user: int = 0) -> Any:
        return SimpleNamespace(st_mode=stat.S_IFDIR | mode, st_uid=user, st_gid=group)

    folder = Path("/home/someone")
    for of in (state(0o755), state(0o1777), state(0o1770, 54_321)):
        _verify(of, folder, last=False)
    for of, words in (
        (state(0o777), "is writable by others: run chmod go-w on it"),
        (state(0o770, 54_321), "is writable by others"),
        (state(0o755, 0, 54_321), "belongs to another user"),
    ):
        with pytest.raises(UntrustedError, match=f"its parent directory /home/someone {words}"):
            _verify(of, folder, last=False)
    _verify(state(0o755), folder, last=True)
    for of in (state(0o775), state(0o757), state(0o700, 0, 54_321)):
        with pytest.raises(UntrustedError, match="/home/someone "):
            _verify(of, folder, last=True)


def test_source_files_with_a_time_after_the_start_count_as_changed() -> None:
    states: Any = [("a", SimpleNamespace(st_mtime_ns=500, st_ctime_ns=700))]
    assert [_changed_after(states, start) for start in (699, 700, 701)] == [True, False, False]
    assert not _changed_after([], 0)


def test_program_digests_accept_integers_of_any_size() -> None:
    def of(*ends: int) -> str:
        x = Instruction(INPUT, (), 0)
        values = (*range(20), *ends)
        return content(Program("f", (Port("x", ()),), (Port("y", ()),), (replace_value(x, values),), (0,), 0))

    def replace_value(x: Instruction, value: Any) -> Instruction:
        return Instruction(x.operation, x.args, value)

    ends = (2**63 - 1, -(2**63), 2**63, -(2**63) - 1, 2**70)
    digests = [of(end) for end in ends]
    assert len({*digests}) == len(ends) and digests == [of(end) for end in ends]


def test_very_long_code_is_compiled_with_a_lower_optimization_level() -> None:
    best, least = (SimpleNamespace(effort=effort) for effort in (2, 0))
    assert [effort_of(n, best) for n in (10, 4_000_000, 4_000_001)] == [2, 2, 1]
    assert [effort_of(n, least) for n in (10, 5_000_000)] == [0, 0]


def test_values_of_two_loops_count_as_equal_only_with_the_same_sign_of_zero() -> None:
    x, y = Graph().inputs("x", (2,))
    for a, b, expected in (
        (x, x, True),
        (x, y, False),
        (0.5, 0.5, True),
        (0.5, x, False),
        (x, 0.5, False),
        (0.0, -0.0, False),
        (-0.0, -0.0, True),
        (0.5, 0.25, False),
        (math.nan, math.nan + 0.0, False),
    ):
        assert _same(a, b) is expected


def test_spaces_and_patterns_differ_from_values_of_other_types() -> None:
    space = Space(2, 2, (), "plane", None)
    other_space = Space(2, 2, (), "plane", None)
    assert space == space and space != other_space and space != 3
    assert Space(2, 2, (), "plane", ("a",)) == Space(2, 2, (), "level", ("a",)) != Space(2, 2, (), "plane", ("b",))
    pattern = Pattern((2, 3), (1, 5))
    assert pattern == Pattern((2, 3), (1, 5)) and pattern != (2, 3)
    assert pattern != Pattern((2, 4), (1, 5)) and pattern != Pattern((2, 3), (1,))


def test_loops_with_a_condition_have_no_inputs_of_each_iteration() -> None:
    inputs = tuple(Instruction(INPUT, (), k) for k in range(4))
    check = Instruction(BY_NAME["lt"], (0, 1))

    def program(loop: Loop) -> Program:
        arguments = tuple(range(1 + loop.inputs * loop.max_iterations))
        listing = (*inputs, Instruction(LOOP, arguments, loop), Instruction(PART, (4,), 0))
        return Program("f", (Port("x", (4,)),), (Port("y", ()),), listing, (5,), 0)

    body = Region(1, (inputs[0], Instruction(BY_NAME["lt"], (0, 0))), (1, 0), 1)
    verify(program(Loop(body, 1, 0, 0, 3, conditional=True)))
    fed = Region(2, (*inputs[:2], check), (2, 0), 1)
    with pytest.raises(
        InvalidProgramError, match="a loop with a condition has neither inputs nor outputs of each iter"
    ):
        verify(program(Loop(fed, 1, 1, 0, 3, conditional=True)))


def test_inputs_have_at_most_four_million_elements() -> None:
    assert MAX_ELEMENTS == 4 * 1024 * 1024
    form_of_shapes("x", (2048, 2048))
    for shape in ((MAX_ELEMENTS + 1,), (2048, 2049)):
        with pytest.raises(ValueError, match=f"compile: x: expected at most {MAX_ELEMENTS} elements"):
            form_of_shapes("x", shape)


def test_functions_and_their_outputs_are_checked_before_the_trace_ends() -> None:
    def plain() -> float:
        return 1.0

    _check_inputs(lambda x: x, {"x": ()})
    _check_inputs(lambda x, y=1.0: x, {"x": ()})
    for function, words in (
        (lambda x, y: x, r"as in compile\(f, x=\(3,\), y=\(3,\)\)"),
        (plain, r"as in compile\(f, x=\(\)\)"),
    ):
        with pytest.raises(TypeError, match=rf"compile: .*; inputs are the function's arguments, each with.*{words}"):
            _check_inputs(function, {"z": ()})
    _check_names("f", [Port("a_b", ()), Port("a", ())])
    with pytest.raises(ValueError, match="f: two arrays would be called 'a_b': nested names are joined by underscores"):
        _check_names("f", [Port("a_b", ()), Port("a", ()), Port("a_b", ())])
    first, second = Graph(), Graph()
    x, y = first.input("x"), second.input("y")
    _check_traces("f", first, [(Port("a", ()), [x, 1.0])])
    with pytest.raises(ValueError, match=r"f: a holds .*, which is of another trace: symbols are valid only inside"):
        _check_traces("f", first, [(Port("a", ()), [x, y])])
    assert _nested_outputs("f", {"a": x})[0][0][0] == Port("a", ())
    for empty in ({}, ()):
        with pytest.raises(TypeError, match=r"f: expected the function to return an array, got"):
            _nested_outputs("f", empty)


def test_programs_called_with_symbols_require_all_their_arrays() -> None:
    x = Instruction(INPUT, (), 0)
    program = Program("f", (Port("x", ()),), (Port("y", ()),), (x, Instruction(BY_NAME["neg"], (0,))), (1,), 0)
    (result,) = on_symbols(program, [Graph().input("x")])
    assert np.shape(result) == ()
    for arrays in ([], [1.0, 2.0]):
        with pytest.raises(TypeError, match=f"f: expected 1 arrays, got {len(arrays)}"):
            on_symbols(program, arrays)


def test_calls_with_many_operands_refuse_wrong_arrays() -> None:
    ports = [Port("x", (2,)), Port("y", ())]
    unused: Any = None
    call = ManyOperands("f", ports, [Port("z", ())], [DOUBLE], unused, unused)
    with pytest.raises(TypeError, match="f: x: expected real numbers, got an array of complex128"):
        call(np.array([1j, 2.0]), 1.0)
    with pytest.raises(ValueError, match=r"f: x: expected shape \(\.\.\., \(2,\)\), got \(3,\)"):
        call(np.zeros(3), 1.0)
    with pytest.raises(ValueError, match=r"f: x: expected shape \(\.\.\., \(2,\)\), got \(\)"):
        call(1.0, 1.0)


def reached(value: Any, room: int) -> Any:
    """Return the compared content of a value, with room for so many elements."""
    code = _ReachedCode([])
    code._room = room
    return code._content(value)


def test_users_containers_are_compared_by_content_up_to_a_maximum_size() -> None:
    for value in ((1, 2, 3), [1.0, 2.0, 3.0], {"a": 1, "b": 2, "c": 3}, np.arange(39.0)):
        assert not isinstance(reached(value, 3), _Same) and isinstance(reached(value, 2), _Same)
    assert reached(np.array([1.0, [2.0]], dtype=object), 9) == reached(np.array([1.0, [2.0]], dtype=object), 9)
    assert reached(np.array([1.0, [2.0]], dtype=object), 9) != reached(np.array([1.0, [3.0]], dtype=object), 9)
    assert reached(0.0, 1) != reached(-0.0, 1) and reached(1, 1) != reached(1.0, 1) != reached(True, 1)

    def deep(levels: int, end: object) -> Any:
        for _ in range(levels):
            end = [end]
        return end

    number = [1.0, 2.0]
    assert reached(deep(7, number), 99) == reached(deep(7, [1.0, 2.0]), 99)
    assert reached(deep(8, number), 99) != reached(deep(8, [1.0, 2.0]), 99)  # the ninth level is compared by identity
    assert _Same(number) == _Same(number) and _Same(number) != _Same([1.0, 2.0]) and _Same(number) != number


def test_warnings_of_changed_variables_name_at_most_three() -> None:
    for count, words in (
        (1, "v0 has changed"),
        (3, "v0, v1, v2 have changed"),
        (4, "v0, v1, v2 and others have changed"),
    ):
        watch = VariableWatch("f", len, {f"v{k}": [0] for k in range(count)})
        watch._last = {f"v{k}": [0] for k in range(count)}
        with pytest.MonkeyPatch.context() as patch:
            now = {f"v{k}": [1] for k in range(count)}
            patch.setattr("linkwork.compiler.trace.user_state.function_state", lambda function, now=now: now)
            with pytest.warns(TraceWarning, match=f"f: {words} since the function"):
                watch.warn()
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                watch.warn()  # once for each change


def test_side_effect_detection_notices_every_change_of_a_values_content() -> None:
    limit = 10_000
    x = np.zeros(limit)
    before = side_effects._state(x)
    x[-1] = 1.0
    assert before is not None and side_effects._state(x) != before and side_effects._state(np.zeros(limit + 1)) is None
    assert side_effects._state(np.array([1, "a"], dtype=object)) is None
    for iterator in (iter([1, 2, 3]), iter((1, 2, 3)), iter(range(3)), itertools.count(3), (k for k in (1, 2, 3))):
        before = side_effects._state(iterator)
        assert before is not None and before[0] == "iterator"
        next(iterator)
        assert side_effects._state(iterator) != before
    graph = Graph()
    symbol = graph.input("x")
    for container in (list, tuple, lambda values: dict(enumerate(values))):
        assert side_effects._holds(container([1.0] * (limit - 1) + [symbol]), graph)
        assert not side_effects._holds(container([1.0] * limit + [symbol]), graph)
    assert not side_effects._holds([symbol], Graph())
