"""What users hand to functions of a robot or a joint, made ready for a kernel or refused with a reason.

A kernel takes well-formed arrays by itself; this file is asked only when it did not, or when it met a number
that is not finite or a configuration that is none.

What random configurations are drawn from, and how many: the arguments that robots and joints share.
"""

from __future__ import annotations

import operator
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from linkwork._util.user_frames import levels_up
from linkwork.compiler.codegen.float_type import LARGE
from linkwork.compiler.program import Port
from linkwork.compiler.runtime.numpy_call import FILL_MASKED
from linkwork.errors import ConfigurationWarning, UnknownNameError
from linkwork.expr.arrays.symbol_array import is_traced, scalars
from linkwork.joints.base.checks import EXACT, SINGULAR, distances
from linkwork.joints.base.error_context import asked
from linkwork.kernels.owners import RobotOwner, Subject, configurations
from linkwork.model.coupled_joints import coupling_text
from linkwork.model.function_spec import Quantity, quantity_of

__all__ = ["ArgumentReader", "Size", "generator_of", "leading_of", "real_array", "stacked"]


Arrays = Sequence[Any]
ArrayOf = Callable[[str, Any], np.ndarray]


class ArgumentReader:
    """Which function of what is asked for, and the arrays that its kernel takes and gives."""

    def __init__(self, subject: Subject, function: str, inputs: tuple[Port, ...], outputs: tuple[Port, ...]) -> None:
        self.subject, self.inputs, self.outputs = subject, inputs, outputs
        self.label = f"{subject.says}{function}"

    def prepared_scalars(self, arguments: Arrays) -> list[np.ndarray]:
        """The same for arguments with symbols, or other scalars of ours, among them: arrays of objects."""
        arrays = [self._prepared(port, x, scalar_array) for port, x in zip(self.inputs, arguments, strict=True)]
        self._broadcast(arrays)
        return arrays

    def prepared(self, arguments: Arrays) -> list[np.ndarray]:
        """The arguments as arrays of the right core shape; dicts by joint name are stacked.

        Raises ValueError where a type or shape is wrong, UnknownNameError for a joint that is not there.
        """
        arrays = [self._prepared(port, x) for port, x in zip(self.inputs, arguments, strict=True)]
        self._broadcast(arrays)
        return arrays

    def _prepared(self, port: Port, x: Any, array_of: ArrayOf | None = None) -> np.ndarray:
        array_of, quantity = array_of or real_array, quantity_of(port.name)
        if isinstance(x, Mapping) and quantity.stacked and isinstance(self.subject, RobotOwner):
            try:
                return stacked(self.subject, quantity, x, array_of)
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
        """What may have been meant by an array of another shape."""
        if len(port.shape) != 1:
            return ""
        if port.shape == (1,):
            many = f"one for each sample: {port.name}[..., np.newaxis]"
            known = array.dtype != object and not array.ndim
            one = f"one number stands in brackets: [{float(array):.6g}]" if known else "one number stands in brackets"
            return f"; {many}" if array.ndim else f"; {one}"
        if array.ndim == 0:
            return ""
        if array.shape[-2:] == (*port.shape, 1):
            return f"; a column: drop its last dimension, {port.name}[..., 0]"
        if array.ndim > 1 and array.shape[0] == port.shape[0]:
            return f"; samples stand in rows here: transpose it, {port.name}.T"
        parts = self.subject.parts(quantity_of(port.name))
        if len(parts) > 1 and parts[0].type.is_floating and array.shape[-1] == port.size - parts[0].place.stop:
            return f"; the first {parts[0].place.stop} numbers are those of joint {parts[0].joint!r}"
        return ""

    def _broadcast(self, arrays: Sequence[np.ndarray]) -> tuple[int, ...]:
        """The leading dimensions of all together."""
        try:
            return np.broadcast_shapes(
                *(a.shape[: a.ndim - len(port.shape)] for port, a in zip(self.inputs, arrays, strict=True))
            )
        except ValueError:
            shapes = ", ".join(f"{port.name} {a.shape}" for port, a in zip(self.inputs, arrays, strict=True))
            raise ValueError(f"{self.label}: the leading dimensions do not broadcast together: {shapes}") from None

    def check_out(self, arrays: Sequence[np.ndarray], out: Any) -> None:
        """Raises TypeError and ValueError where results cannot be written to what was given as ``out``."""
        batch = self._broadcast(arrays)
        given = out if isinstance(out, tuple) else (out,)
        if len(given) != len(self.outputs):
            names = ", ".join(port.name for port in self.outputs)
            raise ValueError(f"{self.label}: out: expected {len(self.outputs)} arrays ({names}), got {len(given)}")
        for port, array in zip(self.outputs, given, strict=True):
            expected = f"{self.label}: out: expected an array of float64 of shape {(*batch, *port.shape)} to write to"
            if array is None:
                continue
            if not isinstance(array, np.ndarray) or isinstance(array, np.ma.MaskedArray):
                raise TypeError(f"{expected}, got {type(array).__name__}")
            if array.dtype.kind != "f":
                raise TypeError(f"{expected}, got numbers of type {array.dtype}")
            if not _holds(array.shape, batch, port.shape):
                raise ValueError(f"{expected}, got shape {array.shape}")
            if not array.flags.writeable:
                raise ValueError(f"{expected}, got one that cannot be written to")

    def refuse_not_finite(self, arguments: Arrays) -> None:
        """Raise ValueError if a number in an argument is not finite, saying where the first one is and whose it is."""
        for port, x in zip(self.inputs, arguments, strict=True):
            array = np.asarray(x, dtype=np.float64)
            if not np.isfinite(array).all():
                places = np.argwhere(~np.isfinite(array))
                place = tuple(int(k) for k in places[0])
                value = "NaN" if np.isnan(array[place]) else str(array[place])
                many = "NaN" if np.isnan(array).sum() == len(places) else "numbers that are not finite"
                parts = self.subject.parts(quantity_of(port.name)) if self.subject.says == "" else ()
                whose = [part.joint for part in parts if part.place.start <= place[-1] < part.place.stop]
                joint = f" (joint {whose[0]!r})" if whose else ""
                kernel = "" if self.subject.says else ".  A kernel from Robot.compile lets them pass, sample by sample"
                raise ValueError(
                    f"{self.label}: {port.name}[{', '.join(map(str, place))}] is {value}{joint}; "
                    f"{len(places)} {many} in this argument{kernel}"
                )

    def refuse_overflow(self, arguments: Arrays, results: Any) -> None:
        """Raise ValueError where a result is not finite of arguments that are so large that products of them overflow.

        The arguments are finite.  What is not finite for another reason stays.
        """
        result = results if isinstance(results, tuple) else (results,)
        batch = self._broadcast([np.asarray(x) for x in arguments])
        bad = np.zeros(batch, dtype=bool)
        for port, x in zip(self.outputs, result, strict=True):
            own = ~np.isfinite(x)
            bad |= own.any(axis=tuple(range(own.ndim - len(port.shape), own.ndim)))
        if not bad.any():
            return
        worst: tuple[float, Port, tuple[int, ...], float] | None = None
        for port, x in zip(self.inputs, arguments, strict=True):
            array = np.broadcast_to(np.asarray(x, dtype=float), (*batch, *port.shape))
            sizes = np.abs(array) * bad.reshape(*batch, *(1,) * len(port.shape))
            if sizes.size and sizes.max() > (worst[0] if worst else LARGE[64]):
                place = tuple(int(k) for k in np.unravel_index(int(np.argmax(sizes)), sizes.shape))
                worst = float(sizes[place]), port, place, float(array[place])
        if worst is not None:
            _, port, place, value = worst
            own_place = place[len(place) - np.ndim(arguments[[p.name for p in self.inputs].index(port.name)]) :]
            raise ValueError(
                f"{self.label}: {port.name}: expected numbers of which no product overflows, got "
                f"{port.name}[{', '.join(map(str, own_place))}] = {value:g}: the result is not finite"
            )

    def on_manifold(self, arguments: Arrays) -> list[Any]:
        """The arguments, configurations that are a little off their manifold normalised, with a warning.

        Raises ValueError, with the joint's name and the value, where one is further off than 1e-3, and for a number out
        of its bounds.
        """
        self._refuse_out_of_bounds(arguments)
        given = {port.name: x for port, x in zip(self.inputs, arguments, strict=True)}
        result = dict(given)
        unfit = self.subject.unfit
        for name in [name for name in given if unfit and quantity_of(name).configuration]:
            result[name] = np.array(given[name])
            for part in unfit:
                numbers = result[name][..., part.place]
                checked = part.type.checked(numbers, part.joint)
                off = distances(part.type, numbers)[..., np.newaxis]  # what is near enough is taken as it is everywhere
                result[name][..., part.place] = np.where(off > EXACT, checked, numbers)
        return [*result.values()]

    def _refuse_out_of_bounds(self, arguments: Arrays) -> None:
        """Raises ValueError for a number that is less, or more, than what it says can be."""
        for port, x in zip(self.inputs, arguments, strict=True):
            quantity = quantity_of(port.name)
            least, most = (-np.inf if quantity.least is None else quantity.least), quantity.most
            numbers = np.asarray(x, dtype=float).ravel()
            wrong = numbers[(numbers < least) | (numbers > (np.inf if most is None else most))]
            if wrong.size:
                between = f"from {least:g} on" if most is None else f"between {least:g} and {most:g}"
                raise ValueError(
                    f"{self.label}: {port.name}: expected the {quantity.doc}, {between}, got {wrong[0]:.6g}"
                )

    def tell_of_singularities(self, arguments: Arrays) -> None:
        """Warns of joints whose coordinates are singular (Euler angles at gimbal lock) or whose motions depend on each
        other (axes that meet) in some of these configurations, which are on their manifolds.
        """
        given = {port.name: x for port, x in zip(self.inputs, arguments, strict=True)}
        for name, part in configurations(self.subject, given):
            numbers = np.asarray(given[name], dtype=float)[..., part.place]
            columns = [numbers[..., k] for k in range(part.type.nq)]
            regular = np.asarray(asked(part.joint, part.type, "regularity", columns), dtype=float)
            if regular.size and regular.min() < SINGULAR:
                worst = numbers[np.unravel_index(np.argmin(regular), regular.shape)]
                warnings.warn(
                    f"{self.label}: joint {part.joint!r} ({part.type.type_name()}): its coordinates are singular at "
                    f"{worst.tolist()}, or its motions depend on each other: accelerations mean nothing there",
                    ConfigurationWarning,
                    stacklevel=levels_up(),
                )


