"""Dry friction, armature and springs of a joint: as people give them, as joints keep them, and as trees have them.

What damping and dry friction exert: URDF's dynamics of joints, of one or of a whole robot.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from linkwork.expr.arrays.symbol_array import is_traced, over_samples
from linkwork.expr.scalar.functions import sign
from linkwork.joints import JointType
from linkwork.joints.base.error_context import call_joint
from linkwork.kernels.array_arguments import ArgumentReader
from linkwork.kernels.compiler_api import Port
from linkwork.kernels.owners import KernelOwner
from linkwork.model.body import FRICTION_VELOCITY, Body, Drive
from linkwork.spatial.arguments import fixed_array, given_numbers

__all__ = [
    "DRIVE",
    "check_drive",
    "dof_values",
    "drive_arrays",
    "given_drive",
    "resistance",
    "rest_values",
    "stated_drive",
]


DRIVE = ("armature", "gear_ratio", "stiffness", "rest", "static_friction", "friction_velocity")


def given_drive(name: str, type: JointType, friction: np.ndarray, given: dict[str, Any]) -> dict[str, Any]:
    """The arrays of these names, from numbers or one for each; None stands for what is not stated.

    Raises ValueError with the joint's name: for numbers that are negative or not finite, a gear ratio or a velocity of
    zero, static friction below that of motion, and a rest that is no configuration.
    """
    nv = type.nv
    default = {"armature": 0.0, "gear_ratio": 1.0, "stiffness": 0.0, "friction_velocity": FRICTION_VELOCITY}
    numbers = {key: default[key] if given.get(key) is None else given[key] for key in default}
    result = {
        key: dof_values(name, key, value, nv, least=-np.inf if key == "gear_ratio" else 0.0, infinite=False)
        for key, value in numbers.items()
    }
    static = given.get("static_friction")
    held = friction if static is None else dof_values(name, "static_friction", static, nv, least=0.0, infinite=False)
    result |= {"rest": rest_values(name, type, given.get("rest")), "static_friction": fixed_array(held)}
    check_drive(name, friction, result)
    return {key: result[key] for key in DRIVE}


def check_drive(name: str, friction: np.ndarray, result: dict[str, np.ndarray]) -> None:
    """Raises ValueError for what cannot be together, and for zeros that cannot be."""
    if not result["gear_ratio"].all():
        raise ValueError(f"joint {name!r}: gear_ratio: expected turns of the rotor for one of the joint, got 0")
    if not result["friction_velocity"].all():
        raise ValueError(
            f"joint {name!r}: friction_velocity: expected a speed above 0, at which friction has tanh(1) of its size, "
            f'got 0; friction="coulomb" is the law without one'
        )
    for static, kinetic in zip(result["static_friction"].tolist(), friction.tolist(), strict=True):
        if static < kinetic:
            raise ValueError(
                f"joint {name!r}: static_friction: expected at least that of motion, {kinetic!r}, got {static!r}"
            )


def rest_values(name: str, type: JointType, rest: Any) -> np.ndarray:
    """A configuration (nq,), or the type's zero for None.  Raises ValueError."""
    if rest is None:
        return fixed_array(call_joint(name, type, "zero"))
    numbers = np.asarray(rest)
    if numbers.ndim == 0 and type.nq == 1 and numbers.dtype != object:
        rest = numbers[np.newaxis]
    try:
        values = type.checked(rest, name)
    except ValueError as error:
        raise ValueError(f"joint {name!r}: rest: {str(error).partition(': ')[2]}") from None
    if values.ndim != 1:
        raise ValueError(f"joint {name!r}: rest: expected {type.nq} numbers, got an array of shape {values.shape}")
    return fixed_array(values + 0.0)


def stated_drive(name: str, type: JointType, friction: np.ndarray, given: dict[str, np.ndarray]) -> Drive:
    """Arrays as a tree has them, in which what is as usual is not stated."""
    zero = call_joint(name, type, "zero")
    usual = {"armature": 0.0, "gear_ratio": 1.0, "stiffness": 0.0, "rest": zero, "static_friction": friction}
    usual["friction_velocity"] = FRICTION_VELOCITY
    same = {key: np.array_equal(given[key], np.broadcast_to(usual[key], given[key].shape)) for key in DRIVE}
    return Drive(**{key: () if same[key] else tuple(given[key].tolist()) for key in DRIVE})


def drive_arrays(body: Body) -> dict[str, Any]:
    """What a body's joint has, in full."""
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
    joint: str, what: str, value: Any, count: int, least: float = -np.inf, infinite: bool = True
) -> np.ndarray:
    """A number, or one for each, as an array that cannot be written to.  Raises ValueError."""
    kind = "number" if infinite else "finite number"
    expected = f"joint {joint!r}: {what}: expected a {kind}" + (f" or {count} of them" if count != 1 else "")
    values = given_numbers(value, expected, (), (count,), infinite=infinite)
    if (values < least).any():
        raise ValueError(f"{expected}, none negative, got {value!r}")
    return fixed_array(np.broadcast_to(values, (count,)))


def resistance(subject: KernelOwner, v: Any, damping: np.ndarray, friction: np.ndarray) -> np.ndarray:
    """τ = −damping · v − friction · sign(v), at a velocity that is looked at as those of compiled functions are."""
    asked = ArgumentReader(subject, "passive_torque", (Port("v", damping.shape),), ())
    if is_traced(v):
        resisting = list(zip(damping.tolist(), friction.tolist(), strict=True))

        def resisted(rates: list[Any]) -> list[list[Any]]:
            return [[0.0 - d * x - c * sign(x) for x, (d, c) in zip(rates, resisting, strict=True)]]

        return over_samples(resisted, asked.prepared_scalars([v]), [1], [damping.shape])[0]  # type: ignore[no-any-return]
    (given,) = asked.prepared([v])
    asked.refuse_not_finite([given])
    rate = given.astype(float)
    torque: np.ndarray = 0.0 - damping * rate - friction * np.sign(rate)
    return torque
