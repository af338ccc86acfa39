"""Controllers of joints with rotation axes: the stated error equations, over all joint types."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import linkwork as lw
from linkwork.control import PD, ComputedTorque, JointImpedance, OperationalSpace
from linkwork.control.admittance import shifted_motion, shifted_pose
from linkwork.joints import ALL, JointType, Spherical
from linkwork.kinematics.algorithms.joint_errors import JointErrors

TYPES = [kind for kind in ALL if kind.example(np.random.default_rng(0)).nv]


def _robot(kind: type[JointType], seed: int = 1) -> Any:
    """A box of three different inertias at a joint of this type."""
    box = lw.Link("box", lw.shapes.Box((0.1, 0.2, 0.3)).at((0.05, 0.0, 0.1)), mass=1.0)
    joint = lw.Joint.of(kind.example(np.random.default_rng(seed)), name="joint", parent="base", child="box")
    return lw.Robot.build("one", lw.Link("base"), box, joint)


def _derivatives(f: Callable[[float], np.ndarray], h: float = 2e-3) -> tuple[np.ndarray, np.ndarray]:
    """First and second derivative at 0, of fourth order."""
    first = [(f(s) - f(-s)) / (2.0 * s) for s in (h, 0.5 * h)]
    second = [(f(s) - 2.0 * f(0.0) + f(-s)) / s**2 for s in (h, 0.5 * h)]
    return (4.0 * first[1] - first[0]) / 3.0, (4.0 * second[1] - second[0]) / 3.0


@pytest.mark.slow(every=9)
@pytest.mark.parametrize("size", [0.0, 1e-9, 0.7])
@pytest.mark.parametrize("kind", TYPES)
def test_rates_of_rotation_errors_and_of_shifted_targets_equal_finite_differences(
    kind: type[JointType], size: float
) -> None:
    """Against differences along motions with these velocities and accelerations, at errors of 0, 1e-9 and 0.7."""
    robot, rng = _robot(kind), np.random.default_rng(2)
    tree, nv = robot.tree, robot.nv
    q, x = robot.random_configuration(seed=1), size * rng.normal(size=nv)
    q_d = robot.integrate(q, x)
    v, v_d, a, a_d, f = (z.tolist() for z in rng.normal(size=(5, nv)))

    def moved(q: Any, v: list[float], a: list[float], s: float) -> Any:
        return robot.integrate(q, s * np.array(v) + 0.5 * s * s * np.array(a))

    joints = JointErrors(tree, q.tolist(), q_d.tolist(), range(nv))
    rate, second = _derivatives(lambda s: robot.difference(moved(q, v, a, s), moved(q_d, v_d, a_d, s)))
    assert np.abs(joints.errors() - x).max() < 1e-12 and np.abs(joints.rates(v, v_d) - rate).max() < 1e-8
    assert np.abs(np.subtract(joints.acceleration(v, v_d, a_d, (-second).tolist()), a)).max() < 1e-6
    # the followed velocity keeps the error, its rate keeps that so, and forces have the same power
    follows = joints.followed_velocity(v_d)
    assert (
        np.abs(joints.rates(follows, v_d)).max() < 1e-12
        and abs(np.dot(joints.followed_force(f), follows) - np.dot(f, v_d)) < 1e-12
    )
    behind = joints.followed_acceleration(follows, v_d, a_d)
    error_rate = _derivatives(lambda s: robot.difference(moved(q, follows, behind, s), moved(q_d, v_d, a_d, s)))
    assert np.abs(error_rate).max() < 1e-6
    # the shifted target q ⊕ x, where x moves with v_d and a_d
    moving = shifted_motion(tree, q.tolist(), x.tolist(), (v, a), (v_d, a_d))

    def shifted(s: float) -> Any:
        return robot.integrate(moved(q, v, a, s), x + s * np.array(v_d) + 0.5 * s * s * np.array(a_d))

    assert np.abs(moving[0] - shifted(0.0)).max() < 1e-12
    for result, known in zip(
        moving[1:], _derivatives(lambda s: robot.difference(shifted(0.0), shifted(s))), strict=True
    ):
        assert np.abs(result - known).max() < 1e-6


@pytest.mark.slow(every=9)
@pytest.mark.parametrize("kind", TYPES)
def test_rotation_errors_under_task_control_obey_the_stated_differential_equation(
    kind: type[JointType], drawn: Any
) -> None:
    """A target that turns ever faster, from an error of a radian or a metre: ë + 14 ė + 40 e = 0, roots −4 and −10."""
    robot, rng = _robot(kind), np.random.default_rng(3)
    w, e0, v0 = rng.normal(size=(3, robot.nv))
    start = robot.integrate(robot.neutral(), 0.2 * v0)  # far from singularities of Euler angles
    q = robot.integrate(start, -0.5 * e0)
    rate, _ = _derivatives(lambda s: robot.difference(robot.integrate(q, s * v0), robot.integrate(start, s * w)))
    e0 = robot.difference(q, start)
    for law, names, count in drawn(_laws(robot)):

        def controller(t: Any, q: Any, v: Any, law: Any = law, names: list[str] = names) -> Any:
            target = robot.integrate(start, w * (t + t * t))
            target = target[0] if names[0] == "joint" and robot.nq == 1 else target
            return law(t, q, v, **dict(zip(names, (target, w * (1.0 + 2.0 * t), 2.0 * w), strict=True)))

        errors = []
        for half in (1, 2):  # forces are constant in a step: two steps are extrapolated
            how = {"dt": 1e-4 / half, "record_every": 200 * half, "method": "rk4", "passive": False}
            run = robot.simulate(q, v0, controller=controller, duration=0.4, **how)
            t = run.t[:, None]
            errors.append(robot.difference(run.q, robot.integrate(start, w * (t + t * t))))
        slow, fast = (10.0 * e0 + rate) / 6.0, (4.0 * e0 + rate) / -6.0
        known = slow * np.exp(-4.0 * t) + fast * np.exp(-10.0 * t)
        mask = run.t <= (0.4 if count == robot.nv else 0.1)  # a free component soon becomes large
        assert np.abs(2.0 * errors[1] - errors[0] - known)[mask, :count].max() < 2e-5


def _laws(robot: Any) -> list[tuple[Any, list[str], int]]:
    """Laws with these gains, the names of their inputs, and how many components of the error they control."""
    n = robot.nv
    laws: list[Any] = [(ComputedTorque(robot, 40.0, 14.0, actuators="joint", effort_limits=np.inf), "target_q", n)]
    if not robot.tree.bodies[0].joint.is_floating:
        posture, free = lw.ik.PostureTask(), [1e-6] * (n - 1) + [np.inf]
        for task, name, count in (
            (lw.ik.JointTask("joint"), "joint", n),
            (posture, "posture_q", n),
            *[(lw.ik.JointTask("joint", tolerance=tuple(free)), "joint", n - 1)] * (n > 1),
        ):
            laws.append((OperationalSpace(robot, task, 40.0, 14.0, effort_limits=np.inf), name, count))
    inputs = {"target_q": "target", "posture_q": "posture", "joint": "joint"}
    return [(law, [name, *(f"{inputs[name]}_{x}" for x in ("v", "a"))], count) for law, name, count in laws]


def test_joint_impedance_of_a_spherical_joint_obeys_its_equation_of_motion() -> None:
    """M_d ν̇ + D ν + K e = −τ_ext with the target's velocity relative to the body, in its axes: R v_d − v."""
    robot, rng = _robot(Spherical), np.random.default_rng(0)
    q, target = robot.random_configuration(seed=0, size=2)
    v, v_d, a_d, push = rng.normal(size=(4, 3))
    led = {"target_q": target, "target_v": v_d, "target_a": a_d}
    R = robot.pose(q, "box")[:3, :3].T @ robot.pose(target, "box")[:3, :3]
    e, K, D, M_d = (
        robot.difference(q, target),
        np.array([9.0, 5.0, 7.0]),
        np.array([3.0, 1.0, 2.0]),
        np.array([2.0, 1.0, 3.0]),
    )
    gap, ahead = R @ v_d - v, R @ a_d - np.cross(v, R @ v_d)
    tau = JointImpedance(robot, K, D, inertia=M_d, effort_limits=np.inf)(0.0, q, v, force=push, **led)
    a = robot.forward_dynamics(q, v, tau + push)
    assert np.allclose(M_d * (ahead - a) + D * gap + K * e, -push, rtol=1e-9, atol=1e-9)
    law = JointImpedance(robot, K, D, effort_limits=np.inf)(0.0, q, v, **led)
    a = robot.forward_dynamics(q, v, law + push)
    assert np.allclose(robot.mass_matrix(q) @ (ahead - a) + D * gap + K * e, -push, rtol=1e-9, atol=1e-9)
    # PD has the same springs and dampers, and a feedforward in the same axes
    tau = PD(robot, K, D, feedforward="dynamics", effort_limits=np.inf)(0.0, q, v, **led)
    along = R @ robot.inverse_dynamics(target, v_d, a_d)
    assert np.allclose(tau, K * e + D * gap + along, rtol=1e-9, atol=1e-9)


