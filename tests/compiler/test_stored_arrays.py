"""Arrays on disk: computed once for all arguments."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from linkwork.compiler.cache.disk_cache import Cache, CacheWarning, Entry
from linkwork.compiler.cache.stored_arrays import stored_array


def test_stored_array_is_computed_once_for_equal_arguments(cache_folder, monkeypatch) -> None:
    calls = []

    def array_of(values, shape=(2, 3)):
        def compute():
            calls.append(values)
            return np.arange(6.0).reshape(shape) * (values[0] if isinstance(values[0], float) else 1.0)

        return stored_array("example", (np.cross, *values), compute)

    first = array_of((2.0, np.ones(3)))
    assert np.array_equal(array_of((2.0, np.ones(3))), first) and first.shape == (2, 3)
    assert not np.array_equal(array_of((3.0, np.ones(3))), first) and len(calls) == 2
    array_of((lambda: 0,)), array_of((lambda: 0,))  # of unknown content
    assert len(calls) == 4
    monkeypatch.setenv("LINKWORK_CACHE", "off")
    array_of((2.0, np.ones(3)))
    assert len(calls) == 5


def test_damaged_file_of_a_stored_array_is_computed_again(cache_folder) -> None:
    assert stored_array("example", (1,), lambda: np.ones(2)).tolist() == [1.0, 1.0]
    (path,) = cache_folder.iterdir()
    Cache(cache_folder, 1 << 20).store(path.name.removesuffix(".linkwork"), Entry({"shape": [3]}, b"12345678"))
    with pytest.warns(CacheWarning, match="damaged"):
        assert stored_array("example", (1,), lambda: np.zeros(2)).tolist() == [0.0, 0.0]
    assert stored_array("example", (1,), lambda: np.ones(2)).tolist() == [0.0, 0.0]


def test_threads_that_need_the_same_stored_array_compute_it_once(cache_folder) -> None:
    calls, results, is_computing, others_wait = [], [], threading.Event(), threading.Event()

    def compute():
        calls.append(1)
        is_computing.set()
        others_wait.wait(60.0)
        return np.ones(2)

    def work():
        results.append(stored_array("example", (1,), compute).tolist())

    threads = [threading.Thread(target=work) for _ in range(3)]
    threads[0].start()
    assert is_computing.wait(60.0)
    for thread in threads[1:]:
        thread.start()
    others_wait.wait(0.05)
    others_wait.set()
    for thread in threads:
        thread.join()
    assert results == [[1.0, 1.0]] * 3 and len(calls) == 1
