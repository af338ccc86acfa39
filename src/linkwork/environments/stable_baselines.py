"""Vector environments with the interface of stable-baselines3."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any

import numpy as np
from gymnasium.spaces import Box, Dict
from gymnasium.vector import AutoresetMode

from linkwork._util.checked_arguments import public
from linkwork.environments.control_task import ControlTask
from linkwork.environments.randomization import Randomization
from linkwork.environments.rendered_frames import RENDER_SIZE
from linkwork.environments.vector_environment import VectorEnvironment

__all__ = ["stable_baselines_environment"]


@public
def stable_baselines_environment(
    task: str | ControlTask,
    num_envs: int = 1,
    render_mode: str | None = None,
    randomization: Randomization | None = None,
    render_size: tuple[int, int] = RENDER_SIZE,
) -> Any:
    """Return environments for algorithms of stable-baselines3: a ``VecMonitor`` of a ``VecEnv``.

    All ``num_envs`` environments step in one kernel.  ``task``, ``render_mode``, ``randomization`` and ``render_size``
    are those of `VectorEnvironment`.  Actions and observations are float32.  After an episode has ended, the next one
    begins in the same step.  The infos of that step have ``terminal_observation``, ``TimeLimit.truncated``, and
    ``episode`` with the sum of rewards and the length of the episode.  The infos of all steps have the values of
    ``ControlTask.info``.  A goal-conditioned task (``ControlTask.achieved``) has dicts of observations, for
    ``HerReplayBuffer``.

        envs = stable_baselines_environment("cart_pole", num_envs=64)
        model = stable_baselines3.PPO("MlpPolicy", envs, n_steps=64, batch_size=1024)
        model.learn(200_000)

    Raises the errors of `VectorEnvironment`, and ImportError if stable-baselines3 is not installed.
    """
    try:
        adapter, monitor = _classes()
    except ImportError as error:
        raise ImportError(
            "stable_baselines_environment needs stable-baselines3, which is not installed: "
            "pip install stable-baselines3"
        ) from error
    envs = VectorEnvironment(task, num_envs, render_mode, randomization, AutoresetMode.SAME_STEP, render_size)
    return monitor(adapter(envs))


@cache
def _classes() -> tuple[Any, Any]:
    """Define a subclass of stable-baselines3's ``VecEnv``; return it and the class ``VecMonitor``."""
    from stable_baselines3.common.vec_env import VecEnv, VecMonitor

    class StableBaselinesEnvironment(VecEnv):  # type: ignore[misc]  # where it is not installed
        def __init__(self, envs: VectorEnvironment) -> None:
            self.envs = envs
            super().__init__(envs.num_envs, _single_precision(envs.single_observation_space), envs.single_action_space)
            self.metadata = envs.metadata

        def reset(self) -> Any:
            seeds: list[int | None] = self._seeds
            stated_seeds = None if None in seeds else [int(seed or 0) for seed in seeds]
            options: list[dict[str, Any]] = self._options
            names = options[0].keys()
            if any(each.keys() != names for each in options):
                raise ValueError("set_options: expected the same names for all environments, which begin together")
            stacked = {name: np.stack([np.asarray(each[name]) for each in options]) for name in names}
            observations, info = self.envs.reset(seed=stated_seeds, options=stacked)
            self.reset_infos = self._infos(info, np.ones(self.num_envs, dtype=bool))
            self._reset_seeds()
            self._reset_options()
            return _as_float32(observations)

        def step_async(self, actions: np.ndarray) -> None:
            self._actions = actions

        def step_wait(self) -> tuple[Any, np.ndarray, np.ndarray, list[dict[str, Any]]]:
            observations, rewards, terminated, truncated, info = self.envs.step(self._actions)
            ended = terminated | truncated
            final = info.get("final_info", {})
            logged = {x: np.where(ended, final.get(x, 0.0), info[x]).tolist() for x in self.envs._logged}
            infos: list[dict[str, Any]] = [{x: y[k] for x, y in logged.items()} for k in range(self.num_envs)]
            for k in np.flatnonzero(ended).tolist():
                last = _as_float32(info["final_obs"][k])
                infos[k] |= {"terminal_observation": last, "TimeLimit.truncated": bool(truncated[k])}
                if "diverged" in final:
                    infos[k].setdefault("diverged", bool(final["diverged"][k]))
            for k, begun in enumerate(self._infos(info, ended) if ended.any() else ()):
                if begun:
                    self.reset_infos[k] = begun
            return _as_float32(observations), rewards.astype(np.float32), ended, infos

        @staticmethod
        def _infos(info: dict[str, Any], begun: np.ndarray) -> list[dict[str, Any]]:
            """Return a list with the random values of each environment where an episode begins (``begun``)."""
            drawn = {name: x for name, x in info.get("randomization", {}).items() if not name.startswith("_")}
            return [
                {"randomization": {name: x[k].copy() for name, x in drawn.items()}} if drawn and begun[k] else {}
                for k in range(len(begun))
            ]

        def close(self) -> None:
            self.envs.close()

        def get_images(self) -> list[np.ndarray]:
            return list(self.envs.render())

        def get_attr(self, attr_name: str, indices: int | Iterable[int] | None = None) -> list[Any]:
            value = getattr(self.envs, attr_name)
            return [value for _ in self._get_indices(indices)]

        def set_attr(self, attr_name: str, value: Any, indices: int | Iterable[int] | None = None) -> None:
            raise NotImplementedError(_together("set_attr", attr_name))

        def env_method(self, method_name: str, *arguments: Any, indices: Any = None, **named: Any) -> list[Any]:
            if method_name != "compute_reward":
                raise NotImplementedError(_together("env_method", method_name))
            return [self.envs.compute_reward(*arguments, **named) for _ in self._get_indices(indices)]

        def env_is_wrapped(self, wrapper_class: Any, indices: int | Iterable[int] | None = None) -> list[bool]:
            return [False for _ in self._get_indices(indices)]

    return StableBaselinesEnvironment, VecMonitor


def _single_precision(space: Any) -> Any:
    """Return a space with float32 in place of its number type; it may be a dict of spaces."""
    if isinstance(space, Dict):
        return Dict({name: _single_precision(part) for name, part in space.items()})
    return Box(space.low.astype(np.float32), space.high.astype(np.float32), space.shape, np.float32)


def _as_float32(observations: Any) -> Any:
    if isinstance(observations, dict):
        return {name: x.astype(np.float32) for name, x in observations.items()}
    return observations.astype(np.float32)


def _together(method: str, name: str) -> str:
    return (
        f"{method}({name!r}): expected no single environment, since all step in one kernel; "
        "make_vec_env makes single environments"
    )
