"""Conversion of a scene's obstacles to JSON values and back."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

import numpy as np

from linkwork._util.messages import listed, quoted, repeated
from linkwork.errors import UnknownNameError
from linkwork.geometry.fields import FIELDS
from linkwork.geometry.solids import SOLIDS
from linkwork.shapes import Shape

__all__ = ["check_keys", "obstacle_document", "read_document", "shape_of"]


def read_document(text: str) -> Any:
    """Parse a JSON document.  Raises ValueError for invalid JSON, a repeated key, or a number that is not finite."""

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        result = dict(pairs)
        if len(result) < len(pairs):
            raise ValueError(f"scene: {repeated(key for key, _ in pairs)!r} occurs twice")
        return result

    def refuse(word: str) -> Any:
        raise ValueError(f"scene: {word} is not a JSON number")

    try:
        return json.loads(text, object_pairs_hook=unique, parse_constant=refuse)
    except json.JSONDecodeError as error:
        if text.strip() and not {"{", "\n"} & {*text}:  # the name of a file
            remedy = "for a file pass its text, Path(name).read_text()"
            raise ValueError(f"Scene.from_json: text: expected a JSON document, got {quoted(text)}; {remedy}") from None
        raise ValueError(f"scene: invalid JSON: {error}") from None
    except RecursionError:
        raise ValueError("scene: nested too deeply") from None


def obstacle_document(obstacle: Any) -> dict[str, Any]:
    """Return an obstacle as JSON values."""
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


def shape_of(entry: Any, where: str) -> Shape:
    """Return the shape that a JSON object describes, such as ``{"type": "box", "size": [1, 2, 3]}``.

    ``where`` begins error messages.  Raises ValueError for an invalid object.
    """
    kinds = {_word(kind): kind for kind in (*SOLIDS, *FIELDS)}
    if not isinstance(entry, Mapping) or "type" not in entry:
        raise ValueError(f'{where}: shape: expected an object such as {{"type": "box", "size": [...]}}, got {entry!r}')
    kind = kinds.get(entry["type"]) if isinstance(entry["type"], str) else None
    if kind is None:
        raise ValueError(f"{where}: shape: {UnknownNameError('type of shape', entry['type'], kinds)}")
    values = {key: value for key, value in entry.items() if key != "type"}
    check_keys(values, f"{where}: {entry['type']}", _arguments(kind))
    shape: Shape = kind(**{key: shape_of(x, where) if isinstance(x, Mapping) else x for key, x in values.items()})
    return shape


def _word(kind: type) -> str:
    """Return the word for a type of shape: "half_space" for HalfSpace."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", kind.__name__).lower()


def _arguments(kind: Any) -> list[str]:
    """Return the names of the arguments of a type of shape."""
    return [field.name for field in fields(kind) if field.init]


def check_keys(entry: Any, where: str, required: Sequence[str], more: Sequence[str] = ()) -> None:
    """Raise ValueError unless an entry is a mapping with all ``required`` keys and no others except ``more``."""
    if not isinstance(entry, Mapping):
        raise ValueError(f"{where}: expected an object with {listed(required)}, got {entry!r}")
    for key in entry:
        if key not in (*required, *more):
            raise ValueError(f"{where}: {UnknownNameError('key', key, (*required, *more))}")
    for key in required:
        if key not in entry:
            raise ValueError(f"{where}: {key!r} is missing")
