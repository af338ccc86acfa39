"""Spaces of configurations and their tangent vectors.

A configuration may have more coordinates than degrees of freedom (a quaternion has four, with three degrees of
freedom). Its tangent vector has one coordinate for each degree of freedom; `Block` defines how such a vector moves the
coordinates: q̇ = N(q) v. Without a space, N is the identity. `Tangent` is an array that is differentiated, or with
respect to which other arrays are differentiated.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from linkwork._util.lazy_dataclass import dataclass
from linkwork._util.lazy_imports import LazyModule
from linkwork.compiler.port import Port
from linkwork.expr.scalar.symbol import Symbol

if TYPE_CHECKING:
    from linkwork.expr.autodiff import graph_derivative
else:
    graph_derivative = LazyModule("linkwork.expr.autodiff.graph_derivative")

__all__ = ["Block", "Space", "Spaces", "Tangent", "total"]


Map = Callable[[Sequence[Any], Sequence[Any]], Sequence[Any]]


class Block(NamedTuple):
    """Coordinates of a configuration that vary independently of all others, such as those of one joint.

    A block has its slices of q and of v, and the maps from velocity to rates q̇ and from q̇ to velocity, for scalars of
    any type.
    """

    q: slice
    v: slice
    q_dot: Map  # q̇ of these numbers from their velocity
    velocity_from_rate: Map  # the velocity from q̇


@dataclass(frozen=True, eq=False, repr=False)
class Space:
    """The space of an array of configurations: ``nq`` coordinates that move with ``nv`` degrees of freedom.

    In `linkwork.compile` it is passed as a shape: with ``compile(f, q=robot.configuration_space, v=robot.nv)``,
    derivatives with respect to ``q`` are with respect to its tangent vector.
    """

    nq: int
    nv: int
    blocks: tuple[Block, ...]
    name: str = "space"
    content: tuple[str, ...] | None = None
    """Everything that the maps depend on except linkwork itself; None if that includes other code."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape (nq,) of a configuration."""
        return (self.nq,)

    @property
    def tangent_shape(self) -> tuple[int, ...]:
        """Shape (nv,) of a tangent vector."""
        return (self.nv,)

    def q_dot(self, q: Sequence[Any], v: Sequence[Any]) -> list[Any]:
        """Return the rates (nq,) of the coordinates at velocity v (nv,)."""
        result: list[Any] = [0.0] * self.nq
        for block in self.blocks:
            result[block.q] = block.q_dot(q[block.q], v[block.v])
        return result

    def velocity_from_rate(self, q: Sequence[Any], q_dot: Sequence[Any]) -> list[Any]:
        """Return the velocity (nv,) at which the coordinates have the rates q̇ (nq,)."""
        result: list[Any] = [0.0] * self.nv
        for block in self.blocks:
            result[block.v] = block.velocity_from_rate(q[block.q], q_dot[block.q])
        return result

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Space):
            return NotImplemented
        if self is other:
            return True
        return self.content is not None and (self.nq, self.nv, self.content) == (other.nq, other.nv, other.content)

    def __hash__(self) -> int:
        return hash((self.nq, self.nv, self.content))

    def __reduce__(self) -> tuple[Any, ...]:
        from linkwork.compiler.pickling.space_values import pickled_space

        return pickled_space(self)

    def __repr__(self) -> str:
        return f"<Space {self.name}: nq {self.nq}, nv {self.nv}>"


_NONE: Mapping[str, Space] = MappingProxyType({})


class Spaces(NamedTuple):
    """The configuration manifolds of a kernel's inputs and outputs, by name; other arrays have no entry."""

    inputs: Mapping[str, Space] = _NONE
    outputs: Mapping[str, Space] = _NONE


SparseRow = Mapping[int, Any]  # sparse derivatives: direction -> value


