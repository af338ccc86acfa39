"""Derivatives of what joints exert by themselves: joints do not feel each other, so all are differentiated at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...expr.dual import parts, seeded
from ...model.tree import Tree
from ..dynamics.passive import passive_force

__all__ = ["passive_force_derivatives"]

Scalars = Sequence[Any]
Entries = list[tuple[int, int, Any]]  # (row, column, value)


def passive_force_derivatives(tree: Tree, q: Scalars, v: Scalars) -> tuple[Entries, Entries]:
    """∂τ_p/∂q, in the tangent space of q, and ∂τ_p/∂v, friction by its smooth law: what is not zero of them."""
    by_q = _blocks(tree, lambda k: passive_force(tree, seeded(q, _moved(tree, q, k)), v))
    return by_q, _blocks(tree, lambda k: passive_force(tree, q, seeded(v, _kth(tree, k))))


def _blocks(tree: Tree, varied: Callable[[int], list[Any]]) -> Entries:
    """The blocks of a matrix that joints have for themselves, from its product with each joint's k-th unit vector."""
    found = []
    for k in range(max((body.joint.nv for _, body in tree.stacked()), default=0)):
        product = varied(k)
        for i, body in tree.stacked():
            numbers = range(tree.nv)[tree.v_slices[i]]
            if k < body.joint.nv:
                found += [(row, numbers[k], parts(product[row])[1]) for row in numbers]
    return found


def _moved(tree: Tree, q: Scalars, k: int) -> list[Any]:
    """q̇ where every joint moves with its k-th velocity."""
    v, found = _kth(tree, k), [0.0] * tree.nq
    for i, body in tree.stacked():
        place = tree.q_slices[i]
        found[place] = body.asked("q_dot", q[place], v[tree.v_slices[i]])
    return found


def _kth(tree: Tree, k: int) -> list[float]:
    found = [0.0] * tree.nv
    for i, body in tree.stacked():
        if k < body.joint.nv:
            found[tree.v_slices[i].start + k] = 1.0
    return found
