"""Class `Link`, and the construction of a robot's tree from links and joints with the checks of file readers."""

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
    NamedState,
    NamedStateDescription,
)
from linkwork.model.inertia_check import check_inertial, mass_properties
from linkwork.model.tree import Tree
from linkwork.robot.construction.robot_loading import Options
from linkwork.robot.joint.joint import Joint, drive_of, limits_of
from linkwork.shapes import Geometry, Shape
from linkwork.spatial import Inertia, Pose, Symmetric3, Vec3
from linkwork.spatial.arguments import checked_array, checked_inertia, checked_pose, checked_string, fixed_array

__all__ = ["Link", "Part", "joint_description", "tree_of_parts"]


@public
@dataclass(frozen=True, slots=True, init=False, repr=False)
class Link:
    """Rigid link for `Robot.build`: an immutable value in the link's own frame.

    ``shapes`` are solids such as ``linkwork.shapes.Box((0.1, 0.1, 0.4))``, or ``...at(pose)``.  They are visuals and
    collision shapes.  With a ``mass`` [kg] or a ``density`` [kg/m³] they also define the inertia: one uniform density
    for all of them, with overlaps counted twice.  ``visuals`` and ``collisions`` are shapes for one of the two only.

    Alternatively the inertia is stated: ``com`` is the centre of mass [m], and ``inertia`` the rotational inertia about
    it [kg m²], a matrix (3, 3) or its diagonal (3,).  Its axes are those of the link, or of ``com`` if that is a pose
    (4, 4).  Without ``inertia`` the link is a point mass; ``com`` is the origin by default.  A link without ``mass``
    and ``density`` is massless.

    ``frames`` are further frames on the link by name, poses (4, 4) or positions (3,).

    >>> import linkwork as lw
    >>> rod = lw.Link("rod", lw.shapes.Cylinder(0.02, 1.0).at((0, 0, -0.5)), mass=1.0, frames={"tip": (0, 0, -1)})
    >>> rod.com.tolist(), rod.inertia.diagonal().round(4).tolist()
    ([0.0, 0.0, -0.5], [0.0834, 0.0834, 0.0002])

    Raises ValueError, with the link's name, for invalid numbers, shapes or poses, and for a mass that is stated twice.
    `Robot.build` reports unphysical values, such as a negative mass or moment, together with all other errors.
    """

    name: str
    mass: float | None
    center: Vec3
    about: Symmetric3  # about the centre, in the link's axes
    visuals: tuple[Geometry, ...]
    collisions: tuple[Geometry, ...]
    frame_poses: tuple[tuple[str, Pose], ...]  # of further frames

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
        caller = f"link {checked_string(name, 'link')!r}"
        solids = _placed(shapes, f"{caller}: shapes")
        values: dict[str, Any] = {
            "name": name,
            "visuals": (*solids, *_placed(visuals, f"{caller}: visuals")),
            "collisions": (
                *(replace(solid, material=None) for solid in solids),
                *_placed(collisions, f"{caller}: collisions"),
            ),
            "frame_poses": _frames(frames, caller),
        }
        values |= dict(
            zip(("mass", "center", "about"), _weight(caller, solids, mass, density, com, inertia), strict=True)
        )
        for key, value in values.items():
            object.__setattr__(self, key, value)

    @property
    def com(self) -> np.ndarray:
        """Centre of mass (3,) in the link's frame [m]."""
        return fixed_array([*self.center])

    @property
    def inertia(self) -> np.ndarray:
        """Rotational inertia (3, 3) about the centre of mass in the link's axes [kg m²]."""
        return fixed_array([[*row] for row in (self.about.x, self.about.y, self.about.z)])

    @property
    def frames(self) -> dict[str, Pose]:
        """Poses of further frames on the link, by name."""
        return dict(self.frame_poses)

    def with_frame(self, name: str, pose: ArrayLike | Pose) -> Link:
        """Return the link with a further frame ``name``, a pose (4, 4) or a position (3,)."""
        link = copy.copy(self)
        caller = f"Link.with_frame: link {self.name!r}"
        added = checked_string(name, f"{caller}: name"), checked_pose(pose, f"{caller}: pose")
        object.__setattr__(link, "frame_poses", (*self.frame_poses, added))
        return link

    def __repr__(self) -> str:
        return f"<Link {self.name!r}: {'no mass' if self.mass is None else f'{self.mass:.6g} kg'}>"


