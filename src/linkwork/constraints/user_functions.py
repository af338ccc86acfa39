"""User functions on any scalar, and their pickling.

A user function is traced on symbols, one for each value that it receives or queries, like a function in
`linkwork.compile`.  The traced expression is then evaluated on scalars of any type.  The function therefore sees only
symbols, and a constraint with it works over any scalar and is differentiated like all others.
"""

from __future__ import annotations

import pickle
import sys
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Self

import numpy as np

from linkwork._util.user_frames import line_of, source_of
from linkwork.errors import UnknownNameError
from linkwork.expr.arrays.symbol_array import array, object_array, scalars
from linkwork.expr.scalar.block import Region
from linkwork.expr.scalar.interpreter import CONSTANT
from linkwork.expr.scalar.symbol import Graph, Symbol
from linkwork.spatial import Vec3

__all__ = ["OfUserFunctions", "evaluate_on", "outputs_of", "over_any_scalar"]


def over_any_scalar(name: str, function: Callable[..., Any], *arguments: Any, count: int | None = None) -> list[Any]:
    """Return the flat result of a user function on arguments of any scalar type.

    An argument that is a list is passed as an array.  ``name`` begins error messages; ``count`` is the expected size.
    Raises ValueError.
    """
    graph = Graph(name)
    symbols: list[Symbol] = []
    values: list[Any] = []
    inputs: list[Any] = []
    for i, argument in enumerate(arguments):
        several = isinstance(argument, (list, tuple, Vec3))
        scalars = [*argument] if several else [argument]
        indexed = [graph.input(f"x{i}[{j}]") for j in range(len(scalars))]
        symbols += indexed
        values += scalars
        inputs.append(object_array((len(indexed),), indexed) if several else indexed[0])
    outputs = outputs_of(name, function, inputs)
    if count is not None and len(outputs) != count:
        raise ValueError(f"{name}: its function ({source_of(function)}): expected {count} numbers, got {len(outputs)}")
    return evaluate_on(name, outputs, symbols, values)


class OfUserFunctions:
    """Base class of objects with user functions: pickles name the functions, and a copy is the object itself.

    Raises PicklingError for a function that another process cannot import.  Tools that pickle functions by value
    (cloudpickle, dill) are accepted.
    """

    _kind: ClassVar[str] = "constraint"  # for messages
    name: str
    functions: Any  # tuple of functions

    def __getstate__(self) -> dict[str, Any]:
        for function in self.functions:
            if not (_is_importable(function) or _by_value()):
                raise pickle.PicklingError(
                    f"{self._kind} {self.name!r}: its function ({source_of(function)}) cannot be pickled, since "
                    f"another process cannot import it: define it by def at the top level of a module"
                )
        return self.__dict__

    def __deepcopy__(self, memo: Any) -> Self:
        return self


def _is_importable(function: Any) -> bool:
    """Return True if another process can import a function by its name.

    Objects that are not functions count as importable; pickle decides about them.
    """
    name, module = getattr(function, "__qualname__", None), getattr(function, "__module__", None)
    if name is None or module is None:
        return True
    result: Any = sys.modules.get(module)
    for part in name.split("."):
        result = getattr(result, part, None)
    return result is function or "<" not in name


def _by_value() -> bool:
    frame = sys._getframe()
    while frame is not None:
        if frame.f_globals.get("__name__", "").partition(".")[0] in ("cloudpickle", "dill"):
            return True
        frame = frame.f_back  # type: ignore[assignment]
    return False


def outputs_of(name: str, function: Callable[..., Any], inputs: Sequence[Any]) -> list[Any]:
    """Return the flat result of a user function on symbols."""
    try:
        result = function(*inputs)
    except UnknownNameError:
        raise
    except Exception as error:
        where = line_of(error.__traceback__) or source_of(function)
        raise ValueError(f"{name}: its function raised {type(error).__name__}: {error}\n    at {where}") from error
    try:
        flat = scalars(array(result) if isinstance(result, (list, tuple)) else result).ravel().tolist()
        outputs = [x if isinstance(x, Symbol) else _number(x) for x in flat]
        if not outputs or any(isinstance(x, Symbol) and x.op.logical for x in outputs):
            raise TypeError
    except (TypeError, ValueError):
        raise ValueError(
            f"{name}: its function ({source_of(function)}): expected a number or an array of numbers, got {result!r}"
        ) from None
    if any(isinstance(x, float) and not np.isfinite(x) for x in outputs):
        raise ValueError(f"{name}: its function ({source_of(function)}): expected finite numbers, got {result!r}")
    return outputs


def _number(x: Any) -> float:
    if isinstance(x, (bool, str, bytes, complex)) or x is None:
        raise TypeError
    return float(x)


def evaluate_on(name: str, outputs: Sequence[Any], symbols: Sequence[Symbol], values: Sequence[Any]) -> list[Any]:
    """Return the values of expressions for these values of their symbols."""
    if not any(isinstance(x, Symbol) for x in outputs):
        return list(outputs)
    try:
        region = Region.of(outputs, symbols)
    except KeyError as error:
        raise ValueError(
            f"{name}: its function returns a symbol that is not of its arguments, {error.args[0]!r}"
        ) from None
    if any(i.operation is CONSTANT and i.value != i.value for i in region.instructions):
        raise ValueError(f"{name}: its function computes with NaN")
    return region.run(values)
