"""All contacts of a simulation as one value, their diagnostics, and their numbers as inputs of kernels.

Materials and the ground's pose are inputs, so that other values use the same code.  Fixed in the code are the links
and shapes that touch, whether a contact has a stiffness or bounces, and a ground whose normal is a coordinate axis,
whose zeros save work.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from linkwork._util.user_frames import levels_up
from linkwork._util.validation import shown
from linkwork.errors import SimulationWarning, UnknownNameError
from linkwork.expr.arrays.symbol_array import array
from linkwork.expr.linalg.sparse_dot import dot, transposed
from linkwork.expr.scalar.functions import lt, sqrt, where
from linkwork.kernels.compiler_api import Kernel, compile
from linkwork.kernels.kernel_cache import LazyCache
from linkwork.simulation.algorithms.compliant_forces import compliant_force
from linkwork.simulation.contacts.collision_shape_contacts import ContactPair, ContactScene
from linkwork.simulation.contacts.contact_candidates import ContactPlace, velocity_rows
from linkwork.simulation.contacts.contact_materials import ContactMaterial, given_surface, read_name, varied_surface
from linkwork.simulation.contacts.ground_contact import ContactGround, ContactPoint

__all__ = ["MODELS", "TOLD", "ContactDiagnostics", "ContactSet", "contact_data", "in_world", "with_data"]


MODELS = ("convex", "compliant")
TOLD = ("contact_gap", "contact_slip", "contact_residual")  # besides forces, if it is asked for
_CHECKED = LazyCache[bool](64)
_NAMES = LazyCache[tuple[str, ...]](64)
_WHOSE = LazyCache[tuple[str, ...]](64)
_GAPS = LazyCache[Kernel](16)
_DEEP = 1e-4  # [m]: what begins deeper than that in something rigid is told
_HEAVY = 10.0  # times the weight: what begins with such a push of something soft is told


@dataclass(frozen=True)
class ContactSet:
    """Contacts, and the model of them."""

    parts: tuple[Any, ...]
    model: str = "convex"
    numbers: tuple[tuple[str, Any], ...] = field(default=(), compare=False)  # in the place of materials', by name
    surfaces: Any = field(default=None, compare=False)  # (points, 4) in the place of materials' numbers, in a kernel
    planes: tuple[Any, ...] = field(default=(), compare=False)  # by part: axes and height of a ground, in a kernel

    @staticmethod
    def of(value: Any, model: str, caller: str = "simulate") -> ContactSet | None:
        """One kind of contacts, or a list of them; nothing of none.  Raises TypeError and UnknownNameError."""
        if model not in MODELS:
            raise UnknownNameError("model of contacts", model, MODELS)
        if value is None or isinstance(value, ContactSet):
            return value
        parts = tuple(value) if isinstance(value, (tuple, list)) else (value,)
        for one in parts or (value,):
            if not isinstance(one, (ContactGround, ContactScene, ContactPair)):
                raise TypeError(
                    f"{caller}: contacts: expected linkwork.simulation.ContactGround, ContactScene or ContactPair, or "
                    f"a list of them, got {shown(one)}"
                )
        return ContactSet(parts, model)

    def checked(self, robot: Any) -> None:
        """Raises UnknownNameError and ValueError for what does not go with a robot."""
        asked = tuple(name for name, _ in self.numbers)
        bare = replace(self, surfaces=None, planes=())
        _CHECKED.get((self, robot, asked), lambda: bare._looked_at(robot))

    def check_number(self, robot: Any, name: str) -> None:
        """Raises UnknownNameError for the name of a parameter that these contacts do not have."""
        alone = replace(self, numbers=())
        named = lambda: tuple(of for place in alone.places(robot, robot.neutral()) for of in place.of)  # noqa: E731
        read_name(name, self.model, _WHOSE.get((alone, robot), named))

    def varied(self, numbers: Mapping[str, Any]) -> ContactSet:
        """The same contacts with numbers instead of their materials', by the names of parameters."""
        return replace(self, numbers=tuple(numbers.items())) if numbers else self

    def _looked_at(self, robot: Any) -> bool:
        for part in self.parts:
            part.checked(robot)
        for place in self.places(robot, robot.neutral()):
            m, caller = place.material, f"simulate: contacts: {place.name}"
            if self.model == "convex":
                if m.dissipation > 0.0:
                    raise ValueError(
                        f"{caller}: dissipation is of contact_model='compliant' alone: leave it out, or take that model"
                    )
                continue
            if m.stiffness is None:
                raise ValueError(f"{caller}: compliant contacts have a stiffness [N/m^1.5]")
            if m.restitution > 0.0:
                raise ValueError(
                    f"{caller}: restitution is of contact_model='convex' alone: compliant contacts lose speed by their "
                    f"dissipation [s/m], about its product with the speed of the impact; got {m.restitution:g}"
                )
        return True

    def names(self, robot: Any) -> tuple[str, ...]:
        """What each point is called."""
        return _NAMES.get((self, robot), lambda: tuple(name for part in self.parts for name in part.names(robot)))

    def places(self, robot: Any, q: Any) -> list[ContactPlace]:
        """All points, at q (nq) of a trace, or at q (..., nq) of numbers."""
        planes = self.planes or (None,) * len(self.parts)
        result = [
            place
            for part, plane in zip(self.parts, planes, strict=True)
            for place in (part.places(robot, q) if plane is None else part.places(robot, q, plane))
        ]
        if self.surfaces is not None:
            compliant = self.model == "compliant"
            rows = zip(result, self.surfaces, strict=True)
            result = [replace(x, material=given_surface(x.material, row, compliant)) for x, row in rows]
        if not self.numbers:
            return result
        return [replace(x, material=varied_surface(x.material, x.of, self.numbers, x.name)) for x in result]

    def compliant(self, robot: Any, q: Any, v: Sequence[Any]) -> tuple[list[Any], Any]:
        """The joint forces (nv) of compliant contacts, and each point's force in the world's axes (points, 3)."""
        tau: list[Any] = [0.0] * robot.nv
        forces = []
        for place in self.places(robot, q):
            J, m = velocity_rows(robot, q, place), place.material
            c = [dot(row, v) for row in J]
            force = compliant_force(c, place.gap, m.friction, m.stiffness, m.dissipation)
            tau = [t + dot(column, force) for t, column in zip(tau, transposed(J), strict=True)]
            forces.append(in_world(place.axes, force))
        return tau, array(forces)

    def wrenches(self, robot: Any, q: Any, forces: Any) -> list[tuple[str, str, list[Any]]]:
        """Return each point's ``forces`` (points, 3) as wrenches (link, "world", numbers) on the links, at their
        origins.
        """
        every = zip(self.places(robot, q), forces, strict=True)
        return [(link, "world", w) for place, force in every for link, w in place.wrenches(force)]

    def gaps(self, robot: Any, q: Any) -> Any:
        """How far apart the two are at each point [m], negative inside."""
        return array([place.gap for place in self.places(robot, q)])

    def slips(self, robot: Any, q: Any, v: Any, forces: Any) -> Any:
        """How fast each point slides [m/s], where there is a force."""
        result = []
        for place, force in zip(self.places(robot, q), forces, strict=True):
            first, second, _ = (dot(row, list(v)) for row in velocity_rows(robot, q, place))
            pushed = dot(list(force), list(force))
            result.append(where(lt(0.0, pushed), sqrt(first * first + second * second), 0.0))
        return array(result)

    def warn_of_overlaps(self, robot: Any, q: np.ndarray) -> None:
        """A SimulationWarning that names what begins too deep at q (..., nq), and how deep it is."""
        result = self._too_deep(robot, q)
        if result:
            more = f", and {len(result) - 4} more" if len(result) > 4 else ""
            what = "simulate: what overlaps at the start is pushed apart: " + "; ".join(result[:4]) + more
            warnings.warn(what, SimulationWarning, stacklevel=levels_up())

    def measured(self, robot: Any, q: np.ndarray) -> list[tuple[ContactPlace, Any]]:
        """Return all points, and their gaps [m] at q (..., nq) of numbers."""
        try:
            return [(place, place.gap) for place in self.places(robot, q)]
        except TypeError:  # what walks round a hull does so for one state: a kernel does it for many
            alone = replace(self, numbers=())
            made = lambda: compile(lambda q: alone.gaps(robot, q), name="gaps", q=robot.configuration_space)  # noqa: E731
            gaps = _GAPS.get((alone, robot), made)(q)
            places = self.places(robot, robot.neutral())
            return [(place, gaps[..., k]) for k, place in enumerate(places)]

    def _too_deep(self, robot: Any, q: np.ndarray) -> list[str]:
        """What overlaps already, by more than it should."""
        weight = robot.mass * float(np.linalg.norm(robot.gravity))
        result = []
        for place, gap in self.measured(robot, q):
            deepest = -float(np.min(gap, initial=np.inf))
            k = place.material.stiffness
            power = 1.5 if self.model == "compliant" else 1.0
            if deepest > _DEEP and (k is None or np.any(k * deepest**power > _HEAVY * weight)):
                result.append(f"{place.name} by {1e3 * deepest:.3g} mm")
        return result


