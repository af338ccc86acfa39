"""Sample programs: recursions, matrix products and elimination."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from linkwork.compiler.program import Program
from linkwork.compiler.trace.trace import trace
from linkwork.expr.scalar import functions as f


def chain_of_rotations(q: Any) -> Any:
    """Positions along a chain of links, each turned about an axis in turn."""
    R, p, positions = np.eye(3), np.zeros(3), []
    for k, angle in enumerate(q):
        c, s = f.cos(angle), f.sin(angle)
        turn = np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]], dtype=object)
        R = R @ np.roll(turn, k, axis=(0, 1))
        p = p + R @ np.array([0.3, 0.1 * k, 1.0])
        positions.append(p)
    return np.array(positions)


def planar_dynamics(q: Any, v: Any) -> Any:
    """Out along a planar chain for velocities, back for forces."""
    x, y, turn, rate, outward = 0.0, 0.0, 0.0, 0.0, []
    for angle, speed in zip(q, v, strict=True):
        turn, rate = turn + angle, rate + speed
        x, y = x - rate * rate * f.cos(turn), y - rate * rate * f.sin(turn)
        outward.append((f.cos(turn), f.sin(turn), x, y))
    force_x, force_y, moment, moments = 0.0, 0.0, 0.0, []
    for c, s, x, y in reversed(outward):
        force_x, force_y = force_x + 1.5 * x, force_y + 1.5 * (y + 9.81)
        moment = moment + c * force_y - s * force_x
        moments.append(moment)
    return np.array(moments[::-1])


def matrix_product(a: Any, b: Any) -> Any:
    return a @ b


def elimination(a: Any, b: Any) -> Any:
    """Gauss without pivots."""
    a, b = a.copy(), b.copy()
    n = len(b)
    for k in range(n):
        for i in range(k + 1, n):
            factor = a[i, k] / a[k, k]
            a[i, k + 1 :] = a[i, k + 1 :] - factor * a[k, k + 1 :]
            b[i] = b[i] - factor * b[k]
    for k in range(n - 1, -1, -1):
        b[k] = (b[k] - a[k, k + 1 :] @ b[k + 1 :]) / a[k, k]
    return b


def horner(x: Any) -> Any:
    total = 1.0
    for k in range(20):
        total = total * x + 1.0 / (k + 1)
    return total


def wide_then_narrow(x: Any) -> Any:
    """All squares first, as the text has it, and their sum after."""
    squares = [x[k] * x[k + 1] for k in range(len(x) - 1)]
    return f.sqrt(sum(squares))


SAMPLES: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    "chain of rotations": (chain_of_rotations, {"q": 8}),
    "planar dynamics": (planar_dynamics, {"q": 10, "v": 10}),
    "matrix product": (matrix_product, {"a": (6, 6), "b": (6, 6)}),
    "elimination": (elimination, {"a": (6, 6), "b": 6}),
    "horner": (horner, {"x": ()}),
    "wide then narrow": (wide_then_narrow, {"x": 40}),
}


def sample(name: str) -> Program:
    function, shapes = SAMPLES[name]
    return trace(function, function.__name__, shapes)
