"""Motor torques along timed motions: with armature, springs, damping and dry friction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from helpers.bang_bang import shortest_time
from linkwork.constraints import References
from linkwork.expr.scalar.functions import fabs
from linkwork.force_elements import ForceElement, Marks
from linkwork.motion import time_optimal
from linkwork.motion.algorithms.timing.segment_constraints import PathLimits
from linkwork.motion.algorithms.timing.segment_resistance import fitting_share, segment_resistance
from linkwork.motion.timing import time_optimal as timing
from linkwork.motion.timing.torque_model import TorqueModel
from linkwork.spatial import Force, Motion, Pose, Vec3

MASS, LIMIT, LENGTH = 2.0, 5.0, 0.8


def _slider(**dynamics: float) -> lw.Robot:
    """A mass that moves horizontally along x, from 0 to 0.8 m in the tests."""
    joint = lw.Joint.of(lw.joints.Prismatic((1, 0, 0)), name="x", parent="world", child="mass", **dynamics)
    return lw.Robot.build("slider", lw.Link("mass", mass=MASS), joint)


def _excess(robot: lw.Robot, motion: lw.motion.TimedPath, limit: np.ndarray | float, count: int = 10001) -> float:
    """The largest excess of a torque on both sides of all times of a motion and of its segments [N·m, N]."""
    t = np.unique(np.concatenate([motion.t, np.linspace(0.0, motion.duration, count)]))
    forces = [robot.inverse_dynamics(*motion.trajectory(t, side=side), passive=True) for side in ("left", "right")]
    return float((np.abs(forces) - limit).max())


def _acceleration(damping: float, friction: float, armature: float, stiffness: float) -> Any:
    def acceleration(s: float, v: float, force: float) -> float:
        return (force - friction * np.tanh(v / 0.01) - damping * v - stiffness * s) / (MASS + armature)

    return acceleration


@pytest.mark.slow(every=9)
def test_motor_with_losses_moves_in_the_shortest_time():
    """Compared with the integrated equation of motion, from light losses to a speed that damping limits."""
    for damping, friction, armature, stiffness in (
        (0.0, 0.0, 1.5, 0.0),
        (1.0, 1.0, 0.0, 0.0),
        (20.0, 0.5, 0.3, 0.0),
        (3.0, 2.0, 0.5, 2.0),
    ):
        dynamics = {"damping": damping, "friction": friction, "armature": armature, "stiffness": stiffness}
        robot = _slider(**dynamics)
        path = robot.spline([0.0, 1.0], [[0.0], [LENGTH]], "linear")
        motion = time_optimal(path, torque=LIMIT, velocity=np.inf, num_points=1600)
        least = shortest_time(_acceleration(**dynamics), LIMIT, 0.0, LENGTH)
        assert least * (1.0 - 1e-6) < motion.duration < least * 1.004, dynamics
        assert _excess(robot, motion, LIMIT) < 1e-9
        without = time_optimal(path, torque=LIMIT, velocity=np.inf, passive=False)
        assert without.duration == pytest.approx(2.0 * np.sqrt(LENGTH * MASS / LIMIT), rel=1e-5)


@dataclass(frozen=True)
class Drag(ForceElement):
    """A force against the mass's velocity v of c v²."""

    drag: float
    name: str = "drag"

    @property
    def references(self) -> References:
        return References(frames=("mass",))

    def ends(self, marks: Marks) -> tuple[str, str]:
        return "mass", "world"

    def energy(self, marks: Marks, X: Pose) -> Any:
        return 0.0

    def spring_wrench(self, marks: Marks, X: Pose) -> Force:
        return Force(Vec3.zero(), Vec3.zero())

    def damper_wrench(self, marks: Marks, X: Pose, V: Motion) -> Force:
        return Force(Vec3.zero(), V.linear * (-self.drag * fabs(V.linear.x)))


def test_motor_against_quadratic_drag_moves_in_the_shortest_time():
    """The drag would exceed the limit of force at the speeds of the motion without it."""
    robot = _slider().with_force_elements(Drag(20.0))
    path = robot.spline([0.0, 1.0], [[0.0], [LENGTH]], "linear")
    motion = time_optimal(path, torque=LIMIT, velocity=np.inf, num_points=400)
    least = shortest_time(lambda s, v, force: (force - 20.0 * v * abs(v)) / MASS, LIMIT, 0.0, LENGTH)
    assert least * (1.0 - 1e-6) < motion.duration < least * 1.01
    assert _excess(robot, motion, LIMIT) < 1e-9


