"""`check_constraint`: check of a constraint of a robot against the contract of `Constraint`.

The constraint is evaluated on floats in random states of the robot, which need not satisfy it.  The references are
finite differences on the configuration manifold and in time, and the functions of the robot with the constraint.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from linkwork._util.cached_properties import cached_property
from linkwork._util.checked_arguments import public
from linkwork._util.contract_report import (
    ContractReport,
    Requirement,
    central_differences,
    check_requirements,
    relative_error,
    require_value,
    vanishing_point,
)
from linkwork.constraints.constraint import Constraint

__all__ = ["REQUIREMENTS", "check_constraint"]

_STEP = 1e-5  # of finite differences, in the tangent space and in time [s]
_DIFFERENCES = 1e-5  # tolerance of finite differences, relative
_ROUNDING = 1e-8  # tolerance of equal values, relative
_STATES = 4  # random states


@public
def check_constraint(constraint: Constraint, robot: Any, *, seed: int | np.random.Generator = 0) -> ContractReport:
    """Check a constraint of a robot, for example a user-defined one, against the contract of `Constraint`.

    The rows of `Robot.constraint_jacobian`, the drift and the bias are compared with finite differences of the
    constraint's ``error`` or ``velocity``, and closed forms with compiled code.  Existing constraints of the robot are
    removed first.  ``seed`` draws the random states.  The report prints as a table;
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
    """Trial of a constraint: the constraint, a robot, and random states in which it is checked."""

    def __init__(self, constraint: Constraint, robot: Any, rng: np.random.Generator) -> None:
        self.unbound, self.bare = constraint, robot.without_constraints()
        q, v = robot.random_configuration(rng, size=_STATES), rng.normal(size=(_STATES, robot.nv))
        self.q, self.v, self.times = q, v, rng.uniform(0.1, 1.0, size=_STATES)

    @property
    def states(self) -> Any:
        return zip(self.q, self.v, self.times.tolist(), strict=True)

    @cached_property
    def robot(self) -> Any:
        """The robot with only this constraint and its implied constraints."""
        return self.bare.with_constraints(self.unbound)

    @cached_property
    def constraint(self) -> Constraint:
        """The constraint as the robot stores it, with the data that depend on the robot."""
        result: Constraint = self.robot.constraints[self.unbound.name]
        return result

    @property
    def count(self) -> int:
        return len(self.constraint.component_names)

    @property
    def is_timed(self) -> bool:
        return any(c.time_dependent for c in self.robot.constraints)

    def state(self, q: Any, v: Any, time: float) -> Any:
        return self.robot._kinematic_state(q, v, time)

    def value(self, q: Any, v: Any, time: float) -> np.ndarray:
        """Return the constraint's rows on floats: the error if it is holonomic, else the constrained velocity."""
        state = self.state(q, v, time)
        return _floats(self.constraint.error(state) if self.constraint.holonomic else self.constraint.velocity(state))

    def own(self, name: str, *arguments: Any, time: Any) -> np.ndarray:
        """Return the elements of a result of the robot that belong to this constraint.

        ``name`` is the robot's method, such as "constraint_bias".  The constraint's rows are the first ones.
        """
        options = {"time": time} if self.is_timed else {}
        result = np.asarray(getattr(self.robot, name)(*arguments, **options))
        axis = -2 if name == "constraint_jacobian" else -1
        return result.take(range(self.count), axis=axis)

    def rows(self, q: Any, time: Any) -> np.ndarray:
        return self.own("constraint_jacobian", q, time=time)

    def errors(self, time: float) -> Callable[[np.ndarray], np.ndarray]:
        """Return the function that maps a configuration to the constraint's error at this time."""
        return lambda q: self.value(q, np.zeros(self.bare.nv), time)

    def differences(self, q: Any, time: float) -> np.ndarray:
        """Return the derivative (rows, nv) of the error with respect to motion, by finite differences."""
        return central_differences(self.errors(time), self.bare.integrate, q, self.bare.nv)

    def satisfying(self, q: Any, time: float) -> np.ndarray | None:
        """Return a configuration near q that satisfies the constraint, or None if the search fails."""
        return vanishing_point(self.errors(time), self.bare.integrate, q, self.bare.nv)

    def shifted(self, q: Any, v: Any, time: float) -> tuple[Any, Any, float, float]:
        """Return q ⊕ h v, q ⊖ h v, time + h and time − h, with the step h of finite differences."""
        h = _STEP
        return self.bare.integrate(q, h * v), self.bare.integrate(q, -h * v), time + h, time - h


