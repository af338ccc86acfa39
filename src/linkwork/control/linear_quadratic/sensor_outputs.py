"""Readings of sensors as outputs of linear models.

Readings are y = h(q, v, v̇, λ, τ) with the acceleration v̇ and the constraint forces λ of the state (q, v) under joint
forces τ.  Their derivatives are those of the function of q, v and τ that remains.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from linkwork.control.linear_quadratic.constrained_states import at_time
from linkwork.control.linear_quadratic.dense_linearization import passive_options
from linkwork.expr.arrays.symbol_array import array
from linkwork.kernels.compiler_api import Kernel, compile
from linkwork.kernels.kernel_cache import LazyCache
from linkwork.simulation.sensors.contact_sensor import ContactSensor
from linkwork.simulation.sensors.frame_sensors import TouchSensor
from linkwork.simulation.sensors.sensor import Sensor, SensorInput

__all__ = ["read_sensors", "reading_names", "reading_slopes"]

_KERNELS: LazyCache[Kernel] = LazyCache(16)

Array = np.ndarray[Any, Any]


def read_sensors(caller: str, robot: Any, sensors: Mapping[str, Sensor] | None) -> dict[str, Sensor]:
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


def reading_names(robot: Any, name: str, sensor: Sensor) -> list[str]:
    """Return the names of the readings of a sensor: ``"imu[0]"`` and so on, or ``"imu"`` of a single one."""
    count = sensor.size(robot)
    return [name] if count == 1 else [f"{name}[{k}]" for k in range(count)]


def reading_slopes(
    robot: Any, sensor: Sensor, point: Sequence[Array], passive: bool, time: Any = None
) -> tuple[Array, Array]:
    """Return the derivatives of readings by (δq, δv) (..., n, 2 nv) and by τ (..., n, nv) at states q, v and τ.

    ``time`` (...,) [s] is that of constraints that depend on it.
    """
    nv = robot.nv
    key = robot, sensor, passive, time is None
    kernel = _KERNELS.get(key, lambda: _compiled(robot, sensor, passive, time is not None))
    q, v, tau = point
    by_q, by_v, by_tau = kernel(q, v, tau, np.zeros(nv), 0.0 if time is None else time)
    return np.concatenate([by_q, by_v], axis=-1), np.asarray(by_tau)


def _compiled(robot: Any, sensor: Sensor, passive: bool, timed: bool) -> Kernel:
    """Return the kernel of the three derivatives from q, v, τ, a zero deviation of q and the time."""
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
