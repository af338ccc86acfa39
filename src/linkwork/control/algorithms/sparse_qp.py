"""Sparse quadratic programs with equations and ranges: proximal augmented Lagrangian and semismooth Newton (QPALM).

Minimise ½ xᵀH x + gᵀx subject to C x = b and l ≤ R x ≤ u, with H positive definite.  For estimates y of the multipliers
the augmented Lagrangian is convex and piecewise quadratic,

    ½ xᵀH x + gᵀx + Σ (c x − b + δ y)²/2δ + Σ dist²(r x + δ y, [l, u])/2δ.

If the violated rows stay the same, Newton's step leads to its minimum.  Otherwise an exact line search decreases it,
and finitely many steps suffice.  The step is the solution (x, λ) of

    H x + Cᵀλ + R_Aᵀλ_A = −g,      C x − δ λ = b − δ y,      R_A x − δ λ_A = u_A − δ y_A,

which is quasi-definite.  It has factors LDLᵀ for every elimination order, so an order with little fill-in is used, and
it has a solution also for inconsistent rows.  Proximal steps y ← λ with the same factors remove the error due to δ.

Equations may be satisfied in the least-squares sense, Σ c (c x − b)/δ = 0.  For inconsistent equations the proximal
steps converge to this solution, while multipliers grow in directions that do not change x (Chiche and Gilbert, How the
augmented Lagrangian algorithm can deal with an infeasible convex quadratic optimization problem, J. Convex Analysis
23(2), 2016).

Ranges may yield: their multipliers stay 0, and with a larger δ their squared violation is a part of the cost.  If all
rows are consistent, the violation of a range that yields is δ times its multiplier.  Otherwise the other rows hold
exactly.

Sources: Vanderbei, Symmetric quasidefinite matrices, SIAM J. Optim. 5(1), 1995; Hermans, Themelis and Patrinos, QPALM,
a proximal augmented Lagrangian method for nonconvex quadratic programs, Math. Programming Computation 14, 2022.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from linkwork.expr.control.conditional import cond
from linkwork.expr.control.loops import watching_while_loop
from linkwork.expr.linalg.semidefinite_solve import Semidefinite
from linkwork.expr.linalg.sparse_dot import dot, is_zero
from linkwork.expr.scalar.functions import and_, eq, fabs, fmax, le, lt, or_, where

__all__ = ["RangedRows", "RangedSolution", "ranged_program"]

Scalars = Sequence[Any]
Rows = Sequence[Scalars]

MAX_ITERATIONS = 60
_DELTA = 1e-11  # δ, relative to the diagonal of C H⁻¹ Cᵀ with the diagonal of H
_LOOSE_DELTA = 1e-10  # δ of equations in the least-squares sense, whose multipliers may be large
_YIELDING_DELTA = 1e-9  # δ of ranges that yield
_YIELDING_TOLERANCE = 1e-4  # of a range that yields, relative to 1 plus its bound
_LOOSE_TOLERANCE = 1e-5  # of their stationarity by an element of x, relative to 1 plus their right sides
_PROXIMAL_STEPS = 4  # of multipliers, with the same factors
_TOLERANCE = 1e-8  # of a row, relative to 1 plus its bound
_LONG = 40  # unknowns and rows from which on these solutions are a loop
_LINE_SEARCH_STEPS = 8
_INF = float("inf")


class RangedRows(NamedTuple):
    """Inequalities l ≤ R x ≤ u of a quadratic program; an infinite float means no bound."""

    rows: Rows
    lower: Scalars
    upper: Scalars


class RangedSolution(NamedTuple):
    """Solution of a quadratic program: its minimiser, multipliers, and active inequalities.

    ``x`` is the minimiser, ``equal`` are the multipliers of the equations and ``multipliers`` those of the
    inequalities, positive at an upper bound. ``sides`` has, for each inequality, −1 if its lower bound is active, 1 if
    its upper bound is, and 0 if none is.

    ``optimal`` is 1 if x is optimal, else 0; then ``sides`` are those of the last iteration. ``optimal`` is also 0 if
    an inequality that may be violated (`ranged_program`, ``yielding``) is violated. ``rounds`` is the number of
    iterations.
    """

    x: list[Any]
    equal: list[Any]
    multipliers: list[Any]
    sides: list[Any]
    optimal: Any
    rounds: Any


class _State(NamedTuple):
    x: tuple[Any, ...]
    y: tuple[Any, ...]  # of equations, then of ranges
    sides: tuple[Any, ...]
    running: Any
    first: Any


@dataclass(frozen=True)
class _Program:
    H: Rows
    g: Scalars
    b: Scalars
    ranged: RangedRows
    rows: Rows  # C, then R
    delta: Scalars
    order: Sequence[int]
    loose: frozenset[int]  # equations in the least-squares sense
    yielding: frozenset[int]  # ranges whose violation is a cost, as indices of rows

    @property
    def equations(self) -> int:
        return len(self.b)

    def estimates(self, y: Scalars) -> list[Any]:
        """Return the multipliers of the augmented Lagrangian: y, but 0 for inequalities that may be violated."""
        return [0.0 if k in self.yielding else a for k, a in enumerate(y)]

    def sides_of(self, x: Scalars, y: Scalars) -> list[Any]:
        """Return the violated bound of each entry of R x + δ y: −1 lower, 1 upper, 0 none.

        R are the rows of inequalities, and y the estimates of their multipliers.
        """
        result = []
        e = self.equations
        for k, (row, low, high) in enumerate(zip(*self.ranged, strict=True)):
            z = dot(row, x) + self.delta[e + k] * y[e + k]
            below = 0.0 if _is_infinite(low) else where(lt(z, low), -1.0, 0.0)
            result.append(below if _is_infinite(high) else where(lt(high, z), 1.0, below))
        return result

    def bounds_at(self, sides: Scalars) -> list[Any]:
        """Return the right-hand sides b of the equations and, for each inequality, the bound that ``sides`` selects."""
        chosen = [
            0.0 if _is_infinite(low) and _is_infinite(high) else _selected_bound(high, low, side)
            for side, low, high in zip(sides, self.ranged.lower, self.ranged.upper, strict=True)
        ]
        return [*self.b, *chosen]

    def factors(self, sides: Scalars) -> tuple[Semidefinite, list[list[Any]], list[Any]]:
        """Return the factors of Newton's equations, their constraint rows, and a mask with 1 for active rows.

        ``sides`` are the active bounds of the inequalities: −1 lower, 1 upper, 0 none.
        """
        n, e, count = len(self.g), self.equations, len(self.rows)
        active = [1.0] * e + [where(eq(side, 0.0), 0.0, 1.0) for side in sides]
        masked = [
            list(row) if i < e else [x if is_zero(x) else x * active[i] for x in row] for i, row in enumerate(self.rows)
        ]
        K = [[*self.H[i][: i + 1], *([0.0] * (n + count - i - 1))] for i in range(n)]
        for i, row in enumerate(masked):
            diagonal = -self.delta[i] if i < e else where(lt(0.5, active[i]), -self.delta[i], -1.0)
            K.append([*row, *([0.0] * i), diagonal, *([0.0] * (count - i - 1))])
        return Semidefinite.of(K, more=0.0, order=self.order), masked, active

    def residual(
        self, x: Scalars, y: Scalars, center: Scalars, masked: Rows, active: Scalars, bounds: Scalars
    ) -> list[Any]:
        """Return the residual of Newton's equations at (x, y), for the multiplier estimates ``center``."""
        result = [-self.g[k] - dot(_row(self.H, k), x) - dot([row[k] for row in masked], y) for k in range(len(self.g))]
        for i, row in enumerate(masked):
            value = bounds[i] - dot(row, x) + self.delta[i] * (y[i] - center[i])
            result.append(value if i < self.equations else where(lt(0.5, active[i]), value, 0.0))
        return result

    def step(self, x: Scalars, y: Scalars, target: Scalars) -> Any:
        """Return the step length in [0, 1] from x to ``target`` that minimises the augmented Lagrangian.

        Its multipliers are y.
        """
        e = self.equations
        d = [b - a for a, b in zip(x, target, strict=True)]
        Hx, Hd = ([dot(_row(self.H, k), z) for k in range(len(x))] for z in (x, d))
        start, bend = dot(d, [a + b for a, b in zip(Hx, self.g, strict=True)]), dot(d, Hd)
        segments = []
        for i, row in enumerate(self.rows):
            z, w = dot(row, x) + self.delta[i] * y[i], dot(row, d)
            if i < e:
                start, bend = start + (z - self.b[i]) * w / self.delta[i], bend + w * w / self.delta[i]
            else:
                segments.append((z, w, w / self.delta[i], self.ranged.lower[i - e], self.ranged.upper[i - e]))
        t, low, high = 1.0, 0.0, 1.0
        for k in range(_LINE_SEARCH_STEPS):
            slope, curve = start + t * bend, bend
            for z, w, share, lower, upper in segments:
                at = z + t * w
                over = 0.0 if _is_infinite(upper) else fmax(at - upper, 0.0)
                under = 0.0 if _is_infinite(lower) else fmax(lower - at, 0.0)
                slope = slope + share * (over - under)
                curve = curve + where(lt(0.0, over + under), share * w, 0.0)
            short = le(slope, 0.0)
            low, high = where(short, t, low), where(short, high, t)
            following = t - slope / fmax(curve, 1e-300)
            inside = or_(eq(following, t), and_(lt(low, following), lt(following, high)))  # equal at the minimum
            following = where(inside, following, 0.5 * (low + high))
            t = where(short, 1.0, following) if k == 0 else where(lt(t, 1.0), following, t)
        return t

    def loose_optimal(self, x: Scalars) -> Any:
        """Return 1 if no change of a single element of x reduces the squared error of the least-squares equations.

        It returns 0 where other constraints prevent that minimum.
        """
        is_optimal: Any = True
        equations = [(self.rows[k], self.b[k], 1.0 / self.delta[k]) for k in sorted(self.loose)]
        off = [(dot(row, x) - b) * weight for row, b, weight in equations]
        for j in range(len(x)):
            touched = [
                (row[j], b, weight, z)
                for (row, b, weight), z in zip(equations, off, strict=True)
                if not is_zero(row[j])
            ]
            if not touched:
                continue
            pull = sum((c * z for c, _, _, z in touched), 0.0)
            size = sum((c * weight * (c + c * fabs(b)) for c, b, weight, _ in touched), 0.0)
            is_optimal = and_(is_optimal, le(fabs(pull), _LOOSE_TOLERANCE * size + 1e-300))
        return is_optimal

    def is_optimal(self, x: Scalars, y: Scalars, sides: Scalars) -> Any:
        """Return 1 if all rows are satisfied and multipliers have the right signs, within tolerances."""
        satisfied: Any = self.loose_optimal(x)
        e = self.equations
        for i, row in enumerate(self.rows):
            value = dot(row, x)
            if i in self.loose:
                continue
            if i < e:
                satisfied = and_(satisfied, le(fabs(value - self.b[i]), _TOLERANCE * _unit(self.b[i])))
                continue
            low, high, side = self.ranged.lower[i - e], self.ranged.upper[i - e], sides[i - e]
            for bound, sign in ((high, 1.0), (low, -1.0)):
                if not _is_infinite(bound) and i not in self.yielding:
                    satisfied = and_(satisfied, le(sign * (value - bound), _TOLERANCE * _unit(bound)))
            # a multiplier of the wrong sign, measured by how far it shifts its row
            satisfied = and_(satisfied, le(-side * y[i] * self.delta[i], _TOLERANCE))
        return satisfied

    def has_yielded(self, x: Scalars) -> Any:
        """Return 1 if an inequality that may be violated is violated, else 0."""
        result: Any = 0.0
        for i in sorted(self.yielding):
            value = dot(self.rows[i], x)
            for bound, sign in ((self.ranged.upper, 1.0), (self.ranged.lower, -1.0)):
                b = bound[i - self.equations]
                if not _is_infinite(b):
                    result = where(le(sign * (value - b), _YIELDING_TOLERANCE * _unit(b)), result, 1.0)
        return result


