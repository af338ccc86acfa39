"""Searches in other units: they take the same steps, since no threshold is an absolute length."""

import numpy as np
import pytest

import linkwork as lw
from invariants.changes import in_other_units
from linkwork.joints import Prismatic, Revolute


def cart():
    """A cart on a rail with an arm of three joints."""
    parts = [lw.Link("ground")]
    joints = (Prismatic((0.8, 0.6, 0.0)), Revolute((0.1, 0.0, 0.995)), Revolute((0, 0.6, 0.8)), Revolute((0, 0.8, 0.6)))
    for k, joint in enumerate(joints):
        parts.append(lw.Link(f"l{k}", mass=1.0, com=(0.1, 0.02, 0.03), inertia=(0.01, 0.02, 0.025)))
        child, parent = f"l{k}", f"l{k - 1}" if k else "ground"
        position = (0.37, 0.05, 0.02) if k > 1 else (0.0, 0.0, 0.1)
        parts.append(
            lw.Joint.of(joint, name=f"j{k}", parent=parent, child=child, placement=position, lower=-2.0, upper=2.3)
        )
    return lw.Robot.build("cart", *parts).with_frame("tip", "l3", (0.3, 0.1, 0.05))


@pytest.mark.slow(every=5)
@pytest.mark.parametrize("case", ["position", "wide", "projection", "soft", "level", "loop"])
def test_ik_solutions_do_not_depend_on_the_unit_of_length(case):
    """Every second target is out of reach.  Products with powers of two have no rounding errors."""
    robot, frame, rng, L = cart(), "tip", np.random.default_rng(3), 1024.0
    start, q = np.full(4, 0.3), robot.random_configuration(rng, size=12)
    if case == "loop":
        robot, frame, L = lw.load("fourbar"), "rocker_tip", 1.0 / 1024.0
        start = robot.assemble().q
        q = robot.assemble(start + rng.normal(scale=0.2, size=(12, 3))).q
    tree, s_q, s_v = in_other_units(robot.tree, L, 8.0)
    targets, unit_scales = robot.pose(q, frame)[:, :3, 3], np.ones(robot.nq)
    targets[::2] *= 4.0

    def solved(robot, unit, s_q, s_v):
        hand = lw.ik.PositionTask(frame, name="hand", tolerance=(2e-3 if case == "wide" else 1e-6) * unit)
        posture = lw.ik.PostureTask(target=0.3 * s_q, weight=1.0 / s_v, level=1 if case == "level" else 0)
        tasks = [hand, posture] if case in ("soft", "level") else [hand]
        options = {"solver": "projection"} if case == "projection" else {}
        return robot.ik_problem(tasks, **options).solve(np.tile(start * s_q, (12, 1)), hand=targets * unit)

    expected, solution = solved(robot, 1.0, unit_scales, unit_scales), solved(lw.Robot(tree), L, s_q, s_v)
    assert (solution.status == expected.status).all() and (case == "projection" or expected.success[1::2].all())
    if case in ("soft", "level"):  # sums of posture errors have other rounding
        np.testing.assert_allclose(solution.q / s_q, expected.q, rtol=0, atol=1e-8)
    else:
        np.testing.assert_array_equal(solution.q / s_q, expected.q)
        np.testing.assert_array_equal(solution.iterations, expected.iterations)


@pytest.mark.slow(every=5)
@pytest.mark.parametrize("name", ["cart", "fourbar"])
def test_velocities_within_hard_ranges_do_not_depend_on_the_unit_of_length(name):
    """Ranges, equations of loops and levels, near and far from targets, in and outside of the range."""
    robot, frame, n, L = cart(), "tip", 30, 1024.0
    q = robot.random_configuration(seed=1, size=n)
    if name == "fourbar":
        robot, frame, L = lw.load(name), "rocker_tip", 1.0 / 1024.0
        q = robot.assemble(robot.assemble().q + np.random.default_rng(0).normal(scale=0.2, size=(n, 3))).q
    rng = np.random.default_rng(2)
    targets = robot.pose(q, frame)[:, :3, 3] + rng.normal(size=(n, 3)) * 10.0 ** rng.uniform(-3.0, 1.0, (n, 1))

    def velocities(robot, unit, s_q):
        box = lw.ik.BoxTask(frame, lower=-0.2 * unit, upper=0.3 * unit, name="box")
        tasks = [lw.ik.PositionTask(frame, name="hand", weight=1.0 / unit), box]
        turned = lw.ik.OrientationTask(frame, target=np.eye(3), weight=1.0, level=1)
        return robot.ik_problem([*tasks, turned]).differential(0.01).velocity(q * s_q, hand=targets * unit).v

    tree, s_q, s_v = in_other_units(robot.tree, L, 8.0)
    expected, v = velocities(robot, 1.0, np.ones(robot.nq)), velocities(lw.Robot(tree), L, s_q)
    assert np.abs(expected).max(axis=1).min() > 1e-3
    np.testing.assert_array_equal(v / s_v, expected)


@pytest.mark.slow(every=5)
def test_ik_approaches_unreachable_targets_until_the_gradient_vanishes():
    """The gradient Jᵀe vanishes, also where costs of neighbouring configurations differ by rounding only."""
    robot, rng = lw.load("arm6"), np.random.default_rng(1)
    targets = 3.0 * robot.pose(robot.random_configuration(rng, size=60), "tool")[:, :3, 3]
    problem = robot.ik_problem(lw.ik.PositionTask("tool", name="hand"), position_limits=False)
    solution = problem.solve(np.full((60, 6), 0.3), hand=targets)
    e = robot.pose(solution.q, "tool")[:, :3, 3] - targets
    gradient = np.einsum("nij,ni->nj", robot.jacobian(solution.q, "tool")[:, 3:], e)
    relative = np.linalg.norm(gradient, axis=1) / np.linalg.norm(e, axis=1)
    assert np.median(relative[~solution.success]) < 4e-9 and (~solution.success).sum() > 30
