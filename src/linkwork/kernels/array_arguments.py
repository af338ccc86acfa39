"""Arguments of functions of a robot or a joint: converted to arrays for a kernel, or refused with a reason.

A kernel accepts well-formed arrays by itself; this module is used only if the kernel refused them, or met a number that
is not finite or an invalid configuration.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from linkwork._util.messages import listed
from linkwork._util.user_frames import levels_up
from linkwork._util.validation import is_masked, shown
from linkwork.compiler.port import Port
from linkwork.compiler.runtime.call_checks import FILL_MASKED, fits_results
from linkwork.compiler.trace.pytree_ports import in_order
from linkwork.errors import ConfigurationWarning, UnknownNameError
from linkwork.expr.arrays.symbol_array import is_traced, scalars
from linkwork.expr.scalar.float_limits import FLOAT64
from linkwork.joints.base.checks import MIN_REGULARITY, SILENT_MANIFOLD_DISTANCE, call_joint, manifold_distances
from linkwork.kernels.owners import KernelOwner, RobotOwner, configurations
from linkwork.model.coordinate_names import named_positions
from linkwork.model.coupled_joints import coupling_text
from linkwork.model.function_spec import Quantity, quantity_of

__all__ = [
    "POSE_REMEDY",
    "ArgumentReader",
    "missing_joints",
    "real_array",
    "refuse_batches",
    "stacked",
]

_FEW = 4  # joints that a message names
_OF_DICT = "; robot.configuration({...}) returns q of a dict, which may leave joints out"
POSE_REMEDY = "inverse_kinematics computes configurations for the pose of a frame"


def missing_joints(subject: KernelOwner, name: str, count: int) -> str:
    """Return a hint with the joints that an array of ``count`` elements leaves out, or "" if there is no likely cause.

    ``name`` is the name of the argument, such as "q" or "tau".
    """
    quantity = quantity_of(name)
    parts = subject.parts(quantity)
    if len(parts) < 2:
        return ""
    size, first = parts[-1].indices.stop, parts[0].indices.stop
    if parts[0].type.is_floating and count == size - first:
        zeros = f", zeros: np.concatenate([np.zeros({first}), tau])" if name == "tau" else ""
        return f"; the first {first} elements are those of joint {parts[0].joint!r}{zeros}"
    left = [part for part in parts if part.indices.start >= count]
    if 0 < len(left) <= min(_FEW, len(parts) - 1) and left[0].indices.start == count:
        end = _OF_DICT if quantity.configuration else ""
        return f"; {size - count} elements are missing, those of {listed(part.joint for part in left)}{end}"
    return ""


Arrays = Sequence[Any]
ArrayOf = Callable[[str, Any], np.ndarray]


class ArgumentReader:
    """Converter of the arguments of one function to the arrays that its kernel accepts, with errors that explain."""

    def __init__(
        self, subject: KernelOwner, function: str, inputs: tuple[Port, ...], outputs: tuple[Port, ...]
    ) -> None:
        self.subject, self.inputs, self.outputs = subject, inputs, outputs
        self.label = f"{subject.message_prefix}{function}"

    def prepared_scalars(self, arguments: Arrays) -> list[np.ndarray]:
        """Return the arguments as object arrays of the right core shape; elements may be symbols or dual numbers."""
        arrays = [self._prepared(port, x, scalar_array) for port, x in self._by_port(arguments)]
        self._broadcast(arrays)
        return arrays

    def prepared(self, arguments: Arrays) -> list[np.ndarray]:
        """Return the arguments as numeric arrays whose last dimensions have the shape that the kernel expects.

        Dicts by joint and names of configurations are accepted too.  Raises TypeError for a wrong number of arguments,
        ValueError for a wrong type or shape, UnknownNameError for an unknown name.
        """
        arrays = [self._prepared(port, x) for port, x in self._by_port(arguments)]
        self._broadcast(arrays)
        return arrays

    def check_shapes(self, arguments: Arrays) -> None:
        """Raise the errors of `prepared` for wrong shapes; elements are neither converted nor read."""
        self._broadcast([self._prepared(port, x, _unread) for port, x in self._by_port(arguments)])

    def _by_port(self, arguments: Arrays) -> Iterable[tuple[Port, Any]]:
        """Return pairs of port and argument.  Raises TypeError for a wrong number of arguments."""
        names = [port.name for port in self.inputs]
        return zip(self.inputs, in_order(self.label, names, arguments, {}), strict=True)

    def sizes_in_dict(self, name: str) -> dict[str, int]:
        """Return the number of coordinates of each joint in an input that may be passed as a dict by joint."""
        return {part.joint: part.indices.stop - part.indices.start for part in self.subject.parts(quantity_of(name))}

    def _prepared(self, port: Port, x: Any, array_of: ArrayOf | None = None) -> np.ndarray:
        array_of, quantity = array_of or real_array, quantity_of(port.name)
        if quantity.stacked and isinstance(self.subject, RobotOwner):
            try:
                x = stacked(self.subject, quantity, x, array_of)
            except UnknownNameError as error:
                raise error.at(f"{self.label}: {port.name}") from None
        sizes = ", ".join(["...", *map(str, port.shape)])
        expected = f"{self.label}: {port.name}: expected an array of shape ({sizes}), the {quantity.doc}"
        array = array_of(expected, x)
        count = array.ndim - len(port.shape)
        if count < 0 or array.shape[count:] != port.shape:
            raise ValueError(f"{expected}; got shape {array.shape}{_shown(array)}{self._hint(port, array)}")
        return array

    def _hint(self, port: Port, array: np.ndarray) -> str:
        """Return a hint on what the user probably meant by an array of the wrong shape."""
        if len(port.shape) != 1:
            return ""
        if port.shape == (1,):
            many = f"one for each sample: {port.name}[..., np.newaxis]"
            known = array.dtype != object and not array.ndim
            for_one_sample = (
                f"use brackets for a single element: [{float(array):.6g}]"
                if known
                else "use brackets for a single element"
            )
            return f"; {many}" if array.ndim else f"; {for_one_sample}"
        if array.ndim == 0:
            return ""
        if array.shape[-2:] == (4, 4) and quantity_of(port.name).configuration:
            return f"; {POSE_REMEDY}"
        if array.shape[-2:] == (*port.shape, 1):
            return f"; a column: drop its last dimension, {port.name}[..., 0]"
        if array.ndim > 1 and array.shape[0] == port.shape[0]:
            return f"; samples are rows here: transpose it, {port.name}.T"
        return missing_joints(self.subject, port.name, array.shape[-1])

    def _broadcast(self, arrays: Sequence[np.ndarray]) -> tuple[int, ...]:
        """Return the broadcast leading dimensions of all arguments."""
        try:
            return np.broadcast_shapes(
                *(a.shape[: a.ndim - len(port.shape)] for port, a in zip(self.inputs, arrays, strict=True))
            )
        except ValueError:
            shapes = ", ".join(f"{port.name} {a.shape}" for port, a in zip(self.inputs, arrays, strict=True))
            raise ValueError(f"{self.label}: the leading dimensions do not broadcast: {shapes}") from None

    def check_out(self, arrays: Sequence[np.ndarray], out: Any) -> None:
        """Raise TypeError or ValueError if results cannot be written to ``out``."""
        batch = self._broadcast(arrays)
        arrays_out = out if isinstance(out, tuple) else (out,)
        if len(arrays_out) != len(self.outputs):
            names = ", ".join(port.name for port in self.outputs)
            raise ValueError(f"{self.label}: out: expected {len(self.outputs)} arrays ({names}), got {len(arrays_out)}")
        for port, array in zip(self.outputs, arrays_out, strict=True):
            expected = f"{self.label}: out: expected an array of float64 of shape {(*batch, *port.shape)} to write to"
            if array is None:
                continue
            if not isinstance(array, np.ndarray) or is_masked(array):
                raise TypeError(f"{expected}, got {type(array).__name__}")
            if array.dtype.kind != "f":
                raise TypeError(f"{expected}, got numbers of type {array.dtype}")
            if not fits_results(array.shape, batch, port.shape):
                raise ValueError(f"{expected}, got shape {array.shape}")
            if not array.flags.writeable:
                raise ValueError(f"{expected}, got a read-only array")

    def refuse_not_finite(self, arguments: Arrays, *, of_kernel: bool = False) -> None:
        """Raise ValueError if an element of an argument is not finite, with the first index and its joint.

        ``of_kernel`` adds a remedy for batches: a function that is compiled alone accepts such samples.
        """
        for port, x in zip(self.inputs, arguments, strict=True):
            array = np.asarray(x, dtype=np.float64)
            if not np.isfinite(array).all():
                wrong_indices = np.argwhere(~np.isfinite(array))
                index = tuple(int(k) for k in wrong_indices[0])
                value = "NaN" if np.isnan(array[index]) else str(array[index])
                many = "NaN" if np.isnan(array).sum() == len(wrong_indices) else "elements that are not finite"
                parts = self.subject.parts(quantity_of(port.name)) if self.subject.message_prefix == "" else ()
                owners = [part.joint for part in parts if part.indices.start <= index[-1] < part.indices.stop]
                joint = f" (joint {owners[0]!r})" if owners else ""
                batch = of_kernel and not self.subject.message_prefix and array.ndim > len(port.shape)
                kernel = "; a kernel of Robot.compile accepts them, sample by sample" if batch else ""
                raise ValueError(
                    f"{self.label}: {port.name}[{', '.join(map(str, index))}] is {value}{joint}; "
                    f"{len(wrong_indices)} {many} in this argument{kernel}"
                )

    def refuse_overflow(self, arguments: Arrays, results: Any) -> None:
        """Raise ValueError if a result is not finite because products of large arguments overflow.

        The arguments are finite. Other results that are not finite are accepted.
        """
        result = results if isinstance(results, tuple) else (results,)
        batch = self._broadcast([np.asarray(x) for x in arguments])
        bad = np.zeros(batch, dtype=bool)
        for port, x in zip(self.outputs, result, strict=True):
            is_bad = ~np.isfinite(x)
            bad |= is_bad.any(axis=tuple(range(is_bad.ndim - len(port.shape), is_bad.ndim)))
        if not bad.any():
            return
        worst: tuple[float, Port, tuple[int, ...], float] | None = None
        for port, x in zip(self.inputs, arguments, strict=True):
            array = np.broadcast_to(np.asarray(x, dtype=float), (*batch, *port.shape))
            sizes = np.abs(array) * bad.reshape(*batch, *(1,) * len(port.shape))
            if sizes.size and sizes.max() > (worst[0] if worst else FLOAT64.largest_input):
                index = tuple(int(k) for k in np.unravel_index(int(np.argmax(sizes)), sizes.shape))
                worst = float(sizes[index]), port, index, float(array[index])
        if worst is not None:
            _, port, index, value = worst
            own_index = index[len(index) - np.ndim(arguments[[p.name for p in self.inputs].index(port.name)]) :]
            raise ValueError(
                f"{self.label}: {port.name}: expected numbers whose products do not overflow, got "
                f"{port.name}[{', '.join(map(str, own_index))}] = {value:g}: the result is not finite"
            )

    def on_manifold(self, arguments: Arrays) -> list[Any]:
        """Return the arguments with configurations slightly off their manifold normalized, with a warning.

        Raises ValueError, with the joint's name and the value, for a configuration off its manifold by more than 1e-3,
        and for an element out of its bounds.
        """
        self._refuse_out_of_bounds(arguments)
        by_name = {port.name: x for port, x in zip(self.inputs, arguments, strict=True)}
        result = dict(by_name)
        unfit = self.subject.checked_joints
        for name in [name for name in by_name if unfit and quantity_of(name).configuration]:
            result[name] = np.array(by_name[name])
            for part in unfit:
                coordinates = result[name][..., part.indices]
                checked = part.type.checked(coordinates, part.joint)
                off = manifold_distances(part.type, coordinates)[
                    ..., np.newaxis
                ]  # points close enough to the manifold stay as they are
                result[name][..., part.indices] = np.where(off > SILENT_MANIFOLD_DISTANCE, checked, coordinates)
        return [*result.values()]

    def _refuse_out_of_bounds(self, arguments: Arrays) -> None:
        """Raise ValueError for an element outside the bounds of its quantity."""
        for port, x in zip(self.inputs, arguments, strict=True):
            quantity = quantity_of(port.name)
            lower, upper = (-np.inf if quantity.least is None else quantity.least), quantity.most
            elements = np.asarray(x, dtype=float).ravel()
            wrong = elements[(elements < lower) | (elements > (np.inf if upper is None else upper))]
            if wrong.size:
                between = f">= {lower:g}" if upper is None else f"between {lower:g} and {upper:g}"
                raise ValueError(
                    f"{self.label}: {port.name}: expected the {quantity.doc}, {between}, got {wrong[0]:.6g}"
                )

    def warn_of_singularities(self, arguments: Arrays) -> None:
        """Warn about joints with singular configurations.

        Their coordinates are singular (Euler angles at gimbal lock), or their motions are linearly dependent
        (intersecting axes). Configurations are on their manifolds.
        """
        by_name = {port.name: x for port, x in zip(self.inputs, arguments, strict=True)}
        for name, part in configurations(self.subject, by_name):
            coordinates = np.asarray(by_name[name], dtype=float)[..., part.indices]
            columns = [coordinates[..., k] for k in range(part.type.nq)]
            regular = np.asarray(call_joint(part.joint, part.type, "regularity", columns), dtype=float)
            if regular.size and regular.min() < MIN_REGULARITY:
                worst = coordinates[np.unravel_index(np.argmin(regular), regular.shape)]
                warnings.warn(
                    f"{self.label}: joint {part.joint!r} ({part.type.type_name()}): its coordinates are singular at "
                    f"{worst.tolist()}, or its motions are linearly dependent: accelerations are undefined there",
                    ConfigurationWarning,
                    stacklevel=levels_up(),
                )


def real_array(expected: str, x: Any) -> np.ndarray:
    """Return a value as an array: unchanged if its type converts to float32 exactly, otherwise as float64.

    Raises ValueError, which begins with ``expected``, for a value that is not numeric or not exact, and TypeError for
    symbols.
    """
    if isinstance(x, (str, bytes, bool, np.bool_)):
        raise ValueError(f"{expected}; got {x!r}")
    if is_masked(x):
        raise ValueError(f"{expected}; got a masked array: {FILL_MASKED}")
    try:
        array = np.asarray(x)
    except ValueError as error:
        raise ValueError(f"{expected}; got a value that is not an array: {error}") from None
    if array.dtype == object and is_traced(array):
        raise TypeError(f"{expected}; got symbols, which cannot be written to out=: use the returned value")
    if array.dtype.kind not in "fiub" or array.dtype.itemsize > 8:
        if isinstance(x, Mapping):
            raise ValueError(f"{expected}; got a dict")
        if array.dtype == object and array.ndim == 0:
            raise ValueError(f"{expected}; got {shown(x)}")
        is_sympy = any(type(item).__module__.partition(".")[0] == "sympy" for item in array.ravel()[:1])
        remedy = "; linkwork computes with numbers: SymPy's mechanics has expressions to print" if is_sympy else ""
        raise ValueError(f"{expected}; got numbers of type {array.dtype}, which are not real float64 numbers{remedy}")
    return array if np.can_cast(array.dtype, np.float32) else array.astype(np.float64, copy=False)


def refuse_batches(label: str, arrays: Sequence[np.ndarray], rank: int) -> None:
    """Raise ValueError if the leading dimensions of arrays, all but the last ``rank``, do not broadcast."""
    try:
        np.broadcast_shapes(*(x.shape[:-rank] for x in arrays))
    except ValueError:
        shapes = " and ".join(str(x.shape) for x in arrays)
        raise ValueError(f"{label} of shapes {shapes} do not broadcast together") from None


def _unread(expected: str, x: Any) -> np.ndarray:
    """Return an array of dtype object as it is, and other values as `real_array` does."""
    return x if isinstance(x, np.ndarray) and x.dtype == object else real_array(expected, x)


def scalar_array(expected: str, x: Any) -> np.ndarray:
    """Return an array of any scalars, with dtype object if any of them is not a number.

    Raises ValueError as `real_array` does.
    """
    if not is_traced(x):
        return real_array(expected, x)
    try:
        array = scalars(x)
    except ValueError as error:
        raise ValueError(f"{expected}; got a value that is not an array: {error}") from None
    for element in array.ravel().tolist():
        if not isinstance(element, (bool, int, float, np.ndarray, np.generic)) and not is_traced(element):
            raise ValueError(f"{expected}; got an array with {element!r} in it, which is not a number")
        if getattr(getattr(element, "op", None), "logical", False):
            raise ValueError(f"{expected}; got a truth value: where(condition, 1.0, 0.0) converts it to a number")
    return array


def stacked(subject: RobotOwner, quantity: Quantity, value: Any, array_of: ArrayOf = real_array) -> Any:
    """Return a configuration, rate or velocity from a dict by joint, or a named configuration; other values unchanged.

    In a dict, the value of a joint with one coordinate is a number, or an array of any shape for a batch.  The last
    dimension of other values has the joint's coordinates.  Joints that a dict leaves out are at their zero
    configuration.  A list that contains dicts or names is a batch of configurations.
    """
    if isinstance(value, Mapping):
        return _of_joints(subject, quantity, value, array_of)
    if isinstance(value, str) and quantity.configuration:
        return np.array(named_positions(subject.tree, value), dtype=float)
    if isinstance(value, (list, tuple)) and any(map(_is_named, value)):
        kinds = "numbers, a dict by joint or a named configuration" if quantity.configuration else "numbers or a dict"
        elements = [
            array_of(f"{quantity.name}[{k}]: expected {kinds}", stacked(subject, quantity, x))
            for k, x in enumerate(value)
        ]
        shapes = [x.shape for x in elements]
        if len({*shapes}) > 1:
            raise ValueError(f"{quantity.name}: expected elements of one shape beside dicts and names, got {shapes}")
        return np.stack(elements)
    return value


def _of_joints(subject: RobotOwner, quantity: Quantity, values: Mapping[str, Any], array_of: ArrayOf) -> np.ndarray:
    """Return one array of coordinates, in the robot's order of joints, from a dict of values by joint name."""
    tree, name = subject.tree, quantity.name
    per_q = quantity.shape == ("nq",)
    parts = {}
    for joint, value in values.items():
        index = tree.joint_index(joint)
        coupling = tree.bodies[index].coupling
        if coupling is not None:
            raise ValueError(
                f"{name}[{joint!r}]: joint {joint!r} has no coordinates of its own: it follows joint "
                f"{coupling.joint!r}, {coupling_text(joint, coupling)}"
            )
        size = tree.bodies[index].joint.nq if per_q else tree.bodies[index].joint.nv
        expected = f"{name}[{joint!r}]: expected {'a number or an array' if size == 1 else f'{size} numbers'}"
        part = array_of(expected, value)
        if size == 1:
            part = part[..., np.newaxis]
        if part.ndim == 0 or part.shape[-1] != size:
            is_pose = quantity.configuration and part.shape[-2:] == (4, 4)
            remedy = f"; robot.joint({joint!r}).configuration_of(pose) converts a pose (4, 4)" if is_pose else ""
            raise ValueError(f"{expected}, got shape {np.shape(value)}{remedy}")
        parts[joint] = part
    try:
        batch = np.broadcast_shapes(*(part.shape[:-1] for part in parts.values()))
    except ValueError:
        shapes = ", ".join(f"{joint} {np.shape(values[joint])}" for joint in parts)
        raise ValueError(f"{name}: the joints' values do not broadcast: {shapes}") from None
    kind = object if any(part.dtype == object for part in parts.values()) else float
    array = np.zeros((*batch, *(subject.sizes[size] for size in quantity.shape if isinstance(size, str))), kind)
    for joint_part in subject.parts(quantity):
        zero = (
            call_joint(joint_part.joint, joint_part.type, "zero")
            if quantity.configuration and joint_part.joint not in parts
            else 0.0
        )
        array[..., joint_part.indices] = parts.get(joint_part.joint, zero)
    return array


def _shown(array: np.ndarray) -> str:
    few = array.ndim <= 1 and array.size <= 12 and array.dtype != object
    return f": [{', '.join(f'{float(x):.6g}' for x in np.ravel(array))}]" if few else ""


def _is_named(x: Any) -> bool:
    """Return True for values by name: a dict, or a string that is not a number, such as a configuration's name."""
    if not isinstance(x, str):
        return isinstance(x, Mapping)
    try:
        float(x)
    except ValueError:
        return True
    return False
