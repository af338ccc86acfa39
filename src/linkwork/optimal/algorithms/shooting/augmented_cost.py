"""What is wanted of every step, as rows of numbers, and what it adds to a problem that is quadratic.

A row of a step is of its state and control, and of what they lead to, r(x, u, y), or of the state that it leads to
alone, r(y); its weight there, w, comes with each call, and where w = 0 it does not count, whatever r is.  With
multipliers λ and a penalty ρ it costs

    cost          w r                          as it is
    squares       ½ (w r)²
    equality      λ w r + ½ ρ (w r)²           r = 0
    inequality    (max(0, λ + ρ w r)² − λ²)/2ρ r ≤ 0

which is the augmented Lagrangian; curvature is that of Gauss and Newton, JᵀJ, but for costs, whose own it is.

Sources: Bertsekas, Constrained Optimization and Lagrange Multiplier Methods, 1982; Nocedal and Wright, Numerical
Optimization, 2nd ed., 2006, section 17.3.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from linkwork.expr.linalg.sparse_dot import dot, is_zero
from linkwork.expr.scalar.functions import fabs, fmax, lt, where
from linkwork.optimal.algorithms.shooting.step_dynamics import Dynamics, LinearStep, varied

__all__ = ["CONSTRAINTS", "TermRequest", "Terms", "WeighedRows", "quadratic"]

Scalars = Sequence[Any]

CONSTRAINTS = ("equality", "inequality")


class Terms(ABC):
    """Rows of each step, of kinds that do not change."""

    moving_kinds: tuple[str, ...]
    reached_kinds: tuple[str, ...]

    @abstractmethod
    def moving(self, x: Scalars, u: Scalars, y: Scalars, data: Scalars) -> list[Any]:
        """The rows of (x, u), with what is given for the step; y is all that it makes, f(x, u) first."""

    def curvature(self, x: Scalars, u: Scalars, data: Scalars, slopes: Scalars) -> list[list[Any]]:
        """Second derivatives by (x, u) of Σ sᵢ rᵢ of the rows of steps, as far as they are known; empty: of none."""
        return []

    @abstractmethod
    def reached(self, y: Scalars, data: Scalars) -> list[Any]:
        """The rows of the state that a step leads to."""


@dataclass(frozen=True)
class TermRequest(Terms):
    """Rows by functions."""

    moving_kinds: tuple[str, ...]
    reached_kinds: tuple[str, ...]
    of_moving: Callable[[Any, Any, Any], Any]
    of_reached: Callable[[Any, Any], Any]

    def moving(self, x: Scalars, u: Scalars, y: Scalars, data: Scalars) -> list[Any]:
        return list(self.of_moving(x, u, data))

    def reached(self, y: Scalars, data: Scalars) -> list[Any]:
        return list(self.of_reached(y, data))


@dataclass(frozen=True)
class WeighedRows:
    """Weights and multipliers of some rows at a step, and the penalty."""

    kinds: tuple[str, ...]
    weights: Scalars
    multipliers: Scalars  # of all rows; only constraints have such
    penalty: Any

    def cost(self, rows: Scalars) -> Any:
        """What the rows cost."""
        total: Any = 0.0
        for kind, r, w, k in zip(self.kinds, rows, self.weights, self.multipliers, strict=True):
            total = total + _cost(kind, _of(r, w), k, self.penalty)
        return total

    def slopes(self, rows: Scalars) -> list[Any]:
        """How what they cost goes along with each row."""
        result = []
        for kind, r, w, k in zip(self.kinds, rows, self.weights, self.multipliers, strict=True):
            result.append(_slopes(kind, _of(r, w), k, self.penalty)[0] * w)
        return result

    def beyond(self, rows: Scalars, tolerances: Scalars) -> Any:
        """By how much constraints are violated at most, |r| or max(0, r), beside what is tolerated of each."""
        most: Any = 0.0
        for kind, r, w, tolerance in zip(self.kinds, rows, self.weights, tolerances, strict=True):
            if kind in CONSTRAINTS:
                x = where(counts(w), r, 0.0) / tolerance
                most = fmax(most, fabs(x) if kind == "equality" else x)
        return most

    def renewed(self, rows: Scalars) -> list[Any]:
        """The multipliers of the next round."""
        multipliers = []
        for kind, r, w, k in zip(self.kinds, rows, self.weights, self.multipliers, strict=True):
            x = k + self.penalty * _of(r, w)
            multipliers.append(0.0 if kind not in CONSTRAINTS else x if kind == "equality" else fmax(x, 0.0))
        return multipliers


def counts(w: Any) -> Any:
    """Whether a row with this weight counts."""
    return lt(0.0, fabs(w))


def _of(r: Any, w: Any) -> Any:
    """w r, and 0 where w is, whatever r is."""
    return where(counts(w), r, 0.0) * w


def _above(x: Any) -> Any:
    """max(0, x), and no number where x is none."""
    return where(lt(x, 0.0), 0.0, x)


def _cost(kind: str, x: Any, k: Any, penalty: Any) -> Any:
    if kind == "cost":
        return x
    if kind == "least_squares":
        return x * x * 0.5
    if kind == "equality":
        return x * (k + x * penalty * 0.5)
    pressed = _above(k + x * penalty)
    return (pressed * pressed - k * k) * (0.5 / penalty)


def quadratic(
    rows_of: Callable[..., Sequence[Any]],
    dynamics: Dynamics,
    x: Scalars,
    u: Scalars,
    weighed: WeighedRows,
    led: tuple[Scalars, LinearStep] | None = None,
) -> tuple[list[Any], list[Any], list[list[Any]]]:
    """Rows, and gradient and Hessian of what they cost by the tangent vector of (x, u).

    With what (x, u) lead to, and how that varies, the rows are of (x, u, y).
    """
    n = dynamics.size + len(u)
    rates = dynamics.rates(x)
    if led is None:
        values, changes = varied(rows_of, x, u, rates)
    else:
        y, linear = led
        along = [*linear.rows(), *linear.more]
        rates = [*rates, *({dynamics.size + k: 1.0} for k in range(len(u)))]
        plain = [{dynamics.size + k: 1.0} for k in range(dynamics.more)]
        for row in [*dynamics.rates(y[: dynamics.numbers]), *plain]:
            columns = [dot(list(row.values()), [along[k][j] for k in row]) for j in range(n)]
            rates.append({j: d for j, d in enumerate(columns) if not is_zero(d)})
        first, second = len(x), len(x) + len(u)
        values, changes = varied(lambda z, _: rows_of(z[:first], z[first:second], z[second:]), [*x, *u, *y], (), rates)
    g: list[Any] = [0.0] * n
    H: list[list[Any]] = [[0.0] * n for _ in range(n)]
    for kind, r, row, w, k in zip(weighed.kinds, values, changes, weighed.weights, weighed.multipliers, strict=True):
        on = counts(w)
        row = {j: d if d.__class__ is float else where(on, d, 0.0) for j, d in row.items() if not is_zero(d)}
        slope, bend = _slopes(kind, _of(r, w), k, weighed.penalty)
        slope, bend = slope * w, 0.0 if is_zero(bend) else bend * (w * w)
        for i, d in row.items():
            g[i] = g[i] + d * slope
            if not is_zero(bend):
                share = d * bend
                for j, e in row.items():
                    if j <= i:
                        H[i][j] = H[i][j] + share * e
    if "cost" in weighed.kinds:
        whole = rows_of if led is None else (lambda x, u: rows_of(x, u, dynamics.led(x, u)))
        for i, bent in enumerate(_bent(whole, dynamics, x, u, weighed)):
            for j in range(i + 1):
                H[i][j] = H[i][j] + bent[j]
    return values, g, [[H[max(i, j)][min(i, j)] for j in range(n)] for i in range(n)]


def _slopes(kind: str, x: Any, k: Any, penalty: Any) -> tuple[Any, Any]:
    """First and second derivative of what a weighed row costs."""
    if kind == "cost":
        return 1.0, 0.0
    if kind == "least_squares":
        return x, 1.0
    if kind == "equality":
        return k + x * penalty, penalty
    pressed = k + x * penalty
    return _above(pressed), where(lt(0.0, pressed), penalty, 0.0)


def _bent(
    rows_of: Callable[..., Sequence[Any]], dynamics: Dynamics, x: Scalars, u: Scalars, weighed: WeighedRows
) -> list[list[Any]]:
    """The Hessian of the sum of costs, along (x ⊕ δ, u + ε)."""
    n, m = dynamics.size, len(u)
    free = [{k: 1.0} for k in range(n + m)]

    def summed(change: Scalars, _: Scalars) -> list[Any]:
        total: Any = 0.0
        moved = dynamics.moved(x, change[:n])
        rows = rows_of(moved, [a + b for a, b in zip(u, change[n:], strict=True)])
        for kind, r, w in zip(weighed.kinds, rows, weighed.weights, strict=True):
            if kind == "cost":
                total = total + _of(r, w)
        return [total]

    def slopes(change: Scalars, _: Scalars) -> list[Any]:
        _, (row,) = varied(summed, change, (), free)
        return [row.get(k, 0.0) for k in range(n + m)]

    _, rows = varied(slopes, [0.0] * (n + m), (), free)
    return [[row.get(k, 0.0) for k in range(n + m)] for row in rows]
