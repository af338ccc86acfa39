"""Roll-outs of a robot: a thousand steps in one kernel, compared with calls of a step's kernel and MuJoCo; gradients.

A step is semi-implicit Euler: v ← v + h a(q, v, u), q ← q + h v.  Everything runs on one thread; times are those for
one step of one roll-out.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import linkwork as lw
from benchmarks.compiler.compiler_figures import Figure
from benchmarks.measurement.paired_timing import Comparison, compare
from benchmarks.measurement.robots import ROBOTS
from benchmarks.peers.mujoco_peer import bare_urdf, mujoco_module
from linkwork.cli.function_timings import Call, Effort, threads
from linkwork.expr import adjoint, scan

__all__ = ["RollOut", "roll_out_figures"]

STEP = 1e-3  # s


class RollOut:
    """Inputs and kernels of a robot's roll-outs under joint forces u (steps, nv)."""

    def __init__(self, robot: lw.Robot, steps: int, size: int) -> None:
        self.robot, self.steps, self.size = robot, steps, size
        n = robot.nv
        self.shapes = {"q": (n,), "v": (n,), "u": (steps, n)}
        rng = np.random.default_rng(0)
        q = robot.random_configuration(rng, size=size)
        u = robot.gravity_force(q)[:, None] * rng.uniform(0.8, 1.2, (size, steps, n))
        self.inputs = {"q": q, "v": 0.1 * rng.normal(size=(size, n)), "u": u}

    def step(self, state: Any, u: Any) -> Any:
        q, v = state
        v = v + STEP * self.robot.forward_dynamics(q, v, u)
        q = q + STEP * v
        return (q, v), (q, v)

    def end(self, q: Any, v: Any, u: Any) -> Any:
        return scan(self.step, (q, v), u)[0]

    def path(self, q: Any, v: Any, u: Any) -> Any:
        return scan(self.step, (q, v), u)[1]

    def cost(self, q: Any, v: Any, u: Any) -> Any:
        q, v = self.end(q, v, u)
        return q @ q

    def gradient(self, q: Any, v: Any, u: Any) -> Any:
        return np.array(adjoint([self.cost(q, v, u)], list(u.ravel()), [1.0])).reshape(u.shape)

    def compiled(self, name: str) -> lw.Kernel:
        return lw.compile(getattr(self, name), name=name, **self.shapes)

    def first(self, size: int) -> dict[str, np.ndarray]:
        """The first of the inputs."""
        return {name: np.ascontiguousarray(x[:size]) for name, x in self.inputs.items()}


def roll_out_figures(
    effort: Effort, steps: int, size: int, peers: int, gradients: int, robot: lw.Robot | None = None
) -> Iterator[tuple[str, Figure]]:
    """Measures of `CONTROL` with their figures: batches of ``size``, of ``peers`` for MuJoCo, of ``gradients``."""
    rolled = RollOut(ROBOTS["panda"].load() if robot is None else robot, steps, size)
    with threads(1):
        end = rolled.compiled("end")
        yield "scan, calls", _beside_calls(rolled, end, effort)
        figure = _beside_mujoco(rolled, peers, effort)
        if figure is not None:
            yield "scan, MuJoCo", figure
        yield "gradient", _of_gradient(rolled, end, gradients, effort)


