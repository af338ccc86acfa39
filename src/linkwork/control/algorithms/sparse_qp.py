"""Sparse quadratic programs with equations and ranges of rows, by an augmented Lagrangian and Newton's method.

Of all x the one of least ½ xᵀH x + gᵀx with C x = b and l ≤ R x ≤ u, H positive definite.  For multipliers y that are
known about, what is minimised is convex and piecewise quadratic,

    ½ xᵀH x + gᵀx + Σ (c x − b + δ y)²/2δ + Σ dist²(r x + δ y, [l, u])/2δ,

and Newton's step leads to its least if the rows that are beyond their ranges stay the same; else an exact search along
the step makes it less, which is finite.  The step is the solution (x, λ) of

    H x + Cᵀλ + R_Aᵀλ_A = −g,      C x − δ λ = b − δ y,      R_A x − δ λ_A = u_A − δ y_A,

which is quasi-definite: it has factors LDLᵀ in any order, so one that fills in little is taken, and there is a solution
whatever rows contradict each other.  With the same factors steps y ← λ take δ's share away.

Equations may be met in the least-squares sense, Σ c (c x − b)/δ = 0: where they contradict each other these steps lead
there, while multipliers grow along what does not move x (Chiche and Gilbert, How the augmented Lagrangian algorithm can
deal with an infeasible convex quadratic optimization problem, J. Convex Analysis 23(2), 2016).

Sources: Vanderbei, Symmetric quasidefinite matrices, SIAM J. Optim. 5(1), 1995; Hermans, Themelis and Patrinos, QPALM,
a proximal augmented Lagrangian method for nonconvex quadratic programs, Math. Programming Computation 14, 2022.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from linkwork.expr.control.loops import while_loop
from linkwork.expr.linalg.semidefinite_solve import Semidefinite
from linkwork.expr.linalg.sparse_dot import dot, is_zero
from linkwork.expr.scalar.functions import and_, eq, fabs, fmax, le, lt, or_, where

__all__ = ["RangedRows", "RangedSolution", "ranged_program"]

Scalars = Sequence[Any]
Rows = Sequence[Scalars]

MOST = 60  # rounds
_DELTA = 1e-11  # of C H⁻¹ Cᵀ's diagonal, H's alone
_LOOSE = 1e-10  # the same of equations that are met in the least-squares sense: multipliers of these may be large
_LOOSELY = 1e-5  # of their right sides, and one unit: by how much an element of x may miss what is least for them
_PROXIMAL = 4  # steps of multipliers with the same factors
_ENOUGH = 1e-8  # of a row's bound, and one unit: by how much it may be missed
_SEARCHED = 8  # steps of the search along a step
_INF = float("inf")


class RangedRows(NamedTuple):
    """R with l ≤ R x ≤ u; bounds that are infinite floats are none."""

    rows: Rows
    lower: Scalars
    upper: Scalars


class RangedSolution(NamedTuple):
    """x; multipliers of equations and of ranges, positive at an upper bound; sides; whether it is the least; rounds."""

    x: list[Any]
    equal: list[Any]
    multipliers: list[Any]
    sides: list[Any]
    found: Any
    rounds: Any


class _State(NamedTuple):
    x: tuple[Any, ...]
    y: tuple[Any, ...]  # of equations, then of ranges
    sides: tuple[Any, ...]
    going: Any
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
    loose: frozenset[int]  # equations that are met in the least-squares sense

    @property
    def equations(self) -> int:
        return len(self.b)

    def sides_of(self, x: Scalars, y: Scalars) -> list[Any]:
        """Which ranges R x + δ y is beyond."""
        found = []
        e = self.equations
        for k, (row, low, high) in enumerate(zip(*self.ranged, strict=True)):
            z = dot(row, x) + self.delta[e + k] * y[e + k]
            below = 0.0 if _none(low) else where(lt(z, low), -1.0, 0.0)
            found.append(below if _none(high) else where(lt(high, z), 1.0, below))
        return found

    def bounds_at(self, sides: Scalars) -> list[Any]:
        """b, and the bounds of what is beyond."""
        chosen = [
            0.0 if _none(low) and _none(high) else _none_or(high, low, side)
            for side, low, high in zip(sides, self.ranged.lower, self.ranged.upper, strict=True)
        ]
        return [*self.b, *chosen]

    def factors(self, sides: Scalars) -> tuple[Semidefinite, list[list[Any]], list[Any]]:
        """Of Newton's equations, the rows that are in them, and 1 where they are."""
        n, e, count = len(self.g), self.equations, len(self.rows)
        held = [1.0] * e + [where(eq(side, 0.0), 0.0, 1.0) for side in sides]
        masked = [
            list(row) if i < e else [x if is_zero(x) else x * held[i] for x in row] for i, row in enumerate(self.rows)
        ]
        K = [[*self.H[i][: i + 1], *([0.0] * (n + count - i - 1))] for i in range(n)]
        for i, row in enumerate(masked):
            diagonal = -self.delta[i] if i < e else where(lt(0.5, held[i]), -self.delta[i], -1.0)
            K.append([*row, *([0.0] * i), diagonal, *([0.0] * (count - i - 1))])
        return Semidefinite.of(K, more=0.0, order=self.order), masked, held

    def left(self, x: Scalars, y: Scalars, center: Scalars, masked: Rows, held: Scalars, bounds: Scalars) -> list[Any]:
        """What a guess leaves of Newton's equations about multipliers, the center."""
        found = [-self.g[k] - dot(_row(self.H, k), x) - dot([row[k] for row in masked], y) for k in range(len(self.g))]
        for i, row in enumerate(masked):
            value = bounds[i] - dot(row, x) + self.delta[i] * (y[i] - center[i])
            found.append(value if i < self.equations else where(lt(0.5, held[i]), value, 0.0))
        return found

    def step(self, x: Scalars, y: Scalars, target: Scalars) -> Any:
        """The part of the way to the target where the function of center y is least."""
        e = self.equations
        d = [b - a for a, b in zip(x, target, strict=True)]
        Hx, Hd = ([dot(_row(self.H, k), z) for k in range(len(x))] for z in (x, d))
        start, bend = dot(d, [a + b for a, b in zip(Hx, self.g, strict=True)]), dot(d, Hd)
        pieces = []
        for i, row in enumerate(self.rows):
            z, w = dot(row, x) + self.delta[i] * y[i], dot(row, d)
            if i < e:
                start, bend = start + (z - self.b[i]) * w / self.delta[i], bend + w * w / self.delta[i]
            else:
                pieces.append((z, w, w / self.delta[i], self.ranged.lower[i - e], self.ranged.upper[i - e]))
        t, low, high = 1.0, 0.0, 1.0
        for k in range(_SEARCHED):
            slope, curve = start + t * bend, bend
            for z, w, share, least, most in pieces:
                at = z + t * w
                over = 0.0 if _none(most) else fmax(at - most, 0.0)
                under = 0.0 if _none(least) else fmax(least - at, 0.0)
                slope = slope + share * (over - under)
                curve = curve + where(lt(0.0, over + under), share * w, 0.0)
            short = le(slope, 0.0)
            low, high = where(short, t, low), where(short, high, t)
            following = t - slope / fmax(curve, 1e-300)
            inside = and_(lt(low, following), lt(following, high))
            following = where(inside, following, 0.5 * (low + high))
            t = where(short, 1.0, following) if k == 0 else where(lt(t, 1.0), following, t)
        return t

    def is_least(self, x: Scalars) -> Any:
        """Return whether no single element of x would meet the loose equations better, in the least-squares sense.

        It is not so where other rows keep x from it.
        """
        fine: Any = True
        some = [(self.rows[k], self.b[k], 1.0 / self.delta[k]) for k in sorted(self.loose)]
        off = [(dot(row, x) - b) * weight for row, b, weight in some]
        for j in range(len(x)):
            touched = [
                (row[j], b, weight, z) for (row, b, weight), z in zip(some, off, strict=True) if not is_zero(row[j])
            ]
            if not touched:
                continue
            pull = sum((c * z for c, _, _, z in touched), 0.0)
            size = sum((c * weight * (c + c * fabs(b)) for c, b, weight, _ in touched), 0.0)
            fine = and_(fine, le(fabs(pull), _LOOSELY * size + 1e-300))
        return fine

    def is_met(self, x: Scalars, y: Scalars, sides: Scalars) -> Any:
        """Whether rows are met, and what holds has to."""
        fine: Any = self.is_least(x)
        e = self.equations
        for i, row in enumerate(self.rows):
            value = dot(row, x)
            if i in self.loose:
                continue
            if i < e:
                fine = and_(fine, le(fabs(value - self.b[i]), _ENOUGH * _unit(self.b[i])))
                continue
            low, high, side = self.ranged.lower[i - e], self.ranged.upper[i - e], sides[i - e]
            for bound, sign in ((high, 1.0), (low, -1.0)):
                if not _none(bound):
                    fine = and_(fine, le(sign * (value - bound), _ENOUGH * _unit(bound)))
            # a multiplier of the wrong sign, as far as it moves its row
            fine = and_(fine, le(-side * y[i] * self.delta[i], _ENOUGH))
        return fine


