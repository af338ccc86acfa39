"""Protocol of a task, over any scalar: the error of a configuration with respect to a goal, and its Jacobian.

A task is a value that names frames, joints and points of a robot.  Where the task is satisfied, its *errors* e(q) are
zero or within ranges.  Its rows are the Jacobian of the errors, ė = J v, in the tangent space, so steps stay on the
configuration manifold.  Its goal is an array, the *target*, which is a field of the task or an argument of each call.

A task without a weight is *hard*: it must be satisfied within its tolerance.  A task with weight w is *soft*: it adds
½ Σ (w e)² to the cost.  w has the unit 1/m or 1/rad, so that an error of 1/w costs ½.

A task reads the robot only through `TaskKinematics`, which extends the kinematics of constraints by functions of q.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Protocol, Self

from linkwork._util.validation import integer
from linkwork.constraints.constraint import Constraint, Kinematics, References
from linkwork.geometry.scene import Scene
from linkwork.geometry.solids import SolidKind
from linkwork.ik.tasks.arguments import TOLERANCE, frozen, read_values
from linkwork.joints import JointType
from linkwork.spatial import Vec3

__all__ = [
    "AimedTask",
    "PairSelection",
    "Task",
    "TaskKinematics",
    "TaskRows",
    "TaskTarget",
    "WeighedTask",
    "mean_step",
    "time_differences",
]

Scalars = Sequence[Any]


@dataclass(frozen=True, slots=True)
class TaskRows:
    """``errors`` of a task in one state, and their Jacobian ``rows`` (nv values for each error)."""

    errors: list[Any]
    rows: list[list[Any]]


@dataclass(frozen=True, slots=True)
class TaskTarget:
    """Array that a task takes with each call: its shape ("nq" for a configuration) and kind.

    ``doc`` describes it in messages.
    """

    shape: tuple[int | str, ...]
    kind: str  # "pose", "rotation", "place", "direction", "configuration", "size", "length", "numbers"
    doc: str = ""


@dataclass(frozen=True, slots=True)
class PairSelection:
    """Pairs of shapes, selected by name, whose distances a task uses.

    ``own`` are pairs within the robot, and ``shapes`` the robot's shapes whose distances to a scene are computed.  The
    full list of pairs is ``own`` followed by each of ``shapes`` with every entry of the scene; ``selected`` are the
    indices of the selected pairs in this list.
    """

    own: tuple[tuple[int, int], ...]
    shapes: tuple[int, ...]
    selected: tuple[int, ...]
    names: tuple[tuple[str, str], ...]  # of the shapes of each selected pair
    links: tuple[str, ...]  # of each selected pair: the outer link, to which the distance is assigned


class TaskKinematics(Kinematics, Protocol):
    """Kinematics of a robot at rest (v = 0) as tasks use them, over any scalar."""

    @property
    def configuration(self) -> list[Any]:
        """Configuration q (nq)."""

    def joint(self, name: str) -> JointType:
        """Return the type of the joint ``name``."""

    def difference(self, joint: str, reference: Scalars) -> TaskRows:
        """Return the tangent vector from a reference to a joint's configuration, and its Jacobian."""

    def moving_center_of_mass(self, relative_to: str = "world") -> tuple[Vec3, list[Vec3]]:
        """Return the robot's centre of mass in ``relative_to``, and its Jacobian columns, one for each element of v."""

    def at(self, time: Any) -> TaskKinematics:
        """Return the same state at another time [s]."""

    def clearance_links(self, scene: bool) -> tuple[str, ...]:
        """Return the names of the links for which `clearances` has a distance.

        ``scene`` is True if the distances to obstacles of a scene are included.
        """

    def clearances(self, scene: Mapping[SolidKind, Any]) -> Mapping[str, TaskRows]:
        """Return for each link its smallest distance to obstacles and to earlier links, with the Jacobian.

        ``scene`` has the obstacles' values by kind.  The distance of a pair of links belongs to the link that comes
        later in the robot.
        """

    def select_pairs(self, caller: str, scene: Scene, pairs: Iterable[tuple[str, str]] | None) -> PairSelection:
        """Return the pairs of collision shapes with these names, or all enabled pairs, also with the scene.

        ``caller`` begins messages.  Raises ValueError and UnknownNameError.
        """

    def nearby(
        self, own: Sequence[tuple[int, int]], shapes: Sequence[int], scene: Mapping[SolidKind, Any], within: Any
    ) -> TaskRows:
        """Return the distances [m] of pairs of collision shapes, and their Jacobian (a row for each pair).

        The pairs are ``own``, index pairs of the robot's shapes, followed by each of the robot's ``shapes`` with every
        obstacle of the scene. Pairs whose bounding spheres are farther apart than ``within`` [m] have the distance of
        the spheres.
        """

    def constraint_rows(self, constraint: Constraint) -> TaskRows:
        """Return a constraint's errors and Jacobian, in closed form where the constraint provides it."""

    def velocity_rows(self, constraint: Constraint) -> TaskRows:
        """Return the drift σ (as errors) and the matrix G (as rows) of a velocity constraint G v + σ = 0."""

    def momentum_rows(self) -> list[list[Any]]:
        """Return the centroidal momentum matrix A (6, nv).

        A v is the momentum about the centre of mass (angular; linear).
        """

    def closed_manipulability(self, frame: str, relative_to: str, part: str, floor: Any) -> tuple[Any, Any] | None:
        """Return the logarithm of a mechanism's manipulability, and True if the frame moves while all motors rest.

        It is that of a frame relative to ``relative_to``; ``part`` selects position, rotation or both. ``floor`` is
        added to squared singular values. The result is None for a robot without constraints.
        """

    def derived(self, errors: Callable[[TaskKinematics], Sequence[Any]]) -> TaskRows:
        """Return the values of ``errors``, a function of the state, and their Jacobian."""