def _placed(value: Iterable[Any], name: str) -> tuple[Geometry, ...]:
    if isinstance(value, (Shape, Geometry, str)) or not isinstance(value, Iterable):
        raise ValueError(f"{name}: expected a list of shapes, got {value!r}")
    result = [shape.at(None) if isinstance(shape, Shape) else shape for shape in value]
    for shape in result:
        if not isinstance(shape, Geometry):
            raise ValueError(f"{name}: expected a shape, such as linkwork.shapes.Box((1, 1, 1)), got {shape!r}")
    return tuple(result)


def _frames(frames: Any, caller: str) -> tuple[tuple[str, Pose], ...]:
    if frames is None:
        return ()
    if not isinstance(frames, Mapping):
        raise ValueError(f"{caller}: frames: expected a dict of poses by name, got {frames!r}")
    return tuple(
        (checked_string(name, f"{caller}: frames"), checked_pose(X, f"{caller}: frames: {name!r}"))
        for name, X in frames.items()
    )


def _weight(
    caller: str, solids: tuple[Geometry, ...], mass: Any, density: Any, com: Any, inertia: Any
) -> tuple[float | None, Vec3, Symmetric3]:
    """Return the mass [kg], centre of mass [m] and inertia about it [kg·m²] from the arguments of `Link`.

    They are stated, or computed from the shapes. The mass is None for a massless link.
    """
    if mass is None and density is None:
        for argument, value in (("com", com), ("inertia", inertia)):
            if value is not None:
                raise ValueError(f"{caller}: mass: expected a mass [kg] together with {argument}, got None")
        return None, Vec3.zero(), Symmetric3.zero()
    stated = com is not None or inertia is not None
    if density is not None and (mass is not None or stated or not solids):
        raise ValueError(
            f"{caller}: density: expected shapes, and no mass=, com= or inertia=, which follow from density and shapes"
        )
    if stated and solids and (com is None or inertia is None):
        raise ValueError(
            f"{caller}: com, inertia: expected both, or neither to compute them from the shapes, got one; "
            f"pass massless shapes as visuals= and collisions="
        )
    number = checked_array(
        density if mass is None else mass,
        f"{caller}: {'mass' if density is None else 'density'}: "
        f"expected a number [{'kg' if density is None else 'kg/m³'}]",
        (),
    )
    if not solids or stated:
        X = checked_pose(com, f"{caller}: com")
        return float(number), X.translation, X.rotation @ checked_inertia(inertia, caller)
    return _uniform(caller, solids, *((None, float(number)) if mass is None else (float(number), None)))


def _uniform(
    caller: str, solids: tuple[Geometry, ...], mass: float | None, density: float | None
) -> tuple[float, Vec3, Symmetric3]:
    """Return the mass [kg], centre of mass [m] and inertia about it [kg·m²] of solids with one uniform density.

    ``mass`` [kg] is the total mass; else ``density`` [kg/m³] is used.
    """
    volumes = []
    for solid in solids:
        if solid.shape.volume is None:
            hint = "pass com and inertia, or pass it as visuals= and collisions="
            raise ValueError(f"{caller}: the volume of {solid.shape!r} is not known; {hint}")
        volumes.append(solid.shape.volume)
    total = sum(volumes)
    if total == 0.0:
        raise ValueError(f"{caller}: the volume of its shapes underflows to 0; pass com and inertia")
    solid_inertias = []
    for solid, volume in zip(solids, volumes, strict=True):
        share = density * volume if density is not None else (mass or 0.0) * (volume / total)
        about = solid.origin.rotation @ (solid.shape.unit_inertia() or Symmetric3.zero())
        solid_inertias.append((share, solid.origin.point(solid.shape.center), about * share))
    if len(solid_inertias) == 1:
        return solid_inertias[0]
    total_inertia = sum((Inertia.at_center(*moments) for moments in solid_inertias), Inertia.zero())
    return mass_properties(total_inertia)


