"""Base class of controllers: how they are called, their inputs, and their actuators."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from linkwork._util.checked_arguments import public
from linkwork._util.validation import floats
from linkwork.control.algorithms.pid_integrator import bounded
from linkwork.control.linear_quadratic.arguments import actuated_places
from linkwork.errors import UnknownNameError
from linkwork.expr.arrays.symbol_array import array, is_traced, scalars
from linkwork.expr.linalg.sparse_dot import dot
from linkwork.kernels.array_arguments import real_array
from linkwork.kernels.compiler_api import Kernel, compile
from linkwork.kernels.numeric_call import checked_call
from linkwork.spatial.arguments import is_rigid

__all__ = ["ControlLaw", "acceleration_of_inertia", "inertia_matrix", "positive_number", "read_nonnegative"]

Scalars = Sequence[Any]
Shapes = Mapping[str, tuple[int, ...]]


class ControlLaw(ABC):
    """Base class of controllers: a function τ(t, q, v, inputs by name), of symbols or of numbers.

    On symbols it becomes part of a kernel: `Robot.simulate`, `linkwork.Simulator` and `linkwork.compile` take it.  On
    numbers (...) it runs a kernel of its own.  A controller with a state z, such as an integral, has ``start``, takes z
    after v, and returns (τ, z).

    A controller implements `input_shapes`, `required_inputs` and `forces`, over any scalar; see "Add a controller" in
    the documentation.  `linkwork.control.check_controller` checks it.
    """

    start: np.ndarray | None = None  # z at the start of a simulation; None for a controller without state

    def __init__(self, robot: Any, actuators: str | Iterable[str] | None, limits: Any) -> None:
        """``actuators`` names the actuated joints, all but those of six degrees of freedom for None; ``limits`` are
        largest forces, a number or (m,) of actuated velocities, those of the robot for None.
        """
        self.caller = type(self).__name__
        self.acting = actuated_places(self.caller, robot, actuators)
        self.robot = robot
        self.effort_limits = self._read_limits(limits)
        self._kernels: dict[Any, Kernel] = {}

    # -- what a controller implements

    @property
    @abstractmethod
    def input_shapes(self) -> Shapes:
        """Shapes of all inputs, by name."""

    @property
    @abstractmethod
    def required_inputs(self) -> tuple[str, ...]:
        """Names of the inputs without which it cannot be called."""

    @property
    def pose_inputs(self) -> tuple[str, ...]:
        """Names of the inputs that are poses, matrices (4, 4)."""
        return ()

    @abstractmethod
    def forces(self, t: Any, q: Any, v: Any, z: Any, inputs: Mapping[str, Any]) -> tuple[Any, Any]:
        """Joint forces (nv) before limits, and the next z, None without state.

        All arguments are symbols: t () [s], q (nq), v (nv), z as ``start``, and those inputs that the call has.
        """

    # -- how it is called

    @public
    def __call__(self, t: Any, q: Any, v: Any, *carried: Any, **inputs: Any) -> Any:
        """Joint forces τ (..., nv), within limits; of a controller with state (τ, z).

        t () [s], q (..., nq), v (..., nv), z as ``start``, and inputs by name, as in ``input_shapes``.  Raises
        UnknownNameError for other names, TypeError if a required input is missing, ValueError for another shape.
        """
        if len(carried) != (self.start is not None):
            expected = "t, q, v and what it carries" if self.start is not None else "t, q and v, nothing carried"
            raise TypeError(f"{self.caller}: carried: expected {expected}, got {3 + len(carried)} arguments")
        shapes = self._read_inputs(inputs)
        named = {"q": q, "v": v, **({"z": carried[0]} if carried else {}), **inputs}
        if not is_traced([t, *named.values()]):
            return self._call_kernel(shapes, t, named)
        sizes = {"q": (self.robot.nq,), "v": (self.robot.nv,), **shapes}
        if self.start is not None:
            sizes["z"] = self.start.shape
        read = {name: self._symbols_of_shape(name, x, sizes[name]) for name, x in named.items()}
        q, v, z = read.pop("q"), read.pop("v"), read.pop("z", None)
        return self._outputs(t, q, v, z, read)

    def _outputs(self, t: Any, q: Any, v: Any, z: Any, inputs: Mapping[str, Any]) -> Any:
        tau, after = self.forces(t, q, v, z, inputs)
        tau = array(bounded(self.apply_actuation(tau), [*self.effort_limits]))
        return tau if self.start is None else (tau, after)

    def _call_kernel(self, shapes: Shapes, t: Any, named: Mapping[str, Any]) -> Any:
        kernel = self._kernels.get(tuple(shapes))
        if kernel is None:
            sizes = {"t": (), "q": (self.robot.nq,), "v": (self.robot.nv,)}
            if self.start is not None:
                sizes["z"] = self.start.shape

            def control(**symbols: Any) -> Any:
                t, q, v, z = (symbols.pop(name, None) for name in ("t", "q", "v", "z"))
                return self._outputs(t, q, v, z, symbols)

            kernel = self._kernels[tuple(shapes)] = compile(control, name=self.caller, **sizes, **shapes)
        return checked_call(self.caller, kernel, {"t": t, **named})

    def _read_inputs(self, inputs: Mapping[str, Any]) -> Shapes:
        """Shapes of the inputs of a call.  Raises UnknownNameError, TypeError and ValueError."""
        takes = self.input_shapes
        for name in inputs:
            if name not in takes:
                raise UnknownNameError(f"input of {self.caller}", name, takes)
        missing = [name for name in self.required_inputs if name not in inputs]
        if missing:
            said = ", ".join(f"{name} {takes[name]}" for name in missing)
            raise TypeError(
                f"{self.caller}: expected {said} too, got {', '.join(inputs) or 'nothing'} besides the state"
            )
        for name, x in inputs.items():
            shape, result = takes[name], np.shape(x)
            if len(result) < len(shape) or result[len(result) - len(shape) :] != shape:
                raise ValueError(f"{self.caller}: {name}: expected the shape {shape}, got {result}")
            self.check_input(name, x)
        return {name: takes[name] for name in takes if name in inputs}

    def check_input(self, name: str, value: Any) -> None:
        """Raise ValueError for a pose input whose matrix is not a pose.  Matrices with NaN pass."""
        if name not in self.pose_inputs or is_traced(value):
            return
        X = floats(value)
        known = X[np.isfinite(X).all(axis=(-1, -2))]
        if not is_rigid(known):
            raise ValueError(
                f"{self.caller}: {name}: expected a pose, a matrix with a rotation and the last row 0 0 0 1, got\n{X}; "
                "linkwork.pose makes them"
            )

    def _symbols_of_shape(self, name: str, value: Any, shape: tuple[int, ...]) -> Any:
        result = scalars(value)
        if result.shape != shape:
            raise ValueError(f"{self.caller}: {name}: expected the shape {shape}, got {result.shape}")
        return array(result)

    # -- actuation

    def apply_actuation(self, tau: Any) -> list[Any]:
        """τ (nv) with zeros for velocities that are not actuated."""
        places = set(self.acting.tolist())
        return [x if k in places else 0.0 for k, x in enumerate(tau)]

    @property
    def is_fully_actuated(self) -> bool:
        """Whether every velocity is actuated."""
        return len(self.acting) == int(self.robot.nv)

    @property
    def actuator_names(self) -> list[str]:
        """Names of the actuated velocities, those of `Robot.v_names`."""
        return [self.robot.v_names[k] for k in self.acting]

    def read_gains(self, name: str, value: Any) -> np.ndarray:
        """Gains (nv) from one number, one per actuated velocity (m,), or a dict by joint; 0 if not actuated.

        Raises ValueError for negative and non-finite gains, and for joints that are missing or not actuated.
        """
        result, m = np.zeros(self.robot.nv), len(self.acting)
        expected = f"{self.caller}: {name}: expected a number >= 0, ({m},) of actuated velocities, or a dict by joint"
        if isinstance(value, Mapping):
            left = set(self.acting.tolist())
            for joint, gain in value.items():
                places = self.robot.v_index([joint])
                if set(places.tolist()) - left:
                    raise ValueError(f"{self.caller}: {name}: {joint!r} is no actuator, or there twice")
                left -= set(places.tolist())
                result[places] = real_array(expected, gain)
            if left:
                raise ValueError(f"{expected}; nothing is said of {self.robot.v_names[min(left)]!r}")
        else:
            array = np.asarray(real_array(expected, value), dtype=float)
            if array.shape not in ((), (m,)):
                raise ValueError(f"{expected}; got shape {array.shape}")
            result[self.acting] = array
        wrong = ~((result >= 0.0) & (result < np.inf))
        if wrong.any():
            k = int(np.argmax(wrong))
            raise ValueError(f"{expected}; got {result[k]:g} of {self.robot.v_names[k]!r}")
        return result

    def _read_limits(self, value: Any) -> np.ndarray:
        """Largest |τ| (nv); for None the limits of the robot."""
        if value is None:
            return np.asarray(self.robot.effort_limits)
        m = len(self.acting)
        expected = (
            f"{self.caller}: effort_limits: expected a force above 0, or ({m},) of actuated velocities; inf is none"
        )
        array = np.asarray(real_array(expected, value), dtype=float)
        if array.shape not in ((), (m,)) or not (array > 0.0).all():
            raise ValueError(f"{expected}; got {value!r}")
        result = np.full(self.robot.nv, np.inf)
        result[self.acting] = array
        return result

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_kernels": {}}

    def __repr__(self) -> str:
        needs = set(self.required_inputs)
        takes = ", ".join(name if name in needs else f"[{name}]" for name in self.input_shapes)
        return f"<{self.caller} of {self.robot.name!r}: {takes or 'no inputs'}>"


def read_nonnegative(caller: str, name: str, value: Any, shapes: Sequence[tuple[int, ...]], unit: str) -> np.ndarray:
    """Finite numbers >= 0 of one of these shapes.  Raises ValueError."""
    expected = f"{caller}: {name}: expected numbers from 0 [{unit}], of the shape {' or '.join(map(str, shapes))}"
    result = np.asarray(real_array(expected, value), dtype=float)
    if result.shape not in shapes or not ((result >= 0.0) & (result < np.inf)).all():
        raise ValueError(f"{expected}; got {value!r}")
    return result


def positive_number(caller: str, name: str, value: Any, unit: str) -> float:
    """A finite number > 0.  Raises ValueError."""
    if isinstance(value, bool) or not isinstance(value, (int, float, np.number)) or not 0.0 < value < math.inf:
        raise ValueError(f"{caller}: {name}: expected a number above 0 [{unit}], got {value!r}")
    return float(value)


def inertia_matrix(caller: str, value: Any, size: int, unit: str) -> np.ndarray:
    """A symmetric, positive definite matrix (size, size).  Raises ValueError."""
    expected = f"{caller}: inertia: expected a symmetric, positive definite matrix ({size}, {size}) [{unit}]"
    result = np.array(real_array(expected, value), dtype=float)
    if result.shape != (size, size) or not np.isfinite(result).all():
        what = f"shape {result.shape}" if result.shape != (size, size) else "numbers that are not finite"
        raise ValueError(f"{expected}; got {what}")
    if not np.allclose(result, result.T, rtol=1e-9, atol=1e-12 * np.abs(result).max()):
        raise ValueError(f"{expected}; got one that is not symmetric, by {np.abs(result - result.T).max():g}")
    least = float(np.linalg.eigvalsh(result)[0])
    if not least > 0.0:
        raise ValueError(f"{expected}; got one with the eigenvalue {least:g}")
    return result


def acceleration_of_inertia(inertia: np.ndarray, forces: Scalars) -> list[Any]:
    """Accelerations (n) of an inertia, a diagonal (n) or a matrix (n, n), under forces (n)."""
    if inertia.ndim == 1:
        return [f / m for f, m in zip(forces, inertia, strict=True)]
    return [dot([float(x) for x in row], forces) for row in np.linalg.inv(inertia)]
