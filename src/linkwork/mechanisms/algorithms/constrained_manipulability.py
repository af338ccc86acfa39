"""Manipulability of robots with constraints, from the motor forces that balance wrenches.

Motors move by S v, the velocities v satisfy G v = 0, and a frame moves by V = J v.  Of all v with the twist V those of
least |S v| form the ellipsoid Vᵀ (J P Jᵀ)⁻¹ V = |S v|², where y = P r solves

    SᵀS y + Gᵀ λ = r,      G y = 0.

These are the equations of the motor forces S y of least norm that balance the joint forces r, so

    J P Jᵀ = F Fᵀ,      w = √det(F Fᵀ),

where row i of F are the motor forces for the unit wrench i, joint forces J_i.

Source: Yoshikawa, Manipulability of robotic mechanisms, Int. Journal of Robotics Research 4 (2), 1985 (w, and its
duality with forces).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import Any

from linkwork.expr.control.loops import map_rows
from linkwork.expr.linalg.sparse_dot import dot, transposed
from linkwork.expr.scalar.functions import lt, where
from linkwork.kinematics.algorithms.jacobians import Volume, jacobian
from linkwork.mechanisms.algorithms.constrained_inverse_dynamics import Actuation, Names
from linkwork.mechanisms.algorithms.constraint_rows import rates_of
from linkwork.model.tree import Tree

__all__ = ["constrained_manipulability"]

_MOVED = 1e-12  # squared share of a unit wrench that no motor balances, from which on the frame moves freely
_LONG = 1000  # of joints squared times constraint rows, from which on wrenches are balanced in a loop


def constrained_manipulability(
    tree: Tree,
    q: Sequence[Any],
    frame: str,
    relative_to: str = "world",
    part: str = "all",
    actuators: Names = None,
) -> Any:
    """Return w = √det(F Fᵀ), or √det(Fᵀ F) for fewer motors than rows; infinity if the frame moves without motors."""
    J = jacobian(tree, q, frame, relative_to, relative_to)
    J = {"all": J, "position": J[3:], "angular": J[:3]}[part]
    rates = rates_of(tree, q, [0.0] * tree.nv, 0.0)
    in_loops = tree.nv**2 * len(rates.rows) > _LONG
    acting = Actuation.at(tree, q, rates, actuators, None, in_loops)

    def balanced(row: Sequence[Any]) -> list[Any]:
        tau, _, missing = acting.split(row)
        return [*(tau[k] for k in acting.actuated), dot(missing, missing)]

    forces = map_rows(balanced, J, in_loops=in_loops, alike=True)
    size = Volume(transposed([row[:-1] for row in forces])).size
    for row, (*_, missing) in zip(J, forces, strict=True):
        size = where(lt(_MOVED * dot(row, row), missing), inf, size)
    return size
