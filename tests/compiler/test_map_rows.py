"""`map_rows`: rows of one sample side by side, with the bits of one after another."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from unittest import mock

import numpy as np
import pytest

import linkwork as lw
from linkwork.compiler.codegen.float_type import DOUBLE
from linkwork.compiler.codegen.loops import special_loops
from linkwork.compiler.codegen.runtimes import ON_STACK, PythonRuntime
from linkwork.compiler.codegen.target import host
from linkwork.expr import call, cond, exp, scan, sin, sqrt, where, while_loop
from linkwork.expr.control.loops import map_rows


def rooted(row):
    """A long function with a loop and a branch, which maps rows to square roots."""
    x, y, z = row
    roots = while_loop(lambda s: abs(s * s - x) > 1e-13 * x, lambda s: 0.5 * (s + x / s), 1.0 + x, max_iterations=60)
    w = cond(y > 0.3, lambda a: sin(a) + exp(-a), lambda a: a * a, y * roots.state)
    for k in range(40):
        w = where(w > float(k), sqrt(abs(w)) + z, w + x * float(k))
    return [roots.state, roots.iterations, w, w * z, x + y]


@pytest.mark.slow(every=5)
def test_loops_over_table_rows_give_equal_bits_for_single_samples_and_batches():
    rng = np.random.default_rng(0)
    for n in (3, 8, 11, 67):

        def function(x, y, z, n=n):
            rows = [[x[k], y[2 * k], z] if n > 3 else [x[k], y[k] * 1.0, z] for k in range(n)]
            return np.array(map_rows(rooted, rows, in_loops=True, alike=True), dtype=object)

        kernel = lw.compile(function, x=n, y=2 * n, z=())
        x, y, z = rng.uniform(0.1, 50.0, (5, n)), rng.uniform(-1.0, 1.0, (5, 2 * n)), rng.uniform(0.0, 1.0, 5)
        many = kernel(x, y, z)
        assert np.abs(many[..., 0] - np.sqrt(x)).max() < 1e-12
        assert len(np.unique(many[..., 1])) > 1, "lanes do not part"
        for k in range(5):
            assert np.array_equal(kernel(x[k], y[k], z[k]), many[k])
        assert special_loops.worth_lanes(
            next(i.value for i in kernel.program.instructions if i.operation.name == "loop")
        )


def at_length(x, steps):
    """Rows whose scans store all states: unrolled, and in functions that call functions."""

    def row(_, x):
        last, states = scan(lambda s, k: (sin(s) + x * k,) * 2, x, np.linspace(0.0, 1.0, steps))
        return (), scan(lambda s, y: (0.5 * s + y, None), last, states, reverse=True)[0]

    def rows(x):
        return scan(row, (), x)[1]

    def inner(x):
        return rows(x) + 0.5

    def outer(x):
        return call(inner, 2.0 * x) - call(inner, x)

    return call(outer, x), cond(x[0] > 0.0, rows, lambda x: x, x + 1.0)


def on_a_little_stack(steps):
    """Call the kernel for single samples in a thread with a stack of 128 KiB."""
    taken, memory = [], PythonRuntime.memory

    def noted(runtime, f, size, lent):
        taken.append(size)
        return memory(runtime, f, size, lent)

    with mock.patch.object(PythonRuntime, "memory", noted):
        kernel = lw.compile(lambda x: at_length(x, steps), x=11)
        x = np.random.default_rng(0).uniform(-1.0, 1.0, (20, 11))
        kernel(x[0])
    many, single = kernel(x), []
    before = threading.stack_size(1 << 17)
    thread = threading.Thread(target=lambda: single.extend(kernel(sample) for sample in x))
    thread.start()
    thread.join()
    threading.stack_size(before)
    for k in range(20):
        assert all(np.array_equal(a, b[k]) for a, b in zip(single[k], many, strict=True))
    print(taken[0])


@pytest.mark.slow(every=9)
@pytest.mark.skipif(sys.platform == "win32", reason="of POSIX systems")
def test_large_memory_frames_of_loops_are_on_the_heap_and_small_ones_on_the_stack():
    """Frames of 200 000 bytes are allocated once for all loops of a sample."""
    width = host().lanes_of(DOUBLE) * DOUBLE.bytes
    lengths = 40, 200_000 // width
    ran = subprocess.run(
        [sys.executable, "-c", f"from compiler.test_map_rows import on_a_little_stack as f; [f(k) for k in {lengths}]"],
        cwd=os.path.dirname(os.path.dirname(__file__)),
        env={**os.environ, "LINKWORK_CACHE": "off"},
        capture_output=True,
        text=True,
    )
    assert ran.returncode == 0, ran.stderr
    short, long = map(int, ran.stdout.split())
    assert 40 * width < short <= ON_STACK < lengths[1] * width < long
