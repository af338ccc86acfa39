"""Conversion between nested inputs and outputs (tuples, named tuples, dataclasses, dicts of arrays) and flat ports.

A kernel's code accepts only flat arrays. A kernel with nested inputs or outputs flattens its arguments and assembles
its results around the same call.
"""

from __future__ import annotations

import keyword
import math
import operator
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import accumulate
from typing import Any

import numpy as np

from linkwork._util.lazy_dataclass import dataclass
from linkwork._util.validation import shown
from linkwork.compiler.derivatives.tangent_spaces import Space
from linkwork.compiler.port import Port
from linkwork.expr.arrays.pytree import Leaf, TreeDef, children, is_nested, leaf_paths, rebuild

__all__ = [
    "PortTree",
    "described_nesting",
    "form_of_shapes",
    "in_order",
    "nested_call",
    "nesting_of",
    "port_names",
    "spaces_of_shapes",
]


@dataclass(frozen=True)
class PortTree:
    """The nesting of a function's inputs and outputs.

    ``outputs`` is None for one array or a flat sequence of arrays.
    """

    inputs: Mapping[str, TreeDef | Leaf]
    outputs: TreeDef | None = None

    @property
    def is_flat(self) -> bool:
        return self.outputs is None and all(isinstance(form, Leaf) for form in self.inputs.values())

    def flatten(self, name: str, arguments: Sequence[Any]) -> list[Any]:
        """Return the arrays of nested arguments, one for each port. Raises TypeError for a wrong nesting."""
        arrays: list[Any] = []
        for (key, form), argument in zip(
            self.inputs.items(), in_order(name, [*self.inputs], arguments, {}), strict=True
        ):
            take = _flattener(form, f"{name}: {key}")
            arrays += [argument] if take is None else take(argument)
        return arrays

    def unflatten(self, result: Any) -> Any:
        """Return the outputs of a kernel with flat ports in the nesting that the function returned."""
        if self.outputs is None:
            return result
        return _builder(self.outputs)(result if isinstance(result, tuple) else (result,))


def nested_call(nesting: PortTree, name: str, flat: Callable[..., Any]) -> Callable[..., Any]:
    """Return the call of a kernel with nested inputs or outputs, built around the flat call."""
    takes = [_flattener(form, f"{name}: {key}") for key, form in nesting.inputs.items()]
    outputs, count = nesting.outputs, len(takes)
    build = None if outputs is None else _builder(outputs)

    def call(*arguments: Any, out: Any = None, **named: Any) -> Any:
        if named or len(arguments) != count:
            arguments = in_order(name, [*nesting.inputs], arguments, named)
        arrays: list[Any] = []
        for take, argument in zip(takes, arguments, strict=True):
            if take is None:
                arrays.append(argument)
            else:
                arrays += take(argument)
        result = flat(*arrays) if out is None else flat(*arrays, out=_flat_out(outputs, out, name))
        if build is None:
            return result
        return build(result if isinstance(result, tuple) else (result,))

    return call


def _flattener(form: TreeDef | Leaf, caller: str) -> Callable[[Any], Sequence[Any]] | None:
    """Return a function that flattens a value of this form to arrays; it raises TypeError for values of other forms."""
    if isinstance(form, Leaf):
        return None
    parts_of = _parts_of(form, caller)
    inner = [_flattener(part, f"{caller}[{key!r}]") for key, part in zip(form.keys, form.parts, strict=True)]
    if not any(inner):
        return parts_of

    def take(value: Any) -> list[Any]:
        arrays: list[Any] = []
        for deeper, part in zip(inner, parts_of(value), strict=True):
            if deeper is None:
                arrays.append(part)
            else:
                arrays += deeper(part)
        return arrays

    return take


def _parts_of(form: TreeDef, caller: str) -> Callable[[Any], Sequence[Any]]:
    """Return a function that lists the entries of a container of this form."""
    keys, count = form.keys, len(form.keys)
    if issubclass(form.kind, tuple):

        def of_tuple(value: Any) -> Sequence[Any]:
            if isinstance(value, (tuple, list)) and len(value) == count:
                return value
            raise _refused(form, value, caller)

        return of_tuple
    by_key = issubclass(form.kind, Mapping)

    def by_name(value: Any) -> Sequence[Any]:
        try:
            if by_key and len(value) == count:
                return [value[key] for key in keys]
            if not by_key:
                return [getattr(value, key) for key in keys]
        except (KeyError, IndexError, AttributeError, TypeError):
            pass
        raise _refused(form, value, caller)

    return by_name


def _builder(form: TreeDef) -> Callable[[Sequence[Any]], Any]:
    """Return a function that puts arrays into a container of this form."""
    kind, keys = form.kind, form.keys
    make: Callable[[Sequence[Any]], Any] = lambda parts: rebuild(form, parts)  # noqa: E731
    if issubclass(kind, tuple):
        make = kind._make if hasattr(kind, "_make") else kind
    elif kind is dict:
        make = lambda parts: dict(zip(keys, parts, strict=True))  # noqa: E731
    if all(isinstance(part, Leaf) for part in form.parts):
        return make
    ends = list(accumulate((len(leaf_paths(part)) for part in form.parts), initial=0))
    inner = [None if isinstance(part, Leaf) else _builder(part) for part in form.parts]
    ranges = list(zip(inner, ends, ends[1:], strict=False))

    def build(arrays: Sequence[Any]) -> Any:
        return make([arrays[start] if put is None else put(arrays[start:end]) for put, start, end in ranges])

    return build


