"""Model-predictive control of robots in contact or with loops: forces, gains and braking account for constraints."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.control import finite_horizon_lqr

STEPS, TAU = 4, 0.05
TRUNK, LEG, G = 4.0, 1.0, 9.81
STANDING = np.array([0.5, -0.5])

UP = lw.joints.Prismatic((0, 0, 1))
HOPPER = lw.Robot.build(
    "hopper",
    lw.Link("trunk", mass=TRUNK),
    lw.Link("leg", mass=LEG),
    lw.Joint.of(UP, name="height", parent="world", child="trunk"),
    lw.Joint.of(UP, name="hip", parent="trunk", child="leg"),
).with_point("foot", "leg", (0, 0, 0))


def _stands(**contact: Any) -> Any:
    """On its foot: the rail has no motor."""
    problem = lw.TrajectoryProblem(HOPPER, num_steps=STEPS, duration=STEPS * TAU)
    problem = problem.add_contact("foot", friction=None, effort=0.0, **contact)
    return problem.add("acceleration", "least_squares", scale=0.1).add(
        "configuration", "least_squares", target=STANDING
    )


@pytest.mark.slow(every=5)
@pytest.mark.parametrize("solver", ["augmented", "ilqr"])
def test_standing_leg_supports_its_trunk_under_mpc(solver: str, tmp_path: Path) -> None:
    """The hip carries the trunk by a new plan, by the last one if time is up, and while braking; K is that of LQR."""
    problem = _stands()
    if solver == "augmented":
        problem = problem.add(lw.optimal.TorqueFeature(["height"]), "equality", name="no motor")
    controller = problem.controller(actuators=["hip"], solver=solver, Q=(100.0, 1.0), R=1e-3)
    state, expected = (STANDING, np.zeros(2)), np.array([0.0, -TRUNK * G])
    command = controller.step(state)
    assert command.status == "planned" and np.allclose(command.torque, expected, atol=1e-6)
    gaps = [*[TAU] * (STEPS - 1), 0.5 * TAU]  # between configurations
    A, B = [[[1.0, g], [0.0, 1.0]] for g in gaps], np.array([[[-TAU * g], [-TAU]] for g in gaps]) / TRUNK
    cost = np.diag([200.0, 2.0])  # of both joints, that move against each other
    K = finite_horizon_lqr(np.array(A), B, cost, [[1e-3]], end=cost).K[0] @ [[1.0, 0.5 * TAU], [0.0, 1.0]]
    on_its_foot = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]])
    assert np.allclose(command.K @ on_its_foot, K, rtol=1e-6)
    low = STANDING + np.array([0.01, -0.01])
    assert np.allclose(command(low, np.zeros(2)), expected - [0.0, 0.01 * K[0, 0]], atol=1e-5)
    # two at a time, carried on in a file and pickled
    controller.save(tmp_path / "it.npz")
    twin = pickle.loads(pickle.dumps(controller))
    twin.restore(tmp_path / "it.npz")
    assert np.array_equal(twin.step(state).torque, controller.step(state).torque)
    controller.time_limit = 0.0
    late = controller.step(state)
    assert late.status == "late" and np.allclose(late.torque, expected, atol=1e-6)
    controller.reset()
    both = controller.step((np.stack([STANDING, low]), np.array([[0.0, 0.0], [1.0, -1.0]])))
    assert (both.status == "braking").all() and np.allclose(both.torque[0], expected)
    assert np.allclose(both.torque[1], [0.0, -TRUNK * (G - 1.0 / controller.fallback_braking_time)])


@pytest.mark.slow(every=5)
def test_mpc_of_a_four_bar_does_not_depend_on_loop_forces_as_decision_variables() -> None:
    """The crank moves equally with and without loop forces among the unknowns."""
    robot = lw.load("fourbar")
    start = robot.assemble(robot.neutral()).q
    free = robot.without_constraints()
    rng = np.random.default_rng(0)
    for forces in (False, True):
        problem = lw.TrajectoryProblem(robot, num_steps=STEPS, duration=STEPS * TAU).add(
            "acceleration", "least_squares", scale=0.1
        )
        turned = lw.ik.JointTask("crank_hinge")
        problem = problem.add(turned, "least_squares", scale=20.0, target=start[0] + 0.3, name="turned")
        if forces:
            idle = lw.optimal.TorqueFeature(["coupler_hinge", "rocker_hinge"])
            problem = problem.add(idle, "equality", name="no motors", steps=slice(1, None))
        controller = problem.controller(actuators=["crank_hinge"])
        command = controller.step((start, np.zeros(3)))
        plan = controller.plan
        assert command.status == "planned" and not command.torque[1:].any() and abs(command.torque[0]) > 0.05
        for k in range(STEPS):
            a = (plan.v[k + 1] - plan.v[k]) / TAU
            q, v = plan.q[k] + 0.5 * TAU * plan.v[k], 0.5 * (plan.v[k] + plan.v[k + 1])  # in the middle of the step
            left = free.inverse_dynamics(q, v, a) - plan.tau[k]
            pulled = np.linalg.lstsq(robot.constraint_jacobian(q).T, left, rcond=1e-9)[0]
            left = left - robot.constraint_jacobian(q).T @ pulled
            assert np.abs(left).max() < (1e-9 if k == 0 else 1e-2) * np.abs(plan.tau[:, 0]).max()
        v = rng.normal(size=3)
        free_to = np.linalg.svd(robot.constraint_jacobian(start))[2][-1]
        v = free_to * (free_to @ v)
        controller.reset()
        controller.time_limit = 0.0
        braking = controller.step((start, v))
        left = free.inverse_dynamics(start, v, -v / controller.fallback_braking_time) - braking.torque
        assert braking.status == "braking" and abs(free_to @ left) < 1e-9 and braking.torque[0] != 0.0


def test_mpc_with_sliding_contacts_is_refused() -> None:
    for solver in ("augmented", "ilqr"):
        with pytest.raises(
            ValueError, match=r"controller.*contact 'foot': stays: expected True: contacts that may slide"
        ):
            _stands(stays=False, height=0.0).controller(actuators=["hip"], solver=solver)


@pytest.mark.slow(every=5)
@pytest.mark.parametrize("solver", ["augmented", "ilqr"])
def test_contact_phases_of_mpc_can_change_at_each_call(solver: str) -> None:
    """A hop with stance and flight passed at each step is planned as a problem with this schedule."""

    def hops(stance: tuple[int, int], down: tuple[int, int]) -> Any:
        phases = {"stance": stance, "down": down, "always": (0, STEPS)}
        problem = lw.TrajectoryProblem(HOPPER, num_steps=STEPS, duration=STEPS * TAU, phases=phases)
        problem = problem.add_contact("foot", steps="stance", friction=None)
        problem = problem.add("acceleration", "least_squares", scale=0.1).add(
            "velocity", "least_squares", steps="down", name="slow"
        )
        problem = problem.add(lambda w: w.q("hip") + 0.4, "inequality", steps="always", name="long")
        if solver == "augmented":
            problem = problem.add(lw.optimal.TorqueFeature(["height"]), "equality", name="no motor", scale=0.02)
        return problem.add("configuration", "least_squares", target=STANDING)

    def controller(*phases: tuple[int, int]) -> Any:
        return hops(*phases).controller(actuators=["hip"], solver=solver, first_max_iterations=200)

    state, once = (STANDING, np.zeros(2)), controller((0, STEPS), (0, 1))
    cases: tuple[tuple[Any, Any], ...] = (((0, 2), (1, 3)), ((1, 4), (0, 1)), ((0, 4), (2, 4)))
    for stance, down in cases:
        expected = controller(stance, down).step(state)
        once.reset()
        command = once.step(state, phases={"stance": stance, "down": down})
        assert command.status == expected.status == "planned"
        assert np.allclose(command.torque, expected.torque, rtol=1e-5, atol=1e-5), (
            stance,
            command.torque,
            expected.torque,
        )
        assert np.allclose(command.K, expected.K, rtol=1e-3, atol=1e-3 * np.abs(expected.K).max())
    # of each environment, by step; in flight without end there is nothing to push against
    masks = np.zeros((3, STEPS), dtype=bool)
    masks[0], masks[1, 1:] = True, True
    once.reset()
    both = once.step((np.stack([STANDING] * 3), np.zeros((3, 2))), phases={"stance": masks, "down": None})
    for k, stance in enumerate(((0, STEPS), (1, STEPS), None)):
        once.reset()
        alone = once.step(state, phases={"stance": stance, "down": None})
        assert np.array_equal(alone.torque, both.torque[k]) and np.array_equal(alone.K, both.K[k])
    once.time_limit = 0.0
    once.reset()
    assert np.allclose(once.step(state, phases={"stance": (1, 2)}).torque, [0.0, LEG * G])  # braking in the air
    for phases, error, said in (
        ({"stanc": None}, KeyError, "stance"),
        (
            {"stance": (0, 9)},
            ValueError,
            r"phases: 'stance': expected \(first step.*within 0 to 4, None, or 4 booleans",
        ),
        ({"stance": [True]}, ValueError, "4 booleans"),
        ([("stance", None)], TypeError, "phases: expected a dict"),
    ):
        with pytest.raises(error, match=said):
            once.step(state, phases=phases)
