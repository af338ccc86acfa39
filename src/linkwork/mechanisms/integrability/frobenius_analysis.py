"""Which constraints of velocities are constraints of positions, by Frobenius' theorem.

Velocities that constraints allow, and their Lie brackets, up to the involutive closure, span what can be reached.  A
combination c·G of rows that is zero on all of the closure is the differential of a position, up to a factor, and only
such are.  Holonomic constraints are that by definition; what more there is comes from those of velocities.

What there is to say on which constraints of velocities are constraints of positions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from linkwork._util.result import Made
from linkwork.constraints import BallRolling, Rolling
from linkwork.expr.autodiff.graph_derivative import is_zero
from linkwork.joints import JointType
from linkwork.kinematics.algorithms.configuration_manifold import integrate, normalize
from linkwork.mechanisms.algorithms.constraint_rows import allowed, constraint_error, rows_in_time
from linkwork.mechanisms.integrability.lie_brackets import (
    Symbols,
    complement,
    followed,
    grown,
    independent,
    pivots_of,
    rank_of,
    reduced,
)
from linkwork.mechanisms.integrability.recovered_constraints import Position, candidates, positions_that_stay
from linkwork.mechanisms.mobility.length_scaling import characteristic_length
from linkwork.model.tree import Tree

__all__ = ["Combination", "Integrability", "integrability_of"]


_CLOSED = 1e-7  # how far configurations may be off holonomic constraints [m, rad]
_STATES = 12  # that are followed to
_BESIDE = 2
_FLAT = 1e-9
_STEP = 0.3
_ZERO = 1e-7
_NOISE = 1e-12


def integrability_of(tree: Tree, q: np.ndarray, time: float) -> Integrability:
    """The report.  Raises ValueError where holonomic constraints do not hold, or velocities' contradict each other."""
    symbols = Symbols(tree)
    rows, sizes = rows_in_time(tree, symbols.q, symbols.time)
    timed = any(not is_zero(row[-1]) for row in rows) or symbols.depend_on_time(rows)
    width = tree.nv + timed
    given = np.array([c.holonomic for c in tree.constraints for _ in c.component_names], dtype=bool)
    names = [name for c in tree.constraints for name in c.component_names]
    in_states, of_sizes, start = symbols.function(rows), symbols.function(sizes), np.array([*q, time])
    scales = _scales(tree)
    surface = _Surface(symbols, rows, given, scales[:-1])

    def numbers(states: np.ndarray) -> np.ndarray:
        G = _without_noise(in_states(states), of_sizes(states))[:, :, :width]
        counted: np.ndarray = G * scales[:width]
        return counted

    around = surface.around(start, timed)
    G = numbers(around)
    _check_consistent(tree, G)
    ranks = [rank_of(_even(x)[:, : tree.nv])[0] for x in G]
    regular = [k for k, rank in enumerate(ranks) if rank == max(ranks)]
    dof, h = tree.nv - max(ranks), rank_of(_even(G[regular[0]][given]))[0]
    if given.all():
        return Integrability._make(tree.name, dof, dof, (dof,), (), (), 0, (), regular[0] == 0, np.inf)
    pivots = pivots_of(rows, _even(G[regular[0]]), tree.nv)
    free = [j for j in range(width) if j not in {j for _, j in pivots}]
    base = [[x * float(scales[j]) for x in u] for j, u in zip(free, allowed(rows, pivots, free), strict=True)]
    followed_to = surface.closed(followed(symbols, base, around[regular[0]], _STATES))
    # what can be reached from a state has one dimension everywhere on the way; beside it there may be more
    states = np.array([around[regular[0]], *followed_to, *around[regular[1:]]])
    last = len(followed_to)
    growth = grown(symbols, base, scales, states, last, width - h)
    reached = growth.dimensions[-1]
    closures = growth.closure[:, :, :width]
    full = np.array([rank_of(x)[0] == reached for x in closures])
    generic = regular[0] == 0 and bool(full[last + 1 :].all()) and not growth.more
    here = 0 if full[0] else last
    G = numbers(states)
    left = complement(_even(G[here][given]))  # what holonomic constraints allow
    own = np.flatnonzero(~given)
    counted = own[independent(_even(G[here][own]) @ left)]
    A = G[here][counted]
    on_closure = closures[here] @ _even(A).T
    combined = reduced(complement(on_closure, float(np.linalg.norm(closures[here]))).T) / _lengths(A)
    combined = np.array([c / c[np.flatnonzero(c)[0]] for c in combined]).reshape(combined.shape)
    tried = candidates(symbols, [c for c in tree.constraints if not c.holonomic], timed, states)
    told = [k for k in range(len(states)) if full[k] and (generic or k <= last)]
    positions = positions_that_stay(
        [Position.of(p.name, p.differentials[told][:, :width] * scales[:width]) for p in tried],
        closures[told],
        told.index(here),
        left,
        len(combined),
        tree.nq + timed,
    )
    stay = [(p.name, p.differentials[told.index(here)] @ left) for p in positions]
    combinations = [_combination(c, [names[k] for k in counted], c @ A @ left, stay) for c in combined]
    alone = {combination.rows[0] for combination in combinations if len(combination.rows) == 1}
    return Integrability._make(
        robot=tree.name,
        velocity_dof=dof,
        configuration_dof=reached - timed,
        growth=tuple(n - timed for n in growth.dimensions),
        integrable=tuple(combinations),
        nonintegrable=tuple(names[k] for k in counted if names[k] not in alone),
        nonintegrable_rank=len(counted) - len(combined),
        redundant=tuple(names[k] for k in own if k not in counted),
        generic=generic,
        margin=growth.margin,
    )


