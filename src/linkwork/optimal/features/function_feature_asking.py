"""What a function of the user's asks about a window: arrays of symbols in, numbers out, with their derivatives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from linkwork.constraints.user_functions import Asking
from linkwork.expr.arrays.symbol_array import filled
from linkwork.expr.autodiff.dual_numbers import parts, seeded
from linkwork.expr.autodiff.sparse_tangent import Directions
from linkwork.optimal.features.arguments import one_of, steps_back, switch
from linkwork.optimal.features.feature import DEEPEST, FeatureRows, Window

__all__ = ["AskingWindow"]

Found = Callable[[Window], Sequence[Any]]


class AskingWindow(Asking):
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

    def twist(self, frame: str, relative_to: str = "world", expressed_in: str = "world", at: str | None = None) -> Any:
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
        rates: list[Directions] = []
        for question, (found, depth, fixed) in self._found.items():
            if fixed:
                answer = list(found(w))
                values += answer
                rates += [Directions({})] * len(answer)
                continue
            rows = w.torque_rows(question[1] == "True") if question[0] == "torque" else w.derived(found, depth)
            values += rows.values
            for i, by_parameters in enumerate(rows.parameters):
                row = {(back, k): x for back, block in enumerate(rows.rows) for k, x in enumerate(block[i])}
                rates.append(Directions(row | {(-1, k): x for k, x in enumerate(by_parameters)}))
        moving = seeded(values, rates)
        level = moving[0].level if moving else 0
        plain = [dual if dual.tangent else number for dual, number in zip(moving, values, strict=True)]
        taken = [parts(x, level) for x in self.taken_over(outputs, plain)]
        tangents = [t if isinstance(t, Directions) else Directions({}) for _, t in taken]
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
