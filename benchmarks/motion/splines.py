"""Splines compared with SciPy's in one run: construction, and q, v and a at many times and at one time."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import linkwork as lw
from benchmarks.tables.figure_rows import MotionRow
from benchmarks.tables.targets import MOTION

__all__ = ["interleaved", "spline_rows"]

TIMES = 100_000
_TURN = 2e-3  # [s] of calls of one function before those of the next
JOINTS = 7


def interleaved(functions: dict[str, Callable[[], Any]], rounds: int = 9) -> dict[str, float]:
    """Median seconds of each, taken in turns, in each of which short ones are called again and again for a while."""
    results: dict[str, list[float]] = {name: [] for name in functions}
    for function in functions.values():
        function()
    for _ in range(rounds):
        for name, function in functions.items():
            until = time.perf_counter() + _TURN
            begin = 0.0
            while begin < until:
                begin = time.perf_counter()
                function()
                results[name].append(time.perf_counter() - begin)
    return {name: statistics.median(each) for name, each in results.items()}


def spline_rows(quick: bool) -> list[MotionRow]:
    """Compare splines of seven joints with SciPy's."""
    many = MOTION["splines", "beside SciPy"]
    return [
        MotionRow(name, ours, "s", peer=theirs, peer_name="SciPy", beside=many if f"{TIMES} times" in name else None)
        for name, ours, theirs in _measured((10, 100) if quick else (10, 100, 1000))
    ]


def _measured(sizes: tuple[int, ...]) -> list[tuple[str, float, float]]:
    """Seconds of ours and of SciPy's, by name.  Raises AssertionError where the two differ."""
    from scipy.interpolate import CubicSpline, make_interp_spline

    rng, result = np.random.default_rng(0), []
    for n in sizes:
        knots = np.cumsum(rng.uniform(0.2, 1.0, n))
        q = rng.normal(size=(n, JOINTS))
        even = np.linspace(knots[0], knots[-1], TIMES)
        drawn = rng.permutation(even)
        for kind, theirs in (
            ("cubic", lambda x, y: CubicSpline(x, y, bc_type="natural")),
            ("bspline", lambda x, y: make_interp_spline(x, y, k=3)),
        ):
            ours = lw.motion.spline(knots, q, kind)
            spline = theirs(knots, q)
            v, a = spline.derivative(), spline.derivative(2)
            assert np.abs(ours(drawn).q - spline(drawn)).max() < 1e-9 and np.abs(ours(drawn).v - v(drawn)).max() < 1e-7
            cases = {"in order": even, "drawn": drawn} if kind == "cubic" else {"in order": even}
            for name, t in cases.items():
                both = interleaved(
                    {
                        "ours": lambda t=t, ours=ours: ours(t),
                        "theirs": lambda t=t, spline=spline, v=v, a=a: (spline(t), v(t), a(t)),
                    }
                )
                result.append((f"{kind}, {n} points, {TIMES} times {name}", both["ours"], both["theirs"]))
            time = float(even[TIMES // 3])
            both = interleaved(
                {
                    "ours": lambda ours=ours, time=time: [ours(time) for _ in range(100)],
                    "theirs": lambda spline=spline, v=v, a=a, time=time: [
                        (spline(time), v(time), a(time)) for _ in range(100)
                    ],
                }
            )
            result.append((f"{kind}, {n} points, one time", both["ours"] / 100, both["theirs"] / 100))
            both = interleaved(
                {
                    "ours": lambda knots=knots, q=q, kind=kind: lw.motion.spline(knots, q, kind),
                    "theirs": lambda knots=knots, q=q, theirs=theirs: theirs(knots, q),
                },
                3,
            )
            result.append((f"{kind}, {n} points, made", both["ours"], both["theirs"]))
    return result
