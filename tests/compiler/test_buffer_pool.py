"""Pool of buffers: memory of large results is reused when no array refers to it."""

from __future__ import annotations

import ctypes
import pickle
import threading

import numpy as np
import pytest

from linkwork.compiler.kernel import Kernel
from linkwork.compiler.runtime import buffer_pool as recycled
from linkwork.compiler.trace.trace import trace


@pytest.fixture
def kernel() -> Kernel:
    built = Kernel(trace(lambda x, y: (np.outer(x, y), x + y), "two", {"x": 16, "y": 16}))
    built(np.zeros((9, 16)), np.zeros((9, 16)))  # from the second batch on
    return built


def address(array: np.ndarray) -> int:
    return array.ctypes.data


def test_buffer_pool_reuses_memory_only_after_all_views_are_deleted(kernel: Kernel) -> None:
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(2, 500, 16))
    first = kernel(x, y)
    view, at = first.output0[3:5, 2], address(first.output0)
    expected = view.copy()
    del first
    results = [kernel(x + k, y) for k in range(4)]
    assert at not in [address(result.output0) for result in results]
    assert np.array_equal(view, expected)
    del view
    again = kernel(x, y)
    assert address(again.output0) == at
    assert np.array_equal(again.output0, x[:, :, None] * y[:, None, :])


def test_results_in_pooled_memory_are_ordinary_arrays(kernel: Kernel) -> None:
    x = np.random.default_rng(1).normal(size=(600, 16))
    array = kernel(x, x[0]).output0
    assert type(array) is np.ndarray
    assert array.dtype == np.float64
    assert array.flags.writeable
    assert array.flags.c_contiguous
    array.flags.writeable = False
    array.flags.writeable = True
    assert np.array_equal(pickle.loads(pickle.dumps(array)), array)
    again = kernel(x, x[1])
    assert kernel(x, x[0], out=again).output0 is again.output0  # what a call returned may be written to
    assert np.array_equal(again.output0, array)
    array[0] = 0.0
    assert not np.any(kernel(np.zeros((600, 16)), x).output0)


def test_batches_in_pooled_memory_broadcast_and_wrong_shapes_are_refused(kernel: Kernel) -> None:
    rng = np.random.default_rng(2)
    x, y = rng.normal(size=(3, 1, 200, 16)), rng.normal(size=(4, 200, 16))
    assert kernel(x, y).output0.shape == (3, 4, 200, 16, 16)
    with pytest.raises(ValueError, match="broadcast"):
        kernel(x, rng.normal(size=(5, 7, 16)))
    with pytest.raises(TypeError, match="missing argument 'y'"):
        kernel(rng.normal(size=(4096, 16)))
    with pytest.raises(ValueError, match="masked"):
        kernel(np.ma.masked_array(rng.normal(size=(4096, 16))), y[:1, :1])


def test_buffer_pool_keeps_a_bounded_amount_of_unused_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recycled, "_MAX_UNUSED", 1 << 20)
    monkeypatch.setattr(recycled, "_MAX_EACH", 1 << 19)
    pool = recycled._Pool()
    for size in (1 << 19, 1 << 18, 1 << 19, 1 << 20, 1 << 21, 1 << 18):
        lent = [pool.lend(size) for _ in range(5)]
        addresses = {ctypes.addressof(x) for x in lent}
        del lent
        waiting = sum(memory.memory.size for unused in pool._by_size.values() for memory in unused)
        assert waiting <= pool.most_unused <= 1 << 20
        assert ctypes.addressof(pool.lend(size)) in addresses or size > 1 << 20


def test_threads_never_share_memory_of_the_buffer_pool(kernel: Kernel) -> None:
    x = np.random.default_rng(3).normal(size=(400, 16))
    wrong: list[int] = []

    def work(k: int) -> None:
        for _ in range(50):
            mine = x * (k + 1)
            result = kernel(mine, x).output0
            if not np.array_equal(result, mine[:, :, None] * x[:, None, :]):
                wrong.append(k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@pytest.mark.slow(every=5)
def test_small_results_next_to_pooled_large_results_are_numpy_scalars() -> None:
    """Their type does not depend on earlier calls."""
    kernel = Kernel(trace(lambda x: (x[0] * 2.0, np.array([x[1]] * 17_000, dtype=object)), "beside", {"x": 2}))
    kernel(np.ones((3, 2)))
    for x in (np.ones(2), np.ones(4)[::2], np.array([np.nan, 1.0])):
        assert type(kernel(x).output0) is np.float64
        assert kernel(np.broadcast_to(x, (3, 2))).output0.shape == (3,)


def test_buffer_pool_knows_the_owner_of_an_arrays_memory() -> None:
    lent, plain = recycled.empty((100_000, 7)), np.ones(10)
    assert recycled.owner(lent) is recycled.owner(lent[3:9][1:]) is not None and recycled.owner(plain[2:]) is plain
    assert (
        recycled.owner(np.frombuffer(plain.data)) is None
        and recycled.owner(3.0) is None
        and recycled.owner(np.ma.array([1.0])) is None
    )
