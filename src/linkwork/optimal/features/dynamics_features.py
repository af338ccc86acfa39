"""Features of dynamics: joint forces by inverse dynamics of a window, power, momentum and energy."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any, Self

from linkwork._util.checked_arguments import public_constructor
from linkwork.constraints.constraint import References
from linkwork.ik.tasks.center_of_mass_tasks import without_mass
from linkwork.ik.tasks.task import TaskTarget
from linkwork.optimal.features.arguments import choice, one_of, text
from linkwork.optimal.features.feature import Feature, FeatureJacobian, Scalars, Window, with_fields
from linkwork.optimal.features.motion_features import minus_target, velocities_of

__all__ = [
    "EnergyFeature",
    "MomentumFeature",
    "PowerFeature",
    "TorqueFeature",
    "UnactuatedFeature",
    "chosen_velocities",
    "force_units",
]


def chosen_velocities(tree: Any, joints: tuple[str, ...] | None) -> tuple[int, ...]:
    """Return the indices in v of the named joints, in the order of the names; None means all of v.

    Raises UnknownNameError, and ValueError for a joint that is coupled to another.
    """
    if joints is None:
        return tuple(range(tree.nv))
    indices: list[int] = []
    for name in joints:
        i = tree.joint_index(name)
        coupling = tree.bodies[i].coupling
        if coupling is not None:
            raise ValueError(f"joint {name!r} is coupled to joint {coupling.joint!r}: name that joint")
        indices += range(tree.nv)[tree.v_slices[i]]
    return tuple(indices)


def named_joints(caller: str, joints: Any) -> tuple[str, ...] | None:
    """Return the names of joints as a tuple, from one name or a sequence of names; None for None.

    Raises TypeError for other objects, ValueError for a name that occurs twice.
    """
    if joints is None:
        return None
    names = (joints,) if isinstance(joints, str) else tuple(joints)
    if not names or not all(isinstance(name, str) for name in names):
        raise TypeError(f"{caller}: joints: expected names of joints, got {joints!r}")
    if len(set(names)) < len(names):
        raise ValueError(f"{caller}: joints: expected each once, got {list(names)}")
    return names


def force_units(tree: Any) -> tuple[str, ...]:
    """Return the unit of each joint force: "N·m" for a rotation, "N" for a translation."""
    return tuple({"rad": "N·m", "m": "N"}.get(unit, unit) for unit in velocities_of(tree)[1])


@public_constructor
@dataclass(frozen=True)
class TorqueFeature(Feature):
    """Joint forces τ, of all velocities or of some joints, minus a target [N·m, N]: see `Window.torque`.

        problem.add("torque", "least_squares")                                     # small effort
        problem.add(lw.optimal.TorqueFeature(["base"]), "equality")          # a free base has no motor

    τ are the motor forces, which also overcome damping, friction, springs and armature of joints, unless ``passive`` is
    False.  With forward dynamics, ``passive`` of `TrajectoryProblem.solve` determines whether τ includes these terms.

    ``name`` is the name of the values in results.
    """

    joints: Any = None
    _: KW_ONLY
    passive: bool | None = None
    name: str = ""
    indices: tuple[int, ...] = field(init=False, default=(), repr=False)  # in v: set by `bind`
    rows_of: tuple[tuple[str, str], ...] = field(init=False, default=(), repr=False)  # names, units

    depth = 2

    def __post_init__(self) -> None:
        put = object.__setattr__
        kind = type(self).__name__
        put(self, "passive", choice(kind, "passive", self.passive))
        text(kind, "name", self.name)
        put(self, "joints", named_joints(kind, self.joints))
        put(self, "name", self.name or ("torque" if self.joints is None else f"torque of {', '.join(self.joints)}"))

    @property
    def references(self) -> References:
        return References(joints=self.joints or ())

    @property
    def component_names(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.rows_of)

    @property
    def row_units(self) -> tuple[str, ...]:
        return tuple(unit for _, unit in self.rows_of)

    @property
    def target_of(self) -> TaskTarget:
        return TaskTarget((len(self.indices),) if self.indices else ("nv",), "numbers", "the desired torque")

    @property
    def needs_target(self) -> bool:
        return False

    @property
    def needs_forces(self) -> bool:
        return True

    def bind(self, robot: Any, w: Window) -> Self:
        indices = chosen_velocities(w.tree, self.joints)
        names, units = velocities_of(w.tree)[0], force_units(w.tree)
        return with_fields(self, indices=indices, rows_of=tuple((names[k], units[k]) for k in indices))

    def checked(self, robot: Any) -> Iterable[str]:
        return without_inertias(robot, "TorqueFeature")

    def values(self, w: Window, target: Scalars) -> list[Any]:
        tau = w.torque(self.passive)
        return minus_target([tau[k] for k in self.indices], target)

    def jacobian(self, w: Window, target: Scalars) -> FeatureJacobian:
        torque = w.torque_jacobian(self.passive, self.indices)
        return replace(torque, values=minus_target(torque.values, target))


@public_constructor
@dataclass(frozen=True)
class UnactuatedFeature(TorqueFeature):
    """Joint forces τ of unactuated joints [N·m, N], for a constraint τ = 0.

    The default is floating joints and joints whose effort limits are 0; ``joints`` names other joints.

    ``passive`` is an option of `TorqueFeature`.  ``name`` is the name of the values in results.
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.joints is None:
            object.__setattr__(self, "name", self.name if self.name != "torque" else "unactuated")

    def bind(self, robot: Any, w: Window) -> Self:
        if self.joints is not None:
            return super().bind(robot, w)
        result = [
            body.joint_name
            for _, body in w.tree.stacked()
            if body.joint.nv and (body.joint.is_floating or not any(body.limits.effort))
        ]
        if not result:
            raise ValueError(
                f"UnactuatedFeature: joints: all joints of {robot.name!r} are actuated: none is floating or has an "
                f"effort limit of 0: name the unactuated ones, UnactuatedFeature([...])"
            )
        return replace(self, joints=tuple(result)).bind(robot, w)


