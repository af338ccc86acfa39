"""Damping and dry friction of joints in steps of forward dynamics, with the velocity at the end of the step.

    M (v⁺ − v) = h (τ − b − R(v⁺)),      R_k(v_k) = D_k v_k + F_k(v_k),

where b are all other forces, at the beginning of the step.  So steps of any length are stable, and dry friction that
is much steeper than M/h stops a joint within one step.  Newton's method linearises R at a velocity z: the velocity of
the previous iteration, or 0 for a joint whose velocity changed its sign.  For a single joint the method converges from
any z, because friction is an odd function of v and concave for v > 0: every tangent is above the function, so an
iteration does not overshoot the solution.

With S = ∂R/∂v⁺, derivatives of v⁺ contain (M + h S)⁻¹ instead of M⁻¹.

Sources: Hairer and Wanner, Solving Ordinary Differential Equations II, 2nd ed., 1996, section IV.8 (Newton's method in
implicit steps); Moreau, Unilateral contact and dry friction in finite freedom dynamics, 1988 (friction of v⁺).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

import numpy as np

from linkwork.dynamics.algorithms.coulomb_friction import dry_parameters
from linkwork.dynamics.algorithms.mass_matrix import mass_solved
from linkwork.dynamics.algorithms.passive_joint_forces import resisting_force
from linkwork.expr.autodiff.dual_numbers import parts, seeded
from linkwork.expr.control.loops import while_loop
from linkwork.expr.linalg.sparse_dot import is_zero
from linkwork.expr.scalar.functions import and_, fabs, fmax, lt, where
from linkwork.model.tree import Tree

__all__ = [
    "added_resistance",
    "friction_velocities",
    "linear_resistance",
    "next_velocities",
    "resistance_slopes",
    "resisted_velocity",
    "resists",
    "second_slopes",
    "velocity_error",
    "with_diagonal",
]

Scalars = Sequence[Any]
Matrix = list[list[Any]]

_TOLERANCE = 1e-8  # of velocities, relative to themselves and the friction velocity; the error is its square
_MAX_ITERATIONS = 40  # 13 were needed in 3000 random cases


def resists(tree: Tree) -> bool:
    """Return True if a joint has damping or dry friction."""
    return not all(map(is_zero, resisting_force(tree, [1.0] * tree.nv)))


def friction_velocities(tree: Tree) -> list[Any]:
    """Return the velocities (nv) that smooth the joints' dry friction near rest; [] if no joint has dry friction."""
    dry = dry_parameters(tree)
    return [] if all(is_zero(law.sliding) for law in dry) else [law.velocity for law in dry]


def added_resistance(tree: Tree, v: Scalars, after: Scalars) -> list[Any]:
    """Return R(v⁺) − R(v) (nv) [N·m, N], the change of damping and friction R when the velocity changes from v to v⁺.

    ``after`` is v⁺. Inverse dynamics at (q, v) includes R(v) only.
    """
    both = zip(resisting_force(tree, v), resisting_force(tree, after), strict=True)
    return [a if is_zero(b) else a - b for a, b in both]


def resistance_slopes(tree: Tree, v: Scalars) -> list[Any]:
    """Return the derivatives ∂R_k/∂v_k (nv) of the joints' damping and friction R at velocity v."""
    moving = seeded(list(v), [1.0] * len(v))
    return [_minus(parts(x, moving[0].level)[1]) for x in resisting_force(tree, moving)] if moving else []


def second_slopes(tree: Tree, v: Scalars) -> list[Any]:
    """Return the second derivatives ∂²R_k/∂v_k² (nv) of the joints' damping and friction R at velocity v."""
    moving = seeded(list(v), [1.0] * len(v))
    return [parts(x, moving[0].level)[1] for x in resistance_slopes(tree, moving)] if moving else []


def linear_resistance(tree: Tree, v: Scalars, z: Scalars) -> tuple[list[Any], list[Any]]:
    """Return the slopes S = ∂R/∂v of damping and friction R at velocity z, and R(z) + S (v − z) − R(v), (nv) each.

    The second result is the error at v of the linearisation about z.
    """
    slopes, added = resistance_slopes(tree, z), added_resistance(tree, v, z)
    return slopes, [b + s * (x - y) for b, s, x, y in zip(added, slopes, v, z, strict=True)]


def resisted_velocity(tree: Tree, M: Matrix, v: Scalars, h: Any, forces: Scalars) -> list[Any]:
    """Return the velocity v⁺ after a step of h seconds from v, with implicit damping and friction R(v⁺).

    It solves M (v⁺ − v) = h (forces − R(v⁺) + R(v)). ``forces`` (nv) are the other joint forces, minus R(v).
    """

    def iterate(z: Scalars) -> list[Any]:
        slopes, added = linear_resistance(tree, v, z)
        push = [h * (f - r) for f, r in zip(forces, added, strict=True)]
        changes = mass_solved(tree, with_diagonal(M, [h * s for s in slopes]), push)
        return [x + change for x, change in zip(v, changes, strict=True)]

    scales = friction_velocities(tree)
    if not scales:
        return iterate(v)

    def more(state: Any) -> Any:
        return and_(lt(1.0, state[1]), lt(state[2], _MAX_ITERATIONS - 0.5))

    def step(state: Any) -> Any:
        z = list(state[0])
        after = iterate(z)
        return np.array(next_velocities(z, after)), velocity_error(z, after, scales), state[2] + 1.0

    z = while_loop(more, step, (np.array(list(v)), 2.0, 0.0), max_iterations=_MAX_ITERATIONS).state[0]
    return iterate(list(z))  # its derivatives are those of the solution


def next_velocities(z: Scalars, after: Scalars) -> list[Any]:
    """Return the velocities about which the next Newton iteration linearises damping and friction.

    They are those of the last solution (``after``), or 0 where the sign differs from that in the last linearisation
    ``z``.
    """
    return [where(lt(a * b, 0.0), 0.0, b) for a, b in zip(z, after, strict=True)]


def velocity_error(z: Scalars, after: Scalars, scales: Scalars) -> Any:
    """Return the largest change of a velocity from ``z`` to ``after``, divided by its tolerance.

    ``scales`` are the joints' friction velocities.
    """
    changes = zip(z, after, scales, strict=True)
    return reduce(fmax, (fabs(b - a) / (_TOLERANCE * (scale + fabs(b))) for a, b, scale in changes), 0.0)


def with_diagonal(M: Matrix, diagonal: Scalars) -> Matrix:
    """Return M with ``diagonal`` added to its diagonal."""
    return [[x + diagonal[i] if i == j else x for j, x in enumerate(row)] for i, row in enumerate(M)]


def _minus(x: Any) -> Any:
    return x if is_zero(x) else -x
