"""The nesting of a kernel's inputs and outputs as plain data for JSON, with its classes beside it."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any

from linkwork.compiler.trace.pytree_ports import PortTree
from linkwork.expr.arrays.pytree import Leaf, TreeDef

__all__ = ["described_nesting", "nesting_of"]

_BUILT_IN: Mapping[str, type] = {"tuple": tuple, "dict": dict, "OrderedDict": OrderedDict}


def described_nesting(nesting: PortTree, index_of: Callable[[Any], int]) -> Any:
    """Return a nesting as plain data.

    ``index_of`` stores a class, or keys that are not data, and returns the index.
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

    ``class_of`` returns what is stored at an index; its second argument are the keys of a class, None for keys.
    Raises the errors of Python for other data.
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
