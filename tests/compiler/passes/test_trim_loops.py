"""Trimmed loops: they carry and store only what results need, also through other loops."""

from __future__ import annotations

from typing import Any

import numpy as np

import linkwork as lw
from linkwork.compiler.codegen.loops.frame_layout import plan_program
from linkwork.expr import scan


def frame(kernel: lw.Kernel) -> int:
    """Return the number of slots in a frame of a kernel's code."""
    return plan_program(kernel.program)[1].size


def rolled(clipped: bool, segments: int | None) -> lw.Kernel:
    def step(state: Any, u: Any) -> Any:
        q, v = state
        v = v + 0.1 * ((np.clip(u, -1.0, 1.0) if clipped else u) - np.sin(q))
        q = q + 0.1 * v
        return (q, v), q

    more: dict[str, Any] = {} if segments is None else {"segments": segments}

    def cost(x: Any, u: Any) -> Any:
        (q, v), path = scan(step, (x[0], x[1]), u, **more)
        return (q - 1.0) ** 2 + v**2 + path @ path

    return lw.compile(cost, x=2, u=12)


def test_loops_do_not_carry_unused_flags_of_clipped_terms() -> None:
    for segments in (None, 3):
        plain, clipped = rolled(False, segments), rolled(True, segments)
        assert frame(clipped.value_and_gradient()) <= frame(plain.value_and_gradient())
        assert frame(clipped.hessian()) <= frame(plain.hessian())
