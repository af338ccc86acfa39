"""Accelerations as controls: the optima of torque controls, and of paths by inverse dynamics."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import linkwork as lw

ARM = lw.load("double_pendulum")
TOLERANCE = 1e-9


def _lift() -> lw.TrajectoryProblem:
    """Lift from hanging to nearly upright and at rest, within active speed limits."""
    problem = lw.TrajectoryProblem(ARM, num_steps=20, duration=1.0)
    problem = problem.add("torque", "least_squares", scale=0.1, name="effort")
    problem = problem.add("configuration", "equality", steps=-1, target=[2.2, 0.4], name="there")
    problem = problem.add("velocity", "equality", steps=-1, name="rest")
    return problem.add(lw.optimal.VelocityLimits(upper=4.0), "inequality", name="speed")


def _left(*results: Any) -> float:
    """Bound the difference of costs of one optimum: promised decrease, and cost of violations.

    A search ends where steps promise less than (1e-6)² (1 + cost), and what constraints are violated by, at most their
    tolerance, is worth multipliers times as much.
    """
    worth = sum(float(np.abs(x).sum()) for result in results for x in result.multipliers.values())
    return sum(4e-12 * (1.0 + result.cost) for result in results) + TOLERANCE * worth


@pytest.mark.slow(every=5)
def test_acceleration_controls_give_the_optimum_of_torque_controls_in_shooting() -> None:
    """Motor limits are active at some steps; torques and gains are equal."""
    problem, most = _lift(), np.array([14.8, 6.9])
    forward = problem.solve([0.0, 0.0], solver="ilqr", control_limits=most)
    by_acceleration = problem.solve([0.0, 0.0], solver="ilqr", dynamics="inverse", control_limits=most)
    assert forward.success and by_acceleration.success, (forward.explain(), by_acceleration.explain())
    assert abs(by_acceleration.cost - forward.cost) < _left(by_acceleration, forward)
    assert (
        np.abs(by_acceleration.q - forward.q).max() < 1e-5
        and np.abs(by_acceleration.controls - forward.controls).max() < 1e-3
    )
    assert (np.abs(by_acceleration.controls) < most + TOLERANCE * 1.01).all() and (
        by_acceleration.multipliers["motors"] != 0.0
    ).any()
    assert (np.abs(by_acceleration.multipliers["speed"]) > 1e-6).any() and np.abs(
        by_acceleration.velocities
    ).max() < 4.0 + 1.01e-9
    # the motion is what forward dynamics makes of the torques
    q, v, h = np.zeros(2), np.zeros(2), 0.05
    for tau, configuration in zip(by_acceleration.controls, by_acceleration.q, strict=True):
        a = ARM.forward_dynamics(q, v, tau)
        v = v + h * a
        q = q + h * v
        assert np.abs(q - configuration).max() < 1e-9
    assert np.abs(by_acceleration.accelerations[-1] - a).max() < 1e-7 and by_acceleration.gains.shape == (20, 2, 4)
    # gains: of a motion without limits, those of torques
    free = problem.solve([0.0, 0.0], solver="ilqr", control_limits=False, second_order=True)
    same = problem.solve([0.0, 0.0], solver="shooting", dynamics="inverse", control_limits=False)
    assert same.success and abs(same.cost - free.cost) < _left(same, free)
    # in a batch as alone, to the bit, and in pieces
    many = problem.solve([[0.0, 0.0], [0.1, 0.0]], solver="ilqr", dynamics="inverse", control_limits=most)
    assert np.array_equal(many.q[0], by_acceleration.q) and np.array_equal(many.gains[0], by_acceleration.gains)
    iterations: list[int] = []
    interrupted = problem.solve(
        [0.0, 0.0], solver="ilqr", dynamics="inverse", control_limits=most,
        callback=lambda x: iterations.append(x.iterations),
    )  # fmt: skip
    assert iterations and np.array_equal(interrupted.q, by_acceleration.q)


@pytest.mark.slow(every=3)
def test_acceleration_controls_in_shooting_give_the_optimum_of_path_problems() -> None:
    """For joint forces between steps, both have the same equations, and a missing motor is an equality."""
    problem = _lift().add_limits(torques=[14.8, 6.9])
    path = problem.solve([0.0, 0.0], tolerance=TOLERANCE, step_tolerance=1e-9)
    options: dict[str, Any] = {"solver": "ilqr", "dynamics": "inverse", "control_limits": False}
    result = problem.solve([0.0, 0.0], integrator="stormer_verlet", **options)
    assert path.success and result.success
    assert abs(path.cost - result.cost) < _left(path, result) and np.abs(path.q - result.q).max() < 1e-5
    assert np.abs(path.multipliers["rest"] - result.multipliers["rest"]).max() < 1e-4
    acrobot = lw.TrajectoryProblem(ARM, num_steps=40, duration=2.0).add(
        lw.optimal.TorqueFeature(["elbow"]), "least_squares", scale=0.1
    )
    acrobot = acrobot.add("configuration", "equality", steps=-1, target=[1.0, 0.2], name="there")
    swung = acrobot.solve([0.0, 0.0], actuated=["elbow"], max_iterations=400, **options)
    assert swung.success and swung.controls.shape == (40, 1) and swung.violations["no motor"] < TOLERANCE
    slack = acrobot.solve([0.0, 0.0], actuated=["elbow"], max_iterations=400, tolerance={"no motor": 1e-3}, **options)
    assert slack.success and slack.violations["no motor"] < 1e-3 and slack.violations["there"] < TOLERANCE
    assert slack.iterations <= swung.iterations


def test_unsupported_options_of_inverse_dynamics_shooting_are_refused() -> None:
    problem = lw.TrajectoryProblem(ARM, num_steps=4, duration=0.4).add("jerk", "least_squares")
    options: dict[str, Any] = {"solver": "ilqr", "dynamics": "inverse"}
    with pytest.raises(ValueError, match="'jerk': inverse dynamics does not provide jerk"):
        problem.solve([0.0, 0.0], **options)
    fine = lw.TrajectoryProblem(ARM, num_steps=4, duration=0.4).add("velocity", "least_squares")
    with pytest.raises(ValueError, match="controls: expected None: pass initial_guess="):
        fine.solve([0.0, 0.0], controls=np.zeros((4, 2)), **options)
    for wrong, known in ({"integrator": "stormer_verlt"}, "stormer_verlet"), ({"dynamics": "invers"}, "inverse"):
        ((name, said),) = wrong.items()
        with pytest.raises(ValueError, match=rf"{name}: expected one of .* got '{said}'; did you mean '{known}'"):
            fine.solve([0.0, 0.0], **options | wrong)
    lengths = (
        lw.TrajectoryProblem(ARM, num_steps=4, duration=0.4).add("velocity", "least_squares").add_parameter("length")
    )
    with pytest.raises(ValueError, match="not supported: length; expected no parameters"):
        lengths.solve([0.0, 0.0], **options)
