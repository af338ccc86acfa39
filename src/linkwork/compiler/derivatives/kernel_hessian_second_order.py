"""Second derivatives: Hessians, and their products with vectors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate, pairwise
from typing import Any

from linkwork.compiler.derivatives.derivative_arguments import Base
from linkwork.compiler.derivatives.derivative_recipes import (
    Derivative,
    Elements,
    Wanted,
    check_scalar,
    derived,
    ruled,
    weights_of,
)
from linkwork.compiler.derivatives.kernel_hessian import product, triangle
from linkwork.compiler.derivatives.program_replay import Replay
from linkwork.compiler.derivatives.tangent_spaces_tangents import Tangent
from linkwork.compiler.program import Port
from linkwork.expr.arrays.pytree import Form, Leaf

__all__ = ["hessian"]


def hessian(
    base: Base, by: Sequence[str], of: Any, space: str, weights: bool, vector: bool, sparse: bool
) -> Derivative:
    """The recipe of `Kernel.hessian`."""
    chosen, outputs = base.chosen(by, space), base.differentiated(of, space)
    who, tangents = f"{base.name}: hessian", chosen.tangents
    if vector and sparse:
        raise ValueError(f"{who}: sparse is of the matrix: its product with a vector has no zeros to leave out")
    for output in () if weights else outputs:
        check_scalar(who, output, "with weights=True it is the Hessian of Σ w·output, w an input")
    groups = [outputs] if weights else [(output,) for output in outputs]
    names = [f"{group[0].port.name}_" if len(group) == 1 else "" for group in groups]
    more: dict[str, Form | Leaf] = {}
    w = d = ""
    if weights:
        w, given_weights = weights_of(base, outputs)
        more |= given_weights
    pairs = [(a, b) for k, a in enumerate(tangents) for b in tangents[k:]]
    ports = [
        Port(f"d2_{name}d_{a.port.name}_d_{b.port.name}", (*a.shape, *b.shape)) for name in names for a, b in pairs
    ]
    if vector:
        d = base.prefix("d", [*chosen.forms, *(t.port.name for t in tangents)])
        more |= {f"{d}{name}": form for name, form in chosen.forms.items()}
        ports = [Port(f"d2_{name}d_{t.port.name}", t.shape) for name in names for t in tangents]

    def build(replay: Replay, given: Mapping[str, Sequence[Any]]) -> Elements:
        found: list[Sequence[Any]] = []
        for group in groups:
            scale = {t.port.name: given[f"{w}{t.port.name}"] if weights else [1.0] for t in group}
            if vector:
                directions = {t.port.name: given[f"{d}{t.port.name}"] for t in tangents}
                found += product(replay, group, tangents, scale, directions)
            else:
                found += _blocks(triangle(replay, group, tangents, scale), tangents)
        return found

    about = "Hessian times a vector of" if vector else "Hessian of"
    options = (weights, vector, sparse)
    return derived(Wanted("hessian", base, chosen, outputs, ports, ruled(build), about, more, options, sparse))


def _blocks(triangle: Mapping[tuple[int, int], Any], by: Sequence[Tangent]) -> Elements:
    """The elements of the blocks of each input by itself and by those after it."""
    ends = list(accumulate((tangent.size for tangent in by), initial=0))
    places = [range(start, end) for start, end in pairwise(ends)]
    return [
        [triangle.get((i, j) if i <= j else (j, i), 0.0) for i in rows for j in columns]
        for k, rows in enumerate(places)
        for columns in places[k:]
    ]
