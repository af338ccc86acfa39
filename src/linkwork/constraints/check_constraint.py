"""`check_constraint`: a constraint of a robot against the contract of `Constraint`.

The constraint is tried on floats, in random states of the robot, which need not obey it.  The references are
differences along the configuration manifold and in time, and the functions of the robot with the constraint on it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from linkwork._util.checked_arguments import public
from linkwork._util.contract_report import (
    ContractReport,
    Requirement,
    check_requirements,
    relative_error,
    require_value,
)
from linkwork._util.numeric_derivatives import central_differences, vanishing_point
from linkwork.constraints.constraint import Constraint

__all__ = ["REQUIREMENTS", "check_constraint"]

_STEP = 1e-5  # of the tangent space, and of time [s], for differences
_DIFFERENCES = 1e-5
_ROUNDING = 1e-8
_STATES = 4


@public
def check_constraint(constraint: Constraint, robot: Any, *, seed: int | np.random.Generator = 0) -> ContractReport:
    """Check a constraint of a robot, for example one of your own, against the contract of `Constraint`.

    The rows of `Robot.constraint_jacobian` and its drift and bias are compared with differences of the constraint's
    ``error`` or ``velocity``, and closed forms with what is compiled.  Constraints that the robot has are taken off
    first.  ``seed`` is of the random states.  The report prints as a table;
    ``check_constraint(constraint, robot).raise_if_failed()`` is a test.

    >>> import linkwork as lw
    >>> robot = lw.load("arm7")
    >>> lw.constraints.check_constraint(lw.constraints.Distance("hand", "world", 0.5), robot).success
    True
    """
    if not isinstance(constraint, Constraint):
        raise TypeError(f"check_constraint: constraint: expected a linkwork.constraints.Constraint, got {constraint!r}")
    kind = type(constraint)
    trial = _Trial(constraint, robot, np.random.default_rng(seed))
    return check_requirements(f"constraint {kind.__name__}", REQUIREMENTS, trial, kind, Constraint)


class _Trial:
    """A constraint, a robot, and the states in which the constraint is tried."""

    def __init__(self, constraint: Constraint, robot: Any, rng: np.random.Generator) -> None:
        self.given, self.bare = constraint, robot.without_constraints()
        q, v = robot.random_configuration(rng, size=_STATES), rng.normal(size=(_STATES, robot.nv))
        self.q, self.v, self.times = q, v, rng.uniform(0.1, 1.0, size=_STATES)

    @property
    def states(self) -> Any:
        return zip(self.q, self.v, self.times.tolist(), strict=True)

    @cached_property
    def robot(self) -> Any:
        """The robot with the constraint and its companions, and no others."""
        return self.bare.with_constraints(self.given)

    @cached_property
    def constraint(self) -> Constraint:
        """The constraint, knowing what only the robot can tell it."""
        result: Constraint = self.robot.constraints[self.given.name]
        return result

    @property
    def count(self) -> int:
        return len(self.constraint.component_names)

    @property
    def is_timed(self) -> bool:
        return any(one.time_dependent for one in self.robot.constraints)

    def state(self, q: Any, v: Any, time: float) -> Any:
        return self.robot._kinematic_state(q, v, time)

    def value(self, q: Any, v: Any, time: float) -> np.ndarray:
        """The error of a holonomic constraint, or the velocity of another, on floats."""
        state = self.state(q, v, time)
        return _floats(self.constraint.error(state) if self.constraint.holonomic else self.constraint.velocity(state))

    def own(self, name: str, *arguments: Any, time: Any) -> np.ndarray:
        """What a function of the robot returns, for this constraint's rows, which come before its companions'."""
        how = {"time": time} if self.is_timed else {}
        result = np.asarray(getattr(self.robot, name)(*arguments, **how))
        axis = -2 if name == "constraint_jacobian" else -1
        return result.take(range(self.count), axis=axis)

    def rows(self, q: Any, time: Any) -> np.ndarray:
        return self.own("constraint_jacobian", q, time=time)

    def errors(self, time: float) -> Callable[[np.ndarray], np.ndarray]:
        """The error as a function of the configuration."""
        return lambda q: self.value(q, np.zeros(self.bare.nv), time)

    def differences(self, q: Any, time: float) -> np.ndarray:
        """Return the derivative (rows, nv) of the error by differences."""
        return central_differences(self.errors(time), self.bare.integrate, q, self.bare.nv)

    def obeying(self, q: Any, time: float) -> np.ndarray | None:
        """Return a configuration near q where the error vanishes; None if the search finds none."""
        return vanishing_point(self.errors(time), self.bare.integrate, q, self.bare.nv)

    def shifted(self, q: Any, v: Any, time: float) -> tuple[Any, Any, float, float]:
        """q a step ahead and behind along v, and the times of these."""
        h = _STEP
        return self.bare.integrate(q, h * v), self.bare.integrate(q, -h * v), time + h, time - h


def _floats(values: Any) -> np.ndarray:
    return np.array([float(x) for x in values])


def _value(t: _Trial) -> list[float]:
    require_value(t.given, "constraints")
    return []


def _names(t: _Trial) -> list[float]:
    one, known = t.constraint, {*t.bare.frames, "world"}
    if not isinstance(one.name, str) or not one.name:
        raise ValueError(f"name: expected a string, got {one.name!r}")
    names, units = one.component_names, one.row_units
    if not names or not all(isinstance(name, str) and name for name in names) or len(set(names)) < len(names):
        raise ValueError(f"component_names: expected distinct strings, got {names!r}")
    if len(units) != len(names) or not all(unit in ("m", "rad", "1") for unit in units):
        raise ValueError(f"row_units: expected 'm', 'rad' or '1' for each of {len(names)} rows, got {units!r}")
    frames = [name for name in one.references.frames if name in known]
    for name in frames:
        other = one.with_names({name: f"{name} of another"})
        if name in other.references.frames or f"{name} of another" not in other.references.frames:
            raise ValueError(f"renamed: frame {name!r} keeps its name: references are {other.references}")
    return []


def _values(t: _Trial) -> list[float]:
    what = "error" if t.constraint.holonomic else "velocity"
    for q, v, time in t.states:
        result = t.value(q, v, time)
        if len(result) != t.count:
            raise ValueError(f"{what}: expected {t.count} values, as component_names has, got {len(result)}")
        if not np.isfinite(result).all():
            raise ValueError(f"{what}: expected finite values, got {result} at q = {q.tolist()}")
    return []


def _rows(t: _Trial) -> list[float]:
    """Closed forms may leave out what vanishes with the error, so states that obey the constraint decide."""
    if not t.constraint.holonomic:
        return _linear(t)
    states = list(t.states)
    errors = [relative_error(t.rows(q, time).ravel(), t.differences(q, time).ravel()) for q, _, time in states]
    if max(errors, default=0.0) <= _DIFFERENCES:
        return errors
    held = [(q, time) for q, time in ((t.obeying(q, time), time) for q, _, time in states) if q is not None]
    return [relative_error(t.rows(q, time).ravel(), t.differences(q, time).ravel()) for q, time in held] or errors


def _linear(t: _Trial) -> list[float]:
    errors = []
    for q, v, time in t.states:
        rest, G = t.value(q, 0.0 * v, time), t.rows(q, time)
        result = [t.value(q, unit, time) - rest for unit in np.eye(t.bare.nv)]
        errors += [
            relative_error(G.ravel(), np.array(result).T.ravel()),
            relative_error(G @ v + rest, t.value(q, v, time)),
        ]
    return errors


def _drift(t: _Trial) -> list[float]:
    errors = []
    for q, v, time in t.states:
        _, _, later, earlier = t.shifted(q, v, time)
        rate = (t.value(q, 0.0 * v, later) - t.value(q, 0.0 * v, earlier)) / (2.0 * _STEP)
        if not t.constraint.time_dependent and rate.any():
            raise ValueError("time_dependent: says False, but the constraint changes with time")
        drift = rate if t.constraint.holonomic else t.value(q, 0.0 * v, time)
        errors.append(relative_error(t.own("constraint_drift", q, time=time), drift))
    return errors


def _bias(t: _Trial) -> list[float]:
    """γ is the rate of G v + σ while v stays the same."""
    errors = []
    for q, v, time in t.states:
        ahead, behind, later, earlier = t.shifted(q, v, time)
        moved = [
            t.rows(x, at) @ v + t.own("constraint_drift", x, time=at) for x, at in ((ahead, later), (behind, earlier))
        ]
        errors.append(relative_error(t.own("constraint_bias", q, v, time=time), (moved[0] - moved[1]) / (2.0 * _STEP)))
    return errors


def _closed(t: _Trial) -> list[float]:
    """What the constraint itself gives on floats is what is compiled."""
    errors = []
    for q, v, time in t.states:
        if t.constraint.holonomic:
            errors.append(relative_error(t.own("constraint_error", q, time=time), t.value(q, v, time)))
        rates = t.constraint.rates(t.state(q, v, time))
        if rates is None:
            continue
        if len(rates.rows) != t.count or len(rates.bias) != t.count:
            raise ValueError(f"rates: expected {t.count} rows and biases, got {len(rates.rows)} and {len(rates.bias)}")
        if rates.sizes is not None and np.shape(rates.sizes) != np.shape(rates.rows):
            raise ValueError("rates: sizes: expected a value for each of rows")
        drift = _floats(rates.drift or [0.0] * t.count)
        errors += [
            relative_error(np.ravel([_floats(row) for row in rates.rows]), t.rows(q, time).ravel()),
            relative_error(_floats(rates.bias), t.own("constraint_bias", q, v, time=time)),
            relative_error(drift, t.own("constraint_drift", q, time=time)),
        ]
    return errors


def _wrenches(t: _Trial) -> list[float]:
    """Rows are the powers of the wrenches on the motion of the first frame relative to the second."""
    wrenches = t.constraint.fixed_wrenches
    if wrenches is None:
        return []
    first, second = (*t.constraint.references.frames, "world")[:2]
    errors = []
    for q, v, time in t.states:
        columns = t.state(q, v, time).between(first, second).columns
        result = [[float(column.dot(F)) for column in columns] for F in wrenches]
        errors.append(relative_error(np.ravel(result), t.rows(q, time).ravel()))
    return errors


def _weighed(t: _Trial) -> list[float]:
    """Another mass and centre of a link change a constraint that says so, and no other."""
    if t.constraint.uses_inertia or not t.constraint.holonomic:
        return []
    robot = t.robot
    link = next((one for one in robot.links if one.mass > 0.0 and one.parent != "world"), None)
    if link is None:
        return []
    other = robot.with_inertia(link.name, mass=2.0 * link.mass, com=np.add(link.com, [0.1, 0.2, 0.3]))
    changed = 0.0
    for q, v, time in t.states:
        result = _floats(other.constraints[t.given.name].error(other._kinematic_state(q, v, time)))
        changed = max(changed, relative_error(result, t.value(q, v, time)))
    if changed > _ROUNDING:
        raise ValueError("uses_inertia: says False, but the error changes with masses and centres of mass")
    return []


def _batches(t: _Trial) -> list[float]:
    times = t.times if t.is_timed else 0.0
    rows, bias = t.rows(t.q, times), t.own("constraint_bias", t.q, t.v, time=times)
    errors = []
    for k, (q, v, time) in enumerate(t.states):
        errors.append(relative_error(rows[k].ravel(), t.rows(q, time).ravel()))
        errors.append(relative_error(bias[k], t.own("constraint_bias", q, v, time=time)))
    return errors


REQUIREMENTS: tuple[Requirement[_Trial], ...] = (
    Requirement("value", "constraints of the same fields are equal and hash", 0.0, _value),
    Requirement("names", "there is a name and a unit for each row; frames can be renamed", 0.0, _names),
    Requirement("error, velocity", "there is a finite value for each row", 0.0, _values),
    Requirement("rows", "G v is the rate of the error where it vanishes, or the velocity less σ", _DIFFERENCES, _rows),
    Requirement("drift", "σ is the rate of the error, or the velocity, of a robot at rest", _DIFFERENCES, _drift),
    Requirement("bias", "γ is the rate of G v + σ while v stays the same", _DIFFERENCES, _bias),
    Requirement("compiled", "compiled code gives what error and rates give on floats", _ROUNDING, _closed),
    Requirement("fixed_wrenches", "rows are the powers of these wrenches", _ROUNDING, _wrenches),
    Requirement("weighed", "masses change nothing, unless the constraint says so", 0.0, _weighed),
    Requirement("batches", "rows and biases are the same alone and in a batch", _ROUNDING, _batches),
)
