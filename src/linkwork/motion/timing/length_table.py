"""Lengths along a path as one polynomial for each cell, which Newton's method inverts without evaluating the path.

The rate of the length is interpolated at Gauss-Legendre nodes of each cell.  A cell is resolved if the last terms of
its series of Legendre polynomials are as small as rounding errors.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.polynomial import legendre

__all__ = ["LengthTable"]

_COUNT = 12  # nodes of a cell
_NODES, _WEIGHTS = legendre.leggauss(_COUNT)
_RESOLVED = 1e-14  # of the mean rate of a cell: last terms of its series
_NOISE = 2e-15  # of the greatest mean rate: rounding errors of the rate, which the last terms may show
_NEWTON = 8
_CONVERGED = 1e-9  # of half a cell: after a smaller step the error is below rounding errors


def _series() -> np.ndarray:
    """Return the matrix from values at the nodes to the coefficients of Legendre polynomials."""
    orders = np.arange(_COUNT)
    result: np.ndarray = (orders[:, None] + 0.5) * (legendre.legvander(_NODES, _COUNT - 1).T * _WEIGHTS)
    return result


def _integrals() -> np.ndarray:
    """Return the matrix from coefficients of Legendre polynomials to powers of u of their integrals from u = −1."""
    result = np.zeros((_COUNT + 1, _COUNT))
    for k, unit in enumerate(np.eye(_COUNT)):
        powers = legendre.leg2poly(legendre.legint(unit, lbnd=-1.0))
        result[: len(powers), k] = powers
    return result


_SERIES, _INTEGRALS = _series(), _integrals()


class LengthTable:
    """Lengths within the cells of a path, as polynomials of u, which runs from −1 to 1 in each cell.

    ``sizes`` (n,) are the lengths of the cells. ``resolved`` (n,) is False for a cell whose polynomial is not exact.
    """

    def __init__(self, rate: Callable[[np.ndarray], np.ndarray], cells: np.ndarray) -> None:
        """Evaluate the ``rate`` of the length at positions of all cells, which lie between ``cells`` (n + 1,)."""
        self.half, self.middle = 0.5 * np.diff(cells), 0.5 * (cells[1:] + cells[:-1])
        terms = _SERIES @ rate(self.middle[:, None] + self.half[:, None] * _NODES).T
        self.resolved = np.abs(terms[-2:]).max(axis=0) <= _RESOLVED * terms[0] + _NOISE * terms[0].max()
        self.powers = np.ascontiguousarray((_INTEGRALS @ terms * self.half).T)
        self.sizes = 2.0 * self.half * terms[0]

    def positions(self, k: np.ndarray, lengths: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return positions in cells k at lengths from the cells' beginnings (n,), and True where they are exact."""
        powers = self.powers.take(k, axis=0).T.copy()
        size, resolved = self.sizes[k], self.resolved[k]
        u = np.clip(2.0 * lengths / np.maximum(size, 1e-300) - 1.0, -1.0, 1.0)
        step = np.ones_like(u)
        with np.errstate(all="ignore"):  # of cells without length; their positions are not exact
            for _ in range(_NEWTON):
                value, rate = powers[-1].copy(), np.zeros_like(u)
                for power in powers[-2::-1]:
                    rate *= u
                    rate += value
                    value *= u
                    value += power
                before, u = u, np.clip(u + (lengths - value) / rate, -1.0, 1.0)
                step = np.abs(u - before)
                if step.max(initial=0.0, where=resolved) <= _CONVERGED:
                    break
            exact = resolved & (step <= _CONVERGED)
        return self.middle[k] + self.half[k] * u, exact
