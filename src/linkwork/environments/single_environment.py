"""Single environments of a control task with gymnasium's interface: vector environments of one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np

from linkwork._util.checked_arguments import public
from linkwork._util.foreign_names import WithForeignNames, add_foreign_names
from linkwork._util.validation import finite_array
from linkwork._util.validation import seed as check_seed
from linkwork.environments.control_task import ControlTask
from linkwork.environments.randomization import Randomization
from linkwork.environments.rendered_frames import MODES, RENDER_SIZE, read_rendering, require_rendering
from linkwork.environments.vector_environment import VectorEnvironment

__all__ = ["SingleEnvironment"]


@public
class SingleEnvironment(gymnasium.Env[Any, np.ndarray], metaclass=WithForeignNames):
    """One environment of a `ControlTask`, or of one of `TASKS` by name, for tools that take a `gymnasium.Env`.

    Its steps equal those of a `VectorEnvironment` with ``num_envs=1``: actions (m,) are limited to −1 and 1, and
    observations (k,) are float64, or dicts of a goal-conditioned task.  An episode ends with ``terminated`` or
    ``truncated``; then call `reset`.  A ``randomization`` draws parameters, noise, delays and pushes for each episode.
    With ``render_mode="rgb_array"``, `render` draws the robot in an image of ``render_size``, its width and
    height [pixels].

    >>> import gymnasium
    >>> environment = gymnasium.make("linkwork.environments:linkwork/cart_pole-v0")
    >>> observation, _ = environment.reset(seed=1)
    >>> observation, reward, terminated, truncated, _ = environment.step(environment.action_space.sample())
    >>> observation.shape, terminated
    ((4,), False)

    Raises UnknownNameError for an unknown task or render mode, ValueError for actions of a wrong shape or that are not
    finite.
    """

    metadata = {"render_modes": [*MODES]}  # noqa: RUF012 - gymnasium.make reads it from the class

    def __init__(
        self,
        task: str | ControlTask,
        render_mode: str | None = None,
        randomization: Randomization | None = None,
        render_size: tuple[int, int] = RENDER_SIZE,
    ) -> None:
        size = read_rendering("SingleEnvironment", render_mode, render_size)
        self._vector = VectorEnvironment(task, 1, render_mode, randomization, render_size=size)
        self.render_mode, self.task, self.randomization = render_mode, self._vector.task, randomization
        self.metadata = {key: value for key, value in self._vector.metadata.items() if key != "autoreset_mode"}
        self.observation_space = self._vector.single_observation_space
        self.action_space = self._vector.single_action_space
        self._over = True

    @property
    def state(self) -> tuple[np.ndarray, np.ndarray]:
        """State q (nq,) and v (nv,)."""
        q, v = self._vector.state
        return q[0], v[0]

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begin an episode; return the observation (k,), and a dict with the episode's random values by name.

        The dict has the entry ``"randomization"``, or is empty without a randomization. ``seed`` restarts the random
        numbers. ``options`` is a dict that replaces values of the task: the initial state, ``"q"`` (nq,) or a dict by
        joint and ``"v"`` (nv,), zero by default, and the ``"goal"`` (k,). Raises ValueError for invalid options,
        UnknownNameError for unknown ones, and ValueError for a seed that is not an integer >= 0.
        """
        known = self._vector._starts.read_options("SingleEnvironment.reset", options, 1, self._vector._goal.shape[1])
        seed = None if seed is None else check_seed("SingleEnvironment.reset", "seed", seed, generator=False)
        super().reset(seed=seed)
        observations, info = self._vector.reset(seed=seed, options=known)
        self._over = False
        values = info.get("randomization", {})
        drawn = {name: x[0].copy() for name, x in values.items() if not name.startswith("_")}
        return _first(observations), {"randomization": drawn} if info else {}

    def step(self, action: np.ndarray) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Apply an action (m,); return observation (k,), reward, terminated (failed), truncated, and info.

        ``info`` is a dict with the values of ``ControlTask.info`` by name, and ``"diverged"`` if the simulation
        diverged.

        Raises RuntimeError after the end of an episode.
        """
        if self._over:
            raise RuntimeError("SingleEnvironment.step: call reset() first")
        values = finite_array("SingleEnvironment.step", "action", action, shape=self.action_space.shape)
        observations, rewards, terminated, truncated, logged = self._vector.step(values[None])
        self._over = bool(terminated[0] or truncated[0])
        info: dict[str, Any] = {name: float(logged[name][0]) for name in self._vector._logged}
        if "diverged" in logged:
            info["diverged"] = True
        return _first(observations), float(rewards[0]), bool(terminated[0]), bool(truncated[0]), info

    @property
    def compute_reward(self) -> Callable[[Any, Any, Any], np.ndarray]:
        """Function (achieved_goal, desired_goal, info) of goals (..., k): see `VectorEnvironment.compute_reward`."""
        return self._vector.compute_reward

    def render(self) -> np.ndarray:
        """Draw the environment; return an image (height, width, 3) of uint8, with ``render_mode="rgb_array"``.

        Raises RuntimeError without a render mode, ImportError if matplotlib is not installed.
        """
        require_rendering("SingleEnvironment.render", self.render_mode)
        return self._vector.render()[0]


def _first(observations: Any) -> Any:
    """Return the observation of the first environment, from an array or a dict of arrays."""
    return {name: x[0] for name, x in observations.items()} if isinstance(observations, dict) else observations[0]


add_foreign_names(SingleEnvironment, "environments.SingleEnvironment")
