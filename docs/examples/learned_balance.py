"""Training of a two-layer policy that balances a pole, in the simulation's kernel: one environment per candidate."""

import numpy as np

import linkwork as lw
from linkwork.environments import TASKS, VectorEnvironment

task = TASKS["cart_pole"]()
HIDDEN, CANDIDATES, SECONDS = 8, 128, 4.0


def policy(t, q, v, first, second):
    observation = np.array(task.observe(q, v, ()))
    return task.forces(second @ np.tanh(first @ observation))


def upright_steps(weights, q, v):
    """Number of steps in which each candidate's pole is upright (n,); all candidates begin alike."""
    first = weights[:, : 4 * HIDDEN].reshape(-1, HIDDEN, 4)
    second = weights[:, 4 * HIDDEN :].reshape(-1, 1, HIDDEN)
    n = len(weights)
    runs = task.robot.simulate(
        np.broadcast_to(q, (n, 2)),
        np.broadcast_to(v, (n, 2)),
        controller=policy,
        duration=SECONDS,
        dt=5e-3,
        record_every=4,
        constants={"first": first, "second": second},
    )
    fallen = (np.abs(runs.q[..., 1] - np.pi) > 0.25) | (np.abs(runs.q[..., 0]) > 2.4)
    steps = np.where(fallen.any(axis=1), fallen.argmax(axis=1), fallen.shape[1])
    return steps - np.abs(runs.q[..., 0]).clip(0, 2.4).mean(axis=1)


if __name__ == "__main__":
    rng = np.random.default_rng(1)
    mean, spread = np.zeros(5 * HIDDEN), 1.0
    for _ in range(40):
        candidates = mean + spread * rng.normal(size=(CANDIDATES, len(mean)))
        starts = [task.start(rng) for _ in range(2)]
        worth = np.minimum(*(upright_steps(candidates, q, v) for q, v in starts))
        best = candidates[np.argsort(-worth)[: CANDIDATES // 8]]
        mean, spread = best.mean(axis=0), max(0.97 * spread, 0.2)

    envs = VectorEnvironment(task, num_envs=64)  # their initial states are new to the policy
    act = lw.compile(
        lambda observation, first, second: second @ np.tanh(first @ observation),
        observation=(4,),
        first=(HIDDEN, 4),
        second=(1, HIDDEN),
    )
    layers = mean[: 4 * HIDDEN].reshape(HIDDEN, 4), mean[4 * HIDDEN :].reshape(1, HIDDEN)
    observation, _ = envs.reset(seed=7)
    fallen = np.zeros(64, dtype=bool)
    for _ in range(500):
        observation, _, terminated, _, _ = envs.step(act(observation, *layers))
        fallen |= terminated
    print(f"after 40 generations of {CANDIDATES}, {64 - fallen.sum()} of 64 poles stay up for 10 s")
    assert fallen.mean() < 0.1
