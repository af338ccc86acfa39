"""Scenes for planning, seven kinds, of boxes and cylinders, in the manner of MotionBenchMaker: made by a seed.

A problem is a scene, a configuration to start from and a pose for the hand: in a shelf's compartment, in a box, under a
table, between the bars of a cage.

Source of the kinds: Chamzas, Quintero-Peña, Kingston et al., MotionBenchMaker, 2022.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

import linkwork as lw

__all__ = ["KINDS", "PlanningScene"]


@dataclass(frozen=True)
class PlanningScene:
    """A scene, and poses (4, 4) for the hand from which and to which one may go: its z points where it reaches."""

    kind: str
    scene: lw.Scene
    begin: np.ndarray
    end: np.ndarray


Draw = np.random.Generator


def _look(at: tuple[float, float, float], along: tuple[float, float, float], roll: float) -> np.ndarray:
    """A hand's pose at a place, its z along a direction."""
    z = np.array(along) / np.linalg.norm(along)
    x = np.array([0.0, 0.0, 1.0]) if abs(z[2]) < 0.9 else np.array([1.0, 0.0, 0.0])
    x = x - z * (x @ z)
    x /= np.linalg.norm(x)
    y = np.cross(z, x)
    X = np.eye(4)
    X[:3, 0], X[:3, 1] = x * np.cos(roll) + y * np.sin(roll), y * np.cos(roll) - x * np.sin(roll)
    X[:3, 2], X[:3, 3] = z, at
    return X


def _clutter(rng: Draw, scene: lw.Scene, height: float, low: tuple[float, float], high: tuple[float, float], many: int):
    """Boxes and cylinders on a level."""
    for k in range(many):
        x, y = rng.uniform(low, high)
        tall = rng.uniform(0.08, 0.25)
        X = lw.pose((x, y, height + tall / 2), rpy=(0.0, 0.0, rng.uniform(0, np.pi)))
        if k % 2:
            scene = scene.with_cylinder(f"can {k}", rng.uniform(0.025, 0.05), tall, X)
        else:
            scene = scene.with_box(f"block {k}", (*rng.uniform(0.05, 0.12, 2), tall), X)
    return scene


def _table(rng: Draw) -> PlanningScene:
    height, far = rng.uniform(0.1, 0.3), rng.uniform(0.55, 0.65)
    scene = lw.Scene().with_box("table", (0.6, 1.4, 0.04), lw.pose((far, 0.0, height - 0.02)))
    scene = _clutter(rng, scene, height, (far - 0.2, -0.55), (far + 0.2, 0.55), 6)
    ends = []
    for side in (-1.0, 1.0):
        at = (far - 0.05 + rng.uniform(-0.1, 0.1), side * rng.uniform(0.2, 0.5), height + rng.uniform(0.14, 0.2))
        ends.append(_look(at, (0.0, 0.0, -1.0), rng.uniform(-1.0, 1.0)))
    return PlanningScene("table", scene, *ends)


def _shelves(rng: Draw, kind: str, levels: int, gap: float, wide: float, deep: float) -> PlanningScene:
    near, bottom = rng.uniform(0.5, 0.58), rng.uniform(0.05, 0.15)
    scene, thick = lw.Scene(), 0.02
    height = levels * gap
    middle = near + deep / 2
    scene = scene.with_box("back", (thick, wide, height), lw.pose((near + deep, 0.0, bottom + height / 2)))
    for side in (-1, 1):
        scene = scene.with_box(
            f"side {side}", (deep, thick, height), lw.pose((middle, side * wide / 2, bottom + height / 2))
        )
    for level in range(levels + 1):
        scene = scene.with_box(f"board {level}", (deep, wide, thick), lw.pose((middle, 0.0, bottom + level * gap)))
    ends = []
    for level in rng.permutation(levels)[:2]:
        y = rng.uniform(-0.5, 0.5) * (wide - 0.3)
        at = (near + rng.uniform(-0.02, 0.06), y, bottom + gap * (level + 0.5) + rng.uniform(-0.02, 0.02))
        ends.append(_look(at, (1.0, 0.0, 0.0), rng.choice([0.0, np.pi / 2])))
    return PlanningScene(kind, scene, *ends)