Part = Link | Joint | Iterable["Part"]


def tree_of_parts(
    name: str,
    parts: Iterable[Part],
    options: Options,
    actuators: Iterable[Actuator] = (),
    configurations: Mapping[str, Any] = MappingProxyType({}),
) -> Tree:
    """Return the kinematic tree of links and joints; see `Robot.build` for the arguments.

    Raises ModelError that lists all errors, TypeError.
    """
    motors = []
    for actuator in actuators:
        if not isinstance(actuator, Actuator):
            raise TypeError(f"build: actuators: expected linkwork.Actuator, got {shown(actuator)}")
        motors.append(ActuatorDescription(actuator, _where(name, "actuator", actuator.name)))
    if not isinstance(configurations, Mapping):
        raise TypeError(f"build: named_configurations: expected a dict by name, got {shown(configurations)}")
    states = [
        NamedStateDescription(_named_state(key, value), _where(name, "configuration", key))
        for key, value in configurations.items()
    ]
    described = _described(name, parts, options)
    described = replace(described, actuators=tuple(motors), named_configurations=tuple(states))
    return options.tree(described, "building")


def _named_state(name: str, value: Any) -> NamedState:
    """Return a named configuration from a dict by joint name, or from dicts by name for q, v and controls."""
    caller = f"build: named_configurations: {name!r}"
    if not isinstance(value, Mapping):
        raise TypeError(f"{caller}: expected a dict by joint name, got {shown(value)}")
    entries = value if isinstance(value.get("q"), Mapping) else {"q": value}
    unknown = [key for key in entries if key not in ("q", "v", "controls")]
    if unknown or not all(isinstance(x, Mapping) for x in entries.values()):
        raise TypeError(f"{caller}: expected dicts by name for q, v and controls, got {shown(value)}")

    def by_joint(key: str) -> Any:
        return tuple((joint, _values(caller, joint, x)) for joint, x in entries[key].items())

    controls = tuple(entries["controls"].items()) if "controls" in entries else None
    return NamedState(name, by_joint("q"), by_joint("v") if "v" in entries else None, controls)


def _values(caller: str, joint: str, value: Any) -> tuple[Any, ...]:
    """Return the values of one joint as a tuple; their number is checked later, when the joint is known."""
    if is_real(value):
        return (value,)
    try:
        return tuple(value)
    except TypeError:
        raise TypeError(f"{caller}: joint {joint!r}: expected numbers, got {shown(value)}") from None


def _described(name: str, parts: Iterable[Part], options: Options) -> Description:
    """Return the description of a robot from its links and joints, in their order.

    A link "world" is added if a joint needs it.
    """
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
            FrameDescription(frame, link.name, pose, _where(name, "link", link.name))
            for link in links
            for frame, pose in link.frame_poses
        ),
        inertias_ignored=options.inertia == "ignore",
        errors=tuple(findings.errors),
    )


def _flat(parts: Iterable[Part]) -> Iterator[Link | Joint]:
    """Yield the links and joints in ``parts``, also those in nested lists."""
    for part in parts:
        if isinstance(part, (Link, Joint)):
            yield part
        elif isinstance(part, Iterable) and not isinstance(part, (str, bytes, Mapping)):
            yield from _flat(part)
        else:
            raise TypeError(f"build: parts: expected links, joints and lists of them, got {shown(part)}")


def _link(robot: str, link: Link, findings: Findings, mode: str) -> LinkDescription:
    """Return the description of a link.

    Its inertia is as stated (``"given"``), the nearest physical one (``"nearest"``), or zero (``"ignore"``).
    """
    where, inertia = _where(robot, "link", link.name), Inertia.zero()
    if link.mass is not None and mode != "ignore":
        shapes, nearest = (*link.visuals, *link.collisions), mode == "nearest"
        inertia = check_inertial(findings, where, link.mass, link.center, link.about, shapes, nearest=nearest)
    return LinkDescription(link.name, inertia, link.visuals, link.collisions, where)


def joint_description(robot: str, joint: Joint) -> JointDescription:
    """Convert a joint to the description that file readers return."""
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
