"""Timing of paths that turn back: exact durations, and random paths on a fine grid."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import linkwork as lw
from linkwork.motion import Trajectory, time_optimal
from linkwork.motion.timing.path_geometry import _is_uneven


def _shortest_time(path: Trajectory, v: float, a: float) -> float:
    """Duration of a joint's fastest motion: a trapezoid or a triangle between successive turning points."""
    section = path.sections[0]
    values = []
    ends = [*section.arrays["starts"], section.end]
    for c, begin, end in zip(section.arrays["coefficients"][:, 0], ends[:-1], ends[1:], strict=True):
        roots = np.roots(c[:0:-1] * np.arange(len(c) - 1, 0, -1))
        inside = np.sort(roots.real[(np.abs(roots.imag) < 1e-9) & (roots.real > 0.0) & (roots.real < end - begin)])
        values += np.polynomial.polynomial.polyval([0.0, *inside], c).tolist()
    values.append(float(path(path.end_time).q[0]))
    steps = np.diff(values)
    signs = np.sign(steps)
    turns = np.flatnonzero(signs[1:] != signs[:-1]) + 1
    lengths = np.abs(np.add.reduceat(steps, [0, *turns]))
    times = np.where(lengths > v * v / a, lengths / v + v / a, 2.0 * np.sqrt(lengths / a))
    return float(times.sum())


@pytest.mark.slow(every=5)
@pytest.mark.parametrize("boundary", ["clamped", "natural"])
def test_single_joint_is_timed_to_move_in_the_shortest_time_between_turning_points(boundary: str) -> None:
    v, a = 2.0, 4.0
    for seed in range(3):
        rng = np.random.default_rng(seed)
        points = rng.normal(size=(60, 1)) if seed % 2 else np.cumsum(rng.normal(size=(60, 1)), axis=0)
        for times, q in ((np.arange(60.0), points), (np.linspace(0.0, 1.0, 8), points[:8])):
            path = lw.motion.spline(times, q, boundary=boundary)
            known = _shortest_time(path, v, a)
            timed_path = time_optimal(path, velocity=v, acceleration=a)
            assert known * (1.0 - 1e-9) < timed_path.duration < 1.003 * known, seed
            assert timed_path.trajectory.satisfies_limits(velocity=v, acceleration=a, tolerance=1e-8), seed
            assert np.allclose(timed_path.trajectory([0.0, timed_path.duration]).q, q[[0, -1]], rtol=0.0, atol=1e-9)


@pytest.mark.slow(every=5)
def test_time_optimal_motions_stop_only_where_the_path_requires_it() -> None:
    """Coarse grids with strongly varying curvature: q' vanishes at both ends and at turning points inside."""
    for seed, points in ((118, 200), (136, 400), (234, 400), (372, 200), (4, 200), (59, 400), (103, 200)):
        rng = np.random.default_rng(seed)
        q = (rng.uniform(-2.0, 2.0, (60, 1)), np.cumsum(rng.normal(size=(60, 1)), 0), rng.normal(size=(60, 1)))
        bent = np.concatenate([q[seed % 3], 1e-3 * rng.normal(size=(60, 1))], axis=1)  # no straight segments
        path = lw.motion.spline(np.arange(60.0), bent, boundary="clamped")
        timed_path = time_optimal(path, velocity=2.0, acceleration=4.0, num_points=points)
        assert np.isfinite(timed_path.duration) and timed_path.speed[1:-1].min() > 0.0, seed
        assert timed_path.trajectory.satisfies_limits(velocity=2.0, acceleration=4.0, tolerance=1e-8), seed


@pytest.mark.slow(every=9)
def test_time_optimal_timing_of_random_paths_takes_nearly_the_shortest_time() -> None:
    for seed in range(9):
        rng = np.random.default_rng(seed)
        count, nv = (4, 8, 30)[seed % 3], (1, 2, 3)[seed // 3]
        q = np.cumsum(rng.normal(size=(count, nv)), axis=0)
        path = lw.motion.spline(np.cumsum(rng.uniform(0.3, 2.0, count)), q, boundary=("clamped", "natural")[seed % 2])
        limits = {"velocity": rng.uniform(0.5, 3.0, nv), "acceleration": rng.uniform(1.0, 10.0, nv)}
        timed_path = time_optimal(path, **limits)
        finest = time_optimal(path, num_points=25_000, **limits)
        assert timed_path.duration < 1.004 * finest.duration, seed


def test_rates_of_polynomials_are_uneven_on_both_sides_of_a_twentieth_of_the_greatest() -> None:
    for low, is_slow in ((0.0499, True), (0.0501, False)):
        more = 1.0 - low
        for rate, end in (([low, more], "at_start"), ([1.0, -more], "at_end"), ([1.0, -4.0 * more, 4.0 * more], None)):
            f = np.append(0.0, np.array(rate) / np.arange(1.0, len(rate) + 1.0))
            for ends in itertools.product((False, True), repeat=2):
                flags = dict(zip(("at_start", "at_end"), ends, strict=True))
                expected = is_slow and not (end is not None and flags[end])
                assert _is_uneven(f, **flags, smooth=True) is expected, (low, end, flags)
                assert _is_uneven(f, **flags, smooth=False)
    turning, even = np.array([0.0, -0.4, 0.5]), np.array([0.0, 2.0])
    assert not _is_uneven(turning, at_start=False, at_end=False, smooth=True)  # the rate changes sign inside
    assert not any(_is_uneven(even, at_start=False, at_end=False, smooth=smooth) for smooth in (False, True))
