"""Figures of maps on clusters: ratios of times, and lost or repeated samples."""

from __future__ import annotations

import pytest
from benchmarks.clusters.map_clusters import ClusterSpeed, Disturbed


def test_cluster_benchmark_computes_speedups_as_ratios_of_times():
    result = ClusterSpeed("arm7", 1000, 4.0, 2.0, 3.9, 4.1, 1e8, 1.2e8, True)
    assert result.speedup == 2.0 and result.processor_speedup == pytest.approx(2 * 3.9 / 4.1)


def test_cluster_benchmark_counts_lost_and_repeated_samples():
    for reported, equal, errors in (
        ([10, 20, 30], True, 0),
        ([10, 20], True, 10),
        ([10, 20, 30, 40], True, 10),
        ([10, 20, 30], False, 1),
        ([], False, 30),
    ):
        assert Disturbed(30, reported, equal).errors == errors
