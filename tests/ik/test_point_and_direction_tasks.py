"""Tasks of points, directions, boxes, distances and centers of mass: solutions satisfy independent formulas."""

from __future__ import annotations

import numpy as np
import pytest

import linkwork as lw
from linkwork import ik
from linkwork.ik.algorithms.task_stack import TaskState
from linkwork.ik.arguments import check_tasks

ARM = lw.load("arm7").with_point("tip", "hand", (0.0, 0.05, 0.1)).with_direction("way", "hand", (0.6, 0.0, 0.8))
Q = ARM.random_configuration(seed=11, size=20)
X = ARM.pose(Q, "hand")


def tip(q):
    X = ARM.pose(q, "hand")
    return X[..., :3, 3] + X[..., :3, :3] @ [0.0, 0.05, 0.1]


def pointing(q):
    return ARM.pose(q, "hand")[..., :3, :3] @ [0.6, 0.0, 0.8]


def angle(a, b):
    return np.arctan2(np.linalg.norm(np.cross(a, b), axis=-1), np.sum(a * b, axis=-1))


def within(robot, result):
    return (result.q >= robot.lower).all() and (result.q <= robot.upper).all()


def test_position_tasks_of_points_reach_their_targets():
    problem = ARM.ik_problem(ik.PositionTask("tip"))
    solution = problem.solve(tip=tip(Q))
    assert (
        solution.success.all()
        and within(ARM, solution)
        and np.linalg.norm(tip(solution.q) - tip(Q), axis=-1).max() <= 1e-6
    )


def test_infinite_tolerances_of_ik_tasks_free_the_named_axes():
    """Axes of the hand, of a frame along the chain, and of the world."""
    for axes, frame in (("frame", "hand"), ("forearm_distal", "forearm_distal"), ("reference", None)):
        tolerance = [1e-7, 1e-7, np.inf]
        problem = ARM.ik_problem(ik.PositionTask("hand", axes=axes))
        target = X[:, :3, 3] + np.array([0.0, 0.0, 0.02])
        solution = problem.solve(Q, hand=target, tolerance=tolerance)
        left = ARM.pose(solution.q, "hand")[:, :3, 3] - target
        if frame is not None:
            left = np.einsum("kji,kj->ki", ARM.pose(solution.q, frame)[:, :3, :3], left)
        assert solution.success.mean() >= 0.9, axes
        assert np.abs(left[solution.success, :2]).max() <= 1e-7, axes
    turned = ARM.ik_problem(ik.OrientationTask("hand", tolerance=(1e-7, 1e-7, np.inf)))
    solution = turned.solve(hand=X[:, :3, :3])  # of the rotation vector: it is along z
    assert solution.success.all()
    assert angle(ARM.pose(solution.q, "hand")[:, :3, 2], X[:, :3, 2]).max() <= 2e-7


def test_align_tasks_align_directions_within_a_cone():
    solution = ARM.ik_problem(ik.AlignTask("way")).solve(Q, way=-3.0 * pointing(Q[::-1]))
    assert solution.success.all() and angle(pointing(solution.q), -pointing(Q[::-1])).max() <= 1e-6
    cone = ARM.ik_problem(ik.AlignTask("way", to="world.x", cone=0.4))
    solution = cone.solve(Q)
    angles = angle(pointing(solution.q), np.array([1.0, 0.0, 0.0]))
    assert solution.success.all() and angles.max() <= 0.4 + 1e-6 and (angles > 0.39).any()
    inside = angle(pointing(Q), np.array([1.0, 0.0, 0.0])) <= 0.4
    assert np.array_equal(solution.q[inside], Q[inside])


def test_look_at_tasks_point_at_the_target():
    position = np.array([0.8, -0.5, 0.9])
    for task in (ik.LookAtTask("way"), ik.LookAtTask("way", cone=0.3)):
        solution = ARM.ik_problem(task).solve(Q, way=position)
        off = angle(pointing(solution.q), position - ARM.pose(solution.q, "hand")[:, :3, 3])
        assert solution.success.all() and off.max() <= (task.cone or 0.0) + 1e-6
    Y = ARM.pose(Q[3], "forearm_proximal")
    gaze = Y[:3, :3].T @ (tip(Q[3]) - Y[:3, 3])
    robot = ARM.with_direction("gaze", "forearm_proximal", gaze / np.linalg.norm(gaze))
    at = robot.ik_problem(ik.LookAtTask("gaze", point="tip", cone=0.2)).solve(Q)
    Y = ARM.pose(at.q, "forearm_proximal")
    assert at.success.all() and angle(Y[:, :3, :3] @ gaze, tip(at.q) - Y[:, :3, 3]).max() <= 0.2 + 1e-6


