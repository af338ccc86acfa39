"""Newton's method and fixed-point iteration, differentiated by the implicit function theorem.

With r(x, p) = 0, dx = −(∂r/∂x)⁻¹ ∂r/∂p dp, independent of the iterations that led to x: see `ImplicitDerivative`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, NamedTuple

import numpy as np

from linkwork._util.cached_properties import cached_property
from linkwork._util.checked_arguments import public
from linkwork.expr.arrays.pytree import (
    Leaf,
    TreeDef,
    flatten,
    leaf_paths,
    num_elements,
    tree_map,
    unflatten,
)
from linkwork.expr.arrays.symbol_array import floats
from linkwork.expr.autodiff.custom_derivative import ImplicitDerivative, Solution, apply_rule
from linkwork.expr.autodiff.dual_numbers import Dual, order_of, parts, seeded, value_of
from linkwork.expr.control.closure_conversion import Residual, close_over, function_label, graph_of, inner_symbols
from linkwork.expr.control.flat_values import is_truth
from linkwork.expr.control.loop_instruction import NOT_A_NUMBER
from linkwork.expr.control.loops import while_loop
from linkwork.expr.control.numeric_loops import read_count
from linkwork.expr.linalg.factorizations import METHODS
from linkwork.expr.linalg.linear_solve import Solve
from linkwork.expr.linalg.sparse_dot import dot, negated, rows_of, transposed
from linkwork.expr.scalar.block import Region
from linkwork.expr.scalar.float_limits import by_type
from linkwork.expr.scalar.functions import and_, eq, fabs, fmax, le, lt, not_, or_, where

__all__ = ["Root", "fixed_point", "monotone_root", "nearby_fixed_point", "root"]

_SINGULAR = 3.0  # status of a singular Jacobian, in addition to those of loops
_PREDICTED = 0.125  # of the tolerance: a predicted step that is not taken, whose errors add up over many solutions
_NEAR = 1e-4  # relative step: below it, a step that is not smaller than the one before is rounding
_ROUNDING = by_type(1e-10)  # relative step of a line search: below it, a step that is not halved is rounding
_SMALL = by_type(1e-8)  # relative step below which there is no line search: its residuals differ by rounding
_MAX_SLOPE_SHARE = 0.5  # |g(s)| / g(0) at which the line search accepts a step
_MAX_BISECTIONS = 40

_Correction = tuple[Sequence[Any], Any]  # (what to subtract from x; 0 or the status that ends the iteration)


class Root(NamedTuple):
    """Result of `root` and `fixed_point`.

    ``status`` is 0 where ``value`` is a solution, 1 where the iteration reached ``max_iterations``, 2 where a value was
    not finite, 3 where the Jacobian was singular.  For 2 and 3, ``value`` is the last iterate before that.
    """

    value: Any
    iterations: Any
    status: Any


@public
def root(residual: Callable[[Any], Any], start: Any, *, max_iterations: int = 50, tolerance: float = 1e-10) -> Root:
    """Solve ``residual(x) = 0`` by Newton's method from ``start``.

    The start is an array, a number, or these nested.  The residual has as many elements as the start, and may use any
    variable in scope.  The iteration ends with a step in which no element moves by more than ``tolerance``·(1 + |x|),
    or, at the limit of rounding, with a small step that is not smaller than the one before.  The derivative of the
    solution with respect to all values that the residual uses follows from the implicit function theorem; the
    derivative with respect to the start is zero.

    >>> from linkwork.expr import root
    >>> root(lambda x: x * x - 2.0, 1.0)
    Root(value=1.4142135623730951, iterations=5, status=0)

    Raises TypeError for a residual of another size, ValueError for an invalid ``max_iterations`` or ``tolerance``.
    """
    return _solve("root", residual, start, max_iterations, tolerance, is_fixed_point=False)


def monotone_root(
    residual: Callable[[Any], Any],
    start: Any,
    *,
    max_iterations: int,
    tolerance: float,
    like: Callable[[Any], Any] | None = None,
) -> Root:
    """Solve ``residual(x) = 0`` for a monotone residual, such as the gradient of a convex function.

    A line search shortens Newton steps that overshoot, so strongly curved residuals converge from a distant start.
    ``like`` is a function that is cheaper to differentiate and has nearly the same Jacobian: steps use the Jacobian of
    ``like``.
    """
    return _solve("root", residual, start, max_iterations, tolerance, is_fixed_point=False, line_search=True, like=like)


@public
def fixed_point(step: Callable[[Any], Any], start: Any, *, max_iterations: int = 500, tolerance: float = 1e-12) -> Root:
    """Solve ``step(x) = x`` by fixed-point iteration from ``start``.

    Arguments (``max_iterations``, ``tolerance``), termination and derivative are as for `root`. The status 3, a
    singular Jacobian, does not occur, since no linear system is solved.

    >>> from linkwork.expr import cos, fixed_point
    >>> round(fixed_point(cos, 1.0).value, 9)
    0.739085133
    """
    return _solve("fixed_point", step, start, max_iterations, tolerance, is_fixed_point=True)


def nearby_fixed_point(step: Callable[[Any], Any], start: Any, *, max_iterations: int, tolerance: float) -> Root:
    """Solve ``step(x) = x`` like `fixed_point`, for iterations whose rate of convergence is proportional to |x|.

    Newton's method with the Jacobian of x = 0 is such an iteration.  The iteration also ends if the next step is
    expected to be below an eighth of the tolerance, typically one step earlier.  The expected rate of convergence is
    the larger of |x| and the ratio of the last two steps.
    """
    return _solve("fixed_point", step, start, max_iterations, tolerance, is_fixed_point=True, is_nearby=True)


def _solve(
    caller: str,
    function: Callable[[Any], Any],
    start: Any,
    max_iterations: int,
    tolerance: float,
    *,
    is_fixed_point: bool,
    line_search: bool = False,
    like: Callable[[Any], Any] | None = None,
    is_nearby: bool = False,
) -> Root:
    max_iterations = read_count(f"{caller}: max_iterations", max_iterations)
    if not (isinstance(tolerance, (int, float)) and 0.0 <= tolerance < math.inf):
        raise ValueError(f"{caller}: tolerance: expected a number >= 0 that is known at trace time, got {tolerance!r}")
    scalars, form = flatten(start, f"{caller}: start")
    if any(map(is_truth, scalars)):
        raise TypeError(f"{caller}: start: expected numbers, got a truth value")
    first = [value_of(x) for x in scalars]
    if not first:
        return Root(start, 0, 0)

    def residual(x: Sequence[Any]) -> list[Any]:
        result = _elements(caller, function, function(unflatten(form, x)), form)
        return [a - b for a, b in zip(result, x, strict=True)] if is_fixed_point else result

    def like_residual(x: Sequence[Any]) -> list[Any]:
        assert like is not None
        return _elements(caller, like, like(unflatten(form, x)), form)

    def residual_value(x: Sequence[Any]) -> list[Any]:
        return [value_of(r) for r in residual(x)]

    def correction(x: Sequence[Any]) -> _Correction:
        if is_fixed_point:
            return _newton_correction(residual_value(x), None)
        if like is not None:
            return _newton_correction(residual_value(x), _linearized(like_residual, x)[1])
        return _newton_correction(*_linearized(residual, x))

    with np.errstate(all="ignore"):
        graph = graph_of(first)
        reached = residual(first) if graph is None else []  # it may return symbols where the start has none
        graph = graph_of(map(value_of, reached)) if graph is None else graph
        if graph is None:
            searched = residual_value if line_search else None
            x, done, status = _iterate(correction, first, max_iterations, float(tolerance), searched, is_nearby)
        else:
            fresh = inner_symbols(graph, f"the unknowns of {caller} of {function_label(function)}", len(first))
            reached = residual(fresh)
            body, outside = close_over(fresh, list(map(value_of, reached)))
            near, not_near = (
                (None, []) if like is None else close_over(fresh, [value_of(r) for r in like_residual(fresh)])
            )
            options = is_fixed_point, line_search, near, is_nearby
            rule = _RootRule(body, len(first), max_iterations, float(tolerance), *options)
            *x, done, status = apply_rule(rule, [*first, *outside, *not_near])
        orders = max(map(order_of, reached))
        _, rows = _linearized(residual, x) if orders else ([], [])
        for _ in range(orders):  # each Newton step makes the derivatives of one more order exact
            x = [a - d for a, d in zip(x, _linear_solve(rows, residual(x))[0], strict=True)]
    if status.__class__ is float:
        status = int(status)
    return Root(unflatten(form, x, floats if graph is None else None), done, status)


def _elements(caller: str, function: Callable[[Any], Any], value: Any, form: TreeDef | Leaf) -> list[Any]:
    """Return the elements of a residual that the user's ``function`` returned, in the order of the unknowns.

    Each element of a batch is an array of all samples.  Raises TypeError unless there are as many numbers as unknowns.
    """
    name = f"{caller}: result of {function_label(function)}"
    leaves: list[Any] = []
    tree_map(leaves.append, value)
    shapes = [leaf.shape for _, leaf in leaf_paths(form)]
    if len(leaves) != len(shapes):
        result, _ = flatten(value, name)
    else:
        parts_of = [
            _columns(leaf, len(shape)) if _is_batch(leaf, shape) else flatten(leaf, name)[0]
            for leaf, shape in zip(leaves, shapes, strict=True)
        ]
        result = [x for part in parts_of for x in part]
    if len(result) != num_elements(form) or any(map(is_truth, result)):
        expected = (
            f"expected {function_label(function)} to return as many numbers as the start has, {num_elements(form)}"
        )
        raise TypeError(f"{caller}: {expected}, got {value!r}")
    return [_bare(x) for x in result]


def _bare(x: Any) -> Any:
    """Return the batch that is the only element of a 0-dimensional object array; return other values unchanged."""
    if isinstance(x, Dual):
        return Dual(_bare(x.value), _bare(x.tangent), x.level)
    return _bare(x.item()) if isinstance(x, np.ndarray) and x.dtype == object and not x.ndim else x


def _is_batch(value: Any, shape: tuple[int, ...]) -> bool:
    """Return True for a float array with sample dimensions before its own ``shape``."""
    own_dims = np.ndim(value) - len(shape)
    return isinstance(value, np.ndarray) and value.dtype != object and own_dims > 0 and value.shape[own_dims:] == shape


def _columns(batch: np.ndarray, dimensions: int) -> list[Any]:
    """Split a batch of arrays with ``dimensions`` dimensions into their elements, each an array of all samples."""
    samples = batch.shape[: batch.ndim - dimensions]
    return list(np.moveaxis(batch.reshape(*samples, -1), -1, 0))


def _linearized(residual: Callable[[Sequence[Any]], list[Any]], x: Sequence[Any]) -> tuple[list[Any], list[list[Any]]]:
    """Return the residual and the rows of its Jacobian at x, both without dual components."""
    values: list[Any] = []
    columns = []
    for k in range(len(x)):
        moving = seeded(x, [1.0 if j == k else 0.0 for j in range(len(x))])
        result = [parts(r, moving[0].level) for r in residual(moving)]
        values = [value_of(r) for r, _ in result]
        columns.append([value_of(d) for _, d in result])
    return values, transposed(columns)


def _linear_solve(rows: Sequence[Sequence[Any]], column: Sequence[Any]) -> tuple[list[Any], Any]:
    """Return the solution of a square linear system and its status: 0, or a positive number for a singular matrix."""
    n = len(column)
    result = apply_rule(
        Solve("root", METHODS["gen"], n, 1, with_status=True), [*(x for row in rows for x in row), *column]
    )
    return result[:n], result[n]


def _newton_correction(values: Sequence[Any], rows: Sequence[Sequence[Any]] | None) -> _Correction:
    """Return the Newton correction J⁻¹ r of a residual r with Jacobian J; −r if J is None (fixed point)."""
    total = _sum(values)
    wrong = where(eq(total, total), 0.0, NOT_A_NUMBER)
    if rows is None:
        return [-r for r in values], wrong
    result, status = _linear_solve(rows, values)
    return result, where(and_(eq(wrong, 0.0), lt(0.0, status)), _SINGULAR, wrong)


def _iterate(
    correction: Callable[[Sequence[Any]], _Correction],
    start: Sequence[Any],
    max_iterations: int,
    tolerance: float,
    residual: Callable[[Sequence[Any]], Sequence[Any]] | None = None,
    is_nearby: bool = False,
) -> tuple[list[Any], Any, Any]:
    """Iterate x ← x − correction(x).  Return (last x, number of iterations, status).

    With a ``residual``, a line search shortens steps that overshoot.  ``is_nearby`` selects the termination of
    `nearby_fixed_point`.
    """

    def more(state: Any) -> Any:
        x, moved, before, _ = state
        less = lt(moved, before)
        if residual is not None:  # Newton steps, which shrink quadratically down to rounding
            less = and_(less, or_(lt(_ROUNDING, moved), lt(2.0 * moved, before)))
        going = and_(lt(tolerance, moved), or_(lt(_NEAR, moved), less))
        if is_nearby:
            next_moved = moved * reduce(fmax, map(fabs, x), moved / before)
            going = and_(going, not_(and_(lt(before, math.inf), le(next_moved, _PREDICTED * tolerance))))
        return going

    def step(state: Any) -> Any:
        x, before, _, _ = state
        change, status = correction(x)
        is_finite = and_(eq(status, 0.0), lt(_sum([fabs(d) for d in change]), math.inf))
        moved: Any = 0.0
        for a, d in zip(x, change, strict=True):
            moved = fmax(moved, fabs(d) / (1.0 + fabs(a)))
        if residual is not None:
            share = _line_search(residual, x, change, and_(is_finite, lt(_SMALL, moved)))
            change = [share * d for d in change]
            moved = where(lt(share, 1.0), fmax(moved, 2.0 * _NEAR), moved)  # a shortened step never ends it
        x = tuple(where(is_finite, a - d, a) for a, d in zip(x, change, strict=True))
        status = where(or_(is_finite, lt(0.0, status)), status, NOT_A_NUMBER)
        return x, where(is_finite, moved, 0.0), before, status

    result = while_loop(more, step, (tuple(start), math.inf, math.inf, 0.0), max_iterations=max_iterations)
    x, _, _, wrong = result.state
    return list(x), result.iterations, where(eq(wrong, 0.0), result.status, wrong)


def _line_search(
    residual: Callable[[Sequence[Any]], Sequence[Any]], x: Sequence[Any], change: Sequence[Any], enabled: Any
) -> Any:
    """Return the fraction s of a Newton step δ that avoids overshooting: x changes by −s δ.

    s is 1, or where g(s) = δᵀ r(x − s δ) is near zero.  For the gradient r of a convex function, g decreases along a
    Newton step from g(0) > 0, and its zero is the function's minimum on that line: no step increases the distance to
    the solution, however r is curved.  The fraction is 1 where g(0) <= 0 or ``enabled`` is false.
    """

    def slope(share: Any) -> Any:
        return dot(change, residual([a - share * d for a, d in zip(x, change, strict=True)]))

    first = dot(change, residual(x))
    first = where(and_(enabled, lt(0.0, first)), first, 0.0)
    max_slope = _MAX_SLOPE_SHARE * first

    def beyond(g: Any) -> Any:
        return not_(le(-max_slope, g))  # true for NaN

    def more(state: Any) -> Any:
        share, g, _, _ = state
        return or_(beyond(g), and_(lt(share, 1.0), lt(max_slope, g)))

    def halved(state: Any) -> Any:
        share, g, low, high = state
        far = beyond(g)
        low, high = where(far, low, share), where(far, share, high)
        share = 0.5 * (low + high)
        return share, slope(share), low, high

    whole = where(lt(0.0, first), slope(1.0), 0.0)
    return while_loop(more, halved, (1.0, whole, 0.0, 1.0), max_iterations=_MAX_BISECTIONS).state[0]


@dataclass(frozen=True)
class _RootRule(ImplicitDerivative):
    """Derivative rule for the solution x of r(x, p) = 0, where p are parameters.

    The inputs are the initial value of x, then p, then the parameters of ``like``. ``like`` is an optional function
    whose Jacobian approximates that of r; its parameters may differ from p. The results are x, the number of iterations
    and the status.
    """

    body: Region  # r of x and p
    unknowns: int
    max_iterations: int
    tolerance: float
    is_fixed_point: bool  # r = step(x) − x is added to x
    line_search: bool = False
    like: Region | None = None  # function with nearly the Jacobian of r, of x and inputs of its own
    is_nearby: bool = False

    @property
    def size(self) -> int:
        return self.unknowns

    @property
    def ignored(self) -> int:
        return self.unknowns

    @cached_property
    def _residual(self) -> Residual:
        return Residual(self.body, self.size, self.size)

    @cached_property
    def _like_residual(self) -> Residual:
        assert self.like is not None
        return Residual(self.like, self.size, self.size)

    def compute(self, inputs: Sequence[Any]) -> tuple[Sequence[Any], Sequence[Any]]:
        n = self.size
        p, constants = self._parameters(inputs), inputs[self.body.elements_in :]

        def residual(x: Sequence[Any]) -> Sequence[Any]:
            return self.body.run([*x, *p])

        def correction(x: Sequence[Any]) -> _Correction:
            if self.is_fixed_point:
                return _newton_correction(residual(x), None)
            if self.like is not None:
                return _newton_correction(residual(x), rows_of(self._like_residual.linear.run([*x, *constants])[n:], n))
            result = self._residual.linear.run([*x, *p])
            return _newton_correction(result[:n], rows_of(result[n:], n))

        searched = residual if self.line_search else None
        limits = self.max_iterations, self.tolerance
        x, done, status = _iterate(correction, inputs[:n], *limits, searched, self.is_nearby)
        return [*x, done, status], []

    def residual_jvp(self, at: Solution, direction: Sequence[Any]) -> Sequence[Any]:
        return [-x for x in self._residual.jvp.run([*self._at(at), *self._parameters(direction)])]

    def residual_vjp(self, at: Solution, multipliers: Sequence[Any]) -> Sequence[Any]:
        result = self._residual.vjp.run([*self._at(at), *multipliers])
        return [*[0.0] * self.size, *negated([result])[0], *[0.0] * (len(at.inputs) - self.body.elements_in)]

    def solve_jacobian(self, at: Solution, right: Sequence[Any], transpose: bool) -> Sequence[Any]:
        J = rows_of(self._residual.linear.run(self._at(at))[self.size :], self.size)
        return _linear_solve(transposed(J) if transpose else J, right)[0]

    def _parameters(self, inputs: Sequence[Any]) -> Sequence[Any]:
        """Return the part of the rule's inputs that are the parameters p of the residual."""
        return inputs[self.size : self.body.elements_in]

    def _at(self, at: Solution) -> list[Any]:
        """Return the arguments of the residual r(x, p) as one list: the elements of x, then those of p."""
        return [*at.results[: self.size], *self._parameters(at.inputs)]


def _sum(values: Sequence[Any]) -> Any:
    total: Any = 0.0
    for x in values:
        total = total + x
    return total
