"""Robots and scenes of spheres, whose distances are formulas of a line."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

import linkwork as lw
from linkwork.shapes import Geometry, Sphere


def with_balls(name, radius=0.07):
    """A robot inside whose collision shapes are spheres."""
    tree = lw.load(name).tree
    frames = [
        replace(f, collisions=tuple(Geometry(Sphere(radius), g.origin) for g in f.collisions)) for f in tree.frames
    ]
    return lw.Robot(replace(tree, frames=tuple(frames)))


def random_scene(count, seed=0):
    rng, scene = np.random.default_rng(seed), lw.Scene()
    for k in range(count):
        scene = scene.with_sphere(f"ball{k}", rng.uniform(0.05, 0.15), rng.normal(size=3) * 0.8)
    return scene
