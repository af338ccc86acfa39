"""Scaling of constraint rows and velocities to lengths by a characteristic length, and the rank of scaled matrices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from linkwork._util.messages import first_of
from linkwork.model.coordinate_names import names_of
from linkwork.model.tree import Tree

__all__ = ["Decomposed", "Ranked", "Scales", "chosen_rows", "decomposed", "motion_text", "motions_of", "ranked"]

_PIVOT = 0.9  # of the largest remainder: least remainder of a pivot, so that the order of rows decides
_MOST = 12  # velocities that the text of a motion lists

NOISE = 1e-15  # rounding of singular values, relative to the largest one and to the matrix size


@dataclass(frozen=True)
class Scales:
    """Factors that turn angles into lengths, for constraint rows, errors [m] and velocities [m/s]."""

    length: float
    rows: np.ndarray  # (nc,): factors of rows and errors
    errors: np.ndarray  # (nc,), bool: True for rows of holonomic constraints
    velocities: np.ndarray  # (nv,)

    @staticmethod
    def of(tree: Tree, length: float) -> Scales:
        rows = [length if unit == "rad" else 1.0 for c in tree.constraints for unit in c.row_units]
        errors = [c.holonomic for c in tree.constraints for _ in c.component_names]
        units = [unit for _, body in tree.stacked() for unit in _units(body.joint.v_units, body.joint.nv)]
        velocities = [1.0 if unit.startswith("m") else length for unit in units]
        return Scales(length, np.array(rows), np.array(errors, dtype=bool), np.array(velocities))

    def rows_of(self, G: np.ndarray) -> np.ndarray:
        """Return the constraint Jacobian G, scaled to be dimensionless."""
        scaled: np.ndarray = G * self.rows[:, None] / self.velocities
        return scaled

    def error_of(self, phi: np.ndarray) -> np.ndarray:
        """Return errors as lengths [m]."""
        scaled: np.ndarray = phi * self.rows[self.errors]
        return scaled


def _units(units: Sequence[str], count: int) -> Sequence[str]:
    return units if len(units) == count else ["rad/s"] * count


@dataclass(frozen=True)
class Ranked:
    """A matrix with its numerical rank, at the largest gap of its singular values."""

    rank: int
    values: np.ndarray  # singular values in decreasing order
    left: np.ndarray  # orthonormal columns y with yᵀ A = 0
    right: np.ndarray  # orthonormal columns x with A x = 0

    @property
    def least(self) -> float:
        """The smallest singular value counted as nonzero; 0 if there is none."""
        return float(self.values[self.rank - 1]) if self.rank else 0.0

    @property
    def rest(self) -> float:
        """The largest singular value counted as zero; 0 if there is none."""
        return float(self.values[self.rank]) if self.rank < len(self.values) else 0.0


def ranked(A: np.ndarray) -> Ranked:
    """Return a matrix with its rank, at the largest ratio of successive singular values.

    The singular values are preceded by 1 or the largest one, and followed by the level of rounding errors.
    """
    m, n = A.shape
    if not min(m, n):
        return Ranked(0, np.zeros(0), np.eye(m), np.eye(n))
    U, values, V = np.linalg.svd(A)
    rank = int(_ranks(values, max(m, n)))
    return Ranked(rank, values, U[:, rank:], V[rank:].T)


class Decomposed(NamedTuple):
    """Ranks of a batch of matrices (n, m, k) with their right singular vectors."""

    rank: np.ndarray  # (n)
    least: np.ndarray  # (n): the smallest singular value counted as nonzero; 0 if there is none
    V: np.ndarray  # (n, k, k), vectors as rows
    free: np.ndarray  # (n, k), bool: rows of V that span the null space

    def some(self, index: np.ndarray) -> Decomposed:
        """Return the decompositions of the matrices with these indices."""
        return Decomposed(*(x[index] for x in self))

    @property
    def moving(self) -> np.ndarray:
        """Largest absolute component of each velocity in a basis of the null space, (n, k).

        It is 0 for a velocity that is zero in all free motions.
        """
        parts = np.where(self.free[..., np.newaxis], np.abs(self.V), 0.0)
        return np.asarray(parts.max(axis=-2, initial=0.0))

    def within(self, x: np.ndarray) -> np.ndarray:
        """Return vectors (n, k) or (k,) projected onto the null spaces."""
        parts = np.where(self.free, (self.V @ np.broadcast_to(x, self.free.shape)[..., np.newaxis])[..., 0], 0.0)
        return np.asarray((np.swapaxes(self.V, -1, -2) @ parts[..., np.newaxis])[..., 0])


def decomposed(G: np.ndarray) -> Decomposed:
    """Return the ranks of matrices (n, m, k), by the rule of `ranked`."""
    _, values, V = np.linalg.svd(G)
    rank = _ranks(values, max(G.shape[-2:]))
    padded = np.concatenate([np.zeros((len(G), 1)), values], axis=-1)
    least = np.take_along_axis(padded, rank[:, np.newaxis], axis=-1)[:, 0]
    return Decomposed(rank, least, V, np.arange(V.shape[-1]) >= rank[:, np.newaxis])


def _ranks(values: np.ndarray, size: int) -> np.ndarray:
    """Return the ranks of matrices with these singular values (..., k), and at most ``size`` rows and columns."""
    largest = values.max(axis=-1, initial=0.0)
    floor = NOISE * max(size, 1) * np.maximum(largest, 1.0)
    ladder = np.concatenate([np.maximum(1.0, largest)[..., np.newaxis], values, floor[..., np.newaxis]], axis=-1)
    ladder = np.maximum(ladder, floor[..., np.newaxis])
    return np.where(largest > floor, np.argmax(ladder[..., :-1] / ladder[..., 1:], axis=-1), 0)


def chosen_rows(A: np.ndarray, count: int, order: Sequence[int]) -> list[int]:
    """Return the indices of ``count`` independent rows of A, by pivoted QR.

    The pivot is the first row in ``order`` whose remainder is at least `_PIVOT` times the largest one.
    """
    remainders, result = np.array(A, dtype=float), list[int]()
    for _ in range(count):
        sizes = np.linalg.norm(remainders, axis=1)
        sizes[result] = 0.0
        if not sizes.max(initial=0.0) > 0.0:
            break
        pick = next(k for k in order if sizes[k] >= _PIVOT * sizes.max())
        direction = remainders[pick] / sizes[pick]
        for _ in range(2):
            remainders = remainders - np.outer(remainders @ direction, direction)
        result.append(pick)
    return sorted(result)


def motions_of(tree: Tree, null: np.ndarray, scales: Scales) -> tuple[list[int], tuple[Mapping[str, float], ...]]:
    """Return the indices of independent velocity components, and a free motion for each of them, by velocity name.

    In each motion, its own independent component is 1 and the others are 0. ``null`` is a basis of the null space with
    scaled columns. The components are chosen by pivoting.
    """
    names, count = names_of(tree, "v"), null.shape[1]
    if not count:
        return [], ()
    picked = chosen_rows(null, count, range(len(null)))
    basis = null / scales.velocities[:, None]
    basis = basis @ np.linalg.inv(basis[picked])
    sizes = np.abs(basis) * scales.velocities[:, None]
    basis[sizes <= 1e-9 * sizes.max(axis=0, initial=0.0)] = 0.0
    orders = ([k, *(i for i in range(len(names)) if i != k)] for k in picked)
    columns = zip(orders, basis.T, strict=True)
    return picked, tuple({names[i]: float(column[i]) for i in order if column[i]} for order, column in columns)


def motion_text(motion: Mapping[str, float]) -> str:
    """Return the text of a motion by its velocities: ``"crank 1, coupler -0.5"``."""
    parts = [f"{name} {x:.4g}" for name, x in motion.items()]
    return first_of(parts, _MOST)
