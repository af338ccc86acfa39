"""Improvement of paths in a plane with a disc, where shortest paths are known: two tangents and an arc."""

from __future__ import annotations

from itertools import pairwise
from math import acos, atan2, sqrt
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from helpers.gantry import gantry
from linkwork.planning.planning_space import OutOfTimeError, PlanningSpace
from linkwork.planning.search import informed_planner, path_smoothing

MIDDLE, RADIUS = np.array([0.13, -0.21]), 0.6
SCENE = lw.Scene().with_sphere("disc", RADIUS, pose=(*MIDDLE, 0.0))
START, GOAL = np.array([-1.4, -0.35]), np.array([1.2, 0.27])


class DiscSpace(PlanningSpace):
    """A point among x and y within 2 m, outside of a disc; edges are checked exactly."""

    def free(self, q: np.ndarray) -> np.ndarray:
        result: np.ndarray = np.linalg.norm(q - MIDDLE, axis=-1) > RADIUS
        return result

    def _check_batch(self, q0: np.ndarray, q1: np.ndarray, more: np.ndarray) -> np.ndarray:
        edge, to = q1 - q0, MIDDLE - q0
        t = np.clip((edge * to).sum(axis=1) / np.maximum((edge * edge).sum(axis=1), 1e-300), 0.0, 1.0)
        result: np.ndarray = np.linalg.norm(to - t[:, None] * edge, axis=1) > RADIUS + more
        return result


def shortest_length(a: np.ndarray, b: np.ndarray) -> float:
    """Return the length of a string that is pulled tight around the disc."""
    a, b = a - MIDDLE, b - MIDDLE
    turn = abs(atan2(a[0] * b[1] - a[1] * b[0], a @ b))
    arc = turn - sum(acos(RADIUS / np.linalg.norm(x)) for x in (a, b))
    return float(sum(sqrt(x @ x - RADIUS**2) for x in (a, b)) + RADIUS * arc)


def improved(space: PlanningSpace, path: np.ndarray, iterations: int, **options: Any) -> Any:
    shorten = lambda x: path_smoothing.shorten_path(space, x, seed=3, spacing=0.05)  # noqa: E731
    options = {"continues": lambda count: True, "shorten": shorten, "seed": 5, **options}
    return informed_planner.improve_path(
        space, path, path[:1], path[-1:], iterations=iterations, begin_time=0.0, **options
    )


def test_improved_paths_around_a_disc_have_nearly_the_length_of_tangents_and_arc() -> None:
    space = DiscSpace(gantry(), SCENE)
    path = np.array([START, [-1.1, 1.7], [1.6, 1.3], GOAL])
    result, history = improved(space, path, 4)
    costs = [entry.cost for entry in history]
    assert shortest_length(START, GOAL) < costs[-1] < 1.003 * shortest_length(START, GOAL)
    assert costs[-1] == pytest.approx(np.linalg.norm(np.diff(result, axis=0), axis=1).sum())
    assert costs[0] == pytest.approx(np.linalg.norm(np.diff(path, axis=0), axis=1).sum())
    assert all(b < a for a, b in pairwise(costs))
    assert [entry.iterations for entry in history] == sorted(entry.iterations for entry in history)
    assert (result[[0, -1]] == [START, GOAL]).all() and space.edges_are_free(result[:-1], result[1:]).all()


def test_improvement_of_paths_ends_on_request_or_late_and_with_a_straight_path() -> None:
    space, path = DiscSpace(gantry(), SCENE), np.array([START, [-1.1, 1.7], [1.6, 1.3], GOAL])
    counts: list[int] = []
    result, history = improved(space, path, 3, continues=lambda count: bool(counts.append(count)))
    assert counts == [4] and (result == path).all() and len(history) == 1
    counts.clear()
    result, history = improved(space, path, 3, continues=lambda count: counts.append(count) or len(counts) < 2)
    assert len(counts) == 2 and counts[1] > 64  # after the first edges of the first batch are checked
    beside = np.array([START, [-0.6, 1.5], [0.4, 1.7]])  # a straight edge joins both ends
    result, history = improved(space, beside, 3)
    assert history[-1].cost == pytest.approx(np.linalg.norm(beside[2] - beside[0])) and history[-1].iterations < 3
    late = DiscSpace(gantry(), SCENE)
    late.edges_are_free = raises_late  # type: ignore[method-assign]
    assert (improved(late, path, 3)[0] == path).all()
    assert path_smoothing.shorten_path(late, path, seed=0, spacing=0.05) is path


