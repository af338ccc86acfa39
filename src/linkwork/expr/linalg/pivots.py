"""Pivots: their reciprocals, and which of them failed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from linkwork.errors import SingularMatrixError
from linkwork.expr.linalg.sparse_dot import reciprocal, reciprocal_or_zero
from linkwork.expr.scalar.functions import and_, eq, fabs, lt, where

__all__ = ["Pivots"]


class Pivots:
    """What a factorization divides by: each pivot with its place on the diagonal.

    A pivot fails where its reciprocal is zero, infinite or no number, or not positive where it has to be.  Pivots that
    are numbers while a function is traced are looked at then: one that fails is an error, unless the status is
    ``told``.  With ``zero`` none fails: the reciprocal of zero is zero.
    """

    def __init__(
        self,
        caller: str,
        *,
        positive: bool = False,
        told: bool = False,
        zero: bool = False,
        order: Sequence[int] | None = None,
    ) -> None:
        self.caller, self.positive, self.told, self._zero = caller, positive, told, zero
        self._order = order  # the places in the matrix that was given, where another one is factored
        self.seen: list[Any] = []
        self._fine: list[tuple[int, Any]] = []

    def inverse(self, pivot: Any, place: int) -> Any:
        """The reciprocal of a pivot."""
        if self._zero:
            self.seen.append(pivot)
            return reciprocal_or_zero(pivot, eq(pivot, 0.0))
        inverse = reciprocal(pivot)
        self.seen.append(pivot)
        place = place if self._order is None else self._order[place]
        known = inverse.__class__ is float
        if self.told or known:
            size = inverse if self.positive else fabs(inverse)
            fine = and_(lt(0.0, size), lt(size, math.inf))
            if not self.told and not fine:
                raise SingularMatrixError(self.caller, place, positive=self.positive)
            self._fine.append((place, fine))
        return inverse

    @property
    def status(self) -> Any:
        """0 where all pivots are fine, otherwise one more than the place of the first that failed."""
        found: Any = 0.0
        for place, fine in reversed(self._fine):
            found = where(fine, found, place + 1.0)
        return found
