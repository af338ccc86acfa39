"""Values of prims' attributes, with errors at the path of the prim, and the units of a stage."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from linkwork._util.messages import quoted
from linkwork.errors import Issue, Location
from linkwork.formats.description import LARGEST, Findings
from linkwork.spatial import Rotation, Vec3

__all__ = ["DEGREE", "PrimReader", "Units", "rotation_of"]

DEGREE = math.pi / 180.0  # [rad]
_SILENT, _MOST = 1e-5, 1e-3  # of a quaternion's length from 1: normalised in silence, and with a warning
_TURN = 2e-7  # elements of a rotation within this of 0 and ±1 are single-precision turns about coordinate axes


class Units:
    """The stage's units of length [m] and mass [kg], and the rotation of its axes to axes with z up."""

    def __init__(self, length: float, mass: float, up: str) -> None:
        self.length, self.mass, self.up = length, mass, up
        self.force, self.torque = mass * length, mass * length * length  # of one unit, per second squared
        self.density = mass / length**3 if length else 1.0
        self.turn = np.eye(3) if up == "Z" else np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]])


class PrimReader:
    """Reader of the attributes of prims, which collects errors and warnings in ``findings``."""

    def __init__(self, file: str, findings: Findings, units: Units) -> None:
        from pxr import Usd

        self.file, self.findings, self.units = file, findings, units
        self.time = Usd.TimeCode.EarliestTime()
        self.used: set[tuple[str, str]] = set()  # paths of prims and names of properties whose values were read
        self._repeated: dict[tuple[str, str], tuple[Any, str | None]] = {}
        self._counts: Counter[tuple[str, str]] = Counter()

    # -- findings

    def where(self, prim: Any) -> Location:
        return Location(self.file, element=str(prim if isinstance(prim, str) else prim.GetPath()))

    def error(self, prim: Any, code: str, message: str, hint: str | None = None) -> None:
        self.findings.error(Issue(code, message, self.where(prim), hint))

    def warn(self, prim: Any, code: str, message: str, hint: str | None = None) -> None:
        self.findings.warn(Issue(code, message, self.where(prim), hint))

    def note(self, prim: Any, message: str, hint: str | None = None, code: str = "IGNORED") -> None:
        self.findings.note(Issue(code, message, self.where(prim), hint))

    def once(self, prim: Any, code: str, message: str, hint: str | None = None) -> None:
        """Record a finding; prims with the same message are one finding, with their number."""
        self._counts[code, message] += 1
        self._repeated.setdefault((code, message), (prim, hint))

    def report_repeated(self) -> None:
        """Report the findings that `once` has collected."""
        for (code, message), (prim, hint) in self._repeated.items():
            count = self._counts[code, message]
            text = message if count == 1 else f"{message} ({count} times, here first)"
            self.findings.add(Issue(code, text, self.where(prim), hint))

    # -- values

    def value(self, prim: Any, name: str) -> Any:
        """Return the value of an attribute, at the earliest time if it has several; None if none is authored."""
        self.used.add((str(prim.GetPath()), name))
        attribute = prim.GetAttribute(name)
        if not attribute or not attribute.HasAuthoredValue():
            return None
        if attribute.ValueMightBeTimeVarying():
            self.once(prim, "UNSUPPORTED", f"{name} changes with time: the earliest value is used")
        return attribute.Get(self.time)

    def number(self, prim: Any, name: str, default: float = 0.0, *, infinite: bool = False) -> float:
        """Return a number; with ``infinite`` it may be infinite.  Errors: DATA_TYPE, NOT_FINITE, MAGNITUDE."""
        value = self.value(prim, name)
        if value is None:
            return default
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            self.error(prim, "DATA_TYPE", f"{name}: expected a number, got {quoted(repr(value))}")
            return default
        value = float(value)
        if infinite and abs(value) > LARGEST:
            return math.copysign(math.inf, value)
        return value if self._is_sound(prim, name, (value,)) else default

    def at_least_zero(self, prim: Any, name: str, default: float = 0.0, *, infinite: bool = False) -> float:
        """Return a number that must not be negative (error NEGATIVE)."""
        value = self.number(prim, name, default, infinite=infinite)
        if value < 0.0:
            self.error(prim, "NEGATIVE", f"{name} must not be negative, got {value!r}")
            return default
        return value

    def vector(self, prim: Any, name: str, count: int = 3) -> tuple[float, ...] | None:
        """Return the vector in an attribute of a prim, or None if the file states no valid vector."""
        value = self.value(prim, name)
        if value is None:
            return None
        try:
            elements = tuple(float(x) for x in value)
        except (TypeError, ValueError):
            elements = ()
        if len(elements) != count:
            self.error(prim, "DATA_TYPE", f"{name}: expected {count} numbers, got {quoted(repr(value))}")
            return None
        return elements if self._is_sound(prim, name, elements) else None

    def array(self, prim: Any, name: str, kind: type = float) -> np.ndarray | None:
        """Return the values of an array attribute; None if the file states none. Error: DATA_TYPE."""
        value = self.value(prim, name)
        if value is None:
            return None
        try:
            return np.asarray(value, dtype=kind)
        except (TypeError, ValueError, OverflowError):
            self.error(prim, "DATA_TYPE", f"{name}: expected an array of numbers, got {quoted(repr(value)[:80])}")
            return None

    def flag(self, prim: Any, name: str, default: bool) -> bool:
        value = self.value(prim, name)
        if value is not None and not isinstance(value, (bool, int)):
            self.error(prim, "DATA_TYPE", f"{name}: expected true or false, got {quoted(repr(value))}")
            return default
        return default if value is None else bool(value)

    def word(self, prim: Any, name: str, words: Sequence[str], default: str) -> str:
        """Return an attribute with one of the listed words as its value; other values are the error DATA_TYPE."""
        value = self.value(prim, name)
        if value is None:
            return default
        if value not in tuple(words):
            self.error(prim, "DATA_TYPE", f"{name}: expected one of {', '.join(words)}, got {quoted(str(value))}")
            return default
        return str(value)

    def rotation(self, prim: Any, name: str) -> Rotation:
        """Return the rotation of a quaternion; the identity if none is authored."""
        value = self.value(prim, name)
        return Rotation.identity() if value is None else self.rotation_of_quaternion(prim, name, value)

    def rotation_of_quaternion(self, prim: Any, name: str, value: Any) -> Rotation:
        """Return the rotation of ``value``, which must be a unit quaternion (DATA_TYPE, NOT_FINITE, QUAT_NORM)."""
        try:
            elements = (float(value.GetReal()), *(float(x) for x in value.GetImaginary()))
        except (AttributeError, TypeError):
            self.error(prim, "DATA_TYPE", f"{name}: expected a quaternion, got {quoted(repr(value))}")
            return Rotation.identity()
        if not self._is_sound(prim, name, elements):
            return Rotation.identity()
        norm = math.hypot(*elements)
        if abs(norm - 1.0) >= _MOST:
            self.error(prim, "QUAT_NORM", f"{name} must be a unit quaternion, its norm is {norm:.6g}")
            return Rotation.identity()
        if abs(norm - 1.0) > _SILENT:
            self.warn(prim, "QUAT_NORM", f"the norm of {name} is {norm:.9g}, not 1: normalised")
        return rotation_of(Rotation.from_quaternion(*(x / norm for x in elements)).rows())

    def is_sound_transform(self, prim: Any, title: str, matrix: np.ndarray) -> bool:
        """Return True if the numbers of a transform are finite and not too large (errors NOT_FINITE, MAGNITUDE)."""
        if not np.isfinite(matrix).all():
            self.error(prim, "NOT_FINITE", f"{title} is not finite")
        elif np.abs(matrix).max() > LARGEST:
            self.error(prim, "MAGNITUDE", f"{title} is beyond {LARGEST:.0e}: products of such values overflow")
        else:
            return True
        return False

    def _is_sound(self, prim: Any, name: str, row: Sequence[float]) -> bool:
        shown = ", ".join(f"{x!r}" for x in row)
        if not all(map(math.isfinite, row)):
            self.error(prim, "NOT_FINITE", f"{name}: expected finite numbers, got {shown}")
        elif max(map(abs, row), default=0.0) > LARGEST:
            message = f"{name}: {shown} is beyond {LARGEST:.0e}: products of such values overflow"
            self.error(prim, "MAGNITUDE", message)
        else:
            return True
        return False

    def targets(self, prim: Any, name: str) -> list[Any]:
        """Return the paths that a relationship leads to."""
        self.used.add((str(prim.GetPath()), name))
        relationship = prim.GetRelationship(name)
        return [*relationship.GetTargets()] if relationship else []


def rotation_of(rows: Any) -> Rotation:
    """Return the rotation with an orthonormal matrix.

    If all elements are 0 or ±1 within single precision, as for quarter turns, they are set to 0 and ±1 exactly.
    """
    matrix = np.asarray(rows, dtype=float)
    rounded = np.round(matrix)
    if np.abs(matrix - rounded).max() <= _TURN:
        matrix = rounded + 0.0  # no −0
    return Rotation(*(Vec3.of(row) for row in matrix.tolist()))
