"""Checks of a class against the contract of its base: requirements, and the report of which of them hold.

A check is a tuple of `Requirement`s and a trial, the object on which they are tried (an instance of the class, states,
random numbers).  `check_requirements` tries each requirement by itself, so one failure does not hide another:

    REQUIREMENTS = (
        Requirement("sizes", "one value for each name", 0.0, _sizes),
        Requirement("jacobian", "J v is the rate of the values", 1e-6, _jacobian),
    )
    report = check_requirements("sensor Thermometer", REQUIREMENTS, trial, type(sensor), Sensor)

The last line of each report is about names: the library would ignore an attribute whose name is close to one of the
contract, but not equal to it.  `misspelt_names` lists them.

`tests/_util/test_contract_report.py` shows all outcomes of a requirement.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterable, Sequence
from copy import copy
from dataclasses import dataclass, replace
from itertools import product, takewhile
from pickle import PicklingError
from typing import Any, Generic, TypeVar

import numpy as np

from linkwork._util.messages import close_names
from linkwork._util.user_frames import names_in, own_line
from linkwork.errors import ContractError

__all__ = [
    "ContractLine",
    "ContractReport",
    "Requirement",
    "central_differences",
    "check_requirements",
    "misspelt_names",
    "relative_error",
    "require_value",
    "vanishing_point",
]

Trial = TypeVar("Trial")
_SIMILAR = 0.8  # least similarity of a misspelt name, above that of hints: helpers must not be reported
_STEM = 4  # least length of a common beginning of words
Array = np.ndarray[Any, Any]
Errors = Callable[[Array], Array]
Move = Callable[[Array, Array], Array]
_STEP = 1e-5  # of central differences
_VANISHED = 1e-9  # [m, rad] errors below it count as zero
_STATIONARY = 1e-12  # [m, rad] a search ends that smaller steps do not improve
_MAX_ITERATIONS = 60


@dataclass(frozen=True, slots=True)
class ContractLine:
    """Result of one requirement: its largest error, and the problem if the requirement does not hold."""

    name: str  # the subject of the requirement, for example a method: "S"
    statement: str  # the requirement, in words or as an equation
    error: float  # relative to 1 or to the size of the compared values; NaN if nothing could be compared
    tolerance: float
    problem: str = ""  # description the check found wrong, or what the checked class raised

    @property
    def success(self) -> bool:
        """True if the requirement holds."""
        return not self.problem and self.error <= self.tolerance

    def __str__(self) -> str:
        text = f"{'ok  ' if self.success else 'FAIL'}  {self.name:<27} {self.error:9.1e}  {self.statement}"
        return f"{text}\n      {self.problem}" if self.problem else text


@dataclass(frozen=True, slots=True)
class ContractReport:
    """Result of a check of a class against its contract.  It prints as a table with one line per requirement.

    ``subject`` is the kind and name of the class, and ``lines`` has one entry for each requirement.
    """

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
    """One requirement of a base class's contract, and the function that tests it."""

    name: str
    statement: str
    tolerance: float  # the largest error that passes; 0 for a requirement that `errors` decides by raising
    errors: Callable[[Trial], Iterable[float]]  # errors of all comparisons; raises ValueError to state a problem


def check_requirements(
    subject: str, requirements: Iterable[Requirement[Trial]], trial: Trial, kind: type, base: type | None
) -> ContractReport:
    """Try each requirement on ``trial`` and return the report.

    An exception is the problem of its line; the text names the last line of the code of ``kind``, and of its bases
    below ``base``, that the exception passed through.  An error that is NaN counts as infinite.  A requirement
    without comparisons holds.  ``base`` is None for a subject that is not an implementation of a class: a function or a
    table entry has no attributes to check.
    """
    lines = []
    for requirement in requirements:
        error, problem = math.nan, ""
        try:
            errors = [float(e) for e in requirement.errors(trial)]
            error = max((math.inf if math.isnan(e) else e for e in errors), default=0.0)
        except Exception as raised:
            problem = own_line(raised, kind, base or kind)
        lines.append(ContractLine(requirement.name, requirement.statement, error, requirement.tolerance, problem))
    if base is None:
        return ContractReport(subject, tuple(lines))
    problem = "; ".join(
        f"{name}: not a name of {base.__name__}: did you mean {contract!r}?"
        for name, contract in misspelt_names(kind, base).items()
    )
    lines.append(ContractLine("attributes", "no attribute is a misspelt name of the contract", 0.0, 0.0, problem))
    return ContractReport(subject, tuple(lines))


