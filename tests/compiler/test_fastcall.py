"""Single calls by the fastcall protocol: the kernel's result for plain arrays, else the general call."""

from __future__ import annotations

import gc
import sys
import threading
import tracemalloc
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from compiler.support import bits_equal, every_target, sample_values
from linkwork.compiler.codegen.cpu_backend import CPUBackend
from linkwork.compiler.codegen.target import Target
from linkwork.compiler.kernel import Kernel, single_call
from linkwork.compiler.runtime import fastcall
from linkwork.compiler.trace.trace import compile, trace
from linkwork.expr.scalar import functions as f

pytestmark = pytest.mark.skipif(not fastcall.available(), reason="arrays do not look as expected here")


class Handed:
    """Remembers what it is called with."""

    def __init__(self) -> None:
        self.calls: list[tuple[tuple[Any, ...], dict[str, Any]]] = []

    def __call__(self, *args: Any, **named: Any) -> str:
        self.calls.append((args, named))
        return "handed on"


def example() -> Kernel:
    return compile(lambda q, A: (A @ f.sin(q), q @ q, A * q[0]), name="example", q=3, A=(2, 3))


def single(kernel: Kernel) -> tuple[Callable[..., Any], Handed]:
    handed = Handed()
    return single_call(kernel, handed), handed


@every_target
def test_fastcall_of_a_kernel_gives_the_kernels_results(target: Target) -> None:
    kernel = Kernel(
        trace(lambda q, A: (A @ f.sin(q), q @ q, A * q[0]), "example", {"q": 3, "A": (2, 3)}),
        backend=CPUBackend(target),
    )
    call, handed = single(kernel)
    rng = np.random.default_rng(0)
    for _ in range(50):
        q, A = np.clip(np.nan_to_num(sample_values(rng, 3), nan=1.0), -1e99, 1e99), rng.normal(size=(2, 3))
        got, expected = call(q, A), kernel(q, A)
        assert type(got)._fields == kernel(q, A)._fields and not handed.calls
        for a, b in zip(got, expected, strict=True):
            assert bits_equal(a, b) and type(a) is type(b)


def test_fastcall_results_are_new_writable_arrays() -> None:
    call, _ = single(compile(lambda q: 2.0 * q, q=(2, 2)))
    q = np.ones((2, 2))
    first, second = call(q), call(q)
    first[:] = 7.0
    assert np.array_equal(second, 2.0 * q)
    assert first.flags.owndata and first.flags.c_contiguous and first.flags.writeable and first.base is None
    assert sys.getrefcount(first) == sys.getrefcount(second)


def test_fastcall_returns_a_single_output_without_a_tuple_and_scalars_as_float64() -> None:
    call, _ = single(compile(lambda q: q @ q, q=3))
    assert type(call(np.ones(3))) is np.float64
    assert call(np.ones(3)) == 3.0


def test_fastcall_supports_kernels_without_inputs_and_empty_ports() -> None:
    call, handed = single(compile(lambda: np.array([1.0, 2.0])))
    assert call().tolist() == [1.0, 2.0]
    call, handed = single(compile(lambda q: (q, 5.0), q=(0,)))
    assert call(np.zeros(0))[0].shape == (0,) and not handed.calls
    call(np.zeros(3))
    assert len(handed.calls) == 1


class Sub(np.ndarray):
    pass


UNSUPPORTED: dict[str, Callable[[np.ndarray], Any]] = {
    "a batch": lambda a: a[np.newaxis],
    "fewer dimensions": lambda a: a[0],
    "another size": lambda a: np.zeros((2, 4)),
    "sizes exchanged": lambda a: np.zeros((3, 2)),
    "a list": lambda a: a.tolist(),
    "None": lambda a: None,
    "a number": lambda a: 1.0,
    "float32": lambda a: a.astype(np.float32),
    "other byte order": lambda a: a.astype(np.dtype(np.float64).newbyteorder()),
    "integers": lambda a: a.astype(np.int64),
    "a subclass": lambda a: a.view(Sub),
    "fortran order": np.asfortranarray,
    "strided": lambda a: np.repeat(a, 2, axis=1)[:, ::2],
    "backwards": lambda a: a[::-1],
    "unaligned": lambda a: np.ndarray((2, 3), np.float64, bytearray(64), 1),
    "NaN first": lambda a: np.array([[np.nan, 1, 1], [1, 1, 1]]),
    "NaN last": lambda a: np.array([[1.0, 1, 1], [1, 1, np.nan]]),
}


@pytest.mark.parametrize("kind", UNSUPPORTED)
def test_fastcall_passes_unsupported_arguments_to_the_general_call(kind: str) -> None:
    call, handed = single(example())
    q, argument = np.ones(3), UNSUPPORTED[kind](np.ones((2, 3)))
    assert call(q, argument) == "handed on"
    ((args, named),) = handed.calls
    assert args[0] is q and args[1] is argument and named == {}


def test_fastcall_passes_wrong_argument_counts_and_keywords_to_the_general_call() -> None:
    call, handed = single(example())
    q, A = np.ones(3), np.ones((2, 3))
    call()
    call(q)
    call(q, A, A)
    call(q, A=A)
    call(q, A, out=())
    call(q, A, out=None, other=1)
    assert [(len(args), sorted(named)) for args, named in handed.calls] == [
        (0, []),
        (1, []),
        (3, []),
        (1, ["A"]),
        (2, ["out"]),
        (2, ["other", "out"]),
    ]
    assert call(q, A, out=None)[1] == 3.0
    assert handed.calls[3][1]["A"] is A


