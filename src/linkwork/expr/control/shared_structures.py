"""Calls of one copy of code whose result is a structure of objects, not arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import fields, is_dataclass
from typing import Any

from linkwork.expr.control.conditional import SharedCall
from linkwork.expr.scalar.symbol import Symbol

__all__ = ["SharedStructure"]


class SharedStructure:
    """A function that is traced once per kernel, as by `SharedCall`, with a result of lists, dicts and dataclasses.

    Its arguments are scalars or lists of scalars, of the same sizes in each call; variables that it uses must not
    change.  Only the symbols of the result depend on the arguments.  Numbers, such as structural zeros, and objects of
    other classes are those of the first call.  Outside of a trace, and for dual numbers, the function itself is called.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self._form: Any = None
        self._call = SharedCall(self._symbols)

    def __call__(self, *arguments: Any) -> Any:
        scalars = [
            x for argument in arguments for x in (argument if isinstance(argument, (list, tuple)) else [argument])
        ]
        kinds = {x.__class__ for x in scalars}
        if Symbol not in kinds or not kinds <= {Symbol, float, int}:
            return self.function(*arguments)
        symbols = iter(
            self._call(*(tuple(argument) if isinstance(argument, list) else argument for argument in arguments))
        )
        return _rebuilt(self._form, lambda _: next(symbols))

    def _symbols(self, *arguments: Any) -> tuple[Any, ...]:
        """Call the function, store the form of its result, and return the symbols in it."""
        self._form = self.function(
            *(list(argument) if isinstance(argument, tuple) else argument for argument in arguments)
        )
        leaves: list[Any] = []

        def noted(symbol: Any) -> Any:
            leaves.append(symbol)
            return symbol

        _rebuilt(self._form, noted)
        return tuple(leaves)


def _rebuilt(value: Any, change: Callable[[Any], Any]) -> Any:
    """Return a structure with its symbols replaced, in a fixed order; objects without symbols stay the same."""
    if value.__class__ is Symbol:
        return change(value)
    if isinstance(value, dict):
        return dict(zip(value, _rebuilt_items([*value.values()], change), strict=True))
    if isinstance(value, (list, tuple)):
        items = _rebuilt_items(value, change)
        return items if isinstance(value, list) else tuple(items)
    if not is_dataclass(value) or isinstance(value, type):
        return value
    result = copy(value)
    for field in fields(value):
        object.__setattr__(result, field.name, _rebuilt(getattr(value, field.name), change))
    return result


def _rebuilt_items(values: Sequence[Any], change: Callable[[Any], Any]) -> list[Any]:
    return [_rebuilt(x, change) for x in values]
