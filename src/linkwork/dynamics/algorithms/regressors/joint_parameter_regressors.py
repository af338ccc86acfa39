"""The parameters of the joints themselves, beside those of bodies: armature, damping, dry friction and stiffness.

Each joint has four numbers for each of its own velocities, joints that follow others too: what a follower's do counts
for its master, times the ratio.  They stand after the bodies' in π, first all armatures, then all dampings, frictions
and stiffnesses, each in the order of the joints.  The law of friction, its velocities v_s and where springs rest are no
parameters; they are the robot's.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from linkwork.dynamics.algorithms.coulomb_friction import direction
from linkwork.expr.scalar.functions import tanh
from linkwork.joints.base.from_transform import units
from linkwork.model.body import FRICTION_VELOCITY, Body, Drive
from linkwork.model.function_spec import Option
from linkwork.model.tree import Tree

__all__ = [
    "JOINT_PARAMETERS",
    "PARAMETERS",
    "force_columns",
    "joint_numbers",
    "joint_parameters",
    "kinetic_columns",
    "potential_columns",
]

JOINT_PARAMETERS = ("armature", "damping", "friction", "stiffness")

Scalars = Sequence[Any]

PARAMETERS = Option("passive", False, (False, True), counted="npi", counts=("npi", "npi_passive"))


class _Number(NamedTuple):
    """One velocity of a joint of a body: its place among all, that in v, and which of the joint's own it is."""

    place: int
    row: int
    body: int
    own: int


def joint_numbers(tree: Tree) -> Iterator[_Number]:
    """Every joint's own velocities, in the order of the joints, followers included."""
    place = 0
    for i in tree.order:
        for own, row in enumerate(range(tree.nv)[tree.v_slices[i]]):
            yield _Number(place, row, i, own)
            place += 1


def joint_parameters(tree: Tree) -> list[float]:
    """Their values (4 nj); damping and friction that do not act are zero."""
    found: list[float] = []
    for kind in JOINT_PARAMETERS:
        for _, _, i, own in joint_numbers(tree):
            body = tree.bodies[i]
            acts = kind in ("armature", "stiffness") or body.dynamics != "none"
            values = getattr(body if kind in ("damping", "friction") else body.drive, kind) if acts else ()
            found.append(values[own] if values else 0.0)
    return found


def force_columns(tree: Tree, q: Scalars, v: Scalars, a: Scalars, friction: str) -> list[list[Any]]:
    """(nv × 4 nj): diag(a), diag(v), the law of friction and φ, by which the four kinds are multiplied in τ."""
    q, v, a = tree.split_q(q), tree.split_v(v), tree.split_v(a)
    numbers = [*joint_numbers(tree)]
    found = [[0.0] * (4 * len(numbers)) for _ in range(tree.nv)]
    armature, damping, dry, stiffness = (k * len(numbers) for k in range(4))
    for place, row, i, own in numbers:
        body = tree.bodies[i]
        ratio, rate = body.ratio, body.ratio * v[i][own]
        scale = Drive.full(body.drive.friction_velocity, body.joint.nv, FRICTION_VELOCITY)[own]
        law = tanh(rate / scale) if friction == "smooth" else direction(rate, ratio * a[i][own])
        found[row][armature + place] = ratio * ratio * a[i][own]
        found[row][damping + place] = ratio * rate
        found[row][dry + place] = ratio * law
        phi = _stretched(body, q[i])[own]
        for k, rates in enumerate(_rates(body, q[i]), start=row - own):
            found[k][stiffness + place] = ratio * rates[own] * phi
    return found


def kinetic_columns(tree: Tree, v: Scalars) -> list[Any]:
    """(4 nj): ½ v² by armature."""
    v, numbers = tree.split_v(v), [*joint_numbers(tree)]
    rates = [tree.bodies[i].ratio * v[i][own] for _, _, i, own in numbers]
    return [*(0.5 * (x * x) for x in rates), *[0.0] * (3 * len(numbers))]


def potential_columns(tree: Tree, q: Scalars) -> list[Any]:
    """(4 nj): ½ φ² by stiffness."""
    q, numbers = tree.split_q(q), [*joint_numbers(tree)]
    phi = [_stretched(tree.bodies[i], q[i])[own] for _, _, i, own in numbers]
    return [*[0.0] * (3 * len(numbers)), *(0.5 * (x * x) for x in phi)]


def _at(body: Body, q: Scalars) -> Scalars:
    """The joint's own configuration, from the tree's numbers for it."""
    return q if body.coupling is None else body.coupling.q(q)


def _stretched(body: Body, q: Scalars) -> list[Any]:
    """φ: the local coordinates of the joint's configuration around its springs' rest."""
    found: list[Any] = body.asked("difference", _rest(body), _at(body, q))
    return found


def _rates(body: Body, q: Scalars) -> list[list[Any]]:
    """φ̇ as the joint moves along each of its own velocities."""
    return [body.asked("difference_rate", _rest(body), _at(body, q), unit) for unit in units(body.joint.nv)]


def _rest(body: Body) -> list[Any]:
    return [*body.drive.rest] or body.asked("zero")
