"""Equations of a simulated robot for the methods of simulation, on symbols."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from linkwork.dynamics.algorithms.coulomb_friction import dry_parameters
from linkwork.dynamics.algorithms.force_element_forces import element_rows
from linkwork.dynamics.algorithms.mass_matrix_inverse import FactoredInverse
from linkwork.dynamics.algorithms.passive_joint_forces import gyroscopic_force, passive_force
from linkwork.dynamics.singular_inertia import SINGULAR_INERTIA
from linkwork.expr.arrays.symbol_array import array
from linkwork.expr.linalg.sparse_dot import dot, is_zero
from linkwork.expr.scalar.functions import fabs, lt, where
from linkwork.kernels.function_request import read_request
from linkwork.mechanisms.algorithms.loop_joint_functions import with_loop_forces
from linkwork.model.friction_laws import DEFAULT, NO_FRICTION, DryFriction, FrictionLaw, friction_law
from linkwork.model.kernel_parameters import Parameter
from linkwork.simulation.algorithms import METHODS, MotionSystem
from linkwork.simulation.algorithms.contact.contact_step import contact_velocities
from linkwork.simulation.algorithms.discrete_mechanics import DiscreteMechanics, with_resistance
from linkwork.simulation.algorithms.free_body import flown, pushed_rates, rotor_force
from linkwork.simulation.algorithms.inertial_forces import added_by_spins, coasted, rotates_freely, spin_solve
from linkwork.simulation.algorithms.ode_system import ElementResistance, StepForces
from linkwork.simulation.algorithms.step_constraints import allowed_velocity, is_near_singular
from linkwork.simulation.contacts.contact_set import ContactSet, in_world
from linkwork.simulation.contacts.penetration_depth import rigid_gaps
from linkwork.simulation.joint_limits import JointStops, dry_joints, joint_limits, loop_intervals, servo_intervals
from linkwork.simulation.rollout.spring_steps import element_shares, implicit_shares, independent_inertias
from linkwork.simulation.servo_actuators import ServoForces
from linkwork.simulation.simulation_spec import SimulationSetup, moving_robot

__all__ = ["SimulatedDynamics"]

Scalars = Sequence[Any]


@dataclass(frozen=True)
class SimulatedDynamics:
    """Equations of motion of a simulated robot, for a method with steps of h [s].

    ``parameters`` replace the robot's own, by name.
    """

    robot: Any
    parameters: Mapping[str, Any]
    method: str
    passive: bool
    h: Any
    contacts: ContactSet | None = None
    closely: bool = False  # solve for slips to rounding, for derivatives
    limits: str | JointStops | None = None
    wrenches: tuple[tuple[str, str, Any], ...] = ()  # external wrenches: frame, axes, (moment; force)
    friction: str | FrictionLaw = DEFAULT.name  # law of dry friction in joints
    servos: ServoForces | None = None  # whose damping is that of the step's end, and whose forces are in τ

    @classmethod
    def of(cls, setup: SimulationSetup, parameters: Any, h: Any, closely: bool = False) -> SimulatedDynamics:
        """Return the dynamics of a simulation, with its parameters' values and steps of h [s].

        With ``closely``, each step is solved to rounding, so that derivatives are accurate.
        """
        return cls(
            setup.robot,
            setup.own(parameters),
            setup.method,
            setup.passive,
            h,
            setup.touched(parameters) if setup.is_compliant else None,
            closely,
            limits=setup.limits,
            friction=setup.friction,
        )

    @property
    def law(self) -> FrictionLaw:
        """Law of dry friction in joints."""
        return friction_law(self.friction)

    @property
    def sticks(self) -> bool:
        """True if the joints have a law of dry friction that sticks, whose forces the step's program solves for."""
        return self.passive and self.law.sticks

    @property
    def moving(self) -> Any:
        """The robot with the parameter values of the simulation."""
        return moving_robot(self.robot, self.parameters)

    def system(self, tau: Scalars) -> MotionSystem:
        """Return the equations of motion under constant joint forces τ (nv).

        They include passive forces and compliant contacts.
        """
        moving, method = self.moving, METHODS[self.method]
        acting = {"passive": self.passive, "friction": self.friction}

        def pushed(q: Scalars, v: Scalars, tau: Scalars = tau) -> Any:
            result = self._stopped(tau, q, v)
            if self.contacts is None:
                return array(result)
            more, _ = self.contacts.compliant(moving, array(list(q)), v)
            return array([a + b for a, b in zip(result, more, strict=True)])

        timed = any(constraint.time_dependent for constraint in self.robot.constraints)

        def acceleration(t: Any, q: Scalars, v: Scalars) -> Scalars:
            state = array(list(q)), array(list(v)), pushed(q, v)
            if timed:
                return list(moving.constrained_forward_dynamics(*state, time=t, **acting)[0])
            return list(moving.forward_dynamics(*state, **acting))

        def imbalance(t: Any, q: Scalars, v: Scalars, a: Scalars) -> Scalars:
            needed = moving.inverse_dynamics(array(list(q)), array(list(v)), array(list(a)), **acting)
            return [x - y for x, y in zip(needed, pushed(q, v), strict=True)]

        if method.by_action:
            return self._by_action(moving, acceleration, pushed)
        if method.damped_within and self.robot.constraints:
            return self._by_rattle(moving, acceleration, tau, pushed)
        if not method.damped_within:
            by_forces = method.by_forces and not self.robot.constraints  # their forces are part of accelerations
            if method.adaptive and self.robot.constraints:
                mechanics = DiscreteMechanics(moving.tree, self.passive)
                near = partial(is_near_singular, mechanics)
                return MotionSystem(self.robot.tree, acceleration, projected=self.projected, is_near_singular=near)
            return MotionSystem(self.robot.tree, acceleration, imbalance if by_forces else None)
        if self.robot.tree.has_couplings:
            return MotionSystem(self.robot.tree, self._with_spins(moving, acceleration))
        flying = partial(flown, moving.tree, flying=not method.as_mujoco, armature=self.passive)
        return MotionSystem(self.robot.tree, self._damped(moving, pushed), flown=flying)

    @property
    def spins(self) -> bool:
        """True if a step has Kahan's rule for inertial forces (`inertial_forces`)."""
        return not METHODS[self.method].as_mujoco and rotates_freely(self.robot.tree)

    def _with_spins(self, moving: Any, acceleration: Callable[..., Scalars]) -> Callable[..., Scalars]:
        """Return an acceleration function with Kahan's rule for inertial forces, of one that has not."""
        if not self.spins:
            return acceleration

        def implicit(t: Any, q: Scalars, v: Scalars) -> Scalars:
            M = [list(row) for row in moving.mass_matrix(array(list(q)), passive=self.passive)]
            a = acceleration(t, q, v)
            added = added_by_spins(moving, q, v, self.h, flown=False, armature=self.passive)
            return spin_solve(moving.tree, M, added, [dot(row, list(a)) for row in M])

        return implicit

    def driven_by(self, servos: ServoForces, q: Scalars, v: Scalars) -> tuple[SimulatedDynamics, list[Any]]:
        """Return the dynamics of a step of MuJoCo's integrators with servos, and their joint forces (nv) at its start.

        Servos whose forces are at their limits do not resist the step's change of velocity.
        """
        tau = servos.now(self.robot, q, v)
        if not METHODS[self.method].servos_within:
            return self, tau
        each = zip(tau, servos.damping, servos.limit, strict=True)
        damping = [0.0 if is_zero(d) else where(lt(fabs(f), most), d, 0.0) for f, d, most in each]
        return replace(self, servos=replace(servos, damping=damping)), tau

    def _stopped(self, tau: Scalars, q: Scalars, v: Scalars) -> list[Any]:
        """Return the joint forces τ (nv) plus those of external wrenches and of compliant stops."""
        result = list(tau)
        if self.wrenches:
            acting = {frame: array(list(w)) for frame, _, w in self.wrenches}
            axes = {frame: expressed_in for frame, expressed_in, _ in self.wrenches}
            pushed = self.moving.static_torque(array(list(q)), wrenches=acting, expressed_in=axes)
            result = [a if is_zero(b) else a + b for a, b in zip(result, pushed, strict=True)]
        if not isinstance(self.limits, JointStops):
            return result
        stops = self.limits.forces(self.robot, self.passive, q, v, self.parameters)
        return [a if is_zero(b) else a + b for a, b in zip(result, stops, strict=True)]

    def projected(self, t: Any, q: Scalars, v: Scalars) -> tuple[list[Any], list[Any]]:
        """Return the nearest state that satisfies the constraints, the state itself without constraints."""
        method = METHODS[self.method]
        if not self.robot.constraints or method.by_action or method.damped_within:  # their steps end there
            return list(q), list(v)
        moving = self.moving
        timed = {"time": t}
        at = moving.project_configuration(array(list(q)), **timed)[0]
        return list(at), list(moving.project_velocity(at, array(list(v)), **timed))

    def _damped(self, moving: Any, pushed: Callable[..., Any]) -> Any:
        """Return the function v̇(t, q, v) of a semi-implicit step, with damping D evaluated at the step's end.

            (M + h D + h² K (1 + 3 g)/4) v̇ = τ + τ_p − b − g h K v.

        τ_p are the passive forces, and g are the implicit shares of the springs K (`spring_steps`).  MuJoCo's
        integrators are (M + h D) v̇ = τ + τ_p − b, where D may include the damping of servos.  Passive forces of
        a joint depend on that joint only, so D and K are on the diagonal, like armature.
        """
        still = array([0.0] * self.robot.nv)
        I = self._of_joints("armature") if self.passive else list(still)
        without = dict.fromkeys(("damping", "friction", "stiffness"), still)
        others = {key: x for key, x in self.parameters.items() if key.partition(":")[0] not in (*without, "armature")}

        def acceleration(t: Any, q: Scalars, v: Scalars) -> Scalars:
            flying = not METHODS[self.method].as_mujoco
            at, held, rates = array(list(q)), pushed(q, v), array(pushed_rates(moving.tree, v, flying, self.passive))
            added = added_by_spins(moving, at, rates, self.h, armature=self.passive) if self.spins else None
            if not self.passive and self.servos is None:
                if added is None:
                    return list(moving.forward_dynamics(at, rates, held))
                self._refuse_singular(moving)
                M = [list(row) for row in moving.mass_matrix(at)]
                return spin_solve(moving.tree, M, added, list(held - moving.bias_force(at, rates)))
            extra, own, rows = self._resisting(moving, at, array(list(v)))
            heavier = array([a + b for a, b in zip(I, extra, strict=True)])
            forces = array(self._less_rotors([a + b for a, b in zip(held, own, strict=True)], q, v))
            joints = self.robot.without_force_elements() if self.robot.force_elements else self.robot
            alone = joints.with_parameters(
                {**others, **without, "armature": heavier}
            )  # other passive forces are in own
            if not rows and added is None:
                again = gyroscopic_force(alone.tree, list(at), list(rates))  # of armature and resistance
                forces = array([a if is_zero(b) else a + b for a, b in zip(forces, again, strict=True)])
                return list(alone.forward_dynamics(at, rates, forces, passive=True))
            self._refuse_singular(moving, extra, rows)
            M = with_resistance([list(row) for row in alone.mass_matrix(at, passive=True)], rows)
            accelerating = list(forces - alone.bias_force(at, rates))
            if added is None:
                return FactoredInverse.of(moving.tree, M).applied(accelerating)
            return spin_solve(moving.tree, M, added, accelerating)

        return acceleration

    def _refuse_singular(self, moving: Any, extra: Scalars = (), rows: Sequence[Any] = ()) -> None:
        """Raise SingularInertiaError if M is singular everywhere for joints without the resistance ``extra`` (nv)."""
        if not rows:
            tree = self.robot.tree
            resisted = [x.joint_name for i, x in tree.stacked() if not all(map(is_zero, extra[tree.v_slices[i]]))]
            options = {"joints": tuple(resisted), "passive": self.passive}
            SINGULAR_INERTIA.refuse(moving._subject, read_request(moving._subject, ("hybrid_dynamics", options)))

    def _element_resistance(self, tree: Any, damped_after: bool) -> ElementResistance | None:
        """Return the resistance of force elements in a step, with springs by the midpoint rule; None without elements.

        Dampers follow the midpoint rule as well, or with ``damped_after`` act with the velocity at the step's end.
        """
        if not (self.passive and self.robot.force_elements):
            return None
        h, shares = self.h, element_shares(self.robot, self.h)

        def rows(q: Scalars, part: Callable[[Any, Any, Any], Any]) -> list[tuple[Scalars, Any]]:
            each = [(row, part(k, c, shares[n])) for row, n, k, c in element_rows(tree, q)]
            return [(row, c) for row, c in each if not is_zero(c)]

        def within(q: Scalars) -> list[tuple[Scalars, Any]]:
            return rows(q, lambda k, c, g: h * (0.25 * h * (k + g * k) + (0.0 if damped_after else 0.5 * c)))

        def settling(q: Scalars) -> list[tuple[Scalars, Any]]:
            return rows(q, lambda k, c, g: h * h * (g * k))

        def after(q: Scalars) -> list[tuple[Scalars, Any]]:
            return rows(q, lambda k, c, g: h * ((c if damped_after else 0.0) + h * (g * k)))

        return ElementResistance(within, settling, after)

    def _slopes(self, v: Scalars) -> list[tuple[Any, Any, Any]]:
        """Return (D + s, s, F) for each velocity: damping D, the implicit damping s of dry friction, and its force F.

        Where dry friction sticks, the program of the step has it instead, and s and F are zero here.
        """
        slopes: list[tuple[Any, Any, Any]] = []
        dissipates = self.passive and not self.sticks and self._slides
        inertias = independent_inertias(self.robot, self.parameters) if dissipates else [0.0] * self.robot.nv
        each = zip(v, self._of_joints("damping"), self._dry_friction, inertias, strict=True)
        for x, d, dry, m in each:
            if self.sticks or self.law.vanishes(dry):
                slopes.append((d, 0.0, 0.0))
            else:
                slope = self.law.implicit_damping(x, dry, m / self.h)
                slopes.append((d + slope, slope, self.law.resistance(x, dry)))
        return slopes

    @property
    def _dry_friction(self) -> list[DryFriction]:
        """Parameters of dry friction by velocity (nv)."""
        return dry_parameters(self.moving.tree)

    @property
    def _slides(self) -> bool:
        """True if some joint has dry friction."""
        return not all(map(self.law.vanishes, self._dry_friction))

    def _resisting(self, moving: Any, q: Any, v: Any) -> tuple[list[Any], list[Any], list[tuple[Scalars, Any]]]:
        """Return h D + h² K (1 + 3 g)/4 (nv), passive forces τ_p − g h K v (nv), and rows of force elements.

        D includes the implicit damping of dry friction.  The rows in which force elements resist have h c + h² g k: the
        force of their springs at the step's start is symplectic already, and their stiffness only counts if they are
        too stiff for the step.
        """
        K = self._of_joints("stiffness")
        if METHODS[self.method].as_mujoco:
            none = [0.0] * self.robot.nv
            damping = self._of_joints("damping") if self.passive else none
            driven = none if self.servos is None else self.servos.damping
            extra = [self.h * (a + b) for a, b in zip(damping, driven, strict=True)]
            return extra, passive_force(moving.tree, q, v, self.law) if self.passive else none, []
        slopes = [slope for slope, _, _ in self._slopes(v)]
        shares = implicit_shares(self.robot, K, self.h)
        extra = [
            self.h * (d + self.h * (k * (0.25 + 0.75 * g))) if not is_zero(k) else self.h * d
            for d, k, g in zip(slopes, K, shares, strict=True)
        ]
        own = passive_force(moving.tree, q, v, NO_FRICTION if self.sticks else self.law)
        each = zip(own, K, shares, v, strict=True)
        own = [a - self.h * (g * k) * x if not (is_zero(g) or is_zero(k)) else a for a, k, g, x in each]
        if not self.robot.force_elements:
            return extra, own, []
        shares = element_shares(self.robot, self.h)
        rows: list[tuple[Scalars, Any]] = []
        for row, n, k, c in element_rows(moving.tree, list(q)):
            stiff = self.h * (shares[n] * k)
            if is_zero(stiff) and is_zero(c):
                continue
            rows.append((row, self.h * (c + stiff)))
            rate = stiff * dot(row, list(v))
            own = [a if is_zero(r) else a - rate * r for a, r in zip(own, row, strict=True)]
        return extra, own, rows

    def _less_rotors(self, forces: Scalars, q: Scalars, v: Scalars) -> list[Any]:
        """Return forces (nv) less the gyroscopic forces of armature."""
        if not self.passive:
            return list(forces)
        rotors = rotor_force(self.moving.tree, q, v, not METHODS[self.method].as_mujoco)
        return [a if is_zero(b) else a - b for a, b in zip(forces, rotors, strict=True)]

    def touching(
        self, contacts: ContactSet | None, t: Any, q: Scalars, v: Scalars, tau: Scalars | ServoForces
    ) -> tuple[list[Any], list[Any], list[Any], Any, Any, Any, list[Any]]:
        """Return the result of a step that solves one program, with contacts, joint limits, servos and constraints.

        The program also has dry friction that sticks.  The result is q, v, the joint forces, each point's force in the
        world's axes (points, 3), the residual, the forces of the rows of constraints (nc), and the gaps [m] of
        contacts at the start of the step, inf for soft ones.
        """
        moving, h = self.moving, self.h
        at, rates, n = array(list(q)), array(pushed_rates(moving.tree, v, armature=self.passive)), self.robot.nv
        M = moving.mass_matrix(at, passive=self.passive)
        A = [[M[i, j] for j in range(i + 1)] for i in range(n)]
        servos = tau if isinstance(tau, ServoForces) else None
        given = [0.0] * n if isinstance(tau, ServoForces) else list(tau)
        extra, armature, pushed = [0.0] * n, [0.0] * n, self._stopped(given, q, v)
        rows: list[tuple[Scalars, Any]] = []
        loops = DEFAULT if self.sticks else self.law  # no row of the program is of a loop's dry friction
        pushed = with_loop_forces(moving.tree, q, v, pushed, None, self.passive, loops)
        if self.passive:
            armature = self._of_joints("armature")
            extra, own, rows = self._resisting(moving, at, array(list(v)))
            for k in range(n):
                A[k][k] = A[k][k] + extra[k]
            A = with_resistance(A, rows)
            pushed = [a + b for a, b in zip(pushed, own, strict=True)]
        if not self.robot.constraints:  # constraints may hold what moves no inertia
            self._refuse_singular(moving, extra, rows)
        pushed = self._less_rotors(pushed, q, v)
        if self.spins and not self.robot.constraints:  # rows of these prescribe velocities with b of the step's start
            if self.passive:
                coasting = gyroscopic_force(moving.tree, q, list(rates))
                pushed = [a if is_zero(b) else a + b for a, b in zip(pushed, coasting, strict=True)]
            v, rates = coasted(moving, A, q, v, rates, h, self.passive), array([0.0] * n)
        forces = [a - b for a, b in zip(pushed, moving.bias_force(at, rates), strict=True)]
        intervals = [] if servos is None else servo_intervals(moving, servos, A, q, h)
        driven = [one.row.index(1.0) for one in intervals]
        if self.limits is None or self.limits == "held":
            intervals += joint_limits(moving, A, q, h)
        closing, before = loop_intervals(moving, A, t, q, v, h), len(intervals)
        intervals += [interval for one in closing for interval in one.intervals]
        if self.sticks:
            intervals += dry_joints(moving.tree, self.law, A, v, h)
        candidates = [] if contacts is None else contacts.candidates(moving, at)
        touching = [candidate.at(moving, at) for candidate in candidates]

        def change(w: Scalars) -> list[Any]:
            """Return A (w − v) − p by inverse dynamics, whose derivative costs less than that of the mass matrix."""
            apart = [x - y for x, y in zip(w, v, strict=True)]
            moved = moving.inverse_dynamics(at, rates, array([x / h for x in apart]))
            more = [m + e for m, e in zip(armature, extra, strict=True)]
            each = zip(moved, more, apart, pushed, strict=True)
            result = [h * (f - p) + m * x for f, m, x, p in each]
            for row, c in rows:
                push = c * dot(row, apart)
                result = [a if is_zero(r) else a + push * r for a, r in zip(result, row, strict=True)]
            return result

        push = [h * f for f in forces]
        result = contact_velocities(A, v, push, touching, intervals, h, change, self.closely)
        w = [where(lt(result.residual, 1.0), x, math.inf) for x in result.v]  # an unsolved step becomes non-finite
        per = 1.0 / h
        for k, impulse in zip(driven, result.pushes, strict=False):
            given[k] = impulse / h  # the exact quotient, so forces are within their limits to the bit
        pressed = [
            in_world(candidate.axes, [x * per for x in gamma])
            for candidate, gamma in zip(candidates, result.impulses, strict=True)
        ]
        pulls = iter(result.pushes[before:])
        held = [x * per for one in closing for x in one.impulses([next(pulls) for _ in one.intervals])]
        end = flown(moving.tree, q, w, h, armature=self.passive)
        if self.robot.constraints:
            rates, impulses = allowed_velocity(DiscreteMechanics(moving.tree, self.passive), t + h, *end)
            held = [a + b * per for a, b in zip(held, impulses, strict=True)]
            end = end[0], rates
        pressed_by = array(pressed) if pressed else ()
        return *end, given, pressed_by, result.residual, array(held) if held else (), rigid_gaps(candidates)

    def _of_joints(self, name: str) -> list[Any]:
        """Return a parameter of the joints (nv), the robot's own or its replacement."""
        return Parameter(name).nominal(self.moving.tree)

    def _by_action(self, moving: Any, acceleration: Any, pushed: Callable[..., Any]) -> MotionSystem:
        """Return the equations for variational methods: discrete momenta, and all forces except gravity."""
        passive, law = self.passive, self.law

        def forces(t: Any, q: Scalars, v: Scalars) -> list[Any]:
            held = with_loop_forces(moving.tree, q, v, pushed(q, v), None, passive, law)
            if not passive:
                return list(held)
            own = passive_force(moving.tree, q, v, law)
            return [a + b for a, b in zip(held, own, strict=True)]

        mechanics = DiscreteMechanics(moving.tree, passive)
        D, K = (self._of_joints(name) for name in ("damping", "stiffness"))
        linear = list(zip(D, K, strict=True)) if passive else [(0.0, 0.0)] * self.robot.nv
        bends = self.contacts is not None or isinstance(self.limits, JointStops)
        bends = bends or (passive and self._slides)
        settles = passive and not self.robot.tree.has_couplings
        return MotionSystem(
            self.robot.tree,
            acceleration,
            forces=forces,
            mechanics=mechanics,
            linear=linear,
            bends=bends,
            settling=self._settling(K) if settles else None,
            elements=self._element_resistance(moving.tree, damped_after=False),
            is_differentiated=self.closely,
        )

    def _settling(self, K: Scalars) -> list[Any] | None:
        """Return h² K of the joint springs that are too stiff for the step, None without springs."""
        if all(map(is_zero, K)):
            return None
        shares = implicit_shares(self.robot, K, self.h)
        return [self.h * self.h * (g * k) for g, k in zip(shares, K, strict=True)]

    def _by_rattle(self, moving: Any, acceleration: Any, tau: Scalars, pushed: Callable[..., Any]) -> MotionSystem:
        """Return the equations for RATTLE: discrete momenta, and forces by the point of the step at which they act.

        Damping of joints that follow others is not on the diagonal, so there it acts at the step's start.
        """
        passive, law, tree, still = self.passive, self.law, moving.tree, [0.0] * self.robot.nv
        explicit = passive and tree.has_couplings
        D, K, slides = self._of_joints("damping"), self._of_joints("stiffness"), self._slides
        if explicit or not passive:
            D, K, slides = still, still, False

        def of_state(t: Any, q: Scalars, v: Scalars) -> list[Any]:
            exerted = pushed(q, v, still)
            known = [x.item() if isinstance(x, np.generic) else x for x in exerted]  # floats, whose zeros are folded
            result = with_loop_forces(tree, q, v, known, None, passive, law)
            if not explicit:
                return result
            return [a + b for a, b in zip(result, passive_force(tree, q, v, law), strict=True)]

        def springs(q: Scalars) -> list[Any]:
            return passive_force(tree, q, still, NO_FRICTION)

        def resisting(v: Scalars) -> tuple[list[Any], list[Any]]:
            slopes = self._slopes(v)
            each = zip(slopes, implicit_shares(self.robot, K, self.h), K, strict=True)
            added = [self.h * (d + self.h * (g * k)) for (d, _, _), g, k in each]
            dry = zip(slopes, v, strict=True)
            return added, [self.h * (slope * x - resistance) for (_, slope, resistance), x in dry]

        none = all(map(is_zero, K))
        resists = slides or not (none and all(map(is_zero, D)))
        elements = None if explicit else self._element_resistance(tree, damped_after=True)
        pulls = springs if not none or elements is not None else None
        forces = StepForces(tau, of_state, pulls, K, resisting if resists else None)
        mechanics = DiscreteMechanics(tree, passive)
        return MotionSystem(
            self.robot.tree,
            acceleration,
            mechanics=mechanics,
            step_forces=forces,
            settling=self._settling(K),
            elements=elements,
            is_differentiated=self.closely,
        )