def ranged_program(
    H: Rows,
    g: Scalars,
    C: Rows,
    b: Scalars,
    ranged: RangedRows,
    guess: Scalars | None = None,
    loose: Sequence[int] = (),
    yielding: Sequence[int] = (),
) -> RangedSolution:
    """Return the x that minimises ½ xᵀH x + gᵀx subject to C x = b and l ≤ R x ≤ u, with its multipliers.

    Only the lower triangle of H is read.  ``guess`` has the bounds that are initially assumed active (−1 lower, 1
    upper, 0 none); it does not change the result.  Equations at the indices ``loose`` are satisfied in the
    least-squares sense and may be inconsistent.  Ranges at the indices ``yielding`` are violated as little as
    possible, in the least-squares sense, where they are inconsistent with the other rows.
    """
    n, e, count = len(g), len(C), len(C) + len(ranged.rows)
    rows = [*map(list, C), *map(list, ranged.rows)]
    costs = frozenset(e + k for k in yielding)
    relative = [_LOOSE_DELTA if k in loose else _YIELDING_DELTA if k in costs else _DELTA for k in range(count)]
    delta = [x * _size(row, H) for x, row in zip(relative, rows, strict=True)]
    program = _Program(H, g, b, ranged, rows, delta, _order(H, rows), frozenset(loose), costs)
    is_long = n + count > _LONG

    def iteration(state: _State) -> _State:
        x, y, sides = list(state.x), program.estimates(state.y), list(state.sides)
        K, masked, active = program.factors(sides)
        bounds = program.bounds_at(sides)
        right = [a - d * c for a, d, c in zip(bounds, program.delta, y, strict=True)]
        right = [a if i < e else where(lt(0.5, active[i]), a, 0.0) for i, a in enumerate(right)]
        first = K.once([*(-a for a in g), *right])

        def refined(values: Scalars, center: Scalars) -> list[Any]:
            """Return (x, multipliers) after one correction with the factors of Newton's equations.

            ``values`` are x and the multipliers before, and ``center`` the multipliers of the augmented Lagrangian.
            """
            center = program.estimates(center)
            change = K.once(program.residual(values[:n], values[n:], center, masked, active, bounds))
            return [a + c for a, c in zip(values, change, strict=True)]

        def has_same_sides(values: Scalars) -> Any:
            same: Any = True
            for before, after in zip(sides, program.sides_of(values[:n], y), strict=True):
                same = and_(same, eq(before, after))
            return same

        if is_long:
            newton, last, same = _refined_in_loop(first, y, refined, has_same_sides)
        else:
            newton = refined(first, y)
            same, last = has_same_sides(newton), newton
            for _ in range(_PROXIMAL_STEPS):
                last = refined(last, last[n:])
        target, forces, x_proximal, multipliers = newton[:n], newton[n:], last[:n], last[n:]
        done = and_(same, program.is_optimal(x_proximal, multipliers, sides))
        t = where(or_(same, lt(0.5, state.first)), 1.0, program.step(x, y, target))
        new = [where(done, s, a + t * (c - a)) for a, c, s in zip(x, target, x_proximal, strict=True)]
        center = [where(done, p, where(same, f, c)) for c, f, p in zip(y, forces, multipliers, strict=True)]
        beyond = program.sides_of(new, program.estimates(center))
        return _State(
            tuple(new),
            tuple(center),
            tuple(where(done, a, b) for a, b in zip(sides, beyond, strict=True)),
            where(done, 0.0, 1.0),
            0.0,
        )

    sides = (0.0,) * (count - e) if guess is None else tuple(guess)
    start = _State((0.0,) * n, (0.0,) * count, sides, 1.0, 1.0)
    result = watching_while_loop(lambda at: lt(0.5, at.running), iteration, start, MAX_ITERATIONS, within=(*g, *b))
    last: _State = result.state
    x, y = list(last.x), list(last.y)
    optimal = where(eq(result.status, 0.0), 1.0 - program.has_yielded(x), 0.0)
    return RangedSolution(x, y[:e], y[e:], list(last.sides), optimal, result.iterations)