@pytest.mark.slow(every=9)
def test_torques_of_timed_paths_satisfy_limits_on_robots_with_losses():
    for name in ("arm6", "arm7"):
        for armature, stiffness in ((0.0, 0.0), (0.3, 4.0)):
            robot = lw.load(name).with_joint_dynamics(armature=armature, stiffness=stiffness)
            q = [robot.random_configuration(seed=k) for k in range(3)]
            for kind in ("cubic", "linear"):
                path = robot.spline([0.0, 1.0, 2.0], q, kind)
                at_rest = path(np.linspace(0.0, 2.0, 200)).q
                static_torque = np.abs(robot.gravity_force(at_rest, passive=True)).max(axis=0)
                limit = 1.3 * static_torque + 3.0
                motion = time_optimal(path, torque=limit, velocity=np.inf, num_points=400)
                assert -2e-3 < _excess(robot, motion, limit) < 1e-9, (name, kind)
                t = np.linspace(0.0, motion.duration, 2001)[1:-1]
                used = np.abs(robot.inverse_dynamics(*motion.trajectory(t), passive=True)) / limit
                assert np.mean(used.max(axis=1) > 0.9) > 0.8, (name, kind)


@pytest.mark.slow(every=9)
def test_torques_of_jerk_limited_motions_satisfy_limits():
    robot = _slider(damping=3.0, friction=1.0, armature=0.5)
    path = robot.spline([0.0, 1.0], [[0.0], [LENGTH]], "linear")
    bare = time_optimal(path, torque=LIMIT, velocity=np.inf)
    motion = time_optimal(path, torque=LIMIT, velocity=np.inf, jerk=300.0)
    assert _excess(robot, motion, LIMIT) < 1e-9 and motion.trajectory.satisfies_limits(jerk=300.0, tolerance=1e-3)
    assert bare.duration < motion.duration < 1.15 * bare.duration


def test_torque_model_of_timing_equals_inverse_dynamics():
    """Its second-order part and the resistance add up; only the robot's own losses count."""
    robot = lw.load("arm7").with_joint_dynamics(armature=0.2, stiffness=1.0)
    model = TorqueModel.of(robot, passive=True)
    rng = np.random.default_rng(0)
    q, v, a = robot.random_configuration(rng), *rng.normal(size=(2, robot.nv))
    whole = robot.inverse_dynamics(q, v, a, passive=True)
    assert np.allclose(model.second_order(q, v, a) + model.resistance(q, v), whole, rtol=0.0, atol=1e-12)
    assert np.allclose(model.second_order(q, -v, a), model.second_order(q, v, a), rtol=0.0, atol=1e-12)
    heavy = _slider(armature=1.0)
    assert (TorqueModel.of(heavy, True).passive, TorqueModel.of(heavy, True).resists) == (True, False)
    bare = _slider()
    assert not TorqueModel.of(bare, True).passive and not TorqueModel.of(robot, False).passive


@pytest.mark.parametrize(("room", "factor"), [(10.0, 1.0), (3.1, 2.0), (1.6, 4.0)])
@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_damping_bounds_for_slower_motions_are_tight_and_below_the_torque_limits(
    room: float, factor: float, sign: float
) -> None:
    """R = d ẋ has the slope d/(2 ẋ) by ẋ²; of R − S ẋ² the maximum is d²/(4 S), and it is less at both ends."""
    damping, speed = 3.0, 2.0
    model = TorqueModel.of(_slider(damping=damping), True)
    limits = np.array([[room if sign < 0.0 else 99.0]]), np.array([[room if sign > 0.0 else 99.0]])
    bounds = model.slower(np.array([[0.1]]), np.array([[sign]]), np.array([speed]), limits)
    slope = factor * damping / (2.0 * speed)
    least, most = min(0.0, damping * speed - slope * speed**2), damping**2 / (4.0 * slope)
    expected = [least, most, slope] if sign > 0.0 else [-most, -least, -slope]
    assert np.allclose(np.ravel(bounds), expected, rtol=1e-5, atol=1e-9) and room - most >= 0.1 * room


