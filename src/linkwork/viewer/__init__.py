"""Pictures of robots, motions and results: a live page, self-contained HTML, glTF, PNG and MP4."""

from typing import TYPE_CHECKING

from linkwork._util.lazy_imports import public_names

if TYPE_CHECKING:
    from linkwork.viewer.document import SceneDocument
    from linkwork.viewer.layout import scene_document, side_by_side

__all__ = ["SceneDocument", "scene_document", "side_by_side"]

if not TYPE_CHECKING:
    __getattr__, __dir__ = public_names(
        __name__,
        __all__,
        {
            "linkwork.viewer.document": "SceneDocument",
            "linkwork.viewer.layout": "scene_document side_by_side",
        },
    )
