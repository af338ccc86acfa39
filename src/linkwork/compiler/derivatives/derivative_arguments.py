"""What is differentiated: a kernel's inputs and outputs by name, chosen and checked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from linkwork.compiler.build import Source
from linkwork.compiler.derivatives.tangent_spaces import Space, Spaces, Tangent
from linkwork.compiler.program import Port, Program
from linkwork.compiler.trace.pytree_ports import PortTree, port_names
from linkwork.errors import UnknownNameError
from linkwork.expr.arrays.pytree import Form, Leaf, leaves_of, reshaped

__all__ = ["Base", "Chosen"]


@dataclass(frozen=True)
class Chosen:
    """The inputs that are differentiated by: arrays, and the inputs that they are the parts of."""

    tangents: tuple[Tangent, ...]
    forms: Mapping[str, Form | Leaf]  # of tangent vectors, nested as the inputs are


@dataclass(frozen=True)
class Base:
    """A kernel's source, how its inputs and outputs are nested, and what they are points of."""

    source: Source
    nesting: PortTree
    spaces: Spaces

    @property
    def name(self) -> str:
        return self.source.recipe.name

    @property
    def inputs(self) -> tuple[Port, ...]:
        return self.source.recipe.inputs

    @property
    def outputs(self) -> tuple[Port, ...]:
        return self.source.recipe.outputs

    def program(self, ruled: bool) -> Program:
        """The program as it was traced; ``ruled``, with rules for derivatives if it has some."""
        trace = self.source.recipe.ruled if ruled else None
        return self.source.traced if trace is None else trace()

    @property
    def told(self) -> tuple[str, ...] | None:
        """All that the program depends on, where that is known without tracing it."""
        source = self.source
        return source.told if source.recipe.content is not None or source.is_traced else None

    def chosen(self, by: Sequence[str], space: str) -> Chosen:
        """The named inputs, all where none are named; a nested one stands for all that is in it.

        Raises UnknownNameError for an input that is not there, ValueError where there are none, or one comes twice.
        """
        in_tangent_space = _in_tangent_space(self.name, space)
        nested = {key: port_names(self.name, key, form) for key, form in self.nesting.inputs.items()}
        ports = {port.name: port for port in self.inputs}
        names = list(by) or list(nested)
        if not names:
            raise ValueError(f"{self.name}: it has no inputs to differentiate by")
        found: list[Tangent] = []
        forms: dict[str, Form | Leaf] = {}
        for name in names:
            if not isinstance(name, str) or (name not in nested and name not in ports):
                raise UnknownNameError("input", name, dict.fromkeys([*nested, *ports]), _remedy(name, self.outputs))
            parts = nested.get(name) or [ports[name]]
            own = [Tangent(p, self.spaces.inputs.get(p.name) if in_tangent_space else None) for p in parts]
            found += own
            shapes = iter([tangent.shape for tangent in own])
            form = self.nesting.inputs.get(name, Leaf(ports[name].shape) if name in ports else Leaf(()))
            forms[name] = reshaped(form, lambda leaf: Leaf(shape := next(shapes), leaf.is_array or bool(shape)))  # noqa: B023
        _once(self.name, "input", [tangent.port.name for tangent in found])
        return Chosen(tuple(found), forms)

    def differentiated(self, of: Any, space: str) -> tuple[Tangent, ...]:
        """The named outputs, all where none are: a name, several, or a dict of spaces by names.

        Raises UnknownNameError for an output that is not there, ValueError for a space that does not fit, TypeError for
        what is none.
        """
        in_tangent_space = _in_tangent_space(self.name, space)
        nested = self._nested_outputs()
        ports = {port.name: port for port in self.outputs}
        names: Iterable[Any] = ports if of is None else (of,) if isinstance(of, str) else of
        given: Mapping[Any, Any] = of if isinstance(of, Mapping) else {}
        if not isinstance(names, Iterable):
            raise TypeError(f"{self.name}: of: expected names of outputs, got {of!r}")
        found = []
        for name in names:
            if not isinstance(name, str) or (name not in nested and name not in ports):
                raise UnknownNameError("output", name, dict.fromkeys([*ports, *nested]), _remedy(name, self.inputs))
            parts = [ports[name]] if name in ports else nested[name]
            for port in parts:
                known = given.get(name)
                if known is None:
                    known = self.spaces.outputs.get(port.name)
                elif not isinstance(known, Space):
                    expected = "a space, such as robot.configuration_space, or None"
                    raise TypeError(f"{self.name}: of: {name}: expected {expected}, got {known!r}")
                elif known.shape != port.shape:
                    raise ValueError(
                        f"{self.name}: of: {name} is an array of shape {port.shape}, which is no point of {known!r}, "
                        f"an array of shape {known.shape}"
                    )
                found.append(Tangent(port, known if in_tangent_space else None))
        if not found:
            raise ValueError(f"{self.name}: of: expected at least one output; there are {[*ports]}")
        _once(self.name, "output", [tangent.port.name for tangent in found])
        return tuple(found)

    def _nested_outputs(self) -> dict[str, list[Port]]:
        """The arrays of each output that is nested, by its name."""
        form, left = self.nesting.outputs, iter(self.outputs)
        if form is None:
            return {}
        return {
            str(key): [next(left) for _ in leaves_of(part)] for key, part in zip(form.keys, form.parts, strict=True)
        }

    def prefix(self, letter: str, names: Iterable[str]) -> str:
        """``d_``, or ``d2_``, ``d3_`` ... where inputs with one of these names before it are there already."""
        taken = {*self.nesting.inputs, *(port.name for port in self.inputs)}
        given, count, found = [*names], 1, f"{letter}_"
        while any(f"{found}{name}" in taken for name in given):
            count += 1
            found = f"{letter}{count}_"
        return found


def _in_tangent_space(caller: str, space: str) -> bool:
    if space not in ("tangent", "coordinates"):
        raise ValueError(f"{caller}: space: expected 'tangent' or 'coordinates', got {space!r}")
    return space == "tangent"


def _once(caller: str, kind: str, names: Sequence[str]) -> None:
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"{caller}: {kind} {name!r} is named twice")


def _remedy(name: Any, others: Sequence[Port]) -> str:
    """What to say of a name that is one of the other side's."""
    if any(port.name == name for port in others):
        return "inputs are named first, as in jacobian('q'), and outputs by of='...'"
    return ""
