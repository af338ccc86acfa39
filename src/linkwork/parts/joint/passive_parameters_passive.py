"""What damping and dry friction exert: URDF's dynamics of joints, of one or of a whole robot."""

from __future__ import annotations

from typing import Any

import numpy as np

from linkwork.expr.arrays.symbol_array import is_traced, over_samples
from linkwork.expr.scalar.functions import sign
from linkwork.kernels.array_arguments import Asked
from linkwork.kernels.compiler_api import Port
from linkwork.kernels.owners import Subject

__all__ = ["resistance"]


def resistance(subject: Subject, v: Any, damping: np.ndarray, friction: np.ndarray) -> np.ndarray:
    """τ = −damping · v − friction · sign(v), at a velocity that is looked at as those of compiled functions are."""
    asked = Asked(subject, "passive_torque", (Port("v", damping.shape),), ())
    if is_traced(v):
        resisting = list(zip(damping.tolist(), friction.tolist(), strict=True))

        def resisted(rates: list[Any]) -> list[list[Any]]:
            return [[0.0 - d * x - c * sign(x) for x, (d, c) in zip(rates, resisting, strict=True)]]

        return over_samples(resisted, asked.prepared_scalars([v]), [1], [damping.shape])[0]  # type: ignore[no-any-return]
    (given,) = asked.prepared([v])
    asked.refuse_not_finite([given])
    rate = given.astype(float)
    torque: np.ndarray = 0.0 - damping * rate - friction * np.sign(rate)
    return torque
