"""Kinds of contact beside MuJoCo, in processor time: points named by hand, shapes of links, and boxes.

All kinds are measured in one run.  Before anything is timed, robots settle for a second in both programs: forces on the
ground are compared with the weight, and heights with each other.  A first call runs in a new process with an empty
cache.  Time is that of the processor, so other programs have less influence.  ``python -m benchmarks.simulation
contacts`` runs all kinds.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

import linkwork as lw
from benchmarks.peers.mujoco_peer import mujoco_module
from benchmarks.simulation.standing_robots import (
    HUMANOID,
    QUADRUPED,
    STEP,
    add_plane,
    floor_model,
    servos,
    shaped_floor,
    standing,
)
from benchmarks.tables.figure_rows import MotionRow
from linkwork.simulation import ContactGround, ContactMaterial, ContactPair, ContactScene

__all__ = ["CASES", "ContactCase", "contact_rows", "main"]

FRICTION = 0.8
STEPS = 100  # of a timed call
MANY = 256  # environments of a batch
BOXES, EDGE = 8, 0.2  # number of boxes, and their edges [m]
SETTLED = 1.0  # [s]
SINKING = 5e-3  # [m] by which heights may differ: MuJoCo's contacts are soft


@dataclass(frozen=True)
class ContactCase:
    """Robot in contact: its state, forces and contacts, and MuJoCo's model with its first configuration."""

    robot: Any
    q: np.ndarray
    contacts: Any
    controller: Any
    constants: dict[str, Any]
    heights: np.ndarray  # indices of the heights in q
    model: Callable[[Any], Any]
    set_state: Callable[[Any, Any, np.ndarray], Callable[[], None]]  # sets q, and returns MuJoCo's servos


def _standing_case(case: Any, shaped: bool) -> ContactCase:
    robot, q = standing(case)
    touching: Any = ContactGround(case.points, friction=FRICTION)
    if shaped:
        floor = lw.Scene().with_half_space("floor")
        distances = robot.distances(q, floor)
        q[6] -= min(x for (_, name), x in zip(distances.pairs, distances.distance, strict=True) if name == "floor")
        touching = ContactScene(floor, materials=ContactMaterial(friction=FRICTION))
    model = shaped_floor if shaped else floor_model
    second = FRICTION if shaped else case

    def peer(mujoco: Any) -> Any:
        return model(mujoco, robot, second)

    def set_state(model: Any, data: Any, start: np.ndarray) -> Callable[[], None]:
        names = [joint.name for joint in robot.joints][1:]
        at = [model.joint(name).qposadr[0] for name in names]
        on = [model.joint(name).dofadr[0] for name in names]
        gains = case.gains(robot)
        data.qpos[:3], data.qpos[3:7], data.qpos[at] = start[4:7], start[:4], start[7:]

        def forces() -> None:
            push = case.stiffness * (q[7:] - data.qpos[at]) - case.damping * data.qvel[on]
            data.qfrc_applied[on] = gains * push

        return forces

    return ContactCase(robot, q, touching, servos(robot, case), {"target": q}, np.array([6]), peer, set_state)


