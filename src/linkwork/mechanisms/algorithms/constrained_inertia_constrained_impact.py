"""Impact of a robot with constraints: what they, and impulses, do to velocities in an instant.

    M (v⁺ − v) = GᵀΛ + Σ Jᵀ p,      G v⁺ + σ = −e (G v + σ).

The rows that hold already, G v + σ = 0, go on to hold whatever e is; the velocities at which others are met are what e,
the coefficient of restitution, turns round.  Without impulses and drift σ kinetic energy changes by
−½ (1 − e²) (G v)ᵀ (G M⁻¹ Gᵀ)⁺ (G v), which is no gain for 0 ≤ e ≤ 1.

Sources: Featherstone, Rigid Body Dynamics Algorithms, 2008, section 11.7; Moreau, Unilateral contact and dry friction
in finite freedom dynamics, 1988 (one coefficient for all that is met at once).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from linkwork.dynamics.algorithms.external_wrenches import Wrenches
from linkwork.dynamics.algorithms.inverse_dynamics import bias_force
from linkwork.dynamics.algorithms.mass_matrix_inverse import handed_on
from linkwork.expr.linalg.sparse_dot import dot
from linkwork.mechanisms.algorithms.constrained_forward_dynamics import Held
from linkwork.mechanisms.algorithms.constraints.constraint_rows import rates_of
from linkwork.model.function_spec import PASSIVE, Output, Row
from linkwork.model.tree import Tree
from linkwork.spatial import Vec3

__all__ = ["ROWS", "constrained_impact", "impact_of_constrained"]

Scalars = Sequence[Any]


def constrained_impact(
    tree: Tree,
    q: Scalars,
    v: Scalars,
    impulses: Wrenches = (),
    time: Scalars | None = None,
    restitution: Scalars | None = None,
    passive: bool = False,
) -> tuple[list[Any], list[Any]]:
    """v⁺ (nv) and Λ (nc), the impulse of each row of the constraints.

    Rows that depend on each other share in it with least norm.  With ``passive`` armature is part of M.
    """
    still = [0.0] * tree.nv
    rates = rates_of(tree, q, still, 0.0 if time is None else time[0])
    held, e = Held(handed_on(tree, q, passive), rates), 0.0 if restitution is None else restitution[0]
    pushed = bias_force(tree.under(Vec3.zero()), q, still, impulses)
    y = held.inverse.inward([-x for x in pushed])
    closing = [dot(row, v) + drift for row, drift in zip(rates.rows, rates.drift, strict=True)]
    found = held.forces(y, [-(x + x * e) for x in closing])
    steps = held.moved(y, found)
    return [x + step for x, step in zip(v, steps, strict=True)], held.factors.least(found)


def impact_of_constrained(
    tree: Tree, q: Scalars, v: Scalars, impulses: Wrenches = (), passive: bool = False
) -> list[Any]:
    """v⁺ alone, as `impact` is asked for it."""
    return constrained_impact(tree, q, v, impulses, passive=passive)[0]


ROWS = (
    Row.of(
        constrained_impact,
        "q v",
        (Output(("nv",), "rad/s, m/s", "v"), Output(("nc",), "N·s, N·m·s", "constraint_impulses")),
        "Velocities after constraints are met, and after impulses; and what the constraints exert.",
        optional=("time", "restitution"),
        options=(PASSIVE,),
        wrenched=True,
        acting="impulses",
        joint_space=True,
        regular=True,
    ),
)
