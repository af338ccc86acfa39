"""Methods of simulation against closed forms, each other, and conservation laws."""

from __future__ import annotations

import numpy as np
import pytest

import linkwork as lw
from linkwork import joints
from linkwork.errors import UnknownNameError
from linkwork.expr.arrays.symbol_array import array
from linkwork.model.random_tree import random_tree
from linkwork.simulation.algorithms import METHODS, MotionSystem
from linkwork.simulation.algorithms.adaptive_runge_kutta import adaptive, begun


def robots():
    """One of all joint types whose velocities are theirs, and one of rotations."""
    rng = np.random.default_rng(3)
    plain = lw.Robot(random_tree(rng, 2, types=(joints.Revolute, joints.Prismatic)))
    turning = lw.Robot(random_tree(rng, 2, types=(joints.Floating, joints.Spherical)))
    return plain, turning


@pytest.mark.slow(every=5)
def test_simulation_methods_have_their_order_on_manifolds():
    """Errors at the end fall by 2^order where the step is halved, on angles and rotations."""
    rng = np.random.default_rng(0)
    for robot in robots():
        q, v = robot.random_configuration(rng), 0.5 * rng.normal(size=robot.nv)
        duration = 0.2
        best = robot.simulate(q, v, duration=duration, dt=duration / 256, method="rk4", record_every=256, passive=False)
        for name, method in METHODS.items():
            if name == "dormand_prince":  # its own steps, as its errors allow
                end = robot.simulate(q, v, duration=duration, dt=duration / 4, method=name, passive=False)
                left = [*robot.difference(end.q[-1], best.q[-1]), *(end.v[-1] - best.v[-1])]
                assert np.linalg.norm(left) < 1e-7
                continue
            errors = []
            for steps in (16, 32):
                end = robot.simulate(q, v, duration=duration, dt=duration / steps, method=name, passive=False)
                left = [*robot.difference(end.q[-1], best.q[-1]), *(end.v[-1] - best.v[-1])]
                errors.append(np.linalg.norm(left))
            rate = np.log2(errors[0] / errors[1])
            assert abs(rate - method.order) < 0.3, (name, errors)


