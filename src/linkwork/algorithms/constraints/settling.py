"""Constraints as they are of a robot: functions of the user's are tried, on symbols, before anything is computed."""

from __future__ import annotations

from ...constraints import Constraint
from ...expr.symbol import Graph
from ...model.tree import Tree
from .kinematics import KinematicState
from .rows import derived

__all__ = ["settled"]


def settled(tree: Tree, constraint: Constraint) -> Constraint:
    """The constraint, knowing what only a robot can tell it.

    Raises ValueError for a function of the user's that cannot be one of a constraint, or cannot be differentiated,
    UnknownNameError for a name that it asks for and that is not there.
    """
    if not isinstance(constraint, Constraint):
        return constraint  # told by whoever puts it on
    graph = Graph(f"constraint {constraint.name!r}")
    q, v, (time,) = graph.inputs("q", (tree.nq,)), graph.inputs("v", (tree.nv,)), graph.inputs("time", (1,))
    found = constraint.settled(KinematicState(tree, q, v, time))
    if found.functions and not any(found.checked(tree)):
        derived(tree, found, q, v, time)
    return found