class _Refinement(NamedTuple):
    """Loop state of repeated solutions with the same factors: a refinement of Newton's step, then proximal steps."""

    values: tuple[Any, ...]  # x and multipliers
    newton: tuple[Any, ...]
    center: tuple[Any, ...]
    same: Any  # 1 if Newton's step does not change which rows are active, else 0: no proximal steps follow
    step: Any


def _refined_in_loop(
    first: Scalars,
    y: Scalars,
    refined: Callable[[Scalars, Scalars], list[Any]],
    has_same_sides: Callable[[Scalars], Any],
) -> tuple[list[Any], list[Any], Any]:
    """Return the refined solution of Newton's equations, that after proximal steps, and True after such steps.

    Solutions are x and the multipliers. Proximal steps are made only if Newton's step does not change which
    inequalities are active.
    """
    n = len(first) - len(y)

    def more(state: _Refinement) -> Any:
        return or_(lt(state.step, 0.5), lt(0.5, state.same))

    def step(state: _Refinement) -> _Refinement:
        is_newton = lt(state.step, 0.5)
        values = tuple(refined(state.values, state.center))
        same = cond(is_newton, lambda: where(has_same_sides(values), 1.0, 0.0), lambda: state.same)
        newton = tuple(where(is_newton, a, b) for a, b in zip(values, state.newton, strict=True))
        return _Refinement(values, newton, values[n:], same, state.step + 1.0)

    start = _Refinement(tuple(first), tuple(first), tuple(y), 0.0, 0.0)
    end: _Refinement = watching_while_loop(
        more, step, start, 1 + _PROXIMAL_STEPS, unwatched=2 * len(first) + len(y) + 2
    ).state
    return list(end.newton), list(end.values), lt(0.5, end.same)


