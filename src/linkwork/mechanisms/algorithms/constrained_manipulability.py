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
from dataclasses import dataclass
from math import inf
from typing import Any

from linkwork.expr.autodiff.custom_derivative import apply_rule, stop_gradient, with_derivative_of
from linkwork.expr.control.loops import map_rows
from linkwork.expr.linalg.singular_values import Singular
from linkwork.expr.linalg.sparse_dot import dot, flat, rows_of, transposed
from linkwork.expr.scalar.functions import log, lt, or_, where
from linkwork.kinematics.algorithms.jacobians import jacobian
from linkwork.kinematics.algorithms.relative_kinematics import fork
from linkwork.mechanisms.algorithms.constrained_inverse_dynamics import Actuation, Names
from linkwork.mechanisms.algorithms.constraint_rows import rates_of
from linkwork.model.tree import Tree

__all__ = ["constrained_manipulability", "log_manipulability"]

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
    split = _Split.at(tree, q, frame, relative_to, part, actuators, 0.0)
    size = where(lt(split.d, 0.5), 0.0, 1.0)
    for k, value in enumerate(split.values):
        size = size * where(lt(split.d, k + 0.5), 1.0, value)
    return where(split.free, inf, size)


def log_manipulability(
    tree: Tree, q: Sequence[Any], frame: str, relative_to: str, part: str, time: Any, floor: Any
) -> tuple[Any, Any]:
    """Return log w with ``floor`` added to squared singular values, and True if the frame moves without motors.

    With V Vᵀ = Σ u uᵀ/σ² over the d largest singular values σ of F, the derivative is Σ_i ∂J_i·z_i − λ_iᵀ ∂G z_i,
    z = V Vᵀ y: J and G are differentiated, but not the equations.  Second derivatives leave out changes of z and λ.
    """
    still = stop_gradient([*q, time])
    split = _Split.at(tree, still[:-1], frame, relative_to, part, None, still[-1])
    logs = [where(lt(split.d, k + 0.5), 0.0, log(x * x + floor)) for k, x in enumerate(split.values)]
    value = 0.5 * sum(logs, where(lt(split.d, 0.5), log(floor), 0.0))
    shares = [where(lt(split.d, k + 0.5), 0.0, 1.0 / (x * x + floor)) for k, x in enumerate(split.values)]
    y = [split.acting.multipliers(tau) for tau, *_ in split.forces]
    mixed = [[dot([s * x for s, x in zip(shares, u, strict=True)], v) for v in split.left] for u in split.left]
    z = [[dot(row, column) for column in transposed(y)] for row in mixed]
    J = _selected(tree, q, frame, relative_to, part)
    G = rates_of(tree, q, [0.0] * tree.nv, time).rows
    change: Any = 0.0
    for row, own, (_, forces, _) in zip(J, z, split.forces, strict=True):
        change = change + dot(row, own) - dot(forces, [dot(of, own) for of in G])
    return with_derivative_of([value], [change])[0], split.free


def _selected(tree: Tree, q: Sequence[Any], frame: str, relative_to: str, part: str) -> list[list[Any]]:
    J = jacobian(tree, q, frame, relative_to, relative_to)
    return {"all": J, "position": J[3:], "angular": J[:3]}[part]


@dataclass(frozen=True)
class _Split:
    """Motor forces that balance unit wrenches on a frame."""

    acting: Actuation
    forces: list[tuple[list[Any], list[Any], list[Any]]]  # motor forces, constraint forces, missing forces by wrench
    values: Sequence[Any]  # singular values of F
    left: list[list[Any]]  # its left singular vectors as columns
    d: Any
    free: Any  # True if the frame moves without motors

    @staticmethod
    def at(
        tree: Tree, q: Sequence[Any], frame: str, relative_to: str, part: str, actuators: Names, time: Any
    ) -> _Split:
        J, n = _selected(tree, q, frame, relative_to, part), tree.nv
        rates = rates_of(tree, q, [0.0] * n, time)
        in_loops = n**2 * len(rates.rows) > _LONG
        acting = Actuation.at(tree, q, rates, actuators, None, in_loops)

        def balanced(row: Sequence[Any]) -> list[Any]:
            tau, forces, missing = acting.split(row)
            return [*tau, *missing, *forces]

        rows = map_rows(balanced, J, in_loops=in_loops, alike=True)
        forces = [(row[:n], row[2 * n :], row[n : 2 * n]) for row in rows]
        _, to_frame, to_other = fork(tree, tree.frame(frame).body, tree.frame(relative_to).body)
        between = [tree.bodies[i].joint_name for i in (*to_other, *to_frame)]
        path = Actuation.at(tree, q, rates, between, None, in_loops)
        pushes = [[path.inertia[k] if k == j else 0.0 for j in range(n)] for k in path.actuated]
        kept = map_rows(lambda push: path.split(push)[0], pushes, in_loops=in_loops, alike=True)
        d = sum((row[k] / path.inertia[k] for k, row in zip(path.actuated, kept, strict=True)), 0.0)
        free: Any = False
        for row, (_, _, missing) in zip(J, forces, strict=True):
            free = or_(free, lt(_MOVED * dot(row, row), dot(missing, missing)))
        F = [[tau[k] for k in acting.actuated] for tau, _, _ in forces]
        if not acting.actuated:
            return _Split(acting, forces, (), [[] for _ in F], d, free)
        wide = len(F) < len(acting.actuated)
        tall = transposed(F) if wide else F
        m, count = len(tall), len(tall[0])
        found = apply_rule(Singular(m, count, True), flat(tall))
        values, u, vt = found[:count], found[count : count * (1 + m)], found[count * (1 + m) :]
        left = transposed(rows_of(vt, count, count)) if wide else rows_of(u, count, m)
        return _Split(acting, forces, values, left, d, free)
