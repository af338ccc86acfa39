"""A step of differential inverse kinematics within limits, beside pink and mink: a call, quadratic program included.

    python -m benchmarks.differential

Scenes are those of `ik_steps`: an arm's hand; a humanoid's hands, feet, centre of mass and posture, its base free.
Each library gets the same targets, weights, step of time and limits of positions and velocities.  Before times are
believed, steps are compared: each keeps the limits of velocity, and what it leaves of errors is put beside the others'.
"""

from __future__ import annotations

import importlib.metadata
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import linkwork as lw
from linkwork.cli.peer import CannotCompare
from linkwork.cli.timing import Call, Effort, compare

from .ik_peers import module, quiet
from .ik_steps import DT, POSTURE, Scene, mink_step, pink_step, scene

__all__ = ["StepTime", "differential_steps", "linkwork_step"]

SCENES = ("panda", "talos", "g1")
_SAME = 0.02  # by which part of the errors two libraries' steps may differ


@dataclass(frozen=True)
class StepTime:
    """Seconds of a call; times of another library in the same rounds, and what each step leaves of the errors."""

    robot: str
    library: str
    version: str
    ours: float
    theirs: float
    ratio: float
    left: float  # of 1, here
    left_there: float
    within: bool  # limits, there


def linkwork_step(scene: Scene) -> tuple[Any, Callable[[np.ndarray], np.ndarray]]:
    """The problem, and a function of q to v."""
    tasks: list[Any] = [lw.ik.PoseTask(frame, weight=1.0) for frame in scene.frames]
    targets = [scene.targets[frame] for frame in scene.frames]
    tasks.append(lw.ik.PostureTask(weight=POSTURE, name="posture"))
    targets.append(scene.q)
    if scene.center is not None:
        tasks.append(lw.ik.CenterOfMassTask(weight=1.0, name="center"))
        targets.append(scene.center)
    problem = lw.ik.DifferentialIK(scene.robot, tasks, DT)
    last = np.zeros(scene.robot.nv)

    def step(q: np.ndarray) -> np.ndarray:
        nonlocal last
        last = problem.step(q, *targets, v_last=last)
        return last

    return problem, step


def _left(scene: Scene, poses: dict[str, np.ndarray]) -> float:
    """How much of the frames' errors is left."""
    before, after = 0.0, 0.0
    for frame, X in scene.targets.items():
        before += float((lw.pose_difference(scene.robot.pose(scene.q, frame), X) ** 2).sum())
        after += float((lw.pose_difference(poses[frame], X) ** 2).sum())
    return float(np.sqrt(after / before))


def _judged(scene: Scene, v: np.ndarray) -> tuple[float, bool]:
    q = scene.robot.integrate(scene.q, v * DT)
    fine = bool((np.abs(v) <= scene.robot.velocity_limits * (1.0 + 1e-9)).all())
    return _left(scene, {frame: scene.robot.pose(q, frame) for frame in scene.frames}), fine


def _mink_judged(scene: Scene, q: np.ndarray, v: np.ndarray) -> tuple[float, bool]:
    import mink
    import mujoco

    with quiet():
        from .ik_steps import _for_mujoco

        model = mujoco.MjModel.from_xml_string(_for_mujoco(scene))
    configuration = mink.Configuration(model, q)
    configuration.integrate_inplace(v, DT)
    poses = {f: configuration.get_transform_frame_to_world(f, "body").as_matrix() for f in scene.frames}
    fine = True
    for joint in scene.robot.joints:
        if joint.nv == 1:
            place = model.jnt_dofadr[mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_JOINT, joint.name)]
            fine &= bool(abs(v[place]) <= scene.robot.velocity_limits[joint.v_slice][0] * (1.0 + 1e-9))
    return _left(scene, poses), fine


def differential_steps(name: str, effort: Effort) -> tuple[list[StepTime], list[str]]:
    """Of a robot: a line a library, and why others are left out.  Raises NotInstalled, CannotCompare."""
    with quiet(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        at = scene(name)
        _, ours = linkwork_step(at)
    left, fine = _judged(at, ours(at.q))
    if not fine:
        raise CannotCompare(f"{name}: the step is beyond limits of velocity")
    found, reasons = [], []
    for library, package in (("pink", "pin-pink"), ("mink", "mink")):
        try:
            module("daqp")
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                if library == "pink":
                    step, q = pink_step(at), at.there.q(at.q)
                    left_there, within = _judged(at, at.there.ours(step(q)))
                else:
                    step, q = mink_step(at)
                    left_there, within = _mink_judged(at, q, step(q))
                if abs(left - left_there) > _SAME and left > left_there:
                    raise CannotCompare(f"steps differ: {left:.3g} of the errors left here, {left_there:.3g} there")
                times = compare(
                    Call("step(q)", {"step": ours, "q": at.q}), Call("step(q)", {"step": step, "q": q}), effort
                )
        except CannotCompare as reason:
            reasons.append(f"{name}: {library} left out: {reason}")
            continue
        assert times.peer is not None and times.ratio is not None
        number = importlib.metadata.version(package)
        found.append(StepTime(name, library, number, times.ours, times.peer, times.ratio, left, left_there, within))
    return found, reasons


def main() -> None:
    print("robot   library      here [µs]  there [µs]   ratio   left here, there   limits kept there")
    for name in SCENES:
        found, reasons = differential_steps(name, Effort())
        for x in found:
            print(
                f"{x.robot:7} {x.library} {x.version:7} {1e6 * x.ours:9.3g}  {1e6 * x.theirs:10.4g}  {x.ratio:6.3g}   "
                f"{x.left:.4f}, {x.left_there:.4f}     {x.within}"
            )
        for reason in reasons:
            print(reason)


if __name__ == "__main__":
    main()
