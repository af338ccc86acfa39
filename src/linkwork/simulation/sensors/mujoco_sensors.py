"""Sensors of a MuJoCo model that linkwork has."""

from __future__ import annotations

from typing import Any

from linkwork._util.checked_arguments import public
from linkwork.errors import Findings
from linkwork.formats.mjcf.bodies_and_joints import read_structure, sites_as_frames
from linkwork.formats.mjcf.compiled_model import CompiledModel, imported_mujoco
from linkwork.simulation.sensors.frame_sensors import IMU
from linkwork.simulation.sensors.joint_sensors import Encoder
from linkwork.simulation.sensors.sensor import Sensor

__all__ = ["sensors_of_mujoco"]

_OF_JOINTS = {"jointpos": "position", "jointvel": "velocity", "ballangvel": "velocity", "jointactfrc": "force"}
_OF_SITES = {"gyro": "angular_velocity", "accelerometer": "specific_force"}


@public
def sensors_of_mujoco(model: Any) -> dict[str, Sensor]:
    """Return the sensors of a `mujoco.MjModel` by name, for simulations of ``Robot.from_mujoco(model)``.

    Sensors of joint positions, velocities and forces are `Encoder`; gyroscopes and accelerometers are `IMU`.  Their
    noise is the standard deviation that the model states, which MuJoCo itself does not apply.  A sensor without a name
    is "sensor" and its index.  Other sensors are left out; ``robot.report`` names them.

    Raises TypeError for another type, ImportError without the package mujoco.
    """
    mujoco = imported_mujoco("sensors_of_mujoco")
    if not isinstance(model, mujoco.MjModel):
        raise TypeError(f"sensors_of_mujoco: model: expected a mujoco.MjModel, got {type(model).__name__}")
    source = CompiledModel(model)
    read_structure(source, Findings(), {}, None)  # which takes the names of links
    sites_as_frames(source)
    array = source.array
    delays = array("sensor_delay", [0.0] * model.nsensor)
    result: dict[str, Sensor] = {}
    for i, (name, kind, target) in enumerate(
        zip(source.own_names("sensor", model.nsensor), array("sensor_type"), array("sensor_objid"), strict=True)
    ):
        word, noise = source.kind("mjtSensor", kind), array("sensor_noise")[i]
        if word in _OF_JOINTS:
            joint = source.joints[target]
            result[name] = Encoder((joint,), _OF_JOINTS[word], noise=noise, delay=delays[i])
        elif word in _OF_SITES:
            result[name] = IMU(source.sites[target], _OF_SITES[word], noise=noise, delay=delays[i])
    return result
