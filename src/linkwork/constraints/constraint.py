"""The contract of a constraint, over any scalar: what a mechanism of joints has to obey besides its joints.

A constraint is a value that names frames, joints and points of a robot.  A *holonomic* one states its ``error``
φ(q, t), which is zero where it holds; one that is linear in velocities states its ``velocity``, A(q) v + σ(q, t).  What
follows from these by differentiation are its rates, which all of dynamics needs,

    G(q) v + σ = 0,      G(q) a + γ(q, v) = 0,

and a constraint for which a closed form is known writes ``rates`` itself.  Where the rows of G depend on each other,
or vanish, that is nothing unusual: what is solved with them allows for it.

Everything that a constraint asks about a robot it asks of a `Kinematics`, the robot in one state.
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, Protocol, Self

from linkwork.spatial import Force, Motion, Pose, Vec3

__all__ = ["Constraint", "Kinematics", "Rates", "References", "RelativeMotion", "with_names"]

Scalars = Sequence[Any]


class RelativeMotion(Protocol):
    """The motion of a frame B relative to a frame A, in B's coordinates, at B's origin."""

    @property
    def pose(self) -> Pose:
        """X_AB."""

    @property
    def columns(self) -> list[Motion]:
        """What each of the robot's velocities makes of the twist of B relative to A."""

    @property
    def twist(self) -> Motion:
        """The twist of B relative to A."""

    @property
    def bias(self) -> Motion:
        """The spatial acceleration of B relative to A, the rate of the twist's coordinates, while v̇ = 0."""


class Kinematics(Protocol):
    """A robot in a state, over any scalar."""

    @property
    def nv(self) -> int:
        """How many velocities the robot has."""

    @property
    def time(self) -> Any:
        """The time t [s]."""

    def q(self, joint: str) -> list[Any]:
        """The configuration of a joint, its own numbers also where it follows another."""

    def v(self, joint: str) -> list[Any]:
        """The velocity of a joint."""

    def moving(self, joint: str) -> list[list[Any]]:
        """By each number of a joint's velocity: what the robot's velocities make of it, a row of nv numbers."""

    def units(self, joint: str) -> tuple[str, ...]:
        """What the numbers of a joint's velocity are rates of: "rad" or "m" each."""

    def pose(self, frame: str, relative_to: str = "world") -> Pose:
        """X_AB: the pose of frame B in frame A (``relative_to``)."""

    def point(self, name: str, relative_to: str = "world") -> Vec3:
        """The position of a point, or of a frame's origin, in a frame."""

    def direction(self, name: str, relative_to: str = "world") -> Vec3:
        """A direction, or an axis of a frame (``"hand.z"``), in a frame's axes."""

    def between(self, frame: str, relative_to: str = "world") -> RelativeMotion:
        """The motion of a frame relative to another."""

    def place_of(self, point: str) -> tuple[str, Vec3]:
        """The frame that a point is fixed to, and where in it."""

    def axis_of(self, direction: str) -> tuple[str, Vec3]:
        """The frame that a direction is fixed to, and the direction in its axes."""

    def center_of_mass(self, relative_to: str = "world") -> Vec3:
        """The robot's centre of mass in a frame."""


@dataclass(frozen=True, slots=True)
class Rates:
    """The rows of a constraint in one state: G v + σ = 0 and G a + γ = 0."""

    rows: list[list[Any]]  # G, nv numbers a row
    bias: list[Any]  # γ
    drift: list[Any] | None = None  # σ; nothing where the constraint does not depend on time
    sizes: list[list[Any]] | None = None  # squares of the rows' numbers as they would be without cancellation


@dataclass(frozen=True, slots=True)
class References:
    """What of a robot a constraint names."""

    frames: tuple[str, ...] = ()
    joints: tuple[str, ...] = ()
    points: tuple[str, ...] = ()
    directions: tuple[str, ...] = ()


class Constraint(ABC):
    """A constraint of a robot: an immutable value with a name of its own."""

    name: str
    holonomic: bool = True  # whether it has an error
    time_dependent: bool = False  # whether it depends on time
    uses_inertia: bool = False  # whether it depends on where masses are

    @property
    def references(self) -> References:
        """What of a robot it names."""
        return References()

    @property
    def implied_constraints(self) -> tuple[Constraint, ...]:
        """Further constraints that are put on a robot with it, right after it, and taken off with it."""
        return ()

    @property
    def functions(self) -> tuple[Callable[..., Any], ...]:
        """The user's functions that it holds."""
        return ()

    @property
    def component_names(self) -> tuple[str, ...]:
        """What each of its rows is called: as many as it has."""
        raise _unsaid(self, "what its rows are called (`component_names`)")

    @property
    def row_units(self) -> tuple[str, ...]:
        """The unit of each row's error: "m" or "rad"; of a velocity's row, of what it is the rate of."""
        raise _unsaid(self, "in what units its rows are (`row_units`)")

    def error(self, state: Kinematics) -> list[Any]:
        """φ(q, t), a number a row: zero where the constraint holds."""
        raise _unsaid(self, "its error (`error`)")

    def velocity(self, state: Kinematics) -> list[Any]:
        """A(q) v + σ(q, t), of a constraint that has no error."""
        raise _unsaid(self, "its velocity (`velocity`)")

    def rates(self, state: Kinematics) -> Rates | None:
        """The rows in closed form; nothing where they follow from ``error`` or ``velocity`` by differentiation."""
        return None

    @property
    def fixed_wrenches(self) -> tuple[Force, ...] | None:
        """Wrenches, a row each, of which the rows are the powers on the motion of the first frame that it references
        relative to the second, where they are the same in the first frame's coordinates whatever the configuration.
        """
        return None

    def checked(self, robot: Any) -> Iterable[str]:
        """What is wrong with it for a robot, a message each, besides names that are not there."""
        return ()

    def bind(self, state: Kinematics) -> Self:
        """The constraint as it is of a robot, here on symbols: what only a robot can tell is known from then on.

        Raises ValueError for functions of the user's that cannot be such.
        """
        return self

    def with_names(self, names: Mapping[str, str]) -> Self:
        """The same with other names of frames.  Default: in fields that hold the name of a frame, point or direction.

        Raises TypeError for a constraint that is no dataclass and names one of them.
        """
        said = self.references
        known = {*said.frames, *said.points, *said.directions}
        if all(with_names(name, names) == name for name in known):
            return self
        if not is_dataclass(self):
            raise TypeError(f"constraint {self.name!r}: {type(self).__name__} needs a method `with_names`")
        held = {field.name: getattr(self, field.name) for field in fields(self) if field.init and field.name != "name"}
        changed = {key: with_names(x, names) for key, x in held.items() if isinstance(x, str) and x in known}
        return replace(self, **changed)


def with_names(name: str, names: Mapping[str, str]) -> str:
    """The name of a frame, or of an axis of it, where some frames have other names."""
    if name[-2:] in (".x", ".y", ".z") and name[:-2] in names:
        return names[name[:-2]] + name[-2:]
    return names.get(name, name)


def _unsaid(constraint: Constraint, what: str) -> TypeError:
    return TypeError(f"{type(constraint).__name__}: a kind of constraint has to say {what}, and this one does not")
