"""Augmented-Lagrangian cost of a step: components r of its terms, their cost, gradient and Hessian.

A component depends on the state, the control and the outputs of the step, r(x, u, y) (a *moving* component), or only on
the next state, r(y) (a *reached* component).  In names and arguments, components are called rows.  A component's weight
w is an input of each call.  A component with w = 0 does not contribute, even if r is NaN. With multipliers λ and a
penalty ρ the cost is

    cost          w r
    squares       ½ (w r)²
    equality      λ w r + ½ ρ (w r)²           r = 0
    inequality    (max(0, λ + ρ w r)² − λ²)/2ρ r ≤ 0

The Hessian is the Gauss–Newton approximation JᵀJ, and exact for costs.

Sources: Bertsekas, Constrained Optimization and Lagrange Multiplier Methods, 1982; Nocedal and Wright, Numerical
Optimization, 2nd ed., 2006, section 17.3.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from linkwork.expr.linalg.sparse_dot import is_zero
from linkwork.expr.scalar.functions import fabs, fmax, lt, where
from linkwork.optimal.algorithms.shooting.step_dynamics import Dynamics, LinearStep, value_and_jacobian

__all__ = ["CONSTRAINTS", "TermRequest", "Terms", "WeightedRows", "quadratic"]

Scalars = Sequence[Any]

CONSTRAINTS = ("equality", "inequality")


class Terms(ABC):
    """Components r of all cost and constraint terms of a step, which the augmented Lagrangian weights and sums.

    *Moving* components depend on the state x, the control u and the outputs y of the step; *reached* components depend
    only on the state that the step leads to.  ``moving_kinds`` and ``reached_kinds`` are "cost", "least_squares",
    "equality" or "inequality" for each component.
    """

    moving_kinds: tuple[str, ...]
    reached_kinds: tuple[str, ...]

    @abstractmethod
    def moving(self, x: Scalars, u: Scalars, y: Scalars, data: Scalars) -> list[Any]:
        """Return the components that depend on state x and control u.

        ``y`` are the outputs of the step, which begin with the next state f(x, u), and ``data`` the inputs of the
        step.
        """

    def curvature(self, x: Scalars, u: Scalars, data: Scalars, slopes: Scalars) -> list[list[Any]]:
        """Return the second derivatives of Σ sᵢ rᵢ with respect to (x, u), or some of them; empty if not provided.

        rᵢ are the components that depend on state x and control u, and sᵢ the factors ``slopes``.
        """
        return []

    @abstractmethod
    def reached(self, y: Scalars, data: Scalars) -> list[Any]:
        """Return the components that depend only on the state to which a step leads.

        ``y`` is the state to which the step leads, and ``data`` are the inputs of the step.
        """


@dataclass(frozen=True)
class TermRequest(Terms):
    """Terms defined by two functions: ``of_moving(x, u, data)`` and ``of_reached(y, data)``.

    The functions return the moving and the reached components; see `Terms`.
    """

    moving_kinds: tuple[str, ...]
    reached_kinds: tuple[str, ...]
    of_moving: Callable[[Any, Any, Any], Any]
    of_reached: Callable[[Any, Any], Any]

    def moving(self, x: Scalars, u: Scalars, y: Scalars, data: Scalars) -> list[Any]:
        return list(self.of_moving(x, u, data))

    def reached(self, y: Scalars, data: Scalars) -> list[Any]:
        return list(self.of_reached(y, data))


@dataclass(frozen=True)
class WeightedRows:
    """Augmented-Lagrangian cost of the components of a step's terms, with their kinds, weights and multipliers.

    Kinds are "cost", "least_squares", "equality" and "inequality". ``multipliers`` has an entry for each component, and
    ``penalty`` is a number for all.
    """

    kinds: tuple[str, ...]
    weights: Scalars
    multipliers: Scalars  # of all rows; only constraints have such
    penalty: Any

    def cost(self, rows: Scalars) -> Any:
        """Return the augmented-Lagrangian cost of components with the values ``rows``."""
        total: Any = 0.0
        for kind, r, w, k in zip(self.kinds, rows, self.weights, self.multipliers, strict=True):
            total = total + _cost(kind, _weighted(r, w), k, self.penalty)
        return total

    def derivatives(self, rows: Scalars) -> list[Any]:
        """Return the derivative of the augmented-Lagrangian cost with respect to each component."""
        result = []
        for kind, r, w, k in zip(self.kinds, rows, self.weights, self.multipliers, strict=True):
            result.append(_cost_derivatives(kind, _weighted(r, w), k, self.penalty)[0] * w)
        return result

    def beyond(self, rows: Scalars, tolerances: Scalars) -> Any:
        """Return the largest violation |r| or max(0, r) of constraints, relative to their tolerances."""
        largest: Any = 0.0
        for kind, r, w, tolerance in zip(self.kinds, rows, self.weights, tolerances, strict=True):
            if kind in CONSTRAINTS:
                x = where(counts(w), r, 0.0) / tolerance
                largest = fmax(largest, fabs(x) if kind == "equality" else x)
        return largest

    def new_multipliers(self, rows: Scalars) -> list[Any]:
        """Return the next multiplier of each component.

        The next multiplier is λ + ρ w r for an equality, max(0, λ + ρ w r) for an inequality, and 0 for costs and
        squares.
        """
        multipliers = []
        for kind, r, w, k in zip(self.kinds, rows, self.weights, self.multipliers, strict=True):
            x = k + self.penalty * _weighted(r, w)
            multipliers.append(0.0 if kind not in CONSTRAINTS else x if kind == "equality" else fmax(x, 0.0))
        return multipliers


def counts(w: Any) -> Any:
    """Return True where a component with the weight w contributes to the cost: where w is not 0."""
    return lt(0.0, fabs(w))


def _weighted(r: Any, w: Any) -> Any:
    """Return w r, and 0 where w is 0, even if r is NaN."""
    return where(counts(w), r, 0.0) * w


def _above(x: Any) -> Any:
    """Return max(0, x), and NaN for NaN."""
    return where(lt(x, 0.0), 0.0, x)


def _cost(kind: str, x: Any, k: Any, penalty: Any) -> Any:
    if kind == "cost":
        return x
    if kind == "least_squares":
        return x * x * 0.5
    if kind == "equality":
        return x * (k + x * penalty * 0.5)
    shifted = _above(k + x * penalty)
    return (shifted * shifted - k * k) * (0.5 / penalty)


def quadratic(
    rows_of: Callable[..., Sequence[Any]],
    dynamics: Dynamics,
    x: Scalars,
    u: Scalars,
    weighted_rows: WeightedRows,
    outputs_of_step: tuple[Scalars, LinearStep] | None = None,
) -> tuple[list[Any], list[Any], list[list[Any]]]:
    """Return the components' values, and the gradient and Hessian of their cost in the tangent vector of (x, u).

    ``rows_of`` computes the components from (x, u).  With ``outputs_of_step``, a pair of the outputs y of the step and
    their linearisation, it computes them from (x, u, y).  The Hessian is the Gauss–Newton approximation; for
    components of kind "cost" it is exact.
    """
    n = dynamics.size + len(u)
    if outputs_of_step is None:
        values, changes = value_and_jacobian(rows_of, x, u, dynamics.rates(x))
    else:
        values, changes = _jacobian_through_step(rows_of, dynamics, x, u, *outputs_of_step)
    g: list[Any] = [0.0] * n
    H: list[list[Any]] = [[0.0] * n for _ in range(n)]
    for kind, r, row, w, k in zip(
        weighted_rows.kinds, values, changes, weighted_rows.weights, weighted_rows.multipliers, strict=True
    ):
        on = counts(w)
        row = {j: d if d.__class__ is float else where(on, d, 0.0) for j, d in row.items() if not is_zero(d)}
        slope, bend = _cost_derivatives(kind, _weighted(r, w), k, weighted_rows.penalty)
        slope, bend = slope * w, 0.0 if is_zero(bend) else bend * (w * w)
        for i, d in row.items():
            g[i] = g[i] + d * slope
            if not is_zero(bend):
                share = d * bend
                for j, e in row.items():
                    if j <= i:
                        H[i][j] = H[i][j] + share * e
    if "cost" in weighted_rows.kinds:
        whole = rows_of if outputs_of_step is None else (lambda x, u: rows_of(x, u, dynamics.outputs_of_step(x, u)))
        for i, hessian in enumerate(_cost_hessian(whole, dynamics, x, u, weighted_rows)):
            for j in range(i + 1):
                H[i][j] = H[i][j] + hessian[j]
    return values, g, [[H[max(i, j)][min(i, j)] for j in range(n)] for i in range(n)]


def _jacobian_through_step(
    rows_of: Callable[..., Sequence[Any]], dynamics: Dynamics, x: Scalars, u: Scalars, y: Scalars, linear: LinearStep
) -> tuple[list[Any], list[dict[int, Any]]]:
    """Return rows_of(x, u, y), and the derivatives of each value with respect to (x, u), as a dict by column.

    ``y`` are the outputs of the step, and ``linear`` their linearisation.  The rows of the linearisation are not
    computed if the components do not depend on y.
    """
    n, m, k = dynamics.size, len(u), dynamics.state_size
    rates: list[dict[Any, Any]] = [*dynamics.rates(x), *({n + i: 1.0} for i in range(m))]
    rates += [{n + m + j: rate for j, rate in row.items()} for row in dynamics.rates(y[:k])]
    rates += [{2 * n + m + i: 1.0} for i in range(dynamics.more)]
    first, second = len(x), len(x) + m
    values, changes = value_and_jacobian(
        lambda z, _: rows_of(z[:first], z[first:second], z[second:]), [*x, *u, *y], (), rates
    )
    if not any(j >= n + m for row in changes for j in row):
        return values, changes
    along = [*linear.rows(), *linear.more]
    result = []
    for row in changes:
        total = {j: d for j, d in row.items() if j < n + m}
        for output, slope in ((along[j - n - m], d) for j, d in row.items() if j >= n + m and not is_zero(d)):
            for j, d in enumerate(output):
                if not is_zero(d):
                    total[j] = total[j] + slope * d if j in total else slope * d
        result.append(total)
    return values, result


def _cost_derivatives(kind: str, x: Any, k: Any, penalty: Any) -> tuple[Any, Any]:
    """Return the first and second derivative of a component's cost with respect to its weighted value x = w r.

    ``k`` is the component's multiplier.
    """
    if kind == "cost":
        return 1.0, 0.0
    if kind == "least_squares":
        return x, 1.0
    if kind == "equality":
        return k + x * penalty, penalty
    shifted = k + x * penalty
    return _above(shifted), where(lt(0.0, shifted), penalty, 0.0)


def _cost_hessian(
    rows_of: Callable[..., Sequence[Any]], dynamics: Dynamics, x: Scalars, u: Scalars, weighted_rows: WeightedRows
) -> list[list[Any]]:
    """Return the Hessian of Σ w r over the components of kind "cost", in the changes (δ, ε) of (x ⊕ δ, u + ε)."""
    n, m = dynamics.size, len(u)
    free = [{k: 1.0} for k in range(n + m)]

    def summed(change: Scalars, _: Scalars) -> list[Any]:
        total: Any = 0.0
        moved = dynamics.moved(x, change[:n])
        rows = rows_of(moved, [a + b for a, b in zip(u, change[n:], strict=True)])
        for kind, r, w in zip(weighted_rows.kinds, rows, weighted_rows.weights, strict=True):
            if kind == "cost":
                total = total + _weighted(r, w)
        return [total]

    def slopes(change: Scalars, _: Scalars) -> list[Any]:
        _, (row,) = value_and_jacobian(summed, change, (), free)
        return [row.get(k, 0.0) for k in range(n + m)]

    _, rows = value_and_jacobian(slopes, [0.0] * (n + m), (), free)
    return [[row.get(k, 0.0) for k in range(n + m)] for row in rows]
