"""Coordinates whose rate is a single velocity, ẋ = v_k, and joints that have only such coordinates."""

from __future__ import annotations

from functools import lru_cache

from linkwork.expr.scalar.symbol import Graph
from linkwork.joints.base.joint_type import JointType

__all__ = ["is_plain", "moved_alone"]


@lru_cache(512)
def moved_alone(joint: JointType) -> tuple[int | None, ...]:
    """Return, for each coordinate x of a joint, the index k of the velocity with ẋ = v_k, None if there is none.

    A motion from q by φ then changes x by φ_k, whatever the other velocities are, and a difference φ_k is a difference
    of x. The maps of the joint's manifold are evaluated with symbols. A type that calls the maps of another type
    therefore has the same result.
    """
    graph = Graph()
    q, q_other = list(graph.inputs("q", (joint.nq,))), list(graph.inputs("other", (joint.nq,)))
    v, rates = list(graph.inputs("v", (joint.nv,))), list(graph.inputs("rates", (joint.nq,)))
    q_dot, moved = joint.q_dot(q, v), joint.integrate(q, v)
    velocity, difference = joint.velocity_from_rate(q, rates), joint.difference(q, q_other)

    def alone(n: int, k: int) -> bool:
        moves_forward, moves_back = q_dot[n] is v[k] and velocity[k] is rates[n], moved[n] is q[n] + v[k]
        return moves_forward and moves_back and difference[k] is q_other[n] - q[n]

    return tuple(next((k for k in range(joint.nv) if alone(n, k)), None) for n in range(joint.nq))


def is_plain(joint: JointType) -> bool:
    """Return True if v is the time derivative of q, so that configurations may be added."""
    return moved_alone(joint) == tuple(range(joint.nv))
