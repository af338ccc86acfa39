"""Checks of a link's inertia: against physics, against its shapes, and against the size of the robot.

With m the mass, c the centre of mass and J the rotational inertia about it, Σ = ½ tr(J) 1 − J are the second moments of
mass about the centre (`linkwork.model.inertia_check`); about the origin of the link they are Σ + m c cᵀ.

- If Σ is impossible and Σ + m c cᵀ is possible, the term was subtracted from moments that were about the centre
  already.
- If Σ − m c cᵀ is close to the second moments of the shapes filled with a uniform mass, and Σ is not, the file states J
  about the origin.  If the shapes are unknown, all links together decide: in robots with J about the centre, Σ − m c cᵀ
  is impossible for some links, as it is for any link whose origin is at its end.
- Shapes that make a link denser than any metal are placeholders, and inertias are not compared with them.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from linkwork.compare.plausibility.model_check import ModelFinding, Severity, finding
from linkwork.errors import Location
from linkwork.formats.description import Findings, check_inertial, mass_properties
from linkwork.model import WORLD, Frame, bounding_sphere_of
from linkwork.shapes import Geometry

__all__ = ["SIGNS", "LinkMass", "link_findings"]

_EXTENT = 1.0  # root mean square distance of masses along an axis, relative to the reach of the shapes
_SMALL = 0.03  # radius of gyration, relative to the reach of the shapes
_MIRRORED, _INSIDE = 0.2, 0.02  # the same distance as stated and with signs changed, for which signs seem wrong
_OUTSIDE = 0.5  # distance of the centre of mass from the box of the shapes, relative to half of its diagonal
_DENSITY = 1.0, 25_000.0  # [kg/m³]: of air and of the heaviest metals
_HEAVY = 100.0  # [kg] links in small placeholder shapes are lighter
_FAR = 10.0  # distance of a shape or a centre of mass from its link's origin, relative to the robot's size
_MANY = 4  # links, from which on statements about most links are made
_CLOSE, _NOT_CLOSE = 0.25, 1.0  # relative difference from the second moments of a uniform mass
_FAR_CENTER = 0.05  # m c² relative to the trace of Σ, from which on c cᵀ matters
_TERM = 0.4  # median over the links of the part of the second moment along c that m c² is
_SHORT = 0.01  # length of a link relative to the robot, below which its radius of gyration is not compared with it
_RATIO = 0.06, 3.0  # median radius of gyration over the length of links; real robots have 0.3 to 1.2
_POSSIBLE = 1e-5  # relative size of a negative second moment that is rounding of the file's digits
_PRECISE = ("PLACEHOLDER", "INERTIA_ORIGIN")
_SAID_BY = {  # codes of findings that say the same of a link more precisely
    "INERTIA_UNITS": _PRECISE,
    "INERTIA_EXTENT": (*_PRECISE, "INERTIA_UNITS"),
    "INERTIA_LARGE": (*_PRECISE, "INERTIA_UNITS"),
    "INERTIA_SMALL": _PRECISE,
    "COM_OUTSIDE": ("COM_FAR", "COM_MIRRORED"),
    "COM_MIRRORED": ("COM_FAR",),
}


SIGNS = {
    "x": np.array([-1.0, 1.0, 1.0]),
    "y": np.array([1.0, -1.0, 1.0]),
    "z": np.array([1.0, 1.0, -1.0]),
    "(x, y, z)": np.array([-1.0, -1.0, -1.0]),
}
"""Changes of signs of a position that are common mistakes, by the coordinates with another sign."""


@dataclass(frozen=True, slots=True)
class LinkMass:
    """Mass [kg], centre [m], rotational inertia about it and second moments of mass (3, 3) [kg m²] of a link."""

    mass: float
    center: np.ndarray
    about: np.ndarray
    second: np.ndarray

    @staticmethod
    def of(frame: Frame) -> LinkMass:
        mass, center, J = mass_properties(frame.inertia)
        about = np.array([[*J.x], [*J.y], [*J.z]], dtype=float)
        return LinkMass(mass, np.array([*center], dtype=float), about, 0.5 * np.trace(about) * np.eye(3) - about)

    @property
    def gyration(self) -> float:
        """The largest radius of gyration [m]."""
        return math.sqrt(max(float(np.linalg.eigvalsh(self.about)[-1]), 0.0) / self.mass)

    @property
    def term(self) -> np.ndarray:
        """Second moments m c cᵀ (3, 3) of the mass at its centre about the link's origin."""
        return self.mass * np.outer(self.center, self.center)

    @property
    def distance(self) -> float:
        """Distance [m] of the centre of mass from the link's origin."""
        return float(np.linalg.norm(self.center))


