"""State and options of a `linkwork.Simulator`: values that can be stored and restored, and its nested arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import zip_longest
from typing import Any, NamedTuple

import numpy as np

from linkwork._util.messages import short_repr
from linkwork.expr.arrays.pytree import tree_map
from linkwork.kernels.robot_base import RobotBase
from linkwork.model.friction_laws import Friction
from linkwork.simulation.contacts.contact_set import ContactSet
from linkwork.simulation.events import Event
from linkwork.simulation.joint_limits import JointStops
from linkwork.simulation.sensors.sensor_readings import initial_sensor_state
from linkwork.simulation.sensors.sensor_suite import SensorSuite
from linkwork.simulation.simulation_spec import CONTROLLER_STATE, SENSORS, SimulationSetup

__all__ = [
    "JOINT_FORCES",
    "SimulatorOptions",
    "SimulatorState",
    "copied_state",
    "leaves",
    "locked",
    "not_plain",
    "paired",
]


class _JointForces:
    """Controller of a simulator without a controller of its own: it returns the joint forces that `step` takes."""

    _is_open = True  # does not depend on the state

    def __call__(self, t: Any, q: Any, v: Any, tau: Any, **readings: Any) -> Any:
        return tau

    def __reduce__(self) -> str:
        return "JOINT_FORCES"


JOINT_FORCES = _JointForces()  # its pickle is this object itself, with which simulators compare


class SimulatorOptions(NamedTuple):
    """Options of a `Simulator` that its setup needs.

    ``parameters`` are the names of the robot's parameters that have other values.
    """

    method: str
    passive: bool
    friction: Friction
    controller: Any
    contacts: ContactSet | None
    parameters: tuple[str, ...]
    sensors: SensorSuite | None
    events: tuple[Event, ...]
    limits: str | JointStops | None

    def setup(
        self,
        robot: RobotBase,
        sizes: Mapping[str, tuple[int, ...]],
        inputs: tuple[tuple[str, tuple[int, ...]], ...],
        count: int,
        controller: Any,
    ) -> SimulationSetup:
        """Return the specification of a simulation of ``count`` steps for a robot.

        ``sizes`` are the shapes of parameters and ``inputs`` those of constants, by name.
        """
        return SimulationSetup(
            robot,
            self.method,
            self.passive,
            controller,
            (),
            count,
            inputs,
            (),
            tuple(sizes.items()),
            self.contacts,
            self.parameters,
            self.events,
            self.sensors,
            self.limits,
            friction=self.friction,
        )


class SimulatorState(NamedTuple):
    """State of a simulator: arrays with the batch's shape before their own.

    ``steps`` (...) is the number of steps done, q (..., nq) the configuration, and v (..., nv) the velocity.
    ``controller`` is the state of the controller and the sensors.  ``status`` (...) is 0 for running environments, else
    a code, which `Simulator.status` translates.  ``within`` (...) is the time [s] in the last step at which an event
    ended an environment.  The arrays of `Simulator.state` are read-only.
    """

    steps: np.ndarray
    q: np.ndarray
    v: np.ndarray
    controller: Any
    status: np.ndarray
    within: np.ndarray

    def __repr__(self) -> str:
        return short_repr(self)


def first_state(
    setup: SimulationSetup,
    leading: tuple[int, ...],
    q: Any,
    v: Any,
    start: Any,
    noise: Any,
    parameters: Mapping[str, Any],
) -> SimulatorState:
    """Return the state of a batch that starts at q (..., nq) and v (..., nv).

    ``start`` is the initial state of the controller, None if it has none, and ``noise`` (..., 2) that of the sensors'
    random generators.
    """
    robot: Any = setup.robot

    def spread(x: Any, core: Any) -> np.ndarray:
        return np.array(np.broadcast_to(x, (*leading, *np.shape(core))))

    q, v = spread(q, np.zeros(robot.nq)), spread(v, np.zeros(robot.nv))
    carried = () if start is None else tree_map(lambda x: spread(np.asarray(x, float), x), start)
    if setup.sensors is not None:
        sensed = np.zeros((*leading, setup.sensors.count(robot)))
        sensed[..., :2] = noise
        begun = {SENSORS: np.array(initial_sensor_state(setup, q, v, parameters, sensed))}
        carried = begun if start is None else {CONTROLLER_STATE: carried, **begun}
    zeros = np.zeros(leading)
    return SimulatorState(zeros, q, v, carried, zeros, zeros)


def copied_state(value: Any, now: SimulatorState) -> SimulatorState:
    """Return a state with copies of its arrays; ``now`` is the simulator's current state.

    Raises ValueError for other types, for the state of another batch or robot, and for values that are not finite.
    """
    fits = isinstance(value, SimulatorState) and all(
        a.shape == b.shape and bool(np.isfinite(a).all())
        for a, b in zip_longest(leaves(value), leaves(now), fillvalue=np.array(np.nan))
    )
    if not fits:
        expected = f"expected a finite SimulatorState with q of shape {now.q.shape}"
        raise ValueError(f"Simulator.restore: state: {expected}, got {value!r:.60}")
    result: SimulatorState = paired(lambda new, _: np.array(new), value, now)
    return result


def locked(x: Any) -> np.ndarray:
    """Return an array after setting it to read-only."""
    result = np.asarray(x)
    result.setflags(write=False)
    return result


def not_plain(*arrays: Any) -> None:
    """Return None, which a quick call returns for arrays that it does not accept."""


def paired(function: Callable[[Any, Any], Any], new: Any, old: Any) -> Any:
    """Apply a function to two values of the same nesting, array by array."""
    old_leaves = iter(leaves(old))
    return tree_map(lambda x: function(np.asarray(x), next(old_leaves)), new)


def leaves(value: Any) -> list[np.ndarray]:
    """Return the arrays of a nested value, in order."""
    result: list[np.ndarray] = []
    tree_map(lambda x: result.append(np.asarray(x)), value)
    return result
