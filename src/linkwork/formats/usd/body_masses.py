"""Masses of rigid bodies in a stage: stated masses, and masses computed from collision shapes and densities.

The order of precedence is that of UsdPhysics. A stated mass of a body takes precedence over the masses of its
colliders. A collider's density is the first that is stated by its own PhysicsMassAPI, its body's PhysicsMassAPI, or
its physics material. The default is the density of water.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from linkwork.formats.description import check_inertial, mass_properties
from linkwork.formats.usd.prim_shapes import physics_material
from linkwork.formats.usd.prim_transforms import Transforms
from linkwork.formats.usd.prim_values import PrimReader
from linkwork.shapes import Geometry
from linkwork.spatial import Inertia, Pose, Rotation, Symmetric3, Vec3

__all__ = ["Collider", "body_inertia"]

WATER = 1000.0  # density [kg/m³] of colliders without one
_RADIUS = 0.1  # [m] of the sphere whose inertia a body without shapes has, as in UsdPhysics


@dataclass(frozen=True)
class Collider:
    """A collision shape on a link, the prim that states it, and the prim's pose on the link."""

    prim: Any
    geometry: Geometry
    pose: Pose  # of the prim's axes
    scale: tuple[float, float, float]  # along the prim's axes, with units [m]


@dataclass(frozen=True)
class _StatedMass:
    """Values of a prim's PhysicsMassAPI in SI units; None for values that it does not state."""

    mass: float | None
    density: float | None
    center: Vec3 | None  # in units of the prim's axes
    inertia: Symmetric3 | None  # about the centre, in the prim's axes


def _stated(reader: PrimReader, prim: Any) -> _StatedMass:
    units = reader.units
    mass = reader.number(prim, "physics:mass")
    if mass < 0.0:
        reader.error(prim, "MASS_NEGATIVE", f"physics:mass must not be negative, got {mass!r}")
    density = reader.at_least_zero(prim, "physics:density")
    center = None
    value = reader.value(prim, "physics:centerOfMass")
    try:
        is_none = value is None or all(float(x) == -math.inf for x in value)  # the schema's sign of no value
    except (TypeError, ValueError):
        is_none = False
    if not is_none and (vector := reader.vector(prim, "physics:centerOfMass")) is not None:
        center = Vec3.of(vector)
    diagonal, inertia = reader.vector(prim, "physics:diagonalInertia"), None
    if diagonal is not None and any(diagonal):
        axes = reader.value(prim, "physics:principalAxes")
        rotation = Rotation.identity()
        if axes is not None and not _is_zero(axes):
            rotation = reader.rotation(prim, "physics:principalAxes")
        inertia = rotation @ Symmetric3.diagonal(*(units.torque * x for x in diagonal))
    whole = reader.array(prim, "newton:inertia")
    if whole is not None and whole.size:
        vector = reader.vector(prim, "newton:inertia", 6)
        if vector is not None:
            xx, yy, zz, xy, xz, yz = (units.torque * x for x in vector)
            inertia = Symmetric3(xx, xy, xz, yy, yz, zz)
    return _StatedMass(units.mass * mass if mass > 0.0 else None, units.density * density or None, center, inertia)


def _is_zero(quaternion: Any) -> bool:
    try:
        return not any((quaternion.GetReal(), *quaternion.GetImaginary()))
    except AttributeError:
        return False


def body_inertia(
    reader: PrimReader, transforms: Transforms, body: Any, colliders: list[Collider], visuals: Any
) -> Inertia:
    """Return the inertia of a body about the origin of its link, in the link's axes.

    Findings: those of `check_inertial`, DENSITY_DEFAULT, INERTIA_MISSING and MASS_MISSING.
    """
    stated = _stated(reader, body)
    center = None
    if stated.center is not None:
        scale = transforms.rigid(body).scale * reader.units.length
        center = Vec3.of([float(s) * x for s, x in zip(scale, stated.center, strict=True)])
    mass, about = stated.mass, stated.inertia
    if mass is None or about is None or center is None:
        total, is_default = Inertia.zero(), False
        for collider in colliders:
            inertia, has_default = _of_collider(reader, collider, stated.density)
            total = total + inertia
            is_default |= has_default
        collider_mass, middle, spread = mass_properties(total)
        if mass is None and is_default:
            message = (
                f"a body without a mass: its colliders without a density have {WATER:g} kg/m³, as UsdPhysics defines, "
                f"and the body has {collider_mass:.4g} kg"
            )
            reader.warn(body, "DENSITY_DEFAULT", message, "state physics:mass or physics:density")
        if collider_mass > 0.0:
            if mass is not None:
                spread = spread * (mass / collider_mass)
            mass = collider_mass if mass is None else mass
            if about is None:
                moved = Vec3.zero() if center is None else center - middle
                about = Inertia.at_center(mass, moved, spread).about
            center = middle if center is None else center
    if mass is None:
        if about is None:
            reader.warn(body, "MASS_MISSING", "a rigid body without mass and collision shapes: it is read without mass")
            return Inertia.zero()
        mass = 0.0
    if about is None:
        moment = 0.4 * mass * _RADIUS * _RADIUS
        about = Symmetric3.diagonal(moment, moment, moment)
        message = "the body has a mass but neither moments of inertia nor collision shapes: those of a sphere of 0.1 m"
        reader.warn(body, "INERTIA_MISSING", f"{message} are used", "state physics:diagonalInertia")
    shapes = (*(c.geometry for c in colliders), *visuals)
    return check_inertial(reader.findings, reader.where(body), mass, center or Vec3.zero(), about, shapes)


def _of_collider(reader: PrimReader, collider: Collider, body_density: float | None) -> tuple[Inertia, bool]:
    """Return the inertia of a collider about the origin of its link, and True if the default density was used."""
    shape, stated = collider.geometry.shape, _stated(reader, collider.prim)
    volume, unit = shape.volume, shape.unit_inertia()
    if volume is None or unit is None:
        if stated.mass is not None:
            reader.warn(collider.prim, "UNSUPPORTED", f"the mass of a {collider.prim.GetTypeName()} is left out")
        return Inertia.zero(), False  # a plane
    density = stated.density or body_density or _material_density(reader, collider.prim)
    mass = stated.mass if stated.mass is not None else volume * (density or WATER)
    center = middle = collider.geometry.origin.point(shape.center)
    if stated.center is not None:
        scaled = Vec3.of([s * x for s, x in zip(collider.scale, stated.center, strict=True)])
        center = collider.pose.point(scaled)
    if stated.inertia is not None:
        about = collider.pose.rotation @ stated.inertia
    else:
        about = Inertia.at_center(mass, center - middle, (collider.geometry.origin.rotation @ unit) * mass).about
    return Inertia.at_center(mass, center, about), stated.mass is None and density is None


def _material_density(reader: PrimReader, prim: Any) -> float | None:
    """Return the density [kg/m³] of a prim's physics material, or None."""
    material = physics_material(prim)
    if material is None:
        return None
    return reader.units.density * reader.at_least_zero(material, "physics:density") or None
