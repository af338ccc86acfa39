"""Constraints as they are of a robot: functions of the user's are tried, on symbols, before anything is computed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from linkwork.constraints import Constraint
from linkwork.expr.scalar.symbol import Graph
from linkwork.mechanisms.algorithms.constraints.constraint_kinematics import KinematicState
from linkwork.mechanisms.algorithms.constraints.constraint_rows import derived
from linkwork.model.tree import Tree
from linkwork.model.tree_constraints import with_constraints

__all__ = ["bind_constraints", "settled_anew"]

_STATES = 16
_ROUNDING = 1e-9


def bind_constraints(tree: Tree, constraint: Constraint) -> Constraint:
    """The constraint, knowing what only a robot can tell it.

    Raises ValueError for a function of the user's that cannot be one of a constraint, or cannot be differentiated, or
    is one of velocities and not linear in them, UnknownNameError for a name that it asks for and that is not there.
    """
    if not isinstance(constraint, Constraint):
        return constraint  # told by whoever puts it on
    graph = Graph(f"constraint {constraint.name!r}")
    q, v, (time,) = graph.inputs("q", (tree.nq,)), graph.inputs("v", (tree.nv,)), graph.inputs("time", (1,))
    found = constraint.bind(KinematicState(tree, q, v, time))
    if found.functions and not any(found.checked(tree)):
        derived(tree, found, q, v, time)
        if not found.holonomic:
            _check_linear(tree, found)
    return found


def _check_linear(tree: Tree, constraint: Constraint) -> None:
    """Raises ValueError for a function of velocities that is not σ + A v, in random states, or is no number in any."""
    rng = np.random.default_rng(0)
    free = [np.full(body.joint.nq, np.inf).tolist() for _, body in tree.stacked()]
    bounded = zip(tree.stacked(), free, strict=True)
    q = [x for (_, body), high in bounded for x in body.joint.random(rng, [-x for x in high], high, (_STATES,)).T]
    v, w = rng.normal(size=(2, tree.nv, _STATES))
    time, a, b = np.ones(_STATES), 2.0, -3.0

    def value(v: np.ndarray) -> np.ndarray:
        found = constraint.velocity(KinematicState(tree, q, list(v), time))
        return np.array([np.broadcast_to(np.asarray(x, dtype=float), _STATES) for x in found])

    with np.errstate(all="ignore"):
        drift = value(0.0 * v)
        one, other, both = value(v) - drift, value(w) - drift, value(a * v + b * w) - drift
        size = 1.0 + sum(np.abs(x) for x in (drift, one, other, both))
        off = np.abs(both - a * one - b * other) / size
    for name, row in zip(constraint.component_names, off, strict=True):
        if np.isnan(row).all():
            raise ValueError(
                f"constraint {constraint.name!r}: its function gives NaN in {_STATES} random states ({name})"
            )
        if np.nanmax(row) > _ROUNDING:
            raise ValueError(
                f"constraint {constraint.name!r}: its function is not linear in velocities ({name}): f(2 v - 3 w) is "
                f"{np.nanmax(row):.1e} of its size off 2 f(v) - 3 f(w); expected A(q, t) v + σ(q, t)"
            )


def settled_anew(tree: Tree) -> Tree:
    """The tree, whose joints may have other types, with its constraints as they are of it then.  Raises ValueError."""
    if not tree.constraints:
        return tree
    return with_constraints(replace(tree, constraints=()), [bind_constraints(tree, c) for c in tree.constraints])
