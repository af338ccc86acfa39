"""Configurations as points of a manifold, joint by joint: integrate, difference, normalize, and rates.

The rate q̇ differs from the velocity v for joints with quaternions, for example.

Source: Sola, Deray and Atchuthan, A micro Lie theory for state estimation in robotics, 2018.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from linkwork.model.function_spec import FunctionSpec, Output
from linkwork.model.tree import Tree

__all__ = [
    "ROWS",
    "configuration_derivative_to_velocity",
    "difference",
    "integrate",
    "normalize",
    "velocity_to_configuration_derivative",
]


Scalars = Sequence[Any]


def integrate(tree: Tree, q: Scalars, v: Scalars) -> list[Any]:
    """Return q ⊕ v (nq): the configuration reached from q by the velocity v in unit time."""
    q, v = tree.split_q(q), tree.split_v(v)
    return [x for i, body in tree.stacked() for x in body.call_joint("integrate", q[i], v[i])]


def difference(tree: Tree, q0: Scalars, q1: Scalars) -> list[Any]:
    """Return q1 ⊖ q0 (nv): the velocity that leads from q0 to q1 in unit time."""
    q0, q1 = tree.split_q(q0), tree.split_q(q1)
    return [x for i, body in tree.stacked() for x in body.call_joint("difference", q0[i], q1[i])]


def normalize(tree: Tree, q: Scalars) -> list[Any]:
    """Return the configuration (nq) on the joints' manifolds nearest to q, with unit quaternions."""
    q = tree.split_q(q)
    return [x for i, body in tree.stacked() for x in body.call_joint("normalize", q[i])]


def velocity_to_configuration_derivative(tree: Tree, q: Scalars, v: Scalars) -> list[Any]:
    """Return q̇ (nq), the rate of the configuration at velocity v."""
    q, v = tree.split_q(q), tree.split_v(v)
    return [x for i, body in tree.stacked() for x in body.call_joint("q_dot", q[i], v[i])]


def configuration_derivative_to_velocity(tree: Tree, q: Scalars, q_dot: Scalars) -> list[Any]:
    """Return v (nv), the velocity at the configuration rate q̇."""
    q, q_dot = tree.split_q(q), tree.split_q(q_dot)
    return [x for i, body in tree.stacked() for x in body.call_joint("velocity_from_rate", q[i], q_dot[i])]


ROWS = (
    FunctionSpec.of(
        integrate,
        "q v",
        Output(("nq",), "rad, m, 1", configuration=True),
        "Configuration reached by a constant velocity in unit time.",
    ),
    FunctionSpec.of(
        difference,
        "q0 q1",
        Output(("nv",), "rad, m"),
        "Velocity that leads from one configuration to another in unit time.",
    ),
    FunctionSpec.of(
        normalize,
        "q",
        Output(("nq",), "rad, m, 1", configuration=True),
        "Nearest configuration on the joints' manifolds, with unit quaternions.",
        any_configuration=True,
    ),
    FunctionSpec.of(
        velocity_to_configuration_derivative,
        "q v",
        Output(("nq",), "rad/s, m/s, 1/s"),
        "Rate of the configuration at a velocity.",
    ),
    FunctionSpec.of(
        configuration_derivative_to_velocity,
        "q q_dot",
        Output(("nv",), "rad/s, m/s"),
        "Velocity at a rate of the configuration.",
    ),
)