def _holds(shape: tuple[int, ...], batch: tuple[int, ...], core: tuple[int, ...]) -> bool:
    """Whether results of a batch, each of a core shape, can be written to an array: its batch may be larger."""
    leading = shape[: len(shape) - len(core)]
    try:
        return shape[len(leading) :] == core and np.broadcast_shapes(batch, leading) == leading
    except ValueError:
        return False


def real_array(expected: str, x: Any) -> np.ndarray:
    """An array that float32 holds exactly, or else one of float64.

    Raises ValueError, which begins with what is expected, where it is none or could not be exact, and TypeError for
    symbols.
    """
    if isinstance(x, (str, bytes)):
        raise ValueError(f"{expected}; got {x!r}")
    if isinstance(x, np.ma.MaskedArray):
        raise ValueError(f"{expected}; got a masked array: {FILL_MASKED}")
    try:
        array = np.asarray(x)
    except ValueError as error:
        raise ValueError(f"{expected}; got something that is no array: {error}") from None
    if array.dtype == object and is_traced(array):
        raise TypeError(f"{expected}; got symbols, which out= cannot take: use what is returned")
    if array.dtype.kind not in "fiub" or array.dtype.itemsize > 8:
        raise ValueError(f"{expected}; got numbers of type {array.dtype}, which are not real float64 numbers")
    return array if np.can_cast(array.dtype, np.float32) else array.astype(np.float64, copy=False)


