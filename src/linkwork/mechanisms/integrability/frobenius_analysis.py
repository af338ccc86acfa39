"""Integrability of velocity constraints by Frobenius' theorem.

The admissible velocities and their Lie brackets, up to the involutive closure, span the reachable directions.  A
combination c·G of rows is the differential of a position function, up to a factor, if and only if it vanishes on the
closure.  Rows of holonomic constraints do by definition; further combinations come from velocity constraints.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from linkwork._util.messages import escaped
from linkwork._util.result import ReturnedValue
from linkwork.constraints import BallRolling, Rolling
from linkwork.expr.autodiff.graph_derivative import is_zero
from linkwork.joints import JointType
from linkwork.kinematics.algorithms.configuration_manifold import integrate, normalize
from linkwork.kinematics.algorithms.coordinates import characteristic_length
from linkwork.mechanisms.algorithms.constraint_rows import allowed, constraint_error, error_scales, rows_in_time
from linkwork.mechanisms.integrability.lie_brackets import (
    Symbols,
    complement,
    independent,
    involutive_closure,
    pivots_of,
    rank_of,
    reached_states,
    reduced,
)
from linkwork.mechanisms.integrability.recovered_constraints import Position, candidates, constant_positions
from linkwork.model.tree import Tree

__all__ = ["Combination", "Integrability", "integrability_of"]


_CLOSED = 1e-7  # [rad, characteristic lengths] largest error of holonomic constraints
_STATES = 12  # number of states reached along the fields
_NEIGHBOURS = 2  # number of neighbouring states
_RCOND = 1e-9  # of pseudo-inverses
_STEP = 0.3  # of scaled velocities to neighbouring states
_ZERO = 1e-7  # relative remainder below which a covector is a combination of differentials
_NOISE = 1e-12  # size of a row, relative to its terms, below which it is rounding


def integrability_of(tree: Tree, q: np.ndarray, time: float) -> Integrability:
    """Return the integrability of the velocity constraints of a robot around a configuration q.

    Raises ValueError if q violates the holonomic constraints, or if no velocity satisfies all constraints.
    """
    symbols = Symbols(tree)
    rows, sizes = rows_in_time(tree, symbols.q, symbols.time)
    timed = any(not is_zero(row[-1]) for row in rows) or symbols.depend_on_time(rows)
    width = tree.nv + timed
    holonomic = np.array([c.holonomic for c in tree.constraints for _ in c.component_names], dtype=bool)
    names = [name for c in tree.constraints for name in c.component_names]
    in_states, of_sizes, start = symbols.function(rows), symbols.function(sizes), np.array([*q, time])
    scales = _scales(tree)
    surface = _Surface(symbols, rows, holonomic, scales[:-1])

    def scaled_rows(states: np.ndarray) -> np.ndarray:
        G = _without_noise(in_states(states), of_sizes(states))[:, :, :width]
        counted: np.ndarray = G * scales[:width]
        return counted

    around = surface.around(start, timed)
    G = scaled_rows(around)
    _check_consistent(tree, G)
    ranks = [rank_of(_normalized(x)[:, : tree.nv])[0] for x in G]
    regular = [k for k, rank in enumerate(ranks) if rank == max(ranks)]
    dof, h = tree.nv - max(ranks), rank_of(_normalized(G[regular[0]][holonomic]))[0]
    if holonomic.all():
        return Integrability._make(tree.name, dof, dof, (dof,), (), (), 0, (), regular[0] == 0, np.inf)
    pivots = pivots_of(rows, _normalized(G[regular[0]]), tree.nv)
    free = [j for j in range(width) if j not in {j for _, j in pivots}]
    base = [[x * float(scales[j]) for x in u] for j, u in zip(free, allowed(rows, pivots, free), strict=True)]
    followed_to = surface.closed(reached_states(symbols, base, around[regular[0]], _STATES))
    # the closure has the same dimension in all reachable states, but may be larger in neighbouring ones
    states = np.array([around[regular[0]], *followed_to, *around[regular[1:]]])
    last = len(followed_to)
    growth = involutive_closure(symbols, base, scales, states, last, width - h)
    reached = growth.dimensions[-1]
    closures = growth.closure[:, :, :width]
    full = np.array([rank_of(x)[0] == reached for x in closures])
    generic = regular[0] == 0 and bool(full[last + 1 :].all()) and not growth.more
    reference = 0 if full[0] else last
    G = scaled_rows(states)
    left = complement(_normalized(G[reference][holonomic]))  # directions that satisfy the holonomic constraints
    nonholonomic = np.flatnonzero(~holonomic)
    counted = nonholonomic[independent(_normalized(G[reference][nonholonomic]) @ left)]
    A = G[reference][counted]
    on_closure = closures[reference] @ _normalized(A).T
    combined = reduced(complement(on_closure, float(np.linalg.norm(closures[reference]))).T) / _lengths(A)
    combined = np.array([c / c[np.flatnonzero(c)[0]] for c in combined]).reshape(combined.shape)
    tried = candidates(symbols, [c for c in tree.constraints if not c.holonomic], timed, states)
    used = [k for k in range(len(states)) if full[k] and (generic or k <= last)]
    positions = constant_positions(
        [Position.of(p.name, p.differentials[used][:, :width] * scales[:width]) for p in tried],
        closures[used],
        used.index(reference),
        left,
        len(combined),
        tree.nq + timed,
    )
    constant = [(p.name, p.differentials[used.index(reference)] @ left) for p in positions]
    combinations = [_combination(c, [names[k] for k in counted], c @ A @ left, constant) for c in combined]
    alone = {combination.rows[0] for combination in combinations if len(combination.rows) == 1}
    return Integrability._make(
        robot=tree.name,
        velocity_dof=dof,
        configuration_dof=reached - timed,
        growth=tuple(n - timed for n in growth.dimensions),
        integrable=tuple(combinations),
        nonintegrable=tuple(names[k] for k in counted if names[k] not in alone),
        nonintegrable_rank=len(counted) - len(combined),
        redundant=tuple(names[k] for k in nonholonomic if k not in counted),
        generic=generic,
        margin=growth.margin,
    )


def _combination(
    weights: np.ndarray, names: Sequence[str], covector: np.ndarray, constant: Sequence[tuple[str, np.ndarray]]
) -> Combination:
    """Return an integrable combination of constraint rows, with the names of its constant positions.

    If there are several, a function of these positions is constant: ``covector``, the combination's differential, is a
    linear combination of their differentials.
    """
    nonzero = [k for k, weight in enumerate(weights) if weight != 0.0]
    rows, coefficients = tuple(names[k] for k in nonzero), tuple(float(weights[k]) for k in nonzero)
    if not constant:
        return Combination(rows, coefficients, ())
    differentials = np.array([d for _, d in constant])
    parts = np.linalg.lstsq(differentials.T, covector, rcond=None)[0]
    sizes = np.abs(parts) * np.linalg.norm(differentials, axis=1)
    result = np.linalg.norm(differentials.T @ parts - covector) < _ZERO * np.linalg.norm(covector)
    known = tuple(name for (name, _), size in zip(constant, sizes, strict=True) if size > _ZERO * sizes.max())
    return Combination(rows, coefficients, known if result else ())


class _Surface:
    """Set of the states (q; t) that satisfy the holonomic constraints."""

    def __init__(self, symbols: Symbols, rows: list[list[Any]], has_errors: np.ndarray, scales: np.ndarray) -> None:
        self.tree, self.scales, self.error_scales = symbols.tree, scales, np.array(error_scales(symbols.tree))
        self.error = symbols.function([constraint_error(self.tree, symbols.q, [symbols.time])])
        self.rows = symbols.function(
            [row[: self.tree.nv] for row, has_error in zip(rows, has_errors, strict=True) if has_error]
        )

    def around(self, centre: np.ndarray, timed: bool) -> np.ndarray:
        """Return the state ``here`` and neighbouring states that satisfy the holonomic constraints, (n, nq + 1).

        With ``timed`` the neighbours are at other times. Raises ValueError if the state itself violates the
        constraints.
        """
        self._check(centre)
        rng, result, step = np.random.default_rng(0), [centre], _STEP
        J = self._jacobian(centre)
        for _ in range(4 * _NEIGHBOURS):
            v = rng.normal(size=self.tree.nv) * step * self.scales
            neighbour = self._moved(centre, v - np.linalg.pinv(J, rcond=_RCOND) @ (J @ v))
            neighbour[-1] += timed * rng.uniform(0.1, 1.0)
            closed = self.closed(neighbour[None])
            result += [*closed]
            if len(result) > _NEIGHBOURS:
                break
            if not len(closed):
                step *= 0.5
        return np.array(result)

    def closed(self, states: np.ndarray) -> np.ndarray:
        """Project states onto the holonomic constraints by Newton's method; states that fail are left out."""
        return np.array([x for x in map(self._newton, states) if x is not None]).reshape(-1, self.tree.nq + 1)

    def _newton(self, state: np.ndarray) -> np.ndarray | None:
        state = np.array([*normalize(self.tree, state[:-1].tolist()), state[-1]])
        for _ in range(20):
            off = self.error(state[None]).ravel()
            if not np.isfinite(off).all():
                return None
            left = np.abs(off * self.error_scales).max(initial=0.0)
            if left < 1e-13:
                return state
            state = self._moved(state, -np.linalg.pinv(self._jacobian(state), rcond=_RCOND) @ off)
        return state if left < 1e-10 else None

    def _jacobian(self, state: np.ndarray) -> np.ndarray:
        J: np.ndarray = self.rows(state[None])[0]
        return J[:, : self.tree.nv]

    def _moved(self, state: np.ndarray, v: np.ndarray) -> np.ndarray:
        return np.array([*integrate(self.tree, state[:-1].tolist(), v.tolist()), state[-1]])

    def _check(self, state: np.ndarray) -> None:
        off = self.error(state[None]).ravel()
        scaled = np.abs(off * self.error_scales)
        if not (scaled < _CLOSED).all():
            names = [name for c in self.tree.constraints if c.holonomic for name in c.component_names]
            worst = int(np.argmax(scaled))
            raise ValueError(
                f"integrability: q: expected a configuration that satisfies the holonomic constraints: error "
                f"{off[worst]:.3g} of {names[worst]!r}; use Robot.project or Robot.assemble"
            )


