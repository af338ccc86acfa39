"""Single calls with ``out=``: no allocation, and unsupported arrays go through NumPy's call."""

from __future__ import annotations

import sys
import tracemalloc
from typing import Any

import numpy as np
import pytest

from compiler.knobs import LEVELS, every_level, sizes
from linkwork.compiler.codegen.cpu_backend import CPUBackend
from linkwork.compiler.kernel import Kernel
from linkwork.compiler.runtime import fastcall
from linkwork.compiler.trace.trace import compile, trace

fast = pytest.mark.skipif(not fastcall.available(), reason="no compiled single call here")


def function(x: Any, s: Any) -> Any:
    return x[::-1] * 2.0 + s


@pytest.fixture(scope="module")
def kernel() -> Kernel:
    return compile(function, name="turned", x=4, s=())


X, S = np.arange(4.0), np.array(3.0)
RIGHT = np.array([9.0, 7.0, 5.0, 3.0])


class Refused:
    """Records the arguments that reach the general call."""

    def __init__(self, kernel: Kernel) -> None:
        self.calls = 0
        self.call, _ = fastcall.make_fast(kernel.name, kernel._code.entry("fast"), self, kernel._general.result)

    def __call__(self, *arrays: Any, **named: Any) -> str:
        self.calls += 1
        return "handed on"


@fast
@every_level
@pytest.mark.parametrize("cut", [False, True], ids=["whole", "segments"])
def test_fastcall_returns_the_array_passed_as_out(level: str, cut: bool) -> None:
    with sizes(whole=3 if cut else 2000, most=5 if cut else 600):
        kernel = Kernel(trace(function, "turned", {"x": 4, "s": ()}), backend=CPUBackend(LEVELS[level]))
    refused = Refused(kernel)
    out = np.zeros(4)
    assert refused.call(X, S, out=out) is out and not refused.calls
    assert np.array_equal(out, RIGHT)


@fast
def test_fastcalls_with_output_arrays_allocate_no_memory(kernel: Kernel) -> None:
    out = np.zeros(4)
    before = [sys.getrefcount(a) for a in (out, X, S)]
    for _ in range(1030):  # variables are compared at the 1024th call and the 2048th
        kernel(X, S, out=out)
    tracemalloc.start()
    try:
        kernel(X, S, out=out)
        tracemalloc.reset_peak()
        start = tracemalloc.get_traced_memory()[0]
        for _ in range(1000):
            kernel(X, S, out=out)
        now, peak = tracemalloc.get_traced_memory()
        tracemalloc.reset_peak()
        results = [kernel(X, S) for _ in range(10)]
        growth = tracemalloc.get_traced_memory()[0] - now
    finally:
        tracemalloc.stop()
    assert now - start <= 64 and peak - start <= 256  # the loop's own numbers
    assert growth >= sum(a.nbytes for a in results)  # it would show
    assert [sys.getrefcount(a) for a in (out, X, S)] == before


@fast
def test_fastcall_passes_overlapping_and_unsuitable_outputs_to_the_general_call(kernel: Kernel) -> None:
    refused = Refused(kernel)
    memory = np.zeros(12)
    for start in range(9):  # beside the input, over a part of it, and over all of it
        source = memory[4:8]
        source[...] = X
        before = refused.calls
        result = refused.call(source, S, out=memory[start : start + 4])
        overlap = 0 < start < 8
        assert refused.calls - before == overlap
        assert overlap or np.array_equal(result, RIGHT)
    read_only = np.zeros(4)
    read_only.flags.writeable = False
    calls: list[Any] = [
        np.zeros(3),
        np.zeros((1, 4)),
        np.zeros(()),
        np.zeros(4, np.float32),
        np.zeros(4, ">f8"),
        np.zeros(8)[::2],
        np.zeros(4)[::-1],
        np.ndarray(4, np.float64, bytearray(40), 1),
        np.zeros(4).view(np.recarray),
        read_only,
        (np.zeros(4),),
        [0.0] * 4,
        1.0,
        (),
    ]
    for k, unsuitable in enumerate(calls):
        before = refused.calls
        assert refused.call(X, S, out=unsuitable) == "handed on", k
        assert refused.calls == before + 1
    before = refused.calls
    assert np.array_equal(refused.call(X, S, out=None), RIGHT) and refused.calls == before
    assert refused.call(X, S, out=np.zeros(4), where=True) == "handed on"
    assert refused.call(X * np.nan, S, out=np.zeros(4)) == "handed on"


