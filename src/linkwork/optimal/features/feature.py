"""The contract of a feature, over any scalar: a quantity of successive steps of a path, and how it varies.

A path is a row of configurations q_0 ... q_{T−1}, each with variables of its own (forces, say), and parameters of the
whole path (durations, geometry).  A *feature* of depth k looks at k + 1 successive steps t, t − 1 ... t − k, the
*window*, and gives numbers; its rows are their Jacobians, by the tangent vector and the variables of each of these
steps, and by the parameters.  What it aims at comes with each call.

Rates are differences on the joints' manifolds: v_t = (q_t ⊖ q_{t−1})/τ_t, a_t = (v_t − v_{t−1})/τ_t, and so on.

Source: Toussaint, A tutorial on Newton methods for constrained trajectory optimization, in: Laumond et al., Geometric
and Numerical Foundations of Movements, 2017.
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, Self

from linkwork._util.checked_arguments import public_constructor
from linkwork._util.validation import integer
from linkwork.constraints.constraint import Constraint, References
from linkwork.expr.linalg.sparse_dot import is_zero
from linkwork.ik.tasks.task import Task, TaskKinematics, TaskRows, TaskTarget

__all__ = ["DEEPEST", "Feature", "FeatureRows", "MidpointState", "TaskFeature", "Window"]

Scalars = Sequence[Any]

DEEPEST = 3  # how many earlier steps a window may have


@dataclass(frozen=True, slots=True)
class FeatureRows:
    """The values of a feature, and their Jacobians: a row each.

    ``rows`` has a Jacobian for each step back (0 ... depth), with as many columns as a step has: the nv of its tangent
    vector, then its variables (`Window.width`).  ``parameters`` is the Jacobian by those of the whole path.
    """

    values: list[Any]
    rows: list[list[list[Any]]]
    parameters: list[list[Any]]


@dataclass(frozen=True, slots=True)
class MidpointState:
    """The robot somewhere between two steps, and how its tangent vector there goes with theirs (nv × nv each)."""

    state: TaskKinematics
    by_end: list[list[Any]]
    by_begin: list[list[Any]]


class Window(Protocol):
    """Successive steps t, t − 1, ... of a path, over any scalar.  ``back`` counts them backwards from t."""

    tree: Any  # the robot, a `Tree`

    @property
    def nv(self) -> int:
        """How many velocities the robot has."""

    @property
    def width(self) -> int:
        """Columns of a step: nv and its variables."""

    @property
    def parameter_count(self) -> int:
        """Columns of the path's parameters."""

    @property
    def step(self) -> Any:
        """τ [s], from the step before to this one; also a symbol, where durations are free."""

    @property
    def time(self) -> Any:
        """The time of step t [s]."""

    def step_of(self, back: int) -> Any:
        """τ [s] of a step."""

    def step_rates(self, back: int) -> Mapping[int, Any]:
        """What the path's parameters, by their columns, make of τ: nothing where durations are given."""

    def earlier(self, back: int, depth: int) -> Window:
        """The window of an earlier step, which a feature of this depth looks at."""

    def state(self, back: int = 0) -> TaskKinematics:
        """The robot at a step, at rest, as tasks ask about it."""

    def configuration(self, back: int = 0) -> list[Any]:
        """q (nq)."""

    def on_the_way(self, share: float) -> MidpointState:
        """The robot at a share, 0 ... 1, of the shortest way from the step before, q_{t−1} ⊕ s (q_t ⊖ q_{t−1})."""

    def velocity(self, back: int = 0) -> list[Any]:
        """(q_t ⊖ q_{t−1})/τ_t (nv), in q_{t−1}'s tangent space."""

    def acceleration(self, back: int = 0) -> list[Any]:
        """(v_t − v_{t−1})/τ_t (nv)."""

    def jerk(self) -> list[Any]:
        """(a_t − a_{t−1})/τ_t (nv)."""

    def torque(self, passive: bool = False) -> list[Any]:
        """The joint forces (nv) that move the robot so, by inverse dynamics, with forces of contacts [N·m, N].

        Of a path they are those of step t − 1, where a_t is the acceleration: at q_{t−1} and (v_t + v_{t−1})/2.
        """

    def torque_rows(self, passive: bool = False) -> FeatureRows:
        """The same and its derivatives, two steps back."""

    def power(self, passive: bool = False) -> Any:
        """What joints give [W]."""

    def momentum(self, about: str = "center_of_mass") -> list[Any]:
        """(angular; linear) (6) of (q_t, v_t) [kg·m²/s, kg·m/s]."""

    def kinetic_energy(self) -> Any:
        """Of (q_t, v_t) [J]."""

    def potential_energy(self, back: int = 0) -> Any:
        """Of q_t [J]."""

    def constraint_velocity(self, constraint: Constraint) -> list[Any]:
        """A(q) v_t + σ of a constraint of velocities [m/s, rad/s]."""

    def variables(self, name: str, back: int = 0) -> list[Any]:
        """The decision variables of a step that are called so."""

    def columns(self, name: str) -> slice:
        """Where these stand among the columns of a step."""

    def parameter(self, name: str) -> list[Any]:
        """A parameter of the whole path, a list also of one number."""

    def derived(self, values: Callable[[Window], Sequence[Any]], depth: int) -> FeatureRows:
        """What a function finds in the window, and its derivatives, by differentiation."""


