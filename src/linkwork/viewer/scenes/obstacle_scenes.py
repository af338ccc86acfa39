"""Scene document of obstacles alone."""

from __future__ import annotations

from linkwork import Scene
from linkwork._util.file_search import Folders
from linkwork._util.validation import name
from linkwork.viewer.document import SceneDocument
from linkwork.viewer.scene_builder import SceneBuilder
from linkwork.viewer.scenes.document_of import document_of

__all__ = ["obstacles_document"]


@document_of.register(Scene)
def obstacles_document(scene: Scene, *, meshes: Folders | None = None, title: str | None = None) -> SceneDocument:
    """Return the scene document of the obstacles of a scene."""
    count = f"{len(scene)} obstacle{'' if len(scene) == 1 else 's'}"
    builder = SceneBuilder(count if title is None else name("show", "title", title), None, meshes)
    builder.add_scene(scene)
    return builder.document()