def _floats(values: Any) -> np.ndarray:
    return np.array([float(x) for x in values])


def _value(t: _Trial) -> list[float]:
    require_value(t.unbound, "constraints")
    return []


def _names(t: _Trial) -> list[float]:
    constraint, known = t.constraint, {*t.bare.frames, "world"}
    if not isinstance(constraint.name, str) or not constraint.name:
        raise ValueError(f"name: expected a string, got {constraint.name!r}")
    names, units = constraint.component_names, constraint.row_units
    if not names or not all(isinstance(name, str) and name for name in names) or len(set(names)) < len(names):
        raise ValueError(f"component_names: expected distinct strings, got {names!r}")
    if len(units) != len(names) or not all(unit in ("m", "rad", "1") for unit in units):
        raise ValueError(f"row_units: expected 'm', 'rad' or '1' for each of {len(names)} rows, got {units!r}")
    frames = [name for name in constraint.references.frames if name in known]
    for name in frames:
        renamed = constraint.with_names({name: f"{name} of another"})
        if name in renamed.references.frames or f"{name} of another" not in renamed.references.frames:
            raise ValueError(f"with_names: frame {name!r} is not renamed: references are {renamed.references}")
    for name in constraint.references.joints:
        joints = constraint.with_names({}, {name: f"{name} of another"}).references.joints
        if name in joints or f"{name} of another" not in joints:
            raise ValueError(f"with_names: joint {name!r} is not renamed: references are {joints}")
    return []


def _values(t: _Trial) -> list[float]:
    method = "error" if t.constraint.holonomic else "velocity"
    for q, v, time in t.states:
        result = t.value(q, v, time)
        if len(result) != t.count:
            raise ValueError(f"{method}: expected {t.count} values, one for each of component_names, got {len(result)}")
        if not np.isfinite(result).all():
            raise ValueError(f"{method}: expected finite values, got {result} at q = {q.tolist()}")
    return []


def _rows(t: _Trial) -> list[float]:
    """Return the relative errors of the constraint Jacobian G, compared with finite differences of the error.

    Closed forms may omit terms that vanish with the error, so states without error decide.
    """
    if not t.constraint.holonomic:
        return _linear(t)
    states = list(t.states)
    errors = [relative_error(t.rows(q, time).ravel(), t.differences(q, time).ravel()) for q, _, time in states]
    if max(errors, default=0.0) <= _DIFFERENCES:
        return errors
    satisfied = [(q, time) for q, time in ((t.satisfying(q, time), time) for q, _, time in states) if q is not None]
    return [relative_error(t.rows(q, time).ravel(), t.differences(q, time).ravel()) for q, time in satisfied] or errors


def _linear(t: _Trial) -> list[float]:
    errors = []
    for q, v, time in t.states:
        drift, G = t.value(q, 0.0 * v, time), t.rows(q, time)
        result = [t.value(q, unit, time) - drift for unit in np.eye(t.bare.nv)]
        errors += [
            relative_error(G.ravel(), np.array(result).T.ravel()),
            relative_error(G @ v + drift, t.value(q, v, time)),
        ]
    return errors


