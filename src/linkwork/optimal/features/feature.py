"""Protocol of a feature, over any scalar: a quantity of successive steps of a path, and its Jacobian.

A path is a sequence of configurations q_0 ... q_{T−1}, each with variables (such as forces), and parameters of the
whole path (such as durations).  A *feature* of depth k has values that depend on k + 1 successive steps t, t − 1 ... t
− k, the *window*.  Its Jacobian has a row for each value, with columns for the tangent vector and variables of each of
these steps and for the parameters.  Each call passes the target of a feature.  `linkwork.optimal.check_feature` checks
that a feature meets this protocol.

Rates are finite differences on the joints' manifolds, v_t = (q_t ⊖ q_{t−1})/g_t, a_t = (v_t − v_{t−1})/τ_t, and so on.
With the gaps g_t they are exactly the rates of a curve with constant accelerations in steps of τ_t: v_t is the velocity
at the end of step t, q_{t−1} belongs to the middle of step t, and q_t to the middle of step t + 1 or to the end
(`linkwork.optimal.algorithms.path_nlp`).

Source: Toussaint, A tutorial on Newton methods for constrained trajectory optimization, in: Laumond et al., Geometric
and Numerical Foundations of Movements, 2017.
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, Self, TypeVar

from linkwork._util.checked_arguments import public_constructor
from linkwork._util.validation import integer
from linkwork.constraints.constraint import Constraint, References
from linkwork.expr.linalg.sparse_dot import is_zero
from linkwork.ik.tasks.task import Task, TaskKinematics, TaskRows, TaskTarget

__all__ = ["DEEPEST", "Feature", "FeatureJacobian", "MidpointState", "TaskFeature", "Window", "with_fields"]

Scalars = Sequence[Any]
F = TypeVar("F", bound="Feature")

DEEPEST = 3  # largest number of earlier steps in a window


@dataclass(frozen=True, slots=True)
class FeatureJacobian:
    """The values of a feature and their Jacobian.

    ``rows`` has a matrix for each step back (0 ... depth), with a row for each value and `Window.width` columns: nv
    for the step's tangent vector, then its variables.  ``parameters`` is the Jacobian with respect to the parameters
    of the whole path.
    """

    values: list[Any]
    rows: list[list[list[Any]]]
    parameters: list[list[Any]]


@dataclass(frozen=True, slots=True)
class MidpointState:
    """Robot at a configuration between two steps, with its derivatives in the configurations of both steps.

    The derivatives are with respect to tangent vectors, nv × nv each.
    """

    state: TaskKinematics
    by_end: list[list[Any]]
    by_begin: list[list[Any]]


class Window(Protocol):
    """Window of successive steps t, t − 1, ... of a path, over any scalar; ``back`` counts from t backwards."""

    tree: Any  # the robot, a `Tree`

    @property
    def nv(self) -> int:
        """Number of velocities of the robot."""

    @property
    def width(self) -> int:
        """Number of columns of a step in a Jacobian: nv for its tangent vector, then its variables."""

    @property
    def parameter_count(self) -> int:
        """Number of columns of the path's parameters in a Jacobian."""

    @property
    def step(self) -> Any:
        """Time g_t [s] from q_{t−1} to q_t: the mean of τ_t and τ_{t+1}, or half of the last step."""

    @property
    def time(self) -> Any:
        """The time of q_t [s]."""

    def step_of(self, back: int, order: int = 1) -> Any:
        """Return the time [s] by which a finite difference of ``order`` k divides, at step t − ``back``.

        It is the time from q_{t−1} to q_t (k = 1, for velocities), the time step τ_t (k = 2, for accelerations), or the
        time from q_{t−2} to q_{t−1} (k = 3, for jerks).
        """

    def step_rates(self, back: int, order: int = 1) -> Mapping[int, Any]:
        """Return the derivatives of `step_of` with respect to the path's parameters, as a dict by column of a Jacobian.

        The dict is empty for fixed times. ``back`` and ``order`` are arguments of `step_of`.
        """

    def earlier(self, back: int, depth: int) -> Window:
        """Return the window whose newest step is t − ``back``, for a feature of ``depth`` earlier steps."""

    @property
    def end_gap(self) -> Any:
        """Time [s] from q_{t−1} to the end of step t."""

    def with_equal_steps(self, depth: int) -> Window:
        """Return a window whose ``depth`` configurations are a time τ_t apart, about the middle of step t.

        The window has the same q_{t−1}, v_t, a_t and jerk; if all intervals are equal, this window itself is returned.
        In a window of equal steps, finite differences in time of functions of configurations have errors of second
        order.
        """

    def chained(self, jacobian: FeatureJacobian, depth: int) -> FeatureJacobian:
        """Convert a ``jacobian`` in the unknowns of ``with_equal_steps(depth)`` to this window's unknowns."""

    def state(self, back: int = 0) -> TaskKinematics:
        """Return the kinematics of the robot at step t − ``back``, with zero velocity.

        Tasks of inverse kinematics compute their errors from these kinematics.
        """

    def configuration(self, back: int = 0) -> list[Any]:
        """Return the configuration q (nq) of step t − ``back``."""

    def interpolated_state(self, share: float) -> MidpointState:
        """Return the robot at q_{t−1} ⊕ s (q_t ⊖ q_{t−1}), where ``share`` is s from 0 to 1."""

    def velocity(self, back: int = 0) -> list[Any]:
        """Return the velocity v_t = (q_t ⊖ q_{t−1})/g_t (nv) at the end of step t, or ``back`` steps earlier."""

    def acceleration(self, back: int = 0) -> list[Any]:
        """Return the acceleration a_t = (v_t − v_{t−1})/τ_t (nv), constant in step t, or ``back`` steps earlier."""

    def jerk(self) -> list[Any]:
        """Return the jerk (a_t − a_{t−1})/g_{t−1} (nv)."""

    def mean_velocity(self) -> list[Any]:
        """Return the velocity v̄ (nv) in the middle of step t, at q_{t−1}: the mean of v_t and v_{t−1}."""

    def torque(self, passive: bool | None = None) -> list[Any]:
        """Return the joint forces (nv) [N·m, N] of this motion by inverse dynamics, with contact forces.

        Forces are evaluated in the middle of step t, at q_{t−1}, v̄ (`mean_velocity`) and a_t.  With ``passive`` they
        are motor forces, which overcome damping, friction, springs and armature of joints.  The default is that of the
        dynamics of the motion: True for paths.
        """

    def torque_jacobian(self, passive: bool | None = None, indices: Sequence[int] | None = None) -> FeatureJacobian:
        """Return the joint forces and their Jacobian in the unknowns of steps t, t − 1 and t − 2.

        ``passive`` is an argument of `torque`; ``indices`` are the indices in τ of the joint forces to return, None
        for all.
        """

    def power(self, passive: bool | None = None) -> Any:
        """Return the power of joint forces [W]; ``passive`` is an argument of `torque`."""

    def momentum(self, about: str = "center_of_mass") -> list[Any]:
        """Return the momentum (angular; linear) (6) at the end of step t [kg·m²/s, kg·m/s].

        ``about`` is "center_of_mass", or "world" for the world's origin.
        """

    def kinetic_energy(self) -> Any:
        """Return the kinetic energy at the end of step t [J]."""

    def potential_energy(self, back: int = 0) -> Any:
        """Return the potential energy of q_t [J], or ``back`` steps earlier."""

    def end_potential_energy(self) -> Any:
        """Return the potential energy at the end of step t [J]."""

    def end_configuration(self) -> list[Any]:
        """Return the configuration (nq) at the end of step t, where v_t is the velocity."""

    def constraint_velocity(self, constraint: Constraint) -> list[Any]:
        """Return the error A(q) v_t + σ of a velocity constraint at the end of step t [m/s, rad/s]."""

    def variables(self, name: str, back: int = 0) -> list[Any]:
        """Return the decision variables ``name`` of step t − ``back``."""

    def columns(self, name: str) -> slice:
        """Return the columns of the variable ``name`` in the Jacobian of a step."""

    def parameter(self, name: str) -> list[Any]:
        """Return the parameter ``name`` of the whole path, as a list also for size 1."""

    def derived(self, values: Callable[[Window], Sequence[Any]], depth: int) -> FeatureJacobian:
        """Return the values of a function of the window and their Jacobian, by automatic differentiation.

        The function depends on the configurations and variables of step t and of the ``depth`` steps before it.
        """