@pytest.mark.parametrize("cone", [None, 0.3])
def test_direction_tasks_are_finite_at_opposite_directions_and_coincident_points(cone):
    """Target straight behind, straight ahead, or at the eye; only ahead is a success."""
    q = list(Q[0])
    R, p = X[0, :3, :3], X[0, :3, 3]
    d = R @ [0.6, 0.0, 0.8]
    look, align = ik.LookAtTask("way", cone=cone), ik.AlignTask("way", cone=cone)
    for task, target, size in (
        (look, p + 0.5 * d, 0.0),
        (look, p - 0.5 * d, np.pi),
        (look, p, np.pi),
        (align, d, 0.0),
        (align, -d, np.pi),
    ):
        (task,) = check_tasks("test", ARM, task)
        solution = task.rows(TaskState(ARM.tree, q), list(target))
        assert np.isfinite(solution.rows).all() and abs(np.linalg.norm(solution.errors) - size) <= 1e-7
        assert size == 0.0 or np.abs(solution.rows).max() > 1e-3  # there is a way out
    solution = ARM.ik_problem(look).solve(Q[0], way=p - 0.5 * d)
    assert (
        solution.success
        and angle(pointing(solution.q), p - 0.5 * d - ARM.pose(solution.q, "hand")[:3, 3]) <= (cone or 0.0) + 1e-6
    )


def test_box_tasks_keep_a_point_inside_the_box():
    low, high = np.array([0.1, -np.inf, 0.2]), np.array([0.4, 0.1, 0.5])
    solution = ARM.ik_problem(ik.BoxTask("tip", low, high)).solve(Q)
    positions = tip(solution.q)
    assert solution.success.all() and (positions >= low - 1e-6).all() and (positions <= high + 1e-6).all()
    inside = ((tip(Q) >= low) & (tip(Q) <= high)).all(axis=-1)
    assert np.array_equal(solution.q[inside], Q[inside]) and not inside.all()


def test_distance_tasks_reach_the_distance():
    problem = ARM.ik_problem(ik.DistanceTask("tip", "world", name="far"))
    targets = np.linspace(0.3, 0.6, 20)
    solution = problem.solve(far=targets)
    assert solution.success.all() and np.abs(np.linalg.norm(tip(solution.q), axis=-1) - targets).max() <= 1e-6
    away = ARM.ik_problem(ik.Within(ik.DistanceTask("tip", "world", target=0.0), 0.5)).solve(Q)
    assert away.success.all() and np.linalg.norm(tip(away.q), axis=-1).min() >= 0.5 - 1e-6
    (met,) = check_tasks("test", ARM.with_point("same", "world", tip(Q[0])), ik.DistanceTask("tip", "same"))
    robot = ARM.with_point("same", "world", tip(Q[0]))
    rows = met.rows(TaskState(robot.tree, list(Q[0])), [0.1])
    assert abs(rows.errors[0] + 0.1) <= 1e-12 and np.isfinite(rows.rows).all() and np.abs(rows.rows).max() > 1e-3


def inside_by(c, vertices):
    """Return the depth of a point inside a convex polygon, by areas of triangles."""
    results, centre = [], np.mean(vertices, axis=0)
    for a, b in zip(vertices, np.roll(vertices, -1, axis=0), strict=True):
        n = np.array([-(b - a)[1], (b - a)[0]]) / np.linalg.norm(b - a)
        results.append(np.sign(n @ (centre - a)) * (n @ (c - a)))
    return min(results)


def test_support_polygon_task_keeps_the_center_of_mass_over_the_polygon():
    vertices = np.array([[0.0, 0.0], [0.02, 0.09], [0.08, 0.01]])  # clockwise
    problem = ARM.ik_problem(ik.SupportPolygonTask(vertices, margin=0.01))
    solution = problem.solve(Q)
    assert solution.success.all()
    assert min(inside_by(c, vertices) for c in ARM.center_of_mass(solution.q)[:, :2]) >= 0.01 - 1e-6


