"""Single environments: identical to vector environments of one, and accepted by gymnasium and stable-baselines3."""

from __future__ import annotations

import subprocess
import sys
import warnings

import numpy as np
import pytest

gymnasium = pytest.importorskip("gymnasium")

from gymnasium.utils.env_checker import check_env  # noqa: E402

from linkwork.environments import TASKS, SingleEnvironment, VectorEnvironment  # noqa: E402


@pytest.mark.costly
@pytest.mark.parametrize("name", TASKS)
def test_single_environment_equals_a_vector_environment_with_one_environment(name: str) -> None:
    single, vector = SingleEnvironment(name), VectorEnvironment(name, 1)
    with pytest.raises(RuntimeError, match=r"SingleEnvironment.step: call reset\(\) first"):
        single.step(single.action_space.sample())
    observation, observations = single.reset(seed=3)[0], vector.reset(seed=3)[0]
    rng, ends = np.random.default_rng(0), 0
    for _ in range(600):
        assert np.array_equal(observation, observations[0])
        assert np.array_equal(single.state[0], vector.state[0][0]) and single.observation_space.contains(observation)
        action = rng.uniform(-1.0, 1.0, single.action_space.shape)
        observation, *outcome, _ = single.step(action)
        observations, *outcomes, _ = vector.step(action[None])
        assert outcome == [x[0] for x in outcomes] and isinstance(outcome[1], bool)
        if outcome[1] or outcome[2]:
            ends += 1
            with pytest.raises(RuntimeError, match=r"SingleEnvironment.step: call reset\(\) first"):
                single.step(action)
            observation, observations = single.reset()[0], vector.step(action[None])[0]
    assert ends
    single.reset(seed=2**60)
    for invalid in ([np.nan] * len(action), np.zeros(len(action) + 1)):
        with pytest.raises(ValueError, match=r"SingleEnvironment.step: action: expected"):
            single.step(invalid)
    with pytest.raises(ValueError, match=r"SingleEnvironment.reset: seed: expected"):
        single.reset(seed=-1)
    with pytest.raises(KeyError, match=r"SingleEnvironment.reset: options: no option named 'speed'"):
        single.reset(options={"speed": 1.0})


@pytest.mark.slow(every=5)
def test_gymnasium_make_creates_single_environments_without_a_prior_import() -> None:
    code = (
        "import gymnasium; print(gymnasium.make('linkwork.environments:linkwork/cart_pole-v0').reset(seed=0)[0].shape)"
    )
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert process.stdout.strip() == "(4,)" and not process.stderr
    for name in TASKS:
        environment = gymnasium.make(f"linkwork/{name}-v0", render_mode="rgb_array").unwrapped
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=".*A Box observation space (min|max)imum value is")  # unbounded
            check_env(environment)


@pytest.mark.slow(every=9)
def test_stable_baselines_accepts_single_environments() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of its imports
        baselines = pytest.importorskip("stable_baselines3", reason="stable-baselines3 is not installed")
        from stable_baselines3.common.env_checker import check_env as check
        from stable_baselines3.common.env_util import make_vec_env
    for name in TASKS:
        check(SingleEnvironment(name))
    environments = make_vec_env("linkwork/cart_pole-v0", n_envs=3, seed=1)
    model = baselines.PPO("MlpPolicy", environments, n_steps=16, batch_size=16, n_epochs=1, seed=0, device="cpu")
    model.learn(48)
    action, _ = model.predict(environments.reset())
    assert action.shape == (3, 1) and np.isfinite(environments.step(action)[1]).all()
