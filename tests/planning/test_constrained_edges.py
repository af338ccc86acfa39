"""Edges on a circle as path constraint, in a plane with a disc, and texts about goals, on spaces without kernels."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from helpers.gantry import gantry
from linkwork._util import own_code
from linkwork.errors import Status
from linkwork.planning import goals, rejected_configurations
from linkwork.planning.path_constraints import (
    ConstrainedSpace,
    PathConstraintTasks,
    ProjectedSamples,
    _bound,
    _check,
    _read_constraints,
)
from linkwork.planning.planning_space import PlanningSpace

RADIUS, BOUND = 1.2, 1e-3
ROBOT, SCENE = gantry(), lw.Scene().with_sphere("disc", 0.1, pose=(0.0, 0.0, 0.0))


class Circle:
    """Tasks that keep a point on a circle, with an error relative to its bound."""

    robot, problem = ROBOT, SimpleNamespace(tasks=())

    def size(self, q: np.ndarray) -> np.ndarray:
        result: np.ndarray = np.abs(np.linalg.norm(q, axis=-1) - RADIUS) / BOUND
        return result

    def projected(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        length = np.linalg.norm(q, axis=-1, keepdims=True)
        result = q * RADIUS / np.maximum(length, 1e-3)
        valid = (length[..., 0] > 1e-3) & (result[..., 0] > -1.19)  # no projection succeeds on the left
        return np.where(valid[..., None], result, q), valid


class CircleSpace(ConstrainedSpace):
    """A point on the circle, outside of a disc about the circle's lowest point."""

    def __init__(self, robot: Any) -> None:
        PlanningSpace.__init__(self, robot, SCENE)
        self.constraint_tasks: Any = Circle()

    def _check_batch(self, q0: np.ndarray, q1: np.ndarray, more: np.ndarray) -> np.ndarray:
        result: np.ndarray = np.linalg.norm(0.5 * (q0 + q1) - [0.0, -RADIUS], axis=1) > 0.3 + more
        return result


def on_circle(*angles: float) -> np.ndarray:
    return RADIUS * np.stack([np.cos(angles), np.sin(angles)], axis=1)


def test_edges_on_a_circle_are_chords_within_the_bound_in_both_directions() -> None:
    space = CircleSpace(ROBOT)
    q0, q1 = on_circle(0.2, 2.0, -2.9, 1.0), on_circle(2.1, 0.5, 2.9, 1.0)
    q0[3] *= 1.0 + 1.1 * BOUND / RADIUS  # beyond the bound
    edges = space.discretized(q0, q1)
    assert edges.feasible.tolist() == [True, True, False, False]  # the third has its middle on the left
    assert sorted(set(edges.edge.tolist())) == [0, 1]
    for k, angle in ((0, 1.9), (1, 1.5)):
        begin, end = (x[edges.edge == k] for x in (edges.begin, edges.end))
        assert (begin[0] == q0[k]).all() and (end[-1] == q1[k]).all() and (begin[1:] == end[:-1]).all()
        chords = np.linalg.norm(end - begin, axis=1)
        sagitta = RADIUS - np.linalg.norm(0.5 * (begin + end), axis=1)
        assert sagitta.max() <= 0.8 * BOUND and chords.max() <= 0.5
        assert len(begin) < 4.0 * angle / (2.0 * np.arccos(1.0 - 0.8 * BOUND / RADIUS))
        length = space.edge_lengths(q0[[k]], q1[[k]])[0]
        assert length == pytest.approx(chords.sum()) == pytest.approx(RADIUS * angle, rel=1e-3)
        back = space.discretized(q1[[k]], q0[[k]])
        assert (back.begin[::-1] == end).all() and (back.end[::-1] == begin).all()
    loose, tight = CircleSpace(ROBOT), CircleSpace(ROBOT)
    loose.constraint_tasks.size = lambda q: Circle().size(q) / 1e3
    chords = np.linalg.norm(np.subtract(*loose.discretized(q0[:1], q1[:1])[2:]), axis=1)
    assert 0.25 < chords.max() <= 0.5  # by their length alone
    tight.constraint_tasks.size = lambda q: Circle().size(q) * 1e8  # no number of bisections suffices
    assert not tight.discretized(on_circle(0.2), on_circle(0.3)).feasible.any()
    path = space.detailed(on_circle(0.2, 1.1, 2.1))
    assert (path[[0, -1]] == on_circle(0.2, 2.1)).all() and space.cost(path) == pytest.approx(1.9 * RADIUS, rel=1e-3)
    assert space.detailed(path[:1]) is path[:1] or (space.detailed(path[:1]) == path[:1]).all()
    with pytest.raises(ValueError, match="detailed: edge 1 of the path violates the constraints"):
        space.detailed(on_circle(2.5, -2.9 + 2.0 * np.pi, 2.9)[[0, 2, 1]])
    free = space.edges_are_free(on_circle(0.2, -0.2, -0.2), on_circle(1.9, -0.9, -2.2))
    assert free.tolist() == [True, True, False]  # the last leads through the disc
    limit = on_circle(0.5, 0.5) * [[1.0 + 0.799 * BOUND / RADIUS], [1.0 + 0.801 * BOUND / RADIUS]]
    assert space.keeps(limit).tolist() == [True, False] and not space.is_flat and space.tasks == ()
    phi = np.array([[0.1, 0.2]])
    moved = on_circle(0.3) + phi
    assert np.allclose(space.integrate(on_circle(0.3), phi), RADIUS * moved / np.linalg.norm(moved))


