"""A feature that is a function of the user's.

What a function of the user's asks about a window: arrays of symbols in, numbers out, with their derivatives.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any, Self

import numpy as np

from linkwork._util.checked_arguments import public_constructor
from linkwork._util.user_frames import place_of
from linkwork._util.validation import as_numbers, integer, names
from linkwork.constraints.user_functions import StateQuery
from linkwork.expr.arrays.symbol_array import filled
from linkwork.expr.autodiff.dual_numbers import parts, seeded
from linkwork.expr.autodiff.sparse_tangent import SparseTangent
from linkwork.expr.scalar.symbol import Symbol
from linkwork.ik.tasks.function_task import FunctionRows, read_shape
from linkwork.optimal.features.arguments import one_of, steps_back, switch
from linkwork.optimal.features.feature import DEEPEST, Feature, FeatureRows, Scalars, Window

__all__ = ["AskingWindow", "FunctionFeature"]


@public_constructor
@dataclass(frozen=True)
class FunctionFeature(FunctionRows, Feature):
    """f(w), a number or an array with a row for each; f(w, target) where a ``shape`` of a target is said.

        problem.add(lambda w: w.point("tip")[2] - 0.1, "inequality", name="table")
        problem.add(lambda w: np.cross(w.v("wheel") * axis, w.point("rim")), "equality", name="rolls")

    The function asks ``w``, steps t, t − 1, ... of the path: ``w.q()``, ``w.v()``, ``w.a()``, ``w.jerk()``, of a joint
    or of the robot; ``w.pose``, ``w.point``, ``w.direction``, ``w.center_of_mass``, ``w.momentum``,
    ``w.kinetic_energy``, ``w.potential_energy``, ``w.torque``, ``w.power``; ``w.variables(name)``,
    ``w.parameter(name)``, ``w.time`` and ``w.step``.  What is asked of a configuration may be asked of an earlier step,
    ``back`` steps before.  Answers are symbols, on which NumPy's functions, the robot's own methods and those of
    `linkwork.expr` work.

    How many steps it looks at follows from what it asks, and rows by the chain rule from those of the answers.
    """

    _kind = "feature"

    name: str
    function: Callable[..., Any]
    _: KW_ONLY
    shape: tuple[int, ...] | None = None  # of what it aims at
    units: str | tuple[str, ...] = "1"  # of all rows, or of each
    target: Any = None
    depth: int = DEEPEST  # at most; less where it asks for less, once it is a robot's
    count: int = field(default=0, compare=False, repr=False)  # of rows: known once it is a robot's
    asked: tuple[str, ...] = field(default=(), compare=False, repr=False)  # what it asks for

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise TypeError(f"FunctionFeature: name: expected a text, got {self.name!r}")
        caller = f"feature {self.name!r}"
        if not callable(self.function):
            raise TypeError(f"{caller}: expected a function of w, got {self.function!r}")
        put = object.__setattr__
        put(self, "depth", integer(caller, "depth", self.depth, least=0, most=DEEPEST, what="a whole number"))
        units = names(caller, "units", self.units, what="a unit, or one for each row")
        if not units:
            raise ValueError(f"{caller}: units: expected a unit, or one for each row, got {self.units!r}")
        put(self, "units", self.units if isinstance(self.units, str) else units)
        put(self, "shape", read_shape(caller, self.shape))
        if self.target is not None:
            found = as_numbers(self.target)
            if found is None or found.shape != self.shape or not np.isfinite(found).all():
                raise ValueError(
                    f"{caller}: target: expected finite numbers of shape {self.shape}, got {self.target!r}"
                )
            put(self, "target", _nested(found.tolist()))

    @property
    def needs_forces(self) -> bool:
        return "torque" in self.asked or "power" in self.asked

    def settled(self, robot: Any, w: Window) -> Self:
        asking, more = self._asking(w, [0.5] * self._size)
        found = asking.run(self.function, *more)
        if not any(isinstance(x, Symbol) for x in found):
            raise ValueError(
                f"feature {self.name!r}: its function ({place_of(self.function)}) gives {found}, whatever the path does"
            )
        if not isinstance(self.units, str) and len(self.units) != len(found):
            raise ValueError(
                f"feature {self.name!r}: units: expected one for each of {len(found)} rows, got {self.units}"
            )
        asked = tuple(dict.fromkeys(question[0] for question in asking.asked))
        return replace(self, count=len(found), depth=asking.deepest, asked=asked)

    def values(self, w: Window, target: Scalars) -> list[Any]:
        asking, more = self._asking(w, target)
        found = asking.run(self.function, *more)
        self._check(len(found))
        return found

    def rows(self, w: Window, target: Scalars) -> FeatureRows:
        asking, more = self._asking(w, target)
        found = asking.run_with_rows(self.function, *more)
        self._check(len(found.values))
        return found

    @property
    def _size(self) -> int:
        return 1 if self.shape is None else int(np.prod(self.shape))

    def _asking(self, w: Window, target: Scalars) -> tuple[AskingWindow, tuple[Any, ...]]:
        asking = AskingWindow(w, f"feature {self.name!r}", self.depth)
        if self.shape is None:
            return asking, ()
        aim = list(target) if len(target) else [0.0] * self._size
        return asking, (asking.given(aim, self.shape),)

    def _check(self, count: int) -> None:
        if self.count and count != self.count:
            raise ValueError(f"feature {self.name!r}: its function gave {self.count} numbers before, now {count}")


def _nested(x: Any) -> Any:
    return tuple(map(_nested, x)) if isinstance(x, list) else x


Found = Callable[[Window], Sequence[Any]]


class AskingWindow(StateQuery):
    """Successive steps t, t − 1, ... of a path, as a function of the user's asks about them.

    Numbers are bare, all else are NumPy arrays; names are the robot's.  What is asked of a step is of t, or of an
    earlier one, ``back`` steps before.
    """

    def __init__(self, w: Window, name: str, depth: int) -> None:
        super().__init__(w.state(), name, velocities=True)
        self._window, self._depth = w, depth
        self._found: dict[tuple[str, ...], tuple[Found, int, bool]] = {}

    @property
    def time(self) -> Any:
        """The time of step t [s]."""
        return self._of(("time",), 0, lambda w: [w.time], ())

    @property
    def step(self) -> Any:
        """τ [s], from t − 1 to t."""
        return self._of(("step",), 0, lambda w: [w.step], ())

    def q(self, joint: str | None = None, back: int = 0) -> Any:
        """The configuration of a joint, a number or an array (nq of it,), or of the robot (nq,) [rad, m]."""
        back = steps_back("w.q", back)
        if joint is None:
            return self._of(("q", f"{back}"), back, lambda w: w.configuration(back), (self._window.tree.nq,))
        return self._of(("q", joint, f"{back}"), back, lambda w: w.state(back).q(joint))

    def v(self, joint: str | None = None, back: int = 0) -> Any:
        """(q_t ⊖ q_{t−1})/τ of a joint, or of the robot (nv,) [rad/s, m/s]."""
        back = steps_back("w.v", back)
        return self._rates("v", joint, back, back + 1, lambda w: w.velocity(back))

    def a(self, joint: str | None = None, back: int = 0) -> Any:
        """(v_t − v_{t−1})/τ of a joint, or of the robot (nv,) [rad/s², m/s²]."""
        back = steps_back("w.a", back)
        return self._rates("a", joint, back, back + 2, lambda w: w.acceleration(back))

    def jerk(self, joint: str | None = None) -> Any:
        """(a_t − a_{t−1})/τ of a joint, or of the robot (nv,) [rad/s³, m/s³]."""
        return self._rates("jerk", joint, 0, 3, lambda w: w.jerk())

    def torque(self, joint: str | None = None, passive: bool = False) -> Any:
        """What a joint has to exert, or all (nv,) [N·m, N]: see `Window.torque`."""
        passive = switch("w.torque", "passive", passive)
        question = ("torque", f"{passive}")
        if joint is None:
            return self._of(question, 2, lambda w: w.torque(passive), (self._window.nv,))
        places = self._places(joint)
        found = self._of(question, 2, lambda w: w.torque(passive), (self._window.nv,))[places]
        return found[0] if len(found) == 1 else found

    def pose(self, frame: str, relative_to: str = "world", back: int = 0) -> Any:
        """X_AB (4, 4), the pose of a frame B in a frame A (``relative_to``) [1, m]."""
        back = steps_back("w.pose", back)
        question = ("pose", frame, relative_to, f"{back}")
        found = self._of(question, back, lambda w: w.state(back).pose(frame, relative_to).elements()[:12], (3, 4))
        return filled((4, 4), [*found.ravel().tolist(), 0.0, 0.0, 0.0, 1.0])

    def point(self, name: str, relative_to: str = "world", back: int = 0) -> Any:
        """The position (3,) of a point, or of a frame's origin, in a frame [m]."""
        back = steps_back("w.point", back)
        return self._of(
            ("point", name, relative_to, f"{back}"), back, lambda w: [*w.state(back).point(name, relative_to)], (3,)
        )

    def direction(self, name: str, relative_to: str = "world", back: int = 0) -> Any:
        """A direction, or an axis of a frame (``"hand.z"``), in a frame's axes: (3,), of unit length."""
        back = steps_back("w.direction", back)
        question = ("direction", name, relative_to, f"{back}")
        return self._of(question, back, lambda w: [*w.state(back).direction(name, relative_to)], (3,))

    def center_of_mass(self, relative_to: str = "world", back: int = 0) -> Any:
        """The robot's centre of mass (3,) in a frame [m]."""
        back = steps_back("w.center_of_mass", back)
        question = ("center_of_mass", relative_to, f"{back}")
        return self._of(question, back, lambda w: [*w.state(back).center_of_mass(relative_to)], (3,))

    def momentum(self, about: str = "center_of_mass") -> Any:
        """(angular; linear) (6,) of (q_t, v_t), about the centre of mass or "world"'s origin [kg·m²/s, kg·m/s]."""
        one_of("w.momentum", "about", about, ("center_of_mass", "world"))
        return self._of(("momentum", about), 1, lambda w: w.momentum(about), (6,))

    def kinetic_energy(self) -> Any:
        """Of (q_t, v_t) [J]."""
        return self._of(("kinetic_energy",), 1, lambda w: [w.kinetic_energy()], ())

    def potential_energy(self) -> Any:
        """Of q_t [J]."""
        return self._of(("potential_energy",), 0, lambda w: [w.potential_energy()], ())

    def power(self, passive: bool = False) -> Any:
        """What joints give [W]: see `Window.torque`."""
        passive = switch("w.power", "passive", passive)
        return self._of(("power", f"{passive}"), 2, lambda w: [w.power(passive)], ())

    def variables(self, name: str, back: int = 0) -> Any:
        """The decision variables of a step that are called so: an array."""
        back = steps_back("w.variables", back)
        found = self._window.variables(name, back)
        return self._of(("variables", name, f"{back}"), back, lambda w: w.variables(name, back), (len(found),))

    def parameter(self, name: str) -> Any:
        """A parameter of the whole path: a number, or an array."""
        return self._of(("parameter", name), 0, lambda w: w.parameter(name))

    def given(self, target: Sequence[Any], shape: tuple[int, ...]) -> Any:
        """What the feature aims at: an array, or a number."""
        return self._of(("target",), 0, lambda w: target, shape, fixed=True)

    def twist(
        self, frame: str, relative_to: str = "world", expressed_in: str = "world", point: str | None = None
    ) -> Any:
        """Not asked of windows.  Raises ValueError: differences of poses are velocities."""
        raise ValueError("w.twist: a window has no twists: take (w.point(..) - w.point(.., back=1)) / w.step")

    def point_velocity(self, name: str, relative_to: str = "world", expressed_in: str = "world") -> Any:
        """(p_t − p_{t−1})/τ (3,) of a point, or of a frame's origin, in A's axes [m/s]."""
        if expressed_in != relative_to:
            raise ValueError(f"w.point_velocity: expressed_in: expected {relative_to!r}, got {expressed_in!r}")
        return (self.point(name, relative_to) - self.point(name, relative_to, back=1)) / self.step

    # -- what was asked, and what comes of it

    def run_with_rows(self, function: Callable[..., Any], *more: Any) -> FeatureRows:
        """What a function makes of this, and how that varies: by the chain rule through all that it asked."""
        w, width = self._window, self._window.width
        outputs = self.outputs(function, *more)
        values: list[Any] = []
        rates: list[SparseTangent] = []
        for question, (found, depth, fixed) in self._found.items():
            if fixed:
                answer = list(found(w))
                values += answer
                rates += [SparseTangent({})] * len(answer)
                continue
            rows = w.torque_rows(question[1] == "True") if question[0] == "torque" else w.derived(found, depth)
            values += rows.values
            for i, by_parameters in enumerate(rows.parameters):
                row = {(back, k): x for back, block in enumerate(rows.rows) for k, x in enumerate(block[i])}
                rates.append(SparseTangent(row | {(-1, k): x for k, x in enumerate(by_parameters)}))
        moving = seeded(values, rates)
        level = moving[0].level if moving else 0
        plain = [dual if dual.tangent else number for dual, number in zip(moving, values, strict=True)]
        taken = [parts(x, level) for x in self.taken_over(outputs, plain)]
        tangents = [t if isinstance(t, SparseTangent) else SparseTangent({}) for _, t in taken]
        return FeatureRows(
            [value for value, _ in taken],
            [[[t.get((back, k)) for k in range(width)] for t in tangents] for back in range(self._depth + 1)],
            [[t.get((-1, k)) for k in range(w.parameter_count)] for t in tangents],
        )

    @property
    def deepest(self) -> int:
        """How many earlier steps its questions look at."""
        return max((depth for _, depth, _ in self._found.values()), default=0)

    def _rates(self, what: str, joint: str | None, back: int, depth: int, found: Found) -> Any:
        whole = self._of((what, f"{back}"), depth, found, (self._window.nv,))
        if joint is None:
            return whole
        own = whole[self._places(joint)]
        return own[0] if len(own) == 1 else own

    def _places(self, joint: str) -> slice:
        tree = self._window.tree
        found: slice = tree.v_slices[tree.joint_index(joint)]
        return found

    def _of(
        self,
        question: tuple[str, ...],
        depth: int,
        found: Found,
        shape: tuple[int, ...] | None = None,
        *,
        fixed: bool = False,
    ) -> Any:
        if depth > self._depth:
            raise ValueError(
                f"w.{question[0]}: it looks {depth} steps back, and the feature is one of depth {self._depth}: "
                + (
                    f"make it lw.optimal.FunctionFeature(..., depth={depth})"
                    if depth <= DEEPEST
                    else f"expected {DEEPEST} steps at most"
                )
            )
        if question not in self._found:
            self._found[question] = found, depth, fixed
        return self._answer(question, lambda: found(self._window), shape)
