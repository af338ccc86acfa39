"""Findings of a model check, and the table of their codes: severity, reason and remedy."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from linkwork._util.lazy_imports import published_in
from linkwork._util.messages import cut, escaped, label, table
from linkwork._util.result import ReturnedValue

__all__ = ["CODES", "ModelCheck", "ModelFinding", "finding"]

Severity = Literal["error", "warning", "note"]
SEVERITIES: tuple[Severity, ...] = ("error", "warning", "note")


class Code(NamedTuple):
    """Kind of a finding: its severity, why it matters, and its remedy."""

    severity: Severity
    reason: str
    remedy: str


_INERTIA = "torques and accelerations of the joints before the link are wrong"
_MOVES = "commands beyond it have no effect, or simulations and planners keep the joint at rest"
_UNITS = "lengths are in m, masses in kg, moments of inertia in kg m²"

CODES: Mapping[str, Code] = {
    # links
    "MASS_NEGATIVE": Code("error", "accelerations have the wrong sign", "state the mass in kg"),
    "INERTIA_NOT_PSD": Code(
        "error",
        "no body has this inertia, and the mass matrix may be indefinite",
        "check the signs and the order of its values",
    ),
    "MAGNITUDE": Code("warning", "rounding errors grow with such values", _UNITS),
    "MASS_ZERO": Code("warning", "a body without mass has no moments of inertia", "state the mass"),
    "INERTIA_TRIANGLE": Code(
        "warning",
        "no body has this inertia; simulation and identification may fail",
        'take it from CAD again, or load the robot with inertia="nearest"',
    ),
    "INERTIA_UNITS": Code("warning", _INERTIA, _UNITS + ", about the centre of mass"),
    "COM_FAR": Code("warning", "gravity acts at the wrong place", _UNITS + ", in the link's axes"),
    "COM_MIRRORED": Code(
        "warning", "gravity acts at the wrong place", "check the signs of the position of the centre of mass"
    ),
    "COM_OUTSIDE": Code(
        "note",
        "gravity may act at the wrong place, if the shapes are those of the link",
        "check the origin of the inertia, and the units and axes of its position",
    ),
    "INERTIA_LARGE": Code("warning", _INERTIA, "check that it is the inertia of this link; " + _UNITS),
    "INERTIA_EXTENT": Code("warning", _INERTIA, _UNITS + "; check that it is the inertia of this link"),
    "INERTIA_ORIGIN": Code(
        "warning", _INERTIA, "state the moments of inertia about the centre of mass, in the axes of its frame"
    ),
    "INERTIA_SMALL": Code("warning", "the link is easier to turn than its shapes tell", _UNITS),
    "INERTIA_POINT": Code(
        "note", "the link resists no rotation about its centre of mass", "state its moments of inertia"
    ),
    "PLACEHOLDER": Code("warning", _INERTIA, "compute mass and inertia from the shapes or from CAD"),
    "IDENTICAL_INERTIAS": Code(
        "note", "links of different shape have different inertias", "check that they are not placeholders"
    ),
    "DENSITY": Code(
        "note",
        "mass, or the size of the shapes, is in other units, or one of both is a placeholder",
        _UNITS,
    ),
    "SHAPE_FAR": Code(
        "warning", "distances, contacts and drawings are wrong", "check units and axes of the shape's origin"
    ),
    # joints
    "LIMIT_UNITS": Code(
        "warning",
        "the joint moves farther or less far than is meant",
        'limits are in rad and m; angles of MJCF are in degrees without <compiler angle="radian">',
    ),
    "LIMIT_EQUAL": Code("warning", _MOVES, "make the joint fixed, or state its limits"),
    "EFFORT_ZERO": Code("note", "controllers and optimal motion get no torque", "state the effort limit, or none"),
    "VELOCITY_ZERO": Code("note", "timing and optimal motion cannot move the joint", "state the speed limit, or none"),
    "FRICTION_LARGE": Code("warning", _MOVES, "check the units of friction and effort"),
    "ZERO_OUTSIDE": Code(
        "note",
        "neutral() is outside of the limits, and planning from it fails",
        "start from a configuration within the limits, such as the middle of them",
    ),
    "MIMIC_RANGE": Code(
        "warning", "the follower cannot follow its master everywhere", "check ratio, offset and limits of both joints"
    ),
    "MASSLESS_MOVING": Code(
        "error",
        "the mass matrix is singular: forward dynamics and simulation fail",
        "give a link after the joint a mass, or make the joint fixed",
    ),
    # robot
    "NO_MASS": Code("note", "dynamics needs masses; kinematics does not", "state the inertias of the links"),
    "MASS_SPREAD": Code(
        "warning", "forward dynamics loses digits, and simulation needs short steps", "check the lightest links"
    ),
    "LENGTH_UNITS": Code("warning", "all forces, moments and distances are wrong", "lengths are in m"),
    "MASS_UNITS": Code("warning", "all forces and moments are wrong", "masses are in kg"),
    "FRAME_FAR": Code("warning", "the position of what is on it is wrong", "check the units of the joint's origin"),
    "GRAVITY": Code("warning", "weights are wrong", "gravity is in m/s², in the axes of the world"),
    "GRAVITY_DIRECTION": Code("note", "z is up in most files", "pass gravity= to load, or turn the robot"),
    "Q_OUT_OF_LIMITS": Code(
        "warning", "planning and simulation from it fail or push the joint back", "correct the values or the limits"
    ),
    "OVERLAP": Code(
        "note",
        "planners report collisions that are none",
        "exclude pairs that always touch: robot.find_collision_pairs, or an SRDF file",
    ),
}
"""All codes of findings, in the order of the documentation."""


@published_in("linkwork.parts")
@dataclass(frozen=True, slots=True)
class ModelFinding:
    """A finding: one implausible property of a robot.

    ``subject`` names the element that has it: ("link", "hand"), ("joint", "elbow"), ("configuration", "home"), or
    ("robot", name). ``values`` are the numbers of the message by name, in SI units.

    ``code`` is the name of the kind of finding, and ``severity`` is "error", "warning" or "note". ``reason`` tells why
    it matters, and ``remedy`` what to do.
    """

    code: str
    severity: Severity
    subject: tuple[str, str]
    message: str
    reason: str  # why it matters
    remedy: str
    values: tuple[tuple[str, float], ...] = ()

    def __str__(self) -> str:
        kind, name = self.subject
        return f"{self.severity}: {kind} {name!r}: {self.message} [{self.code}]"

    def as_dict(self) -> dict[str, Any]:
        """Return all fields as plain dicts, lists, numbers and strings; infinite numbers are None."""
        return {
            "code": self.code,
            "severity": self.severity,
            "kind": self.subject[0],
            "name": self.subject[1],
            "message": self.message,
            "reason": self.reason,
            "remedy": self.remedy,
            "values": {key: value if math.isfinite(value) else None for key, value in self.values},
        }


def finding(
    code: str,
    kind: str,
    name: str,
    message: str,
    *,
    remedy: str = "",
    severity: Severity | None = None,
    **values: Any,
) -> ModelFinding:
    """Return a finding; by default severity, reason and remedy are those of ``code``."""
    known = CODES[code]
    quantities = tuple((key, float(value)) for key, value in values.items())
    text = remedy or known.remedy
    return ModelFinding(code, severity or known.severity, (kind, name), message, known.reason, text, quantities)


@published_in("linkwork.parts")
@dataclass(frozen=True, repr=False, init=False)
class ModelCheck(ReturnedValue):
    """Findings of the check of a robot against physics: errors first, then warnings and notes.

    Errors are values for which computations fail or no body exists.  Warnings are values that are most likely wrong.
    Notes may be intended.
    """

    name: str
    findings: tuple[ModelFinding, ...]

    @property
    def errors(self) -> tuple[ModelFinding, ...]:
        """Findings for which computations fail or no body exists."""
        return self._of("error")

    @property
    def warnings(self) -> tuple[ModelFinding, ...]:
        """Findings that are most likely wrong."""
        return self._of("warning")

    @property
    def notes(self) -> tuple[ModelFinding, ...]:
        """Findings that may be intended."""
        return self._of("note")

    def _of(self, severity: Severity) -> tuple[ModelFinding, ...]:
        return tuple(x for x in self.findings if x.severity == severity)

    def as_dict(self) -> dict[str, Any]:
        """Return all findings as plain dicts, lists, numbers and strings."""
        counts = {f"{severity}s": len(self._of(severity)) for severity in SEVERITIES}
        return {"name": self.name, **counts, "findings": [x.as_dict() for x in self.findings]}

    def __repr__(self) -> str:
        return f"<ModelCheck of {self.name!r}: {self._counts()}>"

    def _counts(self) -> str:
        counts = [(severity, len(self._of(severity))) for severity in SEVERITIES]
        return ", ".join(f"{n} {kind}{'' if n == 1 else 's'}" for kind, n in counts if n) or "no findings"

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def lines(self, columns: int | None = None) -> list[str]:
        """Return a table of findings, then reason and remedy of each code, as lines of at most ``columns`` letters."""
        head = f"{label(self.name)}: {self._counts()}"
        if not self.findings:
            return [head]
        alike: dict[tuple[str, str, str, str], list[str]] = {}
        for x in self.findings:
            key = x.severity, x.code, x.subject[0], x.message
            alike.setdefault(key, []).append(x.subject[1])
        rows = [
            [severity, code, _subjects(kind, names), escaped(message)]
            for (severity, code, kind, message), names in alike.items()
        ]
        lines = [
            head,
            "",
            *_wrapped(table(("severity", "code", "of", "finding"), rows, left=(0, 1, 2, 3)), rows, columns),
        ]
        lines.append("")
        shown: dict[str, str] = {}
        for x in self.findings:
            if text := "; ".join(filter(None, (x.reason, escaped(x.remedy)))):
                shown.setdefault(x.code, text)
        for code, text in shown.items():
            lines += _filled(f"{code}: {text}", columns)
        return lines


def _subjects(kind: str, names: list[str]) -> str:
    shown = ", ".join(map(label, names[:_MOST_NAMES]))
    if len(names) == 1:
        return f"{kind} {shown}"
    return f"{len(names)} {kind}s: {shown}{', ...' if len(names) > _MOST_NAMES else ''}"


_MOST_NAMES = 3  # of links or joints in a row


def _wrapped(lines: list[str], rows: Iterable[list[str]], columns: int | None) -> list[str]:
    """Return the lines of a table; a last column that is too long continues below its row."""
    if columns is None or max(map(len, lines)) <= columns:
        return lines
    result = [cut(line, columns) for line in lines[:2]]
    for severity, code, subject, message in rows:
        result += [cut(f"{severity}  {code}  {subject}", columns), *_filled(message, columns, "    ")]
    return result


def _filled(text: str, columns: int | None, indent: str = "") -> list[str]:
    if columns is None:
        return [indent + text]
    from textwrap import wrap

    return wrap(text, max(columns, 20), initial_indent=indent, subsequent_indent=indent + "    ")
