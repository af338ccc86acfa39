"""A name for all that a roadmap depends on: a digest that is the same in every process, for equal robots and scenes."""

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
    """Of a robot's joints, limits, shapes, pairs and constraints, and of a scene's obstacles."""
    tree = robot.tree
    bodies = [(b.parent, b.joint_name, b.joint, b.placement, b.rotor, b.coupling, b.limits) for b in tree.bodies]
    frames = [(frame.name, frame.body, frame.placement) for frame in tree.frames]
    marks = [*tree.points, *tree.directions]
    own = [bodies, frames, marks, tree.constraints, robot.lower, robot.upper]
    seen = [] if scene is None else [(one.name, one.shape, one.pose) for one in scene.obstacles]
    told = _encoded((own, link_shapes(tree), collision_pairs(tree), seen, more))
    return hashlib.sha256(told).hexdigest()


def _encoded(value: Any) -> bytes:
    """Bytes that are the same for equal values; functions, whose code nobody compares, go by their names."""
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