def raises_late(q0: np.ndarray, q1: np.ndarray) -> np.ndarray:
    raise OutOfTimeError


def test_shortened_polylines_around_a_disc_are_free_and_nearly_shortest() -> None:
    space, turns = DiscSpace(gantry(), SCENE), np.linspace(3.0, 0.25, 40)
    arc = MIDDLE + 0.9 * np.stack([np.cos(turns), np.sin(turns)], axis=1)
    assert len(arc) > 2 * path_smoothing._MAX_POINTS  # its points are divided into parts
    result = path_smoothing.shorten_path(space, arc, seed=1, spacing=0.05)
    assert len(result) < 14 and (result[[0, -1]] == arc[[0, -1]]).all()
    assert space.edges_are_free(result[:-1], result[1:]).all()
    assert shortest_length(arc[0], arc[-1]) <= space.cost(result) < 1.05 * shortest_length(arc[0], arc[-1])
    parts = path_smoothing.shortest_visible(space, arc, np.arange(40.0), 0.05)
    first = path_smoothing.shortest_visible(space, arc[:14], np.arange(14.0), 0.05)
    assert (parts[: len(first)] == first).all() and space.cost(parts) < space.cost(arc)


def cubic(c: np.ndarray, t: float, order: int) -> np.ndarray:
    for _ in range(order):
        c = c[..., 1:] * np.arange(1, c.shape[-1])
    result: np.ndarray = c @ t ** np.arange(c.shape[-1])
    return result


def test_blended_corners_keep_the_path_smooth_and_stop_only_where_the_disc_is_near() -> None:
    space = DiscSpace(gantry(), SCENE)
    normal, along = np.array([0.28, 0.96]), np.array([0.96, -0.28])
    corner = MIDDLE + RADIUS * 1.0005 * normal  # it turns by 0.06 about the disc: every blend cuts the disc
    before, after = corner - along - 0.03 * normal, corner + 0.9 * along - 0.027 * normal
    path = np.array([START, before, corner, after, [1.5, -0.9]])
    assert space.edges_are_free(path[:-1], path[1:]).all()
    lengths = np.array([0.7, 1.3, 0.9, 1.1])
    result = path_smoothing.blend_corners(space, path, lengths)
    assert result is not None
    times, c = result
    at, rates = np.concatenate([[0.0], np.cumsum(lengths)]), np.diff(path, axis=0) / lengths[:, None]
    d = np.array([0.35, 0.0, 0.45])  # half of the shorter edge
    starts = [0.0, at[1] - d[0], at[1] + d[0], at[2], at[3] - d[2], at[3] + d[2]]
    assert all(np.abs(times - x).min() < 1e-12 for x in (*starts, at[4])) and len(times) == len(c) + 1
    assert (np.diff(times) > 0.0).all()
    for order in range(3):
        last, first = (
            np.array([cubic(x, h, order) for x, h in zip(c, steps, strict=True)])
            for steps in (np.diff(times), 0.0 * times[1:])
        )
        jump = np.abs(first[1:] - last[:-1]).max(axis=1)
        corner = np.abs(times[1:-1] - at[2]) < 1e-12
        assert jump[~corner].max() < 1e-9 * 10.0**order and (jump[corner] > 0.01).all() == (order == 1)
    for time in (0.1, 0.35, 1.05, 1.6, 2.0, 2.44, 3.35, 3.9):  # outside of blends, on the path
        segment = np.searchsorted(times, time, side="right") - 1
        edge = np.searchsorted(at, time, side="right") - 1
        expected = path[edge] + (time - at[edge]) * rates[edge]
        assert cubic(c[segment], time - times[segment], 0) == pytest.approx(expected, abs=1e-12)
    t = np.linspace(0.0, at[4] - 1e-9, 400)
    which = np.searchsorted(times, t, side="right") - 1
    assert space.free(np.array([cubic(c[k], x - times[k], 0) for k, x in zip(which, t, strict=True)])).all()
    middle = np.searchsorted(times, at[1], side="right") - 1  # the blend is symmetric: half of both rates
    assert cubic(c[middle], at[1] - times[middle], 1) == pytest.approx(0.5 * (rates[0] + rates[1]))
