"""Rates of a configuration and velocities, joint by joint: q̇ is not v where a joint has a quaternion, say."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from linkwork.model.function_spec import Output, Row
from linkwork.model.tree import Tree

__all__ = ["ROWS", "configuration_derivative_to_velocity", "velocity_to_configuration_derivative"]

Scalars = Sequence[Any]


def velocity_to_configuration_derivative(tree: Tree, q: Scalars, v: Scalars) -> list[Any]:
    """q̇ (nq): how the configuration changes at velocity v."""
    q, v = tree.split_q(q), tree.split_v(v)
    return [x for i, body in tree.stacked() for x in body.asked("q_dot", q[i], v[i])]


def configuration_derivative_to_velocity(tree: Tree, q: Scalars, q_dot: Scalars) -> list[Any]:
    """v (nv): the velocity at which the configuration changes at rate q̇."""
    q, q_dot = tree.split_q(q), tree.split_q(q_dot)
    return [x for i, body in tree.stacked() for x in body.asked("v_of", q[i], q_dot[i])]


ROWS = (
    Row.of(
        velocity_to_configuration_derivative,
        "q v",
        Output(("nq",), "rad/s, m/s, 1/s"),
        "Rate at which the configuration changes at a velocity.",
    ),
    Row.of(
        configuration_derivative_to_velocity,
        "q q_dot",
        Output(("nv",), "rad/s, m/s"),
        "Velocity at which the configuration changes at a rate.",
    ),
)
