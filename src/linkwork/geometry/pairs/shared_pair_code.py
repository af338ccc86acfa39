"""Pairs of a kernel whose code is long: it stands once for all pairs of two kinds, wherever they are measured."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from linkwork.expr.control import call
from linkwork.geometry.cores import FieldCore, Solid
from linkwork.geometry.distance import SignedDistance
from linkwork.geometry.pairs.collision_query import within
from linkwork.geometry.pairs.pair_dispatch import is_closed_form, signed_distance
from linkwork.geometry.solids import KINDS, SolidKind, kind_of, solid_row

__all__ = ["distance_once", "signed_distance_once", "within_called", "within_once"]


def signed_distance_once(a: Solid, b: Solid) -> SignedDistance:
    """The same as `signed_distance`."""
    found, turned = _called(signed_distance, a, b)
    return found.flipped() if turned else found  # type: ignore[no-any-return]


def distance_once(a: Solid, b: Solid) -> Any:
    """The distance alone: with less code than all of it."""
    return _called(_distance, a, b)[0]


def within_once(a: Solid, b: Solid, distance: Any) -> Any:
    """The same as `within`."""
    return _called(within, a, b, distance)[0]


def within_called(a: Solid, b: Solid, distance: Any) -> Any:
    """The same, of any length: for code in which many pairs of two kinds are written out, and few are measured."""
    return _called(within, a, b, distance, written_out=False)[0]


def _distance(a: Solid, b: Solid) -> Any:
    return signed_distance(a, b).distance


def _called(function: Callable[..., Any], a: Solid, b: Solid, *more: Any, written_out: bool = True) -> tuple[Any, bool]:
    """A function of two solids and numbers, and whether it was called with the two in the other order; closed forms are
    ``written_out``."""
    types = type(a.core), type(b.core)
    if FieldCore in types or (written_out and is_closed_form(*types)):
        return function(a, b, *more), False
    kinds = [kind_of(one.core) for one in (a, b)]
    turned = _order(kinds[1]) < _order(kinds[0])
    if turned:
        a, b, kinds = b, a, kinds[::-1]

    def of_rows(x: Any, y: Any, *more: Any) -> Any:
        return function(kinds[0].solid([*x]).solid, kinds[1].solid([*y]).solid, *more)

    return call(of_rows, *(solid_row(one, kind, 0.0) for one, kind in zip((a, b), kinds, strict=True)), *more), turned


def _order(kind: SolidKind) -> tuple[int, int]:
    return KINDS.index(kind.core), kind.vertices
