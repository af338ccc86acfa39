"""What went wrong with a search: features, or derivatives of them, that are no numbers, and paths beyond rounding."""

from __future__ import annotations

from typing import Any

import numpy as np

from linkwork.optimal.algorithms.path_augmented_lagrangian import SOLVED, VIOLATED
from linkwork.optimal.kernels import SEARCH_SCALARS, shapes_of, sloping_kernel, state_shapes

__all__ = ["LOST", "UNKNOWN", "nonfinite_derivatives", "nonfinite_values", "resolution", "resolved", "violations_of"]

LOST = 1e14  # a step so long is none: its equations had no solution
UNKNOWN = 1e299  # violations before any step was taken are more


def nonfinite_values(result: Any, place: int) -> list[str]:
    """Which features are not finite, and where, of a problem of a batch."""
    return [f"{name!r} is {x} in {where}" for name, x, where in _odd(result, result.residuals, place)]


def nonfinite_derivatives(result: Any, place: int) -> list[str]:
    """Of which the derivatives are not."""
    program = result._prepared.program
    names = [name for name in ("q", "u", "p") if name in state_shapes(program)]
    inputs = [*(result._state[name] for name in names), *(result._inputs[name] for name in shapes_of(program))]
    slopes = sloping_kernel(program)(*inputs)
    values = result._by_feature(slopes.everywhere, slopes.alone)
    return [f"the derivative of {name!r} in {where}" for name, _, where in _odd(result, values, place)]


def _odd(result: Any, values: dict[str, np.ndarray], place: int) -> list[tuple[str, float, str]]:
    """By name what is no number first, and where."""
    rows = []
    for name, x in values.items():
        k = next(k for k, term in enumerate(result.problem.terms) if term.name == name)
        own = x.reshape(-1, *x.shape[-2:])[place]
        bad = np.argwhere(~np.isfinite(own))
        if len(bad):
            t, row = result._steps_of(k)[bad[0][0]], bad[0][1]
            label = result.problem.terms[k].feature.component_names[row]
            rows.append((name, own[tuple(bad[0])], f"step {t}, row {label!r}"))
    return rows


def resolution(q: np.ndarray) -> np.ndarray:
    """The distance between the largest coordinate of a path (..., T, nq) and the next number [rad, m] (...)."""
    return np.asarray(np.spacing(np.abs(q).max(axis=(-1, -2), initial=0.0)))


def resolved(q: np.ndarray, scalars: np.ndarray, step: float) -> np.ndarray:
    """What a search tells: not converged where a path is so far away that numbers are coarser than its last step."""
    status = SEARCH_SCALARS.index("status")
    lost = (scalars[..., status] == SOLVED) & (resolution(q) > step)
    if lost.any():
        scalars = scalars.copy()
        scalars[..., status][lost] = VIOLATED
    return scalars


def violations_of(result: Any) -> np.ndarray:
    """By how much each constraint is violated (..., constraints), by what features are."""
    own, values, columns = result._prepared, result._by_feature(*result._looked), []
    for k in own.program.hard:
        beyond = np.abs(own.beyond(k, values[own.program.terms[k].name]))
        beyond = np.where(result._inputs["scales"][own.program.rows_of[k]] != 0.0, beyond, 0.0)
        columns.append(beyond.max(axis=(-1, -2), initial=0.0))
    return np.stack(columns, axis=-1)