@pytest.mark.slow(every=5)
def test_variational_method_conserves_the_momenta_of_a_free_body():
    """The variational method conserves momenta to rounding, and energy does not drift."""
    body = lw.Robot(random_tree(np.random.default_rng(5), 1, types=(joints.Floating,))).with_parameters(
        {"gravity": [0.0, 0.0, 0.0]}
    )
    rng = np.random.default_rng(1)
    q, v = body.random_configuration(rng), 3.0 * rng.normal(size=6)
    result = body.simulate(
        q,
        v,
        duration=20.0,
        dt=0.01,
        method="variational",
        record_every=20,
        passive=False,
        record=["momentum", "kinetic_energy"],
    )
    momentum, energy = result.records["momentum"], result.records["kinetic_energy"]
    assert np.abs(momentum - momentum[0]).max() < 1e-10 * np.abs(momentum[0]).max()
    early, late = energy[: len(energy) // 2], energy[len(energy) // 2 :]
    assert np.ptp(energy) < 1e-2 * energy[0]
    assert abs(early.mean() - late.mean()) < 1e-3 * energy[0]


@pytest.mark.slow(every=9)
def test_symmetric_simulation_methods_are_reversible_in_time():
    """The midpoint rule and the variational one, run with v reversed, return to the start."""
    rng = np.random.default_rng(2)
    for robot in robots():
        q, v = robot.random_configuration(rng), 0.3 * rng.normal(size=robot.nv)
        for method in ("implicit_midpoint", "variational"):
            how = {"duration": 0.5, "dt": 0.01, "method": method, "record_every": 50, "passive": False}
            forward = robot.simulate(q, v, **how)
            back = robot.simulate(forward.q[-1], -forward.v[-1], **how)
            assert np.abs(robot.difference(q, back.q[-1])).max() < 1e-9, method
            assert np.abs(back.v[-1] + v).max() < 1e-9, method


def test_implicit_simulation_methods_settle_stiff_joints():
    """A spring and damper too stiff for the step: joints settle at equilibrium, and damping takes energy."""
    robot = lw.load("arm7").with_joint_dynamics(stiffness=1e6, damping=1e3, friction=0.0)
    q = robot.neutral() + 0.2
    for method in ("semi_implicit_euler", "implicit_euler"):
        result = robot.simulate(q, duration=0.5, dt=0.01, method=method, record_every=10)
        assert np.all(result.success), method
        assert np.abs(result.q[-1] - robot.rest_configuration).max() < 1e-3, method


@pytest.mark.slow(every=3)
def test_implicit_simulation_methods_agree_with_dry_friction():
    """An arm with sharply bent friction: methods agree, and report unsolved steps."""
    robot = lw.load("arm7")
    q, v = robot.random_configuration(seed=0, size=3), np.random.default_rng(0).normal(size=(3, robot.nv))
    how = {"duration": 0.1, "joint_limit_mode": "ignored"}
    best = robot.simulate(q, v, dt=2e-4, method="rk4", record_every=500, **how)
    for method, error in (("implicit_midpoint", 3e-3), ("implicit_euler", 1e-2), ("variational", 3e-3)):
        result = robot.simulate(q, v, dt=2e-3, method=method, record_every=50, **how)
        assert np.all(result.success), (method, result.explain())
        assert np.abs(result.q[:, -1] - best.q[:, -1]).max() < error, method
    pendulum = lw.load("double_pendulum")
    lost = pendulum.simulate(
        [0.3, 0.2], [1e3, -1e3], duration=1.0, dt=0.5, method="variational", joint_limit_mode="ignored"
    )
    assert lost.status == "step_not_solved" and "equations of a step were not" in lost.message and not lost.success


@pytest.mark.slow(every=5)
def test_dormand_prince_method_meets_its_tolerance_at_and_between_steps():
    """Dormand and Prince's method meets its stated tolerance at times of any distance, with few steps."""
    rng = np.random.default_rng(4)
    robot = robots()[1]
    q, v = robot.random_configuration(rng), rng.normal(size=robot.nv)
    system = MotionSystem(
        robot.tree, lambda t, q, v: list(robot.forward_dynamics(array(q), array(v), np.zeros(robot.nv)))
    )
    many = 21

    def motion(q, v, times, tolerance):
        return adaptive(system, begun(q, v, 0.0, 1e-3), times, tolerance, tolerance, 2000)

    kernel = lw.compile(motion, q=robot.nq, v=robot.nv, times=many, tolerance=())
    times = np.linspace(0.0, 1.0, many)
    state, (configurations, rates) = kernel(q, v, times, 1e-9)
    best = robot.simulate(q, v, duration=1.0, dt=1 / 4000, method="rk4", record_every=200, passive=False)
    apart = np.array([robot.difference(a, b) for a, b in zip(configurations, best.q, strict=True)])
    assert np.abs(apart).max() < 1e-7
    assert np.abs(rates - best.v).max() < 1e-6
    assert state.steps < 400
    loose = kernel(q, v, times, 1e-5)[0]
    assert loose.steps < state.steps


@pytest.mark.slow(every=5)
def test_scipys_integration_methods_agree_with_dormand_prince():
    """Rotations, forces that are constant for a step, and parameters for each environment."""
    rng = np.random.default_rng(6)
    robot = lw.Robot(random_tree(rng, 1, types=(joints.Spherical,)))
    q, v = robot.random_configuration(rng, size=2), rng.normal(size=(2, 3))
    push = 0.01 * rng.normal(size=(4, 3))
    how = {"duration": 0.4, "dt": 0.1, "controller": lambda t, q, v, push, gain: push - gain * v}
    how |= {
        "time_inputs": {"push": push},
        "constants": {"gain": 0.01},
        "parameters": {"gravity": rng.normal(size=(2, 3))},
    }
    by_linkwork = robot.simulate(q, v, method="dormand_prince", **how)
    for method in ("scipy:DOP853", "scipy:Radau"):
        by_scipy = robot.simulate(q, v, method=method, **how)
        assert np.all(by_scipy.success) and np.abs(robot.difference(by_scipy.q, by_linkwork.q)).max() < 1e-8
        assert np.abs(by_scipy.v - by_linkwork.v).max() < 1e-7
    for text, options in (
        ("does not support record", {"record": ["tau"]}),
        ("did you mean 'Radau'", {"method": "scipy:Radu"}),
    ):
        with pytest.raises((ValueError, UnknownNameError), match=text):
            robot.simulate(q, v, **{"method": "scipy:Radau", **how, **options})


@pytest.mark.slow(every=5)
def test_damping_of_a_free_body_slows_it_in_all_directions():
    body = lw.Robot(random_tree(np.random.default_rng(5), 1, types=(joints.Floating,)))
    body = body.with_parameters({"gravity": [0.0, 0.0, 0.0]})
    v = np.array([0.0, 0.0, 0.0, 1.0, 0.0, 0.0])
    damping = {"damping:" + next(iter(body.joints)).name: np.full(6, 0.5 * body.mass)}
    ends = [
        body.simulate(body.neutral(), v, duration=0.2, dt=1e-3, method=name, parameters=damping).v[-1]
        for name in ("semi_implicit_euler", "rk4")
    ]
    assert np.linalg.norm(ends[1]) < 0.95 and np.abs(ends[0] - ends[1]).max() < 1e-3


@pytest.mark.slow(every=9)
def test_implicit_simulation_methods_converge_in_float32():
    """Newton's line search ends above rounding errors."""
    robot, rng = lw.load("double_pendulum"), np.random.default_rng(0)
    q, v = (np.float32(rng.normal(size=(64, 2))) for _ in range(2))
    q[0] = v[0] = v[1] = 0.0
    for method in ("implicit_midpoint", "implicit_euler", "variational"):
        kernel = lw.compile(lambda q, v, m=method: robot.simulate(q, v, duration=0.02, method=m).q[-1], q=2, v=2)
        assert np.abs(kernel(q, v) - kernel(q.astype(float), v.astype(float))).max() < 1e-5, method
