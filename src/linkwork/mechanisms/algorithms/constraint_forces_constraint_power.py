"""The power of what constraints exert, λᵀ G v: part of the power balance of a robot with constraints,

    d/dt (T + U) = vᵀ τ + Σ w · V − D + λᵀ G v.

It is zero along every motion of constraints that do not depend on time, G v = 0, and −λᵀ σ of those that do.

Source: Lanczos, The Variational Principles of Mechanics, 4th ed., 1970, chapter I (scleronomic and rheonomic).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from linkwork.dynamics.algorithms.external_wrenches import Wrenches
from linkwork.expr.linalg.sparse_dot import dot
from linkwork.mechanisms.algorithms.constrained_forward_dynamics import constrained_forward_dynamics
from linkwork.mechanisms.algorithms.constraints.constraint_rows import rates_of
from linkwork.model.function_spec import PASSIVE, Output, Row
from linkwork.model.tree import Tree

__all__ = ["ROWS", "constraint_power"]

Scalars = Sequence[Any]


def constraint_power(
    tree: Tree,
    q: Scalars,
    v: Scalars,
    tau: Scalars,
    wrenches: Wrenches = (),
    time: Scalars | None = None,
    passive: bool = False,
) -> Any:
    """λᵀ G v [W], with what the constraints exert under joint forces τ."""
    _, forces = constrained_forward_dynamics(tree, q, v, tau, wrenches, time, passive=passive)
    rows = rates_of(tree, q, v, 0.0 if time is None else time[0]).rows
    return dot(forces, [dot(row, v) for row in rows])


ROWS = (
    Row.of(
        constraint_power,
        "q v tau",
        Output((), "W"),
        "Power of what constraints exert.",
        optional=("gravity", "time"),
        options=(PASSIVE,),
        wrenched=True,
        joint_space=True,
        regular=True,
    ),
)