def _without_noise(G: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Return the constraint rows G (states, nc, width), where rows that are rounding errors are set to zero.

    ``sizes`` are the squared elements of G without cancellation.
    """
    noise = np.linalg.norm(G, axis=2) < _NOISE * np.sqrt(sizes.sum(2))
    return np.where(noise[:, :, None], 0.0, G)


def _scales(tree: Tree) -> np.ndarray:
    """Return the units of velocities and time, (nv + 1,): 1 rad/s, a length per second, 1 s.

    The length is the characteristic length of links, or for a single body the radius of its rolling constraints.
    """
    length = characteristic_length(tree)
    radii = [c.radius for c in tree.constraints if isinstance(c, (Rolling, BallRolling))]
    if length == 1.0 and radii:
        length = float(np.median(radii))
    units = [unit for _, body in tree.stacked() for unit in _units(body.joint)]
    return np.array([*(length if unit.startswith("m") else 1.0 for unit in units), 1.0])


def _units(joint: JointType) -> Sequence[str]:
    return joint.v_units if len(joint.v_units) == joint.nv else ("rad/s",) * joint.nv


def _normalized(G: np.ndarray) -> np.ndarray:
    """Return rows scaled to unit length; zero rows stay zero."""
    even: np.ndarray = G / _lengths(G)[:, None]
    return even


def _lengths(G: np.ndarray) -> np.ndarray:
    sizes = np.linalg.norm(G, axis=1)
    return np.where(sizes > 0.0, sizes, 1.0)


def _check_consistent(tree: Tree, G: np.ndarray) -> None:
    """Raise ValueError if in a state no velocity satisfies all constraints.

    The constraints are G v + σ = 0. In such a state −σ is not in the range of the Jacobian: the rank of the rows (G,
    σ) is larger than that of G.
    """
    for rows in map(_normalized, G):
        if rank_of(rows)[0] > rank_of(rows[:, : tree.nv])[0]:
            raise ValueError(
                f"integrability: constraints of {tree.name!r} contradict each other: no velocity satisfies all of them"
            )


@dataclass(frozen=True, slots=True)
class Combination:
    """A combination of velocity constraint rows that is the rate of a position function, up to a factor."""

    rows: tuple[str, ...]
    weights: tuple[float, ...]  # in this configuration; they may differ elsewhere
    positions: tuple[str, ...]  # the position that is constant, or those of which a function is; () if not found

    def __str__(self) -> str:
        if not self.positions:
            return escaped(f"{self._sum()}: integrable, without a simple position function")
        function = "" if len(self.positions) == 1 else "a function of "
        return escaped(f"{self._sum()}: {function}{', '.join(self.positions)} is constant")

    def _sum(self) -> str:
        if len(self.rows) == 1:
            return self.rows[0]
        text = ""
        for row, weight in zip(self.rows, self.weights, strict=True):
            size = "" if abs(abs(weight) - 1.0) < 1e-9 else f"{abs(weight):.6g} "
            sign = (" - " if weight < 0 else " + ") if text else ("-" if weight < 0 else "")
            text += f"{sign}{size}({row})"
        return text


@dataclass(frozen=True, init=False)
class Integrability(ReturnedValue):
    """Integrability of the velocity constraints of a robot around a configuration."""

    robot: str
    velocity_dof: int  # dimension of the admissible velocities
    configuration_dof: int  # dimension of the reachable configurations
    growth: tuple[int, ...]  # dimensions of the admissible velocities with their brackets, up to the closure
    integrable: tuple[Combination, ...]  # integrable combinations of velocity constraint rows
    nonintegrable: tuple[str, ...]  # rows that are not integrable by themselves
    nonintegrable_rank: int  # number of independent velocity constraints that are not integrable
    redundant: tuple[str, ...]  # velocity constraint rows that depend on the others
    generic: bool  # True if the result also holds in a neighbourhood of the configuration
    margin: float  # ratio of the smallest size counted as nonzero to the largest counted as rounding

    @property
    def holonomic(self) -> bool:
        """True if all velocity constraints are integrable, so the mechanism is holonomic."""
        return self.nonintegrable_rank == 0

    def __str__(self) -> str:
        degrees = f"{self.velocity_dof} of velocity, {self.configuration_dof} of configuration"
        lines = [f"{self.robot}: degrees of freedom: {degrees}"]
        if not self.generic:
            lines.append("  singular configuration: these values differ in its neighbourhood")
        if len(self.growth) > 1:
            lines.append(f"  brackets: {' → '.join(map(str, self.growth))}")
        count = self.nonintegrable_rank + len(self.integrable)
        if count:
            lines.append(f"  integrable: {len(self.integrable)} of {count} velocity constraints")
        lines += [f"    {combination}" for combination in self.integrable]
        if self.nonintegrable:
            lines.append(f"  not integrable by themselves: {'; '.join(self.nonintegrable)}")
        if self.redundant:
            lines.append(f"  redundant: {'; '.join(self.redundant)}")
        return "\n".join(map(escaped, lines))