@public_constructor
@dataclass(frozen=True)
class PowerFeature(Feature):
    """Mechanical power v̄ᵢ τᵢ for each velocity i of the robot [W].

    v̄ is `Window.mean_velocity`, and τ are the joint forces of `Window.torque`.

    ``passive`` is an option of `TorqueFeature`.  ``name`` is the name of the values in results.
    """

    _: KW_ONLY
    passive: bool | None = None
    name: str = "power"
    names: tuple[str, ...] = field(init=False, default=(), repr=False)

    depth = 2

    def __post_init__(self) -> None:
        object.__setattr__(self, "passive", choice("PowerFeature", "passive", self.passive))
        text("PowerFeature", "name", self.name, empty=False)

    @property
    def component_names(self) -> tuple[str, ...]:
        return self.names

    @property
    def row_units(self) -> tuple[str, ...]:
        return ("W",) * len(self.names)

    @property
    def needs_forces(self) -> bool:
        return True

    def bind(self, robot: Any, w: Window) -> Self:
        return with_fields(self, names=velocities_of(w.tree)[0])

    def checked(self, robot: Any) -> Iterable[str]:
        return without_inertias(robot, "PowerFeature")

    def values(self, w: Window, target: Scalars) -> list[Any]:
        return [rate * force for rate, force in zip(w.mean_velocity(), w.torque(self.passive), strict=True)]


def without_inertias(robot: Any, kind: str) -> Iterable[str]:
    """Raise ValueError if the robot has no inertias, else return an empty tuple.

    `Feature.checked` returns this tuple: there is no reason against the feature.
    """
    robot.require_inertias(kind)
    return ()


_XYZ = ("x", "y", "z")
_PARTS = {"both": slice(0, 6), "angular": slice(0, 3), "linear": slice(3, 6)}
_ENERGIES = ("kinetic", "potential", "total", "lagrangian")


@public_constructor
@dataclass(frozen=True)
class MomentumFeature(Feature):
    """Momentum (angular; linear) of the robot minus a target, in the world's axes [kg·m²/s, kg·m/s].

    The momentum is that at the end of step t, where v_t is the velocity.  ``about`` is "center_of_mass" or "world" (the
    world's origin); ``part`` is "angular", "linear" or "both".

    ``name`` is the name of the values in results.
    """

    about: str = "center_of_mass"
    part: str = "both"
    _: KW_ONLY
    name: str = "momentum"

    depth = 1

    def __post_init__(self) -> None:
        one_of("MomentumFeature", "about", self.about, ("center_of_mass", "world"))
        one_of("MomentumFeature", "part", self.part, tuple(_PARTS))
        text("MomentumFeature", "name", self.name, empty=False)

    @property
    def component_names(self) -> tuple[str, ...]:
        every = [f"{self.name}: {kind} {axis}" for kind in ("angular", "linear") for axis in _XYZ]
        return tuple(every[_PARTS[self.part]])

    @property
    def row_units(self) -> tuple[str, ...]:
        every = ["kg·m²/s"] * 3 + ["kg·m/s"] * 3
        return tuple(every[_PARTS[self.part]])

    @property
    def target_of(self) -> TaskTarget:
        return TaskTarget((len(self.component_names),), "numbers", "the desired momentum")

    @property
    def needs_target(self) -> bool:
        return False

    def checked(self, robot: Any) -> Iterable[str]:
        return without_mass(robot, "MomentumFeature")

    def values(self, w: Window, target: Scalars) -> list[Any]:
        values = w.momentum(self.about)[_PARTS[self.part]]
        return [x - y for x, y in zip(values, target, strict=True)] if len(target) else values


@public_constructor
@dataclass(frozen=True)
class EnergyFeature(Feature):
    """Energy of the robot minus a target [J].

    ``energy`` is "potential", "kinetic", "total" (kinetic plus potential), or "lagrangian" (kinetic minus potential).
    "potential" is evaluated at q_t, and the others at the end of step t, where v_t is the velocity.

    ``name`` is the name of the values in results.
    """

    energy: str = "total"
    _: KW_ONLY
    name: str = ""

    def __post_init__(self) -> None:
        one_of("EnergyFeature", "energy", self.energy, _ENERGIES)
        text("EnergyFeature", "name", self.name)
        known = self.energy if self.energy == "lagrangian" else f"{self.energy} energy"
        object.__setattr__(self, "name", self.name or known)

    @property
    def depth(self) -> int:  # type: ignore[override]
        return 0 if self.energy == "potential" else 1

    @property
    def component_names(self) -> tuple[str, ...]:
        return (self.name,)

    @property
    def row_units(self) -> tuple[str, ...]:
        return ("J",)

    @property
    def target_of(self) -> TaskTarget:
        return TaskTarget((), "numbers", "the desired energy")

    @property
    def needs_target(self) -> bool:
        return False

    def checked(self, robot: Any) -> Iterable[str]:
        return without_inertias(robot, "EnergyFeature")

    def values(self, w: Window, target: Scalars) -> list[Any]:
        if self.energy == "potential":
            result = w.potential_energy()
        elif self.energy == "kinetic":
            result = w.kinetic_energy()
        else:
            T, U = w.kinetic_energy(), w.end_potential_energy()
            result = T + U if self.energy == "total" else T - U
        return [result - target[0]] if len(target) else [result]
