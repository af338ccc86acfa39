"""Configurations before the first step of a path, as functions of the start, its velocity and the time step."""

from __future__ import annotations

from typing import Any

import numpy as np

from linkwork.expr.arrays.symbol_array import array
from linkwork.kinematics.algorithms.configuration_manifold import difference, integrate
from linkwork.optimal.algorithms.path_nlp import PathProgram

__all__ = ["past_of_duration", "past_of_moved_start", "past_of_velocity"]


def past_of_moved_start(program: PathProgram, inputs: Any, direction: Any) -> Any:
    """Return the configurations before the first step, after the start has moved by a tangent vector.

    Its velocity in its own axes does not change.  Earlier configurations do not move by the same vector: with rotating
    axes, (q ⊕ d) ⊖ τ v is not (q ⊖ τ v) ⊕ d.
    """
    past, tree = [[*q] for q in inputs], program.tree
    if not past:
        return inputs
    start = integrate(tree, past[-1], [*direction])
    back = difference(tree, past[-1], past[-2]) if len(past) > 1 else []
    ages = range(len(past) - 1, 0, -1)
    return array([*(integrate(tree, start, [age * x for x in back]) for age in ages), start])


def past_of_velocity(program: PathProgram, inputs: dict[str, Any], direction: Any) -> Any:
    """Return the configurations before the first step, after the start's velocity has changed by ``direction``."""
    past, tree = [[*q] for q in inputs.get("past", ())], program.tree
    if len(past) < 2:
        return array(past) if past else np.zeros((0, tree.nq))
    step = inputs["step"] if program.uniform else inputs["step"][0]
    back = [
        x + step * more for x, more in zip(difference(tree, past[-1], past[-2]), [-x for x in direction], strict=True)
    ]
    ages = range(len(past) - 1, 0, -1)
    return array([*(integrate(tree, past[-1], [age * x for x in back]) for age in ages), past[-1]])


def past_of_duration(program: PathProgram, inputs: dict[str, Any], more: Any) -> Any:
    """Return the configurations before the first step, for a time step that is longer by ``more`` [s].

    The velocity of the start does not change.
    """
    past, tree = [[*q] for q in inputs["past"]], program.tree
    if len(past) < 2:
        return inputs["past"]
    step = inputs["step"] if program.uniform else inputs["step"][0]
    change = [x * more / step for x in difference(tree, past[-2], past[-1])]
    ages = range(len(past) - 1, -1, -1)
    return array([integrate(tree, q, [-age * x for x in change]) for q, age in zip(past, ages, strict=True)])
