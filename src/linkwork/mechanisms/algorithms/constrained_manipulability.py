"""Manipulability of robots with constraints, from the motor forces that balance wrenches.

Motors move by S v, the velocities v satisfy G v = 0, and a frame moves by V = J v.  Of all v with the twist V those of
least |S v| form the ellipsoid Vᵀ (J P Jᵀ)⁻¹ V = |S v|², where y = P r solves

    SᵀS y + Gᵀ λ = r,      G y = 0.

These are the equations of the motor forces S y of least norm that balance the joint forces r, so

    J P Jᵀ = F Fᵀ,      w = √det(F Fᵀ),

where row i of F are the motor forces for the unit wrench i, joint forces J_i.

Of the joints between two frames, the velocities that the constraints permit have dimension d.  The motors S of these
joints have a projector S P Sᵀ, whose trace is d.  For d below the number of rows, w is the product of the d largest
singular values of F.

Source: Yoshikawa, Manipulability of robotic mechanisms, Int. Journal of Robotics Research 4 (2), 1985 (w, and its
duality with forces).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import Any

from linkwork.expr.autodiff.custom_derivative import apply_rule
from linkwork.expr.control.loops import map_rows
from linkwork.expr.linalg.singular_values import Singular
from linkwork.expr.linalg.sparse_dot import dot, flat, transposed
from linkwork.expr.scalar.functions import lt, or_, where
from linkwork.kinematics.algorithms.jacobians import jacobian
from linkwork.kinematics.algorithms.relative_kinematics import fork
from linkwork.mechanisms.algorithms.constrained_inverse_dynamics import Actuation, Names
from linkwork.mechanisms.algorithms.constraint_rows import rates_of
from linkwork.model.tree import Tree

__all__ = ["constrained_manipulability", "motor_force_sizes"]

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
    """Return w, the product of the d largest singular values of F; infinity if the frame moves without motors."""
    values, d, free = motor_force_sizes(tree, q, frame, relative_to, part, actuators)
    size = where(lt(d, 0.5), 0.0, 1.0)
    for k, value in enumerate(values):
        size = size * where(lt(d, k + 0.5), 1.0, value)
    return where(free, inf, size)


def motor_force_sizes(
    tree: Tree,
    q: Sequence[Any],
    frame: str,
    relative_to: str = "world",
    part: str = "all",
    actuators: Names = None,
    time: Any = 0.0,
) -> tuple[Sequence[Any], Any, Any]:
    """Return the singular values of F, d, and True if the frame moves without motors."""
    J = jacobian(tree, q, frame, relative_to, relative_to)
    J = {"all": J, "position": J[3:], "angular": J[:3]}[part]
    rates = rates_of(tree, q, [0.0] * tree.nv, time)
    in_loops = tree.nv**2 * len(rates.rows) > _LONG
    acting = Actuation.at(tree, q, rates, actuators, None, in_loops)

    def balanced(row: Sequence[Any]) -> list[Any]:
        tau, _, missing = acting.split(row)
        return [*(tau[k] for k in acting.actuated), dot(missing, missing)]

    forces = map_rows(balanced, J, in_loops=in_loops, alike=True)
    _, to_frame, to_other = fork(tree, tree.frame(frame).body, tree.frame(relative_to).body)
    between = [tree.bodies[i].joint_name for i in (*to_other, *to_frame)]
    path = Actuation.at(tree, q, rates, between, None, in_loops)
    pushes = [[path.inertia[k] if k == j else 0.0 for j in range(tree.nv)] for k in path.actuated]
    kept = map_rows(lambda push: path.split(push)[0], pushes, in_loops=in_loops, alike=True)
    d = sum((row[k] / path.inertia[k] for k, row in zip(path.actuated, kept, strict=True)), 0.0)
    free: Any = False
    for row, (*_, missing) in zip(J, forces, strict=True):
        free = or_(free, lt(_MOVED * dot(row, row), missing))
    F = [row[:-1] for row in forces]
    tall = F if len(F) >= len(acting.actuated) else transposed(F)
    values = apply_rule(Singular(len(tall), len(tall[0]), False), flat(tall)) if flat(tall) else ()
    return values, d, free
