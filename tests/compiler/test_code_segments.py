"""Programs in segments: the plan keeps every value until its last use, and results stay equal."""

from __future__ import annotations

import mmap
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compiler.knobs import LEVELS, every_level, num_threads, sizes
from compiler.support import all_bits_equal, arrays_for, bits_equal, programs, sample_values
from linkwork.compiler.codegen.code_segments import MAX_SEGMENT, MAX_SEGMENT_OF_FEW, MAX_WHOLE, Plan, plan
from linkwork.compiler.codegen.cpu_backend import CPUBackend
from linkwork.compiler.codegen.float_type import DOUBLE, SINGLE
from linkwork.compiler.codegen.straight_line import Layout
from linkwork.compiler.kernel import Kernel
from linkwork.compiler.passes import optimize
from linkwork.compiler.program import CONSTANT, COS_OF, INPUT, SIN_OF, SINCOS, Instruction, Port, Program
from linkwork.compiler.trace.trace import compile
from linkwork.expr.scalar.operations import BY_NAME


def check(cut: Plan, most: int) -> None:
    """Run the plan on names of values: every operation must read the values that it names."""
    program = cut.program
    workspace: dict[int, int] = {}
    computed: set[int] = set()
    assert [s.start for s in cut.segments] == [0, *(s.stop for s in cut.segments[:-1])]
    assert cut.segments[-1].stop == len(program.instructions)
    for segment in cut.segments:
        assert segment.stop - segment.start <= most
        values: set[int] = set()
        for value, slot in segment.reads.items():
            assert workspace[slot] == value, "another value stands in the place that this one is taken from"
            assert value < segment.start
        for k in range(segment.start, segment.stop):
            operation, args, _ = program.instructions[k]
            for a in args:
                leaf = program.instructions[a].operation in (INPUT, CONSTANT)
                assert leaf or a in values or a in segment.reads, "a value is neither here nor taken"
                assert program.instructions[a].operation is not SINCOS or a in values, "a pair waits in the workspace"
            if operation in (SIN_OF, COS_OF):
                assert args[0] in values
            values.add(k)
            if k in segment.writes:  # as the code does: while a segment runs
                assert 0 <= segment.writes[k] < cut.slots
                workspace[segment.writes[k]] = k
        assert not set(segment.writes.values()) & set(segment.reads.values()), "a place is written that is still read"
        assert len(set(segment.writes.values())) == len(segment.writes)
        computed |= values
    assert computed == set(range(len(program.instructions)))


@pytest.mark.slow
@settings(max_examples=150)
@given(program=programs(most=120), most=st.integers(4, 40))
def test_code_segments_store_every_value_until_its_last_use(program: Program, most: int) -> None:
    optimized = optimize(program)
    cut = plan(optimized, 3, most)
    if len(optimized.instructions) <= 3:
        assert not cut.segmented and cut.program is optimized
        return
    check(cut, most)
    arrays = arrays_for(program, 0, 5)
    assert all_bits_equal(cut.program.interpret(*arrays), optimized.interpret(*arrays))


def test_short_program_is_not_split_into_code_segments() -> None:
    program = Program("one", (Port("x", ()),), (Port("y", ()),), (Instruction(INPUT, (), 0),), (0,))
    assert plan(program).program is program and not plan(program).segmented and plan(program).slots == 0
    assert MAX_SEGMENT < MAX_WHOLE


def test_memory_slots_of_values_between_code_segments_are_reused() -> None:
    """A long chain needs a few slots, however long it is."""
    instructions = [Instruction(INPUT, (), 0)]
    for k in range(5000):
        instructions.append(Instruction(BY_NAME["mul"], (k, k)))
    program = Program("chain", (Port("x", ()),), (Port("y", ()),), tuple(instructions), (5000,))
    cut = plan(program, MAX_WHOLE, MAX_SEGMENT)
    check(cut, MAX_SEGMENT)
    assert len(cut.segments) > 8 and cut.slots <= 2


