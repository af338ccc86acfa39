"""The configuration, and the velocity, nearest to what is given that obey a robot's constraints.

Of a configuration by Newton's method with least steps,

    q ← q ⊕ δ,      δ = −W⁻¹Gᵀ (G W⁻¹ Gᵀ)⁺ φ,

with G of the constraints that have an error, and W the mass matrix or the identity.  A step is the least that closes
what is open to first order, so the end differs from the nearest configuration by a part of the way that shrinks with
its length.  What is inverted has ‖φ‖ of its diagonal more, so that steps stay short where a mechanism is singular, and
still converge at a quadratic rate where it is not.  Of a velocity it is the nearest itself, where G v + σ = 0:

    v ← v − W⁻¹Gᵀ (G W⁻¹ Gᵀ)⁺ (G v + σ).

Where a mechanism is singular to 1e-4, as four-bars are that lie flat, velocities are left as they are in directions in
which rows all but vanish: rounding of q would there become as much more as the rows are less.

Source: Hairer, Lubich and Wanner, Geometric Numerical Integration, 2nd ed., 2006, section IV.4.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from linkwork.dynamics.algorithms.mass_matrix_inverse import inverse_mass_matrix
from linkwork.expr.control.loops import while_loop
from linkwork.expr.linalg.sparse_dot import dot
from linkwork.expr.scalar.functions import and_, lt, or_, sqrt
from linkwork.kinematics.algorithms.configuration_manifold import integrate
from linkwork.kinematics.algorithms.coordinates import characteristic_length
from linkwork.mechanisms.algorithms.assembly_derivative import implied
from linkwork.mechanisms.algorithms.constrained_forward_dynamics import NOISE, Held
from linkwork.mechanisms.algorithms.constraint_rows import AllRates, constraint_error, rates_of
from linkwork.mechanisms.algorithms.weighted_projection import MassMetric, Nearest, Weighed, largest, of_errors
from linkwork.model.function_spec import FunctionSpec, Option, Output
from linkwork.model.tree import Tree

__all__ = ["ROWS", "project_configuration", "project_velocity"]

Scalars = Sequence[Any]

STEPS = 30
_FLAT = 1e-8  # part of its size, squared, below which a row's way out is no way: rounding over it would be larger
_DONE = 1e-14  # what a step may still be [rad, m]
_NEAR = 1e-4  # steps below this that do not get smaller are rounding


def project_configuration(
    tree: Tree, q: Scalars, time: Scalars | None = None, metric: str = "mass"
) -> tuple[list[Any], list[Any], Any, Any]:
    """q where the constraints hold, the error that is left, and how many steps it took; how it ended: 0, or as a loop.

    Where the constraints' rows depend on each other, here or everywhere, steps are of least norm.
    """
    now = 0.0 if time is None else time[0]
    if not any(constraint.holonomic for constraint in tree.constraints):
        return list(q), [], 0.0, 0.0

    length = characteristic_length(tree)

    def more(state: Any) -> Any:
        _, size, before = state
        return and_(lt(_DONE, size), or_(lt(_NEAR, size), lt(size, before)))

    def step(state: Any) -> Any:
        at, before, _ = state
        error = constraint_error(tree, at, [now])
        size = sqrt(dot(error, error)) * (1.0 / length)
        rates = of_errors(tree, rates_of(tree, at, [0.0] * tree.nv, now))
        nearest = _nearest(tree, at, rates, metric)
        delta = nearest.short_step([-x for x in error], size)
        return tuple(integrate(tree, at, delta)), largest(delta), before

    result = while_loop(more, step, (tuple(q), math.inf, math.inf), max_iterations=STEPS)

    def linear(at: Scalars) -> tuple[Scalars, list[list[Any]], Nearest]:
        rates = of_errors(tree, rates_of(tree, at, [0.0] * tree.nv, now))
        return constraint_error(tree, at, [now]), rates.rows, _nearest(tree, at, rates, metric)

    at, told = implied(tree, list(result.state[0]), [result.iterations, result.status], q, linear)
    return at, constraint_error(tree, at, [now]), *told


def project_velocity(
    tree: Tree, q: Scalars, v: Scalars, time: Scalars | None = None, metric: str = "mass"
) -> list[Any]:
    """v (nv), the nearest with G v + σ = 0."""
    if not tree.constraints:
        return list(v)
    rates = rates_of(tree, q, [0.0] * tree.nv, 0.0 if time is None else time[0])
    left = [dot(row, v) + drift for row, drift in zip(rates.rows, rates.drift, strict=True)]
    delta = _nearest(tree, q, rates, metric, _FLAT).step([-x for x in left])
    return [a + b for a, b in zip(v, delta, strict=True)]


def _nearest(tree: Tree, q: Scalars, rates: AllRates, metric: str, flat: float = NOISE) -> Nearest:
    if metric == "plain":
        return Weighed(rates, [1.0] * tree.nv)
    tree.require_inertias("project")
    return MassMetric(Held(inverse_mass_matrix(tree, q), rates, flat))


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
        "A configuration near the given one where constraints hold.",
        optional=("time",),
        options=(METRIC,),
    ),
    FunctionSpec.of(
        project_velocity,
        "q v",
        Output(("nv",), "rad/s, m/s"),
        "The nearest velocity that constraints allow.",
        optional=("time",),
        options=(METRIC,),
    ),
)
