"""Differential inverse kinematics: velocities within limits, of least cost, by priorities."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from scipy.optimize import lsq_linear

import linkwork as lw
from linkwork.errors import UnknownNameError
from linkwork.ik.algorithms.differential_step import Cost, StepModel
from linkwork.kinematics.algorithms.coordinates import characteristic_length
from oracles.trees import TREES, robot_of

ARM = lw.load("arm7")
DT = 0.01
FLOOR = 1e-8


def far_target(robot, frame, seed):
    """Any pose: most lie far beyond what a step can do."""
    X = robot.pose(robot.random_configuration(seed=seed), frame)
    X[:3, 3] += np.random.default_rng(seed).normal(size=3)
    return X


def jacobian_of(robot, q, frame):
    return robot.jacobian(q, frame, expressed_in=frame)


@dataclass(frozen=True)
class Below(lw.ik.Task):
    """A frame's origin is below a height."""

    frame: str
    height: float
    name: str = "below"
    weight: Any = None
    level: int = 0
    tolerance: Any = 1e-6
    target: Any = None

    @property
    def component_names(self):
        return ("below: z",)

    @property
    def row_units(self):
        return ("m",)

    @property
    def ranges(self):
        return ((-np.inf, self.height),)

    def rows(self, k, target):
        between = k.between(self.frame, "world")
        R, p = between.pose.rotation, between.pose.translation
        return lw.ik.TaskRows([p.z], [[(R @ C.linear).z for C in between.columns]])


@pytest.mark.parametrize(
    "name",
    ["mixed_0", "mixed_1", "mixed_chain", "helical_chain", "universal_chain", "floating_chain", "coupled_chain"],
)
def test_differential_ik_satisfies_position_velocity_and_acceleration_limits_for_every_joint_type(name):
    """Velocities, positions after the step and accelerations are exactly within limits; bases are joints, too."""
    tree = TREES[name]
    robot = robot_of(tree)
    frame = max(tree.frames, key=lambda frame: frame.body).name
    q, rng = robot.random_configuration(seed=1, size=40), np.random.default_rng(0)
    fastest, hardest = rng.uniform(0.1, 2.0, robot.nv), rng.uniform(1.0, 5.0, robot.nv)
    last = fastest * rng.uniform(-1.0, 1.0, (40, robot.nv))
    X = np.array([far_target(robot, frame, seed) for seed in range(40)])
    task = lw.ik.PoseTask(frame, weight=1.0, name="X")
    moving = [k for k, n in coordinates_of(robot)]
    positions = [n for k, n in coordinates_of(robot)]
    limits = {"velocity": fastest, "acceleration": hardest}
    velocity_result = robot.velocity_for(task, q, DT, v_last=last, motion_limits=limits, X=X)
    assert np.isfinite(velocity_result.v).all() and velocity_result.success.all()
    assert (np.abs(velocity_result.v) <= np.minimum(fastest, robot.velocity_limits)).all()
    after = robot.integrate(q, velocity_result.v * DT)
    low, high = robot.lower[positions], robot.upper[positions]
    assert (after[:, positions] >= low).all() and (after[:, positions] <= high).all()
    # accelerations where limits of position and velocity do not ask for more
    room = np.abs(velocity_result.v - last) <= hardest * DT * (1.0 + 1e-9)
    forced = np.abs(last) > np.minimum(fastest, robot.velocity_limits)
    ahead = q[:, positions] + last[:, moving] * DT
    margin = hardest[moving] * DT * DT
    forced[:, moving] |= (ahead > high - margin) | (ahead < low + margin)
    assert (room | forced).all() and room.mean() > 0.8


def coordinates_of(robot):
    from linkwork.kinematics.algorithms.coordinates import coordinate_indices

    return coordinate_indices(robot.tree).items()


