"""Constraints of a robot along a path: holonomic constraints at every q_t, velocity constraints at ends of steps.

Velocity constraints A(q) v + σ(q, t) = 0 are evaluated at the end of step t, q = q_{t−1} ⊕ ½ τ_t v_t, with v_t.  So the
error is of second order in the time step.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

from linkwork._util.checked_arguments import public_constructor
from linkwork.constraints.constraint import Constraint, References
from linkwork.optimal.features.arguments import text
from linkwork.optimal.features.feature import Feature, FeatureJacobian, Scalars, Window

__all__ = ["HolonomicFeature", "VelocityConstraint"]


@dataclass(frozen=True)
class _OfConstraint(Feature):
    constraint: Constraint
    _: KW_ONLY
    name: str = ""

    def __post_init__(self) -> None:
        if not isinstance(self.constraint, Constraint):
            raise TypeError(f"{type(self).__name__}: expected a constraint of a robot, got {self.constraint!r}")
        object.__setattr__(self, "name", text(type(self).__name__, "name", self.name) or self.constraint.name)

    @property
    def references(self) -> References:
        return self.constraint.references

    @property
    def component_names(self) -> tuple[str, ...]:
        return self.constraint.component_names


@public_constructor
@dataclass(frozen=True)
class HolonomicFeature(_OfConstraint):
    """Error φ(q_t, t) of a holonomic constraint [m, rad]; zero where the constraint is satisfied.

    ``name`` is the name of the values in results.
    """

    depth = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.constraint.holonomic:
            raise ValueError(
                f"HolonomicFeature: constraint: expected a holonomic constraint, got {self.constraint.name!r}"
            )

    @property
    def row_units(self) -> tuple[str, ...]:
        return self.constraint.row_units

    def values(self, w: Window, target: Scalars) -> list[Any]:
        return list(self.constraint.error(w.state()))

    def jacobian(self, w: Window, target: Scalars) -> FeatureJacobian:
        """Return the values and a Jacobian that is exact at φ = 0.

        The window w and ``target`` are arguments of `values`.  The Jacobian is in closed form if the constraint has
        one.  A time-dependent constraint of a path with parameters is differentiated automatically.
        """
        if self.constraint.time_dependent and w.parameter_count:
            return super().jacobian(w, target)
        closed, more = w.state().constraint_rows(self.constraint), [0.0] * (w.width - w.nv)
        return FeatureJacobian(
            closed.errors, [[[*row, *more] for row in closed.rows]], [[0.0] * w.parameter_count for _ in closed.errors]
        )

    def exact_jacobian(self, w: Window, target: Scalars) -> FeatureJacobian:
        return super().jacobian(w, target)


@public_constructor
@dataclass(frozen=True)
class VelocityConstraint(_OfConstraint):
    """Error A(q) v + σ of a velocity constraint [m/s, rad/s]; zero where the constraint is satisfied.

    The error is evaluated at the end of step t.

    ``name`` is the name of the values in results.
    """

    depth = 1

    @property
    def row_units(self) -> tuple[str, ...]:
        return tuple(f"{unit}/s" for unit in self.constraint.row_units)

    def values(self, w: Window, target: Scalars) -> list[Any]:
        return w.constraint_velocity(self.constraint)