class Task(ABC):
    """Task: an immutable value with a unique name, under which its target is passed.

    A subclass implements ``errors``, whose Jacobian then follows by differentiation, or both together in ``rows``.

    Fields of every task:

    - ``name``.
    - ``weight``: None for a hard task; a number, or one for each error [1/m, 1/rad].  With weight 0 an error is only
      reported.
    - ``level``: priority, 0 first.
    - ``tolerance``: one number that bounds the remaining angle and distance, or a number for each error; infinite if
      free. Up to 1e-3 it is the accuracy of a search; a larger tolerance widens the set of solutions.
    - ``target``: default target.
    """

    name: str
    weight: float | tuple[float, ...] | None
    level: int
    tolerance: float | tuple[float, ...]
    target: Any
    own: bool = False  # True for the robot's own constraints
    of_velocity: bool = False  # True for velocity tasks, whose errors are zero in every configuration

    @property
    def references(self) -> References:
        """Frames, joints and points that the task names."""
        return References()

    @property
    def _depends_on(self) -> References | None:
        """Joints, frames, points and directions that determine the errors; None if other quantities do."""
        return None

    @property
    def target_of(self) -> TaskTarget | None:
        """Shape and kind of the target; None if the task takes none."""
        return None

    @property
    @abstractmethod
    def component_names(self) -> tuple[str, ...]:
        """Name of each error."""

    @property
    @abstractmethod
    def row_units(self) -> tuple[str, ...]:
        """Unit of each error: "m", "rad" or "1"."""

    @property
    def ranges(self) -> tuple[tuple[float, float], ...]:
        """Permitted range of each error; (0, 0) for errors that must vanish."""
        return ((0.0, 0.0),) * len(self.component_names)

    def errors(self, state: TaskKinematics, target: Scalars) -> list[Any]:
        """Compute e(q) in a state; ``target`` is a flat sequence, empty if the task takes none."""
        return self.rows(state, target).errors

    def drift(self, state: TaskKinematics, target: Scalars) -> list[Any] | None:
        """Return the rates of the errors of a robot at rest [m/s, rad/s]: ė = J v + drift.

        ``state`` and ``target`` are arguments of `errors`.  The result is None if the errors do not depend on time.  A
        velocity task, which requires J v = w, has the drift −w.
        """
        return None

    def rows(self, state: TaskKinematics, target: Scalars) -> TaskRows:
        """Compute errors and their Jacobian in a state, for a ``target`` as in `errors`.

        The default differentiates `errors`; override it for a Jacobian in closed form.
        """
        if type(self).errors is Task.errors:
            raise TypeError(f"{type(self).__name__}: a task needs a method `errors`, or `rows`")
        return state.derived(lambda moved: self.errors(moved, target))

    @property
    def exact(self) -> bool:
        """True if the Jacobian is the derivative of the errors everywhere, not only where they vanish."""
        return True

    @property
    def known(self) -> bool:
        """True if all fields of the task are set, also those that depend on the robot, which ``settled`` sets."""
        return True

    @property
    def between(self) -> tuple[str, str] | None:
        """The two frames or points on whose relative motion alone the task depends, or None."""
        return None

    def freed(self) -> Task:
        """Return an equivalent task whose Jacobian is exact also where its errors are not zero.

        It replaces the task if an infinite tolerance makes some of its errors irrelevant (free).
        """
        return self

    def settled(self, robot: Any, state: TaskKinematics) -> Self:
        """Return the task with its robot-dependent fields set; ``state`` may hold symbols.

        Raises ValueError for unsuitable user functions.
        """
        return self

    def exact_jacobian(self, state: TaskKinematics, target: Scalars) -> TaskRows:
        """Compute errors and their exact derivative in any state, for a ``target`` as in `errors`."""
        return self.rows(state, target) if self.exact else state.derived(lambda moved: self.errors(moved, target))

    def curved_rows(self, state: TaskKinematics, target: Scalars) -> TaskRows:
        """Compute a Jacobian that can be differentiated again for second derivatives.

        ``state`` and ``target`` are arguments of `errors`.  A Jacobian that is not exact is as accurate as ``rows``
        near the target.
        """
        return self.rows(state, target)

    @property
    def moved(self) -> Task | None:
        """A task whose errors, as finite differences in time, give the `rates` of this task; None if there is none.

        The exact Jacobian of its errors then yields the Jacobian of the rates in closed form.
        """
        return self

    def rates(self, states: Sequence[TaskKinematics], steps: Sequence[Any], target: Scalars) -> list[Any]:
        """Compute the k-th time derivative of the task's errors by finite differences of k + 1 states, newest first.

        The result is a divided difference. ``steps`` [s] are the times between consecutive states, and ``target`` is
        an argument of `errors`. A task whose errors are in rotating axes uses the underlying motion instead of its
        errors: the position of a frame in fixed axes, and its angular velocity.
        """
        return time_differences([self.errors(k, target) for k in states], steps)

    def moving_rows(self, state: TaskKinematics, target: Scalars) -> TaskRows:
        """Compute the errors and the Jacobian J that feedback controllers use.

        ``state`` and ``target`` are arguments of `errors`.  J may have more rows than there are errors.  The products
        of these rows with v are inputs of `settling`.
        """
        return self.exact_jacobian(state, target)

    @property
    def rates_follow_jacobian(self) -> bool:
        """True if the rates of the errors are J v − led for all motions of the target, with J of `moving_rows`.

        ``led`` is an argument of `settling`. If the property is True, ``led`` determines the motion of the target, on
        which J may depend.
        """
        return self.target_of is not None

    def settling(
        self, errors: Scalars, moved: Scalars, led: Scalars, ahead: Scalars, gains: tuple[float, float]
    ) -> list[Any]:
        """Return the time derivative of J v for which errors follow ë + k_d ė + k_p e = 0.

        J is the Jacobian of `moving_rows`. ``gains`` are (k_p, k_d), and ``errors`` are e. ``moved`` is the current J
        v. ``led`` is the value of J v at which the task follows the motion of its target, and ``ahead`` is the time
        derivative of ``led``.  J v changes with the motion of the robot, and of the target.
        """
        each = zip(errors, moved, led, ahead, strict=False)
        return [c + gains[1] * (r - x) - gains[0] * e for e, x, r, c in each]

    def checked(self, robot: Any) -> Iterable[str]:
        """Return messages about errors of the task for a robot, apart from unknown names."""
        return ()

    @property
    def hard(self) -> bool:
        """True if the task must be satisfied."""
        return self.weight is None

    @property
    def weights(self) -> tuple[float, ...]:
        """Weight of each error; 0 for hard tasks."""
        return self._by_row(0.0 if self.weight is None else self.weight, "weight")

    @property
    def tolerances(self) -> tuple[float, ...]:
        """Tolerance of each error."""
        return self.tolerances_of(self.tolerance)

    def tolerances_of(self, value: Any) -> tuple[float, ...]:
        """Return the tolerance of each error, from a number or a tuple with one for each error.

        A number bounds the norm of all errors in m and that of all errors in rad: each of n such errors has the
        tolerance value/√n.
        """
        if isinstance(value, tuple):
            return self._by_row(value, "tolerance")
        units = self.row_units
        count = Counter(units)
        return tuple(value / math.sqrt(count[unit]) if unit in ("m", "rad") else value for unit in units)

    def _by_row(self, value: Any, argument: str) -> tuple[float, ...]:
        count = len(self.component_names)
        if isinstance(value, tuple):
            if len(value) != count:
                raise ValueError(
                    f"task {self.name!r}: {argument}: expected a number, or one for each of its {count} errors "
                    f"({', '.join(self.component_names)}), got {len(value)}"
                )
            return value
        return (value,) * count

    def settle(self, default: str) -> None:
        """Validate the name and the numeric fields and set defaults; call it last in ``__post_init__``.

        ``default`` is the name of a task without one.  Raises TypeError and ValueError.
        """
        put = object.__setattr__
        if not isinstance(self.name, str):
            raise TypeError(f"{type(self).__name__}: name: expected a string, got {self.name!r}")
        put(self, "name", self.name or default)
        put(self, "level", integer(f"task {self.name!r}", "level", self.level, least=0, description="an integer"))
        if self.weight is not None:
            put(self, "weight", read_values(self.name, "weight", "1/m or 1/rad", self.weight, math.inf))
        put(self, "tolerance", read_values(self.name, "tolerance", "m or rad", self.tolerance, None))
        put(self, "target", frozen(self.name, self.target))
        if self.known:
            assert len(self.weights) == len(self.tolerances) == len(self.row_units)


