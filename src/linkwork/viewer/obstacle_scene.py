"""Scene document of obstacles alone."""

from __future__ import annotations

from typing import Any

from linkwork._util.file_search import Folders
from linkwork._util.validation import name
from linkwork.geometry import Scene
from linkwork.viewer.document import SceneDocument
from linkwork.viewer.output import check_output, show_document
from linkwork.viewer.scene_builder import SceneBuilder

__all__ = ["obstacles_document", "show_obstacles"]


def show_obstacles(scene: Scene, meshes: Folders | None, title: str | None, output: Any) -> Any:
    """Show a scene; see `Scene.show`."""
    check_output("show", output, scene.show)
    return show_document(obstacles_document(scene, meshes=meshes, title=title), **output)


def obstacles_document(scene: Scene, *, meshes: Folders | None = None, title: str | None = None) -> SceneDocument:
    """Return the scene document of the obstacles of a scene."""
    count = f"{len(scene)} obstacle{'' if len(scene) == 1 else 's'}"
    builder = SceneBuilder(count if title is None else name("show", "title", title), None, meshes)
    builder.add_scene(scene)
    return builder.document()
