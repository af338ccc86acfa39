"""Constraints by user functions of configurations or velocities, and the robot state that these functions query."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np

from linkwork._util.checked_arguments import public_constructor
from linkwork._util.user_frames import source_of
from linkwork._util.validation import names as names_of
from linkwork.constraints.constraint import NO_NAMES, Constraint, Kinematics, References, with_names
from linkwork.constraints.user_functions import OfUserFunctions, evaluate_on, outputs_of
from linkwork.expr.arrays.symbol_array import object_array
from linkwork.expr.autodiff.dual_numbers import SparseTangent, parts, seeded
from linkwork.expr.linalg.sparse_dot import is_zero
from linkwork.expr.scalar.symbol import Graph, Symbol
from linkwork.spatial import Vec3

__all__ = ["Holonomic", "Pfaffian", "StateQuery"]


class StateQuery:
    """State of a robot, which user functions of constraints query by names of joints, frames, points and directions.

    Scalars are returned as symbols, all other values as NumPy arrays.  Names are the robot's.  ``v``, ``twist`` and
    ``point_velocity`` are only for functions of velocities, as in `Pfaffian`.

    ``k`` is the symbolic state that it queries, and ``name`` the function's name, for messages.
    """

    def __init__(
        self,
        k: Kinematics,
        name: str,
        velocities: bool = False,
        names: Mapping[str, str] = NO_NAMES,
        joints: Mapping[str, str] = NO_NAMES,
    ) -> None:
        self._k, self._name, self._velocities, self._names, self._joints = k, name, velocities, names, joints
        self._graph = Graph(name)
        self._symbols: list[Symbol] = []
        self._values: list[Any] = []
        self._answers: dict[tuple[str, ...], Any] = {}

    @property
    def time(self) -> Any:
        """The time t [s]."""
        return self._answer(("time",), lambda: [self._k.time], ())

    def q(self, joint: str) -> Any:
        """Return the configuration of a joint [rad, m]: a scalar, or an array (nq,) of several coordinates."""
        name = self._joint(joint)
        return self._answer(("q", name), lambda: self._k.q(name))

    def v(self, joint: str) -> Any:
        """Return the velocity of a joint [rad/s, m/s]: a scalar, or an array (nv,) of several components."""
        self._refuse_velocity("v")
        name = self._joint(joint)
        return self._answer(("v", name), lambda: self._k.v(name))

    def pose(self, frame: str, relative_to: str = "world") -> Any:
        """Return the pose X_AB (4, 4) of frame B (``frame``) in frame A (``relative_to``) [1, m]."""
        B, A = self._frames(frame, relative_to)
        result = self._answer(("pose", B, A), lambda: self._k.pose(B, A).elements()[:12], (3, 4))
        return object_array((4, 4), [*result.ravel().tolist(), 0.0, 0.0, 0.0, 1.0])

    def point(self, name: str, relative_to: str = "world") -> Any:
        """Return the position (3,) of the point, or frame's origin, ``name`` in ``relative_to`` [m]."""
        P, A = self._frames(name, relative_to)
        return self._answer(("point", P, A), lambda: [*self._k.point(P, A)], (3,))

    def direction(self, name: str, relative_to: str = "world") -> Any:
        """Return the unit vector (3,) of the direction or axis ``name`` (``"hand.z"``) in axes of ``relative_to``."""
        d, A = self._frames(name, relative_to)
        return self._answer(("direction", d, A), lambda: [*self._k.direction(d, A)], (3,))

    def center_of_mass(self, relative_to: str = "world") -> Any:
        """Return the robot's centre of mass (3,) in the frame ``relative_to`` [m]."""
        (A,) = self._frames(relative_to)
        return self._answer(("center_of_mass", A), lambda: [*self._k.center_of_mass(A)], (3,))

    def twist(
        self, frame: str, relative_to: str = "world", expressed_in: str = "world", point: str | None = None
    ) -> Any:
        """Return the twist (ω; v) (6,) of a frame relative to another, in the axes of ``expressed_in`` [rad/s, m/s].

        It is the twist of the frame B = ``frame`` relative to ``relative_to``. v is the velocity of the point of B that
        coincides with the origin of the frame ``point``, by default B itself.
        """
        self._refuse_velocity("twist")
        B, A, E, P = self._frames(frame, relative_to, expressed_in, frame if point is None else point)

        def values() -> list[Any]:
            V, R = self._k.between(B, A).twist, self._k.pose(B, E).rotation
            v = V.linear if P == B else V.linear + V.angular.cross(self._k.pose(P, B).translation)
            return [*(R @ V.angular), *(R @ v)]

        return self._answer(("twist", B, A, E, P), values, (6,))

    def point_velocity(self, name: str, relative_to: str = "world", expressed_in: str = "world") -> Any:
        """Return the velocity (3,) of the point, or frame's origin, ``name`` relative to ``relative_to`` [m/s].

        It is in the axes of ``expressed_in``.
        """
        self._refuse_velocity("point_velocity")
        P, A, E = self._frames(name, relative_to, expressed_in)

        def values() -> list[Any]:
            B, r = self._k.locate(P)
            V = self._k.between(B, A).twist
            return [*(self._k.pose(B, E).rotation @ (V.linear + V.angular.cross(r)))]

        return self._answer(("point_velocity", P, A, E), values, (3,))

    # -- recorded queries and evaluation

    def run(self, function: Callable[..., Any], *more: Any) -> list[Any]:
        """Return the flat result of a user function of this state and ``more`` arguments.  Raises ValueError."""
        return self.taken_over(self.outputs(function, *more), self._values)

    def outputs(self, function: Callable[..., Any], *more: Any) -> list[Any]:
        """Return the elements of a user function's result, as expressions of the symbols of its query results.

        Raises ValueError.
        """
        return outputs_of(self._name, function, (self, *more))

    def taken_over(self, outputs: Sequence[Any], answers: Sequence[Any]) -> list[Any]:
        """Return the values of the expressions that `outputs` returned, for these values of the query results.

        ``answers`` are the values of all query results, in the order of the queries, as scalars of any type.
        """
        return evaluate_on(self._name, outputs, self._symbols, answers)

    @property
    def values(self) -> list[Any]:
        """Values of all query results, in the order of the queries."""
        return self._values

    @property
    def queries(self) -> tuple[tuple[str, ...], ...]:
        """Queries that the function has sent: each is a tuple of a method's name and its arguments."""
        return tuple(self._answers)

    def _joint(self, name: Any) -> Any:
        return self._joints.get(name, name) if isinstance(name, str) else name

    def _frames(self, *names: Any) -> list[Any]:
        return [with_names(name, self._names) if isinstance(name, str) else name for name in names]

    def _answer(
        self, query: tuple[str, ...], values: Callable[[], Sequence[Any]], shape: tuple[int, ...] | None = None
    ) -> Any:
        result = self._answers.get(query)
        if result is None:
            result_values = list(values())
            symbols = [self._graph.input(f"{' '.join(query)}[{i}]") for i in range(len(result_values))]
            self._symbols += symbols
            self._values += result_values
            single = shape == () or (shape is None and len(result_values) == 1)
            result = symbols[0] if single else object_array(shape or (len(result_values),), symbols)
            self._answers[query] = result
        return result.copy() if isinstance(result, np.ndarray) else result

    def _refuse_velocity(self, method: str) -> None:
        if not self._velocities:
            raise ValueError(
                f"k.{method}: a constraint of configurations cannot query velocities: use Pfaffian for functions "
                f"that are linear in them"
            )


