"""Readers of values in data files: names, numbers, poses, joint types, and arguments of constructors.

A value that cannot be read is recorded as an error, which is raised at the end; a harmless value replaces it until
then.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from types import MappingProxyType, NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

import numpy as np

from linkwork._util.messages import did_you_mean, nearest, quoted
from linkwork.constraints import Curve
from linkwork.errors import Findings, Issue, Location
from linkwork.formats.constructor_schema import TYPES, arguments, is_exactly, is_function
from linkwork.formats.data_values import NumberList, Value
from linkwork.joints import JointType, Planar
from linkwork.spatial import Pose, Rotation, Vec3
from linkwork.spatial.arguments import LARGEST, RIGID

__all__ = ["BOUNDS", "OF_Q", "RESISTING", "PlainReader", "plain_value"]

_FALLBACK_AXIS = Vec3(1.0, 0.0, 0.0)


class PlainReader:
    """Reader of the values of a JSON or YAML document, which collects errors in ``findings``."""

    def __init__(self, file: str | None, findings: Findings) -> None:
        self.file, self.findings = file, findings

    def where(self, value: Value) -> Location:
        return Location(self.file, value.line, value.column, value.path or None)

    def error(self, value: Value, code: str, message: str, hint: str | None = None) -> None:
        self.findings.error(Issue(code, message, self.where(value), hint))

    # -- objects and their keys

    def is_object(self, value: Value, name: str) -> bool:
        """Return True if the value is an object with keys; otherwise record the error DATA_TYPE."""
        if isinstance(value.content, dict):
            return True
        self.error(value, "DATA_TYPE", f"{name}: expected an object with keys, got {value.kind}")
        return False

    def known(self, value: Value, keys: Collection[str]) -> None:
        """Record the error UNKNOWN_KEY for each key of an object that is not among ``keys``."""
        for key, inner in value.content.items():
            if key not in keys:
                self.error(inner, "UNKNOWN_KEY", f"unknown key {quoted(key)}", nearest(key, list(keys)))

    def required(self, value: Value, key: str) -> Value | None:
        """Return the value of a key; None, with the error KEY_MISSING, if the object does not have it."""
        result: Value | None = value.content.get(key)
        if result is None:
            self.error(value, "KEY_MISSING", f"the key {quoted(key)} is missing")
        return result

    def text(self, value: Value, key: str) -> str:
        """Return the name under ``key``; "", with the error KEY_MISSING or BAD_NAME, if there is no valid name."""
        result = self.required(value, key)
        if result is None:
            return ""
        if not isinstance(result.content, str) or not result.content.strip():
            hint = "write it in quotes" if isinstance(result.content, (bool, float)) else None
            self.error(result, "BAD_NAME", f"{key}: expected a name, got {result.kind}", hint)
            return ""
        return result.content

    def kind(self, value: Value, known: Mapping[str, Any], code: str) -> Any:
        """Return ``known[name]`` for the name that the object has under its key ``kind``; None after an error.

        The errors are KEY_MISSING, BAD_NAME, and ``code`` for a name that ``known`` does not contain.
        """
        word = self.text(value, "kind")
        result = known.get(word)
        if result is None and word:
            message = f"unknown kind {quoted(word)}: expected one of {', '.join(known)}"
            self.error(value.content["kind"], code, message, did_you_mean(word, known) or None)
        return result

    # -- numbers

    def number(self, value: Value, largest: float = LARGEST) -> float:
        """Return a number of at most ``largest`` in magnitude; 0 after the error NUMBER or MAGNITUDE."""
        if not isinstance(value.content, float):
            hint = None
            if isinstance(value.content, str):
                hint = "write numbers without quotes, with a decimal point"
            self.error(value, "NUMBER", f"{value.step}: expected a number, got {value.kind}", hint)
            return 0.0
        if abs(value.content) > largest:
            message = f"{value.step}: expected a number of at most {largest:.0e}, got {value.content!r}"
            self.error(value, "MAGNITUDE", message)
            return 0.0
        return value.content

    def float_list(self, value: Value, largest: float = LARGEST) -> tuple[float, ...]:
        """Return the numbers in a list of any length, with zeros after errors as in `number`."""
        content = value.content
        if isinstance(content, NumberList) and max(map(abs, content)) <= largest:
            return tuple(content)
        return tuple([self.number(item, largest) for item in value.items])

    def number_list(self, value: Value, count: int, largest: float = LARGEST) -> tuple[float, ...]:
        """Return the numbers in a list of length ``count``.

        Zeros replace them after the errors ARITY, DATA_TYPE or NUMBER.
        """
        if not isinstance(value.content, list):
            self.error(value, "DATA_TYPE", f"{value.step}: expected {count} numbers in a list, got {value.kind}")
        elif len(value.content) != count:
            self.error(value, "ARITY", f"{value.step}: expected {count} numbers, got {len(value.content)}")
        else:
            return self.float_list(value, largest)
        return (0.0,) * count

    # -- poses

    def pose(self, value: Value) -> Pose:
        """Return the pose that an object of the document states: ``xyz`` [m], and at most one form of the rotation.

        The forms are ``rpy`` [rad], ``quaternion_wxyz``, ``quaternion_xyzw`` and ``rotation``, a matrix. Without
        ``xyz`` the position is zero, and without a rotation the identity is used.
        """
        if not self.is_object(value, str(value.step)):
            return Pose.identity()
        self.known(value, ("xyz", *_ROTATIONS))
        entries = value.content
        rotations = [key for key in _ROTATIONS if key in entries]
        if len(rotations) > 1:
            self.error(
                entries[rotations[1]],
                "DUPLICATE_ELEMENT",
                f"the rotation is stated twice, as {' and as '.join(rotations)}",
            )
        translation = Vec3.of(self.number_list(entries["xyz"], 3)) if "xyz" in entries else Vec3.zero()
        rotation = getattr(self, f"_{rotations[0]}")(entries[rotations[0]]) if rotations else Rotation.identity()
        pose = Pose(rotation, translation)
        return Pose.identity() if is_exactly(pose, Pose.identity()) else pose

    def _rpy(self, value: Value) -> Rotation:
        return Rotation.from_rpy(*self.number_list(value, 3))

    def _quaternion_wxyz(self, value: Value) -> Rotation:
        w, x, y, z = self.number_list(value, 4)
        return self._unit_quaternion(value, "(w, x, y, z)", w, x, y, z)

    def _quaternion_xyzw(self, value: Value) -> Rotation:
        x, y, z, w = self.number_list(value, 4)
        return self._unit_quaternion(value, "(x, y, z, w)", w, x, y, z)

    def _unit_quaternion(self, value: Value, order: str, *wxyz: float) -> Rotation:
        norm = math.hypot(*wxyz)
        if abs(norm - 1.0) > 1e-6:
            self.error(value, "QUAT_NORM", f"expected a unit quaternion {order}, its norm is {norm:.9g}")
            return Rotation.identity()
        w, x, y, z = (part / norm for part in wxyz)
        return Rotation.from_quaternion(w, x, y, z)

    def _rotation(self, value: Value) -> Rotation:
        if not isinstance(value.content, list) or len(value.content) != 3:
            self.error(value, "ROTATION", f"rotation: expected three rows of a matrix, got {value.kind}")
            return Rotation.identity()
        rows = [self.number_list(row, 3) for row in value.items]
        R = np.array(rows)
        if not (np.abs(R @ R.T - np.eye(3)).max() <= RIGID and np.linalg.det(R) > 0.0):
            self.error(value, "ROTATION", "rotation: expected orthonormal rows of a right-handed frame")
            return Rotation.identity()
        return Pose.of([[*row, 0.0] for row in rows] + [[0.0, 0.0, 0.0, 1.0]]).rotation

    # -- joint types and other classes

    def joint(self, value: Value, key: str = "type", more: Collection[str] = ()) -> JointType | None:
        """Return the joint type that an object names under a key, with its parameters; None after an error.

        ``more`` are further keys that the object may have for other uses.
        """
        joint_type = self.required(value, key)
        if joint_type is None:
            taken = {argument.name for kind in TYPES.values() for argument in arguments(kind)}
            self.known(value, [key, *more, "axis", *sorted(taken)])
            return None
        word = joint_type.content
        kind = TYPES.get(word) if isinstance(word, str) else None
        if kind is None:
            expected = "expected one of " + ", ".join(TYPES)
            got = quoted(word) if isinstance(word, str) else joint_type.kind
            hint = (did_you_mean(word, TYPES) or None) if isinstance(word, str) else None
            self.error(joint_type, "JOINT_TYPE", f"unknown joint type {got}: {expected}", hint)
            return None
        errors = len(self.findings.errors)
        if kind is Planar and "axis" in value.content:  # URDF's planar joint, by its normal
            self.known(value, (key, *more, "axis"))
            normal = self.vector(value.content["axis"])
            return Planar.across(normal) if len(self.findings.errors) == errors else None
        result = self.arguments(value, kind, more=(key, *more))
        if len(self.findings.errors) > errors:
            return None
        try:
            return kind(**result)
        except (TypeError, ValueError) as error:
            self.error(joint_type, "PARAMETER", str(error))
            return None

    def vector(self, value: Value) -> Vec3:
        """Return the vector in a list of three numbers. For a zero vector: the x axis, with the error AXIS_ZERO."""
        vector = Vec3.of(self.number_list(value, 3))
        if not any(vector) and not any(issue.where == self.where(value) for issue in self.findings.errors):
            self.error(value, "AXIS_ZERO", f"{value.step}: a direction must not be zero")
            return _FALLBACK_AXIS
        return vector

    def arguments(
        self,
        value: Value,
        kind: Callable[..., Any],
        more: Collection[str] = (),
        readers: Mapping[str, Callable[[Value], Any]] = MappingProxyType({}),
    ) -> dict[str, Any]:
        """Return the arguments of a constructor by name, from the keys of an object.

        ``more`` are further keys that the object may have; ``readers`` are functions that read some arguments in place
        of `converted`. Records the errors KEY_MISSING and UNKNOWN_KEY.
        """
        taken = [argument for argument in arguments(kind) if not is_function(argument.hint)]
        self.known(value, [*more, *(argument.name for argument in taken)])
        result = {}
        for argument in taken:
            if argument.name in value.content:
                item = value.content[argument.name]
                special = readers.get(argument.name)
                result[argument.name] = self.converted(item, argument.hint) if special is None else special(item)
            elif argument.required and argument.name not in more:
                self.error(value, "KEY_MISSING", f"the key {quoted(argument.name)} is missing")
        return result

    def converted(self, value: Value, hint: Any) -> Any:
        """Return a value of the document as the Python type of an annotation; another type is the error DATA_TYPE."""
        origin, inner = get_origin(hint), get_args(hint)
        if origin in (Union, UnionType):
            return self._one_of(value, inner)
        if hint is Vec3:
            return self.vector(value)
        if hint is Pose:
            return self.pose(value)
        if isinstance(hint, type) and issubclass(hint, JointType):
            return self.joint(value) if self.is_object(value, str(value.step)) else None
        if hint is Curve:
            return self._curve(value)
        if hint in (float, int):
            number = self.number(value)
            return int(number) if hint is int and number == int(number) else number
        if hint is str or hint is bool:
            return self._exactly(value, hint)
        if origin is Literal:
            if value.content not in inner:
                allowed = " or ".join(map(repr, inner))
                self.error(value, "DATA_TYPE", f"{value.step}: expected {allowed}, got {value.kind}")
                return inner[0]
            return value.content
        if origin in (tuple, list, Sequence):
            return self._several(value, inner)
        return plain_value(value)

    def _curve(self, value: Value) -> Curve | None:
        """Return the curve that an object describes; None after an error."""
        errors = len(self.findings.errors)
        values = self.arguments(value, Curve) if self.is_object(value, str(value.step)) else {}
        if len(self.findings.errors) > errors:
            return None
        try:
            return Curve(**values)
        except (TypeError, ValueError) as error:
            self.error(value, "PARAMETER", str(error))
            return None

    def _one_of(self, value: Value, hints: tuple[Any, ...]) -> Any:
        """Return a value, converted to the first type of a union annotation that accepts it."""
        if value.content is None and NoneType in hints:
            return None
        types_of_hints = {
            float: float,
            str: str,
            bool: bool,
            list: (tuple, list, Sequence, Vec3),
            dict: (JointType, Pose, Mapping),
        }
        options = [hint for hint in hints if hint is not NoneType]
        for hint in options:
            hint_type = get_origin(hint) or hint
            kinds = types_of_hints.get(list if isinstance(value.content, list) else type(value.content), ())
            if (
                hint_type is Any
                or hint_type in (kinds if isinstance(kinds, tuple) else (kinds,))
                or (hint_type is int and isinstance(value.content, float))
            ):
                return self.converted(value, hint)
        return self.converted(value, options[0])

    def _exactly(self, value: Value, kind: type) -> Any:
        if not isinstance(value.content, kind):
            words = {str: "a string", bool: "true or false"}
            self.error(value, "DATA_TYPE", f"{value.step}: expected {words[kind]}, got {value.kind}")
            return kind()
        return value.content

    def _several(self, value: Value, hints: tuple[Any, ...]) -> tuple[Any, ...]:
        if isinstance(value.content, dict) and hints == (Any, ...):
            return tuple([(key, plain_value(item)) for key, item in value.content.items()])  # as pairs of Python's dict
        if not isinstance(value.content, list):
            self.error(value, "DATA_TYPE", f"{value.step}: expected a list, got {value.kind}")
            return ()
        if not hints or hints[-1] is Ellipsis or len(hints) == 1:
            return tuple([self.converted(item, hints[0] if hints else Any) for item in value.items])
        if len(hints) != len(value.content):
            self.error(value, "ARITY", f"{value.step}: expected {len(hints)} values, got {len(value.content)}")
            return ()
        return tuple([self.converted(item, hint) for item, hint in zip(value.items, hints, strict=True)])

    # -- limits and resistance of loops

    def loop_values(self, value: Value, joint: JointType) -> dict[str, tuple[float, ...]]:
        """Return the ``limits`` and the resistance (damping, friction, springs) of a loop joint, by name.

        In the document each is a number, or a list with one number for each coordinate of q or v.  Records the errors
        ARITY, LIMIT_ORDER and NEGATIVE.
        """
        result, entries = {}, dict(value.content)
        limits = entries.pop("limits", None)
        if limits is not None and self.is_object(limits, "limits"):
            self.known(limits, BOUNDS)
            for key, inner in limits.content.items():
                if key in BOUNDS:
                    no_bound = -math.inf if key == "lower" else math.inf
                    result[BOUNDS[key]] = self.each(inner, joint.nq if key in OF_Q else joint.nv, key in OF_Q, no_bound)
            pairs = zip(result.get("lower", ()), result.get("upper", ()), strict=False)
            if any(lower > upper for lower, upper in pairs):
                self.error(limits, "LIMIT_ORDER", "a lower limit is above the upper limit")
        for key in RESISTING:
            if key in entries:
                result[key] = self.each(entries[key], joint.nq if key in OF_Q else joint.nv, key in OF_Q)
        return result

    def each(self, value: Value, count: int, any_sign: bool, no_bound: float | None = None) -> tuple[float, ...]:
        """Return ``count`` numbers, from a list of as many or from one number for all of them.

        null stands for ``no_bound``, unless this is None.  Records the errors ARITY, and NEGATIVE unless ``any_sign``.
        """
        items = value.items if isinstance(value.content, list) else [value] * count
        if len(items) != count:
            self.error(value, "ARITY", f"{value.step}: expected a number or a list of {count}, got {len(items)}")
            return ()
        result = [no_bound if no_bound is not None and x.content is None else self.number(x) for x in items]
        if not any_sign and any(x < 0.0 for x in result):
            self.error(value, "NEGATIVE", f"{value.step} must not be negative")
            return ()
        return tuple(result)


def plain_value(value: Value) -> Any:
    """Return a value of the document as plain Python data, with lists as tuples."""
    if isinstance(value.content, NumberList):
        return tuple(value.content)
    if isinstance(value.content, list):
        return tuple([plain_value(item) for item in value.content])
    if isinstance(value.content, dict):
        return {key: plain_value(item) for key, item in value.content.items()}
    return value.content


_ROTATIONS = ("rpy", "quaternion_wxyz", "quaternion_xyzw", "rotation")
BOUNDS = {"lower": "lower", "upper": "upper", "velocity": "velocity_bound", "effort": "effort"}  # LoopJoint's names
RESISTING = ("damping", "friction", "static_friction", "friction_velocity", "stiffness", "rest")
OF_Q = ("lower", "upper", "rest")  # have values for q; the others have nonnegative values for v
