"""Errors and warnings of linkwork, and the base of its results.

`Result` is the base class of all results that may fail, and `Status` enumerates their outcomes.

A `ModelError` is about a robot's description: it says what is wrong, where (file, line, column, element), what was
got and what was expected, the nearest valid name and the remedy.  A reader collects up to 20 of them and raises one
exception that lists all.  Errors of a call are plain `ValueError`, or `UnknownNameError` (a `KeyError` too)
for a name that the robot does not have.  What is wrong with the cache of machine code is never an error but a
`CacheWarning`; a configuration a little off its manifold is normalised with a `ConfigurationWarning`; what reading a
robot repairs is told once, with a `ModelWarning`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from linkwork._util.messages import nearest
from linkwork._util.result import Result
from linkwork._util.status import Status

__all__ = [
    "ArgumentError",
    "AssemblyError",
    "CacheWarning",
    "ConfigurationWarning",
    "ContractError",
    "Issue",
    "JointMethodError",
    "Location",
    "ModelError",
    "ModelWarning",
    "NotDifferentiableError",
    "Result",
    "SimulationWarning",
    "SingularInertiaError",
    "SingularMatrixError",
    "Status",
    "TraceWarning",
    "UnderactuatedError",
    "UnknownNameError",
]

MOST_ISSUES = 20
_LONGEST_NAME = 200  # characters of an unknown name that a message shows
NOTED = frozenset({"IGNORED", "INERTIA_IGNORED", "MIMIC_FREE"})  # codes of what is said without being a repair


@dataclass(frozen=True, slots=True)
class Location:
    """A place in a robot's description."""

    file: str | None = None
    line: int | None = None
    column: int | None = None
    element: str | None = None  # path of elements, e.g. "robot/joint[elbow]/axis"

    def __str__(self) -> str:
        if self.file is None and self.line is None and self.element:
            return self.element  # of a robot that is built by a program
        place = self.file or "<string>"
        if self.line is not None:
            place += f":{self.line}"
            if self.column is not None:
                place += f":{self.column}"
        return f"{place}: {self.element}" if self.element else place


@dataclass(frozen=True, slots=True)
class Issue:
    """One thing that is wrong with a description, or odd about it."""

    code: str  # e.g. "UNKNOWN_LINK"
    message: str  # what, got, expected
    where: Location = Location()
    hint: str | None = None  # the remedy, the nearest name

    def __str__(self) -> str:
        hint = f"\n    hint: {self.hint}" if self.hint else ""
        return f"{self.where}: {self.message} [{self.code}]{hint}"


class ModelError(ValueError):
    """A robot's description cannot be used.  ``issues`` lists what is wrong; the attributes are the first one's."""

    def __init__(self, issues: Issue | Sequence[Issue]) -> None:
        self.issues: tuple[Issue, ...] = (issues,) if isinstance(issues, Issue) else tuple(issues)
        if not self.issues:
            raise ValueError("ModelError: expected at least one issue")
        super().__init__(self.issues)

    def __str__(self) -> str:
        shown = [str(issue) for issue in self.issues]
        return shown[0] if len(shown) == 1 else "\n".join([f"{len(shown)} errors:", *shown])

    @property
    def code(self) -> str:
        return self.issues[0].code

    @property
    def message(self) -> str:
        return self.issues[0].message

    @property
    def hint(self) -> str | None:
        return self.issues[0].hint

    @property
    def file(self) -> str | None:
        return self.issues[0].where.file

    @property
    def line(self) -> int | None:
        return self.issues[0].where.line

    @property
    def column(self) -> int | None:
        return self.issues[0].where.column

    @property
    def element(self) -> str | None:
        return self.issues[0].where.element


