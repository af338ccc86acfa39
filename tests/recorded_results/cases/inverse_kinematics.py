"""Inverse kinematics: solutions, branches, failures with their reasons, paths and velocities."""

from __future__ import annotations

from typing import Any

import numpy as np

import linkwork as lw
from linkwork import ik
from recorded_results.case import case
from recorded_results.robots import arm, inside

_Q = np.array([0.3, -1.2, 1.4, -0.9, -1.1, 0.2])


def _all(result: Any) -> Any:
    """Return every number of a result, without those of rounding."""
    return {
        "q": result.q,
        "status": np.atleast_1d(result.status).astype(str).tolist(),
        "cost": result.soft_cost,
        "multipliers": list(np.ravel(np.asarray(result.multipliers, dtype=object))),
        "text": str(result),
        "nearest": result.nearest_pose,
        "limits": [str(x) for x in np.ravel(np.asarray(result.blocking_limits, dtype=object))],
    }


@case(1e-5)
def poses_and_solutions_of_a_six_axis_arm(_: Any) -> Any:
    robot = lw.load("arm6")
    X = robot.pose(np.add(_Q, [[0.1, 0.2, -0.1, 0.05, 0.2, 0.3], [-0.2, 0.1, 0.3, -0.2, 0.1, -0.4]]), "tool")
    several = robot.inverse_kinematics(X[0], "tool", q_init=_Q, num_solutions=10)
    limited = {"shoulder_lift": (-1.4, -0.2), "elbow": (0.2, 2.2)}
    near = robot.inverse_kinematics(X, "tool", q_init=_Q, nearest_to=_Q, position_limits=limited)
    form = robot.closed_form("tool")
    branches = form.branches(X[1], q_init=_Q)
    poses = np.stack([X[0], lw.pose((1.9, 0.4, 0.3)), lw.pose((0.05, -0.02, 0.12), rpy=(0.2, 1.1, -0.4)), X[1]])
    failed = robot.inverse_kinematics(poses, "tool", q_init=_Q, position_limits={"elbow": (1.35, 1.45)})
    early = robot.inverse_kinematics(X[1], "tool", q_init=_Q + 1.3, max_iterations=2)
    return {
        "several": [several.q, str(several), several.explain(9).partition(":")[0]],
        "near": _all(near),
        "derivative": near.derivative("X_target"),
        "branches": [branches.q, branches.valid, str(branches), branches.nearest_first(_Q), form.joints, str(form)],
        "failed": [failed.q, str(failed), failed.explain(1), failed.explain(2).partition(":")[0], failed.distance],
        "proof": [str(failed.proof[1]), failed.proof[1].beyond, failed.proof[1].kind],
        "early": [str(early.status), early.iterations],
    }


@case(1e-5)
def closed_form_of_a_redundant_arm(_: Any) -> Any:
    robot = lw.load("arm7")
    q = np.array([0.3, 0.4, -0.5, -1.2, 0.2, 1.6, 0.1])
    form = robot.closed_form("hand")
    X = robot.pose(q, "hand")
    branches = form.branches(X, **{"elbow" if form.redundant == "elbow" else "locked": form.redundant_angle(q) + 0.2})
    return {
        "family": str(form.family),
        "joints": list(form.joints),
        "redundant": str(form.redundant),
        "angle": form.redundant_angle(q),
        "branches": [branches.q, branches.valid, branches.count],
        "ranges": form.redundant_ranges(X, samples=90),
        "text": str(form),
    }


_TARGETS: dict[str, Any] = {
    "position": (0.43, 0.29, 0.71),
    "turned": lw.pose(rpy=(0.3, 0.5, -0.4))[:3, :3],
    "posture": [0.2, -0.3, 0.5],
    "joint": 0.61,
    "align": (0.3, 0.5, 0.8),
    "look": (0.9, -0.4, 0.6),
    "mass": (0.1, 0.05, 0.5),
    "distance": 0.53,
    "dexterity": 0.09,
    "own": 0.17,
    "pose": lw.pose((0.3, 0.2, 0.6), rpy=(0.2, -0.3, 0.5)),
}