@pytest.mark.parametrize("rate", [-1.5, 1.5])
def test_resistance_of_joints_on_a_path_segment_equals_that_of_their_damping(rate: float) -> None:
    """R = d q' ẋ at the nodes where ẋ is constant; else its range, and the share of ẋ² that leaves room for it."""
    damping, at_rest, rates = 3.0, 1.0, [[rate]] * 3
    tree = _slider(damping=damping).tree
    even = segment_resistance(tree, rates, 4.0, 4.0, [10.0])
    assert np.allclose(even.values, damping * rate * 2.0) and np.allclose(even.slopes, damping * rate / 4.0)
    assert even.least == even.most == [0.0] and even.errors[0] < 1e-8
    varied = segment_resistance(tree, [[0.4 * rate], [rate], [1.9 * rate]], 4.0, 4.0, [10.0])
    assert varied.errors[0] < 1e-8 and np.all(varied.values)
    rough = segment_resistance(tree, rates, 1.0, 4.0, [10.0])
    assert not np.any(rough.values) and not np.any(rough.slopes)
    assert np.allclose([*rough.least, *rough.most], np.sort([damping * rate, damping * rate * 2.0]))
    for limit in (4.0, 40.0):
        limits = PathLimits([], [], [-limit], [limit])
        room = limit - at_rest if rate > 0.0 else limit + at_rest
        share = min(1.0, 0.8 * room / (damping * 1.5 * 2.0))
        assert np.isclose(fitting_share(tree, rates, [[at_rest]] * 3, limits, 1.0, 4.0), share**2, rtol=1e-12)


@pytest.mark.slow(every=5)
def test_friction_beyond_the_torque_limit_is_refused_by_timing():
    robot = _slider(friction=1.2 * LIMIT)
    path = robot.spline([0.0, 1.0], [[0.0], [LENGTH]], "linear")
    with pytest.raises(ValueError, match="no motion found, with constant"):
        time_optimal(path, torque=LIMIT, velocity=1.0)
    assert time_optimal(path, torque=LIMIT, velocity=1.0, passive=False).duration > 0.0


@pytest.mark.slow(every=9)
def test_motion_against_strong_damping_has_the_closed_form_duration():
    """Damping bears nearly all of the torque, so the duration is the integral of |q'| d / (limit - gravity)."""
    limits, q = np.array([30.0, 20.0]), np.random.default_rng(0).uniform(-1.5, 1.5, (5, 2))
    s = np.linspace(0.0, 1.0, 4001)
    for damping in (60.0, 200.0):
        robot = lw.load("double_pendulum").with_joint_dynamics(damping=damping)
        path = robot.spline(np.linspace(0.0, 1.0, 5), q)
        at = path(s)
        room = limits - np.sign(at.v) * robot.inverse_dynamics(at.q, 0.0 * at.q, 0.0 * at.q)
        shortest = damping * float(np.trapezoid((np.abs(at.v) / room).max(axis=1), s))
        motion = time_optimal(path, torque=limits)
        assert shortest < motion.duration < 1.03 * shortest, damping
        assert _excess(robot, motion, limits) < 1e-4


@pytest.mark.slow(every=9)
def test_kernel_for_timing_of_robots_with_losses_agrees_with_the_general_method(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Compared with the general method on as many segments; strong losses need further passes."""
    robot = lw.load("arm6")
    q = np.array([[robot.random_configuration(seed=10 * seed + k) for k in range(4)] for seed in range(2)])
    paths = [robot.spline([0.0, 1.0, 2.0, 3.0], waypoints) for waypoints in q]
    static_torque = np.abs(robot.gravity_force(paths[0](np.linspace(0.0, 3.0, 200)).q)).max(axis=0)
    for limit in (robot.effort_limits, 1.6 * static_torque + 5.0):
        options: Any = {"torque": limit, "velocity": np.inf, "num_points": 400}
        with monkeypatch.context() as patch:
            patch.setattr(timing, "_time_path", None)
            motions = time_optimal(paths, **options)
            alone = time_optimal(paths[0], **options)
        assert np.array_equal(alone.t, motions[0].t) and np.array_equal(alone.speed, motions[0].speed)
        assert max(_excess(robot, motion, limit, 4001) for motion in motions) < 1e-9
        monkeypatch.setattr(timing, "fits_single_kernel", lambda *arguments: False)
        general = time_optimal(paths[0], **options)
        monkeypatch.undo()
        assert alone.duration < 1.001 * general.duration


def test_limits_below_the_forces_at_rest_are_named() -> None:
    arm = lw.load("double_pendulum")
    path = arm.spline([0.0, 1.0], [[0.1, 0.0], [1.5, 0.2]], kind="linear")
    at_rest = np.abs(arm.gravity_force(path(np.linspace(0.0, 1.0, 201)).q))[:, 0]
    limit = 0.6 * at_rest.max()
    with pytest.raises(ValueError, match=r"the robot needs .* at 'shoulder', whose limit is .*, only to stay at rest"):
        time_optimal(path, torque=[limit, 1e6])
    assert time_optimal(path, torque=[1.2 * at_rest.max(), 1e6]).duration > 0.0
