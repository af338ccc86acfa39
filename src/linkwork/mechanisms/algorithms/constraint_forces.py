"""Which constraints' forces dynamics tells, and which it leaves open.

Where rows depend on each other, forces μ with Gᵀ μ = 0 do nothing to the robot, and may be added to λ.  A row's force
is one number if no such μ has a part there.  What C = (A + E)⁻¹ E of `linkwork.expr.linalg.semidefinite_solve` leaves as it
is are these μ, so that the diagonal of C² tells a row's share in them.

Source: Wojtyra, Joint reactions in rigid body mechanisms with dependent constraints, Mech. Mach. Theory 44, 2009.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from linkwork.mechanisms.algorithms.constrained_inertia import at_rest
from linkwork.model.function_spec import Output, Row
from linkwork.model.tree import Tree

__all__ = ["ROWS", "constraint_force_ambiguity"]

Scalars = Sequence[Any]


def constraint_force_ambiguity(tree: Tree, q: Scalars, time: Scalars | None = None) -> list[Any]:
    """How much of each row's force is left open (nc): 0 where there is one force, up to 1 where it does nothing."""
    held = at_rest(tree, q, time)
    found: list[Any] = [1.0] * len(held.rates.rows)
    for k in held.factors.order:
        told = held.factors.least([1.0 if i == k else 0.0 for i in range(len(found))])
        found[k] = 1.0 - told[k]
    return found


ROWS = (
    Row.of(
        constraint_force_ambiguity,
        "q",
        Output(("nc",), "1"),
        "How much of each constraint force dynamics leaves open.",
        optional=("time",),
        joint_space=True,
        regular=True,
    ),
)
