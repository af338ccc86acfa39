"""Explanations why a configuration cannot be a start or a goal."""

from __future__ import annotations

from typing import Any

import numpy as np

from linkwork.collision.shape_distance import signed_distance
from linkwork.model.body import WORLD
from linkwork.model.collision_pairs import link_shapes
from linkwork.planning.planning_space import TOLERANCE, PlanningSpace
from linkwork.shapes import Sphere

__all__ = ["base_inside", "collisions_of", "limits_of", "named_collisions"]

_POINT = 1e-6  # [m] radius of a sphere that represents a point
_CONTACT = 2e-3  # [m] maximum depth of intended contacts
_NAMED = 3  # maximum number of pairs in a message


def collisions_of(space: PlanningSpace, q: np.ndarray) -> str:
    """Return a text that lists the colliding pairs at q with their depths, the deepest first.

    If no pair collides, the text says that the configuration violates the path constraints.
    """
    result, margins, order = _colliding(space, q)
    if not len(order):
        return "the configuration violates the path constraints"
    texts = [_pair(result.pairs[k], float(result.distance[k]), float(margins[k])) for k in order[:_NAMED]]
    more = len(order) - len(texts)
    text = ", ".join(texts) + (f", and {more} more pair{'s' if more > 1 else ''}" if more > 0 else "")
    touching = [result.pairs[k] for k in order if result.distance[k] > -_CONTACT]
    if len(touching) == len(order) and margins[order].max() <= 0.0:
        text += f": touching={touching!r} lets them touch"
    return text


def named_collisions(space: PlanningSpace, q: np.ndarray) -> list[tuple[tuple[str, str], str, np.ndarray]]:
    """Return the names, a sentence and the middle (3,) [m] of the deepest colliding pairs at q."""
    result, margins, order = _colliding(space, q)
    middles = 0.5 * (np.asarray(result.point_a) + np.asarray(result.point_b))
    return [
        (result.pairs[k], _pair(result.pairs[k], float(result.distance[k]), float(margins[k])), middles[k])
        for k in order[:_NAMED]
    ]


def _colliding(space: PlanningSpace, q: np.ndarray) -> tuple[Any, np.ndarray, np.ndarray]:
    """Return the distances of all pairs of shapes at q, their margins, and indices of the colliding pairs."""
    result = space.robot.distances(q, space.scene, pairs=space.pairs)
    margins = space.margins.of(space.robot, space.robot._pair_selection("plan", space.scene, space.pairs))
    order = np.argsort(result.distance - margins, kind="stable")
    return result, margins, order[result.distance[order] <= margins[order] + TOLERANCE]


def _pair(names: tuple[str, str], distance: float, margin: float) -> str:
    first, second = map(repr, names)
    if abs(distance) <= TOLERANCE:
        text = f"{first} touches {second}"
        return text if margin <= 0.0 else f"{text}, within the margin of {margin:g} m"
    if distance < 0.0:
        return f"{first} is {-distance:.4g} m deep in {second}"
    return f"{first} is {distance:.4g} m from {second}, within the margin of {margin:g} m"


def limits_of(space: PlanningSpace, q: np.ndarray) -> str:
    """Return a text that lists the coordinates of q outside their limits."""
    texts = []
    for k, name in enumerate(space.robot.q_names):
        for beyond, bound in ((space.lower[k] - q[k], space.lower[k]), (q[k] - space.upper[k], space.upper[k])):
            if beyond > 0.0:
                texts.append(f"{name!r} is {q[k]:.6g}, {beyond:.4g} outside its limit {bound:.6g}")
    return ", ".join(texts)


def base_inside(robot: Any, scene: Any) -> str:
    """Return a sentence that names the obstacle around the robot's base, or "" if there is none."""
    if scene is None:
        return ""
    for shape in link_shapes(robot.tree):
        if shape.body != WORLD:
            continue
        X = shape.placement.matrix()
        for obstacle in scene.obstacles:
            Y = obstacle.pose.matrix()
            try:
                result = signed_distance(Sphere(_POINT), X, obstacle.shape, Y)
            except (TypeError, ValueError):
                continue
            depth = -_POINT - float(result.distance)  # of the middle
            if depth > 0.0:
                deep = f"the middle of {shape.name!r} is {depth:.4g} m deep in it"
                return f"obstacle {obstacle.name!r} contains the robot's base: {deep}"
    return ""
