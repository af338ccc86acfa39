"""Checks of a class against the contract of its base: requirements, and the report of which of them hold.

A check is a tuple of `Requirement`s and a trial, the object on which they are tried (an instance of the class, states,
random numbers).  `check_requirements` tries each requirement by itself, so one failure does not hide another:

    REQUIREMENTS = (
        Requirement("sizes", "one value for each name", 0.0, _sizes),
        Requirement("jacobian", "J v is the rate of the values", 1e-6, _jacobian),
    )
    report = check_requirements("sensor Thermometer", REQUIREMENTS, trial, type(sensor), Sensor)

`tests/_util/test_contract_report.py` shows all outcomes of a requirement.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np

from linkwork._util.user_frames import own_line
from linkwork.errors import ContractError

__all__ = ["ContractLine", "ContractReport", "Requirement", "check_requirements", "relative_error"]

Trial = TypeVar("Trial")


@dataclass(frozen=True, slots=True)
class ContractLine:
    """Result of one requirement: its largest error, and the problem if the requirement does not hold."""

    name: str  # the subject of the requirement, for example a method: "S"
    statement: str  # the requirement, in words or as an equation
    error: float  # relative to 1 or to the size of the compared values; NaN if nothing could be compared
    tolerance: float
    problem: str = ""  # what the check found wrong, or what the checked class raised

    @property
    def success(self) -> bool:
        """True if the requirement holds."""
        return not self.problem and self.error <= self.tolerance

    def __str__(self) -> str:
        text = f"{'ok  ' if self.success else 'FAIL'}  {self.name:<27} {self.error:9.1e}  {self.statement}"
        return f"{text}\n      {self.problem}" if self.problem else text


@dataclass(frozen=True, slots=True)
class ContractReport:
    """Result of a check of a class against its contract.  It prints as a table with one line per requirement."""

    subject: str  # kind and name of the class, for example "joint type Knee"
    lines: tuple[ContractLine, ...]

    @property
    def success(self) -> bool:
        """True if every requirement holds."""
        return not self.failures

    @property
    def failures(self) -> tuple[ContractLine, ...]:
        """The lines of the requirements that do not hold."""
        return tuple(line for line in self.lines if not line.success)

    def raise_if_failed(self) -> None:
        """Raise ContractError with the lines of the requirements that do not hold, if there are any."""
        if not self.success:
            raise ContractError("\n".join([self._verdict(), *map(str, self.failures)]))

    def _verdict(self) -> str:
        if self.success:
            return f"{self.subject} keeps the contract"
        return f"{self.subject} breaks the contract: {len(self.failures)} of {len(self.lines)} requirements fail"

    def __str__(self) -> str:
        return "\n".join([self._verdict(), *map(str, self.lines)])


@dataclass(frozen=True, slots=True)
class Requirement(Generic[Trial]):
    """A requirement of a contract, and the function that tries it."""

    name: str
    statement: str
    tolerance: float  # the largest error that passes; 0 for a requirement that `errors` decides by raising
    errors: Callable[[Trial], Iterable[float]]  # errors of all comparisons; raises ValueError to state a problem


def check_requirements(
    subject: str, requirements: Iterable[Requirement[Trial]], trial: Trial, kind: type, base: type
) -> ContractReport:
    """Try each requirement on ``trial`` and return the report.

    An exception is the problem of its line; the text names the last line of the code of ``kind``, and of its bases
    below ``base``, that the exception passed through.  An error that is NaN counts as infinite.  A requirement
    without comparisons holds.
    """
    lines = []
    for requirement in requirements:
        error, problem = math.nan, ""
        try:
            errors = [float(e) for e in requirement.errors(trial)]
            error = max((math.inf if math.isnan(e) else e for e in errors), default=0.0)
        except Exception as raised:
            problem = own_line(raised, kind, base)
        lines.append(ContractLine(requirement.name, requirement.statement, error, requirement.tolerance, problem))
    return ContractReport(subject, tuple(lines))


def relative_error(values: Sequence[Any] | np.ndarray, reference: Sequence[Any] | np.ndarray) -> float:
    """Return the largest difference of two flat sequences, relative to 1 or to the reference's largest element."""
    a, b = (np.array([float(x) for x in side], dtype=float) for side in (values, reference))
    if a.shape != b.shape:
        raise ValueError(f"expected {b.size} values, got {a.size}")
    return float(np.max(np.abs(a - b), initial=0.0)) / max(1.0, float(np.max(np.abs(b), initial=0.0)))
