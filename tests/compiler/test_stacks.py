"""Threads with small stacks: compiled code stays within them or allocates memory."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

posix = pytest.mark.skipif(sys.platform == "win32", reason="of POSIX systems")

PROGRAM = """
import os, sys, threading
import numpy as np
import linkwork as lw
from compiler.knobs import sizes
from linkwork.expr.scalar import functions as f

def kernels():
    '''Many values alive at a time; long, with a large workspace; large arrays; a robot's.'''
    def alive(x):
        kept = [f.sin(x[k % 4] + k) for k in range(400)]
        total = 0.0
        for one in kept[::-1]:
            total = total * one + one
        return total * sum(kept)

    def long(x):
        kept = [x[k % 4] * (k + 0.5) + x[(k + 1) % 4] for k in range(1100)]
        total = 0.0
        for one in kept[::-1]:
            total = total * 0.5 + one * one
        return total

    with sizes(worth=0.0):
        yield lw.compile(alive, x=4)
        yield lw.compile(long, x=4)
        yield lw.compile(lambda x: x[::-1] + x[0], x=2_100)
        yield lw.load("quadruped").compile("mass_matrix")

def work(made):
    lw.set_num_threads(4)
    for kernel in made:
        size = kernel.inputs[0].size
        x = np.random.default_rng(0).normal(size=(300, size)) * 0.1
        if kernel.name == "mass_matrix":
            x = np.tile(lw.load("quadruped").neutral(), (300, 1))
        single, batch = [kernel(row) for row in x], kernel(x)
        assert np.array_equal(single, batch)
        assert kernel(x.astype(np.float32)).dtype == np.float32
    print("done", flush=True)

if sys.argv[1] == "thread":
    made = list(kernels())
    threading.stack_size(128 * 1024)
else:
    made = kernels()
thread = threading.Thread(target=work, args=(made,))
if sys.argv[1] != "limit":
    thread.start()
    thread.join()
else:
    work(made)
"""


@pytest.mark.slow(every=9)
@posix
@pytest.mark.parametrize("little", ["thread", "compiling", "limit"])
def test_kernels_run_in_threads_with_small_stacks(little: str) -> None:
    """Calls from a thread of 128 KiB; a process whose threads have 256 KiB, which compiles on one, or on the first."""
    import resource

    def limited() -> None:
        if little != "thread":
            resource.setrlimit(resource.RLIMIT_STACK, (256 * 1024, 256 * 1024))

    folder = os.path.dirname(os.path.dirname(__file__))
    ran = subprocess.run(
        [sys.executable, "-c", PROGRAM, little],
        cwd=folder,
        preexec_fn=limited,
        capture_output=True,
        text=True,
    )
    assert (ran.returncode, ran.stdout) == (0, "done\n"), ran.stderr