def misspelt_names(kind: type, base: type) -> dict[str, str]:
    """Return the attributes of a class that are probably misspelt, each with the contract's name.

    The contract is the public names of ``base`` and of the library's classes between ``base`` and ``kind``.  An
    attribute of a class outside the library is reported if all of this holds, so helpers of the class are not:

    - it is a method, a property or a bool, and so is the attribute of the contract;
    - a method accepts the arguments of the contract's method;
    - the names are similar by `close_names`, or, for bools, a word of one name begins with a word of the other name;
    - the class does not define the contract's name;
    - the class's own code does not use the attribute.
    """
    above = list(takewhile(lambda owner: owner is not base, kind.__mro__))
    attributes: dict[str, Any] = {}
    contract: dict[str, Any] = {}
    for owner in reversed(kind.__mro__):
        if owner in above and owner.__module__.partition(".")[0] != "linkwork":
            attributes |= {
                name: x for name, x in _attributes(owner).items() if name in vars(owner) or name not in contract
            }
        else:
            contract |= _attributes(owner)
    functions = [f for owner in above for value in vars(owner).values() for f in _functions(value)]
    known = {*contract, *(name for f in functions if not _is_generated(f) for name in names_in(f.__code__))}
    result = {}
    for name, value in attributes.items():
        if name in known or name.startswith("_"):
            continue
        candidates = [key for key, x in contract.items() if key not in attributes and _alike(value, x)]
        near = close_names(name, candidates, _SIMILAR)
        near += [key for key in candidates if isinstance(value, bool) and _share_word(name, key)]
        if near:
            result[name] = near[0]
    return result


def _attributes(owner: type) -> dict[str, Any]:
    """Return the attributes of a class by name, with False for bool fields of a dataclass."""
    declared = vars(owner).get("__dataclass_fields__", {})
    return dict(vars(owner)) | {name: False for name, field in declared.items() if field.type in (bool, "bool")}


def _functions(value: Any) -> list[Callable[..., Any]]:
    """Return the functions of an attribute of a class: a function, a method of any kind, or a property."""
    inner = [getattr(value, key, None) for key in ("fget", "fset", "func", "__func__")]
    return [inspect.unwrap(x) for x in (value, *inner) if inspect.isfunction(x)]


def _is_generated(function: Callable[..., Any]) -> bool:
    """Return True for methods that `dataclass` writes: they use all fields."""
    return function.__name__.startswith("__") and function.__code__.co_filename == "<string>"


def _alike(value: Any, contract: Any) -> bool:
    """Return True if two attributes are both flags, both properties, or methods that accept the same arguments."""
    if isinstance(value, bool):
        return isinstance(contract, bool)
    functions = _functions(value), _functions(contract)
    if not all(functions):
        return False
    if inspect.isfunction(value) and inspect.isfunction(contract):
        counts = [
            sum(p.default is p.empty for p in inspect.signature(x).parameters.values()) for x in (value, contract)
        ]
        return counts[0] == counts[1]
    return not inspect.isfunction(value) and not inspect.isfunction(contract)


def _share_word(a: str, b: str) -> bool:
    """Return True if a word of one name begins with a word of the other: "timed" and "time_dependent"."""
    pairs = product(a.split("_"), b.split("_"))
    return any(min(len(x), len(y)) >= _STEM and (x.startswith(y) or y.startswith(x)) for x, y in pairs)


def relative_error(values: Sequence[Any] | np.ndarray, reference: Sequence[Any] | np.ndarray) -> float:
    """Return the largest difference of two flat sequences, divided by the larger of 1 and the largest |reference|."""
    a, b = (np.array([float(x) for x in side], dtype=float) for side in (values, reference))
    if a.shape != b.shape:
        raise ValueError(f"expected {b.size} values, got {a.size}")
    return float(np.max(np.abs(a - b), initial=0.0)) / max(1.0, float(np.max(np.abs(b), initial=0.0)))


def require_value(value: Any, description: str) -> None:
    """Raise ValueError if a value's copy is not equal to it or has another hash; ``description`` is a plural noun."""
    try:
        duplicate = copy(value)
    except PicklingError:  # it has a function that no other process could import
        duplicate = replace(value)
    if duplicate != value or hash(duplicate) != hash(value):
        raise ValueError(f"two {description} of the same fields are not equal: make the class a frozen dataclass")


def central_differences(errors: Errors, move: Move, q: Array, nv: int) -> Array:
    """Return the Jacobian (errors, nv) of ``errors`` at q with respect to the tangent vector, by central differences.

    ``move(q, steps)`` returns the configurations that are reached from q by tangent vectors ``steps`` (n, nv).
    """
    steps = _STEP * np.eye(nv)
    ahead, behind = (np.array([errors(x) for x in move(q, sign * steps)]) for sign in (1.0, -1.0))
    return np.asarray((ahead - behind).T / (2.0 * _STEP))


def vanishing_point(errors: Errors, move: Move, q: Array, nv: int) -> Array | None:
    """Return a configuration near q at which ``errors`` vanish, by damped least squares; None if the search fails."""
    damping = 1e-2
    e, J = errors(q), None
    for _ in range(_MAX_ITERATIONS):
        if np.abs(e).max(initial=0.0) < _VANISHED:
            return np.asarray(q)
        J = central_differences(errors, move, q, nv) if J is None else J
        damped = np.vstack([J, np.sqrt(damping) * np.eye(nv)])  # of full rank in exact numbers alone
        step = np.linalg.lstsq(damped, np.concatenate([e, np.zeros(nv)]), rcond=None)[0]
        trial = move(q, -step)
        e_of_trial = errors(trial)
        if np.linalg.norm(e_of_trial) < np.linalg.norm(e):
            q, e, J, damping = trial, e_of_trial, None, 0.1 * damping
        elif np.abs(step).max(initial=0.0) < _STATIONARY:
            return None
        else:
            damping *= 10.0
    return None