def _boxes(towers: int) -> ContactCase:
    """Return eight boxes in towers of equal height on the ground; boxes that stand on each other touch."""
    parts: list[Any] = []
    for k in range(BOXES):
        parts.append(lw.Link(f"box{k}", lw.shapes.Box((EDGE,) * 3), mass=1.0))
        parts.append(lw.Joint.of(lw.joints.Floating(), name=f"free{k}", parent="world", child=f"box{k}"))
    robot: Any = lw.Robot.build("boxes", *parts)
    height = BOXES // towers
    q = robot.neutral().reshape(BOXES, 7)
    for k in range(BOXES):
        q[k, 4:] = (0.6 * (k // height), 0.0, EDGE * (k % height + 0.5))
    q = q.ravel()
    rough = ContactMaterial(friction=FRICTION)
    lowest = tuple(f"box{k}" for k in range(0, BOXES, height))
    touching: list[Any] = [ContactScene(lw.Scene().with_half_space("floor"), lowest, materials=rough)]
    touching += [ContactPair(f"box{k - 1}", f"box{k}", rough) for k in range(BOXES) if k % height]

    def peer(mujoco: Any) -> Any:
        spec = mujoco.MjSpec()
        add_plane(mujoco, spec, FRICTION)
        for k in range(BOXES):
            body = spec.worldbody.add_body(name=f"box{k}")
            body.add_freejoint()
            geom = body.add_geom(type=mujoco.mjtGeom.mjGEOM_BOX, size=[0.5 * EDGE] * 3, mass=1.0)
            geom.contype, geom.conaffinity, geom.friction = int(height > 1), 1, [FRICTION, 0.005, 1e-4]
        model = spec.compile()
        model.opt.timestep = STEP
        return model

    def set_state(model: Any, data: Any, start: np.ndarray) -> Callable[[], None]:
        rows = start.reshape(BOXES, 7)
        data.qpos[:] = np.concatenate([rows[:, 4:], rows[:, :4]], axis=1).ravel()
        return lambda: None

    return ContactCase(robot, q, touching, None, {}, 6 + 7 * np.arange(BOXES), peer, set_state)


CASES: dict[str, tuple[str, Callable[[], ContactCase]]] = {
    "quadruped_points": ("quadruped, 4 points (`ContactGround`)", partial(_standing_case, QUADRUPED, False)),
    "quadruped_shapes": ("quadruped, 17 shapes (`ContactScene`)", partial(_standing_case, QUADRUPED, True)),
    "humanoid_points": ("humanoid, 10 points (`ContactGround`)", partial(_standing_case, HUMANOID, False)),
    "humanoid_shapes": ("humanoid, 30 shapes (`ContactScene`)", partial(_standing_case, HUMANOID, True)),
    "boxes_apart": ("8 boxes side by side (`ContactScene`)", partial(_boxes, BOXES)),
    "boxes_in_towers": ("8 boxes in 2 towers (`ContactScene`, `ContactPair`)", partial(_boxes, 2)),
}


def _run(case: ContactCase, q: np.ndarray, v: np.ndarray, steps: int = STEPS) -> Any:
    return case.robot.simulate(
        q,
        v,
        controller=case.controller,
        constants=case.constants,
        duration=steps * STEP,
        dt=STEP,
        record_every=steps,
        contacts=case.contacts,
    )


def processor_seconds(call: Callable[[], Any], rounds: int) -> float:
    """Return the median processor time of calls [s], after an untimed one."""
    call()
    results = []
    for _ in range(rounds):
        begin = time.process_time()
        call()
        results.append(time.process_time() - begin)
    return statistics.median(results)


def contact_rows(quick: bool, names: Sequence[str] = ()) -> list[MotionRow]:
    """Return three rows for each kind of contact: a step of a batch, of one robot, and the first call."""
    return [row for name in names or CASES for row in _rows(name, quick)]


def _rows(name: str, quick: bool) -> list[MotionRow]:
    label, make = CASES[name]
    case = make()
    settled = _run(case, case.q, np.zeros(case.robot.nv), round(SETTLED / STEP))
    weight = float(-case.robot.mass * case.robot.gravity[2])
    carried = _force_of_ground(settled)
    assert abs(carried - weight) < 0.02 * weight, f"{name}: {carried} N are carried of {weight}"
    q, v = settled.q[-1], settled.v[-1]
    mujoco = mujoco_module()
    peer = None if mujoco is None else _peer_seconds(mujoco, name, case, q, weight, 5 if quick else 25)
    n = 32 if quick else MANY
    speeds = v + 1e-3 * np.random.default_rng(0).normal(size=(n, case.robot.nv))
    starts = np.repeat(q[None], n, axis=0)
    batch = processor_seconds(lambda: _run(case, starts, speeds), 3 if quick else 7) / (n * STEPS)
    simulator = lw.Simulator(case.robot, controller=case.controller, contacts=case.contacts, dt=STEP)
    simulator.reset(q, v)
    alone = processor_seconds(lambda: simulator.step(count=STEPS, **_step_inputs(case)), 5 if quick else 25) / STEPS
    first = None if quick else _first_call(name)
    return [
        MotionRow(f"{label}: a step, one of a batch", batch, "s", None, peer, "MuJoCo"),
        MotionRow(f"{label}: a step of one robot", alone, "s", None, peer, "MuJoCo"),
        MotionRow(f"{label}: first call", first, "s"),
    ]


def _step_inputs(case: ContactCase) -> dict[str, Any]:
    return dict(case.constants) if case.controller is not None else {"tau": np.zeros(case.robot.nv)}


def _force_of_ground(settled: Any) -> float:
    """Return the vertical force of the ground [N]."""
    on_ground = ["the ground" in name or "floor" in name for name in settled.contact_names]
    return float(settled.records["contact_forces"][-1, on_ground, 2].sum())


def _peer_seconds(mujoco: Any, name: str, case: ContactCase, q: np.ndarray, weight: float, rounds: int) -> float:
    """Return the processor time of MuJoCo's step [s] after it has settled at our heights, carrying the weight."""
    model = case.model(mujoco)
    data = mujoco.MjData(model)
    forces = case.set_state(model, data, case.q)
    for _ in range(round(SETTLED / STEP)):
        forces()
        mujoco.mj_step(model, data)
    force, total = np.zeros(6), 0.0
    for k in range(data.ncon):
        if 0 in model.geom_bodyid[data.contact[k].geom]:
            mujoco.mj_contactForce(model, data, k, force)
            total += force[0]
    assert abs(total - weight) < 0.05 * weight, f"MuJoCo's {name}: {total} N are carried of {weight}"
    heights = data.qpos.reshape(-1, 7)[:, 2] if case.controller is None else data.qpos[2:3]
    apart = float(np.abs(heights - q[case.heights]).max())
    assert apart < SINKING, f"{name}: heights are {apart} m apart"
    return processor_seconds(lambda: mujoco.mj_step(model, data, STEPS), rounds) / STEPS


def _first_call(name: str) -> float:
    """Return the processor time [s] of the first step in a new process with an empty cache, without imports."""
    with tempfile.TemporaryDirectory() as cache:
        done = subprocess.run(
            [sys.executable, "-m", "benchmarks.simulation.contact_kinds", name],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "LINKWORK_CACHE": cache},
        )
    return float(done.stdout.split()[-1])


def main(name: str) -> None:
    """Print the processor time [s] of the first step of a case in this process, with that of its child processes."""
    case = CASES[name][1]()
    before = sum(os.times()[:4])
    _run(case, case.q, np.zeros(case.robot.nv), 1)
    print(sum(os.times()[:4]) - before)


if __name__ == "__main__":
    main(sys.argv[1])
