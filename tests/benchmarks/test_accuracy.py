"""The table of accuracy: a row for every requested function, with error bounds that hold."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.compiler.accuracy import Worst, main, worst_errors
from benchmarks.compiler.vector_code import Variant


@pytest.mark.slow(every=9)
def test_accuracy_benchmark_prints_a_row_for_each_requested_function(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--samples", "3", "--functions", "exp", "atan2"]) == 0
    lines = capsys.readouterr().out.splitlines()
    rows = [line for line in lines if line.startswith(("| exp ", "| atan2 "))]
    assert len(rows) == 4
    assert len({row.count("|") for row in rows}) == 1


def test_accuracy_benchmark_searches_all_requested_arguments_for_the_largest_error() -> None:
    (worst,) = worst_errors("log", 64, 5, [Variant(False, False)])
    assert worst.searched == 7 * 5
    assert 0.0 < worst.error < 0.85


def test_accuracy_benchmark_counts_a_nan_error_as_the_largest_error() -> None:
    worst = Worst()
    for error, position in [(0.3, "a"), (np.nan, "b"), (0.2, "c")]:
        worst.see(error, position)
    assert (worst.searched, worst.error, worst.position) == (3, np.inf, "b")
