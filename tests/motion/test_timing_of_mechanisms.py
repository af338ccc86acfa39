"""Timing within torque limits of robots with loops: motor torques, and durations of open chains."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest

import linkwork as lw
from helpers.bang_bang import shortest_time
from helpers.linkages import HINGE, five_bar, linkage, rod, spatial_slider_crank, three_legs
from linkwork.errors import UnderactuatedError
from linkwork.motion import MotionLimit, time_optimal
from linkwork.motion.timing.torque_model import TorqueModel


class Driven(NamedTuple):
    """A robot's minimal coordinates, a path of it, and the same path of the coordinates alone."""

    m: Any
    path: lw.motion.Trajectory
    alone: lw.motion.Trajectory


def _driven(robot: Any, names: list[str], bend: float, begin: Any = None, count: int = 41) -> Driven:
    m = robot.minimal_coordinates(names, q=robot.assemble(begin).q)
    s, k = np.linspace(0.0, 1.0, count), np.arange(len(names))
    phase = 1.5 * s[:, None] + k
    y = m.coordinates_of(m.at) + bend * (np.sin(phase) - np.sin(k))
    dy, ddy = 1.5 * bend * np.cos(phase), -2.25 * bend * np.sin(phase)
    q = [m.at]
    for angle in y:
        q.append(m.expand(angle, near=q[-1]))
    _, v, a = m.expand(y, dy, ddy, near=np.array(q[1:]))
    path = robot.spline(s, q[1:], "quintic", velocity=v, acceleration=a)
    # a further coordinate bends lines, which would have other segments
    y, dy, ddy = (np.column_stack(x) for x in ((y, 0.5 * s**2), (dy, s), (ddy, 1.0 + 0.0 * s)))
    return Driven(m, path, lw.motion.spline(s, y, "quintic", velocity=dy, acceleration=ddy))


def _slider_crank() -> Any:
    slide = lw.Joint.of(lw.joints.Prismatic((1, 0, 0)), name="slide", parent="world", child="slider")
    knee = lw.Joint.of(HINGE, name="knee", parent="crank", child="rod", placement=lw.pose((0.4, 0, 0)))
    crank = lw.Joint.of(HINGE, name="crank", parent="world", child="crank")
    links = rod("crank", 0.4), rod("rod", 1.1), lw.Link("slider", mass=1.5)
    robot = lw.Robot.build("slider-crank", *links, crank, knee, slide)
    return robot.with_frame("end", "rod", lw.pose((1.1, 0, 0))).with_loop("pin", "end", "slider", HINGE)


def _geared() -> Any:
    """The slider-crank with a wheel that turns at −2 times the speed of its crank."""
    links = rod("crank", 0.4), rod("rod", 1.1), lw.Link("slider", mass=1.5), rod("wheel", 0.3)
    on: Any = {"parent": "world", "child": "wheel", "placement": lw.pose((4.0, 0, 0)), "mimic": ("crank", -2.0, 0.1)}
    wheel = lw.Joint.of(HINGE, name="wheel", **on)
    robot = lw.Robot.build("geared", *links, *_slider_crank().joints, wheel)
    return robot.with_frame("end", "rod", lw.pose((1.1, 0, 0))).with_loop("pin", "end", "slider", HINGE, damping=0.1)


_LEG = ["hip_roll", "hip_yaw", "hip_pitch", "knee", "shin_spring", "heel", "foot_motor"]
CASES: dict[str, Any] = {  # robot, motors, size of the path, initial guess
    "four-bar": (lambda: lw.load("fourbar"), ["crank_hinge"], 0.8, None),
    "springs": (lambda: linkage(stiffness=3.0, armature=0.2), ["crank"], 0.8, [-0.5, 0.5, -1.0]),
    "geared": (_geared, ["crank"], 0.8, [-1.0, 1.3, 1.0]),
    "slider-crank": (_slider_crank, ["slide"], 0.15, [-1.0, 1.3, 1.0]),
    "five-bar": (five_bar, ["left_hip", "right_hip"], 0.3, [-2.0, 1.0, -1.0, -1.0]),
    "three legs": (three_legs, ["hip0", "hip1", "hip2"], 0.1, [1.5, 1.0, 0.2, 0, 1, 0, 1, 0, 1]),
    "spatial": (spatial_slider_crank, ["crank"], 0.8, [0.5, 1.0]),
    "delta": (lambda: lw.load("delta"), ["shoulder_1", "shoulder_2", "shoulder_3"], 0.15, None),
    "leg": (lambda: lw.load("leg"), _LEG, 0.05, None),
    "stewart": (lambda: lw.load("stewart"), [f"leg_{k}" for k in range(1, 7)], 0.02, None),
}


def _motor_limit(driven: Driven, limit: np.ndarray, passive: bool) -> MotionLimit:
    """Limits of motors, whose forces are H u̇ + c of the minimal coordinates, which are those of the motors."""
    table = driven.path(np.linspace(0.0, 1.0, 41)).q
    at = driven.m.coordinates_of(table)

    def forces(y: np.ndarray, u: np.ndarray, u_dot: np.ndarray) -> np.ndarray:
        y, u, u_dot = (x[..., :-1] for x in (y, u, u_dot))
        near = table[np.abs(y[..., None, :] - at).sum(axis=-1).argmin(axis=-1)]
        result: np.ndarray = driven.m.inverse_dynamics(y, u, u_dot, near=near, passive=passive)
        return result

    return MotionLimit(forces, -limit, limit)


