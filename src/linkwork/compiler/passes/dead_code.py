"""Dead code: what no result depends on is left out."""

from __future__ import annotations

from ..program import Program

__all__ = ["dead_code"]


def dead_code(program: Program) -> Program:
    return program.pruned()