@pytest.mark.slow(every=5)
def test_support_polygon_task_keeps_the_center_of_mass_over_moving_feet():
    robot = lw.load("quadruped", floating_base=True)
    feet = [name for name in robot.frames if name.endswith("foot")]
    assert len(feet) == 4
    order = sorted(feet, key=lambda f: np.arctan2(*robot.pose(robot.neutral(), f)[[1, 0], 3]))
    problem = robot.ik_problem(ik.SupportPolygonTask(order, margin=0.03))
    rng = np.random.default_rng(0)
    seed = robot.integrate(robot.neutral(), np.concatenate([[0.3, 0.2, 0.0], np.zeros(3), np.zeros(robot.nv - 6)]))
    seed = np.array([robot.integrate(seed, 0.3 * rng.normal(size=robot.nv)) for _ in range(5)])
    solution = problem.solve(seed)
    assert solution.success.all()
    for q in solution.q:
        positions = np.array([robot.pose(q, foot)[:2, 3] for foot in order])
        assert inside_by(robot.center_of_mass(q)[:2], positions) >= 0.03 - 1e-6
        assert np.abs(robot.normalize(q) - q).max() <= 1e-12


def test_manipulability_tasks_reach_the_target_value():
    problem = ARM.ik_problem([ik.PositionTask("hand"), ik.ManipulabilityTask("hand", part="position", name="w")])
    had = ARM.manipulability(Q, "hand", part="position")
    solution = problem.solve(Q, hand=X[:, :3, 3], w=1.2 * had)
    got = ARM.manipulability(solution.q, "hand", part="position")
    assert solution.success.mean() >= 0.5
    assert (got >= 1.2 * had * (1.0 - 3e-6))[solution.success].all()
    (task,) = check_tasks("test", ARM, ik.ManipulabilityTask("hand", part="position"))
    for q in (*Q[:3], np.zeros(7)):
        rows = task.rows(TaskState(ARM.tree, list(q)), [1.0])
        w = ARM.manipulability(q, "hand", part="position")
        assert np.isfinite(rows.rows).all() and np.isfinite(rows.errors).all()
        if w > 1e-3:
            assert abs(rows.errors[0] - np.log(w)) <= 1e-6
            gradient = ARM.manipulability_gradient(q, "hand", part="position") / w
            assert np.abs(rows.rows[0] - gradient).max() <= 1e-5 * (1.0 + np.abs(gradient).max())


def test_function_tasks_of_users_are_solved_by_ik():
    """Functions of the robot's state by public methods, with and without targets."""
    robot = ARM
    tasks = [
        ik.FunctionTask("level", lambda k: k.point("tip")[2] - k.pose("forearm_distal")[2, 3]),
        ik.FunctionTask("there", lambda k, p: robot.pose(k.q(), "hand")[:2, 3] - p, shape=(2,)),
        ik.FunctionTask("turn", lambda k, t: k.q(robot.joints[0].name) - t, shape=(), units="rad"),
    ]
    problem = robot.ik_problem(tasks)
    position = np.array([0.3, 0.1])
    solution = problem.solve(there=position, turn=0.2)
    assert solution.success
    assert abs(tip(solution.q)[2] - robot.pose(solution.q, "forearm_distal")[2, 3]) <= 1e-6
    assert np.abs(robot.pose(solution.q, "hand")[:2, 3] - position).max() <= 1e-6 and abs(solution.q[0] - 0.2) <= 1e-6


@pytest.mark.slow(every=5)
def test_soft_ik_tasks_improve_without_violating_hard_tasks():
    """Manipulability and a gaze improve while the hand stays."""
    hold = ik.PositionTask("hand")
    plain = ARM.ik_problem(hold).solve(Q[:8], hand=X[:8, :3, 3])
    most = ik.ManipulabilityTask("hand", part="position", target=10.0, weight=1.0, name="w")
    solution = ARM.ik_problem([hold, most]).solve(Q[:8], hand=X[:8, :3, 3])
    got, had = (ARM.manipulability(solved.q, "hand", part="position") for solved in (solution, plain))
    assert solution.success.sum() >= 6 and (got >= had * (1.0 - 1e-6))[solution.success].all()
    assert np.abs(ARM.pose(solution.q, "hand") - X[:8])[solution.success, :3, 3].max() <= 1e-6
    position = np.array([0.0, 0.0, 2.0])
    look = ARM.ik_problem([hold, ik.Soft(ik.LookAtTask("way"), 1.0)]).solve(Q[:8], hand=X[:8, :3, 3], way=position)
    off, before = (angle(pointing(q), position - ARM.pose(q, "hand")[:, :3, 3]) for q in (look.q, Q[:8]))
    assert look.success.sum() >= 6 and (off <= before + 1e-9)[look.success].all() and (off < 0.9 * before).any()
