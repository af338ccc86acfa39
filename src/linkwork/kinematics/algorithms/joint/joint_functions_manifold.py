"""A joint's configurations as points of a manifold."""

from __future__ import annotations

from typing import Any

from linkwork.model.function_spec import Output, Row
from linkwork.model.joint_site import Scalars, Site

__all__ = ["ROWS"]


def local_coordinates(site: Site, q0: Scalars, q: Scalars, v: Scalars) -> Any:
    return site.type.local(q0, q), site.type.local_rate(q0, q, v)


def global_coordinates(site: Site, q0: Scalars, phi: Scalars) -> Any:
    return site.type.retract(q0, phi)


def normalize_configuration(site: Site, q: Scalars) -> Any:
    return site.type.normalize(q)


def principal_value(site: Site, q: Scalars) -> Any:
    return site.type.principal(q)


ROWS = (
    Row.of(
        local_coordinates,
        "q0 q v",
        (Output(("nv",), "", "phi"), Output(("nv",), "", "phi_dot")),
        "φ of q around q0, and φ̇.",
    ),
    Row.of(
        global_coordinates,
        "q0 phi",
        Output(("nq",), configuration=True),
        "The configuration whose local coordinates around q0 are φ.",
    ),
    Row.of(
        normalize_configuration,
        "q",
        Output(("nq",), configuration=True),
        "The nearest configuration on the manifold.",
        any_configuration=True,
    ),
    Row.of(
        principal_value, "q", Output(("nq",), configuration=True), "The preferred configuration of the same transform."
    ),
)
