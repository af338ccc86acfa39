"""Quadratic programs for tests, and what has to be so of a solution, in NumPy."""

from typing import Any

import numpy as np

ORDER = ("H", "g", "A", "lower", "upper", "x_lower", "x_upper")


def transposed(A, y):
    return np.einsum("...ij,...i->...j", A, y)


def times(A, x):
    return np.einsum("...ij,...j->...i", A, x)


def rows_of(program) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """All rows with their bounds, those of the bounds of x last."""
    g = program["g"]
    batch, n = g.shape[:-1], g.shape[-1]
    A = program.get("A", np.zeros((*batch, 0, n)))
    m = A.shape[-2]
    full = [
        np.broadcast_to(program.get(name, fill), (*batch, size))
        for name, fill, size in (
            ("lower", -np.inf, m), ("upper", np.inf, m), ("x_lower", -np.inf, n), ("x_upper", np.inf, n),
        )
    ]  # fmt: skip
    C = np.concatenate([np.broadcast_to(A, (*batch, m, n)), np.broadcast_to(np.eye(n), (*batch, n, n))], -2)
    return C, np.concatenate([full[0], full[2]], -1), np.concatenate([full[1], full[3]], -1)


def kkt_errors(program: dict[str, Any], results: Any) -> dict[str, np.ndarray]:
    """Return the relative violation of each Karush-Kuhn-Tucker condition, for each sample."""
    C, lower, upper = rows_of(program)
    H, g = program["H"], program["g"]
    x, y = np.asarray(results.x), np.concatenate([results.multipliers, results.bound_multipliers], -1)
    Hx, Cy = times(H, x), transposed(C, y)
    size = np.maximum(np.maximum(abs(Hx).max(-1), abs(g).max(-1)), np.maximum(abs(Cy).max(-1), 1e-300))
    v = times(C, x)
    unit = abs(C).max(-1, initial=0.0) + np.minimum(abs(lower), abs(upper))
    unit = np.where((unit > 0.0) & (unit < np.inf), unit, 1.0)
    miss = np.maximum(v - upper, lower - v) / unit
    off = np.where(y > 0, abs(upper - v), np.where(y < 0, abs(v - lower), 0.0)) / unit
    return {
        "stationary": abs(Hx + g + Cy).max(-1) / size,
        "within": np.maximum(miss.max(-1, initial=0.0), 0.0),
        "complementary": off.max(-1, initial=0.0),
    }


def random_program(rng, n, m, *, batch=(), box=False, definite=True, equalities=0, rank=None, scale=0.0):
    """A feasible program; H has a rank, and rows are scaled by up to so many decades each way."""
    rank = n if rank is None else rank
    U = rng.standard_normal((*batch, n, rank))
    H = U @ U.swapaxes(-1, -2) / max(n, 1) + (0.1 * np.eye(n) if definite else 0.0)
    x = rng.uniform(-0.5, 0.5, (*batch, n))
    program = {"H": H, "g": rng.standard_normal((*batch, n)) * 3.0}
    if m:
        A = rng.standard_normal((*batch, m, n)) * 10.0 ** rng.uniform(-scale, scale, (*batch, m, 1))
        size = abs(A).max(-1)
        v = times(A, x)
        low, high = v - size * rng.uniform(0.0, 1.0, v.shape), v + size * rng.uniform(0.0, 1.0, v.shape)
        low[..., :equalities], high[..., :equalities] = v[..., :equalities], v[..., :equalities]
        program |= {"A": A, "lower": low, "upper": high}
    if box:
        program |= {"x_lower": x - rng.uniform(0.1, 1.0, x.shape), "x_upper": x + rng.uniform(0.1, 1.0, x.shape)}
    return program
