"""Automatic differentiation in the tangent space of a configuration: of any algorithm, and of steps on the manifold.

A column of ∂f/∂q is d/dt f(q ⊕ t e_k) at t = 0: the elements of q change at the rates q̇(e_k) of the joint velocity
e_k.  So every element of q becomes a dual number with a row of such rates, and every element of v or a one with a unit
row.  One run of the algorithm then gives all derivatives, without products that are structurally zero.  Where joints
are carried by many others, as in a long chain, a trace is differentiated in reverse instead: the work grows as that of
f, not with the square of the number of joints.

Steps: `integrate` maps q and φ to q ⊕ φ, whose tangent vector varies with that of q and with φ.  For velocities of a
moving frame, as of a floating base, the difference δ of two motions with velocities that differ by ε does not grow by ε
alone.  With N(q) the matrix of q̇ = N v,

    δ̇ = ε + B δ,      N B e_k = D(N v)[N e_k] − D(N e_k)[N v],

with the bracket B of the two fields; for a twist V in the body's own axes it is δ̇ = ε − V × δ.

Sources: Griewank and Walther, Evaluating Derivatives, 2nd ed., SIAM 2008, chapter 3 (vector forward mode, reverse
mode); Sola, Deray and Atchuthan, A micro Lie theory for state estimation in robotics, 2018, section II.F.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from linkwork.expr.autodiff.dual_numbers import SparseTangent, parts, seeded
from linkwork.expr.autodiff.graph_derivative import are_independent, gradients
from linkwork.joints.base.from_transform import unit_vectors
from linkwork.model.body import Body
from linkwork.model.function_spec import FunctionSpec, Output
from linkwork.model.tree import Tree

__all__ = [
    "ROWS",
    "bracket",
    "derivatives",
    "integrate_derivatives",
    "joint_bracket",
    "rate_derivatives",
    "tangent_rates",
    "with_values",
]


Scalars = Sequence[Any]
Matrix = list[list[Any]]
_MANY = 20  # mean number of velocities that carry a body, from which on reverse differentiation takes less


def derivatives(tree: Tree, compute: Callable[..., Scalars], q: Scalars, *inputs: Scalars) -> list[Matrix]:
    """Return ∂f/∂q (in the tangent space), ∂f/∂x, ... of the scalars f = compute(q, x, ...), with a row per scalar."""
    return with_values(tree, compute, q, *inputs)[1]


def with_values(
    tree: Tree, compute: Callable[..., Scalars], q: Scalars, *inputs: Scalars
) -> tuple[list[Any], list[Matrix]]:
    """Return the scalars f = compute(q, x, ...), and ∂f/∂q (in the tangent space), ∂f/∂x, ..."""
    sizes = [tree.nv, *map(len, inputs)]
    starts = [sum(sizes[:k]) for k in range(len(sizes))]
    if _is_long(tree) and are_independent([*q, *(element for x in inputs for element in x)]):
        return _in_reverse(tree, compute, q, *inputs)
    rows = [SparseTangent(row) for row in tangent_rates(tree, q)]
    rows += [
        SparseTangent({start + k: 1.0}) for start, x in zip(starts[1:], inputs, strict=True) for k in range(len(x))
    ]
    moving = seeded([*q, *(element for x in inputs for element in x)], rows)
    if not moving:
        return list(compute(q, *inputs)), [[] for _ in sizes]
    ends = [len(q) + start - tree.nv for start in starts[1:]]
    arguments = [moving[: len(q)], *(moving[end : end + len(x)] for end, x in zip(ends, inputs, strict=True))]
    result = [parts(x, moving[0].level) for x in compute(*arguments)]
    tangents = [tangent if isinstance(tangent, SparseTangent) else SparseTangent({}) for _, tangent in result]
    blocks = [
        [[tangent.get(start + k) for k in range(size)] for tangent in tangents]
        for start, size in zip(starts, sizes, strict=True)
    ]
    return [value for value, _ in result], blocks


def _in_reverse(
    tree: Tree, compute: Callable[..., Scalars], q: Scalars, *more_inputs: Scalars
) -> tuple[list[Any], list[Matrix]]:
    values = list(compute(q, *more_inputs))
    by_inputs = gradients(values, [*q, *(element for x in more_inputs for element in x)])
    by_q: Matrix = [[0.0] * tree.nv for _ in values]
    for k, rates in enumerate(tangent_rates(tree, q)):
        for row, of_inputs in zip(by_q, by_inputs, strict=True):
            for velocity, rate in rates.items():
                row[velocity] += of_inputs[k] * rate
    blocks, end = [by_q], len(q)
    for x in more_inputs:
        blocks.append([row[end : end + len(x)] for row in by_inputs])
        end += len(x)
    return values, blocks


def _is_long(tree: Tree) -> bool:
    """Return True if chains of joints are so long that reverse differentiation takes fewer operations."""
    carried: dict[int, int] = {}
    for i, p, body in tree.outward():
        carried[i] = carried.get(p, 0) + body.joint.nv
    return sum(carried.values()) > _MANY * len(carried)


def tangent_rates(tree: Tree, q: Scalars) -> list[dict[Any, Any]]:
    """Return, for each element of q, its rates at unit velocities: a dict of rates by index in v."""
    rates: list[dict[Any, Any]] = [{} for _ in q]
    for i, body in tree.stacked():
        start = tree.v_slices[i].start
        coordinates = range(len(q))[tree.q_slices[i]]
        for index, row in zip(coordinates, body.call_joint("q_dot_jacobian", [q[k] for k in coordinates]), strict=True):
            rates[index] = {start + k: rate for k, rate in enumerate(row)}
    return rates


def integrate_derivatives(tree: Tree, q: Scalars, v: Scalars) -> list[Matrix]:
    """Return ∂q⁺/∂q and ∂q⁺/∂v of q⁺ = q ⊕ v, in the tangent spaces at q⁺ and q (nv × nv each)."""

    def reached(body: Body, q: Scalars, phi: Scalars) -> Scalars:
        return body.call_joint("integrate", q, phi)  # type: ignore[no-any-return]

    return _blocks(tree, reached, lambda body, to, rates: body.call_joint("velocity_from_rate", to, rates), q, v)


def rate_derivatives(tree: Tree, q: Scalars, phi: Scalars, v: Scalars) -> tuple[list[Any], list[Matrix]]:
    """Return φ̇ of local coordinates φ around q while q ⊕ φ moves with v, and ∂φ̇/∂q, ∂φ̇/∂φ and ∂φ̇/∂v."""

    def rate(body: Body, q: Scalars, phi: Scalars, v: Scalars) -> Scalars:
        return body.call_joint("difference_rate", q, body.call_joint("integrate", q, phi), v)  # type: ignore[no-any-return]

    rates = [0.0] * tree.nv
    for i, body in tree.stacked():
        columns = tree.v_slices[i]
        rates[columns] = rate(body, q[tree.q_slices[i]], phi[columns], v[columns])
    return rates, _blocks(tree, rate, lambda body, to, rates: rates, q, phi, v)


def bracket(tree: Tree, q: Scalars, v: Scalars) -> Matrix:
    """Return the matrix B (nv × nv) by which a small change δ of q grows: δ̇ = ε + B δ for a change ε of v.

    δ is a tangent vector at q.
    """
    result = _zeros(tree.nv)
    for i, body in tree.stacked():
        columns = tree.v_slices[i]
        for row, line in zip(result[columns], joint_bracket(body, q[tree.q_slices[i]], v[columns]), strict=True):
            row[columns] = line
    return result


def joint_bracket(body: Body, q: Scalars, v: Scalars) -> Matrix:
    """Return the matrix B of `bracket` for the joint of one body, with its own q and v."""
    result = _zeros(len(v))
    to_all = seeded(q, [SparseTangent(dict(enumerate(row))) for row in body.call_joint("q_dot_jacobian", q)])
    along_v = seeded(q, body.call_joint("q_dot", q, v))
    for k, unit in enumerate(unit_vectors(body.joint.nv)):
        first = [_in(parts(x, to_all[0].level)[1], k) for x in body.call_joint("q_dot", to_all, v)]
        second = [parts(x, along_v[0].level)[1] for x in body.call_joint("q_dot", along_v, unit)]
        column = body.call_joint("velocity_from_rate", q, [x - y for x, y in zip(first, second, strict=True)])
        for row, x in zip(result, column, strict=True):
            row[k] = x
    return result


def _blocks(
    tree: Tree, compute: Callable[..., Scalars], as_velocity: Callable[..., Scalars], q: Scalars, *more_inputs: Scalars
) -> list[Matrix]:
    """Return the derivatives of compute(body, q, x, ...), a function of each joint, by q and by x, ...

    They are nv × nv each; those by q are in the tangent space. ``as_velocity`` maps rates of the result to velocities.
    """
    result = [_zeros(tree.nv) for _ in range(1 + len(more_inputs))]
    for i, body in tree.stacked():
        columns = tree.v_slices[i]
        arguments = [q[tree.q_slices[i]], *(x[columns] for x in more_inputs)]
        for block, k, column in _columns(body, compute, as_velocity, arguments):
            for row, x in zip(result[block][columns], column, strict=True):
                row[columns.start + k] = x
    return result


def _columns(
    body: Body, compute: Callable[..., Scalars], as_velocity: Callable[..., Scalars], arguments: Sequence[Scalars]
) -> Iterator[tuple[int, int, Scalars]]:
    """Yield (i, k, column): the derivative of a joint's result along the k-th velocity component of argument i.

    The first argument is a configuration, all others are velocities.
    """
    nq, nv = body.joint.nq, body.joint.nv
    if not nv:
        return
    rows = [
        SparseTangent({(0, k): rate for k, rate in enumerate(row)})
        for row in body.call_joint("q_dot_jacobian", arguments[0])
    ]
    rows += [SparseTangent({(block, k): 1.0}) for block in range(1, len(arguments)) for k in range(nv)]
    moving = seeded([x for argument in arguments for x in argument], rows)
    slices = [slice(0, nq), *(slice(nq + n * nv, nq + (n + 1) * nv) for n in range(len(arguments) - 1))]
    result = [parts(x, moving[0].level) for x in compute(body, *(moving[part] for part in slices))]
    values = [value for value, _ in result]
    for block in range(len(arguments)):
        for k in range(nv):
            yield block, k, as_velocity(body, values, [_in(tangent, (block, k)) for _, tangent in result])


def _in(tangent: Any, key: Any) -> Any:
    return tangent.get(key) if isinstance(tangent, SparseTangent) else 0.0


def _zeros(n: int) -> Matrix:
    return [[0.0] * n for _ in range(n)]


ROWS = (
    FunctionSpec.of(
        integrate_derivatives,
        "q v",
        (Output(("nv", "nv"), "1, m, 1/m", "dq_dq"), Output(("nv", "nv"), "1, m, 1/m", "dq_dv")),
        "Derivatives of the configuration after a step, as tangent vectors.",
    ),
)
