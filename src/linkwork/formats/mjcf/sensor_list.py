"""Sensors of a MuJoCo model: kinds, targets, noise and delays."""

from __future__ import annotations

from typing import Any, NamedTuple

from linkwork.formats.description import Findings
from linkwork.formats.mjcf.bodies_and_joints import read_structure, sites_as_frames
from linkwork.formats.mjcf.compiled_model import CompiledModel, imported_mujoco

__all__ = ["READ_SENSORS", "ModelSensor", "listed_sensors"]

_OF_JOINTS = {"jointpos": "position", "jointvel": "velocity", "ballangvel": "velocity", "jointactfrc": "force"}
_OF_SITES = {"gyro": "angular_velocity", "accelerometer": "specific_force"}
READ_SENSORS = (*_OF_JOINTS, *_OF_SITES)


class ModelSensor(NamedTuple):
    """A sensor at a joint or in a frame."""

    name: str
    joint: str | None
    frame: str | None
    quantity: str
    noise: float  # standard deviation
    delay: float  # [s]


def listed_sensors(model: Any, caller: str) -> list[ModelSensor]:
    """Return the sensors of a `mujoco.MjModel` that linkwork has.

    Raises TypeError for another type, ImportError without the package mujoco.
    """
    mujoco = imported_mujoco(caller)
    if not isinstance(model, mujoco.MjModel):
        raise TypeError(f"{caller}: model: expected a mujoco.MjModel, got {type(model).__name__}")
    source = CompiledModel(model)
    read_structure(source, Findings(), {}, None)  # which takes the names of links
    sites_as_frames(source)
    array, count = source.array, model.nsensor
    values = array("sensor_type"), array("sensor_objid"), array("sensor_noise"), array("sensor_delay", [0.0] * count)
    result = []
    for name, kind, target, noise, delay in zip(source.own_names("sensor", count), *values, strict=True):
        word = source.kind("mjtSensor", kind)
        if word in _OF_JOINTS:
            result.append(ModelSensor(name, source.joints[target], None, _OF_JOINTS[word], noise, delay))
        elif word in _OF_SITES:
            result.append(ModelSensor(name, None, source.sites[target], _OF_SITES[word], noise, delay))
    return result
