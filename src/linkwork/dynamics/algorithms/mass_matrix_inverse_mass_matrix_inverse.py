"""The inverse of the mass matrix, and products with it.

M⁻¹ is formed from factors of M (`factored_inverse`).  A product M⁻¹ x needs no matrix: it is the acceleration under the
joint forces x, at rest without gravity, by articulated bodies.

Source: Featherstone, Rigid Body Dynamics Algorithms, 2008, section 6.5 (LᵀDL and its sparsity) and chapter 7.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from linkwork.dynamics.algorithms.forward_dynamics import articulated_bodies
from linkwork.dynamics.algorithms.mass_matrix import mass_matrix
from linkwork.dynamics.algorithms.mass_matrix_inverse import FactoredInverse
from linkwork.model.function_spec import PASSIVE, Output, Row
from linkwork.model.tree import Tree
from linkwork.spatial import Vec3

__all__ = ["ROWS", "mass_matrix_inverse", "mass_matrix_solve"]

Scalars = Sequence[Any]


def mass_matrix_inverse(tree: Tree, q: Scalars, passive: bool = False) -> list[list[Any]]:
    """M(q)⁻¹, nv × nv, symmetric; with ``passive`` M has the joints' armature on its diagonal.

    Raises SingularInertiaError naming the joint where a joint moves no inertia at all.
    """
    return FactoredInverse.of(tree, mass_matrix(tree, q, passive)).matrix


def mass_matrix_solve(tree: Tree, q: Scalars, x: Scalars, passive: bool = False) -> list[Any]:
    """M(q)⁻¹ x (nv), without M: the accelerations under joint forces x, at rest without gravity."""
    return articulated_bodies(tree.under(Vec3.zero()), q, [0.0] * tree.nv, x, armature=passive)


ROWS = (
    Row.of(
        mass_matrix_inverse,
        "q",
        Output(("nv", "nv"), "1/(kg·m²), 1/(kg·m), 1/kg"),
        "Inverse of the joint-space mass matrix.",
        options=(PASSIVE,),
        joint_space=True,
        regular=True,
    ),
    Row.of(
        mass_matrix_solve,
        "q x",
        Output(("nv",), "rad/s², m/s²"),
        "Product of the inverse mass matrix with joint forces.",
        options=(PASSIVE,),
        joint_space=True,
        regular=True,
    ),
)