class Feature(ABC):
    """A feature: an immutable value, that hashes, with a name of its own.

    A kind writes ``values``, from which rows follow by differentiation, and ``rows`` besides where there is a shorter
    way.  What only a robot can tell (how many rows there are) is known once it is ``settled``.
    """

    name: str
    depth: int  # 0 ... 3: how many earlier steps its values look at

    @property
    def references(self) -> References:
        """What of a robot it names."""
        return References()

    @property
    def component_names(self) -> tuple[str, ...]:
        """What each of its values is called: as many as there are."""
        raise TypeError(
            f"{type(self).__name__}: a kind of feature has to say what its rows are called (`component_names`)"
        )

    @property
    def row_units(self) -> tuple[str, ...]:
        """The unit of each value."""
        return ("1",) * len(self.component_names)

    @property
    def early(self) -> int:
        """How many of its first rows look at no earlier step: they count, too, where there is none."""
        return 0 if self.depth else len(self.component_names)

    @property
    def target_of(self) -> TaskTarget | None:
        """What it aims at; nothing where there is nothing to say."""
        return None

    @property
    def target(self) -> Any:
        """What it aims at by itself, nested tuples of numbers."""
        return None

    @property
    def needs_target(self) -> bool:
        """Whether it means nothing without one: else it aims at zeros (of a pose one, of a configuration neutral)."""
        return self.target_of is not None

    @property
    def needs_forces(self) -> bool:
        """Whether it depends on forces: of a robot with constraints, on those that keep these, too."""
        return False

    def settled(self, robot: Any, w: Window) -> Self:
        """The feature as it is of a robot, in a window on symbols.  Raises ValueError for what is none."""
        return self

    def checked(self, robot: Any) -> Iterable[str]:
        """What is wrong with it for a robot, a message each, besides names that are not there."""
        return ()

    def values(self, w: Window, target: Scalars) -> list[Any]:
        """Its numbers in a window; ``target`` are the numbers of what it aims at, none where there is none."""
        if type(self).rows is Feature.rows:
            raise TypeError(f"{type(self).__name__}: a feature needs a method `values`, or `rows`")
        return self.rows(w, target).values

    def rows(self, w: Window, target: Scalars) -> FeatureRows:
        """Values and Jacobians.  Default: by differentiation of ``values``."""
        return w.derived(lambda window: self.values(window, target), self.depth)

    def exact_jacobian(self, w: Window, target: Scalars) -> FeatureRows:
        """The same with rows that are the derivative of values everywhere, and not only where these vanish."""
        return self.rows(w, target)


