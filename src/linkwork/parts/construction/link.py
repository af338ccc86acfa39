"""A rigid link as it is written in a program: what it weighs, its shapes, and frames on it.

From links and joints written in a program to a robot's tree: the way of a file's description, with its checks.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from linkwork._util.checked_arguments import public
from linkwork._util.messages import printable
from linkwork._util.validation import is_real, shown
from linkwork.errors import Findings, Location
from linkwork.model.actuator import Actuator
from linkwork.model.description import (
    ActuatorDescription,
    Description,
    FrameDescription,
    JointDescription,
    LinkDescription,
    NamedStateDescription,
)
from linkwork.model.named_state import NamedState
from linkwork.model.tree import Tree
from linkwork.model.value_check import check_inertial, mass_properties
from linkwork.parts.construction.robot_loading import Options
from linkwork.parts.joint.joint import Joint, drive_of, limits_of
from linkwork.shapes import Geometry, Shape
from linkwork.spatial import Inertia, Pose, Symmetric3, Vec3
from linkwork.spatial.arguments import fixed_array, given_inertia, given_numbers, given_pose, given_text

__all__ = ["Link", "Part", "built", "joint_description"]


@public
@dataclass(frozen=True, slots=True, init=False, repr=False)
class Link:
    """A rigid link for `Robot.build`: an immutable value, all in the link's own frame.

    ``shapes`` are bodies such as ``linkwork.shapes.Box((0.1, 0.1, 0.4))``, or ``...at(pose)``: they are seen, they
    collide, and, with a ``mass`` [kg] or a ``density`` [kg/m³], they are what the link weighs: uniform, one density for
    all of them, what overlaps counted twice.  Shapes that are only seen or only collide are ``visuals`` and
    ``collisions``.

    Or the mass is stated by itself: ``com``, where its centre is [m], and ``inertia``, the rotational inertia about the
    centre [kg m²], a matrix (3, 3) or the three numbers of a diagonal one.  Its axes are the link's, or those of
    ``com`` where that is a pose (4, 4).  Without ``inertia`` it is a point mass, and without ``com`` at the origin.
    A link without a mass has none.

    ``frames`` are further frames on the link, a pose (4, 4) or a place (3,) by name.

    >>> import linkwork as lw
    >>> rod = lw.Link("rod", lw.shapes.Cylinder(0.02, 1.0).at((0, 0, -0.5)), mass=1.0, frames={"tip": (0, 0, -1)})
    >>> rod.com.tolist(), rod.inertia.diagonal().round(4).tolist()
    ([0.0, 0.0, -0.5], [0.0834, 0.0834, 0.0002])

    Raises ValueError, with the link's name, for what is no number, shape or pose, and where the mass is said twice.
    What no body can have, a negative mass or moment, is told with all else that is wrong by `Robot.build`.
    """

    name: str
    mass: float | None
    center: Vec3
    about: Symmetric3  # about the centre, in the link's axes
    visuals: tuple[Geometry, ...]
    collisions: tuple[Geometry, ...]
    places: tuple[tuple[str, Pose], ...]  # of further frames

    def __init__(
        self,
        name: str,
        *shapes: Shape | Geometry,
        mass: float | None = None,
        density: float | None = None,
        com: ArrayLike | None = None,
        inertia: ArrayLike | None = None,
        visuals: Iterable[Shape | Geometry] = (),
        collisions: Iterable[Shape | Geometry] = (),
        frames: Mapping[str, ArrayLike] | None = None,
    ) -> None:
        caller = f"link {given_text(name, 'link')!r}"
        solids = _placed(shapes, f"{caller}: shapes")
        values: dict[str, Any] = {
            "name": name,
            "visuals": (*solids, *_placed(visuals, f"{caller}: visuals")),
            "collisions": (
                *(replace(solid, material=None) for solid in solids),
                *_placed(collisions, f"{caller}: collisions"),
            ),
            "places": _frames(frames, caller),
        }
        values |= dict(
            zip(("mass", "center", "about"), _weight(caller, solids, mass, density, com, inertia), strict=True)
        )
        for key, value in values.items():
            object.__setattr__(self, key, value)

    @property
    def com(self) -> np.ndarray:
        """Where its centre of mass is (3,) [m]."""
        return fixed_array([*self.center])

    @property
    def inertia(self) -> np.ndarray:
        """Its rotational inertia about the centre of mass, in its own axes (3, 3) [kg m²]."""
        return fixed_array([[*row] for row in (self.about.x, self.about.y, self.about.z)])

    @property
    def frames(self) -> dict[str, Pose]:
        """The poses of further frames on it, by name."""
        return dict(self.places)

    def with_frame(self, name: str, pose: ArrayLike | Pose) -> Link:
        """The link with a further frame on it, a pose (4, 4) or a place (3,)."""
        link = copy.copy(self)
        caller = f"Link.with_frame: link {self.name!r}"
        added = given_text(name, f"{caller}: name"), given_pose(pose, f"{caller}: pose")
        object.__setattr__(link, "places", (*self.places, added))
        return link

    def __repr__(self) -> str:
        return f"<Link {self.name!r}: {'no mass' if self.mass is None else f'{self.mass:.6g} kg'}>"


def _placed(value: Iterable[Any], what: str) -> tuple[Geometry, ...]:
    if isinstance(value, (Shape, Geometry, str)) or not isinstance(value, Iterable):
        raise ValueError(f"{what}: expected a list of shapes, got {value!r}")
    result = [shape.at(None) if isinstance(shape, Shape) else shape for shape in value]
    for shape in result:
        if not isinstance(shape, Geometry):
            raise ValueError(f"{what}: expected a shape, such as linkwork.shapes.Box((1, 1, 1)), got {shape!r}")
    return tuple(result)


def _frames(frames: Any, caller: str) -> tuple[tuple[str, Pose], ...]:
    if frames is None:
        return ()
    if not isinstance(frames, Mapping):
        raise ValueError(f"{caller}: frames: expected a dict of poses by name, got {frames!r}")
    return tuple(
        (given_text(name, f"{caller}: frames"), given_pose(X, f"{caller}: frames: {name!r}"))
        for name, X in frames.items()
    )


def _weight(
    caller: str, solids: tuple[Geometry, ...], mass: Any, density: Any, com: Any, inertia: Any
) -> tuple[float | None, Vec3, Symmetric3]:
    """Mass, centre and the inertia about it, as they are stated or as they follow from the shapes."""
    if mass is None and density is None:
        for what, value in (("com", com), ("inertia", inertia)):
            if value is not None:
                raise ValueError(f"{caller}: {what} is given and mass is not: expected a mass [kg]")
        return None, Vec3.zero(), Symmetric3.zero()
    stated = com is not None or inertia is not None
    if density is not None and (mass is not None or stated or not solids):
        raise ValueError(f"{caller}: density: expected shapes, and neither mass nor com nor inertia beside it")
    if stated and solids and (com is None or inertia is None):
        raise ValueError(
            f"{caller}: com and inertia: expected both, or neither for the shapes' own, got one of them; "
            f"shapes that weigh nothing are visuals= and collisions="
        )
    number = given_numbers(
        density if mass is None else mass,
        f"{caller}: {'mass' if density is None else 'density'}: "
        f"expected a number [{'kg' if density is None else 'kg/m³'}]",
        (),
    )
    if not solids or stated:
        X = given_pose(com, f"{caller}: com")
        return float(number), X.translation, X.rotation @ given_inertia(inertia, caller)
    return _uniform(caller, solids, *((None, float(number)) if mass is None else (float(number), None)))


def _uniform(
    caller: str, solids: tuple[Geometry, ...], mass: float | None, density: float | None
) -> tuple[float, Vec3, Symmetric3]:
    """What uniform bodies of these shapes weigh together: so much, or so much for each m³."""
    volumes = []
    for solid in solids:
        if solid.shape.volume is None:
            hint = "give com and inertia, or make it one of visuals= and collisions="
            raise ValueError(f"{caller}: the volume of {solid.shape!r} is not known: {hint}")
        volumes.append(solid.shape.volume)
    total = sum(volumes)
    if total == 0.0:
        raise ValueError(f"{caller}: its shapes are so small that their volume is 0: give com and inertia")
    parts = []
    for solid, volume in zip(solids, volumes, strict=True):
        share = density * volume if density is not None else (mass or 0.0) * (volume / total)
        about = solid.origin.rotation @ (solid.shape.unit_inertia() or Symmetric3.zero())
        parts.append((share, solid.origin.point(solid.shape.center), about * share))
    if len(parts) == 1:
        return parts[0]
    whole = sum((Inertia.at_center(*part) for part in parts), Inertia.zero())
    return mass_properties(whole)


Part = Link | Joint | Iterable["Part"]


def built(
    name: str,
    parts: Iterable[Part],
    options: Options,
    actuators: Iterable[Actuator] = (),
    configurations: Mapping[str, Any] = MappingProxyType({}),
) -> Tree:
    """The tree of these parts: see `Robot.build`.  Raises ModelError with all that is wrong, TypeError."""
    motors = []
    for actuator in actuators:
        if not isinstance(actuator, Actuator):
            raise TypeError(f"build: actuators: expected linkwork.Actuator, got {shown(actuator)}")
        motors.append(ActuatorDescription(actuator, _where(name, "actuator", actuator.name)))
    if not isinstance(configurations, Mapping):
        raise TypeError(f"build: named_configurations: expected a dict by name, got {shown(configurations)}")
    states = [
        NamedStateDescription(_stated(key, given), _where(name, "configuration", key))
        for key, given in configurations.items()
    ]
    described = _described(name, parts, options)
    described = replace(described, actuators=tuple(motors), named_configurations=tuple(states))
    return options.tree(described, "building")


def _stated(name: str, value: Any) -> NamedState:
    """A named configuration as it is written: by joint name, or of q, v and controls by names."""
    caller = f"build: named_configurations: {name!r}"
    if not isinstance(value, Mapping):
        raise TypeError(f"{caller}: expected a dict by joint name, got {shown(value)}")
    parts = value if isinstance(value.get("q"), Mapping) else {"q": value}
    unknown = [key for key in parts if key not in ("q", "v", "controls")]
    if unknown or not all(isinstance(x, Mapping) for x in parts.values()):
        raise TypeError(f"{caller}: expected dicts by name for q, v and controls, got {shown(value)}")

    def numbers(key: str) -> Any:
        return tuple((joint, _row(caller, joint, x)) for joint, x in parts[key].items())

    controls = tuple(parts["controls"].items()) if "controls" in parts else None
    return NamedState(name, numbers("q"), numbers("v") if "v" in parts else None, controls)


def _row(caller: str, joint: str, value: Any) -> tuple[Any, ...]:
    """The numbers of one joint, which are looked at when the joint is known."""
    if is_real(value):
        return (value,)
    try:
        return tuple(value)
    except TypeError:
        raise TypeError(f"{caller}: joint {joint!r}: expected numbers, got {shown(value)}") from None


def _described(name: str, parts: Iterable[Part], options: Options) -> Description:
    """Links and joints in their order.  The link "world" is there where a joint hangs from it."""
    if options.inertia not in ("given", "nearest", "ignore"):
        raise ValueError(f"inertia: expected 'given', 'nearest' or 'ignore', got {options.inertia!r}")
    findings = Findings(strict=options.strict)
    flat = [*_flat(parts)]
    links = [part for part in flat if isinstance(part, Link)]
    joints = [part for part in flat if isinstance(part, Joint)]
    if not any(link.name == "world" for link in links) and any(joint.parent == "world" for joint in joints):
        links.insert(0, Link("world"))
    return Description(
        name=name,
        links=tuple([_link(name, link, findings, options.inertia) for link in links]),
        joints=tuple([joint_description(name, joint) for joint in joints]),
        warnings=tuple(findings.warnings),
        where=Location(element=_element(name)),
        frames=tuple(
            FrameDescription(frame, link.name, place, _where(name, "link", link.name))
            for link in links
            for frame, place in link.places
        ),
        inertias_ignored=options.inertia == "ignore",
        errors=tuple(findings.errors),
    )


def _flat(parts: Iterable[Part]) -> Iterator[Link | Joint]:
    """The links and joints in parts, and in lists of parts."""
    for part in parts:
        if isinstance(part, (Link, Joint)):
            yield part
        elif isinstance(part, Iterable) and not isinstance(part, (str, bytes, Mapping)):
            yield from _flat(part)
        else:
            raise TypeError(f"build: parts: expected links, joints and lists of them, got {shown(part)}")


def _link(robot: str, link: Link, findings: Findings, how: str) -> LinkDescription:
    """A link; its inertia as it is ``"given"``, the ``"nearest"`` possible one, or none (``"ignore"``)."""
    where, inertia = _where(robot, "link", link.name), Inertia.zero()
    if link.mass is not None and how != "ignore":
        shapes, nearest = (*link.visuals, *link.collisions), how == "nearest"
        inertia = check_inertial(findings, where, link.mass, link.center, link.about, shapes, nearest=nearest)
    return LinkDescription(link.name, inertia, link.visuals, link.collisions, where)


def joint_description(robot: str, joint: Joint) -> JointDescription:
    """What a file would say of a joint."""
    return JointDescription(
        name=joint.name,
        parent=joint.parent,
        child=joint.child,
        joint=joint.type,
        placement=joint.placement,
        limits=limits_of(joint),
        damping=tuple(joint.damping.tolist()),
        friction=tuple(joint.friction.tolist()),
        mimic=joint.mimic if joint.coupling is None else joint.coupling,
        rotor=joint.rotor,
        where=_where(robot, "joint", joint.name),
        dynamics=joint.dynamics,
        drive=drive_of(joint),
    )


def _where(robot: str, kind: str, name: object) -> Location:
    return Location(element=f"{_element(robot)}/{kind}[{printable(str(name))}]")


def _element(robot: object) -> str:
    return f"robot[{printable(str(robot))}]"