@dataclass(frozen=True)
class ContactDiagnostics:
    """What is told of contacts besides their forces, by its name in `TOLD`."""

    name: str

    def __call__(self, contacts: ContactSet, robot: Any, state: Any) -> Any:
        """Of a state of a simulation."""
        if self.name == "contact_residual":
            return state.residual
        if self.name == "contact_gap":
            return contacts.gaps(robot, state.q)
        forces = state.forces
        if contacts.model == "compliant":
            _, forces = contacts.compliant(robot, state.q, list(state.v))
        return contacts.slips(robot, state.q, state.v, forces)


def in_world(axes: Sequence[Sequence[Any]], force: Sequence[Any]) -> list[Any]:
    """A force by two tangents and the normal, in the world's axes."""
    return [dot(column, force) for column in transposed(axes)]


ContactData = Mapping[str, np.ndarray]
SURFACES, PLANES = "contact_surfaces", "contact_planes"
_SOME = 0.5  # in the place of numbers that are inputs
_ASKEW = (0.6, 0.0, 0.8)
_SPLIT: LazyCache[tuple[ContactSet, ContactData]] = LazyCache(64)


def contact_data(contacts: ContactSet, robot: Any) -> tuple[ContactSet, ContactData]:
    """Return contacts with other numbers in the place of those that are inputs, and the inputs by name.

    Contacts that differ in these alone have the same first part.
    """
    own = replace(contacts, numbers=())
    return _SPLIT.get((own, robot), lambda: (replace(own, parts=tuple(map(_bare, own.parts))), _data(own, robot)))


