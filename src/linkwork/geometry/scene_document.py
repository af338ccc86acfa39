"""What a scene is as text: obstacles as what JSON has, and back."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

import numpy as np

from linkwork._util.messages import listed, repeated
from linkwork.errors import UnknownNameError
from linkwork.geometry.fields import FIELDS
from linkwork.geometry.solids import SOLIDS
from linkwork.shapes import Shape

__all__ = ["check_keys", "read_document", "said_of", "shape_of"]


def read_document(text: str) -> Any:
    """What a JSON document says, every key once and all numbers finite.  Raises ValueError."""

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        result = dict(pairs)
        if len(result) < len(pairs):
            raise ValueError(f"scene: {repeated(key for key, _ in pairs)!r} is there twice")
        return result

    def refused(word: str) -> Any:
        raise ValueError(f"scene: {word} is no number of JSON")

    try:
        return json.loads(text, object_pairs_hook=once, parse_constant=refused)
    except json.JSONDecodeError as error:
        raise ValueError(f"scene: no JSON: {error}") from None
    except RecursionError:
        raise ValueError("scene: nested too deep") from None


def said_of(obstacle: Any) -> dict[str, Any]:
    """An obstacle as what JSON has."""
    pose = obstacle.pose.elements()
    return {
        "name": obstacle.name,
        "shape": _plain(obstacle.shape),
        "pose": [[float(x) for x in pose[4 * k : 4 * k + 4]] for k in range(4)],
    }


def _plain(value: Any) -> Any:
    if isinstance(value, Shape):
        named = {name: _plain(getattr(value, name)) for name in _arguments(type(value))}
        return {"type": _word(type(value)), **named}
    if isinstance(value, np.ndarray):
        return value.tolist()
    return [_plain(x) for x in value] if isinstance(value, (tuple, list)) else value


def shape_of(said: Any, where: str) -> Shape:
    """The shape that is said.  Raises ValueError."""
    kinds = {_word(kind): kind for kind in (*SOLIDS, *FIELDS)}
    if not isinstance(said, Mapping) or "type" not in said:
        raise ValueError(f'{where}: shape: expected {{"type": "box", "size": [...]}} or the like, got {said!r}')
    kind = kinds.get(said["type"]) if isinstance(said["type"], str) else None
    if kind is None:
        raise ValueError(f"{where}: shape: {UnknownNameError('type of shape', said['type'], kinds)}")
    parts = {key: value for key, value in said.items() if key != "type"}
    check_keys(parts, f"{where}: {said['type']}", _arguments(kind))
    made: Shape = kind(**{key: shape_of(x, where) if isinstance(x, Mapping) else x for key, x in parts.items()})
    return made


def _word(kind: type) -> str:
    """The word for a type of shape: "half_space" of HalfSpace."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", kind.__name__).lower()


def _arguments(kind: Any) -> list[str]:
    """What a type of shape is made of."""
    return [field.name for field in fields(kind) if field.init]


def check_keys(said: Any, where: str, required: Sequence[str], more: Sequence[str] = ()) -> None:
    """Raises ValueError where a mapping has not these keys."""
    if not isinstance(said, Mapping):
        raise ValueError(f"{where}: expected an object with {listed(required)}, got {said!r}")
    for key in said:
        if key not in (*required, *more):
            raise ValueError(f"{where}: {UnknownNameError('key', key, (*required, *more))}")
    for key in required:
        if key not in said:
            raise ValueError(f"{where}: {key!r} is missing")
