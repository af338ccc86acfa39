"""Joint forces of chosen actuators and forces of constraints that together are given joint forces.

    r = S τ + Gᵀ λ,      ½ Σ w_k τ_k² least,

S the columns of actuated velocities.  Of the other velocities, r_u = G_uᵀ λ, the forces λ₀ of least norm follow; what
λ may still be, within the null space of G_uᵀ, makes the actuators' τ = r_a − G_aᵀ λ least.  Where no λ does what no
actuator can, r_u is met as nearly as it can be.  λ is counted by the size of its rows, N_ii = Σ G_ik² / M_kk, so no
unit of length counts as one of angle; in the end it is the one of least Σ N_ii λ_i² of those that do the same.

Least squares give multipliers y, which are velocities that obey the constraints: w τ = y on actuators, G y = 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from linkwork.dynamics.algorithms.mass_matrix import mass_matrix
from linkwork.expr.linalg.semidefinite_solve import Semidefinite
from linkwork.expr.linalg.sparse_dot import dot, is_zero, reciprocal_or_zero, transposed
from linkwork.expr.scalar.functions import eq
from linkwork.mechanisms.algorithms.constrained_forward_dynamics import NOISE
from linkwork.mechanisms.algorithms.constraints.constraint_rows import AllRates
from linkwork.model.tree import Tree

__all__ = ["Actuation", "actuated"]

Scalars = Sequence[Any]
Matrix = list[list[Any]]
Names = str | Sequence[str] | None

_STEPS = 4  # of solutions of normal equations, whose eigenvalues are squares
_ROUNDING = 1e-12  # part of its size below which what actuators may choose is none


def actuated(tree: Tree, actuators: Names) -> list[int]:
    """Where the velocities of actuated joints are in v: of those named, or of all that carry no floating body."""
    if actuators is None:
        named = [i for i, body in enumerate(tree.bodies) if body.joint.nv < 6]
    else:
        named = [tree.joint_index(name) for name in ((actuators,) if isinstance(actuators, str) else actuators)]
    return sorted({k for i in named for k in range(tree.nv)[tree.v_slices[i]]})


@dataclass(frozen=True)
class Actuation:
    """The rows of constraints in one state, and which velocities are actuated."""

    rows: Matrix  # G
    sizes: Matrix  # squares of its numbers as they would be without cancellation
    noise: list[Any]  # by row, what of N_ii is rounding
    inertia: list[Any]  # M_kk
    places: list[int]  # of actuated velocities
    weights: list[Any]  # w_k, of these

    @staticmethod
    def at(tree: Tree, q: Scalars, rates: AllRates, actuators: Names, weights: Scalars | None) -> Actuation:
        """Weights are by velocity; 1 where none are given."""
        places, M = actuated(tree, actuators), mass_matrix(tree, q)
        inertia = [M[k][k] for k in range(tree.nv)]
        noise = [dot([x / m for x, m in zip(row, inertia, strict=True)], [NOISE] * tree.nv) for row in rates.sizes]
        return Actuation(
            rates.rows, rates.sizes, noise, inertia, places, [1.0 if weights is None else weights[k] for k in places]
        )

    @cached_property
    def others(self) -> list[int]:
        return [k for k in range(len(self.inertia)) if k not in self.places]

    @cached_property
    def _gram(self) -> Matrix:
        """N = G diag(M)⁻¹ Gᵀ."""
        light = [[x / m for x, m in zip(row, self.inertia, strict=True)] for row in self.rows]
        return [[dot(one, other) for other in self.rows] for one in light]

    @cached_property
    def _least(self) -> Semidefinite:
        return Semidefinite.of(self._gram, self.noise)

    @cached_property
    def _scales(self) -> list[Any]:
        """1 / N_ii, and 0 where a row is none."""
        sizes = [row[i] + noise for i, (row, noise) in enumerate(zip(self._gram, self.noise, strict=True))]
        return [0.0 if is_zero(x) else reciprocal_or_zero(x, eq(x, 0.0)) for x in sizes]

    def _columns(self, places: Sequence[int]) -> Matrix:
        return [[row[k] for row in self.rows] for k in places]

    @cached_property
    def _normal(self) -> Semidefinite:
        """K = G_uᵀ N_ii⁻¹ G_u, of what is not actuated."""
        columns = self._columns(self.others)
        scaled = [[x * s for x, s in zip(column, self._scales, strict=True)] for column in columns]
        whole = [0.0 if is_zero(x) else reciprocal_or_zero(x, eq(x, 0.0)) * NOISE for x in self.noise]  # by rows' sizes
        sizes = [[row[k] for row in self.sizes] for k in self.others]
        floors = [dot(column, whole) * NOISE for column in sizes]  # columns that are but rounding stay out
        return Semidefinite.of([[dot(one, other) for other in columns] for one in scaled], floors)

    def _pushing(self, rest: Scalars) -> list[Any]:
        """λ of least norm with G_uᵀ λ = rest."""
        pulled = self._spread(self._normal.solved(rest, _STEPS))
        return [x * s for x, s in zip(pulled, self._scales, strict=True)]

    def _spread(self, numbers: Scalars) -> list[Any]:
        """G_u x."""
        return [dot([row[k] for k in self.others], numbers) for row in self.rows]

    def _on(self, places: Sequence[int], forces: Scalars) -> list[Any]:
        """Gᵀ λ, at some velocities."""
        return [dot(column, forces) for column in self._columns(places)]

    def _free(self, forces: Scalars) -> list[Any]:
        """The part of λ that does nothing to what is not actuated."""
        taken = self._pushing(self._on(self.others, forces))
        return [x - y for x, y in zip(forces, taken, strict=True)]

    @cached_property
    def _choices(self) -> tuple[Matrix, Semidefinite]:
        """By actuator, what λ that are free do to it; and, of λ free, how much of the actuators' squares they are."""
        columns = self._columns(self.places)
        free = []
        for column in columns:
            scaled = [x * s for x, s in zip(column, self._scales, strict=True)]
            taken = self._spread(self._normal.solved(self._on(self.others, scaled), _STEPS))
            free.append([x - y for x, y in zip(column, taken, strict=True)])
        weighed = [[x * w for x in part] for part, w in zip(free, self.weights, strict=True)]
        square = [[dot(one, other) for other in transposed(free)] for one in transposed(weighed)]
        whole = [[x * w for x in column] for column, w in zip(columns, self.weights, strict=True)]
        sizes = zip(transposed(whole), transposed(columns), strict=True)
        floors = [_ROUNDING * dot(one, other) for one, other in sizes]
        return free, Semidefinite.of(square, floors)

    def split(self, wanted: Scalars) -> tuple[list[Any], list[Any], list[Any]]:
        """τ (nv, 0 where nothing is actuated), λ, and what is left of r: 0 but where no actuator can do it."""
        n, acted = len(self.inertia), [wanted[k] for k in self.places]
        if self.rows:
            forces = self._pushing([wanted[k] for k in self.others])
            if self.places:
                free, square = self._choices
                rest = [x - y for x, y in zip(acted, self._on(self.places, forces), strict=True)]
                weighed = [x * w for x, w in zip(rest, self.weights, strict=True)]
                chosen = square.solved([dot(column, weighed) for column in transposed(free)], _STEPS)
                forces = [x + y for x, y in zip(forces, self._free(chosen), strict=True)]
            short = [wanted[k] - x for k, x in zip(self.others, self._on(self.others, forces), strict=True)]
            forces = [x + y for x, y in zip(forces, self._pushing(short), strict=True)]
            forces = self._least.solved([dot(row, forces) for row in self._gram])
        else:
            forces = []
        pulled = self._on(range(n), forces) if forces else [0.0] * n
        left = [x - y for x, y in zip(wanted, pulled, strict=True)]
        acting = set(self.places)
        tau = [x if k in acting else 0.0 for k, x in enumerate(left)]
        return tau, forces, [0.0 if k in acting else x for k, x in enumerate(left)]

    def multipliers(self, tau: Scalars) -> list[Any]:
        """y: w τ on actuators, and elsewhere what makes it obey the constraints."""
        found: list[Any] = [0.0] * len(self.inertia)
        for k, w in zip(self.places, self.weights, strict=True):
            found[k] = tau[k] * w
        if self.rows and self.others:
            needed = [-dot(row, found) * s for row, s in zip(self.rows, self._scales, strict=True)]
            for k, x in zip(self.others, self._normal.solved(self._on(self.others, needed), _STEPS), strict=True):
                found[k] = x
        return found

    def obeying(self, wanted: Scalars) -> list[Any]:
        """y of least Σ M_kk y_k² with G y = wanted."""
        pulled = self._on(range(len(self.inertia)), self._least.solved(wanted))
        return [x / m for x, m in zip(pulled, self.inertia, strict=True)]
