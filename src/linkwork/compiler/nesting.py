"""Nested inputs and outputs: shapes in tuples, named tuples, dataclasses and dicts, and the flat ports of a program.

A kernel's code knows flat arrays only.  A kernel with nested inputs or outputs takes its arguments apart and puts its
results together around the same call.
"""

from __future__ import annotations

import keyword
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..expr.structure import Form, Leaf, children, is_nested, leaves_of, remade
from .program import Port

__all__ = ["Nesting", "form_of_shapes", "port_names", "taking"]


@dataclass(frozen=True)
class Nesting:
    """How the inputs and the outputs of a function are nested; no form for outputs that are one array, or several."""

    inputs: Mapping[str, Form | Leaf]
    outputs: Form | None = None

    @property
    def is_flat(self) -> bool:
        return self.outputs is None and all(isinstance(form, Leaf) for form in self.inputs.values())

    def taken_apart(self, name: str, arguments: Sequence[Any]) -> list[Any]:
        """The arrays of nested arguments, one for each port.  Raises TypeError where one is nested otherwise."""
        if len(arguments) != len(self.inputs):
            raise TypeError(f"{name}: expected {len(self.inputs)} arguments, {[*self.inputs]}, got {len(arguments)}")
        arrays: list[Any] = []
        for (key, form), argument in zip(self.inputs.items(), arguments, strict=True):
            _take(form, argument, arrays, f"{name}: {key}")
        return arrays

    def in_order(self, name: str, arguments: Sequence[Any], named: Mapping[str, Any]) -> list[Any]:
        """All arguments by place.  Raises TypeError for names that are not there, or twice, and for those missing."""
        keys = [*self.inputs]
        for key in named:
            if key not in keys[len(arguments) :]:
                raise TypeError(f"{name}: unexpected or repeated argument {key!r}; the inputs are {keys}")
        missing = [key for key in keys[len(arguments) :] if key not in named]
        if missing:
            raise TypeError(f"{name}: missing argument {missing[0]!r}; the inputs are {keys}")
        return [*arguments, *(named[key] for key in keys[len(arguments) :])]

    def put_together(self, result: Any) -> Any:
        """The outputs as the function returned them, of what a kernel of flat ports gives."""
        if self.outputs is None:
            return result
        parts = iter(result) if isinstance(result, tuple) else iter([result])
        return _put(self.outputs, parts)


def taking(nesting: Nesting, name: str, flat: Callable[..., Any]) -> Callable[..., Any]:
    """The call of a kernel with nested inputs or outputs, around that with flat ones."""
    takes = [(form, f"{name}: {key}") for key, form in nesting.inputs.items()]
    count, apart, outputs = len(takes), _take, nesting.outputs

    def call(*arguments: Any, out: Any = None, **named: Any) -> Any:
        if named or len(arguments) != count:
            arguments = tuple(nesting.in_order(name, arguments, named))
        arrays: list[Any] = []
        for (form, who), argument in zip(takes, arguments, strict=True):
            if form.__class__ is Leaf:
                arrays.append(argument)
            else:
                apart(form, argument, arrays, who)
        if out is None:
            result = flat(*arrays)
        else:
            result = flat(*arrays, out=_flat_out(outputs, out, name))
        return result if outputs is None else _put(outputs, iter(result if isinstance(result, tuple) else (result,)))

    return call


def _flat_out(outputs: Form | None, out: Any, name: str) -> Any:
    if outputs is None:
        return out
    arrays: list[Any] = []
    _take(outputs, out, arrays, f"{name}: out")
    return tuple(arrays) if len(arrays) > 1 else arrays[0]


def _take(form: Form | Leaf, value: Any, arrays: list[Any], who: str) -> None:
    """Append the arrays of a value that is nested like this.  Raises TypeError where it is not."""
    if isinstance(form, Leaf):
        arrays.append(value)
        return
    kind, keys = form.kind, form.keys
    try:
        if issubclass(kind, tuple):
            parts = value if isinstance(value, (tuple, list)) and len(value) == len(keys) else None
        elif issubclass(kind, Mapping):
            parts = [value[key] for key in keys] if len(value) == len(keys) else None
        else:
            parts = [getattr(value, key) for key in keys]
    except (KeyError, AttributeError, TypeError):
        parts = None
    if parts is None:
        got = ", ".join(str(key) for key, _ in children(value)) if is_nested(value) else type(value).__name__
        got = f"{type(value).__name__}({got})" if is_nested(value) else got
        raise TypeError(f"{who}: expected {form}, got {got}")
    for key, inner, part in zip(keys, form.parts, parts, strict=True):
        if inner.__class__ is Leaf:
            arrays.append(part)
        else:
            _take(inner, part, arrays, f"{who}[{key!r}]")


def _put(form: Form, arrays: Any) -> Any:
    return remade(form, [next(arrays) if isinstance(part, Leaf) else _put(part, arrays) for part in form.parts])


def form_of_shapes(key: str, given: Any) -> Form | Leaf:
    """The form of what is said of an input: a shape, or shapes in tuples, named tuples, dataclasses and dicts.

    Raises ValueError for what is none of these.
    """
    nested = is_nested(given) and not (type(given) is tuple and all(_is_size(n) for n in given))
    if nested:
        parts = children(given)
        if not parts:
            raise ValueError(f"{key}: expected shapes, got {given!r} with nothing in it")
        forms = [form_of_shapes(f"{key}[{name!r}]", part) for name, part in parts]
        return Form(type(given), tuple(name for name, _ in parts), tuple(forms))
    try:
        shape = tuple([operator.index(n) for n in (given if isinstance(given, Iterable) else (given,))])
    except TypeError:
        shape = (-1,)
    if any(n < 0 for n in shape):
        raise ValueError(
            f"{key}: expected a shape (sizes that are whole numbers, none negative), or shapes in tuples, dataclasses "
            f"or dicts, got {given!r}"
        )
    return Leaf(shape, is_array=bool(shape))


def _is_size(n: Any) -> bool:
    return isinstance(n, (int, np.integer))


def port_names(who: str, key: str, form: Form | Leaf) -> list[Port]:
    """The ports of a nested value: what leads to each array, joined by underscores."""
    ports = [Port("_".join((key, *path) if key else path), leaf.shape) for path, leaf in leaves_of(form)]
    for port in ports:
        if not port.name.isidentifier() or keyword.iskeyword(port.name):
            raise TypeError(f"{who}: expected parts named by identifiers, got {port.name!r}")
    return ports