@pytest.mark.slow(every=5)
def test_differential_ik_velocities_minimise_the_cost_within_their_bounds():
    """Compared with another library's bounded least squares, for few and many rows."""
    q = ARM.random_configuration(seed=4, size=25)
    X = np.array([far_target(ARM, "hand", k) for k in range(25)])
    away = ARM.random_configuration(seed=5)
    hand, elbow = lw.ik.PoseTask("hand", weight=2.0), lw.ik.PositionTask("forearm_distal", weight=0.7)
    position, matches = ARM.pose(away, "forearm_distal")[:3, 3], 0
    shapes = {"hand": (4, 4), "forearm_distal": (3,)}
    for tasks, targets, gain in (
        ([hand], {"hand": X}, 0.3),
        ([hand, elbow], {"hand": X, "forearm_distal": position}, 0.05),
    ):
        for limits in (True, {"velocity": 0.3}, False):
            velocity_result = ARM.velocity_for(tasks, q, DT, motion_limits=limits, gain=gain, damping=0.2, **targets)
            assert (velocity_result.status == "solved").all()
            for k in range(25):
                J = np.vstack(
                    [2.0 * jacobian_of(ARM, q[k], "hand"), 0.7 * jacobian_of(ARM, q[k], "forearm_distal")[3:]]
                )
                weights = np.array([2.0] * 6 + [0.7] * 3)
                J, e = (
                    J[: velocity_result.errors.shape[-1]],
                    (weights[: velocity_result.errors.shape[-1]] * velocity_result.errors[k]),
                )
                mu = 0.2 * e @ e + FLOOR
                A, b = np.vstack([J, np.sqrt(mu) * np.eye(7)]), np.concatenate([-gain * e, np.zeros(7)])
                if limits is False:
                    expected = np.linalg.lstsq(A, b, rcond=None)[0]
                else:
                    most = ARM.velocity_limits if limits is True else np.minimum(0.3, ARM.velocity_limits)
                    low, high = np.maximum(-most * DT, ARM.lower - q[k]), np.minimum(most * DT, ARM.upper - q[k])
                    expected = lsq_linear(A, b, (low, high), method="bvls", tol=1e-14).x
                exact = np.abs(velocity_result.v[k] * DT - expected).max() <= 1e-9
                if not exact:  # damped, since the errors would not fall as those of the linear model
                    values = {name: x[k] if np.ndim(x) > len(shapes[name]) else x for name, x in targets.items()}
                    problem = ARM.ik_problem(tasks)
                    steps = (np.zeros(7), expected, velocity_result.v[k] * DT)
                    after = [weights[: len(e)] * problem.residual_and_jacobian(q[k] + x, **values)[0] for x in steps]
                    cost = [np.sum((x - (1.0 - gain) * e) ** 2) for x in after]
                    promised = cost[0] - np.sum((gain * e + J @ expected) ** 2)
                    assert cost[1] > cost[0] - 0.25 * promised - 1e-12 and cost[2] < cost[0]
                matches += exact
    assert matches > 100


def test_differential_ik_velocity_of_one_robot_equals_that_of_a_batch():
    q = ARM.random_configuration(seed=6, size=30)
    X = np.array([far_target(ARM, "hand", k) for k in range(30)])
    problem = lw.ik.DifferentialIK(ARM, lw.ik.PoseTask("hand", weight=1.0), DT)
    many = problem.velocity(q, hand=X)
    for k in (0, 11, 29):
        single = problem.velocity(q[k], hand=X[k])
        assert np.array_equal(single.v, many.v[k]) and np.array_equal(problem.step(q[k], X[k]), single.v)
        assert single.success is True and single.at_limits == many.at_limits[k]
        assert set(single.at_limits) == {ARM.joints[j].name for j in np.flatnonzero(single.active)}


def test_warm_started_differential_ik_saves_iterations_and_changes_no_result():
    q = ARM.random_configuration(seed=6, size=30)
    X = np.array([far_target(ARM, "hand", k) for k in range(30)])
    problem = lw.ik.DifferentialIK(ARM, lw.ik.PoseTask("hand", weight=1.0), DT)
    first = problem.velocity(q, hand=X)
    again = problem.velocity(q, v_last=first.v, hand=X)
    assert np.array_equal(first.v, again.v) and again.iterations.sum() < first.iterations.sum()