def _row(H: Rows, k: int) -> list[Any]:
    return [H[max(k, j)][min(k, j)] for j in range(len(H))]


def _is_infinite(x: Any) -> bool:
    return x.__class__ is float and abs(x) == _INF


def _selected_bound(high: Any, low: Any, side: Any) -> Any:
    if _is_infinite(high):
        return low
    return high if _is_infinite(low) else where(lt(0.0, side), high, low)


def _unit(x: Any) -> Any:
    return 1.0 + fabs(x)


def _size(row: Scalars, H: Rows) -> Any:
    """Return c D⁻¹ cᵀ for a constraint ``row`` c and the diagonal D of the Hessian H: an estimate of c H⁻¹ cᵀ."""
    return sum((x * x / H[k][k] for k, x in enumerate(row) if not is_zero(x)), 1e-12)


def _order(H: Rows, rows: Rows) -> list[int]:
    """Return an elimination order of variables and constraint rows, by minimum degree.

    Each row comes after one of its variables, since otherwise its pivot would be tiny.
    """
    n = len(H)
    near: dict[int, set[int]] = {k: set() for k in range(n + len(rows))}
    pairs = [(i, j) for i in range(n) for j in range(i) if not is_zero(H[i][j])]
    pairs += [(n + i, k) for i, row in enumerate(rows) for k, x in enumerate(row) if not is_zero(x)]
    for i, j in pairs:
        near[i].add(j)
        near[j].add(i)
    ready = {*range(n), *(k for k in near if not near[k])}
    result: list[int] = []
    while near:
        k = min((k for k in near if k in ready), key=lambda k: (len(near[k]), k))
        adjacent = near.pop(k)
        for j in adjacent:
            near[j] = (near[j] | adjacent) - {j, k}
        if k < n:
            ready |= adjacent
        result.append(k)
    return result
