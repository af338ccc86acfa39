"""Features defined by user functions, and the window that is the functions' argument."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, Self

import numpy as np

from linkwork._util.checked_arguments import public_constructor
from linkwork._util.user_frames import source_of
from linkwork._util.validation import as_float_array, integer, names
from linkwork.constraints.function_constraints import StateQuery
from linkwork.expr.arrays.symbol_array import object_array
from linkwork.expr.autodiff.dual_numbers import SparseTangent, parts, seeded
from linkwork.expr.scalar.symbol import Symbol
from linkwork.ik.tasks.function_task import FunctionRows, read_shape
from linkwork.optimal.features.arguments import choice, one_of, steps_back
from linkwork.optimal.features.feature import DEEPEST, Feature, FeatureJacobian, Scalars, Window, with_fields

__all__ = ["FunctionFeature", "WindowQuery"]

_CHOICES = {f"{passive}": passive for passive in (True, False, None)}  # in queries


@public_constructor
@dataclass(frozen=True)
class FunctionFeature(FunctionRows, Feature):
    """A user function f(w) of a window that returns a number or an array; f(w, target) with a target's ``shape``.

        problem.add(lambda w: w.point("tip")[2] - 0.1, "inequality", name="table")
        problem.add(lambda w: np.cross(w.v("wheel") * axis, w.point("rim")), "equality", name="rolls")

    The function reads steps t, t − 1, ... of the path from ``w``: ``w.q()``, ``w.v()``, ``w.a()``, ``w.jerk()``, of a
    joint or of the robot; ``w.pose``, ``w.point``, ``w.direction``, ``w.center_of_mass``, ``w.momentum``,
    ``w.kinetic_energy``, ``w.potential_energy``, ``w.torque``, ``w.power``; ``w.variables(name)``,
    ``w.parameter(name)``, ``w.time`` and ``w.step``.  Methods of configurations accept ``back``, the number of steps
    before t.  They return symbols, which can be arguments of NumPy functions, the robot's own methods and
    `linkwork.expr`.

    The depth of the feature follows from the steps that the function reads.  The Jacobian follows by the chain rule
    from the Jacobians of the quantities that the function reads.

    ``units`` is the unit of all values, or a unit for each value.
    """

    _kind = "feature"

    name: str
    function: Callable[..., Any]
    _: KW_ONLY
    shape: tuple[int, ...] | None = None  # of the target
    units: str | tuple[str, ...] = "1"  # of all components, or of each
    target: Any = None
    depth: int = DEEPEST  # upper bound; `bind` sets the depth that the function reads
    count: int = field(init=False, default=0, compare=False, repr=False)  # of components: set by `bind`
    queries: tuple[str, ...] = field(init=False, default=(), compare=False, repr=False)  # queries: set by `bind`

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise TypeError(f"FunctionFeature: name: expected a string, got {self.name!r}")
        caller = f"feature {self.name!r}"
        if not callable(self.function):
            raise TypeError(f"{caller}: expected a function of w, got {self.function!r}")
        put = object.__setattr__
        put(self, "depth", integer(caller, "depth", self.depth, least=0, most=DEEPEST))
        units = names(caller, "units", self.units, description="a unit, or one for each component")
        if not units:
            raise ValueError(f"{caller}: units: expected a unit, or one for each component, got {self.units!r}")
        put(self, "units", self.units if isinstance(self.units, str) else units)
        put(self, "shape", read_shape(caller, self.shape))
        if self.target is not None:
            target = as_float_array(self.target)
            if target is None or target.shape != self.shape or not np.isfinite(target).all():
                raise ValueError(
                    f"{caller}: target: expected finite numbers of shape {self.shape}, got {self.target!r}"
                )
            put(self, "target", _nested(target.tolist()))

    @property
    def needs_forces(self) -> bool:
        return "torque" in self.queries or "power" in self.queries

    def bind(self, robot: Any, w: Window) -> Self:
        query, more = self._query(w, [0.5] * self._size)
        outputs = query.run(self.function, *more)
        if not any(isinstance(x, Symbol) for x in outputs):
            raise ValueError(
                f"feature {self.name!r}: its function ({source_of(self.function)}) returns {outputs}, "
                f"which do not depend on the path"
            )
        if not isinstance(self.units, str) and len(self.units) != len(outputs):
            raise ValueError(
                f"feature {self.name!r}: units: expected one for each of {len(outputs)} components, got {self.units}"
            )
        queries = tuple(dict.fromkeys(question[0] for question in query.queries))
        return with_fields(self, count=len(outputs), depth=query._deepest, queries=queries)

    def values(self, w: Window, target: Scalars) -> list[Any]:
        query, more = self._query(w, target)
        outputs = query.run(self.function, *more)
        self._check(len(outputs))
        return outputs

    def jacobian(self, w: Window, target: Scalars) -> FeatureJacobian:
        query, more = self._query(w, target)
        outputs = query._run_with_jacobian(self.function, *more)
        self._check(len(outputs.values))
        return outputs

    @property
    def _size(self) -> int:
        return 1 if self.shape is None else int(np.prod(self.shape))

    def _query(self, w: Window, target: Scalars) -> tuple[WindowQuery, tuple[Any, ...]]:
        query = WindowQuery(w, f"feature {self.name!r}", self.depth)
        if self.shape is None:
            return query, ()
        values = list(target) if len(target) else [0.0] * self._size
        return query, (query._target(values, self.shape),)

    def _check(self, count: int) -> None:
        if self.count and count != self.count:
            raise ValueError(
                f"feature {self.name!r}: expected {self.count} values, as at first, the function returned {count}"
            )


def _nested(x: Any) -> Any:
    return tuple(map(_nested, x)) if isinstance(x, list) else x


Evaluator = Callable[[Window], Sequence[Any]]


class WindowQuery(StateQuery):
    """Steps t, t − 1, ... of a path, as a user's function reads them: its argument ``w``.

    Methods return symbols or NumPy arrays of symbols, at step t or ``back`` steps earlier; names are those of the
    robot.

    ``name`` is the name of the function, for messages, and ``depth`` the number of earlier steps.
    """

    def __init__(self, w: Window, name: str, depth: int) -> None:
        super().__init__(w.state(), name, velocities=True)
        self._window, self._depth = w, depth
        self._queries: dict[tuple[str, ...], tuple[Evaluator, int, bool]] = {}

    @property
    def time(self) -> Any:
        """Time of q_t [s]."""
        return self._of(("time",), 0, lambda w: [w.time], ())

    @property
    def step(self) -> Any:
        """Time g_t [s] from q_{t−1} to q_t."""
        return self._of(("step",), 0, lambda w: [w.step], ())

    def q(self, joint: str | None = None, back: int = 0) -> Any:
        """Return the configuration of a joint (number or array) or of the robot (nq,) [rad, m], at t − ``back``."""
        back = steps_back("w.q", back)
        if joint is None:
            return self._of(("q", f"{back}"), back, lambda w: w.configuration(back), (self._window.tree.nq,))
        return self._of(("q", joint, f"{back}"), back, lambda w: w.state(back).q(joint))

    def v(self, joint: str | None = None, back: int = 0) -> Any:
        """Return the velocity of a joint, or of the robot (nv,), at the end of step t − ``back`` [rad/s, m/s]."""
        back = steps_back("w.v", back)
        return self._rates("v", joint, back, back + 1, lambda w: w.velocity(back))

    def a(self, joint: str | None = None, back: int = 0) -> Any:
        """Return the acceleration of a joint, or of the robot (nv,), in step t − ``back`` [rad/s², m/s²]."""
        back = steps_back("w.a", back)
        return self._rates("a", joint, back, back + 2, lambda w: w.acceleration(back))

    def jerk(self, joint: str | None = None) -> Any:
        """Return the jerk (a_t − a_{t−1})/g_{t−1} of a joint, or of the robot (nv,) [rad/s³, m/s³]."""
        return self._rates("jerk", joint, 0, 3, lambda w: w.jerk())

    def torque(self, joint: str | None = None, passive: bool | None = None) -> Any:
        """Return the force of a joint, or of all joints (nv,) [N·m, N]; for ``passive`` see `Window.torque`."""
        passive = choice("w.torque", "passive", passive)
        question = ("torque", f"{passive}")
        if joint is None:
            return self._of(question, 2, lambda w: w.torque(passive), (self._window.nv,))
        own_slice = self._velocity_slice(joint)
        torque = self._of(question, 2, lambda w: w.torque(passive), (self._window.nv,))[own_slice]
        return torque[0] if len(torque) == 1 else torque

    def pose(self, frame: str, relative_to: str = "world", back: int = 0) -> Any:
        """Return X_AB (4, 4), the pose of a frame B in A (``relative_to``) [1, m], ``back`` steps earlier."""
        back = steps_back("w.pose", back)
        question = ("pose", frame, relative_to, f"{back}")
        rows = self._of(question, back, lambda w: w.state(back).pose(frame, relative_to).elements()[:12], (3, 4))
        return object_array((4, 4), [*rows.ravel().tolist(), 0.0, 0.0, 0.0, 1.0])

    def point(self, name: str, relative_to: str = "world", back: int = 0) -> Any:
        """Return the position (3,) of the point or frame origin ``name`` in ``relative_to`` [m] at t − ``back``."""
        back = steps_back("w.point", back)
        return self._of(
            ("point", name, relative_to, f"{back}"), back, lambda w: [*w.state(back).point(name, relative_to)], (3,)
        )

    def direction(self, name: str, relative_to: str = "world", back: int = 0) -> Any:
        """Return a unit vector (3,) in the axes of ``relative_to``, ``back`` steps earlier.

        ``name`` is the name of a direction, or of a frame's axis (``"hand.z"``).
        """
        back = steps_back("w.direction", back)
        question = ("direction", name, relative_to, f"{back}")
        return self._of(question, back, lambda w: [*w.state(back).direction(name, relative_to)], (3,))

    def center_of_mass(self, relative_to: str = "world", back: int = 0) -> Any:
        """Return the robot's centre of mass (3,) in ``relative_to`` [m], ``back`` steps earlier."""
        back = steps_back("w.center_of_mass", back)
        question = ("center_of_mass", relative_to, f"{back}")
        return self._of(question, back, lambda w: [*w.state(back).center_of_mass(relative_to)], (3,))

    def momentum(self, about: str = "center_of_mass") -> Any:
        """Return the momentum (angular; linear) (6,) about the centre of mass or "world" [kg·m²/s, kg·m/s].

        The momentum is that at the end of step t, where v_t is the velocity.
        """
        one_of("w.momentum", "about", about, ("center_of_mass", "world"))
        return self._of(("momentum", about), 1, lambda w: w.momentum(about), (6,))

    def kinetic_energy(self) -> Any:
        """Return the kinetic energy at the end of step t [J]."""
        return self._of(("kinetic_energy",), 1, lambda w: [w.kinetic_energy()], ())

    def potential_energy(self) -> Any:
        """Return the potential energy of q_t [J]."""
        return self._of(("potential_energy",), 0, lambda w: [w.potential_energy()], ())

    def power(self, passive: bool | None = None) -> Any:
        """Return the power of joint forces [W]; for ``passive`` see `Window.torque`."""
        passive = choice("w.power", "passive", passive)
        return self._of(("power", f"{passive}"), 2, lambda w: [w.power(passive)], ())

    def variables(self, name: str, back: int = 0) -> Any:
        """Return the decision variables ``name`` of step t − ``back`` as an array."""
        back = steps_back("w.variables", back)
        values = self._window.variables(name, back)
        return self._of(("variables", name, f"{back}"), back, lambda w: w.variables(name, back), (len(values),))

    def parameter(self, name: str) -> Any:
        """Return the parameter ``name`` of the whole path: a number, or an array."""
        return self._of(("parameter", name), 0, lambda w: w.parameter(name))

    def _target(self, target: Sequence[Any], shape: tuple[int, ...]) -> Any:
        """Return the target of a user's function, as an array of the given ``shape``, or a number for shape ()."""
        return self._of(("target",), 0, lambda w: target, shape, fixed=True)

    def twist(
        self, frame: str, relative_to: str = "world", expressed_in: str = "world", point: str | None = None
    ) -> Any:
        """Raise ValueError: a window has no twists, only differences of poses between steps.

        So ``frame``, ``relative_to``, ``expressed_in`` and ``point`` are not read.
        """
        raise ValueError("w.twist: not available in a window: use w.point_velocity(..)")

    def point_velocity(self, name: str, relative_to: str = "world", expressed_in: str = "world") -> Any:
        """Return the velocity (3,) of the point, or frame's origin, ``name`` at the end of step t [m/s].

        The velocity is the rate of the position in the frame ``relative_to``, in the axes of this frame;
        ``expressed_in`` must be the same frame.
        """
        if expressed_in != relative_to:
            raise ValueError(f"w.point_velocity: expressed_in: expected {relative_to!r}, got {expressed_in!r}")

        def rate(w: Window) -> list[Any]:
            w = w.with_equal_steps(1)
            now, before = (w.state(back).point(name, relative_to) for back in (0, 1))
            return [(x - y) / w.step for x, y in zip(now, before, strict=True)]

        return self._of(("point_velocity", name, relative_to), 1, rate, (3,))

    # -- queries and derivatives

    def _run_with_jacobian(self, function: Callable[..., Any], *more: Any) -> FeatureJacobian:
        """Return the values of a user's function and their Jacobian, by the chain rule through what it reads."""
        w, width = self._window, self._window.width
        outputs = self.outputs(function, *more)
        values: list[Any] = []
        rates: list[SparseTangent] = []
        for question, (evaluate, depth, fixed) in self._queries.items():
            if fixed:
                results = list(evaluate(w))
                values += results
                rates += [SparseTangent({})] * len(results)
                continue
            is_torque = question[0] == "torque"
            rows = w.torque_jacobian(_CHOICES[question[1]]) if is_torque else w.derived(evaluate, depth)
            values += rows.values
            for i, by_parameters in enumerate(rows.parameters):
                row = {(back, k): x for back, block in enumerate(rows.rows) for k, x in enumerate(block[i])}
                rates.append(SparseTangent(row | {(-1, k): x for k, x in enumerate(by_parameters)}))
        moving = seeded(values, rates)
        level = moving[0].level if moving else 0
        plain = [dual if dual.tangent else number for dual, number in zip(moving, values, strict=True)]
        taken = [parts(x, level) for x in self.taken_over(outputs, plain)]
        tangents = [t if isinstance(t, SparseTangent) else SparseTangent({}) for _, t in taken]
        return FeatureJacobian(
            [value for value, _ in taken],
            [[[t.get((back, k)) for k in range(width)] for t in tangents] for back in range(self._depth + 1)],
            [[t.get((-1, k)) for k in range(w.parameter_count)] for t in tangents],
        )

    @property
    def _deepest(self) -> int:
        """Largest number of steps before t at which the function read a quantity."""
        return max((depth for _, depth, _ in self._queries.values()), default=0)

    def _rates(self, quantity: str, joint: str | None, back: int, depth: int, evaluate: Evaluator) -> Any:
        whole = self._of((quantity, f"{back}"), depth, evaluate, (self._window.nv,))
        if joint is None:
            return whole
        rates = whole[self._velocity_slice(joint)]
        return rates[0] if len(rates) == 1 else rates

    def _velocity_slice(self, joint: str) -> slice:
        tree = self._window.tree
        result: slice = tree.v_slices[tree.joint_index(joint)]
        return result

    def _of(
        self,
        question: tuple[str, ...],
        depth: int,
        evaluate: Evaluator,
        shape: tuple[int, ...] | None = None,
        *,
        fixed: bool = False,
    ) -> Any:
        if depth > self._depth:
            raise ValueError(
                f"w.{question[0]}: it reads {depth} steps back, but the feature has depth {self._depth}: "
                + (
                    f"use lw.optimal.FunctionFeature(..., depth={depth})"
                    if depth <= DEEPEST
                    else f"expected at most {DEEPEST} steps"
                )
            )
        if question not in self._queries:
            self._queries[question] = evaluate, depth, fixed
        return self._answer(question, lambda: evaluate(self._window), shape)