def test_differential_ik_eliminates_an_unbounded_free_base_without_changing_the_velocity():
    """The solution equals that of the full linear system."""
    robot = robot_of(TREES["mixed_2"])
    frames = sorted(robot.tree.frames, key=lambda frame: -frame.body)[:2]
    q = robot.random_configuration(seed=4)
    tasks = [lw.ik.PoseTask(frame.name, weight=1.0, name=f"X{k}") for k, frame in enumerate(frames)]
    targets = {f"X{k}": far_target(robot, frame.name, k) for k, frame in enumerate(frames)}
    velocity_result = robot.velocity_for(tasks, q, 1.0, motion_limits=False, gain=0.1, **targets)
    J = np.vstack([jacobian_of(robot, q, frame.name) for frame in frames])
    mu = 0.1 * velocity_result.errors @ velocity_result.errors + FLOOR
    length = characteristic_length(robot.tree)
    S = [1.0 if u.startswith("rad") else 1.0 / length for _, b in robot.tree.stacked() for u in b.joint.v_units]
    expected = -np.linalg.solve(J.T @ J + mu * np.diag(np.square(S)), 0.1 * J.T @ velocity_result.errors)
    assert np.abs(velocity_result.v - expected).max() <= 1e-9


@pytest.mark.slow(every=5)
def test_lower_priority_levels_of_differential_ik_do_not_change_higher_levels():
    """Position first, then orientation, then posture in the null space."""
    q = ARM.random_configuration(seed=8, size=12)
    goal = ARM.random_configuration(seed=9)
    position = lw.ik.PositionTask("hand", weight=1.0, name="place")
    turn = lw.ik.OrientationTask("forearm_distal", weight=1.0, level=1, name="turn")
    first = ARM.velocity_for(position, q, DT, gain=0.02, place=ARM.pose(goal, "hand")[:3, 3])
    targets = {"place": ARM.pose(goal, "hand")[:3, 3], "turn": ARM.pose(goal, "forearm_distal")[:3, :3]}
    both = ARM.velocity_for([position, turn], q, DT, gain=0.02, **targets)
    J = np.array([jacobian_of(ARM, x, "hand")[3:] for x in q])
    above, below = np.einsum("kij,kj->ki", J, first.v), np.einsum("kij,kj->ki", J, both.v)
    assert (both.status == "solved").all()
    assert np.abs(above - below).max() <= 1e-9 and np.abs(first.v - both.v).max() > 1e-2
    left = np.linalg.norm(both.after[:, 3:], axis=1) - np.linalg.norm(both.errors[:, 3:], axis=1)
    assert (left <= 0.0).all()
    together = ARM.velocity_for(
        [position, lw.ik.OrientationTask("forearm_distal", weight=1.0, name="turn")], q, DT, gain=0.02, **targets
    )
    assert np.abs(np.einsum("kij,kj->ki", J, together.v) - above).max() > 1e-4


@pytest.mark.slow(every=3)
def test_hard_tasks_of_differential_ik_are_met_or_reported_as_failures():
    q = ARM.random_configuration(seed=10, size=10)
    away = q + 1e-3
    tasks = [lw.ik.PositionTask("hand"), lw.ik.OrientationTask("hand", weight=1.0, name="turn")]
    targets = {"hand": ARM.pose(away, "hand")[:, :3, 3], "turn": ARM.pose(away, "hand")[:, :3, :3]}
    easy = ARM.velocity_for(tasks, q, DT, motion_limits=False, **targets)
    assert easy.success.all() and np.abs(easy.after[:, :3]).max() <= 1e-7
    slow = ARM.velocity_for(tasks, q, DT, motion_limits={"velocity": 1e-3}, **targets)
    assert not slow.success.any() and (slow.status == "tasks_not_met").all()
    assert (np.abs(slow.v) <= 1e-3).all()


@pytest.mark.slow(every=5)
def test_differential_ik_velocities_keep_loops_closed():
    leg = lw.load("leg")
    q = leg.assemble().q
    position = leg.pose(q, "foot")[:3, 3] + [0.003, 0.0, 0.004]
    problem = leg.ik_problem(lw.ik.PositionTask("foot", weight=1.0)).differential(DT, gain=0.5)
    for _ in range(40):
        velocity_result = problem.velocity(q, foot=position)
        q = leg.integrate(q, velocity_result.v * DT)
        assert np.abs(leg.constraint_error(q)).max() <= 1e-5 and velocity_result.success
    assert np.abs(leg.constraint_error(q)).max() <= 1e-10  # equations of the program hold to 1e-11 of their size
    assert np.abs(leg.pose(q, "foot")[:3, 3] - position).max() <= 1e-9


