"""Cores of every kind from arrays of sizes and poses, for tests of pairs: random and moved cores, and surfaces."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from scipy.spatial import ConvexHull

import linkwork as lw
from linkwork.geometry import (
    BoxCore,
    ConeCore,
    CylinderCore,
    EllipsoidCore,
    PointCore,
    PolytopeCore,
    SegmentCore,
    Solid,
    signed_distance,
)
from linkwork.spatial import Pose, Rotation, Vec3


def placed(x: Any) -> Pose:
    """The pose of twelve numbers: the rows of its rotation, and the place."""
    return Pose(Rotation(Vec3.of(x[0:3]), Vec3.of(x[3:6]), Vec3.of(x[6:9])), Vec3.of(x[9:12]))


CORES = {
    "point": (3, lambda x: PointCore(Vec3.of(x))),
    "segment": (6, lambda x: SegmentCore(Vec3.of(x[:3]), Vec3.of(x[3:]))),
    "box": (15, lambda x: BoxCore(placed(x), Vec3.of(x[12:15]))),
    "cylinder": (14, lambda x: CylinderCore(placed(x), x[12], x[13])),
    "cone": (14, lambda x: ConeCore(placed(x), x[12], x[13])),
    "ellipsoid": (15, lambda x: EllipsoidCore(placed(x), Vec3.of(x[12:15]))),
    "hull": (48, lambda x: PolytopeCore(placed(x), [Vec3.of(x[k : k + 3]) for k in range(12, 48, 3)])),
}

SEARCHED = (
    ("segment", "cylinder"),
    ("box", "cylinder"),
    ("cylinder", "cylinder"),
    ("cylinder", "ellipsoid"),
    ("cone", "ellipsoid"),
    ("box", "hull"),
    ("cone", "hull"),
    ("hull", "hull"),
)
"""Pairs with loops: every kind of body, and of those whose farthest points may be many, with each other."""


@cache
def compiled(a: str, b: str) -> lw.Kernel:
    """Compile distance, normal, both points and uniqueness for arrays of two kinds of core."""
    (na, core_a), (nb, core_b) = CORES[a], CORES[b]

    def measured(x: Any, y: Any) -> Any:
        distances = signed_distance(Solid(core_a(x)), Solid(core_b(y)))
        return np.array(
            [distances.distance, *distances.normal, *distances.on_a, *distances.on_b, distances.unique], dtype=object
        )

    return lw.compile(measured, x=na, y=nb)


def rotations(rng: np.random.Generator, n: int) -> np.ndarray:
    """Rotation matrices (n, 3, 3)."""
    q = rng.normal(size=(n, 4))
    w, x, y, z = q.T / np.linalg.norm(q, axis=1)
    rows = [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)]
    rows += [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)]
    rows += [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)]
    return np.stack(rows, axis=1).reshape(-1, 3, 3)


def rows(kind: str, rng: np.random.Generator, n: int, spread: float = 0.7) -> np.ndarray:
    """Cores of a size about 0.5, about the origin."""
    position = spread * rng.normal(size=(n, 3))
    if kind in ("point", "segment"):
        return np.hstack([position, 0.5 * rng.normal(size=(n, CORES[kind][0] - 3))])
    sizes = rng.uniform(0.1, 1.0, size=(n, CORES[kind][0] - 12))
    if kind == "hull":
        sizes = 0.5 * rng.normal(size=sizes.shape)
    return np.hstack([rotations(rng, n).reshape(n, 9), position, sizes])


def moved(kind: str, x: np.ndarray, R: np.ndarray, p: np.ndarray) -> np.ndarray:
    """The cores after a motion: turned by R (3, 3), then shifted by p (3,) or (n, 3)."""
    x = x.copy()
    if kind in ("point", "segment"):
        x[:, :3] = x[:, :3] @ R.T + p
        x[:, 3:] = x[:, 3:] @ R.T if kind == "segment" else x[:, 3:]
    else:
        x[:, :9] = (R @ x[:, :9].reshape(-1, 3, 3)).reshape(-1, 9)
        x[:, 9:12] = x[:, 9:12] @ R.T + p
    return x


def off_surface(kind: str, x: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Return distances of points from the surface of their core, or from a core without volume."""
    if kind == "point":
        return np.linalg.norm(points - x, axis=1)
    if kind == "segment":
        c, u = x[:, :3], x[:, 3:]
        s = ((points - c) * u).sum(1) / np.maximum((u * u).sum(1), 1e-300)
        return np.linalg.norm(points - c - np.clip(s, -1.0, 1.0)[:, None] * u, axis=1)
    local = np.einsum("nij,ni->nj", x[:, :9].reshape(-1, 3, 3), points - x[:, 9:12])
    if kind == "box":
        return np.abs((np.abs(local) - x[:, 12:15]).max(1))
    if kind == "hull":
        facets = [ConvexHull(v.reshape(-1, 3)).equations for v in x[:, 12:]]
        return np.array([abs((f[:, :3] @ p + f[:, 3]).max()) for f, p in zip(facets, local, strict=True)])
    if kind == "ellipsoid":
        scaled = local / x[:, 12:15]
        return np.abs((scaled**2).sum(1) - 1.0) / (2.0 * np.linalg.norm(scaled / x[:, 12:15], axis=1))
    rho, z, radius, half = np.linalg.norm(local[:, :2], axis=1), local[:, 2], x[:, 12], x[:, 13]
    if kind == "cylinder":
        return np.abs(np.maximum(rho - radius, np.abs(z) - half))
    side = (2.0 * half * (rho - radius) + radius * (z + half)) / np.hypot(radius, 2.0 * half)
    return np.abs(np.maximum(side, -half - z))


