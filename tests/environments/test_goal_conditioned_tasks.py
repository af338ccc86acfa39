"""Goal-conditioned tasks: dicts of observations, rewards of goals alone, as gymnasium-robotics' GoalEnv requires."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import linkwork as lw

gymnasium = pytest.importorskip("gymnasium")

from linkwork.environments import (  # noqa: E402
    TASKS,
    ControlTask,
    Randomization,
    SingleEnvironment,
    VectorEnvironment,
)

ARM = lw.load("arm6")
HOME = np.array([0.2, 0.5, -0.9, 0.4, 0.3, 0.1])


def reach_task(**changes: Any) -> ControlTask:
    """A task of reaching a point with the tool; its reward is sparse."""

    def start(rng: np.random.Generator) -> Any:
        return HOME + rng.normal(0.0, 0.1, 6), rng.normal(0.0, 0.1, 6)

    def observe(q: Any, v: Any, goal: Any) -> Any:
        return [*q, *v]

    def achieved(q: Any, v: Any) -> Any:
        return ARM.point_position(q, "tool")

    def reward(achieved: Any, goal: Any) -> Any:
        return np.where(np.linalg.norm(achieved - goal) < 0.15, 0.0, -1.0)

    def goal(rng: np.random.Generator) -> Any:
        return ARM.pose(HOME, "tool")[:3, 3] + rng.uniform(-0.15, 0.15, 3)

    task = ControlTask(
        ARM,
        start,
        observe,
        reward,
        joints=("shoulder_pan", "shoulder_lift", "elbow"),
        efforts=(30.0, 30.0, 15.0),
        goal=goal,
        achieved=achieved,
        horizon=7,
    )
    return replace(task, **changes)


def distance_reward(achieved: Any, goal: Any) -> Any:
    return -np.linalg.norm(achieved - goal)


@pytest.mark.slow(every=3)
@pytest.mark.parametrize("mode", ["NEXT_STEP", "SAME_STEP", "DISABLED"])
def test_rewards_equal_those_of_the_observed_goals_in_every_step(mode: str) -> None:
    reset_mode = getattr(gymnasium.vector.AutoresetMode, mode)
    varied = Randomization(noise=0.1, observation_delay=(1, 2))
    envs = VectorEnvironment(reach_task(reward=distance_reward), 5, randomization=varied, autoreset_mode=reset_mode)
    observations, _ = envs.reset(seed=3)
    assert envs.observation_space.contains(observations) and set(observations) == {
        "observation",
        "achieved_goal",
        "desired_goal",
    }
    rng, ended, final_goals = np.random.default_rng(0), np.zeros(5, dtype=bool), 0
    for _ in range(20):
        if mode == "DISABLED" and ended.any():
            observations, _ = envs.reset(options={"reset_mask": ended})
        begun, before = ended & (mode == "NEXT_STEP"), observations["desired_goal"]
        observations, rewards, terminated, truncated, info = envs.step(rng.uniform(-1.0, 1.0, (5, 3)))
        ended = terminated | truncated
        q, _ = envs.state
        assert np.abs(observations["achieved_goal"] - ARM.pose(q, "tool")[:, :3, 3]).max() < 1e-12  # exact and not late
        last = [dict(zip(observations, x, strict=True)) for x in zip(*observations.values(), strict=True)]
        if mode == "SAME_STEP" and ended.any():
            last = [info["final_obs"][k] if ended[k] else last[k] for k in range(5)]
            final_goals += ended.sum()
        for k, observed in enumerate(last):
            expected = 0.0 if begun[k] else envs.compute_reward(observed["achieved_goal"], observed["desired_goal"], {})
            assert rewards[k] == expected
            assert begun[k] or np.array_equal(observed["desired_goal"], before[k])
            assert begun[k] or abs(rewards[k] + np.linalg.norm(observed["achieved_goal"] - before[k])) < 1e-12
        assert np.array_equal(observations["desired_goal"], envs._goal)
    assert final_goals == (10 if mode == "SAME_STEP" else 0)


def test_single_environments_equal_vector_environments_of_one() -> None:
    task = reach_task()
    single, vector = SingleEnvironment(task), VectorEnvironment(task, 1)
    first, _ = single.reset(seed=4)
    alone, _ = vector.reset(seed=4)
    assert single.observation_space.contains(first)
    for name, x in first.items():
        assert np.array_equal(x, alone[name][0])
    action = np.array([0.3, -1.0, 0.6])
    observation, reward, *_ = single.step(action)
    expected, rewards, *_ = vector.step(action[None])
    assert reward == rewards[0] and all(np.array_equal(x, expected[name][0]) for name, x in observation.items())
    goals = np.random.default_rng(0).normal(size=(2, 4, 3))
    rewards = single.compute_reward(*goals, {})
    assert np.array_equal(rewards, np.where(np.linalg.norm(goals[0] - goals[1], axis=-1) < 0.15, 0.0, -1.0))
    chosen = single.reset(options={"goal": [0.1, 0.2, 0.3]})[0]
    assert chosen["desired_goal"].tolist() == [0.1, 0.2, 0.3]


def test_achieved_goals_use_the_robot_with_the_parameters_of_the_episode() -> None:
    def achieved(q: Any, v: Any, robot: Any) -> Any:
        return robot.point_position(q, "tool")

    varied = Randomization(parameters={"placement:elbow": ([-0.1] * 6, [0.1] * 6)})
    envs = VectorEnvironment(reach_task(achieved=achieved), 3, randomization=varied)
    observations, info = envs.reset(seed=1)
    drawn = info["randomization"]["placement_elbow"]
    robots = [ARM.with_parameters({"placement:elbow": x}) for x in drawn]
    expected = [robot.pose(q, "tool")[:3, 3] for robot, q in zip(robots, envs.state[0], strict=True)]
    assert np.abs(observations["achieved_goal"] - expected).max() < 1e-12


@pytest.mark.slow(every=3)
def test_checker_of_gymnasium_accepts_goal_conditioned_environments() -> None:
    from gymnasium.utils.env_checker import check_env

    with pytest.warns(UserWarning, match="A Box observation space"):
        check_env(SingleEnvironment(reach_task()), skip_render_check=True)


def test_only_goal_conditioned_environments_have_a_function_of_goals() -> None:
    for environment in (SingleEnvironment("cart_pole"), VectorEnvironment("cart_pole")):
        assert not hasattr(environment, "compute_reward")
    assert hasattr(SingleEnvironment(reach_task()), "compute_reward")


@pytest.mark.slow(every=9)
def test_hindsight_replay_of_stable_baselines_learns_from_goal_conditioned_environments() -> None:
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of its imports
        baselines = pytest.importorskip("stable_baselines3", reason="stable-baselines3 is not installed")
        from stable_baselines3.common.env_checker import check_env
    from linkwork.environments import stable_baselines_environment

    check_env(SingleEnvironment(reach_task()))
    options = {"learning_starts": 40, "batch_size": 16, "device": "cpu", "seed": 0}
    for envs in (stable_baselines_environment(reach_task(), num_envs=4), SingleEnvironment(reach_task())):
        model = baselines.SAC("MultiInputPolicy", envs, replay_buffer_class=baselines.HerReplayBuffer, **options)
        model.learn(60)
        replayed = model.replay_buffer.sample(16)
        observed = replayed.next_observations
        expected = (
            envs.compute_reward(*(observed[x].numpy() for x in ("achieved_goal", "desired_goal")), {})
            if (isinstance(envs, SingleEnvironment))
            else envs.env_method(
                "compute_reward", *(observed[x].numpy() for x in ("achieved_goal", "desired_goal")), {}
            )[0]
        )
        assert np.array_equal(replayed.rewards.numpy()[:, 0], expected)


@pytest.mark.parametrize("name", TASKS)
def test_action_spaces_of_single_and_vector_environments_have_one_type(name: str) -> None:
    single, vector = SingleEnvironment(name), VectorEnvironment(name, 2)
    assert single.action_space == vector.single_action_space and single.action_space.dtype == np.float32
    assert vector.action_space.dtype == np.float32


def test_invalid_goal_conditioned_tasks_are_refused() -> None:
    for call, error, words in (
        (lambda: reach_task(reward=lambda q, v, action, goal: 0.0), TypeError, "reward: .*with achieved= a reward dep"),
        (lambda: reach_task(achieved=3), TypeError, "achieved: expected a function"),
        (lambda: reach_task(achieved=lambda q: q), TypeError, "achieved: expected a function called as"),
        (
            lambda: replace(TASKS["cart_pole"](), achieved=lambda q, v: q, reward=distance_reward),
            ValueError,
            "goal: exp",
        ),
        (
            lambda: VectorEnvironment(reach_task(achieved=lambda q, v: q)),
            TypeError,
            "achieved: expected 3 numbers, as many as goal= returns, got 6",
        ),
        (
            lambda: VectorEnvironment(reach_task(achieved=lambda q, v: q[0])),
            TypeError,
            r"achieved: .*got an array \(\)",
        ),
        (
            lambda: SingleEnvironment(reach_task()).compute_reward(np.zeros(2), np.zeros(3), {}),
            ValueError,
            r"compute_reward: achieved_goal: expected .*\(\.\.\., 3\)",
        ),
        (
            lambda: VectorEnvironment("cart_pole").compute_reward,
            AttributeError,
            "compute_reward: expected a task with achieved=",
        ),
    ):
        with pytest.raises(error, match=words):
            call()