class Feature(ABC):
    """Base class of features: immutable values with equality and hash, preferably frozen dataclasses.

    A class defines `name`, `depth`, `component_names`, `row_units` and `values`.  Its Jacobian follows by automatic
    differentiation; a class may define a faster `jacobian`.  Properties that depend on the robot, such as the number
    of components, are available after `bind`.
    """

    name: str
    depth: int  # 0 ... 3: number of earlier steps that its values depend on

    @property
    def references(self) -> References:
        """Frames, points and joints of the robot that the feature names."""
        return References()

    @property
    def component_names(self) -> tuple[str, ...]:
        """A name for each value."""
        raise TypeError(f"{type(self).__name__}: a feature needs component_names, a name for each value")

    @property
    def row_units(self) -> tuple[str, ...]:
        """A unit for each value."""
        return ("1",) * len(self.component_names)

    @property
    def rows_without_past(self) -> int:
        """Number of leading components that do not depend on earlier steps; they apply also at the first step."""
        return 0 if self.depth else len(self.component_names)

    @property
    def has_curvature(self) -> bool:
        """True if slow searches use second derivatives; False for values whose second derivatives jump."""
        return True

    @property
    def target_of(self) -> TaskTarget | None:
        """Shape and kind of the target; None for a feature without target."""
        return None

    @property
    def target(self) -> Any:
        """The feature's default target as nested tuples, or None."""
        return None

    @property
    def needs_target(self) -> bool:
        """True if a target is required; otherwise it is zero (the identity of poses, the neutral configuration)."""
        return self.target_of is not None

    @property
    def needs_forces(self) -> bool:
        """True if the feature depends on joint forces, so that the forces of the robot's constraints are needed."""
        return False

    def bind(self, robot: Any, w: Window) -> Self:
        """Return the feature prepared for a robot, for example with its joints' names and limits as fields.

        The default is the feature itself. ``w`` is a window of symbols. Raises ValueError for a feature that does not
        fit the robot.
        """
        return self

    def checked(self, robot: Any) -> Iterable[str]:
        """Return texts why this feature cannot be used with a robot, except unknown names; none by default."""
        return ()

    def values(self, w: Window, target: Scalars) -> list[Any]:
        """Return the feature's values in a window w of path steps; ``target`` is the flat target, empty without one."""
        if type(self).jacobian is Feature.jacobian:
            raise TypeError(f"{type(self).__name__}: a feature needs a method `values`, or `jacobian`")
        return self.jacobian(w, target).values

    def jacobian(self, w: Window, target: Scalars) -> FeatureJacobian:
        """Return values and Jacobian in a window w of path steps; by default by automatic differentiation.

        ``target`` is an argument of `values`. The Jacobian may omit terms that are zero where the values are zero
        (Gauss–Newton approximation).
        """
        return w.derived(lambda window: self.values(window, target), self.depth)

    def exact_jacobian(self, w: Window, target: Scalars) -> FeatureJacobian:
        """Return values and their exact Jacobian in a window w, also where values differ from the ``target``."""
        return self.jacobian(w, target)


