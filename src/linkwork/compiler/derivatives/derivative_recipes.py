"""Derivatives as recipes of kernels: what goes in, what comes out, and how the program is made when it is needed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

from linkwork.compiler.build import Recipe
from linkwork.compiler.derivatives.derivative_arguments import Base, Chosen
from linkwork.compiler.derivatives.program_replay import Replay
from linkwork.compiler.derivatives.sparsity import Pattern
from linkwork.compiler.derivatives.tangent_spaces import Space, Spaces, Tangent
from linkwork.compiler.program import Port, Program
from linkwork.compiler.runtime.cpython import without_collections
from linkwork.compiler.trace.pytree_ports import PortTree, port_names
from linkwork.errors import NotDifferentiableError
from linkwork.expr.arrays.pytree import Form, Leaf
from linkwork.expr.autodiff.graph_derivative import is_zero

__all__ = ["Derivative", "Wanted", "Way", "check_scalar", "derived", "ruled", "weights_of"]

Forms = Mapping[str, Form | Leaf]
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
            found = without_collections(lambda: [one(way) for way in plan.ways()])()
        except NotDifferentiableError as error:
            raise NotDifferentiableError(f"{name}: {error}") from None
        return min(found, key=lambda some: sum(some.program.operations.values()))

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