def test_samples_on_path_constraints_replace_those_without_a_projection() -> None:
    space = CircleSpace(ROBOT)
    q = space.samples(2).take(60)
    assert isinstance(space.samples(2), ProjectedSamples) and len(q) == 60
    assert Circle().size(q).max() < 1e-9 and (q[:, 0] > -1.19).all() and (np.ptp(q, axis=0) > 2.0).all()
    assert (q == space.samples(2).take(60)).all()
    space.constraint_tasks = SimpleNamespace(projected=lambda q: (q, np.zeros(len(q), dtype=bool)))
    assert len(space.samples(2).take(60)) == 0


def tasks_of(errors: Any, J: Any, ranges: Any, bounds: Any) -> Any:
    result = object.__new__(PathConstraintTasks)
    result.problem = SimpleNamespace(  # type: ignore[assignment]
        residual_and_jacobian=lambda q: (np.array(errors), np.array(J)),
        tasks=[SimpleNamespace(ranges=ranges)],
        solve=lambda q: SimpleNamespace(q=q, success=[True] * len(q)),
    )
    result.robot, result.bounds = SimpleNamespace(nv=3), np.array(bounds)  # type: ignore[assignment]
    result.names, result.units = ("lift", "tilt", "sum"), ("m", "rad", "1")
    return result


def test_free_directions_and_violations_of_path_constraints_follow_from_jacobians_and_bounds() -> None:
    J = [[1.0, 2.0, 0.0], [0.0, 1.0, 1.0], [1.0, 3.0, 1.0]]
    equal, within = (0.0, 0.0), (-1.0, 1.0)
    for ranges, bounds, free in (
        ((equal, equal, equal), (1.0, 1.0, 1.0), 1),  # the third row is the sum of the others
        ((equal, within, within), (1.0, 1.0, 1.0), 2),
        ((equal, equal, within), (1.0, np.inf, 1.0), 2),
        ((within, within, within), (1.0, 1.0, 1.0), 3),
    ):
        assert tasks_of([0.0] * 3, J, ranges, bounds).dimension(np.zeros(3)) == free
    bounds = (0.1, 0.2, 0.4)
    for errors, text in (
        ([0.1, -0.2, 0.4], None),
        ([0.11, -0.21, 0.4], "'lift' has error 0.11 m, 0.1 is allowed"),
        ([0.11, -0.25, 0.4], "'tilt' has error 0.25 rad, 0.2 is allowed"),
        ([0.0, 0.0, -0.9], "'sum' has error 0.9, 0.4 is allowed"),
    ):
        tasks = tasks_of(errors, J, (equal,) * 3, bounds)
        assert tasks.violation(np.zeros(3)) == text
        assert tasks.size(np.zeros(3)) == pytest.approx(np.max(np.abs(errors) / bounds))
    empty = np.empty((0, 3))
    assert tasks.projected(empty)[0] is empty and tasks.projected(empty)[1].shape == (0,)
    assert tasks.projected(np.zeros((2, 3)))[1].tolist() == [True, True]


