"""The benchmark of pickles of kernels measures what it prints."""

from __future__ import annotations

import pytest
from benchmarks.first_calls.pickled_kernels import first_load, pickled_sizes, second_load, shared_cache

import linkwork as lw


def test_pickle_benchmark_measures_file_sizes_and_second_loads_of_kernels() -> None:
    kernel = lw.compile(lambda x: 3.0 * x, x=(2,), name="tripled")
    assert 100 < pickled_sizes({"tripled": kernel})["tripled"] < 1000
    assert second_load(kernel, repeats=3) > 0.0


@pytest.mark.slow
def test_pickle_benchmark_measures_first_loads_and_shared_caches_of_kernels() -> None:
    loaded_robot = first_load(lw.load("double_pendulum").compile("mass_matrix"), repeats=1)
    assert loaded_robot.cached and 0.0 < loaded_robot.load < loaded_robot.load_and_call
    shared = shared_cache(processes=2)
    assert shared.most == 1 and shared.entries > 3 and shared.equal
