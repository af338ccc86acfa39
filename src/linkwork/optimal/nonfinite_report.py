"""What went wrong with a search: features, or derivatives of them, that are no numbers, and paths beyond rounding."""

from __future__ import annotations

from typing import Any

import numpy as np

from linkwork.optimal.algorithms.path_augmented_lagrangian import SOLVED, VIOLATED
from linkwork.optimal.kernels import TOLD, shapes_of, sloping_kernel, state_shapes

__all__ = ["LOST", "UNKNOWN", "odd_derivatives", "odd_values", "resolution", "resolved", "violations_of"]

LOST = 1e14  # a step so long is none: its equations had no solution
UNKNOWN = 1e299  # violations before any step was taken are more


def odd_values(result: Any, place: int) -> list[str]:
    """Which features are not finite, and where, of a problem of a batch."""
    return [f"{name!r} is {x} in {where}" for name, x, where in _odd(result, result.residuals, place)]


def odd_derivatives(result: Any, place: int) -> list[str]:
    """Of which the derivatives are not."""
    program = result.prepared.program
    names = [name for name in ("q", "u", "p") if name in state_shapes(program)]
    given = [*(result.state[name] for name in names), *(result.numbers[name] for name in shapes_of(program))]
    found = sloping_kernel(program)(*given)
    values = result._by_feature(found.everywhere, found.alone)
    return [f"the derivative of {name!r} in {where}" for name, _, where in _odd(result, values, place)]


def _odd(result: Any, values: dict[str, np.ndarray], place: int) -> list[tuple[str, float, str]]:
    """By name what is no number first, and where."""
    found = []
    for name, x in values.items():
        k = next(k for k, entry in enumerate(result.problem.entries) if entry.name == name)
        own = x.reshape(-1, *x.shape[-2:])[place]
        bad = np.argwhere(~np.isfinite(own))
        if len(bad):
            t, row = result.steps_of(k)[bad[0][0]], bad[0][1]
            label = result.problem.entries[k].feature.component_names[row]
            found.append((name, own[tuple(bad[0])], f"step {t}, row {label!r}"))
    return found


def resolution(q: np.ndarray) -> np.ndarray:
    """The distance between the largest coordinate of a path (..., T, nq) and the next number [rad, m] (...)."""
    return np.asarray(np.spacing(np.abs(q).max(axis=(-1, -2), initial=0.0)))


def resolved(q: np.ndarray, told: np.ndarray, step: float) -> np.ndarray:
    """What a search tells: not converged where a path is so far away that numbers are coarser than its last step."""
    status = TOLD.index("status")
    lost = (told[..., status] == SOLVED) & (resolution(q) > step)
    if lost.any():
        told = told.copy()
        told[..., status][lost] = VIOLATED
    return told


def violations_of(result: Any) -> np.ndarray:
    """By how much each constraint is violated (..., constraints), by what features are."""
    program, columns = result.prepared.program, []
    values = result._by_feature(*result._looked)
    constants = result.prepared.constants
    for k in program.hard:
        entry, rows = program.entries[k], program.rows_of[k]
        x = values[entry.name]
        if entry.bounded:
            beyond = np.maximum(x - constants["upper"][rows], constants["lower"][rows] - x).clip(0.0)
        else:
            beyond = np.abs(x) if entry.kind == "equality" else x.clip(0.0)
        beyond = np.where(result.numbers["scales"][rows] != 0.0, beyond, 0.0)
        columns.append(beyond.max(axis=(-1, -2), initial=0.0))
    return np.stack(columns, axis=-1)