def scalar_array(expected: str, x: Any) -> np.ndarray:
    """An array of scalars of any kind, of objects where some are no numbers.

    Raises ValueError where it is none, as `real_array` does.
    """
    if not is_traced(x):
        return real_array(expected, x)
    try:
        array = scalars(x)
    except ValueError as error:
        raise ValueError(f"{expected}; got something that is no array: {error}") from None
    for element in array.ravel().tolist():
        if not isinstance(element, (bool, int, float, np.ndarray, np.generic)) and not is_traced(element):
            raise ValueError(f"{expected}; got an array with {element!r} in it, which is no number")
        if getattr(getattr(element, "op", None), "logical", False):
            raise ValueError(f"{expected}; got a truth value: where(condition, 1.0, 0.0) makes a number of it")
    return array


def stacked(
    subject: RobotOwner, quantity: Quantity, values: Mapping[str, Any], array_of: ArrayOf = real_array
) -> np.ndarray:
    """A configuration, a rate or a velocity from values by joint name; joints left out are at their zero.

    The value of a joint with one number is a number or any array of numbers, a batch; other joints have their numbers
    in the last dimension.
    """
    tree, name = subject.tree, quantity.name
    per_q = quantity.shape == ("nq",)
    parts = {}
    for joint, value in values.items():
        index = tree.joint_index(joint)
        coupling = tree.bodies[index].coupling
        if coupling is not None:
            raise ValueError(
                f"{name}[{joint!r}]: joint {joint!r} has no numbers of its own: it follows joint {coupling.joint!r}, "
                f"{coupling_text(joint, coupling)}"
            )
        size = tree.bodies[index].joint.nq if per_q else tree.bodies[index].joint.nv
        expected = f"{name}[{joint!r}]: expected {'a number or an array of them' if size == 1 else f'{size} numbers'}"
        part = array_of(expected, value)
        if size == 1:
            part = part[..., np.newaxis]
        if part.ndim == 0 or part.shape[-1] != size:
            raise ValueError(f"{expected}, got shape {np.shape(value)}")
        parts[joint] = part
    try:
        batch = np.broadcast_shapes(*(part.shape[:-1] for part in parts.values()))
    except ValueError:
        shapes = ", ".join(f"{joint} {np.shape(values[joint])}" for joint in parts)
        raise ValueError(f"{name}: the joints' values do not broadcast together: {shapes}") from None
    kind = object if any(part.dtype == object for part in parts.values()) else float
    array = np.zeros((*batch, *(subject.sizes[size] for size in quantity.shape if isinstance(size, str))), kind)
    for own in subject.parts(quantity):
        zero = asked(own.joint, own.type, "zero") if quantity.configuration and own.joint not in parts else 0.0
        array[..., own.place] = parts.get(own.joint, zero)
    return array


