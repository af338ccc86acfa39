"""Values of the library as plain data, and back: joint types and constraints by the arguments that make them.

What a file may say of a type is what the type's constructor takes, by the annotations of its arguments, so a new type
or a new kind of constraint is in files without another word.  What holds a function is in none.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from linkwork.constraints import ALL as CONSTRAINTS
from linkwork.constraints import Constraint, LoopJoint
from linkwork.force_elements import ALL as FORCE_ELEMENTS
from linkwork.force_elements import ForceElement
from linkwork.joints import ALL as JOINTS
from linkwork.joints import JointType, Revolute
from linkwork.spatial import Pose, Rotation, Vec3

__all__ = [
    "ELEMENTS",
    "KINDS",
    "TYPES",
    "Argument",
    "arguments",
    "constructor_arguments",
    "in_words",
    "is_function",
    "is_plain",
    "plain",
]


def in_words(kind: type) -> str:
    """The word for a class in files: ``PointOnLine`` is point_on_line, ``SphericalMRP`` is spherical_mrp."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", kind.__name__).lower()


TYPES: dict[str, type[JointType]] = {in_words(kind): kind for kind in JOINTS} | {"continuous": Revolute}
KINDS: dict[str, type[Constraint]] = {in_words(kind): kind for kind in CONSTRAINTS if kind is not LoopJoint}


ELEMENTS: dict[str, type[ForceElement]] = {in_words(kind): kind for kind in FORCE_ELEMENTS}


@dataclass(frozen=True, slots=True)
class Argument:
    """What a constructor takes: its name, what it is annotated with, and whether it may be left out."""

    name: str
    hint: Any
    required: bool
    default: Any


@cache
def arguments(kind: Callable[..., Any]) -> tuple[Argument, ...]:
    """Return the arguments of a constructor: a class, or a function that creates values."""
    hints = _hints(kind.__dict__.get("__init__")) | _hints(kind)  # arguments that are no fields, and fields
    result = []
    for name, parameter in inspect.signature(kind).parameters.items():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            continue
        required = parameter.default is parameter.empty
        result.append(Argument(name, hints.get(name, Any), required, None if required else parameter.default))
    return tuple(result)


def _hints(annotated: Any) -> dict[str, Any]:
    try:
        return get_type_hints(annotated) if annotated is not None else {}
    except NameError:  # of what is imported for type checkers alone
        return {}


@cache
def is_plain(kind: type[Constraint]) -> bool:
    """Whether all that a kind is made from can stand in a file: no function, of time or of anything else."""
    return not kind.time_dependent and not any(
        argument.required and is_function(argument.hint) for argument in arguments(kind)
    )


def is_function(hint: Any) -> bool:
    """Whether an annotation is that of functions, or of none."""
    options = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    return all((get_origin(option) or option) in (Callable, NoneType) for option in options) and hint is not NoneType


def plain(value: Any, what: str) -> Any:
    """A value as what JSON has.  Raises TypeError, with ``what``, for what no file can say."""
    match value:
        case None | bool() | str():
            return value
        case int() | float():
            return float(value) if isinstance(value, float) else value
        case JointType():
            return _joint(value, what)
        case Pose():
            return _pose(value)
        case Rotation():
            return value.rows()
        case Vec3():
            return [*value]
        case Mapping():
            return {str(key): plain(item, what) for key, item in value.items()}
        case Sequence():
            return [plain(item, what) for item in value]
    raise TypeError(f"{what}: {value!r} can stand in no file")


def constructor_arguments(value: Any, kind: type, what: str) -> dict[str, Any]:
    """The arguments that a value is made from, as plain data, but for those that are their defaults."""
    result = {}
    for argument in arguments(kind):
        try:
            given = getattr(value, argument.name)
        except AttributeError:
            raise TypeError(f"{what}: {kind.__name__} does not keep its {argument.name!r}") from None
        if argument.required or given != argument.default:
            result[argument.name] = plain(given, what)
    return result


def _joint(joint: JointType, what: str) -> dict[str, Any]:
    if TYPES.get(in_words(type(joint))) is not type(joint):
        raise TypeError(
            f"{what}: joint type {type(joint).__name__} is none of linkwork.joints, and can stand in no file"
        )
    return {"type": in_words(type(joint)), **constructor_arguments(joint, type(joint), what)}


def _pose(pose: Pose) -> dict[str, Any]:
    result: dict[str, Any] = {"xyz": [*pose.translation]}
    if pose.rotation != Rotation.identity():
        result["rotation"] = pose.rotation.rows()
    return result
