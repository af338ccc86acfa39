"""Recipes of derivative kernels: the chosen inputs and outputs, their ports, and the program, traced on demand.

`Base` finds and checks the inputs and outputs of the kernel that is differentiated by name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

from linkwork.compiler.build import Recipe, Source
from linkwork.compiler.derivatives.forward_and_reverse import Replay
from linkwork.compiler.derivatives.sparsity import Pattern
from linkwork.compiler.derivatives.tangent_spaces import Space, Spaces, Tangent
from linkwork.compiler.program import Port, Program
from linkwork.compiler.runtime.cpython import without_collections
from linkwork.compiler.trace.pytree_ports import PortTree, port_names
from linkwork.errors import NotDifferentiableError, UnknownNameError
from linkwork.expr.arrays.pytree import Leaf, TreeDef, leaf_paths, map_leaves
from linkwork.expr.autodiff.graph_derivative import is_zero

__all__ = ["Base", "Derivative", "Wanted", "Way", "check_scalar", "derived", "ruled", "weights_of"]


Forms = Mapping[str, TreeDef | Leaf]
Elements = Sequence[Sequence[Any]]  # of outputs, one after the other
Build = Callable[[Replay, Mapping[str, Sequence[Any]]], Elements]


class Way(NamedTuple):
    """How the elements of a derivative may be built."""

    build: Build
    ruled: bool = False  # of the program with rules


def ruled(build: Build) -> Callable[[], Sequence[Way]]:
    """The one way that there is, with rules."""
    return lambda: [Way(build, ruled=True)]


@dataclass(frozen=True)
class Derivative:
    """What a kernel of derivatives is made of; where it is sparse, also where the values belong."""

    recipe: Recipe
    nesting: PortTree
    spaces: Spaces
    doc: str
    patterns: Mapping[str, Pattern]


@dataclass(frozen=True)
class Wanted:
    """A derivative that is asked for: of what, by what, its outputs, and which inputs it takes more.

    ``ways`` lists how its elements may be built, when they are needed; the way of fewer operations is taken.
    """

    kind: str
    base: Base
    chosen: Chosen
    of: tuple[Tangent, ...]
    outputs: Sequence[Port]
    ways: Callable[[], Sequence[Way]]
    about: str
    more: Forms
    options: tuple[Any, ...] = ()
    sparse: bool = False


class _Made(NamedTuple):
    program: Program
    patterns: dict[str, Pattern]


def derived(plan: Wanted) -> Derivative:
    """The recipe, and what else a kernel is made of.

    Raises ValueError where two outputs would have one name; what is sparse is traced at once, and raises what that
    raises.
    """
    base, name = plan.base, f"{plan.base.name}_{plan.kind}"
    names = [port.name for port in plan.outputs]
    twice = [one for one in names if names.count(one) > 1]
    if twice:
        raise ValueError(f"{name}: two arrays would be called {twice[0]!r}: ask for one output at a time, by of='...'")
    fresh = [port for key, form in plan.more.items() for port in port_names(name, key, form)]

    def one(way: Way) -> _Made:
        replay = Replay(base.program(way.ruled))
        return _assembled(plan, name, replay, way.build(replay, replay.fresh(fresh)))

    @cache
    def made() -> _Made:
        try:
            result = without_collections(lambda: [one(way) for way in plan.ways()])()
        except NotDifferentiableError as error:
            raise NotDifferentiableError(f"{name}: {error}") from None
        return min(result, key=lambda some: sum(some.program.operations.values()))

    outputs = tuple(plan.outputs)
    patterns: Mapping[str, Pattern] = {}
    if plan.sparse:
        patterns = made().patterns
        outputs = made().program.outputs
    recipe = Recipe(
        name,
        (*base.inputs, *fresh),
        outputs,
        lambda: made().program,
        _content(plan),
        base.source.recipe.facts,
        in_double=base.source.recipe.in_double,
    )
    nesting = PortTree({**base.nesting.inputs, **plan.more})
    return Derivative(recipe, nesting, Spaces(base.spaces.inputs), f"{plan.about} {base.name}", patterns)


def _assembled(plan: Wanted, name: str, replay: Replay, elements: Elements) -> _Made:
    pairs = list(zip(plan.outputs, elements, strict=True))
    if not plan.sparse:
        return _Made(_program(plan, name, replay, pairs), {})
    places = [[k for k, x in enumerate(part) if not is_zero(x)] for part in elements]
    patterns = {port.name: Pattern(port.shape, kept) for port, kept in zip(plan.outputs, places, strict=True)}
    ports = [
        (Port(port.name, (len(kept),)), [part[k] for k in kept])
        for (port, part), kept in zip(pairs, places, strict=True)
    ]
    return _Made(_program(plan, name, replay, ports), patterns)


def _program(plan: Wanted, name: str, replay: Replay, outputs: Sequence[tuple[Port, Sequence[Any]]]) -> Program:
    """The program; a robot's rules end here, as they are no part of what is kept of a program."""
    program = replay.program(name, outputs)
    return program if plan.base.source.recipe.ruled is None else program.without_rules()


