"""All contacts of a simulation as one value, their diagnostics, and their parameters as inputs of kernels.

Materials and the ground's pose are inputs, so other values use the same code.  The code is specialised for the links
and shapes that touch, for contacts with a stiffness or restitution, and for a ground whose normal is a coordinate
axis, whose zeros save work.
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
from linkwork.kinematics.algorithms.coordinates import characteristic_length
from linkwork.simulation.algorithms.compliant_forces import compliant_force
from linkwork.simulation.contacts.collision_shape_contacts import ContactPair, ContactScene
from linkwork.simulation.contacts.contact_candidates import ContactCandidate, velocity_rows
from linkwork.simulation.contacts.contact_materials import (
    ContactMaterial,
    parametrized_surface,
    read_name,
    varied_surface,
)
from linkwork.simulation.contacts.ground_contact import ContactGround, ContactPoint
from linkwork.simulation.contacts.penetration_depth import AT_START, allowed_depth

__all__ = [
    "DIAGNOSTICS",
    "MODELS",
    "ContactDiagnostics",
    "ContactSet",
    "contact_data",
    "in_world",
    "over_environments",
    "with_data",
]

MODELS = ("convex", "compliant")
DIAGNOSTICS = ("contact_gap", "contact_slip", "contact_residual")  # records in addition to forces
_CHECKED = LazyCache[bool](64)
_NAMES = LazyCache[tuple[str, ...]](64)
_OWNERS = LazyCache[tuple[str, ...]](64)
_TOUCHING = LazyCache[tuple[str, ...]](64)
_GAPS = LazyCache[Kernel](16)
_PLACING = ("placement", "frame")  # kinds of parameters that change gaps
_HEAVY = 10.0  # initial force of soft contacts, relative to the weight, above which a warning is issued
_SUNK = 0.05  # depth from which a fixed base is probably a mistake, in characteristic lengths


def over_environments(x: Any, size: tuple[int, ...], leading: tuple[int, ...]) -> np.ndarray:
    """Return an array of shape ``size`` of the values (..., *size); its elements are arrays over all environments.

    ``leading`` is the shape of the batch.
    """
    values = np.broadcast_to(x, (*leading, *size)).reshape(-1, *size)
    result = np.empty(size, object)
    for index in np.ndindex(*size):
        result[index] = values[(slice(None), *index)]
    return result


@dataclass(frozen=True)
class ContactSet:
    """Contacts of a simulation: their parts (grounds, scenes and pairs) and the contact model.

    ``parameters`` replace values of materials, by the names of parameters.  In a kernel ``surfaces`` (points, 4)
    replace all materials, and ``planes`` has an entry for each part: the axes and height of a ground, else None.
    """

    parts: tuple[Any, ...]
    model: str = "convex"
    parameters: tuple[tuple[str, Any], ...] = field(default=(), compare=False)
    surfaces: Any = field(default=None, compare=False)
    planes: tuple[Any, ...] = field(default=(), compare=False)

    @staticmethod
    def of(value: Any, model: str, caller: str = "simulate") -> ContactSet | None:
        """Return the contacts of a simulation from its option ``contacts``; None without contacts.

        ``value`` is a ground, a scene or a pair, a list of these, a contact set, or None. ``model`` is the name of the
        contact model. Raises TypeError for another value, UnknownNameError for an unknown model.
        """
        if model not in MODELS:
            raise UnknownNameError("model of contacts", model, MODELS)
        if value is None or isinstance(value, ContactSet):
            return value
        parts = tuple(value) if isinstance(value, (tuple, list)) else (value,)
        for part in parts or (value,):
            if not isinstance(part, (ContactGround, ContactScene, ContactPair)):
                frames = "; frames that touch the ground are ContactGround([frame, ...])"
                raise TypeError(
                    f"{caller}: contacts: expected linkwork.simulation.ContactGround, ContactScene or ContactPair, or "
                    f"a list of them, got {shown(part)}{frames if isinstance(part, str) else ''}"
                )
        return ContactSet(parts, model)

    def checked(self, robot: Any) -> None:
        """Raise UnknownNameError and ValueError for contacts that do not fit the robot."""
        names = tuple(name for name, _ in self.parameters)
        bare = replace(self, surfaces=None, planes=())
        _CHECKED.get((self, robot, names), lambda: bare._check(robot))

    def check_parameter(self, robot: Any, name: str) -> None:
        """Raise UnknownNameError for the name of a parameter that these contacts do not have."""
        alone = replace(self, parameters=())
        named = lambda: tuple(of for candidate in alone.candidates(robot, robot.neutral()) for of in candidate.of)  # noqa: E731
        read_name(name, self.model, _OWNERS.get((alone, robot), named))

    def varied(self, parameters: Mapping[str, Any]) -> ContactSet:
        """Return the contacts with parameters that replace values of materials, by name."""
        return replace(self, parameters=tuple(parameters.items())) if parameters else self

    def _check(self, robot: Any) -> bool:
        for part in self.parts:
            part.checked(robot)
        for candidate in self.candidates(robot, robot.neutral()):
            m, caller = candidate.material, f"simulate: contacts: {candidate.name}"
            if self.model == "convex":
                if m.dissipation > 0.0:
                    raise ValueError(
                        f"{caller}: dissipation: expected 0 with contact_model='convex', got {m.dissipation:g}; use "
                        "contact_model='compliant'"
                    )
                continue
            if m.stiffness is None:
                raise ValueError(
                    f"{caller}: stiffness: expected a number > 0 [N/m^1.5] with contact_model='compliant', got None"
                )
            if m.restitution > 0.0:
                raise ValueError(
                    f"{caller}: restitution: expected 0 with contact_model='compliant', got {m.restitution:g}; set the "
                    "dissipation c [s/m]: the relative loss of speed is about c times the impact speed"
                )
        return True

    def names(self, robot: Any) -> tuple[str, ...]:
        """Return the names of all contact points."""
        return _NAMES.get((self, robot), lambda: tuple(name for part in self.parts for name in part.names(robot)))

    def touching(self, robot: Any) -> tuple[str, ...]:
        """Return the names of the links, and frames of contact points, that have contact points."""
        alone = ContactSet(self.parts)

        def ends() -> tuple[str, ...]:
            each = (end for x in alone.candidates(robot, robot.neutral()) for end in (x.first, x.second))
            return tuple(dict.fromkeys(end for end in each if end is not None))

        return _TOUCHING.get((alone, robot), ends)

    def candidates(self, robot: Any, q: Any) -> list[ContactCandidate]:
        """Return all contact candidates at a configuration q: symbols (nq), or an array (..., nq)."""
        planes = self.planes or (None,) * len(self.parts)
        result = [
            candidate
            for part, plane in zip(self.parts, planes, strict=True)
            for candidate in (part.candidates(robot, q) if plane is None else part.candidates(robot, q, plane))
        ]
        if self.surfaces is not None:
            compliant = self.model == "compliant"
            rows = zip(result, self.surfaces, strict=True)
            result = [replace(x, material=parametrized_surface(x.material, row, compliant)) for x, row in rows]
        if not self.parameters:
            return result
        return [replace(x, material=varied_surface(x.material, x.of, self.parameters, x.name)) for x in result]

    def compliant(self, robot: Any, q: Any, v: Sequence[Any]) -> tuple[list[Any], Any]:
        """Return the joint forces (nv) of compliant contacts, and the forces in world axes (points, 3)."""
        tau: list[Any] = [0.0] * robot.nv
        forces = []
        for candidate in self.candidates(robot, q):
            J, m = velocity_rows(robot, q, candidate), candidate.material
            c = [dot(row, v) for row in J]
            force = compliant_force(c, candidate.gap, m.friction, m.stiffness, m.dissipation)
            tau = [t + dot(column, force) for t, column in zip(tau, transposed(J), strict=True)]
            forces.append(in_world(candidate.axes, force))
        return tau, array(forces)

    def wrenches(self, robot: Any, q: Any, forces: Any) -> list[tuple[str, str, list[Any]]]:
        """Return each point's ``forces`` (points, 3) as wrenches (link, "world", w) on the links, at their origins."""
        every = zip(self.candidates(robot, q), forces, strict=True)
        return [(link, "world", w) for candidate, force in every for link, w in candidate.wrenches(force)]

    def gaps(self, robot: Any, q: Any) -> Any:
        """Return the gap at each point [m], negative inside."""
        return array([candidate.gap for candidate in self.candidates(robot, q)])

    def slips(self, robot: Any, q: Any, v: Any, forces: Any) -> Any:
        """Return the sliding speed of each point [m/s], 0 where there is no force."""
        result = []
        for candidate, force in zip(self.candidates(robot, q), forces, strict=True):
            first, second, _ = (dot(row, list(v)) for row in velocity_rows(robot, q, candidate))
            pushed = dot(list(force), list(force))
            result.append(where(lt(0.0, pushed), sqrt(first * first + second * second), 0.0))
        return array(result)

    def warn_of_overlaps(
        self, robot: Any, q: np.ndarray, h: float, parameters: Mapping[str, Any] | None = None
    ) -> None:
        """Warn (SimulationWarning) of contacts that overlap too deep at q (..., nq) for steps of h [s], with depths.

        A deep overlap of a robot without a floating base suggests that its base should float.

        ``parameters`` are values (..., shape) that replace parameters of the robot, by name.
        """
        result = self._too_deep(robot, q, h, parameters or {})
        if result:
            more = f", and {len(result) - 4} more" if len(result) > 4 else ""
            texts = "; ".join(text for text, _ in result[:4])
            message = f"simulate: bodies that overlap at the start are pushed apart: {texts}{more}"
            deepest = max(depth for _, depth in result)
            sunk = deepest > _SUNK * float(characteristic_length(robot.tree))
            if sunk and not any(body.joint.is_floating for body in robot.tree.bodies):
                message += "; the robot has no floating base: load it with floating_base=True if its base moves freely"
            warnings.warn(message, SimulationWarning, stacklevel=levels_up())

    def measured(
        self, robot: Any, q: np.ndarray, parameters: Mapping[str, Any] | None = None
    ) -> list[tuple[ContactCandidate, Any]]:
        """Return all contact candidates and their gaps [m] at q (..., nq) of numbers, with ``parameters``."""
        names = tuple(parameters or {})
        try:
            if not names:
                return [(candidate, candidate.gap) for candidate in self.candidates(robot, q)]
        except TypeError:  # the walk over a hull takes one state: a kernel evaluates it for many
            pass
        alone = replace(self, parameters=())

        def compiled() -> Kernel:
            shapes = {f"p{k}": np.shape(x) for k, x in enumerate(robot.parameters(list(names)).values())}

            def gaps(q: Any, **values: Any) -> Any:
                return alone.gaps(robot.with_parameters(dict(zip(names, values.values(), strict=True))), q)

            return compile(gaps, name="gaps", q=robot.configuration_space, **shapes)

        gaps = _GAPS.get((alone, robot, names), compiled)(q, *(parameters or {}).values())
        candidates = self.candidates(robot, robot.neutral())
        return [(candidate, gaps[..., k]) for k, candidate in enumerate(candidates)]

    def _too_deep(self, robot: Any, q: np.ndarray, h: float, parameters: Mapping[str, Any]) -> list[tuple[str, float]]:
        """Return a text and the depth [m] of each contact that overlaps by more than it should at q (..., nq)."""
        weight, deep = _weight(robot, parameters), allowed_depth(robot, h, AT_START)
        placed = {name: x for name, x in parameters.items() if name.partition(":")[0] in _PLACING}
        result = []
        for candidate, gap in self.measured(robot, q, placed):
            depth, k = np.maximum(-np.asarray(gap), 0.0), candidate.material.stiffness
            power = 1.5 if self.model == "compliant" else 1.0
            is_deep = (depth > deep) & (True if k is None else k * depth**power > _HEAVY * weight)
            if is_deep.any():
                deepest = float(np.broadcast_to(depth, is_deep.shape)[is_deep].max())
                result.append((f"{candidate.name} by {1e3 * deepest:.3g} mm", deepest))
        return result


