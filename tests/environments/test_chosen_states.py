"""Episodes from chosen states, resets by a mask, and the information of tasks."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

pytest.importorskip("gymnasium")

from gymnasium.vector import AutoresetMode

import linkwork as lw
from linkwork.environments import TASKS, ControlTask, Randomization, SingleEnvironment, VectorEnvironment
from linkwork.errors import UnknownNameError
from linkwork.simulation import Encoder

GRID = np.array([[0.1, 0.05], [-0.2, 0.1], [0.3, -0.15], [0.0, 0.0]])


def _task(noise: float = 0.0, **more: Any) -> ControlTask:
    """Return a cart-pole that fails after it has tilted, with a goal that is observed, and an encoder with noise."""
    base: Any = TASKS["cart_pole"]()

    def observe(q: Any, v: Any, goal: Any, angles: Any) -> list[Any]:
        return [*q, *v, *goal, *angles]

    def failed(q: Any, v: Any, goal: Any) -> Any:
        return np.abs(q[1]) > 0.3

    def start(rng: np.random.Generator) -> tuple[Any, Any]:
        return rng.normal(0.0, 0.1, 2), rng.normal(0.0, 0.1, 2)

    sensors = {"angles": Encoder(noise=noise)}
    changes = {"observe": observe, "failed": failed, "sensors": sensors, "observation_bounds": None, "horizon": 60}
    return replace(base, **changes, start=start, goal=lambda rng: rng.normal(size=2), **more)


def test_episodes_begin_in_chosen_states_with_chosen_goals() -> None:
    task = _task()
    envs = VectorEnvironment(task, 4)
    drawn, _ = envs.reset(seed=3)
    chosen, _ = envs.reset(seed=3, options={"q": GRID})
    assert np.array_equal(envs.state[0], GRID) and not envs.state[1].any()
    assert np.array_equal(chosen[:, 4:6], drawn[:, 4:6])  # goals are drawn as without options
    assert np.array_equal(chosen[:, 6:], GRID)
    chosen, _ = envs.reset(options={"q": {"pivot": 0.2}, "v": [0.5, -0.25], "goal": np.arange(8.0).reshape(4, 2)})
    expected = np.tile([0.0, 0.2, 0.5, -0.25], (4, 1))
    assert np.array_equal(chosen[:, :4], expected) and np.array_equal(chosen[:, 4:6], np.arange(8.0).reshape(4, 2))
    # with v alone, q is drawn
    drawn = envs.reset(seed=3)[0]
    moving = envs.reset(seed=3, options={"v": [0.5, -0.25]})[0]
    assert np.array_equal(moving[:, :2], drawn[:, :2]) and np.array_equal(moving[:, 2:4], expected[:, 2:])
    # steps from a state that was observed before equal those that followed it
    envs.reset(seed=3)
    for _ in range(5):
        envs.step(np.full((4, 1), 0.1))
    q, v = envs.state
    after = envs.step(np.full((4, 1), -0.3))[0]
    envs.reset(options={"q": q, "v": v, "goal": after[:, 4:6]})
    assert np.array_equal(envs.step(np.full((4, 1), -0.3))[0], after)
    single = SingleEnvironment(task)
    observation, _ = single.reset(seed=3, options={"q": GRID[1], "v": {"rail": 0.5}, "goal": [1.0, 2.0]})
    assert observation[:6].tolist() == [*GRID[1], 0.5, 0.0, 1.0, 2.0]


def test_invalid_options_of_resets_are_refused() -> None:
    envs = VectorEnvironment(_task(), 4)
    envs.reset(seed=0)
    where, mask = "VectorEnvironment.reset: options", np.array([True, False, False, False])
    for options, error in (
        ({"q": [0.0, 0.1, 0.2]}, rf"{where}: q: expected an array of shape \(..., 2\)"),
        ({"q": np.zeros((3, 2))}, rf"{where}: q: expected \(2,\) or \(4, 2\), got \(3, 2\)"),
        ({"v": [0.0, np.nan]}, rf"{where}: v: expected .*got nan"),
        ({"goal": [1.0]}, rf"{where}: goal: expected .* of shape \(..., 2\)"),
        ({"reset_mask": mask}, rf"{where}: reset_mask: expected autoreset_mode=AutoresetMode.DISABLED"),
        ({"reset_mask": mask[:2]}, rf"{where}: reset_mask: expected bools \(4,\), at least one True"),
    ):
        with pytest.raises(ValueError, match=error):
            envs.reset(options=options)
    for unknown, error in (({"state": 1}, "no option named 'state'"), ({"q": {"pivott": 0.1}}, "did you mean 'pivot'")):
        with pytest.raises(UnknownNameError, match=error):
            envs.reset(options=unknown)
    with pytest.raises(TypeError, match=f"{where}: expected a dict, got 'q'"):
        envs.reset(options="q")  # type: ignore[arg-type]
    by_mask = VectorEnvironment(_task(), 4, autoreset_mode=AutoresetMode.DISABLED)
    with pytest.raises(RuntimeError, match="reset_mask: call reset\\(\\) without a mask first"):
        by_mask.reset(options={"reset_mask": mask})
    by_mask.reset(seed=0)
    with pytest.raises(ValueError, match=r"VectorEnvironment.reset: seed: expected None with a reset_mask, got 1"):
        by_mask.reset(seed=1, options={"reset_mask": mask})


def test_states_that_violate_constraints_are_refused_by_resets() -> None:
    robot: Any = lw.load("fourbar")
    closed, crank = robot.assemble().q, robot.v_names[0]
    task = ControlTask(
        robot,
        start=lambda rng: (closed, np.zeros(3)),
        observe=lambda q, v, goal: [*q],
        reward=lambda q, v, action, goal: 0.0,
        joints=(crank,),
        efforts=(1.0,),
    )
    environment = SingleEnvironment(task)
    with pytest.raises(ValueError, match=r"reset: options: .*q: expected an assembled configuration"):
        environment.reset(seed=0, options={"q": closed + 0.1})
    # Of the drawn robot, not of the nominal one: its joints are elsewhere.
    reach = np.array([0.0, 0.0, 0.0, 0.01, 0.0, 0.01])  # in the plane of the motion
    varied = Randomization(parameters={"placement:coupler_hinge": (-reach, reach)})
    with pytest.raises(ValueError, match=r"task: start: q: expected an assembled configuration, got an error of"):
        VectorEnvironment(task, 2, None, varied)
    drawn = replace(task, start=lambda rng, robot: (robot.project(closed), np.zeros(3)))
    envs = VectorEnvironment(drawn, 2, None, varied)
    envs.reset(seed=0)
    open_loops = np.abs(robot.constraint_error(envs.state[0])).max(axis=-1)
    assert (open_loops > 1e-6).all()  # they close the loops of their own robots


@pytest.mark.slow(every=3)
def test_resets_by_a_mask_do_not_depend_on_the_other_environments() -> None:
    varied = Randomization(bias=(-0.01, 0.01), action_delay=(0, 1), observation_delay=(0, 2), noise=0.001)
    task = _task(0.01)
    by_mask = VectorEnvironment(task, 3, None, varied, AutoresetMode.DISABLED)
    alone = [VectorEnvironment(task, 1, None, varied, AutoresetMode.DISABLED) for _ in range(3)]
    observations = by_mask.reset(seed=[4, 5, 6])[0]
    for k, envs in enumerate(alone):
        assert np.array_equal(envs.reset(seed=[4 + k])[0][0], observations[k])
    ends = 0
    for _ in range(80):
        actions = np.sin(30.0 * observations[:, :1])
        observations, _, terminated, truncated, _ = by_mask.step(actions)
        ended, before, state = terminated | truncated, observations, by_mask.state
        if ended.any():
            with pytest.raises(RuntimeError, match=r"the episodes of the environments \[.*\] have ended; call reset"):
                by_mask.step(actions)
            observations, info = by_mask.reset(options={"reset_mask": ended})
            assert np.array_equal(info["_randomization"], ended)
            for x, y in ((observations, before), *zip(by_mask.state, state, strict=True)):
                assert np.array_equal(x[~ended], y[~ended]) and (x[ended] != y[ended]).any(axis=1).all()
        for k, envs in enumerate(alone):
            result = envs.step(actions[k : k + 1])
            assert (result[2] | result[3])[0] == ended[k]
            observed = envs.reset(options={"reset_mask": np.array([True])})[0] if ended[k] else result[0]
            assert np.array_equal(observed[0], observations[k])
        ends += np.count_nonzero(ended)
    assert ends > 3


@pytest.mark.parametrize("mode", [*AutoresetMode])
def test_information_of_a_task_is_returned_by_steps(mode: AutoresetMode) -> None:
    def info(q: Any, v: Any, action: Any, goal: Any, previous_action: Any, angles: Any) -> dict[str, Any]:
        change = action - previous_action
        return {"angle": q[1], "far": np.abs(q[0]) > 0.05, "change": change @ change, "sensed": angles[1]}

    envs = VectorEnvironment(_task(info=info), 4, autoreset_mode=mode)
    envs.reset(seed=0, options={"q": GRID})
    before, over, ends = np.zeros((4, 1)), np.zeros(4, dtype=bool), 0
    for k in range(70):
        actions = np.array([[0.9], [0.1], [-0.2], [0.0]]) * np.sin(k)
        observations, _, terminated, truncated, logged = envs.step(actions)
        ended = terminated | truncated
        again = over if mode == AutoresetMode.NEXT_STEP else np.zeros(4, dtype=bool)
        values = {name: np.zeros(4) for name in ("angle", "far", "change", "sensed")}
        for part, mask in ((logged, ~again), (logged.get("final_info") or {}, ended)):
            for name in values if part else ():
                shown = mask & ~ended if part is logged and mode == AutoresetMode.SAME_STEP else mask
                assert np.array_equal(part[f"_{name}"], shown) and not part[name][~shown].any()
                values[name] += part[name]
        x = np.stack(list(logged["final_obs"][ended])) if "final_obs" in logged else observations[ended]
        last = observations.copy()
        last[ended] = x
        change = np.where(again, 0.0, (actions - before)[:, 0] ** 2)
        for name, exact in (("angle", last[:, 1]), ("far", abs(last[:, 0]) > 0.05), ("change", change)):
            assert np.allclose(values[name], np.where(again, 0.0, exact), rtol=0.0, atol=1e-12)
        assert np.array_equal(values["sensed"], values["angle"])
        fresh = ended if mode != AutoresetMode.NEXT_STEP else again
        before, over, ends = np.where(fresh[:, None], 0.0, actions), ended, ends + np.count_nonzero(ended)
        if mode == AutoresetMode.DISABLED and ended.any():
            envs.reset(options={"reset_mask": ended})
    assert ends >= 4


def test_single_environments_return_information_as_plain_values() -> None:
    single = SingleEnvironment(_task(info=lambda q, v, action, goal: {"angle": q[1], "tilted": q[1] > 0.1}))
    single.reset(seed=0, options={"q": [0.0, 0.2]})
    observation, _, _, _, info = single.step(np.zeros(1))
    assert info == {"angle": observation[1], "tilted": 1.0}


def test_invalid_information_and_observations_are_refused() -> None:
    for info, kind, error in (
        (
            lambda q, v, action, goal: [1.0],
            TypeError,
            "ControlTask: info: expected a dict of numbers by name, got list",
        ),
        (lambda q, v, action, goal: {"a b": 1.0}, ValueError, "info: expected identifiers besides .*, got 'a b'"),
        (lambda q, v, action, goal: {"final_obs": 1.0}, ValueError, "info: expected identifiers besides .*'final_obs'"),
        (lambda q, v, action, goal: {"a": q}, TypeError, "ControlTask: info: 'a': expected a number or a truth value"),
        (lambda q: {}, TypeError, r"ControlTask: info: expected a function called as \(q, v, action, goal\)"),
        (3, ValueError, "ControlTask: info: expected a function, got 3"),
    ):
        with pytest.raises(kind, match=error):
            VectorEnvironment(_task(info=info))
    robot: Any = TASKS["cart_pole"]().robot
    expected = r"ControlTask: observe: expected a flat list of numbers, such as \[\*q, \*v\], got "
    for observe, got in (
        (lambda q, v, goal: robot.pose(q, "pole"), r"an array \(4, 4\)"),
        (lambda q, v, goal: [q, v], r"an array \(2, 2\)"),
        (lambda q, v, goal: [*q, v], "entries of several shapes"),
        (lambda q, v, goal: q[0], "a number"),
        (lambda q, v, goal: {"q": q}, "a dict"),
    ):
        with pytest.raises(TypeError, match=expected + got):
            VectorEnvironment(replace(TASKS["cart_pole"](), observe=observe))
    with pytest.raises(ValueError, match=r"ControlTask: robot: expected a robot, as lw.load returns it, got 0.99"):
        replace(_task(), robot=0.99)


def test_start_returns_states_by_joint_or_arrays() -> None:
    robot: Any = TASKS["cart_pole"]().robot
    rail, hinge = robot.v_names

    def states(start: Any) -> np.ndarray:
        return np.asarray(VectorEnvironment(replace(_task(), start=start), 3).reset(seed=4)[0])

    by_joint = states(lambda rng: ({hinge: 0.1 * rng.random()}, {rail: 0.2, hinge: -0.3}))
    assert np.array_equal(by_joint, states(lambda rng: ([0.0, 0.1 * rng.random()], [0.2, -0.3])))
    assert np.array_equal(by_joint, states(lambda rng: ({hinge: 0.1 * rng.random()}, np.array([0.2, -0.3]))))
    for start, error, words in (
        (({"pol": 0.1}, {}), UnknownNameError, "ControlTask: start: q: no joint named 'pol'"),
        (({}, {hinge: [0.1, 0.2]}), ValueError, r"start: v: expected one state .* shape"),
    ):
        with pytest.raises(error, match=words):
            VectorEnvironment(replace(_task(), start=lambda rng, x=start: x), 3)


def test_tasks_accept_one_joint_one_effort_and_the_efforts_of_the_robot():
    arm = lw.load("arm7")
    parts = {
        "start": lambda rng: (np.zeros(7), np.zeros(7)),
        "observe": lambda q, v, goal: [*q],
        "reward": lambda q, v, action, goal: -(q @ q),
    }
    for joints, efforts, expected in (
        ("elbow", 10.0, (10.0,)),
        ("elbow", (), (arm.joint("elbow").effort[0],)),
        (("elbow", "wrist_flex"), 10.0, (10.0, 10.0)),
        (("elbow", "wrist_flex"), (), (87.0, 12.0)),
        (("elbow", "wrist_flex"), np.array([4.0, 2.0]), (4.0, 2.0)),
    ):
        task = ControlTask(arm, joints=joints, efforts=efforts, **parts)
        assert task.joints == ((joints,) if isinstance(joints, str) else joints) and task.efforts == expected
        assert max(task.forces([1.0] * len(expected))) == max(expected)
    free = lw.Robot.build(
        "pendulum",
        lw.Link("rod", mass=1.0, com=(0.0, 0.0, 1.0)),
        lw.Joint.of(lw.joints.Revolute("y"), name="elbow", parent="world", child="rod"),
    )
    with pytest.raises(
        ValueError, match=r"efforts: expected one for each of 1 joints .*'elbow' .* has no effort limit"
    ):
        ControlTask(free, joints="elbow", **parts)
    with pytest.raises(TypeError, match=r"'contact_forces'.*readings of sensors=.*ContactSensor"):
        ControlTask(arm, joints="elbow", **parts | {"reward": lambda q, v, action, goal, contact_forces: 0.0})