def _beside_calls(rolled: RollOut, end: lw.Kernel, effort: Effort) -> Figure:
    """The loop in the kernel against Python's loop over calls of the step, each of the whole batch."""
    n = rolled.robot.nv
    step = lw.compile(lambda q, v, u: rolled.step((q, v), u)[0], name="step", q=n, v=n, u=n)

    def loop(q: np.ndarray, v: np.ndarray, rows: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        for u in rows:
            q, v = step(q, v, u)
        return q, v

    q, v, u = rolled.inputs.values()
    rows = list(np.ascontiguousarray(u.swapaxes(0, 1)))
    for result, expected in zip(end(q, v, u), loop(q, v, rows), strict=True):
        assert np.array_equal(result, expected), "a scan differs from its steps"
    ours, peer = Call("end(q, v, u)", {"end": end, **rolled.inputs}), Call("loop(q, v, rows)", {"loop": loop})
    result = compare(ours, Call(peer.statement, {**peer.names, "q": q, "v": v, "rows": rows}), effort)
    return _per_step(result, rolled.steps * rolled.size, rolled.steps * rolled.size)


def _beside_mujoco(rolled: RollOut, peers: int, effort: Effort) -> Figure | None:
    """Compare with MuJoCo, both writing the states of all steps to an existing array.

    None without MuJoCo or the robot's file.
    """
    mujoco, rollout = mujoco_module(), mujoco_module("mujoco.rollout")
    if mujoco is None or rollout is None or rolled.robot.tree.source is None:
        return None
    model = _mujoco_model(mujoco, rolled.robot)
    path, few = rolled.compiled("path"), rolled.first(peers)
    n, steps = rolled.robot.nv, rolled.steps
    start = np.concatenate([np.zeros((peers, 1)), few["q"], few["v"]], axis=1)  # the time comes first
    state, sensors = np.empty((peers, steps, 1 + 2 * n)), np.empty((peers, steps, 0))
    names = {"rollout": rollout.rollout, "models": [model] * peers, "data": [mujoco.MjData(model)], "start": start}
    names |= {"u": few["u"], "kind": int(mujoco.mjtState.mjSTATE_QFRC_APPLIED), "state": state, "sensors": sensors}
    statement = "rollout(models, data, start, u, control_spec=kind, skip_checks=True, nstep=nstep, state=state, "
    peer = Call(f"{statement}sensordata=sensors)", {**names, "nstep": steps})
    out = tuple(np.empty((rolled.size, steps, n)) for _ in range(2))
    ours = Call("path(q, v, u, out=out)", {"path": path, "out": out, **rolled.inputs})
    for call in (ours, peer):
        exec(call.statement, dict(call.names))  # this file's own text
    expected = state[:, :, 1:]
    error = np.abs(np.concatenate([x[:peers] for x in out], axis=2) - expected)
    scale = np.abs(expected).max()
    # MuJoCo finds the principal axes of inertias to 1e-12 only, and an arm's motion takes differences further
    assert error.max() < 1e-5 * scale, f"a roll-out differs from MuJoCo's by {error.max() / scale}"
    assert error[:, : steps // 10].max() < 1e-8 * scale, "a roll-out differs from MuJoCo's from the start"
    return _per_step(compare(ours, peer, effort), steps * rolled.size, steps * peers)


def _mujoco_model(mujoco: Any, robot: lw.Robot) -> Any:
    """The robot's file without shapes, and without all that is more than rigid bodies and forces on their joints."""
    model = mujoco.MjModel.from_xml_string(bare_urdf(robot, balanceinertia="false"))
    assert [model.joint(k).name for k in range(model.njnt)] == [joint.name for joint in robot.joints]
    for extra in (model.dof_damping, model.dof_armature, model.dof_frictionloss, model.jnt_stiffness):
        extra[:] = 0.0
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONSTRAINT | mujoco.mjtDisableBit.mjDSBL_CONTACT
    model.opt.gravity[:] = robot.gravity
    model.opt.timestep = STEP
    model.opt.integrator = mujoco.mjtIntegrator.mjINT_EULER  # semi-implicit, and with no damping nothing else
    return model


def _of_gradient(rolled: RollOut, end: lw.Kernel, size: int, effort: Effort) -> Figure:
    """All derivatives by the forces of a scalar of the last state, against the roll-out alone."""
    gradient, cost, few = rolled.compiled("gradient"), rolled.compiled("cost"), rolled.first(size)
    result = gradient(**few)
    direction = np.random.default_rng(1).normal(size=result.shape)
    ahead, behind = (cost(few["q"], few["v"], few["u"] + h * direction) for h in (1e-6, -1e-6))
    slopes, expected = (result * direction).sum(axis=(1, 2)), (ahead - behind) / 2e-6
    error = np.median(np.abs(slopes / expected - 1.0))  # arms that whirl leave differences few digits
    assert error < 1e-6, f"the gradient of a roll-out differs from differences by {error}"
    ours, peer = (Call("f(q, v, u)", {"f": f, **few}) for f in (gradient, end))
    measured = _per_step(compare(ours, peer, effort), rolled.steps * size, rolled.steps * size)
    return Figure(1.0 / measured.value, measured.ours, measured.peer)


def _per_step(result: Comparison, ours: int, peer: int) -> Figure:
    assert result.peer is not None and result.ratio is not None
    return Figure(result.ratio * ours / peer, result.ours / ours, result.peer / peer)