def test_differential_ik_velocities_are_bounded_at_a_singularity():
    """A stretched arm with a target beyond reach: the step is at most g/(2 √c) for any Jacobian."""
    q = np.zeros(7)
    for size in (1e-6, 1e-3, 0.1, 3.0):
        for seed in range(4):
            X = ARM.pose(q, "hand")
            X[:3, 3] += size * np.random.default_rng(seed).normal(size=3)
            for bend in (0.0, 1e-9, 1e-5, 1e-3):
                velocity_result = ARM.velocity_for(
                    lw.ik.PoseTask("hand", weight=1.0), q + bend, DT, motion_limits=False, hand=X
                )
                assert np.linalg.norm(velocity_result.v) * DT <= 1.0 / (2.0 * np.sqrt(0.1)) + 1e-9


def planar(count):
    """Thin rods in the plane of x and y, with a length of 1 m together."""
    parts, length = [], 1.0 / count
    for k in range(count):
        position = lw.pose((length, 0.0, 0.0) if k else (0.0, 0.0, 0.0))
        parts += [lw.Link(f"rod{k}", mass=1.0, inertia=(0.1, 0.1, 0.1))]
        parts.append(
            lw.Joint.of(
                lw.joints.Revolute((0, 0, 1)),
                name=f"hinge{k}",
                parent=f"rod{k - 1}" if k else "world",
                child=f"rod{k}",
                placement=position,
                velocity=2.0,
            )
        )
    return lw.Robot.build("planar", *parts).with_frame("tip", f"rod{count - 1}", lw.pose((length, 0.0, 0.0)))


@pytest.mark.slow(every=9)
@pytest.mark.parametrize(("weight", "limits"), [(None, True), (1.0, True), (None, False), (1.0, False)])
@pytest.mark.parametrize("name", ["arm6", "arm7", "planar", "quadruped"])
def test_task_errors_of_differential_ik_decrease_in_every_step_until_the_robot_rests(name, weight, limits):
    """Targets within reach and out of it: errors never rise and velocities end."""
    robot = planar(3) if name == "planar" else lw.load(name)
    frame = {"arm6": "tool", "arm7": "hand", "planar": "tip", "quadruped": "front_left_foot"}[name]
    count, rng = 20, np.random.default_rng(0)
    q = robot.integrate(np.repeat(robot.neutral()[None], count, axis=0), 0.3 * rng.normal(size=(count, robot.nv)))
    q = robot.normalize(np.clip(q, np.maximum(robot.lower, -1e3), np.minimum(robot.upper, 1e3)))
    beyond = np.where(np.arange(count) % 2, 3.0, 0.1)[:, None]
    position = robot.pose(q, frame)[:, :3, 3] + beyond * rng.normal(size=(count, 3))
    if name == "planar":
        position[:, 2], position[0] = 0.0, (3.0, 0.0, 0.0)
    tasks = lw.ik.PositionTask(frame, weight=weight, name="place")
    step = robot.ik_problem(tasks).differential(DT, motion_limits={"velocity": limits, "acceleration": limits})
    before = np.full(count, np.inf)
    for _ in range(1500):
        velocity_result = step.velocity(q, place=position)
        size = np.linalg.norm(velocity_result.errors, axis=-1)
        assert (size <= before + 1e-12).all()
        q, before = robot.integrate(q, velocity_result.v * DT), size
    rests = np.abs(velocity_result.v).max(axis=-1) <= 1e-6 * robot.velocity_limits.min()
    assert rests.mean() >= 0.9 and np.abs(velocity_result.v).max() < 1e-2
    J = robot.jacobian(q, frame)[:, 3:]
    slope = np.einsum("nij,ni->nj", J, robot.pose(q, frame)[:, :3, 3] - position)  # of half the squared error
    slope[(q <= robot.lower + 1e-6) & (slope > 0.0) | (q >= robot.upper - 1e-6) & (slope < 0.0)] = 0.0
    assert np.abs(slope[rests]).max() < 1e-4


