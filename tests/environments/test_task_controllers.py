"""Actions of controllers in environments: steps equal those of one long simulation with the same inputs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import linkwork as lw

pytest.importorskip("gymnasium")

from linkwork.environments import ControlTask, Randomization, VectorEnvironment
from linkwork.simulation import ControlOutput

ARM: Any = lw.load("arm7")
ARM = ARM.with_parameters({"armature": np.full(7, 0.2), "friction": np.zeros(7)})
HOME = np.array([0.1, 0.5, -0.2, -1.6, 0.3, 2.0, 0.4])
DT, EACH, COUNT = 2e-3, 5, 12
INERTIA = np.diag(ARM.mass_matrix(HOME, passive=True))
STIFFNESS, DAMPING = 60.0 * INERTIA, 6.0 * INERTIA


def _task(controller: Any, size: int, command: Any = None, **more: Any) -> ControlTask:
    return ControlTask(
        ARM,
        start=lambda rng: (HOME + 0.1 * rng.normal(size=7), 0.2 * rng.normal(size=7)),
        observe=lambda q, v, goal: [*q, *v],
        reward=lambda q, v, action, goal: -(action @ action),
        controller=controller,
        command=command,
        action_size=size,
        dt=DT,
        steps_per_action=EACH,
        horizon=COUNT,
        **more,
    )


def _pd(t: Any, q: Any, v: Any, action: Any) -> Any:
    return STIFFNESS * (HOME + 0.3 * action - q) - DAMPING * v


def _timed(t: Any, q: Any, v: Any, action: Any) -> Any:
    return ControlOutput(_pd(t, q, v, action) * (1.0 + np.sin(20.0 * t)), wrenches={"hand": [0.0] * 5 + [10.0 * t]})


class _Integral:
    """Controller whose state is the integral of the error."""

    start = np.full(7, 0.02)

    def __call__(self, t: Any, q: Any, v: Any, integral: Any, action: Any) -> Any:
        error = HOME + 0.3 * action - q
        return STIFFNESS * error - DAMPING * v + STIFFNESS * integral, integral + DT * error


def _targets(q: Any, v: Any, action: Any, goal: Any) -> dict[str, Any]:
    return {"target_q": HOME + 0.3 * action}


CASES: dict[str, tuple[Any, int, Any]] = {
    "function": (_pd, 7, None),
    "time and wrenches": (_timed, 7, None),
    "state": (_Integral(), 7, None),
    "PD": (lw.control.PD(ARM, STIFFNESS, DAMPING, effort_limits=20.0), 7, _targets),
    "PID": (lw.control.PID(ARM, STIFFNESS, 3.0 * STIFFNESS, DAMPING, dt=DT, feedforward="gravity"), 7, _targets),
    "ComputedTorque": (lw.control.ComputedTorque(ARM, 100.0, 20.0), 7, _targets),
}


@pytest.mark.costly
@pytest.mark.parametrize("name", CASES)
def test_actions_are_inputs_of_a_controller_in_a_simulation(name: str) -> None:
    controller, size, command = CASES[name]
    envs = VectorEnvironment(_task(controller, size, command), 2)
    observations, info = envs.reset(seed=1)
    assert not info and envs.single_action_space.shape == (size,)
    q0, v0 = observations[:, :7], observations[:, 7:]
    actions = np.random.default_rng(0).uniform(-1.5, 1.5, (COUNT, 2, size))
    rows = []
    for action in actions:
        observations, rewards, _, truncated, _ = envs.step(action)
        np.testing.assert_allclose(rewards, -(np.clip(action, -1.0, 1.0) ** 2).sum(axis=-1), rtol=0, atol=1e-12)
        rows.append(observations)
    assert truncated.all()
    for k in range(2):
        inputs = {"action": np.clip(actions[:, k], -1.0, 1.0)}
        if command is not None:
            inputs = {"target_q": HOME + 0.3 * inputs["action"]}
        run = ARM.simulate(
            q0[k],
            v0[k],
            controller=controller,
            time_inputs={key: np.repeat(x, EACH, axis=0) for key, x in inputs.items()},
            duration=COUNT * EACH * DT,
            dt=DT,
            record_every=EACH,
        )
        both = np.concatenate([run.q, run.v], axis=-1)[1:]
        np.testing.assert_allclose(np.array(rows)[:, k], both, rtol=0, atol=1e-9)
    again, _, _, _, _ = envs.step(actions[0])  # the next episode begins with the state and the time of its start
    start = envs.state
    observations = envs.step(actions[0])[0]
    law = (
        {"action": np.clip(actions[0, 1], -1.0, 1.0)}
        if command is None
        else _targets(0, 0, np.clip(actions[0, 1], -1, 1), 0)
    )
    run = ARM.simulate(start[0][1], start[1][1], controller=controller, constants=law, duration=EACH * DT, dt=DT)
    np.testing.assert_allclose(observations[1, :7], run.q[-1], rtol=0, atol=1e-10)
    assert again.shape == (2, 14)


@pytest.mark.slow(every=3)
def test_operational_space_controller_reaches_the_points_set_by_actions() -> None:
    law = lw.control.OperationalSpace(ARM, lw.ik.PositionTask("hand"), 400.0)

    def command(q: Any, v: Any, action: Any, goal: Any) -> dict[str, Any]:
        return {"hand": ARM.point_position(HOME, "hand") + 0.1 * np.array(action)}

    task = _task(law, 3, command)
    envs = VectorEnvironment(ControlTask(**{**vars(task), "horizon": 1000}), 2)
    envs.reset(seed=0)
    actions = np.array([[0.5, -0.5, 0.2], [-0.3, 0.4, 0.6]])
    for _ in range(200):
        envs.step(actions)
    reached = ARM.point_position(envs.state[0], "hand")
    expected = ARM.point_position(HOME, "hand") + 0.1 * actions
    assert np.linalg.norm(reached - expected, axis=-1).max() < 5e-3


def test_reward_functions_receive_the_previous_action() -> None:
    task = ControlTask(
        ARM,
        start=lambda rng: (HOME, np.zeros(7)),
        observe=lambda q, v, goal, last_action: [*last_action],
        reward=lambda q, v, action, goal, previous_action: action[0] - 10.0 * previous_action[0],
        joints=("elbow",),
        efforts=(1.0,),
        horizon=4,
    )
    for delay in (0, 1):
        envs = VectorEnvironment(task, 1, randomization=Randomization(action_delay=delay))
        assert envs.reset(seed=0)[0].tolist() == [[0.0]]
        issued = [0.5, -0.25, 2.0, 0.125, 7.0, 0.75]  # the fifth begins an episode, so it is ignored
        acting = [0.0] * delay + [0.5, -0.25, 1.0, 0.125]
        for k, action in enumerate(issued):
            observation, reward, _, truncated, _ = envs.step(np.array([[action]]))
            if k < 4:
                before = acting[k - 1] if k else 0.0
                assert observation[0, 0] == min(action, 1.0) and reward[0] == acting[k] - 10.0 * before
                assert truncated[0] == (k == 3)
            elif k == 4:
                assert observation[0, 0] == 0.0 and reward[0] == 0.0
            else:
                assert observation[0, 0] == 0.75 and reward[0] == (0.75 if delay == 0 else 0.0)


def test_invalid_controllers_sensors_and_functions_of_control_tasks_are_refused() -> None:
    pd, bar = lw.control.PD(ARM, STIFFNESS, DAMPING), lw.load("fourbar")
    driven: Any = bar.with_constraints(lw.constraints.Prescribed("crank_hinge", lambda t: t))
    imu = lw.simulation.IMU("hand", delay=3e-3)
    for call, error, words in (
        (
            lambda: ControlTask(driven, lambda rng: 0, lambda q, v, goal: 0, lambda *x: 0, ("crank_hinge",), (1.0,)),
            ValueError,
            r"expected constraints that do not depend on time, got 'prescribed\(crank_hinge\)'",
        ),
        (lambda: _task(pd, 7), ValueError, "command: expected a function .* PD by name: target_q"),
        (lambda: _task(_pd, None), ValueError, "action_size: expected the number of elements"),  # type: ignore[arg-type]
        (lambda: _task(_pd, 0), ValueError, "action_size: expected an integer >= 1"),
        (lambda: _task(3.0, 7), TypeError, "controller: expected a controller"),
        (lambda: _task(None, 7), ValueError, "joints: expected at least one joint, or a controller="),
        (
            lambda: _task(_pd, 7, joints=("elbow",), efforts=(1.0,)),
            ValueError,
            "joints, efforts: expected None with controller=",
        ),
        (
            lambda: ControlTask(ARM, lambda rng: 0, lambda q, v, goal: 0, lambda *x: 0, ("elbow",), ("1",)),  # type: ignore[arg-type]
            ValueError,
            r"ControlTask: efforts\[0\]: expected a finite number, got '1'",
        ),
        (lambda: _task(_pd, 7, sensors={"q": imu}), ValueError, "sensors: expected identifiers besides q, v"),
        (lambda: _task(_pd, 7, sensors={"imu": imu}), ValueError, "expected a delay that is a multiple of .* 0.01 s"),
        (lambda: _task(_pd, 7, sensors={"imu": 1}), TypeError, r"sensors\['imu'\]: expected"),
        (
            lambda: VectorEnvironment(_task(pd, 7, lambda q, v, action, goal: 1.0)),
            TypeError,
            "command: expected a dict",
        ),
        (lambda: _task(_pd, 7, observation_bounds=([1.0], [0.0])), ValueError, "lower: expected bounds <= upper"),
        (lambda: _task(_pd, 7).forces(np.zeros(7)), TypeError, "expected a task with joints and efforts"),
        (
            lambda: ControlTask(ARM, lambda rng: 0, lambda q, v, goal, imu: 0, lambda *x: 0, ("elbow",), (1.0,)),
            TypeError,
            "observe: expected a function called as .q, v, goal., and by name with any of last_action, robot",
        ),
    ):
        with pytest.raises(error, match=words):
            call()
