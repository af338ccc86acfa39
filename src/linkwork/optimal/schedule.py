"""Phases of a problem at other steps: they are numbers of its kernels, so nothing is compiled anew."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from linkwork.errors import UnknownNameError
from linkwork.optimal.problem_arrays import prepared
from linkwork.optimal.shooting.contact_phases import HoldingPhases

__all__ = ["Schedule", "rescheduled"]

Array = np.ndarray[Any, Any]


class Schedule(NamedTuple):
    """Weights of terms by step (..., T, terms), and flags of contacts and constraints that act (..., T, holdings)."""

    weights: Array
    active: Array


def rescheduled(
    caller: str, problem: Any, holdings: HoldingPhases | None, phases: Mapping[str, Any], lead: tuple[int, ...]
) -> Schedule:
    """What counts where phases are at these steps: (first, after the last), None for nowhere, or by step whether it is
    one (..., T), with leading axes as ``lead``, which become one.

    Raises TypeError and ValueError, UnknownNameError for names of no phase.
    """
    if not isinstance(phases, Mapping):
        raise TypeError(f"{caller}: phases: expected a dict of names to steps, got {phases!r}")
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
        if term.phase in masks:
            used.add(term.phase)
            if term.has_target_per_step:
                raise ValueError(
                    f"{caller}: phases: {term.phase!r}: {term.name!r} has a target of each of its steps (PerStep): "
                    f"expected one that is the same in all, or steps=None"
                )
            mask = masks[term.phase]
            weights[..., k] = ~mask if term.is_outside_phase else mask
    forces = () if holdings is None else holdings.holdings
    active = np.zeros((*axes, T, len(forces)))
    if holdings is not None:
        active[...] = holdings.active(T)
    for k, one in enumerate(forces):
        number = problem.variables.get(one.force.name)
        if number is not None and number.phase in masks:
            active[..., k] = masks[number.phase]
    for name in masks:
        if name not in used:
            raise ValueError(f"{caller}: phases: {name!r}: nothing counts there: expected a phase that a steps= names")
    return Schedule(weights, active)


def _mask(caller: str, value: Any, T: int, lead: tuple[int, ...]) -> Array:
    """By step whether it is one of a phase, (T,) or (n, T)."""
    mask = np.zeros(T, dtype=bool)
    if value is None:
        return mask
    x = np.asarray(value)
    if x.dtype == bool and x.ndim and x.shape[-1] == T:
        try:
            return x if x.ndim == 1 else np.broadcast_to(x, (*lead, T)).reshape(-1, T)
        except ValueError:
            raise ValueError(f"{caller}: expected leading axes of the state's, {lead}, got {x.shape[:-1]}") from None
    if x.shape == (2,) and x.dtype.kind == "i" and 0 <= x[0] <= x[1] <= T:
        mask[x[0] : x[1]] = True
        return mask
    raise ValueError(
        f"{caller}: expected (first step, step after the last) in 0 to {T}, None, or True or False {T} times, "
        f"got {value!r}"
    )
