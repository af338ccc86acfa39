"""Rates of a joint's configuration and its velocity."""

from __future__ import annotations

from typing import Any

from linkwork.model.function_spec import Output, Row
from linkwork.model.joint_site import Scalars, Site

__all__ = ["ROWS"]


def velocity_to_configuration_derivative(site: Site, q: Scalars, v: Scalars) -> Any:
    return site.type.q_dot(q, v)


def velocity_to_configuration_derivative_jacobian(site: Site, q: Scalars) -> Any:
    return site.type.q_dot_jacobian(q)


def configuration_derivative_to_velocity(site: Site, q: Scalars, q_dot: Scalars) -> Any:
    return site.type.v_of(q, q_dot)


def configuration_derivative_to_velocity_jacobian(site: Site, q: Scalars) -> Any:
    return site.type.v_of_jacobian(q)


def configuration_derivative_to_velocity_adjoint(site: Site, q: Scalars, f_v: Scalars) -> Any:
    return site.type.v_of_adjoint(q, f_v)


ROWS = (
    Row.of(velocity_to_configuration_derivative, "q v", Output(("nq",)), "q̇ from v."),
    Row.of(velocity_to_configuration_derivative_jacobian, "q", Output(("nq", "nv")), "The matrix J with q̇ = J v."),
    Row.of(configuration_derivative_to_velocity, "q q_dot", Output(("nv",)), "v from q̇."),
    Row.of(configuration_derivative_to_velocity_jacobian, "q", Output(("nv", "nq")), "The matrix J with v = J q̇."),
    Row.of(
        configuration_derivative_to_velocity_adjoint,
        "q f_v",
        Output(("nq",)),
        "f_q = Jᵀ f_v: ⟨f_q, q̇⟩ = ⟨f_v, v⟩.",
    ),
)