class Findings:
    """What is found wrong or odd while a description is read: errors to raise together, and warnings to list.

    ``strict`` makes an error of every repair, that is of every warning but of what is merely noted.
    """

    def __init__(self, *, strict: bool = False) -> None:
        self.strict = strict
        self.errors: list[Issue] = []
        self.warnings: list[Issue] = []

    def error(self, issue: Issue) -> None:
        """Keeps an error.  Raises ModelError with all of them when there are `MOST_ISSUES`."""
        self.errors.append(issue)
        if len(self.errors) >= MOST_ISSUES:
            self.raise_errors()

    def warn(self, issue: Issue) -> None:
        """Keeps a warning about something repaired, guessed or suspicious: an error where ``strict``."""
        if self.strict:
            self.error(issue)
        else:
            self.warnings.append(issue)

    def note(self, issue: Issue) -> None:
        """Keeps a warning about something that is left out as it was asked for or has no bearing: one of `NOTED`."""
        assert issue.code in NOTED, issue
        self.warnings.append(issue)

    def raise_errors(self) -> None:
        """Raises ModelError with the errors found, if there are any."""
        if self.errors:
            raise ModelError(self.errors)


class SingularInertiaError(ValueError):
    """The inverse of the mass matrix was asked for where some joints move no inertia.  ``joint`` names one, ``joints``
    all that take part: several may move none only together, as two hinges on one axis without inertia between them.

    ``motions`` says that it does move some, but its motions depend on each other where it is (gimbal lock).
    """

    def __init__(self, joint: str, motions: bool = False, joints: tuple[str, ...] = ()) -> None:
        self.joint, self.motions, self.joints = joint, motions, joints or (joint,)
        super().__init__(joint, motions, joints)

    def __str__(self) -> str:
        if self.motions:
            return (
                f"joint {self.joint!r}: its motions depend on each other in this configuration (gimbal lock, or axes "
                f"that meet), so their accelerations are not determined: ask `regularity`, or choose other coordinates"
            )
        if len(self.joints) > 1:
            names = f"{', '.join(map(repr, self.joints[:-1]))} and {self.joints[-1]!r}"
            return (
                f"joints {names} move bodies without inertia, or against each other, so that nothing resists some of "
                "their accelerations: give links after them masses, or fix a joint; `mass_matrix_null_space` has "
                "these motions"
            )
        return (
            f"joint {self.joint!r} moves bodies without inertia, so its acceleration is not determined: "
            f"give a link after it a mass, or fix the joint"
        )


class SingularMatrixError(np.linalg.LinAlgError):
    """A matrix cannot be factored: ``pivot`` is the place on its diagonal where the first pivot failed.

    ``function`` is what was called, ``sample`` the first of the batch's matrices that failed, and ``samples`` how many
    did.  ``positive`` says that pivots had to be positive.
    """

    def __init__(
        self, function: str, pivot: int, *, positive: bool = False, sample: tuple[int, ...] = (), samples: int = 1
    ) -> None:
        self.function, self.pivot, self.positive = function, pivot, positive
        self.sample, self.samples = sample, samples
        super().__init__(function, pivot)

    def __str__(self) -> str:
        which = f"matrix {list(self.sample)} of the batch" if self.sample else "the matrix"
        more = f", and {self.samples - 1} more fail" if self.samples > 1 else ""
        wrong = "is not positive definite" if self.positive else "is singular to this factorization"
        result = "not positive" if self.positive else "zero"
        remedy = (
            "assume='gen' needs no such matrix"
            if self.positive
            else "`pinv`, or `lstsq` with damping, takes such a matrix"
        )
        return (
            f"{self.function}: {which} {wrong}{more}: its pivot {self.pivot}, counted from 0, is {result} or no finite "
            f"number; status=True gives a status instead of this error, and {remedy}"
        )


class ArgumentError(TypeError, ValueError):
    """An argument of a kind that the function does not take: a TypeError, and a ValueError too, as functions raise
    either.  The message names the function and the argument.
    """


class AssemblyError(ValueError):
    """No configuration was found that satisfies a robot's constraints: ``result`` has what was found instead."""

    def __init__(self, message: str, result: object = None) -> None:
        self.result = result
        super().__init__(message)

    def __reduce__(self) -> tuple[object, ...]:
        return AssemblyError, (str(self), self.result)