def link_findings(
    name: str, frames: Sequence[Frame], size: float, spans: Mapping[str, float]
) -> Iterator[ModelFinding]:
    """Yield the findings on all links of the robot called ``name``.

    ``size`` [m] is the robot's size. ``spans`` [m] has for each parent link the distance from its origin to the
    farthest of its child joints.
    """
    masses = {frame.name: LinkMass.of(frame) for frame in frames if frame.inertia.mass > 0.0}
    for frame in frames:
        results = [*_by_the_reader(frame), *_shape_far(frame, size)]
        if frame.name in masses:
            is_impossible = any(x.code in ("INERTIA_TRIANGLE", "INERTIA_NOT_PSD") for x in results)
            results += _of_inertia(frame, masses[frame.name], is_impossible, size)
        codes = {x.code for x in results}
        for x in results:
            if not codes.isdisjoint(_SAID_BY.get(x.code, ())):
                continue
            is_harmless = frame.body == WORLD and x.severity == "warning"
            yield replace(x, severity="note") if is_harmless else x
    moving = {f.name: masses[f.name] for f in frames if f.body != WORLD and f.name in masses}
    yield from _of_all(name, moving)
    yield from _of_sizes(name, moving, size, spans)


def _by_the_reader(frame: Frame) -> Iterator[ModelFinding]:
    """Yield the findings on a link's inertia that file readers report too."""
    findings = Findings()
    mass, center, about = mass_properties(frame.inertia)
    check_inertial(findings, Location(), mass, center, about, (*frame.visuals, *frame.collisions))
    for issue in (*findings.errors, *findings.warnings):
        yield finding(issue.code, "link", frame.name, issue.message, remedy=issue.hint or "")


def _shape_far(frame: Frame, size: float) -> Iterator[ModelFinding]:
    """Yield the finding on the shape with the largest distance from its link's origin, if this is implausibly large."""
    distances = [math.hypot(*geometry.origin.translation) for geometry in (*frame.visuals, *frame.collisions)]
    if distances and size > 0.0 and max(distances) > _FAR * size:
        text = f"a shape is {max(distances):.3g} m from the link's origin, but the robot is {size:.3g} m in size"
        yield finding("SHAPE_FAR", "link", frame.name, text, distance=max(distances), size=size)


def _density(frame: Frame, body: LinkMass) -> float | None:
    """Return the density [kg/m³] of a link in its collision shapes, else its visual shapes; None if it is unknown."""
    for shapes in (frame.collisions, frame.visuals):
        moments = uniform_moments_of(shapes)
        if moments is not None:
            return body.mass / moments[0]
    return None


def _of_inertia(frame: Frame, body: LinkMass, is_impossible: bool, size: float) -> Iterator[ModelFinding]:
    """Yield the findings on the inertia of a link with mass."""
    name, gyration = frame.name, body.gyration
    if not body.about.any():
        yield finding("INERTIA_POINT", "link", name, f"a mass of {body.mass:.4g} kg has no moments of inertia")
        return
    if is_impossible and _possible(body.second + body.term):
        text = (
            f"impossible about the centre of mass, but possible with m (c² 1 − c cᵀ) added, c of "
            f"{body.distance:.3g} m: this term seems to have been subtracted twice"
        )
        yield finding("INERTIA_ORIGIN", "link", name, text, mass=body.mass, distance=body.distance)
    if body.distance > _FAR * size > 0.0:
        text = (
            f"the centre of mass is {body.distance:.3g} m from the link's origin, but the robot is {size:.3g} m in size"
        )
        yield finding("COM_FAR", "link", name, text, distance=body.distance, size=size)
    known = [shapes for shapes in (frame.collisions, frame.visuals) if bounding_sphere_of(shapes) is not None]
    density = _density(frame, body)
    if density is not None and not _DENSITY[0] <= density <= _DENSITY[1]:
        text = f"{body.mass:.4g} kg in its shapes is a density of {density:.3g} kg/m³"
        severity: Severity | None = "warning" if density > _DENSITY[1] and body.mass > _HEAVY else None
        yield finding("DENSITY", "link", name, text, severity=severity, density=density, mass=body.mass)
        known = [] if density > _DENSITY[1] else known
    reach = max((sphere[1] for shapes in known if (sphere := bounding_sphere_of(shapes))), default=None)
    yield from _placeholder(frame, body, reach, size)
    if reach is None:
        if gyration > size > 0.0:
            text = f"the radius of gyration is {gyration:.3g} m, but the whole robot is {size:.3g} m in size"
            yield finding("INERTIA_LARGE", "link", name, text, gyration=gyration, size=size)
        return
    deviation = math.sqrt(max(float(np.linalg.eigvalsh(body.second)[-1]), 0.0) / body.mass)
    if deviation > _EXTENT * reach:
        text = (
            f"its masses are {deviation:.3g} m from their centre on average (root mean square, along an axis), but the "
            f"shapes reach {reach:.3g} m"
        )
        yield finding("INERTIA_EXTENT", "link", name, text, deviation=deviation, reach=reach)
    if gyration < _SMALL * reach:
        text = f"the radius of gyration is {gyration:.3g} m, but the shapes reach {reach:.3g} m"
        yield finding("INERTIA_SMALL", "link", name, text, gyration=gyration, reach=reach)
    yield from _about_origin(frame, body, known)
    yield from _center(frame, body, known)


