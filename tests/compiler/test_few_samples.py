"""Calls with few samples: scalar code first; the vector loop is compiled when a call needs it."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from linkwork.compiler import code_parts
from linkwork.compiler.codegen.float_type import DOUBLE, SINGLE
from linkwork.compiler.kernel import Kernel, call_state, source_and_code
from linkwork.compiler.prepared_code import make_ready
from linkwork.compiler.trace.trace import compile_guarded, compile_later
from linkwork.expr.scalar.functions import sin

X = np.random.default_rng(0).normal(size=(40, 3))
Y = np.linspace(-1.0, 1.0, 40)


@pytest.fixture(autouse=True)
def without_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    """Code for few samples is not compiled where the cache has the loop."""
    monkeypatch.setenv("LINKWORK_CACHE", "off")


def kernel(name: str = "f") -> Kernel:
    return compile_later(lambda x, y: {"a": [y * a + 1.0 for a in x], "b": sin(x[0]) * y}, name=name, x=3, y=())


def entries(kernel: Kernel, real=DOUBLE) -> set[str]:
    return {name for name, entry_type in source_and_code(kernel)[1]._entries if entry_type == real}


def same(a, b) -> bool:
    return all(np.array_equal(x, y) and x.dtype == y.dtype for x, y in zip(a, b, strict=True))


@pytest.mark.slow(every=5)
def test_small_batches_run_scalar_code_and_large_batches_compile_the_vector_loop() -> None:
    f, whole = kernel(), kernel()
    make_ready(whole)
    assert entries(whole) == {"fast", "loop"}
    for first in (1, 2):
        assert same(f(X[:first], Y[:first]), whole(X[:first], Y[:first]))
    assert same(f(X[:1], Y[:1].reshape(1)), whole(X[:1], Y[:1])) and entries(f) == {"few"}
    assert same(f(X, Y), whole(X, Y)) and entries(f) == {"few", "loop"}
    assert same(f(X[:2], Y[:2]), whole(X[:2], Y[:2]))
    f32 = [x.astype(np.float32) for x in (X, Y)]
    assert same(f(*(x[:2] for x in f32)), whole(*(x[:2] for x in f32))) and entries(f, SINGLE) == {"few"}
    assert same(f(*f32), whole(*f32)) and entries(f, SINGLE) == {"few", "loop"}


def test_non_contiguous_arguments_of_small_batches_compile_the_vector_loop() -> None:
    whole, wide, out = kernel(), np.zeros((2, 6)), (np.zeros((2, 3)), np.zeros(2))
    wide[:, ::2] = X[:2]
    f = kernel()
    assert same(f(X[:2, None], Y[:2]), whole(X[:2, None], Y[:2])) and entries(f) == {"few"}  # two calls of the code
    assert same(f(wide[:, ::2], Y[:2]), whole(wide[:, ::2], Y[:2])) and entries(f) == {"few", "loop"}
    f = kernel()
    f(X[:2], Y[:2], out=out)
    assert same(out, whole(X[:2], Y[:2])) and entries(f) == {"few"}


def test_scalar_code_for_small_batches_counts_nan_and_guards_as_the_vector_loop() -> None:
    f = kernel()
    before = call_state(f).not_finite_calls
    f(X[:2], np.array([1.0, np.nan]))
    assert call_state(f).not_finite_calls == before + 1
    guarded = compile_guarded(lambda x: x, lambda x: [x[0]], name="g", x=2)
    guarded(np.array([[1.0, 0.0], [-1.0, 0.0]]))
    assert call_state(guarded).off_calls == 1 and entries(guarded) == {"few"}


def test_failed_compilation_of_the_vector_loop_raises_its_error(monkeypatch: pytest.MonkeyPatch) -> None:
    f, original = kernel(), code_parts._emitted

    def fails(source, backend, texts, stored):
        if "loop" in texts:
            raise ArithmeticError("no luck")
        return original(source, backend, texts, stored)

    f(X[:2], Y[:2])
    with monkeypatch.context() as patch:
        patch.setattr(code_parts, "_emitted", fails)
        with pytest.raises(ArithmeticError, match="no luck"):
            f(X, Y)
        assert same(f(X[:2], Y[:2]), kernel()(X[:2], Y[:2]))
    assert same(f(X, Y), kernel()(X, Y))


def test_several_threads_compile_the_vector_loop_once() -> None:
    f, expected, results = kernel(), kernel()(X, Y), []
    f(X[:1], Y[:1])
    together = threading.Barrier(6)

    def work() -> None:
        together.wait()
        results.append(f(X, Y))

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 6 and all(same(result, expected) for result in results)


def test_preparing_a_kernel_for_few_samples_compiles_only_scalar_code() -> None:
    f = kernel()
    make_ready(f, samples=2)
    assert entries(f) == {"fast", "few"}
    f(X[0], Y[0]), f(X[:2], Y[:2])
    assert entries(f) == {"fast", "few"}
