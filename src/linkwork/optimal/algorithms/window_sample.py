"""Random windows: configurations, variables and parameters, and shifted copies for central differences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from linkwork.kinematics.algorithms.configuration_manifold import integrate
from linkwork.model.tree import Tree
from linkwork.optimal.algorithms.path_window import PathWindow
from linkwork.optimal.features.contact_features import ConstraintForce, PathContact
from linkwork.optimal.features.motion_features import velocities_of

__all__ = ["DIFFERENCE_STEP", "WindowSample"]

DIFFERENCE_STEP = 1e-6
_STEP = 0.05  # [s]
_TIME = 14  # steps before the window


@dataclass(frozen=True)
class WindowSample:
    """Values of a window of steps: configurations, variables, parameters and step duration [s].

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
        """Return random values of a window of ``depth`` + 1 steps, with velocities of about 1 rad/s or m/s."""
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
        """Return the window of these values, with ``path``, ``variables`` and ``parameters`` replaced if passed."""
        path = self.path if path is None else path
        variables = self.variables if variables is None else variables
        parameters = self.parameters if parameters is None else parameters
        step: Any = parameters["duration"][0] if self.free_duration else self.step
        rates = [{0: 1.0}] * len(path) + [{0: float(_TIME)}] if self.free_duration else ()
        steps = [step] * len(path)
        return PathWindow(self.tree, path, steps, _TIME * step, variables, parameters, rates, self.contacts)

    def neighbours(self, depth: int) -> Iterator[tuple[int, str, int, Self, Self]]:
        """Yield, for each column of a Jacobian, the two samples of its central difference.

        Each entry is (steps back, name, column, increased sample, decreased sample), with −1 steps back for a
        parameter.
        """
        for back in range(depth + 1):
            for k, name in enumerate(velocities_of(self.tree)[0]):
                yield back, name, k, self._moved(back, k, DIFFERENCE_STEP), self._moved(back, k, -DIFFERENCE_STEP)
            column = self.tree.nv
            for name, k, plus, minus in _shifts(self.variables[back]):
                sides = [replace(self, variables=_with(self.variables, back, one)) for one in (plus, minus)]
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
    for name, own in values.items():
        for k in range(len(own)):
            plus, minus = (
                {**values, name: tuple(x + h * (i == k) for i, x in enumerate(own))}
                for h in (DIFFERENCE_STEP, -DIFFERENCE_STEP)
            )
            yield name, k, plus, minus
