"""First derivatives: along directions, of weighed sums, and whole Jacobians."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import accumulate, pairwise
from typing import Any, TypeVar

from linkwork.compiler.derivatives import forward_mode as forward
from linkwork.compiler.derivatives import reverse_mode as reverse
from linkwork.compiler.derivatives.derivative_arguments import Base
from linkwork.compiler.derivatives.derivative_recipes import (
    Derivative,
    Elements,
    Wanted,
    Way,
    check_scalar,
    derived,
    ruled,
    weights_of,
)
from linkwork.compiler.derivatives.program_replay import Replay
from linkwork.compiler.derivatives.sparsity import Estimate, estimate
from linkwork.compiler.derivatives.tangent_spaces import Tangent
from linkwork.compiler.program import Port
from linkwork.errors import NotDifferentiableError

__all__ = ["jacobian", "jvp", "value_and_gradient", "vjp"]

_CLEAR = 0.7  # an estimate that is a smaller part of the other decides alone
_COUNTED = 30_000  # operations, estimated, up to which both ways are traced where estimates are near

Given = Mapping[str, Sequence[Any]]
T = TypeVar("T")


def jvp(base: Base, by: Sequence[str], of: Any, space: str) -> Derivative:
    """The recipe of `Kernel.jvp`."""
    chosen, outputs = base.chosen(by, space), base.differentiated(of, space)
    d = base.prefix("d", [*chosen.forms, *(t.port.name for t in chosen.tangents)])

    def build(replay: Replay, given: Given) -> Elements:
        directions = {t.port.name: given[f"{d}{t.port.name}"] for t in chosen.tangents}
        return forward.directional(replay, outputs, chosen.tangents, directions)

    ports = [Port(f"d_{t.port.name}", t.shape) for t in outputs]
    more = {f"{d}{name}": form for name, form in chosen.forms.items()}
    return derived(Wanted("jvp", base, chosen, outputs, ports, ruled(build), "Directional derivatives of", more))


def vjp(base: Base, by: Sequence[str], of: Any, space: str) -> Derivative:
    """The recipe of `Kernel.vjp`."""
    chosen, outputs = base.chosen(by, space), base.differentiated(of, space)
    w, more = weights_of(base, outputs)

    def build(replay: Replay, given: Given) -> Elements:
        weights = {t.port.name: given[f"{w}{t.port.name}"] for t in outputs}
        return _only_in_reverse(partial(reverse.gradients, replay, outputs, chosen.tangents, weights))

    ports = [Port(f"grad_{t.port.name}", t.shape) for t in chosen.tangents]
    return derived(Wanted("vjp", base, chosen, outputs, ports, ruled(build), "Gradients of weighed sums of", more))


def value_and_gradient(base: Base, by: Sequence[str], of: Any, space: str) -> Derivative:
    """The recipe of `Kernel.value_and_gradient`."""
    chosen, outputs = base.chosen(by, space), base.differentiated(of, space)
    caller = f"{base.name}: value_and_gradient"
    if len(outputs) != 1:
        names = ", ".join(t.port.name for t in outputs)
        raise ValueError(
            f"{caller}: expected one output, got {len(outputs)} ({names}): name it by of='...', or use vjp"
        )
    (output,) = outputs
    check_scalar(caller, output, "vjp takes weights of an output's elements")

    def build(replay: Replay, given: Given) -> Elements:
        one = {output.port.name: [1.0]}
        found = _only_in_reverse(partial(reverse.gradients, replay, outputs, chosen.tangents, one))
        return [replay.outputs[output.port.name], *found]

    ports = [output.port, *(Port(f"grad_{t.port.name}", t.shape) for t in chosen.tangents)]
    about = "Value and gradient of"
    return derived(Wanted("value_and_gradient", base, chosen, outputs, ports, ruled(build), about, {}))


def jacobian(base: Base, by: Sequence[str], of: Any, space: str, sparse: bool, mode: str) -> Derivative:
    """The recipe of `Kernel.jacobian`."""
    chosen, outputs = base.chosen(by, space), base.differentiated(of, space)
    if mode not in ("forward", "reverse", "auto"):
        raise ValueError(f"{base.name}: jacobian: mode: expected 'forward', 'reverse' or 'auto', got {mode!r}")
    tangents = chosen.tangents

    def in_forward(replay: Replay, given: Given) -> Elements:
        return _blocks(forward.rows_of(replay, outputs, tangents), tangents)

    def in_reverse(replay: Replay, given: Given) -> Elements:
        rows = partial(reverse.rows_of, replay, outputs, tangents)
        if mode == "reverse":
            return _blocks(_only_in_reverse(rows), tangents)
        try:
            return _blocks(rows(), tangents)
        except NotDifferentiableError:
            return in_forward(replay, given)

    forward_way, reverse_way = Way(in_forward), Way(in_reverse, ruled=True)

    def ways() -> Sequence[Way]:
        if mode != "auto":
            return [forward_way if mode == "forward" else reverse_way]
        likely = _estimated(base, outputs, tangents)
        near = max(likely) * _CLEAR < min(likely) <= _COUNTED
        if near:
            return [forward_way, reverse_way]
        return [forward_way if likely.forward <= likely.reverse else reverse_way]

    ports = [Port(f"d_{o.port.name}_d_{i.port.name}", (*o.shape, *i.shape)) for o in outputs for i in tangents]
    options = (sparse, mode)
    return derived(Wanted("jacobian", base, chosen, outputs, ports, ways, "Jacobian of", {}, options, sparse))


def _estimated(base: Base, of: Sequence[Tangent], by: Sequence[Tangent]) -> Estimate:
    """What the Jacobian takes either way, roughly; a space counts as if each number moved by itself."""
    program = base.source.traced
    first = dict(zip([p.name for p in program.inputs], _starts(program.inputs), strict=False))
    directions: dict[int, int] = {}
    for tangent in by:
        for k in range(tangent.port.size):
            directions[first[tangent.port.name] + k] = 1 << len(directions)
    ends = dict(zip([p.name for p in program.outputs], _starts(program.outputs), strict=False))
    wanted = [0] * len(program.results)
    count = 0
    for tangent in of:
        for k in range(tangent.port.size):
            wanted[ends[tangent.port.name] + k] = 1 << count
            count += 1
    return estimate(program, directions, wanted)


def _starts(ports: Sequence[Port]) -> list[int]:
    return list(accumulate((port.size for port in ports), initial=0))


def _blocks(rows: Sequence[Sequence[Mapping[int, Any]]], by: Sequence[Tangent]) -> Elements:
    """The elements of each output's Jacobian by each input, from rows by the directions of all inputs."""
    ends = list(accumulate((tangent.size for tangent in by), initial=0))
    return [
        [row.get(k, 0.0) for row in part for k in range(start, end)] for part in rows for start, end in pairwise(ends)
    ]


def _only_in_reverse(compute: Callable[[], T]) -> T:
    """What is computed in reverse.  Raises NotDifferentiableError, with what a kernel has instead, where there is
    nothing."""
    try:
        return compute()
    except NotDifferentiableError as error:
        instead = "of a kernel, jvp and jacobian(mode='forward') need no reverse"
        raise NotDifferentiableError(f"{error}; {instead}") from None
