"""What masses do: momentum and energy."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import KW_ONLY, dataclass
from typing import Any

from linkwork._util.checked_arguments import public_constructor
from linkwork.ik.tasks.center_of_mass_tasks import without_mass
from linkwork.ik.tasks.task import TaskTarget
from linkwork.optimal.features.arguments import one_of, text
from linkwork.optimal.features.dynamics_features import without_inertias
from linkwork.optimal.features.feature import Feature, Scalars, Window

__all__ = ["EnergyFeature", "MomentumFeature"]

_XYZ = ("x", "y", "z")
_PARTS = {"both": slice(0, 6), "angular": slice(0, 3), "linear": slice(3, 6)}
_ENERGIES = ("kinetic", "potential", "total", "lagrangian")


@public_constructor
@dataclass(frozen=True)
class MomentumFeature(Feature):
    """The momentum of (q_t, v_t), (angular; linear) in the world's axes, less a target [kg·m²/s, kg·m/s].

    It is ``about`` the centre of mass, or "world"'s origin; a ``part`` is "angular", "linear" or "both".
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
    def row_names(self) -> tuple[str, ...]:
        every = [f"{self.name}: {kind} {axis}" for kind in ("angular", "linear") for axis in _XYZ]
        return tuple(every[_PARTS[self.part]])

    @property
    def row_units(self) -> tuple[str, ...]:
        every = ["kg·m²/s"] * 3 + ["kg·m/s"] * 3
        return tuple(every[_PARTS[self.part]])

    @property
    def target_of(self) -> TaskTarget:
        return TaskTarget((len(self.row_names),), "numbers", "the momentum that is aimed at")

    @property
    def needs_target(self) -> bool:
        return False

    def checked(self, robot: Any) -> Iterable[str]:
        return without_mass(robot, "MomentumFeature")

    def values(self, w: Window, target: Scalars) -> list[Any]:
        found = w.momentum(self.about)[_PARTS[self.part]]
        return [x - y for x, y in zip(found, target, strict=True)] if len(target) else found


@public_constructor
@dataclass(frozen=True)
class EnergyFeature(Feature):
    """Energy [J] less a target: "kinetic" of (q_t, v_t), "potential" of q_t, "total" their sum, or "lagrangian"."""

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
    def row_names(self) -> tuple[str, ...]:
        return (self.name,)

    @property
    def row_units(self) -> tuple[str, ...]:
        return ("J",)

    @property
    def target_of(self) -> TaskTarget:
        return TaskTarget((), "numbers", "the energy that is aimed at")

    @property
    def needs_target(self) -> bool:
        return False

    def checked(self, robot: Any) -> Iterable[str]:
        return without_inertias(robot, "EnergyFeature")

    def values(self, w: Window, target: Scalars) -> list[Any]:
        if self.energy == "potential":
            found = w.potential_energy()
        elif self.energy == "kinetic":
            found = w.kinetic_energy()
        else:
            T, U = w.kinetic_energy(), w.potential_energy()
            found = T + U if self.energy == "total" else T - U
        return [found - target[0]] if len(target) else [found]