@pytest.mark.parametrize(("alive", "most"), [(2, MAX_SEGMENT_OF_FEW), (150, MAX_SEGMENT)])
def test_code_segments_are_shorter_if_many_values_are_alive(alive: int, most: int) -> None:
    instructions = [Instruction(INPUT, (), 0)]
    instructions += [Instruction(BY_NAME["neg"], (k,)) for k in range(alive)]
    for _ in range(6000):
        instructions.append(Instruction(BY_NAME["mul"], (len(instructions) - alive, len(instructions) - 1)))
    program = Program("window", (Port("x", ()),), (Port("y", ()),), tuple(instructions), (len(instructions) - 1,))
    cut = plan(program)
    check(cut, most)
    assert cut.segmented and max(s.stop - s.start for s in cut.segments) > most // 2


def outputs(kernel: Kernel, arrays: list[np.ndarray]) -> list[np.ndarray]:
    result = kernel(*arrays)
    return list(result) if len(kernel.outputs) > 1 else [result]


@pytest.mark.slow
@every_level
@settings(max_examples=6)
@given(program=programs(most=80), most=st.integers(4, 12), seed=st.integers(0, 1000))
def test_segmented_code_gives_the_bits_of_unsegmented_code(level: str, program: Program, most: int, seed: int) -> None:
    with sizes():
        whole = Kernel(program, backend=CPUBackend(LEVELS[level]))
    with sizes(whole=3, most=most):
        cut = Kernel(program, backend=CPUBackend(LEVELS[level]))
    for real in (DOUBLE, SINGLE):
        lanes = LEVELS[level].lanes_of(real)
        for batch in [(), (1,), (3,), (lanes,), (8 * lanes + 1,)]:
            with np.errstate(all="ignore"):
                arrays = [x.astype(real.dtype) for x in arrays_for(program, seed, *batch)]
            with sizes(whole=3, most=most):
                got = outputs(cut, arrays)
            assert all_bits_equal(got, outputs(whole, arrays))


def truths_and_pairs() -> Program:
    """A pair and truth values at the beginning, used at the end, with much between."""
    names = BY_NAME
    instructions = [Instruction(INPUT, (), k) for k in range(3)]

    def add(name: str, *args: int) -> int:
        instructions.append(Instruction(names[name], args))
        return len(instructions) - 1

    less, same = add("lt", 0, 1), add("eq", 1, 2)
    both, negation = add("and_", less, same), add("not_", less)
    sine, cosine = add("sin", 2), add("cos", 2)
    x = 0
    for _ in range(60):
        x = add("sub", add("mul", x, 1), 2)
    either = add("or_", both, negation)
    results = (add("where", either, sine, x), add("where", less, cosine, x), add("where", negation, sine, cosine))
    return Program("far", (Port("x", (3,)),), (Port("y", (3,)),), tuple(instructions), results)


def test_sincos_pairs_occupy_no_memory_slots_between_code_segments() -> None:
    instructions = [Instruction(INPUT, (), 0), Instruction(SINCOS, (0,))]
    for _ in range(30):
        instructions.append(Instruction(BY_NAME["neg"], (len(instructions) - 1 if len(instructions) > 2 else 0,)))
    last = len(instructions)
    instructions += [
        Instruction(SIN_OF, (1,)),
        Instruction(COS_OF, (1,)),
        Instruction(BY_NAME["add"], (last, last + 1)),
    ]
    program = Program("pair", (Port("x", ()),), (Port("y", (2,)),), tuple(instructions), (last + 2, last - 1))
    for most in (4, 5, 8):
        cut = plan(program, 3, most)
        check(cut, most)
        x = np.linspace(-3.0, 3.0, 5)
        assert all_bits_equal(cut.program.interpret(x), program.interpret(x))