def test_output_arrays_of_all_layouts_receive_the_result_or_raise_an_error(kernel: Kernel) -> None:
    for out in (np.zeros(4), np.zeros(4, ">f8"), np.zeros(8)[::2], np.zeros(4)[::-1], np.zeros(4, np.float32)):
        assert kernel(X, S, out=out) is out and np.array_equal(out, RIGHT)
        out[...] = 0.0
        assert kernel(X, S, out=(out,)) is out and np.array_equal(out, RIGHT)
    over = np.zeros((3, 4))
    assert kernel(X, S, out=over) is over and np.array_equal(over, [RIGHT] * 3)
    memory = np.zeros(12)
    for start in range(9):
        memory[4:8] = X
        out = memory[start : start + 4]
        assert kernel(memory[4:8], S, out=out) is out and np.array_equal(out, RIGHT)
    number = np.array(3.0)
    square = compile(lambda s: s * s, s=())
    assert square(number, out=number) is number and number == 9.0
    read_only = np.zeros(4)
    read_only.flags.writeable = False
    for out, error, message in (
        (np.zeros(3), ValueError, r"out: expected an array of shape \(4,\) for output, got shape \(3,\)"),
        (np.zeros(()), ValueError, r"out: expected .*, got shape \(\)"),
        (read_only, ValueError, "read-only"),
        (np.zeros(4, np.int64), TypeError, "out: .* got numbers of type int64"),
        ([0.0] * 4, TypeError, r"out: expected an array .* got \[0.0"),
        (1.0, TypeError, "out: expected an array .* got 1.0"),
        ((), ValueError, r"out: expected one array \(output\), got a tuple of 0"),
        ((np.zeros(4), np.zeros(4)), ValueError, "got a tuple of 2"),
    ):
        with pytest.raises(error, match=message):
            kernel(X, S, out=out)


def test_several_kernel_outputs_are_written_to_a_tuple_of_arrays() -> None:
    kernel = compile(lambda x: {"turned": x[::-1] * 2.0, "square": x @ x}, name="pair", x=4)
    for out in (None, (None, None)):
        result = kernel(X, out=out)
        assert type(result).__name__ == "pair_result" and result._fields == ("turned", "square")
        assert np.array_equal(result.turned, RIGHT - 3.0) and result.square == 14.0
        assert type(result.turned) is np.ndarray and type(result.square) is np.float64
    outs = np.zeros(4), np.zeros(())
    result = kernel(X, out=outs)
    assert result.turned is outs[0] and result.square is outs[1]
    assert np.array_equal(outs[0], RIGHT - 3.0) and outs[1] == 14.0
    part = np.zeros(4)
    result = kernel(X, out=(part, None))
    assert result.turned is part and np.array_equal(part, RIGHT - 3.0) and result.square == 14.0
    for out in (np.zeros(4), [np.zeros(4), np.zeros(())]):
        with pytest.raises(TypeError, match=r"pair: out: expected a tuple of 2 arrays \(turned, square\)"):
            kernel(X, out=out)
    with pytest.raises(ValueError, match=r"out: expected a tuple of 2 arrays \(turned, square\), got a tuple of 1"):
        kernel(X, out=(part,))


def test_exception_in_a_fastcall_leaves_outputs_and_reference_counts_unchanged(kernel: Kernel) -> None:
    out = np.zeros(3)
    before = sys.getrefcount(out), sys.getrefcount(X)
    for _ in range(50):
        with pytest.raises(ValueError, match=r"out: expected an array of shape \(4,\)"):
            kernel(X, S, out=out)
    assert (sys.getrefcount(out), sys.getrefcount(X)) == before
    assert np.array_equal(out, np.zeros(3))
