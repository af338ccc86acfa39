"""Linear models of robots about operating points, with inputs and outputs by name.

Deviations of a robot with constraints are (δq, δv) = E (δy, δu) of independent coordinates y and velocities u.  With
the basis T of permitted deviations, and S the rows of the independent ones, E = T (S T)⁻¹.

The model has the matrices S A E and S B.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from linkwork._util.checked_arguments import public
from linkwork._util.validation import finite_array, names
from linkwork.control.linear_quadratic.arguments import actuated_forces, actuated_indices, read_state_values
from linkwork.control.linear_quadratic.constrained_states import at_time, permitted_deviations, reference_forces
from linkwork.control.linear_quadratic.dense_linearization import EXACT, linearized, passive_options
from linkwork.control.linear_quadratic.state_space import StateSpace
from linkwork.errors import UnknownNameError
from linkwork.expr.arrays.symbol_array import array
from linkwork.kernels.compiler_api import Kernel, compile
from linkwork.kernels.kernel_cache import LazyCache
from linkwork.simulation.sensors.contact_sensor import ContactSensor
from linkwork.simulation.sensors.frame_sensors import TouchSensor
from linkwork.simulation.sensors.sensor import Sensor, SensorInput

__all__ = ["linear_model"]

_DEPENDENT = 1e-6  # smallest singular value of S T at which the independent coordinates determine the others
_MOVING_APART = 1e-6  # [relative] largest constraint error of a velocity
_SIX = ("rx", "ry", "rz", "x", "y", "z")
_STATES = ("q", "v", "a")
_OF_FRAMES = {"position": _SIX[3:], "pose": _SIX, "twist": _SIX, "acceleration": _SIX}

Array = np.ndarray[Any, Any]


_KERNELS: LazyCache[Kernel] = LazyCache(16)


@public
def linear_model(
    robot: Any,
    q: ArrayLike | Mapping[str, ArrayLike],
    v: ArrayLike | Mapping[str, ArrayLike] | None = None,
    *,
    tau: ArrayLike | Mapping[str, ArrayLike] | None = None,
    inputs: str | Sequence[str] | None = None,
    outputs: str | Sequence[str] | None = None,
    independent: str | Sequence[str] | None = None,
    sensors: Mapping[str, Sensor] | None = None,
    passive: bool = True,
    time: ArrayLike | None = None,
) -> StateSpace:
    """Return the linear model of a robot about states q (..., nq), v (..., nv); at rest by default.

    q, v and tau may be dicts by joint.
    States are deviations of the configuration in tangent coordinates, ``"q:elbow"``, and of velocities, ``"v:elbow"``.
    Inputs are deviations of joint forces, ``"tau:elbow"``.  ``inputs`` names joints, entries of ``robot.v_names``, or
    motors of ``robot.actuators``; by default all joints but those of six degrees of freedom.  ``outputs`` is a list of

    - ``"q"``, ``"v"``, ``"a"``: all coordinates, velocities or accelerations; ``"q:elbow"`` those of one joint;
    - ``"position:hand"``: position (x, y, z) of a frame [m], in world axes;
    - ``"pose:hand"``: small rotation (rx, ry, rz) and position; ``"twist:hand"`` and ``"acceleration:hand"``;
    - ``"imu"``: the readings ``"imu[0]"``, ... of one of the ``sensors``, a dict as in `Robot.simulate`, without noise,
      bias, delay and resolution.

    By default the outputs are the readings of the sensors, or without sensors the states.  The joint forces at the
    operating point are ``tau`` (..., nv), by default those for zero acceleration.  With ``passive`` the model includes
    springs, damping and armature, as in `simulate`, but no dry friction, whose slope at rest is not that of a motion.
    Leading axes are a batch of operating points, linearised by one call of a kernel.

    For a robot with constraints the states are deviations of its ``independent`` coordinates, by default those that
    `Robot.minimal_coordinates` chooses at the first operating point.  An operating point with v ≠ 0 then needs
    ``tau``. ``time`` (...,) [s] is required for time-dependent constraints.  The model then describes deviations from
    the prescribed motion at this time, δẋ = A(t) δx + B(t) δu.  Poles of A(t) at one time do not determine the
    stability of a motion.

    >>> import linkwork as lw
    >>> model = lw.control.linear_model(lw.load("double_pendulum"), [0.0, 0.0], inputs="shoulder", outputs="q:elbow")
    >>> model.input_names, model.output_names, model.poles().imag.round(4).tolist()
    (('tau:shoulder',), ('q:elbow',), [-7.4124, -2.8277, 2.8277, 7.4124])

    Raises UnknownNameError for an unknown name, and ValueError if the operating point needs forces that are not inputs,
    and for constraints that depend on time without ``time``.
    """
    caller = "linear_model"
    measured = _read_sensors(caller, robot, sensors)
    columns, input_names = _inputs(caller, robot, inputs)
    nv = robot.nv
    at = read_state_values(caller, robot, "q", q)
    rate = np.zeros(nv) if v is None else read_state_values(caller, robot, "v", v)
    forces = None if tau is None else read_state_values(caller, robot, "tau", tau)
    moment = _moment(caller, robot, time)
    shapes = [x.shape[:-1] for x in (at, rate, forces) if x is not None] + ([] if moment is None else [moment.shape])
    lead = np.broadcast_shapes(*shapes)
    at, rate = np.broadcast_to(at, (*lead, robot.nq)), np.broadcast_to(rate, (*lead, nv))
    moment = None if moment is None else np.broadcast_to(moment, lead)
    E, indices = _independent(caller, robot, at, rate, independent, moment)
    if robot.constraints and (rate.any() or moment is not None):
        _check_motion(caller, robot, at, rate, forces, moment)
    if forces is None:
        acting = np.flatnonzero(columns.any(axis=1))
        forces = reference_forces(caller, robot, at, rate, np.zeros(nv), acting, passive, moment)
        chosen_by, motion = None if inputs is None else "inputs", "rest" if v is None else "zero acceleration"
        forces = actuated_forces(caller, robot, forces, acting, motion, chosen_by)
    forces = np.broadcast_to(forces, (*lead, nv))
    A, B = linearized(robot, at, rate, forces, dt=None, integrator=EXACT, passive=passive, time=moment)
    B = B @ columns
    v_names = robot.v_names
    state_names = tuple(f"{'qv'[k // nv]}:{v_names[k % nv]}" for k in indices)
    outputs = tuple(measured) or state_names if outputs is None else outputs
    point = at, rate, forces, moment
    C, D, output_names = _outputs(caller, robot, point, (A, B, columns), outputs, measured, passive)
    A, C = A[..., indices, :] @ E, C @ E
    values = (A, B[..., indices, :], C, D, None, state_names, input_names, output_names, at, rate, forces, robot.name)
    return StateSpace._make(*(np.array(x) if isinstance(x, np.ndarray) else x for x in values))


def _moment(caller: str, robot: Any, time: ArrayLike | None) -> Array | None:
    """Return the time (...,) [s] at which constraints are evaluated, or None if no constraint depends on time.

    Raises ValueError if the time is missing or has no effect.
    """
    timed = [constraint.name for constraint in robot.constraints if constraint.time_dependent]
    if time is None and timed:
        raise ValueError(f"{caller}: time: expected the time [s] of the constraint {timed[0]!r}, got None")
    if time is not None and not timed:
        raise ValueError(f"{caller}: time: expected None, since no constraint depends on time, got {time!r}")
    return None if time is None else finite_array(caller, "time", time, unit="s")


def _check_motion(caller: str, robot: Any, q: Array, v: Array, tau: Array | None, time: Array | None) -> None:
    """Raise ValueError for a velocity that violates the constraints, and for a moving state without ``tau``."""
    rates = (robot.constraint_jacobian(q, **at_time(time)) @ v[..., None])[..., 0]
    drift = np.zeros(()) if time is None else robot.constraint_drift(q, time=time)
    apart, speeds = np.abs(rates + drift).max(axis=-1), np.abs(v).max(axis=-1)
    if (apart > _MOVING_APART * (speeds + np.abs(drift).max(initial=0.0))).any():
        raise ValueError(f"{caller}: v: expected velocities that the constraints permit; use robot.explicit_velocity")
    if tau is None and v.any():
        raise ValueError(f"{caller}: tau: expected joint forces, since the robot has constraints and moves")


def _inputs(caller: str, robot: Any, inputs: str | Sequence[str] | None) -> tuple[Array, tuple[str, ...]]:
    """Return the joint forces (nv, m) for a unit value of each input, and the names of the inputs."""
    if inputs is None:
        inputs = [robot.v_names[k] for k in actuated_indices(caller, robot, None)]
    columns, labels = [], []
    motors, joints = {x.name: x for x in robot.actuators}, {x.name for x in robot.joints}
    for name in _named(caller, "inputs", inputs):
        if name in motors and name not in joints and name not in robot.v_names:
            columns.append(_motor(caller, robot, motors[name]))
            labels.append(name)
            continue
        try:
            indices = robot.v_index([name])
        except UnknownNameError as error:
            known = [*error.known, *motors]
            raise UnknownNameError("joint or motor", name, known, where=f"{caller}: inputs") from None
        columns += [*np.eye(robot.nv)[indices]]
        labels += [f"tau:{robot.v_names[k]}" for k in indices]
    repeated = [x for x in labels if labels.count(x) > 1]
    if repeated:
        raise ValueError(f"{caller}: inputs: expected different inputs, got {repeated[0]!r} twice")
    return np.array(columns).reshape(-1, robot.nv).T, tuple(labels)


def _named(caller: str, argument: str, value: str | Sequence[str]) -> tuple[str, ...]:
    result = (value,) if isinstance(value, str) else names(caller, argument, value)
    if not result:
        raise ValueError(f"{caller}: {argument}: expected at least one name, got {value!r}")
    return result


def _motor(caller: str, robot: Any, actuator: Any) -> Array:
    """Return the joint forces (nv,) of a motor at u = 1.  Raises ValueError for actuators of another kind."""
    if actuator.frame is not None or any(actuator.bias) or any(actuator.gain[1:]):
        raise ValueError(
            f"{caller}: inputs: expected joints and motors on joints, got the actuator {actuator.name!r} of kind "
            f"{actuator.kind!r}; name its joints, and close its loop with their forces"
        )
    result = np.zeros(robot.nv)
    for joint, gear in actuator.joints:
        if robot.joints[joint].coupling is not None:
            raise ValueError(
                f"{caller}: inputs: expected motors on joints that follow no other, got {actuator.name!r} on {joint!r}"
                "; name the joint that it follows"
            )
        result[robot.v_index([joint])] += actuator.gain[0] * np.array(gear)
    return result


def _independent(
    caller: str, robot: Any, q: Array, v: Array, independent: Any, time: Array | None
) -> tuple[Array, Array]:
    """Return E, and the indices of the independent deviations among (δq, δv).

    Deviations of a robot with constraints are (δq, δv) = E x, where x are the independent deviations.
    """
    nv = robot.nv
    T = permitted_deviations(caller, robot, q, v, time)
    if T is None:
        if independent is not None:
            raise ValueError(f"{caller}: independent: expected None, since the robot has no constraints")
        return np.eye(2 * nv), np.arange(2 * nv)
    first = None if time is None else float(time.reshape(-1)[0])
    chosen = robot.minimal_coordinates(independent, q.reshape(-1, robot.nq)[0], time=first)
    indices = np.concatenate([robot.v_index(chosen.independent), nv + robot.v_index(chosen.speeds)])
    rows = T[..., indices, :]
    if np.linalg.svd(rows, compute_uv=False).min(initial=1.0) < _DEPENDENT:
        raise ValueError(
            f"{caller}: independent: {', '.join(chosen.independent)} do not determine the other coordinates at an "
            "operating point; name others"
        )
    return T @ np.linalg.inv(rows), indices


def _outputs(
    caller: str,
    robot: Any,
    point: tuple[Array, Array, Array, Array | None],
    system: tuple[Array, Array, Array],
    outputs: Any,
    sensors: Mapping[str, Sensor],
    passive: bool,
) -> tuple[Array, Array, tuple[str, ...]]:
    """Return the output matrices C, with columns for (δq, δv), and D, and the names of the outputs."""
    chosen = _named(caller, "outputs", outputs)
    A, B, columns = system
    nv, lead = robot.nv, A.shape[:-2]
    x_rows, u_rows = np.concatenate([np.broadcast_to(np.eye(2 * nv), A.shape), A[..., nv:, :]], axis=-2), B[..., nv:, :]
    u_rows = np.concatenate([np.zeros((*lead, 2 * nv, B.shape[-1])), u_rows], axis=-2)
    C, D, labels = [], [], []
    for label in chosen:
        kind, _, name = label.partition(":")
        if label in sensors:
            by_state, by_tau = _reading_slopes(robot, sensors[label], point[:3], passive, point[3])
            labels += _reading_names(robot, label, sensors[label])
            C.append(by_state)
            D.append(by_tau @ columns)
        elif kind in _STATES:
            try:
                entries = robot.v_index([name]) if name else np.arange(nv)
            except UnknownNameError as error:
                raise error.at(f"{caller}: outputs") from None
            labels += [f"{kind}:{robot.v_names[k]}" for k in entries]
            rows = nv * _STATES.index(kind) + entries
            C.append(x_rows[..., rows, :])
            D.append(u_rows[..., rows, :])
        elif kind in _OF_FRAMES and name:
            by_q, by_v, by_a = _frame_rows(robot, point, kind, name, passive)
            labels += [f"{label}:{axis}" for axis in _OF_FRAMES[kind]]
            C.append(np.concatenate([by_q, by_v], axis=-1) + by_a @ A[..., nv:, :])
            D.append(by_a @ B[..., nv:, :])
        else:
            raise _unknown_output(caller, robot, label, sensors)
    return np.concatenate(C, axis=-2), np.concatenate(D, axis=-2), tuple(labels)


def _unknown_output(caller: str, robot: Any, label: str, sensors: Mapping[str, Sensor]) -> UnknownNameError:
    """Return the error for an unknown output; for the bare name of a joint or frame it lists complete names."""
    known = [*sensors, *_STATES, *(f"{x}:<joint>" for x in _STATES), *(f"{x}:<frame>" for x in _OF_FRAMES)]
    kinds = _STATES if label in {*robot.joints, *robot.v_names} else tuple(_OF_FRAMES) if label in robot.frames else ()
    nearest = f"did you mean {' or '.join(repr(f'{kind}:{label}') for kind in kinds[:2])}? " if kinds else ""
    return UnknownNameError("output", label, known, f"{nearest}expected {', '.join(known)}", f"{caller}: outputs")


def _frame_rows(
    robot: Any, point: tuple[Array, Array, Array, Array | None], kind: str, frame: str, passive: bool
) -> tuple[Array, ...]:
    """Return the derivatives (..., rows, nv) of an output of a frame with respect to q, v and a.

    ``kind`` is "position", "pose", "twist" or "acceleration"; ``point`` is the operating point.
    """
    q, v, tau, time = point
    if kind == "acceleration":
        if time is None:
            a = robot.forward_dynamics(q, v, tau, **passive_options(passive))
        else:
            a = robot.constrained_forward_dynamics(q, v, tau, time=time, **passive_options(passive))[0]
        by_q, by_v, by_a = robot.acceleration_derivatives(q, v, a, frame)
        return by_q, by_v, by_a
    if kind == "twist":
        by_q, by_v = robot.twist_derivatives(q, v, frame)
        return by_q, by_v, 0.0 * by_v
    J = robot.jacobian(q, frame)
    J = J[..., 3:, :] if kind == "position" else J
    return J, 0.0 * J, 0.0 * J


def _read_sensors(caller: str, robot: Any, sensors: Mapping[str, Sensor] | None) -> dict[str, Sensor]:
    """Return the sensors by name.  Raises TypeError for other values, ValueError for sensors that do not fit."""
    if not isinstance(sensors, Mapping | None):
        raise TypeError(f"{caller}: sensors: expected a dict of sensors by name, got {sensors!r}")
    for name, sensor in (sensors or {}).items():
        if not isinstance(name, str) or not name.isidentifier():
            raise ValueError(f"{caller}: sensors: expected identifiers as names, got {name!r}")
        if not isinstance(sensor, Sensor):
            raise TypeError(f"{caller}: sensors[{name!r}]: expected a sensor of linkwork.simulation, got {sensor!r}")
        if isinstance(sensor, TouchSensor | ContactSensor):
            raise ValueError(
                f"{caller}: sensors[{name!r}]: expected a sensor without contacts, which a linear model does not have, "
                f"got {type(sensor).__name__}"
            )
        sensor.checked(robot, False)
    return dict(sensors or {})


def _reading_names(robot: Any, name: str, sensor: Sensor) -> list[str]:
    """Return the names of the readings of a sensor: ``"imu[0]"`` and so on, or ``"imu"`` of a single one."""
    count = sensor.size(robot)
    return [name] if count == 1 else [f"{name}[{k}]" for k in range(count)]


def _reading_slopes(
    robot: Any, sensor: Sensor, point: Sequence[Array], passive: bool, time: Any = None
) -> tuple[Array, Array]:
    """Return the derivatives of readings in (δq, δv) (..., n, 2 nv) and in τ (..., n, nv) at states q, v and τ.

    Readings are y = h(q, v, v̇, λ, τ), where the acceleration v̇ and the constraint forces λ are functions of q, v and
    τ. Derivatives are total derivatives with respect to q, v and τ. ``time`` (...,) [s] is the time for time-dependent
    constraints.
    """
    nv = robot.nv
    key = robot, sensor, passive, time is None
    kernel = _KERNELS.get(key, lambda: _compiled_readings(robot, sensor, passive, time is not None))
    q, v, tau = point
    by_q, by_v, by_tau = kernel(q, v, tau, np.zeros(nv), 0.0 if time is None else time)
    return np.concatenate([by_q, by_v], axis=-1), np.asarray(by_tau)


def _compiled_readings(robot: Any, sensor: Sensor, passive: bool, timed: bool) -> Kernel:
    """Return the kernel of the derivatives of a sensor's readings with respect to deviations of q, to v and to τ.

    Its inputs are q, v, τ, a zero deviation of q and the time.
    """
    nv, how = robot.nv, passive_options(passive)

    def readings(q: Any, v: Any, tau: Any, deviation: Any, time: Any) -> Any:
        q = robot.integrate(q, deviation)
        if robot.constraints:
            a, forces = robot.constrained_forward_dynamics(q, v, tau, **how, **at_time(time if timed else None))
        else:
            a, forces = robot.forward_dynamics(q, v, tau, **how), ()
        friction = {"friction": how["friction"]} if passive else {}
        state = SensorInput(
            robot, time if timed else 0.0, q, v, a, tau, passive=passive, constrained=list(forces), **friction
        )
        return array(list(sensor.readings(state)))

    shapes = {"q": robot.configuration_space, "v": (nv,), "tau": (nv,), "deviation": (nv,), "time": ()}
    return compile(readings, name="readings", **shapes).jacobian("deviation", "v", "tau")