_OF_JOINTS = {"q": "joints", "v": "joints"}  # queries of joints


@dataclass(frozen=True)
class OfFunction(OfUserFunctions, Constraint):
    """Base of `Holonomic` and `Pfaffian`, constraints by a user function of a `StateQuery`."""

    name: str
    function: Callable[[StateQuery], Any]
    units: str | tuple[str, ...] = field(default="m", kw_only=True)  # one for all rows, or one for each
    names: tuple[tuple[str, str], ...] = field(
        default=(), kw_only=True, repr=False
    )  # pairs of a frame's name in the function and in the robot, for renamed frames
    joint_names: tuple[tuple[str, str], ...] = field(default=(), kw_only=True, repr=False)  # such pairs of joints
    count: int = field(default=0, kw_only=True, compare=False, repr=False)  # number of rows, set by `bind`
    queries: tuple[tuple[str, ...], ...] = field(
        default=(), kw_only=True, compare=False, repr=False
    )  # queries of the function
    time_dependent: bool = field(default=False, kw_only=True, compare=False, repr=False)
    uses_inertia: bool = field(default=False, kw_only=True, compare=False, repr=False)

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise TypeError(f"constraint {self.name!r}: expected a function of k, got {self.function!r}")
        units = names_of(type(self).__name__, "units", self.units, description="a unit, or one for each row")
        if not units or any(unit not in ("m", "rad") for unit in units):
            raise ValueError(
                f'constraint {self.name!r}: units: expected "m" or "rad", or one for each row, got {units}'
            )
        object.__setattr__(self, "units", self.units if isinstance(self.units, str) else units)

    @property
    def functions(self) -> tuple[Callable[..., Any], ...]:
        return (self.function,)

    @property
    def references(self) -> References:
        by_kind: dict[str, list[str]] = {"frames": [], "joints": [], "points": [], "directions": []}
        for method, *names in self.queries:
            first = {**_OF_JOINTS, "point": "points", "point_velocity": "points", "direction": "directions"}
            kinds = [first.get(method, "frames")] + ["frames"] * len(names)
            for kind, name in zip(kinds, names, strict=False):
                by_kind[kind].append(name)
        return References(**{kind: tuple(dict.fromkeys(names)) for kind, names in by_kind.items()})

    @property
    def component_names(self) -> tuple[str, ...]:
        self._require_robot()
        return (self.name,) if self.count == 1 else tuple(f"{self.name}[{i}]" for i in range(self.count))

    @property
    def row_units(self) -> tuple[str, ...]:
        self._require_robot()
        return (self.units,) * self.count if isinstance(self.units, str) else self.units

    def bind(self, state: Kinematics) -> Self:
        state_query = self._query(state)
        result = state_query.run(self.function)
        if not any(isinstance(x, Symbol) for x in result):
            raise ValueError(
                f"constraint {self.name!r}: its function ({source_of(self.function)}) returns {result} for every robot"
            )
        if not isinstance(self.units, str) and len(self.units) != len(result):
            raise ValueError(
                f"constraint {self.name!r}: units: expected one for each of {len(result)} rows, got {self.units}"
            )
        methods = {query[0] for query in state_query.queries}
        time_dependent, uses_inertia = "time" in methods, "center_of_mass" in methods
        return replace(
            self,
            count=len(result),
            queries=state_query.queries,
            time_dependent=time_dependent,
            uses_inertia=uses_inertia,
        )

    def with_names(self, names: Mapping[str, str], joints: Mapping[str, str] = NO_NAMES) -> Self:
        """Return the constraint with frames, points and directions renamed by a mapping, and joints by another one.

        The function is unchanged; the names in its queries are translated.
        """
        queries = []
        for method, *arguments in self.queries:
            of_joint = method in _OF_JOINTS
            queries.append((method, *(joints.get(x, x) if of_joint else with_names(x, names) for x in arguments)))
        return replace(
            self,
            names=_translated(self.names, names),
            joint_names=_translated(self.joint_names, joints),
            queries=tuple(queries),
        )

    def row_sizes(self, state: Kinematics) -> list[list[Any]] | None:
        query = self._query(state)
        outputs = query.outputs(self.function)
        if any(method == "center_of_mass" for method, *_ in query.queries):
            return None
        moving = seeded(query.values, [SparseTangent({k: 1.0}) for k in range(len(query.values))])
        changes = [parts(x, moving[0].level)[1] for x in query.taken_over(outputs, moving)]
        answers = [row for queried in query.queries for row in _answer_sizes(state, *queried)]
        result: list[list[Any]] = []
        for change in changes:
            partials = [change.get(k) if isinstance(change, SparseTangent) else 0.0 for k in range(len(answers))]
            weights = [(x * x, size) for x, size in zip(partials, answers, strict=True) if not is_zero(x)]
            result.append([sum((w * size[j] for w, size in weights), 0.0) for j in range(state.nv)])
        return result

    def _query(self, state: Kinematics) -> StateQuery:
        names, joints = dict(self.names), dict(self.joint_names)
        return StateQuery(state, f"constraint {self.name!r}", not self.holonomic, names, joints)

    def _values_of_function(self, state: Kinematics) -> list[Any]:
        """Return the values of the function in a state, one for each row."""
        result = self._query(state).run(self.function)
        if len(result) != self.count:
            self._require_robot()
            raise ValueError(
                f"constraint {self.name!r}: expected {self.count} values of its function in every state, "
                f"got {len(result)}"
            )
        return result

    def _require_robot(self) -> None:
        if not self.count:
            raise ValueError(
                f"constraint {self.name!r}: the number of rows is unknown before robot.with_constraints adds it"
            )