def _possible(second: np.ndarray) -> bool:
    """Return True if the matrix of second moments (3, 3) has no negative eigenvalue."""
    values = np.linalg.eigvalsh(second)
    return bool(values[0] >= -_POSSIBLE * max(values[-1], 0.0))


def _placeholder(frame: Frame, body: LinkMass, reach: float | None, size: float) -> Iterator[ModelFinding]:
    """Yield the finding on placeholder inertias: equal powers of ten that do not fit the link or the robot."""
    moment = float(body.about[0, 0])
    if not (moment > 0.0 and np.allclose(body.about, moment * np.eye(3), rtol=1e-9, atol=1e-9 * moment)):
        return
    power = math.log10(moment)
    if abs(power - round(power)) < 1e-6 and body.gyration > (size if reach is None else 2.0 * reach):
        text = (
            f"all moments of inertia are {moment:.4g} kg m², a radius of gyration of {body.gyration:.3g} m for "
            f"{body.mass:.4g} kg: a placeholder?"
        )
        values: dict[str, Any] = {"moment": moment, "gyration": body.gyration, "mass": body.mass}
        yield finding("PLACEHOLDER", "link", frame.name, text, **values)


def _about_origin(frame: Frame, body: LinkMass, known: Sequence[Sequence[Geometry]]) -> Iterator[ModelFinding]:
    """Yield the finding on an inertia that is stated about the link's origin instead of the centre of mass.

    It is found by comparison with a uniform mass in the shapes.
    """
    for shapes in known:
        moments = uniform_moments_of(shapes)
        if moments is None:
            continue
        uniform = body.mass * moments[1]
        as_stated, moved = (
            float(np.linalg.norm(second - uniform) / np.linalg.norm(uniform))
            for second in (body.second, body.second - body.term)
        )
        if as_stated > _NOT_CLOSE and moved < _CLOSE and _possible(body.second - body.term):
            text = (
                f"about the link's origin, {body.distance:.3g} m from the centre of mass, it would be that of the "
                f"shapes within {100.0 * moved:.2g} %; about the centre of mass it is {100.0 * as_stated:.3g} % off"
            )
            yield finding("INERTIA_ORIGIN", "link", frame.name, text, mass=body.mass, distance=body.distance)
            return


def _center(frame: Frame, body: LinkMass, known: Sequence[Sequence[Geometry]]) -> Iterator[ModelFinding]:
    """Yield the finding on a centre of mass that is clearly outside of the bounding box of the shapes."""
    boxes = [box for shapes in known if (box := bounding_box_of(shapes)) is not None]
    if not boxes:
        return
    low, high = np.min([box[0] for box in boxes], axis=0), np.max([box[1] for box in boxes], axis=0)

    def outside_of(center: np.ndarray) -> float:
        return float(np.linalg.norm(np.maximum(np.maximum(low - center, center - high), 0.0)))

    outside, half = outside_of(body.center), 0.5 * float(np.linalg.norm(high - low))
    text = f"the centre of mass is {outside:.3g} m outside of the box of the link's shapes"
    axes = next((axes for axes, signs in SIGNS.items() if outside_of(signs * body.center) <= _INSIDE * half), None)
    if axes is not None and outside > _MIRRORED * half:
        yield finding("COM_MIRRORED", "link", frame.name, f"{text}, but inside with −{axes}", distance=outside)
    if outside > _OUTSIDE * half:
        yield finding("COM_OUTSIDE", "link", frame.name, text, distance=outside)