def _weight(robot: Any, parameters: Mapping[str, Any]) -> Any:
    """Return the weight [N] of a robot, or the weights (...) of robots with parameter values (..., shape)."""
    heavy = {name: x for name, x in parameters.items() if name.partition(":")[0] in ("inertia", "gravity")}
    mass, gravity = robot.mass, [*robot.gravity]
    if heavy:
        sizes = [np.shape(x) for x in robot.parameters(list(heavy)).values()]
        leading = np.broadcast_shapes(
            *(np.shape(x)[: np.ndim(x) - len(size)] for x, size in zip(heavy.values(), sizes, strict=True))
        )
        each = zip(heavy.items(), sizes, strict=True)
        tree = robot.with_parameters({name: over_environments(x, size, leading) for (name, x), size in each}).tree
        changes = (new.inertia.mass - old.inertia.mass for new, old in zip(tree.bodies, robot.tree.bodies, strict=True))
        of_each = (np.reshape(x, leading) if np.ndim(x) else x for x in (mass + sum(changes), *tree.gravity))
        mass, *gravity = of_each
    return mass * np.sqrt(sum(np.square(x) for x in gravity))


@dataclass(frozen=True)
class ContactDiagnostics:
    """Recorded quantity of contacts other than forces; ``name`` is one of `DIAGNOSTICS`, such as "contact_gap"."""

    name: str

    def __call__(self, contacts: ContactSet, robot: Any, state: Any) -> Any:
        """Return the value of this record of contacts in a state of a simulation."""
        if self.name == "contact_residual":
            return state.residual
        if self.name == "contact_gap":
            return contacts.gaps(robot, state.q)
        forces = state.forces
        if contacts.model == "compliant":
            _, forces = contacts.compliant(robot, state.q, list(state.v))
        return contacts.slips(robot, state.q, state.v, forces)


