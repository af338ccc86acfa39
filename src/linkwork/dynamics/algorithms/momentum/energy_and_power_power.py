"""The power balance: what drives the robot, and what it loses.

    d/dt (T + U) = vᵀ τ + Σ w · V − D:      joints, external wrenches on frames with twists V, and D = −vᵀ τ_d ≥ 0

with the forces τ_d of damping and dry friction; the energies are those of `energy`, with the same ``passive``.

Source: the work-energy theorem; Featherstone, Rigid Body Dynamics Algorithms, 2008, section 2.11 (power V · F).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from linkwork.dynamics.algorithms.external_wrenches import Wrenches, external_forces
from linkwork.dynamics.algorithms.force_element_forces import element_dissipation
from linkwork.dynamics.algorithms.passive_joint_forces import dissipated_power
from linkwork.model.body import WORLD
from linkwork.model.function_spec import FRICTION, PASSIVE, Output, Row
from linkwork.model.tree import Tree
from linkwork.spatial import Motion

__all__ = ["ROWS", "power"]

Scalars = Sequence[Any]


def power(
    tree: Tree,
    q: Scalars,
    v: Scalars,
    tau: Scalars,
    wrenches: Wrenches = (),
    passive: bool = False,
    friction: str = "smooth",
) -> tuple[Any, Any, Any]:
    """Of the joint forces τ, of the wrenches, and what damping and friction take: none unless ``passive`` [W]."""
    joints = sum((rate * torque for rate, torque in zip(v, tau, strict=True)), 0.0)
    dissipated: Any = element_dissipation(tree, q, v) if passive else 0.0
    q, v = tree.split_q(q), tree.split_v(v)
    outside = external_forces(tree, q, wrenches)
    V = {WORLD: Motion.zero()}
    supplied: Any = 0.0
    for i, p, body in tree.outward():
        if outside:
            V[i] = body.X(q[i]).inv() @ V[p] + body.S(q[i]) @ v[i]
        if i in outside:
            supplied += V[i].dot(outside[i])
        if passive:
            dissipated += dissipated_power(body, v[i], friction)
    return joints, supplied, dissipated


ROWS = (
    Row.of(
        power,
        "q v tau",
        (Output((), "W", "joints"), Output((), "W", "wrenches"), Output((), "W", "dissipated")),
        "Power of joint forces and external wrenches, and what damping and friction take.",
        options=(PASSIVE, FRICTION),
        wrenched=True,
    ),
)
