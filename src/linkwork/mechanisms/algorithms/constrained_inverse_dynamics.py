"""Inverse dynamics of a robot with constraints: what chosen actuators exert for it to move with given accelerations.

    M a + h = S τ + Gᵀ λ.

The accelerations are taken as they are: constraints bear what they ask for beside them.  See `actuation` for how joint
forces are split between actuators and constraints, and what becomes of what no actuator can do.

Sources: Aghili, A unified approach for inverse and direct dynamics of constrained multibody systems, IEEE Trans.
Robotics 21, 2005; Nakamura and Ghodoussi, Dynamics computation of closed-link robot mechanisms with nonredundant and
redundant actuators, IEEE Trans. Robotics and Automation 5, 1989.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from linkwork.dynamics.algorithms.external_wrenches import Wrenches
from linkwork.dynamics.algorithms.inverse_dynamics import inverse_dynamics
from linkwork.mechanisms.algorithms.actuation import Actuation, Names
from linkwork.mechanisms.algorithms.constraints.constraint_rows import rates_of
from linkwork.mechanisms.algorithms.loop_joint_functions import with_loop_forces
from linkwork.model.function_spec import ACTUATORS, PASSIVE, Output, Row
from linkwork.model.tree import Tree

__all__ = ["ROWS", "asked_for", "constrained_inverse_dynamics"]

Scalars = Sequence[Any]


def constrained_inverse_dynamics(
    tree: Tree,
    q: Scalars,
    v: Scalars,
    a: Scalars,
    wrenches: Wrenches = (),
    time: Scalars | None = None,
    weights: Scalars | None = None,
    loop_forces: Scalars | None = None,
    actuators: Names = None,
    passive: bool = False,
) -> tuple[list[Any], list[Any], list[Any]]:
    """τ (nv, 0 where nothing is actuated), λ (nc), and what nothing exerts (nv): 0 where actuators can do it."""
    rates = rates_of(tree, q, v, 0.0 if time is None else time[0])
    wanted = asked_for(tree, q, v, a, wrenches, passive, loop_forces)
    return Actuation.at(tree, q, rates, actuators, weights).split(wanted)


def asked_for(
    tree: Tree,
    q: Scalars,
    v: Scalars,
    a: Scalars,
    wrenches: Wrenches,
    passive: bool,
    loop_forces: Scalars | None = None,
) -> list[Any]:
    """M a + h, less what the joints that close loops exert: given forces, and with ``passive`` their own."""
    wanted = inverse_dynamics(tree, q, v, a, wrenches, passive)
    by_loops = with_loop_forces(tree, q, v, [0.0] * tree.nv, loop_forces, passive)
    return [x - y for x, y in zip(wanted, by_loops, strict=True)]


ROWS = (
    Row.of(
        constrained_inverse_dynamics,
        "q v a",
        (
            Output(("nv",), "N·m, N", "tau"),
            Output(("nc",), "N, N·m", "constraint_forces"),
            Output(("nv",), "N·m, N", "missing"),
        ),
        "Forces of actuators, and of constraints, that accelerate the robot.",
        optional=("gravity", "time", "weights", "loop_forces"),
        options=(ACTUATORS, PASSIVE),
        wrenched=True,
        joint_space=True,
    ),
)
