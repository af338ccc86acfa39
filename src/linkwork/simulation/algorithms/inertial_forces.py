"""Inertial forces b(q, v) in steps of first order, for robots with joints that rotate without limits.

b is quadratic in v, b = Γ(v, v).  With its value at the step's start, a step multiplies a nutation with the rate ω by
√(1 + h² ω²), and fast rotors gain energy without bound.  Kahan's rule takes the product of both velocities instead,

    M (v⁺ − v) + h Γ(v, v⁺) = h f,      Γ(v, v⁺) = b(v) + ½ B (v⁺ − v),      B = ∂b/∂v (q, v),

a linear equation with the matrix M + h B/2.  The rule is its own inverse for −h, and so is the step between the
midpoints of two motions.  The energy therefore oscillates in proportion to h, but hardly drifts.

Sources: Kahan, Unconventional numerical methods for trajectory calculations, 1993; Hairer, Lubich and Wanner, Geometric
Numerical Integration, 2nd ed. 2006, chapters V and XI (reversible maps).
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

from linkwork.dynamics.algorithms.derivatives.inverse_dynamics_derivatives import force_derivatives
from linkwork.dynamics.algorithms.passive_joint_forces import gyroscopic_force
from linkwork.expr.arrays.symbol_array import array
from linkwork.expr.linalg.sparse_dot import dot, is_zero
from linkwork.expr.scalar.functions import fmin, lt, where
from linkwork.model.body import Body
from linkwork.model.tree import Tree
from linkwork.motion.algorithms.curves.curve_space import CurveSpace
from linkwork.simulation.algorithms.contact.program_derivative import UpperLower
from linkwork.simulation.algorithms.free_body import free_bodies

__all__ = ["added_by_spins", "coasted", "has_free_rotation", "rotates_freely", "spin_solve"]

Scalars = Sequence[Any]
Matrix = list[list[Any]]


def rotates_freely(tree: Tree) -> bool:
    """Return True if a joint rotates without limits.

    A free body does not count unless it carries such a joint: the step integrates its free flight, or it rotates
    slowly.
    """
    return any(not body.joint.is_floating and has_free_rotation(body) for _, body in tree.stacked())


def has_free_rotation(body: Body) -> bool:
    """Return True if the joint of a body rotates without limits."""
    return "rad/s" in body.joint.v_units and not all(map(math.isfinite, body.limits.positions[1]))


def added_by_spins(moving: Any, q: Scalars, rates: Scalars, h: Any, armature: bool) -> Matrix:
    """Return h B/2 (nv × nv), B the derivative of inertial forces by v, at q and the velocities ``rates``.

    ``armature`` includes its gyroscopic forces. Linear velocities of free bodies have zero columns, as a step
    integrates these bodies' flight.
    """
    n, state = len(rates), (array(list(q)), array(list(rates)))
    if CurveSpace.of(moving.tree).is_plain:  # the elements of C are Christoffel symbols times v
        return [[h * x for x in row] for row in moving.coriolis_matrix(*state)]
    B = [list(row) for row in moving.inverse_dynamics_derivatives(*state, array([0.0] * n))[1]]
    if armature:
        tree = moving.tree
        rotors = force_derivatives(tree, q, list(rates), lambda q, v: gyroscopic_force(tree, q, v))[1]
        B = [[a if is_zero(b) else a + b for a, b in zip(*rows, strict=True)] for rows in zip(B, rotors, strict=True)]
    free = free_bodies(moving.tree)
    without_spin = {k for body in free for k in range(body.joint_slice.v + 3, body.joint_slice.v + 6)}
    return [[0.0 if k in without_spin else 0.5 * h * x for k, x in enumerate(row)] for row in B]


def spin_solve(tree: Tree, M: Sequence[Scalars], added: Matrix, x: Scalars) -> list[Any]:
    """Return (M + ``added``)⁻¹ x, infinite or NaN where the steps do not resolve a rotation.

    Joints are eliminated from the last to the first, which keeps the zeros between branches.
    """
    order = list(dict.fromkeys(k for i, _, _ in tree.outward() for k in range(tree.nv)[tree.v_slices[i]]))
    factors = UpperLower([[M[max(i, k)][min(i, k)] + added[i][k] for k in order] for i in order])
    y = dict(zip(order, factors.solved([x[i] for i in order]), strict=True))
    resolved = lt(0.0, functools.reduce(fmin, factors.inverse, math.inf))
    return [where(resolved, y[k], math.nan) for k in range(len(order))]


def coasted(
    moving: Any, M: Sequence[Scalars], q: Scalars, v: Scalars, rates: Scalars, h: Any, armature: bool = False
) -> list[Any]:
    """Return the velocity (nv) after a time h [s] in which only inertial forces act.

    ``rates`` is v with zeros for velocities of free bodies, whose free flight the step integrates.
    """
    added = added_by_spins(moving, q, rates, h, armature=armature)
    change = spin_solve(moving.tree, M, added, [-dot(row, list(rates)) for row in added])
    return [x + y for x, y in zip(v, change, strict=True)]
