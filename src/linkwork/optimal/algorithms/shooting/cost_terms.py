"""Cost terms of a trajectory problem as rows of a shooting step, and the window in which features are evaluated.

If a feature depends only on the state that a step reaches, its term is a row of this state; other terms are rows of the
step.  A constraint with bounds is two inequalities, and least squares with bounds penalise the excess.

A step t with control u leads from (q, v) to (q⁺, v⁺).  The window's configuration is q⁺, its velocity v⁺, its
acceleration (v⁺ − v)/h, and its torque u; the configuration of step t − 1 is q.  With semi-implicit Euler, positions
follow from velocities: the configuration of step t − 2 is q ⊕ (−h v), and q = q⁺ ⊕ (−g v⁺) follows from (q⁺, v⁺) alone.
With other integrators these formulas do not hold, and q⁺ is the configuration at the end of the step.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from linkwork.errors import UnknownNameError
from linkwork.expr.autodiff.dual_numbers import SparseTangent, parts, seeded
from linkwork.expr.scalar.functions import fmax, fmin
from linkwork.expr.scalar.symbol import Graph
from linkwork.kinematics.algorithms.configuration_manifold import integrate
from linkwork.model.tree import Tree
from linkwork.optimal.algorithms.path_nlp import PathTerm
from linkwork.optimal.algorithms.path_window import PathWindow
from linkwork.optimal.algorithms.shooting.augmented_cost import Terms
from linkwork.optimal.algorithms.shooting.forward_dynamics_steps import RobotDynamics
from linkwork.optimal.algorithms.shooting.inverse_dynamics_steps import InverseDynamics

__all__ = ["CostTerms", "InverseWindow", "ShootingWindow", "row_kinds", "split_terms", "window_of"]

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
    """Return the indices of terms that depend on a step itself, and of terms that depend only on the next state.

    The terms with an index in ``by_dynamics`` are left out: the dynamics satisfy them. Raises ValueError, with the name
    of the feature, for features that shooting does not support.
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

    ``steps`` are the indices of the terms that depend on the step itself, and ``states`` the indices of the terms that
    depend only on the reached state.  ``data`` of a step are the time of the reached configuration, the time to it as a
    fraction of a step, and targets that differ by step, in the order of terms.  ``targets`` has the other targets, and
    ``bounds`` the lower and upper bounds, by index of the term.
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
        """Return the second derivatives of Σ wᵢ rᵢ in (x, u) that come from second derivatives of joint forces τ.

        The result is Σ s_k ∂²τ_k with s = Σ wᵢ ∂rᵢ/∂τ, without the constraint forces' part of τ. rᵢ are the components
        that depend on the step itself, and wᵢ their factors ``weights``. Other second derivatives of rᵢ are neglected.
        The result is empty unless the steps use inverse dynamics.
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

    def _rows(self, indices: Sequence[int], window: ShootingWindow, data: Scalars) -> list[Any]:
        targets = self._targets(data)
        rows: list[Any] = []
        for k in indices:
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


class ShootingWindow(PathWindow):
    """The window of a shooting step, in which features are evaluated: configuration, velocity and time after the step.

    With ``before``, the state and control at the beginning of the step, the window also provides accelerations and
    torques of the step. ``reads_step`` is True once a feature has read such a quantity.
    """

    _by = "forward"

    def __init__(
        self, dynamics: RobotDynamics, y: Scalars, time: Any, before: tuple[Scalars, Scalars] | None = None
    ) -> None:
        tree: Tree = dynamics.tree
        q, v = dynamics.split_state(y[: dynamics.state_size])
        gap = dynamics.gap
        earlier = integrate(tree, q, [-gap * x for x in v])
        configurations = [q, earlier]
        self.reads_step = False
        self._v, self._dynamics, self._before, self.passive = v, dynamics, before, dynamics.passive
        self._exact = dynamics.staggers  # positions follow from velocities
        if before is not None:
            p, w = dynamics.split_state(before[0])
            configurations = [q, p, integrate(tree, p, [-dynamics.h * x for x in w])]
        self._named = dynamics.forces_by_name(y[dynamics.state_size :])
        gaps = [gap, *[dynamics.h] * (len(configurations) - 1)]
        super().__init__(tree, configurations, [dynamics.h] * len(configurations), time, gaps=gaps)

    def velocity(self, back: int = 0) -> list[Any]:
        if back == 0:
            return list(self._v)
        x, _ = self._of_the_step("an earlier velocity", back == 1)
        return self._dynamics.split_state(x)[1]

    def acceleration(self, back: int = 0) -> list[Any]:
        x, _ = self._of_the_step("an acceleration", back == 0)
        inverse = 1.0 / self._dynamics.h
        return [(a - b) * inverse for a, b in zip(self._v, self._dynamics.split_state(x)[1], strict=True)]

    def variables(self, name: str, back: int = 0) -> list[Any]:
        self._of_the_step("forces", back == 0)
        return list(self._named[name]) if name in self._named else super().variables(name, back)

    def jerk(self) -> list[Any]:
        self._of_the_step("jerk", False)
        return []

    def torque(self, passive: bool | None = None) -> list[Any]:
        _, u = self._of_the_step("torques", True)
        if passive not in (None, self.passive):
            is_passive = "with" if self.passive else "without"
            raise ValueError(
                f"torques: passive: expected {self.passive}, as the motion is {is_passive} springs, damping and "
                f"friction of joints, got {passive}"
            )
        return self._dynamics.forces(u)

    def end_configuration(self) -> list[Any]:
        return super().end_configuration() if self._exact else self.configuration()

    @property
    def end_time(self) -> Any:
        return super().end_time if self._exact else self.time

    def _midpoint_motion(self) -> tuple[list[Any], list[Any], list[Any]]:
        x, _ = self._of_the_step("the middle of a step", True)
        q, v = self._dynamics.split_state(x)
        return q, [0.5 * (a + b) for a, b in zip(v, self._v, strict=True)], self.acceleration()

    def earlier(self, back: int, depth: int) -> PathWindow:
        self._of_the_step("an earlier step", back + depth == 1 or (back + depth == 2 and self._exact))
        return super().earlier(back, depth)

    def state(self, back: int = 0) -> Any:
        self._earlier(back)
        return super().state(back)

    def configuration(self, back: int = 0) -> list[Any]:
        self._earlier(back)
        return super().configuration(back)

    def _earlier(self, back: int) -> None:
        if back > 1 or (back and not self._exact):
            self._of_the_step("an earlier step", back == 1 or (back == 2 and self._exact))

    def _of_the_step(self, quantity: str, known: bool) -> tuple[Scalars, Scalars]:
        """Return the state at which the step begins, and its control, from which ``quantity`` can be computed.

        ``known`` is False if they do not determine the quantity. Then, and for a window without state and control,
        ValueError is raised.
        """
        self.reads_step = True
        if not known:
            raise ValueError(
                f"{self._by} dynamics does not provide {quantity}: features can use one step's states and controls"
            )
        if self._before is None:
            raise ValueError(f"{quantity}: not available in a window of a single state, without a time step")
        return self._before


class InverseWindow(ShootingWindow):
    """Window of inverse dynamics: the control has accelerations and variables, and torques follow from it."""

    _dynamics: InverseDynamics
    _by = "inverse"

    def acceleration(self, back: int = 0) -> list[Any]:
        return self._dynamics.accelerations(*self._of_the_step("an earlier acceleration", back == 0))

    def variables(self, name: str, back: int = 0) -> list[Any]:
        _, u = self._of_the_step("variables of an earlier step", back == 0)
        named = self._dynamics.named(u)
        return named[name] if name in named else PathWindow.variables(self, name, back)

    def torque(self, passive: bool | None = None) -> list[Any]:
        passive = self.passive if passive is None else passive
        return self._dynamics.torque(*self._of_the_step("torques", True), passive, self.time)


class TorqueWeightWindow(InverseWindow):
    """Window that records the derivatives of features with respect to joint forces.

    These derivatives are the weights of the second derivatives of joint forces; see `curvature`.
    """

    def __init__(self, dynamics: InverseDynamics, y: Scalars, time: Any, before: tuple[Scalars, Scalars]) -> None:
        super().__init__(dynamics, y, time, before)
        self._torques: dict[bool, list[Any]] = {}

    def torque(self, passive: bool | None = None) -> list[Any]:
        passive = self.passive if passive is None else passive
        if passive not in self._torques:
            tau = super().torque(passive)
            self._torques[passive] = list(seeded(tau, [SparseTangent({(passive, k): 1.0}) for k in range(len(tau))]))
        return list(self._torques[passive])

    def curvature(self, rows: Scalars, weights: Scalars) -> list[list[Any]]:
        """Return the second derivatives of Σ s_k τ_k with respect to (x, u), for the joint forces τ of the step.

        The weights s = Σ wᵢ ∂rᵢ/∂τ are constant. ``rows`` are the components rᵢ of cost terms, computed in this window,
        and ``weights`` their factors wᵢ. τ does not include constraint forces.
        """
        dynamics, (x, u) = self._dynamics, self._of_the_step("torques", True)
        count = dynamics.size + dynamics.controls
        total: list[list[Any]] = [[0.0] * count for _ in range(count)]
        for passive, tau in self._torques.items():
            torque_weights: list[Any] = [0.0] * len(tau)
            for row, weight in zip(rows, weights, strict=True):
                _, tangent = parts(row, tau[0].level)
                row_of: Mapping[Any, Any] = tangent.row if isinstance(tangent, SparseTangent) else {}
                for (key, k), rate in row_of.items():
                    if key == passive:
                        torque_weights[k] = torque_weights[k] + weight * rate
            hessian = dynamics.torque_curvature(x, u, torque_weights, passive, self.time)
            total = [[a + b for a, b in zip(*lines, strict=True)] for lines in zip(total, hessian, strict=True)]
        return total


def window_of(
    dynamics: RobotDynamics, y: Scalars, time: Any, before: tuple[Scalars, Scalars] | None = None
) -> ShootingWindow:
    """Return the window in which features of a shooting step are evaluated; ``y`` are the outputs of the step.

    ``before`` are the state and control at the step's beginning, if features of the step itself are evaluated.
    """
    kind = InverseWindow if isinstance(dynamics, InverseDynamics) else ShootingWindow
    return kind(dynamics, y, time, before)
