"""Squares of numbers in vectors, transposed in registers, in LLVM IR."""

from __future__ import annotations

from linkwork.compiler.codegen.float_type import Real
from linkwork.compiler.codegen.llvm_ir import Function

__all__ = ["transpose"]


def transpose(f: Function, vectors: list[str], real: Real, lanes: int) -> list[str]:
    """Transpose squares of numbers side by side in as many vectors as a square has rows: exchange halves, quarters ...

    The squares fill the lanes of the vectors.
    """
    kind, d, rows = real.vector(lanes), 1, len(vectors)
    while d < rows:
        low = [k if not k & d else lanes + k - d for k in range(lanes)]
        high = [k + d if not k & d else lanes + k for k in range(lanes)]
        after = list(vectors)
        for i in range(rows):
            if not i & d:
                for place, chosen in ((i, low), (i + d, high)):
                    mask = ", ".join(f"i32 {k}" for k in chosen)
                    pair = f"{kind} {vectors[i]}, {kind} {vectors[i + d]}"
                    after[place] = f.let(f"shufflevector {pair}, <{lanes} x i32> <{mask}>")
        vectors, d = after, 2 * d
    return vectors
