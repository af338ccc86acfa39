"""Checks of the arguments of a kernel's call.

NumPy takes arrays beyond a ufunc's inputs as outputs, so every call compares the count before NumPy sees an array.
NumPy refuses other types and shapes before it writes anything; `CallChecks.refuse` then names the argument.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from linkwork._util.array_collections import is_collection
from linkwork._util.validation import is_masked, shown
from linkwork.compiler.port import Port
from linkwork.compiler.trace.pytree_ports import in_order
from linkwork.expr.arrays.symbol_array import is_traced

__all__ = ["FILL_MASKED", "CallChecks", "fits_results"]

FILL_MASKED = "replace its masked elements, with its method filled()"


class CallChecks:
    """Checks of the arguments of one kernel."""

    __slots__ = ("inputs", "name", "names", "outputs")

    def __init__(self, name: str, inputs: Sequence[Port], outputs: Sequence[Port]) -> None:
        self.name, self.inputs, self.outputs = name, inputs, outputs
        self.names = [port.name for port in inputs]

    def in_order(self, arrays: Sequence[Any], named: Mapping[str, Any]) -> tuple[Any, ...]:
        """Return one array for each input, by position.  Raises TypeError for wrong numbers and names of arguments."""
        return in_order(self.name, self.names, arrays, named)

    def outputs_of(self, out: Any) -> tuple[Any, ...]:
        """Return one array, or None, for each output.

        Raises ValueError for a tuple of the wrong length, TypeError for one value in place of several.
        """
        arrays = tuple(out) if isinstance(out, tuple) else (out,)  # NumPy refuses the named tuple that a call returns
        if len(arrays) != len(self.outputs):
            names = ", ".join(port.name for port in self.outputs)
            count = "one array" if len(self.outputs) == 1 else f"a tuple of {len(self.outputs)} arrays"
            got = f"a tuple of {len(arrays)}" if isinstance(out, tuple) else type(out).__name__
            kind = ValueError if isinstance(out, tuple) else TypeError
            raise kind(f"{self.name}: out: expected {count} ({names}), got {got}")
        return arrays

    def refuse(self, arrays: Sequence[Any], out: Sequence[Any]) -> None:
        """Raise the error that names the first argument that NumPy refuses.

        Returns if there is no such argument, or if an argument has scalars of linkwork or of another library.
        """
        if any(map(_is_foreign, (*arrays, *out))):
            return
        converted = [self._converted(port, x) for port, x in zip(self.inputs, arrays, strict=True)]
        batch = self.batch(converted)
        for port, x in zip(self.outputs, out, strict=False):
            expected = f"{self.name}: out: expected an array of shape {(*batch, *port.shape)} for {port.name}"
            if x is None:
                continue
            if not isinstance(x, np.ndarray):
                raise TypeError(f"{expected}, got {shown(x)}")
            if not np.can_cast(np.float64, x.dtype, "same_kind"):
                raise TypeError(f"{expected}, got numbers of type {x.dtype}")
            if not fits_results(x.shape, batch, port.shape):
                raise ValueError(f"{expected}, got shape {x.shape}")
            if not x.flags.writeable:
                raise ValueError(f"{expected}, got a read-only array")

    def _converted(self, port: Port, x: Any) -> np.ndarray:
        expected = self._expected(port)
        self._refuse_dict(port, x)
        try:
            array = np.asarray(x)
        except (TypeError, ValueError) as error:
            raise ValueError(f"{expected}, got a value that is not an array: {error}") from None
        if not np.can_cast(array.dtype, np.float64):
            got = f"numbers of type {array.dtype}" if array.dtype.kind in "iufc" else shown(x)
            raise TypeError(f"{expected}, got {got}, which NumPy does not convert to float64 safely")
        return array

    def _expected(self, port: Port) -> str:
        return f"{self.name}: {port.name}: expected an array of shape ({', '.join(['...', *map(str, port.shape)])})"

    def _refuse_dict(self, port: Port, x: Any) -> None:
        if isinstance(x, Mapping):
            raise TypeError(f"{self._expected(port)}, got a dict; dicts by joint name are for a robot's methods")

    def leading(self, port: Port, x: Any) -> tuple[int, ...]:
        """Return the leading dimensions of an array for a port.

        Raises ValueError if the other dimensions are not the port's, TypeError for a dict.
        """
        self._refuse_dict(port, x)
        shape: tuple[int, ...] = np.shape(x)
        count = len(shape) - len(port.shape)
        if count < 0 or shape[count:] != port.shape:
            raise ValueError(f"{self._expected(port)}, got shape {shape}")
        return shape[:count]

    def batch(self, arrays: Sequence[Any]) -> tuple[int, ...]:
        """Return the broadcast leading dimensions.  Raises TypeError and ValueError for wrong counts and shapes."""
        leading = [*map(self.leading, self.inputs, self.in_order(arrays, {}))]
        try:
            return np.broadcast_shapes(*leading)
        except ValueError:
            shapes = ", ".join(f"{port.name} {np.shape(x)}" for port, x in zip(self.inputs, arrays, strict=True))
            raise ValueError(f"{self.name}: the leading dimensions do not broadcast: {shapes}") from None

    def refuse_masked(self, arrays: Sequence[Any], ports: Sequence[Port]) -> None:
        """Raise ValueError for masked arrays, since the values of masked elements are unknown."""
        names = [port.name for port, x in zip(ports, arrays, strict=False) if is_masked(x)]
        if names:
            raise ValueError(f"{self.name}: expected arrays, got a masked array for {', '.join(names)}: {FILL_MASKED}")


def _is_foreign(x: Any) -> bool:
    """Return True for a value with symbols or dual numbers, and for arrays whose library NumPy would call."""
    if isinstance(x, (np.ndarray, np.generic)) and x.dtype.kind != "O":
        return False
    return is_traced(x) or is_collection(x) or (hasattr(x, "__array_ufunc__") and not isinstance(x, np.ndarray))


def fits_results(shape: tuple[int, ...], batch: tuple[int, ...], core: tuple[int, ...]) -> bool:
    """Return True if a batch's results can be written to an array of this shape, whose batch may be larger."""
    leading = shape[: len(shape) - len(core)]
    try:
        return shape[len(leading) :] == core and np.broadcast_shapes(batch, leading) == leading
    except ValueError:
        return False