def ranged_program(
    H: Rows,
    g: Scalars,
    C: Rows,
    b: Scalars,
    ranged: RangedRows,
    guess: Scalars | None = None,
    loose: Sequence[int] = (),
) -> RangedSolution:
    """Solve the program, of whose H the lower triangle is read.

    ``guess`` are sides to begin with: what comes out is the same.  Equations at the indices ``loose`` are met in the
    least-squares sense, so that they may contradict each other.
    """
    n, e, count = len(g), len(C), len(C) + len(ranged.rows)
    rows = [*map(list, C), *map(list, ranged.rows)]
    delta = [(_LOOSE if k in loose else _DELTA) * _size(row, H) for k, row in enumerate(rows)]
    program = _Program(H, g, b, ranged, rows, delta, _order(H, rows), frozenset(loose))

    def round_of(state: _State) -> _State:
        x, y, sides = list(state.x), list(state.y), list(state.sides)
        K, masked, held = program.factors(sides)
        bounds = program.bounds_at(sides)
        given = [a - d * c for a, d, c in zip(bounds, program.delta, y, strict=True)]
        given = [a if i < e else where(lt(0.5, held[i]), a, 0.0) for i, a in enumerate(given)]
        found = K.once([*(-a for a in g), *given])
        aim, forces = found[:n], found[n:]
        change = K.once(program.left(aim, forces, y, masked, held, bounds))
        aim = [a + c for a, c in zip(aim, change[:n], strict=True)]
        forces = [a + c for a, c in zip(forces, change[n:], strict=True)]
        same: Any = True
        for before, after in zip(sides, program.sides_of(aim, y), strict=True):
            same = and_(same, eq(before, after))
        settled, pulls = aim, forces
        for _ in range(_PROXIMAL):
            change = K.once(program.left(settled, pulls, pulls, masked, held, bounds))
            settled = [a + c for a, c in zip(settled, change[:n], strict=True)]
            pulls = [a + c for a, c in zip(pulls, change[n:], strict=True)]
        done = and_(same, program.is_met(settled, pulls, sides))
        t = where(or_(same, lt(0.5, state.first)), 1.0, program.step(x, y, aim))
        moved = [where(done, s, a + t * (c - a)) for a, c, s in zip(x, aim, settled, strict=True)]
        center = [where(done, p, where(same, f, c)) for c, f, p in zip(y, forces, pulls, strict=True)]
        beyond = program.sides_of(moved, center)
        return _State(
            tuple(moved),
            tuple(center),
            tuple(where(done, a, b) for a, b in zip(sides, beyond, strict=True)),
            where(done, 0.0, 1.0),
            0.0,
        )

    sides = (0.0,) * (count - e) if guess is None else tuple(guess)
    start = _State((0.0,) * n, (0.0,) * count, sides, 1.0, 1.0)
    found = while_loop(lambda state: lt(0.5, state.going), round_of, start, max_iterations=MOST)
    last: _State = found.state
    x, y = list(last.x), list(last.y)
    return RangedSolution(x, y[:e], y[e:], list(last.sides), where(eq(found.status, 0.0), 1.0, 0.0), found.iterations)


