"""Inputs of functions of a mechanism besides q: the time, and values of the robot's parameters, for each state."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from linkwork._util.validation import finite_array, floats, shown
from linkwork.errors import UnknownNameError
from linkwork.kernels.function_request import read_request
from linkwork.model.kernel_parameters import KINDS, inputs_of, read_parameters

__all__ = ["StateInputs", "VariedRobot", "poses_of", "robot_with", "varied"]


@dataclass(frozen=True)
class StateInputs:
    """Time [s] and parameter values of each state of a batch, by the name of their input.

    An array (..., *dims) has an axis for each axis of the batch, or none: then its value applies to all states.
    """

    arrays: Mapping[str, np.ndarray] = field(default_factory=dict)
    dims: Mapping[str, tuple[int, ...]] = field(default_factory=dict)  # shape of a value

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the batch."""
        each = self.arrays.items()
        return np.broadcast_shapes(*(x.shape[: x.ndim - len(self.dims[name])] for name, x in each))

    @property
    def options(self) -> dict[str, Any]:
        """Keyword arguments of a function of the robot, or of a `VariedRobot`."""
        values = {name: x for name, x in self.arrays.items() if name != "time"}
        result: dict[str, Any] = {"time": self.arrays["time"]} if "time" in self.arrays else {}
        return {**result, "parameters": values} if values else result

    @property
    def parameters(self) -> dict[str, Any]:
        """Keyword arguments of a function that does not depend on time."""
        return {name: x for name, x in self.options.items() if name != "time"}

    def flat(self, shape: tuple[int, ...]) -> StateInputs:
        """Return the inputs of a batch of this shape with one axis for all states."""
        count = math.prod(shape)
        return self._mapped(lambda x, dims: np.broadcast_to(x, (*shape, *dims)).reshape(count, *dims))

    def reshaped(self, shape: tuple[int, ...]) -> StateInputs:
        """Return the inputs of a flat batch with the axes of this shape."""
        return self._mapped(lambda x, dims: x.reshape(*shape, *dims))

    def of_all(self, axes: int) -> StateInputs:
        """Return the inputs with this number of further batch axes of length 1 at the end.

        The inputs then broadcast over further states of each mechanism.
        """
        return self._mapped(lambda x, dims: x.reshape(*x.shape[: x.ndim - len(dims)], *(1,) * axes, *dims))

    def repeated(self, count: int) -> StateInputs:
        """Return the inputs of a flat batch with a second axis of ``count`` equal states, which can be indexed."""
        return self._mapped(lambda x, dims: np.broadcast_to(x[:, np.newaxis], (len(x), count, *dims)))

    def __getitem__(self, index: Any) -> StateInputs:
        return self._mapped(lambda x, dims: x[index])

    def some(self, indices: np.ndarray, count: int) -> StateInputs:
        """Return the inputs of the states ``indices`` of a flat batch of ``count`` states, without copying all."""
        return self if len(indices) == count else self[indices]

    def _mapped(self, change: Callable[[np.ndarray, tuple[int, ...]], np.ndarray]) -> StateInputs:
        arrays = {
            name: x if x.ndim == len(self.dims[name]) else change(x, self.dims[name]) for name, x in self.arrays.items()
        }
        return StateInputs(arrays, self.dims)


class VariedRobot:
    """A robot whose functions are evaluated with other parameter values, which each call passes in ``parameters``.

    Names, limits and joint functions are those of the robot.
    """

    def __init__(self, robot: Any, caller: str, parameters: tuple[Any, ...], needed: tuple[str, ...]) -> None:
        self.robot, self.caller, self.parameters = robot, caller, parameters
        self.needed = needed  # functions that must depend on all parameters

    def varied(self, inputs: StateInputs) -> Any:
        """Return the robot with the parameter values of one state."""
        values = {str(parameter): inputs.arrays[name] for parameter, name in inputs_of(self.parameters).items()}
        return self.robot.with_parameters(values)

    def __getattr__(self, name: str) -> Any:
        if name == "robot":  # during unpickling
            raise AttributeError(name)
        return partial(self._call, name) if name in self.robot._subject.rows else getattr(self.robot, name)

    def _call(
        self, name: str, *arguments: Any, parameters: Mapping[str, np.ndarray] | None = None, **options: Any
    ) -> Any:
        """Call the kernel of a function, without the checks of its method; ``arguments`` may end with options."""
        row = self.robot._subject.rows[name]
        arrays, named = arguments[: len(row.inputs)], arguments[len(row.inputs) :]
        wrenches = options.pop("wrenches", {})
        axes = options.pop(row.wrench_arguments[1], "world") if wrenches else {}
        acted = {"wrenches": axes if isinstance(axes, Mapping) else dict.fromkeys(wrenches, axes)} if wrenches else {}
        inputs = {key: options.pop(key) for key in row.optional if options.get(key) is not None}
        request = read_request(self.robot._subject, (name, *named, options | acted), tuple(inputs))
        if parameters:
            known = tuple(p if name in self.needed else replace(p, fitting=True) for p in self.parameters)
            request = replace(request, parameters=known)
        try:  # the first call compiles the kernel
            kernel = self.robot._kernel(request.label, {request.label: request})
            ports = [port.name for port in kernel.inputs if port.name.startswith("wrench_")]
            acting = zip(ports, (wrenches[frame] for frame, _ in request.wrenches), strict=True)
            return kernel(*arrays, **inputs, **dict(acting), **(parameters or {}))
        except UnknownNameError:
            raise
        except ValueError as error:
            raise ValueError(str(error).replace("compile:", f"{self.caller}:", 1)) from None


