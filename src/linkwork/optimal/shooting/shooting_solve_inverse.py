"""Problems by inverse dynamics: motors as constraints on what a motion takes."""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np

from linkwork.optimal.contact_schedule import weight_of
from linkwork.optimal.features import TorqueFeature

__all__ = ["DYNAMICS", "with_motors"]

Array = np.ndarray[Any, Any]

DYNAMICS = ("forward", "inverse")


def with_motors(who: str, problem: Any, places: tuple[int, ...], limits: tuple[Array, Array], passive: bool) -> Any:
    """The problem, and what motors are: no torque where there is none ("no motor"), and their limits ("motors").

    What the problem says of all steps by itself is not said again.  Raises ValueError for what inverse dynamics does
    not answer.
    """
    if problem.parameters:
        raise ValueError(
            f"{who}: it knows no parameters and no free durations, but the problem has {', '.join(problem.parameters)}"
        )
    low, high = limits
    key = ("inverse", places, low.tobytes(), high.tobytes(), passive)
    found = problem.prepared.get(key)
    if found is None:
        found = problem.prepared[key] = _posed(problem, places, low, high, passive)
    return found


def _posed(problem: Any, places: tuple[int, ...], low: Array, high: Array, passive: bool) -> Any:
    found = copy(problem)
    found.entries, found.variables = list(problem.entries), dict(problem.variables)
    found._changed()
    tree = problem.robot.tree
    owned = {body.joint_name: range(tree.nv)[tree.v_slices[i]] for i, body in tree.stacked() if body.joint.nv}
    known = {
        k
        for entry in problem.entries
        if isinstance(entry.feature, TorqueFeature) and entry.kind == "equality" and entry.target is None
        and len(entry.steps) == problem.steps and entry.lower is None and (entry.scale > 0.0).all()
        for k in entry.feature.places
    }  # fmt: skip
    idle = [name for name, own in owned.items() if not known.issuperset(own) and not set(own) & set(places)]
    if idle:
        feature = TorqueFeature(idle, passive=passive)
        found.add(feature, "equality", scale=1.0 / weight_of(problem), name=_fresh(found, "no motor"))
    bounds = dict(zip(places, zip(low, high, strict=True), strict=True))
    limited = [
        name for name, own in owned.items()
        if own and set(own) <= set(places) and any(np.isfinite(bounds[k]).any() for k in own)
    ]  # fmt: skip
    if limited:
        below, above = (np.array([bounds[k][side] for name in limited for k in owned[name]]) for side in (0, 1))
        feature = TorqueFeature(limited, passive=passive)
        found.add(feature, "inequality", lower=below, upper=above, name=_fresh(found, "motors"))
    return found


def _fresh(problem: Any, name: str) -> str:
    """A name that no feature of the problem has."""
    taken = {entry.name for entry in problem.entries}
    return next(x for x in (name, *(f"{name} {k}" for k in range(2, 1000))) if x not in taken)