@public_constructor
@dataclass(frozen=True)
class TaskFeature(Feature):
    """The errors of a task at a step, or of order k how it moves: their k-th difference by time; of places the point's
    velocity, acceleration and jerk, of orientations angular ones, in axes that do not turn with the frame."""

    task: Task
    order: int = 0

    def __post_init__(self) -> None:
        order = integer("TaskFeature", "order", self.order, least=0, most=DEEPEST, what="a whole number")
        object.__setattr__(self, "order", order)

    @property
    def name(self) -> str:  # type: ignore[override]
        return self.task.name

    @property
    def depth(self) -> int:  # type: ignore[override]
        return self.order

    @property
    def references(self) -> References:
        return self.task.references

    @property
    def component_names(self) -> tuple[str, ...]:
        return self.task.component_names

    @property
    def row_units(self) -> tuple[str, ...]:
        per = {0: "", 1: "/s", 2: "/s²", 3: "/s³"}[self.order]
        return tuple(unit + per for unit in self.task.row_units)

    @property
    def target_of(self) -> TaskTarget | None:
        return self.task.target_of

    @property
    def target(self) -> Any:
        return self.task.target

    @property
    def needs_target(self) -> bool:
        return self.order == 0 and self.target_of is not None

    def settled(self, robot: Any, w: Window) -> Self:
        return replace(self, task=self.task.settled(robot, w.state()))

    def checked(self, robot: Any) -> Iterable[str]:
        return self.task.checked(robot)

    def values(self, w: Window, target: Scalars) -> list[Any]:
        if self.order == 0:
            return self.task.errors(w.state(), target)
        many = range(self.order + 1)
        return self.task.rates([w.state(back) for back in many], [w.step_of(back) for back in many[:-1]], target)

    def rows(self, w: Window, target: Scalars) -> FeatureRows:
        """Of order 0 the task's own, of others its exact ones."""
        return self._differences(w, target, self.task.rows) if self.order == 0 else self.exact_jacobian(w, target)

    def exact_jacobian(self, w: Window, target: Scalars) -> FeatureRows:
        moved = self.task if self.order == 0 else self.task.moved
        if moved is None:
            return super().rows(w, target)
        return self._differences(w, target, moved.exact_jacobian)

    def _differences(
        self, w: Window, target: Scalars, rows: Callable[[TaskKinematics, Scalars], TaskRows]
    ) -> FeatureRows:
        found = [_at_step(w, rows(w.state(back), target), back, self.order) for back in range(self.order + 1)]
        for order in range(1, self.order + 1):
            found = [_rate(w, found[back], found[back + 1], back) for back in range(self.order + 1 - order)]
        return found[0]


def _at_step(w: Window, own: TaskRows, back: int, depth: int) -> FeatureRows:
    """A task's rows as those of a window, at a step of it."""
    more = w.width - w.nv
    rows = [
        [[*row, *[0.0] * more] if step == back else [0.0] * w.width for row in own.rows] for step in range(depth + 1)
    ]
    return FeatureRows(list(own.errors), rows, [[0.0] * w.parameter_count for _ in own.errors])


def _rate(w: Window, now: FeatureRows, before: FeatureRows, back: int) -> FeatureRows:
    """(x_t − x_{t−1})/τ_t, and its rows."""
    inverse, rates = 1.0 / w.step_of(back), w.step_rates(back)

    def less(x: Any, y: Any) -> Any:
        if is_zero(y):
            return x if is_zero(x) else x * inverse
        return (x - y) * inverse

    values = [(x - y) * inverse for x, y in zip(now.values, before.values, strict=True)]
    rows = [
        [[less(x, y) for x, y in zip(a, b, strict=True)] for a, b in zip(A, B, strict=True)]
        for A, B in zip(now.rows, before.rows, strict=True)
    ]
    parameters = [
        [less(x, y) for x, y in zip(a, b, strict=True)] for a, b in zip(now.parameters, before.parameters, strict=True)
    ]
    for row, value in zip(parameters, values, strict=True):
        for k, rate in rates.items():
            row[k] = row[k] - value * inverse * rate
    return FeatureRows(values, rows, parameters)
