"""Kernels as NumPy gufuncs: lifetime, memory and threads."""

from __future__ import annotations

import gc
import mmap
import sys
import threading
import tracemalloc
import weakref
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from compiler.support import bits_equal
from linkwork.compiler.codegen import target
from linkwork.compiler.kernel import Kernel
from linkwork.compiler.program import Port
from linkwork.compiler.runtime.gufunc import signature
from linkwork.compiler.trace.trace import compile
from linkwork.expr.scalar import functions as f


def wave(scale: float = 1.0) -> Kernel:
    return compile(lambda q: scale * f.sin(q) * f.cos(q[::-1]) + q @ q, name="wave", q=6)


def test_generalized_ufunc_signatures_have_numpys_notation() -> None:
    assert signature([Port("q", (7,))], [Port("M", (7, 7)), Port("E", ())]) == "(7)->(7,7),()"
    assert signature([], [Port("z", ())]) == "->()"
    assert signature([Port("q", (0, 3))], [Port("z", (0,))]) == "(none,3)->(none)"


def test_ufunc_of_a_kernel_has_the_functions_name_and_documentation() -> None:
    def length(x: np.ndarray) -> object:
        """Length of x."""
        return f.sqrt(x @ x)

    ufunc = compile(length, x=3).ufunc
    assert type(ufunc) is np.ufunc
    assert (ufunc.nin, ufunc.nout, ufunc.nargs, ufunc.ntypes) == (1, 1, 2, 2)
    assert ufunc.types == ["f->f", "d->d"] and ufunc.signature == "(3)->()" and ufunc.identity is None
    assert ufunc.__name__ == "length"
    assert ufunc.__doc__ is not None and ufunc.__doc__.endswith("Length of x.")


def test_ufunc_of_a_kernel_accepts_numpys_keywords() -> None:
    ufunc = compile(lambda a, b: np.array([a @ b, a[0] - b[0]]), a=3, b=3).ufunc
    a, b = np.arange(12.0).reshape(3, 4), np.ones((4, 3))
    result = ufunc(a, b, axes=[0, 1, 0])
    assert np.array_equal(result, [a.sum(axis=0), a[0] - 1.0])
    assert ufunc(a.T, b, dtype=np.float64, casting="no").shape == (4, 2)
    with pytest.raises(TypeError, match="cast"):
        ufunc(a.T.astype(np.float32), b, casting="no")


def test_array_classes_of_other_libraries_can_override_the_ufunc_of_a_kernel() -> None:
    class ForeignArray:
        def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: object, **named: object) -> object:
            return ufunc.__name__, method, len(inputs)

    assert wave().ufunc(ForeignArray()) == ("wave", "__call__", 1)
    assert wave()(ForeignArray()) == ("wave", "__call__", 1)


def test_kernels_accept_more_arguments_than_a_numpy_ufunc_can() -> None:
    for count in (63, 64):  # and an output: a ufunc has at most 64
        kernel = compile(lambda **x: sum(x.values()), **dict.fromkeys([f"x{k}" for k in range(count)], ()))
        assert kernel(*range(count)) == sum(range(count))
        assert isinstance(kernel.ufunc, np.ufunc) == (count == 63)


# -- life


def test_ufunc_outlives_its_kernel() -> None:
    kernel = wave()
    q = np.linspace(-3.0, 3.0, 66).reshape(11, 6)
    expected = kernel(q)
    ufunc, machine_code = kernel.ufunc, weakref.ref(kernel._code.entry("loop").owner)
    kernels = [wave(float(k)) for k in range(3)]
    del kernel, kernels
    gc.collect()
    again = [wave(float(k)) for k in range(3)]  # other code where freed memory was
    assert machine_code() is not None
    assert bits_equal(ufunc(q), expected)
    assert ufunc.__name__ == "wave" and ufunc.signature == "(6)->(6)"
    del ufunc
    gc.collect()
    assert machine_code() is None
    assert again[2](q).shape == (11, 6)


