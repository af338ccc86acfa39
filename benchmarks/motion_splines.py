"""Splines beside SciPy's, in one run: making them, and q, v and a at many times and at one.

`python -m benchmarks.motion_splines`
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import linkwork as lw

TIMES = 100_000
JOINTS = 7


def interleaved(functions: dict[str, Callable[[], Any]], rounds: int = 9) -> dict[str, float]:
    """Median seconds of each, taken in turns."""
    found: dict[str, list[float]] = {name: [] for name in functions}
    for function in functions.values():
        function()
    for _ in range(rounds):
        for name, function in functions.items():
            begin = time.perf_counter()
            function()
            found[name].append(time.perf_counter() - begin)
    return {name: statistics.median(each) for name, each in found.items()}


def rows() -> list[tuple[str, float, float]]:
    """What was measured: its name, seconds of ours, and of SciPy's."""
    from scipy.interpolate import CubicSpline, make_interp_spline

    rng, found = np.random.default_rng(0), []
    for n in (10, 100, 1000):
        knots = np.cumsum(rng.uniform(0.2, 1.0, n))
        q = rng.normal(size=(n, JOINTS))
        even = np.linspace(knots[0], knots[-1], TIMES)
        drawn = rng.permutation(even)
        for kind, theirs in (
            ("cubic", lambda x, y: CubicSpline(x, y, bc_type="natural")),
            ("bspline", lambda x, y: make_interp_spline(x, y, k=3)),
        ):
            ours = lw.motion.spline(knots, q, kind)
            other = theirs(knots, q)
            v, a = other.derivative(), other.derivative(2)
            cases = {"in order": even, "drawn": drawn} if kind == "cubic" else {"in order": even}
            for name, t in cases.items():
                both = interleaved(
                    {
                        "ours": lambda t=t, ours=ours: ours(t),
                        "theirs": lambda t=t, other=other, v=v, a=a: (other(t), v(t), a(t)),
                    }
                )
                found.append((f"{kind}, {n} points, {TIMES} times {name}", both["ours"], both["theirs"]))
            one = float(even[TIMES // 3])
            both = interleaved(
                {
                    "ours": lambda ours=ours, one=one: [ours(one) for _ in range(100)],
                    "theirs": lambda other=other, v=v, a=a, one=one: [(other(one), v(one), a(one)) for _ in range(100)],
                }
            )
            found.append((f"{kind}, {n} points, one time", both["ours"] / 100, both["theirs"] / 100))
            both = interleaved(
                {
                    "ours": lambda knots=knots, q=q, kind=kind: lw.motion.spline(knots, q, kind),
                    "theirs": lambda knots=knots, q=q, theirs=theirs: theirs(knots, q),
                },
                3,
            )
            found.append((f"{kind}, {n} points, made", both["ours"], both["theirs"]))
    return found


def main() -> None:
    """Print the table."""
    lw.set_num_threads(1)
    print("| | linkwork | SciPy | ratio |\n|---|---|---|---|")
    for name, ours, theirs in rows():
        print(f"| {name} | {1e6 * ours:.1f} µs | {1e6 * theirs:.1f} µs | {theirs / ours:.1f} |")


if __name__ == "__main__":
    main()
