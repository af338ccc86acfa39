"""Errors and warnings of linkwork, and the base of its results.

`Result` is the base class of all results that may fail, and `Status` enumerates their outcomes.

A `ModelError` reports a problem in the description of a robot: the problem, its location (file, line, column,
element), the expected and the actual value, the nearest valid name and the remedy.  A reader collects up to 20 problems
and raises one exception that lists all of them.  Wrong arguments raise `ValueError`, or `UnknownNameError` (also a
`KeyError`) for a name that the robot does not have.  Problems with the cache of machine code are reported by
`CacheWarning`, never by an error.  A configuration slightly off its manifold is normalised with a
`ConfigurationWarning`.  All repairs of one robot description are reported by one `ModelWarning`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from linkwork._util.lazy_dataclass import dataclass
from linkwork._util.lazy_imports import public_names
from linkwork._util.messages import escaped, nearest
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
    "LimitWarning",
    "Location",
    "ModelError",
    "ModelWarning",
    "NotDifferentiableError",
    "PictureWarning",
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
NOTED = frozenset(
    {"IGNORED", "INERTIA_DEFAULT", "INERTIA_IGNORED", "MESH_MISSING", "MIMIC_FREE", "NOT_DRAWN", "WRITTEN_AS"}
)  # codes of notes: nothing was repaired


@dataclass(frozen=True, slots=True)
class Location:
    """A location in the description of a robot.

    ``file`` is a path, ``line`` and ``column`` are numbers, and ``element`` is the path of the element in the file.
    """

    file: str | None = None
    line: int | None = None
    column: int | None = None
    element: str | None = None  # path of the element, for example "robot/joint[elbow]/axis"

    def __str__(self) -> str:
        if self.file is None and self.line is None and self.element:
            return self.element  # the robot was built in Python
        position = self.file or "<string>"
        if self.line is not None:
            position += f":{self.line}"
            if self.column is not None:
                position += f":{self.column}"
        return f"{position}: {self.element}" if self.element else position


@dataclass(frozen=True, slots=True)
class Issue:
    """One error or warning about a robot description.

    ``code`` is a short name of its kind, ``message`` its text, ``where`` its `Location`, and ``hint`` a remedy.
    """

    code: str  # for example "UNKNOWN_LINK"
    message: str  # the problem, with the expected and the actual value
    where: Location = Location()
    hint: str | None = None  # the remedy, or the nearest name

    @property
    def is_note(self) -> bool:
        """True for a note: no repair and no loss, so ``strict`` does not turn it into an error."""
        return self.code in NOTED

    def __str__(self) -> str:
        """Return one line, and one for the hint: names and messages of other programs do not add lines."""
        hint = f"\n    hint: {escaped(self.hint)}" if self.hint else ""
        return f"{escaped(f'{self.where}: {self.message}')} [{self.code}]{hint}"


class ModelError(ValueError):
    """A robot description has errors.  ``issues`` lists them; the other attributes are those of the first one.

    ``warnings`` are the repairs and notes that were recorded before the errors were raised.
    """

    def __init__(self, issues: Issue | Sequence[Issue], warnings: Sequence[Issue] = ()) -> None:
        self.issues: tuple[Issue, ...] = (issues,) if isinstance(issues, Issue) else tuple(issues)
        self.warnings: tuple[Issue, ...] = tuple(warnings)
        if not self.issues:
            raise ValueError("ModelError: expected at least one issue")
        super().__init__(self.issues)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.issues, self.warnings)

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
    """The errors and warnings collected while a robot description is read.

    With ``strict`` every repair is an error: every warning, but no note (`NOTED`).
    """

    def __init__(self, *, strict: bool = False) -> None:
        self.strict = strict
        self.errors: list[Issue] = []
        self.warnings: list[Issue] = []

    def error(self, issue: Issue) -> None:
        """Add an error.  Raises ModelError with all errors when there are `MOST_ISSUES` of them."""
        self.errors.append(issue)
        if len(self.errors) >= MOST_ISSUES:
            self.raise_errors()

    def warn(self, issue: Issue) -> None:
        """Add a warning about a repair, a guess or a suspicious value: an error if ``strict``."""
        if self.strict:
            self.error(issue)
        else:
            self.warnings.append(issue)

    def note(self, issue: Issue) -> None:
        """Add a note, with a code of `NOTED`: something was ignored on request, or has no effect."""
        assert issue.is_note, issue
        self.warnings.append(issue)

    def add(self, issue: Issue) -> None:
        """Add an issue as a note if its code is one, else as a warning."""
        self.note(issue) if issue.is_note else self.warn(issue)

    def raise_errors(self) -> None:
        """Raise ModelError with the collected errors, if there are any."""
        if self.errors:
            raise ModelError(self.errors, self.warnings)


class SingularInertiaError(ValueError):
    """The mass matrix is singular, so accelerations are not determined: some joint motions move no inertia.

    ``joints`` names the joints of the motion, ``joint`` the first of them.  Several joints may move inertia one by one
    and none together, for example two hinges on one axis without inertia between them.  ``motions`` is True if the
    joint does move inertia, but its own motions are linearly dependent in this configuration (gimbal lock).
    ``passive`` is True if the joints' armature, which counts with ``passive=True``, makes the mass matrix regular.
    """

    def __init__(self, joint: str, motions: bool = False, joints: tuple[str, ...] = (), passive: bool = False) -> None:
        self.joint, self.motions, self.joints, self.passive = joint, motions, joints or (joint,), passive
        super().__init__(joint, motions, joints, passive)

    def __str__(self) -> str:
        if self.motions:
            return (
                f"joint {self.joint!r}: its motions depend on each other in this configuration (gimbal lock, or axes "
                f"that coincide), so their accelerations are not determined: see `regularity`, or use another joint"
            )
        if len(self.joints) > 1:
            names = f"{', '.join(map(repr, self.joints[:-1]))} and {self.joints[-1]!r}"
            return (
                f"joints {names} move no inertia when they move together, so their accelerations are not determined: "
                f"{self._armature}give masses to links after them, or lock a joint; `mass_matrix_null_space` returns "
                "these motions"
            )
        return (
            f"joint {self.joint!r} moves bodies without inertia, so its acceleration is not determined: "
            f"{self._armature}give a link after it a mass, of 1e-6 kg for example, also where a loop determines the "
            "joint, or lock it"
        )

    @property
    def _armature(self) -> str:
        return "pass passive=True, with which the armature of the joints counts, or " if self.passive else ""


class SingularMatrixError(np.linalg.LinAlgError):
    """A matrix cannot be factored: ``pivot`` is the index, from 0, of the first pivot that failed.

    ``function`` is the name of the called function, ``sample`` the index of the first failed matrix in the batch, and
    ``samples`` the number of failed matrices.  ``positive`` is True if the factorization requires positive pivots.
    """

    def __init__(
        self, function: str, pivot: int, *, positive: bool = False, sample: tuple[int, ...] = (), samples: int = 1
    ) -> None:
        self.function, self.pivot, self.positive = function, pivot, positive
        self.sample, self.samples = sample, samples
        super().__init__(function, pivot)

    def __str__(self) -> str:
        matrix = f"matrix {list(self.sample)} of the batch" if self.sample else "the matrix"
        more = f", and {self.samples - 1} more fail" if self.samples > 1 else ""
        problem = "is not positive definite" if self.positive else "is singular to this factorization"
        value = "not positive" if self.positive else "zero"
        remedy = (
            "assume='gen' accepts indefinite matrices"
            if self.positive
            else "`pinv`, or `lstsq` with damping, accepts singular matrices"
        )
        return (
            f"{self.function}: {matrix} {problem}{more}: pivot {self.pivot} (from 0) is {value} or not finite; "
            f"status=True returns a status instead of raising this error, and {remedy}"
        )


class ArgumentError(TypeError, ValueError):
    """An argument has a type that the function does not accept.  The message names the function and the argument.

    It is both a TypeError and a ValueError.
    """


class AssemblyError(ValueError):
    """No configuration was found that satisfies the robot's constraints.  ``result`` is the best one found.

    ``message`` is the text.
    """

    def __init__(self, message: str, result: object = None) -> None:
        self.result = result
        super().__init__(message)

    def __reduce__(self) -> tuple[object, ...]:
        return AssemblyError, (str(self), self.result)


class UnderactuatedError(ValueError):
    """The motion needs joint forces that neither the actuators nor the constraints can exert.

    ``motions`` describes the motions that no actuator can induce, each by its joint velocities, in the state with index
    ``where`` of the batch.  ``max_missing`` is the largest missing joint force [N·m, N].

    ``caller`` is the function that was called.
    """

    def __init__(
        self,
        actuators: tuple[str, ...],
        motions: tuple[str, ...],
        where: tuple[int, ...],
        max_missing: float,
        caller: str = "constrained_inverse_dynamics",
    ) -> None:
        self.actuators, self.motions, self.where, self.max_missing, self.caller = (
            actuators,
            motions,
            where,
            max_missing,
            caller,
        )
        named = ", ".join(map(repr, actuators[:8])) + (", ..." if len(actuators) > 8 else "")
        state = f" in state {where[0] if len(where) == 1 else where}" if where else ""
        moves = "; ".join(f"({motion})" for motion in motions) or "that is required"
        super().__init__(
            f"{caller}: actuators {named or 'none'} cannot induce{state} the motion"
            f"{'s' if len(motions) > 1 else ''} {moves}: joint forces of {max_missing:.3g} are missing; name more "
            f"joints in actuators, or pass accelerations that need no such forces"
        )

    def _of(self, caller: str, where: tuple[int, ...] | None = None) -> UnderactuatedError:
        """Return the error of another function, which called this one, perhaps with other indices of states."""
        states = self.where if where is None else where
        return type(self)(self.actuators, self.motions, states, self.max_missing, caller)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.actuators, self.motions, self.where, self.max_missing, self.caller)


class UnknownNameError(KeyError, ValueError):
    """A name does not exist.  ``known`` has the existing names of its ``kind``, ``remedy`` the advice of the message.

    ``where`` names the called function and its argument, for example "pose: frame"; "" if that is not known.
    """

    def __init__(self, kind: str, name: object, known: Iterable[str], remedy: str = "", where: str = "") -> None:
        self.kind, self.name, self.known, self.remedy, self.where = kind, name, tuple(known), remedy, where
        super().__init__(kind, name, self.known, remedy, where)

    def __str__(self) -> str:
        begin = f"{self.where}: " if self.where else ""
        return f"{begin}no {self.kind} named {self._shown()}; {self.remedy or self._hint()}"

    def _hint(self) -> str:
        """Return the names of linkwork for a name of other libraries, or the nearest names."""
        from linkwork._util.foreign_names import VALUES

        text = str(self.name) if isinstance(self.name, str) else self._shown()
        names = [name for name in VALUES.get(self.kind, {}).get(text, ()) if name in self.known]
        return f"use {' or '.join(map(repr, names))}" if names else nearest(text, self.known)

    def _shown(self) -> str:
        try:
            text = repr(self.name)
        except Exception:  # of deeply nested lists, or of a user's object
            text = f"an object of type {type(self.name).__name__}"
        return text if len(text) <= _LONGEST_NAME else f"{text[:_LONGEST_NAME]}..."

    def at(self, where: str) -> UnknownNameError:
        """Return the same error for another location ``where``: the function and argument that received the name."""
        return UnknownNameError(self.kind, self.name, self.known, self.remedy, where)


class ModelWarning(UserWarning):
    """The reader repaired, guessed or ignored something in a robot description; ``robot.report`` lists everything.

    A writer issues it for what decides collisions and cannot be in the file, such as a shape.
    Identification issues it, too, where it ignores passive forces of a robot's joints.
    ``warnings.filterwarnings("ignore", category=ModelWarning)`` silences these warnings; ``load(..., strict=True)``
    raises errors instead.
    """


class CacheWarning(UserWarning):
    """The cache of machine code, or an entry of it, cannot be used or trusted; the code is compiled without it."""


class ConfigurationWarning(UserWarning):
    """A configuration is slightly off its manifold (a quaternion not quite of unit length); the nearest one is used."""


class LimitWarning(UserWarning):
    """A result exceeds a limit of a joint that its method does not hold; the message names the joint."""


class PictureWarning(UserWarning):
    """A picture shows a placeholder, for example for a mesh file that is missing; the notes have the reason."""


class SimulationWarning(UserWarning):
    """A simulation is in a state where its results are unreliable: bodies overlap, or the time step is too long."""


class TraceWarning(UserWarning):
    """A function to compile has a side effect, which happens once, or its variables changed after it was compiled."""


class JointMethodError(RuntimeError):
    """A method of a joint type raised an exception, which is the cause of this error.

    ``joint``, ``type`` and ``method`` name the joint, its type and the method.

    ``problem`` is the text of the exception.
    """

    def __init__(self, joint: str, type: str, method: str, problem: str) -> None:
        self.joint, self.type, self.method, self.problem = joint, type, method, problem
        super().__init__(joint, type, method, problem)

    def __str__(self) -> str:
        return (
            f"joint {self.joint!r}: {self.type}.{self.method} raised {self.problem}; "
            f"`linkwork.check_joint` checks the type by itself"
        )


class ContractError(ValueError):
    """A class violates the contract of its base class; the message lists the failed requirements.

    `linkwork.ContractReport.raise_if_failed` raises it; see `linkwork.check_joint` and the other ``check_`` functions.
    """


class NotDifferentiableError(ValueError):
    """A requested derivative does not exist or cannot be computed; the message names the alternative."""


if not TYPE_CHECKING:
    __getattr__, __dir__, _ = public_names(__name__, names=__all__)