class UnderactuatedError(ValueError):
    """Joint forces are needed that neither actuators nor constraints exert.

    ``motions`` are those that no actuator induces, each by the velocities in it, for a state of the batch, ``where``.
    """

    def __init__(
        self,
        actuators: tuple[str, ...],
        motions: tuple[str, ...],
        where: tuple[int, ...],
        most: float,
        caller: str = "constrained_inverse_dynamics",
    ) -> None:
        self.actuators, self.motions, self.where, self.most, self.caller = actuators, motions, where, most, caller
        named = ", ".join(map(repr, actuators[:8])) + (", ..." if len(actuators) > 8 else "")
        state = f" in state {where[0] if len(where) == 1 else where}" if where else ""
        moves = "; ".join(f"({motion})" for motion in motions) or "that is asked for"
        super().__init__(
            f"{caller}: actuators {named or 'none'} cannot induce{state} the motion"
            f"{'s' if len(motions) > 1 else ''} {moves}: joint forces of {most:.3g} are missing; name more joints in "
            f"actuators, or ask for accelerations that follow by themselves"
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.actuators, self.motions, self.where, self.most, self.caller)


class UnknownNameError(KeyError, ValueError):
    """A name that the robot does not have.  ``known`` are those of its kind, ``remedy`` says what is meant here.

    ``where`` is the function that was called and its argument, as in "pose: frame", where that is known.
    """

    def __init__(self, kind: str, name: object, known: Iterable[str], remedy: str = "", where: str = "") -> None:
        self.kind, self.name, self.known, self.remedy, self.where = kind, name, tuple(known), remedy, where
        super().__init__(kind, name, self.known, remedy, where)

    def __str__(self) -> str:
        begin = f"{self.where}: " if self.where else ""
        return f"{begin}no {self.kind} named {self._shown()}; {self.remedy or nearest(str(self.name), self.known)}"

    def _shown(self) -> str:
        text = repr(self.name)
        return text if len(text) <= _LONGEST_NAME else f"{text[:_LONGEST_NAME]}..."

    def at(self, where: str) -> UnknownNameError:
        """Return the same error of this function and argument."""
        return UnknownNameError(self.kind, self.name, self.known, self.remedy, where)


class ModelWarning(UserWarning):
    """Reading a robot repaired, guessed or left out something that bears on it: ``robot.report`` lists everything.

    Once a robot is known, ``warnings.filterwarnings("ignore", category=ModelWarning)`` keeps them quiet, and
    ``load(..., strict=True)`` makes errors of them.
    """


class CacheWarning(UserWarning):
    """The cache of machine code cannot be used, or an entry of it not be trusted: code is compiled as if without it."""


class ConfigurationWarning(UserWarning):
    """A configuration is a little off its manifold (a quaternion that is not quite unit): the nearest one is used."""


class SimulationWarning(UserWarning):
    """A simulation begins, or goes on, where its numbers mean little: bodies that overlap, a step that is too long."""


class TraceWarning(UserWarning):
    """A function that is compiled did something besides returning its result: that happens once, not in the kernel."""


class JointMethodError(RuntimeError):
    """A method of a joint type raised, in use by a joint or a robot: ``joint``, its ``type``, the ``method``.

    What it raised is the error's cause.
    """

    def __init__(self, joint: str, type: str, method: str, problem: str) -> None:
        self.joint, self.type, self.method, self.problem = joint, type, method, problem
        super().__init__(joint, type, method, problem)

    def __str__(self) -> str:
        return (
            f"joint {self.joint!r}: {self.type}.{self.method} raised {self.problem}; "
            f"`linkwork.check_joint` tries the type by itself"
        )


class ContractError(ValueError):
    """A class breaks the contract of its base; the message lists the requirements that fail.

    `linkwork.ContractReport.raise_if_failed` raises it: see `linkwork.check_joint` and the other ``check_`` functions.
    """


class NotDifferentiableError(ValueError):
    """A derivative was asked for that there is none of, or no way to: the message says what to write instead."""


def __dir__() -> list[str]:
    """The documented names."""
    return sorted(__all__)
