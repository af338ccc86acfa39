"""The contract of a law of dry friction, and the check of a law against it."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from linkwork._util.contract_report import ContractReport, Requirement, check_requirements
from linkwork.model.friction_laws import DryFriction, FrictionLaw

__all__ = ["REQUIREMENTS", "check_friction_law"]


def check_friction_law(law: FrictionLaw, *, seed: int = 0) -> ContractReport:
    """Check a law of friction, such as a user-defined law, against the contract of `FrictionLaw`.

    The law is tried at random parameters and velocities; ``seed`` is the seed of the random generator. The returned
    report prints as a table. In a test, call ``check_friction_law(law).raise_if_failed()``.
    """
    kind = type(law)
    trial = [_Case.random(law, np.random.default_rng([seed, k])) for k in range(200)]
    return check_requirements(f"friction law {kind.__name__}", REQUIREMENTS, trial, kind, FrictionLaw)


class _Case(NamedTuple):
    """Test of a law: the law, parameters of the friction, and a velocity."""

    law: FrictionLaw
    friction: DryFriction
    v: float

    @staticmethod
    def random(law: FrictionLaw, rng: np.random.Generator) -> _Case:
        f, v_s = rng.uniform(0.1, 5.0), rng.uniform(0.01, 0.5)
        friction = DryFriction(f, f * rng.choice([1.0, 1.5]), v_s)
        return _Case(law, friction, float(rng.choice([-1.0, 1.0]) * v_s * rng.uniform(0.05, 8.0)))

    @property
    def F(self) -> float:
        return float(self.resistance(self.v))

    def resistance(self, v: float) -> float:
        return float(self.law.resistance(v, self.friction))

    def __str__(self) -> str:
        return f"at v = {self.v!r}, {self.friction}"


def _dissipation(cases: list[_Case]) -> list[float]:
    for case in cases:
        if not (np.isfinite(case.F) and case.F * case.v >= 0.0):
            raise ValueError(f"F = {case.F!r} {case}: expected a finite force that dissipates power")
    return []


def _antisymmetric(cases: list[_Case]) -> list[float]:
    return [abs(case.resistance(-case.v) + case.F) / case.friction.static for case in cases]


def _far(cases: list[_Case]) -> list[float]:
    fast = [(case, case.friction.sliding) for case in cases]
    return [abs(case.resistance(1e4 * case.friction.velocity) - f) / f for case, f in fast]


def _uses(cases: list[_Case]) -> list[float]:
    for case in cases:
        for field in ("sliding", "static", "velocity"):
            changed = replace(case.friction, **{field: getattr(case.friction, field) * 1.25})
            if field not in case.law.uses and case._replace(friction=changed).F != case.F:
                raise ValueError(f"F depends on {field}, which `uses` does not name, {case}")
    return []


def _slope(cases: list[_Case]) -> list[float]:
    errors = []
    for case in cases:
        v_s = case.friction.velocity
        step = 1e-6 * v_s
        numeric = (case.resistance(case.v + step) - case.resistance(case.v - step)) / (2.0 * step)
        errors.append(abs(float(case.law.slope(case.v, case.friction)) - numeric) * v_s / case.friction.static)
    return errors


def _stops(cases: list[_Case]) -> list[float]:
    """Return the relative overshoot of implicit steps that only friction resists: past rest, or beyond speed v."""
    after = []
    for case in cases:
        for mass in 10.0 ** np.arange(-6.0, 3.0) * case.F / case.v:  # times 1/h
            D = float(case.law.implicit_damping(case.v, case.friction, mass))
            after.append(1.0 - case.F / (case.v * (mass + D)))
    return [max(-x, x - 1.0, 0.0) for x in after]


def _rest(cases: list[_Case]) -> list[float]:
    slow = [(case, 1e-9 * case.friction.velocity) for case in cases if not case.law.sticks]
    return [abs(case.resistance(v)) / case.friction.static for case, v in slow]


REQUIREMENTS: tuple[Requirement[list[_Case]], ...] = (
    Requirement("dissipation", "F is finite, and F v is at least 0", 0.0, _dissipation),
    Requirement("odd", "F(-v) is -F(v)", 1e-12, _antisymmetric),
    Requirement("far from rest", "F tends to the sliding friction f", 1e-3, _far),
    Requirement("uses", "F depends only on the parameters that `uses` names", 0.0, _uses),
    Requirement("slope", "the slope is the derivative of F", 1e-5, _slope),
    Requirement("stops", "a step that only friction resists neither reverses nor speeds up", 1e-9, _stops),
    Requirement("rest", "F is continuous at rest, unless the law sticks", 1e-6, _rest),
)