@pytest.mark.slow
def test_fastcall_passes_arguments_with_nan_at_any_index_to_the_general_call() -> None:
    for size in [*range(1, 12), 127, 128, 129, 130]:
        call, handed = single(compile(lambda q: q, q=size))
        for index in range(size):
            for value in (np.nan, np.inf, -np.inf):
                q = np.zeros(size)
                q[index] = value
                assert call(q) == "handed on"
        assert len(handed.calls) == 3 * size


def test_fastcall_accepts_read_only_arrays_and_values_up_to_1e99() -> None:
    call, handed = single(compile(lambda q: q[::-1] * 1.0, q=2))
    q = np.array([1e99, 1.0])
    q.flags.writeable = False
    assert call(q).tolist() == [1.0, 1e99] and not handed.calls
    call(np.array([1e308, 1.0]))  # beyond 1e100 the general call looks at the result
    assert len(handed.calls) == 1


def test_errors_of_the_general_call_propagate_through_the_fastcall() -> None:
    def otherwise(*args: Any) -> Any:
        raise LookupError("as it comes")

    call = single_call(example(), otherwise)
    with pytest.raises(LookupError, match="as it comes"):
        call(1.0)


@pytest.mark.slow
def test_fastcall_outlives_its_kernel_and_is_freed_with_its_last_reference() -> None:
    kernel = example()
    call, handed = single(kernel)
    gone = weakref.ref(handed)
    del kernel
    gc.collect()
    assert call(np.ones(3), np.ones((2, 3)))[1] == 3.0
    assert call(0) == "handed on"
    del call, handed
    gc.collect()
    assert gone() is None


def test_fastcalls_leak_neither_memory_nor_references() -> None:
    call, handed = single(example())
    q, A = np.ones(3), np.ones((2, 3))
    before = sys.getrefcount(q), sys.getrefcount(A), sys.getrefcount(np.ndarray)
    tracemalloc.start()
    try:
        for _ in range(100):
            call(q, A)
        start = tracemalloc.get_traced_memory()[0]
        for _ in range(5000):
            call(q, A)
        assert tracemalloc.get_traced_memory()[0] - start < 5000
    finally:
        tracemalloc.stop()
    assert (sys.getrefcount(q), sys.getrefcount(A), sys.getrefcount(np.ndarray)) == before
    for _ in range(20):
        call(q, q)
    handed.calls.clear()
    assert sys.getrefcount(q) == before[0]


def test_fastcalls_from_several_threads_give_correct_results() -> None:
    kernel = example()
    call, _ = single(kernel)
    wrong: list[int] = []

    def work(number: int) -> None:
        q, A = np.full(3, 0.1 * number), np.full((2, 3), float(number))
        expected = kernel(q, A)
        for _ in range(500):
            if not all(bits_equal(a, b) for a, b in zip(call(q, A), expected, strict=True)):
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


class Wrapper:
    """Contains one array."""

    __slots__ = ("_array",)

    def __init__(self, sample_values: Any) -> None:
        self._array = sample_values


def test_fastcall_wraps_a_single_result_in_the_requested_class() -> None:
    for kernel, argument, expected in (
        (compile(lambda q: 2.0 * q, q=2), np.ones(2), [2.0, 2.0]),
        (compile(lambda q: q @ q, q=2), np.ones(2), 2.0),
    ):
        handed = Handed()
        call = single_call(kernel, handed, Wrapper)
        before = sys.getrefcount(Wrapper)
        results = [call(argument) for _ in range(50)]
        assert all(type(x) is Wrapper and gc.is_tracked(x) for x in results) and not handed.calls
        counts = [sys.getrefcount(x._array) for x in results]
        assert np.asarray(results[0]._array).tolist() == expected and {*counts} == {2}
        results.clear()
        assert sys.getrefcount(Wrapper) == before
        assert np.asarray(kernel(argument)).tolist() == expected, "the kernel's own call holds nothing"
        assert call([1.0, 1.0]) == "handed on"


def test_fastcall_does_not_wrap_results_in_a_class_with_another_memory_layout() -> None:
    class Wide(Wrapper):
        __slots__ = ("more",)

    handed = Handed()
    assert single_call(compile(lambda q: 2.0 * q, q=2), handed, Wide) is handed


def test_kernel_uses_the_general_call_if_fastcall_is_unavailable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fastcall, "available", lambda: False)
    kernel = example()
    handed = Handed()
    assert single_call(kernel, handed) is handed
    assert ".fast" not in kernel.llvm_ir
    assert kernel(np.ones(3), np.ones((2, 3)))[1] == 3.0


@pytest.mark.parametrize("build", ["3.13.0 experimental free-threading build (main)", "3.14.2 free-threading build"])
def test_fastcall_is_unavailable_in_free_threaded_builds(build: str, monkeypatch: pytest.MonkeyPatch) -> None:
    available = fastcall.available.__wrapped__
    assert available()
    monkeypatch.setattr(sys, "version", build)
    assert not available()
