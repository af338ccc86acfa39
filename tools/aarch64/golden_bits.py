"""Print digests of float64 results of the golden robots: ``python -m tools.aarch64.golden_bits``.

The results are single calls and a batch of each function.  Two processors agree if the lines are equal.
"""

from __future__ import annotations

import hashlib

import numpy as np

import linkwork as lw

__all__ = ["results"]

ROBOTS = "double_pendulum", "arm6", "arm7", "arm7_gripper", "quadruped", "humanoid"
SAMPLES = 33  # states of a batch: more than four vectors, and a remainder


def results(name: str) -> dict[str, np.ndarray]:
    """Return results of a robot's functions in random states, for single states and for all of them together.

    States are drawn by a generator whose numbers do not depend on the processor.
    """
    robot, rng = lw.load(name), np.random.default_rng(0)
    q = np.stack([robot.random_configuration(rng) for _ in range(SAMPLES)])
    v, a = rng.standard_normal((2, SAMPLES, robot.nv))
    calls = {
        "inverse_dynamics": (q, v, a),
        "forward_dynamics": (q, v, a),
        "mass_matrix": (q,),
        "gravity_force": (q,),
        "forward_kinematics": (q,),
    }
    computed: dict[str, np.ndarray] = {}
    for function, arguments in calls.items():
        method = getattr(robot, function)
        computed[f"{function}, one state"] = np.asarray(method(*(x[0] for x in arguments)))
        computed[f"{function}, {SAMPLES} states"] = np.asarray(method(*arguments))
    return computed


def main() -> None:
    """Print the digest of each result."""
    for name in ROBOTS:
        for label, values in results(name).items():
            print(f"{name}: {label}: {hashlib.sha256(values.tobytes()).hexdigest()[:32]}", flush=True)


if __name__ == "__main__":
    main()