def test_invalid_path_constraints_are_refused() -> None:
    for bound in (0.0, -1.0, np.nan, np.inf, "wide", None):
        with pytest.raises(ValueError, match=r"plan: constraint_tolerance: expected a positive number \[m, rad\], got"):
            _bound("plan", bound)
    assert _bound("plan", 1e-9) == 1e-9
    bare = SimpleNamespace(tree=SimpleNamespace(constraints=()), name="arm")
    for keep in ("level", 3, {"a": 1}, [3], ["level"]):
        with pytest.raises(TypeError, match="plan: path_constraints: expected tasks and constraints, got"):
            _read_constraints("plan", bare, keep)
    with pytest.raises(ValueError, match="path_constraints: expected at least one task or constraint, got none"):
        _read_constraints("plan", bare, ())
    for facts, words in (
        ({"holonomic": False, "time_dependent": False}, "'wheel'; plan for the robot without_constraints"),
        ({"holonomic": True, "time_dependent": True}, "expected constraints independent of time, got 'wheel'"),
    ):
        moved = SimpleNamespace(tree=SimpleNamespace(constraints=(SimpleNamespace(name="wheel", **facts),)), name="arm")
        with pytest.raises(ValueError, match=words):
            _read_constraints("plan", moved, ())
    task: Any = SimpleNamespace(hard=False, name="level", target_of=None, target=None)
    with pytest.raises(ValueError, match="expected hard tasks, got soft task 'level' with a weight"):
        _check("plan", task)
    task.hard, task.target_of = True, SimpleNamespace(doc="a direction")
    with pytest.raises(ValueError, match="task 'level' has no target; set target=a direction"):
        _check("plan", task)
    task.target = (0.0, 0.0, 1.0)
    _check("plan", task)