@pytest.mark.slow(every=5)
def test_differential_ik_approaches_unreachable_poses_at_a_steady_rate():
    """Damping of hard tasks is as large as the curvature along the step requires."""
    q = ARM.random_configuration(seed=2, size=40)
    X = ARM.pose(ARM.random_configuration(seed=3, size=40), "hand")
    X[:, :3, 3] *= 2.5
    scales = np.repeat([1.0, 2.0 / characteristic_length(ARM.tree)], 3)
    for limits, share in ((True, 0.85), (False, 0.8)):
        step, before = ARM.ik_problem(lw.ik.PoseTask("hand")).differential(DT, motion_limits=limits), np.inf
        for _ in range(600):
            velocity_result = step.velocity(q, hand=X)
            size = np.linalg.norm(scales * velocity_result.errors, axis=-1)
            assert (size <= before + 1e-12).all()
            q, before = ARM.integrate(q, velocity_result.v * DT), size
        assert (np.abs(velocity_result.v).max(axis=-1) <= 1e-6 * ARM.velocity_limits.min()).mean() >= share


@pytest.mark.slow(every=9)
@pytest.mark.parametrize(("name", "limits"), [("delta", True), ("delta", False), ("leg", False), ("quadruped", True)])
def test_differential_ik_satisfies_loops_and_hard_tasks_until_the_robot_rests(name, limits):
    """A platform is pulled away from its legs, and a trunk from its feet."""
    robot = lw.load(name, floating_base=name == "quadruped")
    count, rng = 10, np.random.default_rng(0)
    q = np.repeat(robot.neutral()[None], count, axis=0)
    if name != "quadruped":
        q, tasks, targets = np.repeat(robot.assemble().q[None], count, axis=0), [], {}
        frame = "platform" if name == "delta" else "foot"
    else:
        bent = np.concatenate([np.zeros((count, 6)), 0.1 * rng.normal(size=(count, robot.nv - 6))], axis=-1)
        q = robot.normalize(np.clip(robot.integrate(q, bent), robot.lower + 0.01, robot.upper - 0.01))
        feet = [f"{end}_{side}_foot" for end in ("front", "hind") for side in ("left", "right")]
        tasks, targets = [lw.ik.PositionTask(foot) for foot in feet], {x: robot.pose(q, x)[:, :3, 3] for x in feet}
        frame = "trunk"
    position = robot.pose(q, frame)[:, :3, 3] + 2.0 * rng.normal(size=(count, 3))
    step = robot.ik_problem([*tasks, lw.ik.PositionTask(frame, weight=None if name == "leg" else 1.0, name="pulled")])
    step = step.differential(DT, motion_limits=limits)
    for _ in range(1000):
        velocity_result = step.velocity(q, pulled=position, **targets)
        q = robot.integrate(q, velocity_result.v * DT)
    assert (
        np.abs(velocity_result.v).max() < (1e-2 if limits else 1.0)
        and np.median(np.abs(velocity_result.v).max(axis=-1)) < 1e-6
    )
    if name != "quadruped":  # a step φ leaves errors of second order: ½ φ² times the lengths of links, below 1 m
        moved = DT * np.abs(velocity_result.v).max(axis=-1)
        assert (np.abs(robot.constraint_error(q)).max(axis=-1) < 1e-9 + moved**2).all()
    for foot, X in targets.items():
        assert np.abs(robot.pose(q, foot)[:, :3, 3] - X).max() < 1e-5


def test_velocity_limits_of_mimic_followers_apply_to_masters_by_the_ratio():
    robot = planar(2).with_couplings({"hinge1": ("hinge0", -4.0, 0.1)})  # its file has a limit of 2 rad/s
    target = robot.pose([2.0], "tip")[:3, 3]
    for limits, fastest in (
        (True, 0.5),
        ({"velocity": {"hinge1": 1.0}}, 0.25),
        ({"velocity": {"hinge1": 1.0, "hinge0": 0.1}}, 0.1),
        ({"acceleration": {"hinge1": 8.0}}, 8.0 / 4.0 * DT),
        ({"speed": {"hinge1": 1.6}}, 0.4),
    ):
        velocity_result = robot.velocity_for(lw.ik.PositionTask("tip"), [0.3], DT, motion_limits=limits, tip=target)
        assert abs(abs(velocity_result.v[0]) - fastest) < 1e-9, limits


