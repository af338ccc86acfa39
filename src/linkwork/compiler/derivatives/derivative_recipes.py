"""Recipes of derivative kernels: the chosen inputs and outputs, their ports, and the program, traced on demand.

`Base` finds and checks, by name, the inputs and outputs of the kernel that is differentiated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

from linkwork._util.collection_pauses import without_collections
from linkwork.compiler.build import Recipe, Source
from linkwork.compiler.derivatives.forward_and_reverse import Replay
from linkwork.compiler.derivatives.sparsity import Pattern
from linkwork.compiler.derivatives.tangent_spaces import Space, Spaces, Tangent
from linkwork.compiler.port import Port
from linkwork.compiler.program import Program
from linkwork.compiler.trace.pytree_ports import PortTree, port_names
from linkwork.errors import NotDifferentiableError, UnknownNameError
from linkwork.expr.arrays.pytree import Leaf, TreeDef, leaf_paths, map_leaves
from linkwork.expr.autodiff.graph_derivative import is_zero

__all__ = ["Base", "BuildMethod", "Derivative", "DerivativeRequest", "check_scalar", "derived", "ruled", "weights_of"]


Forms = Mapping[str, TreeDef | Leaf]
Elements = Sequence[Sequence[Any]]  # of all outputs
Build = Callable[[Replay, Mapping[str, Sequence[Any]]], Elements]


class BuildMethod(NamedTuple):
    """A function that computes the elements of a derivative, and which version of the program it differentiates.

    If ``ruled``, it differentiates the kernel's program with its own rules of differentiation, otherwise its plain
    program.
    """

    build: Build
    ruled: bool = False  # uses the program with rules of differentiation


def ruled(build: Build) -> Callable[[], Sequence[BuildMethod]]:
    """Return a function that returns ``build`` as the only method to compute a derivative's elements.

    The method differentiates the version of a program that has its own rules of differentiation.
    """
    return lambda: [BuildMethod(build, ruled=True)]


@dataclass(frozen=True)
class Derivative:
    """A derivative kernel before its compilation: its recipe, nested arguments, manifolds and docstring.

    ``patterns`` are the sparsity patterns of a sparse derivative's outputs, by name.
    """

    recipe: Recipe
    nesting: PortTree
    spaces: Spaces
    doc: str
    patterns: Mapping[str, Pattern]


@dataclass(frozen=True)
class DerivativeRequest:
    """A requested derivative of outputs ``of`` of a kernel ``base`` with respect to its ``chosen`` inputs.

    ``outputs`` are the derivative kernel's outputs, and ``more`` its inputs in addition to those of ``base``.
    ``methods`` returns the methods to build its elements; the method with the fewest operations is used.
    """

    kind: str
    base: Base
    chosen: Chosen
    of: tuple[Tangent, ...]
    outputs: Sequence[Port]
    methods: Callable[[], Sequence[BuildMethod]]
    about: str
    more: Forms
    options: tuple[Any, ...] = ()
    sparse: bool = False


class _TracedDerivative(NamedTuple):
    program: Program
    patterns: dict[str, Pattern]


def derived(request: DerivativeRequest) -> Derivative:
    """Return a requested derivative kernel before its compilation, as a `Derivative`.

    Raises ValueError if two outputs would have one name. A sparse derivative is traced immediately and raises the
    errors of its trace.
    """
    base, name = request.base, f"{request.base.name}_{request.kind}"
    names = [port.name for port in request.outputs]
    twice = [title for title in names if names.count(title) > 1]
    if twice:
        raise ValueError(f"{name}: two arrays would be called {twice[0]!r}: request one output at a time, by of='...'")
    fresh = [port for key, form in request.more.items() for port in port_names(name, key, form)]

    def one(method: BuildMethod) -> _TracedDerivative:
        replay = Replay(base.program(method.ruled))
        return _assembled(request, name, replay, method.build(replay, replay.fresh(fresh)))

    @cache
    def traced() -> _TracedDerivative:
        try:
            result = without_collections(lambda: [one(method) for method in request.methods()])()
        except NotDifferentiableError as error:
            raise NotDifferentiableError(f"{name}: {error}") from None
        return min(result, key=lambda derivative: sum(derivative.program.operations.values()))

    outputs = tuple(request.outputs)
    patterns: Mapping[str, Pattern] = {}
    if request.sparse:
        patterns = traced().patterns
        outputs = traced().program.outputs
    recipe = Recipe(
        name,
        (*base.inputs, *fresh),
        outputs,
        lambda: traced().program,
        _content(request),
        base.source.recipe.facts,
        in_double=base.source.recipe.in_double,
    )
    nesting = PortTree({**base.nesting.inputs, **request.more})
    return Derivative(recipe, nesting, Spaces(base.spaces.inputs), f"{request.about} {base.name}", patterns)


def _assembled(request: DerivativeRequest, name: str, replay: Replay, elements: Elements) -> _TracedDerivative:
    pairs = list(zip(request.outputs, elements, strict=True))
    if not request.sparse:
        return _TracedDerivative(_program(request, name, replay, pairs), {})
    nonzero = [[k for k, x in enumerate(part) if not is_zero(x)] for part in elements]
    patterns = {port.name: Pattern(port.shape, indices) for port, indices in zip(request.outputs, nonzero, strict=True)}
    ports = [
        (Port(port.name, (len(indices),)), [part[k] for k in indices])
        for (port, part), indices in zip(pairs, nonzero, strict=True)
    ]
    return _TracedDerivative(_program(request, name, replay, ports), patterns)


def _program(
    request: DerivativeRequest, name: str, replay: Replay, outputs: Sequence[tuple[Port, Sequence[Any]]]
) -> Program:
    """Return a derivative's program, with the given outputs.

    If the differentiated kernel has a version with its own rules of differentiation, these rules are left out: a stored
    program contains no rules of a robot's functions.
    """
    program = replay.program(name, outputs)
    return program if request.base.source.recipe.ruled is None else program.without_rules()


def _content(request: DerivativeRequest) -> tuple[str, ...] | None:
    """Return everything that a derivative's program depends on except linkwork; None if it is unknown.

    It is unknown if that of the differentiated kernel is.  Code does not depend on names of inputs and outputs, so
    their indices are used.
    """
    identity = request.base.identity
    inputs, outputs = ([port.name for port in ports] for ports in (request.base.inputs, request.base.outputs))
    by = [(inputs.index(t.port.name), _space(t.space)) for t in request.chosen.tangents]
    tangents = [(outputs.index(t.port.name), _space(t.space)) for t in request.of]
    spaces = [t.space for t in (*request.chosen.tangents, *request.of) if t.space is not None]
    if identity is None or any(space.content is None for space in spaces):
        return None
    return "derivative", request.kind, repr((by, tangents, request.options)), *identity


def _space(space: Space | None) -> tuple[str, ...]:
    return () if space is None else (str(space.nq), str(space.nv), *(space.content or ()))


def weights_of(base: Base, of: Sequence[Tangent]) -> tuple[str, Forms]:
    """Return the prefix of the names of weights, ``w_`` or ``w2_``..., and one weight input for each output of ``of``.

    A weight has the shape of the output's tangent vector.
    """
    letter = base.prefix("w", [t.port.name for t in of])
    return letter, {f"{letter}{t.port.name}": Leaf(t.shape, bool(t.shape)) for t in of}


def check_scalar(caller: str, output: Tangent, remedy: str) -> None:
    """Raise ValueError unless the output has exactly one element."""
    if output.size != 1:
        raise ValueError(
            f"{caller}: expected an output of one element, got {output.port.name} of shape {output.shape}; {remedy}"
        )


@dataclass(frozen=True)
class Chosen:
    """The inputs of differentiation: the selected input arrays, and the nesting of their tangent vectors."""

    tangents: tuple[Tangent, ...]
    forms: Mapping[str, TreeDef | Leaf]  # of tangent vectors, nested as the inputs are


@dataclass(frozen=True)
class Base:
    """The kernel that is differentiated: its source, nested arguments, and the manifolds of its inputs and outputs."""

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
        """Return the traced program; with ``ruled``, its version with rules of differentiation if that exists."""
        trace = self.source.recipe.ruled if ruled else None
        return self.source.traced if trace is None else trace()

    @property
    def identity(self) -> tuple[str, ...] | None:
        """Everything that the differentiated program depends on; None if it is unknown without a trace."""
        source = self.source
        recipe = source.recipe
        known = recipe.content is not None or recipe.identity is not None or source.is_traced
        return source.identity if known else None

    def chosen_inputs(self, by: Sequence[str], space: str) -> Chosen:
        """Return the named inputs, or all inputs without names; a nested input selects all of its arrays.

        Raises UnknownNameError for an unknown input, ValueError for a repeated one, or if the kernel has no inputs.
        """
        in_tangent_space = _in_tangent_space(self.name, space)
        nested = {key: port_names(self.name, key, form) for key, form in self.nesting.inputs.items()}
        ports = {port.name: port for port in self.inputs}
        names = list(by) or list(nested)
        if not names:
            raise ValueError(f"{self.name}: expected inputs to differentiate with respect to, but the kernel has none")
        result: list[Tangent] = []
        forms: dict[str, TreeDef | Leaf] = {}
        for name in names:
            if not isinstance(name, str) or (name not in nested and name not in ports):
                raise UnknownNameError("input", name, dict.fromkeys([*nested, *ports]), _remedy(name, self.outputs))
            parts = nested.get(name) or [ports[name]]
            tangents = [Tangent(p, self.spaces.inputs.get(p.name) if in_tangent_space else None) for p in parts]
            result += tangents
            shapes = iter([tangent.shape for tangent in tangents])
            form = self.nesting.inputs.get(name, Leaf(ports[name].shape) if name in ports else Leaf(()))
            forms[name] = map_leaves(form, lambda leaf: Leaf(shape := next(shapes), leaf.is_array or bool(shape)))  # noqa: B023
        _check_distinct(self.name, "input", [tangent.port.name for tangent in result])
        return Chosen(tuple(result), forms)

    def chosen_outputs(self, of: Any, space: str) -> tuple[Tangent, ...]:
        """Return the named outputs, or all outputs; ``of`` is a name, several names, or a dict of spaces by name.

        Raises UnknownNameError for an unknown output, ValueError for a space of another shape, TypeError for other
        values.
        """
        in_tangent_space = _in_tangent_space(self.name, space)
        nested = self._nested_outputs()
        ports = {port.name: port for port in self.outputs}
        names: Iterable[Any] = ports if of is None else (of,) if isinstance(of, str) else of
        spaces: Mapping[Any, Any] = of if isinstance(of, Mapping) else {}
        if not isinstance(names, Iterable):
            raise TypeError(f"{self.name}: of: expected names of outputs, got {of!r}")
        result = []
        for name in names:
            if not isinstance(name, str) or (name not in nested and name not in ports):
                raise UnknownNameError("output", name, dict.fromkeys([*ports, *nested]), _remedy(name, self.inputs))
            parts = [ports[name]] if name in ports else nested[name]
            for port in parts:
                known = spaces.get(name)
                if known is None:
                    known = self.spaces.outputs.get(port.name)
                elif not isinstance(known, Space):
                    expected = "a space, such as robot.configuration_space, or None"
                    raise TypeError(f"{self.name}: of: {name}: expected {expected}, got {known!r}")
                elif known.shape != port.shape:
                    raise ValueError(
                        f"{self.name}: of: {name}: expected a space of shape {port.shape}, that of the output, "
                        f"got {known!r} of shape {known.shape}"
                    )
                result.append(Tangent(port, known if in_tangent_space else None))
        if not result:
            raise ValueError(f"{self.name}: of: expected at least one output; the outputs are {[*ports]}")
        _check_distinct(self.name, "output", [tangent.port.name for tangent in result])
        return tuple(result)

    def _nested_outputs(self) -> dict[str, list[Port]]:
        """Return the arrays of each nested output (a tuple or dict of arrays, for example), by the output's name."""
        form, left = self.nesting.outputs, iter(self.outputs)
        if form is None:
            return {}
        return {
            str(key): [next(left) for _ in leaf_paths(part)] for key, part in zip(form.keys, form.parts, strict=True)
        }

    def prefix(self, letter: str, names: Iterable[str]) -> str:
        """Return the prefix ``d_`` (for letter d), or ``d2_``, ``d3_`` ... if inputs with such names exist."""
        taken = {*self.nesting.inputs, *(port.name for port in self.inputs)}
        suffixes, count, result = [*names], 1, f"{letter}_"
        while any(f"{result}{name}" in taken for name in suffixes):
            count += 1
            result = f"{letter}{count}_"
        return result


def _in_tangent_space(caller: str, space: str) -> bool:
    if space not in ("tangent", "coordinates"):
        raise ValueError(f"{caller}: space: expected 'tangent' or 'coordinates', got {space!r}")
    return space == "tangent"


def _check_distinct(caller: str, kind: str, names: Sequence[str]) -> None:
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"{caller}: {kind} {name!r} is named twice")


def _remedy(name: Any, opposite: Sequence[Port]) -> str:
    """Return a hint if an unknown input is the name of an output, or an unknown output the name of an input; or "".

    ``opposite`` are the outputs if the name should be an input, and the inputs if it should be an output.
    """
    if any(port.name == name for port in opposite):
        return "inputs are named first, as in jacobian('q'), and outputs by of='...'"
    return ""
