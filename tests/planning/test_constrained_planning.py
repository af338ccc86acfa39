"""Planning with path constraints: a cup stays upright, loops stay closed, and violated starts are reported."""

from __future__ import annotations

import numpy as np
import pytest

import linkwork as lw
from linkwork.planning.path_constraints import ConstrainedSpace, PathConstraintTasks

UPRIGHT = lw.ik.AlignTask("hand.z", target=(0.0, 0.0, 1.0), name="cup")
ROOM = (
    lw.Scene().with_box("wall", (0.3, 0.05, 0.6), (0.5, 0.0, 0.3)).with_box("shelf", (0.3, 0.6, 0.03), (0.5, 0.0, 0.9))
)
NOWHERE = lw.Scene().with_sphere("far", 0.05, (5.0, 0.0, 0.0))


def _space(robot, scene=None, keep=(), bound=1e-3, **options):
    tasks = PathConstraintTasks(robot, keep, bound=bound, limits=(robot.lower, robot.upper), caller="plan")
    return ConstrainedSpace(robot, scene, tasks=tasks, **options)


def _plan(robot, start, goal, scene, seed=0, **options):
    """A path, of which the same seed gives the same."""
    plan = robot.plan(start, goal, scene, seed=seed, time_limit=60.0, **options)
    assert plan.success and np.allclose(plan.path[0], start, atol=1e-9) and np.allclose(plan.path[-1], goal, atol=1e-9)
    return plan


def _finely(robot, path, count=40):
    """Configurations all along straight pieces between way points."""
    t = np.linspace(0.0, 1.0, count)[:, None]
    return robot.integrate(path[:-1, None], t * robot.difference(path[:-1], path[1:])[:, None]).reshape(-1, robot.nq)


@pytest.mark.slow(every=5)
def test_plan_with_an_orientation_constraint_keeps_a_cup_upright_around_a_wall():
    robot = lw.load("arm7")
    space = _space(robot, ROOM, [UPRIGHT])
    ends = []
    for y in (-0.35, 0.35):
        at = lw.pose((0.45, y, 0.4))
        plan = (robot.inverse_kinematics(at, "hand", q_init=robot.random_configuration(seed=k)).q for k in range(20))
        ends.append(next(q for q in plan if space.free(q[None])[0]))
    assert space.dimension() == 5
    for seed in range(2):
        plan = _plan(robot, *ends, ROOM, seed=seed, path_constraints=UPRIGHT)
        path = plan.path
        q = _finely(robot, path)
        tilt = np.arccos(np.clip(robot.pose(q, "hand")[:, 2, 2], -1.0, 1.0))
        assert tilt.max() < 1e-3 and np.arccos(robot.pose(path, "hand")[:, 2, 2].clip(-1, 1)).max() < 3e-6
        assert not robot.in_collision(q, ROOM).any() and space.within(q).all()
        assert plan.cost <= _plan(robot, *ends, ROOM, seed=seed, path_constraints=UPRIGHT, simplify=False).cost
        assert np.array_equal(path, _plan(robot, *ends, ROOM, seed=seed, path_constraints=UPRIGHT).path)
    plan = robot.plan(
        ends[0], robot.pose(ends[1], "hand"), ROOM, frame="hand", path_constraints=[UPRIGHT], time_limit=60.0
    )
    assert (
        plan.success
        and np.abs(lw.pose_difference(robot.pose(plan.path[-1], "hand"), robot.pose(ends[1], "hand"))).max() < 1e-5
    )
    # its corners are blend_corners by what keeps it upright, too
    smooth, straight = plan.trajectory(smooth=True), plan.trajectory()
    q = smooth(np.linspace(0.0, smooth.duration, 5001)).q
    assert np.arccos(np.clip(robot.pose(q, "hand")[:, 2, 2], -1.0, 1.0)).max() < 1e-3
    assert not robot.in_collision(q, ROOM).any()
    corners = [
        np.abs(
            np.diff([trajectory(trajectory.knots[1:-1] - 1e-9).v, trajectory(trajectory.knots[1:-1] + 1e-9).v], axis=0)
        ).max(-1)
        > 1e-3
        for trajectory in (straight, smooth)
    ]
    assert corners[0].sum() > 4 * corners[1].sum()
    better = _plan(robot, *ends, ROOM, path_constraints=UPRIGHT, method="optimal", max_iterations=2)
    assert better.cost == better.history[-1].cost <= better.history[0].cost
    free = space.edges_are_free(np.array(ends), np.array(ends[::-1]))
    assert not free.any()  # the straight way leads through the wall