@pytest.mark.slow(every=9)
@pytest.mark.parametrize("name", CASES)
def test_motor_torques_along_timed_paths_of_mechanisms_satisfy_their_limits(name: str) -> None:
    make, motors, bend, begin = CASES[name]
    robot = make()
    driven = _driven(robot, motors, bend, begin)
    index, states = robot.v_index(motors), driven.path(np.linspace(0.0, 1.0, 50))
    static_torque = robot.constrained_inverse_dynamics(
        states.q, 0.0 * states.v, 0.0 * states.v, actuators=motors, passive=True
    ).tau
    limit = 1.5 * np.abs(static_torque[:, index]).max(axis=0) + 1.0
    torque = dict(zip(motors, limit, strict=True))
    options: Any = {"velocity": np.inf, "num_points": 120, "tolerance": 1e-6}
    motion = time_optimal(driven.path, torque=torque, **options)
    state = motion.trajectory(np.linspace(0.0, motion.duration, 1001))
    assert np.abs(robot.constraint_error(state.q)).max() < 1e-9
    tau = robot.constrained_inverse_dynamics(*state, actuators=motors, passive=True).tau[:, index]
    used = np.abs(tau) / limit
    assert used.max() < 1.0 + 1e-9 and np.mean(used.max(axis=1) > 0.95) > 0.8
    has_losses = TorqueModel.of(robot, True).resists
    plain = time_optimal(driven.path, torque=torque, passive=False, **options) if has_losses else motion
    motor_limit = _motor_limit(driven, (1.0 - 1e-6) * limit, passive=not has_losses)
    retimed = time_optimal(driven.alone, motion_limits=[motor_limit], **options)
    assert plain.duration == pytest.approx(retimed.duration, rel=1e-8)


@pytest.mark.slow(every=9)
def test_time_optimal_duration_with_losses_in_loop_joints_equals_integration() -> None:
    """Compared with the integrated equation of motion of the crank's angle, with losses in tree and loop."""
    losses = {"damping": 0.8, "friction": 0.6}
    robot = linkage(**losses).without_constraints().with_loop("pin", "end", "tip", HINGE, stiffness=2.0, **losses)
    m = robot.minimal_coordinates(["crank"], q=robot.assemble([-1.5, 1.5, -1.0]).q)
    driven = _driven(robot, ["crank"], 0.8, [-1.5, 1.5, -1.0], 161)
    table = driven.path(np.linspace(0.0, 1.0, 161)).q
    limit, motor = 45.0, np.array([1.0, 0.0, 0.0])

    def acceleration(y: float, u: float, force: float) -> float:
        near = table[np.abs(table[:, 0] - y).argmin()]
        return float(m.forward_dynamics([y], [u], force * motor, near=near, passive=True)[0])

    motion = time_optimal(driven.path, torque={"crank": limit}, velocity=np.inf, num_points=400)
    least = shortest_time(acceleration, limit, table[0, 0], table[-1, 0])
    assert least * (1.0 - 1e-5) < motion.duration < least * 1.004
    state = motion.trajectory(np.linspace(0.0, motion.duration, 1001))
    tau = robot.constrained_inverse_dynamics(*state, actuators=["crank"], passive=True).tau[:, 0]
    assert np.abs(tau).max() < limit * (1.0 + 1e-9)


@pytest.mark.slow(every=3)
def test_torque_limits_in_timing_of_mechanisms_apply_to_named_motors_or_all() -> None:
    """Redundant motors share the load by least squares; a motion that they cannot induce is refused."""
    robot = five_bar()
    path = _driven(robot, ["left_hip", "right_hip"], 0.3, [-2.0, 1.0, -1.0, -1.0]).path
    hips = {"left_hip": 40.0, "right_hip": 40.0}
    options: Any = {"velocity": np.inf, "num_points": 60}
    named, by_dict = (
        time_optimal(path, torque=40.0, actuators=[*hips], **options),
        time_optimal(path, torque=hips, **options),
    )
    shared = time_optimal(path, torque=40.0, **options)
    assert named.duration == by_dict.duration > shared.duration
    state = shared.trajectory(np.linspace(0.0, shared.duration, 200))
    used = np.abs(robot.constrained_inverse_dynamics(*state).tau).max()
    assert 38.0 < used < 40.0 * (1.0 + 1e-9)
    with pytest.raises(UnderactuatedError, match="time_optimal: actuators 'left_hip' cannot induce"):
        time_optimal(path, torque=40.0, actuators="left_hip", **options)
    assert named.plot(torque=hips).get_legend_handles_labels()[1][1:] == ["torque of left_hip", "torque of right_hip"]


def test_paths_that_violate_constraints_of_the_robot_are_refused_by_timing() -> None:
    robot = lw.load("fourbar")
    q = robot.drive_mechanism({"crank_hinge": [0.3, 1.5]}).q
    straight = lw.motion.Trajectory.polynomial([0.0, 1.0], np.stack([q[0], q[1] - q[0]], axis=-1)[None], robot=robot)
    with pytest.raises(ValueError, match="path: expected a path that satisfies the robot's constraints, got an error"):
        time_optimal(straight, torque={"crank_hinge": 5.0})
    q = robot.drive_mechanism({"crank_hinge": [0.3, 0.6]}).q  # opens by 0.9 mm, in a robot with L = 0.5 m
    straight = lw.motion.Trajectory.polynomial([0.0, 1.0], np.stack([q[0], q[1] - q[0]], axis=-1)[None], robot=robot)
    with pytest.raises(ValueError, match=r"got an error of 0\.00186 characteristic lengths or radians"):
        time_optimal(straight, torque={"crank_hinge": 5.0})
    driven = robot.with_constraints(lw.constraints.Holonomic("motor", lambda k: k.q("crank_hinge") - k.time))
    with pytest.raises(ValueError, match="constraints that do not depend on time, got 'motor'"):
        time_optimal(straight, torque={"crank_hinge": 5.0}, robot=driven)