@dataclass(frozen=True)
class Tangent:
    """An input or output array of a derivative, and the configuration manifold (`Space`) of its values, if any."""

    port: Port
    space: Space | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of a tangent vector."""
        return self.port.shape if self.space is None else self.space.tangent_shape

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    # -- of an input that is differentiated by

    def columns(self, q: Sequence[Any]) -> list[dict[int, Any]]:
        """Return the matrix N(q) of q̇ = N(q) v as sparse rows, one for each coordinate of q.

        A row is a dict of column -> element.  N is the identity for an array that is not a configuration.
        """
        if self.space is None:
            return [{k: 1.0} for k in range(self.port.size)]
        rows: list[dict[int, Any]] = [{} for _ in q]
        for block in self.space.blocks:
            coordinates, indices = q[block.q], range(self.space.nv)[block.v]
            for direction, unit in zip(indices, _units(len(indices)), strict=True):
                for k, x in zip(range(len(q))[block.q], block.q_dot(coordinates, unit), strict=True):
                    if not graph_derivative.is_zero(x):
                        rows[k][direction] = x
        return rows

    def moved(self, q: Sequence[Any], v: Sequence[Any]) -> list[Any]:
        """Return the rates q̇ = N(q) v of a configuration's coordinates at velocity v; q̇ = v without a manifold."""
        return list(v) if self.space is None else self.space.q_dot(q, v)

    def gradient(self, columns: Sequence[SparseRow], by_coordinates: Sequence[Any]) -> list[Any]:
        """Return the gradient with respect to tangent vectors, Nᵀ g, from the gradient g with respect to q.

        ``columns`` are the sparse rows of the matrix N(q) of q̇ = N(q) v.
        """
        if self.space is None:
            return list(by_coordinates)
        result: list[list[Any]] = [[] for _ in range(self.size)]
        for row, g in zip(columns, by_coordinates, strict=True):
            if not graph_derivative.is_zero(g):
                for direction, n in row.items():
                    result[direction].append(n * g)
        return [total(terms) for terms in result]

    def curvature(self, q: Sequence[Any]) -> dict[tuple[int, int], list[tuple[int, Any]]]:
        """Return the nonzero elements of the second derivatives Q_ij = ∂²(q ⊕ φ)/∂φ_i∂φ_j at φ = 0, for i ≤ j.

        Q_ij is the symmetric part of D(N e_i) N e_j: the curvature of curves of constant velocity.
        """
        if self.space is None:
            return {}
        result: dict[tuple[int, int], list[tuple[int, Any]]] = {}
        for block in self.space.blocks:
            coordinates, indices = list(q[block.q]), range(self.space.nv)[block.v]
            columns = [block.q_dot(coordinates, unit) for unit in _units(len(indices))]
            if not any(isinstance(x, Symbol) for column in columns for x in column):
                continue  # N is constant
            seeds = [
                {j: x for j, column in enumerate(columns) if not graph_derivative.is_zero(x := column[k])}
                for k in range(len(coordinates))
            ]
            rates = [graph_derivative.forward(column, coordinates, seeds) for column in columns]
            for i in range(len(indices)):
                for j in range(i, len(indices)):
                    for k, index in enumerate(range(len(q))[block.q]):
                        rate_ij, rate_ji = rates[i][k].get(j, 0.0), rates[j][k].get(i, 0.0)
                        x = rate_ij if i == j else (rate_ij + rate_ji) * 0.5
                        if not graph_derivative.is_zero(x):
                            result.setdefault((indices[i], indices[j]), []).append((index, x))
        return result

    # -- of an output that is differentiated

    def in_tangent_coordinates(self, q: Sequence[Any], rows: Sequence[SparseRow]) -> list[dict[int, Any]]:
        """Return the Jacobian's rows for tangent coordinates, from the rows for the coordinates of q.

        Each column of ``rows`` is a rate q̇ of the coordinates; the new column is velocity_from_rate(q, q̇).
        """
        if self.space is None:
            return [dict(row) for row in rows]
        result: list[dict[int, Any]] = [{} for _ in range(self.size)]
        for block in self.space.blocks:
            coordinates, moving = q[block.q], rows[block.q]
            for direction in dict.fromkeys(key for row in moving for key in row):
                rates = block.velocity_from_rate(coordinates, [row.get(direction, 0.0) for row in moving])
                for index, x in zip(range(self.space.nv)[block.v], rates, strict=True):
                    if not graph_derivative.is_zero(x):
                        result[index][direction] = x
        return result

    def coordinate_weights(self, q: Sequence[Any], weights: Sequence[Any]) -> list[Any]:
        """Return the weights λ of the coordinates from the weights w of the tangent coordinates.

        For every rate q̇, ⟨λ, q̇⟩ = ⟨w, velocity_from_rate(q, q̇)⟩.
        """
        if self.space is None:
            return list(weights)
        result: list[Any] = [0.0] * len(q)
        for block in self.space.blocks:
            coordinates, block_weights = q[block.q], weights[block.v]
            if all(map(graph_derivative.is_zero, block_weights)):
                continue
            indices = range(len(q))[block.q]
            for index, unit in zip(indices, _units(len(indices)), strict=True):
                rates = block.velocity_from_rate(coordinates, unit)
                result[index] = total(
                    [x * w for x, w in zip(rates, block_weights, strict=True) if not graph_derivative.is_zero(w)]
                )
        return result


def total(terms: Sequence[Any]) -> Any:
    """Return the sum of ``terms``; 0.0 if there are none."""
    if not terms:
        return 0.0
    result = terms[0]
    for term in terms[1:]:
        result = result + term
    return result


def _units(count: int) -> list[list[float]]:
    return [[1.0 if j == k else 0.0 for j in range(count)] for k in range(count)]
