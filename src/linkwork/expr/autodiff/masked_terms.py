"""Masked terms of derivatives: a branch that is not selected contributes zero, even if its derivative is not finite.

A term that counts only under a condition is first multiplied, then masked: p · where(c, d, 0) becomes where(c, p·d, 0),
so 0 · ∞ does not occur.  `Graph.masks` records the condition of each masked term.  A term without a condition is not
masked, so NaN of a selected branch stays NaN.

A conditional term that enters or leaves a body is followed by a flag, a number that is 1 where the term counts and 0
elsewhere.  Derivatives do not depend on flags, so masks are correct for derivatives of every order.  Floats and batches
have no record: a number counts where it is not zero.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import reduce
from operator import mul
from typing import Any

import numpy as np

from linkwork.expr.scalar import functions as f
from linkwork.expr.scalar.multi_result import Forward, SparseRow
from linkwork.expr.scalar.operations import BY_NAME
from linkwork.expr.scalar.symbol import Symbol

__all__ = [
    "chosen",
    "condition_of",
    "flagged",
    "is_conditional",
    "masked",
    "negated",
    "pull_back",
    "push_forward",
    "scaled",
    "selected",
    "summed",
    "terms_of_body",
]

_AND, _NOT = BY_NAME["and_"], BY_NAME["not_"]


def condition_of(term: Any) -> Symbol | None:
    """Return the condition under which a term of a derivative is not zero; None if the term is not masked."""
    return _split(term)[1]


def is_conditional(term: Any) -> bool:
    """Return True if a term of a derivative is masked: a symbol with a recorded condition, or the number zero."""
    return condition_of(term) is not None or _is_none(term)


def _is_none(term: Any) -> bool:
    return term.__class__ is float and bool(term == 0.0)


def masked(term: Any, condition: Any) -> Any:
    """Return ``term`` where ``condition`` is true, and 0.0 elsewhere."""
    if hasattr(term.__class__, "each"):
        return term.each(lambda x: masked(x, condition))
    if condition.__class__ is not Symbol:
        return f.where(condition, term, 0.0)
    inner, condition_of_term = _split(term)
    on = condition if condition_of_term is None else _both(condition_of_term, condition)
    to_apply = condition if inner is term else on  # a term that is not masked is zero where it does not count
    opposite = to_apply.op is _NOT
    return _recorded(f.where(to_apply.args[0], 0.0, inner) if opposite else f.where(to_apply, inner, 0.0), inner, on)


def flagged(terms: Iterable[Any], are_conditional: Iterable[bool]) -> list[Any]:
    """Return derivative terms as numbers, which the code of a loop or branch can accept and return.

    A term whose flag in ``are_conditional`` is True is followed by a further number: 1 where the term's condition is
    true, else 0.
    """
    result: list[Any] = []
    for term, conditional in zip(terms, are_conditional, strict=True):
        result.append(term)
        if conditional:
            on = condition_of(term)
            result.append((0.0 if _is_none(term) else 1.0) if on is None else f.where(on, 1.0, 0.0))
    return result


def terms_of_body(elements: Iterator[Any], are_conditional: Iterable[bool]) -> Iterator[Any]:
    """Yield derivative terms from numbers that `flagged` returned.

    A conditional term is masked where its flag is zero.
    """
    for conditional in are_conditional:
        term = next(elements)
        if conditional:
            on = f.not_(f.eq(next(elements), 0.0))
            if on.__class__ is Symbol:
                _recorded(term, term, on)
        yield term


def scaled(term: Any, factor: Any, by: Callable[[Any, Any], Any] = mul, *, bounded: bool = False) -> Any:
    """Return the product of a term and a factor, or with ``by`` the term divided by the factor; both may be masked.

    A ``bounded`` factor is infinite only where the differentiated value is not finite, so its product needs no mask.
    """
    if term.__class__ is Symbol and not term.graph.masks:  # most traces
        return by(term, factor)
    scale = getattr(term.__class__, "scaled_term", None) or getattr(factor.__class__, "scaled_term", None)
    if scale is not None:
        return scale(term, factor, by)
    (inner, on), (inner_factor, factor_condition) = _split(term), _split(factor)
    if on is None and factor_condition is None:
        return _product(term, factor, by)
    is_constant = inner is term and factor.__class__ is float and 0.0 < abs(factor) < math.inf
    if on is not None and (bounded or is_constant):  # the product is zero where it does not count
        product = by(term, factor)
        return product if product is term else _recorded(product, product, on)
    product = by(inner, inner_factor)
    for condition in (on, factor_condition):
        product = product if condition is None else masked(product, condition)
    return product


def negated(term: Any) -> Any:
    """Return a derivative term with the opposite sign, under the same condition."""
    inner, on = _split(term)
    if on is None:
        return -term
    return _recorded(-inner, -inner, on) if inner is term else masked(-inner, on)


def summed(left: Any, right: Any) -> Any:
    """Return the sum of two derivative terms; it is masked only where both terms are."""
    if left.__class__ is Symbol and not left.graph.masks:
        return left + right
    (a, on_a), (b, on_b) = _split(left), _split(right)
    if on_a is None or on_b is None:
        return left + right
    if on_a is on_b:
        total = a + b
        return _recorded(total, total, on_a) if a is left and b is right else masked(total, on_a)
    on, choice = _either(on_a, on_b)
    if choice is None:
        total = left + right
        return total if on is None else _recorded(total, total, on)
    total = f.where(choice.args[0], b, a) if choice.op is _NOT else f.where(choice, a, b)
    return total if on is None else masked(total, on)


def chosen(partials: Sequence[Any], terms: Sequence[Any]) -> Any:
    """Return the derivative term of a selection between two values, such as ``where`` or a maximum.

    ``partials`` are the operation's partial derivatives, and ``terms`` the arguments' terms.  The last two elements of
    each belong to the two values.
    """
    (a, b), (partial, second_partial) = terms[-2:], partials[-2:]
    kind = next((x.__class__ for x in (a, b) if hasattr(x.__class__, "each") and hasattr(x.__class__, "row")), None)
    if kind is not None:
        rows = [x.row if x.__class__ is kind else {} for x in (a, b)]
        return kind({k: chosen(partials, [row.get(k, 0.0) for row in rows]) for k in {**rows[0], **rows[1]}})
    if partial.__class__ is Symbol and all(x.__class__ is Symbol and condition_of(x) is None for x in (a, b)):
        condition, alternative, _ = partial.args  # most choices
        return f.where(condition, a, b) if alternative.value == 1.0 else f.where(condition, b, a)
    return summed(selected(a, partial), selected(b, second_partial))


def selected(term: Any, partial: Any) -> Any:
    """Return an argument's term, masked: ``partial`` is 1 where the operation selects the argument, and 0 elsewhere."""
    if partial.__class__ is not Symbol:
        return 0.0 if partial.__class__ is float and partial == 0.0 else masked(term, f.eq(partial, 1.0))
    condition, alternative, _ = partial.args
    return masked(term, condition if alternative.value == 1.0 else f.not_(condition))