def _tasks() -> list[ik.Task]:
    """Return soft tasks of most kinds; none of their options has its default."""
    scene = lw.Scene().with_sphere("ball", 0.13, (0.4, 0.35, 0.8)).with_half_space("floor")
    return [
        ik.PositionTask("tool", weight=1.3, name="position", axes="column", tolerance=(1e-6, 2e-6, np.inf)),
        ik.OrientationTask("tool", weight=0.7, relative_to="column", axes="reference", name="turned"),
        ik.PoseTask("tool", weight=(0.4, 0.2, 0.3, 1.1, 0.6, 0.8), axes="target", name="pose"),
        ik.PostureTask({"turn": 0.3, "bend": 0.5}, weight=1.2, name="posture"),
        ik.JointTask("bend", weight=0.4, name="joint"),
        ik.AlignTask("tool.x", weight=0.6, cone=0.2, name="align"),
        ik.AlignTask("tool.z", to="column.y", weight=0.35, name="directions"),
        ik.LookAtTask("tool.y", weight=0.8, cone=0.1, name="look"),
        ik.LookAtTask("tool.z", point="column", weight=0.25, name="look back"),
        ik.BoxTask(
            "elbow", lower=(0.3, -0.2, 0.3), upper=(0.35, 0.2, 0.4), weight=0.9, name="box", relative_to="column"
        ),
        ik.CenterOfMassTask(weight=2.1, name="mass"),
        ik.SupportPolygonTask([(0.0, 0.0), (0.12, 0.01), (0.05, 0.14)], margin=0.01, weight=1.4, name="support"),
        ik.DistanceTask("tool", "column", weight=0.9, name="distance"),
        ik.ManipulabilityTask("tool", part="position", weight=3.0, name="dexterity"),
        ik.ClearanceTask(scene, 0.4, weight=0.5, name="clear"),
        ik.FunctionTask("own", lambda k, y: k.point("tool")[2] * k.q("bend") - y, shape=(), weight=0.6),
        ik.Soft(lw.constraints.PointOnPlane("elbow", "world.z", name="plane"), 0.8),
        ik.Soft(ik.Within(lw.constraints.Distance("tool", "world", 0.4, name="reach"), -0.05, 0.07), 1.7),
    ]


@case(1e-5)
def tasks_of_every_kind(_: Any) -> Any:
    problem = arm().ik_problem(_tasks(), num_starts=2)
    q = inside(arm(), 1, 31)[0]
    errors, rows = problem.residual_and_jacobian(q, **_TARGETS)
    result = problem.solve(q, **_TARGETS)
    return {
        "errors": errors,
        "rows": rows,
        "result": [result.q, result.soft_cost, result.status, str(result)],
        "remaining": result.errors,
        "text": str(problem),
        "scales": problem.scales,
        "units": [task.row_units for task in _tasks()],
        "components": [task.component_names for task in _tasks()],
    }