@pytest.mark.slow(every=3)
def test_differential_ik_never_crosses_a_barrier_task():
    """A hand is pulled up through a ceiling at the largest velocity."""
    q = ARM.random_configuration(seed=3)
    start = ARM.pose(q, "hand")[2, 3]
    ceiling = start + 0.05
    up = ARM.pose(q, "hand")[:3, 3] + [0.05, 0.0, 0.5]
    problem = lw.ik.DifferentialIK(
        ARM, [Below("hand", ceiling), lw.ik.PositionTask("hand", weight=1.0)], DT, gain={"below": 0.5, "hand": 0.2}
    )
    highest = start
    for _ in range(300):
        velocity_result = problem.velocity(q, hand=up)
        assert velocity_result.success
        q = ARM.integrate(q, velocity_result.v * DT)
        highest = max(highest, ARM.pose(q, "hand")[2, 3])
    assert ceiling - 1e-3 < highest <= ceiling
    free = lw.ik.DifferentialIK(ARM, lw.ik.PositionTask("hand", weight=1.0), DT, gain=0.2)
    for _ in range(100):
        q = ARM.integrate(q, free.step(q, up) * DT)
    assert ARM.pose(q, "hand")[2, 3] > ceiling + 0.01


def test_series_of_differential_ik_steps_respects_all_limits_and_reaches_the_target():
    goal = ARM.random_configuration(seed=21)
    X, q, v = ARM.pose(goal, "hand"), ARM.random_configuration(seed=22), np.zeros(7)
    problem = lw.ik.DifferentialIK(
        ARM, lw.ik.PoseTask("hand", weight=1.0), DT, motion_limits={"acceleration": 4.0}, time_constant=0.1
    )
    for _ in range(1500):
        last, v = v, problem.step(q, X, v_last=v)
        q = ARM.integrate(q, v * DT)
        assert (q >= ARM.lower).all() and (q <= ARM.upper).all() and (np.abs(v) <= ARM.velocity_limits).all()
        assert (np.abs(v - last) <= 4.0 * DT * (1.0 + 1e-9)).all()
    assert np.abs(lw.pose_difference(ARM.pose(q, "hand"), X)).max() <= 1e-6


@pytest.mark.slow(every=5)
def test_velocity_of_a_floating_base_can_be_bounded_by_component_or_by_norm():
    robot = robot_of(TREES["floating_chain"])
    frame = max(robot.tree.frames, key=lambda frame: frame.body).name
    base = robot.joints[0]
    q = robot.random_configuration(seed=2, size=30)
    X = np.array([far_target(robot, frame, seed) for seed in range(30)])
    task = lw.ik.PoseTask(frame, weight=1.0, name="X")
    boxed = robot.velocity_for(task, q, DT, motion_limits={"velocity": {base.name: 5.0}}, X=X)
    assert np.abs(boxed.v[:, base.v_slice]).max() == 5.0
    balled = robot.velocity_for(task, q, DT, motion_limits={"speed": {base.name: (2.0, 0.5)}}, X=X)
    turning = np.linalg.norm(balled.v[:, base.v_slice][:, :3], axis=1)
    moving = np.linalg.norm(balled.v[:, base.v_slice][:, 3:], axis=1)
    assert turning.max() <= 2.0 and moving.max() <= 0.5 and moving.max() > 0.499


