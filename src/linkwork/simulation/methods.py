"""Motion of a robot by time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from linkwork._util.progress import Progress
from linkwork.kernels.robot_base import Array, RobotBase
from linkwork.model.friction_laws import Friction
from linkwork.simulation.events import Event
from linkwork.simulation.joint_limits import JointStops
from linkwork.simulation.result import Simulation
from linkwork.simulation.simulation_run import simulated

__all__ = ["SimulationMethods"]


class SimulationMethods(RobotBase):
    """Simulation (see the page on simulation)."""

    __slots__ = ()

    def simulate(
        self,
        q: Array,
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
        joint_limit_mode: str | JointStops | None = None,
        events: Event | Iterable[Event] = (),
        sensors: Mapping[str, Any] | None = None,
        seed: Any = 0,
        wrenches: Mapping[str, Any] | None = None,
        expressed_in: str | Mapping[str, str] = "world",
        control_every: int = 1,
        segments: int | None = None,
        progress: bool | Callable[[Progress], Any] = False,
    ) -> Simulation:
        """The motion from a state, or from each of a batch: q (..., nq), v (..., nv), at rest where it is left out.

        All steps of all environments run in one kernel with the controller inside, an environment in each lane; an
        environment's numbers are the same alone and in any batch.

        ``controller(t, q, v, **more)`` gives the joint forces τ (nv,) of a time [s] and a state, once a step, which
        holds them; it is traced, as functions that `linkwork.compile` takes are, and once: what it reads besides its
        arguments is fixed then.  One with an attribute ``start``
        carries numbers on, nested as they like: it is called as ``controller(t, q, v, z, **more)`` and gives τ and the
        next z.  ``more`` are ``constants``, arrays by name, and a row of each of the ``time_inputs``, which have one
        for each step; a `linkwork.motion.Trajectory` there comes as ``<name>_q``, ``<name>_v``, ``<name>_a``.  An
        input that begins with the batch's shape has an entry for each environment, unless a controller of
        `linkwork.control` takes it whole; one of n numbers beside n environments and n joints is refused, since it may
        be either.  Signals are (steps, ...), or (*batch, steps, ...) of each environment, which is meant where a shape
        may be read as both, unless a controller of `linkwork.control` takes the other.
        ``control_every`` evaluates the controller every so many steps and holds its command in between, as a sampled
        controller does.

        ``wrenches`` are external wrenches (moment; force) [N·m, N] by the frame that they act on, at its origin, in the
        axes of ``expressed_in``: (6,) or (*batch, 6) act all the time, (steps, 6) or (*batch, steps, 6) have one for
        each step.  They are evaluated in every stage of a method, as the frame moves.  A controller returns
        `linkwork.simulation.ControlOutput` for joint forces and wrenches together.

        ``parameters`` are the robot's other numbers, by the names of `Robot.parameters`, and those of contacts, as
        "contact_friction" or "contact_friction:floor", of all environments or of each.

        ``method`` is

        - "semi_implicit_euler": of first order, one evaluation a step; of robots with constraints RATTLE, of second
          order without damping, whose energy is bounded;
        - "rk4": Runge and Kutta's of fourth order;
        - "dormand_prince": of fifth order, in as many parts of each step as errors of 10⁻⁹ ask for;
        - "implicit_midpoint": of second order, stable at any step, its own reverse;
        - "implicit_euler": of first order, damps what is too quick for the step;
        - "variational": of second order; keeps momenta to rounding, and energy does not drift, with constraints too;
        - "scipy:DOP853", or another solver of `scipy.integrate.solve_ivp`: each environment in Python, step by step
          with errors of 10⁻¹⁰, as another's answer (without records, events, sensors and convex contacts).

        ``contacts`` are points of the robot that touch a `linkwork.simulation.ContactGround`, links that touch a
        `ContactScene`, pairs of links (`ContactPair`), or a list of such, with friction.  ``contact_model`` is

        - "convex", by the default method: the velocities after each step are those that make one convex function least,
          which holds the joints' limits too;
        - "compliant": forces that follow from the state, by any method, of contacts that have a stiffness.

        ``contact_forces`` (points, 3) [N], in the world's axes, are recorded, and of ``record`` "contact_gap" (points,)
        [m], negative inside, "contact_slip" (points,) [m/s], how fast what touches slides, and "contact_residual", what
        is left of the convex function's slope, 1 being too much.  `Simulation.contact_names` says which are which.

        ``joint_limit_mode`` says what those of joints do: "held", within each step of the default method, as rigidly
        as it can tell; "soft", or `linkwork.simulation.JointStops`, springs and dampers, by any method; "ignored".  If
        it is left out they are held where a step has convex contacts, servos or sticking friction; else nothing holds
        them, and a joint that passed one is told of by a SimulationWarning.

        ``events`` are `linkwork.simulation.Event`: where a function of time and state passes zero, found within the
        step by the method itself; one may end an environment, or let its motion go on from another state.

        ``sensors`` are those of `linkwork.simulation` by name, such as `IMU`: their readings of the state
        that a step begins with come to the controller by that name, and are recorded.  Noise depends on ``seed``, a
        whole number to which the environment's is added, or one for each environment (...).

        With ``passive`` springs, damping, dry friction and armature of the joints act.  ``friction`` is the law of dry
        friction: "smooth", "stribeck", "coulomb", or a `FrictionLaw` of your own.  Joints stick by a law that does, as
        "coulomb", with the default method, and those that close loops then have the smooth law.

        Every so many steps (``record_every``)
        q and v are recorded, and what ``record`` lists: functions of the robot by name (``"kinetic_energy"``,
        ``("pose", "hand")``; ``"tau"`` is what the last step held), or a dict of functions of (t, q, v, τ) by name.
        ``"constraint_forces"``, ``"joint_wrenches"`` and ``"loop_joint_wrenches"`` are reactions under the forces
        of the last step.  ``progress`` shows a bar on standard error, or is a function of a `linkwork.Progress`, in
        steps.  Letters that identifiers have not are underscores in names: ("pose", "left/hand") is
        pose_left_hand.

        An environment whose controller gives no finite number, whose state becomes none, or an event's guard NaN,
        stops, and the others go on: see `linkwork.simulation.Simulation`.  On symbols it becomes part of what is
        compiled, and is differentiated: a gradient in reverse keeps the states of all steps, or of so many
        ``segments`` the first ones, and makes the others again, for one more roll-out (by default √n segments of more
        than 1000 records, or steps of one record).

        Raises ValueError and TypeError for what is no state, time, controller or option, UnknownNameError for names;
        ValueError for a state in which the robot's constraints do not hold (`Robot.project` gives the nearest).

        >>> import linkwork as lw
        >>> robot = lw.load("arm7")
        >>> def controller(t, q, v, target):
        ...     return robot.inverse_dynamics(q, v, 100.0 * (target - q) - 20.0 * v, passive=True)
        >>> start = 0.5 * (robot.lower + robot.upper)
        >>> found = robot.simulate(start, controller=controller, duration=3.0, constants={"target": start + 0.3})
        >>> bool(abs(found.q[-1] - start - 0.3).max() < 0.02), found
        (True, <Simulation of 'arm7': 3 s in 3001 records>)
        """
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