def push_forward(
    bundle: Forward, arguments: Sequence[Any], results: Sequence[Any], rows: Sequence[SparseRow]
) -> Sequence[SparseRow]:
    """Return the sparse derivatives of an instruction's results by `MultiResult.push_forward`, masked where possible.

    In a direction in which all arguments' derivatives are masked, the results are zero where all of them are.
    """
    derivatives = bundle.push_forward(arguments, results, rows)
    terms: dict[Any, list[Any]] = {}
    for row in rows:
        for key, x in row.items():
            terms.setdefault(key, []).append(x)
    on = {key: _some_count(row_terms) for key, row_terms in terms.items()}
    if not any(condition is not None for condition in on.values()):
        return derivatives
    return [{key: x if on.get(key) is None else masked(x, on[key]) for key, x in row.items()} for row in derivatives]


def pull_back(
    gradient: Callable[[Sequence[Any]], Sequence[Any]], weights: Sequence[Any], *, apart: bool = False
) -> list[Any]:
    """Return ``gradient(weights)``, a linear function of the weights, masked where all weights are masked.

    With ``apart``, the function is called once for each condition of weights, and the results are added.
    """
    total: list[Any] = []
    for group in _by_condition(weights) if apart else [weights]:
        on = _some_count(group)
        result = [x if on is None or _is_none(x) else masked(x, on) for x in gradient(group)]
        total = [_sum_of_nonzero(x, y) for x, y in zip(total, result, strict=True)] if total else result
    return total


