"""Comparison of a feature's Jacobian with central differences of its values, in random windows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NoReturn

import numpy as np

from linkwork.model.tree import Tree
from linkwork.optimal.algorithms.window_sample import DIFFERENCE_STEP, WindowSample
from linkwork.optimal.features.contact_features import ConstraintForce, PathContact
from linkwork.optimal.features.feature import Feature, FeatureJacobian

__all__ = ["ROUNDING", "JacobianCheck", "check_jacobian", "finite_values", "jacobian_errors"]

ROUNDING = 1e-5  # error of the differences, relative to the largest entry of a Jacobian


@dataclass(frozen=True)
class JacobianCheck:
    """The largest difference between a feature's Jacobian and central differences of its values.

    ``where`` is the entry of the Jacobian at which the difference is largest: the name of its row, the number of steps
    back (−1 for a parameter of the path), and the name of its column.  ``error`` is the absolute difference there, in
    the unit of the row divided by the unit of the column, ``expected`` the central difference and ``got`` the entry of
    the Jacobian.  ``scale`` is the largest absolute entry of the Jacobian, by central differences.  ``windows`` is the
    number of random windows.
    """

    feature: str
    error: float
    scale: float
    where: tuple[str, int, str]
    expected: float
    got: float
    windows: int

    @property
    def success(self) -> bool:
        """True if the difference is no larger than rounding and truncation of central differences explain."""
        return self.error <= ROUNDING * (1.0 + self.scale)

    def __bool__(self) -> NoReturn:
        raise TypeError(f"{type(self).__name__}: a result has no truth value; use .success")

    def __str__(self) -> str:
        row, back, column = self.where
        step = {0: "step t", 1: "step t - 1"}.get(back, f"step t - {back}") if back >= 0 else "the path"
        verdict = "the Jacobian is right" if self.success else "THE JACOBIAN IS WRONG"
        return (
            f"feature {self.feature!r}: {verdict}: its largest error in {self.windows} random windows is "
            f"{self.error:.1e} (the largest entry is {self.scale:.1e}): row {row!r} by {column!r} of {step}: "
            f"{self.got:.9g}, by differences {self.expected:.9g}"
        )


def check_jacobian(
    tree: Tree,
    feature: Feature,
    target: Sequence[float] = (),
    *,
    variables: Mapping[str, int] | None = None,
    parameters: Mapping[str, int] | None = None,
    contacts: Sequence[PathContact | ConstraintForce] = (),
    step: float = 0.05,
    windows: int = 4,
    seed: int = 0,
    exact: bool = True,
) -> JacobianCheck:
    """Return the largest difference between a feature's Jacobian and central differences of its values.

    The feature is bound to a robot.  It is evaluated in ``windows`` random windows with time steps of ``step`` [s].
    ``variables`` of each step and ``parameters`` of the whole path are dicts of sizes by name.  With ``exact`` the
    Jacobian is `Feature.exact_jacobian`, else `Feature.jacobian`.

    Raises ValueError for values that are not finite, and for a feature that does not depend on the path.
    """
    rng = np.random.default_rng(seed)
    worst: JacobianCheck | None = None
    largest = 0.0
    for _ in range(windows):
        sample = WindowSample.random(tree, rng, feature.depth, variables or {}, parameters or {}, contacts, step)
        w = sample.window()
        jacobian = feature.exact_jacobian(w, target) if exact else feature.jacobian(w, target)
        finite_values(feature, jacobian.values)
        for error in jacobian_errors(feature, sample, target, jacobian):
            largest = max(largest, abs(error.scale))
            if worst is None or error.error > worst.error:
                worst = error
    if worst is None:
        raise ValueError(f"feature {feature.name!r}: expected a feature that depends on the path")
    return replace(worst, scale=largest, windows=windows)


def jacobian_errors(
    feature: Feature, sample: WindowSample, target: Sequence[float], jacobian: FeatureJacobian
) -> Iterator[JacobianCheck]:
    """Yield the difference from central differences for each column of a Jacobian in one window.

    ``scale`` of each is the largest absolute central difference of its column.
    """
    for back, name, column, plus, minus in sample.neighbours(feature.depth):
        high, low = (finite_values(feature, feature.values(side.window(), target)) for side in (plus, minus))
        expected = (high - low) / (2.0 * DIFFERENCE_STEP)
        rows = jacobian.parameters if back < 0 else jacobian.rows[back]
        got = np.array([row[column] for row in rows], dtype=float)
        if not len(got):
            continue
        error = np.abs(got - expected)
        k = int(np.argmax(np.where(np.isnan(error), np.inf, error)))
        worst = np.inf if np.isnan(error[k]) else float(error[k])
        scale, where = float(np.abs(expected).max()), (feature.component_names[k], back, name)
        yield JacobianCheck(feature.name, worst, scale, where, float(expected[k]), float(got[k]), 1)


def finite_values(feature: Feature, values: Sequence[Any]) -> np.ndarray:
    """Return a feature's values as an array.  Raises ValueError if one is not finite."""
    numbers = np.array(values, dtype=float)
    if not np.isfinite(numbers).all():
        bad = int(np.flatnonzero(~np.isfinite(numbers))[0])
        row = feature.component_names[bad] if bad < len(feature.component_names) else bad
        raise ValueError(
            f"feature {feature.name!r}: component {row!r}: expected a finite value, got {numbers[bad]} in a window"
        )
    return numbers
