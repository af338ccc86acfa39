"""Corners of curves keep both sides: joined, cut, reversed, timed and stored."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.polynomial import polynomial

import linkwork as lw
from helpers.examples import examples
from linkwork import joints
from linkwork.model.random_tree import random_tree
from linkwork.motion import Trajectory, time_optimal

TIMING = {"velocity": 1.0, "acceleration": 2.0, "num_points": 50, "num_passes": 1}


class PolynomialSegment(NamedTuple):
    """Polynomials c (nv, terms) of τ, which is ``start`` at ``begin`` and has a constant rate until ``end``."""

    begin: float
    end: float
    rate: float
    start: float
    c: np.ndarray

    def at(self, t, order: int):
        c = polynomial.polyder(self.c.T, order) * self.rate**order
        return polynomial.polyval(self.start + self.rate * (np.asarray(t) - self.begin), c).T

    def extremes(self, order: int) -> tuple[np.ndarray, np.ndarray]:
        results = []
        for c in polynomial.polyder(self.c.T, order).T * self.rate**order:
            ends = self.start, self.start + self.rate * (self.end - self.begin)
            roots = polynomial.polyroots(polynomial.polyder(c)) if len(c) > 2 and c[2:].any() else np.array([])
            roots = roots.real[(roots.real > min(ends)) & (roots.real < max(ends)) & (np.abs(roots.imag) < 1e-6)]
            results.append(polynomial.polyval(np.concatenate([ends, roots]), c))
        return np.array([x.min() for x in results]), np.array([x.max() for x in results])


Segments = list[PolynomialSegment]


def _drawn(rng: np.random.Generator) -> tuple[Trajectory, Segments]:
    """A curve whose v and a jump at its knots, with the polynomials that it consists of."""
    n, nv, terms = rng.integers(1, 6), 2, 5  # sizes of one kernel
    times = np.cumsum(rng.uniform(0.2, 1.0, n + 1)) - rng.uniform(0.0, 2.0)
    c, q = rng.normal(size=(n, nv, terms)) * (np.arange(terms) < rng.integers(2, terms + 1)), rng.normal(size=nv)
    for k, h in enumerate(np.diff(times)):  # q does not jump
        c[k, :, 0] = q
        q = polynomial.polyval(h, c[k].T)
    segments = [PolynomialSegment(b, e, 1.0, 0.0, x) for b, e, x in zip(times[:-1], times[1:], c, strict=True)]
    if rng.random() < 0.5:
        return Trajectory.polynomial(times, c), segments
    return Trajectory.by_coordinate([times] * nv, np.moveaxis(c, 1, 0)), segments


def _moved(segments: Segments, start: float, scale: float = 1.0) -> Segments:
    first = segments[0].begin
    return [
        PolynomialSegment(
            start + scale * (x.begin - first), start + scale * (x.end - first), x.rate / scale, x.start, x.c
        )
        for x in segments
    ]


def _turned(segments: Segments) -> Segments:
    ends = segments[0].begin + segments[-1].end
    return [
        PolynomialSegment(ends - x.end, ends - x.begin, -x.rate, x.start + x.rate * (x.end - x.begin), x.c)
        for x in segments[::-1]
    ]


def _changed(rng: np.random.Generator, curve: Trajectory, segments: Segments) -> tuple[Trajectory, Segments]:
    """Another curve made of one in one of the ways that keep polynomials."""
    choice = rng.integers(5)
    if choice == 0:
        return curve.reversed(), _turned(segments)
    if choice == 1:
        scale = float(rng.uniform(0.3, 3.0))
        return curve.retimed(scale), _moved(segments, segments[0].begin, scale)
    if choice == 2:
        start = float(rng.normal())
        return curve.shifted(start), _moved(segments, start)
    if choice == 3:
        back = _moved(_turned(segments), segments[-1].end)
        return curve.concatenate(curve.reversed(), allow_jump=True), [*segments, *back]
    k = int(rng.integers(len(segments)))  # cut at corners
    j = int(rng.integers(k, len(segments)))
    knots = curve.knots
    return curve.slice(knots[k], knots[j + 1]), segments[k : j + 1]


def _differences(curve: Trajectory, segments: Segments) -> float:
    """Return the relative difference of q, v, a and jerk from the segments, on both sides of knots and inside."""
    knots = curve.knots
    assert len(knots) == len(segments) + 1
    worst = 0.0
    for k, segment in enumerate(segments):
        inside = knots[k] + (knots[k + 1] - knots[k]) * np.linspace(0.05, 0.95, 7)
        for order in range(4):

            def value(t, side="right", order=order):
                return curve.jerk(t, side=side) if order == 3 else curve(t, side=side)[order]

            expected = [segment.at(t, order) for t in (inside, segment.begin, segment.end)]
            result = value(inside), value(knots[k]), value(knots[k + 1], "left")
            size = max(1.0, *(np.abs(x).max() for x in expected))
            worst = max(worst, *(np.abs(x - y).max() / size for x, y in zip(result, expected, strict=True)))
    return worst


def check(seed: int, folder: Any) -> float:
    """Draw a curve, change it three times, and compare everything with its polynomials; returns the largest error."""
    rng = np.random.default_rng(seed)
    curve, segments = _drawn(rng)
    for _ in range(3):
        curve, segments = _changed(rng, curve, segments)
    worst = _differences(curve, segments)
    curve.save(folder / "it.npz")
    assert Trajectory.load(folder / "it.npz") == curve
    for order in range(4):
        low, high = curve.extremes(order)
        each = [segment.extremes(order) for segment in segments]
        expected = np.min([x for x, _ in each], axis=0), np.max([x for _, x in each], axis=0)
        size = max(1.0, np.abs(expected).max())
        worst = max(worst, np.abs(low - expected[0]).max() / size, np.abs(high - expected[1]).max() / size)
    curve.save(folder / "it.csv")
    table = Trajectory.load(folder / "it.csv")
    for t in (curve.knots, 0.5 * (curve.knots[1:] + curve.knots[:-1])):
        for side in ("right", "left"):
            for x, y in zip(table(t, side=side), curve(t, side=side), strict=True):
                h = np.diff(curve.knots).min()
                assert np.abs(x - y).max() < 1e-12 * max(1.0, np.abs(y).max()) / min(1.0, h) ** 3
    return worst


@pytest.mark.slow(every=5)
def test_velocities_before_and_after_corners_are_preserved_by_operations_on_trajectories(tmp_path):
    assert max(check(seed, tmp_path) for seed in range(examples(200))) < 1e-12


def test_retimed_trajectories_keep_the_directions_before_and_after_corners():
    """v has the two directions of the corner, and one speed along the path."""
    for seed in range(examples(50)):
        rng = np.random.default_rng(seed)
        curve, segments = _drawn(rng)
        slow = curve.retimed(np.cumsum(rng.uniform(0.1, 2.0, len(curve.knots))))
        slow = slow.retimed(np.cumsum(rng.uniform(0.1, 2.0, len(curve.knots))))
        for t, before, after in zip(slow.knots[1:-1], segments[:-1], segments[1:], strict=True):
            v_before, v_after = before.at(before.end, 1), after.at(after.begin, 1)
            v, w = slow(t, side="left").v, slow(t).v
            speed = np.linalg.norm(w) / np.linalg.norm(v_after)
            assert np.abs(w - speed * v_after).max() < 1e-12 * np.abs(w).max()
            assert np.abs(v - speed * v_before).max() < 1e-12 * max(np.abs(w).max(), np.abs(v).max())


def _polyline(rng: np.random.Generator, n: int, nv: int) -> tuple[Trajectory, np.ndarray]:
    times, q = np.cumsum(rng.uniform(0.2, 1.0, n)), rng.uniform(-1.0, 1.0, (n, nv))
    return lw.motion.spline(times, q, "linear"), np.diff(q, axis=0) / np.linalg.norm(np.diff(q, axis=0), axis=1)[
        :, None
    ]


@pytest.mark.slow(every=9)
def test_timed_polylines_satisfy_limits_on_both_sides_of_corners(tmp_path):
    for seed in range(examples(60)):
        rng = np.random.default_rng(seed)
        path, directions = _polyline(rng, int(rng.integers(3, 7)), 2)
        even = path.at_constant_speed(1.0)
        for side in ("left", "right"):
            speed = np.linalg.norm(even(even.knots, side=side).v, axis=1)
            assert np.abs(speed - 1.0).max() < 1e-12
        timed = time_optimal(path, **TIMING)
        for curve in (timed.trajectory, timed.trajectory.reversed(), timed.trajectory.retimed(1.0)):
            assert max(np.abs(x).max() for x in curve.extremes(2)) < 2.0 * (1.0 + 1e-12)
            assert curve.satisfies_limits(velocity=1.0, acceleration=2.0)
            state = [curve(curve.knots, side=side) for side in ("left", "right")]
            assert max(np.abs(x.a).max() for x in state) < 2.0 * (1.0 + 1e-12)
        k = np.searchsorted(path.knots, timed.s[1:-1], side="left") - 1  # the straight segment before each time
        for side, index_ in (("left", k), ("right", np.searchsorted(path.knots, timed.s[1:-1], side="right") - 1)):
            v = timed.trajectory(timed.t[1:-1], side=side).v
            along = np.einsum("ij,ij->i", v, directions[index_])
            assert np.abs(v - along[:, None] * directions[index_]).max() < 1e-14
        timed.trajectory.save(tmp_path / "it.csv")
        table = Trajectory.load(tmp_path / "it.csv")
        t = np.linspace(0.0, timed.duration, 501)
        assert np.abs(table(t).q - timed.trajectory(t).q).max() < 1e-14
        assert np.abs(table.extremes(2)).max() < 2.0 * (1.0 + 1e-6)


@pytest.mark.slow(every=9)
@pytest.mark.parametrize("share", range(3))
def test_velocities_at_corners_are_preserved_by_operations_for_every_joint_type(share, tmp_path):
    """Straight segments and squads, run backwards, joined, timed and stored."""
    types = joints.ALL[share::3]
    robot = lw.Robot(random_tree(np.random.default_rng(1), len(types), types=types))
    rng = np.random.default_rng(0)
    q = [robot.random_configuration(seed=0)]
    for _ in range(3):
        q.append(robot.integrate(q[-1], 0.5 * rng.normal(size=robot.nv)))
    times = np.array([0.0, 0.7, 1.5, 2.0])
    for kind in ("linear", "squad"):
        curve = robot.spline(times, q, kind)
        whole = curve.concatenate(curve.reversed(), allow_jump=True)
        t = np.linspace(0.0, 2.0, 9)
        for side, opposite in (("left", "right"), ("right", "left")):
            forward, back = curve(t[1:-1], side=side), whole(4.0 - t[1:-1], side=opposite)
            assert np.abs(robot.difference(forward.q, back.q)).max() < 1e-12
            assert np.abs(forward.v + back.v).max() < 1e-11 and np.abs(forward.a - back.a).max() < 1e-10
        whole.save(tmp_path / "it.npz")
        assert Trajectory.load(tmp_path / "it.npz", robot=robot) == whole
        low, high = whole.extremes(1)
        for side in ("left", "right"):
            v = whole(whole.knots, side=side).v
            assert ((v >= low - 1e-12) & (v <= high + 1e-12)).all()
