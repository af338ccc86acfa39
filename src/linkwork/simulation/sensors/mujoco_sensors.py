"""Sensors of linkwork from the sensors of a MuJoCo model, where linkwork has the kind."""

from __future__ import annotations

from typing import Any

from linkwork._util.checked_arguments import public
from linkwork.formats.registry import mujoco_sensors
from linkwork.simulation.sensors.frame_sensors import IMU
from linkwork.simulation.sensors.joint_sensors import Encoder
from linkwork.simulation.sensors.sensor import Sensor

__all__ = ["sensors_of_mujoco"]


@public
def sensors_of_mujoco(model: Any) -> dict[str, Sensor]:
    """Return the sensors of a `mujoco.MjModel` by name, for simulations of ``Robot.from_mujoco(model)``.

    Sensors of joint positions, velocities and forces are `Encoder`; gyroscopes and accelerometers are `IMU`.  Their
    noise is the standard deviation that the model states, which MuJoCo itself does not apply.  A sensor without a name
    is "sensor" and its index.  Other sensors are left out; ``robot.report`` names them.

    Raises TypeError for another type, ImportError without the package mujoco.
    """
    result: dict[str, Sensor] = {}
    for name, joint, frame, quantity, noise, delay in mujoco_sensors(model, "sensors_of_mujoco"):
        if joint is None:
            result[name] = IMU(frame, quantity, noise=noise, delay=delay)
        else:
            result[name] = Encoder((joint,), quantity, noise=noise, delay=delay)
    return result