def _drift(t: _Trial) -> list[float]:
    errors = []
    for q, v, time in t.states:
        _, _, later, earlier = t.shifted(q, v, time)
        rate = (t.value(q, 0.0 * v, later) - t.value(q, 0.0 * v, earlier)) / (2.0 * _STEP)
        if not t.constraint.time_dependent and rate.any():
            raise ValueError("time_dependent: is False, but the constraint changes with time")
        drift = rate if t.constraint.holonomic else t.value(q, 0.0 * v, time)
        errors.append(relative_error(t.own("constraint_drift", q, time=time), drift))
    return errors


def _bias(t: _Trial) -> list[float]:
    """Return the relative errors of the bias γ, compared with the rate of G v + σ for constant v.

    G is the constraint Jacobian and σ the drift.
    """
    errors = []
    for q, v, time in t.states:
        ahead, behind, later, earlier = t.shifted(q, v, time)
        moved = [
            t.rows(x, at) @ v + t.own("constraint_drift", x, time=at) for x, at in ((ahead, later), (behind, earlier))
        ]
        errors.append(relative_error(t.own("constraint_bias", q, v, time=time), (moved[0] - moved[1]) / (2.0 * _STEP)))
    return errors


def _closed(t: _Trial) -> list[float]:
    """Return the relative errors of the constraint's own functions on floats: error, Jacobian rows, bias and drift.

    They are compared with the robot's compiled functions.
    """
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
            raise ValueError(
                f"rates: sizes: expected one value for each element of rows, shape {np.shape(rates.rows)}, got shape "
                f"{np.shape(rates.sizes)}"
            )
        drift = _floats(rates.drift or [0.0] * t.count)
        errors += [
            relative_error(np.ravel([_floats(row) for row in rates.rows]), t.rows(q, time).ravel()),
            relative_error(_floats(rates.bias), t.own("constraint_bias", q, v, time=time)),
            relative_error(drift, t.own("constraint_drift", q, time=time)),
        ]
    return errors


def _wrenches(t: _Trial) -> list[float]:
    """Return the relative errors of the constraint Jacobian, compared with the powers of `fixed_wrenches`.

    They are the powers on the motion of the first frame relative to the second.
    """
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


def _uses_inertia(t: _Trial) -> list[float]:
    """Raise ValueError if masses or centres of mass change the error although `uses_inertia` is False."""
    if t.constraint.uses_inertia or not t.constraint.holonomic:
        return []
    robot = t.robot
    link = next((x for x in robot.links if x.mass > 0.0 and x.parent != "world"), None)
    if link is None:
        return []
    heavier = robot.with_inertia(link.name, mass=2.0 * link.mass, com=np.add(link.com, [0.1, 0.2, 0.3]))
    changed = 0.0
    for q, v, time in t.states:
        result = _floats(heavier.constraints[t.unbound.name].error(heavier._kinematic_state(q, v, time)))
        changed = max(changed, relative_error(result, t.value(q, v, time)))
    if changed > _ROUNDING:
        raise ValueError("uses_inertia: is False, but the error changes with masses and centres of mass")
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
    Requirement("value", "constraints with equal fields are equal and hash equally", 0.0, _value),
    Requirement("names", "each row has a name and a unit; frames can be renamed", 0.0, _names),
    Requirement("error, velocity", "each row has a finite value", 0.0, _values),
    Requirement("rows", "G v is the rate of the error where it is zero, or the velocity minus σ", _DIFFERENCES, _rows),
    Requirement("drift", "σ is the rate of the error, or the velocity, for v = 0", _DIFFERENCES, _drift),
    Requirement("bias", "γ is the rate of G v + σ for constant v", _DIFFERENCES, _bias),
    Requirement("compiled", "compiled code equals error and rates on floats", _ROUNDING, _closed),
    Requirement("fixed_wrenches", "the rows are the powers of these wrenches", _ROUNDING, _wrenches),
    Requirement("uses_inertia", "masses change the error only if this is True", 0.0, _uses_inertia),
    Requirement("batches", "rows and biases are equal alone and in a batch", _ROUNDING, _batches),
)
