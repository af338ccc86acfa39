"""Functions for the benchmark of loops: a controller, inverse kinematics, a loop with prescribed iteration counts.

`cold` runs in a fresh process and measures the time from a Python function to the first results.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

import linkwork as lw
from benchmarks.peers.pinocchio_peer import Pinocchio
from linkwork.cli.function_timings import Call
from linkwork.expr import while_loop

__all__ = [
    "ARM",
    "CONTROLLER_SHAPES",
    "REACH_SHAPES",
    "cold_seconds",
    "controller",
    "controller_inputs",
    "definite_controller",
    "pinocchio_controller",
    "reach",
    "reach_inputs",
    "reach_step",
    "steps_of_reach",
]

ARM = lw.load("arm7")
CONTROLLER_SHAPES = {"q": (7,), "v": (7,), "target": (4, 4), "stiffness": (6,), "damping": (6,)}
REACH_SHAPES = {"q": (7,), "target": (4, 4)}


def controller(q: Any, v: Any, target: Any, stiffness: Any, damping: Any) -> Any:
    """Joint forces that make the hand a mass on a spring and a damper."""
    X, J = ARM.pose(q, "hand"), ARM.jacobian(q, "hand")
    M = ARM.mass_matrix(q)
    Lambda = lw.solve(J @ lw.solve(M, J.T), np.eye(6))
    error = lw.pose_difference(X, target)
    return J.T @ (Lambda @ (stiffness * error - damping * (J @ v))) + ARM.bias_force(q, v)


def definite_controller(q: Any, v: Any, target: Any, stiffness: Any, damping: Any) -> Any:
    """Compute the controller with both matrices declared positive definite: no pivoting."""
    X, J = ARM.pose(q, "hand"), ARM.jacobian(q, "hand")
    mobility = J @ lw.solve(ARM.mass_matrix(q), J.T, assume="pos")
    error = lw.pose_difference(X, target)
    force = lw.solve(mobility, stiffness * error - damping * (J @ v), assume="pos")
    return J.T @ force + ARM.bias_force(q, v)


def reach_step(q: Any, target: Any) -> tuple[Any, Any]:
    """A step of damped inverse kinematics, and the squared error before it."""
    error = lw.pose_difference(ARM.pose(q, "hand"), target)
    return q + lw.lstsq(ARM.jacobian(q, "hand"), error, damping=0.01), error @ error


def reach(q: Any, target: Any) -> Any:
    """Iterate steps of inverse kinematics until convergence."""
    return while_loop(
        lambda state: state[1] > 1e-20, lambda state: reach_step(state[0], target), (q, 1.0), max_iterations=100
    )


def steps_of_reach(q: Any, target: Any, length: Any, max_iterations: int) -> Any:
    """Iterate `length` steps of inverse kinematics."""

    def step(state: Any) -> Any:
        q, k = state
        return reach_step(q, target)[0], k + 1.0

    return while_loop(lambda state: state[1] < length, step, (q, 0.0), max_iterations=max_iterations).state[0]


def controller_inputs(size: int) -> dict[str, np.ndarray]:
    """States, targets near by, and gains."""
    rng = np.random.default_rng(0)
    q = ARM.random_configuration(rng, size=size)
    return {
        "q": q,
        "v": rng.normal(size=(size, 7)),
        "target": ARM.pose(q + rng.uniform(-0.3, 0.3, q.shape), "hand"),
        "stiffness": rng.uniform(50.0, 100.0, (size, 6)),
        "damping": rng.uniform(10.0, 20.0, (size, 6)),
    }


def reach_inputs(size: int) -> dict[str, np.ndarray]:
    """Configurations, and poses of the hand near by."""
    inputs = controller_inputs(size)
    return {name: inputs[name] for name in REACH_SHAPES}


_PINOCCHIO = """
def controller(q, v, target, stiffness, damping):
    bias = pin.nonLinearEffects(model, data, q, v)
    M = pin.crba(model, data, q)
    J = pin.computeFrameJacobian(model, data, q, frame, pin.LOCAL_WORLD_ALIGNED)
    X = data.oMf[frame]
    Lambda = np.linalg.solve(J @ np.linalg.solve(M, J.T), np.eye(6))
    R = X.rotation
    error = np.concatenate([target[:3, 3] - X.translation, R @ pin.log3(R.T @ target[:3, :3])])
    return J.T @ (Lambda @ (stiffness * error - damping * (J @ v))) + bias
"""


def pinocchio_controller(inputs: Mapping[str, np.ndarray]) -> Call:
    """The same of one state, written with Pinocchio and NumPy, with gains in its order: linear first.

    Raises CannotCompare where it is not installed.
    """
    peer = Pinocchio(ARM)
    names: dict[str, Any] = {"pin": peer.pin, "model": peer.model, "data": peer.data, "frame": peer.frame("hand")}
    names["np"] = np
    exec(_PINOCCHIO, names)  # this file's own text
    arguments = {**inputs, **peer.states({name: inputs[name] for name in "qv"})}
    arguments |= {name: peer.swapped(inputs[name]) for name in ("stiffness", "damping")}
    return Call(f"controller({', '.join(CONTROLLER_SHAPES)})", {**names, **arguments})


def cold_seconds(name: str) -> dict[str, float]:
    """Seconds from a function, `controller` or `reach`, to a first call's answer and to a batch's, in a fresh process.

    Imports and the robot's file are read before.
    """
    command = [sys.executable, "-m", __name__, name]
    environment = {**os.environ, "LINKWORK_CACHE": "off"}
    run = subprocess.run(
        command, capture_output=True, text=True, check=True, cwd=Path(__file__).parents[2], env=environment
    )
    data: dict[str, float] = json.loads(run.stdout)
    return data


def cold(name: str) -> dict[str, float]:
    """Measure in this process what `cold_seconds` returns."""
    function, shapes = {"controller": (controller, CONTROLLER_SHAPES), "reach": (reach, REACH_SHAPES)}[name]
    rng = np.random.default_rng(0)
    batch = {key: rng.uniform(0.1, 1.0, (64, *shape)) for key, shape in shapes.items()}
    batch["target"][:] = np.eye(4)  # to compile no kernel of the robot's
    single = {key: x[0].copy() for key, x in batch.items()}
    start = time.perf_counter()
    kernel = lw.compile(function, name=name, **shapes)
    kernel(*single.values())
    called = time.perf_counter()
    kernel(*batch.values())
    return {"call": called - start, "batch": time.perf_counter() - start}


if __name__ == "__main__":
    print(json.dumps(cold(sys.argv[1])))