def _row(H: Rows, k: int) -> list[Any]:
    return [H[max(k, j)][min(k, j)] for j in range(len(H))]


def _none(x: Any) -> bool:
    return x.__class__ is float and abs(x) == _INF


def _none_or(high: Any, low: Any, side: Any) -> Any:
    if _none(high):
        return low
    return high if _none(low) else where(lt(0.0, side), high, low)


def _unit(x: Any) -> Any:
    return 1.0 + fabs(x)


def _size(row: Scalars, H: Rows) -> Any:
    """The diagonal of C H⁻¹ Cᵀ, of H's diagonal."""
    return sum((x * x / H[k][k] for k, x in enumerate(row) if not is_zero(x)), 1e-12)


def _order(H: Rows, rows: Rows) -> list[int]:
    """The order of least degree, in which a row comes after a variable of its own at least: else its pivot is δ."""
    n = len(H)
    near: dict[int, set[int]] = {k: set() for k in range(n + len(rows))}
    pairs = [(i, j) for i in range(n) for j in range(i) if not is_zero(H[i][j])]
    pairs += [(n + i, k) for i, row in enumerate(rows) for k, x in enumerate(row) if not is_zero(x)]
    for i, j in pairs:
        near[i].add(j)
        near[j].add(i)
    ready = {*range(n), *(k for k in near if not near[k])}
    found: list[int] = []
    while near:
        k = min((k for k in near if k in ready), key=lambda k: (len(near[k]), k))
        others = near.pop(k)
        for j in others:
            near[j] = (near[j] | others) - {j, k}
        if k < n:
            ready |= others
        found.append(k)
    return found