def with_fields(feature: F, **fields: Any) -> F:
    """Return a copy of a feature with other values of ``fields``, such as fields that `Feature.bind` sets."""
    copied: F = object.__new__(type(feature))
    copied.__dict__.update(feature.__dict__ | fields)
    return copied


@public_constructor
@dataclass(frozen=True)
class TaskFeature(Feature):
    """The errors of a task at a step, or with order k their k-th finite difference in time.

    For positions the differences are the point's velocity, acceleration and jerk.  For orientations they are the
    angular velocity, acceleration and jerk, in axes that do not rotate with the frame.
    """

    task: Task
    order: int = 0

    def __post_init__(self) -> None:
        order = integer("TaskFeature", "order", self.order, least=0, most=DEEPEST)
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

    def bind(self, robot: Any, w: Window) -> Self:
        return replace(self, task=self.task.settled(robot, w.state()))

    def checked(self, robot: Any) -> Iterable[str]:
        return self.task.checked(robot)

    def values(self, w: Window, target: Scalars) -> list[Any]:
        if self.order == 0:
            return self.task.errors(w.state(), target)
        w, steps = w.with_equal_steps(self.order), range(self.order + 1)
        return self.task.rates([w.state(back) for back in steps], [w.step_of(back) for back in steps[:-1]], target)

    def jacobian(self, w: Window, target: Scalars) -> FeatureJacobian:
        """Return values and Jacobian in a window w of path steps, for a ``target`` as in `values`.

        The Jacobian is the task's own Jacobian for order 0, and exact for finite differences.
        """
        return self._differences(w, target, self.task.rows) if self.order == 0 else self.exact_jacobian(w, target)

    def exact_jacobian(self, w: Window, target: Scalars) -> FeatureJacobian:
        moved = self.task if self.order == 0 else self.task.moved
        if moved is None:
            return super().jacobian(w, target)
        if self.order == 0:
            return self._differences(w, target, moved.exact_jacobian)
        differences = self._differences(w.with_equal_steps(self.order), target, moved.exact_jacobian)
        return w.chained(differences, self.order)

    def _differences(
        self, w: Window, target: Scalars, rows: Callable[[TaskKinematics, Scalars], TaskRows]
    ) -> FeatureJacobian:
        steps = [_at_step(w, rows(w.state(back), target), back, self.order) for back in range(self.order + 1)]
        for order in range(1, self.order + 1):
            steps = [_rate(w, steps[back], steps[back + 1], back, order) for back in range(self.order + 1 - order)]
        return steps[0]


