"""Derivatives of what joints exert by themselves: joints do not feel each other, so all are differentiated at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from linkwork.dynamics.algorithms.derivatives.tangent_autodiff import tangent_rates
from linkwork.dynamics.algorithms.force_element_forces import element_forces
from linkwork.dynamics.algorithms.passive_joint_forces import passive_force_of_joints
from linkwork.expr.autodiff.dual_numbers import parts, seeded
from linkwork.expr.autodiff.sparse_tangent import Directions
from linkwork.model.tree import Tree

__all__ = ["element_force_derivatives", "force_derivatives", "passive_force_derivatives"]

Scalars = Sequence[Any]
Entries = list[tuple[int, int, Any]]  # (row, column, value)


Matrix = list[list[Any]]


def force_derivatives(
    tree: Tree, q: Scalars, v: Scalars, forces: Callable[[Scalars, Scalars], list[Any]]
) -> tuple[Matrix, Matrix]:
    """Differentiate joint forces of q and v by q, in its tangent space, and by v: nv × nv each."""

    def rates(found: Scalars, level: int) -> Matrix:
        tangents = [parts(x, level)[1] for x in found]
        return [[t.get(k) if isinstance(t, Directions) else 0.0 for k in range(tree.nv)] for t in tangents]

    moving = seeded(q, [Directions(row) for row in tangent_rates(tree, q)])
    going = seeded(v, [Directions({k: 1.0}) for k in range(tree.nv)])
    return rates(forces(moving, v), moving[0].level), rates(forces(q, going), going[0].level)


def element_force_derivatives(tree: Tree, q: Scalars, v: Scalars) -> tuple[Matrix, Matrix]:
    """Differentiate the joint forces of force elements by q, in its tangent space, and by v: nv × nv each."""
    return force_derivatives(tree, q, v, lambda q, v: element_forces(tree, q, v))


def passive_force_derivatives(tree: Tree, q: Scalars, v: Scalars) -> tuple[Entries, Entries]:
    """∂τ_p/∂q, in the tangent space of q, and ∂τ_p/∂v, friction by its smooth law: what is not zero of them.

    Force elements are left out: see `element_force_derivatives`.
    """
    by_q = _blocks(tree, lambda k: passive_force_of_joints(tree, seeded(q, _moved(tree, q, k)), v))
    return by_q, _blocks(tree, lambda k: passive_force_of_joints(tree, q, seeded(v, _kth(tree, k))))


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