def _combination(
    weights: np.ndarray, names: Sequence[str], covector: np.ndarray, stay: Sequence[tuple[str, np.ndarray]]
) -> Combination:
    """A combination of rows, and the positions whose differentials it is made of."""
    used = [k for k, weight in enumerate(weights) if weight != 0.0]
    rows, own = tuple(names[k] for k in used), tuple(float(weights[k]) for k in used)
    if not stay:
        return Combination(rows, own, ())
    differentials = np.array([d for _, d in stay])
    parts = np.linalg.lstsq(differentials.T, covector, rcond=None)[0]
    sizes = np.abs(parts) * np.linalg.norm(differentials, axis=1)
    result = np.linalg.norm(differentials.T @ parts - covector) < _ZERO * np.linalg.norm(covector)
    known = tuple(name for (name, _), size in zip(stay, sizes, strict=True) if size > _ZERO * sizes.max())
    return Combination(rows, own, known if result else ())


class _Surface:
    """The configurations at which holonomic constraints hold, at all times."""

    def __init__(self, symbols: Symbols, rows: list[list[Any]], given: np.ndarray, scales: np.ndarray) -> None:
        self.tree, self.scales = symbols.tree, scales
        self.error = symbols.function([constraint_error(self.tree, symbols.q, [symbols.time])])
        self.rows = symbols.function(
            [row[: self.tree.nv] for row, has_error in zip(rows, given, strict=True) if has_error]
        )

    def around(self, here: np.ndarray, timed: bool) -> np.ndarray:
        """The state, and some beside it (n, nq + 1).  Raises ValueError where it is none."""
        self._check(here)
        rng, result, step = np.random.default_rng(0), [here], _STEP
        J = self._jacobian(here)
        for _ in range(4 * _BESIDE):
            wanted = rng.normal(size=self.tree.nv) * step * self.scales
            beside = self._gone(here, wanted - np.linalg.pinv(J, rcond=_FLAT) @ (J @ wanted))
            beside[-1] += timed * rng.uniform(0.1, 1.0)
            closed = self.closed(beside[None])
            result += [*closed]
            if len(result) > _BESIDE:
                break
            if not len(closed):
                step *= 0.5
        return np.array(result)

    def closed(self, states: np.ndarray) -> np.ndarray:
        """The states with holonomic constraints closed by Newton's steps, those for which that works."""
        return np.array([x for x in map(self._newton, states) if x is not None]).reshape(-1, self.tree.nq + 1)

    def _newton(self, state: np.ndarray) -> np.ndarray | None:
        state = np.array([*normalize(self.tree, state[:-1].tolist()), state[-1]])
        for _ in range(20):
            off = self.error(state[None]).ravel()
            if not np.isfinite(off).all():
                return None
            if np.abs(off).max(initial=0.0) < 1e-13:
                return state
            state = self._gone(state, -np.linalg.pinv(self._jacobian(state), rcond=_FLAT) @ off)
        return state if np.abs(off).max(initial=0.0) < 1e-10 else None

    def _jacobian(self, state: np.ndarray) -> np.ndarray:
        J: np.ndarray = self.rows(state[None])[0]
        return J[:, : self.tree.nv]

    def _gone(self, state: np.ndarray, v: np.ndarray) -> np.ndarray:
        return np.array([*integrate(self.tree, state[:-1].tolist(), v.tolist()), state[-1]])

    def _check(self, here: np.ndarray) -> None:
        off = self.error(here[None]).ravel()
        if not (np.abs(off) < _CLOSED).all():
            names = [name for c in self.tree.constraints if c.holonomic for name in c.component_names]
            worst = int(np.argmax(np.abs(off)))
            raise ValueError(
                f"integrability: q does not obey the constraints of positions: {names[worst]!r} is off by "
                f"{off[worst]:.3g}: Robot.project or Robot.assemble finds a configuration that does"
            )


