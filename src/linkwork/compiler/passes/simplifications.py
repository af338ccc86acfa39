"""Dead code: what no result depends on is left out."""

from __future__ import annotations

from typing import TypeVar

from linkwork.expr.scalar.block import Listing

__all__ = ["dead_code"]

L = TypeVar("L", bound=Listing)


def dead_code(program: L) -> L:
    return program.pruned()
