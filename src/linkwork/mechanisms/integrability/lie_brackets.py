"""The distribution of the velocities that constraints allow, and how Lie brackets make it grow.

[X, Y] = ∂Y/∂x X − ∂X/∂x Y, of fields over the numbers x of a configuration, and time where constraints depend on it,
by their drift or by their coefficients: ∂t with the drift's velocities is then one of the fields.
Fields are tangent to the manifold of configurations wherever they start on it, so brackets of their numbers are those
of the fields.  Brackets of the allowed fields with the newest ones, of which those are kept that add to the rank, until
there are none, span the involutive closure: around configurations where ranks do not change, brackets of what was left
out add nothing.

Source: Murray, Li and Sastry, A Mathematical Introduction to Robotic Manipulation, 1994, chapter 7.

Spans of vectors and their ranks, by the gap between what counts and what is rounding.
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
    "followed",
    "grown",
    "independent",
    "moved",
    "pivots_of",
    "rank_of",
    "reduced",
]


_ADDS = 1e-7  # relative to a bracket's size: what it has to add to count
_REACH = 0.4
_STEPS = 20
_LARGE = 0.2  # part of the largest that a pivot is at least
Field = list[Any]


class Symbols:
    """The numbers of a configuration and time as symbols, and what expressions of them are in some states."""

    def __init__(self, tree: Tree) -> None:
        graph = Graph("integrability")
        self.tree, self.q, self.time = tree, graph.inputs("q", (tree.nq,)), graph.input("time")

    @property
    def all(self) -> list[Symbol]:
        """All numbers x = (q; t)."""
        return [*self.q, self.time]

    def depend_on_time(self, rows: Sequence[Sequence[Any]]) -> bool:
        """Return True if some coefficient depends on time: then ∂t is one of the fields whose brackets count."""
        return self.time.index in {node.index for node in reachable([x for row in rows for x in row])}

    def function(self, rows: Sequence[Sequence[Any]]) -> Callable[[np.ndarray], np.ndarray]:
        """Rows of expressions as a function of states (n, nq + 1): (n, rows, columns)."""
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
        """Rows of expressions in states."""
        return self.function(rows)(states)


@dataclass(frozen=True)
class Growth:
    """The allowed velocities and their closure in some states."""

    dimensions: tuple[int, ...]
    allowed: np.ndarray  # (states, m, nv + 1)
    closure: np.ndarray  # (states, n, nv + 1)
    margin: float
    more: bool  # whether further brackets add something in some states after the one in which they are chosen


def grown(symbols: Symbols, base: list[Field], scales: np.ndarray, states: np.ndarray, seen: int, most: int) -> Growth:
    """The distribution of a basis of velocities, grown by brackets until it is involutive, or of dimension ``most``.

    Which brackets are kept is seen in one of the states, ``seen``.  Velocities are counted in ``scales`` (nv + 1,).
    """
    kept = [moved(symbols, u) for u in base]
    values = symbols.values(base, states) / scales
    of_base, dimensions, margin = values, [len(kept)], np.inf
    layer, first, more = list(kept), True, False
    while layer and len(kept) < most:
        brackets = _brackets(symbols, kept[: len(base)], layer, first)
        if not brackets:
            break
        result = symbols.values([_velocity(symbols, bracket) for bracket in brackets], states) / scales
        chosen, gap = _adding(values[seen], result[seen], most - len(kept))
        margin, first = min(margin, gap), False
        layer = [brackets[k] for k in chosen]
        kept += layer
        if not chosen:
            rest = range(seen + 1, len(states))
            more = any(_adding(values[k], result[k], 1)[0] for k in rest)
        values = np.concatenate([values, result[:, chosen]], axis=1)
        if chosen:
            dimensions.append(len(kept))
    return Growth(tuple(dimensions), of_base, values, margin, more)


def followed(symbols: Symbols, base: list[Field], start: np.ndarray, count: int) -> np.ndarray:
    """States that can be reached from one, each by constant shares of the fields for a short time; those that exist."""
    field = symbols.function([moved(symbols, u) for u in base])
    shares = np.random.default_rng(1).normal(size=(count, len(base))) * _REACH / _STEPS
    states = np.tile(start, (count, 1))

    def rate(states: np.ndarray) -> np.ndarray:
        moving: np.ndarray = np.einsum("nf,nfx->nx", shares, field(states))
        return moving

    for _ in range(_STEPS):  # of Runge and Kutta
        a = rate(states)
        b = rate(states + a / 2)
        c = rate(states + b / 2)
        states = states + (a + 2 * b + 2 * c + rate(states + c)) / 6
    result: np.ndarray = states[np.isfinite(states).all(axis=1)]
    return result


def moved(symbols: Symbols, u: Field) -> Field:
    """(q̇; ṫ) of a velocity."""
    return [*velocity_to_configuration_derivative(symbols.tree, symbols.q, u[:-1]), u[-1]]


def _velocity(symbols: Symbols, field: Field) -> Field:
    return [*configuration_derivative_to_velocity(symbols.tree, symbols.q, field[:-1]), field[-1]]


def _brackets(symbols: Symbols, base: list[Field], layer: list[Field], first: bool) -> list[Field]:
    """[X, Y] of the base's fields with the layer's, those that are structurally zero left out."""
    of_layer, of_base = _along(symbols, layer, base), _along(symbols, base, layer)
    result = []
    for i in range(len(base)):
        for j in range(i + 1 if first else 0, len(layer)):
            bracket = [_minus(a, b) for a, b in zip(of_layer[j][i], of_base[i][j], strict=True)]
            if not all(map(is_zero, bracket)):
                result.append(bracket)
    return result


def _along(symbols: Symbols, fields: list[Field], directions: list[Field]) -> list[list[Field]]:
    """By fields, by directions: how a field changes along a direction."""
    seeds = [
        {i: direction[k] for i, direction in enumerate(directions) if not is_zero(direction[k])}
        for k in range(len(symbols.all))
    ]
    rows = iter(forward([x for field in fields for x in field], symbols.all, seeds))
    by_field = [[next(rows) for _ in field] for field in fields]
    return [[[row.get(i, 0.0) for row in own] for i in range(len(directions))] for own in by_field]


def _minus(a: Any, b: Any) -> Any:
    return a if is_zero(b) else -b if is_zero(a) else a - b


def _adding(have: np.ndarray, brackets: np.ndarray, most: int) -> tuple[list[int], float]:
    """The brackets that add to what there is, the one that adds most first; and how clear that was."""
    basis = np.linalg.qr(have.T)[0] if len(have) else np.zeros((brackets.shape[1], 0))
    sizes = np.maximum(1.0, np.linalg.norm(brackets, axis=1))
    rest = brackets / sizes[:, None]
    chosen: list[int] = []
    margin = last = np.inf
    while True:
        rest = rest - (rest @ basis) @ basis.T
        rest = rest - (rest @ basis) @ basis.T
        lengths = np.linalg.norm(rest, axis=1)
        k = int(np.argmax(lengths))
        if lengths[k] <= _ADDS or len(chosen) == most:
            if lengths[k] > 0.0 and len(chosen) < most:
                margin = min(last, 1.0) / float(lengths[k])
            return sorted(chosen), margin
        last = float(lengths[k])
        chosen.append(k)
        basis = np.column_stack([basis, rest[k] / lengths[k]])


def pivots_of(rows: list[list[Any]], numbers: np.ndarray, columns: int) -> list[tuple[int, int]]:
    """Pivots (row, column) of elimination among the first so many columns: of those that are large in a state, the one
    that fills in least.
    """
    rank, _ = rank_of(numbers[:, :columns])
    A = np.array(numbers[:, :columns], dtype=float)
    there = np.array([[not is_zero(x) for x in row[:columns]] for row in rows], dtype=bool).reshape(A.shape)
    left = list(range(len(A)))
    pivots = []
    for _ in range(rank):
        largest = float(np.abs(A[left]).max())
        large = [(i, j) for i in left for j in range(columns) if abs(A[i, j]) >= _LARGE * largest]
        i, j = min(large, key=lambda p: ((there[p[0]].sum() - 1) * (there[left, p[1]].sum() - 1), -abs(A[p])))
        pivots.append((i, j))
        left.remove(i)
        for other in left:
            if there[other, j]:
                A[other] -= A[other, j] / A[i, j] * A[i]
                A[other, j], there[other] = 0.0, there[other] | there[i]
                there[other, j] = False
    return pivots


_ROUNDING = 1e-9  # relative to the largest: what is less is rounding


def rank_of(A: np.ndarray, size: float = 0.0) -> tuple[int, float]:
    """The rank of a matrix, and the ratio of the last singular value that counts and the first that does not.

    ``size`` is how large the matrix could have been.
    """
    if not A.size:
        return 0, np.inf
    values = np.linalg.svd(A, compute_uv=False)
    largest = max(float(values[0]), size)
    rank = int((values > _ROUNDING * largest).sum())
    rest = float(values[rank]) if rank < len(values) else 0.0
    if rank == 0 or rest == 0.0:
        return rank, np.inf
    return rank, float(values[rank - 1]) / rest


def complement(A: np.ndarray, size: float = 0.0) -> np.ndarray:
    """An orthonormal basis of the vectors that the rows take to zero, as columns; ``size`` is as of `rank_of`."""
    if not A.size:
        return np.eye(A.shape[1])
    rank, _ = rank_of(A, size)
    basis: np.ndarray = np.linalg.svd(A)[2][rank:].T
    return basis


def independent(rows: np.ndarray) -> list[int]:
    """The first rows that do not depend on those before them."""
    chosen: list[int] = []
    basis = np.zeros((rows.shape[1], 0))
    largest = float(np.linalg.norm(rows, axis=1).max()) if rows.size else 0.0
    for k, row in enumerate(rows):
        rest = row - basis @ (basis.T @ row)
        rest -= basis @ (basis.T @ rest)
        if np.linalg.norm(rest) > _ROUNDING * largest:
            basis = np.column_stack([basis, rest / np.linalg.norm(rest)])
            chosen.append(k)
    return chosen


def reduced(rows: np.ndarray) -> np.ndarray:
    """The same span by rows in reduced echelon form: a unit vector that is in it is one of its rows."""
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
        others = np.arange(len(A)) != done
        A[others] -= np.outer(A[others, column], A[done])
        done += 1
    return np.where(np.abs(A) < 1e-9, 0.0, A)