@case(1e-4)
def solvers_of_tasks(_: Any) -> Any:
    robot, q = arm(), inside(arm(), 1, 33)[0]
    goal = robot.point_position(inside(robot, 1, 34)[0], "tool")
    hand, posture_task = ik.PositionTask("tool"), ik.PostureTask(weight=0.7, level=1)
    firsts = [ik.PositionTask("tool", weight=1.1), posture_task]
    far = np.add(goal, [0.9, 0.2, 0.3])
    levels = robot.ik_problem(firsts).solve(q, tool=far, posture=[0.3, 0.2, -0.4])
    augmented = robot.ik_problem(
        [ik.PositionTask("tool", tolerance=(1e-6, 1e-6, np.inf)), ik.PostureTask(weight=0.4)],
        position_limits={"lift": (-1.1, 1.2)},
    )
    soft = augmented.solve(q, tool=goal, posture=[0.3, 0.2, -0.4])
    plain = robot.ik_problem(
        [ik.PositionTask("tool", tolerance=(1e-6, 1e-6, np.inf))], locked=["turn"], max_iterations=70
    )
    near = robot.ik_problem(ik.PositionTask("tool", tolerance=(1e-6, np.inf, 1e-6)), solver="nearest")
    nearest = near.solve(q, nearest_to=q + 0.2, tool=goal)
    apart = robot.ik_problem([ik.PositionTask("tool", name="here"), ik.PositionTask("tool", name="there")])
    failed = apart.solve(q, here=goal, there=np.add(goal, [0.05, 0.1, -0.03]))
    missed = augmented.solve(q, tool=far, posture=[0.3, 0.2, -0.4])
    return {
        "levels": _all(levels),
        "soft": _all(soft),
        "plain": _all(plain.solve(q, tool=goal)),
        "damped": robot.ik_problem(hand, solver="damped").solve(q, tool=goal).q,
        "projected": robot.ik_problem(hand, solver="projection").solve(q + 0.03, tool=goal).q,
        "nearest": _all(nearest),
        "failed": str(failed.status),
        "missed": [_all(missed), missed.explain(), str(missed.proof)],
        "derivative": [soft.derivative("tool"), nearest.derivative("nearest_to"), soft.derivative("placement:bend")],
    }


@case(1e-6)
def velocities_for_tasks(_: Any) -> Any:
    robot, q = arm(), inside(arm(), 2, 35, 0.6)
    tasks = [
        ik.PositionTask("tool", weight=1.3),
        ik.JointVelocityTask("bend", weight=0.2, name="rate"),
        ik.MomentumTask(weight=0.3, name="momentum"),
        ik.PostureTask(weight=0.1, level=1),
        ik.Within(ik.JointTask("lift", target=0.1), -0.9, 0.8),
    ]
    limits = {"acceleration": {"turn": 40.0, "bend": 90.0}, "velocity": {"lift": 0.6}, "position": True}
    step = robot.velocity_for(
        tasks,
        q,
        0.013,
        v_last=np.array([0.2, -0.1, 0.3]),
        motion_limits=limits,
        gain={"tool": 0.3, "posture": 0.7},
        damping=0.07,
        tool=np.add(robot.point_position(q, "tool"), [0.02, -0.01, 0.03]),
        rate=0.2,
        momentum=[0.1, 0.2, -0.1, 0.3, -0.2, 0.1],
        posture=[0.2, 0.1, -0.1],
    )
    control = ik.DifferentialIK(robot, ik.PositionTask("tool"), 0.02, time_constant=0.09, damping=0.02, locked=["lift"])
    v = control.step(q[0], np.add(robot.point_position(q[0], "tool"), [0.01, 0.02, -0.01]))
    return {
        "v": step.v,
        "errors": step.errors,
        "after": step.after,
        "status": str(step),
        "active": str(step.at_limits),
        "step": v,
    }


@case(1e-5)
def paths_of_poses(_: Any) -> Any:
    robot = lw.load("arm6")
    path = np.array([robot.pose(_Q, "tool")] * 9)
    path[:, 1, 3] -= np.linspace(0.0, 0.31, 9)
    path[:, 2, 3] += np.linspace(0.0, 0.07, 9) ** 2
    tracked = robot.inverse_kinematics_path(path, "tool", q_init=_Q, max_joint_jump=0.11)
    path[6:, 0, 3] += 2.0
    lost = robot.inverse_kinematics_path(path, "tool", q_init=_Q)
    return {
        "q": tracked.q,
        "steps": tracked.steps,
        "jump": list(tracked.largest_jump),
        "text": [str(tracked), str(lost)],
        "changes": [tracked.reconfigurations, lost.reconfigurations],
        "success": [tracked.success, lost.success],
        "explained": lost.explain(),
        "message": lost.message,
    }
