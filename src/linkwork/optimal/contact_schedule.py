"""Contacts and constraint forces of a problem: their variables, constraints and costs."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from linkwork._util.validation import floats, number
from linkwork.errors import UnknownNameError
from linkwork.model.body import WORLD
from linkwork.optimal.algorithms.path_nlp import force_units, length_unit
from linkwork.optimal.arguments import OutsidePhase, phases_of
from linkwork.optimal.features import (
    ConstraintForce,
    ContactForce,
    ContactHeight,
    Feature,
    FrictionCone,
    HolonomicFeature,
    PathContact,
    StickingContact,
    SurfaceCone,
    VariableFeature,
    VelocityConstraint,
)
from linkwork.optimal.features.contact_features import CONES, robot_weight
from linkwork.spatial import Pose, Rotation

__all__ = ["EFFORT", "with_constraint_forces", "with_constraints", "with_contact"]

EFFORT = 1e-2  # least-squares weight of forces, relative to the robot's weight


def with_constraints(problem: Any) -> Any:
    """Return the problem with the errors of the robot's constraints as equalities, scaled by its unit of length.

    A constraint without components, such as a floating joint that closes a loop, adds no equality.
    """
    length = length_unit(problem.robot.tree)
    for constraint in (x for x in problem.robot.tree.constraints if x.component_names):
        feature = (HolonomicFeature if constraint.holonomic else VelocityConstraint)(constraint)
        scale = [1.0 / length if unit == "m" else 1.0 for unit in constraint.row_units]
        problem = problem.add(feature, "equality", scale=scale)
    return problem


def with_constraint_forces(problem: Any) -> Any:
    """Return the problem with the forces of the robot's constraints as variables of each step."""
    known = {contact.name for contact in problem.contacts}
    for constraint in (x for x in problem.robot.tree.constraints if x.component_names):
        force = ConstraintForce(f"force of {constraint.name}", constraint)
        if force.name not in known:
            problem = problem.add_variable(force.name, force.size)._with_external_force(force)
            scale = EFFORT / np.array(force_units(problem.robot.tree, force.units))
            problem = problem.add(VariableFeature(force.name), "least_squares", scale=scale)
    return problem


def with_contact(
    problem: Any,
    on: str,
    steps: Any,
    friction: float | None,
    normal: Any,
    surface: Any,
    cone: str,
    stays: bool,
    height: float | None,
    effort: float,
    name: str | None,
) -> Any:
    """Return the problem with a contact of a frame or a point: see `TrajectoryProblem.add_contact`."""
    caller = "TrajectoryProblem.add_contact"
    carrier, point = _frame_and_point(problem, caller, on)
    label = name or on
    caller = f"{caller}: {label!r}"
    mu = None if friction is None else _number(caller, "friction", friction, 0.0)
    half = None if surface is None else _half(caller, surface)
    n = _unit(caller, normal)
    if cone not in CONES:
        raise ValueError(f"{caller}: cone: expected one of {', '.join(map(repr, CONES))}, got {cone!r}")
    if half is not None and cone != "smooth":
        raise ValueError(f"{caller}: cone: expected 'smooth' with surface=, whose cone is a pyramid, got {cone!r}")
    size = _number(caller, "effort", effort, 0.0)
    up = None if height is None else _number(caller, "height", height, -math.inf)
    frame = carrier
    if point is not None:
        problem, frame = _with_frame_at(problem, on, point)
    contact = PathContact(label, frame, surface=half is not None)
    weight, units = robot_weight(problem.robot.tree), np.array(force_units(problem.robot.tree, contact.units))
    problem = problem.add_variable(label, contact.size, steps=steps)._with_external_force(contact)
    if mu is not None:
        cone_feature: Feature = FrictionCone(contact, friction=mu, normal=n, cone=cone)
        if half is not None:
            cone_feature = SurfaceCone(contact, friction=mu, half=half)
        problem = problem.add(cone_feature, "inequality", steps=steps, scale=1.0 / weight)
    if stays:
        problem = problem.add(StickingContact(contact), "equality", steps=steps)
    if up is not None:
        problem = problem.add(ContactHeight(contact, normal=n, height=up), "equality", steps=steps)
    with_force = problem.variables[label].steps
    without_force: Any = [t for t in range(problem.num_steps) if t not in with_force]
    if phases := phases_of(steps)[0]:  # also without such steps now: a call may move the phases
        without_force = OutsidePhase(phases)
    if without_force:
        no_force = ContactForce(contact)
        problem = problem.add(no_force, "equality", steps=without_force, scale=1.0 / units, name=f"{label}: no force")
    if size > 0.0:
        problem = problem.add(ContactForce(contact), "least_squares", steps=steps, scale=size / units)
    return problem


def _frame_and_point(problem: Any, caller: str, on: Any) -> tuple[str, Any]:
    """Return the name of a contact's frame, and the point if ``on`` names a point, else None.

    Raises TypeError, UnknownNameError, and ValueError for a frame or point fixed to the world.
    """
    tree = problem.robot.tree
    frames, points = {frame.name: frame for frame in tree.frames}, {point.name: point for point in tree.points}
    if not isinstance(on, str):
        raise TypeError(f"{caller}: expected the name of a frame or a point, got {on!r}")
    if on not in frames and on not in points:
        raise UnknownNameError("frame or point", on, [*frames, *points])
    point = points.get(on)
    carrier = frames[on] if point is None else frames[point.frame]
    if carrier.body == WORLD:
        raise ValueError(f"{caller}: {on!r} is fixed to the world: expected a frame or point of a moving body")
    return carrier.name, point


def _with_frame_at(problem: Any, name: str, point: Any) -> tuple[Any, str]:
    """Return the problem with an additional frame at a point of its robot, and the frame's name.

    The new frame has the axes of the point's frame.
    """
    new = f"{name}: contact"
    if all(frame.name != new for frame in problem.robot.tree.frames):
        robot = problem.robot.with_frame(new, point.frame, Pose(Rotation.identity(), point.position))
        problem = problem._replaced(robot=robot)
    return problem, new


def _number(caller: str, argument: str, value: Any, least: float) -> float:
    try:
        checked = number(value)
    except (TypeError, ValueError):
        checked = math.nan
    if isinstance(value, (bool, str)) or not math.isfinite(checked) or checked < least:
        raise ValueError(
            f"{caller}: {argument}: expected a finite number{' >= 0' if least == 0.0 else ''}, got {value!r}"
        )
    return checked


def _vector(value: Any, size: int) -> np.ndarray | None:
    """Return a finite vector (size,), or None for other values."""
    try:
        vector = floats(value)
    except (TypeError, ValueError):
        return None
    return vector if vector.shape == (size,) and np.isfinite(vector).all() else None


def _half(caller: str, value: Any) -> tuple[float, float]:
    """Return half the sides (2,) [m] of a contact rectangle, from its sides ``value``.  Raises ValueError."""
    sides = _vector(value, 2)
    if sides is None or not (sides > 0.0).all():
        raise ValueError(f"{caller}: surface: expected its sides (2,) along the frame's x and y [m], got {value!r}")
    return 0.5 * float(sides[0]), 0.5 * float(sides[1])


def _unit(caller: str, value: Any) -> tuple[float, float, float]:
    vector = _vector(value, 3)
    length = 0.0 if vector is None else float(np.linalg.norm(vector))
    if vector is None or not length > 0.0:
        raise ValueError(f"{caller}: normal: expected a nonzero vector (3,), got {value!r}")
    x, y, z = (vector / length).tolist()
    return x, y, z
