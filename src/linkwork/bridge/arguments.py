"""What users hand to a robot's functions, made ready for a kernel or refused with a reason.

A kernel takes well-formed arrays by itself; this file is asked only when it did not, or when it met a NaN.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ..model.couple import coupling_text
from ..model.tree import Tree
from .kernels import INPUTS, Kernel, Port, call_state, raise_failure, ready_for, single_call
from .manifold import on_manifold, telling_of_singularities

__all__ = ["checked", "prepared", "real_array", "refuse_nan", "stacked"]

_FLOAT64 = np.dtype(np.float64)


def checked(tree: Tree, kind: str, kernel: Kernel) -> Callable[..., np.ndarray]:
    """The call of a kernel for one function, its ``kind``, that turns dicts into arrays, explains what is wrong with
    arguments, refuses NaN and normalises quaternions that are a little off.

    Plain arrays of one sample take the compiled single call and see nothing of this.  The compiled loop over a batch
    counts the calls in which it met a NaN; only where the count has grown are the arguments searched.  With ``out=``
    they are searched before anything is written.
    """
    ufunc, state, ports, name = kernel.ufunc, call_state(kernel), kernel.inputs, kernel.name
    ready = False  # whether there is nothing left to compile for float64
    unchecked = any(port.size == 0 for port in ports)  # NumPy takes any size where a gufunc's dimension is zero

    def call(*arguments: Any, out: Any = None) -> Any:
        nonlocal ready
        if out is not None or unchecked:
            arguments = tuple(prepared(tree, name, ports, arguments))
        if out is not None:
            refuse_nan(tree, name, ports, arguments)
            return kernel(*on_manifold(tree, kind, ports, arguments), out=out)
        first = arguments[0] if arguments else None
        if not (ready and type(first) is np.ndarray and first.dtype is _FLOAT64):
            ready = ready_for(kernel, arguments)
        seen, failed, off = state.nan_calls, state.failed_calls, state.off_calls
        try:
            result = ufunc(*arguments)
        except (TypeError, ValueError):
            arguments = tuple(prepared(tree, name, ports, arguments))
            ready_for(kernel, arguments)
            result = ufunc(*arguments)
        if state.failed_calls != failed:
            raise_failure(kernel)
        if state.nan_calls != seen:
            refuse_nan(tree, name, ports, arguments)
        if state.off_calls != off:
            result = ufunc(*on_manifold(tree, kind, ports, prepared(tree, name, ports, arguments)))
        return result

    found = single_call(kernel, call)
    if kind == "forward_dynamics":
        return telling_of_singularities(tree, lambda q: stacked(tree, "q", q) if isinstance(q, Mapping) else q, found)
    return found


def prepared(tree: Tree, function: str, ports: tuple[Port, ...], arguments: tuple[Any, ...]) -> list[np.ndarray]:
    """The arguments as arrays of the right core shape; dicts by joint name are stacked.

    Raises ValueError where a type or shape is wrong, UnknownNameError for a joint that the robot does not have.
    """
    arrays = [_prepared(tree, function, port, x) for port, x in zip(ports, arguments, strict=True)]
    try:
        np.broadcast_shapes(*(a.shape[:-1] for a in arrays))
    except ValueError:
        shapes = ", ".join(f"{port.name} {a.shape}" for port, a in zip(ports, arrays, strict=True))
        raise ValueError(f"{function}: the leading dimensions do not broadcast together: {shapes}") from None
    return arrays


def _prepared(tree: Tree, function: str, port: Port, x: Any) -> np.ndarray:
    (n,) = port.shape
    if isinstance(x, Mapping):
        return stacked(tree, port.name, x)
    expected = f"{function}: {port.name}: expected an array of shape (..., {n}), the {INPUTS[port.name].doc}"
    array = real_array(expected, x)
    if array.ndim == 0 or array.shape[-1] != n:
        hint = ""
        if array.ndim >= 2 and array.shape[-2:] == (n, 1):
            hint = f"; a column: drop its last dimension, {port.name}[..., 0]"
        elif array.ndim >= 2 and array.shape[0] == n:
            hint = f"; samples stand in rows here: transpose it, {port.name}.T"
        raise ValueError(f"{expected}; got shape {array.shape}{hint}")
    return array


def real_array(expected: str, x: Any) -> np.ndarray:
    """An array that float32 holds exactly, or else one of float64.

    Raises ValueError, which begins with what is expected, where it is none or could not be exact.
    """
    if isinstance(x, (str, bytes)):
        raise ValueError(f"{expected}; got {x!r}")
    try:
        array = np.asarray(x)
    except ValueError as error:
        raise ValueError(f"{expected}; got something that is no array: {error}") from None
    if array.dtype.kind not in "fiub" or array.dtype.itemsize > 8:
        raise ValueError(f"{expected}; got numbers of type {array.dtype}, which are not real float64 numbers")
    return array if np.can_cast(array.dtype, np.float32) else array.astype(np.float64, copy=False)


def stacked(tree: Tree, name: str, values: Mapping[str, Any]) -> np.ndarray:
    """A configuration or velocity from values by joint name; joints left out are at their zero, followers at none.

    The value of a joint with one number is a number or any array of numbers, a batch; other joints have their numbers
    in the last dimension.
    """
    configuration = INPUTS[name].shape == "nq"
    parts = {}
    for joint, value in values.items():
        index = tree.joint_index(joint)
        coupling = tree.bodies[index].coupling
        if coupling is not None:
            raise ValueError(
                f"{name}[{joint!r}]: joint {joint!r} has no numbers of its own: it follows joint {coupling.joint!r}, "
                f"{coupling_text(joint, coupling)}"
            )
        size = tree.bodies[index].joint.nq if configuration else tree.bodies[index].joint.nv
        expected = f"{name}[{joint!r}]: expected {'a number or an array of them' if size == 1 else f'{size} numbers'}"
        part = real_array(expected, value)
        if size == 1:
            part = part[..., np.newaxis]
        if part.ndim == 0 or part.shape[-1] != size:
            raise ValueError(f"{expected}, got shape {np.shape(value)}")
        parts[index] = part
    try:
        batch = np.broadcast_shapes(*(part.shape[:-1] for part in parts.values()))
    except ValueError:
        shapes = ", ".join(f"{tree.bodies[i].joint_name} {np.shape(values[tree.bodies[i].joint_name])}" for i in parts)
        raise ValueError(f"{name}: the joints' values do not broadcast together: {shapes}") from None
    total = tree.nq if configuration else tree.nv
    array = np.zeros((*batch, total))
    for i, body in tree.stacked():
        place = tree.q_slices[i] if configuration else tree.v_slices[i]
        array[..., place] = parts.get(i, np.array(body.joint.zero()) if configuration else 0.0)
    return array


def refuse_nan(tree: Tree, function: str, ports: tuple[Port, ...], arguments: tuple[Any, ...]) -> None:
    """Raise ValueError if an argument has a NaN, saying where the first one is and which joint's it is."""
    for port, x in zip(ports, arguments, strict=True):
        array = np.asarray(x, dtype=np.float64)
        if array.size and math.isnan(array.max()):  # the largest of numbers with a NaN among them is NaN
            places = np.argwhere(np.isnan(array))
            place = tuple(int(k) for k in places[0])
            slices = tree.q_slices if INPUTS[port.name].shape == "nq" else tree.v_slices
            joint = next(b.joint_name for i, b in tree.stacked() if slices[i].start <= place[-1] < slices[i].stop)
            index = ", ".join(map(str, place))
            raise ValueError(
                f"{function}: {port.name}[{index}] is NaN (joint {joint!r}); {len(places)} NaN in this argument. "
                f"A kernel from Robot.compile lets NaN pass through, sample by sample"
            )
