"""Equations solved by iteration over any scalar: roots by Newton's method, and fixed points.

Derivatives are those of the solution, whatever the way to it was: see `implicit`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from linkwork._util.checked_arguments import public
from linkwork.expr.arrays.pytree import (
    Form,
    Leaf,
    leaves_of,
    mapped,
    put_together,
    size_of,
    taken_apart,
)
from linkwork.expr.arrays.symbol_array import floats
from linkwork.expr.autodiff.custom_derivative import ruled
from linkwork.expr.autodiff.dual_numbers import Dual, order_of, parts, seeded, value_of
from linkwork.expr.control.closure_conversion import closed, graph_of, is_truth, lent, named
from linkwork.expr.control.numeric_loops import bound
from linkwork.expr.equations.implicit_function import Correction, Implicit, corrected, iterated, solved
from linkwork.expr.linalg.sparse_dot import transposed

__all__ = ["Root", "fixed_point", "monotone_root", "root"]


class Root(NamedTuple):
    """What `root` and `fixed_point` found.

    ``status`` is 0 where it is a solution, 1 where ``max_iterations`` steps did not lead to one, 2 where something was
    no finite number, and 3 where the Jacobian was singular; the value is then the last one before that.
    """

    value: Any
    iterations: Any
    status: Any


@public
def root(residual: Callable[[Any], Any], start: Any, *, max_iterations: int = 50, tolerance: float = 1e-10) -> Root:
    """An x with ``residual(x) = 0``, by Newton's method from a start.

    The start is an array, a number, or these nested; the residual is as many numbers, and may use anything around it.
    It ends with a step in which no number moves by more than ``tolerance``·(1 + |x|), or with one that is small and no
    smaller than the one before it, as rounding makes it.  The derivative is that of the solution by all that the
    residual uses; by the start it is zero.

    >>> from linkwork.expr import root
    >>> root(lambda x: x * x - 2.0, 1.0)
    Root(value=1.4142135623730951, iterations=5, status=0)

    Raises TypeError where the residual is another number of numbers, ValueError for a bound that is none.
    """
    return _found("root", residual, start, max_iterations, tolerance, plain=False)


def monotone_root(
    residual: Callable[[Any], Any],
    start: Any,
    *,
    max_iterations: int,
    tolerance: float,
    like: Callable[[Any], Any] | None = None,
) -> Root:
    """As `root`, of a residual that grows with x as the gradient of a convex function does, or nearly so.

    Steps are cut short where the residual says that they lead too far, so what bends sharply is found from far away.
    ``like`` is a function that varies nearly as the residual does: then steps are by its Jacobian, which takes less.
    """
    return _found("root", residual, start, max_iterations, tolerance, plain=False, searched=True, like=like)


@public
def fixed_point(step: Callable[[Any], Any], start: Any, *, max_iterations: int = 500, tolerance: float = 1e-12) -> Root:
    """An x with ``step(x) = x``, by doing the step again and again.

    Start, step, end and derivative are as for `root`, and there is no status 3: no equations are solved on the way.

    >>> from linkwork.expr import cos, fixed_point
    >>> round(fixed_point(cos, 1.0).value, 9)
    0.739085133
    """
    return _found("fixed_point", step, start, max_iterations, tolerance, plain=True)


def _found(
    what: str,
    function: Callable[[Any], Any],
    start: Any,
    max_iterations: int,
    tolerance: float,
    *,
    plain: bool,
    searched: bool = False,
    like: Callable[[Any], Any] | None = None,
) -> Root:
    most = bound(f"{what}: max_iterations", max_iterations)
    if not (isinstance(tolerance, (int, float)) and 0.0 <= tolerance < math.inf):
        raise ValueError(f"{what}: tolerance: expected a number >= 0, known in advance, got {tolerance!r}")
    scalars, form = taken_apart(start, f"{what}: start")
    if any(map(is_truth, scalars)):
        raise TypeError(f"{what}: start: expected numbers, got a truth value")
    first = [value_of(x) for x in scalars]
    if not first:
        return Root(start, 0, 0)

    def residual(x: Sequence[Any]) -> list[Any]:
        result = _elements(what, function, function(put_together(form, x)), form)
        return [a - b for a, b in zip(result, x, strict=True)] if plain else result

    def alike(x: Sequence[Any]) -> list[Any]:
        assert like is not None
        return _elements(what, like, like(put_together(form, x)), form)

    def plainly(x: Sequence[Any]) -> list[Any]:
        return [value_of(r) for r in residual(x)]

    def correction(x: Sequence[Any]) -> Correction:
        if plain:
            return corrected(plainly(x), None)
        if like is not None:
            return corrected(plainly(x), _linearized(alike, x)[1])
        return corrected(*_linearized(residual, x))

    with np.errstate(all="ignore"):
        probe = residual(first)
        graph = graph_of([*first, *map(value_of, probe)])
        if graph is None:
            x, done, status = iterated(correction, first, most, float(tolerance), plainly if searched else None)
        else:
            fresh = lent(graph, f"the unknowns of {what} of {named(function)}", len(first))
            body, outside = closed(fresh, plainly(fresh))
            near, others = (None, []) if like is None else closed(fresh, [value_of(r) for r in alike(fresh)])
            rule = Implicit(body, len(first), most, float(tolerance), plain, searched, near)
            *x, done, status = ruled(rule, [*first, *outside, *others])
        orders = max(map(order_of, probe))
        _, rows = _linearized(residual, x) if orders else ([], [])
        for _ in range(orders):  # each takes derivatives of one order more to where they belong
            x = [a - d for a, d in zip(x, solved(rows, residual(x))[0], strict=True)]
    if status.__class__ is float:
        status = int(status)
    return Root(put_together(form, x, floats if graph is None else None), done, status)


def _elements(what: str, function: Callable[[Any], Any], value: Any, form: Form | Leaf) -> list[Any]:
    """The residual's numbers, of a batch for all samples each."""
    caller = f"{what}: what {named(function)} returns"
    leaves: list[Any] = []
    mapped(leaves.append, value)
    shapes = [leaf.shape for _, leaf in leaves_of(form)]
    if len(leaves) != len(shapes):
        result, _ = taken_apart(value, caller)
    else:
        parts_of = [
            _columns(leaf, len(shape)) if _is_batch(leaf, shape) else taken_apart(leaf, caller)[0]
            for leaf, shape in zip(leaves, shapes, strict=True)
        ]
        result = [x for part in parts_of for x in part]
    if len(result) != size_of(form) or any(map(is_truth, result)):
        expected = f"{what}: {named(function)} must return as many numbers as the start has, {size_of(form)}"
        raise TypeError(f"{expected}: got {value!r}")
    return [_bare(x) for x in result]