def test_invalid_arguments_of_differential_ik_are_refused():
    q, X = np.zeros(7), ARM.pose(np.zeros(7), "hand")
    task = lw.ik.PoseTask("hand", weight=1.0)
    late = np.full((4, 4), np.nan)
    for call, error, text in (
        (lambda: ARM.velocity_for(task, q, 0.0, hand=X), ValueError, "dt: expected a finite number"),
        (lambda: ARM.velocity_for(task, q, np.nan, hand=X), ValueError, "dt: expected a finite number"),
        (lambda: ARM.velocity_for(task, q, DT), ValueError, "has no target"),
        (lambda: ARM.velocity_for(task, q, DT, hnad=X), UnknownNameError, "did you mean 'hand'"),
        (lambda: ARM.velocity_for(task, q, DT, hand=late), ValueError, "got nan at"),
        (lambda: ARM.velocity_for(task, q * np.nan, DT, hand=X), ValueError, "7 NaN in this argument"),
        (lambda: ARM.velocity_for(task, q, DT, hand=X[:3]), ValueError, "4, 4"),
        (lambda: ARM.velocity_for(task, q, DT, hand=2.0 * X), ValueError, "pose|rotation"),
        (lambda: ARM.velocity_for(task, q, DT, hand=X, v_last=np.zeros(3)), ValueError, "v_last: expected velocities"),
        (lambda: ARM.velocity_for(task, q, DT, hand=X, gain=1.5), ValueError, "gain of task 'hand': expected a"),
        (lambda: ARM.velocity_for(task, q, DT, hand=X, gain={"hnad": 1.0}), UnknownNameError, "did you mean 'hand'"),
        (lambda: ARM.velocity_for(task, q, DT, hand=X, time_constant=0.0), ValueError, "time_constant of task"),
        (lambda: ARM.velocity_for(task, q, DT, hand=X, damping=-1.0), ValueError, "damping: expected a finite number"),
        (lambda: ARM.velocity_for(task, q, DT, hand=X, motion_limits={"speeds": 1.0}), UnknownNameError, "speed"),
        (lambda: ARM.velocity_for(task, q, DT, hand=X, motion_limits={"velocity": -1.0}), ValueError, "velocity"),
        (
            lambda: ARM.velocity_for(task, q, DT, hand=X, motion_limits={"velocity": {"elbow9": 1.0}}),
            UnknownNameError,
            "no joint named 'elbow9'",
        ),
        (
            lambda: ARM.velocity_for(task, q, DT, hand=X, motion_limits={"acceleration": 0.0}),
            ValueError,
            "acceleration: expected positive numbers",
        ),
        (lambda: ARM.velocity_for(task, q, DT, hand=X, motion_limits=3), TypeError, "motion_limits: expected True"),
    ):
        with pytest.raises(error, match=text):
            call()
    problem = lw.ik.DifferentialIK(ARM, task, DT, motion_limits={"acceleration": 1.0})
    for call, text in (
        (lambda: problem.velocity(q, hand=X, v_last=np.full(7, np.nan)), "v_last: expected finite numbers"),
        (lambda: problem.step(q, X, v_last=np.full(7, np.inf)), "v_last: expected finite numbers"),
        (lambda: problem.step(np.where(np.arange(7) == 6, np.nan, q), X), "q: "),
        (lambda: problem.step(q, late), "hand: expected poses of shape"),
    ):
        with pytest.raises(ValueError, match=text):
            call()


def test_reverse_derivatives_of_unlimited_differential_ik_velocities_equal_finite_differences():
    """Near a target, at it, and where the larger diagonal decides."""
    robot = lw.load("arm6")
    frame, q, w = robot.frames[-1], np.full(6, 0.3), np.arange(1.0, 7.0)
    ik = lw.ik.DifferentialIK(robot, [lw.ik.PositionTask(frame, name="t")], dt=DT, motion_limits=False)
    gradient = ik.kernel.vjp("target0")
    for away in (0.01, 0.0, 3.0):
        p = robot.pose(q, frame)[:3, 3] + away
        result = gradient(q, ik._zero_velocity, *ik._prepared, p, w, np.zeros(ik.kernel.outputs[1].shape))
        h = 1e-6 * np.eye(3)
        differences = [w @ (ik.step(q, p + d) - ik.step(q, p - d)) / 2e-6 for d in h]
        assert np.allclose(result, differences, rtol=1e-5, atol=1e-4), away


def test_differential_ik_tries_larger_damping_only_after_a_refused_step():
    """A bound that proves nothing costs one evaluation of the errors; each damped step costs one more."""
    for reduction, diagonals, evaluations in ((1.0, 0, 1), (0.0, 1, 6)):
        counts = [0, 0]

        def actual(_, reduction=reduction, counts=counts):
            counts[1] += 1
            return reduction

        def diagonal(counts=counts):
            counts[0] += 1
            return [1.0, 1.0]

        model = StepModel(lambda _: 1.0, lambda _: 9.0, actual, diagonal)
        cost = Cost([[1.0, 1.0]], [-1.0], [1.0, 1.0], [0.0, 0.0], [], [], lambda _, model=model: model, False)
        result = cost.bounded_minimum([-1.0, -1.0], [1.0, 1.0])
        assert counts == [diagonals, evaluations]
        assert result.x == pytest.approx([1.0 / 3.0] * 2) if reduction else 0.0 < result.x[0] < 0.01
