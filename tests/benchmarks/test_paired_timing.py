"""Timing two calls in turns."""

from __future__ import annotations

import time
import timeit
from types import SimpleNamespace

import pytest
from benchmarks.measurement.paired_timing import compare, percentiles

from linkwork.cli.function_timings import Call, Effort


def test_paired_timing_compares_medians_of_alternating_rounds(monkeypatch):
    """A simulated clock: a microsecond for one call, four for the other, and each fifth call is disturbed."""
    clock = SimpleNamespace(now=0.0, calls=0)

    def work(seconds):
        clock.calls += 1
        clock.now += seconds * (1.0 if clock.calls % 5 else 1.5)

    monkeypatch.setattr(timeit.Timer.__init__, "__defaults__", ("pass", "pass", lambda: clock.now, None))
    monkeypatch.setattr(time, "perf_counter_ns", lambda: round(1e9 * clock.now))
    fast, slow = Call("f(x)", {"f": work, "x": 1e-6}), Call("f(x)", {"f": work, "x": 4e-6})
    result = compare(fast, slow, Effort(rounds=3, at_least=1e-3))
    assert (result.ours, result.peer, result.ratio) == pytest.approx((1.1e-6, 4.4e-6, 4.0), rel=1e-2)
    assert clock.calls > 2 * 3 * 200  # each side fills the time asked for, in each round
    assert compare(fast, None, Effort(rounds=1, at_least=1e-5)).peer is None
    assert percentiles(slow, 50) == pytest.approx((4e-6, 6e-6), rel=1e-2)
