"""Conversion of joint types and constraints to plain data (their constructors' arguments) and from plain data.

The entry of a type in a file has the arguments of the type's constructor, as their annotations describe them.  So files
can contain new types of joints and constraints without further code, except types that hold a function.
"""

from __future__ import annotations

import inspect
import math
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from linkwork._util.lazy_imports import defining_module
from linkwork.constraints import ALL as CONSTRAINTS
from linkwork.constraints import Constraint, Curve, LoopJoint
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
    "is_exactly",
    "is_function",
    "is_plain",
    "plain",
]


def in_words(kind: type) -> str:
    """Return the name of a class in data files: ``PointOnLine`` is point_on_line, ``SphericalMRP`` is spherical_mrp."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", kind.__name__).lower()


TYPES: dict[str, type[JointType]] = {in_words(kind): kind for kind in JOINTS} | {"continuous": Revolute}
KINDS: dict[str, type[Constraint]] = {in_words(kind): kind for kind in CONSTRAINTS if kind is not LoopJoint}


ELEMENTS: dict[str, type[ForceElement]] = {in_words(kind): kind for kind in FORCE_ELEMENTS}


@dataclass(frozen=True, slots=True)
class Argument:
    """An argument of a constructor: its name, annotation, and default."""

    name: str
    hint: Any
    required: bool
    default: Any


@cache
def arguments(kind: Callable[..., Any]) -> tuple[Argument, ...]:
    """Return the arguments of a constructor: a class, or a function that creates values."""
    hints = _hints(kind.__dict__.get("__init__")) | _hints(kind)  # arguments other than fields, and fields
    result = []
    for name, parameter in inspect.signature(kind).parameters.items():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            continue
        required = parameter.default is parameter.empty
        result.append(Argument(name, hints.get(name, Any), required, None if required else parameter.default))
    return tuple(result)


def _hints(annotated: Any) -> dict[str, Any]:
    known: dict[str, Any] = {}  # the names in the modules of a class and its bases, which is not that of its path
    for base in getattr(annotated, "__mro__", ()):
        known = vars(sys.modules[defining_module(base)]) | known
    try:
        return get_type_hints(annotated, localns=known or None) if annotated is not None else {}
    except NameError:  # names imported only for type checkers
        return {}


@cache
def is_plain(kind: type[Constraint]) -> bool:
    """Return True if files can contain constraints of this class: it takes neither time nor a required function."""
    return not kind.time_dependent and not any(
        argument.required and is_function(argument.hint) for argument in arguments(kind)
    )


def is_function(hint: Any) -> bool:
    """Return True if an annotation permits only functions, or functions and None."""
    options = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    return all((get_origin(option) or option) in (Callable, NoneType) for option in options) and hint is not NoneType


def plain(value: Any, owner: str) -> Any:
    """Return a value as JSON data.  Raises TypeError, with ``owner``, for a value that a file cannot represent."""
    match value:
        case None | bool() | str():
            return value
        case int() | float():
            return float(value) if isinstance(value, float) else value
        case JointType():
            return _joint(value, owner)
        case Pose():
            return _pose(value)
        case Rotation():
            return value.rows()
        case Vec3():
            return [*value]
        case Mapping():
            return {str(key): plain(item, owner) for key, item in value.items()}
        case Sequence():
            return [plain(item, owner) for item in value]
        case Curve():
            return constructor_arguments(value, Curve, owner)
    remedy = "; a linkwork.constraints.Curve can, e.g. Curve.sampled(function, start, end)" if callable(value) else ""
    raise TypeError(f"{owner}: {value!r} cannot be written to a file{remedy}")


def constructor_arguments(
    item: Any, kind: type, owner: str, plain: Callable[[Any, str], Any] = plain
) -> dict[str, Any]:
    """Return the arguments with which ``item`` was constructed, as JSON data by name, without default values.

    ``plain`` converts a value to plain data. Raises TypeError, with ``owner``, for an argument that the object does
    not store or a file cannot represent.
    """
    result = {}
    for argument in arguments(kind):
        try:
            value = getattr(item, argument.name)
        except AttributeError:
            raise TypeError(f"{owner}: {kind.__name__} does not store its {argument.name!r}") from None
        if argument.required or value != argument.default:
            result[argument.name] = plain(value, owner)
    return result


def _joint(joint: JointType, owner: str) -> dict[str, Any]:
    if TYPES.get(in_words(type(joint))) is not type(joint):
        raise TypeError(
            f"{owner}: joint type {type(joint).__name__} is not one of linkwork.joints, so it cannot be written to "
            f"a file"
        )
    return {"type": in_words(type(joint)), **constructor_arguments(joint, type(joint), owner)}


def _pose(pose: Pose) -> dict[str, Any]:
    result: dict[str, Any] = {"xyz": [*pose.translation]}
    if not is_exactly(pose.rotation, Rotation.identity()):
        result["rotation"] = pose.rotation.rows()
    return result


def is_exactly(left: Pose | Rotation, right: Pose | Rotation) -> bool:
    """Return True if two poses or rotations are equal to the bit: 0 and −0 differ."""
    return left is right or (left == right and all(map(_same_sign, _elements(left), _elements(right))))


def _elements(value: Pose | Rotation) -> Sequence[float]:
    return value.elements() if isinstance(value, Pose) else (*value.x, *value.y, *value.z)


def _same_sign(x: float, y: float) -> bool:
    return math.copysign(1.0, x) == math.copysign(1.0, y)
