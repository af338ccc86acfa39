"""Projection of a configuration and a velocity onto the constraints of a robot.

Configurations are projected by Newton's method with least-norm steps,

    q ← q ⊕ δ,      δ = −W⁻¹Gᵀ (G W⁻¹ Gᵀ)⁺ φ,

with G of the holonomic constraints, and W the mass matrix or the identity.  Each step is the smallest that removes the
error to first order, so the result equals the closest configuration to first order in the distance.  The diagonal of
G W⁻¹ Gᵀ is increased by ‖φ‖, relatively, so that steps stay short where a mechanism is singular, and converge
quadratically elsewhere.  Velocities are projected exactly onto G v + σ = 0:

    v ← v − W⁻¹Gᵀ (G W⁻¹ Gᵀ)⁺ (G v + σ).

If a mechanism is singular to 1e-4, like a flat four-bar, velocities are not changed in directions of nearly zero rows,
where rounding errors of q would be amplified by the inverse of the row size.

Source: Hairer, Lubich and Wanner, Geometric Numerical Integration, 2nd ed., 2006, section IV.4.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from linkwork.dynamics.algorithms.mass_matrix_inverse import inverse_mass_matrix
from linkwork.expr.control.loops import WhileResult, while_loop
from linkwork.expr.linalg.sparse_dot import dot
from linkwork.expr.scalar.functions import and_, lt, or_, sqrt
from linkwork.kinematics.algorithms.configuration_manifold import integrate
from linkwork.kinematics.algorithms.coordinates import unit_steps
from linkwork.mechanisms.algorithms.assembly_derivative import with_assembly_derivative
from linkwork.mechanisms.algorithms.constrained_forward_dynamics import FLAT, NOISE, ConstrainedFactorization
from linkwork.mechanisms.algorithms.constraint_rows import AllRates, constraint_error, error_scales, rates_of
from linkwork.mechanisms.algorithms.weighted_projection import (
    DiagonalMetric,
    LeastNormStep,
    MassMetric,
    largest,
    of_errors,
)
from linkwork.model.function_spec import FunctionSpec, Option, Output
from linkwork.model.tree import Tree

__all__ = ["ROWS", "approached_configuration", "project_configuration", "project_velocity"]

Scalars = Sequence[Any]

MAX_ITERATIONS = 30
_LAST_STEP = 1e-14  # [rad, characteristic lengths] size of the last step
_ROUNDING = 1e-4  # [rad, characteristic lengths] steps below this that do not decrease are rounding


def project_configuration(
    tree: Tree, q: Scalars, time: Scalars | None = None, metric: str = "mass"
) -> tuple[list[Any], list[Any], Any, Any]:
    """Return a configuration near q that satisfies the constraints, by projection.

    The other results are the remaining error, the number of iterations and the status of the iteration. If rows of the
    constraint Jacobian are redundant, at q or everywhere, steps have minimum norm.
    """
    now = 0.0 if time is None else time[0]
    if not any(constraint.holonomic for constraint in tree.constraints):
        return list(q), [], 0.0, 0.0

    def short_step(at: Scalars, target: Scalars, more: Any) -> list[Any]:
        rates = of_errors(tree, rates_of(tree, at, [0.0] * tree.nv, now))
        return _least_norm(tree, at, rates, metric).short_step(target, more)

    result = approached_configuration(tree, q, lambda at: constraint_error(tree, at, [now]), short_step)

    def linear(at: Scalars) -> tuple[Scalars, list[list[Any]], LeastNormStep]:
        rates = of_errors(tree, rates_of(tree, at, [0.0] * tree.nv, now))
        return constraint_error(tree, at, [now]), rates.rows, _least_norm(tree, at, rates, metric)

    at, diagnostics = with_assembly_derivative(
        tree, list(result.state[0]), [result.iterations, result.status], q, linear
    )
    return at, constraint_error(tree, at, [now]), *diagnostics


def approached_configuration(
    tree: Tree,
    q: Scalars,
    error: Callable[[Scalars], Scalars],
    short_step: Callable[[Scalars, Scalars, Any], Scalars],
) -> WhileResult:
    """Return the result of Newton's method from q: the state of the loop begins with the final configuration (nq).

    ``error(at)`` are the errors of the holonomic constraints. ``short_step(at, target, more)`` is a step as
    `LeastNormStep.short_step` returns it.
    """
    scales, units = error_scales(tree), unit_steps(tree)

    def more(state: Any) -> Any:
        _, size, before = state
        return and_(lt(_LAST_STEP, size), or_(lt(_ROUNDING, size), lt(size, before)))

    def step(state: Any) -> Any:
        at, before, _ = state
        left = error(at)
        scaled = [x * s for x, s in zip(left, scales, strict=True)]
        delta = short_step(at, [-x for x in left], sqrt(dot(scaled, scaled)))
        return tuple(integrate(tree, at, delta)), largest([x / u for x, u in zip(delta, units, strict=True)]), before

    return while_loop(more, step, (tuple(q), math.inf, math.inf), max_iterations=MAX_ITERATIONS)


def project_velocity(
    tree: Tree, q: Scalars, v: Scalars, time: Scalars | None = None, metric: str = "mass"
) -> list[Any]:
    """Return the velocity (nv) closest to v that satisfies the constraints, G v + σ = 0."""
    if not tree.constraints:
        return list(v)
    rates = rates_of(tree, q, [0.0] * tree.nv, 0.0 if time is None else time[0])
    left = [dot(row, v) + drift for row, drift in zip(rates.rows, rates.drift, strict=True)]
    delta = _least_norm(tree, q, rates, metric, FLAT).step([-x for x in left])
    return [a + b for a, b in zip(v, delta, strict=True)]


def _least_norm(tree: Tree, q: Scalars, rates: AllRates, metric: str, flat: float = NOISE) -> LeastNormStep:
    if metric == "plain":
        return DiagonalMetric(rates, [u * u for u in unit_steps(tree)])
    tree.require_inertias("project")
    return MassMetric(ConstrainedFactorization(inverse_mass_matrix(tree, q), rates, flat))


METRIC = Option("metric", "mass", ("mass", "plain"))

ROWS = (
    FunctionSpec.of(
        project_configuration,
        "q",
        (
            Output(("nq",), "rad, m, 1", "q", configuration=True),
            Output(("ne",), "m, rad", "error"),
            Output((), "1", "iterations"),
            Output((), "1", "status"),
        ),
        "A configuration near the given one that satisfies the constraints.",
        optional=("time",),
        options=(METRIC,),
    ),
    FunctionSpec.of(
        project_velocity,
        "q v",
        Output(("nv",), "rad/s, m/s"),
        "The closest velocity that satisfies the constraints.",
        optional=("time",),
        options=(METRIC,),
    ),
)
