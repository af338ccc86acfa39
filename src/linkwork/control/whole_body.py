"""Whole-body control: forces of all motors by a quadratic program, with contacts and limits."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from linkwork._util.checked_arguments import public, public_constructor
from linkwork._util.messages import short_repr
from linkwork.control.algorithms.operational_space_forces import drift_along
from linkwork.control.algorithms.whole_body_qp import (
    BodyContact,
    BodyDynamics,
    BodyForces,
    LevelRows,
    acceleration_box,
    body_forces,
)
from linkwork.control.controller_base import Shapes, positive_number, read_nonnegative
from linkwork.control.task_controllers import TaskLaw
from linkwork.expr.arrays.symbol_array import array
from linkwork.expr.linalg.sparse_dot import dot
from linkwork.expr.scalar.functions import lt, where
from linkwork.ik.tasks.task import Task
from linkwork.kernels.compiler_api import Kernel, compile
from linkwork.kernels.numeric_call import checked_call
from linkwork.motion.algorithms.curves.curve_space import CurveSpace
from linkwork.simulation.contacts.contact_candidates import frame_pose
from linkwork.simulation.contacts.ground_contact import ContactGround
from linkwork.spatial import Vec3

__all__ = ["WholeBody", "WholeBodyAnswer"]


class WholeBodyAnswer(NamedTuple):
    """What `WholeBody.answer` finds: ``tau`` and ``acceleration`` (..., nv), ``contact_forces`` (..., n, 3) on the
    robot in the world [N], ``found`` (...), 1 where these are the least, and ``rounds`` (...).
    """

    tau: Any
    acceleration: Any
    contact_forces: Any
    found: Any
    rounds: Any

    def __repr__(self) -> str:
        return short_repr(self)


@public_constructor
class WholeBody(TaskLaw):
    """Forces by a quadratic program in accelerations and contact forces: tasks as well as contacts and motors let them.

    ``tasks`` are those of inverse kinematics (`linkwork.ik`), each to accelerate by a* = a_d + k_d (v_d − J v) − k_p e,
    with ``stiffness`` k_p [1/s²] and ``damping`` k_d [1/s], critical if left out: numbers, or dicts by task.  Those of
    one ``level`` are weighed by the square of their ``weight`` (1 where there is none), in angles and half
    characteristic lengths; a later level gets what those before leave.

    ``contacts``, a `linkwork.simulation.ContactGround`, says which points hold the robot: they do not move (what they
    slip by fades with ``contact_damping`` [1/s]), and their forces are within a pyramid inside Coulomb's cone.  All
    hold unless ``contact`` (n) is given: those do for which it is above ½.  Forces of motors are within
    ``effort_limits``, the robot's own if left out; joints keep their bounds and speeds, looked at ``horizon`` [s]
    ahead.  ``actuators`` names joints that exert forces, all but those of six degrees of freedom if left out; loops are
    closed by forces that are found too.  ``regularization`` is what a and f² cost beside.

    Where all of that contradicts itself forces are those that break it least; `answer` tells whether.

    Sources: Herzog and others, Autonomous Robots 40, 2016; Escande, Mansard and Wieber, Int. J. Robotics Research
    33(7), 2014.

    >>> import numpy as np
    >>> import linkwork as lw
    >>> arm = lw.load("double_pendulum")
    >>> law = lw.control.WholeBody(arm, lw.ik.PostureTask(), stiffness=25.0)
    >>> q, v = np.array([0.3, -0.2]), np.array([0.1, 0.2])
    >>> found = law.answer(0.0, q, v, posture_q=np.zeros(2))
    >>> bool(np.allclose(found.acceleration, -25.0 * q - 10.0 * v, atol=0.1)), float(found.found)
    (True, 1.0)
    """

    def __init__(
        self,
        robot: Any,
        tasks: Task | Iterable[Task],
        stiffness: Any = 100.0,
        damping: Any = None,
        *,
        contacts: ContactGround | None = None,
        contact_damping: float = 20.0,
        horizon: float = 0.05,
        regularization: tuple[float, float] = (1e-3, 1e-4),
        actuators: str | Iterable[str] | None = None,
        effort_limits: Any = None,
        passive: bool = False,
    ) -> None:
        super().__init__(robot, tasks, stiffness, damping, actuators, effort_limits)
        if contacts is not None and not isinstance(contacts, ContactGround):
            raise TypeError(f"{self.caller}: contacts: expected linkwork.simulation.ContactGround, got {contacts!r}")
        if contacts is not None:
            contacts.checked(robot)
        self.contacts, self.passive = contacts, bool(passive)
        self.contact_damping = float(read_nonnegative(self.caller, "contact_damping", contact_damping, [()], "1/s"))
        self.horizon = positive_number(self.caller, "horizon", horizon, "s")
        if not isinstance(regularization, (tuple, list, np.ndarray)) or np.shape(regularization) != (2,):
            raise ValueError(f"{self.caller}: regularization: expected two numbers above 0, got {regularization!r}")
        self.regularization = (
            positive_number(self.caller, "regularization[0]", regularization[0], "1"),
            positive_number(self.caller, "regularization[1]", regularization[1], "1"),
        )
        levels = sorted({task.level for task in self.tasks})
        self.levels = [[task for task in self.tasks if task.level == level] for level in levels]
        self.bounds = self._bounds()
        self._answers: dict[Any, Kernel] = {}

    def _bounds(self) -> tuple[list[float], list[float], list[int]]:
        """Bounds of configurations by velocity, where one is the rate of a number; and where that is in q."""
        robot, space = self.robot, CurveSpace.of(self.robot.tree)
        lower, upper, where = [-np.inf] * robot.nv, [np.inf] * robot.nv, [0] * robot.nv
        pairs = [(k, k) for k in range(robot.nv)] if space.is_plain else []
        pairs = pairs or [
            (place.q + k, place.v + k) for place in space.joints if place.is_plain for k in range(place.joint.nv)
        ]
        for i, k in pairs:
            lower[k], upper[k], where[k] = float(robot.lower[i]), float(robot.upper[i]), i
        return lower, upper, where

    @property
    def input_shapes(self) -> Shapes:
        if self.contacts is None:
            return super().input_shapes
        return {**super().input_shapes, "contact": (len(self.contacts.points),)}

    def forces(self, t: Any, q: Any, v: Any, z: Any, inputs: Mapping[str, Any]) -> tuple[Any, Any]:
        return self._solve(q, v, inputs).tau, None

    @public
    def answer(self, t: Any, q: Any, v: Any, **inputs: Any) -> WholeBodyAnswer:
        """Forces, accelerations, contact forces and how they were found, on numbers, one state or a batch."""
        shapes = self._read_inputs(inputs)
        kernel = self._answers.get(tuple(shapes))
        if kernel is None:

            def answered(*, q: Any, v: Any, **symbols: Any) -> Any:
                result = self._solve(q, v, symbols)
                axes = [] if self.contacts is None else self.contacts.axes()
                pressed = [[dot(column, f) for column in zip(*axes, strict=True)] for f in result.contacts]
                outputs = {"tau": array(result.tau), "acceleration": array(result.acceleration)}
                if pressed:
                    outputs["contact_forces"] = array(pressed)
                return {**outputs, "found": result.found, "rounds": result.rounds}

            sizes = {"q": (self.robot.nq,), "v": (self.robot.nv,)}
            kernel = self._answers[tuple(shapes)] = compile(answered, name=f"{self.caller}_answer", **sizes, **shapes)
        result = checked_call(f"{self.caller}.answer", kernel, {"q": q, "v": v, **inputs})
        forces = getattr(result, "contact_forces", np.zeros((*result.tau.shape[:-1], 0, 3)))
        return WholeBodyAnswer(result.tau, result.acceleration, forces, result.found, result.rounds)

    def _solve(self, q: Any, v: Any, inputs: Mapping[str, Any]) -> BodyForces:
        """The program's answer, on symbols."""
        robot, nv = self.robot, self.robot.nv
        q, v = array(list(q)), array(list(v))
        M = robot.mass_matrix(q, passive=self.passive)
        h = robot.inverse_dynamics(q, v, array([0.0] * nv), passive=self.passive)
        acting = set(self.acting.tolist())
        G: list[Any] = []
        gamma: list[Any] = []
        if robot.constraints:
            G, gamma = [list(row) for row in robot.constraint_jacobian(q)], list(robot.constraint_bias(q, v))
        limits = [float(b) if k in acting else 0.0 for k, b in enumerate(self.effort_limits)]
        dynamics = BodyDynamics([[M[i, j] for j in range(i + 1)] for i in range(nv)], list(h), limits, G, gamma)
        levels = []
        for tasks in self.levels:
            stack, motion, accelerations = self._motions(q, v, tasks, inputs)
            kept = [k for k, tolerance in enumerate(stack.tolerances) if tolerance < np.inf]
            weights = [1.0 if hard else w for hard, w in zip(stack.hard, stack.weights, strict=True)]
            sizes = [(s * w) ** 2 for s, w in zip(stack.scales, weights, strict=True)]
            levels.append(
                LevelRows(
                    [motion.rows[k] for k in kept],
                    [accelerations[k] - motion.drifts[k] for k in kept],
                    [sizes[k] for k in kept],
                )
            )
        lower, upper, where = self.bounds
        fastest = [float(x) for x in robot.velocity_limits]
        box = acceleration_box([q[i] for i in where], list(v), lower, upper, fastest, self.horizon)
        return body_forces(dynamics, self._body_contacts(q, v, inputs), levels, box, self.regularization)

    def _body_contacts(self, q: Any, v: Any, inputs: Mapping[str, Any]) -> list[BodyContact]:
        if self.contacts is None:
            return []
        ground, robot, result = self.contacts, self.robot, []

        def at_places(q: Any) -> list[Any]:
            now = array(list(q))
            return [place.at(robot, now) for place in ground.places(robot, now)]

        def rows(q: Any) -> list[list[Any]]:
            return [row for contact in at_places(q) for row in contact.J]

        at, screws = at_places(q), self._screws(q)
        drifts = drift_along(robot.tree, rows, list(q), list(v))
        for k, contact in enumerate(at):
            accelerations = [
                -drift - self.contact_damping * dot(row, v)
                for row, drift in zip(contact.J, drifts[3 * k : 3 * k + 3], strict=True)
            ]
            on = where(lt(0.5, inputs["contact"][k]), 1.0, 0.0) if "contact" in inputs else 1.0
            body = robot.tree.frame(ground.points[k].frame).body
            result.append(BodyContact(contact.J, accelerations, float(contact.friction), on, body, screws[k]))
        return result

    def _screws(self, q: Any) -> list[list[list[Any]]]:
        """Each contact's velocity along its axes (3 × 6) by its body's twist, about the middle of the body's contacts.

        Angular velocities count by the size of what touches, so that all six have the unit of the points' velocities.
        """
        ground: Any = self.contacts
        robot = self.robot
        bodies = [robot.tree.frame(point.frame).body for point in ground.points]
        size = dict.fromkeys(bodies, 0.0)
        still = self._positions(robot.neutral())
        middle = dict.fromkeys(bodies, Vec3(0.0, 0.0, 0.0))
        for body, at in zip(bodies, still, strict=True):
            first = np.array([*still[bodies.index(body)]], dtype=float)
            size[body] = max(size[body], 0.5 * float(np.linalg.norm(np.array([*at], dtype=float) - first)))
        places = self._positions(q)
        for body, at in zip(bodies, places, strict=True):
            middle[body] = middle[body] + at * (1.0 / bodies.count(body))
        result = []
        for body, at in zip(bodies, places, strict=True):
            arm, per = at - middle[body], 1.0 / size[body] if size[body] > 0.0 else 1.0
            turns = [arm.cross(Vec3.of(axis)) * per for axis in ground.axes()]
            result.append([[*turn, *axis] for turn, axis in zip(turns, ground.axes(), strict=True)])
        return result

    def _positions(self, q: Any) -> list[Vec3]:
        """Where each contact point is in the world, at q (nq) of a trace or of numbers."""
        places = self.contacts.places(self.robot, q)  # type: ignore[union-attr]
        return [frame_pose(self.robot, q, place.second).translation + place.arms[1] for place in places]

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "_answers": {}}