def test_admittance_control_shifts_the_targets_twist_with_its_pose() -> None:
    """The impedance's target is exp(x) R with its own angular velocity and acceleration, not with ẋ and ẍ."""
    arm: Any = lw.load("arm7")
    rng = np.random.default_rng(0)
    pose, target, own_rate, rate, rates_rate = arm.pose(arm.neutral(), "hand"), *rng.normal(size=(4, 6))
    for x in (0.0 * rng.normal(size=6), 1e-9 * rng.normal(size=6), rng.normal(size=6)):

        def at(s: float, x: np.ndarray = x) -> np.ndarray:
            led, y = s * target + 0.5 * s * s * own_rate, x + s * rate + 0.5 * s * s * rates_rate
            turns = Rotation.from_rotvec(y[:3]) * Rotation.from_rotvec(led[:3]) * Rotation.from_matrix(pose[:3, :3])
            return lw.pose(pose[:3, 3] + led[3:] + y[3:], rotation=turns.as_matrix())

        result = shifted_pose(pose, list(x), [list(target), list(own_rate)], [list(rate), list(rates_rate)])
        assert np.abs(result[0] - at(0.0)).max() < 1e-12
        known = _derivatives(lambda s: lw.pose_difference(at(0.0), at(s)))
        assert np.abs(result[1] - known[0]).max() < 1e-6 and np.abs(result[2] - known[1]).max() < 1e-6
