"""Writing of scene files: JSON, YAML, and MoveIt's text format."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from linkwork._util.file_access import replaced
from linkwork._util.messages import quoted
from linkwork.formats.data_documents import YAML, yaml_text
from linkwork.formats.moveit_scene import moveit_scene_text
from linkwork.geometry.obstacle import entry_document

if TYPE_CHECKING:
    from linkwork.geometry.scene import Scene

__all__ = ["save_scene"]


def save_scene(
    path: str | os.PathLike[str],
    scene: Scene,
    attached: Iterable[Any] = (),
    touching: Iterable[tuple[str, str]] = (),
    margin: float | Mapping[Any, float] = 0.0,
) -> None:
    """Write a scene to a file, with objects attached to robot frames, pairs of links that may touch, and margins.

    The name ends in .json, .yaml, .yml or .scene. Raises ValueError for another name, and for content that MoveIt's
    text format does not have.
    """
    target, ending = Path(path), Path(path).suffix.lower()
    objects, pairs = [*attached], [*touching]
    if ending == ".scene":
        if objects or pairs or margin:
            lacking = f"{objects[0].name!r} on a frame" if objects else "pairs and margins"
            raise ValueError(f"save: a .scene file has no {lacking}; save the scene as .yaml or .json")
        text = moveit_scene_text(scene, target.stem)
    elif ending in (*YAML, ".json"):
        document = scene.to_dict()
        document["obstacles"] += [
            entry_document(item.name, item.shape, item.pose, item.color)
            | {"attached_to": item.frame}
            | ({"touching": [*item.touching]} if item.touching else {})
            for item in objects
        ]
        if pairs:
            document["touching"] = [[*pair] for pair in pairs]
        if margin:
            document["margin"] = _margin(margin)
        text = _json_text(document) if ending == ".json" else yaml_text(document)
    else:
        got = quoted(os.path.basename(os.fspath(path)))
        raise ValueError(f"save: path: expected a file named .yaml, .yml, .json or .scene, got {got}")
    with replaced(target, text=True) as file:
        file.write(text)


def _margin(margin: float | Mapping[Any, float]) -> Any:
    if not isinstance(margin, Mapping):
        return float(margin)
    result: dict[str, Any] = {key: value for key, value in margin.items() if isinstance(key, str)}
    pairs = [[*key, value] for key, value in margin.items() if not isinstance(key, str)]
    return result | ({"pairs": pairs} if pairs else {})


def _json_text(document: Mapping[str, Any]) -> str:
    entries = {key: value for key, value in document.items() if key != "obstacles"}
    lines = [f'  "{key}": {json.dumps(value, ensure_ascii=False, allow_nan=False)}' for key, value in entries.items()]
    obstacles = [json.dumps(entry, ensure_ascii=False, allow_nan=False) for entry in document["obstacles"]]
    body = "[\n    " + ",\n    ".join(obstacles) + "\n  ]" if obstacles else "[]"
    return "{\n" + ",\n".join([*lines[:1], f'  "obstacles": {body}', *lines[1:]]) + "\n}\n"
