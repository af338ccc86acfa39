"""Equations of a simulated robot for the methods of simulation, on symbols."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from linkwork.dynamics.algorithms.mass_matrix_inverse import FactoredInverse
from linkwork.dynamics.algorithms.momentum.energy_and_power import potential_energy
from linkwork.dynamics.algorithms.passive_joint_forces import armature, gyroscopic_force
from linkwork.dynamics.singular_inertia import SINGULAR_INERTIA
from linkwork.expr.arrays.symbol_array import array
from linkwork.expr.linalg.sparse_dot import is_zero
from linkwork.expr.scalar.functions import and_, fabs, lt, not_, where
from linkwork.kernels.function_request import read_request
from linkwork.kinematics.algorithms.coordinates import unit_steps
from linkwork.model.friction_laws import DEFAULT, NO_FRICTION, FrictionLaw, friction_law
from linkwork.simulation.actuators import ServoForces
from linkwork.simulation.algorithms import METHODS, MotionSystem
from linkwork.simulation.algorithms.discrete_mechanics import DiscreteMechanics, with_resistance
from linkwork.simulation.algorithms.free_body import flown, pushed_rates, rotor_force
from linkwork.simulation.algorithms.inertial_forces import added_by_spins, rotates_freely, spin_solve
from linkwork.simulation.algorithms.ode_system import SingularPassage, StepForces
from linkwork.simulation.algorithms.passive_resistance import (
    PassiveResistance,
    Resistance,
    has_friction,
    joint_resistances,
)
from linkwork.simulation.contacts.contact_set import ContactSet
from linkwork.simulation.joint_limits import JointStops
from linkwork.simulation.rollout.spring_steps import (
    IndependentInertias,
    SpringRates,
    SpringShares,
    independent_inertias,
    sampled_inertias,
    sampled_rates,
    spring_shares,
)
from linkwork.simulation.simulation_spec import SimulationSetup, moving_robot

__all__ = ["SimulatedDynamics", "sampled_bounds"]

Scalars = Sequence[Any]

_GAINED = 1e-3  # accepted relative gain of energy of a tree in a step, if it has springs
_FAR = 0.1  # [rad, characteristic lengths] twice the sum of the motions of joints at which a step may gain energy


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
    rates: SpringRates | None = None  # of springs with the parameters, computed outside of the loop over steps
    inertias: IndependentInertias | None = None  # of joints with the parameters, the same
    span: Any = None  # [s] of the step, of which h is a part; springs are implicit as this requires
    passes: Any = True  # True if the step may pass a singular configuration of a loop

    @classmethod
    def of(cls, setup: SimulationSetup, parameters: Any, h: Any, closely: bool = False) -> SimulatedDynamics:
        """Return the dynamics of a simulation, with its parameters' values and steps of h [s].

        With ``closely``, each step is solved to rounding, so that derivatives are accurate.
        """
        robot_parameters = setup.own(parameters)
        bounds = sampled_bounds(setup, parameters) if setup.bounds is None else setup.bounds
        moving = moving_robot(setup.robot, robot_parameters) if bounds else setup.robot
        return cls(
            setup.robot,
            robot_parameters,
            setup.method,
            setup.passive,
            h,
            setup.touched(parameters) if setup.is_compliant else None,
            closely,
            limits=setup.limits,
            friction=setup.friction,
            rates=SpringRates.of(moving, list(bounds["rates"])) if "rates" in bounds else None,
            inertias=IndependentInertias.of(moving, list(bounds["inertias"])) if "inertias" in bounds else None,
        )

    @property
    def law(self) -> FrictionLaw:
        """Law of dry friction in joints."""
        return friction_law(self.friction)

    @property
    def sticks(self) -> bool:
        """True if joints with dry friction stick; the step's program then solves for the forces of this friction."""
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
            result = self.acting_forces(tau, q, v)
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
                passage = SingularPassage(DiscreteMechanics(moving.tree, self.passive), acceleration)
                return MotionSystem(self.robot.tree, acceleration, projected=self.projected, passage=passage)
            return MotionSystem(self.robot.tree, acceleration, imbalance if by_forces else None, passes=self.passes)
        flying = partial(flown, moving.tree, flying=not method.as_mujoco, armature=self.passive)
        return MotionSystem(self.robot.tree, self._damped(moving, pushed), flown=flying)

    @property
    def spins(self) -> bool:
        """True if steps treat inertial forces of rotations by Kahan's rule, see `inertial_forces`."""
        return not METHODS[self.method].as_mujoco and rotates_freely(self.robot.tree)

    def resistance(self, moving: Any) -> PassiveResistance:
        """Return the passive forces of a step and their implicit terms.

        Where joints with dry friction stick, the friction is part of the step's program instead.
        """
        law = NO_FRICTION if self.sticks else self.law
        zeros = [0.0] * self.robot.nv
        method, shares, inertias = METHODS[self.method], SpringShares(zeros, {}), IndependentInertias(tuple(zeros), {})
        if self.passive and not method.as_mujoco:
            joints = joint_resistances(moving.tree)
            span = self.h if self.span is None else self.span
            shares = spring_shares(self.robot, [resistance.stiffness for resistance in joints], span, self.rates)
            if has_friction(moving.tree, law):
                inertias = independent_inertias(self.robot) if self.inertias is None else self.inertias
        apart = not method.by_action
        return PassiveResistance(moving.tree, self.h, self.passive, law, *shares, *inertias, damped_apart=apart)

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

    def acting_forces(self, tau: Scalars, q: Scalars, v: Scalars) -> list[Any]:
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

    @property
    def may_gain(self) -> bool:
        """True if springs of a tree may add energy in a step, where it does not resolve the motion."""
        method = METHODS[self.method]
        known = not (self.wrenches or self.contacts is not None or isinstance(self.limits, JointStops))
        settles = method.damped_within and not method.as_mujoco and not self.robot.constraints
        return known and settles and self.resistance(self.moving).has_springs

    def moves_far(self, v: Scalars, rates: Scalars, span: Any) -> Any:
        """Return True if a step of ``span`` [s] from velocities v to ``rates`` is so long that it may gain energy."""
        each = zip(v, rates, unit_steps(self.robot.tree), strict=True)
        moved = [(fabs(a) + fabs(b)) * (1.0 / unit) for a, b, unit in each]
        return not_(lt(span * sum(moved, 0.0), _FAR))  # also where it is NaN

    def gains(self, tau: Scalars, before: tuple[Scalars, Scalars], after: tuple[Scalars, Scalars]) -> Any:
        """Return True if a tree with springs gains energy in a step in which it moves far.

        ``before`` and ``after`` are q and v, and ``tau`` (nv) the joint forces.  Such a step does not resolve the
        motion.
        """
        moving = self.moving
        resistance, each = self.resistance(moving), []
        for q, v in (before, after):
            kinetic = moving.kinetic_energy(array(list(q)), array(list(v)), passive=self.passive)
            each.append((kinetic, potential_energy(moving.tree, q), resistance.energy(q)))
        (K, U, spring), (now, height, left) = each
        work = [self.h * (f * (a + b)) for f, a, b in zip(tau, before[1], after[1], strict=True)]
        size = (K + spring + fabs(height - U)) * (self.h / self.span)
        rise = (now - K) + (height - U) + (left - spring) - sum(map(fabs, work), 0.0)
        return and_(lt(_GAINED * size, rise), self.moves_far(before[1], after[1], self.span))

    def _damped(self, moving: Any, pushed: Callable[..., Any]) -> Any:
        """Return the function v̇(t, q, v) of a semi-implicit step, with damping D evaluated at the step's end.

            (M + h D + h² K (1 + 3 g)/4) v̇ = τ + τ_p − b − g h K v.

        τ_p are the passive forces, and g are the implicit shares of the springs K (`spring_steps`).  MuJoCo's
        integrators are (M + h D) v̇ = τ + τ_p − b, where D may include the damping of servos.  Passive forces of
        a joint depend on that joint only, so D and K are on the diagonal, like armature; curved springs have rows.
        """
        flying, tree = not METHODS[self.method].as_mujoco, moving.tree
        zeros = [0.0] * self.robot.nv
        without = dict.fromkeys(("damping", "friction", "stiffness"), array(zeros))
        further = {key: x for key, x in self.parameters.items() if key.partition(":")[0] not in (*without, "armature")}

        def acceleration(t: Any, q: Scalars, v: Scalars) -> Scalars:
            at, constant_forces, rates = (
                array(list(q)),
                pushed(q, v),
                array(pushed_rates(tree, v, flying, self.passive)),
            )
            added = added_by_spins(moving, at, rates, self.h, armature=self.passive) if self.spins else None
            if not self.passive and self.servos is None and added is None:
                return list(moving.forward_dynamics(at, rates, constant_forces))
            (extra, rows), passive_forces = self._resisting(moving, q, v)
            forces = array(
                self.less_rotors([a + b for a, b in zip(constant_forces, passive_forces, strict=True)], q, v)
            )
            if not rows and added is None and not tree.has_couplings:
                joints = self.robot.without_force_elements() if self.robot.force_elements else self.robot
                I = armature(tree) if self.passive else zeros
                heavier = array([a + b for a, b in zip(I, extra or zeros, strict=True)])
                alone = joints.with_parameters({**further, **without, "armature": heavier})
                again = gyroscopic_force(alone.tree, list(at), list(rates))  # of armature and resistance
                forces = array([a if is_zero(b) else a + b for a, b in zip(forces, again, strict=True)])
                return list(
                    alone.forward_dynamics(at, rates, forces, passive=True)
                )  # other passive forces are in `forces`
            self.refuse_singular(moving, extra or zeros, rows)
            M = with_resistance([list(row) for row in moving.mass_matrix(at, passive=self.passive)], rows, extra)
            accelerating = list(forces - moving.bias_force(at, rates))
            if added is None:
                return FactoredInverse.of(tree, M).applied(accelerating)
            return spin_solve(tree, M, added, accelerating)

        return acceleration

    def refuse_singular(self, moving: Any, extra: Scalars = (), rows: Sequence[Any] = ()) -> None:
        """Raise SingularInertiaError if M is singular everywhere for joints without the resistance ``extra`` (nv)."""
        if not rows:
            tree = self.robot.tree
            resisted = [x.joint_name for i, x in tree.stacked() if not all(map(is_zero, extra[tree.v_slices[i]]))]
            options = {"joints": tuple(resisted), "passive": self.passive}
            SINGULAR_INERTIA.refuse(moving._subject, read_request(moving._subject, ("hybrid_dynamics", options)))

    def _resisting(self, moving: Any, q: Scalars, v: Scalars) -> tuple[Resistance, list[Any]]:
        """Return the implicit terms of a semi-implicit step, and the passive forces (nv) at its start.

        MuJoCo's integrators have the damping of joints, and of servos, alone.
        """
        resistance = self.resistance(moving)
        if not METHODS[self.method].as_mujoco:
            return resistance.semi_implicit(q, v)
        driven = [0.0] * self.robot.nv if self.servos is None else self.servos.damping
        extra = [
            self.h * (resistance_of_joint.damping + d)
            for resistance_of_joint, d in zip(resistance.joints, driven, strict=True)
        ]
        return Resistance(extra, []), resistance.forces(q, v)

    def less_rotors(self, forces: Scalars, q: Scalars, v: Scalars) -> list[Any]:
        """Return forces (nv) minus the gyroscopic forces of armature."""
        if not self.passive:
            return list(forces)
        rotors = rotor_force(self.moving.tree, q, v, not METHODS[self.method].as_mujoco)
        return [a if is_zero(b) else a - b for a, b in zip(forces, rotors, strict=True)]

    def _by_action(self, moving: Any, acceleration: Any, pushed: Callable[..., Any]) -> MotionSystem:
        """Return the equations for variational methods: discrete momenta, and all forces except gravity."""
        resistance = self.resistance(moving)

        def forces(t: Any, q: Scalars, v: Scalars) -> list[Any]:
            return [a + b for a, b in zip(pushed(q, v), resistance.forces(q, v), strict=True)]

        return MotionSystem(
            self.robot.tree,
            acceleration,
            forces=forces,
            mechanics=DiscreteMechanics(moving.tree, self.passive),
            bends=self.contacts is not None or isinstance(self.limits, JointStops) or resistance.slides,
            resistance=resistance,
            is_differentiated=self.closely,
            passes=self.passes,
        )

    def _by_rattle(self, moving: Any, acceleration: Any, tau: Scalars, pushed: Callable[..., Any]) -> MotionSystem:
        """Return the equations for RATTLE: discrete momenta, and forces by the point of the step at which they act."""
        zeros = [0.0] * self.robot.nv

        def of_state(t: Any, q: Scalars, v: Scalars) -> list[Any]:
            exerted = pushed(q, v, zeros)
            return [x.item() if isinstance(x, np.generic) else x for x in exerted]  # floats, whose zeros are folded

        return MotionSystem(
            self.robot.tree,
            acceleration,
            mechanics=DiscreteMechanics(moving.tree, self.passive),
            step_forces=StepForces(tau, of_state),
            resistance=self.resistance(moving),
            is_differentiated=self.closely,
            passes=self.passes,
        )


def sampled_bounds(setup: SimulationSetup, parameters: Any) -> dict[str, Any]:
    """Return the largest "rates" of springs and smallest "inertias" of joints that change with the parameters' values.

    They are extremes over random configurations, the same in every step.
    """
    robot_parameters = setup.own(parameters)
    if not robot_parameters or not setup.is_implicit_in_joints:
        return {}
    moving = moving_robot(setup.robot, robot_parameters)
    slides = not setup.sticks and has_friction(moving.tree, friction_law(setup.friction))
    each = {
        "rates": sampled_rates(setup.robot, moving, robot_parameters),
        "inertias": sampled_inertias(setup.robot, moving, robot_parameters) if slides else None,
    }
    return {name: array(x) for name, x in each.items() if x is not None}
