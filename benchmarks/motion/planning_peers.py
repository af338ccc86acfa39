"""ompl as a peer: its RRT-Connect and path simplification, with linkwork's `in_collision` as state validity check.

Its edges are checked at states 0.05 rad apart, without a proof; each state is a call from C++ into Python.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from benchmarks.ik.peers import module
from benchmarks.peers.pinocchio_peer import CannotCompare

__all__ = ["OmplPlanner"]

_APART = 0.05  # [rad]


class OmplPlanner:
    """Raises CannotCompare where ompl is not installed."""

    def __init__(self, robot: Any) -> None:
        self.base, self.geometric = module("ompl.base"), module("ompl.geometric")
        if not hasattr(self.geometric, "RRTConnect"):
            raise CannotCompare("ompl has no RRT-Connect")
        self.robot = robot

    def seconds(self, start: np.ndarray, goal: np.ndarray, scene: Any, budget: float = 2.0) -> float:
        """Return the time to plan to one goal [s]; infinite if no path is found."""
        base, robot, n = self.base, self.robot, self.robot.nq
        space, bounds = base.RealVectorStateSpace(n), base.RealVectorBounds(n)
        for k in range(n):
            bounds.setLow(k, float(robot.lower[k]))
            bounds.setHigh(k, float(robot.upper[k]))
        space.setBounds(bounds)
        setup = self.geometric.SimpleSetup(space)
        q = np.empty(n)

        def valid(state: Any) -> bool:
            for k in range(n):
                q[k] = state[k]
            return not robot.in_collision(q, scene)

        setup.setStateValidityChecker(valid)
        information = setup.getSpaceInformation()
        information.setStateValidityCheckingResolution(_APART / space.getMaximumExtent())
        setup.setPlanner(self.geometric.RRTConnect(information))
        states = []
        for ends in (start, goal):
            state = space.allocState()
            for k in range(n):
                state[k] = float(ends[k])
            states.append(state)
        setup.setStartAndGoalStates(*states)
        begun = time.perf_counter()
        setup.solve(budget)
        if not setup.haveExactSolutionPath():
            return float("inf")
        setup.simplifySolution()
        return time.perf_counter() - begun
