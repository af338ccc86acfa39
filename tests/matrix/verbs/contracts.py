"""The contracts of tasks, features of optimal motion, and sensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import linkwork as lw
from linkwork import ik, optimal, simulation
from matrix.cell import verb
from matrix.kinds import Kind

FAR = lw.Scene().with_sphere("far", 0.1, (9.0, 9.0, 9.0))


def _has_joints(kind: Kind) -> bool:
    return bool(kind.robot.nv)


_WEIGHTS = np.random.default_rng(4).normal(size=12)


def _single(kind: Kind) -> tuple[str, ...]:
    """Return the joints of one coordinate, which encoders read."""
    return tuple(joint.name for joint in kind.robot.joints if joint.nq == joint.nv == 1)


def _lifted(kind: Kind) -> Any:
    return lw.constraints.PointOnPlane(kind.frame, "world.z", offset=0.3)


TASKS: dict[str, Callable[[Kind], ik.Task]] = {
    "AlignTask": lambda kind: ik.AlignTask(f"{kind.frame}.z", to="world.x"),
    "BoxTask": lambda kind: ik.BoxTask(kind.frame, lower=-0.1, upper=0.2),
    "CenterOfMassTask": lambda kind: ik.CenterOfMassTask(),
    "ClearanceTask": lambda kind: ik.ClearanceTask(FAR, 0.1),
    "ConstraintTask": lambda kind: ik.ConstraintTask(_lifted(kind)),
    "DistanceTask": lambda kind: ik.DistanceTask(kind.frame, "world"),
    "FunctionTask": lambda kind: ik.FunctionTask(
        "place", lambda k: sum(x * y for x, y in zip(k.pose(kind.frame)[:3].ravel(), _WEIGHTS, strict=True)) - 0.1
    ),
    "JointTask": lambda kind: ik.JointTask([joint.name for joint in kind.robot.joints if joint.nv][-1]),
    "JointVelocityTask": lambda kind: ik.JointVelocityTask([joint.name for joint in kind.robot.joints if joint.nv][-1]),
    "LookAtTask": lambda kind: ik.LookAtTask(f"{kind.frame}.z"),
    "ManipulabilityTask": lambda kind: ik.ManipulabilityTask(kind.frame),
    "MomentumTask": lambda kind: ik.MomentumTask(),
    "OrientationTask": lambda kind: ik.OrientationTask(kind.frame),
    "PoseTask": lambda kind: ik.PoseTask(kind.frame),
    "PositionTask": lambda kind: ik.PositionTask(kind.frame),
    "PostureTask": lambda kind: ik.PostureTask(),
    "Soft": lambda kind: ik.Soft(ik.PositionTask(kind.frame)),
    "SupportPolygonTask": lambda kind: ik.SupportPolygonTask([[-1.0, -1.0], [1.0, -1.0], [0.2, 1.3]]),
    "Within": lambda kind: ik.Within(ik.PositionTask(kind.frame), -0.1, 0.2),
}
FEATURES: dict[str, Callable[[Kind], optimal.Feature]] = {
    "AccelerationFeature": lambda kind: optimal.AccelerationFeature(),
    "AccelerationLimits": lambda kind: optimal.AccelerationLimits(-1.0, 1.0),
    "Clearance": lambda kind: optimal.Clearance(FAR, 0.1),
    "ConfigurationFeature": lambda kind: optimal.ConfigurationFeature(),
    "EnergyFeature": lambda kind: optimal.EnergyFeature(),
    "FunctionFeature": lambda kind: optimal.FunctionFeature("speed", lambda w: w.v()[0]),
    "JerkFeature": lambda kind: optimal.JerkFeature(),
    "JerkLimits": lambda kind: optimal.JerkLimits(-1.0, 1.0),
    "MomentumFeature": lambda kind: optimal.MomentumFeature(),
    "PositionLimits": lambda kind: optimal.PositionLimits(-3.0, 3.0),
    "PowerFeature": lambda kind: optimal.PowerFeature(),
    "TaskFeature": lambda kind: optimal.TaskFeature(ik.PositionTask(kind.frame)),
    "TorqueFeature": lambda kind: optimal.TorqueFeature(),
    "TorqueLimits": lambda kind: optimal.TorqueLimits(-9.0, 9.0),
    "UnactuatedFeature": lambda kind: optimal.UnactuatedFeature([kind.robot.joints[0].name]),
    "VelocityFeature": lambda kind: optimal.VelocityFeature(),
    "VelocityLimits": lambda kind: optimal.VelocityLimits(-1.0, 1.0),
}
SENSORS: dict[str, Callable[[Kind], simulation.Sensor]] = {
    "Encoder": lambda kind: simulation.Encoder(_single(kind)),
    "ForceTorqueSensor": lambda kind: simulation.ForceTorqueSensor(kind.robot.joints[0].name),
    "IMU": lambda kind: simulation.IMU(kind.frame),
    "RangeSensor": lambda kind: simulation.RangeSensor(kind.frame, scene=FAR),
}

for _name, _task in TASKS.items():

    def _check_task(kind: Kind, make: Callable[[Kind], ik.Task] = _task) -> None:
        """The task's Jacobian rows, rates and biases equal finite differences of its errors."""
        robot = kind.shaped if make is TASKS["ClearanceTask"] else kind.robot
        _passes(ik.check_task(make(kind), robot))

    verb(f"ik.{_name}", "ik.check_task", needs=_has_joints, name=f"contract of {_name}")(_check_task)

for _name, _feature in FEATURES.items():

    def _check_feature(kind: Kind, make: Callable[[Kind], optimal.Feature] = _feature) -> None:
        """The feature's Jacobians equal finite differences of its values."""
        robot = kind.shaped if make is FEATURES["Clearance"] else kind.robot
        _passes(optimal.check_feature(make(kind), robot))

    verb(f"optimal.{_name}", "optimal.check_feature", needs=_has_joints, name=f"contract of {_name}")(_check_feature)

for _name, _sensor in SENSORS.items():

    def _check_sensor(kind: Kind, make: Callable[[Kind], simulation.Sensor] = _sensor) -> None:
        """Readings of the sensor in a compiled function equal its readings on arrays."""
        _passes(simulation.check_sensor(make(kind), kind.robot, q=kind.q))

    verb(f"simulation.{_name}", "simulation.check_sensor", needs=_has_joints, name=f"contract of {_name}")(
        _check_sensor
    )


def _passes(report: Any) -> None:
    failed = [str(line) for line in report.failures]
    assert report.success, " ".join(failed)[:250]
    assert np.size(report.lines)
