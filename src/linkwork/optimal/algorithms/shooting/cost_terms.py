"""Cost terms of a trajectory problem as rows of a shooting step.

A term whose feature depends only on the state that a step reaches is a row of that state; others are rows of the step.
A constraint with bounds is two inequalities, and least squares with bounds penalise the excess.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from linkwork.errors import UnknownNameError
from linkwork.expr.scalar.functions import fmax, fmin
from linkwork.expr.scalar.symbol import Graph
from linkwork.optimal.algorithms.path_nlp import PathTerm
from linkwork.optimal.algorithms.shooting.augmented_cost import Terms
from linkwork.optimal.algorithms.shooting.forward_dynamics_steps import RobotDynamics
from linkwork.optimal.algorithms.shooting.inverse_dynamics_steps import InverseDynamics
from linkwork.optimal.algorithms.shooting.shooting_window import ShootingWindow, TorqueWeightWindow, window_of

__all__ = ["CostTerms", "row_kinds", "split_terms"]

Scalars = Sequence[Any]


def row_kinds(term: PathTerm) -> tuple[str, ...]:
    """Return the kind of each of a term's components in a shooting step.

    A constraint with bounds is two inequalities for each component.
    """
    if term.bounded and term.hard:
        return ("inequality",) * (2 * term.count)
    return (term.kind,) * term.count


def split_terms(
    dynamics: RobotDynamics, terms: Sequence[PathTerm], by_dynamics: Collection[int] = ()
) -> tuple[list[int], list[int]]:
    """Return two lists of indices: of the terms that depend on a step itself, and of those on the reached state only.

    The terms with an index in ``by_dynamics`` are left out: the dynamics satisfy them.

    Raises ValueError, with the name of the feature, for features that shooting does not support.
    """
    moving: list[int] = []
    reached: list[int] = []
    for k, term in enumerate(terms):
        if k in by_dynamics:
            continue
        graph = Graph(f"shooting: {term.name!r}")
        x, y = (
            list(graph.inputs(name, (dynamics.state_size + more,))) for name, more in (("x", 0), ("y", dynamics.more))
        )
        u = list(graph.inputs("u", (dynamics.controls,)))
        window = window_of(dynamics, y, graph.input("time"), (x, u))
        target = graph.inputs("target", (_size(dynamics, term),)) if term.feature.target_of is not None else ()
        try:
            term.feature.values(window, list(target))
        except UnknownNameError:
            raise
        except ValueError as error:
            raise ValueError(f"solver: feature {term.name!r}: {error}") from None
        (moving if window.reads_step else reached).append(k)
    return moving, reached


def _size(dynamics: RobotDynamics, term: PathTerm) -> int:
    sizes = {"nq": dynamics.tree.nq, "nv": dynamics.tree.nv}
    count = 1
    assert term.feature.target_of is not None
    for n in term.feature.target_of.shape:
        count *= sizes[n] if isinstance(n, str) else n
    return count


@dataclass(frozen=True)
class CostTerms(Terms):
    """The terms of a trajectory problem as components of a shooting step.

    ``steps`` are the indices of the terms that depend on the step itself, ``states`` those of the terms that depend
    only on the state that it reaches.  ``data`` of a step are the time of the configuration that it reaches, the share
    of a step until then, and targets per step in the order of terms.  The other targets are in ``targets``, and lower
    and upper bounds in ``bounds``, by index of the term.
    """

    dynamics: RobotDynamics
    terms: Sequence[PathTerm]
    steps: Sequence[int]
    states: Sequence[int]
    targets: Mapping[int, Scalars]
    bounds: Mapping[int, tuple[Scalars, Scalars]]

    @property
    def moving_kinds(self) -> tuple[str, ...]:  # type: ignore[override]
        return tuple(kind for k in self.steps for kind in row_kinds(self.terms[k]))

    @property
    def reached_kinds(self) -> tuple[str, ...]:  # type: ignore[override]
        return tuple(kind for k in self.states for kind in row_kinds(self.terms[k]))

    def moving(self, x: Scalars, u: Scalars, y: Scalars, data: Scalars) -> list[Any]:
        if not self.steps:
            return []
        return self._rows(self.steps, self._window(y, data, (x, u)), data)

    def reached(self, y: Scalars, data: Scalars) -> list[Any]:
        if not self.states:
            return []
        return self._rows(self.states, self._window(y, data), data)

    def _window(self, y: Scalars, data: Scalars, before: tuple[Scalars, Scalars] | None = None) -> ShootingWindow:
        return window_of(self._dynamics_of(data), y, data[0], before)

    def _dynamics_of(self, data: Scalars) -> RobotDynamics:
        dynamics = self.dynamics.at(data)
        assert isinstance(dynamics, RobotDynamics)
        return dynamics

    def curvature(self, x: Scalars, u: Scalars, data: Scalars, weights: Scalars) -> list[list[Any]]:
        """Return second derivatives of Σ wᵢ rᵢ by (x, u), as far as they come from those of joint forces τ.

        They are Σ s_k ∂²τ_k with s = Σ wᵢ ∂rᵢ/∂τ, without the constraint forces' part of τ. rᵢ are the components that
        depend on the step itself, and wᵢ their factors ``weights``. Other second derivatives of rᵢ are neglected. The
        result is empty unless the steps are by inverse dynamics.
        """
        dynamics = self._dynamics_of(data)
        if not isinstance(dynamics, InverseDynamics):
            return []
        window = TorqueWeightWindow(dynamics, dynamics.step(x, u), data[0], (x, u))
        return window.curvature(self._rows(self.steps, window, data) if self.steps else [], weights)

    def values(self, x: Scalars, u: Scalars, y: Scalars, data: Scalars) -> list[Any]:
        """Return the values of all features in the order of terms, without bounds.

        ``y`` are the outputs of the step.
        """
        step, state = self._window(y, data, (x, u)), self._window(y, data)
        rows: list[Any] = []
        targets = self._targets(data)
        for k, term in enumerate(self.terms):
            rows += term.feature.values(state if k in self.states else step, targets[k])
        return rows

    def _targets(self, data: Scalars) -> list[list[Any]]:
        """Return the target of each term."""
        targets, start = [], 2
        for k, term in enumerate(self.terms):
            if term.has_target_per_step:
                size = _size(self.dynamics, term)
                targets.append(list(data[start : start + size]))
                start += size
            else:
                targets.append(list(self.targets.get(k, [])))
        return targets

    def _rows(self, some: Sequence[int], window: ShootingWindow, data: Scalars) -> list[Any]:
        targets = self._targets(data)
        rows: list[Any] = []
        for k in some:
            rows += self._bounded(k, list(self.terms[k].feature.values(window, targets[k])))
        return rows

    def _bounded(self, k: int, values: list[Any]) -> Iterator[Any]:
        term = self.terms[k]
        if not term.bounded:
            yield from values
            return
        lower, upper = self.bounds[k]
        if term.hard:
            yield from (x - high for x, high in zip(values, upper, strict=True))
            yield from (low - x for x, low in zip(values, lower, strict=True))
        else:
            yield from (x - fmin(fmax(x, low), high) for x, low, high in zip(values, lower, upper, strict=True))
