"""Comparison of a feature's Jacobian with central differences of its values, in random windows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NoReturn, Self

import numpy as np

from linkwork.kinematics.algorithms.configuration_manifold import integrate
from linkwork.model.tree import Tree
from linkwork.optimal.algorithms.path_window import PathWindow
from linkwork.optimal.features.contact_features import ConstraintForce, PathContact
from linkwork.optimal.features.feature import Feature, FeatureJacobian
from linkwork.optimal.features.motion_features import velocities_of

__all__ = [
    "DIFFERENCE_STEP",
    "ROUNDING",
    "JacobianCheck",
    "WindowSample",
    "check_jacobian",
    "finite_values",
    "jacobian_errors",
]

ROUNDING = 1e-5  # error of the differences, relative to the largest entry of a Jacobian


@dataclass(frozen=True)
class JacobianCheck:
    """The largest difference between a feature's Jacobian and central differences of its values.

    ``where`` is the entry of the Jacobian at which the difference is largest: the name of its row, the number of steps
    back (−1 for a parameter of the path), and the name of its column.  ``error`` is the absolute difference at this
    entry, in the unit of the row divided by the unit of the column, ``expected`` the central difference and ``got``
    the entry of the Jacobian.  ``scale`` is the largest absolute central difference.  ``windows`` is the number of
    random windows.
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
        raise ValueError(
            f"feature {feature.name!r}: expected a feature that depends on the path, got one with constant values"
        )
    return replace(worst, scale=largest, windows=windows)


def jacobian_errors(
    feature: Feature, sample: WindowSample, target: Sequence[float], jacobian: FeatureJacobian
) -> Iterator[JacobianCheck]:
    """Yield, for each column of a feature's Jacobian at one sample, the largest difference from central differences.

    ``scale`` of each result is the largest absolute central difference of the column.
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
    result = np.array(values, dtype=float)
    if not np.isfinite(result).all():
        bad = int(np.flatnonzero(~np.isfinite(result))[0])
        row = feature.component_names[bad] if bad < len(feature.component_names) else bad
        raise ValueError(
            f"feature {feature.name!r}: component {row!r}: expected a finite value, got {result[bad]} in a window"
        )
    return result


DIFFERENCE_STEP = 1e-6
_STEP = 0.05  # [s]
_TIME = 14  # steps before the window


@dataclass(frozen=True)
class WindowSample:
    """Sample of successive steps of a path: configurations, variables, parameters and step duration [s].

    ``path`` and ``variables`` begin with the newest step. With ``free_duration`` the first parameter is the duration
    [s] of each step.
    """

    tree: Tree
    path: tuple[tuple[float, ...], ...]
    variables: tuple[Mapping[str, tuple[float, ...]], ...]
    parameters: Mapping[str, tuple[float, ...]]
    step: float
    contacts: tuple[PathContact | ConstraintForce, ...] = ()
    free_duration: bool = False

    @classmethod
    def random(
        cls,
        tree: Tree,
        rng: np.random.Generator,
        depth: int,
        variables: Mapping[str, int],
        parameters: Mapping[str, int],
        contacts: Sequence[PathContact | ConstraintForce] = (),
        step: float = _STEP,
        free_duration: bool = False,
    ) -> Self:
        """Return a random sample of ``depth`` + 1 successive steps, with velocities of about 1 rad/s or m/s."""
        q = [float(x) for _, body in tree.stacked() for x in body.joint.random(rng, *body.limits.positions, ())]
        path = [q]
        v = rng.uniform(-1.0, 1.0, tree.nv)
        for _ in range(depth):
            v = v + step * rng.uniform(-3.0, 3.0, tree.nv)
            path.append(integrate(tree, path[-1], [float(x) for x in -step * v]))
        by_step = tuple({name: tuple(rng.normal(size=n).tolist()) for name, n in variables.items()} for _ in path)
        shared = {name: tuple(rng.uniform(0.5, 1.5, n).tolist()) for name, n in parameters.items()}
        if free_duration:
            shared = {"duration": (step,), **shared}
        return cls(tree, tuple(map(tuple, path)), by_step, shared, step, tuple(contacts), free_duration)

    def window(
        self, path: Sequence[Any] | None = None, variables: Any = None, parameters: Mapping[str, Any] | None = None
    ) -> PathWindow:
        """Return this sample as a `PathWindow`, in which features are evaluated.

        ``path``, ``variables`` and ``parameters`` replace those of the sample if passed.
        """
        path = self.path if path is None else path
        variables = self.variables if variables is None else variables
        parameters = self.parameters if parameters is None else parameters
        step: Any = parameters["duration"][0] if self.free_duration else self.step
        rates = [{0: 1.0}] * len(path) + [{0: float(_TIME)}] if self.free_duration else ()
        steps = [step] * len(path)
        return PathWindow(self.tree, path, steps, _TIME * step, variables, parameters, rates, self.contacts)

    def neighbours(self, depth: int) -> Iterator[tuple[int, str, int, Self, Self]]:
        """Yield the two samples of each central difference: one for each column of a feature's Jacobian.

        Each entry is (steps back, name, column, increased sample, decreased sample). A parameter of the path has −1
        steps back.
        """
        for back in range(depth + 1):
            for k, name in enumerate(velocities_of(self.tree)[0]):
                yield back, name, k, self._moved(back, k, DIFFERENCE_STEP), self._moved(back, k, -DIFFERENCE_STEP)
            column = self.tree.nv
            for name, k, plus, minus in _shifts(self.variables[back]):
                sides = [replace(self, variables=_with(self.variables, back, changed)) for changed in (plus, minus)]
                yield back, f"{name}[{k}]", column, sides[0], sides[1]
                column += 1
        for column, (name, k, plus, minus) in enumerate(_shifts(self.parameters)):
            yield -1, f"{name}[{k}]", column, replace(self, parameters=plus), replace(self, parameters=minus)

    def _moved(self, back: int, k: int, h: float) -> Self:
        q = integrate(self.tree, self.path[back], [h * (i == k) for i in range(self.tree.nv)])
        return replace(self, path=_with(self.path, back, tuple(q)))


def _with(values: tuple[Any, ...], index: int, value: Any) -> tuple[Any, ...]:
    return (*values[:index], value, *values[index + 1 :])


def _shifts(values: Mapping[str, tuple[float, ...]]) -> Iterator[tuple[str, int, dict[str, Any], dict[str, Any]]]:
    """Yield, for each number in ``values``, copies of ``values`` with this number increased and decreased.

    Each entry is (name, index of the number, increased copy, decreased copy).
    """
    for name, entries in values.items():
        for k in range(len(entries)):
            plus, minus = (
                {**values, name: tuple(x + h * (i == k) for i, x in enumerate(entries))}
                for h in (DIFFERENCE_STEP, -DIFFERENCE_STEP)
            )
            yield name, k, plus, minus