def in_world(axes: Sequence[Sequence[Any]], force: Sequence[Any]) -> list[Any]:
    """Return a force along two tangents and the normal, in the world's axes."""
    return [dot(column, force) for column in transposed(axes)]


ContactData = Mapping[str, np.ndarray]
SURFACES, PLANES = "contact_surfaces", "contact_planes"
_PLACEHOLDER = 0.5  # placeholder of values that are inputs
_ASKEW = (0.6, 0.0, 0.8)
_SPLIT: LazyCache[tuple[ContactSet, ContactData]] = LazyCache(64)


def contact_data(contacts: ContactSet, robot: Any) -> tuple[ContactSet, ContactData]:
    """Return contacts with placeholders for the values that are kernel inputs, and these inputs by name.

    Contacts that differ only in these values have the same first result, and so share a kernel.
    """
    unparameterized = replace(contacts, parameters=())
    return _SPLIT.get(
        (unparameterized, robot),
        lambda: (
            replace(unparameterized, parts=tuple(map(_bare, unparameterized.parts))),
            _data(unparameterized, robot),
        ),
    )


def with_data(contacts: ContactSet, data: Mapping[str, Any]) -> ContactSet:
    """Return the contacts of `contact_data` with symbols of kernel inputs instead of placeholders."""
    planes: list[Any] = []
    plane_data = iter(data.get(PLANES, ()))
    for part in contacts.parts:
        if not isinstance(part, ContactGround):
            planes.append(None)
            continue
        height = next(plane_data)
        axes = [[next(plane_data) for _ in range(3)] for _ in range(3)] if part.normal == _ASKEW else part.axes()
        planes.append((axes, height))
    return replace(contacts, surfaces=data[SURFACES], planes=tuple(planes))


def _data(contacts: ContactSet, robot: Any) -> ContactData:
    rows = [
        [m.friction, m.restitution, 0.0 if m.stiffness is None else m.stiffness, m.dissipation]
        for m in (candidate.material for candidate in contacts.candidates(robot, robot.neutral()))
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
        friction=_PLACEHOLDER,
        restitution=_PLACEHOLDER if part.restitution else 0.0,
        stiffness=None if part.stiffness is None else _PLACEHOLDER,
        dissipation=0.0,
        normal=part.normal if _is_along_axis(part.normal) else _ASKEW,
        height=0.0,
    )


def _bare_point(point: ContactPoint) -> ContactPoint:
    restitution = point.restitution and _PLACEHOLDER
    return replace(point, friction=None, restitution=restitution)


def _bare_material(material: ContactMaterial) -> ContactMaterial:
    stiffness = None if material.stiffness is None else _PLACEHOLDER
    return ContactMaterial(_PLACEHOLDER, _PLACEHOLDER if material.restitution else 0.0, stiffness)


def _is_along_axis(normal: tuple[float, float, float]) -> bool:
    return sum(x != 0.0 for x in normal) == 1
