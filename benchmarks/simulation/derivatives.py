"""Derivatives of simulation with contacts: of a step, compared with MuJoCo, and of a roll-out by its controls.

A quadruped stands on four feet under servos; MuJoCo's derivatives are finite differences.  Before anything is timed,
all derivatives of a step are compared with central differences of the same step, and the gradient along a direction
with differences of the roll-out.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

import linkwork as lw
from benchmarks.measurement.seconds import median_seconds
from benchmarks.peers.mujoco_peer import mujoco_module
from benchmarks.tables.figure_rows import MotionRow
from benchmarks.tables.targets import SIMULATION
from linkwork.compiler.codegen.loops import plan_program
from linkwork.simulation import ContactGround

__all__ = ["derivative_rows", "gradient_rows"]

STEP = 1e-3  # s
STIFFNESS, DAMPING = 20.0, 0.5  # of servos
SMALL = 1e-6


def derivative_rows(
    robot: Any, q: np.ndarray, ground: ContactGround, floor: Callable[[Any], Any], quick: bool
) -> list[MotionRow]:
    """All derivatives of a step by q, v and τ; MuJoCo's are central differences of its own."""
    space, n = robot.configuration_space, robot.nv

    def step(q: Any, v: Any, tau: Any) -> Any:
        how = {"constants": {"u": tau}, "duration": STEP, "dt": STEP, "contacts": ground}
        result = robot.simulate(q, v, controller=lambda t, q, v, u: u, **how)
        return {"q_next": result.q[-1], "v_next": result.v[-1]}

    kernel = lw.compile(step, q=space, v=n, tau=n)
    x, v, tau = q, np.zeros(n), np.zeros(n)
    for _ in range(300):
        tau = np.concatenate([np.zeros(6), STIFFNESS * (q[7:] - x[7:]) - DAMPING * v[6:]])
        x, v = kernel(x, v, tau)
    slopes = kernel.jacobian(of={"q_next": space, "v_next": None})
    result = slopes(x, v, tau)
    for k, name in enumerate(("q", "v", "tau")):
        sides = []
        for sign in (1.0, -1.0):
            states = [np.repeat(y[None], n, axis=0) for y in (x, v, tau)]
            moved = sign * SMALL * np.eye(n)
            states[k] = robot.integrate(states[k], moved) if k == 0 else states[k] + moved
            sides.append(kernel(*states).v_next)
        expected = (sides[0] - sides[1]).T / (2.0 * SMALL)
        error = np.abs(getattr(result, f"d_v_next_d_{name}") - expected).max() / max(1.0, np.abs(expected).max())
        assert error < 1e-6, f"derivatives by {name} differ from differences by {error}"
    size = 64 if quick else 256
    rng = np.random.default_rng(0)
    many = [np.repeat(y[None], size, axis=0) for y in (x, v, tau)]
    many[1] = many[1] + 1e-3 * rng.normal(size=(size, n))
    ours = median_seconds(lambda: slopes(*many)) / size
    alone = median_seconds(lambda: slopes(x, v, tau), 50)
    mujoco = mujoco_module()
    peer = None if mujoco is None else _differences(mujoco, floor(mujoco), robot, x)
    return [
        MotionRow("a step's derivative, one of a batch", ours, "s", SIMULATION["derivative", "batch"], peer, "MuJoCo"),
        MotionRow("a step's derivative, one", alone, "s", None, peer, "MuJoCo"),
    ]


def _differences(mujoco: Any, model: Any, robot: Any, q: np.ndarray) -> float:
    """Seconds of MuJoCo's derivative of a step, by central differences, at the same configuration."""
    data = mujoco.MjData(model)
    names = [joint.name for joint in robot.joints][1:]
    data.qpos[:3], data.qpos[3:7] = q[4:7], q[:4]
    data.qpos[[model.joint(name).qposadr[0] for name in names]] = q[7:]
    mujoco.mj_forward(model, data)
    A = np.zeros((2 * model.nv, 2 * model.nv))
    return median_seconds(lambda: mujoco.mjd_transitionFD(model, data, SMALL, 1, A, None, None, None), 30)


def gradient_rows(robot: Any, q: np.ndarray, ground: ContactGround, quick: bool) -> list[MotionRow]:
    """Compare the time for the gradient of the final motion by all controls with that of the roll-out."""
    steps, size = (100, 16) if quick else (500, 64)
    free = np.zeros(6)
    n = robot.nv

    def controller(t: Any, at: Any, v: Any, u: Any) -> Any:
        return np.concatenate([free, STIFFNESS * (q[7:] - at[7:]) - DAMPING * v[6:] + u])

    def end(start: Any, v: Any, u: Any, every: int, segments: int | None = None) -> Any:
        how = {"duration": steps * STEP, "dt": STEP, "record_every": every, "contacts": ground, "segments": segments}
        return robot.simulate(start, v, controller=controller, time_inputs={"u": u}, **how)

    def left(start: Any, v: Any, u: Any, segments: int = 1) -> Any:
        result = end(start, v, u, steps, segments)
        return result.v[-1] @ result.v[-1] + result.q[-1][4:7] @ result.q[-1][4:7]

    shapes = {"start": robot.configuration_space, "v": n, "u": (steps, n - 6)}
    cost = lw.compile(lambda start, v, u: left(start, v, u), **shapes)
    gradient = cost.vjp("u")
    segments = math.isqrt(steps)
    fewer = lw.compile(lambda start, v, u: left(start, v, u, segments), **shapes).vjp("u")
    rng = np.random.default_rng(0)
    start, v = np.repeat(q[None], size, axis=0), 1e-2 * rng.normal(size=(size, n))
    u, weights = 1e-2 * rng.normal(size=(size, steps, n - 6)), np.ones(size)
    direction = rng.normal(size=u.shape)
    slopes = (gradient(start, v, u, weights) * direction).sum(axis=(1, 2))
    expected = (cost(start, v, u + SMALL * direction) - cost(start, v, u - SMALL * direction)) / (2.0 * SMALL)
    error = float(np.median(np.abs(slopes - expected) / np.maximum(1e-3, np.abs(expected))))
    assert error < 1e-4, f"the gradient of a roll-out differs from differences by {error}"
    error = float(np.abs(fewer(start, v, u, weights) - gradient(start, v, u, weights)).max())
    assert error < 1e-9 * np.abs(slopes).max(), f"the gradient in segments differs from the other by {error}"
    room = plan_program(fewer.program)[1].size / plan_program(gradient.program)[1].size
    ours = median_seconds(lambda: gradient(start, v, u, weights), 5)
    cut = median_seconds(lambda: fewer(start, v, u, weights), 5)
    same = median_seconds(lambda: cost(start, v, u), 5)
    plain = median_seconds(lambda: end(start, v, u, 5), 5)
    most = SIMULATION["gradient", "plain"]
    return [
        MotionRow("the gradient, as many roll-outs", ours / plain, "", most, None, ""),
        MotionRow("the same, of roll-outs found as closely", ours / same, "", SIMULATION["gradient", "same"], None, ""),
        MotionRow(
            f"in {segments} segments, as many roll-outs", cut / plain, "", SIMULATION["gradient", "plain"], None, ""
        ),
        MotionRow("memory of a sample in segments, beside that without", room, "", None, None, ""),
        MotionRow("the gradient, a step", ours / (size * steps), "s", None, None, ""),
    ]
