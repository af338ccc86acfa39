"""The contract of constraints, over any scalar: the base class `Constraint` and the robot state `Kinematics`.

A constraint is a value that names frames, joints and points of a robot.  A *holonomic* constraint implements its
``error`` φ(q, t), which is zero where it is satisfied.  A constraint that is linear in velocities implements its
``velocity`` A(q) v + σ(q, t).  Dynamics needs the rates

    G(q) v + σ = 0,      G(q) a + γ(q, v) = 0,

which follow by differentiation; a constraint with a closed form implements ``rates`` itself.  Rows of G may be linearly
dependent or zero: all solvers accept this.

A constraint reads the robot only through a `Kinematics`, the robot in one state.
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from types import MappingProxyType
from typing import Any, Protocol, Self

from linkwork.spatial import Force, Motion, Pose, Vec3

__all__ = [
    "NO_NAMES",
    "Constraint",
    "Kinematics",
    "Rates",
    "References",
    "RelativeMotion",
    "renamed_fields",
    "renames",
    "with_names",
]

NO_NAMES: Mapping[str, str] = MappingProxyType({})

Scalars = Sequence[Any]


class RelativeMotion(Protocol):
    """Motion of a frame B relative to a frame A, in B's coordinates, at B's origin."""

    @property
    def pose(self) -> Pose:
        """The pose X_AB of B in A."""

    @property
    def columns(self) -> list[Motion]:
        """Columns (nv) of the relative Jacobian: the twist of B relative to A for each unit velocity."""

    @property
    def twist(self) -> Motion:
        """The twist of B relative to A."""

    @property
    def bias(self) -> Motion:
        """Spatial acceleration of B relative to A for v̇ = 0, the rate of the components of the twist."""


class Kinematics(Protocol):
    """State of a robot, from which constraints query poses, motions, points and directions by name.

    Its values are scalars of any type: floats, symbols or dual numbers.
    """

    @property
    def nv(self) -> int:
        """Number of velocity components of the robot."""

    @property
    def time(self) -> Any:
        """The time t [s]."""

    def q(self, joint: str) -> list[Any]:
        """Return the configuration of a joint, also of a joint coupled to another."""

    def v(self, joint: str) -> list[Any]:
        """Return the velocity of a joint."""

    def moving(self, joint: str) -> list[list[Any]]:
        """Return the Jacobian ∂v_J/∂v (rows of nv elements) of a joint's velocity v_J, one row for each component."""

    def units(self, joint: str) -> tuple[str, ...]:
        """Return the unit of each coordinate of a joint, "rad" or "m"; its velocity has this unit per second."""

    def pose(self, frame: str, relative_to: str = "world") -> Pose:
        """Return the pose X_AB of frame B (``frame``) in frame A (``relative_to``)."""

    def point(self, name: str, relative_to: str = "world") -> Vec3:
        """Return the position of the point, or frame's origin, ``name`` in the frame ``relative_to`` [m]."""

    def direction(self, name: str, relative_to: str = "world") -> Vec3:
        """Return the direction, or frame's axis, ``name`` (``"hand.z"``) in the axes of ``relative_to``."""

    def between(self, frame: str, relative_to: str = "world") -> RelativeMotion:
        """Return the motion of the frame B (``frame``) relative to the frame A (``relative_to``)."""

    def locate(self, point: str) -> tuple[str, Vec3]:
        """Return the frame to which a point is fixed, and its position in it [m]."""

    def axis_of(self, direction: str) -> tuple[str, Vec3]:
        """Return the frame to which a direction is fixed, and its unit vector in the axes of that frame."""

    def center_of_mass(self, relative_to: str = "world") -> Vec3:
        """Return the robot's centre of mass in the frame ``relative_to`` [m]."""


@dataclass(frozen=True, slots=True)
class Rates:
    """Jacobian rows G, drift σ and bias γ of a constraint in one state: G v + σ = 0 and G a + γ = 0.

    ``sizes`` are the squares of the elements of G, or None.
    """

    rows: list[list[Any]]  # G, rows of nv values
    bias: list[Any]  # γ
    drift: list[Any] | None = None  # σ; None if the constraint does not depend on time
    sizes: list[list[Any]] | None = None  # squares of the elements of G without cancellation


@dataclass(frozen=True, slots=True)
class References:
    """Names of the frames, joints, points and directions that a constraint refers to."""

    frames: tuple[str, ...] = ()
    joints: tuple[str, ...] = ()
    points: tuple[str, ...] = ()
    directions: tuple[str, ...] = ()


