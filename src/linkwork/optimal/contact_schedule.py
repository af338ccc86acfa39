"""Contacts of a problem: where a robot is held or stands, by phases, with the forces that this takes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from linkwork._util.validation import floats, number
from linkwork.errors import UnknownNameError
from linkwork.model.body import WORLD
from linkwork.optimal.features import (
    ConstraintForce,
    ContactForce,
    ContactHeight,
    ContactStays,
    Feature,
    FrictionCone,
    HeldConstraint,
    PathContact,
    SurfaceCone,
    VariableFeature,
    VelocityConstraint,
)
from linkwork.optimal.features.contact_features import CONES
from linkwork.optimal.schedule_arguments import Besides
from linkwork.spatial import Pose, Rotation

__all__ = ["EFFORT", "add_contact", "add_what_keeps", "held", "weight_of"]

EFFORT = 1e-2  # of forces in squares, as parts of the robot's weight


def held(robot: Any) -> list[Feature]:
    """What keeps to a robot's constraints along a path."""
    return [HeldConstraint(one) if one.holonomic else VelocityConstraint(one) for one in robot.tree.constraints]


def add_what_keeps(problem: Any) -> None:
    """Forces that keep the robot's constraints, as variables of each step."""
    known = {one.name for one in problem.contacts}
    for constraint in problem.robot.tree.constraints:
        force = ConstraintForce(f"force of {constraint.name}", constraint)
        if force.name not in known:
            problem.variable(force.name, force.size)
            problem.act(force)
            problem.add(VariableFeature(force.name), "squares", scale=EFFORT / weight_of(problem))


def add_contact(
    problem: Any,
    on: str,
    at: Any,
    friction: float | None,
    normal: Any,
    surface: Any,
    cone: str,
    stays: bool,
    height: float | None,
    effort: float,
    name: str | None,
) -> None:
    """A contact of a frame or a point: see `Problem.contact`."""
    caller = "Problem.contact"
    carrier, point = _place(problem, caller, on)
    label = name or on
    caller = f"{caller}: {label!r}"
    mu = None if friction is None else _number(caller, "friction", friction, 0.0)
    half = None if surface is None else _half(caller, surface)
    n = _unit(caller, normal)
    if cone not in CONES:
        raise ValueError(f"{caller}: cone: expected one of {', '.join(map(repr, CONES))}, got {cone!r}")
    if half is not None and cone != "smooth":
        raise ValueError(f"{caller}: cone: of a surface there is one with plane sides alone, got {cone!r}")
    size = _number(caller, "effort", effort, 0.0)
    up = None if height is None else _number(caller, "height", height, -math.inf)
    frame = carrier if point is None else _frame_at(problem, on, point)
    contact = PathContact(label, frame, surface=half is not None)
    problem.variable(label, contact.size, at=at)
    problem.act(contact)
    if mu is not None:
        own: Feature = FrictionCone(contact, friction=mu, normal=n, cone=cone)
        if half is not None:
            own = SurfaceCone(contact, friction=mu, half=half)
        problem.add(own, "inequality", at=at, scale=1.0 / weight_of(problem))
    if stays:
        problem.add(ContactStays(contact), "equality", at=at)
    if up is not None:
        problem.add(ContactHeight(contact, normal=n, height=up), "equality", at=at)
    steps = problem.variables[label].steps
    free: Any = [t for t in range(problem.steps) if t not in steps]
    if isinstance(at, str):  # also where it has no steps now: phases may be elsewhere in a call
        free = Besides(at)
    if free:
        problem.add(
            ContactForce(contact), "equality", at=free, scale=1.0 / weight_of(problem), name=f"{label}: no force"
        )
    if size > 0.0:
        problem.add(ContactForce(contact), "squares", at=at, scale=size / weight_of(problem))


def weight_of(problem: Any) -> float:
    """m |g| [N], or 1 without either."""
    tree = problem.robot.tree
    found = float(tree.mass * math.hypot(*tree.gravity))
    return found if found > 0.0 else 1.0


def _place(problem: Any, caller: str, on: Any) -> tuple[str, Any]:
    """The frame of a contact, and the point in it where one is named.  Raises UnknownNameError, ValueError."""
    tree = problem.robot.tree
    frames, points = {frame.name: frame for frame in tree.frames}, {point.name: point for point in tree.points}
    if not isinstance(on, str):
        raise TypeError(f"{caller}: expected the name of a frame or a point, got {on!r}")
    if on not in frames and on not in points:
        raise UnknownNameError("frame or point", on, [*frames, *points])
    point = points.get(on)
    carrier = frames[on] if point is None else frames[point.frame]
    if carrier.body == WORLD:
        raise ValueError(f"{caller}: {on!r} is fixed to the world, which no force moves: name one of a body that moves")
    return carrier.name, point


def _frame_at(problem: Any, name: str, point: Any) -> str:
    """A frame at a point, in the axes of the point's frame; the problem's robot has it from then on."""
    new = f"{name}: contact"
    if all(frame.name != new for frame in problem.robot.tree.frames):
        problem.robot = problem.robot.with_frame(new, point.frame, Pose(Rotation.identity(), point.position))
    return new


def _number(caller: str, what: str, given: Any, least: float) -> float:
    try:
        found = number(given)
    except (TypeError, ValueError):
        found = math.nan
    if isinstance(given, (bool, str)) or not math.isfinite(found) or found < least:
        raise ValueError(
            f"{caller}: {what}: expected a finite number{' from 0' if least == 0.0 else ''}, got {given!r}"
        )
    return found


def _vector(given: Any, size: int) -> np.ndarray | None:
    """So many finite numbers, if it is such."""
    try:
        found = floats(given)
    except (TypeError, ValueError):
        return None
    return found if found.shape == (size,) and np.isfinite(found).all() else None


def _half(caller: str, given: Any) -> tuple[float, float]:
    """Half of the sides of a rectangle."""
    found = _vector(given, 2)
    if found is None or not (found > 0.0).all():
        raise ValueError(f"{caller}: surface: expected its sides (2,) along the frame's x and y [m], got {given!r}")
    return 0.5 * float(found[0]), 0.5 * float(found[1])


def _unit(caller: str, given: Any) -> tuple[float, float, float]:
    found = _vector(given, 3)
    length = 0.0 if found is None else float(np.linalg.norm(found))
    if found is None or not length > 0.0:
        raise ValueError(f"{caller}: normal: expected a vector (3,) that is not zero, got {given!r}")
    x, y, z = (found / length).tolist()
    return x, y, z
