"""Rows and velocities in one unit: lengths, with angles times a characteristic length; and what rank they have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from linkwork.model.coordinate_names import names_of
from linkwork.model.tree import Tree

__all__ = ["Ranked", "Scales", "characteristic_length", "chosen_rows", "motion_text", "motions_of", "ranked"]

NOISE = 1e-15  # of the largest singular value, each row and column: what is below is rounding


def characteristic_length(tree: Tree) -> float:
    """How long links are [m]: of the joints and of the constraints' frames on a body, twice how far they are from their
    middle, on average over bodies (the world among them) where some are apart; 1 m where none are.
    """
    there: dict[int, list[np.ndarray]] = {}
    for i, body in enumerate(tree.bodies):
        there.setdefault(body.parent, []).append(np.array([*body.placement.translation], dtype=float))
        there.setdefault(i, []).append(np.zeros(3))
    for constraint in tree.constraints:
        named = constraint.references
        points = [tree.point(name) for name in named.points]
        for frame in {*named.frames, *(tree.direction(name).frame for name in named.directions)}:
            result = tree.frame(frame)
            there.setdefault(result.body, []).append(np.array([*result.placement.translation], dtype=float))
        for point in points:
            result = tree.frame(point.frame)
            place = result.placement.point(point.position)
            there.setdefault(result.body, []).append(np.array([*place], dtype=float))
    spreads = [2.0 * float(np.mean(np.linalg.norm(at - np.mean(at, axis=0), axis=1))) for at in there.values()]
    apart = [x for x in spreads if x > 1e-9]
    return float(np.mean(apart)) if apart else 1.0


@dataclass(frozen=True)
class Scales:
    """What rows and velocities are multiplied by, so that all are lengths, and lengths per second."""

    length: float
    rows: np.ndarray  # (nc,): of rows, and of their errors
    errors: np.ndarray  # (nc,), bool: which have an error
    velocities: np.ndarray  # (nv,)

    @staticmethod
    def of(tree: Tree, length: float) -> Scales:
        rows = [length if unit == "rad" else 1.0 for c in tree.constraints for unit in c.row_units]
        errors = [c.holonomic for c in tree.constraints for _ in c.component_names]
        units = [unit for _, body in tree.stacked() for unit in _units(body.joint.v_units, body.joint.nv)]
        velocities = [1.0 if unit.startswith("m") else length for unit in units]
        return Scales(length, np.array(rows), np.array(errors, dtype=bool), np.array(velocities))

    def rows_of(self, G: np.ndarray) -> np.ndarray:
        """G with all numbers without a unit."""
        scaled: np.ndarray = G * self.rows[:, None] / self.velocities
        return scaled

    def error_of(self, phi: np.ndarray) -> np.ndarray:
        """Errors as lengths."""
        scaled: np.ndarray = phi * self.rows[self.errors]
        return scaled


def _units(units: Sequence[str], count: int) -> Sequence[str]:
    return units if len(units) == count else ["rad/s"] * count


@dataclass(frozen=True)
class Ranked:
    """A matrix with the rank that the largest gap of its singular values shows."""

    rank: int
    values: np.ndarray  # singular values, the largest first
    left: np.ndarray  # orthonormal columns y with yᵀ A = 0
    right: np.ndarray  # orthonormal columns x with A x = 0

    @property
    def least(self) -> float:
        """The smallest singular value that counts."""
        return float(self.values[self.rank - 1]) if self.rank else 0.0

    @property
    def rest(self) -> float:
        """The largest that counts as zero."""
        return float(self.values[self.rank]) if self.rank < len(self.values) else 0.0


def ranked(A: np.ndarray) -> Ranked:
    """Of the ratios of each singular value to the next, from 1 down to what rounding leaves, the largest is the gap."""
    m, n = A.shape
    if not min(m, n):
        return Ranked(0, np.zeros(0), np.eye(m), np.eye(n))
    U, values, V = np.linalg.svd(A)
    floor = NOISE * max(m, n) * max(float(values[0]), 1.0)
    ladder = np.maximum([max(1.0, float(values[0])), *values, floor], floor)
    rank = int(np.argmax(ladder[:-1] / ladder[1:])) if values[0] > floor else 0
    return Ranked(rank, values, U[:, rank:], V[rank:].T)


def chosen_rows(A: np.ndarray, count: int, order: Sequence[int], like: float = 0.9) -> list[int]:
    """So many rows of A that are independent of each other: QR with pivots, of those that leave nearly the most the
    first in an order.
    """
    rest, result = np.array(A, dtype=float), list[int]()
    for _ in range(count):
        sizes = np.linalg.norm(rest, axis=1)
        sizes[result] = 0.0
        if not sizes.max(initial=0.0) > 0.0:
            break
        pick = next(k for k in order if sizes[k] >= like * sizes.max())
        direction = rest[pick] / sizes[pick]
        for _ in range(2):
            rest = rest - np.outer(rest @ direction, direction)
        result.append(pick)
    return sorted(result)


def motions_of(
    tree: Tree, null: np.ndarray, scales: Scales, independent: Sequence[int] | None = None
) -> tuple[list[int], tuple[Mapping[str, float], ...]]:
    """A basis of motions, one for each of some independent velocities, which is 1 in its own and 0 in the others'.

    ``null`` has scaled columns.  Chosen are those of which each moves as much by itself as any, in their order.
    """
    names, count = names_of(tree, "v"), null.shape[1]
    if not count:
        return [], ()
    picked = list(independent) if independent is not None else chosen_rows(null, count, range(len(null)))
    basis = null / scales.velocities[:, None]
    basis = basis @ np.linalg.inv(basis[picked])
    sizes = np.abs(basis) * scales.velocities[:, None]
    basis[sizes <= 1e-9 * sizes.max(axis=0, initial=0.0)] = 0.0
    orders = ([k, *(i for i in range(len(names)) if i != k)] for k in picked)
    columns = zip(orders, basis.T, strict=True)
    return picked, tuple({names[i]: float(column[i]) for i in order if column[i]} for order, column in columns)


def motion_text(motion: Mapping[str, float], most: int = 12) -> str:
    """A motion as its velocities, as in ``"crank 1, coupler -0.5"``."""
    said = [f"{name} {x:.4g}" for name, x in motion.items()]
    return ", ".join(said[:most]) + (f" and {len(said) - most} more" if len(said) > most else "")