def _answer_sizes(state: Kinematics, method: str, *names: str) -> list[list[Any]]:
    """Return an upper bound on the squared elements of the Jacobian of a query's results, as rows of nv elements.

    The bound is computed from squared lengths of vectors, so no terms cancel. ``method`` is the query, such as "pose",
    and ``names`` are its arguments.
    """
    if method == "time":
        return [[0.0] * state.nv]
    if method in ("q", "v"):
        size = [sum((x * x for x in column), 0.0) for column in zip(*state.moving(names[0]), strict=True)]
        return [size] * len(getattr(state, method)(names[0]))
    frame, r = names[0], Vec3.zero()
    if method == "direction":
        frame, _ = state.axis_of(frame)
    elif method.startswith("point"):
        frame, r = state.locate(frame)
    elif method == "twist":
        r = state.pose(names[3], frame).translation
    columns = state.between(frame, names[1]).columns
    angular = [C.angular.dot(C.angular) for C in columns]
    linear = [C.linear.dot(C.linear) + x * r.dot(r) for C, x in zip(columns, angular, strict=True)]
    return {
        "pose": [angular, angular, angular, linear] * 3,
        "direction": [angular] * 3,
        "twist": [angular] * 3 + [linear] * 3,
    }.get(method, [linear] * 3)