def with_data(contacts: ContactSet, data: Mapping[str, Any]) -> ContactSet:
    """Return contacts of the first part with such inputs, as symbols."""
    planes: list[Any] = []
    rest = iter(data.get(PLANES, ()))
    for part in contacts.parts:
        if not isinstance(part, ContactGround):
            planes.append(None)
            continue
        height = next(rest)
        axes = [[next(rest) for _ in range(3)] for _ in range(3)] if part.normal == _ASKEW else part.axes()
        planes.append((axes, height))
    return replace(contacts, surfaces=data[SURFACES], planes=tuple(planes))


def _data(contacts: ContactSet, robot: Any) -> ContactData:
    rows = [
        [m.friction, m.restitution, 0.0 if m.stiffness is None else m.stiffness, m.dissipation]
        for m in (place.material for place in contacts.places(robot, robot.neutral()))
    ]
    result = {SURFACES: np.array(rows, dtype=float).reshape(-1, 4)}
    planes: list[float] = []
    for part in contacts.parts:
        if isinstance(part, ContactGround):
            planes += [part.height, *(() if _is_along_axis(part.normal) else np.ravel(part.axes()))]
    return {**result, PLANES: np.array(planes)} if planes else result


def _bare(part: Any) -> Any:
    if not isinstance(part, ContactGround):
        return replace(part, materials=tuple((key, _bare_material(material)) for key, material in part.materials))
    return replace(
        part,
        points=tuple(map(_bare_point, part.points)),
        friction=_SOME,
        restitution=_SOME if part.restitution else 0.0,
        stiffness=None if part.stiffness is None else _SOME,
        dissipation=0.0,
        normal=part.normal if _is_along_axis(part.normal) else _ASKEW,
        height=0.0,
    )


def _bare_point(point: ContactPoint) -> ContactPoint:
    restitution = point.restitution and _SOME
    return replace(point, friction=None, restitution=restitution)


def _bare_material(material: ContactMaterial) -> ContactMaterial:
    stiffness = None if material.stiffness is None else _SOME
    return ContactMaterial(_SOME, _SOME if material.restitution else 0.0, stiffness)


def _is_along_axis(normal: tuple[float, float, float]) -> bool:
    return sum(x != 0.0 for x in normal) == 1