@pytest.mark.slow(every=5)
@pytest.mark.parametrize("name", ["fourbar", "delta"])
def test_loops_stay_closed_along_planned_paths(name):
    robot = lw.load(name)
    if name == "fourbar":
        ends = robot.drive_mechanism({"crank_hinge": np.linspace(0.0, 1.6, 9)}).q[[1, -1]]
    else:
        ends = np.tile(robot.neutral(), (2, 1))
        ends[:, 4:7] = (0.1, 0.05, 0.03), (-0.1, -0.05, 0.05)
        ends = np.array([robot.assemble(q, hold={"carried": q[:7]}).q for q in ends])
    space = _space(robot, NOWHERE)
    assert space.dimension() == robot.mobility(ends[0]).mobility
    result = _plan(robot, *ends, NOWHERE)
    path = result.path
    assert np.abs(robot.constraint_error(path)).max() < 1e-7
    assert np.abs(robot.constraint_error(_finely(robot, path))).max() < 1e-3
    if name == "fourbar":  # the loop stays closed in the blends of corners, too
        smooth = result.trajectory(smooth=True)
        assert np.abs(robot.constraint_error(smooth(np.linspace(0.0, smooth.duration, 5001)).q)).max() < 1e-3
        v = [smooth(smooth.knots[1:-1] + side).v for side in (-1e-9, 1e-9)]
        assert np.abs(v[1] - v[0]).max() < 1e-6 and len(smooth.knots) > 3 * len(path)
    lengths = space.length(space.difference(path[:-1], path[1:]))
    assert lengths.max() <= 0.5 and len(path) > 3
    q = space.samples(1).take(50)
    assert len(q) == 50 and np.abs(robot.constraint_error(q)).max() < 1e-7


def _planar():
    """Two rods of a metre that turn in the plane z = 0, within a turn."""
    z, along = lw.joints.Revolute((0, 0, 1)), lw.pose((1.0, 0.0, 0.0))
    limits = {"lower": -np.pi, "upper": np.pi}
    robot = lw.Robot.build(
        "planar",
        lw.Link("upper", mass=1.0),
        lw.Joint.of(z, name="shoulder", parent="world", child="upper", **limits),
        lw.Link("lower", mass=1.0),
        lw.Joint.of(z, name="elbow", parent="upper", child="lower", placement=along, **limits),
    )
    return robot.with_frame("tip", "lower", along).with_collisions("lower", lw.shapes.Sphere(0.05))


@pytest.mark.slow(every=3)
def test_edges_of_constrained_plans_converge_or_are_refused():
    robot = _planar()
    line = _space(robot, NOWHERE, [lw.constraints.PointOnPlane("tip", "world.y", offset=1.0, name="line")], bound=1e-4)
    q = np.array(
        [
            robot.inverse_kinematics(
                lw.pose((x, 1.0, 0.0)), "tip", position_tolerance=1e-9, orientation_tolerance=np.inf
            ).q
            for x in (-0.5, 1.0)
        ]
    )
    both = np.where(q[:, 1:] < 0.0, -1.0, 1.0)
    assert both[0] == both[1]  # the elbow is on the same side
    walked = line.discretized(q[:1], q[1:])
    assert walked.feasible.all() and np.array_equal(walked.begin[0], q[0]) and np.array_equal(walked.end[-1], q[1])
    assert np.array_equal(walked.begin[1:], walked.end[:-1])
    y = (
        robot.point_position(_finely(robot, line.detailed(q)), "tip")[:, 1]
        if hasattr(robot, "point_position")
        else robot.pose(_finely(robot, line.detailed(q)), "tip")[:, 1, 3]
    )
    assert 1e-6 < np.abs(y - 1.0).max() < 1e-4
    back = line.discretized(q[1:], q[:1])
    assert np.array_equal(back.begin[::-1], walked.end)
    # the same place with the elbow on either side: both are kept, and nothing leads from one to the other
    position = _space(
        robot, NOWHERE, [lw.ik.PositionTask("tip", target=(1.0, 1.0, 0.0), tolerance=(1e-9, 1e-9, np.inf))]
    )
    up, down = np.array([[0.0, np.pi / 2]]), np.array([[np.pi / 2, -np.pi / 2]])
    assert (position.constraint_tasks.size(np.concatenate([up, down])) <= 1.0).all() and not position.discretized(
        up, down
    ).feasible.any()
    # a range: nothing is projected where it holds
    above = _space(
        robot, NOWHERE, [lw.ik.Within(lw.constraints.PointOnPlane("tip", "world.y", name="above"), 0.2, np.inf)]
    )
    inside = np.array([[1.0, 0.5], [1.4, 0.3]])
    assert np.array_equal(above.constraint_tasks.projected(inside)[0], inside) and len(above.detailed(inside)) < 5
    assert (robot.pose(above.samples(0).take(30), "tip")[:, 1, 3] > 0.2 - 1e-5).all()
    assert above.dimension() == 2