def _translated(known: tuple[tuple[str, str], ...], names: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """Return the pairs (name in the user's function, name in the robot) after a renaming of the robot.

    ``known`` are the pairs before it, and ``names`` has the new name of each renamed object.
    """
    before = dict(known)
    after = {name: with_names(name_in_robot, names) for name, name_in_robot in before.items()}
    return tuple(sorted((after | {x: y for x, y in names.items() if x not in before}).items()))


@public_constructor
@dataclass(frozen=True)
class Holonomic(OfFunction):
    """User-defined holonomic constraint φ(q, t) = f(k) = 0.

    f returns a scalar, or an array with one element per row.  It queries ``k``, a `StateQuery`, for configurations of
    joints, poses, points, directions and the time, and may use NumPy's functions and those of `linkwork.expr`.  Rates
    and biases are derived.

        lw.constraints.Holonomic("cam", lambda k: k.q("follower") - 0.02 * np.cos(k.q("cam")))

    ``name`` is the constraint's name, and ``function`` is f.  ``units`` is the unit of all rows, or one for each.
    ``names``, ``joint_names``, ``count``, ``time_dependent`` and ``uses_inertia`` are set where the constraint is added
    to a robot.
    """

    def error(self, state: Kinematics) -> list[Any]:
        return self._values_of_function(state)


@public_constructor
@dataclass(frozen=True)
class Pfaffian(OfFunction):
    """User-defined velocity constraint A(q, t) v + σ(q, t) = f(k) = 0.

    f returns a scalar, or an array with one element per row.  It queries ``k``, a `StateQuery`, for velocities of
    joints, twists of frames and velocities of points, and for all queries of `Holonomic`.  It must be affine in the
    velocities; this is checked in random states when the constraint is added to a robot.  Rows, drifts and biases are
    derived.

        lw.constraints.Pfaffian("skate", lambda k: k.twist("runner", expressed_in="runner")[4])

    ``name`` is the constraint's name, and ``function`` is f.  ``units`` is the unit of all rows, or one for each.
    ``names``, ``joint_names``, ``count``, ``time_dependent`` and ``uses_inertia`` are set where the constraint is added
    to a robot.
    """

    holonomic = False

    def velocity(self, state: Kinematics) -> list[Any]:
        return self._values_of_function(state)
