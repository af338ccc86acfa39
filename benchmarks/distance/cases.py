"""Pairs of shapes at random poses, and their kernels, for `python -m benchmarks.distance`.

Poses are those of B in the frame of A.  The peer, not linkwork, decides which poses overlap.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

import linkwork as lw
from linkwork import shapes
from linkwork.geometry import signed_distance, solid
from linkwork.spatial import Pose

__all__ = ["BATCH", "CASES", "COPIES", "Case", "core_values", "hull", "kernel", "marginal", "poses", "turned"]

BATCH = 4096
COPIES = 8  # of a pair in one kernel, by which what it takes by itself is found

Side = Literal["both", "apart", "overlap"]


@dataclass(frozen=True, slots=True)
class Case:
    """A pair of shapes, apart or overlapping, with its maximum time [s] and minimum speed relative to the peer."""

    name: str
    a: Any
    b: Any
    side: Side
    most: float
    beside: float = 20.0


def hull(count: int, seed: int) -> Any:
    """A polytope all of whose points, on an ellipsoid, are vertices."""
    x = np.random.default_rng(seed).normal(size=(count, 3))
    return shapes.Polytope(x / np.linalg.norm(x, axis=1, keepdims=True) * (0.3, 0.2, 0.25))


def _cases() -> Iterator[Case]:
    sphere, box, capsule = shapes.Sphere(0.2), shapes.Box((0.3, 0.5, 0.4)), shapes.Capsule(0.1, 0.6)
    cylinder, cone = shapes.Cylinder(0.2, 0.5), shapes.Cone(0.25, 0.5)
    ellipsoid = shapes.Ellipsoid((0.3, 0.2, 0.25))
    for name, shape in (("sphere", shapes.Sphere(0.3)), ("capsule", capsule), ("box", box), ("cylinder", cylinder)):
        yield Case(f"sphere, {name}", sphere, shape, "both", 5e-9)
    yield Case("sphere, cone", sphere, cone, "both", 5e-9)
    yield Case("sphere, ellipsoid", sphere, ellipsoid, "both", 5e-9)
    yield Case("capsule, capsule", capsule, shapes.Capsule(0.15, 0.4), "both", 5e-9)
    yield Case("capsule, box", capsule, box, "both", 20e-9)
    searched = (
        ("box, box", box, shapes.Box((0.4, 0.2, 0.6)), 60e-9, 20.0),
        ("box, cylinder", box, cylinder, 60e-9, 20.0),
        ("cylinder, cylinder", cylinder, shapes.Cylinder(0.15, 0.7), 150e-9, 20.0),
        ("ellipsoid, ellipsoid", ellipsoid, shapes.Ellipsoid((0.15, 0.4, 0.2)), 150e-9, 20.0),
        ("hulls of 20", hull(20, 0), hull(20, 1), 150e-9, 20.0),
        ("hulls of 64", hull(64, 0), hull(64, 1), 400e-9, 5.0),
    )
    for name, a, b, most, beside in searched:
        yield Case(f"{name}, overlap", a, b, "overlap", 15e-9 if name == "box, box" else most, beside)
        yield Case(f"{name}, apart", a, b, "apart", most, beside)


CASES = {case.name: case for case in _cases()}


def core_values(result: Any) -> tuple[Any, ...]:
    """Return the components of a signed distance as outputs of a kernel."""
    return result.distance, [*result.normal], [*result.on_a], [*result.on_b], result.unique


def kernel(a: Any, b: Any) -> Any:
    """Distance, normal, both witnesses, and whether they are unique, of B at poses (4, 4) in A."""
    return lw.compile(lambda X: core_values(signed_distance(solid(a, Pose.identity()), solid(b, Pose.of(X)))), X=(4, 4))


def marginal(a: Any, b: Any, copies: int) -> Any:
    """The sum of all that some copies of a pair give, each at another place: none of it can be left out."""

    def total(X: Any, Y: Any) -> Any:
        result, A, B = 0.0, Pose.of(Y), Pose.of(X)
        for k in range(copies):
            moved = Pose(A.rotation, type(A.translation)(*(x + 1e-9 * k for x in A.translation)))
            d, n, p, q, unique = core_values(signed_distance(solid(a, moved), solid(b, B)))
            result = result + d + unique + sum((j + 2.0) * x for j, x in enumerate((*n, *p, *q)))
        return result

    return lw.compile(total, X=(4, 4), Y=(4, 4))


def turned(q: np.ndarray) -> np.ndarray:
    """The rotations (..., 3, 3) of quaternions (w, x, y, z) of any length but zero."""
    q = q / np.linalg.norm(q, axis=-1, keepdims=True)
    w, v = q[..., 0, None, None], q[..., 1:]
    K = np.zeros((*v.shape[:-1], 3, 3))
    K[..., 2, 1], K[..., 0, 2], K[..., 1, 0] = np.moveaxis(v, -1, 0)
    K = K - np.swapaxes(K, -1, -2)
    return np.eye(3) + 2.0 * w * K + 2.0 * K @ K


def poses(rng: np.random.Generator, count: int, reach: float) -> np.ndarray:
    """(count, 4, 4): turned anyhow, in every direction, up to so far from A."""
    X = np.zeros((count, 4, 4))
    X[:, 3, 3], X[:, :3, :3] = 1.0, turned(rng.normal(size=(count, 4)))
    u = rng.normal(size=(count, 3))
    X[:, :3, 3] = u / np.linalg.norm(u, axis=1, keepdims=True) * rng.uniform(0.0, reach, (count, 1))
    return X


def names(cases: Sequence[str]) -> list[Case]:
    """Cases by name, all where none is named.  Raises KeyError."""
    return [CASES[name] for name in cases or CASES]
