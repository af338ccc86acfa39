"""Traces on disk: a kernel's outputs and program digest, with which a later process need not trace or optimize it.

The cache stores the outputs of a trace and a digest of its program, named by the content of the traced function.  The
digest is part of the names of the program's machine code.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from linkwork.compiler.build import Recipe
from linkwork.compiler.cache.disk_cache import Entry, shared
from linkwork.compiler.cache.function_content import content_key
from linkwork.compiler.cache.program_digest import content
from linkwork.compiler.port import Port
from linkwork.compiler.program import Program
from linkwork.expr.arrays.pytree import Leaf, TreeDef

__all__ = ["StoredTrace", "load_trace", "recipe_of", "store_trace", "trace_key"]


@dataclass(frozen=True, slots=True)
class StoredTrace:
    """The outputs of a traced function, their nesting (None if they are flat), and a digest of its program."""

    outputs: tuple[Port, ...]
    form: TreeDef | None
    in_double: bool
    program: str


def trace_key(name: str, functions: Sequence[Callable[..., Any] | None], shapes: Mapping[str, Any]) -> str | None:
    """Return the name of a trace in the cache; None if the cache is off or the functions' content is unknown.

    ``functions`` are the function and its guards; ``shapes`` are the shapes of its inputs.
    """
    return None if shared() is None else content_key("trace", name, tuple(functions), dict(shapes))


def load_trace(key: str) -> StoredTrace | None:
    """Return the trace of this name in the cache, None if there is none."""
    cache = shared()
    entry = None if cache is None else cache.load(key)
    if cache is None or entry is None:
        return None
    try:
        facts = entry.facts
        outputs = tuple([Port(name, tuple(shape)) for name, shape in facts["outputs"]])
        form = None if facts["form"] is None else _form(facts["form"])
        return StoredTrace(outputs, form, facts["in_double"] is True, str(facts["program"]))
    except (KeyError, TypeError, ValueError, AttributeError, ImportError):
        cache.refuse(key)
        return None


def store_trace(key: str, program: Program, form: TreeDef | None) -> StoredTrace:
    """Store a trace in the cache and return it.  A trace whose outputs have a local class is not stored."""
    result = _described_trace(program, form)
    cache = shared()
    described = None if form is None else _described(form)
    if cache is not None and (form is None or described is not None):
        facts = {
            "kernel": f"{program.name}.trace",
            "outputs": [[port.name, [*port.shape]] for port in result.outputs],
            "form": described,
            "in_double": result.in_double,
            "program": result.program,
        }
        cache.store(key, Entry(facts, b""))
    return result


def recipe_of(name: str, inputs: tuple[Port, ...], stored: StoredTrace, trace: Callable[[], Program]) -> Recipe:
    """Return the recipe of a stored trace; ``trace`` is called if code is missing in the cache."""
    return Recipe(name, inputs, stored.outputs, trace, ("program", stored.program), in_double=stored.in_double)


def check_trace(stored: StoredTrace, program: Program, form: TreeDef | None) -> None:
    """Raise AssertionError if a stored trace differs from a new trace, because its name in the cache was incomplete."""
    again = _described_trace(program, form)
    if again != stored:
        raise AssertionError(f"{program.name}: the stored trace {stored} differs from {again}")


def _described_trace(program: Program, form: TreeDef | None) -> StoredTrace:
    return StoredTrace(program.outputs, form, program.in_double, content(program))


def _described(form: TreeDef | Leaf) -> Any:
    """Return the form as plain data; None if a class in it cannot be imported by its name."""
    if isinstance(form, Leaf):
        return [[*form.shape], form.is_array]
    module, name = form.kind.__module__, form.kind.__qualname__
    if getattr(sys.modules.get(module), name, None) is not form.kind or not all(
        isinstance(key, (str, int)) for key in form.keys
    ):
        return None
    parts = [_described(part) for part in form.parts]
    return None if None in parts else {"class": [module, name], "keys": [*form.keys], "parts": parts}


def _form(described: Any) -> Any:
    if isinstance(described, list):
        shape, is_array = described
        return Leaf(tuple(shape), is_array is True)
    module, name = described["class"]
    kind = getattr(import_module(module), name)
    return TreeDef(kind, tuple(described["keys"]), tuple(map(_form, described["parts"])))
