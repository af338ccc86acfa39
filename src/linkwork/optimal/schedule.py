"""Phases of a problem moved to other steps without compilation: the steps of terms are inputs of kernels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from linkwork.errors import UnknownNameError
from linkwork.optimal.problem_arrays import prepared
from linkwork.optimal.shooting.contact_phases import ContactPhases

__all__ = ["Schedule", "rescheduled"]

Array = np.ndarray[Any, Any]


class Schedule(NamedTuple):
    """Schedule of a call: at which steps terms and contacts are active.

    ``weights`` of terms are (..., T, terms). ``active`` (..., T, contacts) has 1 where a contact or constraint acts,
    else 0.
    """

    weights: Array
    active: Array


def rescheduled(
    caller: str, problem: Any, contacts: ContactPhases | None, phases: Mapping[str, Any], lead: tuple[int, ...]
) -> Schedule:
    """Return at which steps terms and contacts are active if some phases of a problem are moved to other steps.

    ``phases`` is a dict from the name of a phase to its steps: (first step, step after the last), None for no step, or
    booleans by step (..., T). The leading axes of such booleans broadcast to ``lead``; the result has one batch axis.
    Raises ValueError, and UnknownNameError for an unknown phase.
    """
    known, T = problem.phases, problem.num_steps
    masks = {}
    for name, steps in phases.items():
        if name not in known:
            raise UnknownNameError("phase", name, tuple(known))
        masks[name] = _mask(f"{caller}: phases: {name!r}", steps, T, lead)
    axes = max((x.shape[:-1] for x in masks.values()), key=len, default=())
    weights = np.array(np.broadcast_to(prepared(problem, True).constants["weights"], (*axes, T, len(problem.terms))))
    used = set()
    for k, term in enumerate(problem.terms):
        moved = [name for name in term.phases if name in masks]
        used.update(moved)
        if moved:
            if term.has_target_per_step:
                raise ValueError(
                    f"{caller}: phases: {moved[0]!r}: {term.name!r} has a target per step (PerStep): expected a "
                    f"constant target, or steps=None"
                )
            mask = _union(term.phases, masks, known, T)
            weights[..., k] = ~mask if term.is_outside_phase else mask
    models = () if contacts is None else contacts.contact_models
    active = np.zeros((*axes, T, len(models)))
    if contacts is not None:
        active[...] = contacts.active(T)
    for k, model in enumerate(models):
        variable = problem.variables.get(model.force.name)
        if variable is not None and not masks.keys().isdisjoint(variable.phases):
            active[..., k] = _union(variable.phases, masks, known, T)
    for name in masks:
        if name not in used:
            raise ValueError(f"{caller}: phases: {name!r}: no term uses this phase: expected one that a steps= names")
    return Schedule(weights, active)


def _union(names: tuple[str, ...], moved: Mapping[str, Array], phases: Mapping[str, range], T: int) -> Array:
    """Return the steps of some phases as a mask, (T,) or (n, T); phases that are not moved keep their steps."""
    mask: Array = np.zeros(T, dtype=bool)
    for name in names:
        mask = mask | (moved[name] if name in moved else np.isin(np.arange(T), phases[name]))
    return mask


def _mask(caller: str, value: Any, T: int, lead: tuple[int, ...]) -> Array:
    """Return the steps of a phase as a mask, (T,) or (n, T)."""
    mask = np.zeros(T, dtype=bool)
    if value is None:
        return mask
    x = np.asarray(value)
    if x.dtype == bool and x.ndim and x.shape[-1] == T:
        try:
            return x if x.ndim == 1 else np.broadcast_to(x, (*lead, T)).reshape(-1, T)
        except ValueError:
            raise ValueError(f"{caller}: expected the leading axes of the state, {lead}, got {x.shape[:-1]}") from None
    if x.shape == (2,) and x.dtype.kind == "i" and 0 <= x[0] <= x[1] <= T:
        mask[x[0] : x[1]] = True
        return mask
    raise ValueError(
        f"{caller}: expected (first step, step after the last) within 0 to {T}, None, or {T} booleans, got {value!r}"
    )
