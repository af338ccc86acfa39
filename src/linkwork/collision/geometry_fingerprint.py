"""Digest of all that collisions and kinematics of a robot in a scene depend on, equal in every process."""

from __future__ import annotations

import hashlib
import pickle
import struct
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np

from linkwork.model.collision_pairs import collision_pairs, link_shapes

__all__ = ["fingerprint"]


def fingerprint(robot: Any, scene: Any, *more: Any) -> str:
    """Return a digest of a robot's joints, limits, shapes, pairs and constraints, and of a scene's obstacles."""
    tree = robot.tree
    bodies = [(b.parent, b.joint_name, b.joint, b.placement, b.rotor, b.coupling, b.limits) for b in tree.bodies]
    frames = [(frame.name, frame.body, frame.placement) for frame in tree.frames]
    points_and_directions = [*tree.points, *tree.directions]
    own = [bodies, frames, points_and_directions, tree.constraints, robot.lower, robot.upper]
    obstacles = (
        [] if scene is None else [(parameter.name, parameter.shape, parameter.pose) for parameter in scene.obstacles]
    )
    data = _encoded((own, link_shapes(tree), collision_pairs(tree), obstacles, more))
    return hashlib.sha256(data).hexdigest()


def _encoded(value: Any) -> bytes:
    """Return a value as bytes, which are equal for equal values; functions are represented by their names."""
    if value is None or isinstance(value, (bool, str)):
        parts = [repr(value).encode()]
    elif isinstance(value, Integral):
        parts = [str(int(value)).encode()]
    elif isinstance(value, Real):
        parts = [struct.pack("<d", float(value) + 0.0)]
    elif isinstance(value, np.ndarray):
        parts = [str(value.shape).encode(), np.ascontiguousarray(value).tobytes()]
    elif is_dataclass(value):
        parts = [_encoded(getattr(value, field.name)) for field in fields(value) if field.compare]
    elif isinstance(value, Mapping):
        parts = [_encoded(pair) for pair in value.items()]
    elif isinstance(value, (tuple, list)):
        parts = [_encoded(part) for part in value]
    elif isinstance(value, (set, frozenset)):
        parts = sorted(_encoded(part) for part in value)
    elif hasattr(value, "elements"):
        parts = [_encoded([*value.elements()])]
    elif not callable(value):
        parts = [pickle.dumps(value, 4)]
    else:
        parts = [f"{getattr(value, '__module__', '')}.{getattr(value, '__qualname__', '')}".encode()]
    kind = type(value).__name__ if is_dataclass(value) else ""
    return b"".join([f"{kind}{len(parts)}:".encode(), *(b"%d:%b" % (len(part), part) for part in parts)])