def _without_noise(G: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """The rows (states, nc, width), those that are but rounding as zeros."""
    noise = np.linalg.norm(G, axis=2) < _NOISE * np.sqrt(sizes.sum(2))
    return np.where(noise[:, :, None], 0.0, G)


def _scales(tree: Tree) -> np.ndarray:
    """What velocities and time are counted in, so that numbers are near 1: rad/s, a length per second, 1 s (nv + 1,).

    The length is that of links, or of what rolls where there is one body alone.
    """
    length = characteristic_length(tree)
    radii = [c.radius for c in tree.constraints if isinstance(c, (Rolling, BallRolling))]
    if length == 1.0 and radii:
        length = float(np.median(radii))
    units = [unit for _, body in tree.stacked() for unit in _units(body.joint)]
    return np.array([*(length if unit.startswith("m") else 1.0 for unit in units), 1.0])


def _units(joint: JointType) -> Sequence[str]:
    return joint.v_units if len(joint.v_units) == joint.nv else ("rad/s",) * joint.nv


def _even(G: np.ndarray) -> np.ndarray:
    """Rows of unit length, zeros left alone."""
    even: np.ndarray = G / _lengths(G)[:, None]
    return even


def _lengths(G: np.ndarray) -> np.ndarray:
    sizes = np.linalg.norm(G, axis=1)
    return np.where(sizes > 0.0, sizes, 1.0)


def _check_consistent(tree: Tree, G: np.ndarray) -> None:
    """Raises ValueError where no velocity obeys all constraints: σ is none of G's."""
    for rows in map(_even, G):
        if rank_of(rows)[0] > rank_of(rows[:, : tree.nv])[0]:
            raise ValueError(
                f"integrability: constraints of {tree.name!r} contradict each other: no velocity obeys all of them"
            )


@dataclass(frozen=True, slots=True)
class Combination:
    """A combination of rows of velocity constraints that is the rate of a position, up to a factor."""

    rows: tuple[str, ...]
    weights: tuple[float, ...]  # here: they may differ elsewhere
    positions: tuple[str, ...]  # what stays: one name, or what it is a function of; nothing where none was found

    def __str__(self) -> str:
        if not self.positions:
            return f"{self._sum()}: of no position that has a simple name"
        stays = "stays" if len(self.positions) == 1 else "bound together"
        return f"{self._sum()}: {', '.join(self.positions)} {stays}"

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
class Integrability(Made):
    """Which constraints of a robot's velocities come from constraints of its positions, around a configuration."""

    robot: str
    velocity_dof: int  # dimension of the velocities that are allowed
    configuration_dof: int  # dimension of the configurations that can be reached
    growth: tuple[int, ...]  # dimensions of what is allowed and its brackets, up to the involutive closure
    integrable: tuple[Combination, ...]  # of the rows of velocity constraints
    nonintegrable: tuple[str, ...]  # rows that are in no constraint of positions by themselves
    nonintegrable_rank: int  # how many of the velocity constraints no position follows from
    redundant: tuple[str, ...]  # rows of velocity constraints that the others say already
    generic: bool  # whether it is beside this configuration as it is here
    margin: float  # between what was counted and what was taken for rounding: singular values' ratio

    @property
    def holonomic(self) -> bool:
        """Whether all constraints are of positions, some of them perhaps written as velocities."""
        return self.nonintegrable_rank == 0

    def __str__(self) -> str:
        degrees = f"{self.velocity_dof} of velocity, {self.configuration_dof} of configuration"
        lines = [f"{self.robot}: degrees of freedom: {degrees}"]
        if not self.generic:
            lines.append("  this configuration is special: beside it these numbers are others")
        if len(self.growth) > 1:
            lines.append(f"  brackets: {' → '.join(map(str, self.growth))}")
        count = self.nonintegrable_rank + len(self.integrable)
        if count:
            lines.append(f"  positions follow from {len(self.integrable)} of {count} constraints of velocities")
        lines += [f"    {combination}" for combination in self.integrable]
        if self.nonintegrable:
            lines.append(f"  not by themselves: {'; '.join(self.nonintegrable)}")
        if self.redundant:
            lines.append(f"  said by others already: {'; '.join(self.redundant)}")
        return "\n".join(lines)
