"""Crocoddyl on an arm's problem in a separate process: its wheels need other versions of NumPy and pinocchio.

``python shooting_peer.py URDF`` reads a line of JSON: start (x), goal (q), step, steps and scales; and then lines with
the number of iterations.  For each, it prints the cost and the solver's time [s].  It does not import linkwork.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

__all__ = ["Crocoddyl", "serve"]

INTERPRETER = "CROCODDYL_PYTHON"
"""The variable that names a Python with crocoddyl, if this one has none."""


class Crocoddyl:
    """The client of the crocoddyl process.  Raises OSError if crocoddyl is not installed."""

    def __init__(self, urdf: str, problem: dict[str, Any]) -> None:
        interpreter = os.environ.get(INTERPRETER, sys.executable)
        command = [interpreter, str(Path(__file__)), urdf]
        quiet = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": ""}
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=quiet
        )
        self.version = self._send(problem)
        if self.version is None:
            raise OSError(f"no crocoddyl in {interpreter}; {INTERPRETER} may name another Python")

    def solved(self, iterations: int) -> tuple[float, float]:
        """Cost and seconds, from the start."""
        cost, seconds = self._send(iterations)
        return float(cost), float(seconds)

    def close(self) -> None:
        """Ends the process."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait(10.0)

    def _send(self, question: Any) -> Any:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        try:
            self.process.stdin.write(json.dumps(question) + "\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            return None
        line = self.process.stdout.readline()
        return json.loads(line) if line else None


def serve(urdf: str) -> None:
    """Read a problem from standard input; per further line, solve it with crocoddyl and print cost and time."""
    import crocoddyl
    import numpy as np
    import pinocchio

    request = json.loads(sys.stdin.readline())
    model = pinocchio.buildModelFromUrdf(urdf)
    state = crocoddyl.StateMultibody(model)
    motors = crocoddyl.ActuationModelFull(state)
    n, h = model.nv, request["step"]
    goal = np.concatenate([request["goal"], np.zeros(n)])

    def action(scales: dict[str, float], last: bool) -> Any:
        costs = crocoddyl.CostModelSum(state)
        squares = np.concatenate([np.full(n, scales["configuration"] ** 2), np.full(n, scales["velocity"] ** 2)])
        share = 1.0 if last else 1.0 / h  # crocoddyl multiplies what runs by the step
        residual = crocoddyl.ResidualModelState(state, goal, n)
        costs.addCost(
            "x", crocoddyl.CostModelResidual(state, crocoddyl.ActivationModelWeightedQuad(squares), residual), share
        )
        effort = crocoddyl.CostModelResidual(state, crocoddyl.ResidualModelControl(state, n))
        costs.addCost("u", effort, request["torque"] ** 2 * share)
        free = crocoddyl.DifferentialActionModelFreeFwdDynamics(state, motors, costs)
        free.armature = np.full(n, 1e-300)  # else version 3.2.1 leaves gravity out with pinocchio 4
        return crocoddyl.IntegratedActionModelEuler(free, 0.0 if last else h)

    x0 = np.array(request["start"])
    T = request["steps"]
    problem = crocoddyl.ShootingProblem(x0, [action(request["along"], False)] * T, action(request["end"], True))
    u0 = [np.array(request["u"])] * T
    problem.nthreads = 1
    x0s = problem.rollout(u0)
    print(json.dumps(crocoddyl.__version__), flush=True)
    for line in sys.stdin:
        solver = crocoddyl.SolverFDDP(problem)
        solver.th_stop = 1e-18
        begun = time.perf_counter()
        solver.solve(x0s, u0, int(line), True)
        print(json.dumps([solver.cost, time.perf_counter() - begun]), flush=True)


if __name__ == "__main__":
    serve(sys.argv[1])
