"""Position constraints equivalent to integrable velocity constraints: a search for functions that are constant.

Candidates are coordinates, positions of points and directions of axes of the constraints, and time, alone and in sums
with constant weights.  A function is constant if its differential vanishes on the reachable directions in all states.
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

__all__ = ["Position", "candidates", "constant_positions"]

_ZERO = 1e-7  # size of a differential, relative to its terms, below which it is zero


@dataclass(frozen=True)
class Position:
    """A position function and its differential by the velocities (v; ṫ) in several states."""

    name: str
    differentials: np.ndarray  # (states, nv + 1)
    size: float  # norm of the differential without cancellation

    @staticmethod
    def of(name: str, differentials: np.ndarray) -> Position:
        """Return a position function with its differentials, whose largest norm is its ``size``."""
        return Position(name, differentials, float(np.linalg.norm(differentials, axis=1).max()))


def candidates(symbols: Symbols, constraints: Iterable[Constraint], timed: bool, states: np.ndarray) -> list[Position]:
    """Return the functions of position that may be constant: coordinates q, points, directions and time.

    They are coordinates of points in frames, and headings and slopes of axes in frames, as the constraints name them.
    Time is included if ``timed``. Functions whose differential is not finite in one of the ``states`` are left out.
    """
    tree = symbols.tree
    state = KinematicState(tree, symbols.q, None, symbols.time)
    result: list[tuple[str, Any]] = list(zip(names_of(tree, "q"), symbols.q, strict=True))
    if timed:
        result.append(("t", symbols.time))
    for point, frame in _point_frames(tree, constraints):
        result += [
            (f"{axis} of {point} in {frame}", x) for axis, x in zip("xyz", state.point(point, frame), strict=True)
        ]
    for axis, frame in _axis_frames(tree, constraints):
        e = state.direction(axis, frame)
        result.append((f"heading of {axis} in {frame}", atan2(e.y, e.x)))
        result.append((f"{axis} · {frame}.z", e.z))
    seeds = [*tangent_rates(tree, symbols.q), {tree.nv: 1.0}]
    rows = forward([x for _, x in result], symbols.all, seeds)
    differentials = symbols.values([[row.get(k, 0.0) for k in range(tree.nv + 1)] for row in rows], states)
    sound = [k for k in range(len(result)) if np.isfinite(differentials[:, k]).all()]
    return [Position.of(result[k][0], differentials[:, k]) for k in sound]


def constant_positions(
    tried: Sequence[Position], closures: np.ndarray, state: int, left: np.ndarray, count: int, simple: int
) -> list[Position]:
    """Return at most ``count`` independent position functions that are constant along all reachable directions.

    The differentials of these functions vanish on the closures (states, n, nv + 1). Independence is decided in one
    ``state``, on the directions ``left`` (nv + 1, k) that satisfy the holonomic constraints. Sums of the first
    ``simple`` candidates are tried before sums of all.
    """
    chosen: list[Position] = []
    restrictions: list[np.ndarray] = []

    def try_position(position: Position) -> None:
        on_closure = np.abs(np.einsum("sv,snv->sn", position.differentials, closures)).max(initial=0.0)
        restriction = position.differentials[state] @ left
        zero = _ZERO * position.size
        if on_closure > zero or np.linalg.norm(restriction) <= zero or len(chosen) == count:
            return
        basis = np.linalg.qr(np.array(restrictions).T)[0] if restrictions else np.zeros((len(restriction), 0))
        if np.linalg.norm(restriction - basis @ (basis.T @ restriction)) > _ZERO * np.linalg.norm(restriction):
            chosen.append(position)
            restrictions.append(restriction)

    for position in tried:
        try_position(position)
    for candidates in (tried[:simple], tried):
        if len(chosen) < count:
            for position in _sums(candidates, closures):
                try_position(position)
    return chosen


def _sums(tried: Sequence[Position], closures: np.ndarray) -> list[Position]:
    """Return the linear combinations of candidates, with constant weights, that are constant.

    Combinations with few terms come first.
    """
    moving = [position for position in tried if position.size > 0.0]
    if not moving:
        return []
    sizes = np.array([position.size for position in moving])
    D = np.array([position.differentials for position in moving])
    equations = np.einsum("jsv,snv->snj", D, closures).reshape(-1, len(moving)) / sizes
    if len(equations) < len(moving) + 1:  # too few states to decide
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


def _point_frames(tree: Tree, constraints: Iterable[Constraint]) -> list[tuple[str, str]]:
    """Return pairs of a constraint's point and a frame in which to express it: the world or a named frame."""
    result: dict[tuple[str, str], None] = {}
    for names in (constraint.references for constraint in constraints):
        frames = dict.fromkeys(["world", *names.frames])
        for point in dict.fromkeys(name for name in (*names.points, *names.frames) if name != "world"):
            body = tree.frame(tree.point(point).frame).body
            result |= dict.fromkeys((point, frame) for frame in frames if tree.frame(frame).body != body)
    return list(result)


def _axis_frames(tree: Tree, constraints: Iterable[Constraint]) -> list[tuple[str, str]]:
    """Return pairs of an axis or direction of a constraint and a frame in which to express it."""
    result: dict[tuple[str, str], None] = {}
    for names in (constraint.references for constraint in constraints):
        frames = dict.fromkeys(["world", *names.frames])
        frame_axes = [f"{frame}.{axis}" for frame in names.frames for axis in "xyz" if frame != "world"]
        for direction in dict.fromkeys([*names.directions, *frame_axes]):
            body = tree.frame(tree.direction(direction).frame).body
            result |= dict.fromkeys((direction, frame) for frame in frames if tree.frame(frame).body != body)
    return list(result)