def _bare(x: Any) -> Any:
    """A number without the array of no dimension that batches in arrays of objects come in."""
    if isinstance(x, Dual):
        return Dual(_bare(x.value), _bare(x.tangent), x.level)
    return _bare(x.item()) if isinstance(x, np.ndarray) and x.dtype == object and not x.ndim else x


def _is_batch(value: Any, shape: tuple[int, ...]) -> bool:
    """Whether this is an array of plain numbers for each sample, in dimensions before its own."""
    own = np.ndim(value) - len(shape)
    return isinstance(value, np.ndarray) and value.dtype != object and own > 0 and value.shape[own:] == shape


def _columns(batch: np.ndarray, dimensions: int) -> list[Any]:
    """The numbers of arrays of so many dimensions, for all samples each."""
    samples = batch.shape[: batch.ndim - dimensions]
    return list(np.moveaxis(batch.reshape(*samples, -1), -1, 0))


def _linearized(residual: Callable[[Sequence[Any]], list[Any]], x: Sequence[Any]) -> tuple[list[Any], list[list[Any]]]:
    """The residual's values and the rows of its Jacobian, without derivatives of their own."""
    values: list[Any] = []
    columns = []
    for k in range(len(x)):
        given = seeded(x, [1.0 if j == k else 0.0 for j in range(len(x))])
        result = [parts(r, given[0].level) for r in residual(given)]
        values = [value_of(r) for r, _ in result]
        columns.append([value_of(d) for _, d in result])
    return values, transposed(columns)
