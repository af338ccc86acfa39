"""First calls beside threads of the user's program: no fork, no hang, the same bits."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import hashlib, importlib, logging, os, socket, sys, threading
import numpy as np
import linkwork as lw

forks = []
sys.addaudithook(lambda event, arguments: forks.append(event) if event in ("os.fork", "os.forkpty") else None)
rounds, is_busy, sizes = int(sys.argv[1]), sys.argv[2] == "busy", (130, 1000)
stopped = threading.Event()


def factorize(n, cholesky=np.linalg.cholesky):
    matrix = np.eye(n) + 1.0 / n
    while not stopped.is_set():
        cholesky(matrix)


def disturb():
    log = logging.getLogger("of the user")
    log.addHandler(logging.StreamHandler(open(os.devnull, "w")))
    while not stopped.is_set():
        sys.modules.pop("this_module", None)
        for name in ("colorsys", "this_module"):
            try:
                importlib.reload(importlib.import_module(name))  # takes the lock of imports
            except ImportError:
                pass
        [bytearray(1 << k) for k in range(16)]
        log.warning("a line")
        print("a line", file=sys.stderr)
        socket.socket().close()


def answers(seed):
    \"\"\"First calls of all kinds, of robots that no earlier call had.\"\"\"
    rng = np.random.default_rng(seed)
    arm = lw.load("arm7").with_payload("load", "hand", rng.uniform(0.5, 1.5))
    arm = arm.with_collisions("hand", lw.shapes.Sphere(rng.uniform(0.02, 0.03)))
    q, v = arm.rest_configuration, np.linspace(-0.5, 0.5, arm.nv)
    goal = q + 0.3 * np.cos(np.arange(arm.nq))
    box = lw.Scene().with_box("post", (0.1, 0.1, 1.0), (0.9, 0.6, 0.5))
    yield arm.pose(q, "hand")
    yield arm.inverse_dynamics(q, v, v)
    yield arm.inverse_dynamics(np.tile(q, (9, 1)), v, v)
    yield arm.forward_dynamics_derivatives(q, v, v)[0]
    yield arm.distances(q, box).distance
    yield arm.inverse_kinematics(arm.pose(goal, "hand"), "hand", q_init=q).q
    path = arm.plan(q, goal, box, seed=0)
    yield path.path
    yield path.timed(velocity=1.5, acceleration=5.0).t
    yield arm.profile(q, goal, acceleration=4.0, jerk=40.0)(0.1).q
    yield arm.simulate(q, duration=0.05).q[-1]
    yield lw.control.lqr_about_state(arm, q, Q=100.0, R=0.01)(q + 0.01, v)
    problem = lw.TrajectoryProblem(arm, num_steps=8, duration=0.5).add("acceleration", "least_squares")
    problem = problem.add("configuration", "least_squares", scale=10.0, name="posture").add_limits(positions=False)
    yield problem.solve(q, targets={"posture": goal}, max_iterations=1).q
    yield problem.controller().step((q, v), {"posture": goal}).torque
    scale = rng.uniform(0.5, 1.5)
    yield lw.compile(lambda x: np.linalg.solve(scale * np.eye(4) + np.outer(x, x), x), x=4)(np.ones(4))
    delta = lw.load("delta").with_payload("load", "platform", rng.uniform(0.1, 0.2))
    yield delta.simulate(delta.neutral(), duration=0.01).q[-1]


threads = []
if is_busy:
    threads = [threading.Thread(target=factorize, args=(n,)) for n in sizes]
    threads.append(threading.Thread(target=disturb))
    for name in sys.argv[3:]:  # other libraries, if they are to factorize too
        other = importlib.import_module(name)
        if name == "torch":
            convert, cholesky = other.as_tensor, other.linalg.cholesky
        else:
            convert, cholesky = np.asarray, other.cholesky
        threads += [threading.Thread(target=factorize, args=(n, lambda x: cholesky(convert(x)))) for n in sizes]
for thread in threads:
    thread.daemon = True
    thread.start()
for seed in range(rounds):
    count, digest = 0, hashlib.sha256()
    for x in answers(seed):
        count += 1
        digest.update(np.asarray(x, dtype=float).tobytes())
    print(count, digest.hexdigest(), flush=True)
stopped.set()
assert not forks, forks
"""


@pytest.mark.slow(every=5)
def test_first_calls_of_kernels_do_not_hang_if_other_threads_are_busy(tmp_path: Path) -> None:
    """Threads factorize matrices on all processors, import, allocate, log, print and open sockets meanwhile."""
    said = []
    for manner in ("alone", "busy"):
        environment = {key: x for key, x in os.environ.items() if key != "OPENBLAS_NUM_THREADS"}
        environment["LINKWORK_CACHE"] = str(tmp_path / manner)
        command = [sys.executable, "-W", "error::DeprecationWarning", "-c", PROGRAM, "1", manner]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        said.append(done.stdout)
    assert said[0] == said[1] and said[0].startswith("15 ")