def corners(kind: str, x: np.ndarray) -> np.ndarray:
    """The vertices of one core."""
    if kind == "point":
        return x[None]
    if kind == "segment":
        return np.array([x[:3] - x[3:], x[:3] + x[3:]])
    if kind == "hull":
        return x[9:12] + x[12:].reshape(-1, 3) @ x[:9].reshape(3, 3).T
    signs = np.array([[i, j, k] for i in (-1.0, 1.0) for j in (-1.0, 1.0) for k in (-1.0, 1.0)])
    return x[9:12] + (signs * x[12:15]) @ x[:9].reshape(3, 3).T


def heights(kind: str, x: np.ndarray, n: np.ndarray) -> np.ndarray:
    """Return support values of bodies along directions (bodies, directions, 3) of any length."""
    if kind == "point":
        return np.einsum("kdj,kj->kd", n, x)
    if kind == "segment":
        return np.einsum("kdj,kj->kd", n, x[:, :3]) + np.abs(np.einsum("kdj,kj->kd", n, x[:, 3:]))
    u = np.einsum("kij,kdi->kdj", x[:, :9].reshape(-1, 3, 3), n)
    s, across = x[:, None, 12:], np.linalg.norm(u[..., :2], axis=-1)
    supports = {
        "box": lambda: (np.abs(u) * s).sum(-1),
        "cylinder": lambda: s[..., 0] * across + s[..., 1] * np.abs(u[..., 2]),
        "cone": lambda: np.maximum(s[..., 1] * u[..., 2], s[..., 0] * across - s[..., 1] * u[..., 2]),
        "ellipsoid": lambda: np.linalg.norm(u * s, axis=-1),
        "hull": lambda: np.einsum("kdj,kvj->kdv", u, x[:, 12:].reshape(len(x), -1, 3)).max(-1),
    }[kind]()
    result: np.ndarray = np.einsum("kdj,kj->kd", n, x[:, 9:12]) + supports
    return result


def extremes(kind: str, x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """The bodies with sizes and places of nothing, next to nothing, or of a world; the last four about the origin."""
    x, lengths = x.copy(), np.array([0.0, 1e-300, 1e-160, 1e-20, 1e-9, 1.0, 1e9, 1e20])
    split = 9 if kind not in ("point", "segment") else 0
    position, sizes = x[:, split : split + 3], x[:, split + 3 :]
    for k in range(0, len(x), 2):
        position[k] *= rng.choice(lengths, 3)
        sizes[k] *= rng.choice(lengths, sizes.shape[1])
    x[-4:, split : split + 3] = 0.0
    if split:
        x[-4:, :9] = np.eye(3).ravel()
    return x