def _by_condition(weights: Sequence[Any]) -> list[Sequence[Any]]:
    """Split weights into lists of the same length, one for each condition under which weights are not masked.

    The sum of the lists equals the weights.
    """
    conditions = [condition_of(weight) for weight in weights]
    counting = [
        on for on, weight in zip(conditions, weights, strict=True) if on is not None or not is_conditional(weight)
    ]
    different = {id(on): on for on in counting}
    if len(different) <= 1:
        return [weights]
    return [[w if on is x else 0.0 for w, x in zip(weights, conditions, strict=True)] for on in different.values()]


def _sum_of_nonzero(left: Any, right: Any) -> Any:
    return right if _is_none(left) else left if _is_none(right) else summed(left, right)


def _some_count(terms: Iterable[Any]) -> Symbol | None:
    """Return the condition under which at least one of the terms is not masked; None if one is never masked."""
    conditions: dict[int, Symbol] = {}
    for term in terms:
        on = condition_of(term)
        if on is not None:
            conditions[on.index] = on
        elif not is_conditional(term):
            return None
    result: Symbol | None = None
    for on in conditions.values():
        result = on if result is None else _either(result, on)[0]
        if result is None:
            return None
    return result


_MAX_LITERALS = 12  # a condition of more parts is simplified in some of them only


def _literals(condition: Symbol) -> dict[int, Symbol]:
    """Return the parts of a conjunction, which are all true if ``condition`` is true, by index in the graph."""
    result: dict[int, Symbol] = {}
    waiting = [condition]
    while waiting:
        literal_source = waiting.pop()
        if literal_source.op is _AND and len(result) + len(waiting) < _MAX_LITERALS:
            waiting += literal_source.args
        else:
            result[literal_source.index] = literal_source
    return result


def _both(left: Symbol, right: Symbol) -> Symbol:
    have = _literals(left)
    for index, condition in _literals(right).items():
        if index not in have:
            left = f.and_(left, condition)
    return left


def _either(left: Symbol, right: Symbol) -> tuple[Symbol | None, Symbol | None]:
    """Return the disjunction of two conditions, None if always true, and a condition that separates them.

    The separating condition is one of the conditions of ``left``; its negation is one of ``right``'s.  It is None if
    there is no such condition, or more than one.
    """
    a, b = _literals(left), _literals(right)
    only_one, only_other = ([c for index, c in p.items() if index not in q] for p, q in ((a, b), (b, a)))
    if not only_one or not only_other:
        return (right if only_one else left), None
    x, y = only_one[0], only_other[0]
    opposite = (x.op is _NOT and x.args[0] is y) or (y.op is _NOT and y.args[0] is x)
    if len(only_one) > 1 or len(only_other) > 1 or not opposite:
        return f.or_(left, right), None
    common = [condition for index, condition in a.items() if index in b]
    return (reduce(f.and_, common) if common else None), x


def _split(term: Any) -> tuple[Any, Symbol | None]:
    """Return a derivative term without its mask, and the condition under which it is not zero (None without a mask)."""
    return term.graph.masks.get(term.index, (term, None)) if term.__class__ is Symbol else (term, None)


def _recorded(node: Any, inner: Any, on: Symbol) -> Any:
    if node.__class__ is Symbol:
        node.graph.masks[node.index] = inner, on
    return node


def _product(term: Any, factor: Any, by: Callable[[Any, Any], Any]) -> Any:
    if isinstance(term, float):
        return 0.0 if term == 0.0 else by(term, factor)
    if isinstance(term, np.ndarray) and term.dtype.kind == "f":
        with np.errstate(invalid="ignore"):
            return np.where(term == 0.0, 0.0, by(term, factor))
    return by(term, factor)