def test_machine_code_is_freed_with_its_last_kernel() -> None:
    kernel = wave()
    machine_code = weakref.ref(kernel._code.entry("loop").owner)
    gc.disable()
    try:
        del kernel
        assert machine_code() is None
    finally:
        gc.enable()


MEMORY = Path("/proc/self/statm")


@pytest.mark.slow
@pytest.mark.skipif(not MEMORY.exists(), reason="no way to see the memory in use")
def test_creating_and_deleting_kernels_leaks_no_memory() -> None:
    def resident() -> int:
        return int(MEMORY.read_text().split()[1]) * mmap.PAGESIZE

    def create_kernels(count: int) -> None:
        for k in range(count):
            wave(1.0 + k)(np.ones((3, 6)))
        gc.collect()

    def grown(count: int) -> tuple[int, int]:
        """Python's memory and the process's, for each kernel: what is never given back grows every time."""
        python, whole = tracemalloc.get_traced_memory()[0], resident()
        create_kernels(count)
        return (tracemalloc.get_traced_memory()[0] - python) // count, (resident() - whole) // count

    create_kernels(10)
    tracemalloc.start()
    try:
        create_kernels(2)
        rounds = [grown(20) for _ in range(3)]
        assert min(python for python, _ in rounds) < 1000
        assert min(whole for _, whole in rounds) < 50_000
    finally:
        tracemalloc.stop()


def test_repeated_kernel_calls_leak_no_references() -> None:
    kernel = compile(lambda q, v: (q * v, q @ v), q=5, v=5)
    q = np.ones((4, 5))
    counts = [sys.getrefcount(x) for x in (q, kernel.ufunc, kernel._code)]
    for _ in range(100):
        kernel(q, v=q)
        kernel(q[:, ::-1], q.astype(np.float32))
        with pytest.raises(ValueError, match=r"q: expected an array of shape \(\.\.\., 5\)"):
            kernel(q[:, :3], q)
    assert [sys.getrefcount(x) for x in (q, kernel.ufunc, kernel._code)] == counts


# -- threads


def in_threads(work: Callable[[int], None], count: int = 8) -> None:
    """Run the work in threads that begin together; raises what the first one raised."""
    together, errors = threading.Barrier(count), []

    def run(number: int) -> None:
        together.wait()
        try:
            work(number)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(k,)) for k in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


def test_several_threads_can_call_one_kernel_simultaneously() -> None:
    kernel = wave()
    rng = np.random.default_rng(0)
    inputs = [rng.normal(size=(n, 6)) for n in (1, 2, 3, 8, 100, 999, 2000, 5000)]
    expected = [kernel.interpret(q) for q in inputs]
    alone = [kernel(q) for q in inputs]

    def work(number: int) -> None:
        for k in range(30):
            index = (number + k) % 8
            assert bits_equal(kernel(inputs[index]), alone[index])

    in_threads(work)
    for a, b in zip(alone, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-13, atol=1e-13)


@pytest.mark.slow
def test_several_threads_can_compile_simultaneously(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LINKWORK_CACHE", "off")
    q = np.linspace(-1.0, 1.0, 6)
    expected = [wave(float(k))(q) for k in range(8)]
    target._machine.cache_clear()

    def work(number: int) -> None:
        for _ in range(3):
            assert bits_equal(wave(float(number))(q), expected[number])

    in_threads(work)
    assert gc.isenabled()


def test_long_kernel_call_releases_the_interpreter_lock() -> None:
    """Thread switches by time are off, so another thread runs only where the call releases the lock."""
    kernel = wave()
    q = np.ones((200_000, 6))
    out = np.empty_like(q)
    progress: list[None] = []
    waiting, go = threading.Event(), threading.Event()

    def record_progress() -> None:
        waiting.set()
        go.wait()
        progress.append(None)

    thread = threading.Thread(target=record_progress)
    thread.start()
    waiting.wait()
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1000.0)
    try:
        go.set()
        for _ in range(10_000):  # one is enough, unless the machine gives the other thread no processor
            kernel(q, out=out)
            if progress:
                break
        ran_meanwhile = bool(progress)
    finally:
        sys.setswitchinterval(interval)
    thread.join()
    assert ran_meanwhile