def _from_aside(
    rng: Draw, at: np.ndarray, above: tuple[float, float], aside: tuple[float, float], high: tuple[float, float]
) -> tuple[np.ndarray, np.ndarray]:
    """Return poses of the hand: beside the robot at a lateral distance and height, and looking down above a point."""
    inside = _look((at[0], at[1], at[2] + rng.uniform(*above)), (0.0, 0.0, -1.0), rng.uniform(-1.0, 1.0))
    side = rng.choice([-1.0, 1.0])
    outside = _look((rng.uniform(0.3, 0.4), side * rng.uniform(*aside), rng.uniform(*high)), (0.3, side, -0.3), 0.0)
    return outside, inside


def _box(rng: Draw) -> PlanningScene:
    at = np.array([rng.uniform(0.45, 0.55), rng.uniform(-0.2, 0.2), rng.uniform(0.0, 0.1)])
    wide, tall, thick = rng.uniform(0.34, 0.42), rng.uniform(0.2, 0.3), 0.02
    scene = lw.Scene().with_box("floor", (wide, wide, thick), lw.pose(tuple(at)))
    for k, (dx, dy) in enumerate([(1, 0), (-1, 0), (0, 1), (0, -1)]):
        size = (thick, wide, tall) if dx else (wide, thick, tall)
        aside = np.array([dx * wide / 2, dy * wide / 2, tall / 2])
        scene = scene.with_box(f"wall {k}", size, lw.pose(at + aside))
    return PlanningScene("box", scene, *_from_aside(rng, at, (0.16, 0.2), (0.4, 0.5), (0.2, 0.4)))


def _cage(rng: Draw) -> PlanningScene:
    at = np.array([rng.uniform(0.48, 0.55), rng.uniform(-0.1, 0.1), rng.uniform(0.0, 0.1)])
    wide, tall, bar = rng.uniform(0.42, 0.5), rng.uniform(0.4, 0.5), 0.012
    scene = lw.Scene().with_box("floor", (wide, wide, 0.02), lw.pose(tuple(at)))
    many = 0
    for dx, dy in [(1, 0), (-1, 0), (0, 1), (0, -1)]:
        for s in np.linspace(-0.5, 0.5, 4)[:-1]:
            x, y = (dx * wide / 2, s * wide) if dx else (s * wide, dy * wide / 2)
            scene = scene.with_cylinder(f"bar {many}", bar, tall, lw.pose((at[0] + x, at[1] + y, at[2] + tall / 2)))
            many += 1
    return PlanningScene("cage", scene, *_from_aside(rng, at, (0.18, 0.25), (0.45, 0.55), (0.2, 0.5)))


def _under_table(rng: Draw) -> PlanningScene:
    height, far = rng.uniform(0.45, 0.55), rng.uniform(0.62, 0.68)
    scene = lw.Scene().with_box("table", (0.6, 1.2, 0.03), lw.pose((far, 0.0, height)))
    for k, (x, y) in enumerate([(-0.25, -0.55), (-0.25, 0.55), (0.25, -0.55), (0.25, 0.55)]):
        scene = scene.with_cylinder(f"leg {k}", 0.03, height, lw.pose((far + x, y, height / 2)))
    below = (far - 0.2 + rng.uniform(0.0, 0.1), rng.uniform(-0.3, 0.3), height - rng.uniform(0.2, 0.28))
    above = (far - 0.1 + rng.uniform(-0.05, 0.1), rng.uniform(-0.4, 0.4), height + rng.uniform(0.15, 0.2))
    return PlanningScene(
        "under a table", scene, _look(above, (0.0, 0.0, -1.0), rng.uniform(-1, 1)), _look(below, (1.0, 0.0, 0.0), 0.0)
    )


KINDS: dict[str, Callable[[Draw], PlanningScene]] = {
    "table": _table,
    "shelves, small": lambda rng: _shelves(rng, "shelves, small", 3, 0.28, 0.7, 0.3),
    "shelves, tall": lambda rng: _shelves(rng, "shelves, tall", 2, 0.42, 0.8, 0.35),
    "shelves, thin": lambda rng: _shelves(rng, "shelves, thin", 3, 0.28, 0.42, 0.25),
    "box": _box,
    "cage": _cage,
    "under a table": _under_table,
}
"""By kind: a scene and its problem, drawn."""