@dataclass(frozen=True, kw_only=True)
class WeighedTask(Task):
    """Base class of tasks without a target: adds the fields ``weight``, ``level``, ``tolerance`` and ``name``."""

    weight: Any = None
    level: int = 0
    tolerance: Any = TOLERANCE
    name: str = ""

    target = None


@dataclass(frozen=True, kw_only=True)
class AimedTask(WeighedTask):
    """Base class of tasks with a target: adds the field ``target`` to the fields of `WeighedTask`."""

    target: Any = None


def time_differences(rows: Sequence[Iterable[Any]], steps: Sequence[Any]) -> list[Any]:
    """Return a time derivative at the newest of n + 1 states, by divided differences of values; n = len(steps).

    ``rows`` are the values, newest first, and ``steps`` [s] the times between consecutive states. From n + 1 values at
    the states, the result is their n-th derivative. If there are d values fewer, they are d-th derivatives, such as
    velocities, and the result is the n-th derivative of the underlying quantity.
    """
    result = [list(row) for row in rows]
    for order in range(len(steps) + 2 - len(rows), len(steps) + 1):
        result = [
            [(x - y) / mean_step(steps[k : k + order]) for x, y in zip(*pair, strict=True)]
            for k, pair in enumerate(pairwise(result))
        ]
    return result[0]


def mean_step(steps: Sequence[Any]) -> Any:
    """Return the mean of time steps [s]; if all are the same object, that object without any operation."""
    first = steps[0]
    return first if all(x is first for x in steps) else sum(steps[1:], first) * (1.0 / len(steps))
