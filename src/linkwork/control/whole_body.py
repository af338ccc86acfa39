"""Whole-body control: motor forces by a hierarchical quadratic program, with contacts and limits."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from linkwork._util.checked_arguments import public, public_constructor
from linkwork._util.messages import short_repr
from linkwork._util.validation import positive
from linkwork.control.algorithms.operational_space_forces import drift_along
from linkwork.control.algorithms.whole_body_qp import (
    BodyContact,
    BodyDynamics,
    BodyForces,
    BodyUnits,
    LevelRows,
    body_forces,
    braking_limits,
)
from linkwork.control.controller_base import Shapes, read_nonnegative
from linkwork.control.task_controllers import TaskLaw
from linkwork.dynamics.algorithms.inverse_dynamics import gravity_force
from linkwork.dynamics.algorithms.passive_joint_forces import added_force
from linkwork.expr.arrays.symbol_array import array
from linkwork.expr.linalg.linear_solve import solve
from linkwork.expr.linalg.sparse_dot import dot, is_zero
from linkwork.expr.scalar.functions import fabs, lt, where
from linkwork.ik.algorithms.joint_bounds import Changes, MotionLimits, acceleration_range, is_infinite, most_along
from linkwork.ik.tasks.task import Task
from linkwork.joints.base.from_transform import unit_vectors
from linkwork.kernels.compiler_api import Kernel, compile
from linkwork.kernels.numeric_call import checked_call
from linkwork.kinematics.algorithms.coordinates import characteristic_length, unit_steps
from linkwork.mechanisms.algorithms.constraint_rows import KinematicState
from linkwork.model.friction_laws import DEFAULT
from linkwork.model.limited_coordinates import limited_coordinates, loop_speeds
from linkwork.simulation.algorithms.passive_resistance import PassiveResistance, has_friction
from linkwork.simulation.contacts.contact_candidates import frame_pose
from linkwork.simulation.contacts.ground_contact import ContactGround
from linkwork.simulation.rollout.spring_steps import IndependentInertias, independent_inertias
from linkwork.spatial import Vec3

__all__ = ["WholeBody", "WholeBodyAnswer"]

_RATE = 20.0  # of the unit of time: the default damping in SI units
_SAMPLES = 64  # configurations of which the largest gravity forces are taken


class WholeBodyAnswer(NamedTuple):
    """Result of `WholeBody.answer`: ``tau`` and ``acceleration`` (..., nv), and diagnostics of the solver.

    ``contact_forces`` (..., n, 3) [N] act on the robot, in the world.  ``found`` (...) is 1 where the solver converged
    and all limits hold.  ``rounds`` (...) is the number of iterations.
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
    """Whole-body control: a quadratic program in accelerations and contact forces, within contacts and motor limits.

    ``tasks`` are those of inverse kinematics (`linkwork.ik`), with desired accelerations a* = a_d + k_d (v_d − J v) −
    k_p e.  ``stiffness`` k_p [1/s²] and ``damping`` k_d [1/s] (default: critical) are numbers, or dicts by task.  Tasks
    of one ``level`` are weighted by the square of their ``weight`` (default 1), in angles and half characteristic
    lengths.  A later level is optimised within the optima of the earlier ones.

    ``contacts``, a `linkwork.simulation.ContactGround`, are the contact points.  They do not move (slip decays with
    ``contact_damping`` [1/s]), and their forces are within a pyramid inside Coulomb's cone.  All are in contact, unless
    the input ``contact`` (n) is given; then those with a value above ½ are.  Motor forces are within ``effort_limits``
    (default: the robot's own).  Joints come to rest at position limits with the time constant ``horizon`` [s], and
    earlier if motors need more time to brake.  Positions and velocities stay within limits for steps of up to half the
    ``horizon``.  In simulations where accelerations vary within a step, by ``control_every`` or another method than the
    default one, a second program leaves room for the changes.  Motor limits take precedence over these.
    Damping and friction of joints count as at the end of a step of ``dt`` [s], by the implicit law of the default
    method of `simulate`.  None is the step of a simulation; in other calls, they are those at the measured velocity.
    ``actuators`` names the joints that exert forces (default: all but those of six degrees of freedom).  Forces that
    close loops are unknowns of the program.  ``regularization`` are the weights of ‖a + k v‖² and of squared contact
    forces, in angles and characteristic lengths L.  The largest damping k of the tasks so damps motions that no task
    controls.  Forces are divided by the robot's mass and L.

    If the constraints are inconsistent, their violation is minimised; `answer` reports it by ``found`` = 0.

    Sources: Herzog and others, Autonomous Robots 40, 2016; Escande, Mansard and Wieber, Int. J. Robotics Research
    33(7), 2014.

    ``passive`` includes springs, dampers and friction of joints in the dynamics.

    >>> import numpy as np
    >>> import linkwork as lw
    >>> arm = lw.load("double_pendulum")
    >>> law = lw.control.WholeBody(arm, lw.ik.PostureTask(), stiffness=25.0)
    >>> q, v = np.array([0.3, -0.2]), np.array([0.1, 0.2])
    >>> answer = law.answer(0.0, q, v, posture_q=np.zeros(2))
    >>> bool(np.allclose(answer.acceleration, -25.0 * q - 10.0 * v, atol=0.1)), float(answer.found)
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
        passive: bool = True,
        dt: float | None = None,
    ) -> None:
        super().__init__(robot, tasks, stiffness, damping, actuators, effort_limits)
        self.dt = 0.0 if dt is None else positive(self.caller, "dt", dt, unit="s", symbols=False)
        self.step, self._stepped = self.dt, dict[tuple[float, int], WholeBody]()
        self.inner = 1  # steps of constant accelerations within a step, 0 if they vary continuously
        if contacts is not None and not isinstance(contacts, ContactGround):
            raise TypeError(f"{self.caller}: contacts: expected linkwork.simulation.ContactGround, got {contacts!r}")
        if contacts is not None:
            contacts.checked(robot)
        self.contacts, self.passive = contacts, bool(passive)
        self.contact_damping = float(read_nonnegative(self.caller, "contact_damping", contact_damping, [()], "1/s"))
        self.horizon = positive(self.caller, "horizon", horizon, unit="s", symbols=False)
        if not isinstance(regularization, (tuple, list, np.ndarray)) or np.shape(regularization) != (2,):
            raise ValueError(f"{self.caller}: regularization: expected two positive numbers, got {regularization!r}")
        self.regularization = (
            positive(self.caller, "regularization[0]", regularization[0], unit="1", symbols=False),
            positive(self.caller, "regularization[1]", regularization[1], unit="1", symbols=False),
        )
        levels = sorted({task.level for task in self.tasks})
        self.levels = [[task for task in self.tasks if task.level == level] for level in levels]
        configurations = list(robot.random_configuration(seed=0, size=_SAMPLES).T)
        forces = gravity_force(robot.tree, configurations, passive=self.passive)
        self._gravity = [float(np.abs(x).max()) for x in forces]
        self._answers: dict[Any, Kernel] = {}
        tree = robot.tree
        self._rate = rate = (
            max(self.damping.values()) or 2.0 * math.sqrt(max(self.stiffness.values())) or _RATE / self.horizon
        )
        mass = sum(body.inertia.mass for body in tree.bodies) or 1.0
        self._units = BodyUnits(_RATE / rate, mass, characteristic_length(tree), unit_steps(tree))

    @property
    def input_shapes(self) -> Shapes:
        if self.contacts is None:
            return super().input_shapes
        return {**super().input_shapes, "contact": (len(self.contacts.points),)}

    def forces(self, t: Any, q: Any, v: Any, z: Any, inputs: Mapping[str, Any]) -> tuple[Any, Any]:
        return self._solve(t, q, v, inputs).tau, None

    @public
    def answer(self, t: Any, q: Any, v: Any, **inputs: Any) -> WholeBodyAnswer:
        """Return forces, accelerations, contact forces and solver diagnostics, for one state or a batch.

        t [s] is the time, and q (..., nq), v (..., nv) are the state.  ``inputs`` are those of a call.
        """
        shapes = self._read_inputs(inputs)
        kernel = self._answers.get(tuple(shapes))
        if kernel is None:

            def solve(*, t: Any, q: Any, v: Any, **symbols: Any) -> Any:
                result = self._solve(t, q, v, symbols)
                axes = [] if self.contacts is None else self.contacts.axes()
                world_forces = [[dot(column, f) for column in zip(*axes, strict=True)] for f in result.contacts]
                outputs = {"tau": array(result.tau), "acceleration": array(result.acceleration)}
                if world_forces:
                    outputs["contact_forces"] = array(world_forces)
                return {**outputs, "found": result.solved, "rounds": result.rounds}

            sizes = {"t": (), "q": (self.robot.nq,), "v": (self.robot.nv,)}
            kernel = self._answers[tuple(shapes)] = compile(solve, name=f"{self.caller}_answer", **sizes, **shapes)
        result = checked_call(f"{self.caller}.answer", kernel, {"t": t, "q": q, "v": v, **inputs})
        forces = getattr(result, "contact_forces", np.zeros((*result.tau.shape[:-1], 0, 3)))
        return WholeBodyAnswer(result.tau, result.acceleration, forces, result.found, result.rounds)

    def _solve(self, t: Any, q: Any, v: Any, inputs: Mapping[str, Any]) -> BodyForces:
        """Return forces and accelerations for one state of symbols, by the quadratic programs of all levels."""
        robot, nv = self.robot, self.robot.nv
        q, v = array(list(q)), array(list(v))
        h = self._required_forces(q, v, [0.0] * nv)
        acting = set(self.acting.tolist())
        G: list[Any] = []
        gamma: list[Any] = []
        if robot.constraints:
            timed = self._timed(t)
            units = [self._units.length if x == "m" else 1.0 for c in robot.constraints for x in c.row_units]
            rows = zip(robot.constraint_jacobian(q, **timed), units, strict=True)
            G = [[x if is_zero(x) else x / unit for x in row] for row, unit in rows]
            gamma = [x / unit for x, unit in zip(robot.constraint_bias(q, v, **timed), units, strict=True)]
        limits = [float(b) if k in acting else 0.0 for k, b in enumerate(self.effort_limits)]
        free = [-self._rate * x for x in v]
        dynamics = BodyDynamics(self._inertia(list(q), list(v)), h, limits, G, gamma, free)
        levels = []
        for tasks in self.levels:
            stack, motion, accelerations = self._motions(q, v, tasks, inputs)
            active = [k for k, tolerance in enumerate(stack.tolerances) if tolerance < np.inf]
            weights = [1.0 if hard else w * w for hard, w in zip(stack.hard, stack.weights, strict=True)]
            scales = stack.scales
            levels.append(
                LevelRows(
                    [[x if is_zero(x) else scales[k] * x for x in motion.rows[k]] for k in active],
                    [scales[k] * (accelerations[k] - motion.drifts[k]) for k in active],
                    [weights[k] for k in active],
                )
            )
        braking = braking_limits(dynamics, self._gravity)
        contacts = self._body_contacts(q, v, inputs)
        errors = [*map(self._units.error, self._units.steps)]

        def solved(dynamics: BodyDynamics, changes: Changes | None = None) -> BodyForces:
            box = self._limits(braking).acceleration_box(robot.tree, list(q), list(v), self.horizon, errors, changes)
            ranges = self._ranges(list(q), list(v), braking, changes)
            return body_forces(dynamics, contacts, levels, box, self.regularization, self._units, ranges)

        result = solved(dynamics)
        if self.inner == 1 or not self.step:
            return result
        change, mean = self._changes(q, v, result.acceleration, dynamics)
        return solved(replace(dynamics, h=mean), Changes(change, self.step))

    def _changes(self, q: Any, v: Any, a: Sequence[Any], dynamics: BodyDynamics) -> tuple[list[Any], list[Any]]:
        """Return changes (nv) of the accelerations a within the step, and forces h such that M a + h is the mean force.

        They follow from forces at the beginning, middle and end of a motion with constant a, by Simpson's rule. Passive
        forces of joints that close loops are left out. Simulation steps within the controller's step evaluate passive
        forces at their ends, and other forces at their beginnings.
        """
        robot, passive, a = self.robot, self.passive and not self._has_resisting_loops, list(a)
        rows, shift = range(robot.nv), 0.5 * self.step / self.inner if self.inner else 0.0

        def state(t: float) -> tuple[Any, Any]:
            moved = array([t * (x + (0.5 * t + shift) * y) for x, y in zip(v, a, strict=True)])
            return robot.integrate(q, moved), array([x + t * y for x, y in zip(v, a, strict=True)])

        def forces(t: float) -> list[Any]:
            result = list(robot.inverse_dynamics(*state(t - shift), array(a), passive=passive))
            if passive and shift:
                ends = (state(x) for x in (t - shift, t + shift))
                before, after = (added_force(robot.tree, list(q), list(v)) for q, v in ends)
                result = [x + y - z for x, y, z in zip(result, before, after, strict=True)]
            return result

        begin = list(robot.inverse_dynamics(q, v, array(a), passive=passive))
        first, middle, last = (forces(t * self.step) for t in (0.0, 0.5, 1.0))
        M = [[dynamics.M[max(i, j)][min(i, j)] for j in rows] for i in rows]
        change = solve(array(M), array([y - x for x, y in zip(first, last, strict=True)]), assume="pos")
        mean = [
            h + (x + 4.0 * y + z) / 6.0 - start
            for h, x, y, z, start in zip(dynamics.h, first, middle, last, begin, strict=True)
        ]
        if passive:  # the damping of M a counts in these forces
            plain = robot.mass_matrix(q, passive=True)
            mean = [x - dot([m - plain[i, j] for j, m in enumerate(M[i])], a) for i, x in enumerate(mean)]
        return [fabs(x) for x in change], mean

    def _inertia(self, q: list[Any], v: list[Any]) -> list[list[Any]]:
        """Return the lower triangle of M plus the implicit damping of a step: M a + h then are forces at its end."""
        robot, n = self.robot, self.robot.nv
        M = robot.mass_matrix(array(q), passive=self.passive)
        rows = [[M[i, j] for j in range(i + 1)] for i in range(n)]
        if not (self.passive and self.step):
            return rows
        bounds = IndependentInertias((0.0,) * n, {})
        if has_friction(robot.tree, DEFAULT):
            bounds = independent_inertias(robot)
        resistance = PassiveResistance(robot.tree, self.step, True, DEFAULT, [0.0] * n, {}, *bounds)
        diagonal, further = resistance.semi_implicit(q, v)[0]
        for row, c in [*zip(unit_vectors(n), diagonal or [], strict=False), *further]:
            for j, i in itertools.combinations_with_replacement(range(n), 2):
                if not (is_zero(row[i]) or is_zero(row[j]) or is_zero(c)):
                    rows[i][j] = rows[i][j] + c * row[i] * row[j]
        return rows

    def _with_step(self, h: float, inner: int) -> WholeBody:
        """Return this controller for a simulation with steps of ``h`` [s]; a controller with its own ``dt`` keeps it.

        The simulation divides a step into ``inner`` steps with constant accelerations, or 0 if accelerations vary
        continuously.
        """
        h = self.step or h
        if (h, inner) == (self.step, self.inner):
            return self
        if (h, inner) not in self._stepped:
            self._stepped[h, inner] = result = copy(self)
            result.step, result.inner, result._stepped, result._kernels, result._answers = h, inner, {}, {}, {}
        return self._stepped[h, inner]

    def _ranges(
        self, q: list[Any], v: list[Any], braking: Sequence[Any], changes: Changes | None
    ) -> list[tuple[Sequence[Any], Any, Any, float]]:
        """Return tuples (row r, lower, upper, unit): bounds of r·a, where r·v is the rate of a limited quantity.

        These are limits of quantities that are not elements of q and v, such as those of loop joints; ``unit`` is that
        of the quantity. Braking is possible if all joints together decelerate r·v along r, each by at most its entry of
        ``braking``.
        """
        tree, inf = self.robot.tree, float("inf")
        coordinates, speeds = [c for c in limited_coordinates(tree) if c.v is None], loop_speeds(tree)

        def rates(q: Sequence[Any]) -> list[tuple[Any, list[Any]]]:
            state = KinematicState(tree, q)
            return [*(c.rate(state) for c in coordinates), *((0.0, s.row(state)) for s in speeds)]

        if not coordinates and not speeds:
            return []
        drifts = drift_along(tree, lambda q: [row for _, row in rates(q)], q, v)
        ends = [*((c.lower, c.upper, inf) for c in coordinates), *((-inf, inf, s.bound) for s in speeds)]
        names = [*(c.unit for c in coordinates), *(s.loop.joint.v_units[s.index] for s in speeds)]
        units = [self._units.length if name.startswith("m") else 1.0 for name in names]
        result: list[tuple[Sequence[Any], Any, Any, float]] = []
        for (x, row), limits, drift, unit in zip(rates(q), ends, drifts, units, strict=True):
            (lower, upper, speed), most = limits, most_along(row, braking)
            room = (0.0, 0.0) if changes is None else changes.along(row, self.horizon)
            ends_of_range = acceleration_range(
                x, lower, upper, dot(row, v), most, speed, self.horizon, self._units.error(unit), room
            )
            result.append((row, *(x if is_infinite(x) else x - drift for x in ends_of_range), unit))
        return result

    def _limits(self, braking: Sequence[Any]) -> MotionLimits:
        """Return the robot's limits of positions and velocities, with the decelerations ``braking`` (nv)."""
        lower, upper, velocity = (
            [float(x) for x in each] for each in (self.robot.lower, self.robot.upper, self.robot.velocity_limits)
        )
        finite = frozenset(k for k, (a, b) in enumerate(zip(lower, upper, strict=True)) if np.isfinite([a, b]).any())
        fastest = frozenset(k for k, x in enumerate(velocity) if np.isfinite(x))
        return MotionLimits(lower, upper, velocity, braking, finite, fastest, frozenset())

    def _body_contacts(self, q: Any, v: Any, inputs: Mapping[str, Any]) -> list[BodyContact]:
        if self.contacts is None:
            return []
        ground, robot, result = self.contacts, self.robot, []

        def contacts_at(q: Any) -> list[Any]:
            configuration = array(list(q))
            return [point.at(robot, configuration) for point in ground.candidates(robot, configuration)]

        def rows(q: Any) -> list[list[Any]]:
            return [row for contact in contacts_at(q) for row in contact.J]

        contacts, screws = contacts_at(q), self._screws(q)
        drifts = drift_along(robot.tree, rows, list(q), list(v))
        for k, contact in enumerate(contacts):
            accelerations = [
                -drift - self.contact_damping * dot(row, v)
                for row, drift in zip(contact.J, drifts[3 * k : 3 * k + 3], strict=True)
            ]
            on = where(lt(0.5, inputs["contact"][k]), 1.0, 0.0) if "contact" in inputs else 1.0
            body = robot.tree.frame(ground.points[k].frame).body
            result.append(BodyContact(contact.J, accelerations, float(contact.friction), on, body, screws[k]))
        return result

    def _screws(self, q: Any) -> list[list[list[Any]]]:
        """Return for each contact the matrix (3 × 6) from its body's twist to the contact's velocity [m/s].

        The twist is about the mean of the body's contacts. Angular velocities are multiplied by the extent of the
        body's contacts, so all six components are velocities [m/s].
        """
        ground: Any = self.contacts
        robot = self.robot
        bodies = [robot.tree.frame(point.frame).body for point in ground.points]
        extent = dict.fromkeys(bodies, 0.0)
        neutral = self._positions(robot.neutral())
        center = dict.fromkeys(bodies, Vec3(0.0, 0.0, 0.0))
        for body, at in zip(bodies, neutral, strict=True):
            first = np.array([*neutral[bodies.index(body)]], dtype=float)
            extent[body] = max(extent[body], 0.5 * float(np.linalg.norm(np.array([*at], dtype=float) - first)))
        positions = self._positions(q)
        for body, at in zip(bodies, positions, strict=True):
            center[body] = center[body] + at * (1.0 / bodies.count(body))
        result = []
        for body, at in zip(bodies, positions, strict=True):
            arm, per = at - center[body], 1.0 / extent[body] if extent[body] > 0.0 else 1.0
            moments = [arm.cross(Vec3.of(axis)) * per for axis in ground.axes()]
            result.append([[*moment, *axis] for moment, axis in zip(moments, ground.axes(), strict=True)])
        return result

    def _positions(self, q: Any) -> list[Vec3]:
        """Return the position of each contact point in the world, at q (nq), symbols or floats."""
        points = self.contacts.candidates(self.robot, q)  # type: ignore[union-attr]
        return [frame_pose(self.robot, q, point.second).translation + point.arms[1] for point in points]

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "_answers": {}, "_stepped": {}}