def _content(plan: Wanted) -> tuple[str, ...] | None:
    """All that the program depends on besides linkwork itself, where the base kernel's is known.

    Names of inputs and outputs make no difference to code, so their places stand for them.
    """
    told = plan.base.told
    inputs, outputs = ([port.name for port in ports] for ports in (plan.base.inputs, plan.base.outputs))
    by = [(inputs.index(t.port.name), _space(t.space)) for t in plan.chosen.tangents]
    of = [(outputs.index(t.port.name), _space(t.space)) for t in plan.of]
    spaces = [t.space for t in (*plan.chosen.tangents, *plan.of) if t.space is not None]
    if told is None or any(space.content is None for space in spaces):
        return None
    return "derivative", plan.kind, repr((by, of, plan.options)), *told


def _space(space: Space | None) -> tuple[str, ...]:
    return () if space is None else (str(space.nq), str(space.nv), *(space.content or ()))


def weights_of(base: Base, of: Sequence[Tangent]) -> tuple[str, Forms]:
    """What names of weights begin with, and the inputs that they are."""
    letter = base.prefix("w", [t.port.name for t in of])
    return letter, {f"{letter}{t.port.name}": Leaf(t.shape, bool(t.shape)) for t in of}


def check_scalar(caller: str, output: Tangent, remedy: str) -> None:
    """Raises ValueError for an output of several elements, or none."""
    if output.size != 1:
        raise ValueError(
            f"{caller}: expected an output that is one number, got {output.port.name} of shape {output.shape}; {remedy}"
        )


@dataclass(frozen=True)
class Chosen:
    """The inputs that are differentiated by: arrays, and the inputs that they are the parts of."""

    tangents: tuple[Tangent, ...]
    forms: Mapping[str, TreeDef | Leaf]  # of tangent vectors, nested as the inputs are


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
        result: list[Tangent] = []
        forms: dict[str, TreeDef | Leaf] = {}
        for name in names:
            if not isinstance(name, str) or (name not in nested and name not in ports):
                raise UnknownNameError("input", name, dict.fromkeys([*nested, *ports]), _remedy(name, self.outputs))
            parts = nested.get(name) or [ports[name]]
            own = [Tangent(p, self.spaces.inputs.get(p.name) if in_tangent_space else None) for p in parts]
            result += own
            shapes = iter([tangent.shape for tangent in own])
            form = self.nesting.inputs.get(name, Leaf(ports[name].shape) if name in ports else Leaf(()))
            forms[name] = map_leaves(form, lambda leaf: Leaf(shape := next(shapes), leaf.is_array or bool(shape)))  # noqa: B023
        _once(self.name, "input", [tangent.port.name for tangent in result])
        return Chosen(tuple(result), forms)

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
        result = []
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
                result.append(Tangent(port, known if in_tangent_space else None))
        if not result:
            raise ValueError(f"{self.name}: of: expected at least one output; there are {[*ports]}")
        _once(self.name, "output", [tangent.port.name for tangent in result])
        return tuple(result)

    def _nested_outputs(self) -> dict[str, list[Port]]:
        """The arrays of each output that is nested, by its name."""
        form, left = self.nesting.outputs, iter(self.outputs)
        if form is None:
            return {}
        return {
            str(key): [next(left) for _ in leaf_paths(part)] for key, part in zip(form.keys, form.parts, strict=True)
        }

    def prefix(self, letter: str, names: Iterable[str]) -> str:
        """``d_``, or ``d2_``, ``d3_`` ... where inputs with one of these names before it are there already."""
        taken = {*self.nesting.inputs, *(port.name for port in self.inputs)}
        given, count, result = [*names], 1, f"{letter}_"
        while any(f"{result}{name}" in taken for name in given):
            count += 1
            result = f"{letter}{count}_"
        return result


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
