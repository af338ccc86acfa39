"""Positions that stay where a constraint of velocities is one of positions: names for them.

Simple functions are tried: numbers of the configuration, places of the points and directions of the frames that the
constraints are about, time; alone, and in sums with constant weights.  One stays if its differential is zero on all
that can be reached, in all of some states.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from linkwork.constraints import Constraint
from linkwork.dynamics.algorithms.derivatives.tangent_autodiff import tangent_rates
from linkwork.expr.autodiff.graph_derivative import forward
from linkwork.expr.scalar.functions import atan2
from linkwork.mechanisms.algorithms.constraint_rows import KinematicState
from linkwork.mechanisms.integrability.lie_brackets import Symbols, complement, reduced
from linkwork.model.coordinate_names import names_of
from linkwork.model.tree import Tree

__all__ = ["Position", "candidates", "positions_that_stay"]

_ZERO = 1e-7


@dataclass(frozen=True)
class Position:
    """A function of configurations and its differential, by the velocities (v; ṫ), in some states."""

    name: str
    differentials: np.ndarray  # (states, nv + 1)
    size: float  # of the differential, were there no cancellation

    @staticmethod
    def of(name: str, differentials: np.ndarray) -> Position:
        """A function that is no sum."""
        return Position(name, differentials, float(np.linalg.norm(differentials, axis=1).max()))


def candidates(symbols: Symbols, constraints: Iterable[Constraint], timed: bool, states: np.ndarray) -> list[Position]:
    """The functions to try: the numbers of q, then time, places and directions."""
    tree = symbols.tree
    state = KinematicState(tree, symbols.q, None, symbols.time)
    result: list[tuple[str, Any]] = list(zip(names_of(tree, "q"), symbols.q, strict=True))
    if timed:
        result.append(("t", symbols.time))
    for point, frame in _places(tree, constraints):
        result += [
            (f"{axis} of {point} in {frame}", x) for axis, x in zip("xyz", state.point(point, frame), strict=True)
        ]
    for axis, frame in _axes(tree, constraints):
        e = state.direction(axis, frame)
        result.append((f"heading of {axis} in {frame}", atan2(e.y, e.x)))
        result.append((f"{axis} · {frame}.z", e.z))
    seeds = [*tangent_rates(tree, symbols.q), {tree.nv: 1.0}]
    rows = forward([x for _, x in result], symbols.all, seeds)
    differentials = symbols.values([[row.get(k, 0.0) for k in range(tree.nv + 1)] for row in rows], states)
    sound = [k for k in range(len(result)) if np.isfinite(differentials[:, k]).all()]
    return [Position.of(result[k][0], differentials[:, k]) for k in sound]


def positions_that_stay(
    tried: Sequence[Position], closures: np.ndarray, state: int, left: np.ndarray, count: int, simple: int
) -> list[Position]:
    """At most so many functions whose differentials are zero on the closures (states, n, nv + 1).

    Those count that would differ by what holonomic constraints allow in a state, ``left`` (nv + 1, k).  The first so
    many are tried in sums before the others are.
    """
    chosen: list[Position] = []
    seen: list[np.ndarray] = []

    def take(position: Position) -> None:
        on_closure = np.abs(np.einsum("sv,snv->sn", position.differentials, closures)).max(initial=0.0)
        own = position.differentials[state] @ left
        nothing = _ZERO * position.size
        if on_closure > nothing or np.linalg.norm(own) <= nothing or len(chosen) == count:
            return
        basis = np.linalg.qr(np.array(seen).T)[0] if seen else np.zeros((len(own), 0))
        if np.linalg.norm(own - basis @ (basis.T @ own)) > _ZERO * np.linalg.norm(own):
            chosen.append(position)
            seen.append(own)

    for position in tried:
        take(position)
    for some in (tried[:simple], tried):
        if len(chosen) < count:
            for position in _sums(some, closures):
                take(position)
    return chosen


def _sums(tried: Sequence[Position], closures: np.ndarray) -> list[Position]:
    """Sums with constant weights that stay, those of few terms first."""
    moving = [position for position in tried if position.size > 0.0]
    if not moving:
        return []
    sizes = np.array([position.size for position in moving])
    D = np.array([position.differentials for position in moving])
    equations = np.einsum("jsv,snv->snj", D, closures).reshape(-1, len(moving)) / sizes
    if len(equations) < len(moving) + 1:  # too few states to tell
        return []
    weights = reduced(complement(equations, 1.0).T)
    result = []
    for row in sorted(weights, key=np.count_nonzero):
        row = row / sizes
        row = row / row[np.flatnonzero(row)[0]]
        terms = [(w, p) for w, p in zip(row, moving, strict=True) if w != 0.0]
        size = float(max(abs(w) * p.size for w, p in terms))
        result.append(Position(_sum_of(terms), np.einsum("j,jsv->sv", row, D), size))
    return result


def _sum_of(terms: Sequence[tuple[float, Position]]) -> str:
    text = ""
    for weight, position in terms:
        size = "" if abs(abs(weight) - 1.0) < 1e-9 else f"{abs(weight):.6g} "
        sign = (" - " if weight < 0 else " + ") if text else ("-" if weight < 0 else "")
        text += f"{sign}{size}{position.name}"
    return text


def _places(tree: Tree, constraints: Iterable[Constraint]) -> list[tuple[str, str]]:
    """Points of the constraints, each as seen by the world and by the frames that they name."""
    result: dict[tuple[str, str], None] = {}
    for said in (constraint.references for constraint in constraints):
        frames = dict.fromkeys(["world", *said.frames])
        for point in dict.fromkeys(name for name in (*said.points, *said.frames) if name != "world"):
            own = tree.frame(tree.point(point).frame).body
            result |= dict.fromkeys((point, frame) for frame in frames if tree.frame(frame).body != own)
    return list(result)


def _axes(tree: Tree, constraints: Iterable[Constraint]) -> list[tuple[str, str]]:
    """Axes of the constraints' frames, and their directions, as seen by the world and by the frames that they name."""
    result: dict[tuple[str, str], None] = {}
    for said in (constraint.references for constraint in constraints):
        frames = dict.fromkeys(["world", *said.frames])
        own = [f"{frame}.{axis}" for frame in said.frames for axis in "xyz" if frame != "world"]
        for direction in dict.fromkeys([*said.directions, *own]):
            body = tree.frame(tree.direction(direction).frame).body
            result |= dict.fromkeys((direction, frame) for frame in frames if tree.frame(frame).body != body)
    return list(result)
