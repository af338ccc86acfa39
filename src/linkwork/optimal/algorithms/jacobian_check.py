"""Whether a feature's rows are the derivatives of its values: against central differences, in random windows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from linkwork.kinematics.algorithms.configuration_manifold import integrate
from linkwork.model.tree import Tree
from linkwork.optimal.algorithms.path_window import PathWindow
from linkwork.optimal.features.contact_features import ConstraintForce, PathContact
from linkwork.optimal.features.feature import Feature, FeatureRows
from linkwork.optimal.features.motion_features import velocities_of

__all__ = ["RowCheck", "check_rows"]

_STEP = 1e-6
_ROUNDING = 1e-5  # of what differences of such a step are off, relative to the largest number of rows


@dataclass(frozen=True)
class RowCheck:
    """The largest difference between a feature's rows and central differences of its values.

    ``error`` is in the unit of the row by that of the column, ``where`` (its row's name, how many steps back, the
    column's name) is where it is, ``expected`` what differences say there and ``got`` what rows say; ``scale`` the
    largest number of rows, and ``windows`` how many random windows were looked at.
    """

    feature: str
    error: float
    scale: float
    where: tuple[str, int, str]
    expected: float
    got: float
    windows: int

    @property
    def good(self) -> bool:
        """Whether that is no more than what differences are off by rounding and by their curvature."""
        return self.error <= _ROUNDING * (1.0 + self.scale)

    def __bool__(self) -> bool:
        return self.good

    def __str__(self) -> str:
        row, back, column = self.where
        step = {0: "step t", 1: "step t - 1"}.get(back, f"step t - {back}") if back >= 0 else "the path"
        told = "rows are its derivatives" if self.good else "ROWS ARE NOT ITS DERIVATIVES"
        return (
            f"feature {self.feature!r}: {told}: in {self.windows} random windows they are off by {self.error:.1e} at "
            f"most (the largest number is {self.scale:.1e}): row {row!r} by {column!r} of {step}: {self.got:.9g}, by "
            f"differences {self.expected:.9g}"
        )


def check_rows(
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
) -> RowCheck:
    """Of a settled feature, with variables of steps and parameters of the path by name and size.

    ``exact``: of the rows that are to be derivatives everywhere.  Raises ValueError for values that are not finite.
    """
    rng = np.random.default_rng(seed)
    sizes, shared = dict(variables or {}), dict(parameters or {})
    worst: RowCheck | None = None
    largest = 0.0
    for _ in range(windows):
        path = _random_path(tree, rng, feature.depth + 1, step)
        numbers = [{name: rng.normal(size=n).tolist() for name, n in sizes.items()} for _ in path]
        whole = {name: rng.uniform(0.5, 1.5, n).tolist() for name, n in shared.items()}

        def values(
            path: Sequence[Any] = path, numbers: Sequence[Any] = numbers, whole: Mapping[str, Any] = whole
        ) -> np.ndarray:
            return _finite(feature, feature.values(_window(path, numbers, whole), target))

        def _window(path: Sequence[Any], numbers: Sequence[Any], whole: Mapping[str, Any]) -> PathWindow:
            return PathWindow(tree, path, [step] * len(path), 0.7, numbers, whole, contacts=contacts)

        w = _window(path, numbers, whole)
        found: FeatureRows = feature.exact_jacobian(w, target) if exact else feature.rows(w, target)
        _finite(feature, found.values)
        for back, column, plus, minus, own in _moved(tree, feature, found, path, numbers, whole, values):
            differences = (plus - minus) / (2.0 * _STEP)
            got = np.array(own, dtype=float)
            largest = max(largest, float(np.abs(differences).max(initial=0.0)))
            off = np.abs(got - differences)
            k = int(np.argmax(np.where(np.isnan(off), np.inf, off))) if len(off) else 0
            error = float(off[k]) if len(off) and not np.isnan(off[k]) else np.inf
            if worst is None or error > worst.error:
                place = (feature.component_names[k], back, column)
                worst = RowCheck(feature.name, error, 0.0, place, float(differences[k]), float(got[k]), windows)
    if worst is None:
        raise ValueError(f"feature {feature.name!r}: nothing that a path could change is in it")
    return RowCheck(worst.feature, worst.error, largest, worst.where, worst.expected, worst.got, windows)


def _random_path(tree: Tree, rng: np.random.Generator, count: int, step: float) -> list[list[float]]:
    """Successive configurations at speeds of about one."""
    q = [float(x) for _, body in tree.stacked() for x in body.joint.random(rng, *body.limits.positions, ())]
    found = [q]
    v = rng.uniform(-1.0, 1.0, tree.nv)
    for _ in range(count - 1):
        v = v + step * rng.uniform(-3.0, 3.0, tree.nv)
        found.append(integrate(tree, found[-1], [float(x) for x in -step * v]))
    return found


def _moved(tree: Tree, feature: Feature, found: FeatureRows, path: Any, numbers: Any, whole: Any, values: Any) -> Any:
    """(steps back, the column's name, values after a step along it and against it, its numbers of the rows)."""
    names = velocities_of(tree)[0]
    for back in range(feature.depth + 1):
        for k, name in enumerate(names):
            pair = []
            for h in (_STEP, -_STEP):
                moved = list(path)
                moved[back] = integrate(tree, path[back], [h * (i == k) for i in range(tree.nv)])
                pair.append(values(moved))
            yield back, name, *pair, [row[k] for row in found.rows[back]]
        column = tree.nv
        for name, x in numbers[back].items():
            for k in range(len(x)):
                pair = []
                for h in (_STEP, -_STEP):
                    changed = [dict(one) for one in numbers]
                    changed[back][name] = [y + h * (i == k) for i, y in enumerate(x)]
                    pair.append(values(path, changed))
                yield back, f"{name}[{k}]", *pair, [row[column] for row in found.rows[back]]
                column += 1
    column = 0
    for name, x in whole.items():
        for k in range(len(x)):
            pair = []
            for h in (_STEP, -_STEP):
                other = dict(whole)
                other[name] = [y + h * (i == k) for i, y in enumerate(x)]
                pair.append(values(path, numbers, other))
            yield -1, f"{name}[{k}]", *pair, [row[column] for row in found.parameters]
            column += 1


def _finite(feature: Feature, given: Sequence[Any]) -> np.ndarray:
    found = np.array(given, dtype=float)
    if not np.isfinite(found).all():
        bad = feature.component_names[int(np.flatnonzero(~np.isfinite(found))[0])]
        raise ValueError(f"feature {feature.name!r}: row {bad!r} is {found[~np.isfinite(found)][0]} in a random window")
    return found
