"""Dry friction, armature and springs of a joint: conversion between arguments, `Joint` and trees; URDF's dynamics."""

from __future__ import annotations

from typing import Any

import numpy as np

from linkwork.expr.arrays.symbol_array import is_traced, map_samples
from linkwork.expr.scalar.functions import sign
from linkwork.joints import JointType
from linkwork.joints.base.checks import call_joint
from linkwork.kernels.array_arguments import ArgumentReader
from linkwork.kernels.compiler_api import Port
from linkwork.kernels.owners import KernelOwner
from linkwork.model.body import FRICTION_VELOCITY, Body, Drive
from linkwork.spatial.arguments import checked_array, fixed_array

__all__ = [
    "DRIVE",
    "check_drive",
    "dof_values",
    "drive_arrays",
    "read_drive",
    "resistance",
    "rest_values",
    "stored_drive",
]


DRIVE = ("armature", "gear_ratio", "stiffness", "rest", "static_friction", "friction_velocity")


def read_drive(name: str, type: JointType, friction: np.ndarray, values: dict[str, Any]) -> dict[str, Any]:
    """Read the armature, gear ratio, stiffness, rest, static friction and friction velocity of a joint as arrays.

    Keys are the names of `Joint.of`'s arguments. Values are numbers or arrays; None, or a missing name, means the
    default. A ``rotor_inertia`` J behind the gear ratio N gives the armature N² J.

    Raises TypeError for an armature beside a rotor inertia. Raises ValueError, with the joint's name, for negative or
    non-finite values, a zero gear ratio or friction velocity, static friction below kinetic friction, and an invalid
    rest configuration.
    """
    nv = type.nv
    default = {"armature": 0.0, "gear_ratio": 1.0, "stiffness": 0.0, "friction_velocity": FRICTION_VELOCITY}
    stated = {key: default[key] if values.get(key) is None else values[key] for key in default}
    result = {
        key: dof_values(name, key, value, nv, least=-np.inf if key == "gear_ratio" else 0.0, infinite=False)
        for key, value in stated.items()
    }
    rotor = values.get("rotor_inertia")
    if rotor is not None:
        if values.get("armature") is not None:
            raise TypeError(f"joint {name!r}: expected armature or rotor_inertia, got both")
        rotor = dof_values(name, "rotor_inertia", rotor, nv, least=0.0, infinite=False)
        with np.errstate(over="ignore"):
            reflected = result["gear_ratio"] ** 2 * rotor
        result["armature"] = dof_values(name, "gear_ratio² · rotor_inertia", reflected, nv, least=0.0, infinite=False)
    static = values.get("static_friction")
    static = friction if static is None else dof_values(name, "static_friction", static, nv, least=0.0, infinite=False)
    result |= {"rest": rest_values(name, type, values.get("rest")), "static_friction": fixed_array(static)}
    check_drive(name, friction, result)
    return {key: result[key] for key in DRIVE}


def check_drive(name: str, friction: np.ndarray, result: dict[str, np.ndarray]) -> None:
    """Raise ValueError for zero gear ratios or friction velocities, and static friction below kinetic friction."""
    if not result["gear_ratio"].all():
        raise ValueError(f"joint {name!r}: gear_ratio: expected non-zero rotor revolutions per joint revolution, got 0")
    if not result["friction_velocity"].all():
        raise ValueError(
            f"joint {name!r}: friction_velocity: expected a positive speed, at which friction has tanh(1) of its "
            f'size, got 0; use the law friction="coulomb" for friction without it'
        )
    for static, kinetic in zip(result["static_friction"].tolist(), friction.tolist(), strict=True):
        if static < kinetic:
            raise ValueError(
                f"joint {name!r}: static_friction: expected at least the kinetic friction {kinetic!r}, got {static!r}"
            )


def rest_values(name: str, type: JointType, configuration: Any) -> np.ndarray:
    """Return a spring's rest configuration (nq,), the type's zero configuration for None.  Raises ValueError."""
    if configuration is None:
        return fixed_array(call_joint(name, type, "zero"))
    array = np.asarray(configuration)
    if array.ndim == 0 and type.nq == 1 and array.dtype != object:
        configuration = array[np.newaxis]
    try:
        values = type.checked(configuration, name)
    except ValueError as error:
        raise ValueError(f"joint {name!r}: rest: {str(error).partition(': ')[2]}") from None
    if values.ndim != 1:
        raise ValueError(f"joint {name!r}: rest: expected {type.nq} numbers, got an array of shape {values.shape}")
    return fixed_array(values + 0.0)


def stored_drive(name: str, type: JointType, friction: np.ndarray, values: dict[str, np.ndarray]) -> Drive:
    """Return armature, gear ratio, springs and friction in the form that a tree stores; defaults are empty tuples."""
    zero = call_joint(name, type, "zero")
    default = {"armature": 0.0, "gear_ratio": 1.0, "stiffness": 0.0, "rest": zero, "static_friction": friction}
    default["friction_velocity"] = FRICTION_VELOCITY
    same = {key: np.array_equal(values[key], np.broadcast_to(default[key], values[key].shape)) for key in DRIVE}
    return Drive(**{key: () if same[key] else tuple(values[key].tolist()) for key in DRIVE})


def drive_arrays(body: Body) -> dict[str, Any]:
    """Return armature, gear ratio, springs and friction of a body's joint as arrays by name, with default values."""
    drive, nv = body.drive, body.joint.nv
    result = {
        "armature": Drive.full(drive.armature, nv, 0.0),
        "gear_ratio": Drive.full(drive.gear_ratio, nv, 1.0),
        "stiffness": Drive.full(drive.stiffness, nv, 0.0),
        "rest": drive.rest or body.call_joint("zero"),
        "static_friction": drive.static_friction or body.friction,
        "friction_velocity": Drive.full(drive.friction_velocity, nv, FRICTION_VELOCITY),
    }
    return {key: fixed_array(values) for key, values in result.items()}


def dof_values(
    joint: str, field: str, value: Any, count: int, least: float = -np.inf, infinite: bool = True
) -> np.ndarray:
    """Return a read-only array (count,) of values by degree of freedom, from a number or an array.

    Raises ValueError for values below ``least``, and for infinite ones unless ``infinite``.
    """
    kind = "number" if infinite else "finite number"
    expected = f"joint {joint!r}: {field}: expected a {kind}" + (f" or {count} of them" if count != 1 else "")
    values = checked_array(value, expected, (), (count,), infinite=infinite)
    if (values < least).any():
        raise ValueError(f"{expected}, non-negative, got {value!r}")
    return fixed_array(np.broadcast_to(values, (count,)))


def resistance(subject: KernelOwner, v: Any, damping: np.ndarray, friction: np.ndarray) -> np.ndarray:
    """Return the joint forces τ = −damping · v − friction · sign(v).

    Arguments are checked like the arguments of compiled functions.
    """
    reader = ArgumentReader(subject, "passive_torque", (Port("v", damping.shape),), ())
    if is_traced(v):
        coefficients = list(zip(damping.tolist(), friction.tolist(), strict=True))

        def sample(rates: list[Any]) -> list[list[Any]]:
            return [[0.0 - d * x - c * sign(x) for x, (d, c) in zip(rates, coefficients, strict=True)]]

        return map_samples(sample, reader.prepared_scalars([v]), [1], [damping.shape])[0]  # type: ignore[no-any-return]
    (array,) = reader.prepared([v])
    reader.refuse_not_finite([array])
    rate = array.astype(float)
    torque: np.ndarray = 0.0 - damping * rate - friction * np.sign(rate)
    return torque
