"""Simulation compared with MuJoCo, and controllers with Pinocchio: `python -m benchmarks.simulation`.

Each part is a function that returns `MotionRow`s.  Robots stand on the ground under servos.  MuJoCo's model comes from
the same file, with a plane and spheres at the same positions, on one thread.  Before anything is timed, both contact
forces are compared with the weight.  ``--write`` writes the tables into docs/simulation_figures.md.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import linkwork as lw
from benchmarks.measurement.seconds import median_seconds
from benchmarks.peers.mujoco_peer import mujoco_module
from benchmarks.simulation.contact_kinds import contact_rows
from benchmarks.simulation.control import opspace_rows, wholebody_rows
from benchmarks.simulation.derivatives import derivative_rows, gradient_rows
from benchmarks.simulation.standing_robots import (
    HUMANOID,
    QUADRUPED,
    STEP,
    StandingCase,
    bare,
    floor_model,
    servos,
    standing,
)
from benchmarks.tables.figure_rows import MotionRow
from benchmarks.tables.part_programs import Rows, run_parts
from benchmarks.tables.targets import SIMULATION
from linkwork.simulation import ContactGround

__all__ = ["PAGE", "PARTS", "main"]

PAGE = Path(__file__).parents[2] / "docs" / "simulation_figures.md"
STEPS = 100
MANY = 1024


def _standing_rows(case: StandingCase, quick: bool) -> list[MotionRow]:
    robot, q = standing(case)
    ground, controller = ContactGround(case.points, friction=0.8), servos(robot, case)
    rng = np.random.default_rng(0)
    n = 256 if quick else MANY

    def run(q: Any, v: Any) -> Any:
        how = {"duration": STEPS * STEP, "dt": STEP, "record_every": STEPS, "contacts": ground}
        return robot.simulate(q, v, controller=controller, constants={"target": stand}, **how)

    stand = q
    settled = run(q, np.zeros(robot.nv))
    for _ in range(10):
        settled = run(settled.q[-1], settled.v[-1])
    weight = float(-robot.mass * robot.gravity[2])
    carried = float(settled.records["contact_forces"][-1, :, 2].sum())
    assert abs(carried - weight) < 1e-2 * weight, f"{case.name}: {carried} N are carried of {weight}"
    many_q = np.repeat(settled.q[-1][None], n, axis=0)
    many_v = settled.v[-1] + 1e-2 * rng.normal(size=(n, robot.nv))
    batch = median_seconds(partial(run, many_q, many_v)) / (n * STEPS)
    simulator = lw.Simulator(robot, controller=controller, contacts=ground, dt=STEP)
    simulator.reset(settled.q[-1], settled.v[-1])
    alone = median_seconds(lambda: simulator.step(target=stand), 200)
    mujoco = mujoco_module()
    peer = None if mujoco is None else _theirs(mujoco, robot, case, stand, settled.q[-1], weight)
    batch_target, beside = SIMULATION[case.name, "batch"], SIMULATION[case.name, "beside"]
    return [
        MotionRow("a step, one of a batch", batch, "s", batch_target, peer, "MuJoCo", beside),
        MotionRow("a step of one, from Python", alone, "s", SIMULATION.get((case.name, "alone")), peer, "MuJoCo"),
    ]


def _theirs(mujoco: Any, robot: Any, case: StandingCase, stand: np.ndarray, q: np.ndarray, weight: float) -> float:
    """Seconds of a step of MuJoCo's, the servos' forces kept."""
    model = floor_model(mujoco, robot, case)
    data = mujoco.MjData(model)
    names = [joint.name for joint in robot.joints][1:]
    at = [model.joint(name).qposadr[0] for name in names]
    on = [model.joint(name).dofadr[0] for name in names]
    gains = case.gains(robot)
    data.qpos[:3], data.qpos[3:7] = q[4:7], q[:4]
    data.qpos[at] = q[7:]

    def servos() -> None:
        data.qfrc_applied[on] = gains * (case.stiffness * (stand[7:] - data.qpos[at]) - case.damping * data.qvel[on])

    for _ in range(1000):
        servos()
        mujoco.mj_step(model, data)
    force, total = np.zeros(6), 0.0
    for k in range(data.ncon):
        mujoco.mj_contactForce(model, data, k, force)
        total += force[0]
    assert abs(total - weight) < 0.05 * weight, f"MuJoCo's {case.name}: {total} N are carried of {weight}"
    return median_seconds(lambda: mujoco.mj_step(model, data, 20), 50) / 20


def arm_rows(quick: bool) -> list[MotionRow]:
    """An arm of seven joints under servos, without contact."""
    robot = lw.load("arm7")
    rng = np.random.default_rng(0)
    n = 256 if quick else MANY
    q = robot.random_configuration(rng, size=n)
    mass = np.array([1.0, 1.0, 0.3, 0.3, 0.05, 0.05, 0.002])

    def controller(t: Any, q: Any, v: Any, target: Any) -> Any:
        return mass * (10.0 * (target - q) - v)

    def run() -> Any:
        how = {"duration": STEPS * STEP, "dt": STEP, "record_every": STEPS, "passive": False}
        return robot.simulate(q, controller=controller, constants={"target": q[0]}, **how)

    process = run()
    assert np.all(process.success), "an arm left what numbers can say"
    batch, beside = median_seconds(run) / (n * STEPS), SIMULATION["arm", "beside"]
    mujoco = mujoco_module()
    peer = None if mujoco is None else _their_arm(mujoco, robot, 10.0 * mass, mass, q, process.q[:, -1])
    return [MotionRow("a step, one of a batch", batch, "s", SIMULATION["arm", "batch"], peer, "MuJoCo", beside)]


def _their_arm(
    mujoco: Any, robot: Any, stiffness: np.ndarray, damping: np.ndarray, q: np.ndarray, ended: np.ndarray
) -> float:
    """Return the time of MuJoCo's step [s], with servos as its actuators.

    The arms must reach our final configurations ``q`` (n, nq); the servo targets are those of the first arm.
    """
    spec = mujoco.MjSpec.from_string(bare(robot))
    for k, joint in enumerate(robot.joints):
        servo = spec.add_actuator(target=joint.name, trntype=mujoco.mjtTrn.mjTRN_JOINT)
        servo.biastype = mujoco.mjtBias.mjBIAS_AFFINE
        servo.gainprm[0], servo.biasprm[:3] = stiffness[k], [0.0, -stiffness[k], -damping[k]]
    model = spec.compile()
    model.opt.timestep = STEP
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_LIMIT | mujoco.mjtDisableBit.mjDSBL_CONTACT
    model.dof_damping[:], model.dof_frictionloss[:] = 0.0, 0.0
    data = mujoco.MjData(model)
    at = [model.joint(joint.name).qposadr[0] for joint in robot.joints]
    for start, end in zip(q[:8], ended[:8], strict=True):
        mujoco.mj_resetData(model, data)
        data.qpos[at], data.ctrl[:] = start, q[0]
        mujoco.mj_step(model, data, STEPS)
        off = np.abs(data.qpos[at] - end).max()
        assert off < 1e-6, f"MuJoCo's arm ends {off} rad from ours"
    return median_seconds(lambda: mujoco.mj_step(model, data, 20), 50) / 20


def _derivative_part(quick: bool) -> list[MotionRow]:
    robot, q = standing(QUADRUPED)
    ground = ContactGround(QUADRUPED.points, friction=0.8)
    return derivative_rows(robot, q, ground, lambda mujoco: floor_model(mujoco, robot, QUADRUPED), quick)


def _gradient_part(quick: bool) -> list[MotionRow]:
    robot, q = standing(QUADRUPED)
    return gradient_rows(robot, q, ContactGround(QUADRUPED.points, friction=0.8), quick)


PARTS: dict[str, Rows] = {
    "arm": arm_rows,
    "quadruped": partial(_standing_rows, QUADRUPED),
    "humanoid": partial(_standing_rows, HUMANOID),
    "contacts": contact_rows,
    "opspace": opspace_rows,
    "wholebody": wholebody_rows,
    "derivative": _derivative_part,
    "gradient": _gradient_part,
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print.  Raises AssertionError if contact forces differ from the weight."""
    return run_parts("simulation", __doc__ or "", PARTS, PAGE, arguments)


if __name__ == "__main__":
    sys.exit(main())