def test_texts_about_collisions_and_limits_name_the_deepest_pairs_and_margins(monkeypatch: pytest.MonkeyPatch) -> None:
    pairs = [("hand", "table"), ("arm", "wall"), ("arm", "hand"), ("hand", "shelf"), ("hand", "wall")]
    margins = np.array([0.0, 0.05, 0.0, 0.0, 0.02])

    def colliding(distance: list[float]) -> str:
        result = SimpleNamespace(
            pairs=pairs, distance=np.array(distance), point_a=np.zeros((5, 3)), point_b=np.full((5, 3), 0.2)
        )
        order = np.argsort(result.distance - margins, kind="stable")
        values = (result, margins, order[result.distance[order] <= margins[order] + 1e-6])
        monkeypatch.setattr(rejected_configurations, "_colliding", lambda space, q: values)
        return rejected_configurations.collisions_of(None, np.zeros(2))  # type: ignore[arg-type]

    monkeypatch.setattr(own_code, "_replaced", {})
    assert colliding([1.0] * 5) == "the configuration violates the path constraints"
    assert colliding([-0.3, 0.04, 1.0, 1.0, 1.0]) == (
        "'hand' is 0.3 m deep in 'table', 'arm' is 0.04 m from 'wall', within the margin of 0.05 m"
    )
    ((names, text, middle), *more) = rejected_configurations.named_collisions(None, np.zeros(2))  # type: ignore[arg-type]
    assert names == ("hand", "table") and text == "'hand' is 0.3 m deep in 'table'" and (middle == 0.1).all()
    assert [names for names, _, _ in more] == [("arm", "wall")]
    assert colliding([-0.3, -0.1, -0.05, -0.04, -0.5]) == (
        "'hand' is 0.5 m deep in 'wall', 'hand' is 0.3 m deep in 'table', 'arm' is 0.1 m deep in 'wall', "
        "and 2 more pairs"
    )
    assert colliding([-0.04, 0.0, 1.0, 1.0, 1.0]) == (  # in the order of depths in margins
        "'arm' touches 'wall', within the margin of 0.05 m, 'hand' is 0.04 m deep in 'table'"
    )
    assert colliding([0.0, 1.0, 1.0, 1.0, 1.0]) == (
        "'hand' touches 'table': touching=[('hand', 'table')] lets them touch"
    )
    assert "lets them touch" in colliding([-1.9e-3, 1.0, 1.0, 1.0, 1.0])
    assert "lets them touch" not in colliding([-2.1e-3, 1.0, 1.0, 1.0, 1.0])
    assert colliding([1.0, 1e-7, 1.0, 1.0, 1.0]) == "'arm' touches 'wall', within the margin of 0.05 m"
    space: Any = SimpleNamespace(
        robot=SimpleNamespace(q_names=("a", "b", "c")),
        lower=np.array([-1.0, 0.0, -2.0]),
        upper=np.array([1.0, 2.0, 3.0]),
    )
    assert rejected_configurations.limits_of(space, np.array([-1.25, 1.0, 3.5])) == (
        "'a' is -1.25, 0.25 outside its limit -1, 'c' is 3.5, 0.5 outside its limit 3"
    )
    assert rejected_configurations.limits_of(space, np.array([-1.0, 0.0, 3.0])) == ""


def test_goals_without_a_valid_configuration_state_limits_collisions_and_violations(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(own_code, "_replaced", {})
    monkeypatch.setattr(goals, "limits_of", lambda space, q: f"limits of {q[0]:g}")
    monkeypatch.setattr(goals, "collisions_of", lambda space, q: f"collisions of {q[0]:g}")
    space: Any = SimpleNamespace(
        within=lambda q: q[:, 0] < 3.0,
        free_ends=lambda q: q[:, 0] < 1.0,
        violation=lambda q: "too steep" if q[0] > 2.0 else None,
        samples=lambda seed: SimpleNamespace(take=lambda count: np.zeros((0, 1))),
        with_idle_joints=lambda candidates, x, frames: candidates,
    )
    for value, expected in (
        (0.5, None),
        (1.5, (Status.GOAL_IN_COLLISION, "goal[2] is in collision: collisions of 1.5")),
        (2.5, (Status.GOAL_VIOLATES_CONSTRAINTS, "at goal[2] too steep")),
        (3.5, (Status.GOAL_OUTSIDE_LIMITS, "goal[2]: limits of 3.5")),
    ):
        result = goals._valid_configurations(space, goals.GoalSpec("goal[2]", q=np.array([value])), np.zeros(1), 4)
        if expected is None:
            assert np.asarray(result).tolist() == [[value]]
        else:
            status, text, tried = result  # type: ignore[misc]
            assert (status, text) == expected and tried[0] == value
    candidates = np.array([[3.5], [2.5], [1.5]])
    monkeypatch.setattr(goals, "_solve_poses", lambda *_: (candidates, None))
    spec = goals.GoalSpec("goal", poses={"hand": np.eye(4)[None]})
    status, text, tried = goals._valid_configurations(space, spec, np.zeros(1), 4)  # type: ignore[misc]
    assert status == "goal_not_found" and tried[0] == 2.5
    assert text == "goal: none of the 3 inverse kinematics solutions is valid; of the first: too steep"
