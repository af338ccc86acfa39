"""Underactuated robots: problems with motors in some joints, and time-varying LQR along their optimal motions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.control import TVLQRController, lqr_about_state, lqr_about_trajectory
from linkwork.joints import Prismatic, Revolute


def _crane() -> Any:
    """Return a cart on an inclined rail with a pole, whose joint has damping."""
    rail = lw.Joint.of(Prismatic((0.98, 0.0, 0.2)), name="rail", parent="world", child="cart", effort=40.0)
    hinge = lw.Joint.of(Revolute((0.1, 1.0, 0.0)), name="hinge", parent="cart", child="pole", damping=0.01)
    pole = lw.Link("pole", mass=0.5, com=(0.02, 0.01, -0.4), inertia=np.diag([0.02, 0.03, 0.01]))
    return lw.Robot.build("crane", lw.Link("cart", mass=1.5), pole, rail, hinge)


def _plan(robot: Any, start: Any, end: Any, steps: int, duration: float, actuators: Any, **how: Any) -> Any:
    problem = lw.TrajectoryProblem(robot, num_steps=steps, duration=duration, actuators=actuators)
    problem = problem.add("torque", "least_squares", scale=0.1)
    problem = problem.add("configuration", "equality", steps=-1, target=end, name="there")
    return problem.add("velocity", "equality", steps=-1, name="at rest").solve(start, **how)


@pytest.mark.slow(every=9)
@pytest.mark.parametrize("solver", ["augmented", "ilqr"])
def test_a_swing_up_of_an_underactuated_robot_is_tracked_from_a_disturbed_start(solver: str, tmp_path: Path) -> None:
    robot, down = _crane(), np.zeros(2)
    end = np.array([0.3, np.pi])
    plan = _plan(robot, down, end, 60, 2.5, "rail", solver=solver)
    assert plan.success
    motion = plan.trajectory()
    law = lqr_about_trajectory(robot, motion, Q=(100.0, 1.0), R=0.01, actuators="rail")
    # feed-forward forces are those of the motor, and the others are missing: both together those of inverse dynamics
    t = np.linspace(0.0, 2.5, 40, endpoint=False)
    q, v, a = motion(t)
    assert not law.feedforward(t)[:, 1].any() and not law.missing_forces(t)[:, 0].any()
    whole = robot.inverse_dynamics(q, v, a, passive=True)
    assert np.allclose(law.feedforward(t) + law.missing_forces(t), whole, rtol=0.0, atol=1e-12)
    assert 1e-3 < np.abs(law.missing_forces(t)).max() < 0.2 * np.abs(whole).max()
    # the error decays
    start = np.array([0.05, 0.1])
    run = robot.simulate(start, controller=law, duration=2.5, dt=1e-3, record_every=10)
    deviations = np.array([law.deviation(*x) for x in zip(run.t, run.q, run.v, strict=True)])
    assert np.abs(deviations[-1]).max() < 0.2 * np.abs(deviations[0]).max()
    # a matter of the tolerance
    with pytest.raises(ValueError, match=r"the motion needs a force of .* from 'hinge'"):
        lqr_about_trajectory(robot, motion, actuators="rail", tolerance=1e-6)
    # on symbols, and from a file
    kernel = lw.compile(lambda t, q, v: law(t, q, v), t=(), q=2, v=2)
    assert np.allclose(kernel(0.7, start, start), law(0.7, start, start), rtol=1e-9, atol=1e-9)
    law.save(tmp_path / "law.npz")
    loaded = TVLQRController.load(tmp_path / "law.npz", robot=robot)
    assert np.array_equal(loaded(0.7, start, start), law(0.7, start, start))


@pytest.mark.slow(every=9)
@pytest.mark.parametrize(("joint", "start"), [(0, (0.6, -0.4)), (1, (0.1, -0.1))])
def test_errors_of_tracked_plans_fall_with_the_steps_of_the_plan(joint: int, start: tuple[float, float]) -> None:
    """A double pendulum with a motor in one joint comes to rest."""
    robot: Any = lw.load("double_pendulum")
    name = robot.v_names[joint]
    errors = []
    for steps in (20, 40):
        plan = _plan(robot, start, [0.0, 0.0], steps, 1.5, name, solver="ilqr")
        assert plan.success and plan.controls.shape == (steps, 1)
        law = lqr_about_trajectory(robot, plan.trajectory(), Q=(100.0, 1.0), R=0.01, actuators=name)
        run = robot.simulate(start, controller=law, duration=1.5, dt=2e-4, record_every=100)
        errors.append(max(np.abs(law.deviation(*x)).max() for x in zip(run.t, run.q, run.v, strict=True)))
    assert errors[1] < 0.45 * errors[0] < 0.1


@pytest.mark.slow(every=9)
def test_a_plan_of_a_floating_robot_without_motors_at_its_base_is_tracked() -> None:
    robot: Any = lw.load("double_pendulum", floating_base=True).with_gravity((0.0, 0.0, 0.0))
    joints = lw.load("double_pendulum").v_names
    problem = lw.TrajectoryProblem(robot, num_steps=20, duration=1.0, actuators=joints)
    problem = problem.add("torque", "least_squares", scale=0.1)
    for k, name in enumerate(joints):
        problem = problem.add(lambda w, name=name, x=0.8 - k: w.q(name) - x, "equality", steps=-1, name=name)
        problem = problem.add(lambda w, name=name: w.v(name), "equality", steps=-1, name=f"rate of {name}")
    plan = problem.solve(robot.neutral(), solver="ilqr")
    assert plan.success and plan.controls.shape == (20, 2)
    law = lqr_about_trajectory(robot, plan.trajectory(), Q=(100.0, 1.0), R=0.01, actuators=joints)
    base = np.setdiff1d(np.arange(robot.nv), law.acting)
    assert np.abs(law.missing_forces(np.linspace(0.0, 1.0, 33))[:, base]).max() > 1e-6
    run = robot.simulate(robot.neutral(), controller=law, duration=1.0, dt=1e-3, record_every=100)
    errors = np.array([law.deviation(*x) for x in zip(run.t, run.q, run.v, strict=True)])
    assert np.abs(errors).max() < 0.04 and np.abs(run.q[-1] - robot.neutral()).max() > 0.5


def test_motions_that_the_actuators_cannot_cause_are_refused_with_their_missing_force() -> None:
    robot = _crane()
    motion = robot.spline([0.0, 1.0], [[0.0, 0.0], [0.0, 1.0]], boundary="clamped")
    refused = r"trajectory: the motion needs a force of .* from 'hinge', which is not an actuator: .*tolerance=0.1"
    with pytest.raises(ValueError, match=refused):
        lqr_about_trajectory(robot, motion, actuators="rail")
    with pytest.raises(ValueError, match="lqr_about_trajectory: tolerance: expected a finite number >= 0"):
        lqr_about_trajectory(robot, motion, actuators="rail", tolerance=-1.0)


def test_computed_equilibria_count_as_equilibria() -> None:
    robot = _crane().with_gravity((0.2 * 9.81, 0.0, -0.98 * 9.81))
    upright = robot.equilibrium([0.0, 3.0], descend=False).q
    for tilt, accepted in ((1e-7, True), (1e-3, False)):
        q = upright + np.array([0.0, tilt])
        if accepted:
            law = lqr_about_state(robot, q, Q=(10.0, 1.0), R=0.1, actuators="rail")
            assert law.tau[1] == 0.0 and np.linalg.eigvals(law.A - law.B @ law.K).real.max() < 0.0
        else:
            with pytest.raises(ValueError, match=r"rest needs a force of .* from 'hinge', which is not an actuator"):
                lqr_about_state(robot, q, Q=(10.0, 1.0), R=0.1, actuators="rail")


def test_problems_with_actuators_constrain_the_forces_of_the_other_joints() -> None:
    robot = _crane()
    problem = lw.TrajectoryProblem(robot, num_steps=4, duration=0.2, actuators="rail")
    (term,) = problem.terms
    of_term = term.name, term.kind, term.feature.joints, term.steps
    assert of_term == ("unactuated", "equality", ("hinge",), (0, 1, 2, 3))
    assert not lw.TrajectoryProblem(robot, num_steps=4, actuators=["hinge", "rail"]).terms
    with pytest.raises(lw.errors.UnknownNameError, match=r"TrajectoryProblem: actuators: no joint named 'rai'"):
        lw.TrajectoryProblem(robot, num_steps=4, actuators="rai")
    with pytest.raises(ValueError, match="TrajectoryProblem: actuators: expected at least one joint"):
        lw.TrajectoryProblem(robot, num_steps=4, actuators=[])


@pytest.mark.slow(every=3)
def test_controllers_of_problems_with_actuators_use_these_alone() -> None:
    problem = lw.TrajectoryProblem(_crane(), num_steps=5, duration=0.5, actuators="rail")
    problem = problem.add("configuration", "least_squares").add("velocity", "least_squares")
    controller = problem.controller(max_iterations=2)
    command = controller.step(([0.1, 0.2], [0.0, 0.0]), {"configuration": [0.0, 0.0]})
    assert controller.acting.tolist() == [0] and command.K.shape == (1, 4)
    assert command.torque[1] == 0.0 != command.torque[0]
    controller.reset()
    by_joint = controller.step(({"rail": 0.1, "hinge": 0.2}, [0.0, 0.0]), {"configuration": [0.0, 0.0]})
    assert np.array_equal(by_joint.torque, command.torque)
    message = "expected joints with motors, but the problem constrains the force of 'hinge' to zero"
    with pytest.raises(ValueError, match=f"controller: actuators: {message}"):
        problem.controller(actuators="hinge")
    with pytest.raises(ValueError, match=f"solver='ilqr': actuated: {message}"):
        problem.solve([0.0, 0.0], solver="ilqr", actuated=["rail", "hinge"])


def test_limits_by_joint_are_those_of_arrays_and_of_the_robot_for_other_joints() -> None:
    robot = _crane()
    problem = lw.TrajectoryProblem(robot, num_steps=3, duration=0.2)
    alone = dict.fromkeys(("positions", "velocities", "accelerations", "jerks"), False)
    by_name = problem.add_limits(**alone, torques={"hinge": 0.5})
    assert by_name.terms[0].feature == problem.add_limits(**alone, torques=[40.0, 0.5]).terms[0].feature
    (ranges,) = problem.add_limits(**alone | {"positions": {"rail": (-0.3, 0.7)}}).terms
    assert ranges.feature.component_names == ("rail: lower", "rail: upper")
    for wrong, error in (
        (
            {"positions": {"rial": (0.0, 1.0)}},
            "add_limits: positions: no coordinate of q named 'rial'",
        ),
        ({"torques": {"rial": 1.0}}, "add_limits: torques: no joint or coordinate of v named 'rial'"),
        ({"velocities": {"rail": -1.0}}, r"add_limits: velocities\['rail'\]: expected numbers >= 0"),
    ):
        with pytest.raises(ValueError, match=error):
            problem.add_limits(**wrong)
    # the limits of loops stay beside a dict
    linkage = lw.load("fourbar")
    limited = [*lw.TrajectoryProblem(linkage, num_steps=3).add_limits().terms]
    named = lw.TrajectoryProblem(linkage, num_steps=3).add_limits(positions={linkage.q_names[0]: (-1.0, 1.0)}).terms
    rows = [{row for term in terms for row in term.feature.component_names} for terms in (limited, named)]
    assert rows[0] <= rows[1]


@pytest.mark.slow(every=3)
def test_tables_of_results_show_the_margins_of_inequalities() -> None:
    problem = lw.TrajectoryProblem(_crane(), num_steps=4, duration=0.4).add("acceleration", "least_squares")
    problem = problem.add("configuration", "equality", steps=-1, target=[0.1, 0.2], name="there")
    result = problem.add_limits(positions={"rail": (-1.5, 0.75)}).solve([0.0, 0.0])
    (line,) = (line for line in str(result).splitlines() if line.startswith("position limits"))
    assert float(line.split()[3]) == pytest.approx(0.1 - 0.75, abs=1e-3)


def test_states_of_regulators_and_linear_models_are_arrays_or_dicts_by_joint() -> None:
    robot: Any = lw.load("double_pendulum")
    state: Any = {"q": {"shoulder": np.pi}, "v": {"elbow": 0.5}, "tau": {"shoulder": 0.2}}
    arrays: Any = {"q": [np.pi, 0.0], "v": [0.0, 0.5], "tau": [0.2, 0.0]}
    for call in (lqr_about_state, lw.control.linear_model):
        by_name, by_array = call(robot, **state), call(robot, **arrays)
        assert np.array_equal(by_name.A, by_array.A) and np.array_equal(by_name.B, by_array.B)
        assert np.array_equal(by_name.tau, by_array.tau)
        with pytest.raises(lw.errors.UnknownNameError, match=r"q: no joint named 'sholder'; did you mean 'shoulder'"):
            call(robot, {"sholder": 1.0})


def test_costs_by_step_and_results_are_refused_by_lqr_about_trajectories() -> None:
    robot: Any = lw.load("double_pendulum")
    motion = robot.spline([0.0, 0.1], [[0.0, 0.0], [0.1, 0.0]], boundary="clamped")
    for name, n in (("Q", 4), ("R", 2), ("end", 4)):
        with pytest.raises(ValueError, match=rf"{name}: expected one matrix for all steps, got shape \(11, {n}, {n}\)"):
            lqr_about_trajectory(robot, motion, **{name: np.tile(np.eye(n), (11, 1, 1))})
    timed = lw.motion.time_optimal(motion, acceleration=1.0)
    with pytest.raises(TypeError, match=r"expected a lw.motion.Trajectory, got .*; pass its trajectory"):
        lqr_about_trajectory(robot, timed)