def _shown(array: np.ndarray) -> str:
    few = array.ndim <= 1 and array.size <= 12 and array.dtype != object
    return f": [{', '.join(f'{float(x):.6g}' for x in np.ravel(array))}]" if few else ""


Size = int | tuple[int, ...] | None


def generator_of(rng: np.random.Generator | None, seed: int | None) -> np.random.Generator:
    """The generator that is given, one from a seed, or a fresh one.

    Raises TypeError for a bare number, which could be meant as a seed and as how many, and for both at once.
    """
    if rng is not None and not isinstance(rng, np.random.Generator):
        if isinstance(rng, (int, np.integer)):
            message = f"{rng} alone could be a seed or how many: write seed={rng} or size={rng}"
        else:
            message = f"expected a numpy.random.Generator, such as numpy.random.default_rng(0), got {rng!r}"
        raise TypeError(f"random_configuration: {message}")
    if rng is None:
        try:
            return np.random.default_rng(seed)
        except (TypeError, ValueError) as error:
            message = f"seed: expected a whole number that is not negative, or a generator, got {seed!r}"
            raise type(error)(f"random_configuration: {message}") from None
    if seed is not None:
        raise TypeError(f"random_configuration: expected a generator or a seed, got both, with seed={seed!r}")
    return rng


def leading_of(size: Size) -> tuple[int, ...]:
    """The leading dimensions of what is drawn: none, so many, or these.  Raises ValueError for a negative one,
    TypeError for what is no whole number.
    """
    try:
        given = () if size is None else size if isinstance(size, Iterable) else (size,)
        shape = tuple(operator.index(n) for n in given)
    except TypeError:
        expected = "a whole number or a tuple of whole numbers"
        raise TypeError(f"random_configuration: size: expected {expected}, got {size!r}") from None
    if any(n < 0 for n in shape):
        raise ValueError(f"random_configuration: expected a size that is not negative, got {size!r}")
    return shape