def _at_step(w: Window, task: TaskRows, back: int, depth: int) -> FeatureJacobian:
    """Return the errors and Jacobian of a task at step t − ``back``, with columns for ``depth`` + 1 steps.

    Columns of the window's other steps are zero.
    """
    more = w.width - w.nv
    rows = [
        [[*row, *[0.0] * more] if step == back else [0.0] * w.width for row in task.rows] for step in range(depth + 1)
    ]
    return FeatureJacobian(list(task.errors), rows, [[0.0] * w.parameter_count for _ in task.errors])


def _rate(w: Window, now: FeatureJacobian, before: FeatureJacobian, back: int, order: int) -> FeatureJacobian:
    """Return the finite difference (x_t − x_{t−1})/g of a feature's values, and its Jacobian.

    ``now`` is x_t, ``before`` is x_{t−1}; g is `Window.step_of` for ``back`` and the difference's ``order``.
    """
    inverse, rates = 1.0 / w.step_of(back, order), w.step_rates(back, order)

    def difference(x: Any, y: Any) -> Any:
        if is_zero(y):
            return x if is_zero(x) else x * inverse
        return (x - y) * inverse

    values = [(x - y) * inverse for x, y in zip(now.values, before.values, strict=True)]
    rows = [
        [[difference(x, y) for x, y in zip(a, b, strict=True)] for a, b in zip(A, B, strict=True)]
        for A, B in zip(now.rows, before.rows, strict=True)
    ]
    parameters = [
        [difference(x, y) for x, y in zip(a, b, strict=True)]
        for a, b in zip(now.parameters, before.parameters, strict=True)
    ]
    for row, value in zip(parameters, values, strict=True):
        for k, rate in rates.items():
            row[k] = row[k] - value * inverse * rate
    return FeatureJacobian(values, rows, parameters)
