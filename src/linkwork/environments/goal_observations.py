"""Observations and rewards of goal-conditioned tasks, as gymnasium-robotics' ``GoalEnv`` defines them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from gymnasium.spaces import Box, Dict

from linkwork._util.validation import finite_array
from linkwork.environments.control_task import ControlTask
from linkwork.environments.environment_kernels import achieved_kernel, goal_reward_kernel

__all__ = ["GoalObservations"]


class GoalObservations:
    """Observations and rewards of a goal-conditioned task.

    ``achieved`` is the kernel of achieved goals.
    """

    def __init__(self, task: ControlTask, goal_size: int, parameters: Mapping[str, Any]) -> None:
        self.achieved = achieved_kernel(task, goal_size, parameters)
        self._reward, self._size = goal_reward_kernel(task, goal_size), goal_size

    def space(self, observation: Box) -> Dict:
        """Return the space of the dict of observations, from the space of the task's function ``observe``."""
        goal = Box(-np.inf, np.inf, (self._size,), np.float64)
        return Dict({"observation": observation, "achieved_goal": goal, "desired_goal": goal})

    def observations(self, observed: np.ndarray, achieved: np.ndarray, desired: np.ndarray) -> dict[str, np.ndarray]:
        """Return the dict of observations (n, ...), achieved goals (n, k) and desired goals (n, k)."""
        return {"observation": observed, "achieved_goal": achieved, "desired_goal": desired}

    def rewards(self, achieved: np.ndarray, desired: np.ndarray) -> np.ndarray:
        """Return the rewards (...) of achieved and desired goals (..., k)."""
        result: np.ndarray = self._reward(achieved, desired)
        return result

    def compute_reward(self, achieved_goal: Any, desired_goal: Any, info: Any = None) -> np.ndarray:
        """Return the rewards (...) of achieved and desired goals (..., k), as a step does; ``info`` is not used.

        Raises ValueError for other shapes and for numbers that are not finite.
        """
        shape = ("...", self._size)
        goals = (("achieved_goal", achieved_goal), ("desired_goal", desired_goal))
        return self.rewards(*(finite_array("compute_reward", name, x, shape=shape) for name, x in goals))