def _refused(form: TreeDef, value: Any, caller: str) -> TypeError:
    got = type(value).__name__
    if is_nested(value):
        got += f"({', '.join(str(key) for key, _ in children(value))})"
    return TypeError(f"{caller}: expected {form}, got {got}")


def _flat_out(outputs: TreeDef | None, out: Any, name: str) -> Any:
    take = None if outputs is None else _flattener(outputs, f"{name}: out")
    if take is None:
        return out
    arrays = take(out)
    return tuple(arrays) if len(arrays) > 1 else arrays[0]


MAX_ELEMENTS = 2**22  # of one input


def form_of_shapes(key: str, value: Any) -> TreeDef | Leaf:
    """Return the form of an input's shape: a shape, or shapes in tuples, named tuples, dataclasses and dicts.

    Raises ValueError for anything else.
    """
    if isinstance(value, Space):
        return Leaf(value.shape)
    if _holds_shapes(value):
        parts = children(value)
        if not parts:
            raise ValueError(f"{key}: expected shapes, got an empty {value!r}")
        forms = [form_of_shapes(f"{key}[{name!r}]", part) for name, part in parts]
        return TreeDef(type(value), tuple(name for name, _ in parts), tuple(forms))
    try:
        shape = tuple([operator.index(n) for n in (value if isinstance(value, Iterable) else (value,))])
    except TypeError:
        shape = (-1,)
    if all(n >= 0 for n in shape) and math.prod(shape) > MAX_ELEMENTS:
        many = f"expected at most {MAX_ELEMENTS} elements"
        raise ValueError(f"compile: {key}: {many}, each of which is traced as a scalar, got {shown(value)}")
    if any(n < 0 for n in shape):
        raise ValueError(
            f"{key}: expected a shape (integers >= 0), or shapes in tuples, dataclasses or dicts, got {value!r}"
        )
    return Leaf(shape, is_array=bool(shape))


def spaces_of_shapes(value: Any) -> list[Space | None]:
    """Return the space of each array, None for a plain shape, in a value that `form_of_shapes` accepts."""
    if _holds_shapes(value):
        return [space for _, part in children(value) for space in spaces_of_shapes(part)]
    return [value if isinstance(value, Space) else None]


def _holds_shapes(value: Any) -> bool:
    """Return True if the value is a container of shapes and not itself a shape."""
    if isinstance(value, Space):
        return False
    return is_nested(value) and not (type(value) is tuple and all(_is_size(n) for n in value))


def _is_size(n: Any) -> bool:
    return isinstance(n, (int, np.integer))


def port_names(caller: str, key: str, form: TreeDef | Leaf) -> list[Port]:
    """Return the ports of a nested value; a name is the path to its array, joined by underscores."""
    ports = [Port("_".join((key, *path) if key else path), leaf.shape) for path, leaf in leaf_paths(form)]
    for port in ports:
        if not port.name.isidentifier() or keyword.iskeyword(port.name):
            raise TypeError(f"{caller}: expected entries named by identifiers, got {port.name!r}")
    return ports


def in_order(caller: str, names: Sequence[str], arguments: Sequence[Any], named: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return all arguments by position. Raises TypeError for a wrong number, and for unknown and repeated names."""
    if len(arguments) > len(names):
        written = "; out= takes arrays to write to"
        raise TypeError(f"{caller}: expected {len(names)} arguments, {names}, got {len(arguments)}{written}")
    left = names[len(arguments) :]
    for name in named:
        if name not in left:
            raise TypeError(f"{caller}: unexpected or repeated argument {name!r}; the inputs are {names}")
    missing = [name for name in left if name not in named]
    if missing:
        raise TypeError(f"{caller}: missing argument {missing[0]!r}; the inputs are {names}")
    return (*arguments, *(named[name] for name in left))


_BUILT_IN: Mapping[str, type] = {"tuple": tuple, "dict": dict, "OrderedDict": OrderedDict}


def described_nesting(nesting: PortTree, index_of: Callable[[Any], int]) -> Any:
    """Return a nesting as plain data.

    ``index_of`` stores a class, or a tuple of keys that are not data, and returns its index.
    """

    def described(form: TreeDef | Leaf) -> Any:
        if isinstance(form, Leaf):
            return [form.shape, form.is_array]
        known = form.kind in _BUILT_IN.values()
        kind = form.kind.__name__ if known else index_of(form.kind)
        plain = all(type(key) in (str, int) for key in form.keys)
        keys = list(form.keys) if plain else index_of(form.keys)
        return {"class": kind, "keys": keys, "parts": [described(part) for part in form.parts]}

    inputs = [[key, described(form)] for key, form in nesting.inputs.items()]
    return [inputs, None if nesting.outputs is None else described(nesting.outputs)]


def nesting_of(described: Any, class_of: Callable[[Any, Any], Any]) -> PortTree:
    """Return the nesting that `described_nesting` described.

    ``class_of(index, keys)`` returns the class stored at an index, for a container with these keys; ``class_of(index,
    None)`` returns stored keys. Raises Python's errors for other data.
    """

    def form(description: Any) -> Any:
        if isinstance(description, list):
            shape, is_array = description
            return Leaf(tuple(shape), is_array is True)
        name, keys = description["class"], description["keys"]
        keys = tuple(keys) if isinstance(keys, list) else class_of(keys, None)
        kind = _BUILT_IN[name] if isinstance(name, str) else class_of(name, keys)
        return TreeDef(kind, keys, tuple([form(part) for part in description["parts"]]))

    inputs, outputs = described
    return PortTree({key: form(description) for key, description in inputs}, None if outputs is None else form(outputs))
