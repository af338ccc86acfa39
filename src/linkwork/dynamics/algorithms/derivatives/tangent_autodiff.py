"""Derivatives of any algorithm by differentiation over any scalar, along the tangent vectors of a configuration.

A column of ∂f/∂q is d/dt f(q ⊕ t e_k) at t = 0: the numbers of q change at the rates q̇(e_k) that its joint's velocity
e_k gives them.  So every scalar of q becomes a dual number with a row of such rates, one of v or a with a one, and one
run of the algorithm gives all derivatives, without a product that is structurally zero.

Where joints are carried by many others, as in a long chain, a trace is differentiated in reverse instead: then the work
grows as that of f does, and not with the square of the number of joints.

Source: Griewank and Walther, Evaluating Derivatives, 2nd ed., SIAM 2008, chapter 3 (vector forward mode, reverse mode).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from linkwork.expr.autodiff.dual_numbers import parts, seeded
from linkwork.expr.autodiff.graph_derivative import gradients, independent
from linkwork.expr.autodiff.sparse_tangent import SparseTangent
from linkwork.model.tree import Tree

__all__ = ["derivatives", "tangent_rates", "with_values"]

Scalars = Sequence[Any]
Matrix = list[list[Any]]

_MANY = 20  # velocities that carry a body, on average: from there on, derivatives in reverse take less


def derivatives(tree: Tree, compute: Callable[..., Scalars], q: Scalars, *others: Scalars) -> list[Matrix]:
    """∂f/∂q (in the tangent space), ∂f/∂x, ... of the scalars f = compute(q, x, ...): a row of each a scalar of f."""
    return with_values(tree, compute, q, *others)[1]


def with_values(
    tree: Tree, compute: Callable[..., Scalars], q: Scalars, *others: Scalars
) -> tuple[list[Any], list[Matrix]]:
    """The scalars f = compute(q, x, ...) themselves, and `derivatives`."""
    sizes = [tree.nv, *map(len, others)]
    starts = [sum(sizes[:k]) for k in range(len(sizes))]
    if _is_long(tree) and independent([*q, *(number for x in others for number in x)]):
        return _in_reverse(tree, compute, q, *others)
    rows = [SparseTangent(row) for row in tangent_rates(tree, q)]
    rows += [
        SparseTangent({start + k: 1.0}) for start, x in zip(starts[1:], others, strict=True) for k in range(len(x))
    ]
    moving = seeded([*q, *(number for x in others for number in x)], rows)
    if not moving:
        return list(compute(q, *others)), [[] for _ in sizes]
    ends = [len(q) + start - tree.nv for start in starts[1:]]
    given = [moving[: len(q)], *(moving[end : end + len(x)] for end, x in zip(ends, others, strict=True))]
    found = [parts(x, moving[0].level) for x in compute(*given)]
    tangents = [tangent if isinstance(tangent, SparseTangent) else SparseTangent({}) for _, tangent in found]
    blocks = [
        [[tangent.get(start + k) for k in range(size)] for tangent in tangents]
        for start, size in zip(starts, sizes, strict=True)
    ]
    return [value for value, _ in found], blocks


def _in_reverse(
    tree: Tree, compute: Callable[..., Scalars], q: Scalars, *others: Scalars
) -> tuple[list[Any], list[Matrix]]:
    values = list(compute(q, *others))
    by_numbers = gradients(values, [*q, *(number for x in others for number in x)])
    by_q: Matrix = [[0.0] * tree.nv for _ in values]
    for k, rates in enumerate(tangent_rates(tree, q)):
        for row, of_numbers in zip(by_q, by_numbers, strict=True):
            for velocity, rate in rates.items():
                row[velocity] += of_numbers[k] * rate
    blocks, end = [by_q], len(q)
    for x in others:
        blocks.append([row[end : end + len(x)] for row in by_numbers])
        end += len(x)
    return values, blocks


def _is_long(tree: Tree) -> bool:
    """Whether a joint is carried by many others, on average."""
    carried: dict[int, int] = {}
    for i, p, body in tree.outward():
        carried[i] = carried.get(p, 0) + body.joint.nv
    return sum(carried.values()) > _MANY * len(carried)


def tangent_rates(tree: Tree, q: Scalars) -> list[dict[Any, Any]]:
    """By the numbers of q: how fast it changes, by the velocities e_k that change it."""
    rates: list[dict[Any, Any]] = [{} for _ in q]
    for i, body in tree.stacked():
        start = tree.v_slices[i].start
        own = range(len(q))[tree.q_slices[i]]
        for number, row in zip(own, body.asked("q_dot_jacobian", [q[k] for k in own]), strict=True):
            rates[number] = {start + k: rate for k, rate in enumerate(row)}
    return rates