def _of_all(name: str, masses: Mapping[str, LinkMass]) -> Iterator[ModelFinding]:
    """Yield the findings on values that most moving links have in common."""
    counts = Counter((body.mass, body.about.tobytes()) for body in masses.values())
    for (mass, _), count in counts.most_common(1):
        if count >= _MANY and 2 * count > len(masses):
            text = f"{count} of {len(masses)} links have the same mass, {mass:.4g} kg, and the same moments of inertia"
            yield finding("IDENTICAL_INERTIAS", "robot", name, text, count=count, mass=mass)
    distinct = {(body.mass, body.about.tobytes(), body.center.tobytes()): body for body in masses.values()}.values()
    away = [body for body in distinct if body.mass * body.distance**2 > _FAR_CENTER * np.trace(body.second) > 0.0]
    if len(away) < _MANY or not all(_possible(body.second - body.term) for body in away):
        return
    parts = [float(body.mass * body.center @ np.linalg.pinv(body.second) @ body.center) for body in away]
    if np.median(parts) > _TERM:
        text = (
            f"all of {len(away)} links with a centre of mass away from their origin seem to state it about the origin"
        )
        yield finding("INERTIA_ORIGIN", "robot", name, text, links=len(away))


def _of_sizes(
    name: str, masses: Mapping[str, LinkMass], size: float, spans: Mapping[str, float]
) -> Iterator[ModelFinding]:
    """Yield the finding on radii of gyration that do not fit the lengths of most links.

    The length of a link is the distance from its origin to its centre of mass, or to the farthest of its child joints.
    """
    ratios = []
    for link, body in masses.items():
        length = max(body.distance, spans.get(link, 0.0))
        if length > _SHORT * size and body.about.any():
            ratios.append(body.gyration / length)
    if len(ratios) < _MANY:
        return
    median = float(np.median(ratios))
    if not _RATIO[0] <= median <= _RATIO[1]:
        code = "INERTIA_SMALL" if median < _RATIO[0] else "INERTIA_LARGE"
        text = f"half of {len(ratios)} links have a radius of gyration of {median:.2g} times their length or "
        text += "less" if median < _RATIO[0] else "more"
        yield finding(code, "robot", name, f"{text}: moments of inertia in other units?", ratio=median)


# -- bounds of the shapes of a link, as far as their sizes are known: a box, volume and inertia


def bounding_box_of(shapes: Sequence[Geometry]) -> tuple[np.ndarray, np.ndarray] | None:
    """Return the lower and upper corner (3,) [m] of the shapes' bounding box in the link's axes; None if unknown."""
    if bounding_sphere_of(shapes) is None:
        return None
    corners = []
    for geometry in shapes:
        R = np.array(geometry.origin.rotation.rows(), dtype=float)
        try:
            points = geometry.shape.support(np.concatenate([R, -R]))  # row k of R is axis k of the link in the shape's
        except ValueError:  # the shape states a sphere, but no support points
            return None
        corners.append(points @ R.T + [*geometry.origin.translation])
    points = np.concatenate(corners)
    return points.min(axis=0), points.max(axis=0)


def uniform_moments_of(shapes: Sequence[Geometry]) -> tuple[float, np.ndarray] | None:
    """Return the volume [m³] of the shapes, and the second moments (3, 3) [m²] of 1 kg distributed uniformly in it.

    The second moments are about the centre of the volume, in the link's axes. Overlapping parts count twice. The
    result is None if the volume or the inertia of one shape is unknown, or without shapes.
    """
    volumes, centers, seconds = [], [], []
    for geometry in shapes:
        volume, inertia = geometry.shape.volume, geometry.shape.unit_inertia()
        if volume is None or inertia is None:
            return None
        J = geometry.origin.rotation @ inertia
        about = np.array([[*J.x], [*J.y], [*J.z]], dtype=float)
        volumes.append(float(volume))
        centers.append([*geometry.origin.point(geometry.shape.center)])
        seconds.append(0.5 * np.trace(about) * np.eye(3) - about)
    total = sum(volumes)
    if total <= 0.0:
        return None
    parts, points = np.array(volumes) / total, np.array(centers, dtype=float)
    away = points - parts @ points
    return total, np.einsum("k,kij->ij", parts, np.array(seconds) + away[:, :, None] * away[:, None, :])
