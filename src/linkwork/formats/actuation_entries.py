"""Actuators and named configurations as entries of a loops file: reading and writing.

An actuator's entry has a ``kind`` and the arguments of the constructor of that kind.  Differences from Python: a gear
is a number or a list with one number for each velocity of the joint, ``joints`` is an object with a gear by joint name,
and null in a range means that there is no bound on that side.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from linkwork.formats.constructor_reader import PlainReader
from linkwork.formats.constructor_schema import constructor_arguments
from linkwork.formats.data_values import Value
from linkwork.model.actuator import FREE, Actuator
from linkwork.model.description import ActuatorDescription, NamedState, NamedStateDescription

__all__ = [
    "ACTUATOR_KINDS",
    "actuator_entry",
    "named_configuration_entry",
    "read_actuator",
    "read_named_configuration",
]

ACTUATOR_KINDS: dict[str, Callable[..., Actuator]] = {
    "motor": Actuator.motor,
    "position": Actuator.position,
    "velocity": Actuator.velocity,
    "affine": Actuator,
}
_RANGES = ("control_range", "force_range")


def read_actuator(reader: PlainReader, value: Value) -> ActuatorDescription | None:
    """Return the actuator that an entry of a loops file describes; None after an error.

    Records the error ACTUATOR, and errors of the entry's values.
    """
    errors = len(reader.findings.errors)
    constructor = reader.kind(value, ACTUATOR_KINDS, "ACTUATOR")
    if constructor is None:
        return None
    arguments = reader.arguments(
        value,
        constructor,
        more=("kind",),
        readers={
            "name": lambda _: reader.text(value, "name"),
            "joints": lambda item: _by_name(reader, item),
            "gear": lambda item: _number_or_list(reader, item),
            **dict.fromkeys(_RANGES, lambda item: _range(reader, item)),
        },
    )
    if len(reader.findings.errors) > errors:
        return None
    try:
        return ActuatorDescription(constructor(**arguments), reader.where(value))
    except ValueError as error:
        reader.error(value, "ACTUATOR", str(error))
        return None


def read_named_configuration(reader: PlainReader, value: Value) -> NamedStateDescription | None:
    """Return the named configuration that an entry of a loops file describes; None after an error."""
    errors = len(reader.findings.errors)
    reader.known(value, ("name", "q", "v", "controls"))
    name, q = reader.text(value, "name"), reader.required(value, "q")
    v, controls = value.content.get("v"), value.content.get("controls")
    state = NamedState(
        name,
        () if q is None else _by_name(reader, q),
        None if v is None else _by_name(reader, v),
        None if controls is None else _controls(reader, controls),
    )
    return NamedStateDescription(state, reader.where(value)) if len(reader.findings.errors) == errors else None


def _controls(reader: PlainReader, value: Value) -> tuple[tuple[str, float], ...]:
    if not reader.is_object(value, str(value.step)):
        return ()
    return tuple([(name, reader.number(item)) for name, item in value.content.items()])


def _by_name(reader: PlainReader, value: Value) -> tuple[tuple[str, tuple[float, ...]], ...]:
    """Return pairs (name of a joint, tuple of its values), from an object with a number or a list for each joint."""
    if not reader.is_object(value, str(value.step)):
        return ()
    return tuple([(name, _number_or_list(reader, item)) for name, item in value.content.items()])


def _number_or_list(reader: PlainReader, value: Value) -> tuple[float, ...]:
    return reader.float_list(value) if isinstance(value.content, list) else (reader.number(value),)


def _range(reader: PlainReader, value: Value) -> tuple[float, float]:
    """Return the lower and upper bound from a list of two; null means no bound."""
    if not isinstance(value.content, list) or len(value.content) != 2:
        reader.error(value, "ARITY", f"{value.step}: expected [lower, upper], null for no bound, got {value.kind}")
        return FREE
    lower, upper = [
        bound if item.content is None else reader.number(item) for item, bound in zip(value.items, FREE, strict=True)
    ]
    return lower, upper


# -- writing


def actuator_entry(actuator: Actuator) -> dict[str, Any]:
    """Return an actuator as the data of its entry in a loops file.

    The entry's kind is the one with the fewest arguments that gives the same actuator.
    """
    arguments = constructor_arguments(actuator, Actuator, f"actuator {actuator.name!r}")
    ranges = {
        key: [None if math.isinf(bound) else bound for bound in getattr(actuator, key)]
        for key in _RANGES
        if key in arguments
    }
    coefficients = _usual_coefficients(actuator)
    if coefficients is not None:
        ((joint, gear),) = actuator.joints
        geared = {} if gear == (1.0,) else {"gear": _one_or_list(gear)}
        return {"name": actuator.name, "joint": joint, **coefficients, **geared, **ranges}
    joints = {name: _one_or_list(gear) for name, gear in actuator.joints}
    return {"name": actuator.name, "kind": "affine", **arguments, **({"joints": joints} if joints else {}), **ranges}


def _usual_coefficients(actuator: Actuator) -> dict[str, Any] | None:
    """Return the entry of an actuator as kind "motor", "position" or "velocity", with the coefficients of that kind.

    None if the actuator acts on several joints, or if none of the three kinds has its force law.
    """
    if len(actuator.joints) != 1:
        return None
    stiffness, damping = actuator.gain[0], 0.0 - actuator.bias[2]
    match actuator.kind:
        case "motor" if stiffness == 1.0:
            return {"kind": "motor"}
        case "position" if stiffness >= 0.0 and damping >= 0.0:
            return {"kind": "position", "stiffness": stiffness, **({"damping": damping} if damping else {})}
        case "velocity" if damping >= 0.0:
            return {"kind": "velocity", "damping": damping}
    return None


def named_configuration_entry(state: NamedState) -> dict[str, Any]:
    """Return a named configuration as the data of its entry in a loops file."""
    result: dict[str, Any] = {"name": state.name, "q": {name: _one_or_list(q) for name, q in state.q}}
    if state.v is not None:
        result["v"] = {name: _one_or_list(v) for name, v in state.v}
    if state.controls is not None:
        result["controls"] = dict(state.controls)
    return result


def _one_or_list(values: Sequence[float]) -> Any:
    return values[0] if len(values) == 1 else [*values]
