"""Derivatives of a kernel as kernels: JVPs, VJPs, gradients and Jacobians."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import accumulate, pairwise
from typing import Any, Literal, TypeVar

from linkwork.compiler.derivatives import forward_and_reverse
from linkwork.compiler.derivatives.derivative_recipes import (
    Base,
    BuildMethod,
    Derivative,
    DerivativeRequest,
    Elements,
    check_scalar,
    derived,
    ruled,
    weights_of,
)
from linkwork.compiler.derivatives.forward_and_reverse import Replay
from linkwork.compiler.derivatives.sparsity import Estimate, estimate
from linkwork.compiler.derivatives.tangent_spaces import Space, Tangent
from linkwork.compiler.port import Port
from linkwork.errors import NotDifferentiableError

__all__ = ["jacobian", "jvp", "value_and_gradient", "vjp"]


Of = str | Iterable[str] | Mapping[str, Space | None] | None
Mode = Literal["auto", "forward", "reverse"]
_CLEAR = 0.7  # ratio of estimates below which the smaller one decides without a trace
_MAX_TRACED = 30_000  # estimated operations up to which both modes are traced if estimates are close
Arguments = Mapping[str, Sequence[Any]]
T = TypeVar("T")


def jvp(base: Base, by: Sequence[str], of: Any, space: str) -> Derivative:
    """Return the recipe of the kernel that `Kernel.jvp` returns: how the products J d are traced."""
    chosen, outputs = base.chosen_inputs(by, space), base.chosen_outputs(of, space)
    d = base.prefix("d", [*chosen.forms, *(t.port.name for t in chosen.tangents)])

    def build(replay: Replay, value: Arguments) -> Elements:
        directions = {t.port.name: value[f"{d}{t.port.name}"] for t in chosen.tangents}
        return forward_and_reverse.directional(replay, outputs, chosen.tangents, directions)

    ports = [Port(f"d_{t.port.name}", t.shape) for t in outputs]
    more = {f"{d}{name}": form for name, form in chosen.forms.items()}
    return derived(
        DerivativeRequest("jvp", base, chosen, outputs, ports, ruled(build), "Directional derivatives of", more)
    )


def vjp(base: Base, by: Sequence[str], of: Any, space: str) -> Derivative:
    """Return the recipe of the kernel that `Kernel.vjp` returns: how the products Jᵀ w are traced."""
    chosen, outputs = base.chosen_inputs(by, space), base.chosen_outputs(of, space)
    w, more = weights_of(base, outputs)

    def build(replay: Replay, value: Arguments) -> Elements:
        weights = {t.port.name: value[f"{w}{t.port.name}"] for t in outputs}
        return _only_in_reverse(partial(forward_and_reverse.gradients, replay, outputs, chosen.tangents, weights))

    ports = [Port(f"grad_{t.port.name}", t.shape) for t in chosen.tangents]
    return derived(
        DerivativeRequest("vjp", base, chosen, outputs, ports, ruled(build), "Gradients of weighted sums of", more)
    )


def value_and_gradient(base: Base, by: Sequence[str], of: Any, space: str) -> Derivative:
    """Return the recipe of the kernel that `Kernel.value_and_gradient` returns: how value and gradient are traced."""
    chosen, outputs = base.chosen_inputs(by, space), base.chosen_outputs(of, space)
    caller = f"{base.name}: value_and_gradient"
    if len(outputs) != 1:
        names = ", ".join(t.port.name for t in outputs)
        raise ValueError(
            f"{caller}: expected one output, got {len(outputs)} ({names}): name it by of='...', or use vjp"
        )
    (output,) = outputs
    check_scalar(caller, output, "use vjp with weights of the output's elements")

    def build(replay: Replay, value: Arguments) -> Elements:
        seed = {output.port.name: [1.0]}
        result = _only_in_reverse(partial(forward_and_reverse.gradients, replay, outputs, chosen.tangents, seed))
        return [replay.outputs[output.port.name], *result]

    ports = [output.port, *(Port(f"grad_{t.port.name}", t.shape) for t in chosen.tangents)]
    about = "Value and gradient of"
    return derived(DerivativeRequest("value_and_gradient", base, chosen, outputs, ports, ruled(build), about, {}))


def jacobian(base: Base, by: Sequence[str], of: Any, space: str, sparse: bool, mode: str) -> Derivative:
    """Return the recipe of the kernel that `Kernel.jacobian` returns: how the Jacobians are traced."""
    chosen, outputs = base.chosen_inputs(by, space), base.chosen_outputs(of, space)
    if mode not in ("forward", "reverse", "auto"):
        raise ValueError(f"{base.name}: jacobian: mode: expected 'forward', 'reverse' or 'auto', got {mode!r}")
    tangents = chosen.tangents

    def in_forward(replay: Replay, value: Arguments) -> Elements:
        return _blocks(forward_and_reverse.rows_forward(replay, outputs, tangents), tangents)

    def in_reverse(replay: Replay, value: Arguments) -> Elements:
        rows = partial(forward_and_reverse.rows_reverse, replay, outputs, tangents)
        if mode == "reverse":
            return _blocks(_only_in_reverse(rows), tangents)
        try:
            return _blocks(rows(), tangents)
        except NotDifferentiableError:
            return in_forward(replay, value)

    forward_method, reverse_method = BuildMethod(in_forward), BuildMethod(in_reverse, ruled=True)

    def methods() -> Sequence[BuildMethod]:
        if mode != "auto":
            return [forward_method if mode == "forward" else reverse_method]
        likely = _estimated(base, outputs, tangents)
        near = max(likely) * _CLEAR < min(likely) <= _MAX_TRACED
        if near:
            return [forward_method, reverse_method]
        return [forward_method if likely.forward <= likely.reverse else reverse_method]

    ports = [Port(f"d_{o.port.name}_d_{i.port.name}", (*o.shape, *i.shape)) for o in outputs for i in tangents]
    options = (sparse, mode)
    return derived(
        DerivativeRequest("jacobian", base, chosen, outputs, ports, methods, "Jacobian of", {}, options, sparse)
    )


def _estimated(base: Base, of: Sequence[Tangent], by: Sequence[Tangent]) -> Estimate:
    """Return the estimated cost of a Jacobian in forward and in reverse mode.

    Each coordinate of a configuration counts as a separate direction, as if it could move alone.
    """
    program = base.source.traced
    first = dict(zip([p.name for p in program.inputs], _starts(program.inputs), strict=False))
    directions: dict[int, int] = {}
    for tangent in by:
        for k in range(tangent.port.size):
            directions[first[tangent.port.name] + k] = 1 << len(directions)
    ends = dict(zip([p.name for p in program.outputs], _starts(program.outputs), strict=False))
    sets = [0] * len(program.results)
    count = 0
    for tangent in of:
        for k in range(tangent.port.size):
            sets[ends[tangent.port.name] + k] = 1 << count
            count += 1
    return estimate(program, directions, sets)


def _starts(ports: Sequence[Port]) -> list[int]:
    return list(accumulate((port.size for port in ports), initial=0))


def _blocks(rows: Sequence[Sequence[Mapping[int, Any]]], by: Sequence[Tangent]) -> Elements:
    """Return the elements, row by row, of the Jacobian of each output with respect to each input.

    ``rows`` has the sparse Jacobian rows of each output. Their columns are the tangent directions of all inputs in
    sequence.
    """
    ends = list(accumulate((tangent.size for tangent in by), initial=0))
    return [
        [row.get(k, 0.0) for row in part for k in range(start, end)] for part in rows for start, end in pairwise(ends)
    ]


def _only_in_reverse(compute: Callable[[], T]) -> T:
    """Return ``compute()``; if it raises NotDifferentiableError, add the alternatives in forward mode to the error."""
    try:
        return compute()
    except NotDifferentiableError as error:
        instead = "of a kernel, jvp and jacobian(mode='forward') need no reverse"
        raise NotDifferentiableError(f"{error}; {instead}") from None
