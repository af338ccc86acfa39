"""Margins by kind of pair and by pair, pairs that may touch, and plans that check selected pairs."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

import linkwork as lw
from linkwork.collision.clearance_margins import Margins, read_margins
from linkwork.planning.planning_space import TOLERANCE, PlanningSpace


def _crane() -> lw.Robot:
    """A hand on three sliders that holds a box."""
    parts: list[lw.Link | lw.Joint] = [lw.Link("ground")]
    names = ["along", "across", "hand"]
    for k, (name, parent) in enumerate(zip(names, ["ground", *names], strict=False)):
        axis = tuple(float(k == j) for j in range(3))
        shapes = [lw.shapes.Sphere(0.02)] if name == "hand" else []
        parts.append(lw.Link(name, *shapes, mass=1.0))
        slider = lw.joints.Prismatic(axis)
        parts.append(lw.Joint.of(slider, name=f"{name}_slider", parent=parent, child=name, lower=-1.0, upper=1.0))
    box = lw.shapes.Box((0.2, 0.2, 0.2))
    return lw.Robot.build("crane", *parts).with_attached("box", "hand", box, (0.0, 0.0, -0.1), touching=["hand"])


ROBOT = _crane()
SCENE = (
    lw.Scene().with_box("table", (2.0, 2.0, 0.2), (0.0, 0.0, -0.3)).with_box("wall", (0.02, 2.0, 0.4), (0.0, 0.0, 0.0))
)
START, GOAL = np.array([-0.5, 0.0, 0.0]), np.array([0.5, 0.0, 0.0])  # the box stands on the table


def _least(path: np.ndarray, *pair: str) -> float:
    """The least distance of a pair all along a path of straight ways."""
    t = np.linspace(0.0, 1.0, 500)[:, None]
    q = np.concatenate([a + t * (b - a) for a, b in pairwise(path)])
    return float(ROBOT.distances(q, SCENE, pairs=[pair]).distance.min())


@pytest.mark.slow(every=9)
@pytest.mark.parametrize("edges", ["certified", "sampled"])
def test_plan_lifts_an_attached_box_from_a_table_and_puts_it_down(edges: str) -> None:
    plan = ROBOT.plan(START, GOAL, SCENE, collision_check=edges)
    assert plan.status == "start_in_collision"
    assert "'box' touches 'table': touching=[('box', 'table')] lets them touch" in plan.message
    for how in ({"touching": [("box", "table")]}, {"margin": {("table", "box"): -1e-3}}):
        for method in ("connect", "optimal"):
            result = ROBOT.plan(
                START, GOAL, SCENE, collision_check=edges, resolution=0.01, method=method, max_iterations=1, **how
            )
            assert result.success, result.message
            room = 0.0 if edges == "certified" else 0.01
            assert _least(result.path, "box", "wall") > -room and _least(result.path, "box", "table") > -1e-3 - room
    deep = START - [0.0, 0.0, 0.01]
    result = ROBOT.plan(deep, GOAL, SCENE, collision_check=edges, resolution=0.01, touching=[("box", "table")])
    assert result.success and -0.0102 < _least(result.path, "box", "table") < -0.0099


@pytest.mark.slow(every=9)
def test_planned_paths_have_the_required_margin_of_each_pair() -> None:
    up, over = (q + np.array([0.0, 0.0, 0.05]) for q in (START, GOAL))
    wide = ROBOT.plan(up, over, SCENE, margin={"scene": 0.04, ("box", "wall"): 0.1})
    assert wide.success and _least(wide.path, "box", "wall") > 0.1 and _least(wide.path, "box", "table") > 0.04
    assert ROBOT.plan(up, over, SCENE, margin=0.06).status == "start_in_collision"
    plan = ROBOT.plan(up, over, SCENE, margin={("box", "table"): 0.06})
    assert "'box' is 0.05 m from 'table', within the margin of 0.06 m" in plan.message
    through = ROBOT.plan(up, over, SCENE, pairs=[("hand", "wall"), ("box", "table")])
    assert through.success and _least(through.path, "box", "wall") < 0.0 < _least(through.path, "hand", "wall")
    assert len(ROBOT.plan(up, over, SCENE, pairs=[("box", "table")]).path) == 2
    how = {"margin": {"scene": 0.02, ("box", "wall"): 0.1}, "lazy": True}
    result = lw.planning.Roadmap(ROBOT, SCENE, num_nodes=100, **how).plan(up, over)
    assert result.success and _least(result.path, "box", "wall") > 0.1


def test_invalid_margins_and_pairs_of_planning_are_refused() -> None:
    assert read_margins(0.1) == Margins(0.1, 0.1) and read_margins({}) == Margins()
    for title, how in {
        r"plan: margin: expected 'self', 'scene' or a pair of names .*, got 'slf'": {"margin": {"slf": 0.1}},
        r"plan: margin\['scene'\]: expected a finite number \[m\], got nan": {"margin": {"scene": float("nan")}},
        r"plan: margin: expected a finite number \[m\], got True": {"margin": True},
        r"plan: margin: \('box', 'hand'\) is not a checked pair": {"margin": {("hand", "box"): 0.0}},
        r"named 'tabel'; did you mean 'table'": {"touching": [("box", "tabel")]},
        r"plan: touching: expected pairs of names of links and obstacles, got 'box'": {"touching": "box"},
        r"plan: touching: expected two names, got 'box' twice": {"touching": [("box", "box")]},
        r"plan: pairs: expected pairs of names, as in \[\('box', 'table'\)\], 'self' or 'scene', got 5": {"pairs": 5},
    }.items():
        with pytest.raises((ValueError, KeyError), match=title):
            ROBOT.plan(START, GOAL, SCENE, **how)
    with pytest.raises(KeyError, match=r"'tabel'.*obstacles, use plan\(touching=\)"):
        ROBOT.with_attached("bag", "hand", lw.shapes.Sphere(0.1), touching=["tabel"])


@pytest.mark.slow(every=9)
def test_motion_checks_with_any_margins_use_the_same_kernels() -> None:
    """Free motions with shapes and obstacles in loops and unrolled agree with distances."""
    arm = lw.load("arm7")
    scene = lw.Scene().with_half_space("floor", (0.0, 0.0, -0.4))
    rng = np.random.default_rng(4)
    for k in range(5):
        scene = scene.with_box(f"box{k}", (0.1, 0.2, 0.3), rng.uniform(-0.8, 0.8, 3))
        scene = scene.with_sphere(f"ball{k}", 0.05, rng.uniform(-0.8, 0.8, 3))
    q = np.array([arm.random_configuration(seed=k) for k in range(400)])
    measured = arm.distances(q, scene)
    kernels = []
    for part in (0.001, 0.003, 0.01):  # of the configurations are nearer than a pair's margin, which may be below 0
        every = np.quantile(measured.distance, part, axis=0) - 1e-3
        margins = dict(zip(measured.pairs, every.tolist(), strict=True))
        assert every.min() < 0.0 < every.max()
        space = PlanningSpace(arm, scene, margin=read_margins({"self": 0.002, "scene": 0.03, **margins}))
        room = (measured.distance - every).min(axis=1)
        assert 10 < (room > 0.0).sum() < 390
        assert (space.free(q) == (room > 0.0)).all()
        assert (space.free_ends(q) == (room > TOLERANCE)).all()
        ends = q[:-1] + 0.05 * (q[1:] - q[:-1])
        free = space.edges_are_free(q[:-1], ends)
        t = np.linspace(0.0, 1.0, 9)[:, None, None]
        between = arm.distances(q[:-1] + t * (ends - q[:-1]), scene).distance - every
        worst = between.min(axis=(0, 2))
        assert (worst[free] > 0.0).all() and free[worst > 0.03].all() and free.any() and not free.all()
        kernels.append((len(space.blocks), space._kernel_calls("is_motion_free certified")[0][0]))
    assert kernels[0] == kernels[1] == kernels[2] and kernels[0][0] == 1
