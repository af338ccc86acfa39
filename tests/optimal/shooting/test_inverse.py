"""Accelerations as controls: the same optima as with torques, and as those of paths by inverse dynamics."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import linkwork as lw

ARM = lw.load("double_pendulum")
TOLERANCE = 1e-9


def _lift() -> lw.TrajectoryProblem:
    """From hanging to nearly upright and at rest, within limits of speed that matter."""
    problem = lw.TrajectoryProblem(ARM, num_steps=20, duration=1.0)
    problem = problem.add("torque", "least_squares", scale=0.1, name="effort")
    problem = problem.add("configuration", "equality", steps=-1, target=[2.2, 0.4], name="there")
    problem = problem.add("velocity", "equality", steps=-1, name="rest")
    return problem.add(lw.optimal.VelocityLimits(upper=4.0), "inequality", name="speed")


def _left(*results: Any) -> float:
    """How far costs of the same optimum may be apart: what steps still promise, and what violations are worth.

    A search ends where steps promise less than (1e-6)² (1 + cost), and what constraints are violated by, at most their
    tolerance, is worth multipliers times as much.
    """
    worth = sum(float(np.abs(x).sum()) for found in results for x in found.multipliers.values())
    return sum(4e-12 * (1.0 + found.cost) for found in results) + TOLERANCE * worth


@pytest.mark.slow(every=3)
def test_accelerations_find_the_optimum_that_torques_find() -> None:
    """Within limits of motors, which press at some steps and hold; torques and gains come out as with torques."""
    problem, most = _lift(), np.array([14.8, 6.9])
    forward = problem.solve([0.0, 0.0], solver="ilqr", control_limits=most)
    found = problem.solve([0.0, 0.0], solver="ilqr", dynamics="inverse", control_limits=most)
    assert forward.success and found.success, (forward.explain(), found.explain())
    assert abs(found.cost - forward.cost) < _left(found, forward)
    assert np.abs(found.q - forward.q).max() < 1e-5 and np.abs(found.controls - forward.controls).max() < 1e-3
    assert (np.abs(found.controls) < most + TOLERANCE * 1.01).all() and (found.multipliers["motors"] != 0.0).any()
    assert (np.abs(found.multipliers["speed"]) > 1e-6).any() and np.abs(found.velocities).max() < 4.0 + 1.01e-9
    # the motion is what forward dynamics makes of the torques
    q, v, h = np.zeros(2), np.zeros(2), 0.05
    for tau, there in zip(found.controls, found.q, strict=True):
        a = ARM.forward_dynamics(q, v, tau)
        v = v + h * a
        q = q + h * v
        assert np.abs(q - there).max() < 1e-9
    assert np.abs(found.accelerations[-1] - a).max() < 1e-7 and found.gains.shape == (20, 2, 4)
    # gains: of a motion without limits, those of torques
    free = problem.solve([0.0, 0.0], solver="ilqr", control_limits=False, second_order=True)
    same = problem.solve([0.0, 0.0], solver="shooting", dynamics="inverse", control_limits=False)
    assert same.success and abs(same.cost - free.cost) < _left(same, free)
    # in a batch as alone, to the bit, and in pieces
    many = problem.solve([[0.0, 0.0], [0.1, 0.0]], solver="ilqr", dynamics="inverse", control_limits=most)
    assert np.array_equal(many.q[0], found.q) and np.array_equal(many.gains[0], found.gains)
    seen: list[int] = []
    pieces = problem.solve(
        [0.0, 0.0], solver="ilqr", dynamics="inverse", control_limits=most,
        callback=lambda x: seen.append(x.iterations),
    )  # fmt: skip
    assert seen and np.array_equal(pieces.q, found.q)


@pytest.mark.slow(every=3)
def test_the_optimum_of_paths_by_inverse_dynamics() -> None:
    """With joint forces between steps both have the same equations, and a motor less is an equality."""
    problem = _lift().add_limits(torques=[14.8, 6.9])
    path = problem.solve([0.0, 0.0], tolerance=TOLERANCE, step_tolerance=1e-9)
    given: dict[str, Any] = {"solver": "ilqr", "dynamics": "inverse", "control_limits": False}
    found = problem.solve([0.0, 0.0], integrator="stormer_verlet", **given)
    assert path.success and found.success
    assert abs(path.cost - found.cost) < _left(path, found) and np.abs(path.q - found.q).max() < 1e-5
    assert np.abs(path.multipliers["rest"] - found.multipliers["rest"]).max() < 1e-4
    acrobot = lw.TrajectoryProblem(ARM, num_steps=40, duration=2.0).add(
        lw.optimal.TorqueFeature(["elbow"]), "least_squares", scale=0.1
    )
    acrobot = acrobot.add("configuration", "equality", steps=-1, target=[1.0, 0.2], name="there")
    swung = acrobot.solve([0.0, 0.0], actuated=["elbow"], max_iterations=400, **given)
    assert swung.success and swung.controls.shape == (40, 1) and swung.violations["no motor"] < TOLERANCE
    slack = acrobot.solve([0.0, 0.0], actuated=["elbow"], max_iterations=400, tolerance={"no motor": 1e-3}, **given)
    assert slack.success and slack.violations["no motor"] < 1e-3 and slack.violations["there"] < TOLERANCE
    assert slack.iterations <= swung.iterations


def test_what_inverse_dynamics_does_not_answer_is_said() -> None:
    problem = lw.TrajectoryProblem(ARM, num_steps=4, duration=0.4).add("jerk", "least_squares")
    given: dict[str, Any] = {"solver": "ilqr", "dynamics": "inverse"}
    with pytest.raises(ValueError, match="'jerk': inverse dynamics does not provide jerk"):
        problem.solve([0.0, 0.0], **given)
    fine = lw.TrajectoryProblem(ARM, num_steps=4, duration=0.4).add("velocity", "least_squares")
    with pytest.raises(ValueError, match="controls: expected None: pass initial_guess="):
        fine.solve([0.0, 0.0], controls=np.zeros((4, 2)), **given)
    for wrong, known in ({"integrator": "stormer_verlt"}, "stormer_verlet"), ({"dynamics": "invers"}, "inverse"):
        ((name, said),) = wrong.items()
        with pytest.raises(ValueError, match=rf"{name}: expected one of .* got '{said}'; did you mean '{known}'"):
            fine.solve([0.0, 0.0], **given | wrong)
    lengths = (
        lw.TrajectoryProblem(ARM, num_steps=4, duration=0.4).add("velocity", "least_squares").add_parameter("length")
    )
    with pytest.raises(ValueError, match="not supported: length; expected no parameters"):
        lengths.solve([0.0, 0.0], **given)