def varied(
    robot: Any, caller: str, time: Any, parameters: Any, needed: tuple[str, ...] = ()
) -> tuple[Any, StateInputs]:
    """Return the robot and the inputs of its functions: times (...), and values (...) by parameter name.

    With parameters (`Robot.parameters`), the robot is a `VariedRobot`; functions in ``needed`` depend on all of them.

    Raises TypeError for anything but a dict, UnknownNameError for an unknown parameter, ValueError for another shape
    and for values that are not finite.
    """
    arrays: dict[str, np.ndarray] = {}
    dims: dict[str, tuple[int, ...]] = {}
    if time is not None:
        arrays["time"], dims["time"] = finite_array(caller, "time", time, unit="s"), ()
    if parameters is not None and not isinstance(parameters, Mapping):
        raise TypeError(f"{caller}: parameters: expected a dict by parameter, got {parameters!r}")
    if parameters:
        read_parameters(robot.tree, caller, [*parameters])  # raises for a parameter named twice
        read = {p: x for name, x in parameters.items() for p in read_parameters(robot.tree, caller, name)}
        for parameter, name in inputs_of(tuple(read)).items():
            dims[name] = parameter.shape(robot.tree)
            doc = KINDS[parameter.kind].doc
            arrays[name] = _values(f"{caller}: parameters: {parameter}", read[parameter], dims[name], doc)
        robot = VariedRobot(robot, caller, tuple(read), needed)
    inputs = StateInputs(arrays, dims)
    try:
        _ = inputs.shape
    except ValueError as error:
        raise ValueError(f"{caller}: parameters and time do not broadcast together: {error}") from None
    return robot, inputs


def robot_with(robot: Any, inputs: StateInputs) -> Any:
    """Return the robot of a mechanism, with its parameters.  Raises ValueError for a batch of parameters."""
    if not isinstance(robot, VariedRobot):
        return robot
    if inputs.shape:
        batch = f"has a batch {inputs.shape} of parameters"
        raise ValueError(f"robot {robot.name!r} {batch}; take one mechanism at a time")
    return robot.varied(inputs)


def poses_of(robot: Any, inputs: StateInputs, q: np.ndarray, frame: str, relative_to: str) -> np.ndarray:
    """Return the poses (..., 4, 4) of a frame of a mechanism's robot at q (..., nq), NaN where q has NaN."""
    known = np.isfinite(q).all(axis=-1)
    if not known.any():
        for name in (frame, relative_to):
            robot.tree.frame(name)
        return np.full((*known.shape, 4, 4), np.nan)
    at = np.where(known[..., np.newaxis], q, q[tuple(np.argwhere(known)[0])])
    result = np.asarray(robot.pose(at, frame, relative_to=relative_to, **inputs.parameters))
    return np.where(known[..., np.newaxis, np.newaxis], result, np.nan)


def _values(caller: str, values: Any, dims: tuple[int, ...], doc: str) -> np.ndarray:
    """Return values (..., *dims) as an array; ``doc`` says what they are.

    Raises ValueError for another shape and for values that are not finite.
    """
    shape = ", ".join(["...", *map(str, dims)])
    try:
        result = floats(values)
        if result.shape[result.ndim - len(dims) :] != dims or not np.isfinite(result).all():
            raise ValueError(values)
    except (TypeError, ValueError):
        raise ValueError(f"{caller}: expected finite numbers of shape ({shape}), {doc}, got {shown(values)}") from None
    return result