@pytest.mark.slow(every=9)
@every_level
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_comparisons_and_sincos_pairs_are_correct_across_code_segments(level: str, dtype: type) -> None:
    program = truths_and_pairs()
    pairs = {SINCOS, SIN_OF, COS_OF}
    assert pairs <= {i.operation for i in optimize(program).instructions}
    x = sample_values(np.random.default_rng(1), 333, 3)
    x[::3, 1], x[::5, 2] = x[::3, 0], x[::5, 1]
    with np.errstate(all="ignore"):
        x = x.astype(dtype)
    with sizes():
        expected = Kernel(program, backend=CPUBackend(LEVELS[level]))(x)
    with sizes(whole=5, most=6):
        kernel = Kernel(program, backend=CPUBackend(LEVELS[level]))
        assert ".block.9(" in kernel.llvm_ir
        assert bits_equal(kernel(x), expected)
        assert all(bits_equal(kernel(x[k]), expected[k]) for k in range(0, 333, 11))


@pytest.mark.slow
@every_level
def test_values_between_code_segments_are_stored_on_the_heap_if_they_are_many(level: str) -> None:
    """They need more memory than a thread's stack has."""
    inputs, half = [Instruction(INPUT, (), k) for k in range(2)], [Instruction(CONSTANT, (), 0.5)]
    instructions = [*inputs, *half]
    values = [0, 1]
    while len(values) < 12_000:
        instructions.append(Instruction(BY_NAME["mul"], (values[-1], 2)))
        instructions.append(Instruction(BY_NAME["add"], (len(instructions) - 1, values[-2])))
        values.append(len(instructions) - 1)
    sums = values[-1]
    for value in values[::-7]:
        instructions.append(Instruction(BY_NAME["sub"], (sums, value)))
        sums = len(instructions) - 1
    results = (sums, *values[-12_000::4])
    program = Program("wide", (Port("x", (2,)),), (Port("y", (len(results),)),), tuple(instructions), results)
    layout = Layout(plan(program), LEVELS[level], DOUBLE, LEVELS[level].lanes)
    assert layout.bytes > 1 << 16
    kernel = Kernel(program, backend=CPUBackend(LEVELS[level]), without_passes=["fuse", "dead_code", "schedule"])
    x = np.random.default_rng(2).uniform(0.1, 1.0, size=(3 * LEVELS[level].lanes + 1, 2))
    expected = program.interpret(x)[0]
    with num_threads(3):
        assert bits_equal(kernel(x), expected)
    assert bits_equal(kernel(x[1]), expected[1])


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="limits of memory are Linux's")
def test_segmented_code_raises_memory_error_if_its_slots_cannot_be_allocated() -> None:
    code = """
    import resource
    import numpy as np
    import linkwork as lw
    from linkwork.compiler.trace.trace import compile

    lw.set_num_threads(1)
    kernel = compile(lambda x: x[:2] + x[-2:], name="starved", x=200_000)
    x, out = np.ones((3, 200_000)), np.zeros((3, 2))
    assert (kernel(x) == 2.0).all()
    pages = int(open("/proc/self/statm").read().split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + (4 << 20), resource.RLIM_INFINITY))
    for _ in range(2):
        try:
            kernel(x, out=out)
        except MemoryError as error:
            print(error)
    resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    print((kernel(x, out=out) == 2.0).all())
    """
    # the C library sets no memory aside for threads, and keeps none of what was freed for a large block
    environment = os.environ | {"MALLOC_ARENA_MAX": "1", "MALLOC_MMAP_THRESHOLD_": "65536"}
    program = textwrap.dedent(code)
    run = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=False)
    said = "starved: out of memory for the values of a sample\n"
    assert run.stdout == 2 * said + "True\n", run.stderr


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="no way to see the memory in use")
def test_heap_memory_of_code_segments_is_freed() -> None:
    def resident() -> int:
        return int(Path("/proc/self/statm").read_text().split()[1]) * mmap.PAGESIZE

    with sizes(worth=0.0):
        kernel = compile(lambda x: x[:2] + x[-2:], x=20_000)
    x, out = np.ones((20, 20_000)), np.zeros((20, 2))
    with num_threads(2):
        for _ in range(3):
            kernel(x, out=out)
        before = resident()
        for _ in range(30):
            kernel(x, out=out)
    assert np.array_equal(out, np.full((20, 2), 2.0))
    assert resident() - before < 10 * 8 * 20_000 * LEVELS[next(reversed(LEVELS))].lanes
