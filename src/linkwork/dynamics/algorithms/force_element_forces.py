"""Joint forces, wrenches, energy and dissipation of force elements between bodies: springs, dampers and bushings.

An element exerts a wrench F on a frame B and the opposite one on a frame A.  With the twist V = J v of B relative to A
its joint forces are Jᵀ F.

Source: Featherstone, Rigid Body Dynamics Algorithms, 2008, section 2.11 (power V · F).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from linkwork.dynamics.algorithms.external_wrenches import Wrenches
from linkwork.force_elements import ForceElement
from linkwork.kinematics.algorithms.joint_path import BetweenFrames, SplitState
from linkwork.model.friction_laws import DryFriction
from linkwork.model.function_spec import FunctionSpec, Output
from linkwork.model.tree import Tree
from linkwork.spatial import Force

__all__ = [
    "ROWS",
    "ResistingRow",
    "element_dissipation",
    "element_energy",
    "element_forces",
    "element_rows",
    "element_wrenches",
    "force_element_wrenches",
]

Scalars = Sequence[Any]


def element_forces(tree: Tree, q: Scalars, v: Scalars) -> list[Any]:
    """Return the joint forces Σ Jᵀ F (nv) of all elements."""
    total: list[Any] = [0.0] * tree.nv
    for element, between in _placed(tree, q, v):
        F = _exerted(tree, element, between)
        total = [a + column.dot(F) for a, column in zip(total, between.columns, strict=True)]
    return total


class ResistingRow(NamedTuple):
    """Direction in which springs, dampers and dry friction resist, as a row r (nv) of joint velocities.

    ``owner`` is the name of the force element, or of the joint that closes a loop, and ``component`` counts its rows.
    """

    row: list[Any]
    owner: str
    component: int
    stiffness: Any
    damping: Any
    friction: DryFriction | None = None


def element_rows(tree: Tree, q: Scalars) -> list[ResistingRow]:
    """Return the directions in which elements resist, as rows Jᵀ w in joint velocities."""
    result = []
    for element, between in _placed(tree, q, None):
        for k, (wrench, stiffness, damping) in enumerate(element.resistances(tree, between.pose)):
            result.append(ResistingRow([x.dot(wrench) for x in between.columns], element.name, k, stiffness, damping))
    return result


def element_wrenches(tree: Tree, q: Scalars, v: Scalars) -> Wrenches:
    """Return the wrenches of all force elements on the frames at their ends.

    They have the form of external wrenches: (frame, axes, components).  Ends fixed to the world are left out.
    """
    result = []
    for element, between in _placed(tree, q, v):
        (B, A), F = element.ends(tree), _exerted(tree, element, between)
        result += [(B, B, [*F.elements()]), (A, A, [*(-(between.pose @ F)).elements()])]
    return [wrench for wrench in result if tree.frame(wrench[0]).body >= 0]


def force_element_wrenches(tree: Tree, q: Scalars, v: Scalars) -> list[Force]:
    """Return the wrench F of each force element on its frame B, at B's origin in B's axes (number of elements, 6)."""
    return [_exerted(tree, element, between) for element, between in _placed(tree, q, v)]


def element_energy(tree: Tree, q: Scalars) -> Any:
    """Return the energy of the springs of all elements [J]."""
    return sum((element.energy(tree, between.pose) for element, between in _placed(tree, q, None)), 0.0)


def element_dissipation(tree: Tree, q: Scalars, v: Scalars) -> Any:
    """Return the power that the dampers of all elements dissipate [W], never negative."""
    result: Any = 0.0
    for element, between in _placed(tree, q, v):
        result = result - between.twist.dot(element.damper_wrench(tree, between.pose, between.twist))
    return result


def _placed(tree: Tree, q: Scalars, v: Scalars | None) -> Iterator[tuple[ForceElement, BetweenFrames]]:
    state = SplitState.of(tree, q, v)
    for element in tree.force_elements:
        yield element, BetweenFrames(state, *element.ends(tree))


def _exerted(tree: Tree, element: ForceElement, between: BetweenFrames) -> Force:
    X, V = between.pose, between.twist
    return element.spring_wrench(tree, X) + element.damper_wrench(tree, X, V)


ROWS = (
    FunctionSpec.of(
        force_element_wrenches,
        "q v",
        Output(("nfe", 6), "N·m, N"),
        "Wrenches of the force elements.",
    ),
)
