"""Composite bodies: the inertia of a body is the sum of the inertias of its links, and a sphere bounds their shapes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from linkwork._util.messages import quoted
from linkwork.model.body import WORLD, Body, Frame
from linkwork.shapes import Geometry
from linkwork.spatial import Inertia, Pose, Vec3

__all__ = [
    "UndividedInertia",
    "bounding_sphere_of",
    "check_inertias",
    "compose",
    "frames_with_inertias",
    "link_inertia",
    "of_whole_body",
    "sum_inertias",
    "with_summed_inertias",
    "without_inertias",
]

_ROUNDING = 1e-9  # tolerance of a body's inertia, relative to the largest term of the sum


def with_summed_inertias(bodies: Sequence[Body], frames: Sequence[Frame]) -> tuple[Body, ...]:
    """Return the bodies, each with the sum of the inertias of its frames, added in the order of the frames."""
    sums = _sums(len(bodies), frames)
    return tuple([replace(b, inertia=I) if b.inertia != I else b for b, I in zip(bodies, sums, strict=True)])


def without_inertias(frames: Sequence[Frame]) -> tuple[Frame, ...]:
    """Return the frames with zero inertia, for trees whose body inertias are not sums of links' inertias."""
    return tuple([replace(f, inertia=_NONE) for f in frames])


def sum_inertias(frames: Sequence[Frame]) -> Inertia:
    """Return the sum of the inertias of frames on one body, or on the world, about its origin and in its axes."""
    (total,) = _sums(1, [replace(frame, body=0) for frame in frames])
    return total


def frames_with_inertias(bodies: Sequence[Body], frames: Sequence[Frame]) -> tuple[Frame, ...]:
    """Return the frames of a tree with inertias that sum to the inertias of the bodies.

    Usually the frames are returned unchanged. If no frame on any body has an inertia although a body has one, each
    body's inertia is assigned to the frame of the body's name, which is added if it is missing.
    """
    if any(f.body != WORLD and f.inertia != _NONE for f in frames) or all(b.inertia == _NONE for b in bodies):
        return tuple(frames)
    described = {(f.name, f.body) for f in frames}
    missing = [Frame(b.name, i, _IDENTITY) for i, b in enumerate(bodies) if (b.name, i) not in described]
    return tuple(
        replace(f, inertia=f.placement.inv() @ bodies[f.body].inertia)
        if f.body != WORLD and f.name == bodies[f.body].name
        else f
        for f in (*frames, *missing)
    )


@dataclass(frozen=True, slots=True)
class UndividedInertia(Inertia):
    """Former inertia of a link whose body got a new total inertia; the link's part of the new inertia is unknown."""


def of_whole_body(frames: Sequence[Frame], i: int, name: str, whole: Inertia) -> list[Frame]:
    """Return the frames after body ``i``, named ``name``, got the total inertia ``whole``, of any scalar type.

    If only the link with the body's name has an inertia, it gets all of ``whole``. Otherwise the inertias of this link
    and of all links with inertia are marked as unknown: they depend on whether ``whole`` is a multiple of the former
    inertia.
    """
    shared = any(f.body == i and f.name != name and not f.inertia.is_zero for f in frames)

    def share(frame: Frame) -> Inertia:
        if frame.body != i or (frame.name != name and frame.inertia.is_zero):
            return frame.inertia
        if shared:
            return UndividedInertia(frame.inertia.mass, frame.inertia.moment, frame.inertia.about)
        return whole if frame.placement.is_identity else frame.placement.inv() @ whole

    return [f if (inertia := share(f)) is f.inertia else replace(f, inertia=inertia) for f in frames]


def link_inertia(frame: Frame, user: str) -> Inertia:
    """Return the inertia of a link, about its frame's origin and in its axes.

    Raises ValueError, with the name of the ``user``, if only the total inertia of its body is known
    (`UndividedInertia`).
    """
    if isinstance(frame.inertia, UndividedInertia):
        raise ValueError(
            f"{user}: expected the inertia of link {quoted(frame.name)}, got only that of its whole body from the "
            f"parameter 'inertia'; replace 'inertia' by the inertias of links, as {quoted('inertia:' + frame.name)}, "
            "or 'inertia:*' for all"
        )
    return frame.inertia


def check_inertias(bodies: Sequence[Body], frames: Sequence[Frame]) -> None:
    """Raise ValueError if a body's inertia is not the sum of its frames' inertias, up to rounding.

    If no frame on any body has an inertia, as in simplified trees in joint space, there is nothing to check.
    """
    if all(frame.body == WORLD or frame.inertia == _NONE for frame in frames):
        return
    for i, (body, expected) in enumerate(zip(bodies, _sums(len(bodies), frames), strict=True)):
        if body.inertia != expected and not _agree(body.inertia, expected, [f for f in frames if f.body == i]):
            raise ValueError(
                f"body {quoted(body.name)}: its inertia is not the sum of the inertias of its links (mass "
                f"{body.inertia.mass:.9g} kg, the links' {expected.mass:.9g} kg); change the inertias of the links, "
                f"as Robot.with_inertia does"
            )


def compose(X_ab: Pose, X_bc: Pose) -> Pose:
    """Return X_ac = X_ab X_bc; if a pose is the identity object, the result is the other pose itself."""
    if X_ab is _IDENTITY:
        return X_bc
    X_ac: Pose = X_ab if X_bc is _IDENTITY else X_ab @ X_bc
    return X_ac


def _sums(count: int, frames: Sequence[Frame]) -> list[Inertia]:
    """Return for each of ``count`` bodies the sum of its frames' inertias, about its origin and in its axes."""
    sums = [_NONE] * count
    for frame in frames:
        if frame.body != WORLD and frame.inertia != _NONE:
            inertia = frame.inertia if frame.placement == _IDENTITY else frame.placement @ frame.inertia
            sums[frame.body] = inertia if sums[frame.body] == _NONE else sums[frame.body] + inertia
    return sums


def _agree(a: Inertia, b: Inertia, frames: Sequence[Frame]) -> bool:
    """Return True if two sums of the frames' inertias agree up to rounding.

    Masses, first and second moments are compared relative to the largest value of their kind among the terms. Inertias
    that overflow agree.
    """
    parts = [_parts(x) for f in frames for x in (f.inertia, f.placement @ f.inertia)]
    for k, (result, expected) in enumerate(zip(_parts(a), _parts(b), strict=True)):
        scale = max(abs(x) for part in (result, expected, *(part[k] for part in parts)) for x in part)
        if any(abs(x - y) > _ROUNDING * scale for x, y in zip(result, expected, strict=True)):
            return False
    return True


def _parts(inertia: Inertia) -> tuple[tuple[float, ...], ...]:
    return (inertia.mass,), tuple(inertia.moment), inertia.about.elements()


_IDENTITY = Pose.identity()
_NONE = Inertia.zero()


def bounding_sphere_of(shapes: Sequence[Geometry]) -> tuple[Vec3, float] | None:
    """Return the centre (3,) and the radius [m] of a sphere around the shapes; None if a shape has unknown size."""
    bounds = [(geometry.origin, geometry.shape.bounding_sphere) for geometry in shapes]
    balls = [(X.point(bound[0]), bound[1]) for X, bound in bounds if bound is not None]
    if not balls or len(balls) < len(shapes):
        return None
    centers = [center for center, _ in balls]
    middle = sum(centers[1:], start=centers[0]) * (1.0 / len(centers))
    reach = max(math.hypot(*(center - middle)) + radius for center, radius in balls)
    return (middle, reach) if math.isfinite(reach) else None