def test_projection_of_samples_onto_path_constraints_gives_the_nearest_configuration():
    robot = _planar()
    line = lw.constraints.PointOnPlane("tip", "world.y", offset=1.0, name="line")
    problem = robot.ik_problem(line, solver="projection")
    a = np.linspace(-np.pi, np.pi, 4001)  # all of the curve: sin a + sin(a + b) = 1
    b = np.arcsin(np.clip(1.0 - np.sin(a), -1.0, 1.0))
    curve = np.concatenate([np.stack([a, x - a], axis=1) for x in (b, np.pi - b)])
    curve = curve[np.abs(np.sin(curve[:, 0]) + np.sin(curve.sum(axis=1)) - 1.0) < 1e-9]
    rng = np.random.default_rng(0)
    on = np.array([[0.3, 1.2], [0.8, -0.4]])
    on = problem.solve(on).q
    q = on[rng.integers(2, size=50)] + rng.normal(size=(50, 2)) * 0.02
    solution = problem.solve(q)
    assert solution.success.all() and np.abs(problem.residual_and_jacobian(solution.q)[0]).max() < 1e-6
    least = np.linalg.norm(q[:, None] - curve, axis=-1).min(axis=1)
    assert (np.linalg.norm(solution.q - q, axis=1) < least * 1.02 + 1e-5).all()
    errors, rows = problem.residual_and_jacobian(q)
    step = 1e-6 * np.eye(2)
    slopes = [
        (problem.residual_and_jacobian(q + h)[0] - problem.residual_and_jacobian(q - h)[0])[:, 0] / 2e-6 for h in step
    ]
    assert errors.shape == (50, 1) and np.abs(rows[:, 0] - np.array(slopes).T).max() < 1e-8
    far = robot.ik_problem(
        lw.constraints.PointOnPlane("tip", "world.y", offset=3.0, name="far"), solver="projection", max_iterations=30
    )
    assert not far.solve(q[0]).success  # 2 m reach no farther


@pytest.mark.slow(every=5)
def test_plans_report_starts_and_goals_that_violate_path_constraints():
    robot = _planar()
    line = lw.constraints.PointOnPlane("tip", "world.y", offset=1.0, name="line")
    tasks = _space(robot, NOWHERE, line).constraint_tasks
    assert tasks.violation(np.array([0.0, np.pi / 2])) is None
    assert tasks.violation(np.zeros(2)) == "'line' has error 1 m, 0.001 is allowed"
    for keep, options, said in (
        (lw.ik.Soft(line, 1.0), {}, "expected hard tasks, got soft task 'line' with"),
        (lw.ik.PositionTask("tip"), {}, "target="),
        (line, {"bound": 1e-6}, "constraint_tolerance: 'line': expected at least .* twice the tolerance .*, got 1e-06"),
        (line, {"bound": np.nan}, "constraint_tolerance: expected a positive number"),
    ):
        with pytest.raises(ValueError, match=said):
            _space(robot, NOWHERE, keep, **options)
    with pytest.raises(TypeError, match="path_constraints: expected tasks"):
        _space(robot, NOWHERE, "line")
    with pytest.raises(ValueError, match="velocity constraint"):
        _space(lw.load("differential_drive"), NOWHERE)
    on, off = np.array([0.0, np.pi / 2]), np.zeros(2)
    for start, goal, status in ((off, on, "start_violates_constraints"), (on, off, "goal_violates_constraints")):
        plan = robot.plan(start, goal, NOWHERE, path_constraints=line)
        assert plan.status == status and "'line' has error 1 m, 0.001 is allowed" in plan.message
    drive = lw.load("fourbar")
    plan = drive.plan(drive.neutral(), drive.neutral() + 0.2, NOWHERE)
    assert plan.status == "goal_violates_constraints" and "'pin: " in plan.message