class Constraint(ABC):
    """Constraint of a robot: one or more scalar equations (rows) between its motions.

    It is an immutable value with a unique name.
    """

    name: str
    holonomic: bool = True  # True if it implements `error`
    time_dependent: bool = False  # True if it depends on time
    uses_inertia: bool = False  # True if it depends on masses or centres of mass

    @property
    def references(self) -> References:
        """The frames, joints, points and directions of the robot to which the constraint refers, by name."""
        return References()

    @property
    def implied_constraints(self) -> tuple[Constraint, ...]:
        """Further constraints that are added to a robot directly after this one, and removed with it."""
        return ()

    @property
    def functions(self) -> tuple[Callable[..., Any], ...]:
        """The user's functions that the constraint contains."""
        return ()

    @property
    def component_names(self) -> tuple[str, ...]:
        """Name of each row of the constraint, that is, of each scalar equation."""
        raise _missing(self, "component_names", "the names of its rows")

    @property
    def row_units(self) -> tuple[str, ...]:
        """Unit of each row's error, "m" or "rad"; a velocity constraint has this unit per second."""
        raise _missing(self, "row_units", "the units of its rows")

    def error(self, state: Kinematics) -> list[Any]:
        """Return the error φ(q, t) of each row of a holonomic constraint in a state: zero where it is satisfied."""
        raise _missing(self, "error", "its error")

    def velocity(self, state: Kinematics) -> list[Any]:
        """Return A(q) v + σ(q, t) in a state for each row of a nonholonomic constraint: zero where satisfied."""
        raise _missing(self, "velocity", "its velocity")

    def rates(self, state: Kinematics) -> Rates | None:
        """Return the Jacobian rows, drift and bias of the constraint in a state, in closed form, or None.

        With None they are derived from ``error`` or ``velocity`` by automatic differentiation.
        """
        return None

    def row_sizes(self, state: Kinematics) -> list[list[Any]] | None:
        """Return the squared elements of the constraint Jacobian in a state, computed without cancellation.

        It is for constraints without `rates`; None if they are unknown.
        """
        return None

    @property
    def fixed_wrenches(self) -> tuple[Force, ...] | None:
        """Constraint wrench of each row, if all are constant in the coordinates of a frame, else None.

        The velocity of row i is the power of wrench i on the motion of the first frame in `references` relative to the
        second. The wrenches are in the coordinates of the first frame, and the same in all configurations.
        """
        return None

    def checked(self, robot: Any) -> Iterable[str]:
        """Return messages about faults of the constraint on this robot, other than unknown names."""
        return ()

    def bind(self, state: Kinematics) -> Self:
        """Return the constraint with all data that depend on the robot, such as its number of rows.

        ``state`` is a state of the robot on symbols.  Raises ValueError for unsuitable user functions.
        """
        return self

    def with_names(self, names: Mapping[str, str], joints: Mapping[str, str] = NO_NAMES) -> Self:
        """Return the constraint with frames, points and directions renamed by a mapping, and joints by another one.

        By default all fields are changed that name one of them, also inside of tuples, except ``name``, ``unit``,
        ``units`` and ``axes``.  Raises TypeError if the class is not a dataclass and refers to one of these names.
        """
        changes = renames(self.references, names, joints)
        if not changes:
            return self
        if not is_dataclass(self):
            raise TypeError(f"constraint {self.name!r}: {type(self).__name__} needs a method `with_names`")
        return replace(self, **renamed_fields(self, changes))


def with_names(name: str, names: Mapping[str, str]) -> str:
    """Return the new name of a frame, or of an axis of a frame; other names are returned unchanged."""
    if name[-2:] in (".x", ".y", ".z") and name not in names and name[:-2] in names:
        return names[name[:-2]] + name[-2:]
    return names.get(name, name)


def renames(references: References, names: Mapping[str, str], joints: Mapping[str, str]) -> dict[str, str]:
    """Return a dict from old to new names of those references that change.

    ``names`` has the new names of frames, points and directions, and ``joints`` those of joints.
    """
    new = {x: with_names(x, names) for x in (*references.frames, *references.points, *references.directions)}
    new |= {x: joints[x] for x in references.joints if x in joints}
    return {x: y for x, y in new.items() if x != y}


def renamed_fields(item: Any, changes: Mapping[str, str]) -> dict[str, Any]:
    """Return the dataclass fields with names that change, with their new values.

    ``changes`` has the new name of each old name.
    """
    values = {f.name: getattr(item, f.name) for f in fields(item) if f.init and f.name not in _NOT_NAMES}
    renamed = {key: _renamed(x, changes) for key, x in values.items()}
    return {key: x for key, x in renamed.items() if x is not values[key]}


def _renamed(value: Any, changes: Mapping[str, str]) -> Any:
    if isinstance(value, tuple) and type(value) is tuple:
        renamed = tuple(_renamed(x, changes) for x in value)
        return value if all(x is y for x, y in zip(renamed, value, strict=True)) else renamed
    return changes.get(value, value) if isinstance(value, str) else value


_NOT_NAMES = ("name", "unit", "units", "axes")  # fields of texts that name nothing of the robot


def _missing(constraint: Constraint, name: str, meaning: str) -> TypeError:
    return TypeError(f"{type(constraint).__name__}: expected a class that defines {meaning} (`{name}`)")
