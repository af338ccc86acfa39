"""`check_force_element`: check of a force element of a robot against the contract of `ForceElement`.

The element is evaluated on floats, in random states.  The references are the rate of its energy along the motion, and
the functions of the robot with the element.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from linkwork._util.cached_properties import cached_property
from linkwork._util.checked_arguments import public
from linkwork._util.contract_report import (
    ContractReport,
    Requirement,
    check_requirements,
    relative_error,
    require_value,
)
from linkwork.force_elements.force_element import ForceElement

__all__ = ["REQUIREMENTS", "check_force_element"]

_STEP = 1e-5  # [s] of differences along the motion
_DIFFERENCES = 1e-5
_ROUNDING = 1e-8
_STATES = 6


@public
def check_force_element(element: ForceElement, robot: Any, *, seed: int | np.random.Generator = 0) -> ContractReport:
    """Return a report on a force element, for example one of your own, checked against the contract of `ForceElement`.

    The robot's own force elements and constraints are removed first.  ``seed`` draws the random states.  The
    report prints as a table; ``check_force_element(element, robot).raise_if_failed()`` is a test.

    >>> import linkwork as lw
    >>> spring = lw.force_elements.SpringDamper("base", "tip", stiffness=50.0, rest_length=0.2)
    >>> lw.force_elements.check_force_element(spring, lw.load("double_pendulum")).success
    True
    """
    if not isinstance(element, ForceElement):
        expected = "expected a linkwork.force_elements.ForceElement"
        raise TypeError(f"check_force_element: element: {expected}, got {element!r}")
    kind = type(element)
    trial = _Trial(element, robot, np.random.default_rng(seed))
    return check_requirements(f"force element {kind.__name__}", REQUIREMENTS, trial, kind, ForceElement)


class _Trial:
    """A force element, a robot, and the states in which the element is checked."""

    def __init__(self, element: ForceElement, robot: Any, rng: np.random.Generator) -> None:
        self.element, self.bare = element, robot.without_constraints().without_force_elements()
        self.q, self.v = robot.random_configuration(rng, size=_STATES), rng.normal(size=(_STATES, robot.nv))

    @cached_property
    def robot(self) -> Any:
        return self.bare.with_force_elements(self.element)

    @property
    def states(self) -> Any:
        return zip(self.q, self.v, strict=True)

    def between(self, q: Any, v: Any) -> Any:
        """Return the pose and twist of the element's frame B relative to its frame A."""
        B, A = self.element.ends(self.bare.tree)
        return self.bare._kinematic_state(q, v, 0.0).between(B, A)

    def energy(self, q: Any, v: Any) -> float:
        return float(self.element.energy(self.bare.tree, self.between(q, v).pose))

    def wrenches(self, q: Any, v: Any) -> tuple[Any, Any, Any]:
        """Return the twist of the element's frame B relative to its frame A, and the wrenches of the element on B.

        The first wrench is that of its springs, the second that of its dampers.
        """
        tree, between = self.bare.tree, self.between(q, v)
        X, V = between.pose, between.twist
        return V, self.element.spring_wrench(tree, X), self.element.damper_wrench(tree, X, V)


def _value(t: _Trial) -> list[float]:
    require_value(t.element, "force elements")
    return []


def _names(t: _Trial) -> list[float]:
    if not isinstance(t.element.name, str) or not t.element.name:
        raise ValueError(f"name: expected a non-empty string, got {t.element.name!r}")
    if t.robot.force_elements[t.element.name] != t.element:
        raise ValueError("the robot has another element of this name")
    said = t.element.references
    for name in (*said.frames, *said.points):
        renamed = t.element.with_names({name: f"{name} of another"}).references
        if f"{name} of another" not in (*renamed.frames, *renamed.points):
            raise ValueError(f"with_names: {name!r} was not renamed: references are {renamed}")
    return []


def _springs(t: _Trial) -> list[float]:
    errors = []
    for q, v in t.states:
        V, F, _ = t.wrenches(q, v)
        ahead, behind = (t.energy(t.bare.integrate(q, sign * _STEP * v), v) for sign in (1.0, -1.0))
        errors.append(relative_error([float(V.dot(F))], [-(ahead - behind) / (2.0 * _STEP)]))
    return errors


def _dampers(t: _Trial) -> list[float]:
    """Return two errors for each random state: the dampers' positive power, and their largest force at zero velocity.

    Both are 0 for an element that fulfils the contract.
    """
    errors = []
    for q, v in t.states:
        V, _, F = t.wrenches(q, v)
        errors.append(max(0.0, float(V.dot(F))))
        errors.append(float(np.abs([float(x) for x in t.wrenches(q, 0.0 * v)[2].elements()]).max()))
    return errors


def _resistances(t: _Trial) -> list[float]:
    for q, v in t.states:
        for resistance in t.element.resistances(t.bare.tree, t.between(q, v).pose):
            if not (float(resistance.stiffness) >= 0.0 and float(resistance.damping) >= 0.0):
                raise ValueError(
                    "resistances: expected stiffness and damping >= 0, "
                    f"got {resistance.stiffness}, {resistance.damping}"
                )
    return []


def _compiled(t: _Trial) -> list[float]:
    errors = []
    for q, v in t.states:
        _, springs, dampers = t.wrenches(q, v)
        total = [float(a) + float(b) for a, b in zip(springs.elements(), dampers.elements(), strict=True)]
        errors.append(relative_error(t.robot.force_element_wrenches(q, v)[0], total))
    return errors


def _batches(t: _Trial) -> list[float]:
    both = t.robot.force_element_wrenches(t.q, t.v)
    return [
        relative_error(result.ravel(), t.robot.force_element_wrenches(q, v).ravel())
        for result, (q, v) in zip(both, t.states, strict=True)
    ]


REQUIREMENTS: tuple[Requirement[_Trial], ...] = (
    Requirement("value", "elements of the same fields are equal and hash", 0.0, _value),
    Requirement("names", "there is a name, and frames and points can be renamed", 0.0, _names),
    Requirement("spring_wrench", "F · V is minus the rate of the energy", _DIFFERENCES, _springs),
    Requirement("damper_wrench", "F · V is never positive, and F is zero at rest", _ROUNDING, _dampers),
    Requirement("resistances", "no stiffness or damping is negative", 0.0, _resistances),
    Requirement("compiled", "compiled code gives what floats give", _ROUNDING, _compiled),
    Requirement("batches", "wrenches are the same alone and in a batch", _ROUNDING, _batches),
)
