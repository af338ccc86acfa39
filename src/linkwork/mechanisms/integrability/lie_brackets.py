"""Lie brackets of the admissible velocity fields of a mechanism, and their involutive closure.

[X, Y] = ∂Y/∂x X − ∂X/∂x Y, for fields over the coordinates x = (q; t).  If constraints depend on time, by drift or by
coefficients, ∂t with the velocities of the drift is one of the fields.  Fields are tangent to the configuration
manifold, so brackets computed in coordinates of q are the brackets of the fields.  The admissible fields are bracketed
with the newest fields; brackets that increase the rank are added, until none does.  The result spans the involutive
closure, because around configurations of constant rank brackets of the omitted fields add nothing.

The module also has spans of vectors and their numerical ranks.

Source: Murray, Li and Sastry, A Mathematical Introduction to Robotic Manipulation, 1994, chapter 7.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from linkwork.expr.autodiff.graph_derivative import forward, is_zero
from linkwork.expr.scalar.block import Region
from linkwork.expr.scalar.interpreter import reachable
from linkwork.expr.scalar.symbol import Graph, Symbol
from linkwork.kinematics.algorithms.configuration_manifold import (
    configuration_derivative_to_velocity,
    velocity_to_configuration_derivative,
)
from linkwork.model.tree import Tree

__all__ = [
    "Growth",
    "Symbols",
    "complement",
    "configuration_rate",
    "independent",
    "involutive_closure",
    "pivots_of",
    "rank_of",
    "reached_states",
    "reduced",
]


_NEW_PART = 1e-7  # smallest independent part of a new field, relative to the size of the bracket
_REACH = 0.4  # [rad, characteristic lengths] length of the motion along the fields
_STEPS = 20  # Runge–Kutta steps of this motion
_MIN_PIVOT = 0.2  # smallest pivot, relative to the largest element
Field = list[Any]


class Symbols:
    """Symbols of the coordinates q and of time, with the evaluation of expressions in many states."""

    def __init__(self, tree: Tree) -> None:
        graph = Graph("integrability")
        self.tree, self.q, self.time = tree, graph.inputs("q", (tree.nq,)), graph.input("time")

    @property
    def all(self) -> list[Symbol]:
        """Symbols of all coordinates x = (q; t)."""
        return [*self.q, self.time]

    def depend_on_time(self, rows: Sequence[Sequence[Any]]) -> bool:
        """Return True if an element of the constraint rows depends on time, so that ∂t is one of the fields."""
        return self.time.index in {node.index for node in reachable([x for row in rows for x in row])}

    def function(self, rows: Sequence[Sequence[Any]]) -> Callable[[np.ndarray], np.ndarray]:
        """Return a function that evaluates a matrix of expressions in n states (q; t).

        ``rows`` are the rows of the matrix.  Shapes: states (n, nq + 1) -> (n, rows, columns).
        """
        flat = [x for row in rows for x in row]
        columns = len(rows[0]) if rows else self.tree.nv + 1
        moving = [k for k, x in enumerate(flat) if isinstance(x, Symbol)]
        constant = np.array([0.0 if isinstance(x, Symbol) else x for x in flat])
        region = Region.of([flat[k] for k in moving], self.all) if moving else None

        def values(states: np.ndarray) -> np.ndarray:
            result = np.tile(constant, (len(states), 1))
            if region is not None:
                with np.errstate(all="ignore"):
                    for k, x in zip(moving, region.run([*states.T]), strict=True):
                        result[:, k] = x
            return result.reshape(len(states), len(rows), columns)

        return values

    def values(self, rows: Sequence[Sequence[Any]], states: np.ndarray) -> np.ndarray:
        """Evaluate a matrix of expressions, by its ``rows``, in n states (q; t).

        Shapes: states (n, nq + 1) -> (n, rows, columns).
        """
        return self.function(rows)(states)


@dataclass(frozen=True)
class Growth:
    """Growth of the admissible velocities by Lie brackets, up to their involutive closure, in several states.

    ``dimensions`` are the dimensions after each round of brackets.
    """

    dimensions: tuple[int, ...]
    allowed: np.ndarray  # (states, m, nv + 1)
    closure: np.ndarray  # (states, n, nv + 1)
    margin: float
    more: bool  # True if further brackets are independent in a state after the one used for the choice


def involutive_closure(
    symbols: Symbols, base: list[Field], scales: np.ndarray, states: np.ndarray, chosen_in: int, max_dimension: int
) -> Growth:
    """Return the span of velocity fields and their Lie brackets, extended until it is involutive.

    The fields are ``base``; the extension also ends at the dimension ``max_dimension``.  Independence of brackets is
    decided in state number ``chosen_in``.  Velocities are divided by ``scales`` (nv + 1,).
    """
    fields = [configuration_rate(symbols, u) for u in base]
    values = symbols.values(base, states) / scales
    of_base, dimensions, margin = values, [len(fields)], np.inf
    layer, first, more = list(fields), True, False
    while layer and len(fields) < max_dimension:
        brackets = _brackets(symbols, fields[: len(base)], layer, first)
        if not brackets:
            break
        result = symbols.values([_velocity(symbols, bracket) for bracket in brackets], states) / scales
        chosen, gap = _independent_brackets(values[chosen_in], result[chosen_in], max_dimension - len(fields))
        margin, first = min(margin, gap), False
        layer = [brackets[k] for k in chosen]
        fields += layer
        if not chosen:
            unchosen = range(chosen_in + 1, len(states))
            more = any(_independent_brackets(values[k], result[k], 1)[0] for k in unchosen)
        values = np.concatenate([values, result[:, chosen]], axis=1)
        if chosen:
            dimensions.append(len(fields))
    return Growth(tuple(dimensions), of_base, values, margin, more)


def reached_states(symbols: Symbols, base: list[Field], start: np.ndarray, count: int) -> np.ndarray:
    """Return states (n, nq + 1) reached from ``start`` by motion along random constant combinations of the fields.

    ``count`` motions are tried; states that are not finite are left out.
    """
    field = symbols.function([configuration_rate(symbols, u) for u in base])
    shares = np.random.default_rng(1).normal(size=(count, len(base))) * _REACH / _STEPS
    states = np.tile(start, (count, 1))

    def rate(states: np.ndarray) -> np.ndarray:
        moving: np.ndarray = np.einsum("nf,nfx->nx", shares, field(states))
        return moving

    for _ in range(_STEPS):  # classical Runge–Kutta method
        a = rate(states)
        b = rate(states + a / 2)
        c = rate(states + b / 2)
        states = states + (a + 2 * b + 2 * c + rate(states + c)) / 6
    result: np.ndarray = states[np.isfinite(states).all(axis=1)]
    return result


def configuration_rate(symbols: Symbols, u: Field) -> Field:
    """Return the rate (q̇; ṫ) of the coordinates for a velocity (v; ṫ)."""
    return [*velocity_to_configuration_derivative(symbols.tree, symbols.q, u[:-1]), u[-1]]


def _velocity(symbols: Symbols, field: Field) -> Field:
    return [*configuration_derivative_to_velocity(symbols.tree, symbols.q, field[:-1]), field[-1]]


def _brackets(symbols: Symbols, base: list[Field], layer: list[Field], first: bool) -> list[Field]:
    """Return the brackets [X, Y] of fields X of ``base`` with fields Y of ``layer`` that are not identically zero.

    If ``first``, the layer begins with the base fields, and each pair is taken once.
    """
    of_layer, of_base = _along(symbols, layer, base), _along(symbols, base, layer)
    result = []
    for i in range(len(base)):
        for j in range(i + 1 if first else 0, len(layer)):
            bracket = [_minus(a, b) for a, b in zip(of_layer[j][i], of_base[i][j], strict=True)]
            if not all(map(is_zero, bracket)):
                result.append(bracket)
    return result


def _along(symbols: Symbols, fields: list[Field], directions: list[Field]) -> list[list[Field]]:
    """Return the derivative of each field along each direction, by field and direction."""
    seeds = [
        {i: direction[k] for i, direction in enumerate(directions) if not is_zero(direction[k])}
        for k in range(len(symbols.all))
    ]
    rows = iter(forward([x for field in fields for x in field], symbols.all, seeds))
    by_field = [[next(rows) for _ in field] for field in fields]
    return [[[row.get(i, 0.0) for row in rates] for i in range(len(directions))] for rates in by_field]


def _minus(a: Any, b: Any) -> Any:
    return a if is_zero(b) else -b if is_zero(a) else a - b


def _independent_brackets(have: np.ndarray, brackets: np.ndarray, most: int) -> tuple[list[int], float]:
    """Return the indices of the brackets that increase the rank of the vectors ``have``, and the margin of the choice.

    They are chosen greedily, at most ``most``.
    """
    basis = np.linalg.qr(have.T)[0] if len(have) else np.zeros((brackets.shape[1], 0))
    sizes = np.maximum(1.0, np.linalg.norm(brackets, axis=1))
    remainders = brackets / sizes[:, None]
    chosen: list[int] = []
    margin = last = np.inf
    while True:
        remainders = remainders - (remainders @ basis) @ basis.T
        remainders = remainders - (remainders @ basis) @ basis.T
        lengths = np.linalg.norm(remainders, axis=1)
        k = int(np.argmax(lengths))
        if lengths[k] <= _NEW_PART or len(chosen) == most:
            if lengths[k] > 0.0 and len(chosen) < most:
                margin = min(last, 1.0) / float(lengths[k])
            return sorted(chosen), margin
        last = float(lengths[k])
        chosen.append(k)
        basis = np.column_stack([basis, remainders[k] / lengths[k]])


def pivots_of(rows: list[list[Any]], values: np.ndarray, columns: int) -> list[tuple[int, int]]:
    """Return pivots (row, column) for a symbolic elimination of the first ``columns`` of a matrix.

    ``values`` are the matrix in one state. Among the large pivots the one with the least fill-in is chosen
    (Markowitz).
    """
    rank, _ = rank_of(values[:, :columns])
    A = np.array(values[:, :columns], dtype=float)
    nonzero = np.array([[not is_zero(x) for x in row[:columns]] for row in rows], dtype=bool).reshape(A.shape)
    left = list(range(len(A)))
    pivots = []
    for _ in range(rank):
        largest = float(np.abs(A[left]).max())
        large = [(i, j) for i in left for j in range(columns) if abs(A[i, j]) >= _MIN_PIVOT * largest]
        i, j = min(large, key=lambda p: ((nonzero[p[0]].sum() - 1) * (nonzero[left, p[1]].sum() - 1), -abs(A[p])))
        pivots.append((i, j))
        left.remove(i)
        for i_left in left:
            if nonzero[i_left, j]:
                A[i_left] -= A[i_left, j] / A[i, j] * A[i]
                A[i_left, j], nonzero[i_left] = 0.0, nonzero[i_left] | nonzero[i]
                nonzero[i_left, j] = False
    return pivots


_ROUNDING = 1e-9  # singular values below it, relative to the largest, count as zero


def rank_of(A: np.ndarray, size: float = 0.0) -> tuple[int, float]:
    """Return the rank of a matrix, and the ratio of its last nonzero singular value to the next one.

    Singular values are compared with the largest one, or with ``size``, the norm of the matrix without cancellation,
    if that is larger.
    """
    if not A.size:
        return 0, np.inf
    values = np.linalg.svd(A, compute_uv=False)
    largest = max(float(values[0]), size)
    rank = int((values > _ROUNDING * largest).sum())
    neglected = float(values[rank]) if rank < len(values) else 0.0
    if rank == 0 or neglected == 0.0:
        return rank, np.inf
    return rank, float(values[rank - 1]) / neglected


def complement(A: np.ndarray, size: float = 0.0) -> np.ndarray:
    """Return an orthonormal basis of the null space, as columns; ``size`` is as in `rank_of`."""
    if not A.size:
        return np.eye(A.shape[1])
    rank, _ = rank_of(A, size)
    basis: np.ndarray = np.linalg.svd(A)[2][rank:].T
    return basis


def independent(rows: np.ndarray) -> list[int]:
    """Return the indices of the rows that are linearly independent of the rows before them."""
    chosen: list[int] = []
    basis = np.zeros((rows.shape[1], 0))
    largest = float(np.linalg.norm(rows, axis=1).max()) if rows.size else 0.0
    for k, row in enumerate(rows):
        remainder = row - basis @ (basis.T @ row)
        remainder -= basis @ (basis.T @ remainder)
        if np.linalg.norm(remainder) > _ROUNDING * largest:
            basis = np.column_stack([basis, remainder / np.linalg.norm(remainder)])
            chosen.append(k)
    return chosen


def reduced(rows: np.ndarray) -> np.ndarray:
    """Return the reduced row echelon form; a unit vector in the span is then one of the rows."""
    A = np.array(rows, dtype=float)
    done = 0
    for column in range(A.shape[1]):
        if done == len(A):
            break
        pivot = done + int(np.argmax(np.abs(A[done:, column])))
        if abs(A[pivot, column]) < 1e-7:
            A[done:, column] = 0.0
            continue
        A[[done, pivot]] = A[[pivot, done]]
        A[done] /= A[done, column]
        remaining = np.arange(len(A)) != done
        A[remaining] -= np.outer(A[remaining, column], A[done])
        done += 1
    return np.where(np.abs(A) < 1e-9, 0.0, A)
