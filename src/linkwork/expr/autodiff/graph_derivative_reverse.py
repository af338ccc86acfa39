"""Derivatives in reverse, where the scalars know what they are made of: those of few results by many inputs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from linkwork.expr.autodiff.graph_derivative import adjoint
from linkwork.expr.scalar.interpreter import INPUT
from linkwork.expr.scalar.symbol import Symbol

__all__ = ["gradients", "independent"]


def independent(inputs: Sequence[Any]) -> bool:
    """Whether `gradients` can be asked for: these are the variables of a trace, each there once."""
    return all(isinstance(x, Symbol) and x.op is INPUT for x in inputs) and len({id(x) for x in inputs}) == len(inputs)


def gradients(outputs: Sequence[Any], inputs: Sequence[Any]) -> list[list[Any]]:
    """The derivatives of each output by all inputs, at a small multiple of the outputs' cost for each output."""
    return [adjoint([x], inputs, [1.0]) if isinstance(x, Symbol) else [0.0] * len(inputs) for x in outputs]
