"""Method of `Robot` for simulation."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from linkwork import simulation
from linkwork._util.progress import Progress
from linkwork.kernels.robot_base import Array, RobotBase
from linkwork.model.friction_laws import Friction

__all__ = ["SimulationMethods"]


class SimulationMethods(RobotBase):
    """Methods for simulation (see the page on simulation)."""

    __slots__ = ()

    def simulate(
        self,
        q: Array | str,
        v: Array | None = None,
        *,
        controller: Callable[..., Any] | None = None,
        duration: float,
        dt: float = 1e-3,
        method: str = "semi_implicit_euler",
        passive: bool = True,
        friction: Friction = "smooth",
        record: Iterable[Any] | Mapping[str, Any] = (),
        record_every: int = 1,
        constants: Mapping[str, Any] | None = None,
        time_inputs: Mapping[str, Any] | None = None,
        parameters: Mapping[str, Any] | None = None,
        contacts: Any = None,
        contact_model: str = "convex",
        joint_limit_mode: str | simulation.JointStops | None = None,
        events: simulation.Event | Iterable[simulation.Event] = (),
        sensors: Mapping[str, Any] | None = None,
        seed: Any = 0,
        wrenches: Mapping[str, Any] | None = None,
        expressed_in: str | Mapping[str, str] = "world",
        control_every: int = 1,
        segments: int | None = None,
        progress: bool | Callable[[Progress], Any] = False,
    ) -> simulation.Simulation:
        """Simulate the motion from a state, or from each state of a batch: q (..., nq), v (..., nv), zero by default.

        All steps of all environments run in one kernel with the controller inside, an environment in each lane.  The
        results of an environment do not depend on the batch.  The simulation ends with the first step of ``dt`` that
        reaches the ``duration`` [s]: t[-1] >= duration.

        ``controller(t, q, v, **more)`` returns the joint forces τ for a time [s] and a state, as an array (nv,) or a
        dict by joint.  It is evaluated once a step, and τ is constant over the step.  Values that it reads besides its
        arguments are constants of its trace; a later call traces again if they have changed.  A controller with an
        attribute ``start`` has a state z, a nested value of arrays: it is called as ``controller(t, q, v, z, **more)``
        and returns τ and the next z. ``more`` are ``constants``, arrays by name, and a row of each of the
        ``time_inputs``, which have a row for each step; a `linkwork.motion.Trajectory` there is passed as ``<name>_q``,
        ``<name>_v``, ``<name>_a``.  A constant whose shape begins with the batch's shape has an entry for each
        environment, unless a controller of `linkwork.control` takes it whole.  A constant (n,) with n environments and
        n joints raises ValueError, since it is ambiguous.  Time inputs are (steps, ...), or (*batch, steps, ...) for
        each environment; an ambiguous shape counts as (*batch, steps, ...), unless a controller of `linkwork.control`
        takes the other shape. ``control_every`` evaluates the controller every that many steps and holds its command in
        between, as a sampled controller does.

        ``wrenches`` are external wrenches (moment; force) [N·m, N] by the frame that they act on, at its origin, in the
        axes of ``expressed_in``: (6,) or (*batch, 6) are constant, (steps, 6) or (*batch, steps, 6) have one for each
        step.  They are evaluated in every stage of a method, as the frame moves.  A controller returns
        `linkwork.simulation.ControlOutput` for joint forces and wrenches together.

        ``parameters`` are other values of the robot's parameters, by the names of `Robot.parameters`, and of contacts,
        as "contact_friction" or "contact_friction:floor", for all environments or for each.

        ``method`` is

        - "semi_implicit_euler": first order, one evaluation a step; for robots with constraints RATTLE, of second order
          without damping, with bounded energy error;
        - "rk4": classical Runge-Kutta method of fourth order;
        - "dormand_prince": Dormand-Prince method of fifth order, with substeps of each step for errors of 10⁻⁹;
        - "implicit_midpoint": second order, stable at any step, time-reversible;
        - "implicit_euler": first order, damps modes that are too fast for the step;
        - "mujoco_euler" and "mujoco_implicitfast": the steps of MuJoCo's integrators of these names, for comparison:
          like the default method, with springs of the step's start.  Servos have the force of the step's start;
          implicitfast has their damping at its end;
        - "variational": second order; conserves momenta to rounding, and energy does not drift, also with constraints;
        - "scipy:DOP853", or another solver of `scipy.integrate.solve_ivp`: each environment in Python, step by step
          with errors of 10⁻¹⁰, for comparison (without records, events, sensors and convex contacts).

        ``contacts`` are points of the robot that touch a `linkwork.simulation.ContactGround`, links that touch a
        `ContactScene`, pairs of links (`ContactPair`), or a list of these, with friction.  ``contact_model`` is

        - "convex", with the default method: the velocities after each step minimise one convex function, which also
          enforces joint limits;
        - "compliant", with any method: forces are functions of the state, for contacts that have a stiffness.

        ``contact_forces`` (points, 3) [N], in the world's axes, are recorded.  ``record`` also takes "contact_gap"
        (points,) [m], negative inside, "contact_slip" (points,) [m/s], the sliding speed, and "contact_residual", the
        remaining gradient of the convex function, which counts as not solved from 1 on.  `Simulation.contact_names` are
        the names of the points.

        ``joint_limit_mode`` is "held", enforced in each step of the default method, as rigidly as the step resolves;
        "soft", or `linkwork.simulation.JointStops`, springs and dampers, with any method; or "ignored".  By default
        limits are enforced where a step has convex contacts, servos or sticking friction.  Elsewhere they are not, and
        a SimulationWarning reports a joint that passed one.

        ``events`` are `linkwork.simulation.Event`: zero crossings of functions of time and state, located within the
        step by the method itself.  An event may end an environment, or continue its motion from another state.

        ``sensors`` are sensors of `linkwork.simulation` by name, such as `IMU`.  Their readings in the state at the
        start of a step are recorded, and passed by that name to a controller that has such an argument.  Noise depends
        on ``seed``, an integer to which the environment's index is added, or one for each environment (...).

        With ``passive`` springs, damping, dry friction and armature of the joints act.  ``friction`` is the law of dry
        friction: "smooth", "stribeck", "coulomb", or a `FrictionLaw` of your own.  A law under which joints stick,
        such as "coulomb", requires the default method; joints that close loops then have the smooth law.

        Every ``record_every`` steps q, v and the quantities of ``record`` are recorded: functions of the robot by name
        (``"kinetic_energy"``, ``("pose", "hand")``; ``"tau"`` are the joint forces of the last step), or a dict of
        functions of (t, q, v, τ) by name.  ``"constraint_forces"``, ``"joint_wrenches"`` and ``"loop_joint_wrenches"``
        are reactions under the forces of the last step.  Functions of the robot with an option ``passive``, such as
        energies, use the simulation's value.  Characters that identifiers cannot have become underscores in names:
        ("pose", "left/hand") is pose_left_hand.  ``progress=True`` shows a bar on standard error; a function gets a
        `linkwork.Progress`, in steps.

        An environment stops if its controller returns a value that is not finite, if its state becomes non-finite, or
        if an event's guard is NaN; the others continue: see `linkwork.simulation.Simulation`.  On symbols the
        simulation becomes part of what is compiled, and is differentiated.  A gradient in reverse mode stores the
        states of all steps, or only the states between ``segments``. It then recomputes the other states, at the cost
        of one more roll-out (by default √n segments of more than 1000 records, or steps of one record).

        Raises ValueError and TypeError for a wrong state, time, controller or option, UnknownNameError for unknown
        names; ValueError for a state that violates the robot's constraints (`Robot.project` returns the nearest).

        >>> import linkwork as lw
        >>> robot = lw.load("arm7")
        >>> def controller(t, q, v, target):
        ...     return robot.inverse_dynamics(q, v, 100.0 * (target - q) - 20.0 * v, passive=True)
        >>> start = 0.5 * (robot.lower + robot.upper)
        >>> found = robot.simulate(start, controller=controller, duration=3.0, constants={"target": start + 0.3})
        >>> bool(abs(found.q[-1] - start - 0.3).max() < 0.05), found
        (True, <Simulation of 'arm7': 3 s in 3001 records>)
        """
        from linkwork.simulation.simulation_run import simulated

        return simulated(
            self,
            q,
            v,
            controller=controller,
            duration=duration,
            dt=dt,
            method=method,
            passive=passive,
            friction=friction,
            record=record,
            record_every=record_every,
            constants=constants,
            time_inputs=time_inputs,
            parameters=parameters,
            contacts=contacts,
            contact_model=contact_model,
            joint_limit_mode=joint_limit_mode,
            events=events,
            sensors=sensors,
            seed=seed,
            wrenches=wrenches,
            expressed_in=expressed_in,
            control_every=control_every,
            segments=segments,
            progress=progress,
        )
