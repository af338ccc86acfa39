"""Hybrid dynamics of robots with constraints: prescribed accelerations are further constraint rows.

With prescribed accelerations of the joints P, whose rows of the identity are E,

    M a + h = τ + Gᵀλ + Eᵀτ_P,      G a + γ = 0,      E a = a_P.

Where constraints and the joints P could share forces, `Actuation` returns joint forces of least norm.

Source: Featherstone, Rigid Body Dynamics Algorithms, 2008, section 9.2 and chapter 8.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from linkwork.dynamics.algorithms.external_wrenches import Wrenches
from linkwork.dynamics.algorithms.hybrid_dynamics import prescribed_joints
from linkwork.dynamics.algorithms.inverse_dynamics import bias_force
from linkwork.dynamics.algorithms.mass_matrix_inverse import propagated_inverse
from linkwork.mechanisms.algorithms.constrained_forward_dynamics import ConstrainedFactorization
from linkwork.mechanisms.algorithms.constrained_inverse_dynamics import Actuation
from linkwork.mechanisms.algorithms.constraint_rows import AllRates, rates_of
from linkwork.mechanisms.algorithms.loop_joint_functions import with_loop_forces
from linkwork.model.friction_laws import DEFAULT, FrictionLaw, read_smooth_friction
from linkwork.model.tree import Tree

__all__ = ["constrained_hybrid_dynamics"]

Scalars = Sequence[Any]


def constrained_hybrid_dynamics(
    tree: Tree,
    q: Scalars,
    v: Scalars,
    a: Scalars,
    tau: Scalars,
    joints: str | Sequence[str],
    wrenches: Wrenches = (),
    time: Scalars | None = None,
    passive: bool = False,
    friction: str | FrictionLaw = DEFAULT.name,
) -> tuple[list[Any], list[Any]]:
    """Return all accelerations a and joint forces τ (nv each) of a robot with constraints, for `hybrid_dynamics`.

    Prescribed accelerations that the constraints do not allow are replaced by the nearest ones in the metric of
    kinetic energy.  Raises ValueError for a friction law that sticks.
    """
    if passive:
        read_smooth_friction("hybrid_dynamics of a robot with constraints", friction)
    prescribed = prescribed_joints(tree, joints)
    known = [k for i in sorted(prescribed) for k in range(tree.nv)[tree.v_slices[i]]]
    driven = [0.0 if k in known else x for k, x in enumerate(tau)]
    rates = rates_of(tree, q, v, 0.0 if time is None else time[0])
    units = [[float(i == k) for i in range(tree.nv)] for k in known]
    rows = AllRates(
        [*rates.rows, *units],
        [*rates.bias, *(-a[k] for k in known)],
        [*rates.drift, *[0.0] * len(known)],
        [*rates.sizes, *units],
    )
    system = ConstrainedFactorization(propagated_inverse(tree, q, passive), rows)
    h = bias_force(tree, q, v, wrenches, passive, friction)
    pushed = with_loop_forces(tree, q, v, driven, None, passive, friction)
    y = system.inverse.inward([x - b for x, b in zip(pushed, h, strict=True)])
    forces = system.forces(y, [-x for x in rows.bias])
    exerted = dict(zip(known, system.factors.least(forces)[len(rates.rows) :], strict=True))
    names = [tree.bodies[i].joint_name for i in sorted(prescribed)]
    shared, _, _ = Actuation.at(tree, q, rates, names, None).split([exerted.get(k, 0.0) for k in range(tree.nv)])
    return system.moved(y, forces), [x if k in exerted else u for k, (x, u) in enumerate(zip(shared, tau, strict=True))]
