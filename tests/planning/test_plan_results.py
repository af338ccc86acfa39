"""Results of plans without a search: trees, trajectories over the path length, texts and refusals."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from helpers.gantry import gantry
from linkwork.errors import Status
from linkwork.joints import Planar
from linkwork.planning.result import PlanResult, _polynomial_trajectory
from linkwork.planning.search.search_tree import TableTree

ROBOT = gantry()


def plan(path: Any, status: Status = Status.SOLVED, **options: Any) -> PlanResult:
    path = np.asarray(path, dtype=float)
    lengths = np.concatenate([np.zeros(min(len(path), 1)), np.cumsum(np.linalg.norm(np.diff(path, axis=0), axis=1))])
    fields = {
        "status": status,
        "_message": "no path within 2 s",
        "path": path,
        "cost": float(lengths[-1]) if len(path) else np.inf,
        "goal": 0,
        "seconds": 0.0123456,
        "nodes": 5,
        "iterations": 7,
        "motions_checked": 9,
        "robot": ROBOT,
        "scene": None,
        "_space": SimpleNamespace(path_parameters=lambda path: lengths, is_plain=False),
        "_trees": (),
        "_ends": (),
        "history": (),
        "_compiled": False,
    }
    return PlanResult._make(**{**fields, **options})


def test_both_search_trees_of_a_plan_are_one_tree_with_renumbered_parents() -> None:
    nodes = np.arange(12.0).reshape(6, 2)
    links = np.array([[0.0, -1.0], [1.0, -1.0], [0.0, 0.0], [1.0, 1.0], [0.0, 2.0], [1.0, 3.0]])
    result = plan([[0.0, 0.0], [1.0, 0.0]], _trees=tuple(TableTree(nodes, links, side, 3) for side in (0, 1)))
    assert [tree.parent.tolist() for tree in result.trees] == [[-1, 0, 1], [-1, 0, 1]]
    assert (result.tree.q == nodes[[0, 2, 4, 1, 3, 5]]).all()
    assert result.tree.parent.tolist() == [-1, 0, 1, -1, 3, 4]
    empty = plan([[0.0, 0.0], [1.0, 0.0]]).tree
    assert empty.q.shape == (0, 2) and empty.parent.shape == (0,)
    assert "q" in repr(result.trees[0]) and "parent" in repr(result.trees[0])


def test_trajectories_of_plans_run_over_the_path_length_and_leave_out_repeated_waypoints() -> None:
    curve = plan([[0.0, 0.0], [0.3, 0.4], [0.3, 0.4], [0.3, -0.6]]).trajectory()
    (section,) = curve.sections
    assert curve.knots.tolist() == pytest.approx([0.0, 0.5, 1.5]) and not curve.is_timed
    values = section.on_symbols(np.array([0.25, 0.5, 1.0]), 1)
    assert np.array(values[0]) == pytest.approx(np.array([[0.15, 0.3, 0.3], [0.2, 0.4, -0.1]]))
    assert np.array(values[1])[:, 0] == pytest.approx([0.6, 0.8]) and np.array(values[1])[1, 2] == -1.0
    smooth = plan([[0.0, 0.0], [0.3, 0.4], [0.3, -0.6]]).trajectory(smooth=True)  # without a valid blend
    assert smooth.knots.tolist() == pytest.approx([0.0, 0.5, 1.5])
    for path in ([[0.3, -0.2]], [[0.3, -0.2]] * 3):
        resting = plan(path).trajectory()
        assert (resting.start_time, resting.end_time, resting.is_timed) == (0.0, 0.0, False)
        assert [float(x) for x in resting.sections[0].on_symbols(0.0, 0)[0]] == [0.3, -0.2]


def test_printed_plans_state_length_and_time_or_the_reason_of_failure() -> None:
    solved = plan([[0.0, 0.0], [0.3, 0.4]])
    assert str(solved) == "solved: 2 configurations, 0.5 long, in 12.3 ms"
    assert repr(solved) == "<PlanResult: solved: 2 waypoints, 0.5 long [rad, m]>"
    assert str(plan([[0.0, 0.0], [0.3, 0.4]], seconds=2.5, _compiled=True)).endswith("in 2.5 s, with compilation")
    failed = plan(np.empty((0, 2)), Status.TIME_LIMIT)
    assert repr(failed) == "<PlanResult: time_limit: no path within 2 s>" and not failed.success
    assert str(failed) == failed.explain() and "no path within 2 s" in str(failed)
    for method in ("trajectory", "timed"):
        with pytest.raises(ValueError, match=f"{method}: expected a plan with a path, got none: no path within 2 s"):
            getattr(failed, method)()


def test_polynomials_of_planar_joints_are_their_coordinates_and_move_straight() -> None:
    joint = lw.Joint.of(Planar(), name="base", parent="world", child="car")
    robot = lw.Robot.build("car", lw.Link("car", mass=1.0), joint)
    times = np.array([0.0, 0.7, 1.5])
    c = np.zeros((2, 3, 4))
    c[0], c[1, :, 0] = np.random.default_rng(2).normal(size=(3, 4)) * 0.4, 0.0
    c[1, :, 0] = [np.polyval(row[::-1], 0.7) for row in c[0]]
    c[1, :, 1] = 0.3, -0.8, 1.1
    curve = _polynomial_trajectory(robot, times, c)
    now = np.array([0.1, 0.5, 0.9, 1.4])
    q = np.array(curve.sections[0].on_symbols(now, 0)[0])
    for k, t in enumerate(now):
        segment = int(t >= 0.7)
        expected = [np.polyval(row[::-1], t - times[segment]) for row in c[segment]]
        assert q[:, k] == pytest.approx(expected, abs=1e-12)
